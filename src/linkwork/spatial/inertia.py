"""Rigid and articulated inertia about a frame's origin, stored as symmetric 3x3 blocks (no dense 6x6 products)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from linkwork.spatial.scalar import Array, Number, congruence, cross, dot, hat, symmetric
from linkwork.spatial.vectors import Force, Motion
from linkwork.tolerances import TINY

if TYPE_CHECKING:
    from linkwork.spatial.transform import Transform


@dataclass(frozen=True, eq=False)
class RigidInertia:
    """Inertia of a rigid body about the origin of a frame, in the axes of this frame.

    `mass` is in [kg], `moment` (3,) [kg m] is the first moment (mass times centre of mass), and `rotational` (3, 3) [kg
    m^2] the inertia about the origin.
    """

    mass: Number
    moment: Array
    rotational: Array

    @staticmethod
    def zero() -> RigidInertia:
        """Return the inertia of a massless body: mass, first moment and rotational inertia are zero."""
        return RigidInertia(0.0, np.zeros(3), np.zeros((3, 3)))

    @staticmethod
    def of(mass: Number, com: Array, inertia: Array) -> RigidInertia:
        """Return the inertia of a body from its mass [kg], centre of mass (3,) [m] and inertia (3, 3) [kg m^2].

        `inertia` is about the centre of mass `com`, in the frame's axes.
        """
        cc, h = dot(com, com), com * mass
        return RigidInertia(
            mass, h, symmetric(lambda i, j: inertia[i, j] + (mass * cc if i == j else 0.0) - h[i] * com[j])
        )

    def __add__(self, other: RigidInertia) -> RigidInertia:
        return RigidInertia(self.mass + other.mass, self.moment + other.moment, self.rotational + other.rotational)

    def __matmul__(self, V: Motion) -> Force:
        """Return the momentum [kg m/s, kg m^2/s] of a body with twist V = [v; w], about the frame's origin.

        It is [m v - h x w; I w + h x v], with the first moment h = `moment` and I = `rotational`.
        """
        h, v, w = self.moment, V.linear, V.angular
        return Force(v * self.mass - cross(h, w), self.rotational @ w + cross(h, v))

    def gyroscopic(self, V: Motion) -> Force:
        """Return the wrench V x* (I V) [N, N m] that is necessary to keep the body twist V = [v; w] constant.

        With the first moment h, the formula uses v x (w x h) + w x (h x v) = h x (w x v).
        """
        h, w = self.moment, V.angular
        wv = cross(w, V.linear)
        return Force(wv * self.mass + cross(w, cross(w, h)), cross(w, self.rotational @ w) + cross(h, wv))

    @property
    def central(self) -> tuple[Array, Array]:
        """The centre of mass (3,) [m], and the inertia (3, 3) [kg m^2] about it, both in the frame's axes.

        The centre of mass of a massless body is the frame's origin.
        """
        c, h, I = self.moment / (self.mass + TINY), self.moment, self.rotational
        ch = dot(c, h)
        return c, symmetric(lambda i, j: I[i, j] - (ch if i == j else 0.0) + h[i] * c[j])

    def to_frame_a(self, X: Transform) -> RigidInertia:
        """Return this inertia, given in frame b, expressed in frame a; X is X_ab.

        The inertia is rotated, then moved by the parallel-axis theorem.
        """
        m, p, h = self.mass, X.p, X.R @ self.moment
        s = h + p * m  # first moment about the origin of frame a
        diagonal = dot(p, h) + dot(p, s)
        I = congruence(X.R, self.rotational)
        return RigidInertia(
            m, s, symmetric(lambda i, j: I[i, j] + (diagonal if i == j else 0.0) - p[i] * h[j] - s[i] * p[j])
        )

    def articulated(self) -> ArticulatedInertia:
        """Return the same inertia as an `ArticulatedInertia`."""
        m = self.mass
        return ArticulatedInertia(
            np.array([[m, 0.0, 0.0], [0.0, m, 0.0], [0.0, 0.0, m]]), -hat(self.moment), self.rotational
        )

    @property
    def matrix(self) -> Array:
        """The rigid-body inertia as a dense matrix (6, 6) about the frame's origin, linear part first."""
        return self.articulated().matrix


@dataclass(frozen=True, eq=False)
class ArticulatedInertia:
    """Articulated-body inertia P (6, 6) about the origin of a frame, stored as blocks M [kg], H [kg m] and I [kg m^2].

    [f; n] = P [v; w] with P = [[M, H], [H^T, I]], blocks (3, 3) in the frame's axes. P maps the acceleration [v; w] of
    a body to the wrench [f; n] that causes it, if all joints outboard of the body are free to move.
    """

    M: Array
    H: Array
    I: Array

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        return ArticulatedInertia(self.M + other.M, self.H + other.H, self.I + other.I)

    def __matmul__(self, V: Motion) -> Force:
        """Return the wrench [N, N m] that gives the body the acceleration V [m/s^2, rad/s^2].

        If V is a matrix of columns (6, k), the result has one wrench for each column.
        """
        return Force(self.M @ V.linear + self.H @ V.angular, self.H.T @ V.linear + self.I @ V.angular)

    def less(self, U: Force, G: Force) -> ArticulatedInertia:
        """Return the articulated inertia P - U G^T, where U and G are matrices (6, k) with symmetric product U G^T.

        Only the upper halves of the symmetric blocks are computed.
        """
        return ArticulatedInertia(
            symmetric(lambda i, j: self.M[i, j] - U.linear[i] @ G.linear[j]),
            self.H - U.linear @ G.angular.T,
            symmetric(lambda i, j: self.I[i, j] - U.angular[i] @ G.angular[j]),
        )

    def to_frame_a(self, X: Transform) -> ArticulatedInertia:
        """Return this inertia, given in frame b, expressed in frame a; X is X_ab: Ad_X^-T P Ad_X^-1."""
        R, p = X.R, hat(X.p)
        M, H, I = congruence(R, self.M), R @ self.H @ R.T, congruence(R, self.I)
        K = H - M @ p
        pK, pH = p @ K, p @ H
        return ArticulatedInertia(M, K, symmetric(lambda i, j: I[i, j] + pK[i, j] + pH[j, i]))

    @property
    def matrix(self) -> Array:
        """The articulated inertia as a dense matrix (6, 6), linear part first."""
        return np.block([[self.M, self.H], [self.H.T, self.I]])
