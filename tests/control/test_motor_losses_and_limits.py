"""Drive gears lose power in both directions and never add any; voltage limits the motor force by its speed."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.drive_forces import drive_forces, motor_forces, motor_speeds

INERTIA, ROTOR, GEAR = 2.0, 0.003, -12.0


def wheel(**motor) -> lw.Mechanism:
    """A wheel of 2 kg m^2 on the world and its motor, with no other forces."""
    b = lw.Builder("wheel", gravity=(0, 0, 0)).body("wheel", 1.0, inertia=(1, 1, INERTIA))
    return b.joint("shaft", lw.Revolute(), "world", "wheel").drive("motor", {"shaft": 1.0}, **motor).build()


def test_gear_ratio_multiplies_motor_speed_and_force():
    m = wheel(gear=GEAR, rotor_inertia=ROTOR)
    run = lw.simulate(m, [0.0], [1.5], duration=1.0, dt=0.01, controller=lw.feedback.drives(m, [0.5]),
                      method="rk4", record=["q", "v", "tau", "work", "drive.force"])  # fmt: skip
    whole = INERTIA + ROTOR * GEAR**2
    np.testing.assert_allclose(run.v[:, 0], 1.5 + GEAR * 0.5 / whole * run.t, rtol=1e-12)
    np.testing.assert_allclose(run["drive.speed"][:, 0], GEAR * run.v[:, 0], rtol=1e-13)
    np.testing.assert_allclose(run["drive.force"], 0.5)
    np.testing.assert_allclose(run.energy, 0.5 * whole * run.v[:, 0] ** 2, rtol=1e-12)
    assert run.report().passed


@pytest.mark.parametrize(("driving", "back"), [(0.8, 0.8), (0.9, 0.5), (1.0, 0.3), (0.2, 1.0)])
@pytest.mark.parametrize("gear", [1.0, GEAR])
def test_gear_loses_power_in_both_directions(driving, back, gear):
    m = wheel(gear=gear, efficiency=(driving, back))
    for v in (-3.0, -0.1, -1e-3, -1e-5, 0.0, 1e-6, 1e-3, 2.0):
        for u in (-4.0, -0.2, 0.0, 0.7):
            state = np.zeros(1), np.array([v]), np.array([u])
            given = motor_forces(m, *state) @ motor_speeds(m, state[1])
            got = drive_forces(m, *state) @ state[1]
            assert got <= given + 1e-15 * abs(given)
            if abs(v) >= 0.1:
                assert got == pytest.approx(driving * given if given > 0.0 else given / back, rel=1e-3)


def test_energy_balance_includes_gear_losses():
    """A motor with gear efficiency 0.7 lifts and lowers a link; the recorded work is that after losses."""
    b = lw.Builder("arm").body("link", 1.0, com=(0.5, 0, 0), inertia=(0, 0.1, 0.1))
    b.joint("pin", lw.Revolute((0, 1, 0)), "world", "link")
    m = b.drive("motor", {"pin": 1.0}, gear=20.0, rotor_inertia=1e-3, efficiency=(0.7, 0.6)).build()
    command = lw.feedback.drives(m, lambda t, q, v: np.stack([-0.4 * np.sin(2.0 * t) - 0.01 * v[0]]))
    run = lw.simulate(m, [0.2], duration=3.0, dt=1e-3, method="rk4", controller=command,
                      record=["q", "v", "tau", "work", "drive.force"])  # fmt: skip
    assert run.report()["energy balance"].verdict == "ok"
    power = (run["drive.force"] * run["drive.speed"])[:, 0]
    put_in = np.sum((power[1:] + power[:-1]) / 2) * 1e-3
    assert run["work"][-1] < put_in - 0.1 * np.abs(power).mean() * 3.0


def test_torque_speed_line_limits_the_motor_force_in_four_quadrants():
    stall, free = 3.0, 40.0
    m = wheel(gear=2.0, stall_torque=stall, no_load_speed=free)
    for v in (-50.0, -20.0, -3.0, 0.0, 7.0, 20.0, 31.0):
        speed = 2.0 * v
        for u in (-100.0, 100.0):
            (force,) = motor_forces(m, np.zeros(1), np.array([v]), np.array([u]))
            assert force == pytest.approx(np.sign(u) * stall - stall * speed / free, abs=1e-12)
        inside = -stall * speed / free
        assert motor_forces(m, np.zeros(1), np.array([v]), np.array([inside])) == pytest.approx([inside])


def test_motor_reaches_its_no_load_speed_exponentially():
    """I w' = gear stall (1 - gear w / free): a DC motor with its time constant."""
    stall, free, gear = 3.0, 40.0, 2.0
    m = wheel(gear=gear, rotor_inertia=0.05, stall_torque=stall, no_load_speed=free)
    run = lw.simulate(m, [0.0], duration=4.0, dt=0.01, method="rk4", controller=lw.feedback.drives(m, [1e3]))
    constant = (INERTIA + 0.05 * gear**2) * free / (gear**2 * stall)
    np.testing.assert_allclose(run.v[:, 0], free / gear * (1.0 - np.exp(-run.t / constant)), rtol=1e-9, atol=1e-12)


def test_force_limits_of_a_motor_apply_within_its_torque_speed_line():
    m = wheel(stall_torque=3.0, no_load_speed=40.0, force_limits=(-2.0, 1.0))
    found = [motor_forces(m, np.zeros(1), np.array([v]), np.array([u]))[0] for v, u in ((0, 9), (0, -9), (30, 9))]
    assert found == pytest.approx([1.0, -2.0, 0.75])


def test_motor_parameters_in_a_batch_match_single_runs():
    m = wheel(gear=2.0, rotor_inertia=0.05, efficiency=0.9, stall_torque=3.0, no_load_speed=40.0)
    given = {
        "motor.gear": np.array([2.0, -5.0, 9.0]),
        "motor.rotor_inertia": np.array([0.0, 0.1, 0.02]),
        "motor.efficiency": np.array([[1.0, 1.0], [0.5, 0.7], [0.9, 0.2]]),
        "motor.stall_torque": np.array([1.0, 2.0, 3.0]),
        "motor.no_load_speed": np.array([10.0, 20.0, 30.0]),
        "motor.gain": np.array([1.0, 2.0, -1.0]),
    }
    more = {"duration": 0.3, "dt": 0.01, "method": "rk4", "record": ["q", "v", "tau", "drive.force"]}
    run = lw.simulate(m, [0.0], [0.5], controller=lw.feedback.drives(m, [0.7]), parameters=given, **more)
    for k in range(3):
        one = m.with_parameters({name: values[k] for name, values in given.items()})
        alone = lw.simulate(one, [0.0], [0.5], controller=lw.feedback.drives(one, [0.7]), **more)
        for series in ("v", "tau", "drive.force", "drive.speed"):
            np.testing.assert_allclose(run[series][k], alone[series], rtol=1e-12)
        assert np.ptp(run["drive.speed"][k]) > 0.0
    more["record"] = ["q", "v", "tau"]
    held, python = (make(lw.feedback.drives(m, [0.7]), rate=50) for make in (lw.sampled, lw.host))
    run = lw.simulate(m, [0.0], [0.5], controller=held, parameters=given, **more)
    again = lw.simulate(m, [0.0], [0.5], controller=python, parameters=given, **more)
    one = m.with_parameters({name: values[1] for name, values in given.items()})
    alone = lw.simulate(one, [0.0], [0.5], controller=lw.sampled(lw.feedback.drives(one, [0.7]), rate=50), **more)
    np.testing.assert_allclose(run.v[1], alone.v, rtol=1e-12)
    np.testing.assert_allclose(again.v, run.v, rtol=1e-12)


@pytest.mark.parametrize(
    ("motor", "message"),
    [
        ({"gear": 0.0}, "gear must not be 0"),
        ({"rotor_inertia": -1.0}, "rotor_inertia must be >= 0"),
        ({"efficiency": 0.0}, "efficiency must be above 0 and at most 1"),
        ({"efficiency": (0.9, 1.1)}, "efficiency must be above 0 and at most 1"),
        ({"efficiency": (0.9, 0.8, 0.7)}, "efficiency must be 2 numbers"),
        ({"stall_torque": 2.0}, "no_load_speed is missing"),
        ({"no_load_speed": 2.0}, "stall_torque is missing"),
        ({"stall_torque": 0.0, "no_load_speed": 1.0}, "stall_torque must be > 0"),
    ],
)
def test_motors_with_invalid_arguments_are_rejected(motor, message):
    with pytest.raises(lw.ModelError, match="drive 'motor'") as caught:
        wheel(**motor)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("efficiency", [0.5, 1.5], "at most 1"),
        ("stall_torque", 0.0, "> 0"),
        ("rotor_inertia", -1.0, ">= 0"),
        ("gear", 0.0, "not be 0"),
    ],
)
def test_invalid_motor_parameters_are_rejected(name, value, message):
    m = wheel(efficiency=0.9, stall_torque=3.0, no_load_speed=40.0)
    with pytest.raises(lw.ModelError, match=message):
        m.with_parameters({f"motor.{name}": value})


def test_motors_are_saved_to_the_bit(tmp_path):
    m = wheel(gear=1 / 3, rotor_inertia=0.1, efficiency=(0.7, 1 / 3), stall_torque=0.1, no_load_speed=1e3 / 7)
    lw.save(m, tmp_path / "wheel.toml")
    again = lw.load(tmp_path / "wheel.toml").drives["motor"]
    for key in ("gear", "rotor_inertia", "stall_torque", "no_load_speed"):
        assert getattr(again, key) == getattr(m.drives["motor"], key)
    assert (again.efficiency == m.drives["motor"].efficiency).all()
