"""Steps through which contacts slide, stick and let go: what they remember, before a step and after it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from linkwork.algorithms.contact_forces import STOPPING, Memory, grips
from linkwork.algorithms.contact_geometry import Meeting, meetings
from linkwork.algorithms.coordinates import difference, integrate
from linkwork.algorithms.coupled import to_tree
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.moving import Moving, Step
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
        rolled = [(a.rolling + b.rolling) * (0.5 * h) for a, b in zip(first, end, strict=True)]
        at = t + h
        if in_the_middle:
            motion, at = difference(m, now.q, moved.q), t + 0.5 * h
            there = _meetings(m, integrate(m, now.q, motion * 0.5), motion / h)
            rolled = [meeting.rolling * h for meeting in there]
        number = [found.number for found in grips(m.touches, memory, at, there)]
        anchor = [
            where(n == STOPPING, last.point, before + way)
            for n, last, before, way in zip(number, end, memory.anchor, rolled, strict=True)
        ]
        return moved._replace(touch=Memory(number, anchor).kept), solved

    return run


def _meetings(m: Mechanism, q: Array, v: Array) -> list[Meeting]:
    return meetings(m.tree, *to_tree(m, ("q", "v"), (q, v)))[0]


def _foreseen(at: Meeting, ahead: Number) -> Number:
    """The distance [m] after some time [s], if nothing happens."""
    return at.distance + dot(at.normal, at.velocity) * ahead
