"""What is switched while a run goes on, and by what: verbs of a schedule, at times or where guards fire."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from linkwork.errors import LinkworkError, unknown_name
from linkwork.model.broadcast import as_numbers
from linkwork.model.clutches import Brake
from linkwork.model.contradictions import contradictions
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.controllers import SWITCHED
from linkwork.simulation.switching.guards import Once
from linkwork.simulation.switching.slipping import tie_speeds
from linkwork.spatial.scalar import Array


class Switch(NamedTuple):
    """At a time [s], or at one for every member of a batch, a parameter gets a new value; `what` says it in words.

    Without a value it changes its sign. Instead of a time there may be a guard, a user's function that fires.
    """

    when: Any
    parameter: str
    value: float | None
    what: str

    @property
    def guarded(self) -> bool:
        """Whether a guard fires it."""
        return callable(self.when) or isinstance(self.when, Once)

    def applied(self, now: Any) -> Any:
        """The new value of the parameter."""
        return -now if self.value is None else self.value


GIVEN = "given"  # a value that the schedule says
HELD = ("clutches", "brakes", "ratchets", "latches", "differentials", "couplings")
SWITCHED_BY: dict[str, dict[str, tuple[str, Any]]] = {  # verb: of what, the parameter that it sets, to what
    "open": {"loops": ("closed", 0.0)},
    "close": {"loops": ("closed", 1.0)},
    "engage": dict.fromkeys(HELD, ("engaged", 1.0)),
    "release": dict.fromkeys(HELD, ("engaged", 0.0)),
    "reverse": {"clutches": ("ratio", None), "ratchets": ("direction", None)},
    "shift": {"clutches": ("ratio", GIVEN), "ratchets": ("ratio", GIVEN), "transmissions": ("selected", GIVEN)},
    "lock": dict.fromkeys(("brakes", "joints"), ("engaged", 1.0)),
    "unlock": dict.fromkeys(("brakes", "joints"), ("engaged", 0.0)),
}
SINGULAR = {
    "loops": "loop", "clutches": "clutch", "brakes": "brake", "ratchets": "ratchet", "latches": "latch",
    "joints": "joint", "transmissions": "transmission", "differentials": "differential", "couplings": "coupling",
}  # fmt: skip


def lockable(mechanism: Mechanism, names: Iterable[str]) -> Mechanism:
    """The mechanism with brakes, of the joints' own names and released, on those named joints that have none."""
    brakes = list(mechanism.brakes)
    for name in dict.fromkeys(names):
        if name not in mechanism.brakes and name in mechanism.joints:
            brakes.append(Brake(name, name, np.inf, 0.0, mechanism.joints[name].kind.nv))
    return replace(mechanism, brakes=mechanism.brakes.replaced(brakes))


def modes_of(mechanism: Mechanism) -> dict[str, float]:
    """All that can be switched, by the names of parameters, as it is built."""
    return {name: float(value) for name, value in mechanism.parameters.items() if name.endswith(SWITCHED)}


def locked_names(schedule: Sequence[Any] | None) -> list[str]:
    """What a schedule locks or unlocks."""
    entries = [entry for entry in schedule or () if isinstance(entry, (tuple, list)) and len(entry) == 3]
    return [str(name) for _, verb, name in entries if isinstance(verb, str) and verb in ("lock", "unlock")]


def scheduled(mechanism: Mechanism, schedule: Sequence[Any] | None) -> tuple[Switch, ...]:
    """The switches of a schedule [(time or guard, verb, name), ...], or an error that names what is wrong.

    "shift" has a fourth entry, the new ratio, or the number of a gear. Times go forward; guards may stand anywhere.
    """
    found: list[Switch] = []
    modes: dict[str, float] = {}
    built, last = modes_of(mechanism), np.zeros(())
    for number, entry in enumerate(schedule or ()):
        when, verb, name, ratio = _checked_entry(number, entry)
        rules = SWITCHED_BY[verb]
        owners = {of: getattr(mechanism, of) for of in rules}
        if not any(name in owner for owner in owners.values()):
            valid = list(dict.fromkeys(one for owner in owners.values() for one in owner.names))
            raise unknown_name(" or ".join(SINGULAR[of] for of in rules), name, valid)
        parameter, value = next(rules[of] for of, owner in owners.items() if name in owner)
        if parameter == "selected":
            mechanism.transmissions[name].refuse_gear(ratio)
        elif value is GIVEN and ratio == 0.0:
            raise LinkworkError(f"entry {number} of the schedule must be with a ratio other than 0; got {entry!r}")
        given: Any = ratio if value is GIVEN else value
        what = spoken(f"{name}.selected", ratio) if parameter == "selected" else f"{verb} {name}"
        found.append(Switch(when, f"{name}.{parameter}", given, what))
        key, where_ = found[-1].parameter, f"{verb} {name}, entry {number} of the schedule"
        if found[-1].guarded:
            _refuse_contradictions(mechanism, {key: found[-1].applied(built[key])}, where_)
            continue
        if (when < last).any():
            raise LinkworkError(f"entry {number} of the schedule is earlier than the one before it: {verb} {name}")
        last = when
        modes[key] = found[-1].applied(modes.get(key, built[key]))
        _refuse_contradictions(mechanism, modes, where_)
    return tuple(found)


def _refuse_contradictions(mechanism: Mechanism, modes: Mapping[str, float], where_: str) -> None:
    """Raise a LinkworkError if couplings contradict each other in these modes."""
    for fault in contradictions(mechanism, modes):
        raise LinkworkError(f"{where_}: {fault.element} {fault.reason}")


def _checked_entry(number: int, entry: Any) -> tuple[Any, str, str, float]:
    """Time or guard, verb, name and ratio of an entry, or an error that says what is wrong with it."""
    where_ = f"entry {number} of the schedule"
    if not (isinstance(entry, (tuple, list)) and len(entry) in (3, 4)):
        raise LinkworkError(f"{where_} must be (time, verb, name), or have a guard for its time; got {entry!r}")
    when, verb, name = entry[:3]
    if not (callable(when) or isinstance(when, Once)):
        when = as_numbers(f"{where_}: its time", when)
        if not (np.isfinite(when).all() and (when >= 0.0).all()):
            raise LinkworkError(f"{where_}: its time must be a number >= 0 [s]; got {entry[0]!r}")
    if verb not in SWITCHED_BY:
        raise unknown_name(f"verb of {where_}", str(verb), SWITCHED_BY)
    ratio = entry[3] if len(entry) == 4 else 0.0
    good = isinstance(ratio, Real) and np.isfinite(float(ratio)) and (len(entry) == 4) == (verb == "shift")
    if not good:
        shift = "(time, 'shift', name, gear), or with a ratio other than 0"
        wanted = shift if verb == "shift" else "(time, verb, name)"
        raise LinkworkError(f"{where_} must be {wanted}; got {entry!r}")
    return when, str(verb), str(name), float(ratio)


def spoken(parameter: str, value: float) -> str:
    """What is told of a parameter that a controller switches to a value."""
    name, _, key = parameter.rpartition(".")
    words = {"closed": ("open", "close"), "engaged": ("release", "engage")}
    if key in words:
        return f"{words[key][int(value)]} {name}"
    if key == "selected":
        return f"shift {name} to {f'gear {value:g}' if value else 'neutral'}"
    return f"shift {name} to {value:g}" if key == "ratio" else f"turn {name} to {value:+g}"


def slips(mechanism: Mechanism, v: Array, given: Mapping[str, Array]) -> dict[str, Array]:
    """By holder, as messages call it: how fast (...) what is engaged slips at velocities v (..., nv), and must not."""
    found: dict[str, Array] = {}
    for name, item, speed in tie_speeds(mechanism, v, given):
        ahead, behind = (np.isfinite(most) for most in item.capacities)
        wrong = np.where(speed > 0.0, 0.0 if ahead else speed, 0.0 if behind else -speed)
        found[name] = np.maximum(found.get(name, 0.0), wrong * item.engaged)
    return found
