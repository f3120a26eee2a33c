"""Wendlandt's free rigid body: principal inertias 1, 2, 3 kg m^2, angular velocity (0, 3, 4) rad/s (section 2.4.1)."""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.momentum import kinetic_energy, momentum
from linkwork.examples.catalogue import Claim
from linkwork.model import Builder, Free, Mechanism

ANGULAR_VELOCITY = (0.0, 3.0, 4.0)  # initial angular velocity [rad/s], in the axes of the body


def build() -> Mechanism:
    """Build the free rigid body without gravity. Wendlandt's thesis does not give its mass; here it is 1 kg."""
    b = Builder("tumbling_body", gravity=(0, 0, 0))
    b.body("body", mass=1.0, inertia=(1.0, 2.0, 3.0))
    b.joint("float", Free(), "world", "body")
    return b.build()


def claim() -> Claim:
    """Check that Wendlandt's initial state has 33 J and the angular momentum (0, 6, 12) kg m^2/s.

    Return the measured error and its tolerance as a `Claim`.
    """
    m = build()
    v = np.array([0.0, 0.0, 0.0, *ANGULAR_VELOCITY])
    found = np.array([kinetic_energy(m, m.neutral(), v), *momentum(m, m.neutral(), v)[3:]])
    return Claim(
        "the initial state has an energy of 33 J and an angular momentum of (0, 6, 12) kg m^2/s",
        float(np.abs(found - [33, 0, 6, 12]).max()),
        1e-12,
    )
