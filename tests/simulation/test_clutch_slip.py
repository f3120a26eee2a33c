"""Clutches and brakes slip above their capacity: times, heat and speeds match constant-torque closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from shaft_mechanisms import flywheels, two_wheels

EXACT = ("rk4", "semi-implicit", "midpoint", "dop853")  # for constant accelerations of velocities


@pytest.mark.parametrize("method", EXACT)
def test_flywheels_with_a_slipping_clutch_reach_common_speed_after_the_closed_form_time(method):
    m, schedule = flywheels(capacity=6.0), [(0.3, "engage", "clutch")]
    run = lw.simulate(m, [0, 0], [5.0, 0.0], duration=2.01, dt=0.03, method=method, schedule=schedule)
    meeting = 0.3 + 5.0 / (6 / 2 + 6 / 3)  # slip over its rate
    before, after = run.t < meeting, run.t > meeting + 0.03
    engaged = run.t >= 0.3 - 1e-9
    assert (run["slip"][before & engaged, 0] == -1).all()
    assert (run["slip"][after, 0] == 0).all()
    np.testing.assert_allclose(run.v[before & engaged, 0], 5.0 - 3.0 * (run.t[before & engaged] - 0.3), rtol=1e-12)
    np.testing.assert_allclose(run.v[after], 2.0, rtol=1e-12)  # the common speed
    assert run["work"][-1] == pytest.approx(-15.0, rel=1e-12)  # heat: all that the speeds lose in energy
    np.testing.assert_allclose(run["carried"][:, 0], np.where(before & engaged, 6.0, 0.0), atol=1e-12)
    assert run.report().passed
    assert "largest slip speed of engaged elements without a capacity" in run.report()["slip"].note


@pytest.mark.parametrize("method", EXACT)
def test_elements_with_a_capacity_have_no_round_off_impulse(method):
    m, schedule = flywheels(capacity=6.0), [(0.1, "engage", "clutch"), (1.5, "release", "clutch")]
    how = {"duration": 2.0, "dt": 0.01, "method": method, "schedule": schedule}
    run = lw.simulate(m, [0, 0], [5.0, 0.0], controller=lambda t, q, v: [0.5, 0.0], **how)
    texts = [str(event) for event in run.events]
    assert texts[0] == "at 0.1 s: engage clutch"
    assert texts[1] == "at 1.15789 s: clutch holds; force 0.3"  # 0.1 s + 5 / (5.5 / 2 + 6 / 3) s
    assert texts[2] == "at 1.5 s: release clutch; force 0.3"
    assert not any(event.impulse for event in run.events)


def test_series_of_a_released_element_are_zero():
    m, schedule = flywheels(capacity=6.0), [(0.1, "engage", "clutch"), (0.5, "release", "clutch")]
    run = lw.simulate(m, [0, 0], [5.0, 0.0], duration=1.0, dt=0.01, method="rk4", schedule=schedule)
    slipping = (run.t > 0.1 - 1e-9) & (run.t < 0.5 - 1e-9)
    np.testing.assert_allclose(run["slip"][:, 0], np.where(slipping, -1.0, 0.0))
    np.testing.assert_allclose(run["carried"][:, 0], np.where(slipping, 6.0, 0.0))
    np.testing.assert_allclose(run["clutch.engaged"], np.where(slipping, 1.0, 0.0))


def test_end_of_slip_is_located_within_a_step():
    """The angle until then is that of the exact time, for any step size."""
    runs = [
        lw.simulate(flywheels(capacity=6.0, engaged=True), [0, 0], [5.0, 0.0], duration=2.1, dt=dt, method="rk4")
        for dt in (0.7, 0.021)
    ]
    turned = [5.0 - 1.5 + 2.0 * 1.1, 1.0 + 2.0 * 1.1]  # one second of slip, then together
    for run in runs:
        np.testing.assert_allclose(run.q[-1], turned, rtol=1e-12)


@pytest.mark.parametrize("method", EXACT)
def test_two_slip_ends_within_one_step_are_both_located(method):
    """Brakes stop two wheels after 0.3 s and 0.7 s, within one step: each turns by half its speed times its time."""
    b = lw.Builder("two wheels", gravity=(0, 0, 0))
    for name, place in (("a", 0), ("b", 1)):
        b.body(name, 1.0, inertia=(1, 1, 2)).joint(f"axle {name}", lw.Revolute(), "world", name, at=(place, 0, 0))
        b.brake(f"brake {name}", f"axle {name}", capacity=2.0, engaged=True)
    run = lw.simulate(b.build(), [0, 0], [-0.3, 0.7], duration=2.0, dt=1.0, method=method)
    if method != "semi-implicit":  # whose coordinates are of first order
        np.testing.assert_allclose(run.q[-1], [-0.3 * 0.15, 0.7 * 0.35], rtol=1e-12)
    np.testing.assert_allclose(run.v[-1], 0.0, atol=1e-15)
    assert run["work"][-1] == pytest.approx(-(0.3**2 + 0.7**2), rel=1e-12)


def test_location_of_slip_end_has_the_accuracy_of_the_method():
    """A brake on a wheel driven by sin(t) N m: where it comes to rest, at two step sizes of order 4."""
    b = lw.Builder("wheel", gravity=(0, 0, 0))
    b.body("rim", 1.0, inertia=(1, 1, 2)).joint("axle", lw.Revolute(), "world", "rim")
    m = b.brake("brake", "axle", capacity=4.0, engaged=True).build()
    # 2 v = 2.2 - 4 t + 1 - cos(t) until it stops
    t = 0.6
    for _ in range(20):
        t -= (3.2 - 4.0 * t - np.cos(t)) / (-4.0 + np.sin(t))
    turned = (3.2 * t - 2.0 * t**2 - np.sin(t)) / 2.0
    errors = []
    for dt in (0.1, 0.05):
        run = lw.simulate(m, [0.0], [1.1], duration=1.0, dt=dt, method="rk4", controller=lambda t, q, v: [np.sin(t)])
        errors.append(abs(run.q[-1, 0] - turned))
    assert errors[1] < 4e-9
    assert errors[1] < errors[0] / 12.0


def test_clutch_slips_when_its_force_exceeds_the_capacity():
    m = flywheels(capacity=6.0, engaged=True)
    run = lw.simulate(m, [0, 0], duration=1.0, dt=1e-3, method="rk4", controller=lambda t, q, v: [20.0 * t, 0.0])
    (slips,) = run.events
    assert slips.what == "clutch slips"
    assert slips.time == pytest.approx(0.5, rel=1e-9)  # the second wheel gets 3/5 of 20 t
    assert slips.carried == pytest.approx(6.0, rel=1e-8)
    assert run.v[-1, 1] == pytest.approx(0.25 * 20 / 5 / 2 + 6 / 3 * 0.5, rel=1e-9)


def test_brake_stops_a_wheel_and_holds_it_up_to_its_capacity():
    b = lw.Builder("wheel", gravity=(0, 0, 0))
    b.body("rim", 1.0, inertia=(1, 1, 2)).joint("axle", lw.Revolute(), "world", "rim")
    m = b.brake("brake", "axle", capacity=4.0, engaged=True).build()
    run = lw.simulate(m, [0.0], [-3.0], duration=3.0, dt=0.01, method="rk4", controller=lambda t, q, v: [3.9])
    stopping = 3.0 / ((4.0 + 3.9) / 2)
    still = run.t > stopping + 0.01
    np.testing.assert_allclose(run.v[still], 0.0, atol=1e-13)
    np.testing.assert_allclose(run.q[still], -3.0 * stopping / 2, rtol=1e-12)
    np.testing.assert_allclose(run["carried"][still, 0], -3.9, rtol=1e-12)
    pushed = lw.simulate(m, [0.0], [0.0], duration=1.0, dt=0.01, method="rk4", controller=lambda t, q, v: [5.0])
    assert pushed.v[-1, 0] == pytest.approx(0.5, rel=1e-9)  # it slips at once


@pytest.mark.parametrize("method", [*EXACT, "variational", "energy-momentum"])
def test_overloaded_brake_stops_its_joint_and_then_slips_in_the_direction_of_the_load(method):
    """At the instant of zero speed there is no kinetic energy for the step to conserve."""
    m = two_wheels().brake("brake", "a", capacity=1.0, engaged=True).build()
    run = lw.simulate(m, [0, 0], [1.0, 0.0], duration=0.9, dt=0.03, method=method, controller=lambda t, q, v: [-3.0, 0])
    assert run.outcome.kind == "finished"
    assert [event.what for event in run.events] == ["brake holds", "brake slips"]
    assert run.v[-1, 0] == pytest.approx(-(0.9 - 1.0 * 2 / (3 + 1)) * (3 - 1) / 2, abs=1e-3)
    held = lw.simulate(m, [0, 0], duration=0.3, dt=0.03, method=method, controller=lambda t, q, v: [-0.9, 0])
    assert held.outcome.kind == "finished"
    np.testing.assert_allclose(held.v, 0.0, atol=1e-13)


def test_slipping_clutch_parallel_to_a_rigid_clutch_transmits_its_capacity():
    """At another ratio the slipping clutch brakes the wheels by its capacity; at the same ratio it carries a part."""
    b = two_wheels().clutch("hard", "a", "b", engaged=True).clutch("soft", "a", "b", 2.0, capacity=1.0, engaged=True)
    run = lw.simulate(b.build(), [0, 0], [3.0, 3.0], duration=1.0, dt=0.01, method="rk4")
    np.testing.assert_allclose(run.v[-1], 3.0 - (2.0 - 1.0) / 5, rtol=1e-12)  # 1 N m on b, -2 N m on a
    assert run["work"][-1] == pytest.approx(0.5 * 5 * (2.8**2 - 3.0**2), rel=1e-12)
    b = two_wheels().clutch("hard", "a", "b", engaged=True).clutch("soft", "a", "b", capacity=0.1, engaged=True)
    run = lw.simulate(b.build(), [0, 0], duration=0.2, dt=0.01, method="rk4", controller=lambda t, q, v: [5.0, 0.0])
    np.testing.assert_allclose(run.v[-1], 0.2, rtol=1e-9)
    np.testing.assert_allclose(run["carried"][-1], [2.9, 0.1], rtol=1e-9)


def test_clutches_of_batch_members_slip_independently():
    m = flywheels(capacity=6.0, engaged=True)
    speeds = np.array([[5.0, 0.0], [0.0, 5.0], [1.0, 1.0], [2.0, -3.0]])
    run = lw.simulate(m, [0, 0], speeds, duration=0.5, dt=0.01, method="rk4")
    assert run["slip"][:, 0, 0].tolist() == [-1, 1, 0, -1]
    for k in range(4):
        alone = lw.simulate(m, [0, 0], speeds[k], duration=0.5, dt=0.01, method="rk4")
        assert (alone.v == run.v[k]).all()


def test_simulator_lets_clutches_slip():
    simulator = lw.Simulator(flywheels(capacity=6.0), [0, 0], [5.0, 0.0], dt=0.01)
    assert simulator.engage("clutch") == 0.0  # no velocity jump
    for _ in range(150):
        simulator.step()
    np.testing.assert_allclose(simulator.state.v, 2.0, rtol=1e-12)


def test_brake_with_capacity_on_a_ball_joint_is_rejected():
    b = lw.Builder("ball")
    b.body("ball", 1.0, inertia=(1, 1, 1)).joint("socket", lw.Ball(), "world", "ball")
    with pytest.raises(lw.ModelError, match="'socket' has 3 velocities; a brake with a finite capacity needs one"):
        b.brake("brake", "socket", capacity=1.0).build()
