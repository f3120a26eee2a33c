"""The impulse of a contact point as a linear function of its speeds, with the derivative that Newton's method needs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.model.solids import POINTS
from linkwork.spatial.row_arrays import RowLayout
from linkwork.spatial.scalar import Array, Condition, Number, maximum, minimum, where
from linkwork.tolerances import TINY_SIZE

# States of a point in the linearized conditions
OPEN, STICKS, SLIDES = 0.0, 1.0, 2.0
# Row of a pair: the six numbers of the `PointSlope` of each of its four points, then the states of these points
SLOPES = RowLayout((POINTS, 6), (POINTS,))


class PointSlope(NamedTuple):
    """Matrix S = -dp/du (3, 3): minus the derivative of the impulse p of a contact point with respect to its speeds u.

    p [N s] and u [m/s] have the components normal, first tangent, second tangent. The rows of S [kg] are (n, 0, 0),
    (c1, t11, t12), (c2, t12, t22).
    """

    n: Number
    c1: Number
    c2: Number
    t11: Number
    t12: Number
    t22: Number

    def of(self, u: Array) -> Array:
        """Return S u (3,) [N s], the decrease of the impulse for a change u (3,) [m/s] of the speeds."""
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
        """Return D S D^T (3, 3): the matrix S in world axes, if the columns of D (3, 3) are the axes of the point."""
        return np.column_stack([D @ self.of(row) for row in D])


class PointState(NamedTuple):
    """State of a contact point: `number` is OPEN, STICKS or SLIDES; `along` (2,) is the unit vector of its friction.

    `along` has components along the two tangents, and is used for sliding points only.
    """

    number: Number
    along: Array

    @staticmethod
    def of(friction: Number, y: Array, acts: Condition) -> PointState:
        """Return the state of a contact point for the argument y (3,) of the projection q (see `newton_iteration`).

        `friction` is the coefficient of friction. The point is open if the condition `acts` is false.
        """
        size = np.sqrt(y[1] * y[1] + y[2] * y[2])
        pushes = (y[0] > 0.0) & acts
        number = where(pushes, where(size < friction * y[0], STICKS, SLIDES), OPEN)
        return PointState(number, y[1:] / maximum(size, TINY_SIZE))

    def base(self, friction: Number, p: Array) -> Array:
        """Return the impulse (3,) [N s] of a point in this state if its speeds are the required ones.

        It is p (3,) if the point sticks, the normal part of p with friction at its limit if the point slides, and zero
        if the point is open. `friction` is the coefficient of friction.
        """
        drag = friction * p[0]
        sliding = np.array([p[0], drag * self.along[0], drag * self.along[1]])
        return where(self.number == STICKS, p, where(self.number == SLIDES, sliding, np.zeros(3)))

    def slope(self, friction: Number, y: Array, r: Number, R: Number) -> PointSlope:
        """Return minus the derivative of the impulse of a point in this state with respect to its speeds.

        y (3,) [N s] is the argument of the projection, `friction` the coefficient of friction, and r [kg] the step of
        the projection. R [kg] is minus the derivative of the impulse of a sticking point with respect to its speed. A
        sliding point resists the part of its slip that is perpendicular to its friction, so that the friction turns
        until it is opposite to the slip.
        """
        pushes, slides, (e1, e2) = self.number > OPEN, self.number == SLIDES, self.along
        limit, size = friction * y[0], np.sqrt(y[1] * y[1] + y[2] * y[2])
        stiff, viscous = where(pushes, R, 0.0), minimum(r * limit / maximum(size - limit, TINY_SIZE), R)
        across = where(pushes, where(slides, viscous, R), 0.0)
        radial, couple = where(slides, across, 0.0), where(slides, friction * stiff, 0.0)
        return PointSlope(
            stiff, couple * e1, couple * e2, across - radial * e1 * e1, -radial * e1 * e2, across - radial * e2 * e2
        )


class PointArgument(NamedTuple):
    """A contact point in an iteration: `impulse` (3,), speed `error` (3,), projection argument y (3,), and state.

    All arrays are along the axes of the point, normal first. The error [m/s] is the speed of the point, less the
    required separation speed along the normal. The impulse and y are in [N s].
    """

    impulse: Array
    error: Array
    y: Array
    state: PointState


def linearized(friction: Number, p: Array, u: Array, r: Number, R: Number, acts: Condition) -> tuple[Array, PointSlope]:
    """Return the constant part c (3,) [N s] and the matrix S of the impulse p = c - S du of a contact point.

    p (3,) is the present impulse, u (3,) [m/s] are the speeds minus the required separation speed, and du is the change
    of u. `friction` is the coefficient of friction, r [kg] the step of the projection, and R [kg] minus the derivative
    of the impulse of a sticking point with respect to its speed. `acts` is whether the point touches.
    """
    y = p - r * u
    state = PointState.of(friction, y, acts)
    slope = state.slope(friction, y, r, R)
    return state.base(friction, p) - slope.of(u), slope


def limited_to_cone(friction: Number, p: Array) -> Array:
    """Return the impulse p (3,) [N s], normal first, limited to the friction cone.

    The normal part is at least 0; the tangential part is shortened to `friction` times the normal part.
    """
    normal = maximum(p[0], 0.0)
    along = np.sqrt(p[1] * p[1] + p[2] * p[2])
    limit = friction * normal
    scale = where(along > limit, limit / maximum(along, TINY_SIZE), 1.0)
    return np.array([normal, p[1] * scale, p[2] * scale])
