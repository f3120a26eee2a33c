"""A free-flying space robot: a 300 kg base with two arms of six revolute joints, no gravity (SpaceDyn, Fig. 7a)."""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.forward_dynamics import forward_dynamics
from linkwork.algorithms.momentum import momentum_rate
from linkwork.examples.catalogue import Claim
from linkwork.model import Builder, Free, Mechanism, Revolute

# The paper gives no values. For each link: length along x [m], mass [kg], radius [m]
LINKS = (
    ("shoulder", 0.20, 6.0, 0.08),
    ("upper", 0.80, 9.0, 0.06),
    ("fore", 0.70, 7.0, 0.05),
    ("roll", 0.15, 2.5, 0.05),
    ("wrist", 0.15, 2.0, 0.05),
    ("hand", 0.20, 1.5, 0.04),
)
AXES = ((0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 0))


def build() -> Mechanism:
    """Build the robot. Its arms are on the +y and -y faces of the base and point outward in the neutral position."""
    b = Builder("free_flyer", gravity=(0, 0, 0))
    b.body("base", mass=300.0, com=(0.0, 0.0, 0.05), inertia=(52.0, 48.0, 56.0, 0.5, -0.3, 0.2))
    b.joint("float", Free(), parent="world", child="base")
    for side, y, yaw in (("left", 0.6, np.pi / 2), ("right", -0.6, -np.pi / 2)):
        parent, at, rpy = "base", (0.3, y, 0.0), (0.0, 0.0, yaw)
        for (name, length, mass, radius), axis in zip(LINKS, AXES, strict=True):
            child = f"{side} {name}"
            along, across = mass * radius**2 / 2, mass * (3 * radius**2 + length**2) / 12  # a solid cylinder along x
            b.body(child, mass=mass, com=(length / 2, 0, 0), inertia=(along, across, across))
            b.joint(f"{child} joint", Revolute(axis), parent, child, at, rpy, armature=0.01, damping=0.5)
            parent, at, rpy = child, (length, 0, 0), (0, 0, 0)
        b.frame(f"{side} tool", body=parent, at=at)
    return b.build()


def claim() -> Claim:
    """Check that joint torques conserve the momentum of the robot.

    Return the measured error and its tolerance as a `Claim`.
    """
    m, rng = build(), np.random.default_rng(0)
    worst = 0.0
    for _ in range(10):
        q, v = m.random(rng), rng.normal(size=m.nv)
        tau = np.concatenate([np.zeros(6), rng.normal(size=m.nv - 6) * 20.0])
        worst = max(worst, np.abs(momentum_rate(m, q, v, forward_dynamics(m, q, v, tau))).max() / np.abs(tau).max())
    return Claim(
        "joint torques do not change the momentum (rate of the momentum per unit of torque)", float(worst), 1e-11
    )
