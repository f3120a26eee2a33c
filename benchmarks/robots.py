"""The machines that are raced: bundled robots and serial chains, each as Pinocchio's model and as our mechanism."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import linkwork as lw
from linkwork.model import JointKind
from linkwork.spatial.scalar import Array

try:
    pin: Any = import_module("pinocchio")
except ModuleNotFoundError:
    raise SystemExit("the benchmarks need Pinocchio and its robots: pip install '.[peers]'") from None


class Bundled(NamedTuple):
    """A robot of example-robot-data: its file, whether its base flies, and the joints that are locked."""

    urdf: str
    free: bool = False
    locked: tuple[str, ...] = ()


BUNDLED = {
    "arm6": Bundled("ur_description/urdf/ur5_robot.urdf"),
    "arm7": Bundled("panda_description/urdf/panda.urdf", locked=("panda_finger_joint1", "panda_finger_joint2")),
    "quadruped": Bundled("anymal_c_simple_description/urdf/anymal.urdf", free=True),
    "humanoid": Bundled("talos_data/robots/talos_reduced.urdf", free=True),
}
CHAIN = "chain"  # a name such as "chain64" is a serial chain of 64 joints

# One link of a chain: joints 0.1 m apart, centre of mass off the line that joins them, axes taking turns.
LINK_AT, LINK_MASS, LINK_COM, LINK_INERTIA = (0.0, 0.0, 0.1), 0.5, (0.02, -0.01, 0.05), (0.002, 0.003, 0.0015)
LINK_AXES = np.eye(3)


class Robot(NamedTuple):
    """The same machine twice: Pinocchio's `model` and our mechanism `m`."""

    name: str
    model: Any
    m: lw.Mechanism


class States(NamedTuple):
    """Random states of a mechanism, in its own order: q is (n, nq); v, a and tau are (n, nv)."""

    q: Array
    v: Array
    a: Array
    tau: Array


@lru_cache(maxsize=2)
def robot(name: str) -> Robot:
    """The machine of that name: a key of `BUNDLED`, or "chain" and a number of joints."""
    model = chain_model(int(name.removeprefix(CHAIN))) if name.startswith(CHAIN) else bundled_model(BUNDLED[name])
    return Robot(name, model, mechanism_of(model))


def bundled_model(found: Bundled) -> Any:
    """Pinocchio's model of a bundled robot."""
    # The wheels of Pinocchio and of the robots share one prefix.
    folder = Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots"
    if not (folder / found.urdf).is_file():
        raise SystemExit(f"the robot {found.urdf} is not installed: pip install '.[peers]'")
    model = pin.buildModelFromUrdf(str(folder / found.urdf), *[pin.JointModelFreeFlyer()] * found.free)
    if not found.locked:
        return model
    return pin.buildReducedModel(model, [model.getJointId(name) for name in found.locked], pin.neutral(model))


def chain_model(n: int) -> Any:
    """Pinocchio's model of a serial chain of n revolute joints."""
    model, last = pin.Model(), 0
    model.name = f"{CHAIN}{n}"
    revolute = pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ
    inertia = pin.Inertia(LINK_MASS, np.array(LINK_COM), np.diag(LINK_INERTIA))
    for k in range(n):
        last = model.addJoint(last, revolute[k % 3](), pin.SE3(np.eye(3), np.array(LINK_AT)), f"j{k}")
        model.appendBodyToJoint(last, inertia, pin.SE3.Identity())
    return model


def chain_mjcf(n: int) -> str:
    """The same chain for MuJoCo, without contacts, constraints or geometry."""

    def row(numbers: Any) -> str:
        return " ".join(repr(float(x)) for x in numbers)

    inertial = f'<inertial pos="{row(LINK_COM)}" mass="{LINK_MASS!r}" diaginertia="{row(LINK_INERTIA)}"/>'
    links = [
        f'<body pos="{row(LINK_AT)}"><joint type="hinge" axis="{row(LINK_AXES[k % 3])}"/>{inertial}' for k in range(n)
    ]
    flags = '<option gravity="0 0 -9.81"><flag contact="disable" constraint="disable"/></option>'
    return f"<mujoco>{flags}<worldbody>{''.join(links)}{'</body>' * n}</worldbody></mujoco>"


def mechanism_of(model: Any) -> lw.Mechanism:
    """Our mechanism with the joints, places and inertias of a Pinocchio model; joints keep their names."""
    b = lw.Builder(model.name or "robot", gravity=model.gravity.linear)
    bodies = ["world", *(f"body of {name}" for name in model.names[1:])]
    for k in range(1, model.njoints):
        inertia, place, joint = model.inertias[k], model.jointPlacements[k], model.joints[k]
        b.body(bodies[k], inertia.mass, inertia.lever, inertia.inertia)
        b.joint(
            model.names[k],
            kind_of(joint, pin.neutral(model)),
            bodies[model.parents[k]],
            bodies[k],
            place.translation,
            rotation=place.rotation,
            armature=model.armature[joint.idx_v : joint.idx_v + joint.nv],
        )
    return b.build()


def kind_of(joint: Any, neutral: Array) -> JointKind:
    """Our kind of a Pinocchio joint, told by its freedoms: all six, a turn or a slide."""
    if joint.nv == 6:
        return lw.Free()
    if joint.nv != 1:
        raise ValueError(f"the benchmarks know free, revolute and prismatic joints, not {joint.shortname()}")
    data = joint.createData()
    joint.calc(data, neutral)
    linear, angular = np.ravel(data.S).reshape(2, 3)
    return lw.Revolute(angular) if angular.any() else lw.Prismatic(linear)


def draw(m: lw.Mechanism, n: int, seed: int = 0) -> States:
    """As many random states: angles of a whole turn, positions and velocities of order one, unit quaternions."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(-np.pi, np.pi, (n, m.nq))
    for joint in m.joints:
        if isinstance(joint.kind, lw.Free):
            quaternion = rng.normal(size=(n, 4))
            q[:, joint.q.start + 3 : joint.q.stop] = quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)
    return States(q, *rng.normal(size=(3, n, m.nv)))
