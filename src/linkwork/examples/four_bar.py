"""A four-bar linkage of spatial revolute joints: a crank that makes full turns, a coupler and a rocker."""

from __future__ import annotations

import numpy as np

from linkwork.examples.catalogue import Claim
from linkwork.examples.planar_linkage_formulas import (
    MovingLink,
    bar_inertia,
    circle_intersection,
    claim_of_crank,
    input_force,
)
from linkwork.model import Builder, Mechanism, Revolute
from linkwork.model.friction import FrictionLaw
from linkwork.spatial.scalar import Array

# lengths of crank, coupler, rocker, ground [m]; the crank can turn (Grashof): 0.2 + 0.5 < 0.4 + 0.5
LENGTHS = (0.2, 0.5, 0.4, 0.5)
MASSES = (0.8, 2.0, 1.6)  # masses of crank, coupler, rocker [kg]
GRAVITY = 9.81  # [m/s^2]
Z = (0, 0, 1)


PINS = ("crank pin", "coupler pin", "rocker pin", "closing pin")


def build(
    crank: float = 0.8, speed: float = 3.0, name: str = "four_bar", friction: FrictionLaw | None = None
) -> Mechanism:
    """Build the linkage in the plane x, y, with gravity along -y and the friction law `friction` in all pins.

    In the keyframe "start" the crank has the angle `crank` [rad] and the speed `speed` [rad/s]. The linkage is planar,
    so that three of the five constraint rows of the closing joint are redundant.
    """
    a, b, c, d = LENGTHS
    build = Builder(name, gravity=(0, -GRAVITY, 0))
    for bar, length, mass in zip(("crank", "coupler", "rocker"), (a, b, c), MASSES, strict=True):
        build.body(bar, mass, com=(length / 2, 0, 0), inertia=bar_inertia(mass, length))
    build.joint("crank pin", Revolute(Z), "world", "crank")
    build.joint("coupler pin", Revolute(Z), "crank", "coupler", at=(a, 0, 0))
    build.joint("rocker pin", Revolute(Z), "world", "rocker", at=(d, 0, 0))
    build.close("closing pin", Revolute(Z), "coupler", "rocker", at=(b, 0, 0), to=(c, 0, 0))
    build.frame("joint", body="coupler", at=(b, 0, 0))
    build.drive("motor", {"crank pin": 1.0})
    if friction is not None:
        for pin in PINS:
            build.friction(pin, friction)
    q, v = coordinates(crank), speed * coordinate_derivatives(crank)
    names = ("crank pin", "coupler pin", "rocker pin")
    return build.keyframe("start", dict(zip(names, q, strict=True)), dict(zip(names, v, strict=True))).build()


def angles(crank: float) -> Array:
    """Return the angles (3,) [rad] of crank, coupler and rocker from the x axis, for the crank angle `crank` [rad].

    The angles follow from the intersection of two circles.
    """
    a, b, c, d = LENGTHS
    elbow = a * np.array([np.cos(crank), np.sin(crank)])
    joint = circle_intersection(elbow, np.array([d, 0.0]), b, c)
    coupler, rocker = joint - elbow, joint - [d, 0.0]
    return np.array([crank, np.arctan2(coupler[1], coupler[0]), np.arctan2(rocker[1], rocker[0])])


def rates(crank: float) -> tuple[Array, Array]:
    """Return the first and second derivatives, (3,) each, of the bar angles `angles` with respect to `crank` [rad].

    The derivatives follow from the loop closure a e^(i A) + b e^(i B) - c e^(i C) = d, differentiated once and twice
    (e.g. Norton, Design of Machinery). a, b, c, d are the lengths of crank, coupler, rocker and ground bar, and A, B, C
    the angles.
    """
    a, b, c, _ = LENGTHS
    A, B, C = angles(crank)
    scale = np.sin(C - B)
    B1, C1 = a * np.sin(A - C) / (b * scale), a * np.sin(A - B) / (c * scale)
    known = np.array([a * np.cos(A) + b * B1**2 * np.cos(B) - c * C1**2 * np.cos(C)])
    known = np.append(known, a * np.sin(A) + b * B1**2 * np.sin(B) - c * C1**2 * np.sin(C))
    B2, C2 = np.linalg.solve([[-b * np.sin(B), c * np.sin(C)], [b * np.cos(B), -c * np.cos(C)]], known)
    return np.array([1.0, B1, C1]), np.array([0.0, B2, C2])


def coordinates(crank: float) -> Array:
    """Return the joint angles q (3,) [rad] of the closed linkage for the crank angle `crank` [rad].

    They are the angles of crank pin, coupler pin and rocker pin: crank and rocker from the x axis, coupler from crank.
    """
    A, B, C = angles(crank)
    return np.array([A, B - A, C])


def coordinate_derivatives(crank: float) -> Array:
    """Return the derivatives (3,) of the joint angles `coordinates` with respect to the crank angle `crank` [rad]."""
    A1, B1, C1 = rates(crank)[0]
    return np.array([A1, B1 - A1, C1])


def torque(crank: float, speed: float, acceleration: float) -> float:
    """Return the torque [N m] that gives the crank an acceleration [rad/s^2] at its angle [rad] and speed [rad/s].

    The torque follows from Eksergian's equation.
    """
    a, b, c, _ = LENGTHS
    (A, B, C), (first, second) = angles(crank), rates(crank)

    def centre(length: float, k: int, at: Array, at1: Array, at2: Array) -> MovingLink:
        """Return bar k of the given length [m] as a `MovingLink`, whose near end is `at` (2,) [m].

        `at1` and `at2` are the first and second derivatives of `at` with respect to the crank angle; k is the index of
        the bar's angle in `angles`.
        """
        angle, turn, bend = (A, B, C)[k], first[k], second[k]
        e, n = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
        half = length / 2
        x1, x2 = at1 + half * turn * n, at2 + half * (bend * n - turn**2 * e)
        return MovingLink(MASSES[k], bar_inertia(MASSES[k], length)[2], np.append(x1, turn), np.append(x2, bend))

    still, e, n = np.zeros(2), np.array([np.cos(A), np.sin(A)]), np.array([-np.sin(A), np.cos(A)])
    links = [centre(a, 0, still, still, still), centre(b, 1, a * e, a * n, -a * e), centre(c, 2, still, still, still)]
    return input_force(links, speed, acceleration, GRAVITY)


def claim() -> Claim:
    """Check that the torque of Eksergian's equation gives the crank the intended acceleration.

    Return the measured error and its tolerance as a `Claim`.
    """
    return claim_of_crank(build(), coordinates, coordinate_derivatives, torque)
