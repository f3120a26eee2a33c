"""Experiments of Wendlandt's chapter 2: free rigid body in quaternions, and double spherical pendulum.

DVP is the integrator from the discrete variational principle, EM the energy-momentum method.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import linkwork as lw
from linkwork.spatial.rotation import conjugate, product
from linkwork.spatial.scalar import Array

DURATION = 30.0  # simulated time [s]
STEPS = (1e-4, 1e-3, 1e-2, 1e-1)  # step sizes [s]
FINE = 1e-5  # step [s] with which the second point of the rigid body is computed


class Measured(NamedTuple):
    """One row of Wendlandt's tables: computing time [s], and the errors of position, energy [J] and momentum.

    The function `error` computes these errors.
    """

    seconds: float
    position: float
    energy: float
    momentum: float


class Trace(NamedTuple):
    """Data of a run for figures: times (T,) [s], positions (T, n), energies (T - 1,) [J], multipliers (T, m).

    The system has n coordinates and m constraints.
    """

    t: Array
    x: Array
    energy: Array
    multipliers: Array


class Experiment(NamedTuple):
    """Results of an experiment: measured and printed table rows, and data of the runs for figures.

    Each attribute is a dict; its keys are pairs of method, such as "DVP", and step size [s].
    """

    measured: dict[tuple[str, float], Measured]
    printed: dict[tuple[str, float], Measured]
    traces: dict[tuple[str, float], Trace]

    def differences(self) -> dict[tuple[str, float], Array]:
        """Return the relative differences (3,) between the computed and the printed errors of position, energy and
        momentum.

        The keys are method and step size. The difference is nan where Wendlandt's thesis prints zero.
        """
        found = {}
        for key, printed in self.printed.items():
            expected = np.array(printed[1:])
            expected[expected == 0.0] = np.nan
            found[key] = np.array(self.measured[key][1:]) / expected - 1.0
        return found


def error(values: Array, standard: Array) -> float:
    """Return the error of samples `values` (N, m): their mean distance from the reference `standard` (N, m), divided by
    m.

    This is Wendlandt's definition, equations (2.53) and (2.56).
    """
    return float(np.linalg.norm(np.atleast_2d(values - standard), axis=1).mean() / values.shape[1])


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result and the duration [s] of a call of `run`; an earlier call compiles, and is not measured."""
    run()
    begin = time.perf_counter()
    found = run()
    return found, time.perf_counter() - begin


# --- the rigid body (section 2.4.1 of the thesis) ---

INERTIA = np.array([1.0, 2.0, 3.0])  # principal moments of inertia [kg m^2], the paper's equation (2.52)
TURN = np.array([1.0, 0.0, 0.0, 0.0])
SPIN = np.array([0.0, 3.0, 4.0])  # angular velocity in body axes [rad/s]
TABLE_2_1 = {
    ("DVP", 1e-4): Measured(97.620, 0.0, 6.256e-7, 1.671e-7),
    ("DVP", 1e-3): Measured(9.905, 3.960e-6, 6.274e-5, 1.687e-5),
    ("DVP", 1e-2): Measured(1.397, 3.997e-4, 6.274e-3, 1.687e-3),
    ("DVP", 1e-1): Measured(0.301, 3.648e-2, 6.217e-1, 1.665e-1),
}


def rigid_body() -> Any:
    """Return the free rigid body in unit quaternions as a discrete system.

    With the midpoint rule, Wendlandt's equation (2.46) becomes equation (2.51).
    """

    def lagrangian(q: Array, rate: Array) -> Any:
        w = 2.0 * product(conjugate(q), rate)[1:]
        return 0.5 * (INERTIA * w * w).sum()

    def unit(q: Array) -> Array:
        return np.stack([q @ q - 1.0])

    def turns(q: Array) -> Array:
        return np.stack([product(np.array([0.0, *axis]), q) * 0.5 for axis in np.eye(3)])

    return lw.discrete(lagrangian, unit, symmetries=turns)


def spins(q: Array, h: float) -> Array:
    """Return the body angular velocities (T - 1, 3) [rad/s] between successive quaternions q (T, 4).

    The formula is Wendlandt's equation (2.50); h [s] is the step size.
    """
    x, y = q[:-1].T, q[1:].T
    return ((product(conjugate(x), y) - product(conjugate(y), x)) / h)[1:].T


def spin_energies(q: Array, h: float) -> Array:
    """Return the energies (T - 1,) [J] of the rigid body between successive quaternions q (T, 4).

    h [s] is the step size.
    """
    return 0.5 * (INERTIA * spins(q, h) ** 2).sum(axis=1)


def rigid_body_experiment() -> Experiment:
    """Return the results for the free rigid body, with all methods and step sizes of Wendlandt's Table 2.1.

    Each run starts from two points. The second point is from a normalized Euler step of 1e-5 s, followed by steps of
    1e-5 s of the discrete variational principle (DVP).
    """
    system = rigid_body()
    second = TURN + FINE * product(TURN, np.array([0.0, *(0.5 * SPIN)]))
    second = second / np.linalg.norm(second)
    fine = system.run(TURN, x1=second, duration=STEPS[-1], dt=FINE)
    energy, momentum = spin_energies(fine.x[:2], FINE)[0], fine.momentum[0]
    measured, traces = {}, {}
    for h in STEPS:
        run, seconds = timed(lambda h=h: system.run(TURN, x1=fine.x[round(h / FINE)], duration=DURATION, dt=h))
        trace = traces["DVP", h] = Trace(run.t, run.x, spin_energies(run.x, h), run.multipliers)
        standard = traces["DVP", STEPS[0]].x[:: round(h / STEPS[0])]
        measured["DVP", h] = Measured(
            seconds, error(run.x, standard), error(trace.energy[:, None], energy), error(run.momentum, momentum)
        )
    return Experiment(measured, TABLE_2_1, traces)


# --- the double spherical pendulum (section 2.4.2 of the thesis) ---

MASSES, LENGTHS, GRAVITY = (2.0, 3.5), (4.0, 3.0), 9.81  # masses [kg], lengths of the rods [m], gravity [m/s^2]
PLACE = ((2.820, 0.025), (5.085, 0.105))  # x and y of both masses [m]
SPEED = ((3.381, 2.506), (2.497, 10.495))  # x and y velocities of both masses [m/s]
TABLE_2_2 = {
    ("DVP", 1e-4): Measured(73.648, 2.329e-7, 6.475e-6, 2.547e-6),
    ("EM", 1e-4): Measured(103.871, 0.0, 0.0, 0.0),
    ("DVP", 1e-3): Measured(9.065, 1.146e-5, 3.269e-4, 1.707e-4),
    ("EM", 1e-3): Measured(13.250, 1.214e-5, 0.0, 0.0),
    ("DVP", 1e-2): Measured(1.152, 1.135e-3, 3.224e-2, 1.696e-2),
    ("EM", 1e-2): Measured(1.549, 1.225e-3, 0.0, 0.0),
    ("DVP", 1e-1): Measured(0.211, 9.576e-2, 2.665, 1.560),
    ("EM", 1e-1): Measured(0.263, 1.184e-1, 0.0, 0.0),
}


def double_spherical_pendulum(method: str) -> Any:
    """Return the double spherical pendulum: two point masses on rods, in Cartesian coordinates (6,).

    Its Lagrangian is Wendlandt's equation (2.54). `method` is the method of `lw.discrete`.
    """
    masses = np.repeat(MASSES, 3)

    def lagrangian(x: Array, rate: Array) -> Any:
        return 0.5 * (masses * rate * rate).sum() - GRAVITY * (MASSES[0] * x[2] + MASSES[1] * x[5])

    def rods(x: Array) -> Array:
        upper, lower = x[:3], x[3:] - x[:3]
        return np.stack([upper @ upper - LENGTHS[0] ** 2, lower @ lower - LENGTHS[1] ** 2])

    def about_vertical(x: Array) -> Array:
        return np.stack([[-x[1], x[0], 0.0, -x[4], x[3], 0.0]])

    return lw.discrete(lagrangian, rods, method=method, symmetries=about_vertical)


def pendulum_start() -> tuple[Array, Array]:
    """Return the initial coordinates (6,) [m] and velocities (6,) [m/s] of the double spherical pendulum.

    Wendlandt's thesis gives x and y; z and its rate follow from the lengths of the rods, with both masses below the
    pivot.
    """
    x, v = [], []
    above, rate_above = np.zeros(3), np.zeros(3)
    for length, place, speed in zip(LENGTHS, PLACE, SPEED, strict=True):
        across, rate = np.array(place) - above[:2], np.array(speed) - rate_above[:2]
        down = -np.sqrt(length**2 - across @ across)
        above = above + np.array([*across, down])
        rate_above = rate_above + np.array([*rate, -(across @ rate) / down])
        x, v = [*x, *above], [*v, *rate_above]
    return np.array(x), np.array(v)


def pendulum_energies(x: Array, h: float) -> Array:
    """Return the energies (T - 1,) [J] between successive positions x (T, 6) at the step size h [s].

    They are computed from mean velocities and midpoint positions.
    """
    middle, rate = 0.5 * (x[1:] + x[:-1]), np.diff(x, axis=0) / h
    return 0.5 * rate**2 @ np.repeat(MASSES, 3) + GRAVITY * middle[:, [2, 5]] @ np.array(MASSES)


def pendulum_experiment() -> Experiment:
    """Return the results for the double spherical pendulum, with all methods and step sizes of Wendlandt's Table 2.2.

    The reference is the energy-momentum method (EM) with steps of 1e-4 s. The reference run also gives the second
    points from which the runs with the discrete variational principle (DVP) start.
    """
    x0, v0 = pendulum_start()
    variational, energetic = double_spherical_pendulum("midpoint"), double_spherical_pendulum("energy-momentum")
    standard = energetic.run(x0, v0, DURATION, STEPS[0])
    energy, momentum = standard.energy[0], standard.momentum[0]
    measured, traces = {}, {}
    for h in STEPS:
        stride = round(h / STEPS[0])
        runs: Sequence[tuple[str, Callable[[], Any]]] = (
            ("DVP", lambda h=h, x1=standard.x[stride]: variational.run(x0, x1=x1, duration=DURATION, dt=h)),
            ("EM", lambda h=h: energetic.run(x0, v0, DURATION, h)),
        )
        for name, run_it in runs:
            run, seconds = timed(run_it)
            energies = pendulum_energies(run.x, h) if name == "DVP" else run.energy
            traces[name, h] = Trace(run.t, run.x, energies, run.multipliers)
            measured[name, h] = Measured(
                seconds,
                error(run.x, standard.x[::stride]),
                error(energies[:, None], energy),
                error(run.momentum, momentum),
            )
    return Experiment(measured, TABLE_2_2, traces)
