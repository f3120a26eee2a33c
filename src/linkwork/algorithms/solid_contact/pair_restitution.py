"""Impulses of touching solid pairs with restitution, limited so that the impulses add no energy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.contact_tolerances import SETTLED
from linkwork.algorithms.solid_contact.body_equations import BodyEquations
from linkwork.algorithms.solid_contact.constraint_blocks_beside_solids import OtherBlocks
from linkwork.algorithms.solid_contact.impulse_iteration import Accuracy, chosen_array, solve_pairs
from linkwork.algorithms.solid_contact.touching_pairs import PairImpulses, TouchingPairs
from linkwork.spatial.row_arrays import RowArray, row_array
from linkwork.spatial.scalar import Array, Number, maximum, minimum, where
from linkwork.spatial.traceable_loops import repeat
from linkwork.tolerances import HUGE, TINY_SIZE


class _Solutions(NamedTuple):
    """Two solutions for the impulses of an impact: number 0 with restitution, number 1 without.

    Row k of `impulses` has three impulses of pair k: the guess, and those with and without restitution. `v` (2, nv) are
    the velocities of the mechanism, `left` (2,) [m/s] the largest violations of the contact conditions, and `agreed`
    (2,) is 1 for a solution that converged. `needed` is 1 if solution 1 is needed, because solution 0 adds energy or
    did not converge. `conditions` are the contact conditions of the solution that was computed last, `others` (2, n)
    the impulses of other constraints. `iterations` is the sum of the iterations of both solutions.
    """

    impulses: RowArray
    conditions: RowArray
    v: Array
    left: Array
    agreed: Array
    iterations: Number
    needed: Number
    others: Array


def solve_pairs_with_restitution(
    pairs: TouchingPairs,
    equations: BodyEquations,
    before: Array,
    free: Array,
    guess: RowArray,
    others: OtherBlocks,
    other_guess: Array,
) -> tuple[PairImpulses, RowArray]:
    """Return the impulses with the most restitution that adds no energy, and contact conditions without restitution.

    The function first computes the impulses with restitution. If these impulses add energy or do not exist, it also
    computes the impulses without restitution. It then returns the mixture of both solutions with the most restitution
    that adds no energy. The contact conditions without restitution are rows with the layout of `pairs.conditions`.
    `before` (nv,) are the velocities before the impact. The other arguments are those of `solve_pairs`.
    """
    start, count, rows = pairs.responses.velocity_rows(before), pairs.count, pairs.rows

    def prepare(k: Number, impulses: RowArray) -> tuple[RowArray]:
        return (impulses.put(k, np.concatenate([guess.at(k), np.zeros(2 * rows)])),)

    def solve(j: Number, *state: Any) -> tuple[Any, ...]:
        now, first = _Solutions(*state), j == 0

        def begin(k: Number, conditions: RowArray, p: RowArray) -> tuple[RowArray, RowArray]:
            given = replace(pairs, conditions=conditions).pair_conditions(k)
            given = given._replace(bounce=where(first, given.bounce, np.zeros(len(given.bounce))))
            guessed, bouncing, _ = now.impulses.at(k).reshape(3, rows)
            better = where(first, 0.0, now.agreed[0]) == 1.0
            return conditions.put(k, given.row()), p.put(k, where(better, bouncing, guessed))

        conditions, p = pairs.selection.visit(begin, now.conditions, row_array(count, rows))
        accuracy = Accuracy(where(now.needed == 1.0, SETTLED, HUGE))
        chosen = chosen_array(where(first, 0.0, now.agreed[0]) == 1.0, now.others[0], other_guess)
        given = others.with_bounce(where(first, 1.0, 0.0))
        found, _ = solve_pairs(replace(pairs, conditions=conditions), equations, free, p, accuracy, given, chosen)
        v, solved = pairs.responses.velocity_rows(found.v), found.p

        def end(k: Number, impulses: RowArray, done: Number) -> tuple[RowArray, Number]:
            guessed, bouncing, plain = impulses.at(k).reshape(3, rows)
            p = solved.at(k)
            parts = guessed, where(first, p, bouncing), where(first, plain, p)
            return impulses.put(k, np.concatenate(parts)), done + p @ _mean_speeds(pairs, k, start, v)

        impulses, done = pairs.selection.visit(end, now.impulses, others.work(found.others, before, found.v))
        old, new = (now.v, now.left, now.agreed, now.others), (found.v, found.left, found.agreed, found.others)
        both = [
            np.array([chosen_array(first, b, a[0]), chosen_array(first, a[1], b)])
            for a, b in zip(old, new, strict=True)
        ]
        iterations = now.iterations + where(now.needed == 1.0, found.iterations, 0.0)
        fails = (done > 0.0) | (found.agreed == 0.0)
        needed = where(first, where(fails, 1.0, 0.0), now.needed)
        velocities, left, agreed, beside = both
        return tuple(_Solutions(impulses, conditions, velocities, left, agreed, iterations, needed, beside))

    (impulses,) = pairs.selection.visit(prepare, row_array(count, 3 * rows))
    v, guesses = np.array([free, free]), np.array([other_guess, other_guess])
    initial = _Solutions(impulses, pairs.conditions, v, np.zeros(2), np.zeros(2), 0.0, 1.0, guesses)
    found = _Solutions(*repeat(2, solve, *initial))
    return _without_energy_gain(pairs, before, start, found, others), found.conditions


def _mean_speeds(pairs: TouchingPairs, k: Number, a: RowArray, b: RowArray) -> Array:
    """Return the speeds (12,) [m/s] of pair k, averaged over two sets of velocities of the bodies.

    a and b have one velocity (6,) per body as a row. `pairs` are the touching pairs.
    """
    frame = pairs.frame(k)
    return (pairs.speeds(k, frame, a) + pairs.speeds(k, frame, b)) * 0.5


def _without_energy_gain(
    pairs: TouchingPairs, before: Array, start: RowArray, found: _Solutions, others: OtherBlocks
) -> PairImpulses:
    """Return the mixture of the two solutions `found` with the most restitution that adds no energy.

    All mixtures satisfy the friction limits and let contacts separate. `before` (nv,) are the velocities before the
    impact, and `start` has the corresponding velocities (6,) of the bodies as rows. `others` are the other constraints
    with bounded impulses. `pairs` are the touching pairs.
    """
    exists = found.agreed[0] == 1.0
    v_most, v_plain = where(exists, found.v[0], found.v[1]), found.v[1]
    most, plain = pairs.responses.velocity_rows(v_most), pairs.responses.velocity_rows(v_plain)

    def impulses_of(k: Number) -> tuple[Array, Array]:
        _, bouncing, soft = found.impulses.at(k).reshape(3, pairs.rows)
        return where(exists, bouncing, soft), soft

    def look(k: Number, won: Number, least: Number, bend: Number) -> tuple[Number, Number, Number]:
        p, soft = impulses_of(k)
        frame = pairs.frame(k)
        u0, u, u_soft = (pairs.speeds(k, frame, v) for v in (start, most, plain))
        won, least = won + p @ (u0 + u) * 0.5, least + soft @ (u0 + u_soft) * 0.5
        return won, least, bend + (p - soft) @ (u - u_soft) * 0.5

    p_most, p_plain = chosen_array(exists, found.others[0], found.others[1]), found.others[1]
    won, least = others.work(p_most, before, v_most), others.work(p_plain, before, v_plain)
    bend = others.work(p_most - p_plain, v_most, -v_plain)
    won, least, bend = pairs.selection.visit(look, won, least, bend)
    slope = won - least - bend
    root = np.sqrt(maximum(slope * slope + 4.0 * bend * (maximum(least, 0.0) - least), 0.0))
    part = where(won > maximum(least, 0.0), (root - slope) / maximum(2.0 * bend, TINY_SIZE), 1.0)
    part = where(won > 0.0, minimum(maximum(part, 0.0), 1.0), 1.0)

    def mix(k: Number, rows: RowArray) -> tuple[RowArray]:
        p, soft = impulses_of(k)
        return (rows.put(k, where(part == 1.0, p, soft + (p - soft) * part)),)

    (p,) = pairs.selection.visit(mix, row_array(pairs.count, pairs.rows))
    v = where(part == 1.0, v_most, v_plain + (v_most - v_plain) * part)
    left = where(exists, where(won > 0.0, maximum(found.left[0], found.left[1]), found.left[0]), found.left[1])
    agreed = where(found.needed == 1.0, found.agreed[1], 1.0)
    mixed = p_plain + (p_most - p_plain) * part
    return PairImpulses(v, p, found.iterations, left, agreed, chosen_array(part == 1.0, p_most, mixed))
