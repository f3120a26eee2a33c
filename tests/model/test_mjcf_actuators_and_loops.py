"""Actuators and loops of an MJCF have MuJoCo's forces and closure positions."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.drive_forces import drive_forces
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array
from mujoco_reference import mujoco, quiet
from random_mechanisms import relative

BALL = '<geom size="0.1"/>'
ARM = f"""
<body name="base" pos="1 2 3"><freejoint name="free"/>{BALL}
  <body name="upper" pos="0 0 1" euler="10 20 30"><joint name="a" ref="20" axis="1 2 3" pos="0.1 0 0"/>
    <joint name="b" type="slide" ref="0.1"/>{BALL}<site name="on upper" pos="0.1 0.2 0.3" euler="40 50 60"/>
    <body name="fore" pos="0.3 0 0"><joint name="c" type="ball"/>{BALL}</body></body></body>
<body name="other" pos="0 1 0" euler="5 0 90"><joint name="d"/>{BALL}<site name="on other" pos="0 0 0.4"/>
  <body name="tip" pos="0 0 0.2" euler="1 2 3">{BALL}</body></body>
<site name="on world" pos="1 1 0" euler="0 0 30"/>"""
TENDON = '<tendon><fixed name="t"><joint joint="a" coef="2"/><joint joint="d" coef="-0.5"/></fixed></tendon>'
ACTUATORS = {
    "position servo": '<position name="u" joint="a" kp="30" kv="2"/>',
    "critical servo": '<position name="u" joint="b" kp="30" dampratio="1" gear="3" ctrlrange="-1 2" inheritrange="0"/>',
    "motor": '<motor name="u" joint="d" gear="-7"/>',
    "velocity servo": '<velocity name="u" joint="a" kv="3" gear="0.5" forcerange="-4 5"/>',
    "general": '<general name="u" joint="b" gear="2" gainprm="3" biastype="affine" biasprm="0.4 -5 -0.6" '
    'ctrlrange="-1 0.5" forcerange="-9 9"/>',
    "motor in the parent": '<motor name="u" jointinparent="a" gear="2"/>',
    "motor of a ball": '<motor name="u" joint="c" gear="1 -2 3"/>',
    "damped motor of a ball": '<velocity name="u" joint="c" gear="1 -2 3" kv="2"/>',
    "motor that turns what is free": '<motor name="u" joint="free" gear="0 0 0 1 2 -3"/>',
    "servo of a tendon": '<position name="u" tendon="t" kp="4" kv="1" gear="3" forcerange="-50 50"/>',
    "constant gain called affine": '<general name="u" joint="a" gaintype="affine" gainprm="3 0 0"/>',
}


def model_text(inside: str, world: str = ARM) -> str:
    return f"<mujoco><option><flag contact='disable'/></option><worldbody>{world}</worldbody>{inside}</mujoco>"


def loaded(folder: Path, text: str) -> lw.Mechanism:
    (folder / "model.xml").write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.ModelWarning)
        return lw.load(folder / "model.xml")


def actuator_force(model: object, q: Array, v: Array, u: Array) -> Array:
    """MuJoCo's qfrc_actuator (nv,) at its coordinates."""
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, u
    with quiet():
        mujoco.mj_forward(model, data)
    return np.array(data.qfrc_actuator)


@pytest.mark.parametrize("name", ACTUATORS)
def test_force_of_an_mjcf_actuator_matches_mujoco(name: str, tmp_path: Path) -> None:
    text = model_text(f"{TENDON}<actuator>{ACTUATORS[name]}</actuator>")
    m, model, rng = loaded(tmp_path, text), mujoco.MjModel.from_xml_string(text), np.random.default_rng(0)
    assert m.drives.names == ("u",)
    forces = []
    for scale in (0.1, 1.0, 30.0) * 3:  # within the limits and beyond
        q, v, u = m.random(rng), rng.normal(size=m.nv), rng.normal(size=1) * scale
        qvel = lw.convert(m, q, v, target="mujoco")[1]
        there = actuator_force(model, q, qvel, u)
        assert relative(lw.convert(m, q, drive_forces(m, q, v, u), target="mujoco")[1], there, scale=1e-3) < 1e-12
        forces.append(np.abs(there).max())
    assert max(forces) > 1.5 * min(forces)


def test_drives_of_mimic_joints_have_the_power_of_mujocos_actuators(tmp_path: Path) -> None:
    """A servo over an independent and a mimic joint: the forces on both, mapped to the independent joint."""
    couple = '<equality><joint joint1="a" joint2="d" polycoef="0.3 -2 0 0 0"/></equality>'
    text = model_text(f"{TENDON}<actuator>{ACTUATORS['servo of a tendon']}</actuator>{couple}")
    m, model, rng = loaded(tmp_path, text), mujoco.MjModel.from_xml_string(text), np.random.default_rng(0)
    assert m.nv == model.nv - 1
    assert m.drives["u"].offset != 0.0
    for _ in range(5):
        q, v, u = m.random(rng), rng.normal(size=m.nv), rng.normal(size=1)
        qpos, qvel = lw.convert(m, q, v, target="mujoco")
        there = actuator_force(model, qpos, qvel, u)
        assert relative(drive_forces(m, q, v, u), m.spread.T @ there) < 1e-12


NOT_DRIVES = {
    "servo of a ball": '<position name="u" joint="c" gear="1 0 0" kp="2"/>',
    "motor of a ball in the parent": '<motor name="u" jointinparent="c" gear="1 0 0"/>',
    "motor that pushes what is free": '<motor name="u" joint="free" gear="1 0 0 0 0 1"/>',
    "filtered": '<position name="u" joint="a" timeconst="0.1"/>',
    "crank": '<motor name="u" cranksite="on upper" slidersite="on other" cranklength="1"/>',
    "adhesion": '<adhesion name="u" body="tip" ctrlrange="0 1"/>',
    "gain by length": '<general name="u" joint="a" gaintype="affine" gainprm="3 1 0"/>',
}


@pytest.mark.parametrize("name", NOT_DRIVES)
def test_unsupported_mjcf_actuators_are_named_in_a_warning(name: str, tmp_path: Path) -> None:
    (tmp_path / "model.xml").write_text(model_text(f'<actuator>{NOT_DRIVES[name]}<motor joint="d"/></actuator>'))
    with pytest.warns(lw.ModelWarning, match="ignored, because not supported: actuators u$"):
        m = lw.load(tmp_path / "model.xml")
    assert m.drives.names == ("actuator1",)


def test_actuators_with_several_controls_do_not_affect_the_others(tmp_path: Path) -> None:
    several = '<orientation name="o" joint="c"/>'
    motor = '<motor name="u" joint="d" gear="7" ctrlrange="-1 1" forcerange="-2 2" armature="0.5"/>'
    text = model_text(f"<actuator>{several}{motor}</actuator>")
    m = loaded(tmp_path, text)
    (u,) = m.drives
    assert (u.row[-1], u.control_limits.tolist(), u.force_limits.tolist()) == (7.0, [-1.0, 1.0], [-2.0, 2.0])
    assert m.joints["d"].armature[0] == 0.5 * 49


# --- loops ---

LOOPS = {  # and whether they are closed where the model is written
    "connect": ('<connect name="e" body1="upper" body2="tip" anchor="0.1 0.2 0.3"/>', True),
    "connect to the world": ('<connect name="e" body1="fore" anchor="0.1 0.2 0.3"/>', True),
    "connect of sites": ('<connect name="e" site1="on upper" site2="on other"/>', False),
    "weld": ('<weld name="e" body1="fore" body2="tip"/>', True),
    "weld to the world": ('<weld name="e" body1="fore" anchor="1 2 3"/>', True),
    "weld at an anchor": ('<weld name="e" body1="tip" body2="upper" anchor="0.5 1 0" torquescale="3"/>', True),
    "weld at a pose": ('<weld name="e" body1="tip" body2="base" anchor="0.5 1 0" relpose="0 1 0 2 0.3 0 1"/>', False),
    "weld of sites": ('<weld name="e" site1="on upper" site2="on world"/>', False),
    "weld of a point": ('<weld name="e" body1="upper" body2="tip" torquescale="0"/>', True),
}


def mismatch(m: lw.Mechanism, q: Array) -> Transform:
    """Return the pose of the loop's frame on its second body relative to that on its first body."""
    (loop,), d = m.loops, lw.compile(m, target="numpy")
    ends = [(d.pose(q, m.bodies[place.body].name), place.pose) for place in (loop.at, loop.to)]
    here, there = (Transform(X[:3, :3], X[:3, 3]) @ pose for X, pose in ends)
    return here.inverse() @ there


@pytest.mark.parametrize("name", LOOPS)
def test_loop_of_an_mjcf_closes_at_the_position_of_mujoco(name: str, tmp_path: Path) -> None:
    inside, closed = LOOPS[name]
    text = model_text(f"<equality>{inside}</equality>")
    m, model, rng = loaded(tmp_path, text), mujoco.MjModel.from_xml_string(text), np.random.default_rng(0)
    data, turns = mujoco.MjData(model), "weld" in inside and 'torquescale="0"' not in inside
    assert type(m.loops["e"].kind) is (lw.Weld if turns else lw.Ball)
    start = mismatch(m, m.keyframes["qpos0"].q)
    if closed:
        assert np.abs(start.p).max() < 1e-12
        assert not turns or np.abs(start.R - np.eye(3)).max() < 1e-12
    for q in (m.keyframes["qpos0"].q, m.random(rng), m.random(rng)):
        data.qpos[:] = q
        with quiet():
            mujoco.mj_forward(model, data)
        X, apart = mismatch(m, q), np.array(data.efc_pos)
        assert abs(np.linalg.norm(X.p) - np.linalg.norm(apart[:3])) < 1e-12
        if turns:  # MuJoCo's is the vector of a quaternion: the sine of half the angle
            angle = np.arccos(np.clip((np.trace(X.R) - 1.0) / 2.0, -1.0, 1.0))
            scale = float(model.eq_data[0, 10])
            assert abs(scale * np.sin(angle / 2.0) - np.linalg.norm(apart[3:])) < 1e-7


def test_model_with_loops_is_loaded_saved_and_constrained(tmp_path: Path) -> None:
    m = loaded(tmp_path, model_text('<equality><connect name="e" body1="tip" anchor="0 0 1"/></equality>'))
    d = lw.compile(m, target="numpy")
    q = d.assemble(m.neutral())
    a = d.forward_dynamics(q, np.zeros(m.nv), np.zeros(m.nv))
    assert np.abs(d.constraint_jacobian(q) @ a).max() < 1e-10 * max(1.0, np.abs(a).max())
    again = tmp_path / "again.toml"
    lw.save(m, again)
    assert lw.load(again).loops["e"].at.pose.p.tolist() == m.loops["e"].at.pose.p.tolist()


def test_inactive_equality_constraints_of_mjcf_close_no_loop(tmp_path: Path) -> None:
    inactive = '<equality><weld body1="fore" body2="tip" active="false"/></equality>'
    assert not loaded(tmp_path, model_text(inactive)).loops
    off = '<option><flag equality="disable"/></option>'
    assert not loaded(tmp_path, model_text(off + inactive.replace("false", "true"))).loops
    assert loaded(tmp_path, model_text(inactive.replace("false", "true"))).loops
