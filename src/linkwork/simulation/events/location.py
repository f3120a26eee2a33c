"""Event location: where something switches within a step, the instant is found and the rest is a step of its own.

Event functions are numbers that are not negative until their event. A step is tried whole; where a function is negative
at its end, the step is shortened until it ends just behind the first zero, by the rule of false position (Illinois).
Trial steps are as accurate as the method that makes them, and so are the instants. A step whose equations were not
solved is shortened too. `Bracket` is the search; `locate` makes whole steps with it, in programs that are traced, and
`first_event` finds one instant on a curve, for methods with steps of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from linkwork.simulation.state import Leaves, StepState, flatten, select, unflatten
from linkwork.spatial.loops import iterate
from linkwork.spatial.scalar import Array, Condition, Number, Value, maximum, minimum, where

BEHIND = 1e-9  # part of a step by which an event may be late, and the shortest substep
ROUNDED = 1.001  # a substep this many times BEHIND is short enough
TRIALS = 60  # of one step, at most: what is left of it then is made whole, whatever switches
EXACT, EXACT_TRIALS = 4e-16, 200  # part of a curve by which `first_event` may be late; trials at most


class Switching(NamedTuple):
    """A motion in substeps, and what may switch between them.

    `advance(begin, elapsed, h)` makes a step of h [s] from a state, `elapsed` [s] after the whole step began, and says
    whether it was solved; `functions(begin, end)` (k,) are event functions at the state `end`, not negative as long as
    nothing has switched since `begin`; `switched(end, elapsed, which)` is the state after the events `which` (k,).
    """

    advance: Callable[[StepState, Number, Number], tuple[StepState, Condition]]
    functions: Callable[[StepState, StepState], Array]
    switched: Callable[[StepState, Number, list[Condition]], StepState]


class Bracket(NamedTuple):
    """Where the search for the first event of a step is; times are parts of the step.

    Up to `low` nothing switches, with the event functions `over` (k,) there; before `high` something does, with
    `under` (k,), zeros where a step to there was not solved. `side` is -1 where `low` moved last, 1 where `high` did.
    """

    low: Number
    over: Array
    high: Number
    under: Array
    side: Number

    def after(self, to: Number, functions: Array, solved: Number) -> Bracket:
        """The bracket after a trial that ended at `to` with these event functions, if it was `solved` (1 or 0)."""
        late = (solved == 0.0) | (_least(functions) < 0.0)
        # A value that stays twice in a row counts half, or false position would converge slowly
        over = select(late, self.over * where(self.side > 0.0, 0.5, 1.0), functions)
        known = np.array([where(solved == 1.0, value, 0.0) for value in functions])
        under = select(late, known, self.under * where(self.side < 0.0, 0.5, 1.0))
        low, high = where(late, self.low, to), where(late, to, self.high)
        return Bracket(low, over, high, under, where(late, 1.0, -1.0))

    def root(self) -> Number:
        """Where false position sees the first zero; the middle if only an unsolved trial is known."""
        root, lowest = self.high, np.inf
        for a, b in zip(self.over, self.under, strict=True):
            crosses, lowest = b < 0.0, minimum(lowest, b)
            a = maximum(a, 0.0)  # at once, where it was late from the beginning
            part = where(crosses, a / where(crosses, a - b, 1.0), 1.0)
            root = minimum(root, self.low + (self.high - self.low) * part)
        return where(lowest < 0.0, root, 0.5 * (self.low + self.high))

    def following(self, root: Number, behind: Number) -> Number:
        """The next trial: just behind the root, and at least `behind` after `low`."""
        return maximum(minimum(root + 0.5 * behind, self.high), minimum(self.low + behind, self.high))


def _least(values: Array) -> Number:
    least: Number = np.inf
    for value in values:
        least = minimum(least, value)
    return least


class Search(NamedTuple):
    """Where a step with events is: trials so far, whether all substeps were `solved` (1 or 0), and the next substep.

    The substep begins `elapsed` (part of the step) after the step, in the state `begin`, and is tried up to `to`.
    """

    tried: Number
    solved: Number
    elapsed: Number
    to: Number
    bracket: Bracket
    begin: StepState


def locate(switching: Switching, now: StepState, h: Number) -> tuple[StepState, Condition]:
    """The state after a step h [s] with all its events, and whether all substeps were solved."""
    first = switching.functions(now, now)
    bracket = Bracket(0.0, first, 1.0, np.zeros(len(first)), 0.0)
    search = Search(0.0, 1.0, 0.0, 1.0, bracket, now.solved_in(0.0))

    def one(*state: Value) -> tuple[Leaves, Condition]:
        found, ended = _tried(switching, unflatten(search, state), h)
        return tuple(flatten(found)), ended

    leaves, _, _ = iterate(TRIALS, one, *flatten(search))
    found = unflatten(search, leaves)
    return found.begin, found.solved == 1.0


def _tried(switching: Switching, now: Search, h: Number) -> tuple[Search, Condition]:
    """One trial substep: the search after it, and whether the step has ended."""
    last = now.tried >= TRIALS - 1
    to = where(last, 1.0, now.to)
    moved, solved = switching.advance(now.begin, now.elapsed * h, (to - now.elapsed) * h)
    functions = switching.functions(now.begin, moved)
    fine, least = where(solved, 1.0, 0.0), _least(functions)
    late = (fine == 0.0) | (least < 0.0)
    bracket = now.bracket.after(to, functions, fine)
    root = bracket.root()

    behind = (least < 0.0) & (to - root <= ROUNDED * BEHIND)
    shorter = (least >= 0.0) & (_least(bracket.under) >= 0.0)  # solved, where a longer substep was not
    there = (fine == 1.0) & (to < 1.0) & shorter | (fine == 1.0) & behind
    ended = last | (where(late, where(there, to, 0.0), to) >= 1.0)
    moved = moved.solved_in(maximum(now.begin.solver.iterations, moved.solver.iterations))
    after = switching.switched(moved, to * h, [value < 0.0 for value in functions])
    fresh = switching.functions(after, after)
    following = bracket.following(root, BEHIND)
    return Search(
        now.tried + 1.0,
        where(ended, fine * now.solved, now.solved),
        where(there, to, now.elapsed),
        where(there, 1.0, where(following > 1.0 - BEHIND, bracket.high, following)),  # no substep is shorter
        select(there, Bracket(to, fresh, 1.0, np.zeros(len(fresh)), 0.0), bracket),
        select(there, after, select(ended, moved, now.begin)),
    ), ended


def first_event(functions: Callable[[float], Array], begin: float, end: float) -> float:
    """The first time [s] between `begin` and `end` just behind which an event function is negative; `end` if none is.

    `functions(t)` (k,) are event functions on a curve, in plain numbers.
    """
    last = functions(end)
    if not (last < 0.0).any():
        return end
    bracket = Bracket(0.0, functions(begin), 1.0, last, 0.0)
    for _ in range(EXACT_TRIALS):
        if bracket.high - bracket.low <= EXACT:
            break
        to = float(bracket.following(bracket.root(), EXACT))
        if not bracket.low < to < bracket.high:
            break
        bracket = bracket.after(to, functions(begin + to * (end - begin)), 1.0)
    return begin + float(bracket.high) * (end - begin)
