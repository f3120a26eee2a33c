"""Forces of actuators: joint forces, motor forces and motor speeds of all motors of a mechanism."""

from __future__ import annotations

import numpy as np

from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array, Number


def drive_forces(mechanism: Mechanism, q: Array, v: Array, u: Array) -> Array:
    """Return the joint forces (nv,) [N m, N] of all actuators at the controls u (ndrives,).

    q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities.
    """
    tau: list[Number] = [0.0] * mechanism.nv
    for one, f in zip(mechanism.actuators, motor_forces(mechanism, q, v, u), strict=True):
        felt = one.output(f, v)
        for k in np.flatnonzero(one.row):
            tau[k] = tau[k] + one.row[k] * felt
    return np.array(tau)


def motor_forces(mechanism: Mechanism, q: Array, v: Array, u: Array) -> Array:
    """Return the motor forces (ndrives,) [N m or N] of all actuators, before gearing, at the controls u (ndrives,).

    q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities.
    """
    return np.array([one.motor_force(mechanism, q, v, u[k]) for k, one in enumerate(mechanism.actuators)])


def motor_speeds(mechanism: Mechanism, v: Array) -> Array:
    """Return the motor speeds (ndrives,) [rad/s or m/s] of all actuators at the joint velocities v (nv,)."""
    return np.array([one.speed(v) for one in mechanism.actuators])
