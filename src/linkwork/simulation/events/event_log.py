"""The event log: fixed-size lines that compiled programs write into the state, and the events read from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.simulation.events.event_tolerances import SMALLEST_ENERGY, SMALLEST_GAP
from linkwork.simulation.results.outcomes import Event
from linkwork.simulation.state import EventLog
from linkwork.spatial.scalar import Array, Condition, Number, where

LINES_PER_JOINT = 3  # lines of the log per joint with friction. If the log overflows, the piece of the run is repeated
LINES = 4  # smallest length of a log; a log holds all events of one instant


class Line(NamedTuple):
    """One line of the event log: which event occurred, when, and its effects.

    `source` is the number of the event function, negative for contacts. `result` is the new slip direction, the new
    value of a parameter that the controller switches, or the new state of a contact. For a slip group it is 1 or 0,
    whether the group slips; for other events it is 0. `time` [s] is that of the event. `energy` [J] is the energy
    gained, `impulse` [N s or N m s] the impulse and `carried` [N or N m] the force of the constraint or joint of the
    event. `gap` [m or rad] is the loop closure error that was removed.
    """

    source: Number
    result: Number
    time: Number
    energy: Number
    impulse: Number
    carried: Number
    gap: Number


def write(log: EventLog, which: Sequence[Condition], lines: Sequence[Sequence[Number]]) -> EventLog:
    """Return the event log with each line of `lines` appended for which `which` is true.

    Lines that do not fit into the log are counted but not stored. A line has the fields of `Line`. Lines of contact
    events contain only the source, the result and the time; the other columns of the log then remain unchanged.
    """
    found, count = [list(line) for line in log.lines], log.count
    for fired, line in zip(which, lines, strict=True):
        for n, old in enumerate(found):
            here = fired & (count == float(n))
            found[n] = [*(where(here, new, x) for new, x in zip(line, old, strict=False)), *old[len(line) :]]
        count = count + where(fired, 1.0, 0.0)
    return EventLog(np.array(found), count)


def events_of(text: Callable[[int, float], str], log: Array, count: int, member: tuple[int, ...]) -> Iterator[Event]:
    """Yield the events in the log (n, 7) of one batch member; `count` is the number of events that occurred.

    If some events did not fit into the log, the last `Event` that is yielded reports the number of missing events.
    `text(source, result)` returns the text of an event.
    """
    for numbers in log[:count].tolist():
        line = Line(*numbers)
        what = text(int(line.source), line.result)
        if line.source < 0.0:
            yield event(what, line.time, member, 0.0, 0.0, 0.0)
            continue
        yield event(what, line.time, member, line.energy, line.impulse, line.carried, line.gap)
    if count > len(log):
        yield Event(float(log[-1][2]), member, f"{count - len(log)} more events within one step, not recorded")


def event(
    what: str, time: float, member: tuple[int, ...], energy: float, impulse: float, carried: float, gap: float = 0.0
) -> Event:
    """Return an `Event`; its text reports the loop closure error `gap` [m or rad] removed and the energy [J] gained.

    `what` is the text without these two numbers. `time` [s] and `member` (batch index) belong to the event, `impulse`
    [N s or N m s] is the constraint impulse, and `carried` [N or N m] the constraint force.
    """
    words = [("closure error", gap, "m or rad", SMALLEST_GAP), ("energy", energy, "J", SMALLEST_ENERGY)]
    more = [f"{name} {size:.3g} {unit}" for name, size, unit, least in words if abs(size) > least]
    return Event(time, member, what + (f" ({', '.join(more)})" if more else ""), energy, impulse, carried)
