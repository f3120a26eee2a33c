"""A step with everything that may switch within it: one search serves slip, latches, guards and contacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from linkwork.simulation.events.location import Switching, locate
from linkwork.simulation.events.slip import holding, slip_forces
from linkwork.simulation.events.sources import any_of, apply_events, has_events, sources, watch
from linkwork.simulation.methods.contact_stepping import ContactSwitching, with_contacts
from linkwork.simulation.methods.method import Step
from linkwork.simulation.state import StepState, select
from linkwork.simulation.system import System
from linkwork.spatial.scalar import Array, Condition, Number


def with_events(step: Step, implicit: bool = False, locate_contacts: bool = False) -> Step:
    """The step through contacts, in substeps at whose ends events change modes, slip, contacts and velocities.

    The equations of an `implicit` step hold in its middle; it is shortened where contacts let it have no solution.
    Contacts change their states at the ends of steps, or with `locate_contacts` where that happens within a step.
    Where nothing can switch, this is the step itself.
    """
    through = step if locate_contacts else with_contacts(step, in_the_middle=implicit)

    def run(system: System, t: Number, now: StepState, h: Number, held: Array) -> tuple[StepState, Condition]:
        touches = bool(system.mechanism.contact_pairs) and not system.rigid
        located = touches and locate_contacts
        if not (has_events(system) or located or (touches and implicit)):
            return through(system.in_modes(now.modes), t, now, h, held)
        events = _Events(system, held, through, ContactSwitching(system.mechanism, t) if located else None)
        moved, solved = locate(events.switching(t), events.begin(t, now), h)
        return events.end(t + h, moved)._replace(watched=now.watched), events.possible(moved, solved)

    return run


class _Events:
    """The event sources of one step: slip, latches and guards are watched; contacts, if they are to be located."""

    def __init__(self, system: System, held: Array, step: Step, contacts: ContactSwitching | None):
        self.system, self.held, self.step, self.contacts = system, held, step, contacts
        self.count = len(sources(system)) if has_events(system) else 0  # of what is watched

    def switching(self, t: Number) -> Switching:
        """What the search needs, of a step that begins at the time t [s]."""
        return Switching(
            lambda begin, elapsed, duration: self._advance(t + elapsed, begin, duration),
            self._functions,
            lambda end, elapsed, which: self._switched(t + elapsed, end, which),
        )

    def begin(self, t: Number, now: StepState) -> StepState:
        """The state in which the search begins."""
        now = now if self.contacts is None else self.contacts.begin(now)
        return watch(self.system, t, now, self.held) if self.count else now

    def end(self, t: Number, moved: StepState) -> StepState:
        """The state in which the step ends."""
        return moved if self.contacts is None else self.contacts.end(moved, t)

    def possible(self, moved: StepState, solved: Condition) -> Condition:
        """Whether the step was solved, and its last event was possible."""
        return solved & (moved.watched[-1] > 0.0) if self.count else solved

    def _advance(self, t: Number, begin: StepState, h: Number) -> tuple[StepState, Condition]:
        here, forces = self.system.in_modes(begin.modes), self.held
        if here.mechanism.bounded and not here.rigid:
            forces = forces + slip_forces(here.mechanism, begin.slip)
            here = replace(here, mechanism=holding(here.mechanism, begin.slip))
        if self.contacts is None:
            moved, solved = self.step(here, t, begin, h, forces)
        else:
            moved, solved = self.contacts.advance(self.step, here, t, begin, h, forces)
        if not self.count:
            return moved, solved
        after = watch(self.system, t + h, moved, self.held)
        possible = (begin.watched[-1] > 0.0) & (after.watched[-1] > 0.0)
        return after, possible if solved is True else solved & possible

    def _functions(self, begin: StepState, end: StepState) -> Array:
        watched = end.watched[: self.count]
        return watched if self.contacts is None else np.concatenate([watched, self.contacts.functions(begin, end)])

    def _switched(self, t: Number, end: StepState, which: Sequence[Condition]) -> StepState:
        after, watched = end, which[: self.count]
        if self.count:
            after = select(any_of(watched), apply_events(self.system, t, end, self.held, watched), end)
        if self.contacts is None:
            return after
        after = self.contacts.switched(after, t, which[self.count :])
        return watch(self.system, t, after, self.held, after.watched[-1]) if self.count else after
