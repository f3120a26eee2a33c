"""A document gives the same mechanism as the equivalent Builder calls; the schema has the same keys."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.evaluation.dynamics_kernels import mechanism_digest
from linkwork.model.documents.loading import document_schema, find_faults
from linkwork.model.documents.toml_writer import document_text

ARM = """
linkwork = 1
gravity = [0, 0, -1.62]

[bodies.upper]
mass = 2
com = [0, 0, 0.25]
inertia = [0.05, 0.05, 0.002]
geometry = [
    { shape = "cylinder", radius = 0.04, length = 0.5, at = [0, 0, 0.25], color = [0.2, 0.3, 0.8, 1] },
    { shape = "box", size = [0.1, 0.1, 0.5], role = "collision", rpy_deg = [0, 0, 45], name = "hull" },
]

[joints.shoulder]
kind = "revolute"
axis = [0, 1, 0]
parent = "world"
child = "upper"
at = [0, 0, 1]
rpy_deg = [0, 0, 90]
limits_deg = [-120, 120]
velocity_limit_deg = 180
rest_deg = 30
stiffness = 5

[bodies.slider]
mass = 1
inertia = [0.1, 0.1, 0.1, 0, 0, 0.01]

[joints.rail]
kind = "cylindrical"
axis = [0, 0, 2]
parent = "upper"
child = "slider"
rotation = [0, -1, 0, 1, 0, 0, 0, 0, 1]
limits = [[-0.5, -inf], 0.5]
armature = [0.1, 0.2]
rest = [0.1, 0]

[frames.tool]
body = "slider"
rpy = [0.1, 0.2, 0.3]

[world]
geometry = [{ shape = "sphere", radius = 1 }]

[keyframes.home]
positions = { shoulder = 0.5, rail = [0.1, 0.2] }
velocities = { rail = [1, 2] }

[loops.pin]
kind = "revolute"
axis = [0, 1, 0]
a = "slider"
b = "world"
at = [0, 0, 1]
rpy_deg = [0, 0, 90]
to = [1, 0, 0]
to_rpy = [0.1, 0.2, 0.3]

[loops.mesh]
kind = "gear"
teeth = -60
to_teeth = 18
axis = [0, 1, 0]
phase = 0.1
a = "slider"
b = "wheel"

[loops.rail]
kind = "rack"
radius = 0.2
a = "wheel"
b = "slider"

[loops.rod]
kind = "ball"
a = "slider"
b = "upper"
to_rpy_deg = [90, 0, 0]

[drives.motor]
ratios = { shoulder = 50, rail = [0, 2] }
gain = 3
bias = [1, 0, -0.1]
control_limits = [-1, inf]
force_limits = [-5, 6]

[clutches.shaft]
a = "shoulder"
b = "wheel"
ratio = -2
capacity = 10
engaged = true

[brakes.hold]
joint = "shoulder"

[bodies.wheel]
mass = 1
inertia = [1, 1, 1]

[joints.wheel]
kind = "revolute"
parent = "upper"
child = "wheel"

[springs.belt]
a = "slider"
b = "world"
at = [0, 0, 1]
to = [1, 0, 0]
stiffness = 200
damping = 3
length = 0.5

[springs.damper]
a = "world"
b = "upper"
damping = 1

[surfaces.ground]
shape = "plane"
at = [0, 0, -1]

[surfaces.step]
shape = "box"
size = [1, 1, 0.1]
body = "world"
rpy_deg = [0, 0, 45]

[contacts.tip]
body = "slider"
stiffness = 1e4

[contacts.heel]
body = "wheel"
at = [0, 0, 0.1]
radius = 0.02
against = ["step"]
stiffness = 1e4
damping = 10
tangential_stiffness = 1e3
tangential_damping = 5
friction = [0.8, 0.6]
rest_speed = 0.01
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "arm.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_document_keys_match_the_builder_arguments(tmp_path: Path) -> None:
    b = lw.Builder("arm", gravity=(0, 0, -1.62))
    b.body("upper", 2, (0, 0, 0.25), (0.05, 0.05, 0.002)).body("slider", 1, inertia=(0.1, 0.1, 0.1, 0, 0, 0.01))
    b.geometry("upper", lw.Cylinder(0.04, 0.5), (0, 0, 0.25), color=(0.2, 0.3, 0.8, 1))
    b.geometry("upper", lw.Box((0.1, 0.1, 0.5)), rpy=(0, 0, np.pi / 4), role="collision", name="hull")
    b.geometry("world", lw.Sphere(1))
    b.joint(
        "shoulder",
        lw.Revolute((0, 1, 0)),
        "world",
        "upper",
        (0, 0, 1),
        (0, 0, np.pi / 2),
        limits=np.radians([-120, 120]),
        velocity_limit=np.pi,
        rest=[np.radians(30)],
        stiffness=5,
    )
    b.joint(
        "rail",
        lw.Cylindrical((0, 0, 1)),
        "upper",
        "slider",
        rotation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]],
        limits=((-0.5, -np.inf), 0.5),
        armature=(0.1, 0.2),
        rest=(0.1, 0),
    )
    b.frame("tool", "slider", rpy=(0.1, 0.2, 0.3))
    add_other_elements(b)
    m = lw.load(written(tmp_path, ARM))
    assert document_text(m) == document_text(b.build())
    assert mechanism_digest(m) == mechanism_digest(b.build())
    assert m.name == "arm"  # after its file


def add_other_elements(b: lw.Builder) -> None:
    """Add the elements of the document other than bodies, joints, frames and shapes."""
    b.body("wheel", 1, inertia=(1, 1, 1)).joint("wheel", lw.Revolute(), "upper", "wheel")
    b.keyframe("home", {"shoulder": 0.5, "rail": (0.1, 0.2)}, {"rail": (1, 2)})
    pin = {"at": (0, 0, 1), "rpy": (0, 0, np.pi / 2), "to": (1, 0, 0), "to_rpy": (0.1, 0.2, 0.3)}
    b.close("pin", lw.Revolute((0, 1, 0)), "slider", "world", **pin)
    b.close("mesh", lw.Gear(-60, 18, (0, 1, 0), 0.1), "slider", "wheel").close("rail", lw.Rack(0.2), "wheel", "slider")
    b.close("rod", lw.Ball(), "slider", "upper", to_rotation=[[1, 0, 0], [0, 0, -1], [0, 1, 0]])
    limits = {"control_limits": (-1, np.inf), "force_limits": (-5, 6)}
    b.drive("motor", {"shoulder": 50, "rail": (0, 2)}, gain=3, bias=(1, 0, -0.1), **limits)
    b.clutch("shaft", "shoulder", "wheel", -2, 10, engaged=True).brake("hold", "shoulder")
    b.spring("belt", "slider", "world", (0, 0, 1), (1, 0, 0), stiffness=200, damping=3, length=0.5)
    b.spring("damper", "world", "upper", damping=1)
    b.surface("ground", lw.Plane(), at=(0, 0, -1)).surface("step", lw.Box((1, 1, 0.1)), rpy=(0, 0, np.pi / 4))
    b.touch("tip", "slider", stiffness=1e4, against=("ground", "step"))
    along = {"tangential_stiffness": 1e3, "tangential_damping": 5.0, "rest_speed": 0.01}
    heel = {"radius": 0.02, "stiffness": 1e4, "damping": 10.0, "friction": (0.8, 0.6)}
    b.touch("heel", "wheel", (0, 0, 0.1), against="step", **heel, **along)


def test_joints_of_a_document_are_numbered_in_the_order_of_the_file(tmp_path: Path) -> None:
    bodies = "".join(f"[bodies.{name}]\nmass = 1\ninertia = [1, 1, 1]\n" for name in "abc")
    joints = "".join(f'[joints.{name}]\nkind = "ball"\nparent = "world"\nchild = "{name}"\n' for name in "cab")
    m = lw.load(written(tmp_path, "linkwork = 1\n" + joints + bodies))
    assert m.joints.names == ("c", "a", "b")


def test_gravity_argument_of_load_overrides_the_document(tmp_path: Path) -> None:
    path = written(tmp_path, ARM)
    assert np.array_equal(lw.load(path).gravity, (0, 0, -1.62))
    assert np.array_equal(lw.load(path, gravity=(0, 0, 0)).gravity, (0, 0, 0))
    assert np.array_equal(lw.load(path, gravity=(0.0, 0.0, -9.81)).gravity, (0, 0, -9.81))
    assert np.array_equal(lw.load(written(tmp_path, "linkwork = 1")).gravity, (0, 0, -9.81))
    with pytest.raises(lw.ModelError, match="gravity must be 3 numbers"):
        lw.load(path, gravity=9.81)


def test_floating_argument_of_load_is_rejected_for_documents(tmp_path: Path) -> None:
    path = written(tmp_path, ARM)
    for floating in (True, False):
        with pytest.raises(lw.ModelError, match="a joint of kind 'free'"):
            lw.load(path, floating=floating)


def test_mimic_joints_of_a_document_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, ARM.replace("stiffness = 5", 'mimic = { of = "other", multiplier = -1 }'))
    assert [fault.element for fault in find_faults(path)] == ["joints.shoulder"]  # there is no such joint
    assert lw.load(path, mimic=False).nv == 4


def test_keyframes_of_a_document_are_read_and_their_faults_located(tmp_path: Path) -> None:
    path = written(tmp_path, ARM)
    m = lw.load(path)
    assert m.keyframes["home"].q[m.joints["shoulder"].q] == [0.5]
    assert m.keyframes["home"].v[m.joints["rail"].v].tolist() == [1.0, 2.0]
    path = written(tmp_path, ARM + "\n[keyframes.up.positions]\nshouldr = 0.5\nshoulder = 'up'\n")
    assert any(fault.element == "keyframes.up.positions.shoulder" for fault in find_faults(path))
    path = written(tmp_path, ARM + "\n[keyframes.up]\nvelocities = { shouldr = 0.5 }\n")
    with pytest.raises(lw.ModelError, match=r"keyframes.up.velocities.*Did you mean 'shoulder'"):
        lw.load(path)


def test_missing_meshes_and_doubtful_inertias_of_a_document_give_warnings(tmp_path: Path) -> None:
    text = ARM.replace('{ shape = "sphere", radius = 1 }', '{ shape = "mesh", source = "no.stl" }')
    path = written(tmp_path, text.replace("0.05, 0.002]", "0.2, 0.002]"))
    found = {fault.element: fault for fault in find_faults(path)}
    assert {fault.severity for fault in found.values()} == {"warning"}
    assert "no.stl" in found[""].reason
    assert "triangle inequality" in found["bodies.upper.inertia"].reason
    with pytest.warns(lw.ModelWarning):
        lw.load(path)


# --- the schema ---


def conforms(value: Any, schema: dict[str, Any], whole: dict[str, Any]) -> bool:
    """Whether a value conforms to a schema; supports the features that these schemas use."""
    if "$ref" in schema:
        return conforms(value, whole["$defs"][schema["$ref"].rsplit("/", 1)[1]], whole)
    if "anyOf" in schema:
        return any(conforms(value, choice, whole) for choice in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    match schema["type"]:
        case "object":
            properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
            return (
                isinstance(value, dict)
                and all(key in value for key in schema.get("required", ()))
                and all(
                    conforms(item, properties[key], whole)
                    if key in properties
                    else isinstance(others, dict) and conforms(item, others, whole)
                    for key, item in value.items()
                )
            )
        case "array":
            items = schema.get("prefixItems") or [schema["items"]] * len(value) if isinstance(value, list) else []
            return (
                isinstance(value, list)
                and schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
                and all(conforms(item, kind, whole) for item, kind in zip(value, items, strict=True))
            )
        case "string":
            return isinstance(value, str) and schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", 10**6)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
    raise AssertionError(schema)


@pytest.mark.parametrize("name", ["by hand", *(found.name for found in lw.examples())])
def test_documents_conform_to_the_schema(name: str) -> None:
    schema = json.loads(json.dumps(document_schema()))
    document = tomllib.loads(ARM if name == "by hand" else document_text(lw.example(name)))
    assert conforms(document, schema, schema)
    jsonschema = None if name != "by hand" else pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    if jsonschema:
        jsonschema.validate(document, schema)


def test_schema_rejects_invalid_documents() -> None:
    schema = document_schema()
    for wrong in ("mass = true", "mas = 2", "com = [0, 0]"):
        assert not conforms(
            tomllib.loads(ARM.replace("mass = 2", wrong).replace("com = [0, 0, 0.25]", "")), schema, schema
        )
    for old, new in (
        ('"cylindrical"', '"cylinder"'),
        ("linkwork = 1", ""),
        ("axis = [0, 1, 0]", "pitch = 1"),
        ('"ball"', '"free"'),
        ("engaged = true", "engaged = 1"),
        ("ratios = {", "ratio = {"),
        ("stiffness = 200", "stifness = 200"),
    ):
        assert old in ARM
        assert not conforms(tomllib.loads(ARM.replace(old, new)), schema, schema)


def test_schema_has_every_joint_kind_and_shape() -> None:
    tables = document_schema()["$defs"]
    for class_ in (
        lw.Revolute,
        lw.Prismatic,
        lw.Screw,
        lw.Cylindrical,
        lw.Universal,
        lw.Ball,
        lw.Planar,
        lw.Free,
        lw.Weld,
    ):
        assert tables[f"{class_.__name__}Joint"]["properties"]["kind"] == {"enum": [class_.__name__.lower()]}
        assert (f"{class_.__name__}Loop" in tables) == (class_ is not lw.Free)
    assert {f"{class_.__name__}Surface" for class_ in (lw.Plane, lw.Box, lw.Mesh)} <= set(tables)
    assert "pitch" in tables["ScrewJoint"]["properties"]
    assert tables["MeshGeometry"]["required"] == ["shape", "source"]
    assert "path" not in tables["MeshGeometry"]["properties"]
