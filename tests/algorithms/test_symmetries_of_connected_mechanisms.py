"""Symmetries that loops and springs at the world leave, and their conserved momenta."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.model.joints import JointKind

SPACE, EARTH = (0.0, 0.0, 0.0), (0.0, 0.0, -9.81)


def one_body(gravity: tuple[float, float, float], kind: JointKind | None = None, **options: Any) -> lw.Builder:
    b = lw.Builder("connected", gravity=gravity).body("a", 2.0, com=(0.1, 0.05, -0.3), inertia=(0.1, 0.2, 0.15))
    return b.joint("joint", kind or lw.Free(), "world", "a", **options)


AT, TO = (1.0, 0.0, 0.5), (0.1, 0.0, 0.2)
ABOUT_Z = "angular momentum about z"
LOOPS = {
    "pin": (lw.Ball(), EARTH, [f"{ABOUT_Z} through (1, 0, 0)"]),
    "rod": (lw.Rod(0.5), EARTH, [f"{ABOUT_Z} through (1, 0, 0)"]),
    "line": (lw.PointOnLine((0, 0, 1)), SPACE, [f"{ABOUT_Z} through (1, 0, 0)", "momentum along z"]),
    "line across gravity": (lw.PointOnLine((0, 1, 0)), EARTH, ["momentum along y"]),
    "hinge": (lw.Revolute((0, 0, 1)), EARTH, [f"{ABOUT_Z} through (1, 0, 0)"]),
    "oblique hinge": (lw.Revolute((0, 1, 1)), EARTH, []),
    "screw": (lw.Screw((0, 0, 1), 0.1), SPACE, [f"{ABOUT_Z} through (1, 0, 0), with 0.1 m/rad along it"]),
    "plane": (lw.Planar((0, 0, 1)), EARTH, [ABOUT_Z, "momentum along x", "momentum along y"]),
    "gear": (lw.Gear(20, 40), SPACE, []),
    "weld": (lw.Weld(), SPACE, []),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_to_the_world_leaves_the_symmetries_that_its_kind_permits(name: str) -> None:
    kind, gravity, expected = LOOPS[name]
    m = one_body(gravity).close("loop", kind, "world", "a", at=AT, to=TO).build()
    assert [symmetry.momentum for symmetry in m.symmetries()] == expected


def test_a_line_on_a_body_through_a_fixed_point_leaves_the_rotation_about_the_vertical_through_it() -> None:
    """The line is on the body, and its point in the world."""
    m = one_body(EARTH).close("loop", lw.PointOnLine((0, 0, 1)), "a", "world", at=TO, to=AT).build()
    assert [symmetry.momentum for symmetry in m.symmetries()] == [f"{ABOUT_Z} through (1, 0, 0)"]


def test_a_spring_to_the_world_leaves_the_rotations_about_its_anchor() -> None:
    far = one_body(SPACE).spring("spring", "world", "a", at=(2000.0, 0, 1), to=TO, stiffness=10.0).build()
    through = ["x through (0, 0, 1)", "y through (2e+03, 0, 1)", "z through (2e+03, 0, 0)"]
    assert [symmetry.momentum for symmetry in far.symmetries()] == [f"angular momentum about {one}" for one in through]
    two = one_body(SPACE).spring("one", "world", "a", at=(0, 0, 1), to=TO, stiffness=10.0)
    two = two.spring("two", "a", "world", at=TO, to=(0, 0, -2), stiffness=10.0).build()
    assert [symmetry.momentum for symmetry in two.symmetries()] == [ABOUT_Z]
    beside = one_body(EARTH, lw.Ball()).spring("spring", "world", "a", at=(0, 0.1, 1), to=TO, stiffness=10.0).build()
    assert beside.symmetries() == ()


def test_joint_spring_removes_only_the_symmetry_along_its_own_velocity() -> None:
    slide = one_body(EARTH, lw.Cylindrical((0, 0, 1)), stiffness=(3.0, 0.0)).build()
    assert [symmetry.momentum for symmetry in slide.symmetries()] == [ABOUT_Z]
    plane = one_body(EARTH, lw.Planar((0, 0, 1)), stiffness=(3.0, 0.0, 0.0)).build()
    assert [symmetry.momentum for symmetry in plane.symmetries()] == ["momentum along y"]


def hanging(connection: str) -> tuple[lw.Mechanism, np.ndarray, np.ndarray]:
    """Two bodies that hang on the vertical axis by a loop or a spring, with consistent positions and velocities."""
    b = lw.Builder(f"hanging by a {connection}")
    b.body("upper", 1.0, com=(0.05, 0, -0.3), inertia=(0.05, 0.06, 0.02))
    b.body("lower", 0.5, com=(0.1, 0, -0.2), inertia=(0.02, 0.03, 0.01))
    b.joint("float", lw.Free() if connection != "spring" else lw.Ball(), "world", "upper")
    b.joint("elbow", lw.Universal(), "upper", "lower", at=(0, 0, -0.6))
    if connection == "spring":
        b.spring("spring", "world", "lower", at=(0, 0, -1.0), to=(0.1, 0.1, -0.3), stiffness=30.0, length=0.3)
    else:
        b.close(
            "loop", lw.Ball() if connection == "pin" else lw.Rod(0.4), "world", "upper", at=(0, 0, 0.2), to=(0, 0, 0.1)
        )
    m = b.build()
    d = lw.compile(m)
    rng = np.random.default_rng(4)
    q = m.integrate(m.neutral(), 0.3 * rng.normal(size=m.nv))
    q = d.assemble(q) if m.nc else q
    return m, q, d.consistent(q, rng.normal(size=m.nv)) if m.nc else rng.normal(size=m.nv)


@pytest.mark.parametrize("connection", ["pin", "rod", "spring"])
@pytest.mark.parametrize("method", ["variational", "energy-momentum"])
def test_angular_momentum_about_an_anchor_is_conserved_in_runs_and_checked_by_the_report(
    method: str, connection: str
) -> None:
    m, q, v = hanging(connection)
    run = lw.simulate(m, q, v, 4.0, 0.01 if connection == "rod" else 0.05, method).check()
    momentum = lw.compile(m).momentum_maps(run.q, run.v)[:, 0]
    assert np.ptp(momentum) < 1e-11
    row = run.report()[ABOUT_Z]
    assert (row.verdict, float(row.value) < 1e-12) == ("ok", True)
    if method == "energy-momentum":
        assert np.ptp(run.energy) < 1e-11 * np.abs(run.energy).max()


def test_batch_members_with_different_anchors_have_no_common_symmetry() -> None:
    m, q, v = hanging("spring")
    name = next(name for name in m.parameters if name.startswith("spring.at"))
    moved = np.stack([m.parameters[name], m.parameters[name] + np.array([0.1, 0.0, 0.0])])
    run = lw.simulate(m, q, v, 0.5, 0.05, "variational", parameters={name: moved}).check()
    assert ABOUT_Z not in [row.name for row in run.report().rows]
