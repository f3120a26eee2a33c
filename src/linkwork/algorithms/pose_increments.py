"""Increments of body poses over a step, and discrete momenta (S4 sections 2.4.1 and 5.4).

A body moves from one pose to another in a step h [s]. In its first frame it rotates by the unit quaternion f =
conj(q_0) q_1, and its frame's origin moves by d. The midpoint rule (2.23) for a body with position and quaternion,
whose angular velocity is 2 Im(conj(q) dq/dt), depends on f and d only:

    L_d = m |e|^2 / (2 h) + 2 f_v^T I f_v / h        e: displacement of the centre of mass

Increments, not poses, are multiplied along the tree, so that momenta are accurate for arbitrarily small steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.algorithms.tree_traversal import outward
from linkwork.model.mechanism import Mechanism
from linkwork.spatial import Force, Transform
from linkwork.spatial.inertia import RigidInertia
from linkwork.spatial.rotation import matrix_from_quaternion, product
from linkwork.spatial.scalar import Array, Number, cross, dot, hat


class Increment(NamedTuple):
    """Motion of a frame over a step: rotation f (4,), a unit quaternion, and displacement d (3,) [m].

    Both are in the axes of the frame at the beginning of the step.
    """

    f: Array
    d: Array

    def shift(self, r: Array) -> Array:
        """Return the displacement (3,) [m] of a point r (3,) [m] of the frame due to the rotation alone."""
        w, v = self.f[0], self.f[1:]
        first = cross(v, r)
        return (first * w + cross(v, first)) * 2.0

    def then(self, other: Increment) -> Increment:
        """Return the composition of this increment and `other`, which is given in the frame where this one ends."""
        return Increment(product(self.f, other.f), self.d + other.d + self.shift(other.d))

    def at_fixed_frame(self, X: Transform) -> Increment:
        """Return the increment of a second frame that is fixed in this frame at the pose X."""
        turned = np.concatenate([self.f[:1], X.R.T @ self.f[1:]])
        return Increment(turned, X.R.T @ (self.d + self.shift(X.p)))

    @property
    def transform(self) -> Transform:
        """Pose of the frame at the end of the step, in the frame at its beginning."""
        return Transform(matrix_from_quaternion(self.f), self.d)


STILL = Increment(np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3))


def joint_increments(mechanism: Mechanism, q: Array, dv: Array) -> list[Increment]:
    """Return the increment of every body relative to its inboard body, for joint displacements dv (nv,) from q (nq,).

    The increments are in the frames of the bodies at the beginning of the step; entry 0 is the world.
    """
    return [STILL, *(Increment(*j.kind.moved(q[j.q], dv[j.v])) for j in outward(mechanism))]


def body_increments(mechanism: Mechanism, X: list[Transform], joints: list[Increment]) -> list[Increment]:
    """Return the increment of every body, from the joint poses X at the beginning and the increments of the joints."""
    found = [STILL]
    for j in outward(mechanism):
        found.append(found[j.i].at_fixed_frame(X[j.o]).then(joints[j.o]))
    return found


class Momenta(NamedTuple):
    """Discrete momenta of a body, as wrenches at its frame: -D1 L_d in its first pose, D2 L_d in its second."""

    before: Force
    after: Force


def momenta(inertia: RigidInertia, moved: Increment, h: Number) -> Momenta:
    """Return the discrete momenta [N s, N m s] of a body that moves by the increment `moved` in a step h [s]."""
    c, I = centre(inertia)
    w, v = moved.f[0], moved.f[1:]
    A, rate = matrix_from_quaternion(moved.f), 1.0 / h
    push = (moved.d + moved.shift(c)) * (inertia.mass * rate)
    Iv = I @ v
    straight, bent = Iv * w, cross(v, Iv)
    turning = [(straight + bent) * (2.0 * rate), (straight - bent) * (2.0 * rate)]
    pushes = [push, A.T @ push]
    return Momenta(*(Force(p, n + cross(c, p)) for p, n in zip(pushes, turning, strict=True)))


def momentum_derivative(inertia: RigidInertia, moved: Increment, h: Number) -> Array:
    """Return the derivative (6, 6) of the momentum `before` by the twist of the second pose (D2 D1 of -L_d).

    The twist is in the frame of the second pose.
    """
    c, I = centre(inertia)
    w, v, rate = moved.f[0], moved.f[1:], 2.0 / h
    Iv = I @ v
    turned = (np.eye(3) * w + hat(v)) * 0.5  # derivative of f_v; f_w changes by -f_v / 2
    about = np.outer(Iv, v) * -0.5 + I @ turned * w - hat(Iv) @ turned + hat(v) @ (I @ turned)
    along = matrix_from_quaternion(moved.f) * (inertia.mass * (1.0 / h))
    C = hat(c)
    return np.block([[along, -along @ C], [C @ along, about * rate - C @ along @ C]])


def centre(inertia: RigidInertia) -> tuple[Array, Array]:
    """Return the centre of mass (3,) [m] of a body, and its inertia (3, 3) [kg m^2] about that point."""
    m = inertia.mass
    if isinstance(m, float) and m == 0.0:
        return np.zeros(3), inertia.rotational
    c = inertia.moment / m
    return c, inertia.rotational - (np.eye(3) * dot(c, c) - np.outer(c, c)) * m
