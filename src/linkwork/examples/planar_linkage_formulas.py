"""Textbook formulas for planar linkages with one degree of freedom: circle intersection and Eksergian's equation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.constraints.constrained_dynamics import forward_dynamics
from linkwork.examples.catalogue import Claim
from linkwork.model import Mechanism
from linkwork.spatial.scalar import Array

WIDTH = 0.02  # width of the square cross section of bars [m]


def bar_inertia(mass: float, length: float) -> tuple[float, float, float]:
    """Return the moments of inertia (x, y, z) [kg m^2] of a square bar along x about its centre.

    The bar has the mass `mass` [kg] and the length `length` [m].
    """
    across = mass * (length**2 + WIDTH**2) / 12
    return mass * WIDTH**2 / 6, across, across


def circle_intersection(first: Array, second: Array, reach: float, other: float) -> Array:
    """Return the intersection (2,) [m] of two circles about the points `first` and `second` (2,) [m].

    Their radii are `reach` and `other` [m]. Of the two intersections, the result is that to the left of the line from
    `first` to `second`.
    """
    line = second - first
    apart = float(np.sqrt(line @ line))
    along = (reach**2 - other**2 + apart**2) / (2 * apart)
    across = np.sqrt(reach**2 - along**2)
    return first + (along * line + across * np.array([-line[1], line[0]])) / apart


class MovingLink(NamedTuple):
    """A planar link whose pose depends on one coordinate: mass [kg], inertia [kg m^2] and derivatives of the pose.

    `first` and `second` (3,) are the first and second derivatives of x, y [m] of the link's centre and of its angle
    [rad], with respect to the coordinate.
    """

    mass: float
    inertia: float
    first: Array
    second: Array


def input_force(links: Sequence[MovingLink], speed: float, acceleration: float, gravity: float) -> float:
    """Return the force on the coordinate s, [N m] for s in rad or [N] for s in m, that gives s an acceleration.

    By Eksergian's equation, the force is I(s) s'' + I'(s) s'^2 / 2 + V'(s). I is the generalized inertia, the sum of m
    (x'^2 + y'^2) + J angle'^2 over all links, and V the potential of gravity [m/s^2] along -y. `links` are all moving
    links, `speed` is s' and `acceleration` is s''.
    """
    total = 0.0
    for mass, inertia, first, second in links:
        weights = np.array([mass, mass, inertia])
        total += (weights * first) @ (first * acceleration + second * speed**2) + mass * gravity * first[1]
    return float(total)


def claim_of_crank(
    m: Mechanism,
    coordinates: Callable[[float], Array],
    coordinate_derivatives: Callable[[float], Array],
    torque: Callable[[float, float, float], float],
) -> Claim:
    """Return the error with which the crank of a linkage accelerates as Eksergian's equation predicts, as a `Claim`.

    The crank is the first of three joints. `coordinates` (3,) and their `coordinate_derivatives` (3,) are functions of
    the crank angle [rad]; `torque` [N m] is a function of angle, speed and acceleration of the crank.
    """
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(20):
        crank, speed, acceleration = rng.uniform(-np.pi, np.pi), rng.normal() * 5, rng.normal() * 20
        tau = np.array([torque(crank, speed, acceleration), 0.0, 0.0])
        found = forward_dynamics(m, coordinates(crank), speed * coordinate_derivatives(crank), tau).a
        worst = max(worst, abs(found[0] - acceleration) / max(1.0, abs(acceleration)))
    return Claim("relative error of the crank's acceleration against Eksergian's equation", float(worst), 1e-10)
