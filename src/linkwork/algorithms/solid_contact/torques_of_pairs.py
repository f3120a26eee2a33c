"""Rolling and spinning friction of a touching pair in the iterations of the contact solver; see `friction_torques`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.constraints.bounded_constraints import trace_of
from linkwork.algorithms.solid_contact.friction_torques import (
    SLOPE,
    TorqueSlope,
    base_torque,
    swept_torque,
    torque_slope,
    torque_states,
)
from linkwork.algorithms.solid_contact.linearized_contact import OPEN, SLOPES, PointArgument
from linkwork.algorithms.solid_contact.rigid_pairs import ROWS, PairConditions, PairFrame
from linkwork.algorithms.solid_contact.touching_pairs import TouchingPairs
from linkwork.spatial.row_arrays import RowArray
from linkwork.spatial.scalar import Array, Number, where
from linkwork.tolerances import TINY_SIZE


class LinearizedTorque(NamedTuple):
    """Derivatives `slope` of the torque impulse of a pair, and the `states` (2,) of spinning and rolling friction."""

    slope: TorqueSlope
    states: Sequence[Number]

    def row(self) -> list[Number]:
        """Return the derivatives and states as numbers of a row with the layout SLOPE."""
        return SLOPE.row(*self.slope, self.states)


def linearized_torque(
    pairs: TouchingPairs,
    k: Number,
    points: Sequence[PointArgument],
    p: RowArray,
    u: RowArray,
    decision: Number,
    stiffness: Number,
) -> LinearizedTorque:
    """Return the derivatives and states of the torque impulse of pair k.

    `points` has, for each contact point of the pair, its impulse, speed error, projection argument and state. p and u
    have the impulses (15,) and the speeds (15,) of each pair as rows. `decision` and `stiffness` are the numbers r and
    R of a row of SCHEDULE in `newton_iteration`. `pairs` are the touching pairs.
    """
    y, inertia = _argument(pairs, k, p, u, decision)
    coefficients, normals = pairs.turning(k), _normals(points)
    slope = torque_slope(coefficients, normals, y, decision * inertia, stiffness * inertia)
    return LinearizedTorque(slope, torque_states(coefficients, normals, y))


def predicted_torque(
    pairs: TouchingPairs,
    k: Number,
    points: Sequence[PointArgument],
    p: RowArray,
    u: RowArray,
    decision: Number,
    slopes: RowArray,
) -> Array:
    """Return the constant part c (3,) [N m s] of the new torque impulse of pair k, its value for unchanged speeds.

    `slopes` has the derivatives of the impulses, with the layouts SLOPES and SLOPE. The other arguments are those of
    `linearized_torque`.
    """
    (each, _), coefficients, total, less = SLOPES.parts(slopes.at(k)), pairs.turning(k), 0.0, 0.0
    for j, one in enumerate(points):
        total, less = total + one.state.base(0.0, one.impulse)[0], less + each[j][0] * one.error[0]
    y, _ = _argument(pairs, k, p, u, decision)
    base = base_torque(coefficients, torque_states(coefficients, _normals(points), y), total, p.at(k)[ROWS:], y)
    return base - torque_slope_of(slopes, k).of(u.at(k)[ROWS:], less)


def torque_slope_of(slopes: RowArray, k: Number) -> TorqueSlope:
    """Return the derivatives of the torque impulse of pair k, read from its row of `slopes`."""
    return TorqueSlope(*SLOPE.parts(slopes.at(k)[SLOPES.size :])[:2])


def swept_pair_torque(
    frame: PairFrame, conditions: PairConditions, C: Array, normals: Sequence[Number], torque: Array, V: Array
) -> tuple[Array, Array]:
    """Return the torque impulse (3,) of a pair after a Gauss-Seidel visit, and the wrench impulse (6,) of its change.

    `normals` (4,) [N s] are the normal impulses of the points, and V (6,) is the velocity of A relative to B at the
    first point with the present `torque` (3,) [N m s]. V and the wrench impulse are in world axes. C (6, 6) is the
    compliance of the pair. `frame` and `conditions` are the geometry and the contact conditions of the pair.
    """
    assert frame.turning is not None
    assert conditions.turning is not None
    w = frame.speeds(V[:3], V[3:])[ROWS:] + conditions.drifts[ROWS:]
    found = swept_torque(conditions.turning, frame.turning, C, normals, torque, w)
    return found, np.concatenate([np.zeros(3), frame.turning @ (found - torque)])


def _argument(pairs: TouchingPairs, k: Number, p: RowArray, u: RowArray, decision: Number) -> tuple[Array, Number]:
    """Return the argument y (3,) of the projection of the torque of pair k, and its effective inertia [kg m^2].

    See `linearized_torque` for the arguments.
    """
    inertia = 1.0 / (trace_of(pairs.compliance(k).C[3:, 3:]) + TINY_SIZE)
    return p.at(k)[ROWS:] - u.at(k)[ROWS:] * (decision * inertia), inertia


def _normals(points: Sequence[PointArgument]) -> list[Number]:
    """Return the normal component of the argument y of the projection for each point, or zero if the point is open.

    `points` has the impulse, speed error, projection argument and state of each point of a pair.
    """
    return [where(one.state.number == OPEN, 0.0, one.y[0]) for one in points]
