"""Steps in which things happen by themselves: holders slip and hold, latches fall in, guards fire.

All of them are watched by numbers that are positive until they happen. The step is made in parts, at whose ends they
do: modes change, velocities jump, and a line of the log tells it. Nothing of this is there where nothing can happen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from linkwork.model.mechanism import Mechanism
from linkwork.simulation.events.guards import armed_again, disarmed, guard_margins
from linkwork.simulation.events.impulses import ROUNDS, Jump, carried_by, jumped
from linkwork.simulation.events.location import Switching, in_parts
from linkwork.simulation.events.slip import holding, one_lets_go, slip_forces, slip_margins, slipped
from linkwork.simulation.methods.step import Moving, Step
from linkwork.simulation.system import System
from linkwork.spatial.scalar import Array, Number, where

LINES = 4  # of the log at least, until someone looks at it; it holds all that can happen at one instant


class Line(NamedTuple):
    """A line of the log: the number of the source and what came of it, the time [s], what was won, given and carried.

    `result` is which way a holder slips then; `energy` [J], `impulse` [N s or N m s], `carried` [N or N m] are those of
    what was switched, `gap` [m or rad] what was bridged.
    """

    source: Number
    result: Number
    time: Number
    energy: Number
    impulse: Number
    carried: Number
    gap: Number


class Source(NamedTuple):
    """Something that may happen: in words, by what came of it (-1, 0, 1), and the number of the loop or holder."""

    what: tuple[str, ...]
    holder: int


def sources(system: System) -> list[Source]:
    """All that may happen by itself, in the order of what is watched: two for each slipper, latches, guards."""
    m = system.mechanism
    names = [item.name for item in (*m.loops, *m.holders)]
    found: list[Source] = []
    for item in m.slippers:
        goes = "lets go" if item.capacities[0] == 0.0 else "slips"
        words = tuple(f"{item.name} {way}" for way in ("slips", "holds", goes))
        found += [Source(words, names.index(item.name, len(m.loops)))] * 2
    for latch in m.latches:
        found.append(Source((f"{latch.name} holds",) * 3, names.index(latch.name, len(m.loops))))
    for guard in system.guards:
        found.append(Source((guard.what,) * 3, holder_of(m, system.modes[guard.mode])))
    return found


def lost_guard(system: System, *states: tuple[float, Any]) -> str:
    """Which guard is no number in one of these states, each with its time [s], in words; empty if all are."""
    for t, now in states:
        for guard in system.guards:
            if np.isnan(guard.function(t, now.q, now.v)):
                return f"the guard of {guard.what!r} is no number at {t:g} s"
    return ""


def holder_of(mechanism: Mechanism, parameter: str) -> int:
    """The number of the loop or holder whose parameter this is."""
    name, _, key = parameter.rpartition(".")
    loops, holders = mechanism.loops.names, [item.name for item in mechanism.holders]
    return loops.index(name) if key == "closed" else len(loops) + holders.index(name)


def happening(step: Step) -> Step:
    """The step, in parts at whose ends things happen."""

    def run(system: System, t: Number, now: Moving, h: Number, held: Array) -> tuple[Moving, Any]:
        watched, m = sources(system), system.mechanism
        if not watched or (system.rigid and not (m.latches or system.guards)):  # rigid steps let slip
            moved, solved = step(system.in_modes(now.modes), t, now, h, held)
            return moved.carrying(now) if system.modes and not watched else moved, solved
        count = len(watched)

        def advance(begin: Moving, gone: Number, duration: Number) -> tuple[Moving, Any]:
            here = system.in_modes(begin.modes)
            m, pushes = here.mechanism, held
            if m.slippers and not system.rigid:
                pushes = held + slip_forces(m, begin.slip)
                here = replace(here, mechanism=holding(m, begin.slip))
            moved, solved = step(here, t + gone, begin, duration, pushes)
            moved = moved if system.rigid else moved.carrying(begin)
            after = seen(system, t + gone + duration, moved, held)
            possible = (begin.seen[-1] > 0.0) & (after.seen[-1] > 0.0)
            return after, possible if solved is True else solved & possible

        begin = seen(system, t, now, held)
        moved, solved = in_parts(
            Switching(
                advance,
                lambda _, end: end.seen[:count],
                lambda end, gone, which: happened(system, watched, t + gone, end, held, which),
            ),
            begin,
            h,
        )
        return moved._replace(seen=now.seen), solved & (moved.seen[-1] > 0.0)  # what happened last may not be possible

    return run


def seen(system: System, t: Number, now: Moving, held: Array, possible: Number = 1.0) -> Moving:
    """The state with what is watched: margins (k,), what is carried (n,), and whether it can be gone on from there.

    It cannot where the last jump was not `possible`, nor where guards are no numbers.
    """
    here = system.in_modes(now.modes)
    m = here.mechanism
    forces = carried_by(here, t, now, held)
    values = [guard.function(t, now.q, now.v) for guard in system.guards]
    for value in values:
        possible = where(value == value, possible, 0.0)
    armed = armed_again(m, now.q, values, now.armed)
    numbers = [k for k, item in enumerate(m.holders) if item.name in {one.name for one in m.slippers}]
    carried = [forces[len(m.loops) + k] for k in numbers]
    margins = [1.0, 1.0] * len(carried) if system.rigid else slip_margins(m, now.slip, now.v, carried)
    margins += guard_margins(m, now.q, values, armed)
    return now._replace(armed=armed, seen=np.array([*margins, *forces, possible]))


def happened(
    system: System, watched: Sequence[Source], t: Number, end: Moving, held: Array, which: list[Any]
) -> Moving:
    """The state after some of what is watched happened: modes, slip and velocities, and the log of it."""
    m, count = system.mechanism, 2 * len(system.mechanism.slippers)
    which = [*one_lets_go(end.slip, which[:count]), *which[count:]]
    slip = np.array(slipped(end.slip, which[:count])) if count else end.slip
    modes = list(end.modes)
    for latch, falls in zip(m.latches, which[count:], strict=False):
        k = system.modes.index(f"{latch.name}.engaged")
        modes[k] = where(falls, 1.0, modes[k])
    for guard, fires in zip(system.guards, which[count + len(m.latches) :], strict=True):
        modes[guard.mode] = where(fires, guard.applied(modes), modes[guard.mode])
    armed = disarmed(m, system.guards, end.armed, which[count:])
    closes = any(name.endswith(".closed") for name in system.modes)
    decided = [backward | forward for backward, forward in zip(which[:count:2], which[1:count:2], strict=True)]
    jump = jumped(system.in_modes(np.array(modes)), end.q, end.v, slip, ROUNDS if closes else 0, decided)
    possible = where(jump.possible, 1.0, 0.0)
    after = end._replace(
        q=jump.q, v=jump.v, work=end.work + jump.energy, slip=jump.slip, modes=np.array(modes), armed=armed
    )
    after = seen(system, t, after, held, possible)
    return _logged(m, watched, t, end, after, jump, which) if len(end.log) else after


def _logged(
    m: Mechanism, watched: Sequence[Source], t: Number, end: Moving, after: Moving, jump: Jump, which: list[Any]
) -> Moving:
    """The state with a line of its log for each that happened."""
    k, slippers = len(watched), len(end.slip)
    bridged = jump.energy - sum(jump.energies, 0.0)  # by moving the mechanism, which only loops do
    lines = []
    for number, source in enumerate(watched):
        result = after.slip[number // 2] if number < 2 * slippers else 0.0
        before, now = end.seen[k + source.holder], after.seen[k + source.holder]
        energy = jump.energies[source.holder] + (bridged if source.holder < len(m.loops) else 0.0)
        carried = where(now == 0.0, before, now)
        lines.append(Line(float(number), result, t, energy, jump.impulses[source.holder], carried, jump.gap))
    log, logged = written(end.log, end.logged, which, lines)
    return after._replace(log=log, logged=logged)


def written(log: Array, logged: Number, which: Sequence[Any], lines: Sequence[Line]) -> tuple[Array, Number]:
    """The log (n, 7) with those lines that are to be written, and how many there were; those beyond it are lost."""
    found = [list(line) for line in log]
    for fired, line in zip(which, lines, strict=True):
        for n, old in enumerate(found):
            here = fired & (logged == float(n))
            found[n] = [where(here, new, x) for new, x in zip(line, old, strict=True)]
        logged = logged + where(fired, 1.0, 0.0)
    return np.array(found), logged
