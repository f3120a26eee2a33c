"""Chosen steps fit the motion and the method, the report passes such runs with margin, and coarse steps show."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from quick_test_selection import mark_slow_except

MARGIN = 2.5  # the errors of runs with chosen steps are at most the limits divided by this
EXAMPLES = ("double_pendulum", "four_bar", "heavy_top")
METHODS = ("rk4", "midpoint", "variational", "energy-momentum", "semi-implicit")


def four_bars(count: int) -> tuple[lw.Mechanism, np.ndarray]:
    """Parallelograms in a row that share their rockers, and velocities of one rotation; they pass flat positions."""
    b = lw.Builder(f"{count} four-bars", gravity=(0, -9.81, 0))
    z = lw.Revolute((0, 0, 1))
    for k in range(count + 1):
        b.body(f"rocker {k}", 1.0, com=(0, 0.5, 0), inertia=(1 / 12, 1e-3, 1 / 12))
        b.joint(f"pivot {k}", z, "world", f"rocker {k}", at=(k, 0, 0))
    for k in range(count):
        b.body(f"bar {k}", 1.0, com=(0.5, 0, 0), inertia=(1e-3, 1 / 12, 1 / 12))
        b.joint(f"corner {k}", z, f"rocker {k}", f"bar {k}", at=(0, 1, 0))
        b.close(f"pin {k}", z, f"bar {k}", f"rocker {k + 1}", at=(1, 0, 0), to=(0, 1, 0))
    m = b.build()
    v = np.zeros(m.nv)
    for joint in m.joints:
        v[joint.v] = -1.0 if joint.name.startswith("pivot") else 1.0
    return m, v


def start(name: str) -> tuple[lw.Mechanism, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    m = lw.example(name)
    v, q = 0.5 * rng.normal(size=m.nv), m.keyframes["start"].q if "start" in m.keyframes else m.random(rng)
    return m, q, lw.compile(m).consistent(q, v) if m.frame_constraints else v


def test_several_copies_of_a_mechanism_get_the_automatic_step_of_one_copy() -> None:
    """States of the trial run near flat positions once gave steps from 5e-5 s (2 four-bars) to 2e-3 s (10)."""
    runs = [lw.simulate(m, v0=v, duration=10.0) for m, v in map(four_bars, (1, 2, 4))]
    assert [run.settings.dt for run in runs] == [0.01] * 3
    assert all(run.report().passed for run in runs)


def test_start_in_a_flat_position_does_not_change_the_automatic_step() -> None:
    m, v = four_bars(2)
    flat = np.array([np.pi / 2 if joint.name.startswith("pivot") else -np.pi / 2 for joint in m.joints])
    run = lw.simulate(m, flat, 2.0 * v, duration=2.0)
    assert run.settings.dt == 0.01
    assert run.report().passed, str(run.report())


@pytest.mark.parametrize("name", mark_slow_except(EXAMPLES, EXAMPLES[:1]))
@pytest.mark.parametrize("method", METHODS)
def test_automatic_steps_pass_the_report_with_margin(name: str, method: str) -> None:
    m, q, v = start(name)
    report = lw.simulate(m, q, v, duration=1.0, method=method).report()
    assert report.passed, str(report)
    assert not report.warnings
    for row in report.rows:
        if row.bound is not None:
            assert float(row.value) <= row.bound / MARGIN, row


@pytest.mark.parametrize("name", mark_slow_except(EXAMPLES, EXAMPLES[:1]))
@pytest.mark.parametrize("method", METHODS)
def test_runs_with_large_errors_fail_the_report_or_give_a_warning(name: str, method: str) -> None:
    m, q, v = start(name)
    chosen = lw.simulate(m, q, v, duration=1.0, method=method, record=("q", "v")).settings.dt or 0.0
    for factor in (4, 16, 64):
        run = lw.simulate(m, q, v, duration=1.0, method=method, dt=1.0 / max(1, round(1.0 / (factor * chosen))))
        error = float(run.report(compare=True)["estimated error"].value)
        report = run.report()
        if error > 0.02:
            assert report.failures or report.warnings, (factor, error, str(report))
        if error < 1e-5 and run.outcome.kind == "finished":
            assert report.passed, (factor, error, str(report))


def test_coarse_steps_of_a_method_that_conserves_energy_give_a_warning() -> None:
    m = lw.example("double_pendulum")
    report = lw.simulate(m, [1.0, 0.5], duration=2.0, dt=0.1, method="energy-momentum").report()
    assert report["energy balance"].verdict == "ok"
    assert report.warnings == ("step resolution",)
    assert report.passed
    assert "warning: step resolution" in report.summary
    assert "coarse for a method of order 2" in str(report)
    thinned = lw.simulate(m, [1.0, 0.5], duration=2.0, dt=0.1, method="energy-momentum", every=2).report()
    assert "use every=1" in thinned.not_checked["step resolution"]


def test_report_limit_of_loop_velocity_errors_grows_with_the_velocities() -> None:
    """Near a flat position, 40 four-bars with velocities of 6 rad/s had an error of 1.03e-8 m/s."""
    m, v = four_bars(2)
    slow, fast = (lw.simulate(m, v0=speed * v, duration=0.1, dt=1e-3).report() for speed in (0.01, 100.0))
    assert slow["loop velocity error"].bound == 1e-8
    assert 1e-6 < (fast["loop velocity error"].bound or 0.0) < 1e-5
    run = lw.simulate(m, v0=v, duration=0.1, dt=1e-3)
    run.recorded["v"][50, 0] += 1e-6
    assert run.report().failures == ("loop velocity error",)


def test_free_fall_without_spin_passes_the_report() -> None:
    """Its angular momentum is round-off, and so is that of each joint."""
    report = lw.simulate(lw.example("branched_tree"), duration=2.0).report()
    assert report.passed, str(report)


def slider_crank() -> lw.Mechanism:
    """Return a slider-crank whose crank turns in a journal bearing."""
    bearing, y = lw.Bearing(mu=0.12, radius=0.02), (0, 1, 0)
    b = lw.Builder("slider-crank").body("crank", 1.0, com=(0.05, 0, 0), inertia=(1e-4, 2e-3, 2e-3))
    b.body("rod", 0.8, com=(0.15, 0, 0), inertia=(1e-4, 6e-3, 6e-3)).body("slider", 1.5, inertia=(1e-3, 1e-3, 1e-3))
    b.joint("main", lw.Revolute(y), "world", "crank", friction=bearing)
    b.joint("crank pin", lw.Revolute(y), "crank", "rod", at=(0.1, 0, 0))
    b.joint("slide", lw.Prismatic((1, 0, 0)), "world", "slider")
    return b.close("wrist pin", lw.Revolute(y), "rod", "slider", at=(0.3, 0, 0)).build()


def test_a_motor_accelerates_a_slider_crank_with_a_bearing_with_automatic_steps() -> None:
    """The crank starts at rest and reaches 67 rad/s; "midpoint" with 1 ms had an energy error of 1.6e-2."""
    m = slider_crank()
    q = lw.compile(m).assemble([-0.5, 0.7, 0.35], fixed="main")
    run = lw.simulate(m, q, duration=2.0, controller=lambda t, q, v: [4.0, 0, 0])
    assert np.abs(run.v[-1, 0]) > 60.0
    report = run.report()
    assert report.passed, str(report)
    assert float(report["energy balance"].value) <= 1e-4 / MARGIN
    assert report["step resolution"].verdict == "ok"


def test_automatic_steps_with_friction_depend_on_the_rate() -> None:
    """Friction stops each mass; the fastest rates are 10/s and 3162/s."""
    for stiffness, method, dt in ((100.0, "rk4", 1e-3), (1e7, "midpoint", 1e-3)):
        b = lw.Builder("slider").body("mass", 1.0)
        b.joint("slide", lw.Prismatic((1, 0, 0)), "world", "mass", stiffness=stiffness, friction=7.0)
        run = lw.simulate(b.build(), [0.2 * 7.0 / stiffness + 7.0 / stiffness], duration=0.5)
        assert (run.method, run.settings.dt) == (method, dt), run.settings.why
