"""Construction of the K2T Walker's mechanism: two frames, eight legs, motors, clutches and feet.

The module `walker` is the example. The paper gives only ratios; masses [kg], lengths and positions [m], motors and
ground are linkwork's choice.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork.model import Builder, Free, Mechanism, Plane, Revolute
from linkwork.model.elements.uneven_ground import SurfaceShape
from linkwork.model.geometry import Box, Cylinder

LEGS = ("front left", "front right", "back left", "back right")
FRAMES = ("bottom", "top")  # frames, in the order of the paper's limbs
FEMUR_MASS, FEMUR_LENGTH, TIBIA_MASS, TIBIA_LENGTH, RADIUS = 0.6, 0.18, 0.4, 0.24, 0.015
BELOW = 0.1  # vertical distance [m] between the centres of mass of the frames
START = 0.5 * BELOW + TIBIA_LENGTH  # height [m] of the top frame with all feet on the ground


class BodyFrame(NamedTuple):
    """Data of one of the walker's two body frames: mass [kg], size of its box [m], and positions of its hips [m].

    The hip positions are the distances forward and sideways, and the height, from the centre of the box.
    """

    mass: float
    size: tuple[float, float, float]
    hips: tuple[float, float, float]
    color: tuple[float, float, float, float]  # red, green, blue, opacity


NUMBERS = {
    "top": BodyFrame(8.0, (0.60, 0.32, 0.08), (0.28, 0.18, -0.05), (0.12, 0.37, 0.66, 1.0)),
    "bottom": BodyFrame(7.0, (0.36, 0.48, 0.08), (0.16, 0.26, 0.05), (0.76, 0.34, 0.10, 1.0)),
}  # the hips of both frames have the same height
# contact of a foot with the ground [N/m], [N s/m], coefficient of friction
STIFFNESS, DAMPING, FRICTION = 2e4, 400.0, 0.8
TANGENTIAL_DAMPING = 200.0  # [N s/m]


class Servo(NamedTuple):
    """Data of a position-controlled motor: stiffness [N m/rad], damping [N m s/rad], and largest torque [N m]."""

    stiffness: float
    damping: float
    torque: float

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of `Builder.drive` for this position-controlled motor."""
        bias, limits = (0.0, -self.stiffness, -self.damping), (-self.torque, self.torque)
        return {"gain": self.stiffness, "bias": bias, "force_limits": limits}


YAW, FEMUR, TIBIA = Servo(2000.0, 40.0, 100.0), Servo(3000.0, 25.0, 200.0), Servo(1500.0, 15.0, 150.0)
# signs of the motor angles, so that positive angles lower all femurs (equation (49))
FEMURS = dict(zip(LEGS, (1.0, 1.0, -1.0, -1.0), strict=True))


def hip(frame: str, leg: str) -> str:
    """Return the name of the joint between the body frame `frame` of the walker and the femur of `leg`."""
    return f"{frame} {leg} hip"


def knee(frame: str, leg: str) -> str:
    """Return the name of the joint between femur and tibia of the `leg` at the body frame `frame` of the walker."""
    return f"{frame} {leg} knee"


def turn(frame: str, leg: str) -> dict[str, float]:
    """Return the ratio of each joint, by name, in the angle between a tibia and the body frame: 1 for hip and knee.

    A cable drives this angle (Nelson and Quinn's equation (29)).
    """
    return {hip(frame, leg): 1.0, knee(frame, leg): 1.0}


def build(ground: SurfaceShape | None = None, at: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Mechanism:
    """Build the walker on flat ground, or on another `ground` that is placed `at` [m]; x is forward, y left, z up.

    In the neutral position all frames are parallel; femurs point forward on front legs and backward on back legs,
    tibiae down. The motors are on the frames and move the front left legs: the femur motor the hip, the tibia motor the
    angle of the tibia relative to the frame, by a cable. Clutches couple the other three legs; all are released at
    first. The control of a motor is its desired angle [rad].
    """
    b = Builder("walker").surface("ground", Plane() if ground is None else ground, at=at)
    for name in ("top", "bottom"):
        x, y, z = NUMBERS[name].size
        mass = NUMBERS[name].mass
        inertia = mass / 12.0 * np.array([y * y + z * z, x * x + z * z, x * x + y * y])
        b.body(name, mass, inertia=inertia).geometry(name, Box((x, y, z)), color=NUMBERS[name].color)
    b.joint("float", Free(), "world", "top")
    b.joint("yaw", Revolute((0, 0, 1)), "top", "bottom", at=(0, 0, -BELOW))
    for frame in FRAMES:
        for leg in LEGS:
            _leg(b, frame, leg)
    b.drive("yaw", {"yaw": 1.0}, **YAW.options)
    first, *others = LEGS
    for frame in FRAMES:
        b.drive(f"{frame} femurs", {hip(frame, first): 1.0}, **FEMUR.options)
        b.drive(f"{frame} tibiae", turn(frame, first), **TIBIA.options)
        for leg in others:
            b.clutch(f"{frame} {leg} femur clutch", hip(frame, first), hip(frame, leg), FEMURS[leg] * FEMURS[first])
        for leg in others:
            b.clutch(f"{frame} {leg} tibia clutch", turn(frame, first), turn(frame, leg))
    b.brake("yaw brake", "yaw")
    return b.keyframe("start", {"float": (0.0, 0.0, START, 1.0, 0.0, 0.0, 0.0)}).build()


def _leg(b: Builder, frame: str, leg: str) -> None:
    """Add a leg to the walker: femur and tibia, which are solid cylinders.

    `frame` is the body of the walker that carries the leg, "bottom" or "top"; `leg` is a position such as "front left".
    """
    forward = 1.0 if leg.startswith("front") else -1.0
    side = 1.0 if leg.endswith("left") else -1.0
    (x, y, z), color = NUMBERS[frame].hips, NUMBERS[frame].color
    femur, tibia = f"{frame} {leg} femur", f"{frame} {leg} tibia"
    along, across = _cylinder(FEMUR_MASS, FEMUR_LENGTH)
    b.body(femur, FEMUR_MASS, com=(0.5 * forward * FEMUR_LENGTH, 0, 0), inertia=(along, across, across))
    along, across = _cylinder(TIBIA_MASS, TIBIA_LENGTH)
    b.body(tibia, TIBIA_MASS, com=(0, 0, -0.5 * TIBIA_LENGTH), inertia=(across, across, along))
    b.joint(hip(frame, leg), Revolute((0, 1, 0)), frame, femur, at=(forward * x, side * y, z))
    b.joint(knee(frame, leg), Revolute((0, 1, 0)), femur, tibia, at=(forward * FEMUR_LENGTH, 0, 0))
    middle, level = 0.5 * forward * FEMUR_LENGTH, (0.0, 0.5 * np.pi, 0.0)
    b.geometry(femur, Cylinder(RADIUS, FEMUR_LENGTH), (middle, 0, 0), level, color=color)
    b.geometry(tibia, Cylinder(RADIUS, TIBIA_LENGTH), (0, 0, -0.5 * TIBIA_LENGTH), color=color)
    b.frame(f"{frame} {leg} foot", tibia, at=(0, 0, -TIBIA_LENGTH))
    b.touch(f"{frame} {leg} sole", tibia, at=(0, 0, -TIBIA_LENGTH), stiffness=STIFFNESS, damping=DAMPING,
            tangential_damping=TANGENTIAL_DAMPING, friction=FRICTION)  # fmt: skip


def _cylinder(mass: float, length: float) -> tuple[float, float]:
    """Return the axial and transverse moments of inertia [kg m^2] of a solid cylinder.

    The cylinder has this `mass` [kg] and `length` [m].
    """
    return mass * RADIUS**2 / 2.0, mass * (3.0 * RADIUS**2 + length**2) / 12.0
