"""A converted state has the same body poses and velocities in Pinocchio and MuJoCo."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.spatial.scalar import Array

BATCH = 5
AXIS = (lw.Revolute, lw.Prismatic)


def random_robot(seed: int, kinds: list[str]) -> lw.Mechanism:
    """A free-floating tree of joints of these kinds on random bodies."""
    rng = np.random.default_rng(seed)
    b = lw.Builder("robot").body("base", 3.0, (0.1, 0, 0), (1, 1, 1)).joint("fly", lw.Free(), "world", "base")
    made = {"revolute": lw.Revolute, "prismatic": lw.Prismatic, "planar": lw.Planar}
    bodies = ["base"]
    for k, kind in enumerate(kinds):
        name = f"{kind}{k}"
        axis = (0, 0, 1) if kind == "planar" else np.eye(3)[rng.integers(3)]
        b.body(name, 1.0, rng.normal(size=3), (1, 1, 1))
        b.joint(
            name, made[kind](axis) if kind in made else lw.Ball(), str(rng.choice(bodies)), name, rng.normal(size=3)
        )
        bodies.append(name)
    return b.build()


def poses_and_velocities(m: lw.Mechanism, q: Array, v: Array) -> tuple[Array, Array]:
    """World poses (..., nbodies, 3, 4) and origin velocities (..., nbodies, 6) in world axes."""
    d = lw.compile(m, target="numpy")
    velocities = [d.jacobian(q, body.name, "mixed") @ v[..., None] for body in m.bodies[1:]]
    return d.poses(q)[..., :3, :], np.stack(velocities, axis=-3)[..., 0]


def states(m: lw.Mechanism, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return np.array([m.random(rng) for _ in range(BATCH)]), rng.normal(size=(BATCH, m.nv))


@pytest.mark.parametrize("seed", range(4))
def test_converted_states_have_the_same_poses_and_velocities_in_pinocchio(seed: int) -> None:
    pin: Any = pytest.importorskip("pinocchio", reason="Pinocchio is not installed (the extra 'peers')")
    m = random_robot(seed, ["revolute", "ball", "prismatic", "planar", "revolute", "ball"])
    unbounded = {"revolute4"}
    model, added = pin.Model(), {"world": 0}
    for joint in reversed(list(m.joints)):  # parents before children, else last to first
        line = [joint]
        while line[-1].parent not in added:
            line.append(next(j for j in m.joints if j.child == line[-1].parent))
        for j in reversed(line):
            if j.child not in added:
                place = pin.SE3(j.offset.R, j.offset.p)
                added[j.child] = model.addJoint(added[j.parent], pin_kind(pin, j, j.name in unbounded), place, j.name)
    q, v = states(m, seed)
    options = {"names": list(model.names), "continuous": unbounded}
    pin_q, pin_v = lw.convert(m, q, v, target="pinocchio", **options)
    X, V = poses_and_velocities(m, q, v)
    data = model.createData()
    for k in range(BATCH):
        pin.forwardKinematics(model, data, pin_q[k], pin_v[k])
        for b, body in enumerate(m.bodies[1:]):
            place = data.oMi[added[body.name]]
            assert np.allclose(X[k, b], place.homogeneous[:3], rtol=0, atol=1e-12)
            there = pin.getVelocity(model, data, added[body.name], pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
            assert np.allclose(V[k, b], there.vector, rtol=0, atol=1e-11)
    back_q, back_v = lw.convert(m, pin_q, pin_v, source="pinocchio", **options)
    assert np.allclose(back_q, q, rtol=0, atol=1e-12)
    assert np.allclose(back_v, v, rtol=0, atol=1e-12)


@pytest.mark.parametrize("robot", ["kinova_description/robots/kinova.urdf", "pr2_description/urdf/pr2.urdf"])
def test_continuous_joints_of_urdf_robots_are_converted_automatically(robot: str) -> None:
    """Joints that Pinocchio stores as cosine and sine are known from the limits of the URDF."""
    pinocchio_side = pytest.importorskip("pinocchio_reference", reason="Pinocchio's robots are not installed")
    path = pinocchio_side.FOLDER / robot
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.ModelWarning)
        m = lw.load(path, floating=True, mimic=False)
    model = pinocchio_side.pin.buildModelFromUrdf(str(path), pinocchio_side.pin.JointModelFreeFlyer())
    q, v = states(m, 0)
    pin_q, pin_v = lw.convert(m, q, v, target="pinocchio", names=model.names)
    for k in range(BATCH):
        assert np.array_equal(pin_q[k], pinocchio_side.coordinates(m, model, q[k]))
    assert np.array_equal(pin_v, v[:, pinocchio_side.velocity_order(m, model)])


def pin_kind(pin: Any, joint: Any, unbounded: bool) -> Any:
    """Pinocchio's joint model of a joint kind."""
    if isinstance(joint.kind, lw.Free):
        return pin.JointModelFreeFlyer()
    if isinstance(joint.kind, lw.Ball):
        return pin.JointModelSpherical()
    if isinstance(joint.kind, lw.Planar):
        return pin.JointModelPlanar()
    axis = np.array(joint.kind.axis)
    if isinstance(joint.kind, lw.Prismatic):
        return pin.JointModelPrismaticUnaligned(axis)
    if unbounded:
        return getattr(pin, f"JointModelRUB{'XYZ'[int(np.argmax(axis))]}")()
    return pin.JointModelRevoluteUnaligned(axis)


@pytest.mark.parametrize("seed", range(4))
def test_converted_states_have_the_same_poses_and_velocities_in_mujoco(seed: int) -> None:
    mujoco: Any = pytest.importorskip("mujoco", reason="MuJoCo is not installed (the extra 'mjcf')")
    m = random_robot(seed, ["revolute", "ball", "prismatic", "revolute", "ball"])
    kinds = {lw.Free: "free", lw.Ball: "ball", lw.Revolute: "hinge", lw.Prismatic: "slide"}

    def text(body: str) -> str:
        """MJCF text of the bodies below a body, last to first."""
        found = ""
        for j in reversed([j for j in m.joints if j.parent == body]):
            axis = f'axis="{" ".join(map(str, j.kind.axis))}"' if isinstance(j.kind, AXIS) else ""
            joint = f'<joint name="{j.name}" type="{kinds[type(j.kind)]}" {axis}/>'
            place = " ".join(map(str, j.offset.p))
            found += f'<body name="{j.child}" pos="{place}">{joint}<geom size="1"/>{text(j.child)}</body>'
        return found

    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{text('world')}</worldbody></mujoco>")
    data = mujoco.MjData(model)
    names = [model.joint(k).name for k in range(model.njnt)]
    q, v = states(m, seed)
    qpos, qvel = lw.convert(m, q, v, target="mujoco", names=names)
    X, V = poses_and_velocities(m, q, v)
    for k in range(BATCH):
        data.qpos[:], data.qvel[:] = qpos[k], qvel[k]
        mujoco.mj_forward(model, data)
        for b, body in enumerate(m.bodies[1:]):
            number, velocity = model.body(body.name).id, np.zeros(6)
            there = np.column_stack([data.xmat[number].reshape(3, 3), data.xpos[number]])
            assert np.allclose(X[k, b], there, rtol=0, atol=1e-12)
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, number, velocity, 0)
            assert np.allclose(V[k, b], [*velocity[3:], *velocity[:3]], rtol=0, atol=1e-11)
    again = lw.convert(m, qpos, qvel, source="mujoco", names=names)
    assert np.array_equal(again[0], q)
    assert np.allclose(again[1], v, rtol=0, atol=1e-14)
