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

ROUNDS = 200  # there and back through all contacts, at most
SETTLED = 1e-12  # speed by which a contact breaks its laws, of the speeds that are there, at which all agree
ROUNDED = 1e-14  # so of the fastest at all: what is left of a contact that others push and pull
EASY = 1e-9  # part of a contact's mobility that is added where it cannot move at all
TINY = 1e-100
STEEP = 0.1  # part of a normal's mobility that friction leaves of it at least
TURNS = 2  # rounds of Newton's method for friction at its limit, from where it was
FREED = 1e-9  # part of the depth that may be left where contacts are pushed out


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

    `left` [m/s] is the speed by which a contact broke its laws as the last round came to it.
    """

    v: Array
    p: Array
    rounds: Number
    left: Number


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
        speeds, p = pushed(search.start), list(search.start.reshape(count, 3))
        for k in (*range(count), *reversed(range(count - 1))):
            one, G, factors = known[k]
            u = one.K @ speeds
            left = maximum(left, where(one.acts, _broken(one, G, p[k], u), 0.0))
            better = where(one.acts, _agreed(one, G, factors, p[k], u), p[k])
            speeds, p[k] = speeds + one.W @ (better - p[k]), better
        ended = np.ravel(p)
        after = search.after(ended, (ended - search.start) * weight, left)
        return tuple(after), (left <= enough) | ~_truth(needed)

    state, rounds, _ = iterate(ROUNDS, round_, *Search.at(guess, 3 * count))
    found = Search(*state)
    return Settled(pushed(found.end), found.end.reshape(count, 3), rounds, found.left)


def _truth(condition: Any) -> Any:
    return np.bool_(condition) if isinstance(condition, bool) else condition


def _broken(one: Facing, G: Array, p: Array, u: Array) -> Number:
    """The speed [m/s] by which a contact under the impulse p (3,) that moves at u (3,) breaks its laws.

    It obeys them if a step against its speed, brought back to what it may push, leads to where it was.
    """
    ease = G[0, 0] + G[1, 1] + G[2, 2]
    normal = maximum(p[0] - (u[0] - one.bounce) / ease, 0.0)
    along = p[1:] - u[1:] / ease
    along = along * (minimum(one.friction * normal, _size(along)) / maximum(_size(along), TINY))
    return largest(np.array([normal - p[0], *(along - p[1:])])) * ease


def _agreed(one: Facing, G: Array, factors: LDLT, p: Array, u: Array) -> Array:
    """The impulse (3,) [N s] of a contact that moves at u (3,) [m/s] under p (3,) [N s], while others stay as they are.

    It is exact where it sticks or parts; where it slides, it becomes so as rounds go on.
    """
    lack = np.array([u[0] - one.bounce, u[1], u[2]])
    stuck = p - factors.solve(lack)
    limit = one.friction * stuck[0]
    sticks = (stuck[0] >= 0.0) & (stuck[1] * stuck[1] + stuck[2] * stuck[2] <= limit * limit)
    # Where it slides, friction follows the normal impulse, in the proportion that it has now
    parts = lack[0] - dot(G[0], p)  # how fast it parts without an impulse, less the bounce
    share = one.friction / maximum(maximum(one.friction * p[0], _size(p[1:])), TINY)
    follows = (G[0, 1] * p[1] + G[0, 2] * p[2]) * share
    normal = maximum(-parts / maximum(G[0, 0] + follows, STEEP * G[0, 0]), 0.0)
    A = G[1:, 1:]
    free = u[1:] + G[1:, 0] * (normal - p[0]) - A @ p[1:]  # slip without friction
    along = least_slip(A, free, one.friction * normal, _size(u[1:]) / maximum(_size(p[1:]), TINY))
    return where(sticks, stuck, np.array([normal, *along]))


def _size(x: Array) -> Number:
    return np.sqrt(x[0] * x[0] + x[1] * x[1])


def least_slip(A: Array, c: Array, radius: Number, s: Number) -> Array:
    """The impulse x (2,) with |x| <= radius, least in x A x / 2 + c x: where it slips, A x + c = -s x with s > 0.

    It is found from a guess at s in a few rounds of Newton's method for 1/|x| = 1/radius (More and Sorensen 1983):
    nearly, or to the last bits if the guess was near.
    """
    small = maximum(radius, TINY)
    s = minimum(s, _size(c) / small)  # beyond which it never is

    def at(s: Number) -> tuple[Array, Number, Number]:
        a, b, d = A[0, 0] + s, A[0, 1], A[1, 1] + s
        determinant = a * d - b * b
        x = np.array([b * c[1] - d * c[0], b * c[0] - a * c[1]]) / determinant
        bent = d * x[0] * x[0] - 2.0 * b * x[0] * x[1] + a * x[1] * x[1]
        return x, _size(x), bent / determinant

    for _ in range(TURNS):
        _, size, rate = at(s)
        s = maximum(s + size * size * (size / small - 1.0) / maximum(rate, TINY), 0.0)
    x, size, _ = at(s)
    return x * (minimum(radius, size) / maximum(size, TINY))


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
    let contacts part; of these the last is taken that does no work.
    """
    full = settled(contacts, v, first)
    won = work(contacts, full.p, before, full.v)
    plain = settled([one._replace(bounce=0.0) for one in contacts], v, full.p, won > 0.0)
    least = work(contacts, plain.p, before, plain.v)
    most = maximum(least, 0.0)
    change = full.p - plain.p
    bend = sum((dot(x, one.K @ (full.v - plain.v)) for one, x in zip(contacts, change, strict=True)), 0.0) * 0.5
    slope = won - least - bend
    root = np.sqrt(maximum(slope * slope + 4.0 * bend * (most - least), 0.0))
    part = where(won > most, (root - slope) / maximum(2.0 * bend, TINY), 1.0)
    part = where(won > 0.0, minimum(maximum(part, 0.0), 1.0), 1.0)
    v = where(won > 0.0, plain.v + (full.v - plain.v) * part, full.v)
    p = where(won > 0.0, plain.p + change * part, full.p)
    left = where(won > 0.0, maximum(full.left, plain.left), full.left)
    return Settled(v, p, full.rounds, left)


def pushed_out(contacts: Sequence[Facing], lack: Array) -> Array:
    """The way (nv,) [m or rad], least in the metric of kinetic energy, along which contacts part by `lack` (n,) [m]."""
    count, size = len(contacts), len(contacts[0].W)
    mobility = [one.mobility[0, 0] for one in contacts]
    weight = np.sqrt(np.array(mobility))
    enough = maximum(_most(lack), 0.0) * FREED

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

    state, _, _ = iterate(ROUNDS, round_, *Search.at(np.zeros(count), count))
    return moved(Search(*state).end)


def _most(values: Array) -> Number:
    found = values[0]
    for x in values[1:]:
        found = maximum(found, x)
    return found
