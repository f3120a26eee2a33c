"""Energies and impulses of simultaneous events: each impulse is attributed to one event.

All switches at one instant cause one impact. If several of them belong to one constraint, as "engage" and "shift" of
one clutch do, the impulse of this constraint belongs to the first of these switches. The energy of constraints without
an event, such as a ratchet that engages in the same impact, belongs to the first event. The energies of all events then
add up to the energy of the impact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from linkwork.simulation.events.event_tolerances import SMALLEST_ENERGY
from linkwork.spatial.scalar import Array, Condition, Number, where


class Share(NamedTuple):
    """Share of one event in an impact: energy gain `energy` [J], `impulse` [N s or N m s], and `gap` [m or rad].

    `gap` is the loop closure error that the impact removed.
    """

    energy: Number
    impulse: Number
    gap: Number


def shares(
    constraints: Sequence[int], fired: Sequence[Condition], energies: Array, impulses: Array, gaps: Array
) -> list[Share]:
    """Return the share of each of several simultaneous events in the impact that they cause.

    `constraints` are the numbers of the constraints to which the events belong. `fired` has a condition for each event:
    whether it occurred. The shares of events that did not occur are zero. `energies` (n,) [J] gained, `impulses` (n,)
    [N s or N m s] and removed loop closure errors `gaps` (n,) [m or rad] have one entry per constraint. All values may
    be traced.
    """
    here = [where(one, 1.0, 0.0) for one in fired]
    first: list[Number] = []
    for k, (number, now) in enumerate(zip(constraints, here, strict=True)):
        for other, before in zip(constraints[:k], here[:k], strict=True):
            now = now * (1.0 - before) if other == number else now
        first.append(now)
    rest: Number = 0.0
    for number, energy in enumerate(energies):
        named: Number = 0.0
        for other, now in zip(constraints, first, strict=True):
            named = named + now if other == number else named
        # An energy below SMALLEST_ENERGY is the round-off of a constraint that was satisfied before the impact
        rest = rest + where(abs(energy) > SMALLEST_ENERGY, energy * (1.0 - named), 0.0)
    found, left = [], 1.0
    for number, now, mine in zip(constraints, here, first, strict=True):
        energy = energies[number] * mine + rest * now * left
        left = left * (1.0 - now)
        found.append(Share(energy, impulses[number] * mine, gaps[number] * mine))
    return found
