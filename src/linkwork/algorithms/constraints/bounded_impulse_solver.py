"""Solver for constraint impulses with bounds, such as those of clutches, brakes, friction and rigid contacts.

Impulses p change velocities v to v + W p. Block k has the constraint rows K_k, the speeds u_k = K_k v and the response
W_k = M^-1 K_k^T, with loops, gears and other unbounded constraints eliminated. Every block satisfies one
complementarity condition: its impulse is a fixed point of a projected step against its speeds,

    p_k = projection(p_k - r u_k)        for any r > 0

so that u_k is zero if p_k is inside the set, and the row slips if p_k is on its boundary. The blocks differ in the set:

    Box         each row in its own interval: clutch, brake [-c h, c h], ratchet [0, c h]
    Ball        |p| <= coefficient p_n, with the normal impulse p_n of a contact: rolling and spinning friction
    RigidContact      p_n >= 0, |p_t| <= friction p_n: a rigid contact (algorithms/rigid_contact.py)

The solver visits the blocks in turn, forward and backward, and improves each with the others fixed, until all
complementarity conditions hold (nonlinear Gauss-Seidel; Jean 1999, section 6), with Anderson acceleration between
iterations.

Sticking rows of a box are eliminated from the inverse effective mass of all other blocks (`StickingElimination`). An
example is a load of 10 t that a clutch holds on a foot of 1 kg: the solver takes 5 iterations instead of 107.

A contact is solved as one block of three rows, not as a normal row and a friction ball. On 128 hard problems (2 to 9
degrees of freedom, 2 to 8 contacts; tests/algorithms/test_rigid_contact_impulses.py) this takes 17.6 iterations on
average instead of 19.0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from linkwork.algorithms.constraints.bounded_constraints import Box, masked
from linkwork.algorithms.constraints.constraint_tolerances import SETTLED, SETTLED_ROUND_OFF
from linkwork.spatial.anderson_acceleration import AndersonIteration
from linkwork.spatial.scalar import LDLT, Array, Number, Value, largest, ldlt, maximum, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import TINY_SIZE

ITERATIONS = 2400  # largest number of iterations; each visits all blocks forward and backward
HOPS = 3  # number of blocks through which the effect of an impulse is followed to estimate speeds


class Block(Protocol):
    """A group of d constraint rows whose impulses p (d,) must be in one admissible set: the interface of the solver."""

    @property
    def acts(self) -> Any:
        """Whether the block's constraint is active; the condition may be a traced number."""
        ...

    @property
    def K(self) -> Array:
        """Constraint rows (d, nv): K v are the speeds (d,) [m/s or rad/s] along the rows."""
        ...

    @property
    def W(self) -> Array:
        """Velocity changes (nv, d) due to unit impulses along the rows."""
        ...

    @property
    def bounce(self) -> Number:
        """Smallest speed [m/s] of the first row after an impact: the separation speed due to restitution."""
        ...

    @property
    def drift(self) -> Value:
        """Constant speeds (d,) [m/s or rad/s] added to the row speeds K v in the block's condition; usually 0."""
        ...

    @property
    def remembered(self) -> bool:
        """Whether the impulses of the last step are available as a first guess."""
        ...

    @property
    def same_units(self) -> bool:
        """Whether the block shares one convergence tolerance with all other blocks that have this flag.

        The shared tolerance is relative to the largest speed of these blocks. The tolerance of a block without the flag
        is relative to its own speeds.
        """
        ...

    @property
    def inverse_mass(self) -> Array:
        """Inverse effective mass (d, d) of the block, the change of its row speeds per unit impulse: K W.

        Contact papers call it the Delassus matrix. It is regularized so that it can be factored.
        """
        ...

    def with_bounce(self, share: Number, /) -> Block:
        """Return the same block with its restitution multiplied by `share`; 0 means a perfectly inelastic impact."""
        ...

    def weights(self, G: Array, /) -> Array:
        """Return factors (d,) that make impulses of different blocks comparable.

        G (d, d) is the inverse effective mass of the block.
        """
        ...

    def stopping(self, G: Array, u: Array, /) -> Array:
        """Return the magnitudes (d,) of the impulses of the rows, each of which would stop its row if it acted alone.

        u (d,) are the speeds of the rows, and G (d, d) is the inverse effective mass of the block.
        """
        ...

    def limit(self, p: Sequence[Array], /) -> Number:
        """Return the bound on this block's impulse that depends on the impulses p of all blocks; 0 if there is none."""
        ...

    def residual(self, G: Array, p: Array, u: Array, limit: Number, /) -> Number:
        """Return the speed by which the block violates its complementarity condition at impulses p and speeds u (d,).

        G (d, d) is the inverse effective mass of the block, and `limit` the bound on the impulse that `Block.limit`
        returns.
        """
        ...

    def improved(self, G: Array, factors: LDLT, p: Array, u: Array, limit: Number, caution: Number, /) -> Array:
        """Return improved impulses (d,) of this block, which satisfy its complementarity condition at least nearly.

        The impulses of the other blocks are fixed. p (d,) are the present impulses of this block and u (d,) the speeds
        at p; G (d, d) is the inverse effective mass, and `factors` are the factors of G. With `caution` 1, the update
        never increases the distance from a solution. `limit` is the bound on the impulse that `Block.limit` returns.
        """
        ...


class ImpulseSolution(NamedTuple):
    """Result of `solve_impulses`: the impulses p, and the velocities v (nv,) after them.

    p has the shape of the first guess. `iterations` is the number of iterations. `left` [m/s or rad/s] is the largest
    violation of a block's condition in the last iteration. `agreed` is 1 if the solver converged: this violation is
    within the tolerance.
    """

    v: Array
    p: Array
    iterations: Number
    left: Number
    agreed: Number


def split_by_block(blocks: Sequence[Block], p: Array) -> list[Array]:
    """Return a list with the impulses (d,) of each block, taken from the impulses p (n,) or (n, 3) of all blocks."""
    return np.split(np.ravel(p), np.cumsum([len(one.K) for one in blocks])[:-1])


def row_speeds(block: Block, v: Array) -> Array:
    """Return the speeds (d,) of a block's rows, with their drift, at velocities v (nv,)."""
    return block.K @ v + block.drift


class FactoredBlock(NamedTuple):
    """A block of constraint rows with its inverse effective mass G (d, d), the factors of G, and W (nv, d).

    W are the velocity changes per unit impulse. If sticking clutches and brakes are eliminated, `also` (k, d) is the
    change of their k impulses per unit impulse of this block, and W includes the effect of this change; else `also` is
    None.
    """

    block: Block
    G: Array
    factors: LDLT
    W: Array
    also: Array | None = None


class Tolerance(NamedTuple):
    """Convergence tolerance of `solve_impulses`: the residual of every block must be at most the speed `enough`.

    The residual of block k is first multiplied by the factor by[k]; if `by` is None, all factors are 1.
    """

    enough: Number
    by: list[Number] | None


def _tolerance(known: Sequence[FactoredBlock], v: Array, settled: Number) -> Tolerance:
    """Return the convergence tolerance of the impulse solver at velocities v (nv,), relative to the row speeds.

    `settled` is the relative tolerance. The row speeds of a block are the speeds along its rows, plus the speeds that
    impulses of other blocks may cause along these rows. `known` are all blocks with their factors.
    """
    blocks = [one.block for one in known]
    seen = [largest(row_speeds(one, v)) for one in blocks]
    acting = [where(one.acts, speed + one.bounce, 0.0) for one, speed in zip(blocks, seen, strict=True)]
    same_units = [k for k, one in enumerate(blocks) if one.same_units]
    enough = largest(np.array([acting[k] for k in same_units])) * settled
    enough = enough + largest(np.array([seen[k] for k in same_units])) * SETTLED_ROUND_OFF
    if len(same_units) == len(blocks):
        return Tolerance(enough, None)
    got = _received_speeds(known, v)
    enough = enough + largest(np.array([got[k] for k in same_units])) * settled + TINY_SIZE
    terms = [largest(abs(one.K) @ abs(v)) for one in blocks]
    own = [(x + y) * settled + z * SETTLED_ROUND_OFF + TINY_SIZE for x, y, z in zip(acting, got, terms, strict=True)]
    return Tolerance(enough, [1.0 if one.same_units else enough / x for one, x in zip(blocks, own, strict=True)])


def _received_speeds(known: Sequence[FactoredBlock], v: Array) -> list[Number]:
    """Return, for each block, the largest speed along its rows that the impulses of all other blocks may cause.

    An impulse acts on a block directly, or through further blocks. Effects between two blocks that both have
    `same_units` are left out. `known` are all blocks with their factors, and v (nv,) the velocities.
    """
    blocks, got = [one.block for one in known], [np.zeros(len(one.G)) for one in known]
    effects = [[None if a.same_units and b.same_units else abs(a.K @ b.W) for b in blocks] for a in blocks]
    for _ in range(HOPS):
        speeds = [abs(row_speeds(one, v)) + x for one, x in zip(blocks, got, strict=True)]
        pushes = [where(one.acts, one.stopping(G, u), u * 0.0) for (one, G, *_), u in zip(known, speeds, strict=True)]
        got = []
        for one, row in zip(blocks, effects, strict=True):
            pairs = [(effect, p) for effect, p in zip(row, pushes, strict=True) if effect is not None]
            each = [[effect[i] * p for effect, p in pairs] for i in range(len(one.K))]
            got.append(np.array([largest(np.concatenate([np.zeros(1), *x])) for x in each]))
    return [largest(x) for x in got]


class StickingElimination:
    """Elimination of sticking clutches and brakes from the inverse effective masses of all other blocks.

    The elimination treats sticking rows as rigid connections: when the impulse of a block changes, the impulses of the
    sticking rows change so that they continue to stick. Without it, clutches between heavy bodies that rest on contacts
    need very many iterations.
    """

    def __init__(self, known: Sequence[FactoredBlock]):
        self.known, self.box = known, known[0].block
        self.seen = [self.box.K @ one.W for one in known[1:]]  # (k, d): speeds of the box per impulse of a block
        self.done = [one.block.K @ known[0].W for one in known[1:]]  # (d, k): speeds of a block per impulse of the box

    def eliminated(self, p: Array, caution: Number) -> list[FactoredBlock]:
        """Return all blocks with factorized inverse effective masses in which sticking clutches and brakes are rigid.

        p (k,) are the impulses of the k rows of clutches and brakes; a row sticks if its impulse is strictly within its
        bounds. With `caution` 1, no row is eliminated, and the masses do not change.
        """
        box, G, _, W, _ = self.known[0]
        assert isinstance(box, Box)
        holding = np.array([x * (1.0 - caution) for x in box.sticking(p)])
        rows, found = ldlt(masked(G, holding)), [self.known[0]]
        for one, seen, done in zip(self.known[1:], self.seen, self.done, strict=True):
            also = -rows.solve(seen * holding[:, None])
            reduced = one.G + done @ also
            found.append(FactoredBlock(one.block, reduced, ldlt(reduced), one.W + W @ also, also))
        return found


def solve_impulses(
    blocks: Sequence[Block], v: Array, first: Array, needed: Any = True, settled: Number = SETTLED
) -> ImpulseSolution:
    """Return the impulses that satisfy the complementarity conditions of all blocks, and the velocities after them.

    v (nv,) are the velocities before the impulses. `first` (n,) [N s] is a first guess of the impulses; it is used only
    if its residual is smaller than the residual of zero impulses. If the condition `needed` is false, the solver stops
    after one iteration. If there is a box, it must be the first block. `settled` is the convergence tolerance, relative
    to the row speeds.
    """
    known = [FactoredBlock(one, G := one.inverse_mass, ldlt(G), one.W) for one in blocks]
    weight = np.concatenate([one.block.weights(one.G) for one in known])
    enough, by = _tolerance(known, v, settled)
    boxed = StickingElimination(known) if isinstance(blocks[0], Box) else None

    def pushed(impulses: Array) -> Array:
        pairs = zip(blocks, split_by_block(blocks, impulses), strict=True)
        return v + sum((one.W @ p for one, p in pairs), np.zeros(len(v)))

    def residual(k: int, p: Sequence[Array], speeds: Array) -> Number:
        one = blocks[k]
        return where(one.acts, one.residual(known[k].G, p[k], row_speeds(one, speeds), one.limit(p)), 0.0)

    def scaled(k: int, found: Number) -> Number:
        return found if by is None else found * by[k]

    def broken(impulses: Array) -> Number:
        speeds, p = pushed(impulses), split_by_block(blocks, impulses)
        return largest(np.array([scaled(k, residual(k, p, speeds)) for k in range(len(blocks))]))

    guess = _first_guess(known, split_by_block(blocks, first), pushed)
    none = np.zeros(len(guess))
    guess = where(broken(guess) < broken(none), guess, none)

    def iteration(*state: Any) -> tuple[tuple[Any, ...], Any]:
        search, left = AndersonIteration(*state), 0.0
        caution = where(search.careful, 1.0, 0.0)
        speeds, p, among = pushed(search.start), split_by_block(blocks, search.start), known
        for k in (*range(len(blocks)), *reversed(range(len(blocks) - 1))):
            left = maximum(left, scaled(k, residual(k, p, speeds)))
            speeds = improve_block(among[k], p, k, speeds, caution)
            if k == 0 and boxed is not None:
                among = boxed.eliminated(p[0], caution)
        ended = np.concatenate(p)
        after = search.after(ended, (ended - search.start) * weight, left)
        return tuple(after), (left <= enough) | ~_as_numpy_condition(needed)

    state, iterations, _ = iterate(ITERATIONS, iteration, *AndersonIteration.at(guess, len(guess)))
    found = AndersonIteration(*state)
    after, p = pushed(found.end), split_by_block(blocks, found.end)
    left = found.residual if by is None else largest(np.array([residual(k, p, after) for k in range(len(blocks))]))
    agreed = where(found.residual <= enough, 1.0, 0.0)
    return ImpulseSolution(after, found.end.reshape(np.shape(first)), iterations, left, agreed)


def _first_guess(known: Sequence[FactoredBlock], p: list[Array], pushed: Callable[[Array], Array]) -> Array:
    """Return the first guess (n,) of the impulses of all blocks.

    The guess has the impulses of the last step, p, for blocks that store them. The other blocks are solved one after
    the other. `pushed` returns the velocities (nv,) for given impulses. `known` are all blocks with their factors.
    """
    p = [where(one.block.acts, x, np.zeros(len(x))) for one, x in zip(known, p, strict=True)]
    for k, one in enumerate(known):
        if not one.block.remembered:
            improve_block(one, p, k, pushed(np.concatenate(p)), 0.0)
    return np.concatenate(p)


def improve_block(one: FactoredBlock, p: list[Array], k: int, speeds: Array, caution: Number) -> Array:
    """Improve the impulses of block k in the list p, with the other blocks fixed; return the new velocities (nv,).

    The impulses of the eliminated sticking rows, p[0], change too. `one` is block k with its factors, `speeds` (nv,)
    are the velocities before the improvement, and `caution` is the argument of `Block.improved`.
    """
    block = one.block
    better = block.improved(one.G, one.factors, p[k], row_speeds(block, speeds), block.limit(p), caution)
    better = where(block.acts, better, p[k])
    change = better - p[k]
    p[k] = better
    if one.also is not None:
        p[0] = p[0] + one.also @ change
    return speeds + one.W @ change


def _as_numpy_condition(condition: Any) -> Any:
    """Return a condition to which the operator ~ (not) can be applied: a Python bool becomes a NumPy bool."""
    return np.bool_(condition) if isinstance(condition, bool) else condition


def work(blocks: Sequence[Block], p: Array, before: Array, after: Array) -> Number:
    """Return the work [J] of impulses p (n,) that change velocities (nv,) from `before` to `after`.

    `blocks` have the constraint rows along which the impulses act.
    """
    total: Number = 0.0
    for one, impulse in zip(blocks, split_by_block(blocks, p), strict=True):
        total = total + product(impulse, one.K @ (before + after)) * 0.5
    return total


def product(a: Array, b: Array) -> Number:
    """Return the scalar product of two vectors a and b (d,)."""
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total
