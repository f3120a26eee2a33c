"""What is switched while a run goes on: loops, clutches and brakes, with the jump of velocities that holding takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.coupled import closed_again, held
from linkwork.errors import LinkworkError, unknown_name
from linkwork.model.broadcast import as_numbers
from linkwork.model.clutches import Brake, contradiction_faults
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.carry import GOING
from linkwork.simulation.integrators import OPENED
from linkwork.simulation.outcomes import Event
from linkwork.simulation.system import System
from linkwork.spatial.scalar import Array, Number, largest

GAP = 0.01  # [m or rad] that closing may bridge, by moving the mechanism
ROUNDS = 6  # of Newton's method, for such a gap


class Switch(NamedTuple):
    """At a time [s], or at one for every member of a batch, a parameter gets a new value; `what` says it in words."""

    time: Array
    parameter: str
    value: float
    what: str


class Verb(NamedTuple):
    """A word of a schedule: what it may name, the parameter that it sets, and to what (None where it is given)."""

    of: tuple[str, ...]
    parameter: str
    value: float | None


VERBS = {
    "open": Verb(("loops",), "closed", 0.0),
    "close": Verb(("loops",), "closed", 1.0),
    "engage": Verb(("clutches", "brakes"), "engaged", 1.0),
    "release": Verb(("clutches", "brakes"), "engaged", 0.0),
    "reverse": Verb(("clutches",), "ratio", None),
    "shift": Verb(("clutches",), "ratio", None),
    "lock": Verb(("brakes", "joints"), "engaged", 1.0),
    "unlock": Verb(("brakes", "joints"), "engaged", 0.0),
}
MODES = (".closed", ".engaged", ".ratio")
SINGULAR = {"loops": "loop", "clutches": "clutch", "brakes": "brake", "joints": "joint"}


def lockable(mechanism: Mechanism, names: Iterable[str]) -> Mechanism:
    """The mechanism with brakes, of the joints' own names and released, on those named joints that have none."""
    brakes = list(mechanism.brakes)
    for name in dict.fromkeys(names):
        if name not in mechanism.brakes and name in mechanism.joints:
            brakes.append(Brake(name, name, np.inf, 0.0, mechanism.joints[name].kind.nv))
    return replace(mechanism, brakes=mechanism.brakes.replaced(brakes))


def modes_of(mechanism: Mechanism) -> dict[str, float]:
    """All that can be switched, by the names of parameters, as it is built."""
    return {name: float(value) for name, value in mechanism.parameters.items() if name.endswith(MODES)}


def locked_names(schedule: Sequence[Any] | None) -> list[str]:
    """What a schedule locks or unlocks."""
    entries = [entry for entry in schedule or () if isinstance(entry, (tuple, list)) and len(entry) == 3]
    return [str(name) for _, verb, name in entries if verb in ("lock", "unlock")]


def scheduled(mechanism: Mechanism, schedule: Sequence[Any] | None) -> tuple[Switch, ...]:
    """The switches of a schedule [(time, verb, name), ...], or an error that names what is wrong.

    "shift" has a fourth entry, the new ratio.
    """
    found: list[Switch] = []
    modes: dict[str, float] = {}
    ratios = {clutch.name: float(clutch.ratio) for clutch in mechanism.clutches}
    for number, entry in enumerate(schedule or ()):
        time, verb, name, ratio = _checked_entry(number, entry)
        if found and (time < found[-1].time).any():
            raise LinkworkError(f"entry {number} of the schedule is earlier than the one before it: {verb} {name}")
        rule = VERBS[verb]
        owners = [getattr(mechanism, of) for of in rule.of]
        if not any(name in owner for owner in owners):
            valid = list(dict.fromkeys(one for owner in owners for one in owner.names))
            raise unknown_name(" or ".join(SINGULAR[of] for of in rule.of), name, valid)
        value = rule.value
        if value is None:
            value = ratios[name] = -ratios[name] if verb == "reverse" else ratio
        found.append(Switch(time, f"{name}.{rule.parameter}", value, f"{verb} {name}"))
        modes[found[-1].parameter] = value
        for fault in contradiction_faults(mechanism.with_parameters(modes).clutches):
            raise LinkworkError(f"{verb} {name}, entry {number} of the schedule: {fault.element} {fault.reason}")
    return tuple(found)


def _checked_entry(number: int, entry: Any) -> tuple[Array, str, str, float]:
    """Time, verb, name and ratio of an entry, or an error that says what is wrong with it."""
    where_ = f"entry {number} of the schedule"
    if not (isinstance(entry, (tuple, list)) and len(entry) in (3, 4)):
        raise LinkworkError(f"{where_} must be (time, verb, name); got {entry!r}")
    time, verb, name = entry[:3]
    times = as_numbers(f"{where_}: its time", time)
    if not (np.isfinite(times).all() and (times >= 0.0).all()):
        raise LinkworkError(f"{where_}: its time must be a number >= 0 [s]; got {time!r}")
    if verb not in VERBS:
        raise unknown_name(f"verb of {where_}", str(verb), VERBS)
    ratio = entry[3] if len(entry) == 4 else 0.0
    good = isinstance(ratio, Real) and np.isfinite(float(ratio)) and (float(ratio) != 0.0) == (verb == "shift")
    if not good:
        wanted = "(time, 'shift', name, ratio), with a ratio other than 0" if verb == "shift" else "(time, verb, name)"
        raise LinkworkError(f"{where_} must be {wanted}; got {entry!r}")
    return times, str(verb), str(name), float(ratio)


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
    """Impulses along the rows of what is held stop what would open loops, or slip; small gaps of loops are bridged.

    What is held can still move any way it could: momentum in all those directions is kept (S0 3.1.1).
    """
    m = system.mechanism
    gap = largest(held(m, q).errors)
    after = closed_again(m, q, v, ROUNDS)
    energy = sum(system.energies(after.q, after.v)) - sum(system.energies(q, v))
    return Jump(after.q, after.v, energy, gap, (gap <= GAP) & (after.error <= OPENED))


def happened(
    switches: Sequence[Switch], time: float, member: tuple[int, ...], code: Number, gap: Number, energy: Number
) -> list[Event]:
    """What is told of switches, unless the member has ended: what they bridged and the energy [J] that they took."""
    if code != GOING:
        return []
    told = [f"{what} {size:.3g} {unit}" for what, size, unit in (("bridging", gap, "m or rad"), ("energy", energy, "J"))
            if abs(size) > (OPENED if what == "bridging" else 0.0)]  # fmt: skip
    return [Event(time, member, switch.what + (f" ({', '.join(told)})" if told else "")) for switch in switches]


def too_far(mechanism: Mechanism, q: Array) -> str:
    """What is wrong where loops that are closed are open by more than can be bridged; empty if they are not."""
    errors = np.abs(held(mechanism, q).errors[: mechanism.nc]) if mechanism.loops else np.zeros(0)
    if errors.max(initial=0.0) <= GAP:
        return ""
    name = mechanism.loop_of_row(int(np.argmax(errors))).name
    return f"loop {name!r} is open by {errors.max():.3g} where it is to be closed: bring it within {GAP:g} before"


def slips(mechanism: Mechanism, v: Array, given: Mapping[str, Array]) -> dict[str, Array]:
    """By clutch and brake, as messages call them: how fast (...) what is engaged slips at velocities v (..., nv)."""
    velocities, found = mechanism.tree_velocity(v), {}
    for what, items in (("clutch", mechanism.clutches), ("brake", mechanism.brakes)):
        for item in items:
            names = {key: f"{item.name}.{key}" for key in ("engaged", "ratio")}
            now = replace(item, **{key: given[name] for key, name in names.items() if name in given})
            for tie in now.ties:
                joints = [(mechanism.tree.joints[joint].v.start + k, by) for joint, k, by in tie.velocities]
                speed = sum((velocities[..., k] * by for k, by in joints), np.zeros(v.shape[:-1]))
                found[f"{what} {item.name!r}"] = np.abs(speed * tie.engaged)
    return found
