"""Impulses of touching pairs of bodies, by a semismooth Newton method with Gauss-Seidel sweeps as safeguard.

The impulse p of a contact point with the speeds u (normal first) satisfies its conditions if p = q(p - r (u - bounce)),
where q limits the normal part to positive numbers and the tangential part to the friction coefficient times the normal
part (Alart and Curnier 1991). Here r is any positive number; the argument of q decides which points stick, slide or are
open. For these states, Newton's method gives new impulses c - S du that are linear in the change du of the speeds. For
a point that sticks, S is a large stiffness R times the identity, and c = p - R (u - bounce). The changes dV of the
velocities of the bodies then satisfy

    (M + sum K^T S K) dV = sum K^T (c - p)

with the mass matrix M and du = K dV. Redundant points cause no difficulty, because the unknowns are the velocities of
the bodies, not the impulses.

The violation of the conditions may increase before the states of all points are found. If Newton's method does not
converge soon, it continues with a smaller R, which makes smaller changes, and then with iterations that must reduce the
sum of squared violations: R = r is increased after each iteration that does so; any other iteration is undone, and R is
reduced. After two undone iterations in succession, Gauss-Seidel sweeps over the points follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.constraints.bounded_constraints import regularized
from linkwork.algorithms.rigid_contact import RigidContact
from linkwork.algorithms.solid_contact.body_equations import BodyEquations
from linkwork.algorithms.solid_contact.body_responses import BLOCK
from linkwork.algorithms.solid_contact.constraint_blocks_beside_solids import OtherBlocks
from linkwork.algorithms.solid_contact.linearized_contact import PointSlope, limited_to_cone, linearized
from linkwork.algorithms.solid_contact.rigid_pairs import ROWS, PairConditions, PairFrame, acting_at, violations
from linkwork.algorithms.solid_contact.touching_pairs import TouchingPairs, copied, zero_rows
from linkwork.model.solids import POINTS
from linkwork.spatial.row_arrays import RowArray, RowLayout, row_array
from linkwork.spatial.scalar import Array, Condition, Number, cross, ldlt, lookup, maximum, minimum, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import TINY_SIZE

ITERATIONS = 400  # largest number of iterations
# One row per iteration: R and r times the trace of the inverse effective mass of a point, and 1 if the iteration must
# reduce the violations; then R = r is adapted, and R here is its first value. After the last row, the rows from AGAIN
# on are repeated. Errors due to a finite R and due to round-off are about equal at R = 1e8.
SCHEDULE = np.array(
    [
        *[(1e8, 1.0, 0.0)] * 12,
        *[(1e4, 0.3, 0.0)] * 8, *[(1e8, 0.3, 0.0)] * 4,
        *[(1e3, 1.0, 0.0)] * 8, *[(1e8, 1.0, 0.0)] * 4,
        *[(1e3, 1e3, 1.0)] * 24,
    ]
)  # fmt: skip
AGAIN, DESCENT, END = 12.0, 36.0, 60.0
LATE = 12.0  # iterations after which contradictory drifts are accepted
LEAST, MOST = 1.0, 1e8  # limits of an adapted R
# Factors of R: after an iteration that reduced the violation to less than 1 %, 10 %, or less, or did not reduce it
FAST, GOOD, SLOW, LOWERED = 100.0, 10.0, 3.0, 0.1
PATIENCE = 2  # iterations in succession that do not reduce the violation, before Gauss-Seidel sweeps
SWEEPS, MOST_SWEEPS = 2.0, 256  # Gauss-Seidel sweeps then: at first, and limit; their number doubles each time
QUICK = 16.0  # number of sweeps above which they make smaller moves, which converge more reliably
# Of each pair: constant parts c of the new impulses, and the distinct entries of S of its points
LINEAR = RowLayout((POINTS, 3), (POINTS, 6))


class _Newton(NamedTuple):
    """State of the Newton iteration: impulses `p` of the pairs and `others` (n,), and the velocities `v` after them.

    `best` and `best_others` are the best impulses so far. For them, `merit` [m^2/s^2] is the sum of the squared
    violations of the contact conditions, and `left` [m/s] the largest violation. `turn` is the number of the current
    row of SCHEDULE. The other numbers belong to iterations that must reduce `merit`: the stiffness R, the number
    `failed` of such iterations in succession that did not reduce it, and the number `sweeps` of Gauss-Seidel sweeps to
    make next.
    """

    p: RowArray
    others: Array
    v: RowArray
    best: RowArray
    best_others: Array
    merit: Number
    left: Number
    turn: Number
    R: Number
    failed: Number
    sweeps: Number


class ContactProblem(NamedTuple):
    """Touching `pairs` and `others`, other blocks of constraint rows, whose impulses are to be found together.

    `equations` are those of the bodies, and `free` the velocities of the bodies without impulses. The residuals of the
    blocks are multiplied by `scales`.
    """

    pairs: TouchingPairs
    equations: BodyEquations
    others: OtherBlocks
    free: RowArray
    scales: Sequence[Number]

    def velocities(self, p: RowArray, others: Array, v: RowArray | None = None) -> RowArray:
        """Return the velocities of the bodies with impulses p of the pairs and `others` (n,) of the other blocks.

        They are written to the rows of `v` if it is given.
        """
        return self.after(self.wrenches(p, others), v)

    def after(self, wrenches: RowArray, v: RowArray | None = None) -> RowArray:
        """Return the velocities of the bodies after `wrenches`, written to the rows of `v` if it is given."""
        responses = self.pairs.responses
        v = responses.fixed_rows(row_array(responses.bodies, BLOCK)) if v is None else v
        return responses.changed(self.free, wrenches, v)

    def wrenches(self, p: RowArray, others: Array) -> RowArray:
        """Return the wrenches on the bodies, one row (6,) each, of impulses p of the pairs and `others` (n,)."""
        return self.others.add_wrenches(others, self.pairs.wrenches(p))

    def violation(self, p: RowArray, others: Array, v: RowArray) -> Violation:
        """Return the violation of all conditions by the impulses p of the pairs and `others` (n,).

        v are the velocities of the bodies with these impulses.
        """
        pairs = self.pairs

        def add(k: Number, total: Number, largest: Number) -> tuple[Number, Number]:
            frame, conditions, eases = pairs.frame(k), pairs.pair_conditions(k), pairs.compliance(k).traces
            u = pairs.speeds(k, frame, v) + conditions.drift.reshape(ROWS)
            return Violation(total, largest).joined(violations(frame, conditions, eases, p.at(k), u))

        found = Violation(*pairs.selection.visit(add, 0.0, 0.0))
        return found.joined(self.others.violations(others, self.others.speeds(v), self.scales))


class Violation(NamedTuple):
    """Violation of contact conditions: the sum of the squared violations [m^2/s^2], and the largest violation [m/s]."""

    squares: Number
    largest: Number

    def joined(self, more: Sequence[Number]) -> Violation:
        """Return the violation with those of `more` conditions [m/s] included."""
        squares, most = self
        for x in more:
            squares, most = squares + x * x, maximum(most, x)
        return Violation(squares, most)


class Guess(NamedTuple):
    """Impulses to begin with: `p` of the pairs, and `others` (n,); `v` are the velocities of the bodies with them."""

    p: RowArray
    others: Array
    v: RowArray
    violation: Violation


def newton_impulses(
    problem: ContactProblem, guess: Guess, enough: Number, drifting: Number
) -> tuple[RowArray, Array, RowArray, Number, Number]:
    """Return impulses, velocities of the bodies, the largest violation [m/s], and the iteration count.

    The impulses are those of all touching pairs and of other blocks. `enough` [m/s] is the tolerance. The drifts of
    redundant points that begin to stick in this pass can contradict each other, so that no impulses satisfy all
    conditions: after `LATE` iterations, the largest drift `drifting` [m/s] is the tolerance. If the guess is good
    enough, it is returned.
    """
    pairs = problem.pairs

    def all_iterations(p: RowArray, q: Array, v: RowArray, *_: Any) -> tuple[tuple[Any, ...], Condition]:
        search = _Search(problem)
        best = copied(pairs, p, row_array(pairs.count, ROWS))

        def iteration(*state: Any) -> tuple[tuple[Any, ...], Condition]:
            before = _Newton(*state)
            after, late = search.improved(before), (before.turn >= LATE) | (before.R < MOST)
            return tuple(after), after.left <= where(late, maximum(enough, drifting), enough)

        merit, left = guess.violation
        first = _Newton(p, q, v, best, q, merit, left, 0.0, MOST, 0.0, SWEEPS)
        state, count, done = iterate(ITERATIONS, iteration, *first)
        found = _Newton(*state)

        def best_ones(p: RowArray, v: RowArray) -> tuple[tuple[Any, ...], Condition]:
            p = copied(pairs, found.best, p)
            return (p, problem.velocities(p, found.best_others, v)), True

        (p, v), _, _ = iterate(1, best_ones, found.p, found.v, start=~done)
        return (p, found.best_others, v, found.left, count + 0.0), True

    start = ~(guess.violation.largest <= enough)
    found, _, _ = iterate(1, all_iterations, *guess[:3], guess.violation.largest, 0.0, start=start)
    return found


class _Search:
    """The Newton iterations of `newton_impulses`, with the data that are the same in all iterations."""

    def __init__(self, problem: ContactProblem):
        self.problem, self.pairs, self.others = problem, problem.pairs, problem.others
        self.equations = problem.equations

    def improved(self, now: _Newton) -> _Newton:
        """Return the state after a Newton iteration, and after sweeps if such iterations failed repeatedly."""
        pairs, problem = self.pairs, self.problem
        descends, first = lookup(SCHEDULE, now.turn)[2] == 1.0, now.turn == DESCENT
        p, q, wrenches = self._newton_step(now, descends)
        v = problem.after(wrenches, now.v)
        merit, left = problem.violation(p, q, v)
        better, turn = merit < now.merit, now.turn + 1.0
        (best,) = pairs.selection.visit(lambda k, best: (best.put(k, p.at(k), when=better),), now.best)
        best_q = where(better, q, now.best_others)
        factor = where(merit < 1e-4 * now.merit, FAST, where(merit < 1e-2 * now.merit, GOOD, SLOW))
        R = where(first, lookup(SCHEDULE, now.turn)[0], now.R)
        R = where(descends, where(better, minimum(R * factor, MOST), maximum(R * LOWERED, LEAST)), R)
        failed = where(better | ~descends, 0.0, now.failed + 1.0)
        merit, left = where(better, merit, now.merit), where(better, left, now.left)

        def undo(p: RowArray, q: Array, v: RowArray) -> tuple[tuple[Any, ...], Condition]:
            p, q = copied(pairs, best, p), best_q
            return (p, q, problem.velocities(p, q, v)), True

        (p, q, v), _, _ = iterate(1, undo, p, q, v, start=~better & (descends | (turn == DESCENT)))
        sweeping = failed >= PATIENCE

        def sweep(p: RowArray, q: Array, v: RowArray, best: RowArray, *_: Any) -> tuple[tuple[Any, ...], Condition]:
            p, q, v = self._swept_often(p, q, v, now.sweeps)
            return (p, q, v, copied(pairs, p, best), q, *problem.violation(p, q, v)), True

        swept, _, _ = iterate(1, sweep, p, q, v, best, best_q, merit, left, start=sweeping)
        p, q, v, best, best_q, merit, left = swept
        failed, turn = where(sweeping, 0.0, failed), where(turn == END, AGAIN, turn)
        sweeps = where(sweeping, minimum(now.sweeps * 2.0, MOST_SWEEPS), now.sweeps)
        return _Newton(p, q, v, best, best_q, merit, left, turn, R, failed, sweeps)

    def _newton_step(self, now: _Newton, descends: Condition) -> tuple[RowArray, Array, RowArray]:
        """Return the impulses of all pairs and other blocks after one step of Newton's method, and their wrenches."""
        stiffness, decision, _ = lookup(SCHEDULE, now.turn)
        R = where(now.turn == DESCENT, stiffness, now.R)
        given = where(descends, R, decision), where(descends, R, stiffness)
        linear, blocks, sums = self._linearized(now.p, now.v, *given)
        constants, slopes = self.others.linearized(now.others, self.others.speeds(now.v), *given)
        sums = self.others.add_wrenches(constants - now.others, sums)
        blocks = self._with_others(slopes, blocks)
        change = self.equations.solve(blocks, sums)
        p, wrenches = self._step(linear, change, now.p)
        q = self.others.stepped(constants, slopes, change)
        return p, q, self.others.add_wrenches(q, wrenches)

    def _with_others(self, slopes: Sequence[Array], blocks: RowArray) -> RowArray:
        """Return the blocks of the equations with the derivatives of the other blocks of constraint rows added."""
        count = self.equations.count
        for number, S in enumerate(slopes, count - len(slopes)):
            place = float(number * count + number)
            blocks = blocks.put(place, blocks.at(place) + S.reshape(-1))
        return blocks

    def _linearized(
        self, p: RowArray, v: RowArray, decision: Number, stiffness: Number
    ) -> tuple[RowArray, RowArray, RowArray]:
        """Return the linearized contact conditions of all pairs (rows of LINEAR), and the equations for the velocities.

        The equations are their blocks and right-hand sides.
        """
        pairs, equations, count = self.pairs, self.equations, self.equations.count
        blocks = equations.started(row_array(count * count, BLOCK * BLOCK))

        def add(k: Number, linear: RowArray, blocks: RowArray, sums: RowArray) -> tuple[Any, ...]:
            frame, conditions, pushes = pairs.frame(k), pairs.pair_conditions(k), p.at(k).reshape(POINTS, 3)
            u = (pairs.speeds(k, frame, v) + conditions.drift.reshape(ROWS)).reshape(POINTS, 3)
            traces = pairs.compliance(k).traces
            constants, slopes, S = [], [], np.zeros((BLOCK, BLOCK))
            for j in range(POINTS):
                error = u[j] - np.array([conditions.bounce[j], 0.0, 0.0])
                mass, acts = 1.0 / (traces[j] + TINY_SIZE), frame.acts[j] > 0.0
                c, slope = linearized(conditions.friction[j], pushes[j], error, decision * mass, stiffness * mass, acts)
                constants.append(c)
                slopes.append(slope)
                S = S + acting_at(slope.in_axes(frame.axes[j]), frame.to_a + frame.arms[j])
            sums = pairs.add_wrench(k, frame, np.concatenate(constants) - p.at(k), sums)
            blocks = equations.with_pair(pairs.body_rows(k), S, frame.to_b - frame.to_a, blocks)
            return linear.put(k, LINEAR.row(constants, slopes)), blocks, sums

        linear, blocks, sums = pairs.selection.visit(
            add, row_array(pairs.count, LINEAR.size), blocks, zero_rows(count, BLOCK)
        )
        return linear, blocks, sums

    def _step(self, linear: RowArray, change: RowArray, p: RowArray) -> tuple[RowArray, RowArray]:
        """Return the impulses p after changes of the velocities of the bodies, limited to the friction cones.

        The second result are the wrenches of these impulses on the bodies.
        """
        pairs = self.pairs

        def move(k: Number, p: RowArray, wrenches: RowArray) -> tuple[RowArray, RowArray]:
            frame, friction = pairs.frame(k), pairs.pair_conditions(k).friction
            constants, slopes = LINEAR.parts(linear.at(k))
            du = pairs.speeds(k, frame, change).reshape(POINTS, 3)
            each = [constants[j] - PointSlope(*slopes[j]).of(du[j]) for j in range(POINTS)]
            new = np.concatenate([limited_to_cone(friction[j], each[j]) for j in range(POINTS)])
            return p.put(k, new), pairs.add_wrench(k, frame, new, wrenches)

        return pairs.selection.visit(move, p, zero_rows(pairs.responses.bodies, BLOCK))

    def _swept_often(self, p: RowArray, q: Array, v: RowArray, sweeps: Number) -> tuple[RowArray, Array, RowArray]:
        """Return impulses and velocities after several Gauss-Seidel sweeps over all contact points and other blocks."""
        caution = where(sweeps > QUICK, 1.0, 0.0)

        def one(p: RowArray, q: Array, v: RowArray, count: Number) -> tuple[tuple[Any, ...], Condition]:
            p, v = self._swept(p, v, caution)
            if self.others.blocks:
                q = self.others.swept(q, self.problem.velocities(p, q, v), caution)
            return (p, q, self.problem.velocities(p, q, v), count + 1.0), count + 1.0 >= sweeps

        (p, q, v, _), _, _ = iterate(MOST_SWEEPS, one, p, q, v, 0.0)
        return p, q, v

    def _swept(self, p: RowArray, v: RowArray, caution: Number) -> tuple[RowArray, RowArray]:
        """Return impulses and velocities after one Gauss-Seidel sweep over all contact points."""
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
            return p.put(k, np.concatenate(found)), pairs.pushed_by(k, frame, (total[:3], total[3:]), v)

        return pairs.selection.visit(improve, p, v)


def _improved(
    frame: PairFrame, conditions: PairConditions, C: Array, j: int, p: Array, V: Array, caution: Number
) -> tuple[Array, Array]:
    """Return the new impulse (3,) of contact point j for fixed others, and the resultant (6,) of its change.

    V (6,) is the relative velocity at the first point with the present impulse p (3,), and C (6, 6) the compliance.
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
