"""What is switched while a run goes on: loops are opened, and closed with the jump of velocities that this takes."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.coupled import closed_again, held
from linkwork.errors import LinkworkError, unknown_name
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.carry import GOING, Carry
from linkwork.simulation.integrators import OPENED
from linkwork.simulation.outcomes import Event
from linkwork.simulation.system import System
from linkwork.spatial.scalar import Array, Number, largest

VERBS = {"open": 0.0, "close": 1.0}
GAP = 0.01  # [m or rad] that closing may bridge, by moving the mechanism
ROUNDS = 6  # of Newton's method, for such a gap


class Switch(NamedTuple):
    """At a time [s] a parameter gets a new value; `what` says it in words."""

    time: float
    parameter: str
    value: float
    what: str


def scheduled(mechanism: Mechanism, schedule: Sequence[Any] | None) -> tuple[Switch, ...]:
    """The switches of a schedule [(time, verb, name), ...] in the order of time, or an error that names what is wrong.

    Verbs are "open" and "close", of loops.
    """
    found = []
    for number, entry in enumerate(schedule or ()):
        if not (isinstance(entry, (tuple, list)) and len(entry) == 3):
            raise LinkworkError(f"entry {number} of the schedule must be (time, verb, name); got {entry!r}")
        time, verb, name = entry
        if not (isinstance(time, Real) and np.isfinite(float(time)) and float(time) >= 0.0):
            raise LinkworkError(f"entry {number} of the schedule: its time must be a number >= 0 [s]; got {time!r}")
        if verb not in VERBS:
            raise unknown_name(f"verb of entry {number} of the schedule", str(verb), VERBS)
        if name not in mechanism.loops:
            raise unknown_name("loop", str(name), mechanism.loops.names)
        found.append(Switch(float(time), f"{name}.closed", VERBS[verb], f"{verb} {name}"))
    return tuple(sorted(found, key=lambda switch: switch.time))


class Jump(NamedTuple):
    """What a switch does at once: coordinates q (nq,), velocities v (nv,), energy that is won [J].

    `gap` [m or rad] is how far loops were open that are closed now, `possible` whether it was bridged.
    """

    q: Array
    v: Array
    energy: Number
    gap: Number
    possible: Any


def jumped(system: System, q: Array, v: Array) -> Jump:
    """Impulses along the rows of loops stop what would open them; small gaps are bridged by moving the mechanism.

    Impulses come in pairs, so that momentum is kept wherever no loop holds to the world.
    """
    m = system.mechanism
    gap = largest(held(m, q).errors)
    after = closed_again(m, q, v, ROUNDS)
    energy = sum(system.energies(after.q, after.v)) - sum(system.energies(q, v))
    return Jump(after.q, after.v, energy, gap, (gap <= GAP) & (after.error <= OPENED))


def happened(
    switches: Sequence[Switch], time: float, member: tuple[int, ...], now: Carry, gap: Number, energy: Number
) -> list[Event]:
    """What is told of switches, unless the member has ended: what they bridged and the energy [J] that they took."""
    if now.code != GOING:
        return []
    told = [f"{what} {size:.3g} {unit}" for what, size, unit in (("bridging", gap, "m or rad"), ("energy", energy, "J"))
            if abs(size) > (OPENED if what == "bridging" else 0.0)]  # fmt: skip
    return [Event(time, member, switch.what + (f" ({', '.join(told)})" if told else "")) for switch in switches]


def too_far(mechanism: Mechanism, q: Array) -> str:
    """What is wrong where loops that are closed are open by more than can be bridged; empty if they are not."""
    errors = np.abs(held(mechanism, q).errors) if mechanism.loops else np.zeros(0)
    if errors.max(initial=0.0) <= GAP:
        return ""
    name = mechanism.loop_of_row(int(np.argmax(errors))).name
    return f"loop {name!r} is open by {errors.max():.3g} where it is to be closed: bring it within {GAP:g} before"
