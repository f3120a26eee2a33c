"""Wendlandt's biped with 13 bodies and 18 degrees of freedom, of the size of a man (his chapter 4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.algorithms.contact_kinematics import contact_kinematics
from linkwork.algorithms.kinematics import frame_pose
from linkwork.control.controlled_plant import Controller
from linkwork.examples.catalogue import Claim
from linkwork.model import Box, Builder, Capsule, Free, Mechanism, Plane, Revolute, Sphere
from linkwork.simulation import sampled
from linkwork.spatial.rotation import quaternion_about_axis
from linkwork.spatial.scalar import Array

GRAVITY = 9.81
X, Y, Z = np.eye(3)
SIDES = {"left": -0.15, "right": 0.15}  # y coordinates of the legs [m]; the biped faces -x
TRUNK, HIP, KNEE, ANKLE = 1.23, 0.96, 0.50, 0.06  # heights of the trunk's centre and of joints in the home position [m]
FOOT = np.array((-0.05325, 0.0, 0.03473 - ANKLE))  # centre of mass of a foot, relative to its ankle [m]
TILT = np.radians(8.547)  # angle [rad] by which the principal axes of the feet are rotated about -y

# Values that the paper does not give. Its masses are those of water. The moments of inertia of the trunk are those of a
# box of water. The mass and the moments of inertia of a foot agree within 1 %, and its centre of mass within 0.4 mm,
# with those of a wedge of water: 10 cm wide, 8.3 cm high from the heel to 5.4 cm before the ankle, and then decreasing
# to zero height at the toe. The principal axes of the wedge are tilted by 9.3 degrees
# x, y of the corners of a sole from the ankle [m]; the first and the last are at the heel
SOLE = ((0.041, 0.05), (-0.216, 0.05), (-0.216, -0.05), (0.041, -0.05))
BACK = (0.256, 0.299, 0.597)  # size of the trunk's box [m]
STIFFNESS, DAMPING = 1e5, 1500.0  # [N/m], [N s/m] of the contact at each corner of a sole, normal and tangential
FRICTION = 0.3

# joints 2 to 7 (left) and 8 to 13 (right) of the paper
JOINTS = ("hip roll", "hip pitch", "hip yaw", "knee", "ankle roll", "ankle pitch")
START = (0.0, 0.0, 1.035, *quaternion_about_axis(-Y, np.radians(5.0)))
ANGLES = np.radians((0.0, 40.0, 0.0, -77.4595, 0.0, 42.4595))
FEET = ("left foot centre", "right foot centre")
KP = (50.0, 50.0, 200.0, 50.0, 50.0, 50.0)  # [1/s^2] gains of the pose error of the trunk
KD = (7.07, 7.07, 14.142, 7.07, 7.07, 7.07)  # [1/s] gains of the velocity error of the trunk
DURATION, STEP, RATE = 3.0, 5e-4, 500.0  # duration [s], step [s], controller calls per second
METHOD = "semi-implicit"
BALANCED = {"method": "midpoint", "dt": 1e-3}  # method and step for an energy balance within 1e-4


def build(name: str = "biped") -> Mechanism:
    """Build the biped. In the keyframe "start" its knees are bent and its soles are 4.6 mm above the floor.

    Both experiments of Wendlandt's chapter 4 begin in this keyframe. The frame of the trunk is at its centre of mass.
    The frames "left foot centre" and "right foot centre" are Wendlandt's frames of the feet, links 7 and 13. The order
    of the joints is that of Wendlandt's joints 2 to 7 and 8 to 13; the thesis does not say whether joint 2 or 4 is the
    roll joint.
    """
    return builder(name).keyframe("start", start()).build()


def simulation_arguments(m: Mechanism, controller: Controller, duration: float = DURATION) -> dict[str, Any]:
    """Return keyword arguments for `lw.simulate`: the biped `m` with `controller`, called RATE times per second.

    `duration` [s] is the simulated time.
    """
    return {"mechanism": m, "duration": duration, "dt": STEP, "method": METHOD, "controller": sampled(controller, RATE)}


def start() -> dict[str, Array]:
    """Return the joint coordinates of the biped at the start of both experiments, by joint name.

    Units are m, rad and unit quaternions.
    """
    legs = {f"{side} {name}": np.array([angle]) for side in SIDES for name, angle in zip(JOINTS, ANGLES, strict=True)}
    return {"float": np.array(START), **legs}


def builder(name: str) -> Builder:
    """Return a Builder with the biped's bodies, joints and contacts, but without its keyframe."""
    b = Builder(name, gravity=(0, 0, -GRAVITY))
    b.surface("floor", Plane())
    b.body("trunk", 45.0, inertia=(1.67, 1.58, 0.581)).joint("float", Free(), "world", "trunk")
    b.geometry("trunk", Box(BACK)).frame("neck", "trunk", at=(0, 0, 0.5 * BACK[2]))
    for side, y in SIDES.items():
        _leg(b, side, y)
    return b


def _leg(b: Builder, side: str, y: float) -> None:
    """Add the leg `side` ("left" or "right"), with foot and contacts, to the Builder; `y` [m] is its y coordinate."""
    small = {"mass": 0.343, "inertia": (0.00028,) * 3}
    links = (
        ("hip", small, X, (0, y, HIP - TRUNK)),
        ("pelvis", small, Y, (0, 0, 0)),
        ("thigh", {"mass": 7.5, "com": (0, 0, 0.73 - HIP), "inertia": (0.163, 0.171, 0.0198)}, Z, (0, 0, 0)),
        (
            "shank",
            {"mass": 4.79, "com": (0, 0, 0.28 - KNEE), "inertia": (0.0961, 0.0959, 0.00784)},
            Y,
            (0, 0, KNEE - HIP),
        ),
        ("ankle", small, X, (0, 0, ANKLE - KNEE)),
        ("foot", {"mass": 1.455, "com": FOOT, "inertia": _foot_inertia()}, Y, (0, 0, 0)),
    )
    parent = "trunk"
    for (link, numbers, axis, at), joint in zip(links, JOINTS, strict=True):
        body = f"{side} {link}"
        b.body(body, **numbers).joint(f"{side} {joint}", Revolute(axis), parent, body, at=at)
        parent = body
    b.frame(f"{side} foot centre", f"{side} foot", at=FOOT, rpy=(0, -TILT, 0))
    for end, (x, _) in (("heel", SOLE[0]), ("toe", SOLE[1])):
        b.frame(f"{side} {end}", f"{side} foot", at=(x, 0, -ANKLE))
    corners = np.array([(x, across, -ANKLE) for x, across in SOLE])
    b.touch(
        f"{side} sole",
        f"{side} foot",
        corners,
        stiffness=STIFFNESS,
        damping=DAMPING,
        friction=FRICTION,
        against="floor",
    )
    _shape(b, side)


def _foot_inertia() -> Array:
    """Return the inertia (3, 3) [kg m^2] of a foot about its centre of mass, in the foot's axes."""
    c, s = np.cos(TILT), np.sin(TILT)
    R = np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]])  # rotation about -y
    return R @ np.diag((0.00189, 0.00608, 0.00662)) @ R.T


def _shape(b: Builder, side: str) -> None:
    """Add the visual shapes of the leg `side` ("left" or "right") to the Builder."""
    b.geometry(f"{side} hip", Sphere(0.06))
    b.geometry(f"{side} thigh", Capsule(0.06, HIP - KNEE), at=(0, 0, 0.5 * (KNEE - HIP)))
    b.geometry(f"{side} shank", Capsule(0.045, KNEE - ANKLE), at=(0, 0, 0.5 * (ANKLE - KNEE)))
    heel, toe = SOLE[0][0], SOLE[1][0]
    b.geometry(f"{side} foot", Box((heel - toe, 0.1, 0.06)), at=(0.5 * (heel + toe), 0, 0.03 - ANKLE))


def claim() -> Claim:
    """Check that the biped starts with level soles at the height given by trigonometry, and has the printed mass.

    Return the measured error and its tolerance as a `Claim`.
    """
    m = build()
    lean, hip, knee = np.radians(-5.0), ANGLES[1], ANGLES[3]
    q = m.keyframes["start"].q
    thigh, shank = lean + hip, lean + hip + knee
    height = START[2] - (TRUNK - HIP) * np.cos(lean) - (HIP - KNEE) * np.cos(thigh) - (KNEE - ANKLE) * np.cos(shank)
    there, _ = contact_kinematics(m, q, np.zeros(m.nv))
    error = max(abs(at.distance - (height - ANKLE)) for at in there)
    error += abs(float(m.mass) - 74.548) + abs(frame_pose(m, q, "left foot").p[2] - height)
    return Claim(
        "the biped starts with level soles 4.6 mm above the floor, and has a mass of 74.548 kg", float(error), 1e-12
    )
