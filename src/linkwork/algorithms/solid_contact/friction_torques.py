"""Rolling and spinning friction of a solid pair: a torque that opposes the relative angular velocity of its solids.

The torque impulse [N m s] has three components along the `turning` axes of the pair, of which the first is the mean
normal of the points that touch. The component along the normal (spinning friction) is at most the coefficient
`spinning` [m] times the sum of the normal impulses of the points, and the two components along the surface (rolling
friction) together have at most the length `rolling` [m] times this sum. The points of a pair share one relative angular
velocity, so that one torque has the effect of a torque at each point.

Newton's method treats each part of the torque as the friction of a contact point, see `linearized_contact`: a part
slides if it is at its limit, and sticks otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.constraints.admissible_sets import excess, into_ball, length
from linkwork.algorithms.constraints.bounded_constraints import improved_in_ball, regularized, trace_of
from linkwork.algorithms.rigid_contact import axes
from linkwork.spatial.row_arrays import RowLayout
from linkwork.spatial.scalar import Array, Number, largest, ldlt, maximum, minimum, where
from linkwork.tolerances import TINY_SIZE

TORQUES = 3  # number of components of the torque of a pair
PARTS = (slice(0, 1), slice(1, 3))  # components of spinning and of rolling friction
SLOPE = RowLayout((TORQUES, TORQUES), (TORQUES,), (len(PARTS),))  # a `TorqueSlope`, then the state of each part


class TorqueSlope(NamedTuple):
    """Derivatives of the torque impulse (3,) [N m s] of a pair along its turning axes.

    `by_turning` (3, 3) [kg m^2] is minus the derivative of the torque impulse with respect to the angular speeds.
    `by_normal` (3,) [m] is the derivative of the torque impulse with respect to the sum of the normal impulses.
    """

    by_turning: Array
    by_normal: Array

    def of(self, w: Array, normal: Number) -> Array:
        """Return the decrease (3,) of the torque impulse for given changes of speeds and normal impulses.

        The angular speeds change by w (3,) [rad/s], and the sum of the normal impulses decreases by `normal` [N s].
        """
        return self.by_turning @ w + self.by_normal * normal


def turning_axes(normals: Array, acts: Array) -> Array:
    """Return the axes of the torque of a pair in the world as columns (3, 3): the unit mean normal, then two tangents.

    `normals` (4, 3) are the normals of the points, and `acts` (4,) is 1 for points that touch; the mean is over these
    points.
    """
    total = sum((normal * on for normal, on in zip(normals, acts, strict=True)), np.zeros(3))
    size = np.sqrt(total @ total)
    return axes(where(size > 0.0, total / maximum(size, TINY_SIZE), normals[0]))


def limits(coefficients: Array, normals: Sequence[Number]) -> list[Number]:
    """Return the largest spinning and the largest rolling torque impulse [N m s] of a pair.

    `coefficients` (2,) [m] are the coefficients of spinning and rolling friction, and `normals` (4,) [N s] the normal
    impulses of the points.
    """
    total = sum((maximum(normal, 0.0) for normal in normals), 0.0)
    return [coefficient * total for coefficient in coefficients]


def within_limits(coefficients: Array, normals: Sequence[Number], torque: Array) -> Array:
    """Return the torque impulse (3,) [N m s] of a pair, with its spinning and its rolling part limited by friction.

    `torque` (3,) is the impulse before. `coefficients` (2,) [m] are the coefficients of spinning and rolling friction,
    and `normals` (4,) [N s] the normal impulses of the points.
    """
    most = limits(coefficients, normals)
    return np.concatenate([into_ball(torque[part], limit) for part, limit in zip(PARTS, most, strict=True)])


def lever_of(C: Array) -> Number:
    """Return the length [m] by which angular speeds [rad/s] of a pair are multiplied to compare them with speeds [m/s].

    C (6, 6) is the compliance of the pair about its first point, in world axes; see `PairCompliance`.
    """
    return np.sqrt(trace_of(C[:3, :3]) / maximum(trace_of(C[3:, 3:]), TINY_SIZE))


def torque_violations(
    coefficients: Array, C: Array, normals: Sequence[Number], torque: Array, w: Array
) -> list[Number]:
    """Return the violations (2,) [m/s] of the conditions of spinning and rolling friction.

    C (6, 6) is the compliance of the pair, `normals` (4,) [N s] are the normal impulses of its points, and w (3,)
    [rad/s] the angular speeds along the turning axes. These speeds are multiplied by the length `lever_of`.
    `coefficients` (2,) [m] are the coefficients of spinning and rolling friction, and `torque` (3,) [N m s] is the
    torque impulse.
    """
    ease = trace_of(C[3:, 3:]) + TINY_SIZE
    found, lever = [], lever_of(C)
    for part, limit in zip(PARTS, limits(coefficients, normals), strict=True):
        turns = w[part] / ease
        along = torque[part] - turns
        found.append(largest(turns + along * excess(length(along), limit)) * ease * lever)
    return found


def torque_states(coefficients: Array, normals: Sequence[Number], y: Array) -> list[Number]:
    """Return whether the spinning friction and the rolling friction of a pair slide: for each 1 if it slides, else 0.

    y (3,) is the argument of the projection (see `newton_iteration`), and `normals` are the normal components of this
    argument for the points. `coefficients` (2,) [m] are the coefficients of spinning and rolling friction.
    """
    most = limits(coefficients, normals)
    return [where(length(y[part]) < limit, 0.0, 1.0) for part, limit in zip(PARTS, most, strict=True)]


def torque_slope(coefficients: Array, normals: Sequence[Number], y: Array, r: Number, R: Number) -> TorqueSlope:
    """Return the derivatives of the torque impulse of a pair in the state, sliding or sticking, that y (3,) determines.

    y is the argument of the projection (see `newton_iteration`), and `normals` are the normal components of this
    argument for the points. r [kg m^2] is the step of the projection, and R [kg m^2] minus the derivative of a sticking
    part of the impulse with respect to its angular speed. `coefficients` (2,) [m] are the coefficients of spinning and
    rolling friction.
    """
    turning, normal = np.zeros((TORQUES, TORQUES), dtype=object), np.zeros(TORQUES, dtype=object)
    states, most = torque_states(coefficients, normals, y), limits(coefficients, normals)
    for part, coefficient, slides, limit in zip(PARTS, coefficients, states, most, strict=True):
        along, count = _direction(y[part]), part.stop - part.start
        viscous = minimum(r * limit / maximum(length(y[part]) - limit, TINY_SIZE), R)
        across = np.eye(count) - np.outer(along, along)
        turning[part, part] = where(slides == 1.0, viscous * across, R * np.eye(count))
        normal[part] = where(slides == 1.0, along * coefficient, np.zeros(count))
    return TorqueSlope(turning, normal)


def base_torque(coefficients: Array, states: Sequence[Number], total: Number, torque: Array, y: Array) -> Array:
    """Return the torque impulse (3,) [N m s] of a pair in given `states` if its angular speeds are zero.

    See `torque_states` for the states. A sticking part is taken from `torque` (3,); a sliding part is at its limit.
    `total` is the sum of the normal impulses [N s]. y (3,) is the argument of the projection; sliding parts have its
    direction. `coefficients` (2,) [m] are the coefficients of spinning and rolling friction.
    """
    found = []
    for part, coefficient, slides in zip(PARTS, coefficients, states, strict=True):
        found.append(where(slides == 1.0, _direction(y[part]) * (coefficient * total), torque[part]))
    return np.concatenate(found)


def swept_torque(coefficients: Array, D: Array, C: Array, normals: Sequence[Number], torque: Array, w: Array) -> Array:
    """Return the torque impulse (3,) of a pair after a Gauss-Seidel visit, for fixed impulses of its points.

    w (3,) [rad/s] are the angular speeds with the present impulse `torque` (3,) [N m s]. C (6, 6) is the compliance of
    the pair, and the columns of D (3, 3) are its turning axes in the world. `coefficients` (2,) [m] are the
    coefficients of spinning and rolling friction, and `normals` (4,) [N s] the normal impulses of the points.
    """
    G, after = D.T @ C[3:, 3:] @ D, []
    for part, limit in zip(PARTS, limits(coefficients, normals), strict=True):
        own = regularized(G[part, part])
        after.append(improved_in_ball(own, ldlt(own), torque[part], w[part], limit))
        w = w + G[:, part] @ (after[-1] - torque[part])
    return np.concatenate(after)


def _direction(y: Array) -> Array:
    """Return a vector (1,) or (2,) divided by its length; zeros if it is zero."""
    return y / maximum(length(y), TINY_SIZE)
