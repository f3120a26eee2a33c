"""Impulses of all touching solid pairs in rigid contact, by nonlinear Gauss-Seidel iteration.

One iteration visits all touching pairs forward and backward, and finds the impulses of each with the others fixed.
Between iterations, Anderson's method extrapolates the impulses (see `spatial.anderson_acceleration`). The moves that it
compares are the changes of velocities in an iteration, because the impulses of redundant contacts are not unique.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.solid_contact.constraint_blocks_beside_solids import OtherBlocks
from linkwork.algorithms.solid_contact.least_norm_impulses import with_least_norm
from linkwork.algorithms.solid_contact.newton_iteration import newton_impulses
from linkwork.algorithms.solid_contact.rigid_pairs import ROWS, PairConditions, PairFrame, violations
from linkwork.algorithms.solid_contact.touching_pairs import PairImpulses, TouchingPairs, copied
from linkwork.spatial.anderson_acceleration import CAREFUL, DEPENDENT, DEPTH, QUICK, WORSE
from linkwork.spatial.row_arrays import RowArray, RowLayout, row_array
from linkwork.spatial.scalar import Array, Condition, Number, Value, largest, ldlt, maximum, where
from linkwork.spatial.traceable_loops import iterate, repeat
from linkwork.tolerances import HUGE, TINY, TINY_SIZE

ITERATIONS = 2400  # largest number of iterations
SETTLED = 1e-12  # speed by which a pair may violate its conditions, relative to the largest speed of a point
ROUNDED = 1e-14  # the same, relative to the largest speed of a body
# Impulses of a pair: at present, at the end of the last iteration, extrapolated, and changes of the ends
IMPULSES = RowLayout((ROWS,), (ROWS,), (ROWS,), (DEPTH, ROWS))


class _Search(NamedTuple):
    """State between iterations: impulses with the layout IMPULSES, and the moves of the velocities by component.

    `moves` has the last move of each component and the changes of its moves. If `ahead` is 1, the next iteration starts
    from the extrapolated impulses. `left` is the residual of the last iteration, and `turn` the number of iterations so
    far. The rows of `others` (2 + DEPTH, n) are impulses of other constraints: those of the last iteration, the
    extrapolated ones, and the changes from one iteration to the next.
    """

    impulses: RowArray
    moves: RowArray
    ahead: Number
    left: Number
    turn: Number
    others: Array


def solve_pairs(
    pairs: TouchingPairs,
    free: Array,
    guess: RowArray,
    settled: Number = SETTLED,
    others: OtherBlocks | None = None,
    other_guess: Array | None = None,
    least_norm: Condition = True,
) -> PairImpulses:
    """Return the impulses that satisfy the contact conditions of all touching pairs, and the velocities after them.

    `free` (nv,) are the velocities without impulses, and `guess` a first guess of the impulses, one row (12,) per pair.
    The guess is used only if it is better than zero impulses. `others` are other constraints with bounded impulses, and
    `other_guess` (n,) is a first guess of their impulses. With `least_norm`, redundant points have the impulses of
    least norm.
    """
    if pairs.responses.separate:
        return _solve_separate(pairs, free, guess, settled, least_norm)
    others = OtherBlocks([]) if others is None else others
    start = np.zeros(0) if other_guess is None else other_guess
    return _solve_joined(pairs, free, guess, settled, others, start, least_norm)


def _solve_separate(
    pairs: TouchingPairs, free: Array, guess: RowArray, settled: Number, least_norm: Condition
) -> PairImpulses:
    """Return the impulses and velocities of pairs of separate bodies; see `solve_pairs` and `newton_iteration`."""
    responses = pairs.responses
    rows = responses.velocity_rows(free)
    p = copied(pairs, guess, row_array(pairs.count, ROWS))
    with_guess = pairs.body_velocities(rows, p)

    def look(
        k: Number, fastest: Number, moved: Number, drifting: Number, without: Number, left: Number
    ) -> tuple[Number, ...]:
        frame, conditions, eases = pairs.frame(k), pairs.pair_conditions(k), pairs.compliance(k).traces
        *motion, speed = pairs.relative_velocity(k, frame, rows)
        drift = conditions.drift.reshape(ROWS)
        u, guessed = frame.speeds(*motion) + drift, pairs.speeds(k, frame, with_guess) + drift
        fastest = maximum(fastest, _fastest(frame, conditions, u))
        without = largest(np.array([without, *violations(frame, conditions, eases, np.zeros(ROWS), u)]))
        return (
            fastest,
            maximum(moved, speed),
            largest(np.array([drifting, *drift])),
            without,
            largest(np.array([left, *violations(frame, conditions, eases, p.at(k), guessed)])),
        )

    fastest, moving, drifting, without, left = pairs.selection.visit(look, 0.0, 0.0, 0.0, 0.0, 0.0)
    enough = fastest * settled + moving * ROUNDED + TINY_SIZE
    start = ~(left <= enough)
    better = where(left < without, 1.0, 0.0)
    (p,) = pairs.selection.visit(lambda k, p: (p.put(k, p.at(k) * better),), p)
    p, found, iterations = newton_impulses(pairs, rows, p, enough, drifting, start)
    left = where(start, found, left)
    enough = where(left > enough, maximum(enough, drifting), enough)

    p = with_least_norm(pairs, p, pairs.body_velocities(rows, p), least_norm)
    v = responses.after_wrenches(free, pairs.wrenches(p))
    return PairImpulses(v, p, iterations + 1.0, left, where(left <= enough, 1.0, 0.0))


def _fastest(frame: PairFrame, conditions: PairConditions, u: Array) -> Number:
    """Return the largest speed [m/s] in the contact conditions of a pair whose points have the speeds u (12,)."""
    acting = [where(frame.acts[j] > 0.0, largest(u[3 * j : 3 * j + 3]), 0.0) for j in range(ROWS // 3)]
    return largest(np.array([*acting, *conditions.bounce]))


def _solve_joined(
    pairs: TouchingPairs,
    free: Array,
    guess: RowArray,
    settled: Number,
    others: OtherBlocks,
    other_guess: Array,
    least_norm: Condition,
) -> PairImpulses:
    """Return the impulses and velocities of pairs of bodies that joints or other constraints connect.

    The arguments are those of `solve_pairs`.
    """
    responses = pairs.responses
    layout = RowLayout((responses.size,), (DEPTH, responses.size))
    weights = responses.velocity_rows(pairs.weights)
    components = len(responses.members)
    enough, better, scales = _tolerance_and_guess(pairs, free, guess, settled, others, other_guess)

    def begin(k: Number, impulses: RowArray) -> tuple[RowArray]:
        p = guess.at(k) * better
        return (impulses.put(k, IMPULSES.row(p, p, p, np.zeros((DEPTH, ROWS)))),)

    (impulses,) = pairs.selection.visit(begin, row_array(pairs.count, IMPULSES.size))
    (moves,) = repeat(
        components, lambda c, moves: (moves.put(c, [0.0] * layout.size),), row_array(components + 1, layout.size)
    )

    def iteration(*state: Any) -> tuple[tuple[Any, ...], Condition]:
        now = _Search(*state)
        restart, caution = now.turn == QUICK, (now.turn >= QUICK) & (now.turn < QUICK + CAREFUL)

        def start(k: Number, impulses: RowArray, v: RowArray) -> tuple[RowArray, RowArray]:
            _, end, extrapolated, _ = IMPULSES.parts(impulses.at(k))
            p = where(restart, np.zeros(ROWS), where(now.ahead == 1.0, extrapolated, end))
            return impulses.put(k, p), pairs.pushed(k, pairs.frame(k), p, v)

        def improve(k: Number, impulses: RowArray, v: RowArray, left: Number) -> tuple[RowArray, RowArray, Number]:
            pair, before = pairs.pair(k), IMPULSES.parts(impulses.at(k))[0]
            u = pairs.speeds(k, pair.frame, v) + pair.conditions.drift.reshape(ROWS)
            after = pair.improved(before, u, where(caution, 1.0, 0.0))
            left = maximum(left, pair.residual(before, u))
            return impulses.put(k, after), pairs.pushed(k, pair.frame, after - before, v), left

        other_end, other_ahead = now.others[0], now.others[1]
        q = chosen_array(restart, other_end * 0.0, chosen_array(now.ahead == 1.0, other_ahead, other_end))
        first = responses.velocity_rows(others.velocities(free, q))
        impulses, v = pairs.selection.visit(start, now.impulses, first)
        (before,) = repeat(
            components, lambda c, copy: (copy.put(c, v.at(c)),), row_array(components + 1, responses.size)
        )
        impulses, v, left = pairs.selection.visit(improve, impulses, v, 0.0)
        if others.blocks:
            flat, q, more = others.improve(responses.velocities(v, free), q, scales, where(caution, 1.0, 0.0))
            v, left = responses.stored(v, flat), maximum(left, more)
        impulses, v, left = pairs.selection.visit(improve, impulses, v, left, backward=True)
        forget = (left > WORSE * now.left) | restart

        def compare(c: Number, moves: RowArray, products: Array, rest: Array) -> tuple[RowArray, Array, Array]:
            last, history = layout.parts(moves.at(c))
            move = (v.at(c) - before.at(c)) * weights.at(c)
            history = where(forget, np.zeros(history.shape), np.concatenate([history[1:], [move - last]]))
            return moves.put(c, layout.row(move, history)), products + history @ history.T, rest + history @ move

        moves, products, rest = repeat(components, compare, now.moves, np.zeros((DEPTH, DEPTH)), np.zeros(DEPTH))
        parts = ldlt(products + np.diag(np.diag(products) * DEPENDENT + TINY)).solve(rest)

        def extrapolate(k: Number, impulses: RowArray) -> tuple[RowArray]:
            p, end, _, history = IMPULSES.parts(impulses.at(k))
            history = where(forget, np.zeros(history.shape), np.concatenate([history[1:], [p - end]]))
            return (impulses.put(k, IMPULSES.row(p, p, p - parts @ history, history)),)

        (impulses,) = pairs.selection.visit(extrapolate, impulses)
        ahead = where(largest(parts) > 0.0, 1.0, 0.0)
        turn = where(now.turn >= QUICK + CAREFUL - 1, 0.0, now.turn + 1.0)
        changes = np.concatenate([now.others[3:], [q - other_end]])
        changes = chosen_array(forget, changes * 0.0, changes)
        ends = np.concatenate([[q, q - parts @ changes], changes])
        return tuple(_Search(impulses, moves, ahead, left, turn, ends)), left <= enough

    ends = np.concatenate([[other_guess * better] * 2, np.zeros((DEPTH, len(other_guess)))])
    state, iterations, _ = iterate(ITERATIONS, iteration, *_Search(impulses, moves, 0.0, HUGE, 0.0, ends))
    found = _Search(*state)

    def push(k: Number, v: RowArray) -> tuple[RowArray]:
        return (pairs.pushed(k, pairs.frame(k), IMPULSES.parts(found.impulses.at(k))[1], v),)

    free = others.velocities(free, found.others[0])
    (v,) = pairs.selection.visit(push, responses.velocity_rows(free))
    (p,) = pairs.selection.visit(
        lambda k, p: (p.put(k, IMPULSES.parts(found.impulses.at(k))[1]),), row_array(pairs.count, ROWS)
    )
    p = with_least_norm(pairs, p, v, least_norm)
    agreed = where(found.left <= enough, 1.0, 0.0)
    return PairImpulses(responses.velocities(v, free), p, iterations, found.left, agreed, found.others[0])


def chosen_array(condition: Condition, yes: Value, no: Value) -> Any:
    """Return `yes` where a condition is true, else `no`: numbers, or arrays, which may be empty."""
    return where(condition, yes, no) if np.size(yes) else yes


def _tolerance_and_guess(
    pairs: TouchingPairs, free: Array, guess: RowArray, settled: Number, others: OtherBlocks, other_guess: Array
) -> tuple[Number, Number, list[Number]]:
    """Return the tolerance [m/s], whether the guess is better than no impulses (1 or 0), and residual scales.

    The scales belong to the residuals of other constraints.
    """
    responses = pairs.responses

    def look(k: Number, fastest: Number, moved: Number, left: Number, v: RowArray) -> tuple[Any, ...]:
        pair = pairs.pair(k)
        *motion, speed = pairs.relative_velocity(k, pair.frame, v)
        u = pair.frame.speeds(*motion) + pair.conditions.drift.reshape(ROWS)
        left = maximum(left, pair.residual(np.zeros(ROWS), u))
        return maximum(fastest, _fastest(pair.frame, pair.conditions, u)), maximum(moved, speed), left, v

    def check(k: Number, left: Number, v: RowArray) -> tuple[Number, RowArray]:
        pair = pairs.pair(k)
        u = pairs.speeds(k, pair.frame, v) + pair.conditions.drift.reshape(ROWS)
        return maximum(left, pair.residual(guess.at(k), u)), v

    def push(k: Number, v: RowArray) -> tuple[RowArray]:
        return (pairs.pushed(k, pairs.frame(k), guess.at(k), v),)

    fastest, moving, without, _ = pairs.selection.visit(look, 0.0, 0.0, 0.0, responses.velocity_rows(free))
    (v,) = pairs.selection.visit(push, responses.velocity_rows(others.velocities(free, other_guess)))
    left, v = pairs.selection.visit(check, 0.0, v)
    enough = maximum(fastest, others.fastest(free)) * settled + moving * ROUNDED + TINY_SIZE
    scales = others.scales(free, pairs.weights, settled, enough)
    if others.blocks:
        without = maximum(without, others.residual(free, other_guess * 0.0, scales))
        left = maximum(left, others.residual(pairs.responses.velocities(v, free), other_guess, scales))
    return enough, where(left < without, 1.0, 0.0), scales
