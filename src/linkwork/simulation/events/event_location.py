"""Event location: find the first zero crossing of an event function within a step, and split the step there.

An event function is not negative before its event and negative just after it. A step is first tried at full length. If
an event function is negative at the end, shorter steps are tried until one ends just after the first zero. Their
lengths follow from the Illinois variant of the false position method. Trial steps, and so the event times, are as
accurate as the integration method. A step whose equations were not solved is shortened too. `Bracket` is the search
interval. `locate` locates all events of a step in traced programs. `first_event` finds one event time on a curve, for
methods that choose their own steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from linkwork.simulation.events.event_tolerances import EVENT_DELAY, EXACT_DELAY, EXACT_TRIALS
from linkwork.simulation.state import Leaves, StepState, flatten, select, unflatten
from linkwork.spatial.scalar import Array, Condition, Number, Value, maximum, minimum, where
from linkwork.spatial.traceable_loops import iterate

ROUNDED = 1.001  # a search interval of at most this many times EVENT_DELAY is narrow enough
PROBES = 40  # trial substeps of a step, or trials of `first_event`, after which double zero crossings are not searched
# if a trial moves `low` by less than STALLS of the bracket's width, the next is at least LEAST of it after `low`
STALLS, LEAST = 0.02, 0.3
TRIALS = 60  # trial substeps per step, at most; the last one takes the rest of the step and ignores events


class Switching(NamedTuple):
    """Functions that the event search calls: make a substep, evaluate the event functions, apply the events.

    `advance(begin, elapsed, h)` makes a substep of h [s] from the state `begin`, `elapsed` [s] after the start of the
    step; it returns the state and whether its equations were solved. `functions(begin, end)` returns the event
    functions (k,) at the state `end`; they are not negative if no event occurred since the state `begin`.
    `switched(end, elapsed, which)` returns the state after the events for which `which` (k,) is true, `elapsed` [s]
    after the start of the step. `hidden(begin, end, h)` returns the fraction of a substep of h [s] at which an event
    function may be negative between two zero crossings, or 1 if there is none. `hidden` is None if no function can
    cross zero twice within a substep. `begins(now)` returns the state `now`, completed by the event functions at the
    start of the step. It is called only in steps with events; `begins` is None if `now` already contains the event
    functions.
    """

    advance: Callable[[StepState, Number, Number], tuple[StepState, Condition]]
    functions: Callable[[StepState, StepState], Array]
    switched: Callable[[StepState, Number, list[Condition]], StepState]
    hidden: Callable[[StepState, StepState, Number], Number] | None = None
    begins: Callable[[StepState], StepState] | None = None


class Bracket(NamedTuple):
    """Search interval from `low` to `high` that contains the first event of a step; times are fractions of the step.

    No event occurs before `low`, where the event functions have the values `over` (k,). An event occurs before `high`,
    where they have the values `under` (k,), or zeros if the equations of the substep to `high` were not solved. `side`
    is -1 if `low` moved last, 1 if `high` moved last, and -2 if `low` moved last, by a small part of the bracket: an
    event function is then almost zero at `low`, but its event is far away. At the start it is 0.
    """

    low: Number
    over: Array
    high: Number
    under: Array
    side: Number

    def after(self, to: Number, functions: Array, solved: Number) -> Bracket:
        """Return the smaller bracket after a trial substep to the time `to`, where the event functions are `functions`
        (k,).

        `solved` is 1 if the equations of the trial substep were solved, else 0. `to` is a fraction of the step.
        """
        late = (solved == 0.0) | (_smallest(functions) < 0.0)
        # Illinois variant: if one end moved twice in a row, halve the values at the other end; plain false position is
        # slow
        over = select(late, self.over * where(self.side > 0.0, 0.5, 1.0), functions)
        known = np.array([where(solved == 1.0, value, 0.0) for value in functions])
        under = select(late, known, self.under * where(self.side < 0.0, 0.5, 1.0))
        low, high = where(late, self.low, to), where(late, to, self.high)
        stalls = to - self.low < STALLS * (self.high - self.low)
        return Bracket(low, over, high, under, where(late, 1.0, where(stalls, -2.0, -1.0)))

    def root(self) -> Number:
        """Return the time of the first zero, estimated by false position; the midpoint if the trial to `high` failed.

        Times are fractions of the step. A trial fails if the equations of its substep are not solved.
        """
        root, lowest = self.high, np.inf
        for a, b in zip(self.over, self.under, strict=True):
            crosses, lowest = b < 0.0, minimum(lowest, b)
            a = maximum(a, 0.0)  # a function that is already negative at `low` has its event at `low`
            part = where(crosses, a / where(crosses, a - b, 1.0), 1.0)
            root = minimum(root, self.low + (self.high - self.low) * part)
        return where(lowest < 0.0, root, 0.5 * (self.low + self.high))

    def next_trial(self, root: Number, behind: Number) -> Number:
        """Return the next trial time: just after the estimate `root`, at least `behind` after `low`, and at most
        `high`.

        All times, and the delay `behind`, are fractions of the step.
        """
        root = maximum(root, where(self.side < -1.0, self.low + LEAST * (self.high - self.low), self.low))
        return maximum(minimum(root + 0.5 * behind, self.high), minimum(self.low + behind, self.high))


def _smallest(values: Array) -> Number:
    """Return the smallest of the values; inf if there are none."""
    least: Number = np.inf
    for value in values:
        least = minimum(least, value)
    return least


class Search(NamedTuple):
    """Progress of the search for events in one step: `tried` is the number of trial substeps so far.

    `solved` is 1 if the equations of all accepted substeps were solved, else 0. The next substep begins in the state
    `begin` at the time `elapsed`, and is tried up to the time `to`; both are fractions of the step. `bracket` is the
    interval that contains the first event.
    """

    tried: Number
    solved: Number
    elapsed: Number
    to: Number
    bracket: Bracket
    begin: StepState


def locate(switching: Switching, now: StepState, h: Number) -> tuple[StepState, Condition]:
    """Return the state after a step h [s] from `now` with all its events, and whether the equations of all substeps
    were solved.

    `switching` provides the substeps, the event functions and the effects of events.
    """
    first = switching.functions(now, now)
    bracket = Bracket(0.0, first, 1.0, np.zeros(len(first)), 0.0)
    search = Search(0.0, 1.0, 0.0, 1.0, bracket, now.solved_in(0.0))

    def one(*state: Value) -> tuple[Leaves, Condition]:
        found, ended = _after_trial(switching, unflatten(search, state), h)
        return tuple(flatten(found)), ended

    leaves, _, _ = iterate(TRIALS, one, *flatten(search))
    found = unflatten(search, leaves)
    return found.begin, found.solved == 1.0


def _after_trial(switching: Switching, now: Search, h: Number) -> tuple[Search, Condition]:
    """Make one trial substep of a step h [s]; return the search after the trial, and whether the step has ended.

    `now` is the search before the trial. `switching` provides the substeps, the event functions and the effects of
    events.
    """
    last = now.tried >= TRIALS - 1
    to = where(last, 1.0, now.to)
    moved, solved = switching.advance(now.begin, now.elapsed * h, (to - now.elapsed) * h)
    functions = switching.functions(now.begin, moved)
    fine, least = where(solved, 1.0, 0.0), _smallest(functions)
    late = (fine == 0.0) | (least < 0.0)
    bracket = now.bracket
    if switching.begins is not None:
        bracket = _with_functions_at_start(switching, now, late & (now.tried == 0.0))
    bracket = bracket.after(to, functions, fine)
    root = bracket.root()

    behind = (least < 0.0) & (to - root <= ROUNDED * EVENT_DELAY)
    shorter = (least >= 0.0) & (_smallest(bracket.under) >= 0.0)  # this substep was solved, but a longer one was not
    there = (fine == 1.0) & (to < 1.0) & shorter | (fine == 1.0) & behind
    probe: Number = 1.0
    if switching.hidden is not None:  # search double zero crossings within the substep before other events
        probe = switching.hidden(now.begin, moved, (to - now.elapsed) * h)
        searched = there | (fine == 1.0) & ((now.bracket.side == 0.0) | ~late & (to >= 1.0))
        probe = where(searched & (now.tried < PROBES), probe, 1.0)
        there = there & (probe == 1.0)
        late = late | (probe < 1.0)
    ended = last | (where(late, where(there, to, 0.0), to) >= 1.0)
    moved = moved.solved_in(maximum(now.begin.solver.iterations, moved.solver.iterations))
    after = _switched(switching, moved, to * h, functions, there)
    fresh = switching.functions(after, after)
    next_trial = bracket.next_trial(root, EVENT_DELAY)
    # the rest of the step is too short for a substep
    next_trial = where(next_trial > 1.0 - EVENT_DELAY, bracket.high, next_trial)
    if switching.hidden is not None:
        here, at = switching.functions(now.begin, now.begin), now.elapsed + probe * (to - now.elapsed)
        next_trial = where(probe < 1.0, at, next_trial)
        bracket = select(probe < 1.0, Bracket(now.elapsed, here, at, np.zeros(len(here)), 0.0), bracket)
    return Search(
        now.tried + 1.0,
        where(ended, fine * now.solved, now.solved),
        where(there, to, now.elapsed),
        where(there, 1.0, next_trial),
        select(there, Bracket(to, fresh, 1.0, np.zeros(len(fresh)), 0.0), bracket),
        select(there, after, select(ended, moved, now.begin)),
    ), ended


def _with_functions_at_start(switching: Switching, now: Search, wanted: Condition) -> Bracket:
    """Return the bracket of `now`, with the event functions at the start of the step evaluated if `wanted` is true."""

    def begin(over: Array, *state: Value) -> tuple[Leaves, Condition]:
        assert switching.begins
        here = switching.begins(unflatten(now.begin, state))
        return (switching.functions(here, here), *state), True

    (over, *_), _, _ = iterate(1, begin, now.bracket.over, *flatten(now.begin), start=wanted)
    return now.bracket._replace(over=over)


def _switched(switching: Switching, end: StepState, elapsed: Number, functions: Array, there: Condition) -> StepState:
    """Return the state `end` after its events if the condition `there` is true; else return `end` unchanged.

    `functions` (k,) are the event functions at `end`; an event occurs where they are negative. `end` is `elapsed` [s]
    after the start of the step.
    """

    def switch(*state: Value) -> tuple[Leaves, Condition]:
        which = [value < 0.0 for value in functions]
        return tuple(flatten(switching.switched(unflatten(end, state), elapsed, which))), True

    leaves, _, _ = iterate(1, switch, *flatten(end), start=there)
    return unflatten(end, leaves)


def first_event(
    functions: Callable[[float], Array],
    begin: float,
    end: float,
    hidden: Callable[[float, float], float] | None = None,
) -> float:
    """Return the first time [s] in [begin, end] just after which an event function is negative; `end` if there is none.

    `functions(t)` returns the event functions (k,) at the time t [s] of a trajectory, as floats. `hidden(begin, end)`
    returns the fraction of an interval at which a function may be negative between two zero crossings, or 1. If this
    fraction is below 1, the result is the time at this fraction, even if no function is negative there, because an
    event function may change there: a guard may be armed again.
    """
    for _ in range(PROBES if hidden is not None else 0):
        assert hidden is not None
        part = hidden(begin, end)
        if part == 1.0:
            break
        end = begin + part * (end - begin)
    return _first_crossing(functions, begin, end)


def _first_crossing(functions: Callable[[float], Array], begin: float, end: float) -> float:
    """Return the time [s] just after the first zero of the event `functions` in [begin, end], found by false position.
    The result is `end` if no function is negative at `end`.
    """
    last = functions(end)
    if not (last < 0.0).any():
        return end
    bracket = Bracket(0.0, functions(begin), 1.0, last, 0.0)
    for _ in range(EXACT_TRIALS):
        if bracket.high - bracket.low <= EXACT_DELAY:
            break
        to = float(bracket.next_trial(bracket.root(), EXACT_DELAY))
        if not bracket.low < to < bracket.high:
            break
        bracket = bracket.after(to, functions(begin + to * (end - begin)), 1.0)
    return begin + float(bracket.high) * (end - begin)
