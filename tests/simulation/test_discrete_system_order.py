"""Discrete systems converge with the order of their rule, started from velocities or from two points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import lagrangian_systems as lg
import linkwork as lw
from linkwork.spatial.scalar import Array

STEPS = (0.04, 0.02, 0.01)


def convergence_order(error: Callable[[float], float]) -> float:
    """Convergence order from errors at three step sizes, which must lie on a line."""
    errors = np.log2([error(h) for h in STEPS])
    slopes = -np.diff(errors)
    assert abs(slopes[1] - slopes[0]) < 0.2, slopes
    return float(slopes[1])


@pytest.mark.parametrize(
    ("rule", "wanted"), [("midpoint", 2), ("rattle", 2), ("first-order", 1), ("energy-momentum", 2)]
)
@pytest.mark.parametrize("damped", [False, True])
def test_spherical_pendulum_errors_have_the_order_of_the_rule(rule: str, wanted: int, damped: bool) -> None:
    system = lw.discrete(lg.pendulum, lg.rod, lg.drag if damped else None, method=rule)

    def errors(h: float) -> tuple[float, float, float]:
        run = system.run(lg.PLACE, lg.SPEED, 2.0, h)
        x, v = lg.pendulum_by_scipy(run.t, lg.DRAG if damped else 0.0)
        energy = 0.5 * lg.MASS * (v * v).sum(axis=1) - lg.MASS * x @ lg.WEIGHT
        found = (run.x - x, run.xdot - v, run.energy - energy)
        return tuple(float(np.abs(e).max()) for e in found)  # type: ignore[return-value]

    assert convergence_order(lambda h: errors(h)[0]) == pytest.approx(wanted, abs=0.15)
    assert convergence_order(lambda h: errors(h)[1]) == pytest.approx(wanted, abs=0.15)
    if rule != "energy-momentum" or damped:
        assert convergence_order(lambda h: errors(h)[2]) == pytest.approx(wanted, abs=0.25)


def test_start_from_two_points_has_second_order() -> None:
    system = lw.discrete(lg.pendulum, lg.rod, symmetries=lg.about_vertical)

    def errors(h: float) -> tuple[float, float, float]:
        x, v = lg.pendulum_by_scipy(np.arange(0.0, 2.0 + 0.5 * h, h))
        run = system.run(x[0], x1=x[1], duration=2.0, dt=h)
        assert np.abs(run.x[1] - x[1]).max() < 1e-13
        energy = 0.5 * lg.MASS * v[0] @ v[0] - lg.MASS * x[0] @ lg.WEIGHT
        momentum = lg.MASS * (x[0, 0] * v[0, 1] - x[0, 1] * v[0, 0])
        found = run.x - x, run.energy - energy, run.momentum - momentum
        return tuple(float(np.abs(e).max()) for e in found)  # type: ignore[return-value]

    for k in range(3):
        assert convergence_order(lambda h, k=k: errors(h)[k]) == pytest.approx(2.0, abs=0.15)


@pytest.mark.parametrize("rule", ["midpoint", "rattle", "energy-momentum"])
def test_driven_and_damped_springs_have_second_order(rule: str) -> None:
    system = lw.discrete(lg.springs, forces=lg.driven, method=rule)

    def error(h: float) -> float:
        run = system.run(*lg.SPRINGS_START, 4.0, h)
        return float(np.abs(run.x - lg.springs_by_scipy(run.t)).max())

    assert convergence_order(error) == pytest.approx(2.0, abs=0.15)


def test_free_body_in_quaternions_has_second_order() -> None:
    system = lg.rigid_body()
    rate = 0.5 * np.array([0.0, *lg.SPIN])

    def error(h: float) -> float:
        run = system.run([1.0, 0.0, 0.0, 0.0], rate, 2.0, h)
        return float(np.abs(run.x - lg.body_by_scipy(run.t)).max())

    assert convergence_order(error) == pytest.approx(2.0, abs=0.1)


def test_multipliers_converge_to_the_rod_force() -> None:
    """The rod's force along x is 2 lambda x; the multiplier of a step is that at its midpoint."""
    system = lw.discrete(lg.pendulum, lg.rod)

    def error(h: float) -> float:
        run = system.run(lg.PLACE, lg.SPEED, 1.0, h)
        t = run.t[1:] - 0.5 * h
        x, v = lg.pendulum_by_scipy(t)
        wanted = -lg.MASS * ((v * v).sum(axis=1) + x @ lg.WEIGHT) / (2.0 * lg.LENGTH**2)
        return float(np.abs(run.multipliers[1:, 0] - wanted).max())

    assert convergence_order(error) == pytest.approx(2.0, abs=0.15)


# --- Theorem 2.1: constrained and generalized coordinates have the same points ---


@pytest.mark.parametrize("rule", ["midpoint", "rattle", "first-order"])
@pytest.mark.parametrize("damped", [False, True])
def test_chart_gives_the_points_of_the_constraint(rule: str, damped: bool) -> None:
    drag = lg.drag if damped else None
    held = lw.discrete(lg.pendulum, lg.rod, drag, method=rule)
    free = lw.discrete(lg.pendulum, forces=drag, method=rule, chart=lg.on_sphere)
    h, angles = 0.02, np.array([[0.9, 0.1], [0.93, 0.18]])
    points = np.array([lg.on_sphere(a) for a in angles])
    a = held.run(points[0], x1=points[1], duration=4.0, dt=h)
    b = free.run(angles[0], x1=angles[1], duration=4.0, dt=h)
    assert np.abs(a.x - lg.on_sphere(b.x.T).T).max() < 1e-10
    assert np.abs(a.energy - b.energy).max() < 1e-9


def test_chart_of_two_rods_gives_the_points_of_their_constraints() -> None:
    held = lg.double_spherical_pendulum("midpoint")
    masses, weights = np.repeat([2.0, 3.5], 3), 9.81 * np.array([2.0, 3.5])

    def directions(q: Array) -> tuple[Array, Array]:
        return tuple(np.stack([np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), -np.cos(a)]) for a, b in (q[:2], q[2:]))  # type: ignore[return-value]

    def chart(q: Array) -> Array:
        upper, lower = directions(q)
        return np.concatenate([4.0 * upper, 4.0 * upper + 3.0 * lower])

    def lagrangian(x: Array, v: Array) -> Array:
        return 0.5 * (masses * v * v).sum() - weights[0] * x[2] - weights[1] * x[5]

    free = lw.discrete(lagrangian, chart=chart)
    angles = np.array([[0.8, 0.0, 0.9, 0.1], [0.82, 0.03, 0.91, 0.15]])
    points = [chart(q) for q in angles]
    a = held.run(points[0], x1=points[1], duration=2.0, dt=0.02)
    b = free.run(angles[0], x1=angles[1], duration=2.0, dt=0.02)
    assert np.abs(a.x - chart(b.x.T).T).max() < 1e-10


# --- the relatives, written by hand from their equations ---


def shake(x0: Array, x1: Array, h: float, steps: int, pull: Callable[[Array], Array], mass: float) -> Array:
    """Return the points of a pendulum by the SHAKE method (2.32), written by hand.

    The new point is on the sphere, displaced along the old one.
    """
    points = [x0, x1]
    for _ in range(steps - 1):
        x = points[-1]
        y = 2.0 * x - points[-2] + h * h / mass * pull(x)
        a, b, c = x @ x, x @ y, y @ y - lg.LENGTH**2  # |y + s x| = l
        points.append(y + x * (-b + np.sqrt(b * b - a * c)) / a)
    return np.array(points)


@pytest.mark.parametrize("rule", ["first-order", "shake", "rattle"])
def test_first_order_rule_gives_the_points_of_shake(rule: str) -> None:
    h = 0.02
    x, _ = lg.pendulum_by_scipy(np.array([0.0, h]))
    run = lw.discrete(lg.pendulum, lg.rod, method=rule).run(x[0], x1=x[1], duration=2.0, dt=h)
    by_hand = shake(x[0], x[1], h, 100, lambda _: lg.MASS * lg.WEIGHT, lg.MASS)
    assert np.abs(run.x - by_hand).max() < 1e-10


@pytest.mark.parametrize("rule", ["first-order", "verlet"])
def test_discrete_system_gives_the_points_of_verlet(rule: str) -> None:
    h, masses = 0.05, np.array([1.0, 2.0])
    points = [np.array([0.5, -0.3]), np.array([0.52, -0.26])]
    for _ in range(99):
        x = points[-1]
        points.append(2.0 * x - points[-2] + h * h / masses * lg.springs_pull(x))  # (2.31)
    run = lw.discrete(lg.springs, method=rule).run(points[0], x1=points[1], duration=100 * h, dt=h)
    assert np.abs(run.x - points).max() < 1e-11
    midpoint = lw.discrete(lg.springs).run(points[0], x1=points[1], duration=100 * h, dt=h)
    assert np.abs(midpoint.x - points).max() > 1e-3


def test_rattle_matches_its_equations() -> None:
    """(2.33) to (2.37) by hand for the rod, with its momenta."""
    h, steps = 0.02, 100
    x, p, load = lg.PLACE, lg.MASS * lg.SPEED, lg.MASS * lg.WEIGHT
    rows = [(x, p)]
    for _ in range(steps):
        y = x + h / lg.MASS * (p + 0.5 * h * load)
        a, b, c = x @ x, x @ y, y @ y - lg.LENGTH**2
        end = y + x * (-b + np.sqrt(b * b - a * c)) / a
        half = lg.MASS * (end - x) / h + 0.5 * h * load
        x, p = end, half - end * (half @ end) / (end @ end)
        rows.append((x, p))
    run = lw.discrete(lg.pendulum, lg.rod, method="rattle").run(lg.PLACE, lg.SPEED, steps * h, h)
    assert np.abs(run.x - [x for x, _ in rows]).max() < 1e-10
    assert np.abs(run.p - [p for _, p in rows]).max() < 1e-10
