"""The event log: lines that programs write into the state, and the events that are read from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.simulation.results.outcomes import Event
from linkwork.simulation.state import EventLog
from linkwork.spatial.scalar import Array, Condition, Number, where

LINES = 4  # of a log at least; it holds all that can happen at one instant
SMALLEST_ENERGY = 1e-12  # [J] that an event's text mentions
SMALLEST_GAP = 1e-6  # [m or rad] that an event's text mentions


class Line(NamedTuple):
    """One event: the number of its source, the slip direction or mode that results, its time [s], and what it took.

    `energy` [J], `impulse` [N s or N m s] and the force `carried` [N or N m] are those of the constraint that
    switched; `gap` [m or rad] is the loop closure error that was bridged.
    """

    source: Number
    result: Number
    time: Number
    energy: Number
    impulse: Number
    carried: Number
    gap: Number


def write(log: EventLog, which: Sequence[Condition], lines: Sequence[Sequence[Number]]) -> EventLog:
    """The log with those lines of which `which` is true; lines beyond its end are only counted.

    Contacts write source, result and time alone: what is in the other columns is not theirs.
    """
    found, count = [list(line) for line in log.lines], log.count
    for fired, line in zip(which, lines, strict=True):
        for n, old in enumerate(found):
            here = fired & (count == float(n))
            found[n] = [*(where(here, new, x) for new, x in zip(line, old, strict=False)), *old[len(line) :]]
        count = count + where(fired, 1.0, 0.0)
    return EventLog(np.array(found), count)


def events_of(text: Callable[[int, float], str], log: Array, count: int, member: tuple[int, ...]) -> Iterator[Event]:
    """The events of a member's log (n, 7), of which `count` were written, and how many more there were.

    `text(source, result)` says what happened.
    """
    for numbers in log[:count].tolist():
        line = Line(*numbers)
        what = text(int(line.source), line.result)
        if line.source < 0.0:
            yield event(what, line.time, member, 0.0, 0.0, 0.0)
            continue
        yield event(what, line.time, member, line.energy, line.impulse, line.carried, line.gap)
    if count > len(log):
        yield Event(float(log[-1][2]), member, f"{count - len(log)} more switches within one step")


def event(
    what: str, time: float, member: tuple[int, ...], energy: float, impulse: float, carried: float, gap: float = 0.0
) -> Event:
    """An event whose text also gives the gap [m or rad] that was bridged and the energy [J] that it gained."""
    words = [("bridging", gap, "m or rad", SMALLEST_GAP), ("energy", energy, "J", SMALLEST_ENERGY)]
    more = [f"{name} {size:.3g} {unit}" for name, size, unit, least in words if abs(size) > least]
    return Event(time, member, what + (f" ({', '.join(more)})" if more else ""), energy, impulse, carried)
