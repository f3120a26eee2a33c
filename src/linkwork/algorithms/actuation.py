"""Forces of drives: motors that act on joints through fixed ratios."""

from __future__ import annotations

import numpy as np

from linkwork.model.drives import Drive
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array, Number, maximum, minimum


def drive_forces(mechanism: Mechanism, q: Array, v: Array, u: Array) -> Array:
    """Joint forces (nv,) [N m, N] of all drives at the controls u (ndrives,), which are in the order of `drives`."""
    forces = [_force(mechanism, drive, q, v, u[k]) for k, drive in enumerate(mechanism.drives)]
    rows = [drive.row for drive in mechanism.drives]
    pairs = list(zip(rows, forces, strict=True))
    return np.array([sum((row[k] * f for row, f in pairs if row[k] != 0.0), 0.0) for k in range(mechanism.nv)])


def _force(mechanism: Mechanism, drive: Drive, q: Array, v: Array, u: Number) -> Number:
    """Force of one drive [N m or N]; what its constants leave out is not computed."""
    constant, by_length, by_rate = drive.bias
    f = _clipped(u, drive.control_limits) * drive.gain + constant
    if by_length != 0.0:
        f = f + by_length * (_along(mechanism, drive, q) + drive.offset)
    if by_rate != 0.0:
        f = f + by_rate * sum((drive.row[k] * v[k] for k in np.flatnonzero(drive.row)), 0.0)
    return _clipped(f, drive.force_limits)


def _along(mechanism: Mechanism, drive: Drive, q: Array) -> Number:
    """Sum of ratio q [rad or m] over the joints of one coordinate."""
    driven = [j for j in mechanism.leaders if drive.row[j.v].any()]
    return sum((drive.row[j.v][0] * q[j.q][0] for j in driven), 0.0)


def _clipped(x: Number, limits: Array) -> Number:
    """A number within limits, of which infinite ones leave no trace."""
    lower, upper = limits
    x = maximum(x, lower) if lower > -np.inf else x
    return minimum(x, upper) if upper < np.inf else x
