"""Contact patches of all kinds: continuous, scalable, symmetric, consistent, and finite in singular positions."""

import itertools

import numpy as np
import pytest

from linkwork.algorithms.collision.contact_patch import FAR
from linkwork.algorithms.collision.pair_kinds import SIZES, pair_kinds
from linkwork.compiler.tracing import trace
from linkwork.spatial import Transform
from linkwork.spatial.rotation import matrix_from_rpy
from linkwork.spatial.scalar import Array
from random_solid_pairs import LOCAL, Pairs, patches, random_pairs, well_posed
from solid_extents import extent, separation

COUNT = 2000
KINDS = pytest.mark.parametrize("kind", pair_kinds, ids="-".join)


def deepest(kind: tuple[str, str], pairs: Pairs) -> tuple[Array, Array, Array]:
    """Point (n, 3), distance (n,) and normal (n, 3) of the deepest contact point of each pair."""
    points, distances, normals = patches(kind, pairs)
    every, best = np.arange(len(distances)), distances.argmin(axis=1)
    return points[every, best], distances[every, best], normals[every, best]


@KINDS
@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_contact_points_and_distances_scale_with_the_size_of_the_solids(kind: tuple[str, str], scale: float) -> None:
    a, b, R, p = random_pairs(kind, COUNT, seed=3)
    points, distances, normals = patches(kind, Pairs(a, b, R, p))
    scaled = patches(kind, Pairs(a * scale, b * scale, R, p * scale))
    there = distances < FAR
    right = well_posed(kind, distances.min(axis=1))
    unchanged = (there == (scaled[1] < FAR)).all(axis=1)
    close = 1e-4 if kind in LOCAL else 1e-8  # where iterated nearest points begin the patch
    unchanged &= np.where(there, abs(scaled[1] / scale - distances), 0.0).max(axis=1) < close
    unchanged &= np.linalg.norm(scaled[2] - normals, axis=2).max(axis=1) < 1e-6
    unchanged &= np.linalg.norm(scaled[0] / scale - points, axis=2).max(axis=1) < max(close, 1e-6)
    assert unchanged[right].mean() > 0.995  # round-off decides which of two equally deep points comes first
    assert abs(scaled[1].min(axis=1) / scale - distances.min(axis=1))[right].max() < 1e-8


@KINDS
def test_distance_of_two_solids_is_continuous_in_their_pose(kind: tuple[str, str]) -> None:
    a, b, R, p = random_pairs(kind, COUNT, seed=4)
    rng, small = np.random.default_rng(0), 1e-7
    w = small * rng.normal(size=(COUNT, 3))
    turn = np.eye(3) + np.cross(w[:, None, :], np.eye(3)[None])
    moved = Pairs(a, b, turn @ R, p + small * rng.normal(size=(COUNT, 3)))
    before = deepest(kind, Pairs(a, b, R, p))[1]
    change = deepest(kind, moved)[1] - before
    assert abs(change)[well_posed(kind, before)].max() < 20.0 * small


@KINDS
def test_moving_a_solid_along_the_normal_by_the_depth_separates_the_solids(kind: tuple[str, str]) -> None:
    pairs = random_pairs(kind, COUNT, seed=5)
    _, d, n = deepest(kind, pairs)
    inside = (d < 0.0) & well_posed(kind, d)
    a, b, R, p = (x[inside] for x in pairs)
    moved = Pairs(a, b, R, p - d[inside, None] * n[inside])
    assert abs(separation(kind, *moved, n[inside])).max() < 1e-8
    again = deepest(kind, moved)
    assert abs(again[1]).max() < 2e-8


@KINDS
def test_contact_points_are_midway_between_the_surfaces_of_the_two_solids(kind: tuple[str, str]) -> None:
    """Both surfaces are half the distance away from the point, along the normal; no solid extends farther."""
    pairs = random_pairs(kind, COUNT, seed=6)
    point, d, n = deepest(kind, pairs)
    base = Pairs(pairs.a, pairs.b, pairs.R, pairs.p)
    # The supporting plane of B with this normal is at half the distance below the point
    middle = (point * n).sum(axis=1)
    top_of_b = extent(kind[1], base.b, n)
    assert abs(middle - 0.5 * d - top_of_b)[d < 0.0].max() < 2e-8


@pytest.mark.parametrize("name", ["sphere", "capsule", "cylinder", "box"])
def test_exchanging_the_solids_of_a_pair_reverses_the_contact_normal(name: str) -> None:
    kind = (name, name)
    a, b, R, p = random_pairs(kind, COUNT, seed=7)
    _, d, n = deepest(kind, Pairs(a, b, R, p))
    inverse = np.swapaxes(R, 1, 2)
    _, other, back = deepest(kind, Pairs(b, a, inverse, -np.einsum("nij,nj->ni", inverse, p)))
    right = (d < 0.0) & well_posed(kind, d)
    assert abs(d - other)[right].max() < 1e-8
    same = np.linalg.norm(n + np.einsum("nij,nj->ni", R, back), axis=1)[right] < 1e-6
    assert same.mean() > 0.995


def test_exchanging_the_solids_of_a_contact_patch_twice_restores_the_patch() -> None:
    rng = np.random.default_rng(0)
    _, _, R, p = random_pairs(("box", "box"), 1, seed=8)
    X = Transform(R[0], p[0])
    contact = pair_kinds["box", "box"](rng.uniform(0.5, 1.0, 3), rng.uniform(0.5, 1.0, 3), X)
    again = contact.swapped(X).swapped(X.inverse())
    for one, other in zip(contact, again, strict=True):
        assert other == pytest.approx(one, abs=1e-14)


def singular_pairs(kind: tuple[str, str]) -> Pairs:
    """Equal solids, turned by multiples of 45 degrees, centres at the origin or exactly touching in a row."""
    angles = 0.25 * np.pi * np.array(list(itertools.product(range(8), range(4), range(2))))
    turns = [matrix_from_rpy(*rpy) for rpy in angles]
    exact = [np.round(R) for R in turns if abs(R - np.round(R)).max() < 1e-12]
    places = np.array([*itertools.product((-1.0, -0.5, 0.0, 0.5, 1.0), repeat=3), (0, 0, 0.75), (0.75, 0, 0)])
    poses = list(itertools.product([*turns, *exact], places))
    a, b = ([0.5] * SIZES[name] for name in kind)
    rows = [(a, b, R, p) for R, p in poses]
    return Pairs(*(np.array(column, dtype=float) for column in zip(*rows, strict=True)))


@KINDS
@pytest.mark.filterwarnings("error")
def test_contact_patches_of_singular_positions_are_finite(kind: tuple[str, str]) -> None:
    pairs = singular_pairs(kind)
    points, distances, normals = patches(kind, pairs)
    assert abs(np.linalg.norm(normals, axis=2) - 1.0).max() < 1e-14
    assert abs(points).max() < 10.0
    assert (distances.min(axis=1) < 5.0).all()
    _, d, n = deepest(kind, pairs)
    assert abs(separation(kind, *pairs, n) - d).max() < 1e-8
    first = [x[17] for x in pairs]
    X = Transform(first[2], first[3])
    plain = pair_kinds[kind](first[0], first[1], X)
    assert np.array(plain.distances, dtype=float).min() == pytest.approx(distances[17].min(), abs=1e-12)


@KINDS
def test_contact_distances_of_solids_at_rest_hardly_change_by_a_tiny_rotation(kind: tuple[str, str]) -> None:
    """If solids at rest on each other turn a little, the distances at the same points of the patch change little."""
    sizes = {"sphere": 0.5, "capsule": 1.0, "cylinder": 0.5, "box": 0.5, "plane": 0.0}
    rng = np.random.default_rng(0)
    height = sizes[kind[0]] + sizes[kind[1]] - 1e-5
    w = 1e-11 * rng.normal(size=(50, 3))
    R = np.eye(3) + np.cross(w[:, None, :], np.eye(3)[None])
    a, b = (np.full((50, SIZES[name]), 0.5) for name in kind)
    points, distances, _ = patches(kind, Pairs(a, b, R, np.tile([0.0, 0.0, height], (50, 1))))
    assert np.ptp(points, axis=0).max() < 1e-2
    assert np.ptp(distances, axis=0).max() < 1e-9


def test_the_graph_of_a_contact_patch_has_few_operations() -> None:
    for kind, limit in {("box", "box"): 2000, ("capsule", "box"): 1000, ("box", "plane"): 120}.items():
        patch = pair_kinds[kind]

        def function(a: Array, b: Array, R: Array, p: Array, patch=patch) -> tuple[Array, ...]:
            return tuple(patch(a, b, Transform(R, p)))

        graph = trace(function, [(SIZES[kind[0]],), (SIZES[kind[1]],), (3, 3), (3,)])
        assert len(graph.nodes) < limit
