"""Constraint rows with bounded impulses.

The impulses of clutches, brakes and ratchets are in intervals (`Box`). The impulses of rolling and spinning friction
are bounded in length (`Ball`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.algorithms.constraints.admissible_sets import clipped, excess, into_ball, length
from linkwork.algorithms.constraints.constraint_tolerances import ADDED_INVERSE_MASS
from linkwork.spatial.scalar import LDLT, Array, Number, Value, largest, ldlt, maximum, where
from linkwork.tolerances import TINY_SIZE

STEPS = 4  # projected-gradient iterations in one visit to a block whose impulse is at its bound


@dataclass(frozen=True, eq=False)
class Box:
    """Constraint rows K (k, nv) of clutches, brakes and ratchets, with the impulse of each row in a given interval.

    The intervals from `lower` (k,) to `upper` (k,) [N m s or N s] contain zero. W (nv, k) are the velocity changes due
    to unit impulses. The impulse of a row that is not `engaged` (k,) is zero. `free` (k,) is the inverse effective mass
    of each row without the other constraints; fractions of it regularize redundant rows.
    """

    K: Array
    W: Array
    lower: Sequence[Number]
    upper: Sequence[Number]
    engaged: Sequence[Any]
    free: Sequence[Number]
    acts = True
    bounce = 0.0
    drift = 0.0
    remembered = False
    same_units = False

    @property
    def inverse_mass(self) -> Array:
        """Inverse effective mass (k, k) of the rows: the change of their slip speeds per unit impulse, K W.

        A fraction of `free` is added to the diagonal, so that the matrix can be factored.
        """
        return self.K @ self.W + np.diag([x * ADDED_INVERSE_MASS + TINY_SIZE for x in self.free])

    def with_bounce(self, _: Number) -> Box:
        """Return this block itself, because clutches, brakes and ratchets have no restitution."""
        return self

    def weights(self, G: Array) -> Array:
        """Return factors (k,) that make impulses of rows comparable: square roots of the diagonal of `inverse_mass`.

        G (k, k) is the inverse effective mass: the change of the slip speeds per unit impulse.
        """
        return np.array([np.sqrt(G[k, k]) for k in range(len(G))])

    def stopping(self, G: Array, u: Array) -> Array:
        """Return the magnitudes (k,) of the impulses of the rows, each of which would stop its row if it acted alone.

        The magnitude is limited to the bounds of the row. G (k, k) is the inverse effective mass of the rows, and u
        (k,) are their slip speeds.
        """
        each = zip(u, np.diag(G), self.bounds(), strict=True)
        return np.array([abs(clipped(-w / g, low, high)) for w, g, (low, high) in each])

    def limit(self, _: Sequence[Array]) -> Number:
        """Return 0, because the impulse intervals of a box do not depend on the impulses of other blocks."""
        return 0.0

    def bounds(self) -> list[tuple[Number, Number]]:
        """Return the impulse interval (lower, upper) of each of the k rows; (0, 0) if the row is not engaged."""
        rows = zip(self.engaged, self.lower, self.upper, strict=True)
        return [(where(on, low, 0.0), where(on, high, 0.0)) for on, low, high in rows]

    def residual(self, G: Array, p: Array, u: Array, _: Number) -> Number:
        """Return the largest speed [rad/s or m/s] by which a row violates its complementarity condition.

        A row satisfies this condition if it sticks, u = 0, or if it slips against an impulse at a bound. The rows have
        the impulses p (k,), the speeds u (k,) and the inverse effective mass G (k, k).
        """
        each = zip(np.diag(G), p, u, self.bounds(), strict=True)
        return largest(np.array([clipped(-w / g, low - x, high - x) * g for g, x, w, (low, high) in each]))

    def improved(self, G: Array, _: LDLT, p: Array, u: Array, limit: Number, caution: Number) -> Array:
        """Return the impulses (k,) after one active-set iteration followed by a projected Gauss-Seidel sweep.

        p (k,) are the impulses before, u (k,) the slip speeds at p, and G (k, k) is the inverse effective mass. A
        Gauss-Seidel sweep solves each row exactly with the others fixed; it always reduces the energy error. The
        active-set iteration solves all sticking rows at once. If `caution` is 1, only the sweep is used. `limit` is not
        used, because the intervals do not depend on other blocks.
        """
        swept = self._swept(G, p, u)
        if len(p) == 1:
            return swept
        active = self._active_set(G, p, u)
        return where(caution == 1.0, swept, self._swept(G, active, u + G @ (active - p)))

    def _swept(self, G: Array, p: Array, u: Array) -> Array:
        """Return the impulses (k,) after a projected Gauss-Seidel sweep from impulses p (k,) with slip speeds u (k,).

        G (k, k) is the inverse effective mass of the rows.
        """
        after = list(p)
        for i, (low, high) in enumerate(self.bounds()):
            after[i] = clipped(p[i] - u[i] / G[i, i], low, high)
            u = u + G[:, i] * (after[i] - p[i])
        return np.array(after)

    def sticking(self, p: Array) -> list[Number]:
        """Return 1 for each row that sticks, and 0 for the others; one number for each of the k rows.

        A row sticks if it is engaged and its entry of the impulses p (k,) is strictly inside the interval.
        """
        rows = zip(self.engaged, p, self.bounds(), strict=True)
        return [where(on, where(x > low, where(x < high, 1.0, 0.0), 0.0), 0.0) for on, x, (low, high) in rows]

    def _active_set(self, G: Array, p: Array, u: Array) -> Array:
        """Return the impulses (k,) after one active-set iteration from impulses p (k,) with slip speeds u (k,).

        Rows that their own correction would move beyond a bound are set to that bound; all other rows are solved
        together. G (k, k) is the inverse effective mass of the rows.
        """
        moves, fixed, bounds = [], [], self.bounds()
        for i, (low, high) in enumerate(bounds):
            trial, on = p[i] - u[i] / G[i, i], self.engaged[i]
            below, above = trial < low, trial > high
            fixed.append(where(on, where(below, 1.0, where(above, 1.0, 0.0)), 1.0))
            moves.append(where(fixed[i] == 1.0, where(above, high, low) - p[i], 0.0))
        u, loose = u + G @ np.array(moves), np.array([1.0 - x for x in fixed])
        more = ldlt(masked(G, loose)).solve(np.array([-w * x for w, x in zip(u, loose, strict=True)]))
        return np.array([clipped(p[i] + moves[i] + more[i], *bounds[i]) for i in range(len(p))])


@dataclass(frozen=True, eq=False)
class Ball:
    """Rolling or spinning friction of a contact: one or two constraint rows with an impulse of bounded length.

    The length of the impulse [N m s] is at most `coefficient` [m] times the contact's normal impulse [N s]. K (d, nv)
    are the rows, and W (nv, d) the velocity changes due to unit impulses. `normal` is the index of the contact's block;
    the first row of that block is the normal. The speeds of the rows are K v + `drift` (d,). `acts` is the condition
    that the contact is active.
    """

    acts: Any
    K: Array
    W: Array
    coefficient: Number
    normal: int
    drift: Value = 0.0
    bounce = 0.0
    remembered = True
    same_units = False

    @property
    def inverse_mass(self) -> Array:
        """Inverse effective mass (d, d) of the rows: the change of their speeds per unit impulse, K W.

        A fraction of the trace is added to the diagonal, so that the matrix can be factored.
        """
        return regularized(self.K @ self.W)

    def with_bounce(self, _: Number) -> Ball:
        """Return this block itself, because rolling and spinning friction have no restitution."""
        return self

    def weights(self, G: Array) -> Array:
        """Return factors (d,) that make impulses of blocks comparable: the square root of the trace of G (d, d)."""
        return np.repeat(np.sqrt(trace_of(G)), len(G))

    def stopping(self, G: Array, u: Array) -> Array:
        """Return the magnitudes (d,) of the impulses of the rows, each of which would stop its row if it acted alone.

        The rows have the inverse effective mass G (d, d) and the speeds u (d,).
        """
        return stopping_impulses(G, u)

    def limit(self, p: Sequence[Array]) -> Number:
        """Return the largest admissible length of the impulse: `coefficient` [m] times the contact's normal impulse.

        p are the impulses of all blocks.
        """
        return self.coefficient * maximum(p[self.normal][0], 0.0)

    def residual(self, G: Array, p: Array, u: Array, limit: Number) -> Number:
        """Return the speed [rad/s] by which rolling or spinning friction violates its complementarity condition.

        p and u (d,) are impulses and speeds of the rows, G (d, d) is their inverse effective mass, and `limit` the
        largest admissible length of p.
        """
        ease = trace_of(G)
        along = p - u / ease
        return largest(u / ease + along * excess(length(along), limit)) * ease

    def improved(self, G: Array, factors: LDLT, p: Array, u: Array, limit: Number, caution: Number) -> Array:
        """Return improved impulses (d,) of rolling or spinning friction; see `improved_in_ball`.

        p and u (d,) are the present impulses and speeds, G (d, d) is the inverse effective mass with its `factors`, and
        `limit` the largest admissible length of the impulse. `caution` is not used.
        """
        return improved_in_ball(G, factors, p, u, limit)


def improved_in_ball(G: Array, factors: LDLT, p: Array, u: Array, limit: Number) -> Array:
    """Return improved impulses (d,) of one or two friction rows, of at most the length `limit`.

    They are the impulses that stop the rows if these impulses are admissible, else those after STEPS projected-gradient
    steps. p and u (d,) are the present impulses and speeds, and G (d, d) is the inverse effective mass with its
    `factors`.
    """
    stuck = p - factors.solve(u)
    ease = 1.0 / largest_row_sum(G)
    slides = into_ball(p - u * ease, limit)
    for _ in range(STEPS - 1):
        slides = into_ball(slides - (u + G @ (slides - p)) * ease, limit)
    return where(length(stuck) <= limit, stuck, slides)


def masked(G: Array, rows: Array) -> Array:
    """Return G (k, k) with the rows and columns that are not marked 1 in `rows` (k,) replaced by those of the identity.

    Solving with this matrix leaves the entries of unmarked rows unchanged. G is the inverse effective mass.
    """
    among = G * np.outer(rows, rows)
    for k, there in enumerate(rows):
        among[k, k] = where(there == 1.0, G[k, k], 1.0)
    return among


def regularized(G: Array) -> Array:
    """Return the inverse effective mass G (d, d) with a fraction of its trace added to the diagonal.

    The result can be factored even if rows are immobile or redundant.
    """
    return G + np.diag([trace_of(G) * ADDED_INVERSE_MASS + TINY_SIZE] * len(G))


def trace_of(G: Array) -> Number:
    """Return the sum of the diagonal of G (d, d)."""
    total = G[0, 0]
    for k in range(1, len(G)):
        total = total + G[k, k]
    return total


def stopping_impulses(G: Array, u: Array) -> Array:
    """Return the magnitudes (d,) of the impulses of the rows, each of which would stop its row if it acted alone.

    The rows have the inverse effective mass G (d, d) and the speeds u (d,).
    """
    return np.array([abs(w) / G[k, k] for k, w in enumerate(u)])


def largest_row_sum(G: Array) -> Number:
    """Return the largest sum of absolute values in a row of G (d, d), which is an upper bound of its eigenvalues."""
    sums = []
    for row in G:
        total = abs(row[0])
        for x in row[1:]:
            total = total + abs(x)
        sums.append(total)
    return largest(np.array(sums))
