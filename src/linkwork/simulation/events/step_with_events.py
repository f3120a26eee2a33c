"""A step with event location: one search locates the events of slip, latches, guards and contacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from linkwork.simulation.events.double_zero_crossings import (
    first_hidden_minimum,
    latch_and_guard_count,
    stored_values_and_slopes,
)
from linkwork.simulation.events.event_location import Switching, locate
from linkwork.simulation.events.event_sources import any_of, apply_events, has_events, sources, watch
from linkwork.simulation.events.slip import holding, slip_forces, slip_work
from linkwork.simulation.events.turning_slip import slip_at_start, with_slip_in_step
from linkwork.simulation.joint_friction_rows import at_rest, friction_count, still
from linkwork.simulation.methods.compliant_contact_steps import ContactSwitching, NoSwitching, with_contacts
from linkwork.simulation.methods.integration_step import Step
from linkwork.simulation.simulated_system import System
from linkwork.simulation.slip_groups import slip_groups
from linkwork.simulation.state import StepState, select
from linkwork.simulation.work_ledger import CLUTCHES
from linkwork.spatial.scalar import Array, Condition, Number


def with_events(step: Step, implicit: bool = False, locate_contacts: bool = False) -> Step:
    """Return a step function that makes `step` in substeps, each of which ends at a located event.

    Events change modes, slip directions, contact states and velocities. If `implicit` is true, the equations of `step`
    hold in the middle of the step; the step is shortened if contacts leave them without a solution. Contact states
    change at the ends of steps or, if `locate_contacts` is true, at located events. If no events can occur in a system,
    its steps have no substeps.
    """
    through = step if locate_contacts else with_contacts(step, in_the_middle=implicit)

    def run(system: System, t: Number, now: StepState, h: Number, held: Array) -> tuple[StepState, Condition]:
        touches = bool(system.mechanism.contact_pairs) and not system.rigid
        located = touches and locate_contacts
        if not (has_events(system) or located or (touches and implicit)):
            return through(system.in_modes(now.modes), t, now, h, held)
        touching = ContactSwitching(system.mechanism, t) if located else NoSwitching()
        alone = not (touches and (located or implicit)) and not latch_and_guard_count(system)
        events = _Events(system, held, through, touching, alone, implicit)
        moved, solved = locate(events.switching(t), events.begin(t, now), h)
        return events.end(t + h, moved)._replace(watched=now.watched), events.possible(moved, solved)

    return run


class _Events:
    """The events of one step: slip, latches and guards, and contact events if these are located.

    If `alone` is true, only slip can end a substep early, because there are no contacts, latches or guards. The
    equations of an `implicit` step hold at its middle.
    """

    def __init__(
        self,
        system: System,
        held: Array,
        step: Step,
        touching: ContactSwitching | NoSwitching,
        alone: bool,
        implicit: bool,
    ):
        self.system, self.held, self.step, self.touching, self.alone = system, held, step, touching, alone
        self.implicit = implicit
        # number of event functions of slip, latches and guards; those of contacts are not counted
        self.count = len(sources(system)) if has_events(system) else 0
        # evaluate event functions at the start only in steps with events
        self.late = bool(self.count) and not latch_and_guard_count(system)

    def switching(self, t: Number) -> Switching:
        """Return the functions of the event search in a step from time t [s]: substep, event functions, effects."""
        return Switching(
            lambda begin, elapsed, duration: self._advance(t + elapsed, begin, duration),
            self._functions,
            lambda end, elapsed, which: self._switched(t + elapsed, end, which),
            self._hidden if latch_and_guard_count(self.system) else None,
            (lambda begin: watch(self.system, t, begin, self.held)) if self.late else None,
        )

    def begin(self, t: Number, now: StepState) -> StepState:
        """Return the state `now` at the start t [s] of the step, with the values of its event functions.

        All values are 1 if these functions are needed only in steps with events; the event search then evaluates them.
        """
        now = self.touching.begin(now)
        if self.late:
            m = self.system.mechanism
            return now._replace(watched=np.ones(self.count + len(m.constraints) + friction_count(m) + 1))
        return watch(self.system, t, now, self.held) if self.count else now

    def end(self, t: Number, moved: StepState) -> StepState:
        """Return the state at the end t [s] of the step, after updates of the contact states.

        `moved` is the state after the last substep.
        """
        return self.touching.end(moved, t)

    def possible(self, moved: StepState, solved: Condition) -> Condition:
        """Return whether the equations of all substeps were solved and the constraints can be satisfied after the last
        event.

        `moved` is the state after the last substep.
        """
        return solved & (moved.watched[-1] > 0.0) if self.count else solved

    def _advance(self, t: Number, begin: StepState, h: Number) -> tuple[StepState, Condition]:
        """Return the state after a substep h [s] from the state `begin` at t [s], and whether its equations were
        solved.
        """
        here, forces = self.system.in_modes(begin.modes), self.held
        groups = slip_groups(here.mechanism)
        if groups:
            begin = begin._replace(slip=slip_at_start(here.mechanism, groups, begin))
        if not here.rigid:
            forces = forces + slip_forces(here.mechanism, begin.slip)
            here = replace(here, mechanism=holding(here.mechanism, begin.slip)).with_slip_directions(begin.slip)
        if groups and here.slip_directions is not None:
            present = self.system.in_modes(begin.modes)
            here = with_slip_in_step(present, here, t, begin, h, self.held, self.implicit)
        moved, solved = self.touching.advance(self.step, here, t, begin, h, forces)
        if here.slip_directions is not None:
            m = self.system.mechanism
            q, v = at_rest(m, here.slip_directions, begin.q, moved.q), still(m, here.slip_directions, moved.v)
            moved = moved._replace(q=q, v=v)
        if not here.rigid:
            moved = moved.with_work_of(CLUTCHES, slip_work(self.system.in_modes(begin.modes).mechanism, begin, moved))
        if not self.count:
            return moved, solved
        after = watch(self.system, t + h, moved, self.held)
        possible = (begin.watched[-1] > 0.0) & (after.watched[-1] > 0.0)
        return after, possible if solved is True else solved & possible

    def _functions(self, begin: StepState, end: StepState) -> Array:
        """Return the event functions (k,) at the `end` of a substep: first those of slip, latches and guards, then
        those of contacts. The state `begin` is that at the start of the substep.
        """
        return np.concatenate([end.watched[: self.count], self.touching.functions(begin, end)])

    def _hidden(self, begin: StepState, end: StepState, h: Number) -> Number:
        """Return the fraction of a substep h [s] at which the event function of a guard or latch may be negative
        between two zero crossings; 1 if none. The substep is from the state `begin` to the state `end`.
        """
        count = latch_and_guard_count(self.system)
        return first_hidden_minimum(
            stored_values_and_slopes(begin.watched, count), stored_values_and_slopes(end.watched, count), h
        )

    def _switched(self, t: Number, end: StepState, which: Sequence[Condition]) -> StepState:
        """Return the state at t [s] after the events for which `which` (k,) is true; `end` is the state before the
        events.
        """
        after, watched = end, which[: self.count]
        if self.count:
            after = apply_events(self.system, t, end, self.held, watched)
            after = after if self.alone else select(any_of(watched), after, end)
        contacts = which[self.count :]
        if not contacts:
            return after
        after = self.touching.switched(after, t, contacts)
        return watch(self.system, t, after, self.held, after.watched[-1]) if self.count else after
