"""A two-wheeled cart that a motor drives through a differential: straight ahead, then along a curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.control.feedback import drives
from linkwork.examples.catalogue import Claim
from linkwork.model import Builder, Free, Mechanism, Revolute
from linkwork.model.geometry import Box, Cylinder
from linkwork.simulation import Run, simulate

# mass of the cart [kg], distance of its centre of mass ahead of the axle [m], yaw inertia [kg m^2]
MASS, AHEAD, YAW_INERTIA = 30.0, 0.25, 2.5
WHEEL, ROLL, TURN = 2.0, 0.02, 0.012  # mass of a wheel [kg], inertia about its axle and about a diameter [kg m^2]
SHAFT = 0.004  # inertia of the drive shaft [kg m^2]
# radius of a wheel [m], distance between wheels [m], and mean wheel speed per shaft speed
RADIUS, TRACK, RATIO = 0.15, 0.6, 0.2
CURVE = 3.0  # radius of the curve [m]
TORQUE, STEERED, DURATION = 0.8, 1.0, 4.0  # torque of the motor [N m]; time of the start of the curve, and end time [s]


def build() -> Mechanism:
    """Build the cart. Its frame is in the middle of the axle, with x ahead; its wheels roll without slip.

    The couplings "straight" (engaged) and "curve" (to the left, released) act like steered front wheels.
    """
    b = Builder("differential_cart")
    b.body("cart", MASS, com=(AHEAD, 0, 0), inertia=(1.0, 2.0, YAW_INERTIA)).joint("cart", Free(), "world", "cart")
    b.frame("nose", body="cart", at=(0.7, 0, 0)).geometry("cart", Box((0.9, 0.4, 0.1)), at=(AHEAD, 0, 0.02))
    b.body("shaft", 0.0, inertia=(0, 0, 0)).joint("shaft", Revolute((1, 0, 0)), "cart", "shaft", armature=SHAFT)
    for side, y in (("left", TRACK / 2), ("right", -TRACK / 2)):
        b.body(f"{side} wheel", WHEEL, inertia=(TURN, ROLL, TURN))
        b.joint(side, Revolute((0, 1, 0)), "cart", f"{side} wheel", at=(0, y, 0))
        b.geometry(f"{side} wheel", Cylinder(RADIUS, 0.05), rpy=(np.pi / 2, 0, 0))
        b.couple(f"{side} tyre", {"cart": (1, 0, 0, 0, 0, -y), side: -RADIUS})
    for name, velocity in (("side", 1), ("height", 2), ("roll", 3), ("pitch", 4)):
        b.couple(name, {"cart": np.eye(6)[velocity]})
    b.couple("straight", {"cart": (0, 0, 0, 0, 0, 1)})
    b.couple("curve", {"cart": (-1 / CURVE, 0, 0, 0, 0, 1)}, engaged=False)
    b.differential("differential", "shaft", "left", "right", RATIO).drive("motor", {"shaft": 1.0})
    return b.keyframe("start", {"cart": (0, 0, RADIUS, 1, 0, 0, 0)}).build()


def effective_mass(curvature: float) -> float:
    """Return the effective mass [kg] of the cart for motion along a path with the given curvature [1/m].

    The effective mass includes the rotating parts.
    """
    ahead = MASS + 2 * WHEEL + 2 * ROLL / RADIUS**2 + SHAFT / (RADIUS * RATIO) ** 2
    half = TRACK / 2
    turning = MASS * AHEAD**2 + YAW_INERTIA + 2 * (WHEEL * half**2 + TURN) + 2 * ROLL * (half / RADIUS) ** 2
    return ahead + curvature**2 * turning


def arguments(duration: float = DURATION) -> dict[str, Any]:
    """Return keyword arguments for `lw.simulate`: straight ahead, then along the curve, under a constant torque."""
    m = build()
    return {
        "mechanism": m,
        "duration": duration,
        "dt": 0.01,
        "method": "rk4",
        "schedule": [(STEERED, "release", "straight"), (STEERED, "engage", "curve")],
        "controller": drives(m, [TORQUE]),
    }


def run(duration: float = DURATION) -> Run:
    """Simulate the example for `duration` [s] and return the run."""
    return simulate(**arguments(duration))


def claim() -> Claim:
    """Check position, wheel speeds and torques at the end of the run against their closed forms.

    The run contains the velocity jump at the start of the curve. Return the measured error and its tolerance as a
    `Claim`.
    """
    cart, m = run(), build()
    push = TORQUE / (RADIUS * RATIO)  # force along the path [N]
    before, after = push / effective_mass(0.0), push / effective_mass(1 / CURVE)
    speed, distance = before * STEERED, before * STEERED**2 / 2
    # speed after the velocity jump: the momentum along the new path is conserved
    speed *= effective_mass(0.0) / effective_mass(1 / CURVE)
    time = DURATION - STEERED
    turned = (speed * time + after * time**2 / 2) / CURVE
    speed += after * time
    place = [distance + CURVE * np.sin(turned), CURVE * (1 - np.cos(turned)), RADIUS]
    wheels = speed / RADIUS * (1 + np.array([-1, 1]) * TRACK / (2 * CURVE))
    # torque on each wheel, minus that which accelerates the shaft
    torque = (TORQUE - SHAFT * after / (RADIUS * RATIO)) / (2 * RATIO)
    carried = cart["carried"][-1]
    # forward force of each tyre [N]
    tyres = [(torque - ROLL / RADIUS * after * (1 + s * TRACK / (2 * CURVE))) / RADIUS for s in (-1, 1)]
    errors = [
        np.abs(cart.q[-1, :3] / place - 1.0).max(),
        np.abs(cart.v[-1, [m.joints["left"].v.start, m.joints["right"].v.start]] / wheels - 1.0).max(),
        np.abs(carried[:3] / [torque, *tyres] - 1.0).max(),
    ]
    return Claim(
        "relative error of position, wheel speeds and wheel torques in a curve against closed forms",
        float(max(errors)),
        1e-10,
    )
