"""URDF contacts: with contacts='ground', the collision shapes of moving links touch the plane z = 0."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.model.documents.mesh_vertices import mesh_vertices

INERTIAL = '<inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
BALL = '<collision name="{0} ball"><geometry><sphere radius="0.1"/></geometry></collision>'


def link(name: str, collision: str = BALL) -> str:
    return f'<link name="{name}">{INERTIAL}{collision.format(name)}</link>'


def joint(kind: str, parent: str, child: str) -> str:
    limit = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
    return f'<joint name="{child}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{limit}</joint>'


def loaded(folder: Path, inside: str, **options: Any) -> tuple[lw.Mechanism, list[str]]:
    path = folder / "robot.urdf"
    path.write_text(f'<robot name="r">{inside}</robot>', encoding="utf-8")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        m = lw.load(path, **options)
    return m, [str(one.message) for one in caught]


ARM = (
    link("base") + link("plate") + link("upper") + link("lower")
    + joint("fixed", "base", "plate") + joint("revolute", "plate", "upper") + joint("fixed", "upper", "lower")
)  # fmt: skip


def test_only_moving_links_touch_the_ground(tmp_path: Path) -> None:
    m, said = loaded(tmp_path, ARM, contacts="ground")
    assert said == []
    assert m.contacts.names == ("upper ball", "lower ball")
    m, said = loaded(tmp_path, ARM, contacts="ground", floating=True)
    assert said == []
    assert m.contacts.names == ("base ball", "plate ball", "upper ball", "lower ball")
    assert {one.against for one in m.contacts} == {("ground",)}


def test_a_single_floating_link_touches_the_ground(tmp_path: Path) -> None:
    m, _ = loaded(tmp_path, link("crate"), contacts="ground", floating=True)
    assert m.contacts.names == ("crate ball",)
    # MuJoCo's default softness: a depth of 0.44 mm under the weight of the robot
    depth = 2.0 * 9.81 / m.contacts[0].stiffness
    assert abs(depth - 0.1 * (0.95 * 0.02) ** 2 / 0.9**2 * 9.81) < 1e-12


def test_loading_a_urdf_without_contacts_gives_no_warning(tmp_path: Path) -> None:
    for contacts in (None, False):
        m, said = loaded(tmp_path, ARM, contacts=contacts)
        assert (said, len(m.contacts)) == ([], 0)


def test_a_urdf_without_moving_collision_shapes_gives_a_warning(tmp_path: Path) -> None:
    m, said = loaded(tmp_path, link("base"), contacts="ground")
    assert "no moving link has a collision shape with contact points" in said[0]
    assert not m.surfaces


def test_contacts_of_a_urdf_without_mass_have_no_stiffness(tmp_path: Path) -> None:
    massless = ARM.replace(INERTIAL, "")
    m, _ = loaded(tmp_path, massless, contacts="ground")
    assert {one.stiffness for one in m.contacts} == {0.0}


# --- meshes ---

OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvn 0 0 1\nf 1 2 3\n"
ASCII_STL = "solid s\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 2e-1 3\nendloop\nendfacet\n"


def mesh(file: str) -> str:
    return f'<collision name="m"><geometry><mesh filename="{file}" scale="2 1 1"/></geometry></collision>'


def test_vertices_of_mesh_files_in_text_format_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_text(OBJ)
    (tmp_path / "a.stl").write_text(ASCII_STL)
    assert mesh_vertices(tmp_path / "a.obj").tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert mesh_vertices(tmp_path / "a.stl").tolist() == [[0, 0, 0], [1, 0, 0], [0, 0.2, 3]]


def test_contacts_of_a_mesh_are_at_its_scaled_hull(tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_text(OBJ)
    m, said = loaded(tmp_path, link("crate", mesh("a.obj")), contacts="ground", floating=True)
    assert said == []
    places = sorted(one.at.pose.p.tolist() for one in m.contacts)
    assert places == [[0, 0, 0], [0, 0, 1], [0, 1, 0], [2, 0, 0]]


UNREADABLE: dict[str, bytes | None] = {
    "missing.stl": None,
    "scene.dae": b"<COLLADA/>",
    "empty.stl": b"",
    "cut.stl": b"\0" * 80 + b"\xff\xff\xff\x7f" + b"\0" * 50,
    "not numbers.obj": b"v a b c\n",
    "infinite.obj": b"v inf 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n",
    "flat.obj": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\n",
    "one point.obj": b"v 0 0 0\n",
    "no bytes.stl": b"\0" * 84,
    "other numbers.stl": b"\0" * 80 + np.array(1, "<u4").tobytes() + np.full(12, np.nan, "<f4").tobytes() + b"\0\0",
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_an_unreadable_mesh_of_a_urdf_gets_no_contacts_and_gives_a_warning(name: str, tmp_path: Path) -> None:
    data = UNREADABLE[name]
    if data is not None:
        (tmp_path / name).write_bytes(data)
    m, said = loaded(tmp_path, link("crate", mesh(name) + BALL), contacts="ground", floating=True)
    assert m.contacts.names == ("crate ball",)
    assert len([text for text in said if "contacts left out or approximated" in text and " m" in text]) == 1


def test_too_many_contacts_of_a_urdf_are_rejected(tmp_path: Path) -> None:
    crowd = '<collision><geometry><box size="1 1 1"/></geometry></collision>' * 126
    with pytest.raises(lw.ModelError, match="more than 1000 pairs of a contact point and a surface"):
        loaded(tmp_path, link("crate", crowd), contacts="ground", floating=True)
