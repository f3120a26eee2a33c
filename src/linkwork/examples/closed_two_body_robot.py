"""Schiehlen's two-body robot with a closed loop: the end of body 2 moves on a line through the ground pin."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.algorithms.constraints.constrained_dynamics import forward_dynamics
from linkwork.examples.catalogue import Claim
from linkwork.examples.two_body_robot import end_wrench
from linkwork.model import Builder, Mechanism, PointOnLine, Revolute
from linkwork.spatial.scalar import Array

Numbers = tuple[float, float, float, float, float]  # I1, I2 [kg m^2], m2 [kg], R, L [m]
NUMBERS: Numbers = (0.8, 0.3, 2.0, 0.7, 0.4)


def build(
    I1: float = 0.8, I2: float = 0.3, m2: float = 2.0, R: float = 0.7, L: float = 0.4, alpha: float = 0.3
) -> Mechanism:
    """Build the robot. In the keyframe "start" the loop is closed, and body 1 has the angle alpha [rad] and the rate 1
    rad/s.

    I1, I2 [kg m^2] are the inertias of the bodies, m2 [kg] the mass of body 2, and R, L [m] the lengths of body 1 and
    2, as in `two_body_robot`. alpha must be less than asin(L / R).
    """
    b = Builder("closed_two_body_robot", gravity=(0, 0, 0))
    b.body("body 1", mass=1.0, inertia=(I1, I1, I1))
    b.body("body 2", mass=m2, inertia=(I2, I2, I2))
    b.joint("ground pin", Revolute((0, 0, 1)), "world", "body 1")
    b.joint("elbow pin", Revolute((0, 0, 1)), "body 1", "body 2", at=(R, 0, 0))
    b.frame("end", body="body 2", at=(L, 0, 0))
    b.close("line", PointOnLine((1, 0, 0)), "world", "body 2", to=(L, 0, 0))
    q, v = state(R, L, alpha, 1.0)
    b.keyframe("start", {"ground pin": q[0], "elbow pin": q[1]}, {"ground pin": v[0], "elbow pin": v[1]})
    return b.build()


class Loop(NamedTuple):
    """Solution of L sin(beta) = R sin(alpha): beta [rad], and its derivatives with respect to alpha.

    `slope` is the first and `curve` [1/rad] the second derivative.
    """

    beta: float
    slope: float
    curve: float


def loop(R: float, L: float, alpha: float) -> Loop:
    """Return the angle beta of the closed loop and its derivatives, for the angle alpha [rad] of body 1; see `Loop`.

    R and L [m] are the lengths of bodies 1 and 2. Misprint: Schiehlen's paper has R cos(alpha) instead of R sin(alpha).
    """
    beta = float(np.arcsin(R * np.sin(alpha) / L))
    slope = R * np.cos(alpha) / (L * np.cos(beta))
    return Loop(beta, slope, (L * np.sin(beta) * slope**2 - R * np.sin(alpha)) / (L * np.cos(beta)))


def state(R: float, L: float, alpha: float, rate: float) -> tuple[Array, Array]:
    """Return coordinates q = (alpha, -alpha - beta) [rad] and velocities v (2,) [rad/s] that close the loop.

    R and L [m] are the lengths of bodies 1 and 2, alpha [rad] is the angle of body 1, and `rate` [rad/s] its time
    derivative.
    """
    beta, slope, _ = loop(R, L, alpha)
    return np.array([alpha, -alpha - beta]), np.array([rate, -rate - slope * rate])


def equations(numbers: Numbers, alpha: float, rate: float, M1: float, F2: float) -> tuple[float, float]:
    """Return the acceleration of the angle alpha [rad/s^2] and the constraint force F [N] of the loop along +y.

    Both are from Schiehlen's equations (24) and (25), with misprints corrected. `numbers` are I1, I2, m2, R, L of
    `build`. alpha [rad] and `rate` [rad/s] are the angle of body 1 and its time derivative. M1 [N m] is the torque on
    body 1, and F2 [N] the force on the end of body 2 along -x.
    """
    I1, I2, m2, R, L = numbers
    beta, _, curve = loop(R, L, alpha)
    I = I1 + m2 * R**2
    row = np.array([R * np.cos(alpha), -L * np.cos(beta)])  # the constraint row, Schiehlen's Q_c
    pull = -I2 * R**2 * np.sin(alpha) * np.cos(alpha) + I * L**2 * np.sin(beta) * np.cos(beta)
    turning = -I * L * curve * np.cos(beta) * I2 * rate**2
    F = (-I2 * row[0] * M1 + pull * F2 + turning) / (I2 * row[0] ** 2 + I * row[1] ** 2)
    return (M1 + F2 * R * np.sin(alpha) + row[0] * F) / I, F


def claim() -> Claim:
    """Check the acceleration and the constraint force of the loop against the paper's equations (24) and (25).

    Return the measured error and its tolerance as a `Claim`.
    """
    m, rng, worst = build(*NUMBERS), np.random.default_rng(0), 0.0
    *_, R, L = NUMBERS
    for _ in range(20):
        alpha, (rate, M1, F2) = rng.uniform(-0.5, 0.5), rng.normal(size=3) * 2.0
        q, v = state(R, L, alpha, rate)
        expected = np.array(equations(NUMBERS, alpha, rate, M1, F2))
        found = forward_dynamics(m, q, v, np.array([M1, 0.0]), end_wrench(L, q, F2))
        both = np.array([found.a[0], found.multipliers[0]])
        worst = max(worst, np.abs(both - expected).max() / np.abs(expected).max())
    return Claim(
        "relative error of acceleration and closing force against (24) and (25) of the paper", float(worst), 1e-10
    )
