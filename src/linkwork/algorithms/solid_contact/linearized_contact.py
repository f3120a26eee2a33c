"""The impulse of a contact point as a linear function of its speeds: the derivative that Newton's method needs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.spatial.scalar import Array, Condition, Number, maximum, minimum, where
from linkwork.tolerances import TINY_SIZE


class PointSlope(NamedTuple):
    """Matrix S = -dp/du (3, 3), with the impulse p of a contact point and its speeds u (normal, two tangents).

    Its rows are (n, 0, 0), (c1, t11, t12), (c2, t12, t22).
    """

    n: Number
    c1: Number
    c2: Number
    t11: Number
    t12: Number
    t22: Number

    def of(self, u: Array) -> Array:
        """Return S u (3,), the decrease of the impulse for a change u (3,) of the speeds."""
        return np.array(
            [
                self.n * u[0],
                self.c1 * u[0] + self.t11 * u[1] + self.t12 * u[2],
                self.c2 * u[0] + self.t12 * u[1] + self.t22 * u[2],
            ]
        )

    def matrix(self) -> Array:
        """Return the matrix S (3, 3)."""
        return np.column_stack([self.of(unit) for unit in np.eye(3)])

    def in_axes(self, D: Array) -> Array:
        """Return the derivative (3, 3) in the axes in which the columns of D (3, 3) are the axes of the point."""
        return np.column_stack([D @ self.of(row) for row in D])


def linearized(friction: Number, p: Array, u: Array, r: Number, R: Number, acts: Condition) -> tuple[Array, PointSlope]:
    """Return the impulse c (3,) of a point predicted for unchanged speeds u, and minus its derivative by u.

    p (3,) is the present impulse, and u (3,) the speeds less the bounce. A sliding point resists the part of its slip
    that is not along its friction, so that the friction turns against the slip.
    """
    y = p - r * u
    pushes, limit = (y[0] > 0.0) & acts, friction * y[0]
    along = np.sqrt(y[1] * y[1] + y[2] * y[2])
    size = maximum(along, TINY_SIZE)
    slides, (e1, e2) = ~(along < limit), y[1:] / size
    stiff, viscous = where(pushes, R, 0.0), minimum(r * limit / maximum(size - limit, TINY_SIZE), R)
    across = where(pushes, where(slides, viscous, R), 0.0)
    radial, couple = where(slides, across, 0.0), where(slides, friction * stiff, 0.0)
    slope = PointSlope(
        stiff, couple * e1, couple * e2, across - radial * e1 * e1, -radial * e1 * e2, across - radial * e2 * e2
    )
    normal, turn = p[0] - R * u[0], viscous * (e1 * u[2] - e2 * u[1])
    sliding = np.array([normal, friction * normal * e1 + turn * e2, friction * normal * e2 - turn * e1])
    return where(pushes, where(slides, sliding, p - R * u), np.zeros(3)), slope


def limited_to_cone(friction: Number, p: Array) -> Array:
    """Return the impulse p (3,) limited to the friction cone, with a normal component of at least 0."""
    normal = maximum(p[0], 0.0)
    along = np.sqrt(p[1] * p[1] + p[2] * p[2])
    limit = friction * normal
    scale = where(along > limit, limit / maximum(along, TINY_SIZE), 1.0)
    return np.array([normal, p[1] * scale, p[2] * scale])
