"""Two flywheels on coaxial shafts and a slipping clutch: energy loss and slip time have closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.examples.catalogue import Claim
from linkwork.model import Builder, Mechanism, Revolute
from linkwork.model.geometry import Cylinder
from linkwork.simulation import simulate

INERTIAS = (0.8, 1.2)  # moments of inertia about the shafts [kg m^2]
# radii and thickness of the wheels, and their distance along the shaft [m]
RADII, THICKNESS, APART = (0.25, 0.3), 0.08, 0.2
CAPACITY = 6.0  # capacity of the clutch [N m]
SPEED = 20.0  # speed of the first wheel when the clutch engages; the second wheel is at rest [rad/s]
ENGAGED = 0.1  # time at which the clutch engages [s]


def build(capacity: float = CAPACITY) -> Mechanism:
    """Build two flywheels that rotate about x, with a drive "motor" on the first.

    The clutch "clutch" slips if its torque reaches `capacity` [N m]; it is released at the start.
    """
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
    """Return the common speed [rad/s] of both flywheels after the slip, by conservation of angular momentum."""
    first, second = INERTIAS
    return first * SPEED / (first + second)


def slip_time(capacity: float = CAPACITY) -> float:
    """Return the time [s] for which the clutch slips; both wheels have constant accelerations during this time.

    `capacity` [N m] is the capacity of the clutch.
    """
    return SPEED / (capacity / INERTIAS[0] + capacity / INERTIAS[1])


def heat() -> float:
    """Return the energy [J] that the slipping clutch dissipates; it does not depend on the clutch's capacity."""
    first, second = INERTIAS
    return 0.5 * first * second / (first + second) * SPEED**2


def arguments(duration: float = 2.0, capacity: float = CAPACITY) -> dict[str, Any]:
    """Return keyword arguments for `lw.simulate`: the clutch engages, slips and sticks.

    `capacity` [N m] is the capacity of the clutch.
    """
    schedule = [(ENGAGED, "engage", "clutch")]
    return {"mechanism": build(capacity), "duration": duration, "dt": 0.01, "method": "rk4", "schedule": schedule}


def claim() -> Claim:
    """Check common speed, slip angle and dissipated energy against their closed forms.

    The clutch has a finite capacity in one run and an infinite capacity in another. Return the measured error and its
    tolerance as a `Claim`.
    """
    errors = []
    for capacity in (CAPACITY, np.inf):
        run = simulate(**arguments(capacity=capacity))
        slipped = SPEED * (ENGAGED + slip_time(capacity) / 2)
        turned = run.q[-1, 0] - run.q[-1, 1]
        errors += [np.abs(run.v[-1] / common_speed() - 1.0).max(), abs(turned / slipped - 1.0)]
        errors.append(abs(run["work"][-1] / heat() + 1.0))
    return Claim(
        "relative error of common speed, slip angle and dissipated energy against closed forms",
        float(max(errors)),
        1e-10,
    )
