"""Steps of "dop853": equal to those of `scipy.integrate.DOP853`, with all stages of a step in one kernel call."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pytest
from scipy.integrate import DOP853

import linkwork as lw
from call_counting import count_calls
from linkwork.examples import four_bar_ladder
from linkwork.simulation.methods.dop853 import STAGES, Dop853, stages
from linkwork.simulation.runners import adaptive_runner
from linkwork.simulation.runners.adaptive_solvers import Solver, Start, Tolerances, solvers_of
from linkwork.simulation.runners.state_derivative import StateDerivative
from linkwork.simulation.user_functions import Values
from linkwork.spatial.scalar import Array
from quick_test_selection import mark_slow_pairs

Rates = Callable[[float, Array], Array]


class Interval(NamedTuple):
    """An interval of smooth motion in a run: start of a solver, state derivative, times [s] and start state."""

    start: Start
    rates: Rates
    begin: float
    x: Array
    end: float
    tolerances: Tolerances

    def by_scipy(self) -> DOP853:
        return DOP853(self.rates, self.begin, self.x, self.end, **self.tolerances._asdict())


def intervals(m: lw.Mechanism, **options: Any) -> list[Interval]:
    """All intervals of smooth motion in a run by "dop853"."""
    found: list[Interval] = []

    def spied(
        method: str, derivative: StateDerivative, tolerances: Tolerances
    ) -> Callable[[Array, Values, Array], Start]:
        bound = solvers_of(method, derivative, tolerances)

        def solvers(held: Array, values: Values, slip_directions: Array) -> Start:
            start, rates = bound(held, values, slip_directions), derivative.bound(held, dict(values), slip_directions)

            def started(begin: float, x: Array, end: float, step: float | None) -> Solver:
                found.append(Interval(start, rates, begin, x, end, tolerances))
                return start(begin, x, end, step)

            return started

        return solvers

    with mock.patch.object(adaptive_runner, "solvers_of", spied):
        lw.simulate(m, method="dop853", **options)
    return found


def braked() -> lw.Mechanism:
    b = lw.Builder("braked pendulum", gravity=(0, 0, -9.81))
    b.body("rod", 1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    b.joint("pin", lw.Revolute((0, 1, 0)), "world", "rod")
    return b.brake("brake", "pin", capacity=2.0, engaged=True).build()


def push(t: float, q: Array, v: Array) -> Array:
    return np.array([np.sin(3.0 * t) - v[0], 0.5 * np.cos(t) * q[0]])


def random_velocity(m: lw.Mechanism, seed: int = 0) -> dict[str, Array]:
    return {"v0": 0.5 * np.random.default_rng(seed).normal(size=m.nv)}


def runs() -> dict[str, tuple[lw.Mechanism, dict[str, Any]]]:
    pendulum, flyer, top = (lw.example(name) for name in ("double_pendulum", "free_flyer", "heavy_top"))
    start: dict[str, Any] = {"q0": [1.0, 0.5], "v0": [0.3, -2.0]}
    return {
        "tree": (pendulum, start),
        "controller": (pendulum, start | {"controller": push}),
        "sampled controller": (pendulum, start | {"controller": lw.sampled(push, rate=5.0)}),
        "host controller": (pendulum, start | {"controller": lw.host(push, rate=5.0)}),
        "wrenches": (pendulum, start | {"wrenches": np.ones((pendulum.nbodies, 6))}),
        "floating base": (flyer, random_velocity(flyer)),
        "ball joint": (top, random_velocity(top)),
        "loop": (lw.example("four_bar"), {}),
        "loops": (four_bar_ladder.build(2), {}),
        "slipping brake": (braked(), {"v0": [3.0]}),
    }


@pytest.mark.parametrize(("name", "tolerance"), mark_slow_pairs(runs(), [1e-4, 1e-8, 1e-12]))
def test_steps_and_interpolants_equal_those_of_scipy(name: str, tolerance: float) -> None:
    """Error estimates are differences of nearly equal numbers: step lengths differ more than the states of a step."""
    m, options = runs()[name]
    for interval in intervals(m, duration=1.0, dt=0.1, rtol=tolerance, atol=tolerance, **options)[:3]:
        expected = interval.by_scipy()
        found = interval.start(interval.begin, interval.x, interval.end, None)
        while expected.status == "running":
            t, y, before = expected.t, expected.y, found.t
            assert found.status == "running"
            expected.step()
            found.step()
            size = 1.0 + np.abs(expected.y).max()
            assert found.t == pytest.approx(expected.t, abs=1e-5)
            times = np.linspace(max(t, before), min(expected.t, found.t), 5)
            curve = expected.dense_output()
            assert np.abs(found.dense_output()(times) - curve(times)).max() < 1e-11 * size + 1e-3 * tolerance
            same = interval.start(t, y, interval.end, expected.step_size)  # the same step from the same state
            same.step()
            times = np.linspace(t, expected.t, 5)
            assert same.t == pytest.approx(expected.t, abs=1e-15)
            assert np.abs(same.y - expected.y).max() < 1e-12 * size
            assert np.abs(same.dense_output()(times) - curve(times)).max() < 1e-12 * size
            assert same.dense_output()(times[2]) == pytest.approx(curve(times[2]), abs=1e-12 * size)
        assert found.status == expected.status == "finished"
        assert found.fun(1.0, expected.y) == pytest.approx(interval.rates(1.0, expected.y), abs=1e-12)


def oscillator(t: float, y: Array) -> Array:
    return np.array([y[1], -y[0] + np.sin(2.0 * t)])


def exact(t: float) -> Array:
    """The oscillator from y = (1, 0) at t = 0."""
    return np.array(
        [
            np.cos(t) + 2.0 / 3.0 * np.sin(t) - np.sin(2.0 * t) / 3.0,
            -np.sin(t) + 2.0 / 3.0 * (np.cos(t) - np.cos(2.0 * t)),
        ]
    )


def in_python(rates: Rates) -> Callable[..., Array]:
    return lambda count, *arrays: stages(rates, count, *arrays)


def test_one_step_has_order_eight_and_its_interpolant_order_seven() -> None:
    errors = []
    for h in (0.8, 0.4, 0.2):
        solver = Dop853(in_python(oscillator), 0.0, exact(0.0), 10.0, rtol=1.0, atol=1.0, first_step=h)
        solver.step()
        assert solver.t == pytest.approx(h)
        curve = solver.dense_output()
        errors.append([np.abs(solver.y - exact(h)).max(), np.abs(curve(0.4 * h) - exact(0.4 * h)).max()])
    orders = np.log2(np.array(errors)[:-1] / np.array(errors)[1:]) - 1.0
    assert orders.min(axis=0) == pytest.approx([8.0, 7.0], abs=0.5)


def test_error_of_dop853_without_a_mechanism_is_below_the_tolerance() -> None:
    solver = Dop853(in_python(oscillator), 0.0, exact(0.0), 20.0, rtol=1e-11, atol=1e-11)
    reference = DOP853(oscillator, 0.0, exact(0.0), 20.0, rtol=1e-11, atol=1e-11)
    while solver.status == "running":
        solver.step()
        reference.step()
    assert np.abs(solver.y - exact(20.0)).max() < 1e-9
    assert reference.status == "finished"
    assert solver.nfev == reference.nfev


@pytest.mark.parametrize(
    "rates",
    [lambda t, y: np.zeros(2), lambda t, y: 0.0 * y, lambda t, y: np.array([1.0, 0.0])],
    ids=["at rest", "at rest, scaled", "constant"],
)
def test_steps_equal_those_of_scipy_if_the_error_estimate_is_zero(rates: Rates) -> None:
    found = Dop853(in_python(rates), 0.0, np.zeros(2), 1.0, rtol=1e-6, atol=1e-8)
    expected = DOP853(rates, 0.0, np.zeros(2), 1.0, rtol=1e-6, atol=1e-8)
    while expected.status == "running":
        expected.step()
        found.step()
        assert found.t == pytest.approx(expected.t, rel=1e-9)
        assert found.y == pytest.approx(expected.y)
    assert found.status == "finished"


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_non_finite_state_derivative_ends_the_dop853_solver(bad: float) -> None:
    """SciPy's solver repeats the first step forever if the derivative at the start is nan."""
    with np.errstate(all="ignore"):
        for begin in (0.0, 0.5):
            rates = in_python(lambda t, y, begin=begin: np.where(t < begin, y, bad * y))
            solver = Dop853(rates, 0.0, np.ones(1), 1.0, rtol=1e-6, atol=1e-6)
            for _ in range(1000):
                if solver.status == "running":
                    solver.step()
            assert solver.status == "failed"
            assert solver.t == pytest.approx(begin, abs=1e-6)


def test_trial_step_of_dop853_is_one_kernel_call() -> None:
    calls: list[int] = []

    def counted(rates: Callable[..., Array], count: int, *arrays: Array) -> Array:
        calls.append(count)
        return rates(count, *arrays)

    original = Dop853.__init__

    def started(solver: Dop853, function: Callable[..., Array], *arguments: Any, **options: Any) -> None:
        original(solver, partial(counted, function), *arguments, **options)

    with mock.patch.object(Dop853, "__init__", started):
        lw.simulate(lw.example("four_bar"), duration=1.0, dt=0.01, method="dop853")
    assert 50 < calls.count(STAGES) < 100
    assert calls.count(1) <= 2


def test_a_step_of_dop853_costs_few_python_function_calls() -> None:
    m, calls = lw.example("double_pendulum"), []
    for duration in (1.0, 3.0):
        tight: dict[str, Any] = {"method": "dop853", "rtol": 1e-13, "atol": 1e-13}
        options = {"duration": duration, "dt": duration, **tight}
        steps = len(step_times(m, options))
        calls.append((steps, count_calls(lambda options=options: lw.simulate(m, [1.0, 0.5], **options))[1]))
    (few, low), (many, high) = calls
    assert many > few + 50
    assert (high - low) / (many - few) < 60


def step_times(m: lw.Mechanism, options: dict[str, Any]) -> list[float]:
    """The times [s] of all steps of a run."""
    times: list[float] = []
    original = adaptive_runner.Member._record_step

    def record(member: adaptive_runner.Member, solver: Solver) -> tuple[float, bool]:
        times.append(solver.t)
        return original(member, solver)

    with mock.patch.object(adaptive_runner.Member, "_record_step", record):
        lw.simulate(m, [1.0, 0.5], **options)
    return times


def test_compiled_and_numpy_targets_take_the_same_steps() -> None:
    m = lw.example("four_bar")
    options: dict[str, Any] = {"duration": 0.2, "dt": 0.02, "method": "dop853", "rtol": 1e-6, "atol": 1e-6}
    fast, slow = (lw.simulate(m, target=target, **options) for target in ("cpu", "numpy"))
    assert np.abs(fast.q - slow.q).max() < 1e-11
    assert np.abs(fast.v - slow.v).max() < 1e-10


def test_batch_members_of_dop853_runs_equal_single_runs() -> None:
    m = lw.example("double_pendulum")
    starts = np.random.default_rng(1).normal(size=(2, 3, 2))
    options: dict[str, Any] = {"duration": 0.5, "dt": 0.05, "method": "dop853"}
    batch = lw.simulate(m, starts, **options)
    for index in np.ndindex(2, 3):
        assert np.array_equal(batch.q[index], lw.simulate(m, starts[index], **options).q)


@pytest.mark.parametrize("tolerance", [1e-13, 1e-1])
def test_error_of_dop853_is_at_most_ten_times_the_tolerance(tolerance: float) -> None:
    m = lw.example("double_pendulum")
    reference = lw.simulate(m, [1.0, 0.5], dt=1e-4, every=1000, duration=1.0, method="rk4")
    run = lw.simulate(m, [1.0, 0.5], method="dop853", rtol=tolerance, atol=tolerance, duration=1.0, dt=0.1)
    error = np.abs(run.q - reference.q).max()
    assert error < 10.0 * tolerance + 1e-11
    assert run.outcome.kind == "finished"


def test_run_shorter_than_one_step_ends_at_its_duration() -> None:
    run = lw.simulate(lw.example("double_pendulum"), [1.0, 0.5], duration=1e-6, dt=1e-6, method="dop853")
    assert run.t[-1] == pytest.approx(1e-6)
    assert run.q[-1] == pytest.approx([1.0, 0.5], abs=1e-9)


@pytest.mark.parametrize("method", ["dop853", "lsoda"])
def test_interrupted_adaptive_run_keeps_its_samples(method: str) -> None:
    m = lw.example("double_pendulum")
    options: dict[str, Any] = {"duration": 2.0, "dt": 0.01, "method": method}

    def press_ctrl_c(done: float) -> None:
        if done > 0.5:
            raise KeyboardInterrupt

    run = lw.simulate(m, [1.0, 0.5], progress=press_ctrl_c, **options)
    whole = lw.simulate(m, [1.0, 0.5], **options)
    samples = np.isfinite(run.q[:, 0])
    assert run.outcome.kind == "stopped"
    assert 90 < samples.sum() < 150
    assert np.array_equal(run.q[samples], whole.q[: samples.sum()])
