"""Schedules: entries (time or guard, verb, name) that switch loops, clutches, brakes and transmissions during a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.errors import LinkworkError, NameNotFound, ShapeError, unknown_name
from linkwork.model.batch_broadcasting import Shape, as_numbers
from linkwork.model.elements.element import FLIP, GIVEN, kinds
from linkwork.model.elements.key_types import is_finite
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.events.guards import OneShot
from linkwork.simulation.events.slip import row_speeds
from linkwork.simulation.methods.method_tolerances import WHOLE_STEPS
from linkwork.simulation.results.outcomes import Event
from linkwork.simulation.state import NON_FINITE, NOT_CONVERGED, RUNNING
from linkwork.simulation.user_functions import StateFunction
from linkwork.spatial.scalar import Array, Number, Value, where
from linkwork.tolerances import HUGE

When = ArrayLike | StateFunction | OneShot  # a time [s], one time per member (*batch,), or a guard
# time or guard, verb, name; the verb "shift" has a ratio or a gear number as fourth item
ScheduleEntry = tuple[When, str, str] | tuple[When, str, str, float]
Schedule = Sequence[ScheduleEntry]
# the mode that a verb sets, and its new value; FLIP means the opposite sign, GIVEN the fourth item of the entry
Change = tuple[str, float | str]

PACKAGE = "linkwork."
FORM = "An entry is (time, verb, name)."
LOCKS = ("lock", "unlock")  # verbs that also take the name of a joint


class Switch(NamedTuple):
    """One entry of a schedule: it sets the switchable parameter (mode) `parameter` to `value`.

    `when` is a time [s], an array of times (*batch,) or a guard. If `value` is None, the parameter changes its sign.
    `what` is the text of the event.
    """

    when: Any
    parameter: str
    value: float | None
    what: str
    entry: str  # the entry, such as "schedule[2]", for error messages

    @property
    def guarded(self) -> bool:
        """True if a guard triggers the switch, false if it occurs at a given time."""
        return callable(self.when) or isinstance(self.when, OneShot)

    def applied(self, now: Value) -> Value:
        """Return the value of the parameter after the switch; `now` is its value before the switch."""
        return -now if self.value is None else self.value


class RunInterval(NamedTuple):
    """The interval of a run: `begin`, `end` and step `dt` [s] (0: unknown), and the `events` of the continued run."""

    begin: float
    end: float
    dt: float
    events: Sequence[Event]


def verbs() -> dict[str, dict[str, Change]]:
    """Return the effect of each schedule verb on each kind of element, as nested dicts: verbs()[verb][kind].

    `kind` is the kind of element, such as "clutches". An effect is a pair: the name of the mode (switchable parameter)
    that the verb sets, and the new value of this mode.
    """
    found: dict[str, dict[str, Change]] = {}
    for section, kind in kinds().items():
        for verb, change in kind.switches.items():
            found.setdefault(verb, {})[section] = change
    return found


def modes_of(mechanism: Mechanism) -> dict[str, float]:
    """Return all modes (switchable parameters) of a mechanism by name, with their values in the model."""
    return {name: float(mechanism.parameters[name]) for name in mechanism.modes}


def entries_of(schedule: object) -> list[object]:
    """Return the entries of a schedule as a list; raise a LinkworkError if it is not a sequence of entries."""
    if schedule is None:
        return []
    if isinstance(schedule, (str, Mapping)) or not isinstance(schedule, Iterable):
        raise LinkworkError(f"schedule must be a list of entries (time, verb, name); got {schedule!r:.80}")
    return list(schedule)


def locked_names(schedule: Sequence[object]) -> list[str]:
    """Return the names of joints and brakes that a schedule locks or unlocks."""
    entries = [entry for entry in schedule if isinstance(entry, (tuple, list)) and len(entry) == 3]
    return [str(name) for _, verb, name in entries if isinstance(verb, str) and verb in LOCKS]


def scheduled(mechanism: Mechanism, schedule: Sequence[object]) -> tuple[Switch, ...]:
    """Return the entries (time or guard, verb, name) of a schedule as checked `Switch` objects.

    "shift" takes a fourth item: the new ratio, or the number of a gear. Raise a LinkworkError that names an invalid
    entry.
    """
    return tuple(
        switch_of(mechanism, f"entry {number} of the schedule", entry) for number, entry in enumerate(schedule)
    )


def switch_of(mechanism: Mechanism, where_: str, entry: object) -> Switch:
    """Return one schedule entry (time or guard, verb, name) as a `Switch`.

    Raise a LinkworkError that names an invalid item. `where_` is the entry's name in messages, such as "schedule[2]".
    """
    when, verb, name, ratio = _checked_entry(where_, entry)
    rules = verbs()[verb]
    owners = {section: getattr(mechanism, section) for section in rules}
    locks = any(kinds()[section].locks_joint for section in rules) and verb in LOCKS
    section = next((section for section, owner in owners.items() if name in owner), None)
    if section is None:
        names = [*(one for owner in owners.values() for one in owner.names), *(mechanism.joints.names if locks else ())]
        words = [
            *(kinds()[section].what for section in _kinds_to_list(mechanism, rules)),
            *(["joint"] if locks else []),
        ]
        valid, hint = list(dict.fromkeys(names)), _verbs_hint(mechanism, verb, name)
        raise NameNotFound(f"{where_}: {unknown_name(' or '.join(words), name, valid, hint)}")
    parameter, value = rules[section]
    if locks and name in mechanism.joints and (other := owners[section][name].joint) != name:
        what = kinds()[section].what
        both = f"{verb} {name!r} is ambiguous: joint {name!r}, or the {what} {name!r} of joint {other!r}"
        raise LinkworkError(f"{where_}: {both}; rename the {what}")
    if value is GIVEN and parameter == "ratio" and ratio == 0.0:
        raise LinkworkError(f"{where_}: the ratio must not be 0; got {entry!r}")
    if value is GIVEN:
        mechanism.check_parameter(f"{name}.{parameter}", np.asarray(ratio))
    what = mode_event(f"{name}.{parameter}", ratio) if parameter == "selected" else f"{verb} {name}"
    given = ratio if value is GIVEN else None if value is FLIP else float(value)
    return Switch(when, f"{name}.{parameter}", given, what, where_)


def _verbs_hint(mechanism: Mechanism, verb: str, name: str) -> str:
    """Return a hint with the verbs that are valid for the element `name`, for an error about an invalid `verb`.

    If the element has verbs that set the same value as `verb`, as "engage" and "close" do, the hint lists only these.
    A joint that is not an element can only be locked. The hint is empty if the element has no verbs.
    """
    wanted = {value for _, value in verbs()[verb].values()}
    for section, kind in kinds().items():
        if name in getattr(mechanism, section) and kind.switches:
            same = [one for one, (_, value) in kind.switches.items() if value in wanted]
            *others, last = map(repr, same or kind.switches)
            return f" {name!r} is a {kind.what}: use {', '.join(others)}{' or ' if others else ''}{last}."
    return f" {name!r} is a joint: use 'lock' or 'unlock'." if name in mechanism.joints else ""


def _kinds_to_list(mechanism: Mechanism, sections: Iterable[str]) -> list[str]:
    """Return the element kinds in `sections` that an error message should list.

    The result has the kinds that linkwork defines, and the user-defined kinds that the mechanism has.
    """
    return [name for name in sections if getattr(mechanism, name) or kinds()[name].__module__.startswith(PACKAGE)]


def check_times(switches: Sequence[Switch], batch: Shape, interval: RunInterval | None = None) -> tuple[Switch, ...]:
    """Return the switches with their times as arrays (*batch,); raise a LinkworkError if the times decrease from one
    entry to the next, are outside the `interval` of the run, or do not have the shape of the `batch`.

    Entries with guards have no time, and may be anywhere in the schedule.
    """
    found, last = [], np.zeros(batch)
    for switch in switches:
        if switch.guarded:
            found.append(switch)
            continue
        if np.shape(switch.when) not in ((), batch):
            wanted = f"a single time or one per member, shape {batch}" if batch else "a single time: there is no batch"
            raise ShapeError(f"{switch.entry}: times have shape {np.shape(switch.when)}; expected {wanted}")
        when = np.broadcast_to(switch.when, batch)
        if (when < last).any():
            raise LinkworkError(
                f"{switch.entry} ({switch.what}) is earlier than the entry before it; sort the entries by time"
            )
        if interval is not None:
            _refuse_outside(switch, when, interval)
        found.append(switch._replace(when=when))
        last = when
    return tuple(found)


def _refuse_outside(switch: Switch, times: Array, interval: RunInterval) -> None:
    """Raise a LinkworkError if a switch, at `times` (*batch,) [s], is outside the `interval` of the run in all members.

    Half a step beyond either end counts as inside. A continued run may repeat entries that the first run made.
    """
    begin, end, dt, events = interval
    reach = 0.5 * dt + WHOLE_STEPS * end
    late = times > end + reach
    if not times.size or not (late | (times < begin - reach)).all():
        return
    if any(one.what.split(" (")[0] == switch.what and (abs(times - one.time) <= reach).any() for one in events):
        return
    first = float(times.flat[0])
    absolute = "; times in continued runs count from the start of the first run" if begin > 0.0 else ""
    place = "after the end" if late.flat[0] else "before the start"
    raise LinkworkError(
        f"{switch.entry} ({switch.what}) at {first:g} s is {place} of the run, which is from {begin:g} s to "
        f"{end:g} s{absolute}"
    )


def not_again(switch: Switch, end: Array, dt: float, events: Iterable[Event]) -> Switch:
    """Return `switch` for a continued run, without the batch members in which the first run already made this switch.

    `end` (*batch,) [s] is the end of the first run, `dt` [s] its step, and `events` are its events.
    """
    if switch.guarded:
        return switch
    made = np.zeros(end.shape, dtype=bool)
    for event in events:
        if event.what.split(" (")[0] == switch.what and abs(event.time - end[event.member]) < 1e-9 * dt:
            made[event.member] = True
    return switch._replace(when=np.where(made & (abs(switch.when - end) <= 0.5 * dt), -1.0, switch.when))


def _checked_entry(where_: str, entry: object) -> tuple[When, str, str, float]:
    """Return the four items of a schedule entry: time or guard, verb, name, and ratio or gear number (0 if there is
    none).

    Raise a LinkworkError that names an invalid item. `where_` is the entry's name in messages, such as "schedule[2]".
    """
    if not (isinstance(entry, (tuple, list)) and len(entry) in (3, 4)):
        known = ", ".join(repr(verb) for verb in verbs())
        raise LinkworkError(
            f"{where_} must be (time [s] or guard function, verb, name of an element), for example (1.5, 'engage', "
            f"'clutch'); got {entry!r}. Verbs: {known}"
        )
    when, verb, name = entry[:3]
    if not (callable(when) or isinstance(when, OneShot)):
        try:
            when = as_numbers("time", when)
        except ShapeError:
            wanted = "a number [s], one number per member, or a guard"
            raise ShapeError(f"{where_}: time must be {wanted}; got {entry[0]!r:.80}. {FORM}") from None
        if not (np.isfinite(when).all() and (when >= 0.0).all()):
            raise LinkworkError(f"{where_}: the time [s] must be finite and >= 0; got {entry[0]!r}")
    if not isinstance(verb, str) or verb not in verbs():
        raise NameNotFound(f"{where_}: {unknown_name('verb', str(verb), verbs(), f' {FORM}')}")
    ratio = entry[3] if len(entry) == 4 else 0.0
    good = isinstance(ratio, Real) and np.isfinite(float(ratio)) and (len(entry) == 4) == (verb == "shift")
    if not good:
        shift = "(time, 'shift', name, gear) or (time, 'shift', name, ratio)"
        wanted = shift if verb == "shift" else f"(time, {verb!r}, name)"
        raise LinkworkError(f"{where_} must be {wanted}; got {entry!r}")
    return when, str(verb), str(name), float(ratio)


def mode_event(parameter: str, value: float) -> str:
    """Return the text of the event in which `parameter` is switched to `value`."""
    name, _, key = parameter.rpartition(".")
    words = {"closed": ("open", "close"), "engaged": ("release", "engage")}
    if key in words:
        return f"{words[key][int(value)]} {name}"
    if key == "selected":
        return f"shift {name} to {f'gear {value:g}' if value else 'neutral'}"
    return f"shift {name} to {value:g}" if key == "ratio" else f"turn {name} to {value:+g}"


def command_status(names: Iterable[str], modes: Iterable[Number]) -> Number:
    """Return the status of a batch member after its controller has set the modes `names` to the values `modes`.

    The status is a number: RUNNING if all values are valid, else the code of the reason why the run of this member
    ends.
    """
    code: Number = RUNNING
    for name, mode in zip(names, modes, strict=True):
        if name.endswith(".ratio"):
            code = where(mode == 0.0, NOT_CONVERGED, code)
        code = where(abs(mode) <= HUGE, code, NON_FINITE)  # true for finite values: comparisons with nan are false
    return code


def slips(mechanism: Mechanism, v: Array, given: Mapping[str, Array]) -> dict[str, Array]:
    """Return, by label, the slip speeds (...) [rad/s or m/s] of engaged constraints in directions in which they cannot
    slip.

    The speeds are >= 0; a speed above 0 violates the constraint. `v` (..., nv) [rad/s, m/s] are the velocities, and
    `given` the parameter values that differ from the model, by name.
    """
    found: dict[str, Array] = {}
    for name, item, speed in row_speeds(mechanism, v, given):
        ahead, behind = map(is_finite, item.capacities)
        wrong = np.where(speed > 0.0, 0.0 if ahead else speed, 0.0 if behind else -speed)
        found[name] = np.maximum(found.get(name, 0.0), wrong * item.engaged)
    return found
