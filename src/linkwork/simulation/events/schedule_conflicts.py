"""Whether couplings agree where a run begins, and after every instant of its schedule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

import numpy as np

from linkwork.errors import LinkworkError
from linkwork.model.elements.conflicts import contradictions, couplings
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.events.schedule import Switch
from linkwork.spatial.scalar import Array, Value


def refuse_contradictions(
    mechanism: Mechanism, switches: Sequence[Switch], given: Mapping[str, Array], commands: Iterable[str], begin: float
) -> None:
    """Raise a LinkworkError if couplings contradict each other at the time `begin` [s], or come to by the schedule.

    `given` are parameters that are other than built, for all members or each. Switches of one instant happen at once,
    in any order. What guards and controllers (by their `commands`) switch counts as let go: that is looked at when they
    do. Only a guard that engages what can never be is an error here.
    """
    timed, guarded = ([switch for switch in switches if switch.guarded == which] for which in (False, True))
    built = mechanism.parameters
    names = [f"{one.name}.{key}" for one in couplings(mechanism) for key in one.modes()]
    loose = {_owner(name) for name in (*commands, *(switch.parameter for switch in guarded))}
    modes = _let_go({name: given.get(name, built[name]) for name in names if name in built}, loose)
    others = _let_go(modes, {_owner(switch.parameter) for switch in timed})
    agreed: set[tuple[float, ...]] = set()

    def refuse(modes: Mapping[str, Value], who: Array | np.bool_, when: str) -> None:
        for row in set(_rows(modes, who)) - agreed:
            for fault in contradictions(mechanism, dict(zip(modes, row, strict=True))):
                raise LinkworkError(f"{when}: {fault.element} {fault.reason}; {fault.remedy}")
            agreed.add(row)

    refuse(modes, np.True_, "at the start")
    entry = ""
    for switch, following in zip_longest(timed, timed[1:]):
        happens, now = switch.when >= begin, modes.get(switch.parameter)
        if now is not None and _owner(switch.parameter) not in loose:
            new, entry = switch.applied(now), f"{switch.what}, {switch.entry}"
            modes[switch.parameter] = new if happens.all() else np.where(happens, new, now)
        last = np.True_ if following is None else following.when > switch.when  # of those at one instant
        if entry:
            refuse(modes, happens & last, entry)
        if last.all():
            entry = ""
    for switch in guarded:
        if switch.value and switch.parameter in others and not switch.parameter.endswith(".ratio"):
            refuse({**others, switch.parameter: switch.value}, np.True_, f"{switch.what}, {switch.entry}")


def _owner(parameter: str) -> str:
    """Whose parameter it is."""
    return parameter.rpartition(".")[0]


def _let_go(modes: Mapping[str, Value], names: Iterable[str]) -> dict[str, Value]:
    """The modes in which those of these names hold nothing."""
    free = {f"{name}.{key}" for name in names for key in ("engaged", "selected")}
    return {name: np.zeros(()) if name in free else value for name, value in modes.items()}


def _rows(modes: Mapping[str, Value], who: Array | np.bool_) -> list[tuple[float, ...]]:
    """The distinct combinations of values of all modes among the members of whom `who` (*batch,) is true."""
    if not any(np.ndim(value) for value in modes.values()):
        return [tuple(map(float, modes.values()))] if who.any() else []
    *values, chosen = np.broadcast_arrays(*modes.values(), who)
    return list(map(tuple, np.unique(np.stack(values, axis=-1)[chosen], axis=0).tolist()))
