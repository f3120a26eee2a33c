"""Force elements with their own force function: joint forces, energy and power at one state of a tree.

An element applies forces to bodies and joints (`model/elements/force.py`). The transposed Jacobian maps them to the
joints: wrenches are propagated inward, and each joint takes their component along its motion subspace.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from linkwork.algorithms.kinematics import Kinematics, kinematics, world_poses
from linkwork.algorithms.tree_traversal import inward
from linkwork.model.mechanism import Mechanism
from linkwork.spatial import Force, Motion, Transform
from linkwork.spatial.scalar import Array, Number


class TreeMotion:
    """Poses and velocities of the bodies, frames and joints of a tree at q (nq,) and v (nv,), by name."""

    def __init__(self, tree: Mechanism, q: Array, v: Array):
        self.tree, self.q, self.v = tree, q, v

    @cached_property
    def relative(self) -> Kinematics:
        """The kinematics of all bodies, computed when an element needs them."""
        return kinematics(self.tree, self.q, self.v)

    @cached_property
    def poses(self) -> list[Transform]:
        """The poses of all bodies in the world."""
        return world_poses(self.tree, self.relative.X)

    def pose(self, body: str) -> Transform:
        """The pose X_WB of a body's frame, or of another frame, in the world."""
        frame = self.tree.frames[body]
        return self.poses[frame.body] @ frame.pose

    def twist(self, body: str) -> Motion:
        """Velocity of a frame's origin [m/s] and its angular velocity [rad/s], both in the world's axes."""
        frame = self.tree.frames[body]
        V, R = frame.pose.down(self.relative.twist[frame.body]), self.pose(body).R
        return Motion(R @ V.linear, R @ V.angular)

    def coordinates(self, joint: str) -> Array:
        """The coordinates (nq,) of a joint [rad or m, or quaternions]."""
        return self.q[self.tree.joints[joint].q].copy()  # an element may write into it

    def velocities(self, joint: str) -> Array:
        """The velocities (nv,) of a joint [rad/s or m/s]."""
        return self.v[self.tree.joints[joint].v].copy()


def element_forces(tree: Mechanism, q: Array, v: Array) -> Array:
    """Joint forces (nv,) [N m or N] of all force elements of a tree."""
    motion = TreeMotion(tree, q, v)
    applied = [element.force(motion) for element in tree.forces]
    if not applied:
        return np.zeros(tree.nv)
    on_bodies = [Force.zero() for _ in tree.bodies]
    on_joints: list[Number] = [0.0] * tree.nv
    for acting in applied:
        for body in dict.fromkeys(name for name, *_ in acting.bodies):
            k = tree.frames[body].body
            on_bodies[k] = on_bodies[k] + motion.poses[k].down(acting.wrench(body))
        for joint, forces in acting.joints:
            first = tree.joints[joint].v.start
            for k, force in enumerate(forces):
                on_joints[first + k] = on_joints[first + k] + force
    found = [np.zeros(0)]
    for j in inward(tree):
        found.append(motion.relative.S[j.o].pair(on_bodies[j.o]) + np.array(on_joints[j.v]))
        on_bodies[j.i] = on_bodies[j.i] + motion.relative.X[j.o].up(on_bodies[j.o])
    return np.concatenate(found[:1] + found[:0:-1])


def element_energy(tree: Mechanism, q: Array) -> Number:
    """Energy [J] stored in all force elements of a tree."""
    motion = TreeMotion(tree, q, np.zeros(tree.nv))
    return sum((element.energy(motion) for element in tree.forces), 0.0)


def element_power(tree: Mechanism, q: Array, v: Array) -> Number:
    """Power [W] that all force elements add to the total energy of a tree."""
    motion = TreeMotion(tree, q, v)
    return sum((element.power(motion, element.force(motion)) for element in tree.forces), 0.0)
