"""What bodies do between two instants, and the momenta that belong to it (S4 sections 2.4.1 and 5.4).

A body that was in one pose is in another a step h [s] later. Seen from where it was, it turned by the unit quaternion
f = conj(q_0) q_1 and its frame moved by d. The midpoint rule (2.23) for a body with position and quaternion, whose
angular velocity is 2 Im(conj(q) dq/dt), needs no more than these:

    L_d = m |e|^2 / (2 h) + 2 f_v^T I f_v / h        e: how far the centre of mass moved

Poses are multiplied up along the tree as increments, so that momenta keep all digits however small the step is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.algorithms.sweeps import outward
from linkwork.model.mechanism import Mechanism
from linkwork.spatial import Force, Transform
from linkwork.spatial.inertia import RigidInertia
from linkwork.spatial.rotation import matrix_from_quaternion, product
from linkwork.spatial.scalar import Array, Number, cross, dot, hat


class Increment(NamedTuple):
    """How a frame moved, seen from where it was: unit quaternion f (4,) and displacement d (3,) [m]."""

    f: Array
    d: Array

    def shift(self, r: Array) -> Array:
        """How far the turn alone takes a point r (3,) [m] of the frame."""
        w, v = self.f[0], self.f[1:]
        first = cross(v, r)
        return (first * w + cross(v, first)) * 2.0

    def then(self, other: Increment) -> Increment:
        """Both, one after the other, where the other is seen from where the first ends."""
        return Increment(product(self.f, other.f), self.d + other.d + self.shift(other.d))

    def carried(self, X: Transform) -> Increment:
        """The same motion of a frame that is held at the pose X in this one."""
        turned = np.concatenate([self.f[:1], X.R.T @ self.f[1:]])
        return Increment(turned, X.R.T @ (self.d + self.shift(X.p)))

    @property
    def transform(self) -> Transform:
        """The pose where it ends, seen from where it begins."""
        return Transform(matrix_from_quaternion(self.f), self.d)


STILL = Increment(np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3))


def joint_increments(mechanism: Mechanism, q: Array, dv: Array) -> list[Increment]:
    """What the joints' own motions dv (nv,) from q (nq,) are, seen from the bodies that they carry."""
    return [STILL, *(Increment(*j.kind.moved(q[j.q], dv[j.v])) for j in outward(mechanism))]


def body_increments(mechanism: Mechanism, X: list[Transform], joints: list[Increment]) -> list[Increment]:
    """How every body moved, from the joint poses X at the beginning and the joints' own motions."""
    found = [STILL]
    for j in outward(mechanism):
        found.append(found[j.i].carried(X[j.o]).then(joints[j.o]))
    return found


class Momenta(NamedTuple):
    """Discrete momenta of a body, as wrenches at its frame: -D1 L_d in its first pose, D2 L_d in its second."""

    before: Force
    after: Force


def momenta(inertia: RigidInertia, moved: Increment, h: Number) -> Momenta:
    """The momenta [N s, N m s] of a body that moves so in a step h [s]."""
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
    """The derivative (6, 6) of the momentum before by the twist of the second pose, in it (D2 D1 of -L_d)."""
    c, I = centre(inertia)
    w, v, rate = moved.f[0], moved.f[1:], 2.0 / h
    Iv = I @ v
    turned = (np.eye(3) * w + hat(v)) * 0.5  # of f_v; f_w changes by -f_v / 2
    about = np.outer(Iv, v) * -0.5 + I @ turned * w - hat(Iv) @ turned + hat(v) @ (I @ turned)
    along = matrix_from_quaternion(moved.f) * (inertia.mass * (1.0 / h))
    C = hat(c)
    return np.block([[along, -along @ C], [C @ along, about * rate - C @ along @ C]])


def centre(inertia: RigidInertia) -> tuple[Array, Array]:
    """The centre of mass (3,) [m] of a body, and its inertia (3, 3) [kg m^2] about it."""
    m = inertia.mass
    if isinstance(m, float) and m == 0.0:
        return np.zeros(3), inertia.rotational
    c = inertia.moment / m
    return c, inertia.rotational - (np.eye(3) * dot(c, c) - np.outer(c, c)) * m
