"""Compositions of symmetric steps: their coefficients satisfy the order conditions, and errors have that order."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import lagrangian_systems as lg
import linkwork as lw
from linkwork.errors import LinkworkError
from linkwork.simulation.methods.step_composition import (
    COMPOSITIONS,
    Composition,
    composition,
    part_of_iteration,
    substeps,
)
from linkwork.spatial.scalar import Array


@pytest.mark.parametrize("one", COMPOSITIONS, ids=lambda one: one.name)
def test_composition_coefficients_are_symmetric_and_cancel_odd_powers(one: Composition) -> None:
    parts = np.array(one.parts)
    assert np.array_equal(parts, parts[::-1])
    assert abs(parts.sum() - 1.0) < 1e-15
    for power in range(3, one.order, 2):
        assert abs((parts**power).sum()) < 1e-15


@pytest.mark.parametrize("one", COMPOSITIONS, ids=lambda one: one.name)
def test_pendulum_errors_fall_with_the_order(one: Composition) -> None:
    def end(h: float) -> Array:
        q, v = 1.2, 0.3
        for _ in range(round(4.0 / h)):
            for part in substeps(one.order, h):
                v = v - 0.5 * part.h * np.sin(q)
                q = q + part.h * v
                v = v - 0.5 * part.h * np.sin(q)
        return np.array([q, v])

    steps = 4.0 / np.array([20, 28, 40]) if one.order > 2 else 4.0 / np.array([80, 160, 320])
    start = (1.2, 0.3)
    exact = solve_ivp(lambda _, y: [y[1], -np.sin(y[0])], (0.0, 4.0), start, "DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    errors = [np.abs(end(h) - exact).max() for h in steps]
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert one.order - 0.1 < slope < one.order + 0.4


@pytest.mark.parametrize("order", [4, 6])
@pytest.mark.parametrize("rule", ["midpoint", "rattle"])
def test_damped_spherical_pendulum_errors_fall_with_the_order(rule: str, order: int) -> None:
    system = lw.discrete(lg.pendulum, lg.rod, lg.drag, method=rule, order=order)
    errors = []
    for h in (0.2, 0.1, 0.05):
        run = system.run(lg.PLACE, lg.SPEED, 2.0, h)
        x, v = lg.pendulum_by_scipy(run.t, lg.DRAG)
        errors.append([np.abs(run.x - x).max(), np.abs(run.xdot - v).max()])
        assert np.abs((run.x**2).sum(axis=1) - lg.LENGTH**2).max() < 1e-13
    assert -np.diff(np.log2(errors), axis=0) == pytest.approx(order, abs=0.2)


@pytest.mark.parametrize("order", [4, 6])
@pytest.mark.parametrize("rule", ["midpoint", "verlet", "energy-momentum"])
def test_driven_spring_errors_fall_with_the_order(rule: str, order: int) -> None:
    system = lw.discrete(lg.springs, forces=lg.driven, method=rule, order=order)
    errors = []
    for h in (0.2, 0.1):
        run = system.run(*lg.SPRINGS_START, 4.0, h)
        errors.append(np.abs(run.x - lg.springs_by_scipy(run.t)).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.25)


def test_compositions_conserve_the_invariants_of_their_steps() -> None:
    for order in (4, 6):
        held = lw.discrete(lg.pendulum, lg.rod, symmetries=lg.about_vertical, order=order)
        run = held.run(lg.PLACE, lg.SPEED, 100.0, 0.1)
        assert np.ptp(run.momentum) < 1e-13
        assert run.symplectic_defect < 1e-13
        free = lw.discrete(lg.springs, method="energy-momentum", order=order).run(*lg.SPRINGS_START, 100.0, 0.2)
        assert np.ptp(free.energy) < 1e-12


def test_multipliers_of_a_composed_step_are_the_mean_rod_force() -> None:
    """Mean by Gauss' rule on two points of each step."""
    system = lw.discrete(lg.pendulum, lg.rod, order=4)
    errors = []
    for h in (0.1, 0.05):
        run = system.run(lg.PLACE, lg.SPEED, 1.0, h)
        places = np.ravel(run.t[:-1, None] + h * (0.5 + np.array([-0.5, 0.5]) / 3.0**0.5))
        x, v = lg.pendulum_by_scipy(places)
        force = -lg.MASS * ((v * v).sum(axis=1) + x @ lg.WEIGHT) / (2.0 * lg.LENGTH**2)
        errors.append(np.abs(run.multipliers[1:, 0] - force.reshape(-1, 2).mean(axis=1)).max())
    assert 1.8 < np.log2(errors[0] / errors[1])


def test_error_of_a_failed_substep_gives_a_step_that_converges() -> None:
    system = lw.discrete(lg.pendulum, lg.rod, order=4)
    now = system.start(lg.PLACE, [0.0, 9.0, 0.0])
    with pytest.raises(lw.NotConverged, match=r"step of 0\.5 s from t = 0 s") as caught:
        system.step(now, 0.5)
    assert caught.value.step is not None
    assert system.step(now, caught.value.step).t == pytest.approx(caught.value.step)


def test_substeps_of_a_composition_are_contiguous_in_time() -> None:
    found = substeps(6, 0.3)
    assert [one.h for one in found] == [0.3 * part_of_iteration(6, k) for k in range(9)]
    ends = np.cumsum([one.h for one in found])
    assert np.allclose([one.offset for one in found[1:]], ends[:-1], atol=1e-15)
    assert abs(ends[-1] - 0.3) < 1e-15


def test_unknown_order_error_lists_valid_orders() -> None:
    with pytest.raises(LinkworkError, match="2, 4, 6"):
        composition(3)
