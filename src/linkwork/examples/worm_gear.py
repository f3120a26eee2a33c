"""A worm gear: friction in its thread determines its efficiency, and whether the wheel can drive the worm."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.algorithms.joint_friction.friction_dynamics import forward_dynamics
from linkwork.examples.catalogue import Claim
from linkwork.model import Builder, Cylinder, Mechanism, Rack, Revolute, Screw, Thread
from linkwork.spatial.scalar import Array, Number

RADIUS, WHEEL_RADIUS = 0.01, 0.05  # radii of the pitch cylinders of worm and wheel [m]
FRICTION, FRICTION_ANGLE = 0.08, np.arctan(0.08)
# lead angles [rad] above and below the friction angle; with the smaller one, the gear is self-locking
STEEP, FLAT = 0.3, 0.06
WORM, WHEEL = 1e-3, 0.05  # moments of inertia of worm and wheel about their axes [kg m^2]
SPEED = 20.0  # speed of the worm in the keyframe "start" [rad/s]


def build(lead: float = STEEP) -> Mechanism:
    """Build a worm along z with the lead angle `lead` [rad], and a wheel whose axis along y is beside the worm.

    The worm is a screw in a nut that does not rotate: the joint between nut and worm mimics the rotation of the worm,
    with the opposite sign. The nut is a rack, on which the wheel rolls. The nut is small and light. In the keyframe
    "start" the worm rotates at 20 rad/s.
    """
    b = Builder("worm_gear", gravity=(0, 0, 0))
    b.body("worm", 0.5, inertia=(WORM, WORM, WORM)).joint("worm", Revolute((0, 0, 1)), "world", "worm")
    b.body("nut", 1e-3, inertia=(1e-7, 1e-7, 1e-7))
    pitch = RADIUS * np.tan(lead)
    b.joint("thread", Screw(pitch=pitch), "worm", "nut", friction=Thread(FRICTION, RADIUS))
    b.mimic("thread", "worm", -1.0)
    b.body("wheel", 1.0, inertia=(0.5 * WHEEL, WHEEL, 0.5 * WHEEL))
    b.joint("wheel", Revolute((0, 1, 0)), "world", "wheel", at=(RADIUS + WHEEL_RADIUS, 0, 0))
    b.close("mesh", Rack(WHEEL_RADIUS, (0, 1, 0), (0, 0, 1)), "wheel", "nut", to=(RADIUS, 0, 0))
    b.geometry("worm", Cylinder(RADIUS, 0.1))
    b.geometry("wheel", Cylinder(WHEEL_RADIUS, 0.02), rpy=(np.pi / 2, 0, 0))
    b.drive("motor", {"worm": 1.0})
    speeds = {"worm": SPEED, "wheel": SPEED * ratio(lead)}
    return b.keyframe("start", {"worm": 0.0, "wheel": 0.0}, speeds).build()


def efficiency(lead: float = STEEP, driven_by: str = "worm") -> float:
    """Return the efficiency of the gear in steady motion, driven by the "worm" or by the "wheel".

    With the friction angle phi, the efficiency is tan(lead) / tan(lead + phi) if the worm drives, and tan(lead - phi) /
    tan(lead) if the wheel drives. It is at most zero if the gear is self-locking.
    """
    if driven_by == "worm":
        return np.tan(lead) / np.tan(lead + FRICTION_ANGLE)
    return np.tan(lead - FRICTION_ANGLE) / np.tan(lead)


def ratio(lead: float = STEEP) -> float:
    """Return the speed of the wheel divided by the speed of the worm."""
    return -RADIUS * np.tan(lead) / WHEEL_RADIUS


def driven(t: Number, q: Array, v: Array) -> Array:
    """Return the torques (2,) [N m] on worm and wheel: 0.2 N m on the worm, and a load of 1 N m on the wheel."""
    return np.array([0.2, 1.0])


def arguments(duration: float = 0.5) -> dict[str, Any]:
    """Return keyword arguments for `lw.simulate`: the worm drives the wheel against a load from rest."""
    return {
        "mechanism": build(),
        "v0": np.zeros(2),
        "duration": duration,
        "dt": 1e-4,
        "method": "rk4",
        "controller": driven,
    }


def acceleration_from_rest() -> float:
    """Return the acceleration [rad/s^2] of the worm in the run of `arguments`, without the mass of the nut.

    On the worm, the load of the wheel acts multiplied by the ratio and divided by the efficiency, its inertia
    multiplied by the squared ratio and divided by the efficiency.
    """
    back = ratio() / efficiency()
    return (0.2 + 1.0 * back) / (WORM + WHEEL * ratio() * back)


def claim() -> Claim:
    """Check the equilibrium of torques for both directions of power, and that the gear with the small lead is
    self-locking.

    Return the measured error and its tolerance as a `Claim`.
    """
    m, q, errors = build(), np.zeros(2), []
    speeds, torque = np.array([10.0, 10.0 * ratio()]), 0.5
    by_worm = np.array([torque, -torque * efficiency() / ratio()])
    by_wheel = np.array([-torque, torque / (efficiency(driven_by="wheel") * ratio())])
    for balanced in (by_worm, by_wheel):
        a = forward_dynamics(m, q, speeds, balanced)
        errors.append(abs(a[0]) * (WORM + WHEEL * ratio() ** 2) / torque)
    held = forward_dynamics(build(FLAT), q, np.zeros(2), np.array([0.0, 20.0]))
    return Claim(
        "torques in steady motion have the textbook efficiencies, and the flat thread locks itself (relative error)",
        float(max(*errors, np.abs(held).max())),
        1e-10,
    )
