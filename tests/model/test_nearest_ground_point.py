"""The distance of a point to uneven ground is that to the nearest point, found by dense search or in closed form."""

from collections.abc import Callable

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler import Kernel
from linkwork.model.elements.uneven_ground import SurfaceShape
from linkwork.spatial.scalar import Array

COUNT = 3000
RNG = np.random.default_rng(7)
ROUGH = lw.HeightField((1.6, 1.4), RNG.uniform(-0.1, 0.1, (9, 8)))  # slopes up to 1
FINE = lw.HeightField((1.6, 1.4), RNG.uniform(-0.05, 0.05, (33, 29)))  # for a ball of several cells
HILLS = lw.Ground(lambda x, y: 0.1 * np.sin(2.0 * x) * np.cos(y) + 0.05 * x)
RADIUS = 0.15


def all_near(shape: SurfaceShape, points: Array, radius: float = 0.0) -> tuple[Array, Array, Array]:
    """Distances (n,), normals (n, 3) and bends (n, 3, 3) of points (n, 3), from compiled code."""
    options = {"radius": radius} if radius else {}

    def near(p: Array) -> tuple[Array, Array, Array]:
        return shape.near(p, **options)  # type: ignore[call-arg]

    kernel = Kernel("near", near, [(3,)], [(), (3,), (3, 3)], key=None)
    distance, normal, bend = kernel.over_batch([points], (len(points),), None)[0]
    return distance, normal, bend


def height_of(shape: lw.HeightField | lw.Ground) -> Callable[[Array, Array], Array]:
    """The height as a function of arrays x and y, independent of the shape's own formulas for a height field."""
    if isinstance(shape, lw.Ground):
        return shape.function
    table, (sx, sy) = np.array(shape.heights), shape.size
    nx, ny = np.array(table.shape) - 1

    def height(x: Array, y: Array) -> Array:
        a, b = np.clip((x / sx + 0.5) * nx, 0, nx), np.clip((y / sy + 0.5) * ny, 0, ny)
        i, j = np.minimum(a.astype(int), nx - 1), np.minimum(b.astype(int), ny - 1)
        s, t = a - i, b - j
        low, high = table[i, j] * (1 - s) + table[i + 1, j] * s, table[i, j + 1] * (1 - s) + table[i + 1, j + 1] * s
        return low * (1 - t) + high * t

    return height


def random_points(shape: lw.HeightField | lw.Ground, low: float, high: float) -> Array:
    """Random points (n, 3) [m] at heights from `low` to `high` above the ground."""
    rng = np.random.default_rng(3)
    x, y = rng.uniform(-0.9, 0.9, (2, COUNT))
    return np.column_stack([x, y, height_of(shape)(x, y) + rng.uniform(low, high, COUNT)])


GROUNDS = [(ROUGH, 0.0, -0.1, 0.15), (FINE, RADIUS, -0.02, RADIUS), (HILLS, 0.0, -0.4, 0.8)]


@pytest.mark.parametrize(("shape", "radius", "low", "high"), GROUNDS)
def test_foot_point_is_on_the_ground_and_no_other_point_is_nearer(
    shape: lw.HeightField | lw.Ground, radius: float, low: float, high: float
) -> None:
    height, points = height_of(shape), random_points(shape, low, high)
    distance, normal, _ = all_near(shape, points, radius)
    foot = points - normal * distance[:, None]
    assert np.abs(foot[:, 2] - height(foot[:, 0], foot[:, 1])).max() < 1e-13
    above = points[:, 2] - height(points[:, 0], points[:, 1])
    assert (np.sign(distance) == np.sign(above)).all()
    grid = np.linspace(-1.0, 1.0, 121)
    for p, found, bound in zip(points, distance, np.abs(above), strict=True):
        x, y = p[0] + bound * grid[:, None], p[1] + bound * grid  # the foot point is not farther than the height
        search = np.sqrt((x - p[0]) ** 2 + (y - p[1]) ** 2 + (height(x, y) - p[2]) ** 2).min()
        assert abs(found) <= search + 1e-13
        assert search - abs(found) < 0.02 * bound  # of the order of the grid, if the foot point is on an edge


@pytest.mark.parametrize(("shape", "radius", "low", "high"), GROUNDS)
def test_normal_and_curvature_are_derivatives_of_distance_and_normal(
    shape: lw.HeightField | lw.Ground, radius: float, low: float, high: float
) -> None:
    points, e = random_points(shape, low, high), 1e-6
    _, normal, bend = all_near(shape, points, radius)
    sides = [[all_near(shape, points + side * d, radius) for side in (1, -1)] for d in e * np.eye(3)]
    gradient = np.stack([(a[0] - b[0]) / (2 * e) for a, b in sides], axis=-1)
    turning = np.stack([(a[1] - b[1]) / (2 * e) for a, b in sides], axis=-1)
    smooth = np.abs(turning).max(axis=(1, 2)) < 0.01 / e  # not between two foot points
    assert smooth.mean() > 0.99
    assert np.abs(np.einsum("ni,ni->n", normal, normal) - 1.0).max() < 1e-14
    sharp = 1.0 + np.abs(bend).max(axis=(1, 2))[smooth] ** 2  # the error of differences grows with the curvature
    slope_errors = np.abs(normal - gradient).max(axis=1)[smooth] / sharp
    bend_errors = np.abs(bend - turning).max(axis=(1, 2))[smooth] / sharp
    assert np.quantile(slope_errors, 0.995) < 1e-9  # the others change from a face to an edge within the difference
    assert np.quantile(bend_errors, 0.995) < 1e-6
    assert slope_errors.max() < 1e-6
    assert np.abs(bend - bend.transpose(0, 2, 1)).max() < 1e-9 * np.abs(bend).max()


def test_plain_python_and_compiled_code_find_the_same_foot_points() -> None:
    for shape, _, low, high in GROUNDS:
        points = random_points(shape, low, high)[:100]
        distance, normal, bend = all_near(shape, points)
        for p, a, b, c in zip(points, distance, normal, bend, strict=True):
            near = shape.near(p)
            assert near.distance == pytest.approx(a, abs=1e-14)
            assert near.normal == pytest.approx(b, abs=1e-11)
            assert near.bend == pytest.approx(c, abs=1e-7 * (1.0 + np.abs(c).max()))


def test_foot_points_in_a_bowl_are_exact_up_to_its_centre() -> None:
    bowl = lw.Ground(lambda x, y: 1.0 - np.sqrt(1.0 - x * x - y * y))
    directions = RNG.normal(size=(COUNT, 3))
    directions[:, 2] = -np.abs(directions[:, 2])
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    directions = directions[directions[:, 2] < -0.4]
    sizes = RNG.uniform(0.05, 1.0, len(directions))
    distance, normal, bend = all_near(bowl, directions * sizes[:, None] + [0.0, 0.0, 1.0])
    assert distance == pytest.approx(1.0 - sizes, abs=1e-15 * 20)
    assert np.abs(normal + directions).max() < 1e-12
    tangent = np.eye(3) - directions[:, :, None] * directions[:, None, :]
    assert np.abs(bend * sizes[:, None, None] + tangent).max() < 1e-9


@pytest.mark.parametrize("turn", [0.0, 0.4, np.pi / 4])
def test_ball_above_a_narrow_valley_touches_one_of_its_sides(turn: float) -> None:
    c, s = np.cos(turn), np.sin(turn)
    valley = lw.Ground(lambda x, y: 2.0 * (c * x + s * y) ** 2)  # radius of curvature 0.25 m
    heights = np.array([0.1, 0.24, 0.2501, 0.26, 0.3, 0.5, 1.0, 3.0])
    distance, _, _ = all_near(valley, np.column_stack([0 * heights, 0 * heights, heights]))
    exact = np.where(heights < 0.25, heights, np.sqrt(np.maximum(heights / 2 - 1 / 16, 0)))
    assert distance == pytest.approx(exact, abs=1e-12)


def test_contact_normal_turns_continuously_about_the_edge_of_a_ridge() -> None:
    ridge = lw.HeightField((2.0, 2.0), [[-0.3] * 3, [0.0] * 3, [-0.3] * 3])
    for angle in np.linspace(-0.29, 0.29, 13):  # the normals of both sides are at +-0.2915 rad
        n = np.array([np.sin(angle), 0.0, np.cos(angle)])
        near = ridge.near(0.2 * n + [0, 0.3, 0])
        assert near.distance == pytest.approx(0.2, abs=1e-15)
        assert near.normal == pytest.approx(n, abs=1e-14)
        along = np.array([n[2], 0.0, -n[0]])
        assert near.bend == pytest.approx(np.outer(along, along) / 0.2, abs=1e-12)


def test_distances_to_flat_and_tilted_height_fields_are_those_of_planes() -> None:
    x, y = np.linspace(-1, 1, 5)[:, None], np.linspace(-2, 2, 9)
    n = np.array([-0.3, 0.2, 1.0]) / np.linalg.norm([0.3, 0.2, 1.0])
    tilted = lw.HeightField((2.0, 4.0), 0.3 * x - 0.2 * y)
    points = RNG.uniform(-0.5, 0.5, (COUNT, 3))
    points[: COUNT // 2] = np.round(points[: COUNT // 2] * 2) / 2  # above grid points and grid lines
    points[: COUNT // 2, 2] = RNG.choice([0.3, 1e-3, -1e-3, 1e-9], COUNT // 2) + 0.3 * points[: COUNT // 2, 0]
    distance, normal, bend = all_near(tilted, points)
    assert distance == pytest.approx(points @ n, abs=1e-15)
    assert np.abs(normal - n).max() < 1e-7
    assert np.abs(bend).max() < 1e-9


def test_ball_with_a_radius_of_many_grid_cells_is_an_error() -> None:
    def ball(radius: float) -> lw.Mechanism:
        b = lw.Builder("ball").body("ball", 1.0, inertia=(1, 1, 1)).joint("free", lw.Free(), "world", "ball")
        return b.surface("rocks", FINE).touch("skin", "ball", radius=radius, stiffness=1e4).build()

    assert FINE.largest_radius > 16 * 0.05
    ball(FINE.largest_radius)
    with pytest.raises(lw.ModelError, match=r"too large for the cells of the height field 'rocks'.*larger cells"):
        ball(1.01 * FINE.largest_radius)


def test_derivatives_that_are_not_finite_count_as_zero() -> None:
    cone = lw.Ground(lambda x, y: -np.sqrt(x * x + y * y))
    cup = lw.Ground(lambda x, y: -np.sqrt(np.maximum(1.0 - x * x - y * y, 0.0)))
    assert all_near(cone, np.array([[0.0, 0.0, 0.2]]))[0] == pytest.approx([0.2])
    distance, normal, _ = all_near(cup, np.array([[1.5, 0.0, 0.2]]))
    assert distance == pytest.approx([0.2])
    assert normal[0] == pytest.approx([0, 0, 1])


def test_nearest_ground_points_have_the_same_bits_in_any_batch() -> None:
    for shape, radius, low, high in GROUNDS:
        points = random_points(shape, low, high)[:33]
        together = all_near(shape, points, radius)
        for k, p in enumerate(points):
            alone = all_near(shape, p[None], radius)
            assert all((a[k] == b[0]).all() for a, b in zip(together, alone, strict=True))
