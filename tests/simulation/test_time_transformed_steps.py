"""Time-transformed steps are short where motion is fast: far fewer steps for an eccentric orbit, same invariants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lagrangian_systems as lg
import linkwork as lw
from linkwork.spatial.scalar import Array

ECCENTRICITY, PERIOD = 0.9, 2.0 * np.pi
START = np.array([1.0 - ECCENTRICITY, 0.0]), np.array([0.0, np.sqrt((1.0 + ECCENTRICITY) / (1.0 - ECCENTRICITY))])


def attracted(x: Array, v: Array) -> Any:
    return 0.5 * (v @ v) + 1.0 / np.sqrt(x @ x)


def clock(x: Array) -> Any:
    return (x @ x) ** 0.75  # the period of a circular orbit of this radius (Kepler), up to a factor


def about_the_centre(x: Array) -> Array:
    return np.stack([[-x[1], x[0]]])


def orbit(t: Array) -> Array:
    """Return the positions (T, 2) of an elliptic orbit at times t, by Kepler's equation."""
    mean = np.mod(t, PERIOD)
    E = mean + np.where(mean < np.pi, ECCENTRICITY, -ECCENTRICITY)
    for _ in range(50):
        E = E - (E - ECCENTRICITY * np.sin(E) - mean) / (1.0 - ECCENTRICITY * np.cos(E))
    return np.stack([np.cos(E) - ECCENTRICITY, np.sqrt(1.0 - ECCENTRICITY**2) * np.sin(E)], axis=1)


def test_time_transformation_needs_far_fewer_steps_for_the_same_error() -> None:
    plain = lw.discrete(attracted).run(*START, PERIOD, PERIOD / 100_000, every=10)
    error = np.abs(plain.x - orbit(plain.t)).max()
    timed = lw.discrete(attracted, clock=clock).run(*START, 9.0, 0.015)
    first = timed.t <= PERIOD
    assert 500 < first.sum() < 600
    assert np.abs(timed.x - orbit(timed.t))[first].max() < error
    # as few equal steps lose the orbit
    few = lw.discrete(attracted).run(*START, PERIOD, PERIOD / 600)
    assert np.abs(few.x - orbit(few.t)).max() > 1.0


@pytest.mark.parametrize(("rule", "order"), [("midpoint", 2), ("verlet", 2), ("midpoint", 4), ("verlet", 6)])
def test_positions_and_times_of_time_transformed_steps_have_the_order_of_the_method(rule: str, order: int) -> None:
    system = lw.discrete(attracted, clock=clock, method=rule, order=order)
    errors = []
    for h in (0.1, 0.05) if order > 2 else (0.02, 0.01):
        run = system.run(*START, 7.0, h)
        errors.append(np.abs(run.x - orbit(run.t)).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.2)


@pytest.mark.parametrize("order", [2, 4])
def test_energy_and_momentum_do_not_drift_in_a_thousand_orbits(order: int) -> None:
    system = lw.discrete(attracted, clock=clock, symmetries=about_the_centre, order=order)
    run = system.run(*START, 8000.0, 0.05, every=10)
    assert run.t[-1] > 800 * PERIOD
    assert np.ptp(run.momentum) < 1e-12
    swing = np.ptp(run.energy)
    assert swing < (1e-2 if order == 2 else 1e-5)
    assert abs(np.polyfit(run.t, run.energy, 1)[0]) * PERIOD < 1e-7 * swing
    assert run.symplectic_defect < 1e-12


def test_velocities_of_runs_with_a_clock_are_per_second_of_physical_time() -> None:
    run = lw.discrete(attracted, clock=clock).run(*START, 10.0, 0.005)
    assert np.abs(run.energy + 0.5).max() < 1e-3
    kinetic = 0.5 * (run.xdot**2).sum(axis=1)
    assert np.abs(run.energy - kinetic + 1.0 / np.linalg.norm(run.x, axis=1)).max() < 1e-12
    assert np.abs(run.p - run.xdot).max() < 1e-12


def test_time_transformed_pendulum_matches_scipy() -> None:
    """With a constraint, and with a chart of the same points whose time transformation takes points, too."""

    def slower_above(x: Array) -> Any:
        return 1.0 / (1.0 + 0.3 * x[2] ** 2)

    held = lw.discrete(lg.pendulum, lg.rod, clock=slower_above, order=4)
    free = lw.discrete(lg.pendulum, chart=lg.on_sphere, clock=slower_above, order=4)
    run = held.run(lg.PLACE, lg.SPEED, 2.0, 0.05)
    x, v = lg.pendulum_by_scipy(run.t)
    assert np.abs(run.x - x).max() < 1e-5
    assert np.abs(run.xdot - v).max() < 1e-4
    away = np.arccos(-lg.PLACE[2] / lg.LENGTH)
    angles = np.array([away, 0.0])
    rates = np.linalg.lstsq(_chart_rows(angles), lg.SPEED, rcond=None)[0]
    same = free.run(angles, rates, 2.0, 0.05)
    assert np.abs(lg.on_sphere(same.x.T).T - run.x).max() < 1e-10
    assert np.abs(same.t - run.t).max() < 1e-11


def _chart_rows(angles: Array) -> Array:
    tiny = 1e-30
    return np.array([np.imag(lg.on_sphere(angles + 1j * tiny * one)) / tiny for one in np.eye(2)]).T


def test_batch_members_with_a_clock_have_separate_times_and_runs_can_continue() -> None:
    system = lw.discrete(attracted, clock=clock)
    x, v = np.tile(START[0], (3, 1)), START[1] * np.array([[1.0], [0.97], [0.9]])
    many = system.run(x, v, 4.0, 0.02)
    assert many.t.shape == (3, 201)
    one = system.run(x[1], v[1], 4.0, 0.02)
    assert np.array_equal(many.t[1], one.t)
    assert np.array_equal(many.x[1], one.x)
    first = system.run(x[1], v[1], 2.0, 0.02)
    second = system.run(first.final, duration=2.0, dt=0.02)
    assert np.array_equal(np.concatenate([first.x, second.x[1:]]), one.x)
    assert np.array_equal(np.concatenate([first.t, second.t[1:]]), one.t)
    assert many.outcome[2].time == many.t[2, -1]
