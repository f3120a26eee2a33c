"""A URDF gives the same mechanism as the equivalent Builder calls; doubtful parts are warned about by name."""

from __future__ import annotations

import sys
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from call_counting import count_calls
from linkwork.model import Geometry
from linkwork.model.documents.loading import find_faults
from linkwork.model.mimic_joints import Mimic

INERTIAL = (
    '<inertial><origin xyz="0.1 0 0.2" rpy="0 0 1.5707963267948966"/><mass value="2"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="2" iyz="0" izz="2.5"/></inertial>'
)
LIMIT = '<limit lower="-1" upper="2" effort="3" velocity="4"/>'
ARM = f"""<?xml version="1.0" encoding="utf-8"?>
<robot name="arm">
  <!-- foreign elements are none of ours -->
  <gazebo reference="upper"><sensor><link name="not a link"/></sensor></gazebo>
  <transmission name="t"><joint name="not a joint"/></transmission>
  <material name="red"><color rgba="1 0 0 0.5"/></material>
  <link name="base">{INERTIAL}</link>
  <link name="upper">{INERTIAL}
    <visual name="shell"><origin xyz="0 0 1" rpy="0.1 0.2 0.3"/><geometry><box size="1 2 3"/></geometry>
      <material name="red"/></visual>
    <visual><geometry><mesh filename="meshes/part.stl" scale="1 -1 0.001"/></geometry>
      <material><color rgba="0 1 0 1"/></material></visual>
    <collision><geometry><cylinder radius="0.5" length="2"/></geometry></collision>
  </link>
  <link name="tool"><visual><geometry><sphere radius="0.25"/></geometry></visual></link>
  <link name="fore">{INERTIAL}</link>
  <link name="finger">{INERTIAL}</link>
  <joint name="wrist" type="prismatic"><parent link="fore"/><child link="finger"/><axis xyz="0 -2 0"/>{LIMIT}</joint>
  <joint name="shoulder" type="revolute">
    <origin xyz="0 0 1" rpy="0.1 0.2 0.3"/><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>{LIMIT}
    <dynamics damping="0.5" friction="0.25"/></joint>
  <joint name="glue" type="fixed"><origin xyz="0 1 0"/><parent link="upper"/><child link="tool"/></joint>
  <joint name="elbow" type="continuous"><parent link="tool"/><child link="fore"/>
    <limit effort="5" velocity="6"/></joint>
</robot>
"""


def arm_by_builder(floating: bool = False) -> lw.Mechanism:
    """The same arm, made with the Builder."""
    b = lw.Builder("arm")
    inertial: dict[str, Any] = {"mass": 2.0, "com": (0.1, 0, 0.2), "inertia": (2.0, 1.0, 2.5)}
    for name in ("base", "upper", "fore", "finger"):
        b.body(name, **inertial)
    b.body("tool")
    b.joint("root_joint", lw.Free() if floating else lw.Weld(), "world", "base")
    limit: dict[str, Any] = {"limits": (-1, 2), "effort_limit": 3, "velocity_limit": 4}
    b.joint("wrist", lw.Prismatic((0, -1, 0)), "fore", "finger", **limit)
    place: dict[str, Any] = {"at": (0, 0, 1), "rpy": (0.1, 0.2, 0.3)}
    b.joint("shoulder", lw.Revolute((0, 0, 1)), "base", "upper", **place, damping=0.5, friction=0.25, **limit)
    b.joint("glue", lw.Weld(), "upper", "tool", at=(0, 1, 0))
    b.joint("elbow", lw.Revolute((1, 0, 0)), "tool", "fore", effort_limit=5, velocity_limit=6)
    b.geometry("upper", lw.Box((1, 2, 3)), **place, color=(1, 0, 0, 0.5), name="shell")
    b.geometry("upper", lw.Mesh("meshes/part.stl", scale=(1, -1, 0.001)), color=(0, 1, 0, 1))
    b.geometry("upper", lw.Cylinder(0.5, 2), role="collision")
    b.geometry("tool", lw.Sphere(0.25))
    return b.build()


def written(folder: Path, text: str | bytes, name: str = "robot.urdf") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def load_without_warnings(path: Path, **options: Any) -> lw.Mechanism:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.ModelWarning)
        return lw.load(path, **options)


def warned(path: Path, **options: Any) -> list[str]:
    """Texts of all warnings of loading a file; each points to the line that loads it."""
    with pytest.warns(lw.ModelWarning) as caught:
        lw.load(path, **options)
    assert {warning.filename for warning in caught} == {__file__}
    return [str(warning.message) for warning in caught]


def content_of(m: lw.Mechanism) -> dict[str, Any]:
    """All content of a mechanism, as plain numbers and texts."""

    def pose(x: Any) -> list[float]:
        return [*x.R.ravel().tolist(), *x.p.tolist()]

    def drawn(item: Geometry) -> tuple[Any, ...]:
        return item.shape, item.role, item.color, item.name, pose(item.pose)

    joints = [
        [j.name, j.kind, j.parent, j.child, j.i, j.o, j.q, j.v, pose(j.place)]
        + [getattr(j, key).tolist() for key in ("lower", "upper", "velocity_limit", "effort_limit", "friction")]
        for j in m.joints
    ]
    return {
        "parameters": {key: value.tolist() for key, value in m.parameters.items()},
        "joints": joints,
        "frames": [(frame.name, frame.body, pose(frame.pose)) for frame in m.frames],
        "geometry": [(body.name, drawn(item)) for body in m.bodies for item in body.geometry],
    }


@pytest.mark.parametrize("floating", [None, False, True])
def test_urdf_gives_the_mechanism_of_the_equivalent_builder_calls(tmp_path: Path, floating: bool | None) -> None:
    m = load_without_warnings(written(tmp_path, ARM), floating=floating)
    assert content_of(m) == content_of(arm_by_builder(bool(floating)))
    assert m.joints.names == ("root_joint",) * bool(floating) + ("shoulder", "elbow", "wrist")
    assert m.name == "arm"
    assert m.gravity.tolist() == [0, 0, -9.81]
    lower, upper = m.joints["wrist"].limits
    assert (lower.tolist(), upper.tolist()) == ([-1], [2])


def test_urdf_is_read_with_byte_order_marks_and_any_line_ends(tmp_path: Path) -> None:
    expected = content_of(load_without_warnings(written(tmp_path, ARM)))
    for text in (b"\xef\xbb\xbf" + ARM.encode(), ARM.replace("\n", "\r\n").encode(), ARM.replace("utf-8", "latin-1")):
        assert content_of(load_without_warnings(written(tmp_path, text))) == expected
    assert content_of(load_without_warnings(written(tmp_path, ARM, "robot.xml"))) == expected
    assert content_of(load_without_warnings(written(tmp_path, ARM, "ROBOT.URDF"))) == expected


@pytest.mark.parametrize("before", ["\n", " \r\n\t", "\ufeff\n", "\n\ufeff"])
def test_urdf_is_read_with_blanks_before_its_xml_declaration(tmp_path: Path, before: str) -> None:
    m = load_without_warnings(written(tmp_path, (before + ARM).encode()))
    assert content_of(m) == content_of(arm_by_builder())


def test_urdf_is_read_with_a_nul_at_its_end(tmp_path: Path) -> None:
    m = load_without_warnings(written(tmp_path, ARM + "\r\n\0\0"))
    assert content_of(m) == content_of(arm_by_builder())


def test_urdf_joint_with_a_lower_limit_above_the_upper_limit_has_no_limits(tmp_path: Path) -> None:
    path = written(tmp_path, ARM.replace('lower="-1"', 'lower="5"'))
    (message, *_) = [text for text in warned(path) if "exceeds" in text]
    assert "the lower limit exceeds the upper limit, 5 > 2; the joint is treated as unlimited" in message
    limits = load_without_warnings(path).joints["shoulder"].limits
    assert limits[0][0] == -np.inf
    assert limits[1][0] == np.inf


def test_repeated_equal_elements_of_a_urdf_give_a_warning_and_are_used_once(tmp_path: Path) -> None:
    axis = '<axis xyz="0 -2 0"/>'
    path = written(tmp_path, ARM.replace(axis, axis + axis))
    assert any("more than one <axis>, all equal" in text for text in warned(path))
    assert content_of(load_without_warnings(path)) == content_of(arm_by_builder())


@pytest.mark.parametrize(("scale", "number"), [("2", 2.0), ("2 2 2 1", 2.0), ("2 2 2", 2.0)])
def test_urdf_mesh_scale_of_one_or_four_numbers_is_accepted(tmp_path: Path, scale: str, number: float) -> None:
    m = load_without_warnings(written(tmp_path, ARM.replace('scale="1 -1 0.001"', f'scale="{scale}"')))
    (mesh,) = [item.shape for item in m.bodies["upper"].geometry if isinstance(item.shape, lw.Mesh)]
    assert mesh.scale == (number, number, number)


def test_spherical_joint_becomes_a_ball_joint(tmp_path: Path) -> None:
    text = ARM.replace('name="elbow" type="continuous"', 'name="elbow" type="spherical"')
    assert load_without_warnings(written(tmp_path, text)).joints["elbow"].kind == lw.Ball()


def test_gravity_argument_of_load_is_used_for_urdf(tmp_path: Path) -> None:
    assert load_without_warnings(written(tmp_path, ARM), gravity=(0, 0, -1.62)).gravity.tolist() == [0, 0, -1.62]


def chain(n: int) -> str:
    links = [f'<link name="l{k}">{INERTIAL}</link>' for k in range(n)]
    ends = [f'<parent link="l{k}"/><child link="l{k + 1}"/>' for k in range(n - 1)]
    joints = [f'<joint name="j{k}" type="revolute">{e}<axis xyz="0 1 0"/>{LIMIT}</joint>' for k, e in enumerate(ends)]
    return f'<robot name="chain">\n{chr(10).join(joints + links)}\n</robot>'


def test_loading_a_long_chain_from_urdf_takes_linear_time(tmp_path: Path) -> None:
    (_, less), (m, work) = (count_calls(lw.load, written(tmp_path, chain(n))) for n in (300, 600))
    assert work < 2.1 * less
    assert (m.nv, m.joints[598].name) == (599, "j598")


# --- the root ---


def one_link(name: str, inside: str = INERTIAL) -> str:
    return f'<link name="{name}">{inside}</link>'


def test_root_link_named_world_is_the_world(tmp_path: Path) -> None:
    ball = "<visual><geometry><sphere radius='1'/></geometry></visual>"
    weld = '<joint name="w" type="fixed"><parent link="world"/><child link="base"/><origin xyz="1 2 3"/></joint>'
    path = written(tmp_path, f'<robot name="r">{one_link("world", ball)}{one_link("base")}{weld}</robot>')
    m = lw.load(path)
    assert (m.nv, m.frames.names) == (0, ("world", "base"))
    assert [item.shape for item in m.bodies["world"].geometry] == [lw.Sphere(1)]
    (message,) = warned(path, floating=True)
    assert "'world_link'" in message
    m = load_without_warnings(path, floating=True)
    assert m.bodies.names == ("world", "world_link")
    assert m.mass == 2.0


def test_existing_joint_named_root_joint_keeps_its_name(tmp_path: Path) -> None:
    ends = '<parent link="a"/><child link="b"/>'
    joint = f'<joint name="root_joint" type="continuous">{ends}</joint>'
    m = lw.load(written(tmp_path, f'<robot name="r">{one_link("a")}{one_link("b")}{joint}</robot>'), floating=True)
    assert m.joints.names == ("root_joint_", "root_joint")


# --- doubtful inertias ---


def inertia(*moments: float, mass: float = 1.0) -> str:
    xx, yy, zz = moments
    six = f'ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"'
    return f'<inertial><mass value="{mass}"/><inertia {six}/></inertial>'


def welded(part: str, type_: str = "fixed") -> str:
    """A valid body on a hinge, and a part of it on line 4."""
    return f"""<robot name="r"><link name="base"/>
<joint name="hinge" type="continuous"><parent link="base"/><child link="body"/></joint>
<link name="body">{inertia(1, 1, 1)}</link>
<link name="part">{part}</link>
<joint name="glue" type="{type_}"><parent link="body"/><child link="part"/></joint></robot>"""


DOUBTFUL = {
    "triangle inequality": inertia(0.1, 0.1, 1),
    "each must be >= 0": inertia(0.1, 0.1, -0.1),
    "a body without mass must have zero inertia": inertia(0.1, 0.1, 0.1, mass=0),
}


@pytest.mark.parametrize("reason", DOUBTFUL)
def test_doubtful_part_of_a_valid_body_is_warned_about_by_name(tmp_path: Path, reason: str) -> None:
    path = written(tmp_path, welded(DOUBTFUL[reason]))
    (message,) = warned(path)
    assert f'{path}:4: <link name="part">: ' in message
    assert reason in message
    d = lw.compile(load_without_warnings(path), target="numpy")
    ixx = 1 + float(DOUBTFUL[reason].split('ixx="')[1].split('"')[0])
    assert d.mass_matrix(np.zeros(1)) == pytest.approx(np.array([[ixx]]))


def test_body_with_negative_inertia_is_rejected(tmp_path: Path) -> None:
    path = written(tmp_path, welded(inertia(0.1, 0.1, -1.5)))
    with pytest.raises(
        lw.ModelError, match=r':4: <link name="part">: .*-1.5 < 0; body \'body\', into which it is welded, is also'
    ):
        lw.load(path)
    with pytest.raises(lw.ModelError, match="each must be >= 0"):
        lw.load(written(tmp_path, welded(inertia(0.1, 0.1, -0.1), "continuous")))


def test_violated_triangle_inequality_of_a_moving_link_is_a_warning(tmp_path: Path) -> None:
    (message,) = warned(written(tmp_path, welded(inertia(0.1, 0.1, 1), "continuous")))
    assert "triangle inequality" in message


def test_massless_frames_give_no_warning(tmp_path: Path) -> None:
    assert not find_faults(written(tmp_path, welded("")))
    assert not find_faults(written(tmp_path, welded(inertia(0, 0, 0, mass=0))))


def test_robot_with_doubtful_inertia_can_vary_its_parameters(tmp_path: Path) -> None:
    m = load_without_warnings(written(tmp_path, welded(inertia(0.1, 0.1, 1))))
    assert m.with_parameters({"body.mass": 3.0}).mass == 4.0
    with pytest.raises(lw.ModelError, match="triangle"):
        m.with_parameters({"part.mass": 3.0})


def test_ignored_parts_of_a_urdf_are_reported(tmp_path: Path) -> None:
    text = welded(inertia(1, 1, 1) + "<visual/>", "prismatic").replace('name="r"', "")
    assert [message.split(": ", 2)[1:] for message in warned(written(tmp_path, text))] == [
        ["<robot>", "the robot has no name; the name of the file, 'robot', is used"],
        [
            '<visual> of <link name="part">',
            "there is no supported shape (box, cylinder, sphere, capsule, mesh); the element is ignored",
        ],
        ['<joint name="glue">', "a prismatic joint without <limit> is treated as unlimited"],
    ]


def test_number_of_warnings_about_a_urdf_is_limited(tmp_path: Path) -> None:
    messages = warned(written(tmp_path, chain(151).replace(LIMIT, "")))
    assert len(messages) == 101
    assert messages[-1].endswith("there are 50 more warnings")


# --- mimics ---


def chain_with_mimics(*mimics: str) -> str:
    """A chain of hinges j0, j1, ... with these mimics."""
    text = chain(len(mimics) + 1)
    for k, mimic in enumerate(mimics):
        text = text.replace(f'<joint name="j{k}" type="revolute">', f'<joint name="j{k}" type="revolute">{mimic}')
    return text


def test_mimic_joints_are_coupled_or_can_be_independent(tmp_path: Path) -> None:
    path = written(tmp_path, chain_with_mimics("", '<mimic joint="j0" multiplier="-2" offset="0.5"/>'))
    m = lw.load(path)
    assert (m.nq, m.nv) == (1, 1)
    assert m.joints["j1"].v == m.joints["j0"].v
    assert m.mimics["j1"] == Mimic("j1", "j0", -2.0, 0.5)
    apart = lw.load(path, mimic=False)
    assert apart.nv == 2
    poses = lw.compile(m, target="numpy").poses([0.3])
    assert np.allclose(poses, lw.compile(apart, target="numpy").poses([0.3, -0.1]), atol=1e-15)
    assert not find_faults(path)


def test_mimic_of_a_missing_joint_loads_with_independent_joints(tmp_path: Path) -> None:
    path = written(
        tmp_path, ARM.replace('</joint>\n  <joint name="glue"', '<mimic joint="gone"/></joint>\n  <joint name="glue"')
    )
    with pytest.raises(lw.ModelError, match=r"there is no joint 'gone'.*; load a file with mimic=False"):
        lw.load(path)
    assert content_of(load_without_warnings(path, mimic=False)) == content_of(arm_by_builder())


def test_chain_of_mimics_refers_to_the_independent_joint() -> None:
    b = lw.Builder().mimic("c", "b", 2.0, 0.5).mimic("b", "a", -3.0, 0.25).mimic("d", "c", 1.0, 1.0)
    assert b.mimics == {
        "b": Mimic("b", "a", -3.0, 0.25),
        "c": Mimic("c", "a", -6.0, 1.0),
        "d": Mimic("d", "a", -6.0, 2.0),
    }


def test_long_chain_of_mimics_takes_linear_time() -> None:
    b = lw.Builder()
    for k in range(20_000):
        b.mimic(f"j{k}", f"j{k + 1}", -1.0)
    mimics, work = count_calls(lambda: b.mimics)
    assert mimics["j0"] == Mimic("j0", "j20000", 1.0, 0.0)
    assert work < 20 * 20_000


@pytest.mark.parametrize(
    ("act", "says"),
    [
        (lambda b: b.mimic("j", "k").mimic("j", "x"), "already mimics joint 'k'"),
        (lambda b: b.mimic("j", "k", multiplier=np.nan), "multiplier must be finite"),
        (lambda b: b.mimic("", "k"), "must be a nonempty string"),
        (lambda b: b.geometry("link", "box"), r"lw.Box\(\(1, 1, 1\)\)"),
        (lambda b: b.geometry("link", lw.Sphere(1), role="seen"), "visual, collision; got 'seen'"),
        (lambda b: b.geometry("link", lw.Sphere(1), color=(1, 2, 3, 4)), "from 0 to 1"),
        (lambda b: b.geometry("lnk", lw.Sphere(1)).build(), "Did you mean 'link'"),
        (lambda b: lw.Box((1, 2)), "size must be 3 finite numbers"),
        (lambda b: lw.Capsule(1, np.inf), "length must be a finite number"),
        (lambda b: lw.Mesh("a.stl", scale="x"), "scale must be 3 finite numbers"),  # pyright: ignore
    ],
)
def test_invalid_mimics_are_rejected(act: Any, says: str) -> None:
    b = lw.Builder().body("link", mass=1, inertia=(1, 1, 1)).joint("j", lw.Revolute(), "world", "link")
    with pytest.raises(lw.ModelError, match=says):
        act(b)


# --- meshes ---


def with_meshes(*files: str) -> str:
    shapes = "".join(f'<visual><geometry><mesh filename="{file}"/></geometry></visual>' for file in files)
    return f'<robot name="r"><link name="base">{shapes}</link></robot>'


def paths_of(m: lw.Mechanism) -> list[Path | None]:
    return [item.shape.path for body in m.bodies for item in body.geometry if isinstance(item.shape, lw.Mesh)]


def test_meshes_are_found_below_the_model_and_in_packages(tmp_path: Path) -> None:
    here = written(tmp_path, "", "ws/robot_description/urdf/meshes/a.stl")
    beside = written(tmp_path, "", "ws/robot_description/meshes/b.stl")
    other = written(tmp_path, "", "elsewhere/other_description/c.stl")
    files = ["meshes/a.stl", "package://robot_description/meshes/b.stl", "package:///robot_description/meshes/b.stl"]
    path = written(tmp_path, with_meshes(*files), "ws/robot_description/urdf/robot.urdf")
    assert paths_of(lw.load(path)) == [here, beside, beside]
    linked = tmp_path / "linked.urdf"
    linked.symlink_to(path)
    assert paths_of(lw.load(linked)) == [here, beside, beside]
    path = written(tmp_path, with_meshes("package://other_description/c.stl"), path.name)
    for packages in (tmp_path / "elsewhere", [str(tmp_path / "elsewhere" / "other_description")]):
        assert paths_of(lw.load(path, packages=packages)) == [other]
    path = written(tmp_path, with_meshes("../meshes/b.stl"), "ws/robot_description/urdf/robot.urdf")
    assert paths_of(lw.load(path, packages=beside.parent.parent)) == [beside]


@pytest.mark.parametrize("source", ["$(find other)/c.stl", "$(find  other )/c.stl", "package://other/c.stl"])
def test_meshes_of_a_urdf_are_found_by_package_name(tmp_path: Path, source: str) -> None:
    mesh = written(tmp_path, "", "elsewhere/other/c.stl")
    path = written(tmp_path, with_meshes(source))
    assert paths_of(lw.load(path, packages=tmp_path / "elsewhere")) == [mesh]


def test_missing_meshes_of_a_urdf_give_one_warning(tmp_path: Path) -> None:
    path = written(tmp_path, with_meshes("a.stl", "package://nowhere/b.stl", "a.stl"))
    (message,) = warned(path)
    assert "meshes not found: a.stl, package://nowhere/b.stl" in message
    assert "packages=(...)" in message
    assert paths_of(load_without_warnings(path)) == [None] * 3


HOSTILE = [
    "../secret.stl",
    "a/../../secret.stl",
    "package://robot/../secret.stl",
    "package://../secret.stl",
    "$(find ..)/secret.stl",
    "$(find robot)/../secret.stl",
    "$(find robot",
    "/etc/passwd",
    "//host/share/a.stl",
    "file:///etc/passwd",
    "http://127.0.0.1:9/a.stl",
    "https://example.org/a.stl",
    "C:\\secret.stl",
    "\\\\host\\share\\a.stl",
    "link.stl",
    "a" * 190,
]


@pytest.mark.parametrize("file", HOSTILE)
def test_meshes_outside_the_allowed_folders_are_never_opened(tmp_path: Path, file: str) -> None:
    secret = written(tmp_path, "", "secret.stl")
    path = written(tmp_path, with_meshes(file), "robot/model.urdf")
    (path.parent / "link.stl").symlink_to(secret)
    (message,) = warned(path)
    assert "not loaded" in message or "not found" in message
    assert paths_of(load_without_warnings(path)) == [None]
    assert len(message) < 1000


# --- xacro ---


def test_xacro_is_expanded_or_the_error_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "<robot/>", "arm.urdf.xacro")
    monkeypatch.setitem(sys.modules, "xacro", None)
    with pytest.raises(lw.ModelError, match=r"`xacro arm.urdf.xacro > arm.urdf` first"):
        lw.load(path)
    document = types.SimpleNamespace(toxml=lambda: ARM)
    monkeypatch.setitem(sys.modules, "xacro", types.SimpleNamespace(process_file=lambda path: document))
    assert content_of(load_without_warnings(path)) == content_of(arm_by_builder())
    monkeypatch.setitem(sys.modules, "xacro", types.SimpleNamespace(process_file=lambda path: 1 / 0))
    with pytest.raises(lw.ModelError, match="xacro cannot expand it: division by zero"):
        lw.load(path)


def test_xacro_expansion_finds_files_in_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def not_installed(name: str) -> str:
        raise ModuleNotFoundError(name)

    resolver: Any = types.ModuleType("xacro.substitution_args")
    resolver._eval_find = not_installed
    expander: Any = types.ModuleType("xacro")
    expander.process_file = lambda path: types.SimpleNamespace(
        toxml=lambda: f"<robot name={resolver._eval_find('arm')!r}><link name='base'/></robot>"
    )
    monkeypatch.setitem(sys.modules, "xacro", expander)
    monkeypatch.setitem(sys.modules, "xacro.substitution_args", resolver)
    path = written(tmp_path, "<robot/>", "arm.xacro")
    (tmp_path / "ws" / "arm").mkdir(parents=True)
    assert lw.load(path, packages=tmp_path / "ws").name == str(tmp_path / "ws" / "arm")
    with pytest.raises(lw.ModelError, match=r"packages of \$\(find \.\.\.\) were not found: arm; .* packages="):
        lw.load(path)
    assert resolver._eval_find is not_installed
