"""Bodies of MJCF and URDF files rest on floors as in MuJoCo, and stick or slide at the friction angle."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.spatial.scalar import Array
from mujoco_reference import mujoco

HOPPER = """<mujoco><worldbody>{floor}
  <body name="torso" pos="0 0 1.0">
    <joint name="up" type="slide" axis="0 0 1"/>
    <geom name="torso" type="capsule" size="0.05 0.2" mass="4"/>
    <body name="leg" pos="0 0 -0.3">
      <joint name="knee" type="slide" axis="0 0 1" stiffness="5000" damping="300"/>
      <geom name="foot" size="0.06" pos="0 0 -0.3" mass="1"/>
    </body>
  </body></worldbody></mujoco>"""
FLOOR = '<geom name="floor" type="plane" size="1 1 1"/>'
BOX = FLOOR + '<body name="box" pos="0 0 0.2"><freejoint/><geom name="box" type="box" size="0.1 0.2 0.05"/></body>'
BALL = FLOOR + '<body name="ball" pos="0 0 0.2"><freejoint/><geom name="ball" size="0.1"/></body>'
SCENES = {
    "hopper": HOPPER.format(floor=FLOOR),
    "box": f"<mujoco><worldbody>{BOX}</worldbody></mujoco>",
    "ball": f"<mujoco><worldbody>{BALL}</worldbody></mujoco>",
}


def loaded(folder: Path, text: str, name: str = "model.xml", **options: Any) -> lw.Mechanism:
    (folder / name).write_text(text, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.ModelWarning)
        return lw.load(folder / name, **options)


def settled_in_mujoco(text: str, duration: float) -> Array:
    data = mujoco.MjData(model := mujoco.MjModel.from_xml_string(text))
    while data.time < duration:
        mujoco.mj_step(model, data)
    return np.array(data.qpos)


@pytest.mark.parametrize("name", SCENES)
def test_bodies_rest_on_the_floor_of_an_mjcf_at_the_height_of_mujoco(name: str, tmp_path: Path) -> None:
    """MuJoCo's contacts become stiffer as they yield: its height is between those of rigid and compliant contacts."""
    m = loaded(tmp_path, SCENES[name], contacts=True)
    weight, height = float(m.mass) * 9.81, m.joints[0].q.start + (0 if name == "hopper" else 2)
    settled: dict[str, Array] = {}
    for contact in ("rigid", "compliant"):
        run = lw.simulate(m, m.keyframes["qpos0"].q, duration=1.5, contact=contact, record=("q", "contact.force"))
        assert abs(run["contact.force"][-1, :, 2].sum() / weight - 1.0) < 1e-6
        settled[contact] = run.q[-1]
    theirs = settled_in_mujoco(SCENES[name], 3.0)
    assert settled["compliant"][height] <= theirs[height] + 1e-9 <= settled["rigid"][height]
    assert np.allclose(settled["compliant"], theirs, rtol=0, atol=3e-4)
    # the closed form of the depth: the contacts that carry the weight share it
    carrying = np.flatnonzero(run["contact.force"][-1, :, 2] > 1e-3 * weight).tolist()
    depth = weight / sum(m.contacts[k].stiffness for k in carrying)
    assert abs(settled["rigid"][height] - settled["compliant"][height] - depth) < 2e-5


def test_a_hopper_without_its_floor_falls_and_loading_it_warns(tmp_path: Path) -> None:
    (tmp_path / "hopper.xml").write_text(SCENES["hopper"], encoding="utf-8")
    with pytest.warns(lw.ModelWarning, match=r"contacts=True"):
        m = lw.load(tmp_path / "hopper.xml")
    assert lw.simulate(m, m.keyframes["qpos0"].q, duration=1.0).q[-1, 0] < -3.0


FRICTION = 0.4


@pytest.mark.parametrize("excess", [-0.1, 0.1])  # [degrees]
def test_a_box_on_a_tilted_plane_slides_above_the_friction_angle_only(excess: float, tmp_path: Path) -> None:
    """The larger friction of both geoms acts; above its angle the acceleration is g (sin - mu cos)."""
    angle = np.arctan(FRICTION) + np.radians(excess)
    gravity = 9.81 * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    turned = " ".join(f"{x:.17g}" for x in gravity)
    box = BOX.replace('pos="0 0 0.2"', 'pos="0 0 0.05"').replace("/></body>", f' friction="{FRICTION}"/></body>')
    box = box.replace('type="plane"', 'type="plane" friction="0.1"')
    m = loaded(tmp_path, f'<mujoco><option gravity="{turned}"/><worldbody>{box}</worldbody></mujoco>', contacts=True)
    run = lw.simulate(m, m.keyframes["qpos0"].q, duration=1.0, dt=1e-3, contact="rigid", record=("q",))
    expected = max(0.0, 0.5 * 9.81 * (np.sin(angle) - FRICTION * np.cos(angle)))
    assert abs(run.q[-1, 0] - expected) < 1e-9


ROBOT = """<robot name="crate">
  <link name="crate">
    <inertial><mass value="3"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
    <collision>
      <origin xyz="0 0 0.1" rpy="0 0 0.3"/><geometry>{shape}</geometry>
    </collision>
  </link>
</robot>"""
STL = b"\0" * 80 + np.array(4, "<u4").tobytes()


def pyramid() -> bytes:
    """A binary STL file: a tetrahedron with a horizontal base at z = -100, in millimetres."""
    a, b, c, top = np.array([[100, 0, -100], [-50, 80, -100], [-50, -80, -100], [0, 0, 100]], dtype="<f4")
    faces = [(a, c, b), (a, b, top), (b, c, top), (c, a, top)]
    return STL + b"".join(np.array([np.zeros(3), *face], "<f4").tobytes() + b"\0\0" for face in faces)


SHAPES = {  # <geometry>: number of contacts, height of the link's origin at rest
    '<box size="0.4 0.3 0.2"/>': (8, 0.0),
    '<sphere radius="0.2"/>': (1, 0.1),
    '<cylinder radius="0.3" length="0.2"/>': (24, 0.0),
    '<mesh filename="part.stl" scale="0.001 0.001 0.001"/>': (4, 0.0),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_urdf_rests_on_the_ground_that_load_adds(shape: str, tmp_path: Path) -> None:
    (tmp_path / "part.stl").write_bytes(pyramid())
    count, height = SHAPES[shape]
    m = loaded(tmp_path, ROBOT.format(shape=shape), "robot.urdf", contacts="ground", floating=True)
    assert (len(m.contacts), m.surfaces.names) == (count, ("ground",))
    run = lw.simulate(m, [0, 0, 0.05 + height, 1, 0, 0, 0], duration=0.5, dt=1e-3, contact="rigid")
    assert abs(run["contact.force"][-1, :, 2].sum() / (3 * 9.81) - 1.0) < 1e-6
    assert abs(run.q[-1, 2] - height) < 2e-5


STACK = f"""<mujoco><worldbody>{FLOOR}
  <body name="block" pos="0 0 0.1"><freejoint/><geom type="box" size="0.2 0.2 0.1" mass="3"/></body>
  <body name="can" pos="0 0 0.3"><freejoint/><geom name="can" type="cylinder" size="0.05 0.1" mass="1"/></body>
  <body name="ball" pos="0 1 0.1"><freejoint/><geom name="ball" size="0.1" mass="1"/></body>
</worldbody></mujoco>"""


@pytest.mark.parametrize("contact", ["rigid", "compliant"])
def test_a_stack_of_solids_rests_at_the_height_of_mujoco(contact: str, tmp_path: Path) -> None:
    """Each pair carries the weight above it; in MuJoCo, whose contacts become stiffer with depth, bodies sink less."""
    m = loaded(tmp_path, STACK, contacts=True)
    start, weight = m.keyframes["qpos0"].q, 9.81 * np.array([1.0, 1.0, 4.0])
    run = lw.simulate(m, start, duration=0.5, contact=contact, record=("q", "contact.force"))
    forces = run["contact.force"][-1, :, 2].reshape(len(m.solid_pairs), -1).sum(axis=1)
    assert np.allclose(np.sort(abs(forces))[-3:], weight, rtol=1e-6)
    heights = [2, 9, 16]
    sunk, theirs = ((start - q)[heights] for q in (run.q[-1], settled_in_mujoco(STACK, 3.0)))
    if contact == "rigid":
        assert np.abs(sunk).max() < 1e-6
    else:
        assert np.all((theirs < sunk) & (sunk < 1.25 * theirs))
