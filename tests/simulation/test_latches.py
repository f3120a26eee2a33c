"""Latches engage at their position, stop the joint by an impulse, and hold until released."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw


def wheel(side: str = "both") -> lw.Mechanism:
    b = lw.Builder("wheel", gravity=(0, 0, 0))
    b.body("rim", 1.0, inertia=(1, 1, 2)).joint("axle", lw.Revolute(), "world", "rim")
    return b.latch("latch", "axle", 1.0, side=side).build()


def pendulum() -> lw.Mechanism:
    b = lw.Builder("pendulum")
    b.body("rod", 1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01)).joint(
        "hinge", lw.Revolute((0, 1, 0)), "world", "rod"
    )
    return b.latch("latch", "hinge", 0.5).build()


@pytest.mark.parametrize("method", ["rk4", "semi-implicit", "midpoint", "variational", "energy-momentum", "dop853"])
def test_latch_engages_at_its_position_for_any_step_size(method):
    run = lw.simulate(wheel(), [0.0], [2.0], duration=1.4, dt=0.07, method=method)
    (event,) = run.events
    assert event.what == "latch engages (energy -4 J)"
    assert event.time == pytest.approx(0.5, rel=5e-3 if method in ("variational", "energy-momentum") else 1e-9)
    assert event.impulse == pytest.approx(-4.0, rel=1e-12)
    assert event.energy == pytest.approx(-4.0, rel=1e-12)
    np.testing.assert_allclose(run.q[run.t > 0.57, 0], 1.0, rtol=0, atol=2e-9)
    assert (abs(run.v[run.t > 0.57]) < 1e-14).all()
    assert run["latch.engaged"][[0, -1]].tolist() == [0, 1]
    assert run.report().passed


def test_latch_engages_only_from_its_side():
    for side, direction, falls in (
        ("below", 1, 1),
        ("below", -1, 0),
        ("above", 1, 0),
        ("above", -1, 1),
        ("both", -1, 1),
    ):
        run = lw.simulate(wheel(side), [1.0 - direction], [2.0 * direction], duration=1.0, dt=0.01, method="rk4")
        assert len(run.events) == falls


def test_released_latch_engages_again_when_the_joint_returns():
    def lifted(t, q, v):
        return [np.where((t > 2.0) & (t < 2.3), 5.0, 0.0)]

    schedule = [(2.0, "release", "latch")]
    run = lw.simulate(pendulum(), [-1.0], duration=4.0, dt=0.01, method="rk4", schedule=schedule, controller=lifted)
    assert [event.what.split(" (")[0] for event in run.events] == ["latch engages", "release latch", "latch engages"]
    first, released, again = run.events
    weight = 9.81 * 0.5 * np.sin(0.5)
    assert first.carried == pytest.approx(weight, rel=1e-8)
    assert released.carried == pytest.approx(weight, rel=1e-8)
    inertia = 0.1 + 0.25
    speed = np.sqrt(2 * 9.81 * 0.5 * (np.cos(0.5) - np.cos(1.0)) / inertia)
    assert first.impulse == pytest.approx(-inertia * speed, rel=1e-7)
    assert first.energy == pytest.approx(-0.5 * inertia * speed**2, rel=1e-7)
    k = round(released.time / 0.01)
    assert run.v[k, 0] == 0.0  # releasing changes no velocity
    assert run.q[:, 0].max() > 0.6  # it was lifted, and falls in from above
    assert again.impulse > 0.0
    assert run.q[-1, 0] == pytest.approx(0.5, abs=1e-9)


def test_latch_engaged_by_schedule_holds_the_current_position():
    run = lw.simulate(wheel(), [0.0], [1.0], duration=0.5, dt=0.01, method="rk4", schedule=[(0.2, "engage", "latch")])
    assert run.q[-1, 0] == pytest.approx(0.2, rel=1e-12)


def test_latches_of_batch_members_engage_separately_and_saved_runs_continue(tmp_path):
    speeds = np.linspace(-1.0, 3.0, 7)[:, None]
    run = lw.simulate(wheel(), [0.0], speeds, duration=0.9, dt=0.01, method="rk4")
    for k in (2, 6):
        alone = lw.simulate(wheel(), [0.0], speeds[k], duration=0.9, dt=0.01, method="rk4")
        assert (alone.q == run.q[k]).all()
    times = {event.member[0]: event.time for event in run.events}
    assert times == pytest.approx({k: 1.0 / speeds[k, 0] for k in range(7) if speeds[k, 0] > 1.2})
    half = lw.simulate(wheel(), [0.0], speeds, duration=0.5, dt=0.01, method="rk4")
    half.save(tmp_path / "half.nc")
    rest = lw.simulate(wheel(), lw.open_run(tmp_path / "half.nc"), duration=0.4, dt=0.01)
    assert (rest.q[:, -1] == run.q[:, -1]).all()
    assert len(half.events) + len(rest.events) == len(run.events)


def test_mimic_joint_can_be_latched():
    b = lw.Builder("pair", gravity=(0, 0, 0))
    b.body("a", 1.0, inertia=(1, 1, 2)).body("b", 1.0, inertia=(1, 1, 2))
    b.joint("first", lw.Revolute(), "world", "a").joint("second", lw.Revolute(), "world", "b", at=(1, 0, 0))
    b.mimic("second", "first", multiplier=-2.0).latch("latch", "second", -1.0)
    run = lw.simulate(b.build(), [0.0], [1.0], duration=0.99, dt=0.03, method="rk4")
    assert run.events[0].time == pytest.approx(0.5, rel=1e-9)
    assert run.q[-1, 0] == pytest.approx(0.5, abs=1e-9)


def test_simulator_latches_and_can_release():
    simulator = lw.Simulator(wheel(), [0.0], [2.0], dt=0.03)
    for _ in range(30):
        simulator.step()
    assert simulator.state.q[0] == pytest.approx(1.0, abs=1e-9)
    assert simulator.state.v[0] == 0.0
    simulator.release("latch")
    for _ in range(10):
        simulator.step([1.0])
    assert simulator.state.v[0] == pytest.approx(0.15, rel=1e-12)
