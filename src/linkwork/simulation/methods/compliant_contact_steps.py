"""Steps with compliant contacts: contact memory, and the contact events landing, sliding, sticking and leaving.

`with_contacts` changes contact states at the end of a step (S4 section 5.2). `ContactSwitching` gives the event
functions that locate these changes within a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from linkwork.algorithms.compliant_contact import (
    APART,
    SLIDING,
    SLIPPING,
    STICKING,
    STOPPING,
    ContactForce,
    ContactLaw,
    Memory,
    contact_forces,
    lasting_state,
    mode_event_functions,
    mode_of,
)
from linkwork.algorithms.contact_anchor import anchor_after, state_after
from linkwork.algorithms.contact_kinematics import ContactKinematics, contact_kinematics
from linkwork.algorithms.mimic_reduction import to_tree
from linkwork.algorithms.solid_contact.compliant_pairs import CompliantSolids
from linkwork.algorithms.tangent_space import difference, integrate
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.events.event_log import write
from linkwork.simulation.methods.integration_step import Step
from linkwork.simulation.simulated_system import System
from linkwork.simulation.state import EventLog, StepState
from linkwork.spatial.scalar import Array, Condition, Number, dot, where

LANDED = 10.0  # added to the contact state in the event log if the contact was apart before
CONTACT_EVENTS = {
    APART: "leaves",
    SLIDING: "slides",
    STICKING: "sticks",
    LANDED + SLIDING: "lands and slides",
    LANDED + STICKING: "lands and sticks",
}  # texts of contact events, by the result in the event log


def contact_event(mechanism: Mechanism, source: int, result: float) -> str:
    """Return the text of a contact event: the name of the contact pair and what it does, such as "lands and sticks".

    `source` is a negative number: contact pair k has the source -1 - k. `result` is the new state of the pair, plus
    LANDED if the pair was apart before.
    """
    return f"{mechanism.contact_pairs[-1 - source].name} {CONTACT_EVENTS[result]}"


def with_contacts(step: Step, in_the_middle: bool = False) -> Step:
    """Return a step function that makes `step` and then updates the states of compliant contacts.

    The states follow from the kinematics at the end of the step. If `in_the_middle` is true, they follow from the
    kinematics at the middle of the step, for methods whose equations hold there; the pairs in contact are then
    predicted from the velocities at the start.
    """

    def run(system: System, t: Number, now: StepState, h: Number, held: Array) -> tuple[StepState, Condition]:
        system = system.begun(t, now.contact_memory, now.solid_memory)
        m, memory = system.mechanism, system.memory
        moved, solved = points(system, memory, t, now, h, held) if memory else step(system, t, now, h, held)
        if system.solids is not None:
            mean = (now.v + moved.v) * 0.5
            stored = CompliantSolids(m, system.solids, t + h, moved.q, mean).stored(t + h)
            moved = moved._replace(solid_memory=stored)
        return moved, solved

    def points(
        system: System, memory: Memory, t: Number, now: StepState, h: Number, held: Array
    ) -> tuple[StepState, Condition]:
        """Return the state after a step h [s] from `now` at t [s], with new states of point contacts, and whether the
        step was solved. `held` (nv,) [N m or N] are the joint forces of a sampled controller.
        """
        m = system.mechanism
        first = _contact_kinematics(m, now.q, now.v)
        if in_the_middle:
            memory = memory._replace(foreseen=[_predicted(at, 0.5 * h) < 0.0 for at in first])
        moved, solved = step(replace(system, memory=memory), t, now, h, held)
        end = there = _contact_kinematics(m, moved.q, moved.v)
        rolled, at = _rolled(first, end, h), t + h
        if in_the_middle:
            motion, at = difference(m, now.q, moved.q), t + 0.5 * h
            there = _contact_kinematics(m, integrate(m, now.q, motion * 0.5), motion / h)
            rolled = [meeting.rolling * h for meeting in there]
        number = _states(m, contact_forces(m.contact_pairs, memory, at, there))
        changes = zip(memory.number, number, strict=True)
        anchor = [
            anchor_after(pair.contact, *one)
            for pair, *one in zip(m.contact_pairs, changes, memory.anchor, rolled, first, end, strict=True)
        ]
        return moved._replace(contact_memory=_changed(memory, number, anchor, t + h).stored), solved

    return run


class ContactSwitching:
    """Contact events within one step that begins at `t` [s]: landing, sliding, sticking, leaving.

    A substep ends at each event, so that contact forces are smooth functions of the state within a substep. A contact
    that lands and does not slide sticks at once. Some changes are not zero crossings of an event function, for example
    if a contact that has begun to slip is still slow. These changes take effect at the end of the whole step (S4
    section 5.2).
    """

    def __init__(self, mechanism: Mechanism, t: Number):
        self.mechanism, self.t = mechanism, t
        self.force_laws: list[ContactLaw] = [pair.contact for pair in mechanism.contact_pairs]

    def begin(self, now: StepState) -> StepState:
        """Return the state `now` at the start of the step, with each contact in the state apart, sliding or sticking.

        Contact states that occur only at the end of a step are replaced by one of these three states.
        """
        return now._replace(contact_memory=Memory.of(now.contact_memory).begun(self.t).stored)

    def advance(
        self, step: Step, system: System, t: Number, begin: StepState, h: Number, held: Array
    ) -> tuple[StepState, Condition]:
        """Return the state after a substep h [s] from the state `begin` at t [s], in which contact states do not
        change.

        The second result is whether the equations were solved. `step` makes the substep, and `held` (nv,) are the joint
        forces of a sampled controller.
        """
        m, memory = self.mechanism, Memory.of(begin.contact_memory)._replace(since=t)
        first = _contact_kinematics(m, begin.q, begin.v)
        modes = [mode_of(*one) for one in zip(self.force_laws, memory.anchor, first, strict=True)]
        moved, solved = step(replace(system, memory=memory._replace(modes=modes)), t, begin, h, held)
        last = _contact_kinematics(m, moved.q, moved.v)
        anchor = []
        for k, path in enumerate(_rolled(first, last, h)):
            number, before = memory.number[k], memory.anchor[k]
            after = anchor_after(self.force_laws[k], (number, number), before, path, first[k], last[k])
            drags = (number == SLIDING) | modes[k].slips
            anchor.append(where(drags, after, before + path))
        return moved._replace(contact_memory=memory._replace(anchor=anchor).stored), solved

    def functions(self, begin: StepState, end: StepState) -> Array:
        """Return three event functions per contact pair, in the state `end`.

        One of the three is negative if the pair has left the contact state that it had in the state `begin`.
        """
        before, after = Memory.of(begin.contact_memory), Memory.of(end.contact_memory)
        pairs = zip(self.force_laws, before.number, before.anchor, after.anchor, strict=True)
        first, last = (_contact_kinematics(self.mechanism, state.q, state.v) for state in (begin, end))
        found: list[Number] = []
        for (contact, number, was, anchor), a, b in zip(pairs, first, last, strict=True):
            found += mode_event_functions(contact, number, anchor, b, mode_of(contact, was, a))
        return np.array(found)

    def switched(self, end: StepState, t: Number, which: Sequence[Condition]) -> StepState:
        """Return the state at t [s] after the contact events for which `which` (3 entries per pair) is true, with new
        contact states.

        `end` is the state before the events.
        """
        memory, found, there = self._contact_states(end, t)
        number, anchor = [], []
        for k, (contact, at) in enumerate(zip(self.force_laws, there, strict=True)):
            mine = which[3 * k] | which[3 * k + 1] | which[3 * k + 2]
            new, mode = found[k], mode_of(contact, memory.anchor[k], at)
            apart, presses = memory.number[k] == APART, mode.closed & mode.pressing
            slips = presses & mode.slips & mode.fast & (memory.number[k] == STICKING)
            new = where(apart & presses, where(mode.fast, new, STOPPING), where(slips, SLIPPING, new))
            number.append(where(mine, new, memory.number[k]))
            anchor.append(where(mine & apart, at.point, memory.anchor[k]))
        after = end._replace(contact_memory=_changed(memory, number, anchor, t).begun(self.t).stored)
        return after._replace(log=self._log(end, after, t)) if len(end.log.lines) else after

    def _log(self, before: StepState, after: StepState, t: Number) -> EventLog:
        """Return the event log with one line appended for each contact whose state changed.

        `before` and `after` are the states before and after the change at time t [s].
        """
        pairs = list(zip(before.contact_memory[:, 0], after.contact_memory[:, 0], strict=True))
        results = [new + where(old == APART, LANDED, 0.0) for old, new in pairs]
        lines = [(-1.0 - k, result, t) for k, result in enumerate(results)]
        return write(before.log, [new != old for old, new in pairs], lines)

    def end(self, moved: StepState, t: Number) -> StepState:
        """Return the state at the end t [s] of the whole step, with contact changes that are not located as events.

        `moved` is the state after the last substep.
        """
        memory, number, there = self._contact_states(moved, t)
        known = zip(memory.number, memory.anchor, there, strict=True)
        anchor = [where(before == APART, at.point, here) for before, here, at in known]
        return moved._replace(contact_memory=_changed(memory, number, anchor, t).stored)

    def _contact_states(self, end: StepState, t: Number) -> tuple[Memory, list[Number], list[ContactKinematics]]:
        """Return the contact memory of the state `end` at t [s], the new state of each pair, and the kinematics of all
        pairs.
        """
        memory = Memory.of(end.contact_memory)._replace(since=t)
        there = _contact_kinematics(self.mechanism, end.q, end.v)
        return memory, _states(self.mechanism, contact_forces(self.mechanism.contact_pairs, memory, t, there)), there


class NoSwitching:
    """Stands in for `ContactSwitching` in steps whose contact events are not located: it changes nothing."""

    def begin(self, now: StepState) -> StepState:
        """Return the state `now` at the start of the step unchanged."""
        return now

    def advance(
        self, step: Step, system: System, t: Number, begin: StepState, h: Number, held: Array
    ) -> tuple[StepState, Condition]:
        """Return the state after the substep h [s] that `step` makes from the state `begin` at t [s]; there are no
        contact events.

        The second result is whether the equations were solved. `held` (nv,) are the joint forces of a sampled
        controller.
        """
        return step(system, t, begin, h, held)

    def functions(self, begin: StepState, end: StepState) -> Array:
        """Return an empty array (0,) of event functions for any states, because there are no contact events."""
        return np.zeros(0)

    def switched(self, end: StepState, t: Number, which: Sequence[Condition]) -> StepState:
        """Return the state `end` unchanged, because there are no contact events."""
        return end

    def end(self, moved: StepState, t: Number) -> StepState:
        """Return the state `moved` at the end of the step unchanged."""
        return moved


def _states(mechanism: Mechanism, found: list[ContactForce]) -> list[Number]:
    """Return the state of each contact pair after a step, from the contact forces `found` at its end."""
    return [state_after(pair.contact, one) for pair, one in zip(mechanism.contact_pairs, found, strict=True)]


def _changed(memory: Memory, number: list[Number], anchor: Sequence[Array], at: Number) -> Memory:
    """Return the contact memory (states, anchors, times) after the contact states change to `number` at time `at` [s].

    `memory` is the contact memory before the change; `anchor` (n, 3) [m] are the anchors after the change, in the
    frames of the surfaces. A pair whose state does not change retains its start time.
    """
    pairs = zip(number, memory.number, memory.entered, strict=True)
    return Memory(number, anchor, [where(lasting_state(new) == old, entered, at) for new, old, entered in pairs])


def _rolled(first: list[ContactKinematics], last: list[ContactKinematics], h: Number) -> list[Array]:
    """Return the rolling displacement (3,) [m] of each contact pair in a step h [s], in the axes of its surface, by the
    trapezoidal rule.

    `first` and `last` are the kinematics at the start and at the end of the step.
    """
    return [(a.rolling + b.rolling) * (0.5 * h) for a, b in zip(first, last, strict=True)]


def _contact_kinematics(m: Mechanism, q: Array, v: Array) -> list[ContactKinematics]:
    return contact_kinematics(m.tree, *to_tree(m, ("q", "v"), (q, v)))[0]


def _predicted(at: ContactKinematics, ahead: Number) -> Number:
    """Return the distance [m] of a contact pair after the time `ahead` [s], for constant velocity; negative if it
    penetrates.

    `at` has the present distance and velocity of the pair.
    """
    return at.distance + dot(at.normal, at.velocity) * ahead
