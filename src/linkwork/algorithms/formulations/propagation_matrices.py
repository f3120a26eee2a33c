"""Link Jacobians, joint coupling matrices and propagation matrices (S1 section 3).

A force/torque six-vector that acts on one body is propagated to another body along the chain of links and joints
between them. A link changes the frame of the six-vector (link Jacobian). A joint transmits its constrained directions,
and friction along its freedoms (coupling matrix). A propagation matrix is the product of all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.tree_traversal import outward, to_root
from linkwork.model.mechanism import WORLD, Joint, Mechanism
from linkwork.spatial import Motion, Transform
from linkwork.spatial.scalar import Array, hat


def link_jacobian(X: Transform) -> Array:
    """Return the link Jacobian L (6, 6) from frame A1 to frame A2 of the same body; X is the pose of A1 in A2.

    X corresponds to the position six-vector of A1 in A2 in S1. The transpose propagates forces, f_A2 = L^T f_A1;
    velocities follow v_A1 = L v_A2, because power does not depend on the frame. All six-vectors are linear part first.
    """
    return np.block([[X.R.T, -X.R.T @ hat(X.p)], [np.zeros((3, 3)), X.R.T]])


def actuator_directions(S: Motion) -> Array:
    """Return the unit wrenches T (6, d) of a joint's actuators, one for each of the d columns of its motion subspace S.

    S^T T is the identity, so that each actuator does work along its own freedom only. If each velocity of the joint has
    an independent rotation, as for revolute, ball and screw joints, the actuators are pure torques.
    """
    turn = S.angular
    if np.linalg.matrix_rank(turn) == turn.shape[1]:
        return np.concatenate([np.zeros_like(turn), turn @ np.linalg.inv(turn.T @ turn)])
    return S.array @ np.linalg.inv(S.array.T @ S.array)


def coupling_matrix(S: Array, T: Array, friction: Array) -> Array:
    """Return the coupling matrix C (6, 6) of a joint: of a wrench f on one body, the joint transmits C f to the other.

    All matrices are in the frame of the outboard body. S (6, d) is the motion subspace and T (6, d) the directions of
    the actuators, with S^T T = 1. `friction` (d, 6) gives the friction force along each freedom per unit of load. In
    the axes of a pin or a slider, C has ones on the diagonal
    for constrained directions, and zeros for freedoms. The other entries in rows of freedoms are friction coefficients.
    """
    constrained = np.eye(6) - T @ S.T
    return constrained + T @ friction @ constrained


class Chains(NamedTuple):
    """The chains that join all bodies of one tree to its main body, and the tree to the ground.

    Bodies have their numbers; the ground at the root joint with outboard body k has the number -k, and counts as a body
    here. `main` is the number of the main body. `order` lists the main body first, and every other body k after its
    neighbour towards the main body, which is `near[k]`. `joint[k]` is the joint between body k and `near[k]`.
    """

    main: int
    order: tuple[int, ...]
    near: Mapping[int, int]
    joint: Mapping[int, Joint]

    def towards_main(self, body: int) -> Iterable[int]:
        """Yield the numbers of the bodies on the chain from `body` to the main body, with these two."""
        yield body
        while body != self.main:
            body = self.near[body]
            yield body


def inboard_number(joint: Joint) -> int:
    """Return the number of the inboard body of a joint in `Chains`: -k for the ground inboard of body k."""
    return joint.i if joint.i != WORLD else -joint.o


def all_chains(mechanism: Mechanism, main: Iterable[str] = ()) -> list[Chains]:
    """Return the chains of every tree of a mechanism, one for each joint to the world.

    `main` has the names of main bodies, at most one for each tree. For trees without a named body, the main body is the
    body at which most joints and loops meet.
    """
    named = {mechanism.bodies.index_of(name) for name in main}
    return [_chains(mechanism, joint, named) for joint in outward(mechanism) if joint.i == WORLD]


def _chains(mechanism: Mechanism, root: Joint, named: set[int]) -> Chains:
    """Return the chains of the tree on the joint `root`; `named` has the numbers of main bodies chosen by the user."""
    joints = [j for j in outward(mechanism) if any(k is root for k in to_root(mechanism, j.o))]
    ends = [(inboard_number(j), j.o, j) for j in joints]
    meeting = [body for a, b, _ in ends for body in (a, b)]
    meeting += [end.body for one in mechanism.frame_constraints for end in (one.at, one.to)]
    bodies = [j.o for j in joints]
    chosen = [body for body in bodies if body in named]
    main = chosen[0] if chosen else max(bodies, key=meeting.count)
    order, near, between = [main], {main: main}, {}
    for body in order:
        for a, b, joint in ends:
            if body in (a, b) and (other := a + b - body) not in near:
                near[other], between[other] = body, joint
                order.append(other)
    return Chains(main, tuple(order), near, between)


class JointMatrices(NamedTuple):
    """Matrices of one joint with d freedoms: motion subspace S (6, d), actuator directions T (6, d), coupling C (6, 6).

    `coupling_matrix` defines C. The matrices are in the frame of the outboard body, which has the pose X in the frame
    of the inboard body.
    """

    S: Array
    T: Array
    C: Array
    X: Transform

    @property
    def C_AB(self) -> Array:
        """The coupling matrix (6, 6) with the signs of all friction coefficients changed."""
        return 2.0 * (np.eye(6) - self.T @ self.S.T) - self.C

    def to_joint(self, outboard: bool) -> Array:
        """Return the matrix (6, 6) that propagates forces from the frame of one body of the joint to the joint's frame.

        `outboard` is true for the outboard body, and false for the inboard body. The joint's frame is that of the
        outboard body.
        """
        return np.eye(6) if outboard else link_jacobian(self.X.inverse()).T

    def to_near(self, outboard: bool) -> Array:
        """Return the matrix (6, 6) that propagates forces on one body through the joint to the other body.

        It maps from the frame of the first body to the frame of the other. `outboard` is true if the forces act on the
        outboard body, and false if they act on the inboard body.
        """
        return link_jacobian(self.X).T @ self.C if outboard else self.C @ self.to_joint(outboard)


def propagation_matrices(chains: Chains, joints: Mapping[int, JointMatrices]) -> dict[tuple[int, int], Array]:
    """Return the propagation matrices P (6, 6) by pairs of body numbers (Z, Y).

    P maps forces on body Y, in the frame of Y, to the frame of body Z, which is on the chain from Y to the main body; Y
    and the main body count. `chains` are the chains of one tree. `joints` has the matrices of the joints by the number
    of their outboard body.
    """
    P: dict[tuple[int, int], Array] = {}
    for far in chains.order:
        P[far, far] = np.eye(6)
        if far == chains.main:
            continue
        joint, near = chains.joint[far].o, chains.near[far]
        step = joints[joint].to_near(joint == far)
        for body in chains.towards_main(near):
            P[body, far] = P[body, near] @ step
    return P
