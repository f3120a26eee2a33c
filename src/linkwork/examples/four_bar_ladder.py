"""A hanging rope ladder of four-bar linkages, with any number of cells (default three)."""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.constraints.constrained_dynamics import forward_dynamics
from linkwork.examples.catalogue import Claim
from linkwork.examples.planar_linkage_formulas import bar_inertia
from linkwork.model import Builder, Mechanism, Revolute
from linkwork.spatial.scalar import Array

RAIL, RUNG = 0.3, 0.4  # lengths of a rail and of a rung [m]
MASSES = (0.5, 0.8)  # masses of a rail and of a rung [kg]
GRAVITY = 9.81
Z = (0, 0, 1)


def build(cells: int = 3, angle: float = 0.3) -> Mechanism:
    """Build a ladder of `cells` cells in the plane x, y, with gravity along -y.

    In the keyframe "start" all rails have the angle `angle` [rad], at rest. Each cell has two rails, a rung and one
    loop; three of the five constraint rows of each loop are redundant. The ladder has one degree of freedom per cell.
    Each loop is short; the tree is two bodies deep per cell.
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
    """Return the coordinates q (3 cells,) [rad] for the rail angles `angles` (cells,) [rad] from the vertical.

    The rungs do not rotate. The same map gives the velocities v from the rates of the rails.
    """
    found = np.zeros(m.nv)
    for k, angle in enumerate(angles, 1):
        for name, sign in ((f"left {k}", 1.0), (f"corner {k}", -1.0), (f"right {k}", 1.0)):
            found[m.joints[name].v] = sign * angle
    return found


def accelerations(angles: Array, rates: Array, torques: Array) -> Array:
    """Return the accelerations (cells,) [rad/s^2] of the rails at angles [rad] and rates [rad/s], under torques [N m].

    The torques act on the left rails. Rungs do not rotate, so that the ladder is a chain of pendulums. For rails i with
    the angle a_i, the equations of motion are

        sum over j of w_ij (cos(a_i - a_j) a_j'' + sin(a_i - a_j) a_j'^2) = torque_i / RAIL^2 - m_i sin(a_i) g / RAIL

    m_i is the mass that hangs on the lower ends of rails i plus half the mass of these rails, and w_ij = m_max(i, j);
    w_ii contains the moment of inertia of rails i about their ends.
    """
    rail, rung = MASSES
    after = np.arange(len(angles))[::-1]  # number of cells below each cell
    hanging = rail + rung + after * (rung + 2 * rail)
    weights = np.minimum.outer(hanging, hanging)
    about_end = bar_inertia(rail, RAIL)[2] / RAIL**2 + rail / 4  # inertia of a rail about its end, over RAIL^2 [kg]
    np.fill_diagonal(weights, hanging - rail + 2 * about_end)
    apart = np.subtract.outer(angles, angles)
    forces = torques / RAIL**2 - hanging * np.sin(angles) * GRAVITY / RAIL
    return np.linalg.solve(weights * np.cos(apart), forces - (weights * np.sin(apart)) @ rates**2)


def claim() -> Claim:
    """Check that ladders with 1, 2, 3 and 5 cells accelerate as chains of pendulums.

    Return the measured error and its tolerance as a `Claim`.
    """
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
    return Claim("relative error of the accelerations of ladders against chains of pendulums", float(worst), 1e-10)
