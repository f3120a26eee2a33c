"""What is told of switches: events with their times, energies, impulses and what is carried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linkwork.simulation.events.impulses import OPENED
from linkwork.simulation.events.schedule import spoken
from linkwork.simulation.events.sources import Line, Source
from linkwork.simulation.results.outcomes import Event
from linkwork.spatial.scalar import Array

WORTH_TELLING = 1e-12  # energy [J] that is told in words


def told(
    known: Sequence[Source], commands: Sequence[str], log: Array, count: int, who: tuple[int, ...]
) -> Iterator[Event]:
    """The events of a member's log (n, 7), and how many more there were; `known` is what may happen by itself.

    After that are the parameters that its controller commands.
    """
    for numbers in log[:count].tolist():
        line = Line(*numbers)
        number = int(line.source)
        if number < len(known):
            what = known[number].what[int(line.result) + 1]
        else:
            what = spoken(commands[number - len(known)], line.result)
        yield event(what, line.time, who, line.energy, line.impulse, line.carried, line.gap)
    if count > len(log):
        yield Event(float(log[-1][2]), who, f"{count - len(log)} more switches within one step")


def event(
    what: str, time: float, member: tuple[int, ...], energy: float, impulse: float, carried: float, gap: float = 0.0
) -> Event:
    """What happened, with the gap [m or rad] that was bridged and the energy [J] that it took in words too."""
    words = [("bridging", gap, "m or rad", OPENED), ("energy", energy, "J", WORTH_TELLING)]
    more = [f"{name} {size:.3g} {unit}" for name, size, unit, least in words if abs(size) > least]
    return Event(time, member, what + (f" ({', '.join(more)})" if more else ""), energy, impulse, carried)
