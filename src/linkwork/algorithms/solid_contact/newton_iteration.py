"""Impulses of touching pairs of separate bodies, by a semismooth Newton method with Gauss-Seidel sweeps as safeguard.

The impulse p of a contact point with the speeds u (normal first) satisfies its conditions if p = q(p - R (u - bounce)),
where q limits the normal part to positive numbers and the tangential part to the friction coefficient times the normal
part (Alart and Curnier 1991). R is positive. Linearized in the change du of the speeds, the new impulses are
q - R B du, and the changes dV of the velocities of bodies satisfy

    (M + sum K^T R B K) dV = sum K^T (q - p)

with the mass matrix M and du = K dV. If R is large, this is Newton's method for the present states (stick, slide, open)
of the points. A smaller R makes smaller changes. It is increased after each iteration that reduces the sum of squared
violations of the conditions. Otherwise the iteration is undone and R is reduced; if this happens twice in succession,
Gauss-Seidel sweeps over the points follow.

Redundant points share impulses without further care, because the unknowns are the velocities of the bodies.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.constraints.bounded_constraints import regularized
from linkwork.algorithms.rigid_contact import RigidContact
from linkwork.algorithms.solid_contact.body_equations import BLOCK, BodyEquations
from linkwork.algorithms.solid_contact.rigid_pairs import ROWS, PairConditions, PairFrame, acting_at, violations
from linkwork.algorithms.solid_contact.touching_pairs import TouchingPairs, copied, zero_rows
from linkwork.model.solids import POINTS
from linkwork.spatial.row_arrays import RowArray, RowLayout, row_array
from linkwork.spatial.scalar import Array, Condition, Number, cross, ldlt, maximum, minimum, where
from linkwork.spatial.traceable_loops import iterate, repeat
from linkwork.tolerances import TINY_SIZE

ITERATIONS = 400  # largest number of iterations
PATIENCE = 2  # iterations in succession that do not reduce the violation, before Gauss-Seidel sweeps
SWEEPS, MOST_SWEEPS = 2.0, 256  # Gauss-Seidel sweeps then: at first, and limit; their number doubles each time
QUICK = 16.0  # number of sweeps above which they make smaller moves, which converge more reliably
FIRST, LEAST, MOST = 1e3, 1.0, 1e8  # R times the mobility of the point: at first, and its limits
# Factors of R: after an iteration that reduced the violation to less than 1 %, 10 %, or less, or did not reduce it
FAST, GOOD, SLOW, LOWERED = 100.0, 10.0, 3.0, 0.1
SOFT = 1e-10  # fraction of the compliances of a body that is added to it, for directions in which it cannot move
# Of each pair: limited impulses q, and the distinct entries of R B of its points
LINEAR = RowLayout((POINTS, 3), (POINTS, 6))


class PointSlope(NamedTuple):
    """Derivative R B (3, 3) of the limited impulse of a point by its speeds.

    Its rows are (n, 0, 0), (c1, t11, t12), (c2, t12, t22).
    """

    n: Number
    c1: Number
    c2: Number
    t11: Number
    t12: Number
    t22: Number

    def of(self, u: Array) -> Array:
        """Return the change (3,) of the impulse for a change u (3,) of the speeds."""
        return np.array(
            [
                self.n * u[0],
                self.c1 * u[0] + self.t11 * u[1] + self.t12 * u[2],
                self.c2 * u[0] + self.t12 * u[1] + self.t22 * u[2],
            ]
        )

    def in_axes(self, D: Array) -> Array:
        """Return the derivative (3, 3) in the axes in which the columns of D (3, 3) are the axes of the point."""
        return np.column_stack([D @ self.of(row) for row in D])


def limited(friction: Number, y: Array, R: Number, acts: Condition) -> tuple[Array, PointSlope]:
    """Return the impulse (3,) nearest to y = p - R (u - bounce) within the limits, and the derivative R B by -u."""
    pushes = (y[0] > 0.0) & acts
    normal = where(pushes, y[0], 0.0)
    along = np.sqrt(y[1] * y[1] + y[2] * y[2])
    limit = friction * normal
    slides = ~(along < limit)
    size = maximum(along, TINY_SIZE)
    e1, e2 = y[1] / size, y[2] / size
    scale = where(slides, limit / size, 1.0)
    open_or = where(pushes, R, 0.0)
    couple = where(slides, friction * open_or, 0.0)
    tangent = scale * open_or
    radial = where(slides, tangent, 0.0)
    slope = PointSlope(
        open_or, couple * e1, couple * e2, tangent - radial * e1 * e1, -radial * e1 * e2, tangent - radial * e2 * e2
    )
    return np.array([normal, y[1] * scale, y[2] * scale]), slope


class _Newton(NamedTuple):
    """State between iterations: impulses `p` of the pairs, velocities `v` of the bodies with them, violations, and R.

    `merit` is the root of the sum of squared violations [m/s], and `left` the largest violation. `failed` is the number
    of iterations in succession that did not reduce `merit`, and `sweeps` the number of the next sweeps.
    """

    p: RowArray
    v: RowArray
    merit: Number
    left: Number
    R: Number
    failed: Number
    sweeps: Number


def newton_impulses(
    pairs: TouchingPairs, free: RowArray, guess: RowArray, enough: Number, start: Condition
) -> tuple[RowArray, Number, Number]:
    """Return impulses of all touching pairs, the largest violation [m/s], and the number of iterations.

    `free` are the velocities of the bodies without impulses, `guess` is a first guess of the impulses, and `enough`
    [m/s] the tolerance. If the condition `start` is false, the guess is returned.
    """

    def all_iterations(p: RowArray, *_: Any) -> tuple[tuple[Any, ...], Condition]:
        search = _Search(pairs, free, enough)
        v = pairs.body_velocities(free, p)
        state, count, _ = iterate(
            ITERATIONS, search.iteration, *_Newton(p, v, *violation(pairs, p, v), FIRST, 0.0, SWEEPS)
        )
        found = _Newton(*state)
        return (found.p, found.left, count + 0.0), True

    (p, left, count), _, _ = iterate(1, all_iterations, guess, 0.0, 0.0, start=start)
    return p, left, count


def violation(pairs: TouchingPairs, p: RowArray, v: RowArray) -> tuple[Number, Number]:
    """Return the root of the sum of squared violations [m/s] of the conditions of all points, and the largest one."""

    def add(k: Number, total: Number, left: Number) -> tuple[Number, Number]:
        frame, conditions, eases = pairs.frame(k), pairs.pair_conditions(k), pairs.compliance(k).traces
        u = pairs.speeds(k, frame, v) + conditions.drift.reshape(ROWS)
        for x in violations(frame, conditions, eases, p.at(k), u):
            total, left = total + x * x, maximum(left, x)
        return total, left

    total, left = pairs.selection.visit(add, 0.0, 0.0)
    return np.sqrt(total), left


class _Search:
    """The iterations of `newton_impulses`, and what does not change in them."""

    def __init__(self, pairs: TouchingPairs, free: RowArray, enough: Number):
        self.pairs, self.free, self.enough = pairs, free, enough
        self.equations = BodyEquations.of(pairs)
        responses = pairs.responses

        def inertia(b: Number, rows: RowArray) -> tuple[RowArray]:
            C = responses.compliance(b)
            C = C + np.diag([C[i, i] * SOFT + TINY_SIZE for i in range(BLOCK)])
            return (rows.put(b, ldlt(C).matrix().reshape(-1)),)

        (self.inertias,) = self.equations.bodies.visit(inertia, row_array(responses.bodies, BLOCK * BLOCK))

    def iteration(self, *state: Any) -> tuple[tuple[Any, ...], Condition]:
        """Make one Newton step if it reduces the violation. If such steps failed repeatedly, make sweeps."""
        now, pairs = _Newton(*state), self.pairs
        linear, blocks, sums = self._linearized(now.p, now.v, now.R)
        trial = self._step(linear, self.equations.solve(blocks, sums))
        v_trial = pairs.body_velocities(self.free, trial)
        merit, left = violation(pairs, trial, v_trial)
        better = merit < now.merit

        def accept(p: RowArray, v: RowArray) -> tuple[tuple[Any, ...], Condition]:
            (v,) = repeat(v.count, lambda b, v: (v.put(b, v_trial.at(b)),), v)
            return (copied(pairs, trial, p), v), True

        def sweep(p: RowArray, v: RowArray, *_: Any) -> tuple[tuple[Any, ...], Condition]:
            caution = where(now.sweeps > QUICK, 1.0, 0.0)

            def one(p: RowArray, v: RowArray, count: Number) -> tuple[tuple[Any, ...], Condition]:
                return (*self._swept(p, v, caution), count + 1.0), count + 1.0 >= now.sweeps

            (p, v, _), _, _ = iterate(MOST_SWEEPS, one, p, v, 0.0)
            return (p, v, *violation(pairs, p, v)), True

        (p, v), _, _ = iterate(1, accept, now.p, now.v, start=better)
        failed = where(better, 0.0, now.failed + 1.0)
        merit, left = where(better, merit, now.merit), where(better, left, now.left)
        factor = where(merit < 0.01 * now.merit, FAST, where(merit < 0.1 * now.merit, GOOD, SLOW))
        R = where(better, minimum(now.R * factor, MOST), maximum(now.R * LOWERED, LEAST))
        (p, v, merit, left), _, _ = iterate(1, sweep, p, v, merit, left, start=failed >= PATIENCE)
        sweeps = where(failed >= PATIENCE, minimum(now.sweeps * 2.0, MOST_SWEEPS), now.sweeps)
        after = _Newton(p, v, merit, left, R, where(failed >= PATIENCE, 0.0, failed), sweeps)
        return tuple(after), left <= self.enough

    def _linearized(self, p: RowArray, v: RowArray, R: Number) -> tuple[RowArray, RowArray, RowArray]:
        """Return the rows LINEAR of all pairs at the impulses p, and the blocks and right-hand sides."""
        pairs, equations, count = self.pairs, self.equations, self.equations.count
        blocks = equations.cleared(row_array(count * count, BLOCK * BLOCK), self.inertias)

        def add(k: Number, linear: RowArray, blocks: RowArray, sums: RowArray) -> tuple[Any, ...]:
            frame, conditions, pushes = pairs.frame(k), pairs.pair_conditions(k), p.at(k).reshape(POINTS, 3)
            u = (pairs.speeds(k, frame, v) + conditions.drift.reshape(ROWS)).reshape(POINTS, 3)
            traces = pairs.compliance(k).traces
            q, slopes, S = [], [], np.zeros((BLOCK, BLOCK))
            for j in range(POINTS):
                each = R / (traces[j] + TINY_SIZE)
                normal = pushes[j][0] - each * (u[j][0] - conditions.bounce[j])
                y = np.array([normal, *(pushes[j][1:] - each * u[j][1:])])
                one, slope = limited(conditions.friction[j], y, each, frame.acts[j] > 0.0)
                q.append(one)
                slopes.append(slope)
                S = S + acting_at(slope.in_axes(frame.axes[j]), frame.arms[j])
            sums = pairs.add_wrench(k, frame, np.concatenate(q) - p.at(k), sums)
            return linear.put(k, LINEAR.row(q, slopes)), self._coupled(k, frame, S, blocks), sums

        linear, blocks, sums = pairs.selection.visit(
            add, row_array(pairs.count, LINEAR.size), blocks, zero_rows(count, BLOCK)
        )
        return linear, blocks, sums

    def _coupled(self, k: Number, frame: PairFrame, S: Array, blocks: RowArray) -> RowArray:
        """Return the blocks with those of pair k added, from its matrix S (6, 6) about the first point."""
        count, rows = self.equations.count, self.pairs.body_rows(k)
        ends = list(zip(rows, (frame.to_a, frame.to_b), strict=True))
        for column, offset in ends:
            right = _shifted(S, offset)
            for row, other in ends:
                one = _shifted(right.T, other).T.reshape(-1)
                place = row * count + column
                blocks = blocks.put(place, blocks.at(place) + (one if row is column else -one))
        return blocks

    def _step(self, linear: RowArray, change: RowArray) -> RowArray:
        """Return the impulses after changes of the velocities of the bodies, from the linearized limits."""
        pairs = self.pairs

        def move(k: Number, p: RowArray) -> tuple[RowArray]:
            frame, friction = pairs.frame(k), pairs.pair_conditions(k).friction
            q, slopes = LINEAR.parts(linear.at(k))
            du, found = pairs.speeds(k, frame, change).reshape(POINTS, 3), []
            for j in range(POINTS):
                one = q[j] - PointSlope(*slopes[j]).of(du[j])
                normal = maximum(one[0], 0.0)
                along = np.sqrt(one[1] * one[1] + one[2] * one[2])
                limit = friction[j] * normal
                scale = where(along > limit, limit / maximum(along, TINY_SIZE), 1.0)
                found += [normal, one[1] * scale, one[2] * scale]
            return (p.put(k, found),)

        (p,) = pairs.selection.visit(move, row_array(pairs.count, ROWS))
        return p

    def _swept(self, p: RowArray, v: RowArray, caution: Number) -> tuple[RowArray, RowArray]:
        """Return the impulses and velocities after a Gauss-Seidel sweep over all points."""
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

        p, v = pairs.selection.visit(improve, p, v)
        return p, pairs.body_velocities(self.free, p)


def _improved(
    frame: PairFrame, conditions: PairConditions, C: Array, j: int, p: Array, V: Array, caution: Number
) -> tuple[Array, Array]:
    """Return the impulse (3,) of point j with the others fixed, and the impulse and angular impulse (6,) of its change.

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


def _shifted(S: Array, offset: Array) -> Array:
    """Return a matrix S (6, 6) for velocities about a point, as one for velocities about the point minus `offset`."""
    turned = [S[i, 3:] + cross(offset, S[i, :3]) for i in range(BLOCK)]
    return np.concatenate([S[:, :3], np.array(turned)], axis=1)
