"""A motor drives a load through a two-speed gearbox, which shifts during the run."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.control.feedback import drives
from linkwork.examples.catalogue import Claim
from linkwork.model import Builder, Mechanism, Revolute
from linkwork.model.geometry import Cylinder
from linkwork.simulation import simulate

ROTOR, SHAFT, LOAD = 0.01, 0.02, 6.0  # inertias of the motor, of the drive shaft and of the load [kg m^2]
RATIOS = (4.0, 1.5)
STALL, NO_LOAD = 12.0, 300.0  # stall torque [N m] and no-load speed [rad/s] of the motor
SHIFT = 1.5  # time of the shift from first to second gear [s]


def build(selected: int = 1) -> Mechanism:
    """Build two shafts along x. The drive "motor" acts on the first shaft; the transmission "gearbox" is in gear
    `selected`.
    """
    b = Builder("two_speed_gearbox", gravity=(0, 0, 0))
    wheels = (("driving", SHAFT, (0, 0, 0), 0.06), ("driven", LOAD, (0, 0, 0.36), 0.3))
    for name, inertia, at, radius in wheels:
        b.body(name, 2.0 * inertia / radius**2, inertia=(inertia, inertia, inertia))
        b.joint(f"{name} shaft", Revolute((1, 0, 0)), "world", name, at=at)
        b.geometry(name, Cylinder(radius, 0.05), rpy=(0, np.pi / 2, 0))
    b.drive("motor", {"driving shaft": 1.0}, rotor_inertia=ROTOR, stall_torque=STALL, no_load_speed=NO_LOAD)
    return b.transmission("gearbox", "driving shaft", "driven shaft", RATIOS, selected).build()


def inertia_at_load(ratio: float) -> float:
    """Return the total inertia [kg m^2] of motor and load, reflected to the load, for a gear with the ratio `ratio`."""
    return ratio**2 * (ROTOR + SHAFT) + LOAD


def load_speed_after(ratio: float, start: float, time: float) -> float:
    """Return the load speed [rad/s] after `time` [s] at full voltage, for a torque that decreases linearly with motor
    speed.

    `start` [rad/s] is the initial speed of the load, and `ratio` the ratio of the gear.
    """
    fastest, constant = NO_LOAD / ratio, inertia_at_load(ratio) * NO_LOAD / (ratio**2 * STALL)
    return fastest + (start - fastest) * np.exp(-time / constant)


def speed_after_shift(speed: float) -> float:
    """Return the load speed [rad/s] after the gear shift, by conservation of momentum along the new constraint.

    `speed` [rad/s] is the load speed before the shift.
    """
    first, second = RATIOS
    return (second * (ROTOR + SHAFT) * first + LOAD) * speed / inertia_at_load(second)


def arguments(duration: float = 2 * SHIFT) -> dict[str, Any]:
    """Return keyword arguments for `lw.simulate`: acceleration at full voltage with a gear shift."""
    m = build()
    return {
        "mechanism": m,
        "duration": duration,
        "dt": 0.01,
        "method": "rk4",
        "schedule": [(SHIFT, "shift", "gearbox", 2)],
        "controller": drives(m, [1e3]),
    }


def claim() -> Claim:
    """Check load speeds and the energy lost in the gear shift against their closed forms.

    The speeds are those before and after the shift, and at the end. Return the measured error and its tolerance as a
    `Claim`.
    """
    run = simulate(**arguments())
    shifted = round(SHIFT / 0.01)
    before = load_speed_after(RATIOS[0], 0.0, SHIFT)
    after = speed_after_shift(before)
    expected = [load_speed_after(RATIOS[0], 0.0, SHIFT - 0.01), after, load_speed_after(RATIOS[1], after, SHIFT)]
    found = run.v[[shifted - 1, shifted, -1], 1]
    lost = 0.5 * inertia_at_load(RATIOS[0]) * before**2 - 0.5 * inertia_at_load(RATIOS[1]) * after**2
    reported = float(run["work"][shifted] - run["work"][shifted - 1])
    gained = 0.5 * inertia_at_load(RATIOS[0]) * (before**2 - expected[0] ** 2)
    errors = [*np.abs(found / expected - 1.0), abs((reported - gained) / lost + 1.0)]
    return Claim(
        "relative error of speeds before the shift, velocity jump and energy loss against closed forms",
        float(max(errors)),
        1e-10,
    )
