"""Automatic choice of the integration method and the step of a run, from the fastest rate (eigenvalue) of the
motion.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor, log10
from typing import NamedTuple

import numpy as np

from linkwork.simulation.contact_checks import contact_rates
from linkwork.simulation.contact_families import contact_families
from linkwork.simulation.contact_family_interface import FINE_CONTACTS
from linkwork.simulation.joint_friction_rows import directions_after, friction_count
from linkwork.simulation.loop_constraint_rows import LoopRows, loop_rows
from linkwork.simulation.methods.method_registry import method_of_order
from linkwork.simulation.runners.state_derivative import StateDerivative
from linkwork.simulation.simulation_problem import Problem
from linkwork.simulation.slip_groups import slip_groups
from linkwork.simulation.state import MemberState
from linkwork.simulation.step_proposals import common_step

ADAPTIVE = ("dop853", "radau", "lsoda")
# Product of step and fastest rate, by the order of the method; the value of 4 is also for higher orders. Examples then
# have relative energy errors below a fifth of the limits in `report_tolerances`: 3e-3 at order 1, 2e-5 at order 2, 5e-6
# at order 4 and above.
FINE = {1: 0.004, 2: 0.01, 4: 0.1}
FINE_RIGID = 0.1  # product of step and fastest rate with rigid contacts: impacts, not smooth motion, limit the accuracy
STABLE = 2.5  # product of step and fastest rate above which rk4 is unstable
LONGEST = {"midpoint": 1e-3, "semi-implicit": 1e-3, "moreau": 1e-3}  # by method: longest step [s] that is chosen
LONG = 0.01  # longest step [s] that is chosen for other methods
LONG_FRICTION = 1e-3  # longest step [s] that "auto" chooses if joints have dry friction, which may act only briefly
STIFF = 2000.0  # fastest rate [1/s] above which an implicit method is chosen
SAMPLES = 1000  # default number of samples of adaptive methods
NUDGE = 1e-6  # [rad, m, rad/s, m/s] step of difference quotients


class Choice(NamedTuple):
    """The integration method and step chosen for a run, with the reason for the choice.

    `dt` [s] is the step; for adaptive methods the time between samples. `order` is the order to which steps are
    composed, or None for the order of the method itself. `locate` is true if contact events are located within steps.
    """

    method: str
    dt: float
    why: str
    order: int | None = None
    locate: bool = False


# makes a trial run of the first member with a given choice, and returns states along this run
Trial = Callable[[Choice], list[MemberState]]


class Wanted(NamedTuple):
    """What the user specified: method or "auto", step `dt` [s] or None, order of composed steps or None, and duration
    of the run [s].
    """

    method: str
    dt: float | None
    order: int | None
    duration: float


def chosen(problem: Problem, derivative: StateDerivative, wanted: Wanted, trial: Trial) -> Choice:
    """Return the integration method and step of a run: those in `wanted`, and suitable values for what the user left
    open.

    `derivative` is the compiled time derivative of the state, from which the fastest rate of the motion is estimated;
    `trial` makes a trial run with a first choice and returns states along it.
    """
    method, dt, _, duration = wanted
    if method in ADAPTIVE:
        return Choice(method, dt or duration / SAMPLES, "method given by the user; adaptive steps")
    if method != "auto" and dt is not None:
        return Choice(method, dt, "method and step given by the user")
    if problem.mechanism.nv == 0 or 0 in problem.batch:
        return Choice("rk4" if method == "auto" else method, dt or LONG, "no degrees of freedom, or an empty batch")
    if problem.compliant:
        return _for_contacts(problem, wanted)
    loops, start = loop_rows(problem), problem.member(problem.first)[0]
    rate = fastest_rate(problem, derivative, start, loops)
    first = _for_rate(problem, wanted, rate, "at the start")
    if dt is not None or first.method == "midpoint":  # the step of "midpoint" does not depend on the rate
        return first
    # The motion may become faster during the run: estimate the fastest rate from a trial run
    states = [state for state in trial(first) if np.isfinite(state.q).all() and np.isfinite(state.v).all()]
    if not states:
        return first
    rate = max(fastest_rate(problem, derivative, state, loops) for state in loops.regular([start, *states]))
    return _for_rate(problem, wanted, rate, "in a trial run")


def _for_contacts(problem: Problem, wanted: Wanted) -> Choice:
    """Return method and step for compliant contacts: a step small enough for the rates of their springs.

    `wanted` has the method and step that the user specified, if any.
    """
    now, values = problem.member(problem.first)
    rates = contact_rates(problem.system(values).mechanism, now.q)
    family = contact_families(problem.mechanism)[-1]
    method = family.automatic_method if wanted.method == "auto" else wanted.method
    rate = family.step_rate(rates, method)
    reach = min(LONGEST["semi-implicit"], FINE_CONTACTS / max(rate, 1e-9))
    dt = wanted.dt or _round_step(reach, problem, wanted.duration)
    return Choice(method, dt, f"contact rate {rates.stiffness:.3g} 1/s")


def _for_rate(problem: Problem, wanted: Wanted, rate: float, when: str) -> Choice:
    """Return method and step for a motion whose fastest rate is `rate` [1/s].

    `wanted` has the method and step that the user specified, if any. `when` is a phrase such as "at the start", which
    says in the reason where the rate was estimated.
    """
    method, dt, order, duration = wanted
    why = f"fastest rate {rate:.3g} 1/s {when}"
    if problem.rigid:
        why = f"rigid contacts; {why}"
    if method == "auto":
        stiff = rate > STIFF if dt is None else rate * dt > STABLE
        method = "midpoint" if stiff else "rk4"
        why += ": stiff" if stiff else ": not stiff"
    if dt is None:
        brief = wanted.method == "auto" and friction_count(problem.mechanism) > 0
        longest = LONGEST.get(method, LONG_FRICTION if brief else LONG)
        fine = FINE_RIGID if problem.rigid else FINE[min(method_of_order(method, order).order, 4)]
        reach = longest if method == "midpoint" else min(longest, fine / max(rate, 1e-9))
        dt = _round_step(reach, problem, duration)
    return Choice(method, dt, why)


def _round_step(reach: float, problem: Problem, duration: float) -> float:
    """Return a step [s] of at most `reach` [s] that divides the `duration` [s] of the run and the period of a sampled
    controller.

    The step is near 1, 2 or 5 times a power of ten.
    """
    rate = None if problem.sampling is None else problem.sampling.rate
    span = duration if rate is None else min(duration, 1.0 / rate)
    decade = 10.0 ** floor(log10(reach))
    nice = decade * max(k for k in (1.0, 2.0, 5.0) if k * decade <= reach * (1.0 + 1e-9))
    longest = span if rate is None else common_step(duration, span)
    return longest / ceil(longest / min(nice, span) - 1e-9)


def fastest_rate(problem: Problem, derivative: StateDerivative, now: MemberState, loops: LoopRows) -> float:
    """Return the fastest rate [1/s] of the first batch member in the state `now`.

    The rate is the largest absolute eigenvalue of the linearized motion, or the largest angular speed of a joint if
    that is larger. If the mechanism has loops, the motion is linearized only along coordinates and velocities that
    satisfy the loops. Derivatives along other directions would grow without bound near singular positions. `derivative`
    is the compiled time derivative of the state.
    """
    m = problem.mechanism
    _, values = problem.member(problem.first)
    held, tangent = problem.system(values).clipped(now.control), loops.tangent(now.q)
    N, k = tangent.free, tangent.free.shape[1]
    # Joints with constant friction count as slipping: friction that does not stop a motion does not change its rates
    if slip_groups(m):
        derivative = StateDerivative(problem, derivative.target, turning=False)
    still = np.zeros(friction_count(m))
    slip_directions = directions_after(m, [1.0] * len(still), still)

    def acceleration(x: np.ndarray) -> np.ndarray:
        q = m.integrate(now.q, N @ x[:k])
        v = loops.consistent(q, now.v + N @ x[k:], tangent)
        return N.T @ derivative(0.0, np.concatenate([q, v, [0.0]]), held, values, slip_directions)[m.nq : -1]

    turns = np.concatenate([joint.kind.turns for joint in m.leaders]).astype(bool)
    spin = float(np.abs(now.v[turns]).max(initial=0.0))
    columns = [(acceleration(step) - acceleration(-step)) / (2.0 * NUDGE) for step in NUDGE * np.eye(2 * k)]
    if not columns:
        return spin
    A = np.block([[np.zeros((k, k)), np.eye(k)], [np.column_stack(columns)]])
    return max(spin, float(np.abs(np.linalg.eigvals(A)).max())) if np.isfinite(A).all() else spin
