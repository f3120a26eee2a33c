"""Steps made in parts: where something switches within a step, the instant is found, and the rest is a step of its own.

What is to stay as it is says so by margins, numbers that are positive until it switches. A step is tried whole; where a
margin is negative at its end, its length is shortened until it ends just behind the first zero, by the rule of false
position (Illinois). Trials are as accurate as the method whose steps they are, and so are the instants. A step that is
not solved is made in parts too, if these are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linkwork.simulation.methods.step import Moving, Step, chosen
from linkwork.simulation.system import System
from linkwork.spatial.loops import iterate
from linkwork.spatial.scalar import Array, Number, maximum, minimum, where

BEHIND = 1e-9  # part of a step by which the instant of a switch may be late, and how long a part is at least
ROUNDED = 1.001  # a part that is as short as can be is short enough
TRIALS = 60  # of one step, at most: what then is left of it is made whole, whatever switches


class Switching(NamedTuple):
    """What moves in parts, and what may switch.

    `advance(begin, gone, h)` makes a step of h [s] from a state, `gone` [s] after the whole began, and says whether it
    was solved; `margins(begin, end)` (k,) are not negative at the state `end` as long as nothing that was so at `begin`
    has switched; `switched(end, gone, which)` is the state after those of `which` (k,), conditions, did.
    """

    advance: Callable[[Moving, Number, Number], tuple[Moving, Any]]
    margins: Callable[[Moving, Moving], Array]
    switched: Callable[[Moving, Number, list[Any]], Moving]


class Trial(NamedTuple):
    """Where the search is: `tried` of `TRIALS`, what is `solved` so far (1 or 0), and the state the part `begin`s with.

    Of the step, the part `gone` is done. Up to `low` nothing switches, with the margins `over` (k,) there; before
    `high` something does, with `under` (k,), zeros where a step to there was not solved. `to` is tried next; `side` is
    -1 where `low` moved last, 1 where `high`.
    """

    tried: Number
    solved: Number
    gone: Number
    low: Number
    over: Array
    high: Number
    under: Array
    to: Number
    side: Number
    begin: Moving

    @property
    def flat(self) -> tuple[Any, ...]:
        """As a loop carries it."""
        return (*self[:-1], *self.begin)


SOLVED, SEARCH = Trial._fields.index("solved"), Trial._fields.index("begin")


def in_parts(switching: Switching, now: Moving, h: Number) -> tuple[Moving, Any]:
    """The state after a step h [s], with all switches on the way, and whether its parts were solved."""
    first = switching.margins(now, now)
    none = np.zeros(len(first))
    search = Trial(0.0, 1.0, 0.0, 0.0, first, 1.0, none, 1.0, 0.0, now._replace(rounds=0.0))

    def one(*state: Any) -> tuple[tuple[Any, ...], Any]:
        found, ended = _tried(switching, Trial._make((*state[:SEARCH], Moving(*state[SEARCH:]))), h)
        return found.flat, ended

    found, _, _ = iterate(TRIALS, one, *search.flat)
    return Moving(*found[SEARCH:]), found[SOLVED] == 1.0


def in_shorter(step: Step) -> Step:
    """The step, in shorter ones where contacts let it have no solution that is found."""

    def run(system: System, t: Number, now: Moving, h: Number, held: Array) -> tuple[Moving, Any]:
        if not system.mechanism.touches:
            return step(system, t, now, h, held)

        def advance(begin: Moving, gone: Number, duration: Number) -> tuple[Moving, Any]:
            moved, solved = step(system, t + gone, begin, duration, held)
            return moved.carrying(begin), solved

        none = np.zeros(0)
        return in_parts(Switching(advance, lambda begin, end: none, lambda end, gone, which: end), now, h)

    return run


def _tried(switching: Switching, now: Trial, h: Number) -> tuple[Trial, Any]:
    """One trial: what is known after it, and whether the step has ended."""
    last = now.tried >= TRIALS - 1
    to = where(last, 1.0, now.to)
    moved, solved = switching.advance(now.begin, now.gone * h, (to - now.gone) * h)
    margins = switching.margins(now.begin, moved)
    fine, least = where(solved, 1.0, 0.0), np.inf
    for margin in margins:
        least = minimum(least, margin)
    late = (fine == 0.0) | (least < 0.0)

    # A margin that is kept twice in a row counts half, or false position would creep towards it
    over = chosen(late, now.over * where(now.side > 0.0, 0.5, 1.0), margins)
    known = np.array([where(fine == 1.0, margin, 0.0) for margin in margins])
    under = chosen(late, known, now.under * where(now.side < 0.0, 0.5, 1.0))
    low, high = where(late, now.low, to), where(late, to, now.high)
    root, lowest = high, np.inf
    for a, b in zip(over, under, strict=True):
        meets, lowest = b < 0.0, minimum(lowest, b)
        a = maximum(a, 0.0)  # at once, where it was late from the beginning
        root = minimum(root, low + (high - low) * where(meets, a / where(meets, a - b, 1.0), 1.0))
    root = where(lowest < 0.0, root, 0.5 * (low + high))  # no more is known of a step that was not solved

    behind = (least < 0.0) & (to - root <= ROUNDED * BEHIND)
    shorter = (least >= 0.0) & (lowest >= 0.0)  # solved, as what is longer was not
    there = (fine == 1.0) & (to < 1.0) & shorter | (fine == 1.0) & behind
    ended = last | (where(late, where(there, to, 0.0), to) >= 1.0)
    moved = moved._replace(rounds=maximum(now.begin.rounds, moved.rounds))
    after = switching.switched(moved, to * h, [margin < 0.0 for margin in margins])
    parts = zip(moved, after, now.begin, strict=True)
    begin = Moving(*(chosen(there, b, chosen(ended, a, c)) for a, b, c in parts))
    fresh = switching.margins(after, after)
    following = maximum(minimum(root + 0.5 * BEHIND, high), minimum(low + BEHIND, high))
    return Trial(
        now.tried + 1.0,
        where(ended, fine * now.solved, now.solved),
        where(there, to, now.gone),
        where(there, to, low),
        chosen(there, fresh, over),
        where(there, 1.0, high),
        chosen(there, np.zeros(len(fresh)), under),
        where(there, 1.0, where(following > 1.0 - BEHIND, high, following)),  # no part is shorter
        where(there, 0.0, where(late, 1.0, -1.0)),
        begin,
    ), ended
