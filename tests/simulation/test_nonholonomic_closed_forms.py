"""Velocity constraints that do not restrict coordinates: sleighs, coins and a particle, against closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

import linkwork as lw
from linkwork.spatial.scalar import Array

MASS, AHEAD, INERTIA = 2.0, 0.3, 0.4

# --- Chaplygin's sleigh: a blade in (x, y) with heading phi, and the centre of mass ahead of it ---


def sleigh(x: Array, v: Array) -> Any:
    c, s = np.cos(x[2]), np.sin(x[2])
    return 0.5 * MASS * ((v[0] - AHEAD * v[2] * s) ** 2 + (v[1] + AHEAD * v[2] * c) ** 2) + 0.5 * INERTIA * v[2] ** 2


def blade(x: Array) -> Array:
    return np.stack([[-np.sin(x[2]), np.cos(x[2]), 0.0]])


ALONG, TURN, HEADING = -0.5, 1.5, 0.4
ARM = np.sqrt(INERTIA / MASS + AHEAD**2)
FAST = np.hypot(ALONG, ARM * TURN)  # the speed along the blade that it ends with
BEGIN = np.arctanh(ALONG / FAST)


def sleigh_exactly(t: Any) -> tuple[Any, Any]:
    """Return speed along the blade and heading of Chaplygin's sleigh at times t, by its closed form.

    du/dt = a w^2, and u^2 + (a^2 + I/m) w^2 is conserved.
    """
    s = AHEAD * FAST * t / ARM**2 + BEGIN
    turned = 2.0 * (np.arctan(np.tanh(s / 2.0)) - np.arctan(np.tanh(BEGIN / 2.0)))
    return FAST * np.tanh(s), HEADING + ARM / AHEAD * turned


def sleigh_position(t: float) -> Array:
    rates = [lambda t, f=f: sleigh_exactly(t)[0] * f(sleigh_exactly(t)[1]) for f in (np.cos, np.sin)]
    return np.array([quad(one, 0.0, t, epsabs=1e-13)[0] for one in rates])


SLEIGH_START = np.array([0.0, 0.0, HEADING]), np.array([ALONG * np.cos(HEADING), ALONG * np.sin(HEADING), TURN])


@pytest.mark.parametrize("order", [2, 4, 6])
@pytest.mark.parametrize("rule", ["midpoint", "rattle"])
def test_sleigh_matches_its_closed_form_with_the_order_of_the_steps(rule: str, order: int) -> None:
    system = lw.discrete(sleigh, nonholonomic=blade, method=rule, order=order)
    end, errors = sleigh_position(4.0), []
    for h in (0.1, 0.05):
        run = system.run(*SLEIGH_START, 4.0, h)
        _, heading = sleigh_exactly(run.t)
        errors.append([np.abs(run.x[:, 2] - heading).max(), *np.abs(run.x[-1, :2] - end), np.ptp(run.energy)])
        sideways = run.xdot[:, 1] * np.cos(run.x[:, 2]) - run.xdot[:, 0] * np.sin(run.x[:, 2])
        assert np.abs(sideways).max() < 1e-14
    assert np.log2(np.array(errors[0]) / errors[1]) == pytest.approx(order, abs=0.15)


def test_sleigh_ends_in_straight_motion() -> None:
    """The motion contracts, so that no area is conserved: u ends at the speed with all the energy."""
    run = lw.discrete(sleigh, nonholonomic=blade).run(*SLEIGH_START, 40.0, 0.02)
    u = (run.xdot[:, :2] * np.stack([np.cos(run.x[:, 2]), np.sin(run.x[:, 2])], axis=1)).sum(axis=1)
    assert u[-1] == pytest.approx(FAST, rel=1e-3)
    assert abs(run.xdot[-1, 2]) < 1e-6
    assert run.symplectic_defect > 1e-3


# --- a coin that stays upright: (x, y), roll and heading ---

RADIUS, ROLL, STEER = 0.5, 3.0, 0.7


def coin(x: Array, v: Array) -> Any:
    return 0.5 * (MASS * (v[0] ** 2 + v[1] ** 2) + INERTIA * v[2] ** 2 + 0.2 * v[3] ** 2)


def rolling(x: Array) -> Array:
    return np.stack([[1.0, 0.0, -RADIUS * np.cos(x[3]), 0.0], [0.0, 1.0, -RADIUS * np.sin(x[3]), 0.0]])


@pytest.mark.parametrize("rule", ["midpoint", "rattle", "energy-momentum"])
def test_coin_rolls_on_a_circle(rule: str) -> None:
    system = lw.discrete(coin, nonholonomic=rolling, method=rule)
    errors = []
    for h in (0.1, 0.05):
        run = system.run(np.zeros(4), [RADIUS * ROLL, 0.0, ROLL, STEER], 200.0, h)
        circle = RADIUS * ROLL / STEER * np.stack([np.sin(STEER * run.t), 1.0 - np.cos(STEER * run.t)], axis=1)
        errors.append(np.abs(run.x[:, :2] - circle).max())
        assert np.ptp(run.energy) < 1e-10
    assert errors[1] < 1e-3
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def test_rolling_coin_on_a_slope_moves_as_under_the_equal_constant_force() -> None:
    def sloped(x: Array, v: Array) -> Any:
        return coin(x, v) - 3.0 * x[0]

    def pull(x: Array, v: Array) -> Array:
        return np.stack([-3.0, 0.0, 0.0, 0.0])

    start = np.zeros(4), [RADIUS * ROLL, 0.0, ROLL, STEER]
    a = lw.discrete(sloped, nonholonomic=rolling).run(*start, 10.0, 0.05)
    b = lw.discrete(coin, forces=pull, nonholonomic=rolling).run(*start, 10.0, 0.05)
    assert np.abs(a.x - b.x).max() < 1e-12
    # m + I / R^2 accelerates along the heading: d(roll)/dt = -3 R cos(heading) / (m R^2 + I)
    rate = ROLL - 3.0 * RADIUS / (MASS * RADIUS**2 + INERTIA) * np.sin(STEER * a.t) / STEER
    assert np.abs(a.xdot[:, 2] - rate).max() < 1e-3


# --- a particle with dz = y dx (Cortes and Martinez) ---


def particle(x: Array, v: Array) -> Any:
    return 0.5 * (v @ v) - 0.5 * (x[0] ** 2 + x[1] ** 2)


@pytest.mark.parametrize("rule", ["midpoint", "rattle", "energy-momentum"])
def test_energy_of_symplectic_steps_oscillates_without_drift(rule: str) -> None:
    system = lw.discrete(particle, nonholonomic=lambda x: np.stack([[-x[1], 0.0, 1.0]]), method=rule)
    run = system.run([1.0, 0.0, 0.0], [0.3, 0.8, 0.0], 10000.0, 0.1, every=2)
    if rule == "energy-momentum":
        assert np.ptp(run.energy) < 1e-12
    else:
        assert 1e-4 < np.ptp(run.energy) < 5e-3
        assert abs(np.polyfit(run.t, run.energy, 1)[0]) < 1e-9


def test_position_and_velocity_constraints_are_satisfied_together() -> None:
    """A coin whose heading is geared to its roll: constraint 0 holds coordinates, 1 and 2 velocities."""
    ratio = STEER / ROLL
    geared = lw.discrete(coin, lambda x: np.stack([x[3] - ratio * x[2]]), nonholonomic=rolling, order=4)
    x0, v0 = geared.consistent([0.0, 0.0, 0.1, 0.0], [RADIUS * ROLL, 0.0, ROLL, STEER])
    assert abs(x0[3] - ratio * x0[2]) < 1e-15
    assert np.abs(rolling(x0) @ v0).max() < 1e-15
    run = geared.run(x0, v0, 20.0, 0.1)
    assert np.abs(run.x[:, 3] - ratio * run.x[:, 2]).max() < 1e-13
    assert run.multipliers.shape == (len(run.t), 3)
    wheel, heading = v0[2], x0[3] + v0[3] * run.t
    assert np.abs(run.x[:, 0] - RADIUS * wheel / v0[3] * (np.sin(heading) - np.sin(x0[3]))).max() < 1e-6
    with pytest.raises(lw.LinkworkError, match="v0 violates constraint 2"):
        geared.start(x0, v0 + np.array([0.0, 0.1, 0.0, 0.0]))
