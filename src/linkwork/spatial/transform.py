"""Rigid transforms: X_ab maps b-coordinates to a-coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import numpy as np

from linkwork.spatial.rotation import (
    exp_coefficient,
    exp_matrix,
    half_sinc,
    log_coefficient,
    log_matrix,
    matrix_from_rpy,
)
from linkwork.spatial.scalar import Array, cross, dot
from linkwork.spatial.vectors import Motion


class Movable(Protocol):
    """Interface of quantities that can be transformed from frame b to frame a: motions, forces and inertias.

    A quantity that is given or expressed in a frame refers to the origin and to the axes of this frame.
    """

    def to_frame_a(self, X: Transform) -> Self:
        """Return this quantity, given in frame b, expressed in frame a; X is X_ab."""
        ...


class MovableBothWays(Movable, Protocol):
    """Interface of quantities that can be transformed in both directions between two frames: motions and forces."""

    def to_frame_b(self, X: Transform) -> Self:
        """Return this quantity, given in frame a, expressed in frame b; X is X_ab."""
        ...


M = TypeVar("M", bound=Movable)
B = TypeVar("B", bound=MovableBothWays)


@dataclass(frozen=True, eq=False)
class Transform:
    """Pose X_ab of frame b in frame a: rotation matrix R_ab (3, 3), and b's origin p (3,) [m] in a's coordinates."""

    R: Array
    p: Array

    @staticmethod
    def identity() -> Transform:
        """Return the identity transform: frame b coincides with frame a."""
        return Transform(np.eye(3), np.zeros(3))

    @staticmethod
    def place(at: Array, rpy: Array) -> Transform:
        """Return the pose with position `at` (3,) [m] and URDF's roll, pitch, yaw angles `rpy` (3,) [rad]."""
        return Transform(matrix_from_rpy(*rpy), np.asarray(at))

    def __matmul__(self, other: Transform) -> Transform:
        """Return the composition X_ac = X_ab @ X_bc."""
        return Transform(self.R @ other.R, self.p + self.R @ other.p)

    def inverse(self) -> Transform:
        """Return the inverse transform X_ba."""
        return Transform(self.R.T, -(self.R.T @ self.p))

    def point(self, r: Array) -> Array:
        """Return the coordinates (3,) [m] in frame a of a point with coordinates r (3,) [m] in frame b."""
        return self.R @ r + self.p

    def up(self, x: M) -> M:
        """Return x, a motion, force or inertia given in frame b, expressed in frame a."""
        return x.to_frame_a(self)

    def down(self, x: B) -> B:
        """Return x, a motion or force given in frame a, expressed in frame b."""
        return x.to_frame_b(self)

    @property
    def matrix(self) -> Array:
        """Homogeneous matrix (4, 4) [[R, p], [0, 1]] of the transform (Wendlandt 1997, section A.4)."""
        return np.array(
            [[*self.R[0], self.p[0]], [*self.R[1], self.p[1]], [*self.R[2], self.p[2]], [0.0, 0.0, 0.0, 1.0]]
        )

    def snapped(self) -> Transform:
        """Return the transform with entries of R and p within 1e-12 of 0 or +-1 made exact.

        The compiler can then simplify products with these entries.
        """
        return Transform(snap(self.R), snap(self.p))


def snap(a: Array) -> Array:
    """Return the array a with entries within 1e-12 of 0, 1 or -1 made exact; object arrays are returned unchanged."""
    if a.dtype == object:
        return a
    near = np.round(a)
    return np.where((np.abs(a - near) < 1e-12) & (np.abs(near) <= 1.0), near + 0.0, a)


def exp_transform(V: Motion) -> Transform:
    """Return the pose that a body reaches in 1 s from the identity pose at the twist V (exponential map).

    V [m/s, rad/s] is the velocity of the body in its own frame, and constant there.
    """
    v, w = V.linear, V.angular
    squared = dot(w, w)
    h = half_sinc(squared)
    wv = cross(w, v)
    # p = (1 + (1 - cos)/t^2 hat(w) + (t - sin)/t^3 hat(w)^2) v, with 1 - cos = 2 sin^2(t/2)
    return Transform(exp_matrix(w), v + wv * (2.0 * h * h) + cross(w, wv) * exp_coefficient(squared))


def log_transform(X: Transform) -> Motion:
    """Return the twist [m/s, rad/s], constant in the body's frame, that reaches pose X in 1 s (logarithm of X).

    The motion begins at the identity pose and has a rotation angle in [0, pi]. The function inverts `exp_transform`.
    """
    w = log_matrix(X.R)
    wp = cross(w, X.p)
    return Motion(X.p - wp * 0.5 + cross(w, wp) * log_coefficient(dot(w, w)), w)
