"""An MJCF gives the mechanism that MuJoCo compiles, and every ignored part is reported."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.model.documents.loading import find_faults
from linkwork.spatial.scalar import Array
from mujoco_reference import MujocoReference, acceleration_for_mujoco, mujoco, without_friction
from random_mechanisms import relative

BALL = '<geom size="0.1"/>'


def written(folder: Path, text: str, name: str = "model.xml") -> Path:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def loaded(folder: Path, inside: str, head: str = "", **options: Any) -> lw.Mechanism:
    """A model with this content in its world; warnings are ignored."""
    path = written(folder, f"<mujoco>{head}<worldbody>{inside}</worldbody></mujoco>")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.ModelWarning)
        return lw.load(path, **options)


def warned(path: Path, **options: Any) -> tuple[lw.Mechanism, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        m = lw.load(path, **options)
    assert all(issubclass(w.category, lw.ModelWarning) and w.filename == __file__ for w in caught)
    return m, [str(w.message) for w in caught]


# --- second opinion: random models ---


def random_model(seed: int) -> str:
    """Bodies of every shape on up to three offset joints each, with every MJCF orientation attribute."""
    rng = np.random.default_rng(seed)

    def row(count: int = 3, scale: float = 1.0) -> str:
        return " ".join(f"{x:.5f}" for x in rng.normal(size=count) * scale)

    def turned() -> str:
        orientations = [
            ("euler", row(3, 60.0)),
            ("quat", row(4)),
            ("axisangle", row(4)),
            ("zaxis", row()),
            ("xyaxes", row(6)),
        ]
        name, value = orientations[rng.integers(len(orientations))]
        return f'{name}="{value}"'

    def joint(name: str, kind: str) -> str:
        numbers = f'damping="{rng.random():.4f}" frictionloss="{rng.random():.4f}"'
        if kind != "free":
            numbers += f' pos="{row(3, 0.2)}" armature="{rng.random():.4f}" stiffness="{3 * rng.random():.4f}"'
        if kind in ("hinge", "slide"):
            scale = 50.0 if kind == "hinge" else 0.3
            numbers += f' axis="{row()}" ref="{row(1, scale)}" springref="{row(1, scale)}"'
        return f'<joint name="{name}" type="{kind}" {numbers}/>'

    def inertia() -> str:
        if rng.random() < 0.5:
            shape = ["sphere", "capsule", "box", "cylinder", "ellipsoid"][rng.integers(5)]
            size = " ".join(f"{x:.4f}" for x in rng.uniform(0.05, 0.2, 3))
            return f'<geom type="{shape}" size="{size}" pos="{row(3, 0.1)}" {turned()}/>'
        xx, yy, zz = rng.uniform(0.1, 0.15, 3)
        return f'<inertial pos="{row(3, 0.1)}" mass="2" fullinertia="{xx} {yy} {zz} 0.01 -0.02 0.015"/>'

    def body(name: str, depth: int) -> str:
        kinds = ["hinge", "slide"]
        several = [
            [],
            [kinds[rng.integers(2)]],
            [kinds[rng.integers(2)] for _ in range(3)],
            ["ball"],
            ["slide", "ball"],
        ]
        chosen = ["free"] if depth == 0 and rng.random() < 0.5 else several[rng.integers(1 if depth == 0 else 0, 5)]
        joints = "".join(joint(f"{name}_{k}", kind) for k, kind in enumerate(chosen))
        below = "".join(body(f"{name}{k}", depth + 1) for k in range(rng.integers(0, 3))) if depth < 3 else ""
        inside = f'{joints}{inertia()}<site name="{name} site" pos="{row()}" {turned()}/>{below}'
        return f'<body name="{name}" pos="{row(3, 0.3)}" {turned()}>{inside}</body>'

    sequence = ["xyz", "XYZ", "zyx", "ZxZ"][rng.integers(4)]
    return (
        f'<mujoco model="random {seed}"><compiler eulerseq="{sequence}"/><option gravity="{row(3, 5.0)}"/>'
        f"<worldbody>{body('a', 0)}{body('b', 0)}</worldbody></mujoco>"
    )


@pytest.mark.parametrize("seed", range(12))
def test_random_mjcf_model_matches_mujoco(seed: int, tmp_path: Path) -> None:
    path = written(tmp_path, random_model(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.ModelWarning)
        m = lw.load(path)
    there, d, rng = MujocoReference(path), lw.compile(without_friction(m), target="numpy"), np.random.default_rng(seed)
    model, data = there.model, there.data
    assert m.name == f"random {seed}"
    assert (m.nq, m.nv, list(m.joints.names)) == (model.nq, model.nv, [model.joint(k).name for k in range(model.njnt)])
    assert np.array_equal(m.gravity, model.opt.gravity)
    assert np.array_equal(m.keyframes["qpos0"].q, model.qpos0)
    assert np.array_equal(np.concatenate([j.friction for j in m.joints]), model.dof_frictionloss)
    for _ in range(3):
        q, qvel, qfrc = m.random(rng), rng.normal(size=m.nv), rng.normal(size=m.nv)
        v, tau = (lw.convert(m, q, x, source="mujoco")[1] for x in (qvel, qfrc))
        qacc = there.forward(q, qvel, qfrc)
        a = d.forward_dynamics(q, v, tau + d.passive(q, v))
        assert relative(acceleration_for_mujoco(m, q, v, a), qacc) < 1e-9
        for kind, count, mat, pos in (
            ("body", model.nbody, "xmat", "xpos"),
            ("site", model.nsite, "site_xmat", "site_xpos"),
        ):
            for k in range(count):
                X = d.pose(q, getattr(model, kind)(k).name)
                assert np.allclose(X[:3, :3].ravel(), getattr(data, mat)[k], rtol=0, atol=1e-12)
                assert np.allclose(X[:3, 3], getattr(data, pos)[k], rtol=0, atol=1e-12)
        assert np.allclose(d.center_of_mass(q), _center_of_mass(model, data), rtol=0, atol=1e-12)


def _center_of_mass(model: Any, data: Any) -> Array:
    movable = model.body_weldid > 0
    return model.body_mass[movable] @ data.xipos[movable] / model.body_mass[movable].sum()


# --- names, joints and bodies ---


def test_several_mjcf_joints_of_a_body_become_joints_with_massless_bodies_in_between(tmp_path: Path) -> None:
    joints = '<joint name="x" type="slide" axis="1 0 0"/><joint name="y" axis="0 1 0"/><joint name="z" pos="0 0 1"/>'
    m = loaded(tmp_path, f'<body name="torso">{joints}{BALL}<body name="hand" pos="1 0 0">{BALL}</body></body>')
    assert [(j.name, j.parent, j.child) for j in m.joints] == [
        ("x", "world", "torso/x"),
        ("y", "torso/x", "torso/y"),
        ("z", "torso/y", "torso/z"),
    ]
    assert [m.bodies[name].mass for name in ("torso/x", "torso/y")] == [0.0, 0.0]
    assert [part.name for part in m.bodies["torso/z"].parts] == ["torso/z", "torso", "hand"]
    assert "torso.mass" in m.parameters
    m = loaded(
        tmp_path, f'<body name="torso"><joint name="x" type="slide" axis="1 0 0"/><joint name="y"/>{BALL}</body>'
    )
    assert [j.child for j in m.joints] == ["torso/x", "torso"]


def test_unnamed_mjcf_elements_are_named_by_their_index(tmp_path: Path) -> None:
    inside = f'<body><freejoint/>{BALL}<site/><body name="joint1"><joint/><joint name="joint2"/>{BALL}</body></body>'
    m = loaded(tmp_path, inside)
    assert m.joints.names == ("joint0", "joint1", "joint2")
    assert m.bodies.names == ("world", "body1", "joint1/joint1", "joint1")
    assert "site0" in m.frames
    m = loaded(tmp_path, f'<body name="tip"><joint name="tip"/>{BALL}<site name="tip" pos="0 0 1"/></body>')
    assert m.frames["tip_site"].pose.p.tolist() == [0.0, 0.0, 1.0]
    assert m.name == "model"


def test_joint_properties_of_mjcf_are_read(tmp_path: Path) -> None:
    joint = (
        '<joint name="a" range="-10 20" damping="1" armature="2" stiffness="3" springref="30" frictionloss="4" ref="5" '
        'actuatorfrcrange="-6 6"/>'
    )
    motor = '<actuator><motor joint="a" gear="3" armature="0.5" damping="0.25"/></actuator>'
    path = written(tmp_path, f'<mujoco><worldbody><body name="b">{joint}{BALL}</body></worldbody>{motor}</mujoco>')
    m, said = warned(path)
    (a,) = m.joints
    assert np.allclose(np.concatenate(a.limits), np.deg2rad([-10, 20]))
    assert (a.damping[0], a.armature[0], a.stiffness[0], a.friction[0]) == (1 + 0.25 * 9, 2 + 0.5 * 9, 3.0, 4.0)
    assert np.allclose([a.rest[0], m.keyframes["qpos0"].q[0]], np.deg2rad([30, 5]))
    assert a.effort_limit[0] == 6.0
    assert said == []
    assert m.drives["actuator0"].row.tolist() == [3.0]


def test_disable_flags_of_mjcf_take_effect(tmp_path: Path) -> None:
    joint = '<joint range="-1 1" limited="true" damping="1" stiffness="1" frictionloss="1"/>'
    flags = 'gravity="disable" spring="disable" damper="disable" frictionloss="disable" limit="disable"'
    m = loaded(tmp_path, f"<body>{joint}{BALL}</body>", f"<option><flag {flags}/></option>")
    (a,) = m.joints
    assert not np.any([a.damping, a.stiffness, a.friction, [m.gravity.any()]])
    assert np.isinf(a.upper[0])


def test_gravity_argument_of_load_overrides_the_mjcf_file(tmp_path: Path) -> None:
    body, option = f"<body><joint/>{BALL}</body>", '<option gravity="0 0 -1.62"/>'
    assert loaded(tmp_path, body, option).gravity.tolist() == [0.0, 0.0, -1.62]
    assert loaded(tmp_path, body).gravity.tolist() == [0.0, 0.0, -9.81]
    assert loaded(tmp_path, body, option, gravity=(0, 0, -9.81)).gravity.tolist() == [0.0, 0.0, -9.81]


def test_floating_argument_of_load_is_rejected_for_mjcf(tmp_path: Path) -> None:
    with pytest.raises(lw.ModelError, match="freejoint"):
        loaded(tmp_path, f"<body><joint/>{BALL}</body>", floating=True)


# --- keyframes and couplings ---

FINGERS = (
    f'<body name="a"><joint name="a" ref="10"/>{BALL}</body>'
    f'<body name="b" pos="1 0 0"><joint name="b" ref="20"/>{BALL}</body>'
)


def test_keyframes_have_positions_and_velocities(tmp_path: Path) -> None:
    key = '<keyframe><key name="home" qpos="0.5 -0.5" ctrl="3"/><key qpos="1 2" qvel="3 4"/></keyframe>'
    motor = '<actuator><motor joint="a"/></actuator>'
    m, said = warned(
        written(tmp_path, f"<mujoco><worldbody>{FINGERS}</worldbody>{motor}{key}</mujoco>"), contacts=False
    )
    assert m.keyframes.names == ("home", "key1", "qpos0")
    assert m.keyframes["home"].q.tolist() == [0.5, -0.5]
    assert np.allclose(m.keyframes["qpos0"].q, np.deg2rad([10, 20]))
    assert m.keyframes["home"].v.tolist() == [0.0, 0.0]
    assert m.keyframes["key1"].v.tolist() == [3.0, 4.0]
    assert "ignored, because not supported: activations and controls of keyframes" in said[0]
    with pytest.raises(ValueError, match="read-only"):
        m.keyframes["home"].q[0] = 1.0


def test_energy_at_an_mjcf_keyframe_matches_mujoco(tmp_path: Path) -> None:
    """Free-joint velocities are in world axes in MuJoCo and in body axes here."""
    body = f'<body name="b">{{}}{BALL}<body pos="1 0 0"><joint type="ball"/>{BALL}</body></body>'
    key = '<keyframe><key name="k" qpos="1 2 3 .1 .2 .3 .4 .5 .6 .7 .8" qvel="1 2 3 4 5 6 7 8 9"/></keyframe>'
    path = written(tmp_path, f"<mujoco><worldbody>{body.format('<freejoint/>')}</worldbody>{key}</mujoco>")
    m, model = lw.load(path), mujoco.MjModel.from_xml_path(str(path))
    kick = m.keyframes["k"]
    assert np.allclose(lw.convert(m, kick.q, kick.v, target="mujoco")[1], np.arange(1.0, 10.0), rtol=0, atol=1e-14)
    mujoco.mj_resetDataKeyframe(model, data := mujoco.MjData(model), 0)
    mujoco.mj_forward(model, data)
    mujoco.mj_energyVel(model, data)
    assert abs(lw.compile(m, target="numpy").energy(kick.q, kick.v)[0] / data.energy[1] - 1.0) < 1e-12


def test_linear_joint_couplings_become_mimic_joints(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        f"<mujoco><worldbody>{FINGERS}</worldbody>"
        '<equality><joint name="grip" joint1="b" joint2="a" polycoef="0.1 -2 0 0 0"/></equality></mujoco>',
    )
    assert lw.load(path, contacts=False).nv == 1
    mimic = lw.load(path, contacts=False).mimics["b"]
    # Where MuJoCo sees no violation, ours has none
    data = mujoco.MjData(model := mujoco.MjModel.from_xml_path(str(path)))
    data.qpos[:] = 0.7, mimic.multiplier * 0.7 + mimic.offset
    mujoco.mj_forward(model, data)
    assert abs(data.efc_pos[0]) < 1e-12
    m, said = warned(path, mimic=False, contacts=False)
    assert m.nv == 2
    assert "because of mimic=False, couplings grip" in said[0]


# --- shapes ---


def test_mjcf_geoms_become_visual_and_collision_shapes(tmp_path: Path) -> None:
    written(tmp_path, "v 1 0 0\nv 2 0 0\nv 1 1 0\nv 1 0 3\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n", "meshes/part.obj")
    path = written(
        tmp_path,
        '<mujoco><compiler meshdir="meshes"/><asset><mesh name="part" file="part.obj" scale="1 2 3"/>'
        '<material name="red" rgba="1 0 0 1"/><texture name="sky" type="2d" file="/etc/passwd"/></asset><worldbody>'
        '<geom name="floor" type="plane" size="1 1 1"/>'
        '<body name="b"><joint/>'
        '<geom name="mesh" type="mesh" mesh="part" pos="1 1 1" material="red" contype="0" conaffinity="0"/>'
        '<geom name="pad" type="box" size="1 2 3" group="3"/>'
        '<geom name="rod" type="capsule" fromto="0 0 0 0 0 2" size="0.1"/></body></worldbody></mujoco>',
    )
    m, said = warned(path, contacts=False)
    found = {(item.name, item.role): item for item in m.bodies["b"].geometry}
    assert set(found) == {("mesh", "visual"), ("pad", "collision"), ("rod", "visual"), ("rod", "collision")}
    mesh = found["mesh", "visual"]
    assert mesh.shape == lw.Mesh("part.obj", tmp_path.resolve() / "meshes/part.obj", (1, 2, 3))
    assert mesh.color == (1.0, 0.0, 0.0, 1.0)
    assert np.allclose(mesh.pose.p, [1, 1, 1])  # where the file's own origin is
    assert np.allclose(mesh.pose.R, np.eye(3), atol=1e-6)
    assert found["pad", "collision"].shape == lw.Box((2, 4, 6))
    assert found["rod", "visual"].shape == lw.Capsule(0.1, 2.0)
    assert np.allclose(found["rod", "visual"].pose.p, [0, 0, 1])
    assert said == []
    assert [(item.name, item.shape) for item in m.bodies["world"].geometry] == [("floor", lw.Plane())] * 2


# --- files ---


def test_mjcf_includes_are_inserted_in_place(tmp_path: Path) -> None:
    written(tmp_path, f'<mujoco><body name="arm"><include file="hinge.xml"/>{BALL}</body></mujoco>', "parts/arm.xml")
    written(tmp_path, '<mujocoinclude><joint name="hinge"/></mujocoinclude>', "parts/hinge.xml")
    m = loaded(tmp_path, '<include file="parts/arm.xml"/>')
    assert m.joints.names == ("hinge",)
    written(tmp_path, '<x>\n\n<joint name="hinge" axis="0 0 0"/></x>', "parts/hinge.xml")
    with pytest.raises(lw.ModelError) as caught:
        loaded(tmp_path, '<include file="parts/arm.xml"/>')
    assert (caught.value.file, caught.value.line) == (str(tmp_path.resolve() / "parts/hinge.xml"), 3)
    assert "axis too small" in str(caught.value)


def test_mujoco_warnings_are_passed_on_and_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    path = written(
        tmp_path, f'<mujoco><compiler settotalmass="3"/><worldbody><body><joint/>{BALL}</body></worldbody></mujoco>'
    )
    before = mujoco.get_mju_user_warning()
    m, said = warned(path)
    assert abs(m.mass - 3.0) < 1e-12
    assert "MuJoCo: compiler attribute 'settotalmass'" in said[0]
    assert mujoco.get_mju_user_warning() is before
    assert os.listdir(folder) == []


def test_error_for_missing_mujoco_names_the_extra_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(lw.ModelError, match=r"pip install 'linkwork\[mjcf\]'"):
        loaded(tmp_path, "")


def test_outdated_mujoco_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mujoco, "__version__", "3.2.7")
    with pytest.raises(lw.ModelError, match=r"MuJoCo 3\.17 or newer; 3\.2\.7 is installed"):
        loaded(tmp_path, "")


# --- what has no place here ---

ARM = f'<body name="b"><joint name="a"/><joint name="c" axis="1 0 0"/>{BALL}<site name="s"/></body>'
TENDON = '<tendon><fixed name="t"{}><joint joint="a" coef="1"/><joint joint="c" coef="2"/></fixed></tendon>'
CABLE = '<tendon><spatial name="t"><site site="s"/><site site="w"/></spatial></tendon>'
SLACK = CABLE.replace('"t"', '"t" stiffness="1" {}')


def on_joint(attributes: str) -> str:
    """One more body on a joint with these attributes."""
    return f"<worldbody><body><joint {attributes}/>{BALL}</body></worldbody>"


REFUSED = {  # name: what is in the model, and what is said
    "density": ('<option density="1.2"/>', ("<option>", "fluid forces", "remove density")),
    "viscosity": ('<option viscosity="1e-5"/>', ("<option>", "fluid forces", "remove viscosity")),
    "curved coupling": (
        '<equality><joint joint1="a" joint2="c" polycoef="0 1 2 0 0"/></equality>',
        ("not a linear coupling", "mimic=False"),
    ),
    "held joint": ('<equality><joint joint1="a" polycoef="1 0 0 0 0"/></equality>', ("not a linear coupling",)),
    "coupling by tendons": (
        TENDON.format("") + '<equality><tendon tendon1="t"/></equality>',
        ("by tendons", "mimic=False"),
    ),
    "cable of fixed length": (
        CABLE + '<equality><tendon tendon1="t"/></equality>',
        ("<tendon>", "a tendon constraint is not supported"),
    ),
    "tendon spring": (
        TENDON.format(' stiffness="1"'),
        ('<fixed name="t">', "stiffness, damping or armature of a tendon"),
    ),
    "tendon damper": (TENDON.format(' damping="1"'), ("stiffness, damping or armature of a tendon",)),
    "slack spring": (SLACK.format('springlength="0.1 0.2"'), ('<spatial name="t">', "of a tendon")),
    "limited spring": (SLACK.format('range="0 1"'), ('<spatial name="t">', "of a tendon")),
    "rubbing spring": (SLACK.format('frictionloss="1"'), ('<spatial name="t">', "of a tendon")),
    "heavy spring": (SLACK.format('armature="1"'), ('<spatial name="t">', "of a tendon")),
    "curved tendon": (SLACK.replace('"1"', '"1 2"').format(""), ('<spatial name="t">', "of a tendon")),
    "bent spring": (
        SLACK.replace('<site site="w"/>', '<site site="w"/><site site="s"/>').format(""),
        ('<spatial name="t">', "of a tendon"),
    ),
    "muscle": (
        '<actuator><muscle name="m" joint="a" lengthrange="0 1"/></actuator>',
        ('<muscle name="m">', "a muscle is not supported"),
    ),
    "heavy drive of a tendon": (
        TENDON.format("") + '<actuator><motor name="m" tendon="t" armature="1"/></actuator>',
        ("armature or damping of an actuator",),
    ),
    "several curved couplings": (
        '<equality><joint name="e" joint1="a" joint2="c" polycoef="0 1 2 0 0"/>'
        '<joint name="f" joint1="c" joint2="a" polycoef="0 1 2 0 0"/></equality>',
        ("equality e, f: not a linear coupling",),
    ),
    "gravity compensation": (
        '<worldbody><body name="g" gravcomp="1"><joint/><geom size="1"/></body></worldbody>',
        ('<body name="g">', "gravity compensation is not supported"),
    ),
    "curved spring": (on_joint('name="k" stiffness="1 2"'), ("k: a nonlinear or yielding spring",)),
    "curved damper": (on_joint('name="k" damping="1 2"'), ("k: a nonlinear or yielding spring",)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_unsupported_mjcf_features_that_change_the_motion_are_rejected(name: str, tmp_path: Path) -> None:
    inside, says = REFUSED[name]
    path = written(tmp_path, f'<mujoco>\n<worldbody>{ARM}<site name="w"/></worldbody>\n{inside}\n</mujoco>')
    with pytest.raises(lw.ModelError) as caught:
        lw.load(path)
    for words in says:
        assert words in str(caught.value)
    assert (caught.value.file, caught.value.line) == (str(path), 3)
    assert [fault.line for fault in find_faults(path) if fault.severity == "error"] == [3]


@pytest.mark.parametrize("attributes", ['armature="0.3"', 'armature="0.3" stiffness="2" damping="0.1"'])
def test_free_joint_with_armature_matches_mujoco(attributes: str, tmp_path: Path) -> None:
    """MuJoCo's armature resists the linear velocity in world axes, also while the body rotates."""
    text = (
        f'<mujoco><worldbody><body name="b" pos="1 2 3" quat="1 2 3 4"><joint name="f" type="free" {attributes}/>'
        '<inertial mass="2" pos="0.1 0.2 0.3" fullinertia="1 1.2 1.4 0.1 0.2 0.3"/><site name="s"/>'
        '<body name="c"><joint name="h" pos="0 0 0.1"/><geom size="0.2" pos="0 0.3 0"/></body></body></worldbody>'
        '<keyframe><key name="k" qpos="1 2 3 0 1 0 0 0.5" qvel="1 2 3 4 5 6 7"/></keyframe>'
        '<actuator><motor name="p" joint="f" gear="0 0 0 1 2 3"/></actuator></mujoco>'
    )
    path = written(tmp_path, text)
    m, messages = warned(path)
    assert "free joints with armature or stiffness become three prismatic joints and a ball joint: f" in messages[0]
    there, d, rng = MujocoReference(path), lw.compile(m, target="numpy"), np.random.default_rng(0)
    assert (m.nq, m.nv) == (there.model.nq, there.model.nv)
    assert m.joints.names == ("f/x", "f/y", "f/z", "f/ball", "h")
    assert [(name, list(ratio)) for name, ratio in m.drives["p"].ratios] == [("f/ball", [1.0, 2.0, 3.0])]
    assert m.keyframes["k"].q.tolist() == there.model.key_qpos[0].tolist()
    assert m.keyframes["k"].v.tolist() == there.model.key_qvel[0].tolist()
    for _ in range(3):
        q, v, tau = m.random(rng), rng.normal(size=m.nv), rng.normal(size=m.nv)
        a = d.forward_dynamics(q, v, tau + d.passive(q, v))
        assert relative(a, there.forward(q, v, tau)) < 1e-9
        assert np.abs(d.pose(q, "b")[:3, 3] - there.data.xpos[1]).max() < 1e-12


LEFT_OUT = {
    "sensors": ('<sensor><jointpos name="q" joint="a"/></sensor>', "sensors q"),
    "tendons": (TENDON.format(' range="0 1"'), "tendons t"),
    "cameras": ('<worldbody><camera name="eye"/></worldbody>', "cameras eye"),
    "exclusions": ('<contact><exclude name="no" body1="b" body2="world"/></contact>', "contact exclusions no"),
    "servos that take time": ('<actuator><intvelocity name="p" joint="a" kp="3"/></actuator>', "actuators p"),
    "jets": ('<actuator><motor name="p" site="s"/></actuator>', "actuators p"),
    "a gear of nothing": ('<actuator><motor name="p" joint="a" gear="0"/></actuator>', "actuators p"),
    "dampers": ('<actuator><damper name="p" joint="a" kv="1" ctrlrange="0 1"/></actuator>', "actuators p"),
    "motors of cables": (
        f'<worldbody><site name="w"/></worldbody>{CABLE}<actuator><motor name="p" tendon="t"/></actuator>',
        "tendons t; actuators p",
    ),
    "motors that are off": (
        '<option actuatorgroupdisable="2"/><actuator><motor name="p" joint="a" group="2"/></actuator>',
        "actuators p",
    ),
    "no actuation": (
        '<option><flag actuation="disable"/></option><actuator><motor name="p" joint="a"/></actuator>',
        "actuators p",
    ),
    "welds within a body": (
        '<worldbody><body name="x"/></worldbody><equality><weld name="w" body1="x"/></equality>',
        "equalities within one body w",
    ),
    "mocap": (
        '<worldbody><body name="hand" mocap="true"/></worldbody>',
        "mocap bodies, which are fixed at their written pose: hand",
    ),
    "inactive": ('<equality><weld name="w" body1="b" active="false"/></equality>', "inactive equalities w"),
    "one side": (
        on_joint('name="k" actuatorfrcrange="-1 2"'),
        "the smaller side of an asymmetric actuatorfrcrange of joints k",
    ),
    "ball limits": (on_joint('name="k" type="ball" range="0 1"'), "ball joints k"),
    "ellipsoids": ('<worldbody><geom name="egg" type="ellipsoid" size="1 2 3"/></worldbody>', "ellipsoids egg"),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_ignored_mjcf_features_are_named_in_one_warning(name: str, tmp_path: Path) -> None:
    inside, says = LEFT_OUT[name]
    _, said = warned(written(tmp_path, f"<mujoco><worldbody>{ARM}</worldbody>{inside}</mujoco>"), contacts=False)
    assert len(said) == 1
    assert says in said[0]
