"""What is told of switches: events with their times, energies, impulses and what is carried."""

from __future__ import annotations

from collections.abc import Iterator

from linkwork.simulation.carry import Carry
from linkwork.simulation.happening import LINES, Line, sources
from linkwork.simulation.jumping import OPENED
from linkwork.simulation.outcomes import Event
from linkwork.simulation.preparation import Request
from linkwork.simulation.switching import spoken

WORTH_TELLING = 1e-12  # energy [J] that is told in words


def told(asked: Request, now: Carry, member: tuple[int, ...]) -> Iterator[Event]:
    """The events of the log of a member whose state this is, and how many more there were."""
    count = int(now.logged)
    if not count:
        return
    known = sources(asked.system(asked.member(member)[1]))
    for numbers in now.log[: min(count, LINES)]:
        line = Line(*(float(x) for x in numbers))
        number = int(line.source)
        if number < len(known):
            what = known[number].what[int(line.result) + 1]
        else:
            what = spoken(asked.commands[number - len(known)], line.result)
        yield event(what, line.time, member, line.energy, line.impulse, line.carried, line.gap)
    if count > LINES:
        yield Event(line.time, member, f"{count - LINES} more switches within one step")


def event(
    what: str, time: float, member: tuple[int, ...], energy: float, impulse: float, carried: float, gap: float = 0.0
) -> Event:
    """What happened, with the gap [m or rad] that was bridged and the energy [J] that it took in words too."""
    words = [("bridging", gap, "m or rad", OPENED), ("energy", energy, "J", WORTH_TELLING)]
    more = [f"{name} {size:.3g} {unit}" for name, size, unit, least in words if abs(size) > least]
    return Event(time, member, what + (f" ({', '.join(more)})" if more else ""), energy, impulse, carried)
