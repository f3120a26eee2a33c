"""Dry friction for given directions of slip where friction and load are strongly coupled, by Newton's method.

The fixed-point iteration of `friction_solver` diverges if a change of the friction of a joint causes a larger change of
this friction through the load, as in short guides. A solution nevertheless exists, and is unique, if friction reduces
its own load. Newton's method finds it. The solution is unique if the pivots of the last step are positive.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.algorithms.joint_friction.friction_limits import ActiveLimit, active_limits
from linkwork.algorithms.joint_friction.friction_sites import slip_velocities
from linkwork.algorithms.joint_friction.friction_solver import FrictionSolution, slipping, solve_directions
from linkwork.algorithms.joint_friction.joint_friction_tolerances import AGREES_IN_SLIP, AGREES_ROUND_OFF
from linkwork.algorithms.joint_friction.linearized_response import LinearStep, linear_step
from linkwork.algorithms.joint_friction.load_response import Answer
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array, Condition, Number, largest, where
from linkwork.spatial.traceable_loops import iterate

MOST = 40  # largest number of iterations


def solve_for_directions(
    mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None, directions: Array
) -> FrictionSolution:
    """Return the motion with friction for given directions of slip, also with strong coupling.

    The arguments and the result are those of `solve_directions`. `converged` is 0 if no unique solution was found.
    """
    first = solve_directions(mechanism, q, v, tau, wrenches, directions)

    given = (q, v, tau, directions, *(() if wrenches is None else (wrenches,)))

    def strictly(*state: Array) -> tuple[tuple[Any, ...], bool]:
        q, v, tau, directions, *outside = state[: len(given)]  # loop state: nothing is computed early
        found = _by_newton(mechanism, q, v, tau, outside[0] if outside else None, directions)
        return (*state[: len(given)], *found), True

    last, _, _ = iterate(1, strictly, *given, *first, start=first.converged < 0.5)
    return FrictionSolution(*last[len(given) :])


def _by_newton(
    mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None, directions: Array
) -> FrictionSolution:
    """Return the motion with friction for given directions of slip, by Newton's method; see `solve_for_directions`."""
    moves, count = slipping(mechanism, q, v, directions), len(directions)
    limits = active_limits(mechanism, q, slip_velocities(mechanism, q, v), 1.0 - moves)
    take_step = linear_step(mechanism, q, v, tau, wrenches)
    free = take_step(np.zeros((count, 6)), np.zeros(count), np.zeros((count, count)), moves)

    def improve(f: Array, pivots: Array, values: Array, *answer: Array) -> tuple[tuple[Any, ...], Condition]:
        old = Answer(*answer)
        new = take_step(*_linear(limits, directions, old, f), np.zeros((count, count)), moves)
        found = [one.value(new.answer.loads[one.site], new.friction) for one in limits]
        expected = _slip_forces(limits, found, directions)
        floor = largest(np.array(found)) * AGREES_ROUND_OFF
        off = [
            abs(x - y) * m - abs(y) * AGREES_IN_SLIP - floor
            for x, y, m in zip(new.friction, expected, moves, strict=True)
        ]
        done = sum((where(x <= 0.0, 0.0, 1.0) for x in off), 0.0) < 0.5
        return (new.friction, new.pivots, np.array(found), *new.answer), done

    start = (free.friction, free.pivots, np.zeros(len(limits)), *free.answer)
    (f, pivots, values, *rest), _, done = iterate(MOST, improve, *start)
    step = LinearStep(Answer(*rest), f, pivots)
    unique = sum((where(x > 0.0, 0.0, 1.0) for x in step.pivots), 0.0) < 0.5
    known = where(done, 1.0, 0.0) * where(unique, 1.0, 0.0)
    answer = step.answer
    return FrictionSolution(answer.a, step.friction, values, answer.loads, answer.multipliers, known)


def _slip_forces(limits: tuple[ActiveLimit, ...], values: list[Number], directions: Array) -> list[Number]:
    """Return the friction forces (nf,) for slip in the `directions` (nf,), given the values of all `limits`."""
    found: list[Number] = [0.0] * len(directions)
    for one, value in zip(limits, values, strict=True):
        for n, force in zip(one.numbers, one.forces(value, directions), strict=True):
            found[n] = force
    return found


def _linear(limits: tuple[ActiveLimit, ...], directions: Array, old: Answer, f: Array) -> tuple[Array, Array]:
    """Return K (nf, 6) and b (nf,) of the friction, linearized at the loads of the motion `old` and the forces f.

    f (nf,) are friction forces, `limits` the friction limits, and `directions` (nf,) the directions of slip; see
    `linearized_response` for K and b.
    """
    count = len(directions)
    K: list[list[Number]] = [[0.0] * 6 for _ in range(count)]
    b: list[Number] = [0.0] * count
    for one in limits:
        row, own, constant = one.linear(old.loads[one.site], f[one.numbers[0]])
        for n, scale in zip(one.numbers, one.scales, strict=True):
            along = directions[n] * scale
            over = 1.0 / (1.0 + along * own)
            K[n], b[n] = list(row * (-along * over)), -along * constant * over
    return np.array(K).reshape(count, 6), np.array(b)
