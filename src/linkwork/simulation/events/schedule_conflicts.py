"""Check that couplings do not contradict each other at the start of a run and after each entry of its schedule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

import numpy as np

from linkwork.errors import LinkworkError
from linkwork.model.elements.contradicting_couplings import contradictions, couplings
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.events.schedule import Switch
from linkwork.spatial.scalar import Array, Value


def refuse_contradictions(
    mechanism: Mechanism, switches: Sequence[Switch], given: Mapping[str, Array], commands: Iterable[str], begin: float
) -> None:
    """Raise a LinkworkError if couplings contradict each other at time `begin` [s] or after an entry of the schedule.

    `switches` are the entries of the schedule. `given` are the parameter values that differ from the model, one for all
    batch members or one per member. Switches at the same time act together, in any order. Elements that guards switch,
    or controllers by the parameters `commands`, count as released here, because the run checks their conflicts when
    they switch. A guard is an error only if it engages couplings that contradict each other in every state.
    """
    timed, guarded = ([switch for switch in switches if switch.guarded == which] for which in (False, True))
    built = mechanism.parameters
    names = [f"{one.name}.{key}" for one in couplings(mechanism) for key in one.modes()]
    loose = {_owner(name) for name in (*commands, *(switch.parameter for switch in guarded))}
    modes = _released({name: given.get(name, built[name]) for name in names if name in built}, loose)
    others = _released(modes, {_owner(switch.parameter) for switch in timed})
    agreed: set[tuple[float, ...]] = set()

    def refuse(modes: Mapping[str, Value], who: Array | np.bool_, when: str) -> None:
        for row in set(_combinations(modes, who)) - agreed:
            for fault in contradictions(mechanism, dict(zip(modes, row, strict=True))):
                raise LinkworkError(f"{when}: {fault.element} {fault.reason}; {fault.remedy}")
            agreed.add(row)

    refuse(modes, np.True_, "at the start")
    entry = ""
    for switch, following in zip_longest(timed, timed[1:]):
        due, now = switch.when >= begin, modes.get(switch.parameter)
        if now is not None and _owner(switch.parameter) not in loose:
            new, entry = switch.applied(now), f"{switch.what}, {switch.entry}"
            modes[switch.parameter] = new if due.all() else np.where(due, new, now)
        # true for the members for which this switch is the last at its time
        last = np.True_ if following is None else following.when > switch.when
        if entry:
            refuse(modes, due & last, entry)
        if last.all():
            entry = ""
    for switch in guarded:
        if switch.value and switch.parameter in others and not switch.parameter.endswith(".ratio"):
            refuse({**others, switch.parameter: switch.value}, np.True_, f"{switch.what}, {switch.entry}")


def _owner(parameter: str) -> str:
    """Return the name of the element that a parameter belongs to."""
    return parameter.rpartition(".")[0]


def _released(modes: Mapping[str, Value], names: Iterable[str]) -> dict[str, Value]:
    """Return a copy of `modes` (values of switchable parameters, by name) in which the elements called `names` are
    released.
    """
    free = {f"{name}.{key}" for name in names for key in ("engaged", "selected")}
    return {name: np.zeros(()) if name in free else value for name, value in modes.items()}


def _combinations(modes: Mapping[str, Value], who: Array | np.bool_) -> list[tuple[float, ...]]:
    """Return the distinct combinations of mode values among the batch members for which `who` (*batch,) is true.

    `modes` maps the name of each mode to its value, a number or an array (*batch,).
    """
    if not any(np.ndim(value) for value in modes.values()):
        return [tuple(map(float, modes.values()))] if who.any() else []
    *values, chosen = np.broadcast_arrays(*modes.values(), who)
    return list(map(tuple, np.unique(np.stack(values, axis=-1)[chosen], axis=0).tolist()))
