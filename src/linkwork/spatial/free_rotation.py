"""Rotation of a rigid body without torque: steps that conserve the angular momentum and the energy to round-off.

In body axes, the angular momentum L changes at the rate L' = L x w with w = I^-1 L. With B = I^-1 - s 1, w = s L + B L;
since L x L = 0, only B L changes L: L' = L x B L. A step h makes two rotations: by s h L about the angular momentum,
and by h x in body axes, with x = B (L0 + L1) / 2, where L0 and L1 = exp(-h x) L0 are the angular momenta before and
after the step. The angular momentum in the world is then constant. The energy is constant too, because the change of L
is perpendicular to x (Lewis and Simo 1994, with s = 0).

The step is symmetric and has order two. If s is the middle diagonal element of I^-1, the step is exact for spheres, and
for bodies with an axis of symmetry along a coordinate axis. The step is exact for all steady rotations.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork.spatial.rotation import exp_quaternion, matrix_from_quaternion, product
from linkwork.spatial.scalar import Array, Condition, Number, cross, dot, ldlt, maximum, minimum, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import RANK, TINY_SIZE

ITERATIONS = 12  # largest number of iterations; steps that rotate a body by less than 0.1 rad need two to four
SETTLED = 1e-15  # change of the angular momentum, relative to its size, at which the iteration ends
LEAST = 0.1  # smallest cosine of half the angle |h x| of the second rotation; beyond it the energy is not constant


class FreeRotation(NamedTuple):
    """Data of a body that rotates without torque: its `inertia` (3, 3) [kg m^2] and the `inverse` of the inertia."""

    inertia: Array
    inverse: Array

    @staticmethod
    def of(inertia: Array) -> FreeRotation:
        """Return the data of a body with this `inertia` (3, 3) [kg m^2].

        If the inertia is singular, the inertia of a sphere with the same trace is used instead.
        """
        inertia = _regular_inertia(inertia)
        return FreeRotation(inertia, ldlt(inertia).solve(np.eye(3)))

    def acceleration(self, w: Array) -> Array:
        """Return the angular acceleration (3,) [rad/s^2] at the angular velocity w (3,) [rad/s], both in body axes."""
        return -(self.inverse @ cross(w, self.inertia @ w))

    def step(self, w: Array, h: Number) -> tuple[Array, Array]:
        """Return the rotation of the body in a step h [s], and the angular velocity (3,) [rad/s] after the step.

        The rotation is the unit quaternion (4,) of the matrix that maps coordinates in body axes after the step to body
        axes before it. w (3,) [rad/s] is the angular velocity before the step. Both angular velocities are in the body
        axes of their time.
        """
        L, middle = self.inertia @ w, _middle_eigenvalue(self.inverse)
        B, enough = self.inverse - np.eye(3) * middle, dot(L, L) * SETTLED**2

        def iteration(mean: Array) -> tuple[tuple[Any, ...], Condition]:
            x = B @ mean
            turn = exp_quaternion(x * h)
            s = maximum(turn[0], LEAST)
            t = turn[1:] / s  # |t| is the tangent of half the angle: L1 - L0 = -2 t x (L0 + L1) / 2
            share = 0.5 * h / s
            error = L - mean - cross(t, mean)
            columns = [e + cross(t, e) - cross(mean, column) * share for e, column in zip(np.eye(3), B.T, strict=True)]
            return (mean + _solve(columns, error),), dot(error, error) <= enough

        (mean,), _, _ = iterate(ITERATIONS, iteration, L)
        turn = exp_quaternion(B @ mean * h)
        after = matrix_from_quaternion(turn).T @ L
        return product(exp_quaternion(L * (middle * h)), turn), self.inverse @ after


def _solve(columns: list[Array], right: Array) -> Array:
    """Return the solution (3,) of three linear equations with the given columns (3,) and right side (3,)."""
    a, b, c = columns
    bc = cross(b, c)
    return np.array([dot(bc, right), dot(cross(c, a), right), dot(cross(a, b), right)]) / dot(a, bc)


def _middle_eigenvalue(A: Array) -> Number:
    """Return the middle eigenvalue of a symmetric matrix A (3, 3); to round-off if A is diagonal."""
    a, b, c = np.diag(A)
    mean, beside = (a + b + c) / 3.0, A[0, 1] * A[0, 1] + A[0, 2] * A[0, 2] + A[1, 2] * A[1, 2]
    D = A - np.eye(3) * mean
    size = np.sqrt((dot(D[0], D[0]) + dot(D[1], D[1]) + dot(D[2], D[2])) / 6.0)
    triple = dot(D[0], cross(D[1], D[2])) * 0.5
    cosine = minimum(maximum(triple / (size * size * size + TINY_SIZE), -1.0), 1.0)
    # Angle of the largest eigenvalue in Smith's formula
    angle = np.arctan2(np.sqrt(1.0 - cosine * cosine), cosine) / 3.0
    middle = mean + 2.0 * size * np.sin(angle - np.pi / 6.0)
    return where(beside > 0.0, middle, maximum(minimum(a, b), minimum(maximum(a, b), c)))


def _regular_inertia(inertia: Array) -> Array:
    """Return the `inertia` (3, 3) if it is regular, else the inertia of a sphere with the same trace.

    The sphere has the trace 3 if the trace of `inertia` is not positive.
    """
    I, size = inertia, inertia[0, 0] + inertia[1, 1] + inertia[2, 2]
    second = I[0, 0] * I[1, 1] - I[0, 1] * I[0, 1]
    third = dot(I[0], cross(I[1], I[2]))
    least = RANK * size
    regular = (size > 0.0) & (I[0, 0] > least) & (second > least * size) & (third > least * size * size)
    return where(regular, I, np.eye(3) * where(size > 0.0, size / 3.0, 1.0))
