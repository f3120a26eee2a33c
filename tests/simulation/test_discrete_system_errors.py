"""Errors of discrete systems: invalid systems, inconsistent starts, and steps that do not converge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lagrangian_systems as lg
import linkwork as lw
from linkwork.spatial.scalar import Array

system = lw.discrete(lg.pendulum, lg.rod)


def test_inconsistent_initial_states_are_rejected_and_can_be_projected() -> None:
    with pytest.raises(lw.LinkworkError, match=r"x0 violates constraint 0: g\[0\] = 0.687.*consistent\(x0, v0\)"):
        system.run(lg.PLACE + np.array([0.0, 0.0, -0.29]), lg.SPEED)
    with pytest.raises(lw.LinkworkError, match=r"v0 violates constraint 0: its rate is .*consistent"):
        system.run(lg.PLACE, lg.SPEED + lg.PLACE)
    x, v = system.consistent(lg.PLACE * 1.1, lg.SPEED + lg.PLACE)
    assert np.abs(x - lg.PLACE).max() < 1e-13
    assert np.abs(v - lg.SPEED).max() < 1e-13
    assert system.run(x, v, 0.1).outcome.kind == "finished"
    batch = np.stack([lg.PLACE, 1.01 * lg.PLACE])
    with pytest.raises(lw.LinkworkError, match=r"member \(1,\): x0 violates constraint"):
        system.start(batch, lg.SPEED)


def test_constraints_that_no_motion_satisfies_are_reported() -> None:
    never = lw.discrete(lg.pendulum, lambda x: np.stack([x @ x + 1.0]))
    with pytest.raises(lw.NotConverged, match="no coordinates near x satisfy"):
        never.consistent([1.0, 2.0, 3.0], np.zeros(3))


def test_redundant_constraints_are_reported() -> None:
    twice = lw.discrete(lg.pendulum, lambda x: np.stack([x[2] + 0.8 * lg.LENGTH, x @ x - lg.LENGTH**2, 2.0 * (x @ x)]))
    with pytest.raises(lw.OverConstrained, match=r"constraint [12] is redundant at x0"):
        twice.start(lg.PLACE, np.zeros(3))
    flat = lw.discrete(lg.pendulum, lambda x: np.stack([x[2] ** 2]))
    with pytest.raises(lw.OverConstrained, match="constraint 0 is redundant"):
        flat.start([1.0, 1.0, 0.0], np.zeros(3))


def test_coordinates_without_mass_are_reported() -> None:
    with pytest.raises(lw.LinkworkError, match=r"mass matrix is singular: x\[1\] has no inertia"):
        lw.discrete(lambda x, v: 0.5 * v[0] ** 2 - x[1] ** 2).start([1.0, 1.0], [0.0, 0.0])


def test_nonfinite_initial_states_of_discrete_systems_are_reported() -> None:
    with pytest.raises(lw.NonFinite, match="mass matrix must be finite at x0"):
        lw.discrete(lambda x, v: 0.5 * (v @ v) / x[0]).start([0.0, 1.0], [1.0, 0.0])
    with pytest.raises(lw.NonFinite, match=r"v0\[2\] is nan"):
        system.start(lg.PLACE, [0.0, 0.0, np.nan])


FAST = np.array([0.0, 9.0, 0.0])  # in half a second it goes three times as far as the rod reaches


def test_error_of_a_too_large_step_gives_a_step_that_converges() -> None:
    now = system.start(lg.PLACE, FAST)
    with pytest.raises(
        lw.NotConverged, match=r"step of 0.5 s from t = 0 s.*largest residual: .*with dt=0.125, this step converges"
    ) as caught:
        system.step(now, 0.5)
    assert len(caught.value.history) == 25
    assert caught.value.step == 0.125
    after = system.step(now, 0.125)
    assert np.abs(after.x @ after.x - lg.LENGTH**2) < 1e-13


def test_failed_run_of_a_discrete_system_contains_its_last_valid_state() -> None:
    """A mass that slides over waves becomes too fast for its step size."""

    def sliding(x: Array, v: Array) -> Any:
        return 0.5 * (v @ v) - 9.81 * x[1]

    def waves(x: Array) -> Array:
        return np.stack([np.cos(6.0 * x[0]) - x[1]])

    mass_on_waves = lw.discrete(sliding, waves)
    run = mass_on_waves.run([0.0, 1.0], [1.2, 0.0], 4.0, 0.2)
    assert run.outcome.kind == "not converged"
    ended = run.outcome.time
    good = run.t <= ended + 1e-12
    assert 0 < good.sum() < len(run.t)
    assert np.isfinite(run.x[good]).all()
    assert np.isnan(run.x[~good]).all()
    assert np.array_equal(run.final.x, run.x[good][-1])
    assert "this step converges" in run.outcome.diagnosis
    assert mass_on_waves.run(run.final, duration=0.1, dt=0.001).outcome.kind == "finished"


def test_energy_momentum_rule_rejects_mass_matrices_that_are_not_constant() -> None:
    polar = lw.discrete(lambda x, v: 0.5 * (v[0] ** 2 + (x[0] * v[1]) ** 2), method="energy-momentum")
    with pytest.raises(lw.LinkworkError, match="constant mass matrix"):
        polar.start([1.0, 0.0], [0.0, 1.0])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: lw.discrete(lg.pendulum, method="midpiont"), "Did you mean 'midpoint'"),
        (lambda: lw.discrete(1.0), "lagrangian must be a function"),  # type: ignore[arg-type]
        (lambda: lw.discrete(lambda x: 0.0), r"lagrangian must take \(x, xdot\)"),
        (lambda: lw.discrete(lambda x, v, t: 0.0), "cannot depend on the time"),
        (lambda: lw.discrete(lg.pendulum, lg.rod, chart=lg.on_sphere), "either a chart or constraints"),
        (
            lambda: lw.discrete(lg.pendulum, chart=lg.on_sphere, method="energy-momentum"),
            "with a chart it is not constant",
        ),
        (lambda: lw.discrete(lg.pendulum, clock=np.sum, method="energy-momentum"), "with a clock it is not constant"),
        (lambda: lw.discrete(lg.pendulum, forces=lg.drag, clock=np.sum), "whose energy is conserved"),
        (lambda: lw.discrete(lg.pendulum, order=4, method="shake"), "needs a symmetric method"),
        (lambda: lw.discrete(lg.pendulum, lg.rod, order=4, method="energy-momentum"), "without constraints"),
        (lambda: lw.discrete(lg.pendulum, order=3), "order must be one of 2, 4, 6; got 3"),
        (lambda: lw.discrete(lg.pendulum, nonholonomic=lg.rod).start(lg.PLACE, lg.SPEED), r"rows \(l, 3\)"),
        (lambda: lw.discrete(lg.pendulum, clock=lg.rod).start(lg.PLACE, lg.SPEED), "clock must return one number"),
        (
            lambda: lw.discrete(lg.pendulum, clock=lambda x: x[2]).start(lg.PLACE, lg.SPEED),
            "positive; got -1.04.* at x0",
        ),
        (lambda: lw.discrete(lg.pendulum, order=4).start(lg.PLACE, x1=lg.PLACE, dt=0.1), "two points"),
        (lambda: lw.discrete(lambda x, v: v).start([1.0], [1.0]), "lagrangian must return one number"),
        (lambda: lw.discrete(lg.pendulum, lambda x: x @ x).start(lg.PLACE, lg.SPEED), "constraints must return"),
        (lambda: lw.discrete(lg.pendulum, forces=lambda x, v: v[:2]).start(lg.PLACE, lg.SPEED), r"forces \(3,\)"),
        (lambda: lw.discrete(lg.pendulum, symmetries=lambda x: x).start(lg.PLACE, lg.SPEED), r"directions \(k, 3\)"),
        (lambda: lw.discrete(lambda x, v: v @ v if x[0] > 0 else 0.0).start([1.0], [1.0]), "lw.where|linkwork.where"),
        (lambda: system.run(1.0, 2.0), r"x0 must have shape \(..., n\)"),
        (lambda: system.run(lg.PLACE, lg.SPEED[:2]), "v0 has shape"),
        (lambda: system.run(lg.PLACE), "either the initial velocities v0 or x1"),
        (lambda: system.start(lg.PLACE, x1=lg.PLACE), "needs the step size dt"),
        (lambda: lw.discrete(lg.pendulum, method="energy-momentum").start(lg.PLACE, x1=lg.PLACE, dt=0.1), "two points"),
        (lambda: system.run(lg.PLACE, lg.SPEED, 1.0, 0.3), "duration=0.9, or dt=0.333333"),
        (lambda: system.run(lg.PLACE, lg.SPEED, 1.0, 0.1, every=0), "every must be"),
        (lambda: system.run(lg.PLACE, lg.SPEED, 1.0, -0.1), "dt must be a positive number"),
        (lambda: system.run(lg.PLACE, lg.SPEED, gains={"k": 1.0}), "no gain 'k'"),
        (lambda: system.run(system.start(lg.PLACE, lg.SPEED), lg.SPEED), "x0 is a state, which includes velocities"),
        (lambda: lw.discrete(lambda x, v, k: k * (v @ v)).start([1.0], [1.0]), "needs the gain 'k': give gains="),
    ],
)
def test_invalid_discrete_systems_are_rejected_with_a_reason(make: Callable[[], Any], says: str) -> None:
    with pytest.raises(lw.LinkworkError, match=says):
        make()
