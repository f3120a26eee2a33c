"""A hanging rope ladder of some cells, three by default: each is a four-bar linkage that hangs on the rung above."""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.constraints.closure import forward_dynamics
from linkwork.examples.catalogue import Claim
from linkwork.examples.planar_links import bar_inertia
from linkwork.model import Builder, Mechanism, Revolute
from linkwork.spatial.scalar import Array

RAIL, RUNG = 0.3, 0.4  # lengths [m]
MASSES = (0.5, 0.8)  # of a rail and of a rung [kg]
GRAVITY = 9.81
Z = (0, 0, 1)


def build(cells: int = 3, angle: float = 0.3) -> Mechanism:
    """The plane x, y with gravity along -y; the keyframe "start" is closed with all rails at an angle [rad], at rest.

    Every cell has two rails, a rung and one loop, of which three of five rows repeat what other joints hold: there are
    as many freedoms as cells. Loops are short, but the tree is as deep as two bodies in each cell make it.
    """
    b = Builder("four_bar_ladder", gravity=(0, -GRAVITY, 0))
    along, across, _ = bar_inertia(MASSES[0], RAIL)
    above, start = "world", {}
    for k in range(1, cells + 1):
        left, rung, right = f"left rail {k}", f"rung {k}", f"right rail {k}"
        for rail in (left, right):
            b.body(rail, MASSES[0], com=(0, -RAIL / 2, 0), inertia=(across, along, across))
        b.body(rung, MASSES[1], com=(RUNG / 2, 0, 0), inertia=bar_inertia(MASSES[1], RUNG))
        b.joint(f"left {k}", Revolute(Z), above, left)
        b.joint(f"corner {k}", Revolute(Z), left, rung, at=(0, -RAIL, 0))
        b.joint(f"right {k}", Revolute(Z), above, right, at=(RUNG, 0, 0))
        b.close(f"pin {k}", Revolute(Z), rung, right, at=(RUNG, 0, 0), to=(0, -RAIL, 0))
        start |= {f"left {k}": angle, f"corner {k}": -angle, f"right {k}": angle}
        above = rung
    return b.keyframe("start", start).build()


def coordinates(m: Mechanism, angles: Array) -> Array:
    """Q (3 cells,) [rad] of rails at `angles` (cells,) from hanging down, or v of their rates: rungs do not turn."""
    found = np.zeros(m.nv)
    for k, angle in enumerate(angles, 1):
        for name, sign in ((f"left {k}", 1.0), (f"corner {k}", -1.0), (f"right {k}", 1.0)):
            found[m.joints[name].v] = sign * angle
    return found


def accelerations(angles: Array, rates: Array, torques: Array) -> Array:
    """Of the rails (cells,) [rad/s^2], at angles [rad] and rates [rad/s], under torques [N m] on the left ones.

    Rungs move without turning, so that the ladder is a chain of pendulums: with m_i the mass that hangs on the lower
    ends of rails i, rails counted half, sum over j of w_ij (cos(a_i - a_j) a_j'' + sin(a_i - a_j) a_j'^2) is
    torque_i / RAIL^2 - m_i sin(a_i) g / RAIL, where w_ij = m_max(i, j), and w_ii has rails counted by their inertia.
    """
    rail, rung = MASSES
    after = np.arange(len(angles))[::-1]  # cells below each
    hanging = rail + rung + after * (rung + 2 * rail)
    weights = np.minimum.outer(hanging, hanging)
    about_end = bar_inertia(rail, RAIL)[2] / RAIL**2 + rail / 4  # of a rail, over its squared length
    np.fill_diagonal(weights, hanging - rail + 2 * about_end)
    apart = np.subtract.outer(angles, angles)
    forces = torques / RAIL**2 - hanging * np.sin(angles) * GRAVITY / RAIL
    return np.linalg.solve(weights * np.cos(apart), forces - (weights * np.sin(apart)) @ rates**2)


def claim() -> Claim:
    """Ladders of any length accelerate as chains of pendulums do."""
    rng, worst = np.random.default_rng(0), 0.0
    for cells in (1, 2, 3, 5):
        m = build(cells)
        for _ in range(3):
            angles, rates, torques = rng.uniform(-1.2, 1.2, cells), rng.normal(size=cells) * 2, rng.normal(size=cells)
            tau = np.zeros(m.nv)
            for k in range(cells):
                tau[m.joints[f"left {k + 1}"].v] = torques[k]
            found = forward_dynamics(m, coordinates(m, angles), coordinates(m, rates), tau).a
            expected = coordinates(m, accelerations(angles, rates, torques))
            worst = max(worst, np.abs(found - expected).max() / np.abs(expected).max())
    return Claim("ladders accelerate as chains of pendulums, relative", float(worst), 1e-10)
