"""Contact patches of solids in positions with known answers: flush, aligned, on an edge, parallel, crossing."""

import numpy as np
import pytest

from linkwork.algorithms.collision.box_patches import box_box
from linkwork.algorithms.collision.pair_kinds import ordered, pair_kinds
from linkwork.spatial import Transform
from linkwork.spatial.rotation import matrix_about_axis, matrix_from_rpy
from solid_extents import found, patch

CUBE = (0.5, 0.5, 0.5)
DEEP = 1e-5


def as_set(points: np.ndarray) -> set[tuple[float, ...]]:
    return {tuple(point) for point in np.round(points, 10) + 0.0}


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("side", [-1.0, 1.0])
@pytest.mark.parametrize("depth", [DEEP, 0.0, -DEEP])
def test_equal_boxes_flush_on_each_other_touch_at_their_four_corners(axis: int, side: float, depth: float) -> None:
    at = np.eye(3)[axis] * side * (1.0 - depth)
    points, distances, normals = found(patch("box", "box", CUBE, CUBE, tuple(at)))
    assert distances == pytest.approx(np.full(4, -depth), abs=1e-15)
    assert (normals == np.eye(3)[axis] * side).all()
    level = side * (0.5 - 0.5 * depth)
    others = [(x, y) for x in (-0.5, 0.5) for y in (-0.5, 0.5)]
    expected = np.array([np.insert(np.array(xy), axis, level) for xy in others])
    assert as_set(points) == as_set(expected)


@pytest.mark.parametrize("turns", [(k, j, i) for k in range(2) for j in range(2) for i in range(4)])
def test_contact_points_of_equal_boxes_are_the_same_after_quarter_turns(turns: tuple[int, int, int]) -> None:
    rpy = tuple(0.5 * np.pi * np.array(turns))
    points, distances, normals = found(patch("box", "box", CUBE, CUBE, (0.0, 0.0, 1.0 - DEEP), rpy))
    assert distances == pytest.approx(np.full(4, -DEEP), abs=1e-15)
    assert normals == pytest.approx(np.tile([0.0, 0.0, 1.0], (4, 1)), abs=1e-15)
    assert as_set(points[:, :2]) == {(x, y) for x in (-0.5, 0.5) for y in (-0.5, 0.5)}


def test_mean_of_the_contact_points_is_the_centroid_of_the_contact_area() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        a, b, shift = rng.uniform(0.1, 1.0, 3), rng.uniform(0.1, 1.0, 3), rng.uniform(-1.0, 1.0, 2)
        shift *= 0.9 * (a + b)[:2]
        depth = 1e-3 * min(*(a + b)[:2] - abs(shift), 1.0)
        points, distances, _ = found(patch("box", "box", tuple(a), tuple(b), (*shift, a[2] + b[2] - depth)))
        low, high = np.maximum(shift - a[:2], -b[:2]), np.minimum(shift + a[:2], b[:2])
        assert distances == pytest.approx(np.full(4, -depth), abs=1e-14)
        assert points[:, :2].mean(axis=0) == pytest.approx(0.5 * (low + high), abs=1e-8)
        assert np.ptp(points[:, :2], axis=0) == pytest.approx(high - low, abs=1e-8)


def test_a_box_that_stands_on_its_edge_touches_with_two_points() -> None:
    at = (0.0, 0.0, 0.5 + np.sqrt(0.5) - DEEP)
    points, distances, normals = found(patch("box", "box", CUBE, CUBE, at, (np.pi / 4, 0.0, 0.0)))
    touching = distances < 0.0
    assert as_set(points[touching][:, :2]) == {(-0.5, 0.0), (0.5, 0.0)}
    assert distances[touching] == pytest.approx([-DEEP, -DEEP], abs=1e-14)
    assert (normals == [0.0, 0.0, 1.0]).all()


def test_crossing_edges_of_two_boxes_touch_at_one_point() -> None:
    # The upper edge of B along x after a turn of 45 degrees about x crosses the lower edge of A along y
    x, y, half = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]), np.array(CUBE)
    B, A = matrix_about_axis(x, np.pi / 4), matrix_about_axis(y, np.pi / 4)
    height = 2.0 * np.sqrt(0.5) - DEEP
    contact = box_box(half, half, Transform(B.T @ A, B.T @ np.array([0.1, 0.2, height])))
    points, distances, normals = found(contact)
    assert distances == pytest.approx([-DEEP], abs=1e-14)
    assert B @ normals[0] == pytest.approx([0.0, 0.0, 1.0], abs=1e-14)
    assert B @ points[0] == pytest.approx([0.1, 0.0, np.sqrt(0.5) - 0.5 * DEEP], abs=1e-14)


def test_a_square_turned_by_45_degrees_touches_at_four_points_around_the_centre() -> None:
    large = (2.0, 2.0, 0.5)
    for a, b in ((CUBE, CUBE), (CUBE, large), (large, CUBE)):
        points, _, _ = found(patch("box", "box", a, b, (0.0, 0.0, 1.0 - DEEP), (0.0, 0.0, np.pi / 4)))
        assert points[:, :2].mean(axis=0) == pytest.approx([0.0, 0.0], abs=1e-9)
        assert len(points) == 4


def test_a_capsule_that_lies_on_a_box_or_plane_touches_with_its_two_ends() -> None:
    lying = (0.5 * np.pi, 0.0, 0.0)  # the axis of the capsule is along -y
    for kind, b, top in (("box", (5.0, 5.0, 0.2), 0.2), ("plane", (), 0.0)):
        points, distances, _ = found(patch("capsule", kind, (0.1, 0.5), b, (0.0, 0.0, top + 0.1 - DEEP), lying))
        assert distances == pytest.approx([-DEEP, -DEEP], abs=1e-15)
        assert as_set(points) == {(0.0, -0.5, top - 0.5 * DEEP), (0.0, 0.5, top - 0.5 * DEEP)}
    over_edge, _, _ = found(patch("capsule", "box", (0.1, 0.5), CUBE, (0.0, 0.3, 0.6 - DEEP), lying))
    assert as_set(over_edge[:, :2]) == {(0.0, 0.5), (0.0, -0.2)}


def test_parallel_capsules_touch_at_the_ends_of_their_common_length() -> None:
    points, distances, normals = found(patch("capsule", "capsule", (0.1, 0.5), (0.2, 0.7), (0.3 - DEEP, 0.0, 0.4)))
    assert distances == pytest.approx([-DEEP, -DEEP], abs=1e-15)
    assert (normals == [1.0, 0.0, 0.0]).all()
    assert as_set(points) == {(0.2 - 0.5 * DEEP, 0.0, -0.1), (0.2 - 0.5 * DEEP, 0.0, 0.7)}


def test_crossing_capsules_touch_at_their_nearest_point() -> None:
    for angle in (1e-3, 0.3, 1.0, 0.5 * np.pi):
        at = (0.3 - DEEP, 0.02 * angle, -0.03)
        contact = patch("capsule", "capsule", (0.1, 0.5), (0.2, 0.7), at, (angle, 0.0, 0.0))
        _, distances, normals = found(contact)
        best = distances.argmin()
        assert distances[best] == pytest.approx(-DEEP, abs=1e-14)
        assert normals[best] == pytest.approx([1.0, 0.0, 0.0], abs=1e-12)


def test_a_standing_cylinder_touches_at_four_points_and_a_lying_cylinder_at_two() -> None:
    r, half = 0.3, 0.5
    points, distances, _ = found(patch("cylinder", "plane", (r, half), (), (1.0, 2.0, half - DEEP)))
    assert distances == pytest.approx(np.full(4, -DEEP), abs=1e-15)
    assert as_set(points[:, :2]) == {(1.3, 2.0), (0.7, 2.0), (1.0, 2.3), (1.0, 1.7)}
    contact = patch("cylinder", "plane", (r, half), (), (0.0, 0.0, r - DEEP), (0.0, 0.5 * np.pi, 0.3))
    points, distances, _ = found(contact)
    touching = distances < 0.0
    assert distances[touching] == pytest.approx([-DEEP, -DEEP], abs=1e-9)
    along = np.array([np.cos(0.3), np.sin(0.3)]) * half
    assert as_set(np.round(points[touching][:, :2], 7)) == as_set(np.round([along, -along], 7))


@pytest.mark.parametrize("tilt", [1e-12, 1e-8, 1e-7, 1e-4, 0.3, 1.0, 1.5, 0.5 * np.pi])
def test_the_lowest_point_of_a_tilted_coin_is_exact(tilt: float) -> None:
    r, half = 0.3, 0.02
    for turn in np.linspace(0.0, 6.0, 13):
        at = (0.0, 0.0, 0.1)
        contact = patch("cylinder", "plane", (r, half), (), at, (tilt * np.cos(turn), tilt * np.sin(turn), 0.4))
        cosine = matrix_from_rpy(tilt * np.cos(turn), tilt * np.sin(turn), 0.4)[2, 2]
        expected = 0.1 - r * np.sqrt(max(0.0, 1.0 - cosine**2)) - half * abs(cosine)
        if tilt < 1e-7:  # the cosine has lost the tilt
            expected = 0.1 - r * tilt - half
        assert found(contact)[1].min() == pytest.approx(expected, abs=5e-9)


def test_solids_of_a_pair_are_ordered_by_the_kinds_of_their_shapes() -> None:
    names = {name for kind in pair_kinds for name in kind}
    assert ordered("box", "sphere") == (("sphere", "box"), True)
    assert ordered("sphere", "box") == (("sphere", "box"), False)
    assert ordered("plane", "plane") is None
    kinds = {found[0] for a in names for b in names if (found := ordered(a, b))}
    assert kinds == set(pair_kinds)


def test_a_cylinder_stands_on_a_box_with_four_points_and_lies_on_it_with_two() -> None:
    r, half, large = 0.3, 0.5, (5.0, 5.0, 0.5)
    standing = found(patch("cylinder", "box", (r, half), large, (0.0, 0.0, 1.0 - DEEP)))
    assert standing[1] == pytest.approx(np.full(4, -DEEP), abs=1e-15)
    assert (standing[2] == [0.0, 0.0, 1.0]).all()
    assert standing[0].mean(axis=0) == pytest.approx([0.0, 0.0, 0.5 - 0.5 * DEEP], abs=1e-9)
    assert np.hypot(*standing[0].T[:2]) == pytest.approx(np.full(4, r), abs=1e-9)
    lying = found(patch("cylinder", "box", (r, half), large, (0.0, 0.0, 0.8 - DEEP), (0.5 * np.pi, 0.0, 0.0)))
    assert lying[1] == pytest.approx(np.full(2, -DEEP), abs=1e-12)
    assert as_set(np.round(lying[0][:, :2], 7)) == {(0.0, -0.5), (0.0, 0.5)}
    over_edge = found(patch("cylinder", "box", (r, half), CUBE, (0.0, 0.4, 0.8 - DEEP), (0.5 * np.pi, 0.0, 0.0)))
    assert as_set(np.round(over_edge[0][:, :2], 7)) == {(0.0, -0.1), (0.0, 0.5)}


@pytest.mark.parametrize("over", [0.02, 0.1, 0.3, 0.5])
def test_a_cylinder_that_overhangs_a_box_touches_only_above_the_box(over: float) -> None:
    r = 0.3
    for turn in (0.0, 0.4, 1.0):
        at = (0.5 + r - over, 0.0, 1.0 - DEEP)
        points, distances, normals = found(patch("cylinder", "box", (r, 0.5), CUBE, at, (0.0, 0.0, turn)))
        assert distances == pytest.approx(np.full(len(points), -DEEP), abs=1e-12)
        assert (normals == [0.0, 0.0, 1.0]).all()
        assert points[:, 0].min() == pytest.approx(0.5 - over, abs=2e-3)  # the rim point above the box
        assert points[:, 0].max() == pytest.approx(0.5, abs=1e-7) if over < r else points[:, 0].max() > 0.3
        assert len(points) >= 3
        assert points[:, 1].mean() == pytest.approx(0.0, abs=0.1 * r)  # not exact: the rim has four points


def test_stacked_and_parallel_cylinders_touch_on_a_rim_and_along_a_line() -> None:
    size = (0.3, 0.5)
    points, distances, normals = found(patch("cylinder", "cylinder", size, size, (0.0, 0.0, 1.0 - DEEP)))
    assert len(points) == 4
    assert distances == pytest.approx(np.full(4, -DEEP), abs=1e-15)
    assert (normals == [0.0, 0.0, 1.0]).all()
    points, distances, normals = found(patch("cylinder", "cylinder", size, size, (0.6 - DEEP, 0.0, 0.3)))
    assert distances == pytest.approx(np.full(2, -DEEP), abs=1e-15)
    assert (normals == [1.0, 0.0, 0.0]).all()
    assert sorted(points[:, 2]) == pytest.approx([-0.2, 0.5], abs=1e-8)
    at, turned = (0.6 - DEEP, 0.0, 0.1), (0.5 * np.pi, 0.0, 0.0)
    points, distances, normals = found(patch("cylinder", "cylinder", size, size, at, turned))
    assert distances == pytest.approx([-DEEP], abs=1e-15)
    assert points[0] == pytest.approx([0.3 - 0.5 * DEEP, 0.0, 0.1], abs=1e-8)
    assert (normals == [1.0, 0.0, 0.0]).all()


def test_two_coins_rim_to_rim_in_perpendicular_planes_touch_on_the_line_of_centres() -> None:
    """Rims of two thin cylinders in perpendicular planes: the nearest points are on the line of centres."""
    coin = (0.3, 0.001)
    for gap in (-DEEP, 0.1):
        at = (0.6 + gap, 0.0, 0.0)
        points, distances, normals = found(patch("cylinder", "cylinder", coin, coin, at, (0.5 * np.pi, 0.0, 0.0)))
        best = distances.argmin()
        assert distances[best] == pytest.approx(gap, abs=1e-12)
        assert normals[best] == pytest.approx([1.0, 0.0, 0.0], abs=1e-8)
        assert points[best][:1] == pytest.approx([0.3 + 0.5 * gap], abs=1e-8)


@pytest.mark.parametrize("angle", [0.3, 0.6, 1.0, 0.5 * np.pi])
def test_crossed_beams_touch_at_the_four_corners_of_their_overlap(angle: float) -> None:
    """The overlap is a parallelogram, long and thin at small angles; two points alone would not support a beam."""
    half, turn = (0.5, 0.05, 0.05), matrix_about_axis(np.array([0.0, 0.0, 1.0]), angle)
    touch = box_box(np.array(half), np.array(half), Transform(turn, np.array([0.0, 0.0, 0.1])))
    assert np.abs(touch.distances).max() < 1e-15
    corners = touch.points[:, :2]
    (x, y), (u, v) = corners[2] - corners[0], corners[3] - corners[1]
    assert abs(x * v - y * u) / 2 == pytest.approx(0.1 * 0.1 / np.sin(angle))
