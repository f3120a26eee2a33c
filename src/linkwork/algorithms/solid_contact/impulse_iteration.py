"""Impulses of all touching solid pairs, and of other constraints with bounded impulses, in rigid contact.

The contact conditions are solved by Newton's method (see `newton_iteration`), unless the impulses of the last step
already satisfy them.
"""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.solid_contact.constraint_blocks_beside_solids import OtherBlocks
from linkwork.algorithms.solid_contact.least_norm_impulses import with_least_norm
from linkwork.algorithms.solid_contact.newton_iteration import ContactProblem, newton_impulses
from linkwork.algorithms.solid_contact.rigid_pairs import ROWS, PairConditions, PairFrame, violations
from linkwork.algorithms.solid_contact.touching_pairs import PairImpulses, TouchingPairs, copied
from linkwork.spatial.row_arrays import RowArray, row_array
from linkwork.spatial.scalar import Array, Condition, Number, largest, maximum, where
from linkwork.tolerances import TINY_SIZE

SETTLED = 1e-12  # speed by which a pair may violate its conditions, relative to the largest speed of a point
ROUNDED = 1e-14  # the same, relative to the largest speed of a body


def solve_pairs(
    pairs: TouchingPairs,
    free: Array,
    guess: RowArray,
    settled: Number = SETTLED,
    others: OtherBlocks | None = None,
    other_guess: Array | None = None,
    least_norm: Condition = True,
) -> PairImpulses:
    """Return the impulses that satisfy the contact conditions of all touching pairs, and the velocities after them.

    `free` (nv,) are the velocities without impulses, and `guess` a first guess of the impulses, one row (12,) per pair.
    It is used only if it is better than none. `others` are other constraints with bounded impulses, and `other_guess`
    (n,) is a first guess of theirs. With `least_norm`, redundant points have the impulses of least norm.
    """
    others = OtherBlocks([]) if others is None else others
    q = np.zeros(0) if other_guess is None else other_guess
    rows = pairs.responses.velocity_rows(free)
    p = copied(pairs, guess, row_array(pairs.count, ROWS))
    problem = ContactProblem(pairs, others, rows, [])
    fastest, moving, drifting = _speeds(problem)
    enough = maximum(fastest, others.fastest(free)) * settled + moving * ROUNDED + TINY_SIZE
    problem = problem._replace(scales=others.scales(free, pairs.weights, settled, enough))
    _, left = problem.violation(p, q, problem.velocities(p, q))
    start = ~(left <= enough)
    better = where(left < _violation_without_impulses(problem), 1.0, 0.0)
    (p,) = pairs.selection.visit(lambda k, p: (p.put(k, p.at(k) * better),), p)
    p, q, found, iterations = newton_impulses(problem, p, q * better, enough, drifting, start)
    left = where(start, found, left)
    enough = where(left > enough, maximum(enough, drifting), enough)

    p = with_least_norm(pairs, p, problem.velocities(p, q), least_norm)
    v = pairs.responses.after_wrenches(free, problem.wrenches(p, q))
    return PairImpulses(v, p, iterations + 1.0, left, where(left <= enough, 1.0, 0.0), q)


def _speeds(problem: ContactProblem) -> tuple[Number, Number, Number]:
    """Return the largest speeds [m/s] before impulses: in contact conditions, of bodies at points, and of drifts."""
    pairs = problem.pairs

    def look(k: Number, fastest: Number, moved: Number, drifting: Number) -> tuple[Number, ...]:
        frame, conditions = pairs.frame(k), pairs.pair_conditions(k)
        *motion, speed = pairs.relative_velocity(k, frame, problem.free)
        drift = conditions.drift.reshape(ROWS)
        fastest = maximum(fastest, _fastest(frame, conditions, frame.speeds(*motion) + drift))
        return fastest, maximum(moved, speed), largest(np.array([drifting, *drift]))

    return pairs.selection.visit(look, 0.0, 0.0, 0.0)


def _violation_without_impulses(problem: ContactProblem) -> Number:
    """Return the largest violation [m/s] of the contact conditions if all impulses are zero."""
    pairs, others = problem.pairs, problem.others

    def look(k: Number, left: Number) -> tuple[Number]:
        frame, conditions, eases = pairs.frame(k), pairs.pair_conditions(k), pairs.compliance(k).traces
        u = pairs.speeds(k, frame, problem.free) + conditions.drift.reshape(ROWS)
        return (largest(np.array([left, *violations(frame, conditions, eases, np.zeros(ROWS), u)])),)

    (left,) = pairs.selection.visit(look, 0.0)
    none = others.violations(np.zeros(others.count), others.speeds(problem.free), problem.scales)
    return largest(np.array([left, *none]))


def _fastest(frame: PairFrame, conditions: PairConditions, u: Array) -> Number:
    """Return the largest speed [m/s] in the contact conditions of a pair whose points have the speeds u (12,)."""
    acting = [where(frame.acts[j] > 0.0, largest(u[3 * j : 3 * j + 3]), 0.0) for j in range(ROWS // 3)]
    return largest(np.array([*acting, *conditions.bounce]))


def chosen_array(condition: Condition, yes: Array, no: Array) -> Array:
    """Return the array `yes` where a condition is true, else `no`; the arrays may be empty."""
    return where(condition, yes, no) if np.size(yes) else yes
