"""Force elements: their joint forces, energy and power in one state of a tree.

A force element computes forces on bodies and joints (`model/elements/force.py`). The transposed Jacobian maps them to
joint forces: wrenches are propagated inward, and each joint takes their component along its motion subspace.
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
    """Poses and velocities of named bodies, frames and joints of a tree, computed from q (nq,) and v (nv,)."""

    def __init__(self, tree: Mechanism, q: Array, v: Array):
        self.tree, self.q, self.v = tree, q, v

    @cached_property
    def relative(self) -> Kinematics:
        """Kinematics of all bodies relative to their inboard bodies, computed when first needed."""
        return kinematics(self.tree, self.q, self.v)

    @cached_property
    def poses(self) -> list[Transform]:
        """Poses of all bodies in the world."""
        return world_poses(self.tree, self.relative.X)

    def pose(self, body: str) -> Transform:
        """Return the pose X_WB in the world of a body's frame, or of another named frame."""
        frame = self.tree.frames[body]
        return self.poses[frame.body] @ frame.pose

    def twist(self, body: str) -> Motion:
        """Return the velocity of the origin [m/s] and the angular velocity [rad/s] of a frame, in world axes.

        `body` is the name of a body or of another frame.
        """
        frame = self.tree.frames[body]
        V, R = frame.pose.down(self.relative.twist[frame.body]), self.pose(body).R
        return Motion(R @ V.linear, R @ V.angular)

    def coordinates(self, joint: str) -> Array:
        """Return the coordinates (nq of the joint,) [rad or m, or quaternion components] of a named joint."""
        return self.q[self.tree.joints[joint].q].copy()  # a copy, because the element may write into it

    def velocities(self, joint: str) -> Array:
        """Return the velocities (nv of the joint,) [rad/s or m/s] of a named joint."""
        return self.v[self.tree.joints[joint].v].copy()


def element_forces(tree: Mechanism, q: Array, v: Array) -> Array:
    """Return the joint forces (nv,) [N m or N] of all force elements of a tree.

    q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities.
    """
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
    """Return the energy [J] stored in all force elements of a tree.

    q (nq,) [rad or m, or quaternions] are the coordinates.
    """
    motion = TreeMotion(tree, q, np.zeros(tree.nv))
    return sum((element.energy(motion) for element in tree.forces), 0.0)


def element_power(tree: Mechanism, q: Array, v: Array) -> Number:
    """Return the power [W] that all force elements add to the total energy of a tree.

    q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities.
    """
    motion = TreeMotion(tree, q, v)
    return sum((element.power(motion, element.force(motion)) for element in tree.forces), 0.0)
