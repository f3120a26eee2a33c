"""Contacts of URDF models as solids: with contacts=True, the collision shapes of the links touch each other."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

import linkwork as lw
from linkwork.model.solid_separation import overlaps

INERTIAL = '<inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def link(name: str, *shapes: str) -> str:
    return f'<link name="{name}">{INERTIAL}{"".join(shapes)}</link>'


def shape(inside: str, at: str = "0 0 0", name: str = "") -> str:
    return f'<collision {name and f"name={name!r}"}><origin xyz="{at}"/><geometry>{inside}</geometry></collision>'


def ball(at: str = "0 0 0", name: str = "") -> str:
    return shape('<sphere radius="0.1"/>', at, name)


def joint(kind: str, parent: str, child: str, at: str = "0 0 0.3") -> str:
    limit = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
    ends = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{at}"/><axis xyz="0 1 0"/>'
    return f'<joint name="to {child}" type="{kind}">{ends}{limit}</joint>'


def loaded(folder: Path, inside: str, **options: Any) -> tuple[lw.Mechanism, list[str]]:
    path = folder / "robot.urdf"
    path.write_text(f'<robot name="r">{inside}</robot>', encoding="utf-8")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        m = lw.load(path, contacts=True, **options)
    return m, [str(one.message) for one in caught]


def pairs(m: lw.Mechanism) -> set[str]:
    return {" and ".join(sorted((pair.first.name, pair.second.name))) for pair in m.solid_pairs}


CHAIN = (
    link("a", ball()) + link("b", ball()) + link("c", ball()) + link("d", ball())
    + joint("revolute", "a", "b") + joint("revolute", "b", "c") + joint("revolute", "c", "d")
)  # fmt: skip


@pytest.mark.parametrize("floating", [False, True])
def test_collision_shapes_of_urdf_links_touch_except_for_parent_and_child(floating: bool, tmp_path: Path) -> None:
    """Also if the parent is fixed to the world."""
    m, said = loaded(tmp_path, CHAIN, floating=floating)
    assert said == []
    assert pairs(m) == {"a and c", "a and d", "b and d"}
    assert not m.surfaces


def test_welded_links_count_as_one_body(tmp_path: Path) -> None:
    welded = CHAIN + link("tip", ball("0 0 0.3")) + joint("fixed", "d", "tip", "0 0 0.3")
    m, _ = loaded(tmp_path, welded)
    assert pairs(m) == {"a and c", "a and d", "b and d", "a and tip", "b and tip"}


def test_pairs_that_overlap_in_the_neutral_position_are_excluded_and_named(tmp_path: Path) -> None:
    m, said = loaded(tmp_path, CHAIN.replace("0 0 0.3", "0 0 0.09"))
    assert pairs(m) == {"a and d"}
    assert len(said) == 1
    assert "pairs of shapes that overlap in the neutral position: a on c, b on d" in said[0]


def test_a_urdf_without_pairs_of_collision_shapes_gives_a_warning(tmp_path: Path) -> None:
    m, said = loaded(tmp_path, link("a", ball()) + link("b", ball()) + joint("revolute", "a", "b"))
    assert "no two links have collision shapes that could touch" in said[0]
    assert not m.collisions


def test_names_of_solids_loaded_from_urdf_are_unique(tmp_path: Path) -> None:
    """Several shapes of a link, equal names, names of links and of joints."""
    far = link("c", ball("2 0 0", "x"), ball("3 0 0", "a"))
    inside = (
        link("a", ball(), ball("0 0 0.1")) + link("b", ball("1 0 0", "x")) + far
        + joint("revolute", "a", "b") + joint("revolute", "b", "c")
    )  # fmt: skip
    m, said = loaded(tmp_path, inside.replace("to b", "contacts"))
    assert said == []
    assert m.collisions.names == ("contacts_",)
    assert pairs(m) == {"a 1 and x_", "a 1 and a_", "a 2 and x_", "a 2 and a_"}


def test_a_free_link_touches_its_parent(tmp_path: Path) -> None:
    """A URDF has free bodies only as children of a floating joint."""
    m, said = loaded(tmp_path, link("table", ball()) + link("cup", ball()) + joint("floating", "table", "cup"))
    assert said == []
    assert pairs(m) == {"cup and table"}


# --- meshes ---


def tetrahedron(folder: Path) -> None:
    (folder / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\n")


def mesh(file: str) -> str:
    return shape(f'<mesh filename="{file}" scale="0.2 0.1 0.1"/>', "1 0 0")


def test_meshes_of_urdf_links_become_convex_hulls(tmp_path: Path) -> None:
    tetrahedron(tmp_path)
    m, said = loaded(tmp_path, CHAIN.replace(ball(), mesh("a.obj"), 1))
    assert said == []
    first = next(one for pair in m.solid_pairs for one in (pair.first, pair.second) if one.name == "a")
    assert isinstance(first.shape, lw.Hull)
    assert sorted(map(tuple, first.shape.points)) == [
        (0.0, 0.0, 0.0),
        (0.0, 0.0, 0.1),
        (0.0, 0.1, 0.0),
        (0.2, 0.0, 0.0),
    ]


FLAT = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\n"


@pytest.mark.parametrize(("file", "text"), [("missing.stl", None), ("flat.obj", FLAT)])
def test_meshes_without_a_hull_are_left_out_and_named(file: str, text: str | None, tmp_path: Path) -> None:
    if text:
        (tmp_path / file).write_text(text)
    m, said = loaded(tmp_path, CHAIN.replace(ball(), mesh(file), 1))
    assert len([text for text in said if "meshes that cannot be read or have no volume: a (" in text]) == 1
    assert pairs(m) == {"b and d"}


@pytest.mark.slow
def test_a_loaded_robot_with_a_floor_in_its_document_lands_on_it(tmp_path: Path) -> None:
    tetrahedron(tmp_path)
    damped = CHAIN.replace("</joint>", '<dynamics damping="20"/></joint>')
    m, _ = loaded(tmp_path, damped.replace(ball(), mesh("a.obj"), 1), floating=True)
    lw.save(m, tmp_path / "robot.toml")
    document = (tmp_path / "robot.toml").read_text()
    (tmp_path / "scene.toml").write_text(document + '[surfaces.floor]\nshape = "plane"\n')
    scene = lw.load(tmp_path / "scene.toml")
    assert pairs(scene) == pairs(m) | {f"{name} and floor" for name in "abcd"}
    q = scene.neutral()
    q[2] = 0.2
    run = lw.simulate(scene, q, duration=2.0, dt=2e-3, contact="rigid", record=("q", "v", "contact.force"))
    on_floor = [k for k, name in enumerate(scene.contact_names) if "floor" in name]
    pushed = 2e-3 * run["contact.force"][1:, on_floor, 2].sum()
    momentum = lw.compile(scene, target="numpy").momentum(run.q[-1], run.v[-1])[2]
    assert abs(pushed - scene.mass * 9.81 * 2.0 - momentum) < 1e-3 * pushed
    assert all(one.depth < 1e-4 for q in run.q[::50] for one in overlaps(scene, scene.solid_pairs, q))
