"""Loops that cannot close, that contradict each other or that are redundant raise errors that name them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw

Y = (0, 1, 0)


def arm(*rods: tuple[float, tuple[float, float, float]]) -> lw.Mechanism:
    """Two links of 1 m in the plane x, z, whose end is tied to points of the world by rods of these lengths."""
    b = lw.Builder("arm")
    for name, parent, x in (("upper", "world", 0.0), ("lower", "upper", 1.0)):
        b.body(name, 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1)).joint(f"to {name}", lw.Revolute(Y), parent, name, at=(x, 0, 0))
    for k, (length, at) in enumerate(rods):
        b.close(f"rod {k}", lw.Rod(length), "world", "lower", at=at, to=(1, 0, 0))
    return b.build()


def solve(m: lw.Mechanism) -> lw.Dynamics:
    return lw.compile(m, target="numpy")


def test_links_too_short_to_close_a_loop_are_reported() -> None:
    with pytest.raises(
        lw.NotConverged,
        match=r"'arm' cannot be closed from this position: loop 'rod 0' still has a closure error of 1\.5 ",
    ) as caught:
        solve(arm((1.0, (4, 0, 0)))).assemble([0.3, 0.4])  # at the nearest it is 2 m away: (2^2 - 1^2) / 2
    assert "check that the lengths of the links allow one" in str(caught.value)


def test_assembly_reports_loops_that_contradict_each_other() -> None:
    """Two rods between the same points, of different lengths: both have an error, neither closes."""
    d = solve(arm((1.0, (1, 0, 0)), (1.2, (1, 0, 0))))
    both = r"loop 'rod 1' still has a closure error of 0\.1.*, loop 'rod 0' of 0\.09"
    with pytest.raises(lw.NotConverged, match=both) as caught:
        d.assemble([0.3, 0.4])
    assert str(caught.value).endswith("this loop contradicts the others, or its frames are too far apart")


def test_assembly_error_names_only_the_loops_at_fault() -> None:
    """One rod is far too short and the other closes without it; with two such rods, none is named as the only fault."""
    with pytest.raises(lw.NotConverged, match="Without loop 'rod 1', all other loops can be closed"):
        solve(arm((1.0, (1.5, 0, 0)), (1.0, (9, 0, 0)))).assemble([0.3, 0.4])
    with pytest.raises(lw.NotConverged) as caught:
        solve(arm((1.0, (-8, 0, 0)), (1.0, (9, 0, 0)))).assemble([0.3, 0.4])
    assert "Without" not in str(caught.value)


def test_assembly_reports_fixed_joints_that_prevent_loop_closure() -> None:
    d = solve(arm((0.5, (1, 0, 0))))
    assert np.abs(d.constraint(d.assemble([0.3, 0.4]))).max() < 1e-12
    with pytest.raises(lw.NotConverged, match="with to upper, to lower fixed: loop 'rod 0'"):
        d.assemble([0.3, 0.4], fixed=["to upper", "to lower"])
    with pytest.raises(lw.ModelError, match=r"no joint 'to lowr'.*to lower"):
        d.assemble([0.3, 0.4], fixed="to lowr")


def test_assembly_bends_a_stretched_arm_to_close_a_loop() -> None:
    """At a stretched arm no small move shortens it; assembly perturbs it, the same each time."""
    d = solve(arm((1.5, (0, 0, 0))))
    q = d.assemble([0.0, 0.0])
    assert np.abs(d.constraint(q)).max() < 1e-12
    assert abs(np.hypot(1.0 + np.cos(q[1]), np.sin(q[1])) - 1.5) < 1e-12
    assert (q == d.assemble([0.0, 0.0])).all()


def test_assemble_closes_the_loops_of_each_batch_member() -> None:
    d = solve(arm((1.2, (0, 0, 0))))
    q = np.random.default_rng(0).normal(size=(2, 3, 2))
    found = d.assemble(q)
    assert found.shape == q.shape
    assert np.abs(d.constraint(found)).max() < 1e-12


@pytest.mark.parametrize("kind", [lw.Weld(), lw.Prismatic((1, 0, 0))])
def test_welds_and_sliders_that_close_a_loop_assemble_from_any_rotation(kind: lw.Weld | lw.Prismatic) -> None:
    """The error grows up to half a turn, where both directions are equal."""
    b = lw.Builder("top").body("top", 1.0, inertia=(0.1, 0.1, 0.1)).joint("pin", lw.Revolute(Y), "world", "top")
    d = solve(b.close("held", kind, "world", "top").build())
    angles = np.linspace(0.0, np.pi, 60)
    sizes = np.linalg.norm(d.constraint(angles[:, None]), axis=1)
    assert np.abs(sizes - 2.0 * np.sin(angles / 2.0)).max() < 1e-15
    for start in (0.5, 1.5, -1.6, 3.1, np.pi, -np.pi):
        assert np.abs(np.sin(0.5 * d.assemble([start]))).max() < 1e-12


def test_weld_parallel_to_a_ball_joint_assembles_from_any_rotation() -> None:
    b = lw.Builder("top").body("top", 1.0, inertia=(0.1, 0.1, 0.1)).joint("socket", lw.Ball(), "world", "top")
    d = solve(b.close("weld", lw.Weld(), "world", "top", rpy=(0.3, -0.2, 0.9)).build())
    target = d.assemble([1.0, 0.0, 0.0, 0.0])
    for q in np.random.default_rng(0).normal(size=(30, 4)):
        found = d.assemble(q / np.linalg.norm(q))
        assert np.abs(d.pose(found, "top") - d.pose(target, "top")).max() < 1e-12


def test_check_loops_rejects_open_positions_and_batches() -> None:
    d = solve(arm((1.2, (0, 0, 0))))
    with pytest.raises(
        lw.LinkworkError, match=r"not closed at q: loop .rod 0. has a closure error of 1\.07 .*use d\.assemble"
    ):
        d.mechanism.check_loops([0.0, 0.0])
    with pytest.raises(lw.ShapeError, match="expected one state"):
        d.mechanism.check_loops([[0.0, 0.0]])


@pytest.mark.parametrize("length", [0.0, -1.0, np.nan, np.inf, "1", None])
def test_invalid_rod_lengths_are_rejected(length: Any) -> None:
    with pytest.raises(lw.ModelError, match=r"length must be a finite number of metres > 0; got .*lw\.Ball\(\)"):
        lw.Rod(length)


@pytest.mark.parametrize(
    ("numbers", "reason"),
    [
        ({"teeth": 0}, "teeth must be a nonzero integer"),
        ({"teeth": 20.0}, "teeth must be a nonzero integer"),
        ({"to_teeth": True}, "to_teeth must be a nonzero integer"),
        ({"to_teeth": 10**7}, "of magnitude at most 1000000"),
        ({"teeth": -40, "to_teeth": -40}, "two ring gears cannot mesh"),
        ({"teeth": 40, "to_teeth": -40}, "teeth of a ring must outnumber the teeth of the gear inside it"),
        ({"teeth": -30}, "teeth of a ring must outnumber"),
        ({"axis": (0, 0, 0)}, "axis must be three finite numbers"),
        ({"phase": np.nan}, "phase must be a finite number of radians"),
    ],
)
def test_invalid_gears_are_rejected(numbers: dict[str, Any], reason: str) -> None:
    given: dict[str, Any] = {"teeth": 20, "to_teeth": 40}
    with pytest.raises(lw.ModelError, match=reason):
        lw.Gear(**(given | numbers))


def test_gears_with_coincident_centres_are_reported() -> None:
    b = lw.Builder("coaxial")
    for name in ("a", "b"):
        b.body(name, 1.0, inertia=(0.1, 0.1, 0.1)).joint(name, lw.Revolute(Y), "world", name)
    d = solve(b.close("mesh", lw.Gear(20, 40, Y), "a", "b").build())
    with pytest.raises(lw.NonFinite, match="gears whose centres coincide"):
        d.forward_dynamics([0.0, 0.0], [0.0, 0.0], [1.0, 0.0])


@pytest.mark.parametrize(
    ("numbers", "reason"),
    [
        ({"radius": 0.0}, "radius must be a finite number of metres > 0"),
        ({"radius": -1.0}, "radius must be a finite number of metres > 0"),
        ({"teeth": -3}, "teeth of a pinion must be > 0"),
        ({"teeth": 1.5}, "teeth must be a nonzero integer"),
        ({"direction": (0, 0, 2)}, "direction must be perpendicular to the axis"),
        ({"axis": (1, 0, 1)}, "direction must be perpendicular to the axis"),
        ({"direction": "x"}, "direction must be three finite numbers"),
    ],
)
def test_invalid_racks_are_rejected(numbers: dict[str, Any], reason: str) -> None:
    given: dict[str, Any] = {"radius": 0.1}
    with pytest.raises(lw.ModelError, match=reason):
        lw.Rack(**(given | numbers))


@pytest.mark.parametrize("axis", [(0, 0, 0), (1, 2), (0, np.nan, 1), "z"])
def test_point_on_line_loops_without_a_direction_are_rejected(axis: Any) -> None:
    with pytest.raises(lw.ModelError, match="axis must be three finite numbers"):
        lw.PointOnLine(axis)
