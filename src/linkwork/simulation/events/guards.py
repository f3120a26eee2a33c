"""Guards and latches: functions of the state that switch a mode where they become positive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.mimic_reduction import to_tree
from linkwork.errors import LinkworkError
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.events.event_tolerances import REARMED
from linkwork.simulation.user_functions import StateFunction
from linkwork.spatial.scalar import Array, Condition, Number, where

NEVER = -1e300  # replaces -REARMED for one-shot guards: no value is below it, so that they are never armed again


class OneShot(NamedTuple):
    """A schedule guard (a function of time and state) that fires at most once per run."""

    function: StateFunction


def one_shot(guard: StateFunction) -> OneShot:
    """Return a schedule guard that fires at most once per run.

    A plain guard fires every time its value becomes positive. A one-shot guard ignores all later zero crossings.

    Parameters
    ----------
    guard : callable
        `guard(t, q, v)` with the time t [s], coordinates q (nq,) and velocities v (nv,). It returns one number and
        fires where this number becomes positive. A gain is a number or array from `simulate(..., gains={"name":
        value})`; a guard receives the gains whose names are among its further arguments, as in
        `guard(t, q, v, name)`.

    Returns
    -------
    OneShot
        Use it in place of a time in an entry of `schedule`.

    Raises
    ------
    LinkworkError
        If `guard` is not callable.

    Examples
    --------
    >>> m = lw.example("double_pendulum")
    >>> lock = (lw.one_shot(lambda t, q, v: q[0]), "lock", "pin 1")
    >>> run = lw.simulate(m, [-1.0, 0.0], duration=2.0, dt=0.01, schedule=[lock])
    >>> len(run.events), run.events[0].what[:10]
    (1, 'lock pin 1')

    """
    if not callable(guard):
        raise LinkworkError(f"a guard must be a function guard(t, q, v); got {guard!r:.80}")
    return OneShot(guard)


class Guard(NamedTuple):
    """A guard of one batch member, which switches a parameter when `function(t, q, v)` becomes positive (t [s], q
    (nq,), v (nv,)).

    `mode` is the number of the switchable parameter and `value` its new value; if `value` is None, the parameter
    changes its sign. If `once` is true, the guard fires at most once. `what` is the text of the event.
    """

    function: Callable[[Number, Array, Array], Number]
    mode: int
    value: float | None
    once: bool
    what: str

    def applied(self, modes: Sequence[Number]) -> Number:
        """Return the value of the guard's switchable parameter after it fires; `modes` (m,) are the values of all
        switchable parameters before.
        """
        return -modes[self.mode] if self.value is None else self.value


def self_switched_modes(mechanism: Mechanism) -> tuple[str, ...]:
    """Return the names of the parameters that elements switch by themselves, without a schedule.

    An example is `engaged` of a latch, which engages by itself.
    """
    return tuple(f"{one.name}.{one.fires[0]}" for one in mechanism.self_switching)


def latch_distances(mechanism: Mechanism, q: Array) -> list[Number]:
    """Return, for each latch, the position of its joint minus the latching position [rad or m], at coordinates q
    (nq,).
    """
    tree = mechanism.tree
    (position,) = to_tree(mechanism, ("q",), (q,))
    return [one.distance(lambda joint: position[tree.joints[joint].q]) for one in mechanism.self_switching]


def armed_again(mechanism: Mechanism, q: Array, values: Sequence[Number], armed: Array) -> Array:
    """Return the updated arming states (g,) of the g latches and guards at q (nq,); only armed ones can fire.

    The arming state of a latch is the side (-1 or 1) from which the joint approaches the latching position, or 0 if it
    is not armed. The arming state of a guard is 1 if the guard is armed, else the negative threshold: the guard is
    armed again when its value is below this threshold. `values` are the guards' values, and `armed` (g,) are the arming
    states before the update.
    """
    found = []
    for one, d, before in zip(mechanism.self_switching, latch_distances(mechanism, q), armed, strict=False):
        found.append(one.armed(d, before))
    for value, before in zip(values, armed[len(found) :], strict=True):
        found.append(where(before > 0.0, before, where(value < before, 1.0, before)))
    return np.array(found)


def guard_functions(mechanism: Mechanism, q: Array, values: Sequence[Number], armed: Array) -> list[Number]:
    """Return the event functions (g,) of latches and guards: negative where a latch engages or a guard fires.

    q (nq,) are the coordinates, `values` the guards' values, and `armed` (g,) the arming states (see `armed_again`).
    """
    own = zip(mechanism.self_switching, latch_distances(mechanism, q), armed, strict=False)
    found = [one.event_function(d, side) for one, d, side in own]
    return found + [where(a > 0.0, -g, 1.0) for g, a in zip(values, armed[len(found) :], strict=True)]


def disarmed(mechanism: Mechanism, guards: Sequence[Guard], armed: Array, fired: Sequence[Condition]) -> Array:
    """Return the arming states (g,) after the latches and guards for which `fired` (g,) is true have fired.

    `armed` (g,) are the arming states before (see `armed_again`).
    """
    after = [one.disarmed for one in mechanism.self_switching] + [NEVER if guard.once else -REARMED for guard in guards]
    return np.array([where(which, new, old) for which, new, old in zip(fired, after, armed, strict=True)])
