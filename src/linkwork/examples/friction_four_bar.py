"""A four-bar linkage with journal bearings in all pins and in its loop: it coasts until friction stops it."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.algorithms.joint_friction.friction_dynamics import solve
from linkwork.algorithms.joint_friction.friction_sites import slip_velocities
from linkwork.examples import four_bar
from linkwork.examples.catalogue import Claim
from linkwork.model import Bearing, Mechanism

FRICTION, RADIUS = 0.25, 0.012  # coefficient of friction, radius of the journals [m]
SPEED = 12.0  # speed of the crank at the start [rad/s]


def build(crank: float = 0.8, speed: float = SPEED) -> Mechanism:
    """Build the linkage of the example `four_bar` with a bearing in each pin.

    In the keyframe "start" the crank has the angle `crank` [rad] and the speed `speed` [rad/s].
    """
    return four_bar.build(crank, speed, "friction_four_bar", Bearing(FRICTION, RADIUS))


def arguments(duration: float = 15.0) -> dict[str, Any]:
    """Return keyword arguments for `lw.simulate`: the linkage coasts from the speed of its keyframe "start"."""
    m = build()
    start = m.keyframes["start"]
    return {"mechanism": m, "q0": start.q, "v0": start.v, "duration": duration, "dt": 4e-4, "method": "rk4"}


def claim() -> Claim:
    """Check that the power of friction equals the energy that the linkage loses per second, at twelve crank angles.

    The loss is the time derivative of the kinetic and potential energy, from the accelerations; the power of friction
    is the sum of friction torques times slip velocities of all pins. Return the measured error and its tolerance as a
    `Claim`.
    """
    m, none, worst = build(), np.zeros(3), 0.0
    for crank in np.linspace(0.1, 2.0 * np.pi, 12):
        q, v = four_bar.coordinates(crank), SPEED * four_bar.coordinate_derivatives(crank)
        found = solve(m, q, v, none)
        power, forces = found.friction @ slip_velocities(m, q, v), inverse_dynamics(m, q, v, found.a).tau
        worst = max(worst, abs(v @ forces - power) / (np.abs(v) @ np.abs(forces)))
    return Claim(
        "the energy changes by the power of friction in all pins (error relative to the power of inertial forces)",
        float(worst),
        5e-10,
    )
