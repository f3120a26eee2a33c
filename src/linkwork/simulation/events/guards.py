"""Guards and latches: what switches by itself, where a number that depends on the state becomes positive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.reduction import to_tree
from linkwork.errors import LinkworkError
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.user_functions import StateFunction
from linkwork.spatial.scalar import Array, Condition, Number, where

AGAIN = 1e-9  # below zero, where a guard that fired is armed again
NEVER = -1e300  # a guard that fires once is armed again below this


class Once(NamedTuple):
    """A guard that fires once."""

    function: StateFunction


def once(guard: StateFunction) -> Once:
    """A guard of a schedule that fires the first time alone: `(lw.once(lambda t, q, v: q[0]), "engage", "clutch")`."""
    if not callable(guard):
        raise LinkworkError(f"a guard is a function guard(t, q, v); got {guard!r:.80}")
    return Once(guard)


class Guard(NamedTuple):
    """Where `function` of t, q (nq,) and v (nv,) becomes positive, the mode of this number gets a new value.

    Without a `value` it changes its sign. `once`: it fires the first time alone. `what` is the text of the event.
    """

    function: Callable[[Number, Array, Array], Number]
    mode: int
    value: float | None
    once: bool
    what: str

    def applied(self, modes: Sequence[Number]) -> Number:
        """The new value of its mode."""
        return -modes[self.mode] if self.value is None else self.value


def own_modes(mechanism: Mechanism) -> tuple[str, ...]:
    """The modes that elements switch by themselves, by the names of their parameters."""
    return tuple(f"{one.name}.{one.fires[0]}" for one in mechanism.self_switching)


def distances(mechanism: Mechanism, q: Array) -> list[Number]:
    """How far joints are beyond the positions of their latches [rad or m]."""
    tree = mechanism.tree
    (position,) = to_tree(mechanism, ("q",), (q,))
    return [one.distance(lambda joint: position[tree.joints[joint].q]) for one in mechanism.self_switching]


def armed_again(mechanism: Mechanism, q: Array, values: Sequence[Number], armed: Array) -> Array:
    """What latches and guards remember (g,): from which side a latch is reached, whether a guard was below zero.

    `values` are those of the guards. Numbers that are not positive are those below which a guard is armed again.
    """
    found = []
    for one, d, before in zip(mechanism.self_switching, distances(mechanism, q), armed, strict=False):
        found.append(one.armed(d, before))
    for value, before in zip(values, armed[len(found) :], strict=True):
        found.append(where(before > 0.0, before, where(value < before, 1.0, before)))
    return np.array(found)


def guard_functions(mechanism: Mechanism, q: Array, values: Sequence[Number], armed: Array) -> list[Number]:
    """Event functions (g,), not negative until a latch engages or a guard fires."""
    own = zip(mechanism.self_switching, distances(mechanism, q), armed, strict=False)
    found = [one.event_function(d, side) for one, d, side in own]
    return found + [where(a > 0.0, -g, 1.0) for g, a in zip(values, armed[len(found) :], strict=True)]


def disarmed(mechanism: Mechanism, guards: Sequence[Guard], armed: Array, fired: Sequence[Condition]) -> Array:
    """What latches and guards remember (g,) after some of them fired."""
    after = [one.disarmed for one in mechanism.self_switching] + [NEVER if guard.once else -AGAIN for guard in guards]
    return np.array([where(which, new, old) for which, new, old in zip(fired, after, armed, strict=True)])
