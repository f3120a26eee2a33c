"""Choosing a method and a step: from how fast the motion at the start changes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor, log10
from typing import NamedTuple

import numpy as np

from linkwork.simulation.contact_checks import contact_rates
from linkwork.simulation.problem import Problem
from linkwork.simulation.runners.state_derivative import StateDerivative
from linkwork.simulation.state import MemberState

ADAPTIVE = ("dop853", "radau", "lsoda")
FINE = 0.1  # product of step and fastest rate at which rk4 errs by about 1e-7 a step
STABLE = 2.5  # beyond this product rk4 blows up
LONGEST = {"midpoint": 1e-3, "semi-implicit": 1e-3, "moreau": 1e-3}  # steps that are chosen [s], at most
LONG = 0.01  # the same for other methods
MOST_PARTS = 10_000  # steps in a period of a sampled controller, at most, to meet the end of a run
STIFF = 2000.0  # rate [1/s] from which following it by small steps does not pay
ROWS = 1000  # of a run whose method chooses its own steps
NUDGE = 1e-6


class Choice(NamedTuple):
    """A method, its step [s] (for methods with their own steps: the time between rows), why; an order to compose to.

    `locate` says whether its steps are parted where contacts switch.
    """

    method: str
    dt: float
    why: str
    order: int | None = None
    locate: bool = False


Trial = Callable[[Choice], list[MemberState]]  # states along a run of the first member by a choice


def chosen(
    problem: Problem, derivative: StateDerivative, method: str, dt: float | None, duration: float, trial: Trial
) -> Choice:
    """The method and step that were given, or good ones."""
    if method in ADAPTIVE:
        return Choice(method, dt or duration / ROWS, "as given; its steps follow the tolerance")
    if method != "auto" and dt is not None:
        return Choice(method, dt, "as given")
    if problem.mechanism.nv == 0 or 0 in problem.batch:
        return Choice("rk4" if method == "auto" else method, dt or LONG, "nothing moves")
    if problem.compliant:
        return _for_contacts(problem, method, dt, duration)
    rate = fastest_rate(problem, derivative, problem.member(problem.first)[0])
    first = _judged(problem, method, dt, duration, rate, "at the start")
    if dt is not None:
        return first
    # Motion may become faster on the way: a trial run shows how fast
    rates = [fastest_rate(problem, derivative, state) for state in trial(first)]
    return _judged(problem, method, dt, duration, max(rate, *rates), "in a trial run") if rates else first


def _for_contacts(problem: Problem, method: str, dt: float | None, duration: float) -> Choice:
    """A choice that follows the bounces of contacts, by the stiffness of their springs and the masses they move."""
    now, values = problem.member(problem.first)
    rates = contact_rates(problem.system(values).mechanism, now.q)
    method = "variational" if method == "auto" else method
    rate = max(rates.stiffness, rates.damping) if method == "rk4" else rates.stiffness
    reach = min(LONGEST["semi-implicit"], FINE / max(rate, 1e-9))
    return Choice(method, dt or _fitting(reach, problem, duration), f"contacts bounce at {rates.stiffness:.3g} 1/s")


def _judged(problem: Problem, method: str, dt: float | None, duration: float, rate: float, when: str) -> Choice:
    """A choice for motion that changes at that rate [1/s]."""
    why = f"fastest rate {rate:.3g} 1/s {when}"
    if problem.rigid:
        why = f"rigid contacts; {why}"
    if method == "auto":
        stiff = rate > STIFF if dt is None else rate * dt > STABLE
        method = "midpoint" if stiff else "rk4"
        why += ": stiff" if stiff else ": not stiff"
    if dt is None:
        longest = LONGEST.get(method, LONG)
        reach = longest if method == "midpoint" else min(longest, FINE / max(rate, 1e-9))
        dt = _fitting(reach, problem, duration)
    return Choice(method, dt, why)


def _fitting(reach: float, problem: Problem, duration: float) -> float:
    """A round step within reach of which whole numbers make the duration and the period of a sampled controller."""
    rate = None if problem.sampling is None else problem.sampling.rate
    span = duration if rate is None else min(duration, 1.0 / rate)
    decade = 10.0 ** floor(log10(reach))
    nice = decade * max(k for k in (1.0, 2.0, 5.0) if k * decade <= reach * (1.0 + 1e-9))
    # The duration is a fraction of spans, and steps must make its denominator too
    parts = Fraction(duration / span).limit_denominator(MOST_PARTS).denominator
    return span / (parts * ceil(span / (parts * min(nice, span)) - 1e-9))


def fastest_rate(problem: Problem, derivative: StateDerivative, now: MemberState) -> float:
    """The largest eigenvalue [1/s] of the first member's equations of motion in a state, or its fastest turn."""
    m = problem.mechanism
    n, (_, values) = m.nv, problem.member(problem.first)

    def acceleration(x: np.ndarray) -> np.ndarray:
        state = np.concatenate([m.integrate(now.q, x[:n]), now.v + x[n:], [0.0]])
        return derivative(0.0, state, now.control, values)[m.nq : -1]

    steps = NUDGE * np.eye(2 * n)
    columns = [(acceleration(step) - acceleration(-step)) / (2.0 * NUDGE) for step in steps]
    A = np.block([[np.zeros((n, n)), np.eye(n)], [np.column_stack(columns)]])
    turns = np.concatenate([joint.kind.turns for joint in m.leaders]).astype(bool)
    spin = float(np.abs(now.v[turns]).max(initial=0.0))
    return max(spin, float(np.abs(np.linalg.eigvals(A)).max())) if np.isfinite(A).all() else spin
