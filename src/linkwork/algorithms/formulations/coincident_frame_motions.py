"""Velocities and accelerations of frames relative to instantaneously coincident, resting frames (S1 section 3).

All six-vectors are in the axes of the moving frame, linear part first. Accelerations are those of the frame's origin,
J a + bias for joint accelerations a; they are not rates of body twists.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.algorithms.formulations.propagation_matrices import link_jacobian
from linkwork.algorithms.tree_traversal import outward
from linkwork.model.mechanism import Mechanism
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array, cross


class FrameMotion(NamedTuple):
    """Motion of a frame: pose `X` in the world, velocity `v` (6,), and acceleration J a + bias, J (6, nv), bias (6,).

    a (nv,) are the joint accelerations. Linear parts in [m/s, m/s^2], angular parts in [rad/s, rad/s^2].
    """

    X: Transform
    v: Array
    J: Array
    bias: Array

    def moved(self, X: Transform, u: Array) -> FrameMotion:
        """Return the motion of a second frame with the pose X in this frame, and a velocity u (6,) relative to it.

        The relative velocity u, in the axes of the second frame, is constant; zero if the frames belong to one body.
        """
        L = link_jacobian(X)
        w, slide, turn = self.v[3:], u[:3], u[3:]
        turned = X.R.T @ w
        centripetal = X.R.T @ cross(w, cross(w, X.p)) + cross(turned * 2.0 + turn, slide)
        return FrameMotion(
            self.X @ X,
            L @ self.v + u,
            L @ self.J,
            L @ self.bias + np.concatenate([centripetal, cross(turned, turn)]),
        )


def body_motions(mechanism: Mechanism, q: Array, v: Array) -> list[FrameMotion]:
    """Return the motions of the frames of all bodies, as a list by body number.

    Entry 0 is the world. q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and
    velocities.
    """
    rest = FrameMotion(Transform.identity(), np.zeros(6), np.zeros((6, mechanism.nv)), np.zeros(6))
    motions = [rest]
    for j in outward(mechanism):
        S, rate = j.kind.subspace(q[j.q]).array, j.kind.subspace_rate(q[j.q], v[j.v]).array
        found = motions[j.i].moved(j.place @ j.kind.transform(q[j.q]), S @ v[j.v])
        J = np.array(found.J)
        J[:, j.v] += S
        motions.append(found._replace(J=J, bias=found.bias + rate @ v[j.v]))
    return motions


def relative_acceleration(a: FrameMotion, b: FrameMotion) -> tuple[Transform, Array, Array, Array]:
    """Return pose X, velocity u (6,), and acceleration J and bias, of frame b relative to frame a.

    The relative acceleration is J a + bias with J (6, nv) and bias (6,), for joint accelerations a (nv,): it is the
    rate of u. Velocity and acceleration are in the axes of b. The results are X, u, J and bias, in this order.
    """
    X = a.X.inverse() @ b.X
    u = b.v - link_jacobian(X) @ a.v
    carried = a.moved(X, u)
    return X, u, b.J - carried.J, b.bias - carried.bias
