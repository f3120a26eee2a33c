"""Each member ends with its own time and failure diagnosis, without effect on others; computed samples are stored."""

import os
import re
import signal
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.spatial.scalar import Array

M = lw.example("double_pendulum")
STARTS = np.random.default_rng(3).normal(size=(8, 2))


def test_failed_member_does_not_affect_the_others() -> None:
    def controller(t: float, q: Array, v: Array, limit: Array) -> Array:
        return np.where(t > limit, np.nan, 0.0) - 0.1 * v

    limits = np.where(np.arange(8) == 5, 0.123, 1e9)
    run = lw.simulate(M, STARTS, duration=0.5, dt=1e-3, method="rk4", controller=controller, gains={"limit": limits})
    kinds = [outcome.kind for outcome in run.outcome]
    assert kinds == ["finished"] * 5 + ["non-finite"] + ["finished"] * 2
    assert run.outcome[5].time == pytest.approx(0.123)
    assert "controller returned [nan] for joint 'pin 1'" in run.outcome[5].diagnosis
    assert np.isfinite(run.q[5, :124]).all()
    assert np.isnan(run.q[5, 124:]).all()
    others = [0, 1, 2, 3, 4, 6, 7]
    alone = lw.simulate(
        M, STARTS[others], duration=0.5, dt=1e-3, method="rk4", controller=controller, gains={"limit": limits[others]}
    )
    assert np.array_equal(alone.q, run.q[others])
    with pytest.raises(lw.LinkworkError, match="1 of 8 members did not finish"):
        run.check()


def test_too_large_step_names_the_diverging_joint() -> None:
    run = lw.simulate(M, STARTS[0], duration=5.0, dt=0.1, method="semi-implicit", controller=lambda t, q, v: -1e4 * q)
    assert run.outcome.kind == "non-finite"
    assert "pin" in run.outcome.diagnosis
    assert len(run.t) < 51
    assert np.isfinite(run.q).all()


def test_step_whose_iteration_fails_is_reported_in_the_outcome() -> None:
    run = lw.simulate(M, STARTS[0], [40.0, -90.0], 0.9, 0.3, "midpoint")
    assert run.outcome.kind == "not converged"
    found = re.search(r"largest at joint 'pin 1'; use dt=([\d.e-]+): a trial run with it", run.outcome.diagnosis)
    assert found
    assert lw.simulate(M, STARTS[0], [40.0, -90.0], 0.9, float(found[1]), "midpoint").outcome.kind == "finished"


@pytest.mark.parametrize("method", ["rk4", "semi-implicit", "midpoint"])
def test_stop_conditions_end_runs_of_fixed_step_methods_at_a_step(method: str) -> None:
    ball = lw.Builder("ball").body("ball", mass=1.0).joint("fall", lw.Prismatic((0, 0, 1)), "world", "ball").build()
    heights = np.array([[0.5], [1.0], [9.0]])
    run = lw.simulate(ball, heights, duration=1.0, dt=1e-3, method=method, stop_when=lambda t, q, v: q[0] <= 0.0)
    exact = np.sqrt(2.0 * heights[:2, 0] / 9.81)
    assert [outcome.kind for outcome in run.outcome] == ["event", "event", "finished"]
    assert np.abs([outcome.time for outcome in run.outcome[:2]] - exact).max() < 2e-3
    assert [(event.member, event.what) for event in run.events] == [((0,), "stop_when"), ((1,), "stop_when")]
    assert (run.final.q[:2, 0] <= 0.0).all()
    single = lw.simulate(ball, [0.5], duration=1.0, dt=1e-3, method=method, every=100, stop_when=lambda t, q, v: -q[0])
    assert single.t[-1] == run.outcome[0].time  # the last row is the event, though no hundredth step
    assert single.q[-1, 0] == run.final.q[0, 0]


@pytest.mark.parametrize("method", ["dop853", "radau", "lsoda"])
def test_times_of_stop_conditions_are_located_by_adaptive_methods(method: str) -> None:
    ball = lw.Builder("ball").body("ball", mass=1.0).joint("fall", lw.Prismatic((0, 0, 1)), "world", "ball").build()
    for condition in (lambda t, q, v: q[0] <= 0.0, lambda t, q, v: -q[0]):
        run = lw.simulate(ball, [0.7], duration=1.0, method=method, stop_when=condition, rtol=1e-11, atol=1e-12)
        assert abs(run.outcome.time - np.sqrt(1.4 / 9.81)) < 1e-10
        assert run.t[-1] == run.outcome.time
        assert abs(run.q[-1, 0]) < 1e-10


def test_keyboard_interrupt_keeps_the_computed_samples() -> None:
    lw.simulate(M, STARTS, duration=0.2, dt=1e-4, method="rk4", every=1000)  # compiled beforehand
    going, stopped = threading.Event(), threading.Event()

    def watch(done: float) -> None:
        if done > 0.0:
            going.set()

    def press() -> None:
        """Press Ctrl-C repeatedly, since Python itself can lose an interrupt."""
        going.wait(60.0)  # a busy machine may take long to compute anything
        while not stopped.wait(0.5):
            os.kill(os.getpid(), signal.SIGINT)

    pressing = threading.Thread(target=press)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background begin without it
    pressing.start()
    try:
        run = lw.simulate(M, STARTS, duration=3000.0, dt=1e-4, method="rk4", every=1000, progress=watch)
    finally:
        going.set()
        stopped.set()
        pressing.join()
        signal.signal(signal.SIGINT, before)
    assert {outcome.kind for outcome in run.outcome} == {"stopped"}
    assert 1 < len(run.t) < 30_001
    assert np.isfinite(run.q).all()
    more = lw.simulate(M, run, duration=1.0, every=1000)
    assert more.ending == "8 finished"
    assert np.array_equal(more.q[:, 0], run.final.q)


def test_error_in_a_host_controller_keeps_the_run() -> None:
    def fails(t: float, q: Array, v: Array) -> Array:
        if t > 0.2:
            raise ZeroDivisionError("sensor lost")
        return -q

    with pytest.raises(ZeroDivisionError, match="sensor lost") as failure:
        lw.simulate(M, STARTS[0], duration=1.0, dt=1e-3, controller=lw.host(fails, 100.0))
    run: Any = failure.value.run  # type: ignore[attr-defined]
    assert run.t[-1] == pytest.approx(0.21)  # whose forces it did not get
    assert np.isfinite(run.q).all()
    assert any("run" in note for note in failure.value.__notes__)

    def shrinks(t: float, q: Array, v: Array) -> Array:
        return -q if t < 0.2 else -q[:1]

    with pytest.raises(lw.ShapeError, match=r"must have shape \(2,\); got shape \(1,\)") as wrong:
        lw.simulate(M, STARTS[0], duration=1.0, dt=1e-3, controller=lw.host(shrinks, 100.0))
    assert wrong.value.run.t[-1] == pytest.approx(0.2)  # type: ignore[attr-defined]

    def lost(t: float, q: Array, v: Array) -> Array:
        return np.full(2, np.nan) if t > 0.2 else -q

    run = lw.simulate(M, STARTS[:2], duration=1.0, dt=1e-3, controller=lw.host(lost, 100.0))
    assert {outcome.kind for outcome in run.outcome} == {"non-finite"}
    assert "controller returned [nan]" in run.outcome[0].diagnosis


def test_progress_of_a_run_is_reported() -> None:
    seen: list[float] = []
    lw.simulate(M, STARTS, duration=1.0, dt=1e-4, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"q0": [0.1]}, lw.ShapeError, r"q0 has shape \(1,\), expected \(..., 2\)"),
        ({"v0": [0.1, 0.2, 0.3]}, lw.ShapeError, r"v0 has shape \(3,\)"),
        ({"q0": [0.1, np.nan]}, lw.NonFinite, r"q0\[1\] is nan"),
        ({"v0": [np.inf, 0.0]}, lw.NonFinite, r"v0\[0\] is inf"),
        ({"dt": 0.0}, lw.LinkworkError, "dt must be a positive number; got 0.0"),
        ({"dt": -1e-3}, lw.LinkworkError, "dt must be a positive"),
        ({"dt": "fast"}, lw.LinkworkError, "dt must be a positive"),
        ({"duration": np.nan}, lw.LinkworkError, "duration must be a positive"),
        ({"method": "rk5"}, lw.LinkworkError, "there is no method 'rk5'. Did you mean 'rk4'"),
        ({"target": "gpu"}, lw.LinkworkError, "there is no target 'gpu'"),
        ({"every": 0}, lw.LinkworkError, "every must be a whole number"),
        ({"record": ("q", "speed")}, lw.LinkworkError, "there is no series to record 'speed'"),
        ({"record": ("q", "tau")}, lw.LinkworkError, "has no such series"),
        ({"stops": -1.0, "m": "limited"}, lw.LinkworkError, "stops"),
        ({"controller": 3.0}, lw.LinkworkError, "controller must be a function"),
        ({"controller": lambda t, q: q}, lw.LinkworkError, r"must take \(t, q, v\)"),
        ({"controller": lambda t, q, v: q[:1]}, lw.ShapeError, r"must have shape \(2,\); got shape \(1,\)"),
        ({"controller": lambda t, q, v: None}, lw.ShapeError, r"must have shape \(2,\)"),
        ({"controller": lambda t, q, v: q * np.nan}, lw.NonFinite, "controller returned .nan. for joint 'pin 1'"),
        ({"controller": lambda t, q, v: q if q[0] > 0.0 else v}, lw.NotTraceable, "branches"),
        ({"controller": lambda t, q, v, memory: (q, memory)}, lw.LinkworkError, "needs its initial value"),
        ({"controller": lambda t, q, v, memory: q, "memory": [0.0]}, lw.ShapeError, "must return .forces, memory."),
        ({"memory": [0.0]}, lw.LinkworkError, "the controller takes no memory"),
        ({"gains": {"kp": 1.0}}, lw.LinkworkError, "no function takes the gain 'kp'"),
        ({"parameters": {"arm.mass": 1.0}}, lw.LinkworkError, "there is no parameter 'arm.mass'"),
        ({"wrenches": np.zeros((3, 6))}, lw.ShapeError, r"wrenches has shape \(3, 6\)"),
        ({"wrenches": lambda t, q, v: np.zeros(6)}, lw.ShapeError, "function of wrenches"),
        ({"stop_when": lambda t, q, v: q > 0.0}, lw.ShapeError, "one condition or one number"),
        ({"schedule": [(0.5, "lock", "pin 3")]}, lw.LinkworkError, "pin 3"),
        ({"rtol": 0.0}, lw.LinkworkError, "rtol must be"),
    ],
)
def test_invalid_input_is_rejected_with_a_reason_before_the_run(
    options: dict[str, Any], error: type, message: str
) -> None:
    m = M
    if options.pop("m", None):
        b = lw.Builder("limited").body("bob", mass=1.0, com=(0, 0, 1)).body("bib", mass=1.0, com=(0, 0, 1))
        b.joint("pin 1", lw.Revolute((0, 1, 0)), "world", "bob", limits=(-1, 1))
        m = b.joint("pin 2", lw.Revolute((0, 1, 0)), "bob", "bib", at=(0, 0, 1)).build()
    with pytest.raises(error, match=message):
        lw.simulate(m, **{"q0": [0.1, 0.2], "duration": 0.1} | options)


def test_quaternions_are_normalised_or_rejected() -> None:
    m = lw.example("tumbling_body")
    q = m.neutral()
    q[3:] *= 3.0
    assert np.array_equal(lw.simulate(m, q, duration=0.1).q[0], m.neutral())
    q[3:] = 0.0
    with pytest.raises(lw.NonFinite, match=r"quaternion of joint .* is zero"):
        lw.simulate(m, q, duration=0.1)


def test_rate_of_a_sampled_controller_must_fit_the_step() -> None:
    for controller in (lw.sampled(lambda t, q, v: -q, 300.0), lw.host(lambda t, q, v: -q, 300.0)):
        with pytest.raises(lw.LinkworkError, match="whole number of steps between controller calls"):
            lw.simulate(M, STARTS[0], duration=0.1, dt=1e-3, controller=controller)
        assert lw.simulate(M, STARTS[0], duration=0.1, controller=controller).outcome.kind == "finished"
    for rate in (0.0, -1.0, np.nan, "often"):
        with pytest.raises(lw.LinkworkError, match=r"rate \[1/s\] must be"):
            lw.sampled(lambda t, q, v: q, rate)  # type: ignore[arg-type]
    with pytest.raises(lw.LinkworkError, match="needs a rate"):
        lw.host(lambda t, q, v: q, None)  # type: ignore[arg-type]


def test_runs_larger_than_memory_are_rejected() -> None:
    starts = np.zeros((100_000, 2))
    with pytest.raises(lw.LinkworkError, match="GB of memory; this machine has"):
        lw.simulate(M, starts, duration=1000.0, dt=1e-4, every=1)


def test_conversions_of_runs_larger_than_memory_are_rejected() -> None:
    small = lw.simulate(M, STARTS[0], duration=0.1, dt=0.01)
    count = 10**12
    recorded = {
        name: np.broadcast_to(values[:1], (count, *values.shape[1:])) for name, values in small.recorded.items()
    }
    huge = replace(small, t=np.broadcast_to(0.0, count), recorded=recorded)
    says = r"of a run with 1 members and 1000000000000 samples needs \d+\.\d GB of memory; this machine has .*every="
    for act in (huge.to_xarray, lambda: huge.to_xarray("momentum"), lambda: huge["momentum"]):
        with pytest.raises(lw.LinkworkError, match=says):
            act()


def test_simulator_rejects_invalid_input_and_keeps_its_state() -> None:
    simulator = lw.Simulator(M, STARTS[0])
    before = simulator.state
    for tau, error in (([1.0], lw.ShapeError), ([1.0, np.nan], lw.NonFinite), (["a", 1], lw.ShapeError)):
        with pytest.raises(error, match="tau"):
            simulator.step(tau)
    with pytest.raises(lw.NonFinite):
        simulator.step([1e306, 1e306])
    assert np.array_equal(simulator.state.q, before.q)
    assert simulator.state.t == 0.0
    with pytest.raises(lw.LinkworkError, match="world cannot be pushed"):
        simulator.push("world", np.zeros(6))
    with pytest.raises(lw.ShapeError, match=r"expected \(6,\)"):
        simulator.push(M.bodies[1].name, np.zeros(3))
    with pytest.raises(lw.ShapeError, match="has one state"):
        lw.Simulator(M, STARTS)
    simulator.state = (2.0, STARTS[1], [0.0, 1.0])
    assert simulator.state.t == 2.0


def test_only_mechanisms_can_be_simulated() -> None:
    for start in (lw.simulate, lw.Simulator):
        with pytest.raises(lw.LinkworkError, match="mechanism must be a Mechanism"):
            start("double_pendulum")  # type: ignore[arg-type]
