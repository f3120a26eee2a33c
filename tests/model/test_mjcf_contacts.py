"""MJCF contacts: MuJoCo's collisions are reported; with contacts=True they become surfaces and contacts."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.model.documents.contact_points_of_shapes import HULL_POINTS, hull_points
from linkwork.model.documents.loading import find_faults
from linkwork.model.documents.mjcf_collisions import collisions, contact_parameters
from linkwork.model.documents.mujoco_compiler import Compiled
from mujoco_reference import mujoco, quiet

FLOOR = '<geom name="floor" type="plane" size="1 1 1"/>'
IGNORED = "but no contacts are loaded"


def written(folder: Path, world: str, rest: str = "") -> Path:
    path = folder / "model.xml"
    path.write_text(f"<mujoco>{rest}<worldbody>{world}</worldbody></mujoco>", encoding="utf-8")
    return path


def free(name: str, geom: str, at: str = "0 0 1") -> str:
    return f'<body name="{name}" pos="{at}"><freejoint/><geom name="{name}" {geom}/></body>'


def loaded(path: Path, **options: Any) -> tuple[lw.Mechanism, list[str]]:
    """The mechanism and the texts of all warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        m = lw.load(path, **options)
    return m, [str(one.message) for one in caught]


BALL = free("ball", 'size="0.1"')

# --- the warning ---


def test_an_mjcf_floor_that_is_not_loaded_gives_one_warning(tmp_path: Path) -> None:
    path = written(tmp_path, FLOOR + BALL + free("other", 'size="0.1"'))
    m, said = loaded(path)
    assert len(said) == 1
    assert "3 geoms collide in MuJoCo (3 pairs), but no contacts are loaded" in said[0]
    assert "load(path, contacts=True)" in said[0]
    assert not m.contacts
    assert [fault.severity for fault in find_faults(path)] == ["warning"]
    assert loaded(path, contacts=False)[1] == []


NO_COLLISION = {
    "masks": (FLOOR + free("ball", 'size="0.1" contype="0" conaffinity="0"'), ""),
    "masks without a common bit": (FLOOR + free("ball", 'size="0.1" contype="2" conaffinity="4"'), ""),
    "one geom": (BALL, ""),
    "geoms of one body": (BALL.replace("</body>", '<geom size="0.2"/></body>'), ""),
    "exclusion": (FLOOR + BALL, '<contact><exclude body1="world" body2="ball"/></contact>'),
    "contacts disabled": (FLOOR + BALL, '<option><flag contact="disable"/></option>'),
    "constraints disabled": (FLOOR + BALL, '<option><flag constraint="disable"/></option>'),
    "static geoms": (FLOOR + '<geom size="1"/>' + free("ball", 'size="0.1" contype="0" conaffinity="0"'), ""),
}


@pytest.mark.parametrize("name", NO_COLLISION)
def test_models_in_which_nothing_collides_load_without_a_warning(name: str, tmp_path: Path) -> None:
    _, said = loaded(written(tmp_path, *NO_COLLISION[name]))
    assert not [text for text in said if IGNORED in text]


def test_an_explicit_pair_collides_in_spite_of_masks_and_exclusions(tmp_path: Path) -> None:
    world = FLOOR + free("ball", 'size="0.1" contype="0" conaffinity="0" friction="0.2"')
    rest = (
        '<contact><pair geom1="ball" geom2="floor" friction="0.3 0.3 0.01 0.02 0.02" condim="6"/>'
        '<exclude body1="world" body2="ball"/></contact>'
    )
    path = written(tmp_path, world, rest)
    assert IGNORED in loaded(path)[1][0]
    m, said = loaded(path, contacts=True)
    assert said == []
    ball = m.contacts["ball"]
    assert (tuple(ball.friction), ball.spinning, ball.rolling) == ((0.3, 0.3), 0.01, 0.02)


# --- MuJoCo's rules ---


def random_model(seed: int) -> str:
    """Overlapping spheres on static, welded, mocap and moving bodies, with random masks, pairs and exclusions."""
    rng = np.random.default_rng(seed)
    geoms: list[str] = []
    bodies: list[str] = ["world"]

    def numbers(*x: float) -> str:
        return " ".join(f"{one:.4f}" for one in x)

    def geom(kind: str = "sphere") -> str:
        geoms.append(name := f"g{len(geoms)}")
        contact = f'contype="{rng.integers(4)}" conaffinity="{rng.integers(4)}" condim="{rng.choice([1, 3, 4, 6])}"'
        mix = f'priority="{rng.integers(2)}" solmix="{rng.choice([0.0, 1.0, 2.0])}"'
        solref = rng.uniform(0.01, 0.1, 2) if rng.random() < 0.7 else -rng.uniform(100, 1000, 2)
        solimp = [*np.sort(rng.uniform(0.1, 0.9, 2)), 0.001, 0.5, 2.0]
        soft = f'solref="{numbers(*solref)}" solimp="{numbers(*solimp)}" friction="{numbers(*rng.uniform(0.1, 1, 3))}"'
        place = f'pos="{numbers(*rng.normal(size=3) * 0.01)}"' if kind == "sphere" else ""
        return f'<geom name="{name}" type="{kind}" size="1 1 1" mass="1" {contact} {mix} {soft} {place}/>'

    def body(depth: int) -> str:
        bodies.append(name := f"b{len(bodies)}")
        joint = ["", "<joint/>", '<joint type="ball"/>'][rng.integers(3)]
        mocap = 'mocap="true"' if depth == 0 and not joint and rng.random() < 0.5 else ""
        below = "".join(body(depth + 1) for _ in range(rng.integers(0, 3))) if depth < 3 else ""
        inside = "".join(geom() for _ in range(rng.integers(1, 3)))
        return f'<body name="{name}" {mocap}>{joint}{inside}{below}</body>'

    world = geom("plane") + geom() + "".join(body(0) for _ in range(4))
    chosen: set[tuple[str, ...]] = {tuple(sorted(rng.choice(geoms, 2, replace=False))) for _ in range(6)}
    pairs = "".join(
        f'<pair geom1="{a}" geom2="{b}" condim="{rng.choice([1, 3, 4, 6])}" friction="0.3 0.3 0.1 0.2 0.2"/>'
        for a, b in sorted(chosen)
    )
    apart: set[tuple[str, ...]] = {tuple(sorted(rng.choice(bodies, 2, replace=False))) for _ in range(4)}
    excludes = "".join(f'<exclude body1="{a}" body2="{b}"/>' for a, b in sorted(apart))
    flag = f'<option><flag filterparent="{rng.choice(["enable", "disable"])}"/></option>'
    return f"<mujoco>{flag}<worldbody>{world}</worldbody><contact>{pairs}{excludes}</contact></mujoco>"


@pytest.mark.parametrize("seed", range(40))
def test_collisions_and_their_parameters_match_mujoco(seed: int) -> None:
    with quiet():
        model = mujoco.MjModel.from_xml_string(random_model(seed))
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
    c = Compiled(mujoco, model)
    every = [one for row in collisions(c) for one in row.collisions(np.ones(len(row.others), dtype=bool))]
    found = {(one.first, one.second): one for one in every}
    static = (model.body_treeid < 0)[model.geom_bodyid]
    weld = model.body_weldid[model.geom_bodyid]
    expected = {}
    for contact in data.contact:
        a, b = sorted((int(contact.geom1), int(contact.geom2)))
        if weld[a] != weld[b] and not (static[a] and static[b]):  # pairs that cannot move have no effect
            expected[a, b] = contact
    assert set(found) == set(expected)
    for at, contact in expected.items():
        given = contact_parameters(c, found[at])
        assert given.condim == contact.dim
        assert np.allclose(given.friction, contact.friction, rtol=1e-12, atol=1e-5)
        assert np.allclose(given.solref, contact.solref, rtol=1e-12)
        assert np.allclose(given.solimp, contact.solimp, rtol=1e-12)


def test_mjcf_option_override_replaces_all_contact_parameters(tmp_path: Path) -> None:
    rest = '<option o_friction="0.4 0.4 0 0 0"><flag override="enable"/></option>'
    m, _ = loaded(written(tmp_path, FLOOR + BALL, rest), contacts=True)
    assert tuple(m.contacts["ball"].friction) == (0.4, 0.4)


# --- shapes ---

POINTS = {  # shape: number of contacts, radius
    'type="sphere" size="0.1"': (1, 0.1),
    'type="ellipsoid" size="0.1 0.1 0.1"': (1, 0.1),
    'type="capsule" size="0.1 0.3"': (2, 0.1),
    'type="box" size="0.1 0.2 0.3"': (8, 0.0),
}


@pytest.mark.parametrize("geom", POINTS)
def test_lowest_contact_point_above_the_floor_matches_mujoco(geom: str, tmp_path: Path) -> None:
    """At any attitude of a turned and offset geom."""
    count, radius = POINTS[geom]
    turned = f'{geom} euler="20 30 40" pos="0.1 0.2 0.3" margin="9"'
    path = written(tmp_path, FLOOR + free("b", turned))
    m, said = loaded(path, contacts=True)
    assert (len(m.contacts), m.contacts[0].radius) == (count, radius)
    assert len([text for text in said if "margin and gap of b" in text]) == 1
    model = mujoco.MjModel.from_xml_path(str(path))
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    for _ in range(20):
        q = m.random(rng)
        q[:3] = 0.0, 0.0, 2.0
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        X = lw.compile(m, target="numpy").poses(q)[0]
        lowest = min((X[:3, :3] @ contact.at.pose.p + X[:3, 3])[2] - contact.radius for contact in m.contacts)
        assert abs(lowest - min(one.dist for one in data.contact)) <= 1e-6


def test_static_mjcf_geoms_become_surfaces(tmp_path: Path) -> None:
    shapes = '<geom name="{0}" type="{0}" size="1 2 3" pos="0 0 {1}"/>'
    world = "".join(shapes.format(kind, k) for k, kind in enumerate(("box", "sphere", "capsule", "cylinder")))
    held = '<body name="table" pos="1 0 0"><geom name="top" type="box" size="1 1 1" pos="0 0 5"/></body>'
    m, said = loaded(written(tmp_path, world + held + BALL), contacts=True)
    assert said == []
    assert [one.shape for one in m.surfaces] == [
        lw.Box((2, 4, 6)), lw.Sphere(1.0), lw.Capsule(1.0, 4.0), lw.Cylinder(1.0, 4.0), lw.Box((2, 2, 2)),
    ]  # fmt: skip
    assert m.surfaces["top"].place.pose.p.tolist() == [1.0, 0.0, 5.0]
    assert m.contacts["ball"].against == ("box", "sphere", "capsule", "cylinder", "top")


def test_height_field_has_the_heights_of_mujoco(tmp_path: Path) -> None:
    asset = '<asset><hfield name="h" nrow="2" ncol="3" size="1 2 0.5 0.1" elevation="0 0.1 0.2  0.3 0.4 1"/></asset>'
    world = '<geom name="hills" type="hfield" hfield="h"/>' + free("ball", 'size="0.01"')
    m, said = loaded(written(tmp_path, world, asset), contacts=True)
    assert said == []
    shape = m.surfaces["hills"].shape
    assert isinstance(shape, lw.HeightField)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "model.xml"))
    data, hit = mujoco.MjData(model), np.zeros(1, dtype=np.int32)
    mujoco.mj_forward(model, data)
    for (i, j), height in np.ndenumerate(np.array(shape.heights)):  # grid points, a little inside the edge
        x, y = 0.9999 * np.array([-1.0 + i, -2.0 + 4.0 * j])
        depth = mujoco.mj_ray(model, data, [x, y, 9.0], [0.0, 0.0, -1.0], None, 1, 1, hit)
        assert abs(9.0 - depth - height) < 1e-3


def test_hull_simplification_chooses_extreme_points_and_reports_its_error() -> None:
    points = np.random.default_rng(0).normal(size=(3000, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    found = hull_points(points)
    assert found is not None
    assert len(found.at) == HULL_POINTS
    directions = points[:500]
    missing = (points @ directions.T).max(axis=0) - (found.at @ directions.T).max(axis=0)
    assert 0.0 <= missing.max() <= 1.1 * found.error < 0.15
    assert hull_points(points * [1.0, 1.0, 0.0]) is None


# --- what is left out ---


def test_one_warning_names_all_contacts_that_are_left_out(tmp_path: Path) -> None:
    egg = free("egg", 'type="ellipsoid" size="1 2 3"', "9 0 9")
    box = free("box", 'type="box" size="1 1 1" margin="0.1"', "0 9 9")
    world = FLOOR + '<geom name="rock" type="ellipsoid" size="1 2 3"/>' + BALL + egg + box
    m, said = loaded(written(tmp_path, world), contacts=True)
    assert {pair.name for pair in m.solid_pairs} == {"ball_ on floor", "box_ on floor", "ball_ on box_"}
    left_out = [text for text in said if "contacts left out or approximated" in text]
    assert len(left_out) == 1
    for part in (
        "static geoms that are ellipsoids: rock",
        "geoms of moving bodies that are ellipsoids: egg",
        "margin and gap of box",
    ):
        assert part in left_out[0]


def test_contacts_without_a_surface_are_a_warning_and_ground_is_the_remedy(tmp_path: Path) -> None:
    path = written(tmp_path, BALL, '<default><geom contype="4" friction="0.5"/></default>')
    m, said = loaded(path, contacts=True)
    assert "contacts='ground' adds the plane z = 0" in said[0]
    assert not m.contacts
    m, said = loaded(path, contacts="ground")
    assert said == []
    assert m.contacts["ball"].against == ("ground",)
    assert tuple(m.contacts["ball"].friction) == (1.0, 1.0)  # MuJoCo's default for the ground


def test_names_of_contacts_loaded_from_mjcf_are_unique(tmp_path: Path) -> None:
    world = FLOOR + free("a", 'type="capsule" size="0.1 0.2"') + free("a 1", 'size="0.1"', "5 0 1")
    apart = '<contact><exclude body1="a" body2="a 1"/></contact>'
    path = written(tmp_path, world.replace("<freejoint/>", '<freejoint name="a 2"/>', 1), apart)
    m, _ = loaded(path, contacts=True)
    assert m.contacts.names == ("a 1", "a 2_", "a 1_")


def test_surfaces_and_contacts_of_mjcf_files_are_restored_from_saved_documents(tmp_path: Path) -> None:
    asset = '<asset><hfield name="h" nrow="2" ncol="2" size="1 2 0.5 0.1" elevation="0 0.1 0.2 1"/></asset>'
    world = FLOOR + '<geom name="hills" type="hfield" hfield="h"/>' + free("b", 'type="box" size="1 1 1"')
    m, _ = loaded(written(tmp_path, world, asset), contacts=True)
    lw.save(m, tmp_path / "model.toml")
    again = lw.load(tmp_path / "model.toml")
    assert [one.shape for one in again.surfaces] == [one.shape for one in m.surfaces]
    for one, other in zip(m.contacts, again.contacts, strict=True):
        assert (one.name, one.against, one.stiffness, one.damping) == (
            other.name, other.against, other.stiffness, other.damping,
        )  # fmt: skip
        assert np.array_equal(one.at.pose.p, other.at.pose.p)
        assert np.array_equal(one.friction, other.friction)


# --- hostile values ---

HOSTILE = {
    "friction is not a number": (free("b", 'size="0.1" friction="nan 0 0"'), "friction of the contact with 'floor'"),
    "negative friction": (free("b", 'size="0.1" friction="-1 0 0" priority="1"'), "finite and >= 0"),
    "infinite solref": (free("b", 'size="0.1" solref="inf 1" priority="1"'), "solref"),
    "solimp is not a number": (free("b", 'size="0.1" solimp="nan 1 1" priority="1"'), "solimp"),
    "infinite stiffness": (free("b", 'size="0.1" solref="0.1 1e-200" priority="1"'), "stiffness"),
    "too many contacts": (
        "<replicate count='130' offset='9 0 0'>" + free("b", 'type="box" size="1 1 1" contype="2"') + "</replicate>",
        "more than 1000 pairs of a contact point and a surface",
    ),
    "too many pairs of solids": (
        "<replicate count='70' offset='9 0 0'>" + free("b", 'type="box" size="1 1 1"') + "</replicate>",
        "more than 2000 pairs of solids",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_extreme_contact_parameters_of_mjcf_files_are_rejected(name: str, tmp_path: Path) -> None:
    world, reason = HOSTILE[name]
    path = written(tmp_path, FLOOR + world)
    with pytest.raises(lw.ModelError, match=reason):
        loaded(path, contacts=True)


@pytest.mark.parametrize("contacts", [1, "floor", 0.0, [True], np.ones(2)])
def test_an_unknown_value_of_the_contacts_argument_is_rejected(contacts: Any, tmp_path: Path) -> None:
    with pytest.raises(lw.ModelError, match="contacts must be True, False, None or 'ground'"):
        lw.load(written(tmp_path, BALL), contacts=contacts)


def test_load_rejects_the_contacts_argument_for_documents(tmp_path: Path) -> None:
    lw.save(lw.example("box_drop"), tmp_path / "box.toml")
    assert len(lw.load(tmp_path / "box.toml", contacts=False).contacts)
    with pytest.raises(lw.ModelError, match="a document lists its surfaces and contacts"):
        lw.load(tmp_path / "box.toml", contacts=True)
