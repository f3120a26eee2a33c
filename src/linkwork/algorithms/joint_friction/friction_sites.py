"""The joints and loops that have dry friction (friction sites), and the numbers of their friction forces.

The nf friction forces of a mechanism are numbered joint by joint in the order of the tree, with one force for each
velocity of a joint; mimic joints are included. The friction forces of loops follow, loop by loop.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.constraints.constrained_dynamics import JointKinematics, LoopState, loop_states
from linkwork.algorithms.constraints.constrained_dynamics import bias as loop_bias
from linkwork.algorithms.constraints.constrained_dynamics import rows as loop_rows
from linkwork.algorithms.kinematics import Kinematics, kinematics
from linkwork.model.elements.constraint import FrameConstraint
from linkwork.model.elements.joint_friction import HeldFreedom, HeldKind, JointFriction
from linkwork.model.friction.friction_law import FrictionLimit, steady
from linkwork.model.mechanism import Joint, Mechanism
from linkwork.spatial import Force, Motion
from linkwork.spatial.scalar import Array, may_be_nonzero


class Site(NamedTuple):
    """A joint of the tree, or a loop, that has dry friction along `size` velocities.

    The friction forces of the site have the numbers from `start` to `start + size - 1` among the nf friction forces of
    the mechanism. `joint` is the joint, of the tree in which mimic joints are independent, or None; `loop` is the loop,
    or None. `friction` is the element with the friction law; it is None for joints whose friction is given as a number.
    """

    name: str
    start: int
    size: int
    joint: Joint | None
    loop: FrameConstraint | None
    friction: JointFriction | None

    @property
    def forces(self) -> slice:
        """The slice of the friction forces of this site in arrays (nf,) of all friction forces."""
        return slice(self.start, self.start + self.size)

    def subspace(self, q: Array) -> Motion:
        """Return the motion subspace of the joint at the position q (tree.nq,), or that of the slip of the loop.

        q are the coordinates of the tree in which all joints are independent.
        """
        if self.loop is not None and self.friction is not None:
            return loop_subspace(self.loop, self.friction)
        assert self.joint
        return self.joint.kind.subspace(q[self.joint.q])

    def limits(self, S: Motion) -> tuple[FrictionLimit, ...]:
        """Return the friction limits at this site, for its motion subspace S (see `Site.subspace`)."""
        if self.friction is not None:
            return self.friction.law.limits(S)
        assert self.joint
        numbers = self.joint.friction
        return tuple(FrictionLimit((d,), (1.0,), (), steady(numbers[d]), None) for d in range(self.size))


def sites(mechanism: Mechanism) -> tuple[Site, ...]:
    """Return all joints and loops of a mechanism that have dry friction, in the order of their friction forces."""
    found: list[Site] = []
    frictions: dict[str, JointFriction] = {one.name: one for one in mechanism.frictions}
    start = 0
    for joint in mechanism.tree.joints:
        own = frictions.get(joint.name)
        if own is not None or any(may_be_nonzero(x) for x in joint.friction):
            found.append(Site(joint.name, start, joint.kind.nv, joint, None, own))
            start += joint.kind.nv
    for loop in mechanism.frame_constraints:
        own = frictions.get(loop.name)
        if own is not None and not own.in_tree:
            size = sum(len(limit.velocities) for limit in own.law.limits(loop_subspace(loop, own)))
            found.append(Site(loop.name, start, size, None, loop, own))
            start += size
    return tuple(found)


def friction_count(mechanism: Mechanism) -> int:
    """Return nf, the number of friction forces of a mechanism."""
    return sum(site.size for site in sites(mechanism))


def has_friction(mechanism: Mechanism) -> bool:
    """Return whether any joint or loop of a mechanism has dry friction."""
    return bool(sites(mechanism))


def loop_subspace(loop: FrameConstraint, friction: JointFriction) -> Motion:
    """Return the motion subspace of a loop's slip velocities, in the loop frame of its second body.

    The subspace is constant. `friction` is the friction of the loop.
    """
    return friction.law.slip_subspace(getattr(loop, "kind"))  # noqa: B009


def motor_directions(S: Motion) -> Force:
    """Return the unit forces T (6, k) along the k freedoms of a joint with the constant motion subspace S, S^T T = 1.

    If all freedoms of a joint are rotations, its unit forces are pure torques.
    """
    turn = S.angular
    if np.linalg.matrix_rank(turn) == turn.shape[1]:
        return Force(np.zeros_like(turn), turn @ np.linalg.inv(turn.T @ turn))
    return Force.of(S.array @ np.linalg.inv(S.array.T @ S.array))


def friction_wrenches(site: Site, loop: LoopState) -> LoopState:
    """Return the state of a loop whose rows are its friction forces instead of its constraint rows.

    The wrenches of the state are those of unit friction forces, and its errors are zero. `site` is the friction site of
    the loop, and `loop` the state with its constraint rows.
    """
    directions = friction_directions(site)
    freedoms = tuple(HeldFreedom(Force.of(column)) for column in directions.array.T)
    held = replace(loop.constraint, kind=HeldKind(None, freedoms))  # type: ignore[call-arg]
    return LoopState(held, loop.X, [0.0] * site.size, directions)


def friction_directions(site: Site) -> Force:
    """Return the wrenches (6, size) of unit friction forces on the second body of a loop, in its loop frame there.

    The wrenches are zero while the loop is open. `site` is the friction site of the loop.
    """
    assert site.loop
    assert site.friction
    return motor_directions(loop_subspace(site.loop, site.friction)) * site.loop.engaged


def slip_rows(mechanism: Mechanism, q: Array) -> Array:
    """Return the matrix (nf, nv) that maps velocities v to the slip velocities of all friction forces.

    The transpose of this matrix maps friction forces f (nf,) to joint forces. The slip velocities of a joint are its
    joint velocities. q (nq,) [rad or m, or quaternions] are the coordinates.
    """
    tree = mechanism.tree
    motion = kinematics(tree, mechanism.tree_position(q), np.zeros(tree.nv))
    return tree_slip_rows(mechanism, motion) @ mechanism.spread


def slip_velocities(mechanism: Mechanism, q: Array, v: Array) -> Array:
    """Return the slip velocities u (nf,) [rad/s, m/s] of all friction forces at q (nq,) and v (nv,)."""
    tree = mechanism.tree
    q, v = mechanism.tree_position(q), mechanism.tree_velocity(v)
    own = sites(mechanism)
    if any(site.loop for site in own):
        return tree_slip_rows(mechanism, kinematics(tree, q, v)) @ v
    return np.concatenate([np.zeros(0), *(v[site.joint.v] for site in own if site.joint)])


def tree_slip_rows(mechanism: Mechanism, motion: JointKinematics) -> Array:
    """Return the matrix (nf, tree.nv) that maps the velocities of all joints of the tree to slip velocities.

    `motion` has the joint poses and motion subspaces of the tree.
    """
    tree = mechanism.tree
    blocks = [np.zeros((0, tree.nv))]
    for site in sites(mechanism):
        if site.joint is not None:
            blocks.append(np.eye(tree.nv)[site.joint.v])
        else:
            loops = [one for one in loop_states(tree, motion.X) if one.constraint.name == site.name]
            blocks.append(loop_rows(tree, motion, [friction_wrenches(site, loops[0])]))
    return np.concatenate(blocks)


def slip_bias(mechanism: Mechanism, motion: Kinematics) -> Array:
    """Return the slip accelerations (nf,) at zero joint accelerations; zero except in loops.

    `motion` has the kinematics of the tree.
    """
    states = {one.constraint.name: one for one in loop_states(mechanism.tree, motion.X)}
    parts = [
        np.zeros(site.size)
        if site.joint
        else loop_bias(mechanism.tree, motion, [friction_wrenches(site, states[site.name])])
        for site in sites(mechanism)
    ]
    return np.concatenate([np.zeros(0), *parts])
