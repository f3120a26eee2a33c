"""A surface gives the shortest distance, its gradient as the normal, and the normal's derivative as the curvature."""

from collections.abc import Callable

import numpy as np
import pytest

import linkwork as lw
from linkwork.model.elements.uneven_ground import SurfaceShape

BOX, CYLINDER = lw.Box((0.6, 0.8, 1.0)), lw.Cylinder(0.3, 0.8)


def hilly(x: float, y: float) -> float:
    return 0.1 * np.sin(2.0 * x) * np.cos(y)


HEIGHTS = [[0.0, 0.1, 0.05], [0.2, 0.1, 0.0]]
SHAPES: dict[str, SurfaceShape] = {
    "plane": lw.Plane(),
    "box": BOX,
    "sphere": lw.Sphere(0.7),
    "cylinder": CYLINDER,
    "capsule": lw.Capsule(0.3, 0.8),
    "height terrain": lw.HeightField((1.5, 1.2), HEIGHTS),
    "ground": lw.Ground(hilly),
}


@pytest.mark.parametrize("name", SHAPES)
def test_normal_is_the_gradient_of_the_distance(name: str) -> None:
    shape, rng, e = SHAPES[name], np.random.default_rng(0), 1e-6
    for _ in range(60):
        p = rng.uniform(-0.7, 0.7, 3)
        near = shape.near(p)
        gradient = np.array(
            [(shape.near(p + d).distance - shape.near(p - d).distance) / (2 * e) for d in e * np.eye(3)]
        )
        assert near.normal @ near.normal == pytest.approx(1.0, abs=1e-12)
        assert gradient == pytest.approx(near.normal, abs=1e-8)


@pytest.mark.parametrize("name", SHAPES)
def test_curvature_is_the_derivative_of_the_normal(name: str) -> None:
    shape, rng, e = SHAPES[name], np.random.default_rng(1), 1e-6
    for _ in range(60):
        p = rng.uniform(-0.55, 0.55, 3)
        rates = np.array([(shape.near(p + d).normal - shape.near(p - d).normal) / (2 * e) for d in e * np.eye(3)]).T
        assert shape.near(p).bend == pytest.approx(rates, abs=1e-6)


def surface_points(inside: Callable[[np.ndarray], np.ndarray], cells: int = 60) -> np.ndarray:
    """Points of a grid (n, 3) that are inside a solid."""
    axis = np.linspace(-0.75, 0.75, cells)
    grid = np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)
    return grid[inside(grid)]


@pytest.mark.parametrize(
    ("shape", "inside"),
    [
        (BOX, lambda x: (np.abs(x) <= 0.5 * np.array(BOX.size)).all(axis=1)),
        (CYLINDER, lambda x: (np.hypot(x[:, 0], x[:, 1]) <= 0.3) & (np.abs(x[:, 2]) <= 0.4)),
        (SHAPES["capsule"], lambda x: np.linalg.norm(x - np.c_[0 * x[:, :2], x[:, 2].clip(-0.4, 0.4)], axis=1) <= 0.3),
    ],
)
def test_distance_outside_a_surface_is_the_distance_to_its_nearest_point(shape: SurfaceShape, inside: Callable) -> None:
    solid, rng = surface_points(inside), np.random.default_rng(2)
    for p in rng.uniform(-1.2, 1.2, (40, 3)):
        distance = shape.near(p).distance
        if distance > 0.0:
            assert distance == pytest.approx(np.linalg.norm(solid - p, axis=1).min(), abs=0.03)


def test_height_field_matches_its_data_and_extends_beyond_its_edges() -> None:
    terrain = lw.HeightField((1.0, 2.0), HEIGHTS)
    for i, x in enumerate((-0.5, 0.5)):
        for j, y in enumerate((-1.0, 0.0, 1.0)):
            assert terrain.height(x, y) == HEIGHTS[i][j]
            assert terrain.near(np.array([x, y, HEIGHTS[i][j]])).distance == 0.0
    assert terrain.height(0.0, 0.5) == pytest.approx(np.mean([HEIGHTS[i][j] for i in (0, 1) for j in (1, 2)]))
    for beyond in (1.0, 7.3):
        assert terrain.height(0.5, 1.0 + beyond) == HEIGHTS[1][2]
        assert terrain.near(np.array([0.5 + beyond, 1.0 + beyond, 0.4])).distance == 0.4 - HEIGHTS[1][2]
    with pytest.raises(lw.ModelError, match=r"heights must be an array \(nx, ny\)"):
        lw.HeightField((1, 1), [[0.0, 1.0], [2.0]])
    with pytest.raises(lw.ModelError, match="2 finite numbers > 0"):
        lw.HeightField((1, 0), HEIGHTS)


def test_invalid_ground_functions_are_rejected() -> None:
    with pytest.raises(lw.ModelError, match=r"callable as function\(x, y\)"):
        lw.Ground(3.0)  # type: ignore[arg-type]
    with pytest.raises(lw.ModelError, match="finite height"):
        lw.Ground(lambda x, y: np.array([x, y]))


def test_box_corners_are_in_cyclic_order() -> None:
    corners = lw.box_corners((0.3, 0.4, 0.2))
    assert corners[0].tolist() == [0.15, -0.2, -0.1]
    assert np.abs(corners).tolist() == [[0.15, 0.2, 0.1]] * 8
    assert np.linalg.norm(np.diff(corners[:4], axis=0), axis=1) == pytest.approx([0.4, 0.3, 0.4])
    assert (corners[4:] - corners[:4]).tolist() == [[0.0, 0.0, 0.2]] * 4
