"""Forward kinematics: poses, twists and accelerations of all bodies (S4 section 3.2, Algorithm 3.1).

S4 (Wendlandt) puts each body's frame at its centre of mass. Here the frames are the joint frames; the formulas are the
same. Lists are indexed by body number; entry 0 is the world.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.algorithms.tree_traversal import outward
from linkwork.model.mechanism import Joint, Mechanism
from linkwork.spatial import Force, Motion, Transform
from linkwork.spatial.scalar import Array


class Kinematics(NamedTuple):
    """Poses, joint subspaces, twists and velocity-dependent accelerations of all bodies, as lists by body number.

    `X[k]` is the pose of body k in its inboard body, and `S[k]` the motion subspace of its inboard joint. `twist[k]` is
    the twist V_k [m/s, rad/s] of body k. `bias[k]` is the velocity-dependent part a_k of the acceleration of body k,
    equation (3.11) of S4. The last three are in the frame of body k.
    """

    X: list[Transform]
    S: list[Motion]
    twist: list[Motion]
    bias: list[Motion]


def joint_poses(mechanism: Mechanism, q: Array) -> list[Transform]:
    """Return the pose X_ik of every body k in its inboard body i: the joint's fixed pose, then its motion.

    q (nq,) [rad or m, or quaternions] are the coordinates. See equation (3.7) of S4.
    """
    return [Transform.identity(), *(joint_pose(j, q) for j in outward(mechanism))]


def joint_pose(joint: Joint, q: Array) -> Transform:
    """Return the pose X_ik of a joint's outboard body k in its inboard body i, at the coordinates q (nq,)."""
    return joint.place @ joint.kind.transform(q[joint.q])


def subspaces(mechanism: Mechanism, q: Array) -> list[Motion]:
    """Return the motion subspace S of every body's joint, in the body's frame; zero for the world.

    S is H_k of equation (3.8) of S4. q (nq,) [rad or m, or quaternions] are the coordinates.
    """
    return [Motion.zero(), *(j.kind.subspace(q[j.q]) for j in outward(mechanism))]


def world_poses(mechanism: Mechanism, X: list[Transform]) -> list[Transform]:
    """Return the pose X_0k of every body k in the world, from the poses X of the bodies in their inboard bodies."""
    X_0 = [Transform.identity()]
    for j in outward(mechanism):
        X_0.append(X_0[j.i] @ X[j.o])  # equation (3.1)
    return X_0


def kinematics(mechanism: Mechanism, q: Array, v: Array) -> Kinematics:
    """Return the relative poses, subspaces, twists and velocity-dependent accelerations of all bodies.

    q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities.
    """
    X, S = joint_poses(mechanism, q), subspaces(mechanism, q)
    twist, bias = [Motion.zero()], [Motion.zero()]
    for j in outward(mechanism):
        relative = S[j.o] @ v[j.v]
        V = X[j.o].down(twist[j.i]) + relative  # equation (3.9)
        twist.append(V)
        # Equation (3.11): dA/dt V_i = V_o x (S v), because A V_i = V_o - S v and S v x S v = 0
        bias.append(V.cross(relative) + j.kind.bias(q[j.q], v[j.v]))
    return Kinematics(X, S, twist, bias)


def accelerations(mechanism: Mechanism, motion: Kinematics, a: Array, base: Motion | None = None) -> list[Motion]:
    """Return the acceleration dV_k/dt of every body, in its frame, for joint accelerations a (nv,).

    `base` is the acceleration of the world, by default zero. `motion` has the kinematics of the tree.
    """
    acc = [base or Motion.zero()]
    for j in outward(mechanism):
        acc.append(motion.X[j.o].down(acc[j.i]) + motion.S[j.o] @ a[j.v] + motion.bias[j.o])  # equation (3.10)
    return acc


def against_gravity(mechanism: Mechanism) -> Motion:
    """Return the acceleration -g [m/s^2] of the world that has the same effect on every body as gravity g."""
    return Motion(-mechanism.gravity, np.zeros(3))


def external_forces(mechanism: Mechanism, wrenches: Array | None) -> list[Force]:
    """Return the external wrench on every body, in its frame, from wrenches (nbodies, 6) or None; zero on the world."""
    if wrenches is None:
        return [Force.zero() for _ in mechanism.bodies]
    return [Force.zero(), *(Force.of(w) for w in wrenches)]


def frame_pose(mechanism: Mechanism, q: Array, frame: str) -> Transform:
    """Return the pose in the world of the frame called `frame`, at coordinates q (nq,)."""
    f = mechanism.frames[frame]
    return world_poses(mechanism, joint_poses(mechanism, q))[f.body] @ f.pose
