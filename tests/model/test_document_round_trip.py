"""A saved and loaded mechanism is bit-identical: values, names, numbering, limits, geometry and frames."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.evaluation.dynamics_kernels import mechanism_digest
from linkwork.model.documents.toml_schema import class_key
from linkwork.model.elements import Loop
from linkwork.model.named_collections import Named
from quick_test_selection import mark_slow_pairs
from random_mechanisms import MOVING_KINDS, tree, tree_with_mimics

TREES = 72
CLOSING = {
    "revolute": lw.Revolute((1, 1, 1)),
    "prismatic": lw.Prismatic(),
    "screw": lw.Screw(pitch=-0.02),
    "cylindrical": lw.Cylindrical((0, 1e-5, 1)),
    "universal": lw.Universal((1, 2, 3), (3, 2, 1)),
    "ball": lw.Ball(),
    "planar": lw.Planar(),
    "weld": lw.Weld(),
    "rod": lw.Rod(1 / 3),
    "line": lw.PointOnLine((1, 2, 3)),
    "ring": lw.Gear(17, -51, (1, 1, 1), phase=-1 / 3),
    "rack": lw.Rack(1 / 30, (0, 0, 1), (0.6, 0.8, 0), teeth=25),
    "rail": lw.Rack(0.1),
}
ROBOTS = (
    "panda_description/urdf/panda.urdf",
    "ur_description/urdf/ur5_robot.urdf",
    "talos_data/robots/talos_reduced.urdf",
    "anymal_b_simple_description/robots/anymal.urdf",
    "solo_description/robots/solo12.urdf",
    "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "icub_description/robots/icub.urdf",
    "kinova_description/robots/kinova.urdf",
    "hyq_description/robots/hyq_no_sensors.urdf",
    "baxter_description/urdf/baxter.urdf",
    "tiago_description/robots/tiago_dual.urdf",
    "allegro_hand_description/urdf/allegro_right_hand.urdf",
)


def content_of(thing: Any) -> Any:
    """Return the content of an object as nested plain data, floats as their bits; cached results are left out."""
    if isinstance(thing, np.ndarray):
        return thing.shape, thing.astype(float).tobytes()
    if isinstance(thing, float | np.floating):
        return np.float64(thing).tobytes()
    if isinstance(thing, Named):
        return thing.names, [content_of(item) for item in thing]
    if isinstance(thing, Mapping):
        return {key: content_of(item) for key, item in thing.items()}
    if is_dataclass(thing):
        return type(thing).__name__, {part.name: content_of(getattr(thing, part.name)) for part in fields(thing)}
    if isinstance(thing, list | tuple):
        return [content_of(item) for item in thing]
    return thing


def saved_and_loaded(m: lw.Mechanism, path: Path, **options: Any) -> lw.Mechanism:
    """The mechanism after saving and loading."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.ModelWarning)
        lw.save(m, path)
        return lw.load(path, **options)


def assert_same(m: lw.Mechanism, n: lw.Mechanism) -> None:
    assert content_of(m) == content_of(n)
    assert mechanism_digest(m) == mechanism_digest(n)
    for a, b in zip(m.joints, n.joints, strict=True):
        assert content_of(a.place) == content_of(b.place)
    for a, b in zip(m.bodies, n.bodies, strict=True):
        assert content_of(a.inertia) == content_of(b.inertia)
        assert content_of(a.geometry) == content_of(b.geometry)


@pytest.mark.parametrize("seed", range(0, TREES, 6))
def test_random_trees_with_mimic_joints_are_restored_from_saved_documents(seed: int, tmp_path: Path) -> None:
    m = tree_with_mimics(seed)
    assert_same(m, saved_and_loaded(m, tmp_path / "tree.toml"))


@pytest.mark.parametrize("seed", range(TREES))
def test_random_trees_are_restored_from_saved_documents(seed: int, tmp_path: Path) -> None:
    m = tree(seed)
    assert_same(m, saved_and_loaded(m, tmp_path / "tree.toml"))


def test_random_trees_have_every_joint_kind_and_welds() -> None:
    joints = [joint for seed in range(TREES) for joint in tree(seed).joints]
    assert {type(joint.kind).__name__.lower() for joint in joints} == set(MOVING_KINDS)
    assert any(joint.carrier != joint.parent for joint in joints)  # joints on welded parts
    assert any(len(body.parts) > 2 for seed in range(TREES) for body in tree(seed).bodies)


@pytest.mark.parametrize("name", [found.name for found in lw.examples()])
def test_examples_are_restored_from_saved_documents(name: str, tmp_path: Path) -> None:
    m = lw.example(name)
    assert_same(m, saved_and_loaded(m, tmp_path / "example.toml"))


def robots() -> Path:
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed (the extra 'peers')")
    folder = Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots"
    if not folder.is_dir():
        pytest.skip("the robots of example-robot-data are not installed (the extra 'peers')")
    return folder


@pytest.mark.parametrize(("name", "floating"), mark_slow_pairs(ROBOTS, [False, True]))
def test_published_robots_are_restored_from_saved_documents(name: str, floating: bool, tmp_path: Path) -> None:
    path = robots() / name
    if not path.is_file():
        pytest.skip(f"this release of example-robot-data has no {name}")
    packages = [robots(), robots().parent]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.ModelWarning)
        m = lw.load(path, floating=floating, mimic=not floating, packages=packages)
    assert_same(m, saved_and_loaded(m, tmp_path / "robot.toml", packages=packages))


def test_meshes_are_found_next_to_a_moved_document(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    (here / "part.stl").write_bytes(b"")
    (here / "robot.urdf").write_text(
        '<robot name="r"><link name="a"><visual><geometry><mesh filename="part.stl" scale="1 -1 0.5"/></geometry>'
        "</visual></link></robot>"
    )
    m = lw.load(here / "robot.urdf")
    assert_same(m, saved_and_loaded(m, here / "robot.toml"))
    shutil.copytree(here, there)
    mesh = lw.load(there / "robot.toml").bodies["world"].geometry[0].shape
    assert mesh == lw.Mesh("part.stl", Path(os.path.realpath(there / "part.stl")), (1.0, -1.0, 0.5))


def builder_with_all_arguments() -> lw.Builder:
    """A Builder with every argument of every method, and with names and values that are hard to write."""
    b = lw.Builder('a "quoted"\nname\t\\ \x7f\x00 größe', gravity=(-0.0, 1e-300, -9.81))
    shapes = (
        lw.Box((1, 2, 3)),
        lw.Sphere(0.1),
        lw.Cylinder(1 / 3, 2),
        lw.Capsule(0.1, 0.0),
        lw.Mesh("x.stl", None, (1, 1, -1)),
        lw.Plane(),
    )
    b.body("hull.of it", 2.0, com=(1e-17, -0.0, 5e-324), inertia=np.diag([1.0, 1.0, 1.0]))
    b.body("linkwork", 0.1, inertia=(1, 2, 2.5, -0.0, 0.1, 0.0))
    b.body("[x]", 1.0, inertia=(1, 1, 1))
    b.body("=", 0.0)
    b.body("#", 3.0, (1, 1, 1), (1e-5, 1e-5, 1e-30))
    for body, shape in zip(("world", "hull.of it", "linkwork", "=", "=", "world"), shapes, strict=True):
        for role in ("visual", "collision"):
            rotation = {"rpy": (1, 2, 3)} if role == "visual" else {"rotation": np.diag([1, -1, -1])}
            b.geometry(body, shape, (0.1, 0, 0), role=role, color=(0, 0.1, 1, 0.5), name="it's", **rotation)
        b.geometry(body, shape)
    numbers = {"armature": (0.1, 0.2), "damping": (1, 1), "stiffness": 0.3, "rest": (0.1, -0.2), "friction": (0, 1e-9)}
    b.joint("=", lw.Weld(), "linkwork", "=", (0.1, 0.2, 0.3), (0.1, 0.2, 0.3))
    b.joint(
        "first one",
        lw.Universal((1, 2, 3), (3, 2, 1)),
        "world",
        "hull.of it",
        (0, 0, 1e-13),
        (0, np.pi / 2, 0),
        **numbers,
        limits=((-1, -np.inf), (np.inf, 2)),
        velocity_limit=(1, np.inf),
        effort_limit=7,
    )
    b.joint("second", lw.Screw((1, 1, 1), pitch=-0.02), "hull.of it", "linkwork", rpy=(3.14159265359, 0, 1.2))
    b.joint("s", lw.Revolute((1, 1e-6, 0)), "=", "[x]", limits=(-np.inf, 0.0), rest=[-0.0], velocity_limit=0.0)
    b.joint("last", lw.Ball(), "=", "#", rest=(0.5, 0.5, 0.5, 0.5), rpy=(1e-11, 2e-12, 3e-13))
    b.body("wheel", 1.0, inertia=(1, 1, 1)).joint("first", lw.Prismatic(), "world", "wheel")
    b.frame("on world", "world", rpy=(0.3, 0, 0))
    b.frame("on part", "=", (1, 2, 3), (0.3, 0.2, 0.1))
    b.mimic("s", "second", -1 / 3, 1e-17)
    b.keyframe("at rest", {"last": (0.5, 0.5, -0.5, 0.5), "second": 0.1, "first one": (1 / 3, -0.0)})
    b.keyframe("neutral", {})
    b.keyframe("in motion", velocities={"last": (0.1, -0.0, 1 / 3), "second": -0.0, "s": 3.0})
    for name, kind in CLOSING.items():
        turns = {"rpy": (1, 2, 3), "to_rotation": np.diag([-1, -1, 1])} if name in ("screw", "weld") else {}
        b.close(f"by a {name}", kind, "=", "world", (1e-17, 0, 0), (0, -0.0, 1 / 3), **turns)
    b.close("plain", lw.Ball(), "#", "[x]")
    b.drive("all", {"first one": (0, 1), "second": -1 / 3, "s": 2, "last": (1, -0.0, 1)}, gain=0.0, bias=(1, 0, -0.0))
    limits = {"control_limits": (-np.inf, 0), "force_limits": (1, 1)}
    b.drive("servo", {"s": 1e-9}, gain=1 / 3, bias=(0, -1 / 3, -1e-300), **limits)
    b.clutch("usual", "s", "first")
    b.clutch("a.b c", "first", "s", -1e-300, 1 / 3, True)
    b.clutch("sum", {"first": 1, "s": 1 / 3}, {"s": -1e-300})
    b.brake("as usual", "s").brake("=", "first", 5e-324, True)
    b.ratchet("one way", "s").ratchet("sums", {"first": 1, "s": 1 / 3}, "s", -1e-300, 5e-324, False, -1)
    b.latch("at", "s", -0.0).latch("[latch]", "first", 1 / 3, "above", True)
    b.drive("motor", {"s": 1}, gear=-1 / 3, rotor_inertia=1e-300, efficiency=(1, 1 / 3), stall_torque=5e-324,
            no_load_speed=1 / 3)  # fmt: skip
    b.transmission("gears", "s", "first", (1 / 3, -7 / 3), 2).transmission("neutral", "first", "s", [1])
    b.couple("row", {"first one": (0, 1 / 3), "s": -1e-300}).couple("off", {"s": 1}, engaged=False)
    b.spring("usual", "#", "world").spring("stiffness", "=", "world", (0, -0.0, 1 / 3), stiffness=1e-300)
    b.spring("a.b c", "wheel", "[x]", to=(1e-17, 0, 1), stiffness=1 / 3, damping=0.1, length=5e-324)
    for k, shape in enumerate(shapes):
        b.surface(f"surface {k}", shape, ("world", "=")[k % 2], (0, 0, 1e-17), (0, 0, 0.3 * k))
    b.surface("hills", lw.HeightField((1 / 3, 2), [[0.0, -0.0, 1e-17], [1 / 3, 5e-324, -1]]), "=")
    b.touch("as usual", "#", stiffness=1e-300)
    b.touch("hard", "#", stiffness=1 / 3, tangential_stiffness=1e-300, dissipation=-0.0, against="hills")
    b.touch(
        "all",
        "=",
        (-0.0, 1e-17, 3),
        stiffness=1 / 3,
        damping=0.1,
        radius=0.2,
        against=("surface 2", "surface 0"),
        tangential_stiffness=2,
        tangential_damping=-0.0,
        friction=(1, 1 / 3),
        rest_speed=0.1,
        rolling=1e-17,
        spinning=5e-324,
    )
    return b


def test_all_builder_arguments_are_restored_from_saved_documents(tmp_path: Path) -> None:
    m = builder_with_all_arguments().build(strict=False)
    path = tmp_path / "all.toml"
    n = saved_and_loaded(m, path)
    assert_same(m, n)
    assert [len(body.parts) for body in m.bodies] == [1, 1, 2, 1, 1, 1]
    key, closing_kinds = class_key(Loop) or ("", {})
    assert key == "kind"
    own = {kind for kind in closing_kinds.values() if kind.__module__.startswith("linkwork")}  # not of other tests
    assert {type(loop.kind) for loop in m.loops} == own
    first = path.read_bytes()
    lw.save(n, path)
    assert path.read_bytes() == first


def test_mechanisms_with_changed_parameters_are_restored_from_documents(tmp_path: Path) -> None:
    m = lw.example("free_flyer")
    changed = m.with_parameters({"base.mass": 301.5, "left fore joint.at": (0.1, 0.2, 0.3), "gravity": (0, 0, -1.62)})
    assert_same(changed, saved_and_loaded(changed, tmp_path / "changed.toml"))


def test_springs_with_changed_parameters_are_restored_from_documents(tmp_path: Path) -> None:
    changed = (
        builder_with_all_arguments()
        .build(strict=False)
        .with_parameters({"usual.stiffness": 1 / 3, "a.b c.length": 2.0})
    )
    assert_same(changed, saved_and_loaded(changed, tmp_path / "changed.toml"))


def test_empty_mechanism_is_restored_from_a_saved_document(tmp_path: Path) -> None:
    m = lw.Builder("nothing").build()
    assert_same(m, saved_and_loaded(m, tmp_path / "nothing.toml"))


def test_hundreds_of_joints_are_restored_from_a_saved_document(tmp_path: Path) -> None:
    b = lw.Builder("chain")
    for k in range(300):
        b.body(f"b{k}", 1.0, (0.1, 0, 0), (1, 1, 1))
        b.joint(f"j{k}", lw.Revolute((0, 0.6, 0.8)), f"b{k - 1}" if k else "world", f"b{k}", (0.1, 0, 0), (0.1, 0.2, 0))
    m = b.build()
    assert_same(m, saved_and_loaded(m, tmp_path / "chain.toml"))
