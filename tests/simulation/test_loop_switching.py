"""Loops open and close during a run by impulses along their constraint rows, at any step, for any method."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.examples import four_bar

METHODS = ("semi-implicit", "rk4", "midpoint", "dop853")


def tumbling_pair(floating: lw.JointKind) -> lw.Mechanism:
    """Two floating bodies, in space or in a plane, with an open latch loop between them."""
    b = lw.Builder("pair", gravity=(0, 0, 0))
    b.body("tug", mass=1.0, com=(0.1, 0.2, 0.0), inertia=(0.1, 0.2, 0.25))
    b.body("barge", mass=3.0, com=(0, 0, 0.3), inertia=(0.5, 0.7, 0.6))
    b.joint("tug free", floating, "world", "tug").joint("barge free", floating, "world", "barge")
    b.close("latch", lw.Revolute((0, 1, 0)), "tug", "barge", at=(0.5, 0, 0), to=(-0.5, 0, 0), closed=False)
    return b.build()


def touching(m: lw.Mechanism, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return a state in which the latch loop is closed, with velocities that would open it."""
    shut = m.with_parameters({"latch.closed": 1.0})
    return lw.compile(shut).assemble(m.neutral()), rng.normal(size=m.nv)


def total_momentum(m: lw.Mechanism, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Linear and angular momentum (6,) about the centre of mass."""
    return lw.compile(m).momentum(q, v)


def test_closing_a_loop_conserves_momentum_and_removes_the_least_energy():
    m = tumbling_pair(lw.Free())
    q, v = touching(m, np.random.default_rng(0))
    run = lw.simulate(m, q, v, duration=0.01, dt=1e-3, method="rk4", schedule=[(0.0, "close", "latch")])
    shut = lw.compile(m.with_parameters({"latch.closed": 1.0}))
    M, after = shut.mass_matrix(q), run.v[0]
    assert abs(shut.constraint_jacobian(q) @ after).max() < 1e-12
    np.testing.assert_allclose(total_momentum(m, q, after), total_momentum(m, q, v), rtol=0, atol=1e-12)
    lost = 0.5 * (v - after) @ M @ (v - after)  # Carnot's theorem
    assert 0.5 * v @ M @ v - 0.5 * after @ M @ after == pytest.approx(lost, rel=1e-12)
    assert run.events[0].time == 0.0
    assert f"energy -{lost:.3g} J" in run.events[0].what
    assert run["work"][0] == pytest.approx(-lost, rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_opened_loop_exerts_no_force(method):
    m = four_bar.build()
    run = lw.simulate(m, duration=0.4, dt=1e-3, method=method, every=7, schedule=[(0.2, "open", "closing pin")])
    opened = lw.simulate(
        m.with_parameters({"closing pin.closed": 0.0}),
        *_state_at(m, 0.2, method),
        duration=0.2,
        dt=1e-3,
        method=method,
        every=7,
    )
    np.testing.assert_allclose(run.q[-1], opened.q[-1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(run.v[-1], opened.v[-1], rtol=0, atol=1e-8)
    assert [event.what for event in run.events] == ["open closing pin"]
    assert abs(run["reactions"][-1, -1]).max() == 0.0
    assert abs(run["reactions"][0, -1]).max() > 1.0


def _state_at(m: lw.Mechanism, t: float, method: str) -> tuple[np.ndarray, np.ndarray]:
    run = lw.simulate(m, duration=t, dt=1e-3, method=method)
    return run.q[-1], run.v[-1]


@pytest.mark.parametrize("every", [7, 1000])
def test_interval_between_samples_does_not_change_a_run_that_switches_loops(every):
    m = four_bar.build()
    schedule = [(0.0503, "open", "closing pin")]
    runs = [lw.simulate(m, duration=0.1, dt=1e-3, method="rk4", every=n, schedule=schedule) for n in (every, 1)]
    assert (runs[0].q[-1] == runs[1].q[-1]).all()
    assert runs[0].events == runs[1].events
    assert runs[0].events[0].time == 0.05


def test_schedule_and_host_controller_work_together():
    m = four_bar.build()
    calls = []

    def push(t, q, v):
        calls.append(t)
        return [0.1, 0.0, 0.0]

    schedule = [(0.013, "open", "closing pin"), (0.02, "close", "closing pin")]
    arguments = {"duration": 0.05, "dt": 1e-3, "method": "rk4", "every": 4}
    python = lw.simulate(m, controller=lw.host(push, rate=200), schedule=schedule[:1], **arguments)
    traced = lw.simulate(
        m, controller=lw.sampled(lambda t, q, v: [0.1, 0.0, 0.0], rate=200), schedule=schedule[:1], **arguments
    )
    np.testing.assert_allclose(python.q, traced.q, rtol=0, atol=1e-14)
    assert calls[-1] == pytest.approx(0.05)
    assert (traced["closing pin.closed"] == [1, 1, 1, 1, *[0] * 10]).all()


def test_batch_members_with_a_large_closure_error_end_with_a_reason():
    m = tumbling_pair(lw.Planar((0, 1, 0)))
    q, _ = touching(m, np.random.default_rng(0))
    far = np.array(q)
    far[0] += 0.3
    run = lw.simulate(m, [q, far], duration=0.02, dt=1e-3, method="rk4", schedule=[(0.01, "close", "latch")])
    assert [outcome.kind for outcome in run.outcome] == ["finished", "not converged"]
    assert run.outcome[1].time == pytest.approx(0.01)
    assert "loop 'latch' has a closure error of 0.3" in run.outcome[1].diagnosis


def test_small_closure_errors_are_removed_and_reported_when_a_loop_closes():
    m = tumbling_pair(lw.Planar((0, 1, 0)))
    q, _ = touching(m, np.random.default_rng(0))
    q = np.array(q)
    q[0] += 0.004
    run = lw.simulate(m, q, duration=0.02, dt=1e-3, method="rk4", schedule=[(0.01, "close", "latch")])
    assert "closure error 0.004" in run.events[0].what
    shut = lw.compile(m.with_parameters({"latch.closed": 1.0}))
    assert abs(shut.constraint(run.q[-1])).max() < 1e-14
    assert run.report().passed


def test_switched_run_can_be_saved_and_continued(tmp_path):
    m = four_bar.build()
    whole = lw.simulate(m, duration=0.1, dt=1e-3, method="rk4", schedule=[(0.03, "open", "closing pin")])
    half = lw.simulate(m, duration=0.05, dt=1e-3, method="rk4", schedule=[(0.03, "open", "closing pin")])
    half.save(tmp_path / "half.npz")
    again = lw.open_run(tmp_path / "half.npz")
    assert (again["closing pin.closed"] == half["closing pin.closed"]).all()
    assert again.events == half.events
    rest = lw.simulate(m, again, duration=0.05, dt=1e-3, method="rk4")
    assert (rest.q[-1] == whole.q[-1]).all()


def test_simulator_switches_loops_between_steps():
    m = tumbling_pair(lw.Planar((0, 1, 0)))
    q, v = touching(m, np.random.default_rng(3))
    simulator = lw.Simulator(m, q, v, dt=1e-3)
    lost = simulator.close("latch")
    run = lw.simulate(m, q, v, duration=0.02, dt=1e-3, method="rk4", schedule=[(0.0, "close", "latch")])
    for _ in range(10):
        simulator.step()
    np.testing.assert_allclose(simulator.state.q, run.q[10], rtol=0, atol=1e-13)
    assert lost == pytest.approx(run["work"][0], rel=1e-12)
    simulator.open("latch")
    for _ in range(1000):
        simulator.step()
    with pytest.raises(lw.NotConverged, match="loop 'latch' has a closure error of"):
        simulator.close("latch")
    with pytest.raises(lw.LinkworkError, match="there is no loop 'lach'"):
        simulator.open("lach")


def test_dynamics_accept_the_parameter_closed_of_a_loop_for_each_state():
    m = four_bar.build()
    d = lw.compile(m, parameters=["closing pin.closed"])
    q, v, tau = m.keyframes["start"].q, m.keyframes["start"].v, np.array([1.0, 0.0, 0.0])
    both = d.forward_dynamics(q, v, tau, parameters={"closing pin.closed": [1.0, 0.0]})
    np.testing.assert_allclose(both[0], lw.compile(m).forward_dynamics(q, v, tau), rtol=1e-12)
    tree = lw.compile(m.with_parameters({"closing pin.closed": 0.0}))
    np.testing.assert_allclose(both[1], tree.forward_dynamics(q, v, tau), rtol=1e-12)
    M, bias = tree.mass_matrix(q), tree.bias(q, v)
    np.testing.assert_allclose(both[1], np.linalg.solve(M, tau - bias), rtol=1e-10)


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        (
            [(0.1, "open")],
            r"entry 0 of the schedule must be \(time \[s\] or guard function, verb, name of an elem",
        ),
        ([(-1.0, "open", "closing pin")], r"the time \[s\] must be finite and >= 0"),
        ([(0.1, "opne", "closing pin")], "opne"),
        ([(0.1, "open", "closing pine")], "there is no loop 'closing pine'"),
    ],
)
def test_invalid_schedules_are_rejected(schedule, message):
    with pytest.raises(lw.LinkworkError, match=message):
        lw.simulate(four_bar.build(), duration=0.1, schedule=schedule)


@pytest.mark.parametrize("method", ["semi-implicit", "rk4"])
def test_baumgarte_stabilisation_keeps_loops_nearly_closed(method):
    m = four_bar.build()
    run = lw.simulate(m, duration=0.5, dt=1e-3, method=method, baumgarte=50.0)
    d = lw.compile(m)
    drift = abs(d.constraint(run.q)).max()
    assert 1e-13 < drift < (1e-8 if method == "rk4" else 1e-3)
    projected = lw.simulate(m, duration=0.5, dt=1e-3, method=method)
    np.testing.assert_allclose(run.q[-1], projected.q[-1], atol=1e-7 if method == "rk4" else 0.05)
    assert run.settings.baumgarte == 50.0


@pytest.mark.parametrize(("method", "rate"), [("auto", 10.0), ("midpoint", 10.0), ("rk4", -1.0), ("rk4", "fast")])
def test_invalid_baumgarte_rates_are_rejected(method, rate):
    with pytest.raises(lw.LinkworkError, match="baumgarte"):
        lw.simulate(four_bar.build(), duration=0.1, method=method, baumgarte=rate)


def test_report_gives_the_largest_change_by_a_projection_onto_loops():
    runs = [lw.simulate(four_bar.build(), duration=0.5, dt=dt, method="rk4") for dt in (1e-3, 4e-3)]
    moves = [float(run.report()["loop projection"].value) for run in runs]
    assert 0.0 < moves[0] < 1e-9
    assert moves[1] / moves[0] > 4**4  # what a step of order 4 leaves
