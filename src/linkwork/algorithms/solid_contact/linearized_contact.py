"""The impulse of a contact point as a linear function of its speeds: the derivative that Newton's method needs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.model.solids import POINTS
from linkwork.spatial.row_arrays import RowLayout
from linkwork.spatial.scalar import Array, Condition, Number, maximum, minimum, where
from linkwork.tolerances import TINY_SIZE

# States of a point in the linearized conditions
OPEN, STICKS, SLIDES = 0.0, 1.0, 2.0
SLOPES = RowLayout((POINTS, 6), (POINTS,))  # of a pair: the numbers of `PointSlope` and the state of each of its points


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


class PointState(NamedTuple):
    """State of a point: OPEN, STICKS or SLIDES, for the argument of the projection q; and `along` (2,), of length 1.

    If the point slides, its friction has the direction `along`.
    """

    number: Number
    along: Array

    @staticmethod
    def of(friction: Number, y: Array, acts: Condition) -> PointState:
        """Return the state of a point for the argument y (3,) of the projection; it is open if it does not act."""
        size = np.sqrt(y[1] * y[1] + y[2] * y[2])
        pushes = (y[0] > 0.0) & acts
        number = where(pushes, where(size < friction * y[0], STICKS, SLIDES), OPEN)
        return PointState(number, y[1:] / maximum(size, TINY_SIZE))

    def base(self, friction: Number, p: Array) -> Array:
        """Return the impulse (3,) that follows from the impulse p (3,) in this state if the speeds are the required
        ones.
        """
        drag = friction * p[0]
        sliding = np.array([p[0], drag * self.along[0], drag * self.along[1]])
        return where(self.number == STICKS, p, where(self.number == SLIDES, sliding, np.zeros(3)))

    def slope(self, friction: Number, y: Array, r: Number, R: Number) -> PointSlope:
        """Return minus the derivative of the impulse by the speeds, for the argument y (3,) of the projection.

        A sliding point resists the part of its slip that is not along its friction, so that the friction turns against
        the slip.
        """
        pushes, slides, (e1, e2) = self.number > OPEN, self.number == SLIDES, self.along
        limit, size = friction * y[0], np.sqrt(y[1] * y[1] + y[2] * y[2])
        stiff, viscous = where(pushes, R, 0.0), minimum(r * limit / maximum(size - limit, TINY_SIZE), R)
        across = where(pushes, where(slides, viscous, R), 0.0)
        radial, couple = where(slides, across, 0.0), where(slides, friction * stiff, 0.0)
        return PointSlope(
            stiff, couple * e1, couple * e2, across - radial * e1 * e1, -radial * e1 * e2, across - radial * e2 * e2
        )


def linearized(friction: Number, p: Array, u: Array, r: Number, R: Number, acts: Condition) -> tuple[Array, PointSlope]:
    """Return the impulse c (3,) of a point predicted for unchanged speeds u, and minus its derivative by u.

    p (3,) is the present impulse, and u (3,) the speeds less the bounce.
    """
    y = p - r * u
    state = PointState.of(friction, y, acts)
    slope = state.slope(friction, y, r, R)
    return state.base(friction, p) - slope.of(u), slope


def limited_to_cone(friction: Number, p: Array) -> Array:
    """Return the impulse p (3,) limited to the friction cone, with a normal component of at least 0."""
    normal = maximum(p[0], 0.0)
    along = np.sqrt(p[1] * p[1] + p[2] * p[2])
    limit = friction * normal
    scale = where(along > limit, limit / maximum(along, TINY_SIZE), 1.0)
    return np.array([normal, p[1] * scale, p[2] * scale])
