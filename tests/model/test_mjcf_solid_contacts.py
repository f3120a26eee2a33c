"""Contacts of MJCF models as solids: with contacts=True, geoms of two moving bodies, cylinders and meshes collide."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.solid_contact.pair_tables import BodyRows, groups_of
from linkwork.model.documents.mjcf_collisions import collisions
from linkwork.model.documents.mujoco_compiler import Compiled
from linkwork.model.solid_separation import body_poses, overlaps
from linkwork.spatial.scalar import Array
from mujoco_reference import mujoco, quiet

FLOOR = '<geom name="floor" type="plane" size="1 1 1"/>'
HULL = '<asset><mesh name="m" vertex="0 0 0  1 0 0  0 1 0  0 0 1  0.1 0.1 0.1"/></asset>'


def free(name: str, geom: str, at: str = "0 0 1") -> str:
    return f'<body name="{name}" pos="{at}"><freejoint/><geom name="{name}" {geom}/></body>'


def loaded(folder: Path, world: str, rest: str = "", **options: Any) -> tuple[lw.Mechanism, list[str]]:
    """The mechanism with its contacts, and the texts of all warnings."""
    (folder / "model.xml").write_text(f"<mujoco>{rest}<worldbody>{world}</worldbody></mujoco>", encoding="utf-8")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        m = lw.load(folder / "model.xml", contacts=True, **options)
    return m, [str(one.message) for one in caught]


def distances(m: lw.Mechanism, q: Array) -> dict[str, float]:
    """The smallest distance of the contact points of each solid pair, by the name of the pair."""
    bodies = BodyRows(m.solid_pairs)
    poses, found = body_poses(m, q), {}
    for group in groups_of(m.solid_pairs, bodies):
        for k in range(len(group.numbers)):
            one = group.read(float(k))
            A, B = (poses[bodies.numbers[int(row)]] @ on for row, on in ((one.row_a, one.on_a), (one.row_b, one.on_b)))
            nearest = min(group.patch(one.a, one.b, B.inverse() @ A).distances)
            found[m.solid_pairs[group.numbers[k]].name] = float(nearest)
    return found


# --- shapes ---

GEOMS = ('type="cylinder" size="0.1 0.2"', 'type="mesh" mesh="m"')


@pytest.mark.parametrize("geom", GEOMS)
def test_distance_to_the_floor_matches_mujoco(geom: str, tmp_path: Path) -> None:
    """At any attitude of a turned and offset geom."""
    m, said = loaded(tmp_path, FLOOR + free("b", f'{geom} euler="20 30 40" pos="0.1 0.2 0.3" margin="9"'), HULL)
    assert len([text for text in said if "margin and gap of b" in text]) == 1
    assert not m.contacts
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "model.xml"))
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    for _ in range(20):
        q = m.random(rng)
        q[:3] = 0.0, 0.0, 2.0
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        (distance,) = distances(m, q).values()
        assert abs(distance - min(one.dist for one in data.contact)) < 1e-6


def test_a_mesh_with_many_vertices_is_simplified_with_a_reported_deviation(tmp_path: Path) -> None:
    points = np.random.default_rng(0).normal(size=(300, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    mesh = f'<asset><mesh name="m" vertex="{" ".join(f"{x:.6f}" for x in points.ravel())}"/></asset>'
    m, said = loaded(tmp_path, FLOOR + free("ball", 'type="mesh" mesh="m"', "0 0 2"), mesh)
    assert "shapes approximated by fewer points than they have: ball (64 vertices, up to 0." in said[0]
    shape = m.solid_pairs[0].first.shape
    assert isinstance(shape, lw.Hull)
    assert len(shape.points) == 64
    again = lw.load(tmp_path / "model.xml", contacts=True) if not said else m
    assert again.solid_pairs[0].first.name == "ball_"


def test_solids_touch_the_edges_and_faces_of_bounded_mjcf_surfaces(tmp_path: Path) -> None:
    """A box rests on a static box that is smaller: points at its corners would miss it."""
    block = '<geom name="block" type="box" size="0.1 0.1 0.1"/>'
    m, said = loaded(tmp_path, block + free("lid", 'type="box" size="0.3 0.3 0.1" mass="2"', "0 0 0.25"))
    assert said == []
    assert m.surfaces.names == ("block",)
    run = lw.simulate(m, m.keyframes["qpos0"].q, duration=0.5, dt=1e-3, contact="rigid")
    assert np.allclose(run["contact.force"][-1].sum(axis=0), [0.0, 0.0, 2.0 * 9.81], atol=1e-9)
    assert abs(run.q[-1, 2] - 0.2) < 1e-5


# --- pairs and names ---

KINDS = ("sphere", "capsule", "cylinder", "box", "mesh")


def random_scene(seed: int) -> str:
    """Overlapping geoms of all kinds on welded, static and moving bodies, with random masks; some bodies have names."""
    rng, bodies = np.random.default_rng(seed), iter(range(99))

    def geom() -> str:
        kind = rng.choice(KINDS)
        form = 'mesh="m"' if kind == "mesh" else 'size="1 1 1"'
        name = f'name="{rng.choice(["b1", "b2", "x", "b1 1"])}{next(bodies)}"' if rng.random() < 0.7 else ""
        masks = f'contype="{rng.integers(4)}" conaffinity="{rng.integers(4)}"'
        return f'<geom {name} type="{kind}" {form} mass="1" {masks} pos="0.01 0 0"/>'

    def body(depth: int) -> str:
        joint = ["", "<joint/>", '<joint type="ball"/>'][rng.integers(3)]
        inside = "".join(geom() for _ in range(rng.integers(1, 3)))
        below = "".join(body(depth + 1) for _ in range(rng.integers(0, 3))) if depth < 2 else ""
        return f"<body>{joint}{inside}{below}</body>"

    return '<geom type="plane" size="1 1 1"/>' + geom() + "".join(body(0) for _ in range(3))


@pytest.mark.parametrize("seed", range(8))
def test_solid_pairs_match_mujoco(seed: int, tmp_path: Path) -> None:
    m, _ = loaded(tmp_path, random_scene(seed), HULL)
    with quiet():
        model = mujoco.MjModel.from_xml_path(str(tmp_path / "model.xml"))
    c = Compiled(mujoco, model)
    bodies, body_of = c.names("body"), {part.name: body.name for body in m.bodies for part in body.parts}
    expected: dict[frozenset[str], int] = {}
    for geom, others, _ in collisions(c):
        for other in others:
            ends = frozenset(body_of[bodies[c.geom_bodyid[g]]] for g in (geom, other))
            expected[ends] = expected.get(ends, 0) + 1
    found: dict[frozenset[str], int] = {}
    for pair in m.solid_pairs:
        ends = frozenset(m.bodies[solid.body].name for solid in (pair.first, pair.second))
        found[ends] = found.get(ends, 0) + 1
    assert found == expected
    assert found


def test_mjcf_geoms_with_names_of_bodies_or_without_names_get_unique_names(tmp_path: Path) -> None:
    """A name in a collision stands for one geom, also if a body has the same name and several geoms."""
    two = '<body name="a" pos="0 0 1"><freejoint/><geom name="a" size="0.1"/><geom size="0.1" pos="1 0 0"/></body>'
    m, _ = loaded(tmp_path, FLOOR + two + free("b", 'size="0.1"', "0 5 1") + free("a 1", 'size="0.1"', "0 9 1"))
    names = [frozenset((pair.first.name, pair.second.name)) for pair in m.solid_pairs]
    assert len(set(names)) == len(names) == 4 + 4 + 1  # four geoms on the floor, two bodies against `a`, `b` on `a 1`
    assert {one.name for pair in m.solid_pairs for one in (pair.first, pair.second)} == {
        "a_", "geom2", "b_", "a 1_", "floor",
    }  # fmt: skip


def test_parameters_of_a_pair_match_mujoco(tmp_path: Path) -> None:
    """Friction is the larger one; with the sum of both inverse inertias, two equal balls are half as stiff."""
    balls = free("a", 'size="0.1" friction="0.3"') + free("b", 'size="0.1" friction="0.5"', "0 0 2")
    m, _ = loaded(tmp_path, FLOOR.replace("/>", ' friction="0.1"/>') + balls)
    of = {pair.name: pair.collision for pair in m.solid_pairs}
    assert [tuple(one.friction) for one in of.values()] == [(0.3, 0.3), (0.5, 0.5), (0.5, 0.5)]
    assert np.isclose(of["a_ on b_"].stiffness, 0.5 * of["a_ on floor"].stiffness, rtol=1e-12)
    assert np.isclose(of["a_ on b_"].damping, 0.5 * of["a_ on floor"].damping, rtol=1e-12)


@pytest.mark.parametrize(("condim", "spinning", "rolling"), [(3, 0.0, 0.0), (4, 0.02, 0.0), (6, 0.02, 0.003)])
def test_torsional_and_rolling_friction_of_solids_is_that_of_mujoco(
    condim: int, spinning: float, rolling: float, tmp_path: Path
) -> None:
    box = free("a", f'type="box" size="0.1 0.1 0.1" condim="{condim}" friction="0.5 0.02 0.003"')
    m, said = loaded(tmp_path, FLOOR + box + free("b", 'type="box" size="0.1 0.1 0.1"', "0 0 2"))
    found = {(pair.collision.spinning, pair.collision.rolling) for pair in m.solid_pairs if "a_" in pair.name}
    assert found == {(spinning, rolling)}
    assert not [text for text in said if "torsional" in text]


# --- start inside each other ---


@pytest.mark.parametrize(("gap", "warned"), [(-0.001, False), (-0.05, True)])
def test_mjcf_solids_with_deep_overlaps_at_the_start_give_one_warning(gap: float, warned: bool, tmp_path: Path) -> None:
    world = FLOOR + free("a", 'size="0.1"', "0 0 1") + free("b", 'type="box" size="0.1 0.1 0.1"', f"0 0 {1.2 + gap}")
    m, said = loaded(tmp_path, world)
    texts = [text for text in said if "start deep inside each other" in text]
    assert len(texts) == warned
    if warned:
        assert "a_ on b_ (0.05 m at keyframe qpos0)" in texts[0]
    (one,) = overlaps(m, m.solid_pairs, m.keyframes["qpos0"].q)
    assert abs(one.depth + gap) < 1e-9


SIZES = {"sphere": "0.3", "capsule": "0.2 0.3", "cylinder": "0.2 0.3", "box": "0.2 0.3 0.1"}


@pytest.mark.parametrize("second", SIZES)
@pytest.mark.parametrize("first", SIZES)
def test_separation_of_solids_found_by_sampling_matches_their_contact_patch(
    first: str, second: str, tmp_path: Path
) -> None:
    geoms = [f'type="{kind}" size="{SIZES[kind]}"' for kind in (first, second)]
    m, _ = loaded(tmp_path, free("a", geoms[0]) + free("b", geoms[1]))
    rng = np.random.default_rng(0)
    for _ in range(10):
        q = m.random(rng)
        q[:3], q[7:10] = 0.0, rng.normal(size=3) * 0.3
        (distance,) = distances(m, q).values()
        (one,) = overlaps(m, m.solid_pairs, q, within=np.inf)
        assert abs(-one.depth - distance) < 5e-4 if distance < 1e8 else one.depth < 0.0


@pytest.mark.slow
def test_a_model_of_solids_saved_and_loaded_again_gives_the_same_bits(tmp_path: Path) -> None:
    world = FLOOR + free("a", 'type="mesh" mesh="m"') + free("b", 'type="cylinder" size="0.3 0.2"', "0.2 0.1 2.2")
    m, _ = loaded(tmp_path, world, HULL)
    lw.save(m, tmp_path / "model.toml")
    again = lw.load(tmp_path / "model.toml")
    assert [pair.name for pair in again.solid_pairs] == [pair.name for pair in m.solid_pairs]
    first, second = (
        lw.simulate(one, m.keyframes["qpos0"].q, duration=1.0, dt=2e-3, contact="rigid", record=("q", "contact.force"))
        for one in (m, again)
    )
    assert np.array_equal(first.q, second.q)
    assert abs(first["contact.force"]).max() > 0.0
