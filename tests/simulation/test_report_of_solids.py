"""The report sees solids that are deep in each other, pass through each other, or fall for good."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation.results.run import Run
from linkwork.spatial.scalar import Array

DEPTH, MOTION = "penetration of solids", "motion per step"


def scene(
    *shapes: Any, floor: Any = None, restitution: float = 0.0, gravity: float = 9.81, soft: float = 1.0
) -> lw.Mechanism:
    """Free bodies with one shape each, above a floor if there is one."""
    b = lw.Builder("scene", gravity=(0, 0, -gravity))
    if floor is not None:
        b.surface("floor", floor)
    for k, shape in enumerate(shapes):
        b.body(f"b{k}", 1.0, inertia=(0.01, 0.01, 0.01)).joint(f"f{k}", lw.Free(), "world", f"b{k}")
        b.geometry(f"b{k}", shape, role="collision")
    return b.collide("all", friction=0.5, restitution=restitution, stiffness=soft * 1e5, damping=soft * 100.0).build()


def at(*places: tuple[float, float, float]) -> Array:
    """Positions of free bodies that are not turned."""
    return np.concatenate([[*place, 1.0, 0.0, 0.0, 0.0] for place in places])


def changed(run: Run, **recorded: Array) -> Run:
    """The same run with other recorded series."""
    return type(run)(**{**{name: getattr(run, name) for name in run.__dataclass_fields__}, "recorded": recorded})


PLATE, CUBE = lw.Box((0.02, 0.5, 0.5)), lw.Box((0.2, 0.2, 0.2))


@pytest.mark.parametrize("contact", ["rigid", "compliant"])
def test_thin_plates_that_pass_through_each_other_within_a_step_fail_the_report(contact: str) -> None:
    m, v = scene(PLATE, PLATE, gravity=0.0, soft=1.0 if contact == "rigid" else 1e-2), np.zeros(12)
    v[6] = -300.0
    method = "moreau" if contact == "rigid" else "rk4"
    run = lw.simulate(m, at((0, 0, 0), (1.05, 0.1, 0)), v, duration=0.01, dt=1e-3, contact=contact, method=method)
    assert run.q[-1, 7] < -1.0, "the scene is meant to fail"
    report = run.report()
    assert DEPTH in report.failures
    assert report[DEPTH].value == "passed through"
    assert "'b0 on b1' at 0.003 s" in report[DEPTH].note
    assert MOTION in report.warnings
    assert report[MOTION].value == pytest.approx(0.3)
    assert report[MOTION].bound == pytest.approx(0.02)
    assert "use dt=" in report[MOTION].note


def test_the_step_that_the_report_proposes_keeps_solids_from_passing_through_each_other() -> None:
    m, v = scene(PLATE, PLATE, gravity=0.0), np.zeros(12)
    v[6] = -300.0
    q = at((0, 0, 0), (1.05, 0, 0))
    note = lw.simulate(m, q, v, duration=0.01, dt=1e-3, contact="rigid").report()[MOTION].note
    advice = float(note.split("=")[1].split()[0])
    report = (run := lw.simulate(m, q, v, duration=0.01, dt=advice, contact="rigid")).report()
    assert run.q[-1, 7] > run.q[-1, 0]
    assert not {DEPTH, MOTION} & {*report.failures, *report.warnings}


def test_runs_that_record_few_samples_still_warn_of_fast_solids() -> None:
    m, v = scene(lw.Sphere(0.01), lw.Sphere(0.01), gravity=0.0), np.zeros(12)
    v[6] = -300.0
    run = lw.simulate(m, at((0, 0, 0), (1.05, 0.005, 0)), v, duration=0.01, dt=1e-3, contact="rigid", every=5)
    assert MOTION in run.report().warnings


@pytest.mark.parametrize("member", [None, 2])
def test_a_body_on_the_other_side_of_the_floor_is_always_found(member: int | None) -> None:
    m = scene(lw.Sphere(0.1), floor=lw.Plane())
    starts = at((0, 0, 0.1)) if member is None else [at((0, 0, 0.1))] * 3
    run = lw.simulate(m, starts, duration=0.05, dt=1e-3, contact="rigid")
    assert run.report()[DEPTH].verdict == "ok"
    q = run.q.copy()
    (q if member is None else q[member])[-1, 2] = -0.7
    report = changed(run, **{**run.recorded, "q": q}).report()
    assert DEPTH in report.failures
    assert report[DEPTH].value == pytest.approx(0.8)
    assert "'b0 on floor' at 0.05 s" in report[DEPTH].note
    assert ("member 2: " in report[DEPTH].note) == (member is not None)


def test_depth_of_a_ball_under_hilly_ground_is_the_distance_to_the_nearest_ground_point() -> None:
    m = scene(lw.Sphere(0.1), floor=lw.Ground(lambda x, y: 0.3 * np.sin(x)))
    z = 0.3 * np.sin(0.5) + 0.1
    run = lw.simulate(m, at((0.5, 0, z + 0.05)), duration=0.05, dt=1e-3, contact="rigid")
    assert run.report()[DEPTH].verdict == "ok"
    q = run.q.copy()
    q[-1, 2] = z - 0.5
    report = changed(run, **{**run.recorded, "q": q}).report()
    assert DEPTH in report.failures
    x = np.linspace(-1.0, 2.0, 100_001)
    nearest = np.hypot(x - 0.5, 0.3 * np.sin(x) - q[-1, 2]).min()
    assert report[DEPTH].value == pytest.approx(nearest + 0.1, abs=1e-8)


@pytest.mark.parametrize("ridge", ["height field", "function"])
def test_a_ridge_between_the_contact_points_of_a_solid_is_reported(ridge: str) -> None:
    """A bar of 0.6 m lies across a roof; its ends touch 0.03 m below the ridge, which is then inside the bar."""
    roof = lw.HeightField((2.0, 2.0), [[0.0, 0.0], [0.1, 0.1], [0.0, 0.0]])
    ground = roof if ridge == "height field" else lw.Ground(lambda x, y: 0.1 - 0.1 * np.sqrt(x * x + 1e-12))
    m = scene(lw.Box((0.6, 0.1, 0.1)), floor=ground)
    report = lw.simulate(m, at((0, 0, 0.13)), duration=0.2, dt=1e-3, contact="rigid").report()
    assert DEPTH in report.failures
    assert report[DEPTH].value == pytest.approx(0.03, abs=1e-3)
    assert "the ground rises between their contact points" in report[DEPTH].note
    flat = lw.HeightField((2.0, 2.0), np.zeros((4, 4)))
    good = lw.simulate(scene(lw.Box((0.6, 0.1, 0.1)), floor=flat), at((0, 0, 0.06)), duration=0.1, contact="rigid")
    assert good.report()[DEPTH].verdict == "ok"


def test_compliant_solids_deeper_than_half_their_thickness_fail_the_report() -> None:
    m = scene(CUBE, floor=lw.Plane())
    run = lw.simulate(m, at((0, 0, 1.0)), duration=0.6, dt=1e-4, method="rk4")
    report = run.report()
    assert report[DEPTH].verdict == "ok"
    assert 1e-3 < float(report[DEPTH].value) < (report[DEPTH].bound or 0.0)
    hard = lw.simulate(m, at((0, 0, 1.0)), [0, 0, -500, 0, 0, 0], duration=0.01, dt=1e-4, method="rk4").report()
    assert DEPTH in hard.failures
    assert "0.9 of the thickness of the solid: they may pass through" in hard[DEPTH].note


def test_box_that_lands_on_dampers_passes_the_report_at_the_automatic_step() -> None:
    """Its damping force begins suddenly within a step; a step that is ten times as large is seen."""
    b = lw.Builder("landing", gravity=(0, 0, -9.81)).surface("floor", lw.Plane())
    b.body("box", 1.0, inertia=(1 / 6, 1 / 6, 1 / 6)).joint("free", lw.Free(), "world", "box")
    b.geometry("box", lw.Box((1, 1, 1)), role="collision")
    m = b.collide("all", friction=0.5, stiffness=1e4, damping=100.0).build()
    run = lw.simulate(m, at((0, 0, 0.55)), duration=0.3)
    report, h = run.report(), run.settings.dt or 0.0
    assert report.passed
    assert float(report["energy balance"].value) > 1e-4
    with pytest.warns(UserWarning, match="too large for contact"):
        coarse = lw.simulate(m, at((0, 0, 0.55)), duration=0.3, dt=10 * h, method="rk4")
    assert not coarse.report().passed


def test_penetration_is_not_checked_if_states_were_not_recorded() -> None:
    run = lw.simulate(scene(CUBE, floor=lw.Plane()), at((0, 0, 1.0)), duration=0.01, dt=1e-4, method="rk4")
    del (recorded := dict(run.recorded))["q"]
    assert "q was not recorded" in changed(run, **recorded).report().not_checked[DEPTH]


GOOD: dict[str, Callable[[], tuple[lw.Mechanism, Array, Array, float]]] = {
    "tilted drop": lambda: (scene(CUBE, floor=lw.Plane()), turned((0, 0, 0.5), (0.3, 0.5, 0)), np.zeros(6), 0.6),
    "thrown and spinning": lambda: (
        scene(CUBE, floor=lw.Plane()),
        turned((0, 0, 0.5), (0.3, 0.5, 0)),
        np.array([3.0, 0, -5, 20, 30, 10]),
        0.4,
    ),
    "spinning ball": lambda: (
        scene(lw.Sphere(0.1), floor=lw.Plane()),
        at((0, 0, 0.1)),
        np.array([0, 0, 0, 0, 600.0, 0]),
        0.2,
    ),
    "ball off an edge": lambda: (
        scene(lw.Sphere(0.05), CUBE, restitution=1.0, gravity=0.0),
        at((0.6, 0, 0.12), (0, 0, 0)),
        np.array([-40.0, 0, 0, 0, 0, 0] + [0] * 6),
        0.05,
    ),
    "cylinder on a cube": lambda: (
        scene(lw.Cylinder(0.05, 0.1), CUBE, floor=lw.Plane()),
        at((0.05, 0, 0.3), (0, 0, 0.1)),
        np.array([0.0, 0, 0, 1, 0.3, 0] + [0] * 6),
        0.4,
    ),
}


def turned(place: tuple[float, float, float], by: tuple[float, float, float]) -> Array:
    """A position of a free body that is turned by a small rotation vector [rad]."""
    w = np.array([1.0, *(0.5 * np.array(by))])
    return np.array([*place, *(w / np.linalg.norm(w))])


@pytest.mark.parametrize("name", [*list(GOOD)[:-1], pytest.param(list(GOOD)[-1], marks=pytest.mark.slow)])
def test_accurate_runs_of_solids_pass_the_report(name: str) -> None:
    m, q, v, duration = GOOD[name]()
    report = lw.simulate(m, q, v, duration=duration, dt=1e-3, contact="rigid").report()
    assert report[DEPTH].verdict == "ok", report[DEPTH].note
    assert MOTION not in report.warnings


# --- energy that rigid solids add ---

WORK = "work of contacts"


@pytest.mark.parametrize(
    ("gain", "wanted"), [(1e-8, "ok"), (5e-7, "ok"), (2e-6, "warning"), (5e-3, "warning"), (2e-2, "bad")]
)
def test_report_detects_an_energy_gain_of_rigid_solids_above_a_millionth(gain: float, wanted: str) -> None:
    run = lw.simulate(scene(lw.Sphere(0.1), floor=lw.Plane()), at((0, 0, 0.6)), duration=0.5, dt=1e-3, contact="rigid")
    work = run["work.contacts"].copy()
    turnover = np.abs(np.diff(work)).sum()
    assert turnover == pytest.approx(9.81 * 0.5, rel=1e-2)
    work[-1] += gain * turnover
    row = changed(run, **{**run.recorded, "work.contacts": work}).report()[WORK]
    assert row.verdict == wanted
    assert row.value == pytest.approx(gain, rel=3e-2)
    assert ("use a smaller dt" in row.note) == (wanted != "ok")
    assert f"added {gain * turnover:.3g} J" in row.note


def test_solids_at_rest_add_no_energy_where_their_energy_is_zero() -> None:
    """Round-off must not be compared with round-off: the energy is zero at this height, and with tiny weights."""
    b = lw.Builder("rest", gravity=(0, 0, -9.81)).surface("floor", lw.Plane(), at=(0, 0, -0.1))
    b.body("ball", 1.0, inertia=(0.004,) * 3).joint("free", lw.Free(), "world", "ball")
    m = b.geometry("ball", lw.Sphere(0.1), role="collision").collide("all", friction=0.5).build()
    for gravity in (0.0, 1e-6, 9.81):
        given = {"gravity": np.array([0.0, 0.0, -gravity])}
        run = lw.simulate(m, at((0, 0, 0)), duration=1.0, dt=1e-3, contact="rigid", parameters=given)
        row = run.report()[WORK]
        assert row.verdict == "ok"
        assert float(row.value) < 1e-9


def test_contact_residual_of_each_member_is_compared_with_its_own_limit() -> None:
    """The slow member is above its limit, although its residual is below that of the fast member, which is not."""
    speeds = np.array([[10.0, 0, 0, 0, 0, 0], [1.0, 0, 0, 0, 0, 0]])
    start = at((0, 0, 0.1))
    run = lw.simulate(scene(lw.Sphere(0.1), floor=lw.Plane()), start, speeds, duration=2e-3, dt=1e-3, contact="rigid")
    assert run.report()["contact residual"].verdict == "ok"
    motion = run.final.motion
    solver = motion.solver._replace(residual=np.array([5e-3, 2e-3]))
    fields = {name: getattr(run, name) for name in run.__dataclass_fields__}
    final = run.final._replace(motion=motion._replace(solver=solver))
    row = type(run)(**{**fields, "final": final}).report()["contact residual"]
    assert (row.value, row.verdict) == (2e-3, "bad")
    assert row.bound == pytest.approx(1e-3, rel=1e-2)
    assert row.note.startswith("member 1: m/s")


# --- falls ---


def test_a_solid_that_falls_off_a_table_is_reported() -> None:
    b = lw.Builder("table", gravity=(0, 0, -9.81)).surface("table", lw.Box((1, 1, 0.1)), at=(0, 0, -0.05))
    for name in ("one", "two"):
        b.body(name, 1.0, inertia=(0.004,) * 3).joint(f"{name} moves", lw.Free(), "world", name)
        b.geometry(name, lw.Sphere(0.1), role="collision")
    m, speeds = b.collide("all", friction=0.5).build(), np.zeros(12)
    speeds[6] = 2.0
    run = lw.simulate(m, at((0, 0, 0.1), (0.3, 0, 0.1)), speeds, duration=1.0, dt=1e-3, contact="rigid")
    assert run.q[-1, 9] < -1.0, "the scene is meant to fall"
    row = run.report()["falls"]
    assert row.verdict == "warning"
    assert "'two' is below all surfaces that it can touch, without contact since 0.1" in row.note
    rests = lw.simulate(m, at((0, 0, 0.1), (0.3, 0, 0.1)), duration=0.1, dt=1e-3, contact="rigid").report()
    assert "falls" not in [row.name for row in rests.rows]
    flies = lw.simulate(m, at((0, 0, 0.1), (0.3, 0, 2.0)), duration=0.1, dt=1e-3, contact="rigid").report()
    assert "falls" not in [row.name for row in flies.rows]


def test_a_body_with_contact_points_that_falls_beside_solids_is_reported() -> None:
    b = lw.Builder("table", gravity=(0, 0, -9.81)).surface("table", lw.Box((1, 1, 0.1)), at=(0, 0, -0.05))
    for name in ("ball", "sled"):
        b.body(name, 1.0, inertia=(0.004,) * 3).joint(f"{name} moves", lw.Free(), "world", name)
    b.geometry("ball", lw.Sphere(0.1), role="collision").collide("all", friction=0.5)
    for k in range(3):
        b.touch(f"runner {k}", "sled", at=(0.05 * np.cos(2.1 * k), 0.05 * np.sin(2.1 * k), 0), against=["table"])
    m, start = b.build(), at((0, 0, 0.1), (0.3, 0, 0.0))
    rests = lw.simulate(m, start, duration=0.1, dt=1e-3, contact="rigid").report()
    assert "falls" not in [row.name for row in rests.rows]
    start[7] = 0.8
    row = lw.simulate(m, start, duration=0.5, dt=1e-3, contact="rigid").report()["falls"]
    assert row.verdict == "warning"
    assert "'sled' is below all surfaces that it can touch, without contact from the start" in row.note
