"""Work of the impulses of touching solid pairs, and reduction of impulses that would do positive work.

Impulses p change the velocities of a system from v0 to v1. Their work is p . (u0 + u1) / 2, with the speeds u0 and u1
of the contact points at these velocities. Contacts cannot do positive work. The impulses of a step may nevertheless do
some, because the contact conditions hold at the end of the step, where the points and normals have moved, or because
some of the points separate before the impulses.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.algorithms.contact_tolerances import DOUBLE_ROOT, SEPARATING_SPEED, WORK_ROUND_OFF
from linkwork.algorithms.solid_contact.constraint_blocks_beside_solids import OtherBlocks
from linkwork.algorithms.solid_contact.rigid_pairs import ROWS
from linkwork.algorithms.solid_contact.touching_pairs import PairImpulses, TouchingPairs, zero_rows
from linkwork.model.solids import POINTS
from linkwork.spatial.row_arrays import RowArray
from linkwork.spatial.scalar import Array, Condition, Number, maximum, minimum, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import TINY


def without_positive_work(
    pairs: TouchingPairs, before: Array, found: PairImpulses, others: OtherBlocks, slow: Number, released: Number = 0.0
) -> tuple[PairImpulses, Number]:
    """Return the impulses `found`, reduced if they would do positive work, and the total work [J] of all impulses.

    `before` (nv,) are the velocities before the impulses, and `others` the other constraints with bounded impulses.
    `slow` [m/s] is the speed that gravity adds in the step; it determines the size of rounding errors. The function
    multiplies those impulses that do positive work by a common factor, so that the total work is zero. If no factor has
    this effect, it multiplies all impulses of solids by a common factor. Friction remains within its limits. The work
    may be positive up to `released` [J]. `pairs` are the touching pairs.
    """
    start = pairs.responses.velocity_rows(before)
    mean = pairs.responses.velocity_rows((before + found.v) * 0.5)

    def add(k: Number, total: Number, size: Number) -> tuple[Number, Number]:
        frame, p = pairs.frame(k), found.p.at(k)
        u = pairs.speeds(k, frame, mean)
        change = u - pairs.speeds(k, frame, start)
        return total + p @ u, size + abs(p @ change) + sum(p[:ROWS:3]) * slow

    total, size = pairs.selection.visit(add, others.work(found.others, before, found.v) - released, 0.0)
    least = size * WORK_ROUND_OFF

    def reduce(v: Array, p: RowArray, total: Number, everywhere: Number) -> tuple[tuple[Any, ...], Condition]:
        mean = pairs.responses.velocity_rows((before + v) * 0.5)

        def part(k: Number, p: Array) -> Array:
            """Return the impulses p of pair k, with zeros for impulses that do no positive work."""
            return _with_positive_work(p, pairs.speeds(k, pairs.frame(k), mean), slow * SEPARATING_SPEED, everywhere)

        def choose(k: Number, slope: Number, wrenches: RowArray) -> tuple[Number, RowArray]:
            frame, chosen = pairs.frame(k), part(k, p.at(k))
            slope = slope + chosen @ pairs.speeds(k, frame, mean)
            return slope, pairs.add_wrench(k, frame, chosen, wrenches)

        slope, wrenches = pairs.selection.visit(choose, 0.0, zero_rows(pairs.responses.bodies, 6))
        change = pairs.responses.after_wrenches(before * 0.0, wrenches)
        moves = pairs.responses.velocity_rows(change)

        def respond(k: Number, slope: Number, bend: Number) -> tuple[Number, Number]:
            u = pairs.speeds(k, pairs.frame(k), moves) * 0.5
            return slope + p.at(k) @ u, bend + part(k, p.at(k)) @ u

        # If the fraction x of the chosen impulses is removed, the work becomes total - slope x + bend x^2
        slope, bend = pairs.selection.visit(respond, slope + others.work(found.others, before * 0.0, change), 0.0)
        square = slope * slope - 4.0 * bend * total
        root = 2.0 * total / maximum(slope + np.sqrt(maximum(square, 0.0)), TINY)
        lowest = slope / maximum(2.0 * bend, TINY)
        two_roots = square > slope * slope * DOUBLE_ROOT  # the minimum is more accurate than a double root
        x = maximum(minimum(where(two_roots & (slope > 0.0), root, lowest), 1.0), 0.0)

        def remove(k: Number, p: RowArray) -> tuple[RowArray]:
            return (p.put(k, p.at(k) - part(k, p.at(k)) * x),)

        (p,) = pairs.selection.visit(remove, p)
        total = total - slope * x + bend * x * x
        return (v - change * x, p, total, 1.0), total <= least

    state, _, _ = iterate(2, reduce, found.v, found.p, total, 0.0, start=total > least)
    v, p, total, _ = state
    return found._replace(v=v, p=p), total + released


def _with_positive_work(p: Array, u: Array, least: Number, everywhere: Number) -> Array:
    """Return the impulses p (12,) or (15,) of a pair with zeros in place of impulses that do no positive work.

    u [m/s] are the speeds of the pair, averaged over the velocities before and after the impulses. The normal impulse
    of a point does positive work if the point separates faster than `least` [m/s]. If it does, the friction impulse of
    this point is not replaced either, nor is the torque of rolling and spinning friction, which the normal impulses
    limit. If `everywhere` is 1, the result is p.
    """
    found, some = np.zeros(len(p), dtype=object), everywhere
    for j in range(POINTS):
        normal, first, second = range(3 * j, 3 * j + 3)
        pushes = (p[normal] * (u[normal] - least) > 0.0) | (everywhere == 1.0)
        drags = pushes | (p[first] * u[first] + p[second] * u[second] > 0.0)
        found[normal], some = where(pushes, p[normal], 0.0), where(pushes, 1.0, some)
        found[first], found[second] = (where(drags, p[i], 0.0) for i in (first, second))
    if len(p) > ROWS:
        turns = (some == 1.0) | (p[ROWS:] @ u[ROWS:] > 0.0)
        found[ROWS:] = where(turns, p[ROWS:], np.zeros(len(p) - ROWS))
    return found
