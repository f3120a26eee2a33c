"""Impulses of all touching solid pairs, and of other constraints with bounded impulses, in rigid contact.

Newton's method (`newton_iteration`) solves the contact conditions, unless the impulses of the last time step already
satisfy them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.contact_tolerances import SETTLED, SETTLED_DRIFTING, SETTLED_LATE, SETTLED_ROUND_OFF
from linkwork.algorithms.solid_contact.body_equations import BodyEquations
from linkwork.algorithms.solid_contact.body_responses import BLOCK
from linkwork.algorithms.solid_contact.constraint_blocks_beside_solids import OtherBlocks
from linkwork.algorithms.solid_contact.contact_problem import ContactProblem, Guess, Violation
from linkwork.algorithms.solid_contact.friction_torques import lever_of
from linkwork.algorithms.solid_contact.least_norm_impulses import with_least_norm
from linkwork.algorithms.solid_contact.newton_iteration import END, Matrix, newton_impulses
from linkwork.algorithms.solid_contact.rigid_pairs import ROWS, PairCompliance, PairConditions, PairFrame, violations
from linkwork.algorithms.solid_contact.touching_pairs import PairImpulses, TouchingPairs, zero_rows
from linkwork.spatial.row_arrays import RowArray, row_array
from linkwork.spatial.scalar import Array, Condition, Number, largest, maximum, minimum, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import TINY_SIZE


class Accuracy(NamedTuple):
    """Required accuracy of the impulses of touching pairs.

    `settled` is the tolerance of the violation of contact conditions, divided by the largest speed of a point. The
    result has the impulses of least norm if `least_norm` is true. It also has them if `last` is true, which marks the
    last solution of a step, and the first guess was not accurate enough. (An accurate guess from the last time step
    already has the least norm.)
    """

    settled: Number = SETTLED
    least_norm: Condition = True
    last: Condition = True


FINAL = Accuracy()


def solve_pairs(
    pairs: TouchingPairs,
    equations: BodyEquations,
    free: Array,
    guess: RowArray,
    accuracy: Accuracy = FINAL,
    others: OtherBlocks | None = None,
    other_guess: Array | None = None,
    matrix: Matrix | None = None,
) -> tuple[PairImpulses, Matrix]:
    """Return the impulses that satisfy the contact conditions of all touching pairs, and the last matrix.

    It is the factored `Matrix` of Newton's method. `pairs` are the touching pairs, `equations` the equations for the
    velocities of their bodies, and `free` (nv,) the velocities of the mechanism without impulses. `guess` is a first
    guess of the impulses, one row (12,) or (15,) per pair, which is overwritten; it is used only if its violation is
    smaller than that of zero impulses. `others` are other constraints with bounded impulses, and `other_guess` (n,) is
    a first guess of their impulses. `matrix` is the factored matrix of the previous solution; the first iteration uses
    it again if the points have the same states. `accuracy` is the required accuracy.
    """
    matrix = Matrix.none(pairs) if matrix is None else matrix
    others = OtherBlocks([]) if others is None else others
    q = np.zeros(0) if other_guess is None else other_guess
    problem = ContactProblem(pairs, equations, others, pairs.responses.velocity_rows(free), [])
    wrenches, none, speeds = _look_at_guess(problem, guess)
    fastest = maximum(speeds.conditions, others.fastest(free))
    enough = fastest * accuracy.settled + speeds.bodies * SETTLED_ROUND_OFF + TINY_SIZE
    drifting = minimum(speeds.drifts, fastest * SETTLED_DRIFTING)
    problem = problem._replace(scales=others.scales(free, pairs.weights, accuracy.settled, enough))
    none = none.joined(others.violations(np.zeros(others.count), others.speeds(problem.free), problem.scales))
    v = problem.after(others.add_wrenches(q, wrenches))
    u, violation, changed = problem.violation(guess, q, v, row_array(pairs.count, pairs.rows), matrix.slopes)
    first = _better_guess(problem, Guess(guess, q, v, u, violation), none)
    same = (changed == 0.0) & (violation.largest <= none.largest)
    matrix = matrix._replace(fits=where(same, matrix.fits, 0.0))
    p, q, rows, left, iterations, matrix = newton_impulses(problem, first, enough, drifting, matrix)
    loose = enough * where(iterations >= END, SETTLED_LATE, 1.0)
    enough = where(left > enough, maximum(loose, drifting), enough)

    p = with_least_norm(pairs, p, rows, accuracy.least_norm | (accuracy.last & (iterations > 0.0)))
    v = pairs.responses.after_wrenches(free, problem.wrenches(p, q))
    return PairImpulses(v, p, iterations + 1.0, left, where(left <= enough, 1.0, 0.0), q), matrix


class _Speeds(NamedTuple):
    """Largest speeds [m/s] without impulses, for tolerances.

    `conditions` is the largest speed or required separation speed in contact conditions, `bodies` the largest speed of
    a body at a contact point, and `drifts` the largest drift.
    """

    conditions: Number
    bodies: Number
    drifts: Number


def _look_at_guess(problem: ContactProblem, guess: RowArray) -> tuple[RowArray, Violation, _Speeds]:
    """Return the wrenches of the guessed impulses, and the violation and the largest speeds for zero impulses.

    `guess` has the guessed impulses (12,) of each pair as a row. The wrenches are a row array with the impulse and
    angular impulse (6,) on each body. Violation and speeds determine tolerances, and whether the guess is better than
    zero impulses. `problem` is the contact problem.
    """
    pairs = problem.pairs

    def look(k: Number, wrenches: RowArray, *state: Number) -> tuple[Any, ...]:
        fastest, moved, drifting = state[2:]
        frame, conditions, compliance = pairs.frame(k), pairs.pair_conditions(k), pairs.compliance(k)
        *motion, speed = pairs.relative_velocity(k, frame, problem.free)
        u = frame.speeds(*motion) + conditions.drifts
        none = Violation(*state[:2]).joined(violations(frame, conditions, compliance, np.zeros(pairs.rows), u))
        speeds = maximum(fastest, _fastest(frame, conditions, compliance, u)), maximum(moved, speed)
        wrenches = pairs.add_wrench(k, frame, guess.at(k), wrenches)
        drift = conditions.drift.reshape(ROWS)
        return wrenches, *none, *speeds, largest(np.array([drifting, *drift]))

    start = zero_rows(pairs.responses.bodies, BLOCK), 0.0, 0.0, 0.0, 0.0, 0.0
    wrenches, squares, most, *speeds = pairs.selection.visit(look, *start)
    return wrenches, Violation(squares, most), _Speeds(*speeds)


def _better_guess(problem: ContactProblem, guess: Guess, none: Violation) -> Guess:
    """Return the first guess with the smaller violation: `guess`, or zero impulses, whose violation is `none`.

    `problem` is the contact problem.
    """
    pairs, bodies = problem.pairs, problem.pairs.responses.active

    def reset(p: RowArray, others: Array, v: RowArray, u: RowArray, *_: Number) -> tuple[tuple[Any, ...], Condition]:
        def reset_pair(k: Number, p: RowArray, u: RowArray) -> tuple[RowArray, RowArray]:
            speeds = pairs.speeds(k, pairs.frame(k), problem.free) + pairs.pair_conditions(k).drifts
            return p.put(k, np.zeros(pairs.rows)), u.put(k, speeds)

        p, u = pairs.selection.visit(reset_pair, p, u)
        (v,) = bodies.visit(lambda b, v: (v.put(b, problem.free.at(b)),), v)
        return (p, others * 0.0, v, u, *none), True

    worse = ~(guess.violation.largest <= none.largest)
    p, others, v, u, *violation = iterate(1, reset, *guess[:4], *guess.violation, start=worse)[0]
    return Guess(p, others, v, u, Violation(*violation))


def _fastest(frame: PairFrame, conditions: PairConditions, compliance: PairCompliance, u: Array) -> Number:
    """Return the largest speed [m/s] in the contact conditions of a pair whose points have the speeds u (12,).

    With rolling and spinning friction, u is (15,), and its angular speeds are multiplied by `lever_of`.
    """
    acting = [where(frame.acts[j] > 0.0, largest(u[3 * j : 3 * j + 3]), 0.0) for j in range(ROWS // 3)]
    if frame.turning is not None:
        acting.append(largest(u[ROWS:]) * lever_of(compliance.C))
    return largest(np.array([*acting, *conditions.bounce]))


def chosen_array(condition: Condition, yes: Array, no: Array) -> Array:
    """Return the array `yes` where a condition is true, else `no`; the arrays may be empty."""
    return where(condition, yes, no) if np.size(yes) else yes
