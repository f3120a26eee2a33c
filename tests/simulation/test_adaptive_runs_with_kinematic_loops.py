"""Adaptive methods and loops: compiled projections, closed loops at all samples, and no restart per sample."""

from unittest import mock

import numpy as np
import pytest

import linkwork as lw
from call_counting import count_calls
from linkwork.algorithms.constraints import constrained_dynamics
from linkwork.examples import four_bar_ladder
from linkwork.simulation.runners import adaptive_runner
from linkwork.spatial.scalar import Array

ADAPTIVE = ["dop853", "radau", "lsoda"]


def errors(run: lw.Run) -> tuple[float, float]:
    """Largest closure error [m or rad] and its rate [m/s or rad/s] over all samples of a run."""
    d = lw.compile(run.mechanism)
    rates = np.einsum("...ij,...j->...i", d.constraint_jacobian(run.q), run.v)
    return float(np.abs(d.constraint(run.q)).max()), float(np.abs(rates).max())


@pytest.mark.parametrize("method", ADAPTIVE)
def test_adaptive_runs_have_closed_loops_at_all_samples(method: str) -> None:
    duration = 20.0 if method != "radau" else 3.0
    run = lw.simulate(lw.example("four_bar"), duration=duration, dt=0.05, method=method, rtol=1e-7, atol=1e-8)
    closure, rate = errors(run)
    assert closure < 1e-12
    assert rate < 1e-11
    assert np.array_equal(run.q[-1], run.final.q)
    assert np.ptp(run.energy) < 1e-3
    assert 0.0 < run.final.motion.solver.projection < 1e-5  # drift is projected out before it grows


@pytest.mark.parametrize("cells", [1, 3])
def test_adaptive_runs_project_onto_loops_with_compiled_code(cells: int) -> None:
    """Before, each sample projected the state in interpreted Python: hours for a ladder of forty cells."""
    m = four_bar_ladder.build(cells)
    lw.simulate(m, duration=0.05, dt=0.01, method="dop853")
    with mock.patch.object(constrained_dynamics, "factorize", side_effect=AssertionError("interpreted projection")):
        run = lw.simulate(m, duration=1.0, dt=0.01, method="dop853")
    assert run.outcome.kind == "finished"
    reference = lw.simulate(m, duration=1.0, dt=5e-4, every=20, method="rk4")
    assert np.abs(run.q - reference.q).max() < 1e-8


def test_each_sample_of_an_adaptive_run_costs_few_python_function_calls() -> None:
    m = four_bar_ladder.build(2)
    calls = []
    for dt in (0.01, 0.005):
        lw.simulate(m, duration=1.0, dt=dt, method="dop853")
        calls.append(count_calls(lambda dt=dt: lw.simulate(m, duration=1.0, dt=dt, method="dop853"))[1])
    assert (calls[1] - calls[0]) / 100 < 400


def test_adaptive_solver_restarts_only_if_the_state_drifts_from_the_constraints() -> None:
    m = lw.example("four_bar")
    with mock.patch.object(
        adaptive_runner.Member, "_solver", autospec=True, side_effect=adaptive_runner.Member._solver
    ) as started:
        lw.simulate(m, duration=2.0, dt=0.01, method="dop853")
    assert started.call_count < 10


def test_adaptive_runs_evaluate_event_functions_with_compiled_code() -> None:
    b = lw.Builder("braked", gravity=(0, 0, 0))
    b.body("wheel", 1.0, inertia=(0.1, 0.1, 0.1)).joint("pin", lw.Revolute((0, 0, 1)), "world", "wheel")
    m = b.brake("brake", "pin", capacity=0.2, engaged=True).build()
    options = {"duration": 2.0, "dt": 0.02, "method": "dop853"}
    lw.simulate(m, [0.0], [2.0], **options)
    with mock.patch.object(constrained_dynamics, "factorize", side_effect=AssertionError("interpreted functions")):
        run = lw.simulate(m, [0.0], [2.5], duration=1.0, dt=0.02, method="dop853")
    assert run.v[-1, 0] == pytest.approx(2.5 - 2.0 * 1.0, abs=1e-9)
    stuck = lw.simulate(m, [0.0], [2.0], **options)
    assert [event.what for event in stuck.events] == ["brake holds"]
    assert stuck.events[0].time == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("method", ADAPTIVE)
def test_adaptive_steps_do_not_miss_pulses_of_user_functions(method: str) -> None:
    """Without user functions steps may be longer than the time between samples; with them they may not."""
    m = lw.example("four_bar")

    def pulse(t: float, q: Array, v: Array) -> Array:
        return np.where((t > 0.5) & (t < 0.52), 20.0, 0.0) * np.array([1.0, 0.0, 0.0])

    found = lw.simulate(m, duration=1.0, dt=0.01, method=method, controller=pulse, rtol=1e-7, atol=1e-8)
    expected = lw.simulate(m, duration=1.0, dt=1e-4, every=100, method="rk4", controller=pulse)
    assert np.abs(found.q - expected.q).max() < 5e-3
    assert np.abs(found.q - lw.simulate(m, duration=1.0, dt=0.01, method=method).q).max() > 0.1


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_adaptive_runs_of_the_compiled_and_numpy_targets_agree(target: str) -> None:
    m = lw.example("four_bar")
    run = lw.simulate(m, duration=0.2, dt=0.02, method="dop853", target=target)
    reference = lw.simulate(m, duration=0.2, dt=1e-3, every=20, method="rk4")
    assert np.abs(run.q - reference.q).max() < 1e-8
    assert errors(run)[0] < 1e-12


def test_compiled_samples_of_adaptive_runs_equal_those_in_python() -> None:
    """Runs with many samples compile them."""
    series, m = ("q", "v", "work", "wrenches"), lw.example("four_bar")
    options = {"duration": 1.0, "method": "dop853", "wrenches": np.ones((3, 6)), "record": series}
    few, many = (lw.simulate(m, dt=dt, **options) for dt in (0.01, 0.001))
    for name in series:
        assert np.abs(few[name] - many[name][::10]).max() < 1e-7
