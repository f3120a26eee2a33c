"""Steps through which contacts slide, stick and let go: what they remember, before a step and after it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.algorithms.compliant_contact import APART, STOPPING, Memory, grips, lasting, mode_margins, mode_of
from linkwork.algorithms.contact_geometry import Meeting, meetings
from linkwork.algorithms.coordinates import difference, integrate
from linkwork.algorithms.reduction import to_tree
from linkwork.model.elements.contact import Contact
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.events.location import Switching, in_parts
from linkwork.simulation.methods.step import Moving, Step
from linkwork.simulation.system import System
from linkwork.spatial.scalar import Array, Number, dot, where


def touching(step: Step, in_the_middle: bool = False) -> Step:
    """The step, at whose end contacts change their states (S4 section 5.2).

    They are judged at its end or, for steps whose equations hold in the middle, there; for these it is foreseen at the
    beginning which contacts touch.
    """

    def run(system: System, t: Number, now: Moving, h: Number, held: Array) -> tuple[Moving, Any]:
        m = system.mechanism
        if not m.touches:
            return step(system, t, now, h, held)
        memory, first = Memory.of(now.touch).begun(t), _meetings(m, now.q, now.v)
        if in_the_middle:
            memory = memory._replace(foreseen=[_foreseen(at, 0.5 * h) < 0.0 for at in first])
        moved, solved = step(replace(system, memory=memory), t, now, h, held)
        end = there = _meetings(m, moved.q, moved.v)
        rolled, at = _rolled(first, end, h), t + h
        if in_the_middle:
            motion, at = difference(m, now.q, moved.q), t + 0.5 * h
            there = _meetings(m, integrate(m, now.q, motion * 0.5), motion / h)
            rolled = [meeting.rolling * h for meeting in there]
        number = [found.number for found in grips(m.touches, memory, at, there)]
        return moved._replace(touch=_changed(memory, number, rolled, end, t + h).kept), solved

    return run


def locating(step: Step) -> Step:
    """The step, in parts at whose ends contacts land, leave, slip and stop; through a part no force has a kink.

    A contact that lands and does not slide sticks at once. What is to change though it passes no limit on the way, as
    one that has begun to slip and is still slow is to stick, does so at the end of the whole step (S4 section 5.2). All
    is judged at ends, whose states are as accurate as the method.
    """

    def run(system: System, t: Number, now: Moving, h: Number, held: Array) -> tuple[Moving, Any]:
        m = system.mechanism
        if not m.touches:
            return step(system, t, now, h, held)

        def advance(begin: Moving, gone: Number, duration: Number) -> tuple[Moving, Any]:
            first, memory = _meetings(m, begin.q, begin.v), Memory.of(begin.touch)._replace(since=t + gone)
            modes = [mode_of(*one) for one in zip(_contacts(m), memory.anchor, first, strict=True)]
            moved, solved = step(replace(system, memory=memory._replace(modes=modes)), t + gone, begin, duration, held)
            rolled = _rolled(first, _meetings(m, moved.q, moved.v), duration)
            anchor = [before + way for before, way in zip(memory.anchor, rolled, strict=True)]
            return moved.carrying(begin)._replace(touch=memory._replace(anchor=anchor).kept), solved

        def margins(begin: Moving, end: Moving) -> Array:
            before, after = Memory.of(begin.touch), Memory.of(end.touch)
            pairs = zip(_contacts(m), before.number, before.anchor, after.anchor, strict=True)
            first, last = _meetings(m, begin.q, begin.v), _meetings(m, end.q, end.v)
            found: list[Number] = []
            for (contact, number, was, anchor), a, b in zip(pairs, first, last, strict=True):
                found += mode_margins(contact, number, anchor, b, mode_of(contact, was, a))
            return np.array(found)

        def judged(end: Moving, gone: Number) -> tuple[Memory, list[Number], list[Meeting]]:
            memory, there = Memory.of(end.touch)._replace(since=t + gone), _meetings(m, end.q, end.v)
            return memory, [found.number for found in grips(m.touches, memory, t + gone, there)], there

        def switched(end: Moving, gone: Number, which: list[Any]) -> Moving:
            memory, found, there = judged(end, gone)
            number = []
            for k, (contact, at) in enumerate(zip(_contacts(m), there, strict=True)):
                mine = which[3 * k] | which[3 * k + 1] | which[3 * k + 2]
                new, mode = found[k], mode_of(contact, memory.anchor[k], at)
                lands = (memory.number[k] == APART) & mode.closed & mode.pressing  # and sticks, unless it slides
                number.append(where(mine, where(lands, where(mode.fast, new, STOPPING), new), memory.number[k]))
            return end._replace(touch=_changed(memory, number, still, there, t + gone).begun(t).kept)

        still = [np.zeros(3)] * len(m.touches)  # anchors have rolled on already
        begin = now._replace(touch=Memory.of(now.touch).begun(t).kept)
        moved, solved = in_parts(Switching(advance, margins, switched), begin, h)
        memory, number, there = judged(moved, h)
        return moved._replace(touch=_changed(memory, number, still, there, t + h).kept), solved

    return run


def _changed(memory: Memory, number: list[Number], rolled: list[Array], end: list[Meeting], at: Number) -> Memory:
    """What contacts remember that were as `memory` says and are in states `number` at a time [s].

    Anchors have rolled on by `rolled` (n, 3) [m]; those that stop get theirs where they are.
    """
    anchor = [
        where(n == STOPPING, last.point, before + way)
        for n, last, before, way in zip(number, end, memory.anchor, rolled, strict=True)
    ]
    pairs = zip(number, memory.number, memory.entered, strict=True)
    return Memory(number, anchor, [where(lasting(new) == old, entered, at) for new, old, entered in pairs])


def _rolled(first: list[Meeting], last: list[Meeting], h: Number) -> list[Array]:
    return [(a.rolling + b.rolling) * (0.5 * h) for a, b in zip(first, last, strict=True)]


def _contacts(m: Mechanism) -> list[Contact]:
    return [pair.contact for pair in m.touches]


def _meetings(m: Mechanism, q: Array, v: Array) -> list[Meeting]:
    return meetings(m.tree, *to_tree(m, ("q", "v"), (q, v)))[0]


def _foreseen(at: Meeting, ahead: Number) -> Number:
    """The distance [m] after some time [s], if nothing happens."""
    return at.distance + dot(at.normal, at.velocity) * ahead
