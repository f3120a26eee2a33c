"""A pendulum in a journal bearing, whose friction depends on the load that the motion causes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from linkwork.examples.catalogue import Claim
from linkwork.model import Bearing, Builder, Mechanism, Revolute, Sphere
from linkwork.simulation import simulate
from linkwork.spatial.scalar import Array

MASS, LENGTH, GRAVITY = 2.0, 0.5, 9.81  # point mass [kg], length of the rod [m], gravity [m/s^2]
FRICTION, RADIUS = 0.3, 0.04  # coefficient of friction, and radius of the journal [m]
START = 1.2  # angle [rad] at which the pendulum is released at rest


def build(angle: float = START) -> Mechanism:
    """Build the pendulum, a point mass on a massless rod; the keyframe "start" has the angle `angle` [rad]."""
    b = Builder("journal_pendulum", gravity=(0, 0, -GRAVITY))
    b.body("bob", MASS, com=(0, 0, -LENGTH))
    b.joint("pin", Revolute((0, 1, 0)), "world", "bob", friction=Bearing(FRICTION, RADIUS))
    b.geometry("bob", Sphere(0.05), at=(0, 0, -LENGTH))
    return b.keyframe("start", {"pin": angle}).build()


def acceleration(angle: float, rate: float, direction: float) -> float:
    """Return the acceleration [rad/s^2] of the pendulum at its angle [rad] and rate [rad/s].

    `direction` is the sign of the slip. The friction torque is mu r N with N^2 = R^2 + T^2: the rod transmits the
    radial force R = m (g cos(angle) + l rate^2) and the transverse force T = m (g sin(angle) + l acceleration). With
    the torque balance T l = -direction mu r N, N = R / sqrt(1 - (mu r / l)^2).
    """
    lever = FRICTION * RADIUS / LENGTH
    radial = GRAVITY * np.cos(angle) + LENGTH * rate**2
    transverse = -direction * lever * abs(radial) / np.sqrt(1.0 - lever**2)
    return (transverse - GRAVITY * np.sin(angle)) / LENGTH


def angles(times: Array) -> Array:
    """Return the angles (n,) [rad] at increasing `times` (n,) [s], which must be before the pendulum stops for good.

    Each swing is integrated by DOP853 with tolerances of 1e-13 up to its turning point.
    """

    def turns(_: float, state: Array) -> float:
        return state[1]

    turns.terminal = True  # type: ignore[attr-defined]
    found, begin, angle, direction = np.zeros(len(times)), 0.0, START, -1.0
    while begin < times[-1]:
        turns.direction = -direction  # type: ignore[attr-defined]
        swing = solve_ivp(
            lambda _, state, direction=direction: [state[1], acceleration(state[0], state[1], direction)],
            (begin, begin + 10.0), [angle, 0.0], "DOP853", dense_output=True, events=turns, max_step=0.01, rtol=1e-13,
            atol=1e-13,
        )  # fmt: skip
        inside = (times >= begin) & (times <= swing.t[-1])
        if inside.any():
            found[inside] = swing.sol(times[inside])[0]
        begin, angle, direction = swing.t[-1], swing.y[0, -1], -direction
    return found


def arguments(duration: float = 20.0) -> dict[str, Any]:
    """Return keyword arguments for `lw.simulate`: the pendulum swings until static friction of the bearing stops it."""
    m = build()
    return {"mechanism": m, "q0": m.keyframes["start"].q, "duration": duration, "dt": 1e-3, "method": "rk4"}


def claim() -> Claim:
    """Check the motion during four swings against an independent integration.

    Return the measured error and its tolerance as a `Claim`.
    """
    run = simulate(**arguments(3.0), progress=False)
    error = np.abs(run.q[:, 0] - angles(run.t)).max()
    return Claim("angles during four swings equal an independent integration [rad]", float(error), 9e-10)
