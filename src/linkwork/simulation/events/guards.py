"""Guards and latches: what switches by itself, where a number that depends on the state becomes positive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.reduction import to_tree
from linkwork.errors import LinkworkError
from linkwork.model.elements.ratchets import SIDES
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array, Number, where

AGAIN = 1e-9  # below zero, where a guard that fired is armed again
CLEAR = 1e-6  # [rad or m] from its place, where a latch is armed
NEVER = -1e300  # a guard that fires once is armed again below this


class Once(NamedTuple):
    """A guard that fires once."""

    function: Callable[..., Any]


def once(guard: Callable[..., Any]) -> Once:
    """A guard of a schedule that fires the first time alone: `(lw.once(lambda t, q, v: q[0]), "engage", "clutch")`."""
    if not callable(guard):
        raise LinkworkError(f"a guard is a function guard(t, q, v); got {guard!r:.80}")
    return Once(guard)


class Guard(NamedTuple):
    """Where `function` of t, q (nq,) and v (nv,) becomes positive, the mode of this number gets a new value.

    Without a `value` it changes its sign. `once` says whether that happens the first time alone, `what` tells it.
    """

    function: Callable[[Number, Array, Array], Number]
    mode: int
    value: float | None
    once: bool
    what: str

    def applied(self, modes: Sequence[Number]) -> Number:
        """The new value of its mode."""
        return -modes[self.mode] if self.value is None else self.value


def distances(mechanism: Mechanism, q: Array) -> list[Number]:
    """How far joints are beyond the places of their latches [rad or m]."""
    tree = mechanism.tree
    (position,) = to_tree(mechanism, ("q",), (q,))
    return [position[tree.joints[latch.joint].q.start] - latch.at for latch in mechanism.latches]


def armed_again(mechanism: Mechanism, q: Array, values: Sequence[Number], armed: Array) -> Array:
    """What latches and guards remember (g,): from which side a latch is reached, whether a guard was below zero.

    `values` are those of the guards. Numbers that are not positive are those below which a guard is armed again.
    """
    found = []
    for latch, d, before in zip(mechanism.latches, distances(mechanism, q), armed, strict=False):
        allowed, side = SIDES[latch.side], where(d > CLEAR, 1.0, where(d < -CLEAR, -1.0, 0.0))
        fits = side if allowed == 0.0 else where(side == allowed, side, 0.0)
        found.append(where(latch.engaged == 0.0, where(before == 0.0, fits, before), 0.0))
    for value, before in zip(values, armed[len(found) :], strict=True):
        found.append(where(before > 0.0, before, where(value < before, 1.0, before)))
    return np.array(found)


def guard_functions(mechanism: Mechanism, q: Array, values: Sequence[Number], armed: Array) -> list[Number]:
    """Event functions (g,), not negative until a latch engages or a guard fires."""
    latches = [where(side == 0.0, 1.0, side * d) for side, d in zip(armed, distances(mechanism, q), strict=False)]
    return latches + [where(a > 0.0, -g, 1.0) for g, a in zip(values, armed[len(latches) :], strict=True)]


def disarmed(mechanism: Mechanism, guards: Sequence[Guard], armed: Array, fired: Sequence[Any]) -> Array:
    """What latches and guards remember (g,) after some of them fired."""
    after = [0.0] * len(mechanism.latches) + [NEVER if guard.once else -AGAIN for guard in guards]
    return np.array([where(which, new, old) for which, new, old in zip(fired, after, armed, strict=True)])
