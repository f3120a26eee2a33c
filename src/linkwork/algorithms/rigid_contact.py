"""Rigid contact: impulses that keep bodies apart, make them bounce, and rub by Coulomb's law (Moreau 1988).

Contact i sees the speeds u_i = K_i v in its own axes, the normal first, and its impulse p_i obeys

    0 <= p_n,   u_n >= bounce,   p_n (u_n - bounce) = 0          it pushes or separates
    |p_t| <= mu p_n,   and where u_t is not zero, p_t = -mu p_n u_t / |u_t|          it sticks or slides

A contact is thus a block of three bounded rows, of which `constraints.bounded_rows` solves any number together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.constraints.admissible_sets import TINY, clipped, excess, into_cone, length
from linkwork.algorithms.constraints.bounded_blocks import STEPS, eased, steepest, stopping_impulses, trace_of
from linkwork.algorithms.constraints.bounded_rows import Block, Settled, parts_of, product, settled, work
from linkwork.model.elements.contact import Pair
from linkwork.spatial.fixed_points import Search
from linkwork.spatial.loops import iterate
from linkwork.spatial.scalar import LDLT, Array, Number, largest, maximum, may_be_there, minimum, where

FREED = 1e-9  # fraction of the depth that may be left where contacts are pushed out, in so many iterations at most
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
    def remembered(self) -> bool:
        """Whether impulses of the last step are known: yes."""
        return True

    @property
    def alike(self) -> bool:
        """Whether it is judged by the fastest of its kind: yes."""
        return True

    @property
    def mobility(self) -> Array:
        """K W (3, 3) [1/kg], with a little added, so that what cannot move does no harm."""
        return eased(self.K @ self.W)

    @property
    def without_bounce(self) -> Facing:
        """The same contact after a perfectly inelastic impact."""
        return self._replace(bounce=0.0)

    def weights(self, G: Array) -> Array:
        """The square root of its mobility (3,), the same for all rows."""
        return np.repeat(np.sqrt(trace_of(G)), 3)

    def stopping(self, G: Array, u: Array) -> Array:
        """The sizes of impulses (3,) [N s] that would stop its rows, each alone."""
        return stopping_impulses(G, u)

    def limit(self, _: Sequence[Array]) -> Number:
        """None: its cone depends on its own normal impulse."""
        return 0.0

    def residual(self, G: Array, p: Array, u: Array, _: Number) -> Number:
        """The speed [m/s] by which a contact under the impulse p (3,) that moves at u (3,) breaks its laws."""
        ease = trace_of(G)
        pushes = clipped((self.bounce - u[0]) / ease, -p[0])  # more than p, as it is not to be lost in what is large
        along = p[1:] - u[1:] / ease
        beyond = excess(length(along), self.friction * (p[0] + pushes))
        return largest(np.array([pushes, *(u[1:] / ease + along * beyond)])) * ease

    def improved(self, G: Array, factors: LDLT, p: Array, u: Array, _: Number, caution: Number) -> Array:
        """The impulse (3,) [N s] of a contact that moves at u (3,) [m/s] under p (3,) [N s], while others stay.

        It is exact where it sticks or parts; where it slides, it becomes so as iterations go on. For the slip that
        there is, it is the impulse of least energy within the cone, if it parts at mu |u_t| less (De Saxce and Feng
        1998): there is one, and steps down towards it never lead away. With a `caution` of 1 that holds for those that
        come to stick, too; with 0 they do so at once, which is quicker, but may lead round in circles.
        """
        shift = self.friction * length(u[1:])
        lack = np.array([u[0] - self.bounce + shift, u[1], u[2]])
        stuck = p - factors.solve(np.array([u[0] - self.bounce + shift * caution, u[1], u[2]]))
        limit = self.friction * stuck[0]
        sticks = (stuck[0] >= 0.0) & (stuck[1] * stuck[1] + stuck[2] * stuck[2] <= limit * limit)
        free = lack - G @ p
        parts = free[0] >= self.friction * length(free[1:])
        ease = 1.0 / steepest(G)
        slides = into_cone(self.friction, p - lack * ease)
        for _ in range(STEPS - 1):
            slides = into_cone(self.friction, slides - (free + G @ slides) * ease)
        return where(sticks, stuck, where(parts, np.zeros(3), slides))


def axes(n: Array) -> Array:
    """Orthonormal columns (3, 3): the unit vector n (3,) and two along the surface (Duff et al. 2017)."""
    sign = where(n[2] < 0.0, -1.0, 1.0)
    a = -1.0 / (sign + n[2])
    b = n[0] * n[1] * a
    first = np.array([1.0 + sign * n[0] * n[0] * a, sign * b, -(sign * n[0])])
    return np.column_stack([n, first, np.array([b, sign + n[1] * n[1] * a, -n[1]])])


def bounced(blocks: Sequence[Block], before: Array, v: Array, first: Array) -> Settled:
    """The same as `settled`, where some bounce: as far as that gives no energy to what moved at `before` (nv,).

    With friction at several contacts, or at one beside the centre of mass, Newton's law of restitution may ask for more
    than there was (Kane 1984). Between impulses without bounces and those with them all obey friction's limits and
    let contacts part; of these the last is taken that does no work. Contacts that hold what is to bounce, as a wall
    behind it does, leave no impulses with the bounce at all: it is left out then.
    """
    full = settled(blocks, v, first)
    too_much = (work(blocks, full.p, before, full.v) > 0.0) | (full.agreed == 0.0)
    guess = where(full.agreed == 1.0, full.p, first)
    plain = settled([one.without_bounce for one in blocks], v, guess, too_much)
    most = Settled(*(where(full.agreed == 1.0, a, b) for a, b in zip(full, plain, strict=True)))
    won, least = work(blocks, most.p, before, most.v), work(blocks, plain.p, before, plain.v)
    change = most.p - plain.p
    pairs = zip(blocks, parts_of(blocks, change), strict=True)
    bend = sum((product(x, one.K @ (most.v - plain.v)) for one, x in pairs), 0.0) * 0.5
    slope = won - least - bend
    root = np.sqrt(maximum(slope * slope + 4.0 * bend * (maximum(least, 0.0) - least), 0.0))
    part = where(won > maximum(least, 0.0), (root - slope) / maximum(2.0 * bend, TINY), 1.0)
    part = minimum(maximum(part, 0.0), 1.0)
    v = where(won > 0.0, plain.v + (most.v - plain.v) * part, most.v)
    p = where(won > 0.0, plain.p + change * part, most.p)
    left = where(won > 0.0, maximum(most.left, plain.left), most.left)
    return Settled(v, p, full.rounds + where(too_much, plain.rounds, 0), left, where(too_much, plain.agreed, 1.0))


def remembered(pairs: Sequence[Pair]) -> int:
    """How many numbers each of these contacts remembers from step to step: state, force (3,), since when.

    If any of them has rolling or spinning friction, its torque (3,) follows.
    """
    turned = any(may_be_there(contact.rolling) or may_be_there(contact.spinning) for contact, _ in pairs)
    return 8 if turned else 5


def has_torques(touch: Array) -> bool:
    """Whether what contacts remember (n, 5) or (n, 8), or one of them, includes torques."""
    return np.shape(touch)[-1] > 5


def forces_of(touch: Array) -> Array:
    """Forces [N] of what contacts remember, in the world's axes: (n, 3), or (n, 6) followed by torques [N m]."""
    return np.concatenate([touch[:, 1:4], touch[:, 5:]], axis=1)


def pushed_out(contacts: Sequence[Facing], lack: Array) -> Array:
    """The way (nv,) [m or rad], least in the metric of kinetic energy, along which contacts part by `lack` (n,) [m]."""
    count, size = len(contacts), len(contacts[0].W)
    mobility = [one.mobility[0, 0] for one in contacts]
    weight = np.array([np.sqrt(x) for x in mobility])  # of which some may be constant
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
