"""Mechanisms of the benchmarks: bundled robots and serial chains, for Pinocchio and for linkwork."""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

import linkwork as lw
from linkwork.spatial.scalar import Array

try:
    pin: Any = import_module("pinocchio")
except ModuleNotFoundError:
    raise SystemExit("the benchmarks need Pinocchio and example-robot-data: pip install '.[peers]'") from None


class Bundled(NamedTuple):
    """A robot of the package example-robot-data: its file, whether its base is free, and its locked joints."""

    urdf: str
    free: bool = False
    locked: tuple[str, ...] = ()


BUNDLED = {
    "arm6": Bundled("ur_description/urdf/ur5_robot.urdf"),
    "arm7": Bundled("panda_description/urdf/panda.urdf", locked=("panda_finger_joint1", "panda_finger_joint2")),
    "quadruped": Bundled("anymal_c_simple_description/urdf/anymal.urdf", free=True),
    "humanoid": Bundled("talos_data/robots/talos_reduced.urdf", free=True),
}
CHAIN = "chain"  # "chain64" is a serial chain of 64 joints

# One link of a chain: joints 0.1 m apart, centre of mass off the line of the joints, alternating axes.
LINK_AT, LINK_MASS, LINK_COM, LINK_INERTIA = (0.0, 0.0, 0.1), 0.5, (0.02, -0.01, 0.05), (0.002, 0.003, 0.0015)
LINK_AXES = np.eye(3)


class Robot(NamedTuple):
    """The same robot in two libraries: `model` of Pinocchio and mechanism `m` of linkwork."""

    name: str
    model: Any
    m: lw.Mechanism


class States(NamedTuple):
    """Random states of a mechanism in linkwork's order: q is (n, nq); v, a and tau are (n, nv)."""

    q: Array
    v: Array
    a: Array
    tau: Array


@lru_cache(maxsize=2)
def robot(name: str) -> Robot:
    """Return the robot called `name`: a key of `BUNDLED`, or "chain" and a number of joints."""
    if name.startswith(CHAIN):
        n = int(name.removeprefix(CHAIN))
        return Robot(name, chain_model(n), chain_mechanism(n))
    return bundled_robot(name, BUNDLED[name])


def bundled_robot(name: str, found: Bundled) -> Robot:
    """Return a robot of example-robot-data, read by both libraries from the same URDF text with locked joints fixed."""
    # The wheels of Pinocchio and of the robots are installed in the same folder.
    path = Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots" / found.urdf
    if not path.is_file():
        raise SystemExit(f"the robot {found.urdf} is not installed: pip install '.[peers]'")
    text = path.read_text(encoding="utf-8")
    for joint in found.locked:
        text, count = re.subn(rf'(<joint name="{joint}" type=)"\w+"', r'\1"fixed"', text)
        assert count == 1, f"{found.urdf} must define joint {joint} once; found {count}"
    model = pin.buildModelFromXML(text, *[pin.JointModelFreeFlyer()] * found.free)
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.ModelWarning)  # missing meshes and doubtful links do not matter here
        file = Path(folder) / path.name
        file.write_text(text, encoding="utf-8")
        return Robot(name, model, lw.load(file, floating=found.free, mimic=False))


def chain_model(n: int) -> Any:
    """Return the Pinocchio model of a serial chain of n revolute joints."""
    model, last = pin.Model(), 0
    model.name = f"{CHAIN}{n}"
    revolute = pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ
    inertia = pin.Inertia(LINK_MASS, np.array(LINK_COM), np.diag(LINK_INERTIA))
    for k in range(n):
        last = model.addJoint(last, revolute[k % 3](), pin.SE3(np.eye(3), np.array(LINK_AT)), f"j{k}")
        model.appendBodyToJoint(last, inertia, pin.SE3.Identity())
    return model


def chain_mjcf(n: int) -> str:
    """Return the serial chain of `chain_model` as MJCF, without contacts, constraints and geometry."""

    def row(numbers: Any) -> str:
        return " ".join(repr(float(x)) for x in numbers)

    inertial = f'<inertial pos="{row(LINK_COM)}" mass="{LINK_MASS!r}" diaginertia="{row(LINK_INERTIA)}"/>'
    links = [
        f'<body pos="{row(LINK_AT)}"><joint type="hinge" axis="{row(LINK_AXES[k % 3])}"/>{inertial}' for k in range(n)
    ]
    flags = '<option gravity="0 0 -9.81"><flag contact="disable" constraint="disable"/></option>'
    return f"<mujoco>{flags}<worldbody>{''.join(links)}{'</body>' * n}</worldbody></mujoco>"


def chain_mechanism(n: int) -> lw.Mechanism:
    """Return the serial chain of `chain_model` as a mechanism of linkwork."""
    b = lw.Builder(f"{CHAIN}{n}")
    bodies = ["world", *(f"body of j{k}" for k in range(n))]
    for k in range(n):
        b.body(bodies[k + 1], LINK_MASS, LINK_COM, LINK_INERTIA)
        b.joint(f"j{k}", lw.Revolute(LINK_AXES[k % 3]), bodies[k], bodies[k + 1], LINK_AT)
    return b.build()


def draw(m: lw.Mechanism, n: int, seed: int = 0) -> States:
    """Return n random states of a mechanism.

    Coordinates are from -pi to pi, v, a and tau are standard normal, and quaternions have unit norm.
    """
    rng = np.random.default_rng(seed)
    q = rng.uniform(-np.pi, np.pi, (n, m.nq))
    for joint in m.joints:
        if isinstance(joint.kind, lw.Free):
            quaternion = rng.normal(size=(n, 4))
            q[:, joint.q.start + 3 : joint.q.stop] = quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)
    return States(q, *rng.normal(size=(3, n, m.nv)))
