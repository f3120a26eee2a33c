"""Impulses of touching pairs of bodies, by a semismooth Newton method with Gauss-Seidel sweeps as safeguard.

The impulse p of a contact point with the speeds u (normal first) satisfies its conditions if p = q(p - r (u - bounce)).
The projection q limits the normal part to positive numbers, and the tangential part to the friction coefficient times
the normal part (Alart and Curnier 1991). Here r is any positive number; the argument of q decides whether a point
sticks, slides or is open. For these states, Newton's method gives new impulses c - S du that are linear in the change
du of the speeds. For a point that sticks, S is a large number R [kg] times the identity, and c = p - R (u - bounce).
The changes dV of the velocities of the bodies then satisfy

    (M + sum K^T S K) dV = sum K^T (c - p)

with the mass matrix M, and the matrix K of a point: du = K dV. Redundant points cause no difficulty, because the
unknowns are the velocities of the bodies, not the impulses.

If a Newton step increases the violation of the conditions, fractions of the step are tried; the first iterations always
make whole steps. If no point changes its state, and none slides, the matrix of the last iteration is used again. If
Newton's method does not converge soon, it continues with a smaller R, for which the impulses change less. After that,
iterations must reduce the sum of squared violations: R = r is increased after an iteration that does so; any other
iteration is undone, and R is reduced. After two undone iterations in succession, Gauss-Seidel sweeps over the points
follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.constraints.bounded_constraints import regularized
from linkwork.algorithms.contact_tolerances import QUICK_DECREASE, SETTLED_LATE
from linkwork.algorithms.rigid_contact import RigidContact
from linkwork.algorithms.solid_contact.body_responses import BLOCK
from linkwork.algorithms.solid_contact.contact_problem import NORMAL, ContactProblem, Guess, Violation
from linkwork.algorithms.solid_contact.friction_torques import SLOPE, TORQUES, within_limits
from linkwork.algorithms.solid_contact.linearized_contact import (
    SLOPES,
    PointArgument,
    PointSlope,
    PointState,
    limited_to_cone,
)
from linkwork.algorithms.solid_contact.rigid_pairs import ROWS, PairConditions, PairFrame, acting_at
from linkwork.algorithms.solid_contact.torques_of_pairs import (
    linearized_torque,
    predicted_torque,
    swept_pair_torque,
    torque_slope_of,
)
from linkwork.algorithms.solid_contact.touching_pairs import TouchingPairs, copied, zero_rows
from linkwork.model.solids import POINTS
from linkwork.spatial.row_arrays import RowArray, RowLayout, row_array
from linkwork.spatial.scalar import Array, Condition, Number, cross, ldlt, lookup, maximum, minimum, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import TINY_SIZE

ITERATIONS = 400  # largest number of iterations
# One row per iteration. The first two columns, without unit, are R and r multiplied by the trace [1/kg] of the inverse
# effective mass of a point. The third column is 1 if the iteration must reduce the violations; then R = r is adapted,
# and the table has its first value. After the last row, the rows from AGAIN on are repeated. At R = 1e8, errors due to
# a finite R and errors due to round-off are about equal.
SCHEDULE = np.array(
    [
        *[(1e8, 1.0, 0.0)] * 12,
        *[(1e4, 0.3, 0.0)] * 8, *[(1e8, 0.3, 0.0)] * 4,
        *[(1e3, 1.0, 0.0)] * 8, *[(1e8, 1.0, 0.0)] * 4,
        *[(1e3, 1e3, 1.0)] * 24,
    ]
)  # fmt: skip
AGAIN, DESCENT, END = 12.0, 36.0, 60.0  # rows: first repeated row, first row that must reduce violations, end
LATE = 12.0  # iterations after which `drifting` is the least tolerance, because drifts may contradict each other
LEAST, MOST = 1.0, 1e8  # limits of an adapted R, without unit as in SCHEDULE
# Factors of R after an iteration that reduced the violation to below 1 %, below 10 %, below 100 %, or did not reduce it
FAST, GOOD, SLOW, LOWERED = 100.0, 10.0, 3.0, 0.1
PATIENCE = 2  # after so many iterations in succession that do not reduce the violation, Gauss-Seidel sweeps follow
SWEEPS, MOST_SWEEPS = 2.0, 256  # first and largest number of Gauss-Seidel sweeps, which doubles each time
QUICK = 16.0  # sweeps after which further sweeps make smaller changes, which converge more reliably
# Row of a pair: impulses of its points, and the constant parts c of their new impulses; then the same of its torque
STEPS = RowLayout((POINTS, 3), (POINTS, 3))
TURNING_STEPS = RowLayout((POINTS, 3), (POINTS, 3), (TORQUES,), (TORQUES,))
FREE = 3.0  # number of first iterations that always make whole Newton steps
SHARES = np.array([[1.0], [0.4], [0.15], [0.05]])  # fractions of a Newton step, tried until the violation decreases
# Fraction of the tolerance that the violation must reach after an iteration with an old matrix, which converges only
# linearly
FINELY = 0.05


class Matrix(NamedTuple):
    """Factored matrix of a Newton iteration, which a later iteration may use again.

    `factors` are the LU factors of the `BodyEquations`, and `slopes` (rows with the layout SLOPES) the derivatives of
    the impulses from which they were computed. With rolling and spinning friction, the columns of SLOPE follow in each
    row. `fits` is 1 if the next iteration can use the matrix again.
    """

    factors: RowArray
    slopes: RowArray
    fits: Number

    @staticmethod
    def none(pairs: TouchingPairs) -> Matrix:
        """Return a `Matrix` with uninitialized numbers, which cannot be used again (`fits` = 0)."""
        count, size = pairs.responses.bodies, SLOPES.size + (SLOPE.size if pairs.turns else 0)
        return Matrix(row_array(count * count, BLOCK * BLOCK), row_array(pairs.count, size), 0.0)


class _Newton(NamedTuple):
    """State of the Newton iteration, after each iteration.

    p has the impulses (12,) of each pair as a row, and `others` (n,) are the impulses of other blocks. v has the
    velocities (6,) of the bodies after these impulses as rows, and u the speeds (12,) of each pair. `merit` [m^2/s^2]
    is the sum of the squared violations of the contact conditions. `best` and `best_others` are the impulses with the
    smallest merit so far; `least` is this merit, and `left` [m/s] the largest violation by the best impulses. `turn` is
    the current row of SCHEDULE.

    Three numbers belong to iterations that must reduce the merit: the number R, as in SCHEDULE; the number `failed` of
    such iterations in succession that did not reduce it; and the number `sweeps` of Gauss-Seidel sweeps to make next.
    The last three entries are those of a `Matrix`.
    """

    p: RowArray
    others: Array
    v: RowArray
    u: RowArray
    merit: Number
    best: RowArray
    best_others: Array
    least: Number
    left: Number
    turn: Number
    R: Number
    failed: Number
    sweeps: Number
    factors: RowArray
    slopes: RowArray
    fits: Number


class _Tried(NamedTuple):
    """Result of one Newton step.

    p has the impulses (12,) of each pair as a row, and `others` (n,) are the impulses of other blocks. v has the
    velocities (6,) of the bodies after these impulses as rows, and u the speeds (12,) of each pair. `violation` is the
    violation of the conditions by these impulses, and `matrix` the matrix of the step.
    """

    p: RowArray
    others: Array
    v: RowArray
    u: RowArray
    violation: Violation
    matrix: Matrix


class Solution(NamedTuple):
    """Result of Newton's method.

    p has the impulses (12,) of each pair as a row, and `others` (n,) are the impulses of other blocks. v has the
    velocities (6,) of the bodies after these impulses as rows. `left` [m/s] is the largest violation, `iterations` the
    number of iterations, and `matrix` the matrix of the last iteration.
    """

    p: RowArray
    others: Array
    v: RowArray
    left: Number
    iterations: Number
    matrix: Matrix


def newton_impulses(
    problem: ContactProblem, guess: Guess, enough: Number, drifting: Number, matrix: Matrix
) -> Solution:
    """Return the impulses that satisfy the contact conditions of a problem, by Newton's method.

    `guess` is returned if its violation is at most the tolerance `enough` [m/s]. The first iteration uses `matrix` if
    it fits. The drifts of redundant points that begin to stick can contradict each other, so that no impulses satisfy
    all conditions. Therefore, after LATE iterations, the tolerance is at least `drifting` [m/s], the largest drift with
    an upper limit.
    """
    pairs = problem.pairs

    def all_iterations(
        p: RowArray, q: Array, v: RowArray, u: RowArray, left: Number, _: Number, *matrix: Any
    ) -> tuple[tuple[Any, ...], Condition]:
        search = _Search(problem)
        best = copied(pairs, p, row_array(pairs.count, pairs.rows))

        def iteration(*state: Any) -> tuple[tuple[Any, ...], Condition]:
            before = _Newton(*state)
            after, late = search.improved(before), (before.turn >= LATE) | (before.R < MOST)
            wanted = enough * where(before.fits == 1.0, FINELY, 1.0)
            loose = enough * where(before.turn == END - 1.0, SETTLED_LATE, 1.0)
            return tuple(after), after.left <= where(late, maximum(loose, drifting), wanted)

        merit = guess.violation.squares
        first = _Newton(p, q, v, u, merit, best, q, merit, left, 0.0, MOST, 0.0, SWEEPS, *matrix)
        state, count, done = iterate(ITERATIONS, iteration, *first)
        found = _Newton(*state)

        def best_ones(p: RowArray, v: RowArray) -> tuple[tuple[Any, ...], Condition]:
            p = copied(pairs, found.best, p)
            return (p, problem.velocities(p, found.best_others, v)), True

        (p, v), _, _ = iterate(1, best_ones, found.p, found.v, start=~done)
        return (p, found.best_others, v, found.u, found.left, count + 0.0, *found[-3:]), True

    start = ~(guess.violation.largest <= enough)
    state = *guess[:4], guess.violation.largest, 0.0, *matrix
    p, q, v, _, left, count, *after = iterate(1, all_iterations, *state, start=start)[0]
    return Solution(p, q, v, left, count, Matrix(*after))


class _Search:
    """The Newton iterations of `newton_impulses`, with the data that are the same in all iterations."""

    def __init__(self, problem: ContactProblem):
        self.problem, self.pairs, self.others = problem, problem.pairs, problem.others
        self.equations = problem.equations

    def improved(self, now: _Newton) -> _Newton:
        """Return the state after one Newton iteration, and after Gauss-Seidel sweeps if PATIENCE iterations failed.

        `now` is the state before.
        """
        pairs, problem = self.pairs, self.problem
        descends, first = lookup(SCHEDULE, now.turn)[2] == 1.0, now.turn == DESCENT
        tried = self._newton_step(now, descends)
        p, q, v, u, (merit, largest), matrix = tried
        better, turn = merit < now.least, now.turn + 1.0
        (best,) = pairs.selection.visit(lambda k, best: (best.put(k, p.at(k), when=better),), now.best)
        best_q = where(better, q, now.best_others)
        factor = where(merit < 1e-4 * now.least, FAST, where(merit < 1e-2 * now.least, GOOD, SLOW))
        R = where(first, lookup(SCHEDULE, now.turn)[0], now.R)
        R = where(descends, where(better, minimum(R * factor, MOST), maximum(R * LOWERED, LEAST)), R)
        failed = where(better | ~descends, 0.0, now.failed + 1.0)
        least, left = where(better, merit, now.least), where(better, largest, now.left)
        sweeping, restores = failed >= PATIENCE, ~better & (descends | (turn == DESCENT))

        def restore(p: RowArray, v: RowArray, u: RowArray) -> tuple[tuple[Any, ...], Condition]:
            p = copied(pairs, best, p)
            v = problem.velocities(p, best_q, v)
            return (p, v, problem.violation(p, best_q, v, u, matrix.slopes)[0]), True

        (p, v, u), _, _ = iterate(1, restore, p, v, u, start=restores)
        q, merit = where(restores, best_q, q) if self.others.count else q, where(restores, least, merit)

        def sweep(p: RowArray, q: Array, v: RowArray, u: RowArray, best: RowArray, *_: Any) -> tuple[Any, Condition]:
            p, q, v = self._swept_often(p, q, v, now.sweeps)
            u, (merit, left), _ = problem.violation(p, q, v, u, matrix.slopes)
            return (p, q, v, u, copied(pairs, p, best), q, merit, left), True

        swept, _, _ = iterate(1, sweep, p, q, v, u, best, best_q, least, left, start=sweeping)
        p, q, v, u, best, best_q, least, left = swept
        merit = where(sweeping, least, merit)
        failed, turn = where(sweeping, 0.0, failed), where(turn == END, AGAIN, turn)
        sweeps = where(sweeping, minimum(now.sweeps * 2.0, MOST_SWEEPS), now.sweeps)
        return _Newton(p, q, v, u, merit, best, best_q, least, left, turn, R, failed, sweeps, *matrix)

    def _newton_step(self, now: _Newton, descends: Condition) -> _Tried:
        """Return the impulses of all pairs and other blocks, and their effects, after one step of Newton's method.

        If the whole step increases the violation, fractions of it are tried. Steps that must reduce the violation
        (`descends`) and the first FREE steps are always whole steps. `now` is the state before.
        """
        stiffness, decision, _ = lookup(SCHEDULE, now.turn)
        freely = descends | (now.turn < FREE)  # make the whole step, even if it increases the violation
        R = where(now.turn == DESCENT, stiffness, now.R)
        given = where(descends, R, decision), where(descends, R, stiffness)
        constants, slopes = self.others.linearized(now.others, self.others.speeds(now.v), *given)

        def renew(factors: RowArray, rows: RowArray) -> tuple[tuple[Any, ...], Condition]:
            factors, rows = self._linearized(now.p, now.u, *given, factors, rows)
            return (self.equations.factored(self._with_others(slopes, factors)), rows), True

        (factors, rows), _, _ = iterate(1, renew, now.factors, now.slopes, start=now.fits == 0.0)
        steps, sums = self._right_hand_side(now.p, now.u, given[0], rows)
        change = self.equations.solve(factors, self.others.add_wrenches(constants - now.others, sums))
        aim = self.others.stepped(constants, slopes, change)

        def attempt(
            turn: Number, p: RowArray, _q: Array, v: RowArray, u: RowArray, *_: Any
        ) -> tuple[tuple[Any, ...], Condition]:
            share = lookup(SHARES, turn)[0]
            p, wrenches = self._moved(steps, rows, change, share, p)
            q = self.others.admissible(now.others + (aim - now.others) * share)
            v = self.problem.after(self.others.add_wrenches(q, wrenches), v)
            u, violation, changed = self.problem.violation(p, q, v, u, rows)
            return (turn + 1.0, p, q, v, u, *violation, changed), (violation.squares < now.merit) | freely

        begin = 0.0, now.p, now.others, now.v, now.u, 0.0, 0.0, 0.0
        (_, p, q, v, u, merit, largest, changed), _, _ = iterate(len(SHARES), attempt, *begin)
        usual = [(row[0] == SCHEDULE[0, 0]) & (row[1] == SCHEDULE[0, 1]) for row in self._rows(now.turn)]
        quick = (now.fits == 0.0) | (merit <= QUICK_DECREASE * now.merit)
        fits = usual[0] & usual[1] & (changed == 0.0) & quick & ~descends
        again = where(fits, 1.0, 0.0) if self.others.count == 0 else 0.0
        return _Tried(p, q, v, u, Violation(merit, largest), Matrix(factors, rows, again))

    def _rows(self, turn: Number) -> tuple[Array, Array]:
        """Return the row number `turn` of SCHEDULE, and the next row."""
        return lookup(SCHEDULE, turn), lookup(SCHEDULE, turn + 1.0)

    def _with_others(self, slopes: Sequence[Array], blocks: RowArray) -> RowArray:
        """Return the blocks of the equations with the matrices S (6, 6) of the virtual bodies added.

        `slopes` are the matrices S that `OtherBlocks.linearized` returns.
        """
        count = self.equations.count
        for number, S in enumerate(slopes, count - len(slopes)):
            place = float(number * count + number)
            blocks = blocks.put(place, blocks.at(place) + S.reshape(-1))
        return blocks

    def _points(self, k: Number, p: RowArray, u: RowArray, decision: Number) -> tuple[PairFrame, list[PointArgument]]:
        """Return the contact frame of pair k, and impulse, speed error, projection argument y and state of each point.

        The speed error (3,) is the speed minus the required separation speed. p and u have the impulses and speeds
        (12,) of each pair as rows. `decision` is the number r in the row of SCHEDULE.
        """
        pairs = self.pairs
        frame, conditions, pushes = pairs.frame(k), pairs.pair_conditions(k), p.at(k)[:ROWS].reshape(POINTS, 3)
        speeds, traces = u.at(k)[:ROWS].reshape(POINTS, 3), pairs.compliance(k).traces
        found = []
        for j, push in enumerate(pushes):
            error = speeds[j] - conditions.bounce[j] * NORMAL
            y = push - error * (decision * (1.0 / (traces[j] + TINY_SIZE)))
            state = PointState.of(conditions.friction[j], y, frame.acts[j] > 0.0)
            found.append(PointArgument(push, error, y, state))
        return frame, found

    def _linearized(
        self, p: RowArray, u: RowArray, decision: Number, stiffness: Number, blocks: RowArray, slopes: RowArray
    ) -> tuple[RowArray, RowArray]:
        """Return the blocks of the equations for the velocities, and the derivatives of the impulses (rows SLOPES).

        p and u have the impulses and speeds (12,) of each pair as rows. `decision` and `stiffness` are the numbers r
        and R in the row of SCHEDULE. The results are written to `blocks` and `slopes`.
        """
        pairs, equations = self.pairs, self.equations

        def add(k: Number, blocks: RowArray, slopes: RowArray) -> tuple[RowArray, RowArray]:
            frame, points = self._points(k, p, u, decision)
            friction, traces, S = (
                pairs.pair_conditions(k).friction,
                pairs.compliance(k).traces,
                np.zeros((BLOCK, BLOCK)),
            )
            each, more = [], []
            for j, (_, _, y, state) in enumerate(points):
                mass = 1.0 / (traces[j] + TINY_SIZE)
                each.append(state.slope(friction[j], y, decision * mass, stiffness * mass))
                S = S + acting_at(each[j].in_axes(frame.axes[j]), frame.to_a + frame.arms[j])
            if pairs.turns:
                torque = linearized_torque(pairs, k, points, p, u, decision, stiffness)
                S, more = S + frame.torque_slope(torque.slope, [one.n for one in each]), torque.row()
            blocks = equations.with_pair(pairs.body_rows(k), S, frame.to_b - frame.to_a, blocks)
            return blocks, slopes.put(k, [*SLOPES.row(each, [state.number for *_, state in points]), *more])

        return pairs.selection.visit(add, equations.started(blocks), slopes)

    def _right_hand_side(
        self, p: RowArray, u: RowArray, decision: Number, slopes: RowArray
    ) -> tuple[RowArray, RowArray]:
        """Return rows of layout STEPS, and the wrench impulses of the differences c - p.

        A row of STEPS has the impulses p of a pair and the constant parts c of its new impulses. u has the speeds (12,)
        of each pair as a row, `decision` is the number r in the row of SCHEDULE, and `slopes` has rows with the layout
        SLOPES. The wrench impulses are a row array with one row (6,) per body, in world axes.
        """
        pairs = self.pairs

        def add(k: Number, steps: RowArray, sums: RowArray) -> tuple[RowArray, RowArray]:
            (frame, points), (each, _) = self._points(k, p, u, decision), SLOPES.parts(slopes.at(k))
            friction, before = pairs.pair_conditions(k).friction, p.at(k)
            predicted = np.concatenate(
                [
                    state.base(friction[j], push) - PointSlope(*each[j]).of(error)
                    for j, (push, error, _, state) in enumerate(points)
                ]
            )
            if not pairs.turns:
                sums = pairs.add_wrench(k, frame, predicted - before, sums)
                return steps.put(k, STEPS.row(before, predicted)), sums
            torque = predicted_torque(pairs, k, points, p, u, decision, slopes)
            sums = pairs.add_wrench(k, frame, np.concatenate([predicted, torque]) - before, sums)
            return steps.put(k, TURNING_STEPS.row(before[:ROWS], predicted, before[ROWS:], torque)), sums

        steps = row_array(pairs.count, (TURNING_STEPS if pairs.turns else STEPS).size)
        return pairs.selection.visit(add, steps, zero_rows(pairs.responses.bodies, BLOCK))

    def _moved(
        self, steps: RowArray, slopes: RowArray, change: RowArray, share: Number, p: RowArray
    ) -> tuple[RowArray, RowArray]:
        """Return the impulses of all pairs after the fraction `share` of a Newton step, and their wrenches on bodies.

        The impulses are limited to the friction cones. `steps` has rows STEPS, and `slopes` rows SLOPES. `change` has
        the changes of the velocities (6,) of the bodies by the whole step. The new impulses are written to the rows of
        p; the wrench impulses are a row array with one row (6,) per body.
        """
        pairs = self.pairs

        def move(k: Number, p: RowArray, wrenches: RowArray) -> tuple[RowArray, RowArray]:
            frame, friction = pairs.frame(k), pairs.pair_conditions(k).friction
            (before, predicted), (each, _) = STEPS.parts(steps.at(k)), SLOPES.parts(slopes.at(k))
            moved = pairs.speeds(k, frame, change)
            du, new = moved[:ROWS].reshape(POINTS, 3), []
            for j in range(POINTS):
                aim = predicted[j] - PointSlope(*each[j]).of(du[j])
                new.append(limited_to_cone(friction[j], before[j] + (aim - before[j]) * share))
            if pairs.turns:
                *_, torque, aim = TURNING_STEPS.parts(steps.at(k))
                less = sum((each[j][0] * du[j][0] for j in range(POINTS)), 0.0)
                aim = aim - torque_slope_of(slopes, k).of(moved[ROWS:], less)
                wanted = torque + (aim - torque) * share
                new.append(within_limits(pairs.turning(k), [one[0] for one in new], wanted))
            found = np.concatenate(new)
            return p.put(k, found), pairs.add_wrench(k, frame, found, wrenches)

        return pairs.selection.visit(move, p, zero_rows(pairs.responses.bodies, BLOCK))

    def _swept_often(self, p: RowArray, q: Array, v: RowArray, sweeps: Number) -> tuple[RowArray, Array, RowArray]:
        """Return impulses and velocities after several Gauss-Seidel sweeps over all contact points and other blocks.

        p has the impulses (12,) of each pair as a row, q (n,) are the impulses of other blocks, and v has the
        velocities (6,) of the bodies as rows. `sweeps` is the number of sweeps.
        """
        caution = where(sweeps > QUICK, 1.0, 0.0)

        def one(p: RowArray, q: Array, v: RowArray, count: Number) -> tuple[tuple[Any, ...], Condition]:
            p, v = self._swept(p, v, caution)
            if self.others.blocks:
                q = self.others.swept(q, self.problem.velocities(p, q, v), caution)
            return (p, q, self.problem.velocities(p, q, v), count + 1.0), count + 1.0 >= sweeps

        (p, q, v, _), _, _ = iterate(MOST_SWEEPS, one, p, q, v, 0.0)
        return p, q, v

    def _swept(self, p: RowArray, v: RowArray, caution: Number) -> tuple[RowArray, RowArray]:
        """Return impulses and velocities after one Gauss-Seidel sweep over all contact points.

        p has the impulses (12,) of each pair as a row, and v the velocities (6,) of the bodies. `caution` is the
        argument of `RigidContact.improved`.
        """
        pairs = self.pairs

        def improve(k: Number, p: RowArray, v: RowArray) -> tuple[RowArray, RowArray]:
            frame, conditions, C = pairs.frame(k), pairs.pair_conditions(k), pairs.compliance(k).C
            before = p.at(k)
            V = np.concatenate(pairs.relative_velocity(k, frame, v)[:2])
            total = np.zeros(BLOCK)
            found = []
            for j in range(POINTS):
                one, wrench = _improved(frame, conditions, C, j, before[3 * j : 3 * j + 3], V, caution)
                V, total = V + C @ wrench, total + wrench
                found.append(one)
            if pairs.turns:
                torque, change = swept_pair_torque(frame, conditions, C, [one[0] for one in found], before[ROWS:], V)
                found, total = [*found, torque], total + change
            return p.put(k, np.concatenate(found)), pairs.pushed_by(k, frame, (total[:3], total[3:]), v)

        return pairs.selection.visit(improve, p, v)


def _improved(
    frame: PairFrame, conditions: PairConditions, C: Array, j: int, p: Array, V: Array, caution: Number
) -> tuple[Array, Array]:
    """Return the new impulse (3,) of contact point j for fixed impulses of other points, and a resultant (6,).

    The resultant (6,) of the change of the impulse is its impulse [N s] and angular impulse [N m s] about the first
    point, in world axes. V (6,) is the relative velocity at the first point with the present impulse p (3,), and C (6,
    6) the compliance about the first point. `caution` is the argument of `RigidContact.improved`. `frame` and
    `conditions` are the geometry and the contact conditions of the pair.
    """
    D, arm, acts = frame.axes[j], frame.arms[j], frame.acts[j] > 0.0
    columns = [np.concatenate([d, cross(arm, d)]) for d in D.T]
    G = regularized(np.array([[a @ (C @ b) for b in columns] for a in columns]))
    u = np.array([column @ V for column in columns]) + conditions.drift[j]
    one = RigidContact(acts, np.zeros((3, 0)), np.zeros((0, 3)), conditions.friction[j], conditions.bounce[j])
    better = one.improved(G, ldlt(G), p, u, 0.0, caution)
    change = np.array([where(acts, x, 0.0) for x in better - p])
    push = D @ change
    return p + change, np.concatenate([push, cross(arm, push)])
