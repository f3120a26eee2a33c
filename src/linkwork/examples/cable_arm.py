"""Robot arm whose motors are all on its stand: each motor rotates one link relative to the stand by a cable."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.algorithms.constraints.constrained_dynamics import forward_dynamics
from linkwork.algorithms.drive_forces import drive_forces
from linkwork.algorithms.inverse_dynamics import gravity
from linkwork.examples.catalogue import Claim
from linkwork.examples.planar_linkage_formulas import bar_inertia
from linkwork.model import Builder, Mechanism, Revolute
from linkwork.simulation import Run, simulate

# lengths [m] and masses [kg] of the links, whose centres of mass are in the middle
LENGTHS, MASSES = (0.5, 0.4, 0.15), (3.0, 2.0, 0.5)
NAMES = ("shoulder", "elbow", "wrist")
ROTOR, GEAR = 1e-4, 30.0  # inertia of each rotor [kg m^2], rotor angle per link angle
WEIGHT = 9.81
LOCKED = {"elbow motor.engaged": 1.0, "wrist motor.engaged": 1.0}


def build() -> Mechanism:
    """Build the arm in the plane x, z; in the neutral position its links point along x.

    The coordinate of a drive is the angle of its link about -y, measured from the horizontal. The couplings "elbow
    motor" and "wrist motor" lock the motors of elbow and wrist; both couplings are released at the start.
    """
    b = Builder("cable_arm", gravity=(0, 0, -WEIGHT))
    parent, at, path = "world", (0.0, 0.0, 0.0), {}
    for name, length, mass in zip(NAMES, LENGTHS, MASSES, strict=True):
        across = bar_inertia(mass, length)[2]
        b.body(f"{name} link", mass, com=(length / 2, 0, 0), inertia=(0.0, across, across))
        b.joint(name, Revolute((0, -1, 0)), parent, f"{name} link", at=at)
        b.drive(name, {name: 1.0}, gear=GEAR, rotor_inertia=ROTOR, measured_from="world")
        parent, at, path = f"{name} link", (length, 0.0, 0.0), path | {name: 1.0}
        if name != "shoulder":
            b.couple(f"{name} motor", path, engaged=False)
    return b.frame("tip", body=parent, at=at).keyframe("start", {"shoulder": 0.6, "elbow": -1.0, "wrist": 0.9}).build()


def moments() -> list[float]:
    """Return, for each link, its first moment of mass [kg m] about its joint.

    The result has the joints from the stand outward. The masses of all links further outboard count as a point mass at
    the end of the link.
    """
    return [mass * length / 2 + sum(MASSES[k + 1 :]) * length
            for k, (mass, length) in enumerate(zip(MASSES, LENGTHS, strict=True))]  # fmt: skip


def arguments(duration: float = 1.0) -> dict[str, Any]:
    """Return keyword arguments for `lw.simulate`: the arm swings about its shoulder while the other two motors are
    locked.
    """
    return {"mechanism": build().with_parameters(LOCKED), "duration": duration, "dt": 0.01, "method": "rk4"}


def run(duration: float = 1.0) -> Run:
    """Simulate the example for `duration` [s] and return the run."""
    return simulate(**arguments(duration))


def claim() -> Claim:
    """Check that each motor supports only its own link, and that the outboard links do not rotate if their motors are
    locked.

    Return the measured error and its tolerance as a `Claim`.
    """
    m, rng, errors = build(), np.random.default_rng(0), []
    rows = np.array([drive.row for drive in m.drives]) * GEAR
    for _ in range(20):
        turns = rng.uniform(-1.5, 1.5, size=3)  # angles of the links from the horizontal [rad]
        needed = np.linalg.solve(rows.T, gravity(m, np.diff(turns, prepend=0.0)))
        errors.append(np.abs(needed / (np.array(moments()) * WEIGHT * np.cos(turns) / GEAR) - 1.0).max())
    locked = m.with_parameters(LOCKED)
    inertia = bar_inertia(MASSES[0], LENGTHS[0])[2] + MASSES[0] * LENGTHS[0] ** 2 / 4 + ROTOR * GEAR**2
    inertia += sum(MASSES[1:]) * LENGTHS[0] ** 2
    for _ in range(20):
        q, command, rate = rng.uniform(-1.5, 1.5, size=3), rng.normal(size=3), rng.normal()
        v = np.array([rate, -rate, 0.0])
        a = forward_dynamics(locked, q, v, drive_forces(locked, q, v, command)).a
        alone = (GEAR * command[0] - moments()[0] * WEIGHT * np.cos(q[0])) / inertia
        errors.append(np.abs(a - [alone, -alone, 0.0]).max() / abs(alone))
    errors.append(np.abs(np.diff(run().q.sum(axis=1))).max())
    return Claim(
        "each motor supports only its own link, and the tip does not rotate (relative error, or rad)",
        float(max(errors)),
        1e-10,
    )
