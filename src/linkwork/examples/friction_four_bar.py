"""A four-bar linkage with journal bearings in all pins, one of them in the loop: it coasts until friction stops it."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.examples import four_bar
from linkwork.examples.catalogue import Claim
from linkwork.model import Bearing, Mechanism
from linkwork.simulation import simulate

FRICTION, RADIUS = 0.25, 0.012  # coefficient of friction, radius of the journals [m]
SPEED = 12.0  # of the crank at the start [rad/s]


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
    """Check that the heat of the four bearings is the energy that the linkage loses, and that it comes to rest.

    Return the measured error and its tolerance as a `Claim`.
    """
    run = simulate(**arguments(), progress=False)
    heat = run["friction.heat"][-1].sum()
    error = abs(heat - (run.energy[0] - run.energy[-1])) / heat
    return Claim(
        "heat of the bearings equals the loss of energy (relative error), and the final speed is 0 [rad/s]",
        float(max(error, np.abs(run.v[-1]).max())),
        5e-10,
    )
