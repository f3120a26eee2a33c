"""Bounded constraint rows: impulses along rows of velocities, each block of them within an admissible set.

Impulses p take velocities v to v + W p, where block k sees the speeds u_k = K_k v and W_k = M^-1 K_k^T, with loops,
gears and other unbounded constraints eliminated. Every block obeys one law: a step of its impulse against its speeds,
projected onto its admissible set, leads back to where it was,

    p_k = projection(p_k - r u_k)        for any r > 0

so that u_k is zero where p_k is inside, and the row slips where p_k is at its bound. The blocks differ in the set only:

    Box         every row in an interval of its own: clutch, brake [-c h, c h], ratchet [0, c h]
    Ball        |p| <= coefficient p_n, with the normal impulse p_n of a contact: rolling and spinning friction
    Facing      p_n >= 0, |p_t| <= friction p_n: a rigid contact (algorithms/rigid_contact.py)

The solver visits the blocks in turn, forth and back, and improves each while the others stay as they are, until all
laws hold (nonlinear Gauss-Seidel; Jean 1999, section 6), with Anderson's extrapolation between iterations.

A contact keeps its exact solution of three rows, rather than three single rows: on the 16 hard problems of
tests/algorithms/test_rigid_contacts_agree.py with six contacts of six freedoms, rows one by one take SLOWER times the
iterations. A mechanism with contacts alone traces to the same program as before other blocks were added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from linkwork.algorithms.constraints.admissible_sets import clipped, excess, into_ball, length
from linkwork.spatial.fixed_points import Search
from linkwork.spatial.loops import iterate
from linkwork.spatial.scalar import LDLT, Array, Number, largest, ldlt, maximum, where

ITERATIONS = 2400  # forth and back through all blocks, at most
SETTLED = 1e-12  # speed by which a block may break its law, as a fraction of the speeds that its rows see
ROUNDED = 1e-14  # the same as a fraction of the largest terms of which such speeds are sums
SPREAD = 1e-15  # the same as a fraction of the largest speed that any block sees: what others' impulses round off
EASY = 1e-9  # fraction of a block's mobility that is added, for rows that cannot move or that repeat others
TINY = 1e-100
STEPS = 4  # projected gradient steps in one visit to a block at its bound


class Block(Protocol):
    """Constraint rows K (d, nv) with response W (nv, d), whose impulses p (d,) lie in one admissible set.

    `acts` says whether it does at all, `bounce` is the least speed of its first row after an impact, `remembered`
    whether impulses of the last step are known as a first guess; blocks that are `alike` are judged by the fastest.
    """

    @property
    def acts(self) -> Any: ...  # noqa: D102
    @property
    def K(self) -> Array: ...  # noqa: D102
    @property
    def W(self) -> Array: ...  # noqa: D102
    @property
    def bounce(self) -> Number: ...  # noqa: D102
    @property
    def remembered(self) -> bool: ...  # noqa: D102
    @property
    def alike(self) -> bool: ...  # noqa: D102

    @property
    def mobility(self) -> Array:
        """K W (d, d), regularized so that it can be factored."""
        ...

    @property
    def without_bounce(self) -> Block:
        """The same block after a perfectly inelastic impact."""
        ...

    def weights(self, G: Array) -> Array:
        """Factors (d,) that make impulses of different blocks comparable, for a mobility G (d, d)."""
        ...

    def stopping(self, G: Array, u: Array) -> Array:
        """The sizes of impulses (d,) that would stop its rows at speeds u (d,), each alone, as far as it can."""
        ...

    def limit(self, p: Sequence[Array]) -> Number:
        """The bound that impulses p of all blocks put on this one, where its set depends on them."""
        ...

    def residual(self, G: Array, p: Array, u: Array, limit: Number) -> Number:
        """The speed by which the block under impulses p (d,) that moves at u (d,) breaks its law."""
        ...

    def improved(self, G: Array, factors: LDLT, p: Array, u: Array, limit: Number, caution: Number) -> Array:
        """Impulses (d,) that obey the law, or nearly, while other blocks stay as they are.

        With a `caution` of 1 they follow from steps that never lead away from a solution.
        """
        ...


class Settled(NamedTuple):
    """Velocities v (nv,) after impulses p, in the shape of their first guess.

    `rounds` is the number of iterations. `left` [m/s or rad/s] is the largest speed by which a block broke its law as
    the last iteration came to it; `agreed` is 1 if that is no more than round-off, else 0.
    """

    v: Array
    p: Array
    rounds: Number
    left: Number
    agreed: Number


@dataclass(frozen=True, eq=False)
class Box:
    """Rows K (k, nv), W (nv, k) with impulses in intervals from `lower` (k,) to `upper` (k,), which contain zero.

    Rows that are not `engaged` (k,), conditions, have none. `free` (k,) is the mobility of every row if nothing else
    were held: fractions of it regularize rows that other constraints hold already.
    """

    K: Array
    W: Array
    lower: Sequence[Number]
    upper: Sequence[Number]
    engaged: Sequence[Any]
    free: Sequence[Number]
    acts = True
    bounce = 0.0
    remembered = False
    alike = False

    @property
    def mobility(self) -> Array:
        """K W (k, k), with a fraction of the free mobility added to its diagonal."""
        return self.K @ self.W + np.diag([x * EASY + TINY for x in self.free])

    @property
    def without_bounce(self) -> Box:
        """The block itself: it does not bounce."""
        return self

    def weights(self, G: Array) -> Array:
        """Square roots (k,) of the mobilities of its rows."""
        return np.array([np.sqrt(G[k, k]) for k in range(len(G))])

    def stopping(self, G: Array, u: Array) -> Array:
        """The sizes of impulses (k,) that would stop its rows, each alone, within their intervals."""
        each = zip(u, np.diag(G), self.bounds(), strict=True)
        return np.array([abs(clipped(-w / g, low, high)) for w, g, (low, high) in each])

    def limit(self, _: Sequence[Array]) -> Number:
        """None: its intervals are known."""
        return 0.0

    def bounds(self) -> list[tuple[Number, Number]]:
        """The interval of every row (k,), from 0 to 0 where it is not engaged."""
        rows = zip(self.engaged, self.lower, self.upper, strict=True)
        return [(where(on, low, 0.0), where(on, high, 0.0)) for on, low, high in rows]

    def residual(self, G: Array, p: Array, u: Array, _: Number) -> Number:
        """The largest speed by which a row breaks its law."""
        each = zip(np.diag(G), p, u, self.bounds(), strict=True)
        return largest(np.array([clipped(-w / g, low - x, high - x) * g for g, x, w, (low, high) in each]))

    def improved(self, G: Array, _: LDLT, p: Array, u: Array, limit: Number, caution: Number) -> Array:
        """Impulses (k,) after one step of an active-set method, and row by row after that.

        Row by row alone, each exact while the others stay, they come nearer in energy with every step (projected
        Gauss-Seidel); the active-set step solves all rows that hold at once.
        """
        swept = self._swept(G, p, u)
        if len(p) == 1:
            return swept
        active = self._active_set(G, p, u)
        return where(caution == 1.0, swept, self._swept(G, active, u + G @ (active - p)))

    def _swept(self, G: Array, p: Array, u: Array) -> Array:
        after = list(p)
        for i, (low, high) in enumerate(self.bounds()):
            after[i] = clipped(p[i] - u[i] / G[i, i], low, high)
            u = u + G[:, i] * (after[i] - p[i])
        return np.array(after)

    def _active_set(self, G: Array, p: Array, u: Array) -> Array:
        """Rows that a step of their own takes beyond a bound go there (k,); all others come to hold together."""
        moves, fixed, bounds = [], [], self.bounds()
        for i, (low, high) in enumerate(bounds):
            trial, on = p[i] - u[i] / G[i, i], self.engaged[i]
            below, above = trial < low, trial > high
            fixed.append(where(on, where(below, 1.0, where(above, 1.0, 0.0)), 1.0))
            moves.append(where(fixed[i] == 1.0, where(above, high, low) - p[i], 0.0))
        u = u + G @ np.array(moves)
        loose = [1.0 - x for x in fixed]
        rows = range(len(p))
        A = G * np.outer(loose, loose)
        for i in rows:
            A[i, i] = where(loose[i] == 1.0, G[i, i], 1.0)
        more = ldlt(A).solve(np.array([-w * x for w, x in zip(u, loose, strict=True)]))
        return np.array([clipped(p[i] + moves[i] + more[i], *bounds[i]) for i in rows])


@dataclass(frozen=True, eq=False)
class Ball:
    """Rows K (d, nv), W (nv, d), d = 1 or 2, whose impulse is at most `coefficient` times a contact's normal impulse.

    The contact is the block of number `normal`, and its first row is the normal.
    """

    acts: Any
    K: Array
    W: Array
    coefficient: Number
    normal: int
    bounce = 0.0
    remembered = True
    alike = False

    @property
    def mobility(self) -> Array:
        """K W (d, d), with a fraction of its trace added."""
        return eased(self.K @ self.W)

    @property
    def without_bounce(self) -> Ball:
        """The block itself: it does not bounce."""
        return self

    def weights(self, G: Array) -> Array:
        """The square root of the mobility (d,), the same for all rows."""
        return np.repeat(np.sqrt(trace_of(G)), len(G))

    def stopping(self, G: Array, u: Array) -> Array:
        """The sizes of impulses (d,) that would stop its rows, each alone."""
        return stopping_impulses(G, u)

    def limit(self, p: Sequence[Array]) -> Number:
        """The largest impulse, by the normal impulse of its contact."""
        return self.coefficient * maximum(p[self.normal][0], 0.0)

    def residual(self, G: Array, p: Array, u: Array, limit: Number) -> Number:
        """The speed by which it breaks its law."""
        ease = trace_of(G)
        along = p - u / ease
        return largest(u / ease + along * excess(length(along), limit)) * ease

    def improved(self, G: Array, factors: LDLT, p: Array, u: Array, limit: Number, caution: Number) -> Array:
        """Impulses (d,): exact where they hold, nearer with every visit where they are at the limit."""
        stuck = p - factors.solve(u)
        ease = 1.0 / steepest(G)
        slides = into_ball(p - u * ease, limit)
        for _ in range(STEPS - 1):
            slides = into_ball(slides - (u + G @ (slides - p)) * ease, limit)
        return where(length(stuck) <= limit, stuck, slides)


def eased(G: Array) -> Array:
    """G (d, d) with a fraction of its trace added to its diagonal, so that what cannot move does no harm."""
    return G + np.diag([trace_of(G) * EASY + TINY] * len(G))


def trace_of(G: Array) -> Number:
    """The sum of the diagonal of G (d, d)."""
    total = G[0, 0]
    for k in range(1, len(G)):
        total = total + G[k, k]
    return total


def stopping_impulses(G: Array, u: Array) -> Array:
    """The sizes of impulses (d,) that stop rows of mobility G (d, d) at speeds u (d,), each alone."""
    return np.array([abs(w) / G[k, k] for k, w in enumerate(u)])


def steepest(G: Array) -> Number:
    """The largest sum of magnitudes in a row of G (d, d), which no eigenvalue exceeds."""
    sums = []
    for row in G:
        total = abs(row[0])
        for x in row[1:]:
            total = total + abs(x)
        sums.append(total)
    return largest(np.array(sums))


def parts_of(blocks: Sequence[Block], p: Array) -> list[Array]:
    """Impulses of every block (d,), from those of all of them in any shape, such as (n,) or (n, 3)."""
    return np.split(np.ravel(p), np.cumsum([len(one.K) for one in blocks])[:-1])


class Tolerance(NamedTuple):
    """The speed `enough` below which all laws hold, after that of every block was multiplied by its factor in `by`."""

    enough: Number
    by: list[Number] | None


def _tolerance(known: Sequence[tuple[Block, Array, LDLT]], v: Array) -> Tolerance:
    """How well laws must hold at velocities v (nv,): to round-off of the speeds that blocks see and exchange."""
    blocks = [one for one, _, _ in known]
    seen = [largest(one.K @ v) for one in blocks]
    acting = [where(one.acts, speed + one.bounce, 0.0) for one, speed in zip(blocks, seen, strict=True)]
    alike = [k for k, one in enumerate(blocks) if one.alike]
    enough = largest(np.array([acting[k] for k in alike])) * SETTLED
    enough = enough + largest(np.array([seen[k] for k in alike])) * ROUNDED
    if len(alike) == len(blocks):
        return Tolerance(enough, None)
    spread = largest(np.array(seen)) * SPREAD + TINY
    stopping = [where(one.acts, one.stopping(G, one.K @ v), np.zeros(len(G))) for one, G, _ in known]
    got = []  # the speed that impulses of blocks of another kind give to each
    for one in blocks:
        pairs = [(abs(one.K @ j.W) @ p) for j, p in zip(blocks, stopping, strict=True) if not (one.alike and j.alike)]
        got.append(largest(np.concatenate(pairs)))
    enough = enough + spread + largest(np.array([got[k] for k in alike])) * SETTLED
    terms = [largest(abs(one.K) @ abs(v)) for one in blocks]
    own = [(x + y) * SETTLED + z * ROUNDED + spread for x, y, z in zip(acting, got, terms, strict=True)]
    return Tolerance(enough, [1.0 if one.alike else enough / x for one, x in zip(blocks, own, strict=True)])


def settled(blocks: Sequence[Block], v: Array, first: Array, needed: Any = True) -> Settled:
    """Impulses on which all blocks agree, from velocities v (nv,) and a first guess (n,) [N s], if it is of use.

    Where it is not `needed`, nothing is required of the answer.
    """
    size = len(v)
    known = [(one, G := one.mobility, ldlt(G)) for one in blocks]
    weight = np.concatenate([one.weights(G) for one, G, _ in known])
    enough, by = _tolerance(known, v)

    def pushed(impulses: Array) -> Array:
        pairs = zip(blocks, parts_of(blocks, impulses), strict=True)
        return v + sum((one.W @ p for one, p in pairs), np.zeros(size))

    def scaled(k: int, residual: Number) -> Number:
        return residual if by is None else residual * by[k]

    def residuals(impulses: Array) -> list[Number]:
        speeds, parts = pushed(impulses), parts_of(blocks, impulses)
        return [
            where(one.acts, one.residual(G, p, one.K @ speeds, one.limit(parts)), 0.0)
            for (one, G, _), p in zip(known, parts, strict=True)
        ]

    def broken(impulses: Array) -> Number:
        return largest(np.array([scaled(k, x) for k, x in enumerate(residuals(impulses))]))

    pairs = zip(blocks, parts_of(blocks, first), strict=True)
    guess = np.concatenate([where(one.acts, p, np.zeros(len(p))) for one, p in pairs])
    for k, (one, G, factors) in enumerate(known):
        if not one.remembered:
            parts, u = parts_of(blocks, guess), one.K @ pushed(guess)
            parts[k] = one.improved(G, factors, parts[k], u, one.limit(parts), 0.0)
            guess = np.concatenate(parts)
    none = np.zeros(len(guess))
    guess = where(broken(guess) < broken(none), guess, none)

    def iteration(*state: Any) -> tuple[tuple[Any, ...], Any]:
        search, left = Search(*state), 0.0
        caution = where(search.careful, 1.0, 0.0)
        speeds, p = pushed(search.start), parts_of(blocks, search.start)
        for k in (*range(len(blocks)), *reversed(range(len(blocks) - 1))):
            one, G, factors = known[k]
            u, limit = one.K @ speeds, one.limit(p)
            left = maximum(left, where(one.acts, scaled(k, one.residual(G, p[k], u, limit)), 0.0))
            better = where(one.acts, one.improved(G, factors, p[k], u, limit, caution), p[k])
            speeds, p[k] = speeds + one.W @ (better - p[k]), better
        ended = np.concatenate(p)
        after = search.after(ended, (ended - search.start) * weight, left)
        return tuple(after), (left <= enough) | ~_truth(needed)

    state, rounds, _ = iterate(ITERATIONS, iteration, *Search.at(guess, len(guess)))
    found = Search(*state)
    after = pushed(found.end)
    left = found.left if by is None else largest(np.array(residuals(found.end)))
    agreed = where(found.left <= enough, 1.0, 0.0)
    return Settled(after, found.end.reshape(np.shape(first)), rounds, left, agreed)


def _truth(condition: Any) -> Any:
    return np.bool_(condition) if isinstance(condition, bool) else condition


def work(blocks: Sequence[Block], p: Array, before: Array, after: Array) -> Number:
    """Work [J] of impulses p (n,) that take velocities (nv,) from `before` to `after`."""
    total: Number = 0.0
    for one, impulse in zip(blocks, parts_of(blocks, p), strict=True):
        total = total + product(impulse, one.K @ (before + after)) * 0.5
    return total


def product(a: Array, b: Array) -> Number:
    """The scalar product of two vectors (d,)."""
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total
