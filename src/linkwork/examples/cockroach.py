"""Cockroach (Blaberus discoidalis) in a tripod gait: six legs of five joints, 36 degrees of freedom (Nelson and Quinn).

The paper (section 1) gives no dimensions. The values of this example are close to those of the insect: 3 g, 45 mm,
eight gait cycles per second.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.formulations.limb_dynamics import accelerations
from linkwork.algorithms.formulations.limb_systems import limb_system
from linkwork.algorithms.forward_dynamics import forward_dynamics
from linkwork.algorithms.kinematics import joint_poses, world_poses
from linkwork.examples.catalogue import Claim
from linkwork.examples.walker_gaits import smooth, swing
from linkwork.model import Builder, Free, Mechanism, Plane, Revolute
from linkwork.model.geometry import Capsule, Cylinder
from linkwork.spatial.scalar import Array, Number

MM, GRAM = 1e-3, 1e-3
MASS, SIZE = 2.4 * GRAM, np.array([45.0, 18.0, 8.0]) * MM  # mass of the body, and axes of its ellipsoid [m]
HEIGHT = 8.0 * MM  # height of the hips above the ground [m]
JOINTS = {  # axes of a leg, from the body outward; at zero angles the leg points straight away from the body
    "yaw": (0, 0, 1),
    "elevation": (0, -1, 0),
    "rotation": (1, 0, 0),
    "femur": (0, -1, 0),
    "tibia": (0, -1, 0),
}
MASSES = dict(zip(JOINTS, np.array([0.005, 0.005, 0.04, 0.03, 0.02]) * GRAM, strict=True))
RADIUS = 0.5 * MM  # radius of all leg segments [m]
BROWN = (0.45, 0.30, 0.18, 1.0)
TRIPODS = {0.0: (0.12, 0.37, 0.66, 1.0), 0.5: (0.76, 0.34, 0.10, 1.0)}  # colours of the legs, by the phase of the gait
# stiffness of the muscles at each joint [N m/rad]
STIFFNESS = dict(zip(JOINTS, (5e-3, 5e-3, 2e-3, 5e-3, 2e-3), strict=True))
DAMPING = dict(zip(JOINTS, (6e-6, 6e-6, 1e-6, 4e-6, 1e-6), strict=True))  # damping at each joint [N m s/rad]
GROUND: dict[str, Any] = {"stiffness": 150.0, "damping": 0.15, "friction": 1.0}  # contact of a foot [N/m], [N s/m]
PERIOD, STRIDE, LIFT = 0.12, 12.0 * MM, 3.0 * MM  # period of the gait [s]; backward stroke and lift of a foot [m]
RAMP = 0.12  # time after the start in which strides grow [s]
STEP, ROW = 2.5e-5, 2e-3  # integration step, and interval between samples [s]


class Leg(NamedTuple):
    """Dimensions of a leg: hip (3,) and neutral foot position (3,) in the body's frame [m], and link lengths [m].

    The links are coxa, femur and tibia. `phase` is the phase of the leg in the gait cycle, as a fraction of the period:
    0 or 0.5.
    """

    hip: Array
    foot: Array
    lengths: tuple[float, float, float]
    phase: float

    @property
    def azimuth(self) -> float:
        """Azimuth [rad] of the leg at zero yaw angle: the leg then points to its neutral foot position."""
        x, y, _ = self.foot - self.hip
        return float(np.arctan2(y, x))


def _legs() -> dict[str, Leg]:
    """Return the six legs by name, front to back.

    A front leg swings together with the middle leg of the other side and the back leg of its own side.
    """
    pairs = {  # (hip ahead [mm], azimuth [degrees], reach [mm], lengths [mm])
        "front": (14.0, 55.0, 14.0, (6.0, 8.0, 9.0)),
        "middle": (4.0, 95.0, 17.0, (7.5, 10.0, 12.0)),
        "back": (-6.0, 140.0, 22.0, (9.0, 12.0, 16.0)),
    }
    found = {}
    for number, (place, (ahead, azimuth, reach, lengths)) in enumerate(pairs.items()):
        for side, sign in (("left", 1.0), ("right", -1.0)):
            hip, turn = np.array([ahead, sign * 4.0, 0.0]) * MM, np.radians(azimuth)
            away = np.array([reach * MM * np.cos(turn), sign * reach * MM * np.sin(turn), -HEIGHT])
            coxa, femur, tibia = (length * MM for length in lengths)
            found[f"{place} {side}"] = Leg(hip, hip + away, (coxa, femur, tibia), 0.5 * ((number + (sign > 0.0)) % 2))
    return found


LEGS = _legs()


def build() -> Mechanism:
    """Build the insect on flat ground, with all six feet in contact; x is forward, y left, z up."""
    b = Builder("cockroach").surface("ground", Plane())
    squares = (0.5 * SIZE) ** 2
    b.body("body", MASS, inertia=MASS / 5.0 * (squares.sum() - squares))
    length, _, height = SIZE  # drawn as a capsule, which does not show the width of the ellipsoid
    b.geometry("body", Capsule(0.5 * height, length - height), rpy=(0.0, 0.5 * np.pi, 0.0), color=BROWN)
    b.joint("float", Free(), "world", "body")
    for name, leg in LEGS.items():
        _leg(b, name, leg)
    start = {f"{name} {joint}": angle for name, leg in LEGS.items() for joint, angle in neutral_angles(leg).items()}
    return b.keyframe("start", {"float": (0.0, 0.0, HEIGHT, 1.0, 0.0, 0.0, 0.0), **start}).build()


def _leg(b: Builder, name: str, leg: Leg) -> None:
    """Add a leg to the Builder: two small bodies at the hip, then coxa, femur and tibia as solid cylinders."""
    parent, at, rpy = "body", leg.hip, (0.0, 0.0, leg.azimuth)
    lengths = dict(zip(JOINTS, (0.0, 0.0, *leg.lengths), strict=True))
    for joint, axis in JOINTS.items():
        mass, length = MASSES[joint], lengths[joint]
        along, across = mass * RADIUS**2 / 2.0, mass * (3.0 * RADIUS**2 + length**2) / 12.0
        b.body(f"{name} {joint}", mass, com=(0.5 * length, 0, 0), inertia=(along, across, across))
        b.joint(f"{name} {joint}", Revolute(axis), parent, f"{name} {joint}", at=at, rpy=rpy)
        if length:
            place, level = (0.5 * length, 0.0, 0.0), (0.0, 0.5 * np.pi, 0.0)
            b.geometry(f"{name} {joint}", Cylinder(RADIUS, length), place, level, color=TRIPODS[leg.phase])
        parent, at, rpy = f"{name} {joint}", (length, 0.0, 0.0), (0.0, 0.0, 0.0)
    b.frame(f"{name} foot", parent, at=at).touch(f"{name} claw", parent, at=at, **GROUND)


def leg_angles(leg: Leg, foot: Array) -> dict[str, Number]:
    """Return the joint angles [rad] of a leg by name for a foot position (3,) [m] in the body's frame, with the knee
    up.
    """
    (x, y, z), (coxa, femur, tibia) = foot - leg.hip, leg.lengths
    away, turn = np.sqrt(x * x + y * y) - coxa, np.arctan2(y, x) - leg.azimuth
    square = away * away + z * z
    inner = np.arccos((femur**2 + square - tibia**2) / (2.0 * femur * np.sqrt(square)))
    knee = np.arccos((femur**2 + tibia**2 - square) / (2.0 * femur * tibia))
    turn = np.arctan2(np.sin(turn), np.cos(turn))
    return dict(zip(JOINTS, (turn, 0.0, 0.0, np.arctan2(z, away) + inner, knee - np.pi), strict=True))


def neutral_angles(leg: Leg) -> dict[str, Number]:
    """Return the joint angles [rad] of a leg by name at its neutral foot position."""
    return leg_angles(leg, leg.foot)


def controller(m: Mechanism) -> Callable[..., Array]:
    """Return the walking controller, a function of (t, q, v): PD control of joints for straight strokes of the feet."""
    joints = [(m.joints[f"{name} {joint}"], STIFFNESS[joint], DAMPING[joint]) for name in LEGS for joint in JOINTS]

    def walk(t: Number, q: Array, v: Array) -> Array:
        begun, tau = smooth(t / RAMP), [0.0] * m.nv
        wanted: list[Number] = []
        for leg in LEGS.values():
            now = swing(t / PERIOD + leg.phase)
            offset = np.array([now.back * -STRIDE * begun, 0.0, now.lifted * LIFT * begun])
            wanted += leg_angles(leg, leg.foot + offset).values()
        for (joint, stiffness, damping), angle in zip(joints, wanted, strict=True):
            tau[joint.v.start] = (angle - q[joint.q.start]) * stiffness - v[joint.v.start] * damping
        return np.array(tau)

    return walk


def arguments(duration: float = 2.0) -> dict[str, Any]:
    """Return keyword arguments for `lw.simulate`: a walk of `duration` [s]."""
    m = build()
    return {
        "mechanism": m,
        "duration": duration,
        "dt": STEP,
        "method": "semi-implicit",
        "controller": controller(m),
        "every": round(ROW / STEP),
    }


def claim() -> Claim:
    """Check that all six feet start on the ground, and compare two formulations of the dynamics.

    Accelerations computed in limb coordinates must equal those of the articulated-body algorithm. Return the measured
    error and its tolerance as a `Claim`.
    """
    m, rng = build(), np.random.default_rng(0)
    poses = world_poses(m, joint_poses(m, m.keyframes["start"].q))
    frames = [m.frames[f"{name} foot"] for name in LEGS]
    feet = [(poses[frame.body] @ frame.pose).p - [0.0, 0.0, HEIGHT] for frame in frames]
    wrong = max(float(np.abs(foot - leg.foot).max()) for foot, leg in zip(feet, LEGS.values(), strict=True))
    system = limb_system(m)
    for _ in range(3):
        q, v, tau = m.random(rng), rng.normal(size=m.nv), rng.normal(size=m.nv) * 1e-4
        expected = forward_dynamics(m, q, v, tau)
        found = accelerations(m, system, q, v, tau)
        wrong = max(wrong, float(np.abs(found - expected).max() / np.abs(expected).max()))
    return Claim(
        "position error [m] of six feet on the ground, and relative error of 36 accelerations in limb coordinates",
        wrong,
        1e-10,
    )
