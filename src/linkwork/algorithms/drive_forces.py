"""Forces of drives: motors that act on joints through fixed ratios, with gears that lose power."""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.joint_forces import SLOW
from linkwork.model.elements.drive import Drive
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array, Number, maximum, minimum, where


def drive_forces(mechanism: Mechanism, q: Array, v: Array, u: Array) -> Array:
    """Joint forces (nv,) [N m, N] of all drives at the controls u (ndrives,), which are in the order of `drives`."""
    tau: list[Number] = [0.0] * mechanism.nv
    for drive, f in zip(mechanism.drives, motor_forces(mechanism, q, v, u), strict=True):
        felt = _passed(drive, f, v) * drive.gear
        for k in np.flatnonzero(drive.row):
            tau[k] = tau[k] + drive.row[k] * felt
    return np.array(tau)


def motor_forces(mechanism: Mechanism, q: Array, v: Array, u: Array) -> Array:
    """Forces f (ndrives,) [N m or N] of the motors themselves at the controls u (ndrives,)."""
    return np.array([_force(mechanism, drive, q, v, u[k]) for k, drive in enumerate(mechanism.drives)])


def motor_speeds(mechanism: Mechanism, v: Array) -> Array:
    """Speeds l' (ndrives,) [rad/s or m/s] of the motors at velocities v (nv,)."""
    return np.array([_turning(drive, v) * drive.gear for drive in mechanism.drives])


def _force(mechanism: Mechanism, drive: Drive, q: Array, v: Array, u: Number) -> Number:
    """Force of one motor [N m or N]; what its constants leave out is not computed."""
    constant, by_length, by_rate = drive.bias
    f = _clipped(u, drive.control_limits) * drive.gain + constant
    if by_length != 0.0:
        f = f + by_length * ((_along(mechanism, drive, q) + drive.offset) * drive.gear)
    if by_rate != 0.0:
        f = f + by_rate * (_turning(drive, v) * drive.gear)
    if drive.has_speed_limit:
        lost = drive.stall_torque * (_turning(drive, v) * drive.gear / drive.no_load_speed)
        f = maximum(minimum(f, drive.stall_torque - lost), -drive.stall_torque - lost)
    return _clipped(f, drive.force_limits)


def _passed(drive: Drive, f: Number, v: Array) -> Number:
    """What of a motor's force f arrives behind its gears [N m or N], as the joints would feel it at a gear of 1.

    The joints get less power than the motor gives, and the motor less than the joints give. Near rest, below SLOW, the
    loss fades to nothing as that of dry friction does, so that forces stay continuous; it is never negative.
    """
    if drive.efficiency.dtype != object and (drive.efficiency == 1.0).all():
        return f
    driving, back = drive.efficiency
    speed = _turning(drive, v) * drive.gear
    along = where(f * speed > 0.0, abs(speed), -abs(speed)) / np.sqrt(speed * speed + SLOW**2)
    return f * (1.0 - (1.0 - driving) * maximum(along, 0.0) + (1.0 / back - 1.0) * maximum(-along, 0.0))


def _turning(drive: Drive, v: Array) -> Number:
    """Sum of ratio v [rad/s or m/s]."""
    return sum((drive.row[k] * v[k] for k in np.flatnonzero(drive.row)), 0.0)


def _along(mechanism: Mechanism, drive: Drive, q: Array) -> Number:
    """Sum of ratio q [rad or m] over the joints of one coordinate."""
    driven = [j for j in mechanism.leaders if drive.row[j.v].any()]
    return sum((drive.row[j.v][0] * q[j.q][0] for j in driven), 0.0)


def _clipped(x: Number, limits: Array) -> Number:
    """A number within limits, of which infinite ones leave no trace."""
    lower, upper = limits
    x = maximum(x, lower) if lower > -np.inf else x
    return minimum(x, upper) if upper < np.inf else x
