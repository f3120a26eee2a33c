"""The report passes good runs, fails bad runs, and gives the reason."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.examples import differential_cart
from linkwork.simulation.results.report import Report
from random_mechanisms import tree

PENDULUM = lw.example("double_pendulum")
START = np.array([1.0, 0.5])


def swing(method: str = "rk4", dt: float | None = 0.005, duration: float = 2.0, **more: Any) -> lw.Run:
    return lw.simulate(PENDULUM, more.pop("q0", START), duration=duration, dt=dt, method=method, **more)


def floating(gravity: Any = (0, 0, 0), **joint: Any) -> lw.Mechanism:
    b = lw.Builder("floating", gravity)
    b.body("base", 5.0, inertia=(1, 2, 3)).joint("float", lw.Free(), "world", "base", **joint)
    b.body("arm", 1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1)).joint(
        "pin", lw.Revolute(), "base", "arm", at=(1, 0, 0)
    )
    return b.build()


def flown(m: lw.Mechanism, **more: Any) -> Report:
    v0 = np.random.default_rng(0).normal(size=m.nv)
    return lw.simulate(m, v0=v0, duration=1.0, dt=0.01, method="rk4", **more).report()


@pytest.mark.parametrize(
    ("method", "dt"), [("rk4", 0.005), ("midpoint", 1e-3), ("semi-implicit", 5e-5), ("dop853", None)]
)
def test_accurate_runs_pass_the_report(method: str, dt: float | None) -> None:
    report = swing(method, dt, 1.0).report()
    assert report.passed, str(report)
    assert report["energy balance"].verdict == "ok"
    assert "all checks passed" in str(report)


@pytest.mark.parametrize(("method", "dt"), [("rk4", 0.2), ("midpoint", 0.1), ("semi-implicit", 0.05)])
def test_runs_with_too_large_steps_fail_the_report(method: str, dt: float) -> None:
    report = swing(method, dt, 10.0).report()
    assert not report.passed
    assert "energy balance" in report.failures
    assert report["energy balance"].note.endswith("use a smaller dt")
    assert " failed: " in report.summary


def test_failed_runs_show_their_diagnosis() -> None:
    report = swing("semi-implicit", 0.2, 10.0, v0=[8.0, -9.0], controller=lambda t, q, v: 3.0 * v).report()
    assert "outcome" in report.failures
    assert "non-finite at" in report["outcome"].note


def test_energy_balance_includes_controllers_dampers_and_stops() -> None:
    m = tree(3)
    rng = np.random.default_rng(1)
    run = lw.simulate(m, m.random(rng), rng.normal(size=m.nv), 0.3, 5e-4, "rk4", lambda t, q, v: -0.5 * v)
    assert run.report()["energy balance"].verdict == "ok"
    b = lw.Builder("door").body("leaf", 2.0, com=(0.4, 0, 0), inertia=(0.1, 0.1, 0.1))
    b.joint("hinge", lw.Revolute(), "world", "leaf", limits=(-1.0, 1.0))
    report = lw.simulate(b.build(), [0.0], [2.0], duration=2.0, dt=1e-3).report()
    assert report.passed, str(report)
    assert 0.0 < float(report["joint limits"].value) < 0.05
    assert "'hinge'" in report["joint limits"].note
    assert "rad beyond" in report["joint limits"].note
    crashed = lw.simulate(b.build(), [0.0], [2.0], duration=2.0, dt=1e-3, stops=None).report()
    assert crashed.failures == ("joint limits",)


def test_momentum_is_checked_where_it_is_conserved() -> None:
    for gravity in ((0, 0, 0), (1.0, -2.0, -9.81)):
        report = flown(floating(gravity))
        assert report["momentum"].verdict == report["angular momentum"].verdict == "ok"
        assert float(report["momentum"].value) < 1e-9
        assert report["momentum"].note.startswith("largest change that gravity does not cause, relative to")
    inside = flown(floating(), controller=lambda t, q, v: np.append(np.zeros(6), np.cos(t)))
    assert float(inside["angular momentum"].value) < 1e-8
    masses, gravities = np.array([1.0, 4.0]), np.array([[0, 0, -9.81], [0, 3.0, 0]])
    varied = flown(floating(), parameters={"arm.mass": masses, "gravity": gravities})
    assert float(varied["momentum"].value) < 1e-9


@pytest.mark.parametrize(
    ("mechanism", "more", "says"),
    [
        (PENDULUM, {}, "'pin 1' connects it to the world"),
        (floating(), {"wrenches": np.ones((2, 6))}, "wrenches act"),
        (floating(), {"controller": lambda t, q, v: -v}, "a controller acts on joint 'float'"),
        (floating(), {"controller": lambda t, q, v: 0.0 * v, "record": ("q", "v")}, "tau was not recorded"),
        (floating(), {"record": ("q",)}, "not both recorded"),
        (floating(damping=1.0), {}, "has a spring, damper, friction, limit or rotor"),
        (floating(), {"parameters": {"float.damping": np.ones(6)}}, "has a spring, damper, friction, limit or rotor"),
    ],
)
def test_momentum_is_not_checked_where_it_is_not_conserved(
    mechanism: lw.Mechanism, more: dict[str, Any], says: str
) -> None:
    report = flown(mechanism, **more)
    assert report["momentum"].verdict == ""
    assert says in report["momentum"].note


def test_checks_that_were_left_out_are_listed_with_the_reason() -> None:
    report = swing().report()
    reasons = report.not_checked
    assert reasons["momentum"] == "joint 'pin 1' connects it to the world"
    assert reasons["estimated error"] == "use report(compare=True)"
    assert "not checked: momentum (joint 'pin 1' connects it to the world), " in str(report)
    unrecorded = swing(record=("q",)).report()
    assert unrecorded.not_checked["energy balance"] == "q, v and work were not all recorded"
    compared = swing().report(compare=True, structure=True)
    assert compared.not_checked.keys() == {"momentum", "symplectic defect"}  # rk4 is not symplectic


def test_summary_of_the_report_counts_failed_checks() -> None:
    report = swing("rk4", 0.2, 10.0).report()
    count = len(report.failures)
    assert count
    assert report.summary == f"{count} check{'s' if count > 1 else ''} failed: {', '.join(report.failures)}"


def test_run_of_a_mechanism_at_rest_passes_the_report() -> None:
    report = lw.simulate(PENDULUM, [0.0, 0.0], duration=1.0, dt=0.01).report()
    assert report.passed, str(report)


def test_report_names_the_batch_member_with_the_largest_error() -> None:
    speeds = np.zeros((2, 3, 2))
    speeds[1, 2] = 30.0
    report = swing(dt=0.02, v0=speeds).report()
    assert "member (1, 2)" in report["energy balance"].note
    assert report["members"].value == "6 finished"
    spun = swing(dt=0.02, q0=np.tile(START, (3, 1)), v0=[[0, 0], [30, 30], [0, 0]]).report()
    assert "member 1: " in spun["energy balance"].note


@pytest.mark.parametrize(("method", "dt"), [("rk4", 0.02), ("midpoint", 0.005), ("semi-implicit", 0.001)])
def test_error_estimated_by_report_compare_matches_the_true_error(method: str, dt: float) -> None:
    run, exact = swing(method, dt, 1.0), swing("dop853", dt, 1.0, rtol=1e-13, atol=1e-13)
    error = max(np.abs(run[name] - exact[name]).max() / np.abs(run[name]).max() for name in ("q", "v"))
    estimate = float(run.report(compare=True)["estimated error"].value)
    assert 0.8 * error < estimate < 1.25 * error


def test_report_compare_repeats_adaptive_runs_with_tighter_tolerances() -> None:
    run = swing("dop853", 0.1, 2.0, rtol=1e-6, atol=1e-6)
    row = run.report(compare=True)["estimated error"]
    assert 1e-12 < float(row.value) < 1e-4
    assert "1/100 of the tolerances" in row.note


def test_report_compare_calls_sampled_controllers_at_their_original_rate() -> None:
    def hold(t: Any, q: Any, v: Any, memory: Any) -> Any:
        return -5.0 * v - memory, 0.9 * memory + 0.1 * q

    run = swing("rk4", 0.02, 1.0, controller=hold, memory=np.zeros(2))
    assert float(run.report(compare=True)["estimated error"].value) < 1e-5
    onwards = lw.simulate(PENDULUM, run, duration=1.0, controller=hold)
    assert float(onwards.report(compare=True)["estimated error"].value) < 1e-4


def test_report_compare_rejects_runs_that_cannot_be_repeated(tmp_path: Path) -> None:
    run = swing()
    run.save(tmp_path / "run.npz")
    opened = lw.open_run(tmp_path / "run.npz")
    assert opened.report().rows[2:-1] == run.report().rows[2:-1]
    for other in (opened, pickle.loads(pickle.dumps(run))):
        with pytest.raises(lw.LinkworkError, match="needs its controller"):
            other.report(compare=True)
    with pytest.raises(lw.LinkworkError, match="v was not recorded"):
        swing(record=("q",)).report(compare=True)
    with pytest.raises(lw.LinkworkError, match="there is no row 'energie'"):
        run.report()["energie"]


def test_energy_balance_is_unknown_if_work_was_not_recorded() -> None:
    row = swing(record=("q", "v")).report()["energy balance"]
    assert (row.value, row.verdict) == ("unknown", "")


def test_report_uses_colours_in_terminals() -> None:
    from io import StringIO

    from rich.console import Console

    for run, color in ((swing(), "\x1b[1;32m"), (swing(dt=0.2, duration=5.0), "\x1b[1;31m")):
        stream = StringIO()
        Console(file=stream, force_terminal=True, color_system="standard", width=150).print(run.report())
        assert color in stream.getvalue()
    assert "\x1b" not in str(swing().report())


def test_couplings_to_the_world_disable_the_momentum_check() -> None:
    """Tyres push a cart along; a clutch between two joints of a free body conserves its momentum."""
    held = lw.simulate(**differential_cart.arguments(1.2)).report()
    assert held.passed
    assert "coupling 'left tyre' may connect it to the world" in held["momentum"].note
    b = lw.Builder("pair")
    b.body("base", 1.0, inertia=(1, 1, 1)).joint("base", lw.Free(), "world", "base")
    for name in ("one", "two"):
        b.body(name, 1.0, com=(0, 0.1, 0), inertia=(1, 1, 1)).joint(name, lw.Revolute((0, 0, 1)), "base", name)
    clutched = flown(b.clutch("clutch", "one", "two").build(), schedule=[(0.5, "engage", "clutch")])
    assert clutched["momentum"].verdict == clutched["angular momentum"].verdict == "ok"
