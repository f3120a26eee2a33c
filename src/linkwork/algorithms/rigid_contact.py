"""Rigid contact: impulses for non-penetration, restitution and Coulomb friction (Moreau 1988).

Contact i has the speeds u = K_i v in its own axes, normal first, and its impulse p (components p_n and p_t) satisfies

    0 <= p_n,   u_n >= bounce,   p_n (u_n - bounce) = 0          it pushes or separates
    |p_t| <= mu p_n,   and if u_t is not zero, p_t = -mu p_n u_t / |u_t|          it sticks or slides

Here mu is the friction coefficient, and bounce the separation speed after an impact. A contact is thus a block of three
bounded rows; `constraints.bounded_impulse_solver` solves all blocks together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.constraints.admissible_sets import clipped, excess, into_cone, length
from linkwork.algorithms.constraints.bounded_constraints import (
    STEPS,
    largest_row_sum,
    regularized,
    stopping_impulses,
    trace_of,
)
from linkwork.algorithms.constraints.bounded_impulse_solver import (
    Block,
    ImpulseSolution,
    product,
    solve_impulses,
    split_by_block,
    work,
)
from linkwork.algorithms.constraints.constraint_tolerances import SETTLED
from linkwork.algorithms.contact_tolerances import NO_DEPTH, REMAINING_PENETRATION
from linkwork.model.elements.contact import Pair
from linkwork.spatial.anderson_acceleration import AndersonIteration
from linkwork.spatial.scalar import LDLT, Array, Number, Value, largest, maximum, may_be_nonzero, minimum, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import TINY_SIZE

PUSHES = 200  # largest number of iterations of `separating_displacement`


class RigidContact(NamedTuple):
    """A rigid contact: Jacobian rows K (3, nv), normal first, response W (nv, 3) to unit impulses, and friction.

    K v is the velocity [m/s] of the contact, and W p the change of the velocities due to an impulse p (3,) [N s].
    `acts` is the condition that the contact is active, `friction` the coefficient mu, and `bounce` [m/s] the smallest
    separation speed after an impact. The contact conditions apply to the velocity K v + `drift` (3,) [m/s].
    """

    acts: Any
    K: Array
    W: Array
    friction: Number
    bounce: Number
    drift: Value = 0.0

    @property
    def remembered(self) -> bool:
        """Always true: the contact forces of the last step are available as a first guess of the impulses."""
        return True

    @property
    def same_units(self) -> bool:
        """Always true: all contacts share one convergence tolerance, relative to the speed of the fastest contact."""
        return True

    @property
    def inverse_mass(self) -> Array:
        """Inverse effective mass (3, 3) [1/kg] of the contact, the change of its velocity per unit impulse: K W.

        See `Block.inverse_mass`. The matrix is regularized, so that it can be factored for bodies that cannot move.
        """
        return regularized(self.K @ self.W)

    def with_bounce(self, share: Number) -> RigidContact:
        """Return the same contact with its restitution multiplied by `share`; 0 means a perfectly inelastic impact."""
        return self._replace(bounce=self.bounce * share)

    def weights(self, G: Array) -> Array:
        """Return equal factors (3,) that make impulses of different contacts comparable: roots of the trace of G.

        G (3, 3) is the inverse effective mass of the contact.
        """
        return np.repeat(np.sqrt(trace_of(G)), 3)

    def stopping(self, G: Array, u: Array) -> Array:
        """Return the magnitudes (3,) [N s] of impulses along the axes, each of which alone would stop its velocity.

        G (3, 3) is the inverse effective mass of the contact, and u (3,) [m/s] its velocity.
        """
        return stopping_impulses(G, u)

    def limit(self, _: Sequence[Array]) -> Number:
        """Return 0: the friction cone depends only on the contact's own normal impulse, not on other blocks."""
        return 0.0

    def residual(self, G: Array, p: Array, u: Array, _: Number) -> Number:
        """Return the speed [m/s] by which a contact violates the contact conditions, at impulse p and velocity u (3,).

        G (3, 3) is the inverse effective mass of the contact.
        """
        ease = trace_of(G)
        pushes = clipped((self.bounce - u[0]) / ease, -p[0])  # change of p[0], which is exact even if p[0] is large
        along = p[1:] - u[1:] / ease
        beyond = excess(length(along), self.friction * (p[0] + pushes))
        return largest(np.array([pushes, *(u[1:] / ease + along * beyond)])) * ease

    def improved(self, G: Array, factors: LDLT, p: Array, u: Array, _: Number, caution: Number) -> Array:
        """Return the impulse (3,) [N s] that satisfies the contact conditions at least nearly, with the others fixed.

        The contact has the velocity u (3,) [m/s] at the present impulse p (3,) [N s]. The result is exact if the
        contact sticks or separates; if it slides, it converges with the iterations. For the present slip, the result is
        the impulse of least energy within the cone, with the separation speed reduced by mu |u_t| (De Saxce and Feng
        1998): this problem has a unique solution, and descent steps never increase the distance from it. With `caution`
        1, this also holds for contacts that begin to stick. With 0 they stick at once, which is faster but may cycle. G
        (3, 3) is the inverse effective mass of the contact, and `factors` are the factors of G.
        """
        shift = self.friction * length(u[1:])
        residual = np.array([u[0] - self.bounce + shift, u[1], u[2]])
        stuck = p - factors.solve(np.array([u[0] - self.bounce + shift * caution, u[1], u[2]]))
        limit = self.friction * stuck[0]
        sticks = (stuck[0] >= 0.0) & (stuck[1] * stuck[1] + stuck[2] * stuck[2] <= limit * limit)
        free = residual - G @ p
        parts = free[0] >= self.friction * length(free[1:])
        ease = 1.0 / largest_row_sum(G)
        slides = into_cone(self.friction, p - residual * ease)
        for _ in range(STEPS - 1):
            slides = into_cone(self.friction, slides - (free + G @ slides) * ease)
        return where(sticks, stuck, where(parts, np.zeros(3), slides))


def axes(n: Array) -> Array:
    """Return an orthonormal basis as columns (3, 3): the unit vector n (3,), then two tangents (Duff et al.

    2017).
    """
    sign = where(n[2] < 0.0, -1.0, 1.0)
    a = -1.0 / (sign + n[2])
    b = n[0] * n[1] * a
    first = np.array([1.0 + sign * n[0] * n[0] * a, sign * b, -(sign * n[0])])
    return np.column_stack([n, first, np.array([b, sign + n[1] * n[1] * a, -n[1]])])


def solve_with_restitution(
    blocks: Sequence[Block], before: Array, v: Array, first: Array, settled: Number = SETTLED
) -> ImpulseSolution:
    """Return the impulses and velocities after an impact, with restitution limited so that the impulses add no energy.

    See `solve_impulses` for the solver and for `blocks`, `v`, the guess `first` and the tolerance `settled`; `before`
    (nv,) are the velocities before the impact. With friction at several contacts, or at one contact beside the centre
    of mass, Newton's law of restitution may increase the energy (Kane 1984). All mixtures of the impulses without and
    with restitution satisfy the friction limits and let contacts separate; the function returns those with the largest
    restitution that do no positive work. If other contacts, such as a wall behind, prevent the rebound, no impulses
    with restitution exist; restitution is then omitted.
    """
    full = solve_impulses(blocks, v, first, settled=settled)
    too_much = (work(blocks, full.p, before, full.v) > 0.0) | (full.agreed == 0.0)
    guess = where(full.agreed == 1.0, full.p, first)
    plain = solve_impulses([one.with_bounce(0.0) for one in blocks], v, guess, too_much, settled)
    most = ImpulseSolution(*(where(full.agreed == 1.0, a, b) for a, b in zip(full, plain, strict=True)))
    won, least = work(blocks, most.p, before, most.v), work(blocks, plain.p, before, plain.v)
    change = most.p - plain.p
    pairs = zip(blocks, split_by_block(blocks, change), strict=True)
    bend = sum((product(x, one.K @ (most.v - plain.v)) for one, x in pairs), 0.0) * 0.5
    slope = won - least - bend
    root = np.sqrt(maximum(slope * slope + 4.0 * bend * (maximum(least, 0.0) - least), 0.0))
    part = where(won > maximum(least, 0.0), (root - slope) / maximum(2.0 * bend, TINY_SIZE), 1.0)
    part = minimum(maximum(part, 0.0), 1.0)
    v = where(won > 0.0, plain.v + (most.v - plain.v) * part, most.v)
    p = where(won > 0.0, plain.p + change * part, most.p)
    left = where(won > 0.0, maximum(most.left, plain.left), most.left)
    return ImpulseSolution(
        v, p, full.iterations + where(too_much, plain.iterations, 0), left, where(too_much, plain.agreed, 1.0)
    )


def contact_memory_size(pairs: Sequence[Pair]) -> int:
    """Return how many values each of the contacts `pairs` stores from step to step: 5, or 8 with torques.

    The values are the state number, the force (3,) [N] and the time [s] at which the state began. If any contact has
    rolling or spinning friction, the torque (3,) [N m] follows.
    """
    turned = any(may_be_nonzero(contact.rolling) or may_be_nonzero(contact.spinning) for contact, _ in pairs)
    return 8 if turned else 5


def has_torques(stored: Array) -> bool:
    """Return whether the values that contacts store from step to step, (n, 5) or (n, 8), include torques.

    `stored` is the array of these values, or the row of one contact; see `contact_memory_size`.
    """
    return np.shape(stored)[-1] > 5


def forces_of(stored: Array) -> Array:
    """Return the contact forces (n, 3) [N], in world axes, from the values `stored` of n contacts.

    See `contact_memory_size` for these values. If torques are stored, the result is (n, 6): forces, then torques [N m].
    """
    return np.concatenate([stored[:, 1:4], stored[:, 5:]], axis=1)


def separating_displacement(contacts: Sequence[RigidContact], depth: Array) -> Array:
    """Return the smallest joint displacement (nv,) [m or rad] that separates n contacts by `depth` (n,) [m].

    The displacement is smallest in the metric of kinetic energy.
    """
    count, size = len(contacts), len(contacts[0].W)
    inverse_mass = [one.inverse_mass[0, 0] for one in contacts]
    weight = np.array([np.sqrt(x) for x in inverse_mass])  # entry by entry: some may be constants in a trace
    enough = maximum(_most(depth), 0.0) * REMAINING_PENETRATION + NO_DEPTH

    def moved(x: Array) -> Array:
        return sum((one.W[:, 0] * push for one, push in zip(contacts, x, strict=True)), np.zeros(size))

    def iteration(*state: Any) -> tuple[tuple[Any, ...], Any]:
        search, left = AndersonIteration(*state), 0.0
        shift, x = moved(search.start), list(search.start)
        for k in (*range(count), *reversed(range(count - 1))):
            better = maximum(x[k] + (depth[k] - contacts[k].K[0] @ shift) / inverse_mass[k], 0.0)
            change = better - x[k]
            shift, x[k] = shift + contacts[k].W[:, 0] * change, better
            left = maximum(left, abs(change) * inverse_mass[k])
        ended = np.array(x)
        after = search.after(ended, (ended - search.start) * weight, left)
        return tuple(after), left <= enough

    state, _, _ = iterate(PUSHES, iteration, *AndersonIteration.at(np.zeros(count), count))
    return moved(AndersonIteration(*state).end)


def _most(values: Array) -> Number:
    """Return the largest entry of the array `values` (n,)."""
    found = values[0]
    for x in values[1:]:
        found = maximum(found, x)
    return found
