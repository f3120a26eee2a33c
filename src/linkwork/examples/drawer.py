"""A drawer in a guide: if it is pulled too far off its centre line, it jams, however strong the pull is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.examples.catalogue import Claim
from linkwork.model import Box, Builder, Guide, Mechanism, Prismatic
from linkwork.simulation import simulate
from linkwork.spatial.scalar import Array, Number

MASS, GRAVITY = 4.0, 9.81  # mass of the drawer [kg], gravity [m/s^2]
FRICTION, LENGTH = 0.4, 0.3  # coefficient of friction, length of the guide [m]
# distance [m] between the line of the pull and the centre line at which the drawer jams
JAM = LENGTH / (2.0 * FRICTION)
PULL = 60.0  # force of the pull [N]


def build() -> Mechanism:
    """Build the drawer, which slides along x."""
    b = Builder("drawer", gravity=(0, 0, -GRAVITY))
    b.body("drawer", MASS, inertia=(0.1, 0.1, 0.15))
    b.joint("guide", Prismatic((1, 0, 0)), "world", "drawer", friction=Guide(FRICTION, LENGTH))
    b.geometry("drawer", Box((LENGTH, 0.9, 0.1)))
    return b.build()


def pull_wrenches(offset: float, pull: float = PULL) -> Callable[[Number, Array, Array], Array]:
    """Return the wrenches (1, 6) [N, N m] of a pull [N] along x, as a function of (t, q, v).

    `offset` [m] is the distance of the pull from the centre line.
    """
    wrench = np.array([[pull, 0.0, 0.0, 0.0, 0.0, -pull * offset]])
    return lambda t, q, v: wrench


def acceleration(offset: float, pull: float = PULL) -> float:
    """Return the acceleration [m/s^2] of the drawer from rest, by the balance of forces; 0 if it does not move.

    The weight W and the couple pull * offset load each end of the guide with the force sqrt((W / 2)^2 + (pull * offset
    / length)^2).
    """
    ends = np.hypot(MASS * GRAVITY / 2.0, pull * offset / LENGTH)
    return max(pull - 2.0 * FRICTION * ends, 0.0) / MASS


def arguments(duration: float = 0.5) -> dict[str, Any]:
    """Return keyword arguments for `lw.simulate`: a pull at half the distance at which the drawer jams."""
    return {
        "mechanism": build(),
        "duration": duration,
        "dt": 1e-3,
        "method": "rk4",
        "wrenches": pull_wrenches(JAM / 2.0),
    }


def claim() -> Claim:
    """Check the acceleration below the jam distance, and rest at this distance with a pull of 1 MN.

    Return the measured error and its tolerance as a `Claim`.
    """
    run = simulate(**arguments(), progress=False)
    expected = acceleration(JAM / 2.0)
    errors = [abs(run.v[-1, 0] / (expected * run.t[-1]) - 1.0)]
    jammed = simulate(
        build(), [0.0], duration=0.1, dt=1e-3, method="rk4", wrenches=pull_wrenches(JAM, 1e6), progress=False
    )
    return Claim(
        "relative error of the acceleration below the jam distance, and displacement [m] of the jammed drawer",
        float(max(*errors, np.abs(jammed.q).max())),
        1e-10,
    )
