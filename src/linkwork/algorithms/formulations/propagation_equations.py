"""Equations of motion by force/torque propagation: primary equations (1) and secondary equations (2) of S1.

All forces on the bodies of a tree are propagated to the centre of mass of its main body, where their sum is zero: six
primary equations. At every joint, the forces beyond the joint are in equilibrium along its freedoms with friction: one
secondary equation for each freedom. Dry friction is linear: along its freedoms, a joint transmits a linear function
of the load. The equations are linear in accelerations, joint forces, ground forces and loop multipliers.
S1 is the paper of Muir and Neuman.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from linkwork.algorithms.formulations.coincident_frame_motions import body_motions
from linkwork.algorithms.formulations.cut_loops import (
    ConstraintRows,
    CutLoop,
    constraint_rows,
    cut_loops,
    cut_sources,
)
from linkwork.algorithms.formulations.force_sources import (
    Columns,
    Source,
    environment,
    inertial_and_gravity,
    joint_sources,
    principal_frame,
)
from linkwork.algorithms.formulations.linear_friction import NO_FRICTION, LinearFriction
from linkwork.algorithms.formulations.propagation_matrices import (
    Chains,
    JointMatrices,
    actuator_directions,
    all_chains,
    coupling_matrix,
    link_jacobian,
    propagation_matrices,
)
from linkwork.algorithms.mimic_reduction import to_tree
from linkwork.algorithms.tree_traversal import outward
from linkwork.model.mechanism import Joint, Mechanism
from linkwork.spatial.scalar import Array


@dataclass(frozen=True, eq=False)
class Propagation:
    """Primary and secondary equations of a mechanism in one state.

    `mechanism` is the tree, in which mimic joints are independent; v (tree.nv,) [rad/s, m/s] are the velocities of all
    joints. Each equation has n coefficients: one for each unknown, and last the constant term. `columns` has their
    numbers. The product of an equation with the unknowns and a last entry 1 is a sum of forces or torques [N, N m],
    which is zero. `joints` has the matrices of each joint, by the number of its outboard body. `chains` has the chains
    of each tree, `sources` all force/torque sources, and `loops` the cut loops. `rows` are the constraint rows of mimic
    joints, loops, clutches, brakes and other velocity constraints. `friction` is the dry friction of joints and loops.
    `constants` (tree.nv,) [N m, N] are its constant friction forces along the freedoms of all joints.
    """

    mechanism: Mechanism
    v: Array
    columns: Columns
    joints: Mapping[int, JointMatrices]
    chains: list[Chains]
    sources: list[Source]
    loops: list[CutLoop]
    rows: ConstraintRows
    constants: Array
    friction: LinearFriction

    @cached_property
    def matrices(self) -> list[dict[tuple[int, int], Array]]:
        """The propagation matrices (6, 6) of each tree, as a dict by pairs of body numbers (Z, Y).

        The matrix for (Z, Y) propagates forces from the frame of body Y to that of body Z.
        """
        return [propagation_matrices(one, self.joints) for one in self.chains]

    @cached_property
    def forces(self) -> dict[int, Array]:
        """The coefficients (6, n) of the sum of all source forces on each body, in the body's frame, by body number."""
        total: dict[int, Array] = {}
        for one in self.sources:
            propagated = link_jacobian(one.frame).T @ one.force
            total[one.body] = total[one.body] + propagated if one.body in total else propagated
        return total

    @cached_property
    def collected(self) -> dict[int, Array]:
        """The coefficients (6, n) of the sum of the forces on each body and on all bodies beyond it.

        The result is a dict by body number; the sum is in the frame of the body. Bodies beyond a body are those whose
        chain to the main body contains it.
        """
        total: dict[int, Array] = {}
        for chains, P in zip(self.chains, self.matrices, strict=True):
            for body in chains.order:
                total[body] = np.zeros((6, self.columns.one + 1))
                for near in chains.towards_main(body):
                    total[near] = total[near] + P[near, body] @ self.forces[body]
        return total

    @cached_property
    def primary(self) -> Array:
        """The primary equations (1), (6 ntrees, n): the sum of all forces on each tree, six rows per tree.

        The sum is at the centre of mass of the tree's main body, in the principal axes of this body.
        """
        mains = [chains.main for chains in self.chains]
        frames = [principal_frame(self.mechanism.bodies[main])[0].inverse() for main in mains]
        at_centres = [link_jacobian(X).T @ self.collected[main] for X, main in zip(frames, mains, strict=True)]
        return np.concatenate([np.zeros((0, self.columns.one + 1)), *at_centres])

    @cached_property
    def transmitted(self) -> dict[int, Array]:
        """The coefficients (6, n) of the force that each joint transmits, by the number of its outboard body.

        This force is the sum of all forces on the bodies on the far side of the joint from the main body. It is in the
        frame of the joint's outboard body.
        """
        return {
            joint.o: self.joints[joint.o].to_joint(joint.o == far) @ self.collected[far]
            for joint, far in self._far_bodies
        }

    @property
    def _far_bodies(self) -> list[tuple[Joint, int]]:
        """Pairs of each joint and the number of its body away from the main body, which may be the ground."""
        return [(chains.joint[far], far) for chains in self.chains for far in chains.order[1:]]

    def secondary(self, body: int) -> Array:
        """Return the six secondary equations (2), (6, n), of the joint whose outboard body has the number `body`.

        They are in the frame of this body. Only d of them are independent, where d is the number of the joint's
        freedoms.
        """
        joint = self.joints[body]
        return (np.eye(6) - joint.C @ joint.C_AB) @ self.transmitted[body]

    @cached_property
    def balances(self) -> Array:
        """All k independent equations (k, n): the primary equations of all trees, then secondary equations of joints.

        Each joint has one secondary equation for each of its freedoms, along this freedom.
        """
        return np.concatenate([self.primary, *(self.joints[body].S.T @ self.secondary(body) for body in self.joints)])

    def joint_wrenches(self, x: Array) -> Array:
        """Return the wrench (njoints, 6) [N, N m] of the parent on the child through each joint, in the child's frame.

        x (n,) are the values of all unknowns, in the order of `columns`, and a last entry 1. The wrench is the sum of
        reaction, friction, joint force and the force of the rotor.
        """
        through = {j.o: (-1.0 if j.o == far else 1.0) * self.transmitted[j.o] @ x for j, far in self._far_bodies}
        for one in self.sources:
            if one.joint and one.joint == one.body:
                through[one.body] = through[one.body] + one.force @ x
        return np.array([through[body] for body in self.joints]).reshape(-1, 6)

    def friction_forces(self, reactions: Array) -> Array:
        """Return the friction forces (tree.nv,) [N m, N] along the freedoms of all joints.

        `reactions` (njoints, 6) [N, N m] are the wrenches through the joints, from `joint_wrenches`.
        """
        loads = zip(self.joints.values(), reactions, strict=True)
        return np.concatenate([np.zeros(0), *(one.S.T @ (one.C @ load) for one, load in loads)]) + self.constants

    def loop_wrenches(self, multipliers: Array) -> Array:
        """Return the wrench (nloops, 6) [N, N m] of each loop on its second body, with friction.

        The wrench is in the frame of this body, or of the welded part that the loop names. `multipliers` (nc,) [N, N m]
        are those of the nc constraint rows of all loops.
        """
        found, start = [], 0
        for one in self.loops:
            stop = start + one.wrenches.shape[1]
            at_loop = one.wrenches @ multipliers[start:stop] + one.constant
            found.append(link_jacobian(one.to.offset).T @ at_loop)
            start = stop
        return np.array(found).reshape(-1, 6)


def propagation(
    mechanism: Mechanism,
    q: Array,
    v: Array,
    wrenches: Array | None = None,
    friction: LinearFriction = NO_FRICTION,
    main: Iterable[str] = (),
) -> Propagation:
    """Return the primary and secondary equations of a mechanism in one state.

    q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities. `wrenches`
    (nbodies, 6) [N, N m] act on the bodies at their origins, in their axes; zero by default. `friction` is the dry
    friction of joints and loops. `main` has the names of main bodies, at most one for each tree; the solution does not
    depend on their choice.
    """
    friction.require_names(mechanism)
    tree, (q, v) = mechanism.tree, to_tree(mechanism, ("q", "v"), (q, v))
    motions = body_motions(tree, q, v)
    joints, constants = {}, np.zeros(tree.nv)
    for j in outward(tree):
        S = j.kind.subspace(q[j.q])
        coupling, constants[j.v] = friction.of(j.name, j.kind.nv)
        T = actuator_directions(S)
        X = j.place @ j.kind.transform(q[j.q])
        joints[j.o] = JointMatrices(S.array, T, coupling_matrix(S.array, T, coupling), X)
    loops, chains = cut_loops(tree, motions, friction), all_chains(tree, main)
    columns = Columns.of(tree.nv, len(chains), sum(one.wrenches.shape[1] for one in loops))
    sources = [
        *inertial_and_gravity(tree, motions, columns),
        *joint_sources(tree, joints, columns, constants),
        *environment(tree, np.zeros((tree.nbodies, 6)) if wrenches is None else wrenches, columns),
        *cut_sources(loops, columns),
    ]
    rows = constraint_rows(mechanism, loops)
    return Propagation(tree, v, columns, joints, chains, sources, loops, rows, constants, friction)
