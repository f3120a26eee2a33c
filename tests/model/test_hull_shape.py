"""The shape Hull: its vertices, invalid points, and hulls with a limited number of vertices."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.model.elements.contact import box_corners
from linkwork.model.hull_vertices import face_normals


def test_a_hull_stores_only_its_vertices() -> None:
    corners = box_corners((1.0, 2.0, 3.0))
    inside = np.random.default_rng(0).uniform(-0.4, 0.4, size=(50, 3))
    hull = lw.Hull(np.concatenate([inside, corners]))
    assert {tuple(point) for point in hull.points} == {tuple(corner) for corner in corners}
    assert lw.Hull(hull.points) == hull


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_hull_of_a_box_has_six_faces_at_every_scale(scale: float) -> None:
    corners = np.array(lw.Hull(scale * box_corners((1.0, 2.0, 3.0)) + 5.0 * scale).points)
    assert len(corners) == 8
    normals = face_normals(corners)
    assert len(normals) == 6
    assert abs(normals).sum(axis=1) == pytest.approx(np.ones(6), abs=1e-9)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], "at least four points"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [2, 3, 0]], "one plane"),
        ([[0, 0, 0]] * 5, "one plane"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, np.nan]], "finite"),
        ([[0, 0], [1, 0], [0, 1], [1, 1]], "at least four points"),
        ("abc", "at least four points"),
        (np.random.default_rng(0).normal(size=(20_000, 3)) / 1.0, None),
    ],
)
def test_hull_rejects_invalid_points_with_a_reason(points: object, message: str | None) -> None:
    if message is None:
        sphere = np.array(points) / np.linalg.norm(np.array(points), axis=1)[:, None]
        with pytest.raises(lw.ModelError, match="at most 256 vertices; these points have 20000"):
            lw.Hull(sphere)
        return
    with pytest.raises(lw.ModelError, match=message):
        lw.Hull(points)  # pyright: ignore[reportArgumentType]


def test_a_simplified_hull_reports_its_deviation() -> None:
    rng = np.random.default_rng(0)
    sphere = rng.normal(size=(500, 3))
    sphere /= np.linalg.norm(sphere, axis=1)[:, None]
    errors = []
    for most in (16, 64, 256):
        hull, error = lw.Hull.simplified(sphere, most)
        assert len(hull.points) == most
        errors.append(error)
        # The largest distance of any point along any direction is not smaller
        directions = sphere
        gap = (sphere @ directions.T).max(axis=0) - (np.array(hull.points) @ directions.T).max(axis=0)
        assert 0.5 * error < gap.max() < 2.0 * error
    assert errors == sorted(errors, reverse=True)
    assert lw.Hull.simplified(box_corners((1, 1, 1)))[1] == 0.0
    with pytest.raises(lw.ModelError, match="from 4 to 256"):
        lw.Hull.simplified(sphere, 300)


def test_contact_points_reject_a_hull_as_surface() -> None:
    b = lw.Builder("drop", gravity=(0, 0, -9.81))
    b.body("ball", mass=1.0, inertia=(1.0, 1.0, 1.0))
    b.joint("float", lw.Free(), "world", "ball")
    b.surface("rock", lw.Hull(box_corners((1, 1, 1))))
    b.touch("tip", "ball", (0, 0, 0), stiffness=1e4)
    with pytest.raises(lw.LinkworkError, match="'rock', which is a hull; points cannot touch it"):
        lw.simulate(b.build(), [0, 0, 2, 1, 0, 0, 0], [0] * 6, duration=0.1)


def test_a_hull_is_saved_and_loaded(tmp_path: object) -> None:
    b = lw.Builder("rock")
    b.body("rock", mass=1.0, inertia=(1.0, 1.0, 1.0))
    b.joint("float", lw.Free(), "world", "rock")
    hull = lw.Hull(np.random.default_rng(0).normal(size=(12, 3)))
    b.geometry("rock", hull, role="collision")
    path = f"{tmp_path}/rock.toml"
    lw.save(b.build(), path)
    assert lw.load(path).bodies[1].geometry[0].shape == hull
