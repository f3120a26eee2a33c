"""The K2T Walker: two stacked frames that yaw, eight legs, 17 revolute joints, five motors (Nelson and Quinn, 5).

The paper has no numbers but ratios. Masses [kg], lengths and places [m], motors and ground are chosen and published
here; `walker_gaits` makes it walk.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.formulations.limb_dynamics import accelerations
from linkwork.algorithms.formulations.limb_systems import LimbSystem, limb_system
from linkwork.algorithms.forward import forward_dynamics
from linkwork.algorithms.inverse import inverse_dynamics
from linkwork.algorithms.mass import mass_matrix
from linkwork.examples.catalogue import Claim
from linkwork.model import Builder, Free, Mechanism, Plane, Revolute
from linkwork.model.elements.ground import SurfaceShape
from linkwork.model.geometry import Box, Cylinder
from linkwork.spatial.scalar import Array

LEGS = ("front left", "front right", "back left", "back right")
FRAMES = ("bottom", "top")  # in the paper's order of limbs
FEMUR_MASS, FEMUR_LENGTH, TIBIA_MASS, TIBIA_LENGTH, RADIUS = 0.6, 0.18, 0.4, 0.24, 0.015
BELOW = 0.1  # from the top frame's centre of mass down to the bottom one's
START = 0.5 * BELOW + TIBIA_LENGTH  # height of the top frame with all feet on the ground


class BodyFrame(NamedTuple):
    """A frame of the walker: mass [kg], its box and the places of its hips, forward, sideways and up [m]."""

    mass: float
    size: tuple[float, float, float]
    hips: tuple[float, float, float]
    color: tuple[float, float, float, float]  # red, green, blue, opacity


NUMBERS = {
    "top": BodyFrame(8.0, (0.60, 0.32, 0.08), (0.28, 0.18, -0.05), (0.12, 0.37, 0.66, 1.0)),
    "bottom": BodyFrame(7.0, (0.36, 0.48, 0.08), (0.16, 0.26, 0.05), (0.76, 0.34, 0.10, 1.0)),
}  # hips of both frames are at one height
STIFFNESS, DAMPING, FRICTION = 2e4, 400.0, 0.8  # of a foot on the ground [N/m], [N s/m]
TANGENTIAL_DAMPING = 200.0  # [N s/m]


class Servo(NamedTuple):
    """A motor that holds a position: stiffness [N m/rad], damping [N m s/rad], and the torque that it has [N m]."""

    stiffness: float
    damping: float
    torque: float

    @property
    def options(self) -> dict[str, Any]:
        """What a drive is told."""
        bias, limits = (0.0, -self.stiffness, -self.damping), (-self.torque, self.torque)
        return {"gain": self.stiffness, "bias": bias, "force_limits": limits}


YAW, FEMUR, TIBIA = Servo(2000.0, 40.0, 100.0), Servo(3000.0, 25.0, 200.0), Servo(1500.0, 15.0, 150.0)
FEMURS = dict(zip(LEGS, (1.0, 1.0, -1.0, -1.0), strict=True))  # a motor that turns positively lowers all (49)


def hip(frame: str, leg: str) -> str:
    """The name of the joint between a frame and a femur."""
    return f"{frame} {leg} hip"


def knee(frame: str, leg: str) -> str:
    """The name of the joint between a femur and its tibia."""
    return f"{frame} {leg} knee"


def turn(frame: str, leg: str) -> dict[str, float]:
    """The turn of a tibia against its frame, as cables feel it: that of hip plus knee (29)."""
    return {hip(frame, leg): 1.0, knee(frame, leg): 1.0}


def build(ground: SurfaceShape | None = None, at: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Mechanism:
    """The walker on flat ground, or another that is placed `at` [m]: x is forward, y to the left, z up.

    In the neutral position all frames are parallel, femurs point forward on front legs and backward on back legs, and
    tibiae down. Motors sit on the frames and move the front left legs, that of the femurs the hip, that of the tibiae
    by cables the turn of the tibia against the frame. Clutches, all released, carry this to the other three legs. A
    motor's control is the angle [rad] that it shall hold.
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
    """A femur and a tibia, full cylinders, on a frame."""
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
    """Moments of inertia of a full cylinder [kg m^2] along and across."""
    return mass * RADIUS**2 / 2.0, mass * (3.0 * RADIUS**2 + length**2) / 12.0


def motors() -> dict[str, dict[str, float]]:
    """What each motor but that of yaw moves, with ratios: hips, and turns of tibiae measured from the frame."""
    found: dict[str, dict[str, float]] = {}
    for frame in FRAMES:
        found[f"{frame} femurs"] = {hip(frame, leg): sign for leg, sign in FEMURS.items()}
        found[f"{frame} tibiae"] = {knee(frame, leg): 1.0 for leg in LEGS}
    return found


def limbs(mechanism: Mechanism) -> LimbSystem:
    """The walker's eight limbs with all clutches engaged: eleven coordinates, six of the base and five of motors."""
    from_frame = {knee(frame, leg): frame for frame in FRAMES for leg in LEGS}
    return limb_system(mechanism, motors(), measured_from=from_frame)


# --- the paper's matrices ---


def matrices(system: LimbSystem) -> dict[str, Array]:
    """D of a limb on the bottom and on the top frame, D1, D2, D3, by their names in the paper (42) to (49).

    Turns of the base are its angular velocities, as by Euler angles in the neutral position.
    """
    bottom, top = (system.D0[number][3:, 3:] for number in (0, -1))
    return {"D bottom": bottom, "D top": top, "D1": system.D1, "D2": system.D2, "D3": system.D3}


def printed() -> dict[str, Array]:
    """The same as the paper prints them, block by block."""
    base, y, z = (0, np.eye(6)), np.array([[0.0], [1.0], [0.0]]), np.array([[0.0], [0.0], [1.0]])  # (43)
    D_A = [block for k in range(4) for block in (base, (6 + 3 * k, np.eye(3)))]  # (45)
    D_B = [block for k in range(4) for block in (base, (18 + 2 * k, np.eye(2)))]  # (46)
    shared = [block for k in range(4) for block in ((6, np.eye(1)), (7 + 2 * k, np.eye(2)))]
    D_F, D_T = (1.0, 0.0, 1.0, 0.0, -1.0, 0.0, -1.0, 0.0), (0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0)  # (49)
    legs = np.array([D_F, D_T])
    return {
        "D bottom": _columns(12, (0, np.eye(3)), (3, z), (6, y), (9, y)),  # (42)
        "D top": _columns(9, (0, np.eye(3)), (3, y), (6, y)),
        "D1": _columns(26, *D_A, *D_B).T,  # (44)
        "D2": _columns(23, base, *shared, (15, np.eye(8))).T,  # (47)
        "D3": _columns(11, base, (6, np.eye(1)), (7, legs), (9, legs)).T,  # (48)
    }


def _columns(rows: int, *blocks: tuple[int, Array]) -> Array:
    """Blocks side by side, each from a row on, with zeros above and below."""
    return np.hstack([np.pad(block, ((above, rows - above - len(block)), (0, 0))) for above, block in blocks])


def differences(mechanism: Mechanism, states: int) -> tuple[float, float]:
    """How far limbs differ from articulated bodies, relative, the largest of random states: whole, and with motors.

    With motors the second opinion is the mass matrix by composite bodies, projected on what the motors can move.
    """
    rng, system, free = np.random.default_rng(0), limbs(mechanism), limb_system(mechanism)
    P, whole, coupled = system.spread, 0.0, 0.0
    for _ in range(states):
        q, rate, tau = mechanism.random(rng), rng.normal(size=P.shape[1]), rng.normal(size=mechanism.nv)
        v = rng.normal(size=mechanism.nv)
        found, expected = accelerations(mechanism, free, q, v, tau), forward_dynamics(mechanism, q, v, tau)
        whole = max(whole, np.abs(found - expected).max() / np.abs(expected).max())
        h = inverse_dynamics(mechanism, q, P @ rate, np.zeros(mechanism.nv)).tau
        expected = np.linalg.solve(P.T @ mass_matrix(mechanism, q) @ P, P.T @ (tau - h))
        found = accelerations(mechanism, system, q, rate, tau)
        coupled = max(coupled, np.abs(found - expected).max() / np.abs(expected).max())
    return float(whole), float(coupled)


def request(duration: float = 10.0) -> dict[str, Any]:
    """What `lw.simulate(**request())` is told for a walk straight on of so long [s]."""
    from linkwork.examples.walker_gaits import straight  # which needs this file

    return straight(duration).request


def claim() -> Claim:
    """Matrices are the paper's, and limbs move as articulated bodies do, with motors and without."""
    m = build()
    found, expected = matrices(limbs(m)), printed()
    wrong = max(float(np.abs(found[name] - expected[name]).max()) for name in expected)
    return Claim(
        "the matrices are the paper's, and limbs accelerate as articulated bodies, relative",
        max(wrong, *differences(m, states=5)),
        1e-11,
    )
