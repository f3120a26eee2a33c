"""Contact patches of convex hulls and uneven ground: boxes as hulls, resting hulls, flat grounds as planes."""

import itertools

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.collision.ground_patches import GroundPairs
from linkwork.algorithms.collision.hull_patches import HullPairs
from linkwork.algorithms.collision.pair_kinds import Patch, pair_kinds
from linkwork.compiler.kernel import Kernel
from linkwork.model.elements.contact import box_corners
from linkwork.spatial import Transform
from linkwork.spatial.rotation import matrix_from_rpy
from linkwork.spatial.scalar import Array
from random_solid_pairs import Pairs, random_pairs
from solid_extents import found

COUNT = 3000
HALF = np.array([[0.5, 0.4, 0.3], [0.6, 0.6, 0.2], [0.3, 0.3, 0.3]])
BOXES = HullPairs([box_corners(tuple(2.0 * half)) for half in HALF])
DEEP = 1e-5


def computed(name: str, patch: Patch, pairs: Pairs) -> tuple[Array, Array, Array]:
    """Points (n, 4, 3), distances (n, 4) and normals (n, 4, 3) of a contact function, for many solid pairs."""

    def function(a: Array, b: Array, R: Array, p: Array) -> tuple[Array, ...]:
        return tuple(patch(a, b, Transform(R, p)))

    shapes = [(pairs.a.shape[1],), (pairs.b.shape[1],), (3, 3), (3,)]
    kernel = Kernel(name, function, shapes, [(4, 3), (4,), (4, 3)], key=None)
    (points, distances, normals), finite = kernel.over_batch(list(pairs), (len(pairs.p),), 1)
    assert finite
    assert abs(np.linalg.norm(normals, axis=2) - 1.0).max() < 1e-14
    return points, distances, normals


def deepest(distances: Array, normals: Array) -> tuple[Array, Array]:
    best = distances.argmin(axis=1)
    return distances.min(axis=1), normals[np.arange(len(best)), best]


@pytest.mark.parametrize("kind", [("sphere", "hull"), ("capsule", "hull"), ("cylinder", "hull"), ("box", "hull")])
def test_the_hull_of_the_corners_of_a_box_has_the_contact_points_of_the_box(kind: tuple[str, str]) -> None:
    base = random_pairs((kind[0], "box"), COUNT, seed=1)
    which = np.arange(COUNT) % len(HALF)
    as_box = computed("box", pair_kinds[kind[0], "box"], base._replace(b=HALF[which]))
    as_hull = computed("hull", BOXES.kinds[kind], base._replace(b=BOXES.sizes[which]))
    expected, expected_normals = deepest(*as_box[1:])
    distances, normals = deepest(*as_hull[1:])
    shallow = (expected < 0.0) & (expected > -0.05)
    assert shallow.sum() > 20
    close = 1e-8 if kind[0] != "cylinder" else 1e-5
    right = abs(distances - expected)[shallow] < close
    assert right.mean() > 0.97  # the others have a local minimum of the depth
    assert (distances - expected)[shallow].max() < close
    same = np.linalg.norm(normals - expected_normals, axis=1)[shallow] < (1e-6 if kind[0] != "cylinder" else 1e-2)
    assert same[right].mean() > 0.99
    apart = expected > 0.0
    if kind[0] == "box":  # whose distances are lower bounds
        assert (expected - distances)[apart].max() < 1e-8
    else:
        assert abs(distances - expected)[apart].max() < close


def test_two_hulls_of_the_corners_of_boxes_have_the_contact_points_of_the_boxes() -> None:
    base = random_pairs(("box", "box"), COUNT, seed=2)
    one, other = np.arange(COUNT) % len(HALF), np.arange(COUNT) // 7 % len(HALF)
    expected, _ = deepest(*computed("boxes", pair_kinds["box", "box"], base._replace(a=HALF[one], b=HALF[other]))[1:])
    as_hulls = base._replace(a=BOXES.sizes[one], b=BOXES.sizes[other])
    distances, _ = deepest(*computed("hulls", BOXES.kinds["hull", "hull"], as_hulls)[1:])
    shallow = (expected < 0.0) & (expected > -0.05)
    assert (abs(distances - expected)[shallow] < 1e-8).mean() > 0.97
    assert (distances - expected)[expected < 0.0].max() < 1e-8  # no deeper solids are reported as apart
    assert (expected - distances)[expected > 0.0].max() < 1e-8


def test_hulls_flush_on_each_other_touch_at_their_four_corners() -> None:
    corners = {(x, y) for x in (-0.3, 0.3) for y in (-0.3, 0.3)}
    for turns in itertools.product((0.0, 0.5 * np.pi), repeat=2):
        X = Transform(matrix_from_rpy(0.0, *turns), np.array([0.0, 0.0, 0.6 - DEEP]))
        for kind, a, b in (("hull", BOXES.sizes[2], BOXES.sizes[2]), ("box", HALF[2], BOXES.sizes[2])):
            points, distances, normals = found(BOXES.kinds[kind, "hull"](a, b, X))
            assert {tuple(xy) for xy in np.round(points[:, :2], 7)} == corners
            assert distances == pytest.approx(np.full(4, -DEEP), abs=1e-12)
            assert normals == pytest.approx(np.tile([0.0, 0.0, 1.0], (4, 1)), abs=1e-11)


def test_a_resting_hull_touches_a_plane_with_its_lowest_face() -> None:
    X = Transform(np.eye(3), np.array([1.0, 2.0, 0.2 - DEEP]))
    points, distances, _ = found(BOXES.kinds["hull", "plane"](BOXES.sizes[1], np.zeros(0), X))
    expected = {(1.0 + x, 2.0 + y) for x in (-0.6, 0.6) for y in (-0.6, 0.6)}
    assert {tuple(xy) for xy in np.round(points[:, :2], 12)} == expected
    assert distances == pytest.approx(np.full(4, -DEEP), abs=1e-15)


def test_the_lowest_vertex_of_a_hull_on_a_plane_is_exact() -> None:
    rng = np.random.default_rng(0)
    clouds = [np.array(lw.Hull(rng.normal(size=(k, 3))).points) for k in (5, 12, 40)]
    hulls = HullPairs(clouds)
    base = random_pairs(("sphere", "plane"), COUNT, seed=3)
    which = np.arange(COUNT) % 3
    _, distances, _ = computed("lowest", hulls.kinds["hull", "plane"], base._replace(a=hulls.sizes[which]))
    heights = [(clouds[k] @ R.T + p)[:, 2].min() for k, R, p in zip(which, base.R, base.p, strict=True)]
    assert distances.min(axis=1) == pytest.approx(np.array(heights), abs=1e-12)


@pytest.mark.parametrize("ground", [lw.Ground(lambda x, y: 0.0 * x), lw.HeightField((50.0, 40.0), np.zeros((6, 5)))])
@pytest.mark.parametrize("name", ["sphere", "capsule", "cylinder", "box", "hull"])
def test_solids_on_flat_ground_have_the_contact_points_of_a_plane(
    ground: lw.Ground | lw.HeightField, name: str
) -> None:
    pairs = GroundPairs(ground, radius=1.0, hulls=BOXES)
    base = random_pairs(("sphere" if name == "hull" else name, "plane"), COUNT, seed=4)
    if name == "hull":
        base = base._replace(a=BOXES.sizes[np.arange(COUNT) % 3])
    plane = BOXES.kinds["hull", "plane"] if name == "hull" else pair_kinds[name, "plane"]
    _, distances, _ = computed("ground", pairs.kinds[name, "ground"], base)
    _, expected, _ = computed("plane", plane, base)
    assert distances.min(axis=1) == pytest.approx(expected.min(axis=1), abs=1e-12)


def test_a_box_on_a_slope_touches_at_its_four_corners() -> None:
    angle = 0.3
    ground = GroundPairs(lw.Ground(lambda x, y: np.tan(angle) * x))
    n = np.array([-np.sin(angle), 0.0, np.cos(angle)])
    X = Transform(matrix_from_rpy(0.0, -angle, 0.0), n * (0.3 - DEEP))
    points, distances, normals = found(ground.kinds["box", "ground"](HALF[0], np.zeros(0), X))
    assert distances == pytest.approx(np.full(4, -DEEP), abs=1e-12)
    assert normals == pytest.approx(np.tile(n, (4, 1)), abs=1e-9)
    assert points.mean(axis=0) == pytest.approx(-0.5 * DEEP * n, abs=1e-9)


def test_a_ball_in_a_valley_touches_at_the_nearest_point() -> None:
    ground = GroundPairs(lw.Ground(lambda x, y: 0.5 * x * x))
    p = np.array([0.4, 0.1, 0.6])
    points, distances, normals = found(
        ground.kinds["sphere", "ground"](np.array([0.3]), np.zeros(0), Transform(np.eye(3), p))
    )
    x = np.linspace(-2.0, 2.0, 2_000_001)
    assert distances[0] == pytest.approx(np.hypot(x - 0.4, 0.5 * x * x - 0.6).min() - 0.3, abs=1e-11)
    assert points[0] == pytest.approx(p - normals[0] * (0.3 + 0.5 * distances[0]), abs=1e-12)


@pytest.mark.parametrize(("slant", "turn"), [(2.0, 0.0), (0.7, 0.4), (0.7, 1.3), (0.2, 0.9)])
def test_hulls_touch_at_all_four_corners_of_a_parallelogram_face(slant: float, turn: float) -> None:
    """The lower face is a long parallelogram; two points alone would not support the hull."""
    half_length, half_width, half_height = 1.0, 0.3, 0.1
    low = [(x + slant * y / half_width, y) for x, y in itertools.product((-half_length, half_length), (-0.3, 0.3))]
    vertices = np.array([(x, y, z) for z in (-half_height, half_height) for x, y in low])
    pairs, R = HullPairs([vertices, vertices]), matrix_from_rpy(0.0, 0.0, turn)
    on_plane = pairs.kinds["hull", "plane"](pairs.sizes[0], np.zeros(0), Transform(R, np.array([0, 0, half_height])))
    on_hull = pairs.kinds["hull", "hull"](
        pairs.sizes[0], pairs.sizes[1], Transform(np.eye(3), np.array([0, 0, 2 * half_height]))
    )
    for touch in (on_plane, on_hull):
        assert np.abs(touch.distances).max() < 1e-9
        ends = touch.points[:, :2]
        (x, y), (u, v) = ends[2] - ends[0], ends[3] - ends[1]
        assert abs(x * v - y * u) / 2 == pytest.approx(4 * half_length * half_width)
