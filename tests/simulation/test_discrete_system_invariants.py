"""Invariants of discrete systems: momenta, symplectic form, energy, constraints; bit-identical batch members."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lagrangian_systems as lg
import linkwork as lw
from linkwork.spatial.scalar import Array

RULES = ("midpoint", "first-order", "rattle", "energy-momentum")


@pytest.mark.parametrize("rule", RULES)
def test_momenta_and_constraints_hold_to_round_off(rule: str) -> None:
    """20,000 steps of a double spherical pendulum, far beyond the accurate time span."""
    system = lg.double_spherical_pendulum(rule)
    run = system.run(*lg.pendulum_start(), 1000.0, 0.05, every=10)
    assert np.abs(run.momentum / run.momentum[0] - 1.0).max() < 1e-12
    upper, lower = run.x[:, :3], run.x[:, 3:] - run.x[:, :3]
    assert np.abs((upper**2).sum(axis=1) - 16.0).max() < 1e-12
    assert np.abs((lower**2).sum(axis=1) - 9.0).max() < 1e-12
    if rule != "energy-momentum":  # the others keep the velocities that constraints allow, too
        assert np.abs((upper * run.xdot[:, :3]).sum(axis=1)).max() < 1e-11
    assert 2 <= run.iterations[1:].min() <= run.iterations[1:].max() <= 7


def test_free_body_conserves_momentum_and_energy() -> None:
    system = lg.rigid_body()
    run = system.run([1.0, 0.0, 0.0, 0.0], 0.5 * np.array([0.0, *lg.SPIN]), 1000.0, 0.05, every=10)
    assert np.abs(run.momentum - [0.0, 6.0, 12.0]).max() < 1e-11
    assert np.abs(np.linalg.norm(run.x, axis=1) - 1.0).max() < 1e-14
    assert np.ptp(run.energy) < 1e-11  # of 33


@pytest.mark.slow
def test_momentum_is_conserved_over_a_million_steps() -> None:
    for rule in RULES:
        run = lg.double_spherical_pendulum(rule).run(*lg.pendulum_start(), 1e4, 0.01, every=1000)
        assert np.abs(run.momentum / run.momentum[0] - 1.0).max() < 1e-11


def test_energy_momentum_rule_conserves_energy_at_any_step_size() -> None:
    run = lg.double_spherical_pendulum("energy-momentum").run(*lg.pendulum_start(), 1000.0, 0.1)
    assert np.abs(run.energy / run.energy[0] - 1.0).max() < 1e-10
    # potentials and constraints that are not quadratic need their differences
    x, v = lg.SPRINGS_START
    run = lw.discrete(lg.springs, method="energy-momentum").run(x, v, 1000.0, 0.2)
    assert np.abs(run.energy / run.energy[0] - 1.0).max() < 1e-11

    def longer(x: Array) -> Array:
        return np.stack([np.sqrt(x @ x) - lg.LENGTH])

    run = lw.discrete(lg.pendulum, longer, method="energy-momentum").run(lg.PLACE, lg.SPEED, 100.0, 0.05)
    assert np.ptp(run.energy) < 1e-11
    assert np.ptp(lw.discrete(lg.pendulum, longer).run(lg.PLACE, lg.SPEED, 100.0, 0.05).energy) > 1e-3


def test_energy_momentum_rule_balances_the_work_of_forces() -> None:
    """The work of a step is the force at its midpoint times the displacement."""
    run = lw.discrete(lg.pendulum, lg.rod, lg.drag, method="energy-momentum").run(lg.PLACE, lg.SPEED, 20.0, 0.1)
    displacement = np.diff(run.x, axis=0)
    work = -lg.DRAG * (displacement * displacement).sum(axis=1) / 0.1
    assert np.abs(np.diff(run.energy) - work).max() < 1e-12
    assert run.energy[0] - run.energy[-1] > 1.0


@pytest.mark.parametrize("rule", ["midpoint", "rattle"])
def test_energy_of_symplectic_steps_oscillates_without_drift(rule: str) -> None:
    run = lw.discrete(lg.pendulum, lg.rod, method=rule).run(lg.PLACE, lg.SPEED, 4000.0, 0.02, every=2)
    size = np.abs(run.energy).max()
    assert 1e-5 * size < np.ptp(run.energy) < 1e-2 * size
    slope = np.polyfit(run.t, run.energy, 1)[0]
    assert abs(slope) < 1e-9 * size


@pytest.mark.parametrize("rule", RULES)
def test_discrete_systems_converge_at_rest_where_large_forces_cancel(rule: str) -> None:
    """The remaining residual is round-off of the forces, which no solver can reduce."""

    def stretched(x: Array, v: Array) -> Any:
        pulled = np.sqrt((x[0] - x[1]) ** 2 + 1.0) - 0.5
        return 0.5 * (v @ v) - 500.0 * ((x[0] + 1.0) ** 2 + (1.0 - x[0]) ** 2) - 700.0 * pulled**2

    run = lw.discrete(stretched, forces=lambda x, v: -20.0 * v, method=rule).run([0.3, 0.1], [0.0, 0.0], 100.0, 0.01)
    assert run.outcome.kind == "finished"
    assert np.abs(run.x[-1]).max() < 1e-15


# --- the symplectic form ---


def form(n: int) -> Array:
    return np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])


def defect(A: Array, tangents: Array) -> float:
    """Change of the area spanned by tangents (2n, k) under a derivative A (2n, 2n)."""
    moved, J = A @ tangents, form(len(A) // 2)
    return float(np.abs(moved.T @ J @ moved - tangents.T @ J @ tangents).max())


@pytest.mark.parametrize(("rule", "symplectic"), [(rule, rule != "energy-momentum") for rule in RULES])
def test_discrete_steps_preserve_the_symplectic_form(rule: str, symplectic: bool) -> None:
    system, h = lw.discrete(lg.springs, method=rule), 0.2
    now = system.start(*lg.SPRINGS_START)
    found = []
    for _ in range(5):
        found.append(defect(system.derivative(now, h), np.eye(4)))
        now = system.step(now, h)
    assert max(found) < 1e-14 if symplectic else max(found) > 1e-5


def test_classical_runge_kutta_does_not_preserve_the_symplectic_form() -> None:
    h, masses = 0.2, np.array([1.0, 2.0])

    def rate(z: Array) -> Array:
        return np.concatenate([z[2:] / masses, lg.springs_pull(z[:2])])

    def step(z: Array) -> Array:
        k1 = rate(z)
        k2 = rate(z + 0.5 * h * k1)
        k3 = rate(z + 0.5 * h * k2)
        return z + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + rate(z + h * k3))

    x, v = lg.SPRINGS_START
    start = np.concatenate([x, masses * v])
    columns = [np.imag(step(start + 1e-30j * one)) / 1e-30 for one in np.eye(4)]
    assert defect(np.array(columns).T, np.eye(4)) > 1e-5


@pytest.mark.parametrize("rule", ["midpoint", "rattle", "first-order"])
def test_constrained_steps_preserve_the_symplectic_form_on_the_tangent_space(rule: str) -> None:
    system, h = lw.discrete(lg.pendulum, lg.rod, method=rule), 0.1
    now = system.start(lg.PLACE, lg.SPEED)
    for _ in range(5):
        allowed = np.array([[*now.x, *np.zeros(3)], [*now.p, *now.x]])  # of dx and dp: x dx = 0, x dp + p dx = 0
        tangents = np.linalg.svd(allowed)[2][2:].T
        assert defect(system.derivative(now, h), tangents) < 1e-13
        now = system.step(now, h)


@pytest.mark.slow
def test_runs_report_their_symplectic_defect() -> None:
    """Also for quaternions, whose mass matrix is singular, and for each member of a batch."""
    for rule in RULES:
        run = lw.discrete(lg.pendulum, lg.rod, method=rule).run(lg.PLACE, lg.SPEED, 20.0, 0.05)
        assert run.symplectic_defect < 1e-13 if rule != "energy-momentum" else run.symplectic_defect > 1e-5
    body = lg.rigid_body().run([1.0, 0.0, 0.0, 0.0], 0.5 * np.array([0.0, *lg.SPIN]), 10.0, 0.05)
    assert body.symplectic_defect < 1e-12
    dragged = lw.discrete(lg.pendulum, lg.rod, lambda x, v, c: -c * v)
    many = dragged.run(np.tile(lg.PLACE, (3, 1)), lg.SPEED, 1.0, 0.05, gains={"c": np.array([0.0, 0.1, 0.2])})
    assert many.symplectic_defect[0] < 1e-14
    # drag shrinks areas by c h / m
    assert many.symplectic_defect[1:] == pytest.approx(np.array([0.1, 0.2]) * 0.05 / lg.MASS, rel=0.2)


def test_derivatives_of_discrete_steps_match_finite_differences() -> None:
    system, h, tiny = lw.discrete(lg.springs, forces=lg.driven), 0.1, 1e-6
    now = system.start(*lg.SPRINGS_START)
    columns = []
    for one in np.eye(4):
        ends = []
        for sign in (1.0, -1.0):
            moved = now._replace(x=now.x + sign * tiny * one[:2], p=now.p + sign * tiny * one[2:])
            after = system.step(moved, h)
            ends.append(np.concatenate([after.x, after.p]))
        columns.append((ends[0] - ends[1]) / (2.0 * tiny))
    assert np.abs(system.derivative(now, h) - np.array(columns).T).max() < 1e-9


# --- batches ---


def weighed(x: Array, v: Array, mass: Any) -> Any:
    return 0.5 * mass * (v @ v) - 9.81 * mass * x[2]


def dragged(x: Array, v: Array, t: Any, mass: Any, push: Array) -> Array:
    return push * np.cos(t) - 0.1 * mass * v


def test_batch_members_of_discrete_systems_match_single_runs() -> None:
    """Also where one member fails: a fast one leaves the reach of the sphere within a step."""
    system = lw.discrete(weighed, lg.rod, dragged)
    rng = np.random.default_rng(3)
    x, v = np.tile(lg.PLACE, (3, 3, 1)), np.tile(lg.SPEED, (3, 3, 1))
    v = v * rng.uniform(0.5, 1.5, (3, 3, 1))
    v[1, 2] *= 8.0
    gains = {"mass": rng.uniform(0.5, 2.0, (3, 3)), "push": rng.normal(size=3)}
    many = system.run(x, v, 3.0, 0.1, gains=gains)
    assert many.x.shape == (3, 3, 31, 3)
    assert many.multipliers.shape == (3, 3, 31, 1)
    kinds = [outcome.kind for outcome in many.outcomes.ravel()]
    assert kinds == ["finished"] * 5 + ["not converged"] + ["finished"] * 3
    for member in np.ndindex(3, 3):
        one = system.run(x[member], v[member], 3.0, 0.1, gains=gains | {"mass": gains["mass"][member]})
        for name in ("x", "xdot", "p", "multipliers", "energy", "iterations"):
            assert np.array_equal(getattr(many, name)[member], getattr(one, name), equal_nan=True)
        assert one.outcome == many.outcome[member]


def test_single_steps_and_continued_runs_match_one_run() -> None:
    system = lw.discrete(lg.pendulum, lg.rod, lg.drag)
    run = system.run(lg.PLACE, lg.SPEED, 1.2, 0.05)
    seldom = system.run(lg.PLACE, lg.SPEED, 1.2, 0.05, every=4)
    assert np.array_equal(run.x[::4], seldom.x)
    now = system.start(lg.PLACE, lg.SPEED)
    for row in run.x[1:]:
        now = system.step(now, 0.05)
        assert np.array_equal(now.x, row)
    first = system.run(lg.PLACE, lg.SPEED, 0.6, 0.05)
    second = system.run(first.final, duration=0.6, dt=0.05)
    assert np.array_equal(np.concatenate([first.x, second.x[1:]]), run.x)
    assert second.t[-1] == pytest.approx(1.2)


def test_compiled_steps_match_the_plain_python_steps() -> None:
    """The same code on floats, with Python loops."""
    from linkwork.lagrangian.lagrangian_system import LagrangianSystem
    from linkwork.lagrangian.variational_integrator import Variational

    def force(t: Any, x: Array, v: Array) -> Array:
        return lg.drag(x, v)

    plain = Variational(LagrangianSystem(3, lg.pendulum, lg.rod, force))
    system = lw.discrete(lg.pendulum, lg.rod, lg.drag)
    now, same = plain.start(0.0, lg.PLACE, lg.SPEED), system.start(lg.PLACE, lg.SPEED)
    for _ in range(3):
        step = plain.step(now, 0.05)
        now, same = step.state, system.step(same, 0.05)
        assert step.solved
        for a, b in zip(now, same, strict=True):
            assert np.abs(a - b).max() < 1e-13


def test_lagrangians_may_be_any_function_of_the_velocities() -> None:
    """A relativistic particle in a potential: p = m v / sqrt(1 - v^2), and its energy."""

    def lagrangian(x: Array, v: Array) -> Any:
        return -np.sqrt(1.0 - v @ v) - 0.5 * (x @ x)

    system = lw.discrete(lagrangian, symmetries=lambda x: np.stack([[-x[1], x[0]]]))
    run = system.run([0.8, 0.0], [0.1, 0.6], 200.0, 0.05)
    assert run.outcome.kind == "finished"
    assert np.ptp(run.momentum) < 1e-12
    gamma = 1.0 / np.sqrt(1.0 - (run.xdot**2).sum(axis=1))
    assert np.abs(run.p - gamma[:, None] * run.xdot).max() < 1e-12
    assert np.abs(run.energy - gamma - 0.5 * (run.x**2).sum(axis=1)).max() < 1e-12
    assert np.ptp(run.energy) < 1e-3
    with pytest.raises(lw.LinkworkError, match="quadratic in the velocity"):
        system.derivative(run.final, 0.05)
