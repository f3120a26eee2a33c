"""What textbooks say of links that move in the plane x, y: where two of them meet, and what drives one freedom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.constraints.closure import forward_dynamics
from linkwork.examples.catalogue import Claim
from linkwork.model import Mechanism
from linkwork.spatial.scalar import Array

WIDTH = 0.02  # of square bars [m]


def bar_inertia(mass: float, length: float) -> tuple[float, float, float]:
    """Moments [kg m^2] about the centre of a square bar along x of that mass [kg] and length [m]."""
    across = mass * (length**2 + WIDTH**2) / 12
    return mass * WIDTH**2 / 6, across, across


def meeting(first: Array, second: Array, reach: float, other: float) -> Array:
    """The point (2,) [m] at distance `reach` from `first` and `other` from `second`, left of the line between them."""
    line = second - first
    apart = float(np.sqrt(line @ line))
    along = (reach**2 - other**2 + apart**2) / (2 * apart)
    across = np.sqrt(reach**2 - along**2)
    return first + (along * line + across * np.array([-line[1], line[0]])) / apart


class Moved(NamedTuple):
    """A link with its centre's x and y [m] and its turn [rad] as functions of one coordinate: derivatives by it.

    `first` and `second` are (3,): those of x, y and turn.
    """

    mass: float
    inertia: float
    first: Array
    second: Array


def input_force(links: Sequence[Moved], speed: float, acceleration: float, gravity: float) -> float:
    """The force [N m or N] on the one coordinate that gives it an acceleration: Eksergian's equation.

    I(s) s'' + I'(s) s'^2 / 2 + V'(s) with the generalized inertia I = sum of m (x'^2 + y'^2) + J turn'^2, and the
    potential V of gravity [m/s^2] along -y.
    """
    total = 0.0
    for mass, inertia, first, second in links:
        weights = np.array([mass, mass, inertia])
        total += (weights * first) @ (first * acceleration + second * speed**2) + mass * gravity * first[1]
    return float(total)


def claim_of_crank(
    m: Mechanism,
    coordinates: Callable[[float], Array],
    slopes: Callable[[float], Array],
    torque: Callable[[float, float, float], float],
) -> Claim:
    """A crank accelerates as the textbook's torque on it, the first joint of three, was computed for.

    At its angle [rad] the linkage has `coordinates` (3,) and their derivatives `slopes` (3,); `torque` [N m] is that
    for angle, speed and acceleration.
    """
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(20):
        crank, speed, acceleration = rng.uniform(-np.pi, np.pi), rng.normal() * 5, rng.normal() * 20
        tau = np.array([torque(crank, speed, acceleration), 0.0, 0.0])
        found = forward_dynamics(m, coordinates(crank), speed * slopes(crank), tau).a
        worst = max(worst, abs(found[0] - acceleration) / max(1.0, abs(acceleration)))
    return Claim("the crank accelerates as Eksergian's equation says, relative", float(worst), 1e-10)
