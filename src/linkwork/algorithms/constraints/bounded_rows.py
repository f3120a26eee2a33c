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

Rows of a box that hold are eliminated from the mobility of all other blocks as long as they do (`Elimination`): a load
of 10 t that a clutch holds on a foot of 1 kg takes 5 iterations instead of 107.

A contact is solved as three rows at once, not as a normal row and a ball for friction. On 128 hard problems (2 to 9
freedoms, 2 to 8 contacts, those of tests/algorithms/test_rigid_contacts_agree.py) it then takes 17.6 iterations in the
mean instead of 19.0, and mechanisms with contacts alone trace to the same program, bit by bit, as before there were
other blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from linkwork.algorithms.constraints.admissible_sets import TINY
from linkwork.algorithms.constraints.bounded_blocks import Box, masked
from linkwork.spatial.fixed_points import Search
from linkwork.spatial.loops import iterate
from linkwork.spatial.scalar import LDLT, Array, Number, largest, ldlt, maximum, where

ITERATIONS = 2400  # forth and back through all blocks, at most
SETTLED = 1e-12  # speed by which a block may break its law, as a fraction of the speeds that its rows see
ROUNDED = 1e-14  # the same as a fraction of the largest terms of which such speeds are sums
HOPS = 3  # blocks through which one may push another, and round off its speed


class Block(Protocol):
    """Constraint rows with impulses p (d,) in one admissible set: what the solver asks of them."""

    @property
    def acts(self) -> Any:
        """Whether it acts at all, a condition."""
        ...

    @property
    def K(self) -> Array:
        """Its rows (d, nv): K v are the speeds along them."""
        ...

    @property
    def W(self) -> Array:
        """The velocities (nv, d) that unit impulses along its rows give."""
        ...

    @property
    def bounce(self) -> Number:
        """The least speed [m/s] of its first row after an impact."""
        ...

    @property
    def remembered(self) -> bool:
        """Whether impulses of the last step are known as a first guess."""
        ...

    @property
    def alike(self) -> bool:
        """Whether it is judged by the fastest of all blocks that are so, not by its own speeds."""
        ...

    @property
    def mobility(self) -> Array:
        """K W (d, d), regularized so that it can be factored."""
        ...

    @property
    def without_bounce(self) -> Block:
        """The same block after a perfectly inelastic impact."""
        ...

    def weights(self, G: Array, /) -> Array:
        """Factors (d,) that make impulses of different blocks comparable, for a mobility G (d, d)."""
        ...

    def stopping(self, G: Array, u: Array, /) -> Array:
        """The sizes of impulses (d,) that would stop its rows at speeds u (d,), each alone, as far as it can."""
        ...

    def limit(self, p: Sequence[Array], /) -> Number:
        """The bound that impulses p of all blocks put on this one, where its set depends on them."""
        ...

    def residual(self, G: Array, p: Array, u: Array, limit: Number, /) -> Number:
        """The speed by which the block under impulses p (d,) that moves at u (d,) breaks its law."""
        ...

    def improved(self, G: Array, factors: LDLT, p: Array, u: Array, limit: Number, caution: Number, /) -> Array:
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


def parts_of(blocks: Sequence[Block], p: Array) -> list[Array]:
    """Impulses of every block (d,), from those of all of them in any shape, such as (n,) or (n, 3)."""
    return np.split(np.ravel(p), np.cumsum([len(one.K) for one in blocks])[:-1])


class Known(NamedTuple):
    """A block with its mobility G (d, d), factors of it, and its response W (nv, d).

    `also` (k, d), if there is any, is what its impulses change of those of the rows that hold, which W includes.
    """

    block: Block
    G: Array
    factors: LDLT
    W: Array
    also: Array | None = None


class Tolerance(NamedTuple):
    """The speed `enough` below which all laws hold, after that of every block was multiplied by its factor in `by`."""

    enough: Number
    by: list[Number] | None


def _tolerance(known: Sequence[Known], v: Array) -> Tolerance:
    """How well laws must hold at velocities v (nv,): to round-off of the speeds that blocks see and exchange."""
    blocks = [one.block for one in known]
    seen = [largest(one.K @ v) for one in blocks]
    acting = [where(one.acts, speed + one.bounce, 0.0) for one, speed in zip(blocks, seen, strict=True)]
    alike = [k for k, one in enumerate(blocks) if one.alike]
    enough = largest(np.array([acting[k] for k in alike])) * SETTLED
    enough = enough + largest(np.array([seen[k] for k in alike])) * ROUNDED
    if len(alike) == len(blocks):
        return Tolerance(enough, None)
    got = _exchanged(known, v)
    enough = enough + largest(np.array([got[k] for k in alike])) * SETTLED + TINY
    terms = [largest(abs(one.K) @ abs(v)) for one in blocks]
    own = [(x + y) * SETTLED + z * ROUNDED + TINY for x, y, z in zip(acting, got, terms, strict=True)]
    return Tolerance(enough, [1.0 if one.alike else enough / x for one, x in zip(blocks, own, strict=True)])


def _exchanged(known: Sequence[Known], v: Array) -> list[Number]:
    """The speed that each block may get from blocks of another kind, directly and through others."""
    blocks, got = [one.block for one in known], [np.zeros(len(one.G)) for one in known]
    effects = [[None if a.alike and b.alike else abs(a.K @ b.W) for b in blocks] for a in blocks]
    for _ in range(HOPS):
        speeds = [abs(one.K @ v) + x for one, x in zip(blocks, got, strict=True)]
        pushes = [where(one.acts, one.stopping(G, u), u * 0.0) for (one, G, *_), u in zip(known, speeds, strict=True)]
        got = []
        for one, row in zip(blocks, effects, strict=True):
            pairs = [(effect, p) for effect, p in zip(row, pushes, strict=True) if effect is not None]
            each = [[effect[i] * p for effect, p in pairs] for i in range(len(one.K))]
            got.append(np.array([largest(np.concatenate([np.zeros(1), *x])) for x in each]))
    return [largest(x) for x in got]


class Elimination:
    """Rows of a box that hold, taken out of the mobility of all other blocks: as if they were joined rigidly.

    A block that moves then changes the impulses of these rows too, so that they go on to hold. Without it, clutches
    between heavy bodies and contacts that carry them would need very many iterations to agree.
    """

    def __init__(self, known: Sequence[Known]):
        self.known, self.box = known, known[0].block
        self.seen = [self.box.K @ one.W for one in known[1:]]  # what others do to the rows (k, d)
        self.done = [one.block.K @ known[0].W for one in known[1:]]  # what the rows do to others (d, k)

    def among(self, p: Array, caution: Number) -> list[Known]:
        """All blocks while those rows hold that do so with impulses p (k,); none is taken out with a caution of 1."""
        box, G, _, W, _ = self.known[0]
        assert isinstance(box, Box)
        holding = np.array([x * (1.0 - caution) for x in box.holding(p)])
        rows, found = ldlt(masked(G, holding)), [self.known[0]]
        for one, seen, done in zip(self.known[1:], self.seen, self.done, strict=True):
            also = -rows.solve(seen * holding[:, None])
            reduced = one.G + done @ also
            found.append(Known(one.block, reduced, ldlt(reduced), one.W + W @ also, also))
        return found


def settled(blocks: Sequence[Block], v: Array, first: Array, needed: Any = True) -> Settled:
    """Impulses on which all blocks agree, from velocities v (nv,) and a first guess (n,) [N s], if it is of use.

    Where it is not `needed`, nothing is required of the answer. A box, if there is one, is the first block.
    """
    known = [Known(one, G := one.mobility, ldlt(G), one.W) for one in blocks]
    weight = np.concatenate([one.block.weights(one.G) for one in known])
    enough, by = _tolerance(known, v)
    boxed = Elimination(known) if isinstance(blocks[0], Box) else None

    def pushed(impulses: Array) -> Array:
        pairs = zip(blocks, parts_of(blocks, impulses), strict=True)
        return v + sum((one.W @ p for one, p in pairs), np.zeros(len(v)))

    def residual(k: int, p: Sequence[Array], speeds: Array) -> Number:
        one = blocks[k]
        return where(one.acts, one.residual(known[k].G, p[k], one.K @ speeds, one.limit(p)), 0.0)

    def scaled(k: int, found: Number) -> Number:
        return found if by is None else found * by[k]

    def broken(impulses: Array) -> Number:
        speeds, p = pushed(impulses), parts_of(blocks, impulses)
        return largest(np.array([scaled(k, residual(k, p, speeds)) for k in range(len(blocks))]))

    guess = _first_guess(known, parts_of(blocks, first), pushed)
    none = np.zeros(len(guess))
    guess = where(broken(guess) < broken(none), guess, none)

    def iteration(*state: Any) -> tuple[tuple[Any, ...], Any]:
        search, left = Search(*state), 0.0
        caution = where(search.careful, 1.0, 0.0)
        speeds, p, among = pushed(search.start), parts_of(blocks, search.start), known
        for k in (*range(len(blocks)), *reversed(range(len(blocks) - 1))):
            left = maximum(left, scaled(k, residual(k, p, speeds)))
            speeds = _visited(among[k], p, k, speeds, caution)
            if k == 0 and boxed is not None:
                among = boxed.among(p[0], caution)
        ended = np.concatenate(p)
        after = search.after(ended, (ended - search.start) * weight, left)
        return tuple(after), (left <= enough) | ~_truth(needed)

    state, rounds, _ = iterate(ITERATIONS, iteration, *Search.at(guess, len(guess)))
    found = Search(*state)
    after, p = pushed(found.end), parts_of(blocks, found.end)
    left = found.left if by is None else largest(np.array([residual(k, p, after) for k in range(len(blocks))]))
    agreed = where(found.left <= enough, 1.0, 0.0)
    return Settled(after, found.end.reshape(np.shape(first)), rounds, left, agreed)


def _first_guess(known: Sequence[Known], p: list[Array], pushed: Callable[[Array], Array]) -> Array:
    """Impulses (n,) of those blocks that act; of those that are not remembered, what the others leave for them."""
    p = [where(one.block.acts, x, np.zeros(len(x))) for one, x in zip(known, p, strict=True)]
    for k, one in enumerate(known):
        if not one.block.remembered:
            _visited(one, p, k, pushed(np.concatenate(p)), 0.0)
    return np.concatenate(p)


def _visited(one: Known, p: list[Array], k: int, speeds: Array, caution: Number) -> Array:
    """Velocities (nv,) after block k was improved; its impulses in p, and those that change with it, are replaced."""
    block = one.block
    better = block.improved(one.G, one.factors, p[k], block.K @ speeds, block.limit(p), caution)
    better = where(block.acts, better, p[k])
    change = better - p[k]
    p[k] = better
    if one.also is not None:
        p[0] = p[0] + one.also @ change
    return speeds + one.W @ change


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
