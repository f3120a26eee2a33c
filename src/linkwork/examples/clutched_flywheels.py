"""Two flywheels on parallel shafts and a clutch that slips: what is lost and how long it takes are textbook numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.examples.catalogue import Claim
from linkwork.model import Builder, Mechanism, Revolute
from linkwork.model.geometry import Cylinder
from linkwork.simulation import simulate

INERTIAS = (0.8, 1.2)  # about the shafts [kg m^2]
RADII, THICKNESS, APART = (0.25, 0.3), 0.08, 0.2  # of the wheels, and from one to the other along the shaft [m]
CAPACITY = 6.0  # of the clutch [N m]
SPEED = 20.0  # of the first wheel as it engages; the second rests [rad/s]
ENGAGED = 0.1  # when [s]


def build(capacity: float = CAPACITY) -> Mechanism:
    """Both turn about x; a motor sits on the first, the "clutch" slips above its `capacity` [N m] and is released."""
    b = Builder("clutched_flywheels", gravity=(0, 0, 0))
    for k, (name, inertia, radius) in enumerate(zip(("first", "second"), INERTIAS, RADII, strict=True)):
        mass = 2.0 * inertia / radius**2
        across = mass * (3.0 * radius**2 + THICKNESS**2) / 12.0
        b.body(name, mass, inertia=(inertia, across, across))
        b.joint(f"{name} shaft", Revolute((1, 0, 0)), "world", name, at=(k * APART, 0, 0))
        b.geometry(name, Cylinder(radius, THICKNESS), rpy=(0, np.pi / 2, 0))
    b.drive("motor", {"first shaft": 1.0})
    b.clutch("clutch", "first shaft", "second shaft", capacity=capacity)
    return b.keyframe("start", velocities={"first shaft": SPEED}).build()


def common_speed() -> float:
    """What is left of the speed [rad/s]: momentum is kept."""
    first, second = INERTIAS
    return first * SPEED / (first + second)


def slip_time(capacity: float = CAPACITY) -> float:
    """How long the clutch slips [s]: each wheel changes its speed at a constant rate."""
    return SPEED / (capacity / INERTIAS[0] + capacity / INERTIAS[1])


def heat() -> float:
    """What becomes of the energy [J], however strong the clutch is."""
    first, second = INERTIAS
    return 0.5 * first * second / (first + second) * SPEED**2


def request(duration: float = 2.0, capacity: float = CAPACITY) -> dict[str, Any]:
    """What `lw.simulate(**request())` is told: the clutch engages, slips and holds."""
    schedule = [(ENGAGED, "engage", "clutch")]
    return {"mechanism": build(capacity), "duration": duration, "dt": 0.01, "method": "rk4", "schedule": schedule}


def claim() -> Claim:
    """Common speed, the angle through which the clutch slips, and heat, of a slow clutch and of one that jumps."""
    errors = []
    for capacity in (CAPACITY, np.inf):
        run = simulate(**request(capacity=capacity))
        slipped = SPEED * (ENGAGED + slip_time(capacity) / 2)
        turned = run.q[-1, 0] - run.q[-1, 1]
        errors += [np.abs(run.v[-1] / common_speed() - 1.0).max(), abs(turned / slipped - 1.0)]
        errors.append(abs(run["work"][-1] / heat() + 1.0))
    return Claim("common speed, slipped angle and heat are those of the textbook, relative", float(max(errors)), 1e-10)
