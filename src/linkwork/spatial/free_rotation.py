"""Rotation of a rigid body without torque: explicit steps that conserve the angular momentum to round-off.

The inverse inertia is s 1 + sum d_k e_k e_k^T, with unit vectors e_k. The kinetic energy of the angular momentum L is
then a sum of terms, and the motion of each term alone is a rotation at a constant rate: about L at the rate s |L|, and
about e_k at the rate d_k (e_k . L) (Touma and Wisdom 1994, for principal axes). A step makes these rotations in turn.
All rotate the body about its own L, so that the angular momentum in the world is constant.

The step has order one. Followed by the step in reversed order, it is symmetric and symplectic, and has order two. It is
exact for spheres, and for bodies with an axis of symmetry if their inertia matrix is diagonal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.spatial.rotation import exp_quaternion, matrix_from_quaternion, product, quaternion_about_axis
from linkwork.spatial.scalar import Array, Number, cross, dot, ldlt, may_be_nonzero, minimum, where
from linkwork.tolerances import RANK, TINY_SIZE


class FreeRotation(NamedTuple):
    """Inertia (3, 3) [kg m^2] of a body that rotates without torque, and its inverse, as a matrix and a sum.

    The inverse (3, 3) is `sphere` 1 + sum d e e^T over the pairs (d, e) in `terms`, with d >= 0 and unit vectors e
    (3,).
    """

    inertia: Array
    inverse: Array
    sphere: Number
    terms: tuple[tuple[Number, Array], ...]

    @staticmethod
    def of(inertia: Array) -> FreeRotation:
        """Return the free rotation of a body with the given `inertia` (3, 3) [kg m^2]; a sphere if it is singular."""
        inertia = _regular(inertia)
        A = ldlt(inertia).solve(np.eye(3))
        rows = [A[i, i] - sum(abs(A[i, j]) for j in range(3) if j != i) for i in range(3)]
        sphere = minimum(minimum(rows[0], rows[1]), rows[2])  # at most the least eigenvalue (Gershgorin)
        return FreeRotation(inertia, A, sphere, _squares(A - np.eye(3) * sphere))

    def acceleration(self, w: Array) -> Array:
        """Return the angular acceleration (3,) [rad/s^2] at the angular velocity w (3,), in body axes (Euler)."""
        return -(self.inverse @ cross(w, self.inertia @ w))

    def step(self, w: Array, h: Number, mirrored: bool = False) -> tuple[Array, Array]:
        """Return the rotation (quaternion, in body axes) in a step h [s], and the angular velocity (3,) after it.

        w (3,) [rad/s] is the angular velocity before the step, in body axes. If `mirrored`, the rotations are made in
        reversed order.
        """
        L, turn = self.inertia @ w, None
        for k in (None, *reversed(range(len(self.terms)))) if mirrored else (*range(len(self.terms)), None):
            if k is None:
                part = exp_quaternion(L * (self.sphere * h))  # leaves L as it is
            else:
                d, e = self.terms[k]
                part = quaternion_about_axis(e, dot(e, L) * d * h)
                L = matrix_from_quaternion(part).T @ L
            turn = part if turn is None else product(turn, part)
        assert turn is not None
        return turn, self.inverse @ L


def _regular(inertia: Array) -> Array:
    """Return the inertia (3, 3) if it is regular, else a sphere's inertia with the same trace; the unit matrix if 0."""
    I, size = inertia, inertia[0, 0] + inertia[1, 1] + inertia[2, 2]
    second = I[0, 0] * I[1, 1] - I[0, 1] * I[0, 1]
    third = dot(I[0], cross(I[1], I[2]))
    least = RANK * size
    regular = (size > 0.0) & (I[0, 0] > least) & (second > least * size) & (third > least * size * size)
    return where(regular, I, np.eye(3) * where(size > 0.0, size / 3.0, 1.0))


def _squares(B: Array) -> tuple[tuple[Number, Array], ...]:
    """Return pairs (d, e) of numbers d >= 0 and unit vectors e (3,) with B = sum d e e^T.

    B (3, 3) is symmetric and positive semidefinite. The method is elimination: B = L D L^T.
    """
    found, size = [], B[0, 0] + B[1, 1] + B[2, 2]
    for k in range(3):
        pivot = B[k, k]
        solid = pivot > RANK * RANK * size + TINY_SIZE
        column = where(solid, B[:, k] / where(solid, pivot, 1.0), np.eye(3)[k])
        column = np.array([0.0] * k + [1.0] + list(column[k + 1 :]))
        square, d = dot(column, column), where(solid, pivot, 0.0)
        found.append((d * square, column / np.sqrt(square)))
        B = B - np.outer(column, column) * d
    return tuple(term for term in found if may_be_nonzero(term[0]))
