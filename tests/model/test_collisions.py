"""Collisions: which solids can touch, errors, documents and parameters."""

from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw

CUBE = lw.Box((1.0, 1.0, 1.0))


def boxes(*names: str, floor: bool = True) -> lw.Builder:
    """Free boxes with collision shapes, and a floor."""
    b = lw.Builder("boxes", gravity=(0, 0, -9.81))
    for name in names:
        b.body(name, 1.0, inertia=(0.1, 0.1, 0.1)).joint(f"{name} moves", lw.Free(), "world", name)
        b.geometry(name, CUBE, role="collision")
    return b.surface("floor", lw.Plane()) if floor else b


def arm() -> lw.Builder:
    """Three links in a chain with collision shapes; the first one hangs on the world."""
    b = lw.Builder("arm")
    for k, name in enumerate(("upper", "lower", "hand")):
        parent = ("world", "upper", "lower")[k]
        b.body(name, 1.0, (0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
        b.joint(f"joint {k}", lw.Revolute((0, 1, 0)), parent, name, at=(0, 0, -1.0 if k else 2.0))
        b.geometry(name, lw.Capsule(0.1, 0.8), (0, 0, -0.5), role="collision")
    return b.surface("wall", lw.Plane(), rpy=(0, -np.pi / 2, 0), at=(1, 0, 0))


def pairs(m: lw.Mechanism) -> set[frozenset[str]]:
    """The names of both solids of all pairs that can touch."""
    return {frozenset((pair.first.name, pair.second.name)) for pair in m.solid_pairs}


def both(*names: str) -> set[frozenset[str]]:
    """The set of pairs "a b", each written as one word."""
    return {frozenset(name.split()) for name in names}


def test_all_solids_can_touch_by_default() -> None:
    assert pairs(boxes("a", "b").collide("all").build()) == both("a b", "a floor", "b floor")


def test_bodies_that_a_joint_connects_do_not_touch_unless_one_is_the_world() -> None:
    assert pairs(arm().collide("all").build()) == both("upper hand", "upper wall", "lower wall", "hand wall")


def test_explicit_pairs_of_a_collision_may_name_connected_bodies() -> None:
    assert pairs(arm().collide("one", pairs=[("upper", "lower")]).build()) == both("upper lower")


def test_bodies_that_a_loop_connects_do_not_touch() -> None:
    b = arm().close("pin", lw.Ball(), "upper", "hand", at=(0, 0, -1), to=(0, 0, -1))
    assert pairs(b.collide("all", exclude=[("wall", "hand")]).build()) == both("upper wall", "lower wall")


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"solids": ["a", "b"]}, both("a b")),
        ({"solids": "a", "against": ["floor", "c"]}, both("a floor", "a c")),
        ({"exclude": [("floor", "a"), ("b", "c")]}, both("a b", "a c", "b floor", "c floor")),
        ({"pairs": [("c", "floor"), ("a", "b")]}, both("c floor", "a b")),
        ({"solids": ["world"], "against": ["a"]}, both("a floor")),
    ],
)
def test_arguments_of_collide_select_the_solid_pairs(given: dict[str, object], wanted: set[frozenset[str]]) -> None:
    assert pairs(boxes("a", "b", "c").collide("some", **given).build()) == wanted


def test_several_collision_shapes_of_a_body_are_numbered_or_named() -> None:
    b = boxes("a").geometry("a", lw.Sphere(0.2), (0, 0, 1), role="collision", name="head")
    b.geometry("a", lw.Sphere(0.1), (0, 0, 2), role="collision").geometry("a", CUBE)
    m = deepcopy(b).collide("all").build()
    assert pairs(m) == {frozenset(("a 1", "floor")), frozenset(("head", "floor")), frozenset(("a 3", "floor"))}
    named = b.collide("all", exclude=[("head", "floor")]).collide("head only", ["head"], ["floor"]).build()
    assert [pair.collision.name for pair in named.solid_pairs].count("head only") == 1
    assert pairs(named) == pairs(m)


def test_several_collisions_have_different_force_laws() -> None:
    b = boxes("a", "b").collide("ice", "a", "floor", friction=0.01).collide("rubber", ["a", "b"], friction=(1.2, 1.0))
    m = b.build()
    assert [(pair.collision.name, pair.collision.friction) for pair in m.solid_pairs] == [
        ("ice", (0.01, 0.01)),
        ("rubber", (1.2, 1.0)),
    ]


@pytest.mark.parametrize("second", [{"solids": "a", "against": "floor"}, {"pairs": [("floor", "a")]}, {}])
def test_a_pair_of_solids_in_two_collisions_is_an_error(second: dict[str, object]) -> None:
    b = boxes("a", "b").collide("ice", ["a", "floor"], friction=0.01).collide("rubber", **second)
    message = r"collision 'rubber': the pair 'a on floor' is also in collision 'ice'.*exclude=\[\('a', 'floor'\)\]"
    with pytest.raises(lw.ModelError, match=message):
        b.build()


def test_two_equal_shapes_of_one_body_are_separate_solids() -> None:
    b = boxes("a", "b").geometry("a", CUBE, role="collision")
    m = b.collide("first", pairs=[("a 1", "b")]).collide("second", pairs=[("a 2", "b")]).build()
    assert [pair.collision.name for pair in m.solid_pairs] == ["first", "second"]


def test_contact_points_are_named_by_pair_and_number() -> None:
    m = boxes("a").touch("corner", "a", (0, 0, -0.5)).collide("all").build()
    assert m.contact_names == ("corner", "a on floor 1", "a on floor 2", "a on floor 3", "a on floor 4")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"solids": ["a", "flor"]}, "there is no solid 'flor'.*floor"),
        ({"exclude": [("a", "x")]}, "exclude: there is no solid 'x'"),
        ({"exclude": ["a"]}, r"exclude must be pairs of names, as in \[\(\"arm\", \"hand\"\)\]; got \['a'\]"),
        ({"solids": "a", "against": "a"}, "there are no two solids that could touch"),
        ({"friction": -0.1}, "friction"),
        ({"friction": (0.1, 0.2)}, "friction"),
        ({"damping": 10.0}, "need a stiffness"),
        ({"stiffness": 0.0}, "stiffness must be > 0"),
        ({"restitution": 1.5}, "restitution"),
        ({"dissipation": 1.0, "stiffness": 1e5}, "must have a tangential_stiffness"),
    ],
)
def test_invalid_collisions_are_rejected(given: dict[str, object], message: str) -> None:
    with pytest.raises(lw.ModelError, match=message):
        boxes("a", "b").collide("bad", **given).build()


def test_a_mesh_is_rejected_as_a_solid_of_a_collision() -> None:
    b = boxes("a").geometry("a", lw.Mesh("a.stl"), role="collision")
    with pytest.raises(lw.ModelError, match=r"its solid 'a 2' is a mesh.*lw\.Hull"):
        b.collide("all").build()


def test_too_many_pairs_of_solids_are_rejected() -> None:
    b = boxes(*(f"box {k}" for k in range(64)))
    with pytest.raises(lw.ModelError, match="its 2080 pairs of solids are more than 2000"):
        b.collide("all").build()


def test_collisions_are_restored_from_saved_documents(tmp_path: Path) -> None:
    b = boxes("a", "b").collide("stack", "a", ["floor", "b"], exclude=[("a", "b")], friction=(0.5, 0.4), stiffness=1e5)
    m = b.collide("named", pairs=[("a", "b")], restitution=0.3).build()
    lw.save(m, tmp_path / "m.toml")
    again = lw.load(tmp_path / "m.toml")
    assert pairs(again) == pairs(m)
    for one, two in zip(m.collisions, again.collisions, strict=True):
        assert one.fingerprint == two.fingerprint
    text = (tmp_path / "m.toml").read_text()
    assert "[collisions.stack]" in text
    assert "pairs = []" not in text


def test_force_law_parameters_of_collisions_can_vary() -> None:
    m = boxes("a").collide("ground", friction=0.5, stiffness=1e5).build()
    assert m.parameters["ground.friction"].tolist() == [0.5, 0.5]
    changed = m.with_parameters({"ground.stiffness": 2e5})
    assert changed.collisions["ground"].stiffness == 2e5
    with pytest.raises(lw.ModelError, match=r"ground\.friction"):
        m.with_parameters({"ground.friction": (-0.1, -0.2)})
