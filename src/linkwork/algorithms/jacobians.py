"""Body, world and mixed Jacobians of a named frame, and their time derivatives.

`"body"`: twist in the frame's own axes, about its origin. `"world"`: in the world's axes, about the world's origin
(spatial). `"mixed"`: in the world's axes, about the frame's origin.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from linkwork.algorithms.kinematics import joint_poses, kinematics, subspaces
from linkwork.algorithms.tree_traversal import to_root
from linkwork.errors import unknown_name
from linkwork.model.mechanism import Joint, Mechanism
from linkwork.spatial import Motion, Transform
from linkwork.spatial.scalar import Array, cross

EXPRESSED = ("body", "world", "mixed")


def jacobian(mechanism: Mechanism, q: Array, frame: str, expressed: str = "body") -> Array:
    """Return the Jacobian J (6, nv) of a named frame: J v is the twist [m/s, rad/s] of the frame, linear part first.

    The twist is in the axes of the frame (`expressed` "body"), in the world frame ("world"), or about the frame's
    origin in world axes ("mixed"). q (nq,) [rad or m, or quaternions] are the coordinates.
    """
    X, S = joint_poses(mechanism, q), subspaces(mechanism, q)
    J, X_0f = _columns(mechanism, X, frame, lambda j, X_jf: X_jf.down(S[j.o]))
    return _express(J, X_0f, expressed).array


def jacobian_rate(mechanism: Mechanism, q: Array, v: Array, frame: str, expressed: str = "body") -> Array:
    """Return the time derivative dJ/dt (6, nv) of a named frame's Jacobian: the rate of its twist J v is J a + dJ/dt v.

    q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities. `expressed` is the
    choice of axes, as in `jacobian`.
    """
    motion = kinematics(mechanism, q, v)
    f = mechanism.frames[frame]
    V_f = f.pose.down(motion.twist[f.body])

    def rate(j: Joint, X_jf: Transform) -> Motion:
        V_jf = V_f - X_jf.down(motion.twist[j.o])  # twist of the frame relative to body j
        dS = j.kind.subspace_rate(q[j.q], v[j.v])
        return X_jf.down(dS) - V_jf.cross(X_jf.down(motion.S[j.o]))

    dJ, X_0f = _columns(mechanism, motion.X, frame, rate)
    if expressed == "body":
        return dJ.array
    J, _ = _columns(mechanism, motion.X, frame, lambda j, X_jf: X_jf.down(motion.S[j.o]))
    w = V_f.angular
    turning = V_f.cross(J) if expressed == "world" else Motion(cross(w, J.linear), cross(w, J.angular))
    return _express(dJ + turning, X_0f, expressed).array


def _columns(
    mechanism: Mechanism, X: list[Transform], frame: str, column: Callable[[Joint, Transform], Motion]
) -> tuple[Motion, Transform]:
    """Return a matrix of motions (6, nv) with a block of columns for each joint, and the world pose X_0f of a frame f.

    The block of a joint j inboard of the frame is `column(j, X_jf)`, where X_jf is the pose of the frame in the
    outboard body of j; the columns of all other joints are zero. `frame` is the name of f, and X are the poses of all
    bodies in their inboard bodies.
    """
    f = mechanism.frames[frame]
    nothing = np.zeros((3, mechanism.nv))
    linear, angular = list(nothing.T), list(nothing.T)
    X_jf = f.pose
    for j in to_root(mechanism, f.body):
        block = column(j, X_jf)
        linear[j.v], angular[j.v] = list(block.linear.T), list(block.angular.T)
        X_jf = X[j.o] @ X_jf
    if not linear:
        return Motion(nothing, nothing), X_jf
    return Motion(np.array(linear).T, np.array(angular).T), X_jf


def _express(body: Motion, X_0f: Transform, expressed: str) -> Motion:
    """Return a motion, given in the axes of a frame with world pose X_0f, in the axes that `expressed` names.

    `expressed` is "body" (unchanged), "world" or "mixed"; see `jacobian`.
    """
    if expressed not in EXPRESSED:
        raise unknown_name("frame of expression of a Jacobian", expressed, EXPRESSED)
    if expressed == "body":
        return body
    return X_0f.up(body) if expressed == "world" else body.rotated(X_0f.R)
