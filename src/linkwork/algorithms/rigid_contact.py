"""Rigid contact: impulses that keep bodies apart, make them bounce, and rub by Coulomb's law (Moreau 1988).

All contacts of one instant together take velocities v to v + W p, where contact i sees u_i = K_i v in its own axes, the
normal first, and W_i = M^-1 K_i^T is what its impulse p_i does. Each obeys

    0 <= p_n,   u_n >= bounce,   p_n (u_n - bounce) = 0          it pushes or lets go
    |p_t| <= mu p_n,   and where u_t is not zero, p_t = -mu p_n u_t / |u_t|          it sticks or slides

The contacts are taken one after the other, there and back, each settled exactly as long as the others stay as they are,
until nothing changes any more (nonlinear Gauss-Seidel; Jean 1999, section 6).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.spatial.fixed_points import Search
from linkwork.spatial.loops import iterate
from linkwork.spatial.scalar import LDLT, Array, Number, dot, largest, ldlt, maximum, minimum, where

ROUNDS = 2400  # there and back through all contacts, at most
SETTLED = 1e-12  # speed by which a contact breaks its laws, of the speeds that are there, at which all agree
ROUNDED = 1e-14  # so of the fastest at all: what is left of a contact that others push and pull
EASY = 1e-9  # part of a contact's mobility that is added where it cannot move at all
TINY = 1e-100
STEPS = 4  # down towards the best impulse of a contact that slides
FREED = 1e-9  # part of the depth that may be left where contacts are pushed out, in so many rounds at most
PUSHES = 200
AT_ALL = 1e-15  # depth [m] that is none


class Facing(NamedTuple):
    """A contact that acts: rows K (3, nv), normal first, and their response W (nv, 3); `friction` mu.

    `acts` is whether it does at all, and `bounce` [m/s] the least speed at which it must part.
    """

    acts: Any
    K: Array
    W: Array
    friction: Number
    bounce: Number

    @property
    def mobility(self) -> Array:
        """K W (3, 3) [1/kg], with a little added, so that what cannot move does no harm."""
        G = self.K @ self.W
        extra = (G[0, 0] + G[1, 1] + G[2, 2]) * EASY + TINY
        return G + np.diag([extra] * 3)


class Settled(NamedTuple):
    """Velocities v (nv,) after impulses p (n, 3) [N s] in the contacts' axes; in how many rounds, and what was left.

    `left` [m/s] is the speed by which a contact broke its laws as the last round came to it; `agreed` is 1 if that is
    no more than round-off, else 0.
    """

    v: Array
    p: Array
    rounds: Number
    left: Number
    agreed: Number


def axes(n: Array) -> Array:
    """Orthonormal columns (3, 3): the unit vector n (3,) and two along the surface (Duff et al. 2017)."""
    sign = where(n[2] < 0.0, -1.0, 1.0)
    a = -1.0 / (sign + n[2])
    b = n[0] * n[1] * a
    first = np.array([1.0 + sign * n[0] * n[0] * a, sign * b, -(sign * n[0])])
    return np.column_stack([n, first, np.array([b, sign + n[1] * n[1] * a, -n[1]])])


def settled(contacts: Sequence[Facing], v: Array, first: Array, needed: Any = True) -> Settled:
    """Impulses that all contacts agree on, from velocities v (nv,) and a first guess (n, 3) [N s], if it is of use.

    Where it is not `needed`, nothing is asked of the answer.
    """
    count, size = len(contacts), len(v)
    known = [(one, G := one.mobility, ldlt(G)) for one in contacts]
    weight = np.repeat([np.sqrt(G[0, 0] + G[1, 1] + G[2, 2]) for _, G, _ in known], 3)
    seen = [largest(one.K @ v) for one in contacts]
    acting = [where(one.acts, speed + one.bounce, 0.0) for one, speed in zip(contacts, seen, strict=True)]
    enough = largest(np.array(acting)) * SETTLED + largest(np.array(seen)) * ROUNDED

    def pushed(impulses: Array) -> Array:
        return v + sum((one.W @ p for one, p in zip(contacts, impulses.reshape(count, 3), strict=True)), np.zeros(size))

    def broken(impulses: Array) -> Number:
        speeds, each = pushed(impulses), zip(known, impulses.reshape(count, 3), strict=True)
        return largest(np.array([where(one.acts, _broken(one, G, p, one.K @ speeds), 0.0) for (one, G, _), p in each]))

    guess = np.ravel([where(one.acts, p, np.zeros(3)) for one, p in zip(contacts, first, strict=True)])
    guess = where(broken(guess) < broken(np.zeros(3 * count)), guess, np.zeros(3 * count))

    def round_(*state: Any) -> tuple[tuple[Any, ...], Any]:
        search, left = Search(*state), 0.0
        caution = where(search.careful, 1.0, 0.0)
        speeds, p = pushed(search.start), list(search.start.reshape(count, 3))
        for k in (*range(count), *reversed(range(count - 1))):
            one, G, factors = known[k]
            u = one.K @ speeds
            left = maximum(left, where(one.acts, _broken(one, G, p[k], u), 0.0))
            better = where(one.acts, _agreed(one, G, factors, p[k], u, caution), p[k])
            speeds, p[k] = speeds + one.W @ (better - p[k]), better
        ended = np.ravel(p)
        after = search.after(ended, (ended - search.start) * weight, left)
        return tuple(after), (left <= enough) | ~_truth(needed)

    state, rounds, _ = iterate(ROUNDS, round_, *Search.at(guess, 3 * count))
    found = Search(*state)
    return Settled(
        pushed(found.end), found.end.reshape(count, 3), rounds, found.left, where(found.left <= enough, 1.0, 0.0)
    )


def _truth(condition: Any) -> Any:
    return np.bool_(condition) if isinstance(condition, bool) else condition


def _broken(one: Facing, G: Array, p: Array, u: Array) -> Number:
    """The speed [m/s] by which a contact under the impulse p (3,) that moves at u (3,) breaks its laws.

    It obeys them if a step against its speed, brought back to what it may push, leads to where it was.
    """
    ease = G[0, 0] + G[1, 1] + G[2, 2]
    pushes = maximum((one.bounce - u[0]) / ease, -p[0])  # more than p, as it is not to be lost in what is large
    along = p[1:] - u[1:] / ease
    beyond = maximum(_size(along) - one.friction * (p[0] + pushes), 0.0) / maximum(_size(along), TINY)
    return largest(np.array([pushes, *(u[1:] / ease + along * beyond)])) * ease


def _agreed(one: Facing, G: Array, factors: LDLT, p: Array, u: Array, caution: Number) -> Array:
    """The impulse (3,) [N s] of a contact that moves at u (3,) [m/s] under p (3,) [N s], while others stay as they are.

    It is exact where it sticks or parts; where it slides, it becomes so as rounds go on. For the slip that there is, it
    is the impulse of least energy within the cone, if it parts at mu |u_t| less (De Saxce and Feng 1998): there is
    one, and steps down towards it never lead away. With a `caution` of 1 that holds for those that come to stick,
    too; with 0 they do so at once, which is quicker, but may lead round in circles.
    """
    shift = one.friction * _size(u[1:])
    lack = np.array([u[0] - one.bounce + shift, u[1], u[2]])
    stuck = p - factors.solve(np.array([u[0] - one.bounce + shift * caution, u[1], u[2]]))
    limit = one.friction * stuck[0]
    sticks = (stuck[0] >= 0.0) & (stuck[1] * stuck[1] + stuck[2] * stuck[2] <= limit * limit)
    free = lack - G @ p
    parts = free[0] >= one.friction * _size(free[1:])
    ease = 1.0 / _steepest(G)
    slides = _within(one.friction, p - lack * ease)
    for _ in range(STEPS - 1):
        slides = _within(one.friction, slides - (free + G @ slides) * ease)
    return where(sticks, stuck, where(parts, np.zeros(3), slides))


def _within(friction: Number, p: Array) -> Array:
    """The impulse nearest to p (3,) that friction allows: in the cone |p_t| <= mu p_n."""
    along = _size(p[1:])
    normal = maximum(p[0] + friction * along, 0.0) / (1.0 + friction * friction)
    edge = where(friction * along <= -p[0], 0.0, normal)
    outside = along > friction * p[0]
    return where(outside, np.array([edge, *(p[1:] * (friction * edge / maximum(along, TINY)))]), p)


def _steepest(G: Array) -> Number:
    """The largest sum of magnitudes in a row of G (3, 3), which no eigenvalue exceeds."""
    return largest(np.array([abs(row[0]) + abs(row[1]) + abs(row[2]) for row in G]))


def _size(x: Array) -> Number:
    return np.sqrt(x[0] * x[0] + x[1] * x[1])


def work(contacts: Sequence[Facing], p: Array, before: Array, after: Array) -> Number:
    """Work [J] of impulses p (n, 3) that take velocities (nv,) from `before` to `after`."""
    total: Number = 0.0
    for one, impulse in zip(contacts, p, strict=True):
        total = total + dot(impulse, one.K @ (before + after)) * 0.5
    return total


def bounced(contacts: Sequence[Facing], before: Array, v: Array, first: Array) -> Settled:
    """The same as `settled`, where some bounce: as far as that gives no energy to what moved at `before` (nv,).

    With friction at several contacts, or at one beside the centre of mass, Newton's law of restitution may ask for more
    than there was (Kane 1984). Between impulses without bounces and those with them all obey friction's limits and
    let contacts part; of these the last is taken that does no work. Contacts that hold what is to bounce, as a wall
    behind it does, leave no impulses with the bounce at all: it is left out then.
    """
    full = settled(contacts, v, first)
    too_much = (work(contacts, full.p, before, full.v) > 0.0) | (full.agreed == 0.0)
    guess = where(full.agreed == 1.0, full.p, first)
    plain = settled([one._replace(bounce=0.0) for one in contacts], v, guess, too_much)
    most = Settled(*(where(full.agreed == 1.0, a, b) for a, b in zip(full, plain, strict=True)))
    won, least = work(contacts, most.p, before, most.v), work(contacts, plain.p, before, plain.v)
    change = most.p - plain.p
    bend = sum((dot(x, one.K @ (most.v - plain.v)) for one, x in zip(contacts, change, strict=True)), 0.0) * 0.5
    slope = won - least - bend
    root = np.sqrt(maximum(slope * slope + 4.0 * bend * (maximum(least, 0.0) - least), 0.0))
    part = where(won > maximum(least, 0.0), (root - slope) / maximum(2.0 * bend, TINY), 1.0)
    part = minimum(maximum(part, 0.0), 1.0)
    v = where(won > 0.0, plain.v + (most.v - plain.v) * part, most.v)
    p = where(won > 0.0, plain.p + change * part, most.p)
    left = where(won > 0.0, maximum(most.left, plain.left), most.left)
    return Settled(v, p, full.rounds + where(too_much, plain.rounds, 0), left, where(too_much, plain.agreed, 1.0))


def pushed_out(contacts: Sequence[Facing], lack: Array) -> Array:
    """The way (nv,) [m or rad], least in the metric of kinetic energy, along which contacts part by `lack` (n,) [m]."""
    count, size = len(contacts), len(contacts[0].W)
    mobility = [one.mobility[0, 0] for one in contacts]
    weight = np.sqrt(np.array(mobility))
    enough = maximum(_most(lack), 0.0) * FREED + AT_ALL

    def moved(x: Array) -> Array:
        return sum((one.W[:, 0] * push for one, push in zip(contacts, x, strict=True)), np.zeros(size))

    def round_(*state: Any) -> tuple[tuple[Any, ...], Any]:
        search, left = Search(*state), 0.0
        way, x = moved(search.start), list(search.start)
        for k in (*range(count), *reversed(range(count - 1))):
            better = maximum(x[k] + (lack[k] - contacts[k].K[0] @ way) / mobility[k], 0.0)
            change = better - x[k]
            way, x[k] = way + contacts[k].W[:, 0] * change, better
            left = maximum(left, abs(change) * mobility[k])
        ended = np.array(x)
        after = search.after(ended, (ended - search.start) * weight, left)
        return tuple(after), left <= enough

    state, _, _ = iterate(PUSHES, round_, *Search.at(np.zeros(count), count))
    return moved(Search(*state).end)


def _most(values: Array) -> Number:
    found = values[0]
    for x in values[1:]:
        found = maximum(found, x)
    return found
