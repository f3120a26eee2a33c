"""A screw jack: friction in its thread holds the load; raising and lowering the load need different torques."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.examples.catalogue import Claim
from linkwork.model import Builder, Cylinder, Mechanism, Screw, Thread
from linkwork.simulation import simulate
from linkwork.spatial.scalar import Array, Number

MASS, GRAVITY = 500.0, 9.81  # mass of the load [kg], gravity [m/s^2]
RADIUS, LEAD = 0.02, 0.008  # mean radius of the thread [m], lift per turn [m]
FRICTION = 0.12
LEAD_ANGLE, FRICTION_ANGLE = np.arctan(LEAD / (2.0 * np.pi * RADIUS)), np.arctan(FRICTION)
RAISING = MASS * GRAVITY * RADIUS * np.tan(FRICTION_ANGLE + LEAD_ANGLE)  # torque [N m]
LOWERING = MASS * GRAVITY * RADIUS * np.tan(FRICTION_ANGLE - LEAD_ANGLE)


def build() -> Mechanism:
    """Build the jack: a spindle with the load, which turns and rises along z in a fixed nut."""
    b = Builder("screw_jack", gravity=(0, 0, -GRAVITY))
    b.body("spindle", MASS, inertia=(1.0, 1.0, 0.5))
    b.joint("thread", Screw(pitch=LEAD / (2.0 * np.pi)), "world", "spindle", friction=Thread(FRICTION, RADIUS))
    b.geometry("spindle", Cylinder(RADIUS, 0.3))
    b.drive("crank", {"thread": 1.0})
    return b.build()


def spindle_torque(t: Number, q: Array, v: Array) -> Array:
    """Return the torque (1,) [N m] on the spindle, 10 % above the torque that raises the load at constant speed."""
    return np.array([1.1 * RAISING])


def arguments(duration: float = 2.0) -> dict[str, Any]:
    """Return keyword arguments for `lw.simulate`: the load is raised from rest."""
    return {"mechanism": build(), "duration": duration, "dt": 1e-3, "method": "rk4", "controller": spindle_torque}


def claim() -> Claim:
    """Check that the load holds without torque, and that the textbook torques raise and lower it at constant speed.

    The textbook torques are W r tan(phi + lambda) and W r tan(phi - lambda), with the weight W, the radius r, the
    friction angle phi and the lead angle lambda. Return the measured error and its tolerance as a `Claim`.
    """
    m, speed = build(), 1.5
    errors = [np.abs(simulate(m, [0.0], duration=10.0, dt=1e-2, method="rk4", progress=False).v).max()]
    for torque, rate in ((RAISING, speed), (-LOWERING, -speed)):
        run = simulate(
            m, [0.0], [rate], duration=1.0, dt=1e-3, method="rk4", progress=False,
            controller=lambda t, q, v, torque=torque: np.array([torque]),
        )  # fmt: skip
        errors.append(np.abs(run.v[:, 0] / rate - 1.0).max())
    return Claim(
        "speed of the load without torque [rad/s], and change of speed at the textbook torques (relative)",
        float(max(errors)),
        1e-12,
    )
