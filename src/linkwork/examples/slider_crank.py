"""A slider-crank, as in a piston engine: a crank, a connecting rod and a slider on a rail."""

from __future__ import annotations

import numpy as np

from linkwork.examples.catalogue import Claim
from linkwork.examples.planar_linkage_formulas import MovingLink, bar_inertia, claim_of_crank, input_force
from linkwork.model import Builder, Mechanism, Prismatic, Revolute
from linkwork.spatial.scalar import Array

CRANK, ROD = 0.1, 0.35  # lengths of crank and rod [m]
MASSES = (1.2, 0.9, 1.5)  # masses of crank, rod, slider [kg]
GRAVITY = 9.81
Z = (0, 0, 1)
NAMES = ("crank pin", "rod pin", "rail")


def build(crank: float = 0.8, speed: float = 10.0) -> Mechanism:
    """Build the slider-crank; its rail is the x axis, with gravity along -y.

    In the keyframe "start" the crank has the angle `crank` [rad] and the speed `speed` [rad/s]. The linkage is planar,
    so that three of the five constraint rows of the closing joint are redundant.
    """
    b = Builder("slider_crank", gravity=(0, -GRAVITY, 0))
    b.body("crank", MASSES[0], com=(CRANK / 2, 0, 0), inertia=bar_inertia(MASSES[0], CRANK))
    b.body("rod", MASSES[1], com=(ROD / 2, 0, 0), inertia=bar_inertia(MASSES[1], ROD))
    b.body("slider", MASSES[2], inertia=(0.002, 0.002, 0.002))
    b.joint("crank pin", Revolute(Z), "world", "crank")
    b.joint("rod pin", Revolute(Z), "crank", "rod", at=(CRANK, 0, 0))
    b.joint("rail", Prismatic((1, 0, 0)), "world", "slider")
    b.close("piston pin", Revolute(Z), "rod", "slider", at=(ROD, 0, 0))
    b.drive("motor", {"crank pin": 1.0})
    q, v = coordinates(crank), speed * coordinate_derivatives(crank)[0]
    return b.keyframe("start", dict(zip(NAMES, q, strict=True)), dict(zip(NAMES, v, strict=True))).build()


def coordinates(crank: float) -> Array:
    """Return the coordinates q (3,) of the closed linkage for the crank angle `crank` [rad].

    They are the angle of the crank [rad], that of the rod relative to the crank [rad], and the slider position [m].
    """
    lean = np.arcsin(CRANK * np.sin(crank) / ROD)  # angle between rod and rail
    return np.array([crank, -lean - crank, CRANK * np.cos(crank) + ROD * np.cos(lean)])


def coordinate_derivatives(crank: float) -> tuple[Array, Array]:
    """Return the first and second derivatives, (3,) each, of the coordinates q with respect to `crank` [rad]."""
    lean1, lean2 = rod_angle_derivatives(crank)
    lean = np.arcsin(CRANK * np.sin(crank) / ROD)
    first = np.array([1.0, -lean1 - 1.0, -CRANK * np.sin(crank) - ROD * np.sin(lean) * lean1])
    bend = np.cos(lean) * lean1**2 + np.sin(lean) * lean2
    return first, np.array([0.0, -lean2, -CRANK * np.cos(crank) - ROD * bend])


def rod_angle_derivatives(crank: float) -> tuple[float, float]:
    """Return the first and second derivatives of the angle `lean` between rod and rail with respect to `crank` [rad].

    The angle `lean` [rad] satisfies ROD sin(lean) = CRANK sin(crank).
    """
    lean = np.arcsin(CRANK * np.sin(crank) / ROD)
    first = CRANK * np.cos(crank) / (ROD * np.cos(lean))
    return float(first), float((first**2 * np.sin(lean) - CRANK / ROD * np.sin(crank)) / np.cos(lean))


def torque(crank: float, speed: float, acceleration: float) -> float:
    """Return the torque [N m] that gives the crank an acceleration [rad/s^2] at its angle [rad] and speed [rad/s].

    The torque follows from Eksergian's equation.
    """
    (first, second), (lean1, lean2) = coordinate_derivatives(crank), rod_angle_derivatives(crank)
    c, s = np.cos(crank), np.sin(crank)
    # The centre of the rod is halfway between crank pin and slider pin
    rod1 = np.array([(first[2] - CRANK * s) / 2, CRANK * c / 2, -lean1])
    rod2 = np.array([(second[2] - CRANK * c) / 2, -CRANK * s / 2, -lean2])
    half = CRANK / 2
    links = [
        MovingLink(
            MASSES[0],
            bar_inertia(MASSES[0], CRANK)[2],
            np.array([-half * s, half * c, 1.0]),
            -half * np.array([c, s, 0]),
        ),
        MovingLink(MASSES[1], bar_inertia(MASSES[1], ROD)[2], rod1, rod2),
        MovingLink(MASSES[2], 0.0, np.array([first[2], 0.0, 0.0]), np.array([second[2], 0.0, 0.0])),
    ]
    return input_force(links, speed, acceleration, GRAVITY)


def claim() -> Claim:
    """Check that the torque of Eksergian's equation gives the crank the intended acceleration.

    Return the measured error and its tolerance as a `Claim`.
    """
    return claim_of_crank(build(), coordinates, lambda crank: coordinate_derivatives(crank)[0], torque)
