"""Drawings show bodies between their joints, loops in red, and planar mechanisms at right angles to the view."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.examples import four_bar
from linkwork.simulation.results.mechanism_drawing import FAINT, LOOP, outline, skeleton, view_of
from linkwork.spatial.scalar import Array

pytest.importorskip("matplotlib")
EXAMPLES = [found.name for found in lw.examples()]


@pytest.fixture(scope="module")
def turning() -> lw.Run:
    return lw.simulate(lw.example("four_bar"), duration=0.2, dt=0.01)


def bar_ends(figure: Any, alpha: float) -> list[Array]:
    """End points (2, 2) of the thick lines with this alpha."""
    lines = [line for line in figure.axes[0].get_lines() if line.get_alpha() == alpha and line.get_linewidth() > 2.0]
    return [np.column_stack(line.get_data()) for line in lines]


def circle_centres(figure: Any, edge: str) -> list[Array]:
    """Centres (2,) of the circles with this edge colour, without those of the legend."""
    lines = [line for line in figure.axes[0].get_lines() if line.get_marker() == "o" and len(line.get_xdata())]
    return [np.column_stack(line.get_data())[0] for line in lines if line.get_markeredgecolor() == edge]


def contains_bars(found: list[Array], expected: list[Any]) -> bool:
    """Whether all expected bars are among those found, in either direction."""
    return all(any(np.allclose(np.sort(one, axis=0), np.sort(other, axis=0)) for other in found) for one in expected)


def test_drawing_connects_joints_by_bars_and_shows_loops_in_red() -> None:
    a, b, _, ground = four_bar.LENGTHS
    A, B, _ = four_bar.angles(0.8)
    elbow = a * np.array([np.cos(A), np.sin(A)])
    joint = elbow + b * np.array([np.cos(B), np.sin(B)])
    figure = lw.draw(four_bar.build(0.8))
    found = bar_ends(figure, 1.0)
    assert len(found) == 3
    assert contains_bars(found, [np.array([[0, 0], elbow]), np.array([elbow, joint]), np.array([[ground, 0], joint])])
    assert np.allclose(circle_centres(figure, LOOP), [joint, joint])
    assert np.allclose(
        sorted(map(tuple, circle_centres(figure, "0.2"))), sorted(map(tuple, [[0, 0], elbow, [ground, 0]]))
    )
    axes = figure.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_title(loc="left")) == ("x [m]", "y [m]", "four_bar")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["crank", "coupler", "rocker", "loop"]
    assert axes.get_aspect() == 1.0


def test_drawing_of_several_positions_shows_the_last_opaque(turning: lw.Run) -> None:
    figure = turning.draw((0.0, 0.1, 0.2))
    first, last = bar_ends(figure, FAINT), bar_ends(figure, 1.0)
    assert len(first) == len(last) == 3
    for found, row in ((first, 0), (last, -1)):
        elbow = turning["pose.coupler"][row, :2, 3]
        assert contains_bars(found, [np.array([[0.0, 0.0], elbow])])
    assert figure.axes[0].get_title(loc="left") == "four_bar at 0, 0.1, 0.2 s"
    path = turning["pose.joint"][:, :2, 3]
    assert any(np.array_equal(np.column_stack(line.get_data()), path) for line in figure.axes[0].get_lines())
    assert len(bar_ends(turning.draw(), 1.0)) == len(bar_ends(turning.draw(), FAINT)) == 3  # start and end
    assert bar_ends(lw.draw(turning.mechanism, turning.q[[0, 20]]), 1.0)[0] == pytest.approx(last[0])


@pytest.mark.parametrize(("offset", "radius"), [(0.3, 0.0), (0.3, 0.3), (0.1, 0.25)])
def test_drawn_bar_of_a_body_with_one_joint_has_a_length_from_its_inertia(offset: float, radius: float) -> None:
    """A bar extends beyond the centre of mass by half its length; a point mass ends there."""
    b = lw.Builder("bar", gravity=(0, -9.81, 0))
    b.body("bar", 2.0, com=(0, -offset, 0), inertia=np.diag([1, 0, 1]) * (2.0 * radius**2 / 3 + 1e-15))
    b.joint("pin", lw.Revolute((0, 0, 1)), "world", "bar")
    ((_, points),) = skeleton(b.build()).shapes
    assert np.allclose(points, [[0, 0, 0], [0, -offset, 0], [0, -offset - radius, 0]], rtol=0, atol=1e-6)


def test_planar_mechanisms_are_viewed_at_right_angles_with_gravity_downward() -> None:
    x, y, z = np.eye(3)
    rng = np.random.default_rng(0)
    for normal, gravity, right, up in (
        (z, -y, x, y), (z, -z, x, y), (z, 0 * z, x, y), (y, -z, x, z), (x, -z, y, z), (y, -y, x, z), (z, x, y, -x),
    ):  # fmt: skip
        points = rng.normal(size=(9, 3)) * (1.0 - normal)
        view = view_of(points, 9.81 * gravity)
        assert np.allclose(view.right, right)
        assert np.allclose(view.up, up)
    aslant = view_of(rng.normal(size=(9, 3)), np.array([0.0, 0.0, -9.81]))
    assert aslant.names is None
    assert np.allclose([aslant.right @ aslant.up, aslant.right @ aslant.right, aslant.up @ aslant.up], [0, 1, 1])
    assert aslant.up[2] > 0.9
    assert aslant.right[2] == 0.0


@pytest.mark.parametrize("count", [1, 2, 3, 4, 30])
def test_outline_of_a_drawn_body_is_convex_and_contains_all_points(count: int) -> None:
    points = np.random.default_rng(count).normal(size=(count, 2))
    corners = outline(points)
    assert all(np.abs(points - corner).sum(axis=1).min() < 1e-8 for corner in corners)
    if count > 2:
        sides = np.roll(corners, -1, axis=0) - corners
        for side, corner in zip(sides, corners, strict=True):
            left = side[0] * (points - corner)[:, 1] - side[1] * (points - corner)[:, 0]
            assert left.min() > -1e-7
    on_line = np.outer(np.linspace(-1, 2, count), [0.3, -0.4])
    assert len(outline(on_line)) == min(count, 2)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_can_be_drawn(name: str, tmp_path: Path) -> None:
    lw.draw(lw.example(name), path=tmp_path / "machine.png")
    assert 2_000 < (tmp_path / "machine.png").stat().st_size < 60_000


@pytest.mark.parametrize(
    ("shape", "edges", "outlined"),
    [
        (lw.Box((0.2, 0.4, 0.6)), 2 + 4, lambda p: np.abs(p / [0.1, 0.2]).max(axis=1)),
        (lw.Sphere(0.3), 0, lambda p: np.hypot(*p.T) / 0.3),
        (lw.Cylinder(0.3, 0.5), 2, lambda p: np.hypot(*p.T) / 0.3),
        (lw.Capsule(0.3, 0.5), 0, lambda p: np.hypot(*p.T) / 0.3),
    ],
)
def test_shapes_of_bodies_are_drawn_at_their_pose(shape: Any, edges: int, outlined: Callable[[Array], Array]) -> None:
    """Seen along z, in its colour: every corner of the outline is on the edge of the shape."""
    b = lw.Builder("shape")
    b.body("one", 1.0, inertia=(1, 1, 1)).joint("pin", lw.Revolute((0, 0, 1)), "world", "one", at=(1.0, 0.0, 0.0))
    b.geometry("one", shape, at=(0.0, 2.0, 0.0), rpy=(0.0, 0.0, 0.3), color=(1.0, 0.5, 0.0, 1.0))
    b.geometry("one", lw.Box((9, 9, 9)), role="collision").geometry("one", lw.Mesh("part.stl"))
    (solid,) = skeleton(b.build()).solids
    assert solid.color == (1.0, 0.5, 0.0)
    assert len(solid.edges) == edges
    turn = np.array([[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]])
    corners = (outline(solid.points[:, :2]) - [0.0, 2.0]) @ turn
    assert np.allclose(outlined(corners), 1.0, rtol=0, atol=1e-8)
    size = 0.5 * np.ptp(solid.points[:, 2])
    for line in solid.edges:  # they lie on the outline, and on the lids or between them
        assert np.allclose(outlined((line[:, :2] - [0.0, 2.0]) @ turn), 1.0)
        assert np.allclose(np.abs(line[:, 2]), size)
    figure = lw.draw(b.build())
    faces = [tuple(patch.get_facecolor()[:3]) for patch in figure.axes[0].patches]
    assert faces == [(1.0, 0.75, 0.5)]
    shown: Any = figure.axes[0].patches[0]
    limits = np.array([figure.axes[0].get_xlim(), figure.axes[0].get_ylim()])
    assert (limits[:, 0] < shown.get_xy().min(axis=0)).all()  # all of it is seen
    assert (limits[:, 1] > shown.get_xy().max(axis=0)).all()


def test_springs_rods_and_lines_are_drawn() -> None:
    b = lw.Builder("all")
    b.body("slider", 1.0).joint("rail", lw.Prismatic((1, 0, 0)), "world", "slider")
    b.body("ball", 1.0, inertia=(1, 1, 1)).joint("float", lw.Free(), "world", "ball")
    b.close("rod", lw.Rod(1.0), "slider", "ball").close("line", lw.PointOnLine((0, 0, 1)), "world", "ball")
    b.spring("spring", "world", "slider", stiffness=1.0, length=0.1)
    found = skeleton(b.build())
    assert len(found.rails) == len(found.lines) == len(found.lines_of_force) == 1
    assert len(found.joined) == 2
    figure = lw.draw(b.build(), [0.5, 0, 0, 1.0, 1, 0, 0, 0])
    red = [np.column_stack(line.get_data()) for line in figure.axes[0].get_lines() if line.get_color() == LOOP]
    lengths = sorted(float(np.linalg.norm(end - start)) for start, end in red)
    assert lengths == pytest.approx([0.0, 1.0, np.hypot(0.5, 1.0)])  # a point on a line, that line, and the rod


def test_invalid_drawings_are_rejected_with_a_reason_and_pyplot_is_not_loaded(turning: lw.Run, tmp_path: Path) -> None:
    before = "matplotlib.pyplot" in sys.modules
    turning.draw(0.1)
    assert ("matplotlib.pyplot" in sys.modules) == before
    many = lw.simulate(lw.example("double_pendulum"), np.zeros((3, 2)), duration=0.1, dt=0.01)
    wrong: Any = "four_bar"
    for does, says in (
        (lambda: many.draw(), r"needs a run without a batch; this one has shape \(3,\)"),
        (lambda: turning.draw((0.0, 0.3)), "`at` must be between 0 s and 0.2 s; got 0.3 s"),
        (
            lambda: turning.draw(path=tmp_path / "run.gif"),
            r"unsupported figure type '\.gif'; expected \.png, \.svg, \.pdf",
        ),
        (lambda: lw.draw(lw.example("four_bar"), [1.0, 2.0]), r"q has shape \(2,\), expected \(\.\.\., 3\)"),
        (lambda: lw.draw(wrong), "Mechanism"),
    ):
        with pytest.raises(lw.LinkworkError, match=says):
            does()
    assert not os.listdir(tmp_path)


def test_missing_matplotlib_error_gives_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(lw.LinkworkError, match=r"pip install 'linkwork\[plot\]'"):
        lw.draw(lw.example("four_bar"))
