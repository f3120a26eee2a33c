"""Reaction wrenches: the wrench of the parent on the child through each joint."""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.forward_dynamics import forward_dynamics
from linkwork.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.algorithms.kinematics import joint_poses, world_poses
from linkwork.model.mechanism import Mechanism
from linkwork.spatial import Force, Transform
from linkwork.spatial.scalar import Array


def reactions(mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> Array:
    """Return the wrench (njoints, 6) [N, N m] of the parent on the child through each joint, in the child's frame.

    The wrench F contains the constraint forces and the joint force. Along the joint's free directions, with its motion
    subspace S, S^T F = tau - armature a. tau (nv,) [N m or N] are joint forces. q (nq,) [rad or m, or quaternions] and
    v (nv,) [rad/s or m/s] are the coordinates and velocities, and `wrenches` (nbodies, 6) [N, N m] act on the bodies at
    their origins, in their axes.
    """
    a = forward_dynamics(mechanism, q, v, tau, wrenches)
    force = inverse_dynamics(mechanism, q, v, a, wrenches).force
    return np.array([F.array for F in force[1:]]).reshape(len(mechanism.joints), 6)


def reactions_about(mechanism: Mechanism, q: Array, through: Array, frame: str) -> Array:
    """Return reaction wrenches (njoints + nloops, 6) [N, N m] of joints and loops, in the axes of a named frame.

    The wrenches are about the origin of that frame. The wrenches `through` (njoints + nloops, 6) are given in the
    frames of the children; the wrenches of loops in the frame of the loop's body b. q (nq,) [rad or m, or quaternions]
    are the coordinates.
    """
    X_0 = world_poses(mechanism, joint_poses(mechanism, q))

    def pose(name: str) -> Transform:
        found = mechanism.frames[name]
        return X_0[found.body] @ found.pose

    own = [*(joint.child for joint in mechanism.joints), *(one.child for one in mechanism.frame_constraints)]
    about = pose(frame)
    wrenches = [about.down(pose(name).up(Force.of(F))) for name, F in zip(own, through, strict=True)]
    return np.array([F.array for F in wrenches]).reshape(len(own), 6)
