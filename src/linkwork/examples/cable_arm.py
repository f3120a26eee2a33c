"""An arm whose motors all sit on its stand and pull by cables: each turns one link against the stand."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.algorithms.constraints.closure import forward_dynamics
from linkwork.algorithms.drive_forces import drive_forces
from linkwork.algorithms.inverse import gravity
from linkwork.examples.catalogue import Claim
from linkwork.examples.planar_links import bar_inertia
from linkwork.model import Builder, Mechanism, Revolute
from linkwork.simulation import Run, simulate

LENGTHS, MASSES = (0.5, 0.4, 0.15), (3.0, 2.0, 0.5)  # of the links [m, kg], with centres in their middle
NAMES = ("shoulder", "elbow", "wrist")
ROTOR, GEAR = 1e-4, 30.0  # inertia of each rotor [kg m^2], its turns by those of the link
WEIGHT = 9.81
HELD = {"elbow motor.engaged": 1.0, "wrist motor.engaged": 1.0}


def build() -> Mechanism:
    """The plane x, z, links along x at rest; the drives' coordinates are turns of links about -y, from the horizon.

    The couplings "elbow motor" and "wrist motor", which are released, hold these two motors still.
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
    """Mass times arm [kg m] of each link with what hangs on its end, which hangs there as a point would."""
    return [mass * length / 2 + sum(MASSES[k + 1 :]) * length
            for k, (mass, length) in enumerate(zip(MASSES, LENGTHS, strict=True))]  # fmt: skip


def request(duration: float = 1.0) -> dict[str, Any]:
    """What `lw.simulate(**request())` is told: the shoulder's link swings, while the motors of the others are held."""
    return {"mechanism": build().with_parameters(HELD), "duration": duration, "dt": 0.01, "method": "rk4"}


def run(duration: float = 1.0) -> Run:
    """The same, made."""
    return simulate(**request(duration))


def claim() -> Claim:
    """Each motor carries its own link alone; with the others held, links further out keep their attitude."""
    m, rng, errors = build(), np.random.default_rng(0), []
    rows = np.array([drive.row for drive in m.drives]) * GEAR
    for _ in range(20):
        turns = rng.uniform(-1.5, 1.5, size=3)  # of the links, from the horizon
        needed = np.linalg.solve(rows.T, gravity(m, np.diff(turns, prepend=0.0)))
        errors.append(np.abs(needed / (np.array(moments()) * WEIGHT * np.cos(turns) / GEAR) - 1.0).max())
    held = m.with_parameters(HELD)
    inertia = bar_inertia(MASSES[0], LENGTHS[0])[2] + MASSES[0] * LENGTHS[0] ** 2 / 4 + ROTOR * GEAR**2
    inertia += sum(MASSES[1:]) * LENGTHS[0] ** 2
    for _ in range(20):
        q, command, rate = rng.uniform(-1.5, 1.5, size=3), rng.normal(size=3), rng.normal()
        v = np.array([rate, -rate, 0.0])
        a = forward_dynamics(held, q, v, drive_forces(held, q, v, command)).a
        alone = (GEAR * command[0] - moments()[0] * WEIGHT * np.cos(q[0])) / inertia
        errors.append(np.abs(a - [alone, -alone, 0.0]).max() / abs(alone))
    errors.append(np.abs(np.diff(run().q.sum(axis=1))).max())
    return Claim("motors carry their own link, the tip keeps its attitude, relative or rad", float(max(errors)), 1e-10)
