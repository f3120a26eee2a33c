"""A satellite with a reaction wheel: a gyrostat without gravity."""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.forward_dynamics import forward_dynamics
from linkwork.examples.catalogue import Claim
from linkwork.model import Builder, Free, Mechanism, Revolute

HULL, WHEEL_SPIN, WHEEL_CROSS, WHEEL_MASS = (12.0, 15.0, 9.0), 0.08, 0.05, 5.0


def build() -> Mechanism:
    """Build a hull of 200 kg with a wheel of 5 kg about its z axis; both have their centres at the origin of the hull's
    frame.
    """
    b = Builder("wheel_satellite", gravity=(0, 0, 0))
    b.body("hull", mass=200.0, inertia=HULL)
    b.body("wheel", mass=WHEEL_MASS, inertia=(WHEEL_CROSS, WHEEL_CROSS, WHEEL_SPIN))
    b.joint("float", Free(), "world", "hull")
    b.joint("bearing", Revolute((0, 0, 1)), "hull", "wheel")
    return b.build()


def claim() -> Claim:
    """Check that accelerations satisfy the equations of the gyrostat.

    These are I dw/dt + w x (I w + h) = -motor and dh/dt = motor on the axis of the wheel. w is the angular velocity of
    the hull, h the momentum of the wheel, and `motor` the motor torque. Return the measured error and its tolerance as
    a `Claim`.
    """
    m, rng, worst = build(), np.random.default_rng(0), 0.0
    # without the axial inertia of the wheel, whose momentum is h
    I = np.diag(HULL) + np.diag([WHEEL_CROSS, WHEEL_CROSS, 0.0])
    axis = np.array([0.0, 0.0, 1.0])
    for _ in range(10):
        w, spin, motor = rng.normal(size=3), rng.normal() * 100.0, rng.normal() * 0.1
        v = np.concatenate([np.zeros(3), w, [spin]])
        h = WHEEL_SPIN * (w[2] + spin) * axis
        dw = np.linalg.solve(I, -np.cross(w, I @ w + h) - motor * axis)
        expected = np.array([*dw, motor / WHEEL_SPIN - dw[2]])
        found = forward_dynamics(m, m.random(rng), v, np.array([0.0] * 6 + [motor]))[3:]
        worst = max(worst, np.abs(found - expected).max() / np.abs(expected).max())
    return Claim("relative error of angular accelerations against the gyrostat's equations", float(worst), 1e-11)
