"""State of a run as nested named tuples, and functions that select, flatten and rebuild them.

A record is a NamedTuple whose fields are numbers, arrays or further records. Kernels and traced loops take flat
sequences of leaves; all other code works on records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from linkwork.simulation.work_ledger import IMPULSE
from linkwork.spatial.scalar import Array, Condition, Number, Value, where

# Status of a batch member: running, or the reason for its end
RUNNING, EVENT, NOT_CONVERGED, NON_FINITE, STOPPED = 0.0, 1.0, 2.0, 3.0, 4.0
LOG_COLUMNS = 7  # number of entries per line of the event log, see `events.event_log.Line`
# numbers in the contact memory per contact pair: state, anchor or force (3,), start time of the state
CONTACT_COLUMNS = 5

Leaves = tuple[Value, ...]  # the leaves of a record in order, which are the variables of traced loops
Record = TypeVar("Record", bound=tuple[Any, ...])  # fields are leaves or further records
Selected = TypeVar("Selected")  # a number, an array or a record


class EventLog(NamedTuple):
    """Events since the log was last read: `lines` (n, 7) has one row per event, with the entries of `event_log.Line`.

    `count` is the number of events, which is larger than n if some events did not fit.
    """

    lines: Array = np.zeros((0, LOG_COLUMNS))
    count: Number = 0.0


class SolverState(NamedTuple):
    """Solver statistics of a batch member: iterations of the last step, and the largest projection and residual so far.

    `iterations` is the number of iterations of the last step. `projection` [m or rad] is the largest change of a
    coordinate by a projection onto loops so far, and `residual` [m/s] the largest violation of the contact conditions
    of rigid contact so far.
    """

    iterations: Number = 0.0
    projection: Number = 0.0
    residual: Number = 0.0


class StepState(NamedTuple):
    """The part of a batch member's state that an integration step changes: coordinates, velocities, contacts, modes.

    `q` (nq,) [rad, m] are the coordinates, `v` (nv,) [rad/s, m/s] the velocities. `work` [J] is the work done so far by
    all forces except gravity and springs. `contact_memory` (n, 5) has, for each of n contact pairs, the state number,
    anchor or force, and start time of the state; for rigid contacts with friction torques also the torque: (n, 8).
    `slip` (k,) has the slip direction (-1, 0, 1) of every constraint with a bounded multiplier, then of every velocity
    with joint friction. `modes` (m,) are the values of the parameters that can be switched during the run, and `armed`
    (g,) are the arming states of latches and guards (see `events.guards.armed_again`). During event location, `watched`
    contains event functions and constraint forces; otherwise it is empty. `ledger` has the work of passive elements and
    the impulse of the ground so far, see `work_ledger`; it is empty if the run does not add them up. `solid_memory` is
    the contact memory of the four points of each solid pair, (4 n, 5) or (4 n, 8) for n pairs.
    """

    q: Array
    v: Array
    work: Number = 0.0
    contact_memory: Array = np.zeros((0, CONTACT_COLUMNS))
    slip: Array = np.zeros(0)
    modes: Array = np.zeros(0)
    armed: Array = np.zeros(0)
    log: EventLog = EventLog()
    solver: SolverState = SolverState()
    watched: Array = np.zeros(0)
    solid_memory: Array = np.zeros((0, CONTACT_COLUMNS))
    ledger: Array = np.zeros(0)

    def solved_in(self, iterations: Number) -> StepState:
        """Return the state with the number of iterations of its last step set to `iterations`."""
        return self._replace(solver=self.solver._replace(iterations=iterations))

    def with_work(self, done: Array) -> StepState:
        """Return the state with its work and its work ledger increased by `done`: the work [J], then the changes of the
        ledger.
        """
        ledger = self.ledger + done[1:] if len(self.ledger) else self.ledger
        return self._replace(work=self.work + done[0], ledger=ledger)

    def pushed_by_ground(self, impulse: Array) -> StepState:
        """Return the state with `impulse` (6,), the impulse [N s] of the ground and its moment [N m s], added to the
        work ledger.
        """
        begin, end = IMPULSE.start, IMPULSE.stop
        pushed = self.ledger[begin:end] + impulse
        return self._replace(ledger=np.concatenate([self.ledger[:begin], pushed, self.ledger[end:]]))

    def with_work_of(self, number: int, work: Number) -> StepState:
        """Return the state with `work` [J] added to entry `number` of the work ledger, if the state has a ledger."""
        if not len(self.ledger):
            return self
        return self._replace(ledger=np.array([x + work if k == number else x for k, x in enumerate(self.ledger)]))


class MemberState(NamedTuple):
    """The complete state of one batch member, or of all members with the batch axes in front.

    `step` is the number of steps since the start, so that the time is exactly step * dt. `status` is RUNNING or the
    reason for the end. `control` (nv,) [N m or N] are the joint forces from the last call of a sampled controller, and
    `memory` (k,) is the memory of the controller. `most_iterations` is the largest number of iterations in a step so
    far.
    """

    step: Number
    status: Number
    motion: StepState
    control: Array
    memory: Array
    most_iterations: Number = 0.0

    @property
    def q(self) -> Array:
        """Coordinates (..., nq) [rad, m, quaternions] of this state."""
        return self.motion.q

    @property
    def v(self) -> Array:
        """Velocities (..., nv) [rad/s, m/s] of this state."""
        return self.motion.v

    def at(self, step: Number, q: Array, v: Array, work: Number) -> MemberState:
        """Return the state with the step count `step`, coordinates q (nq,), velocities v (nv,) and `work` [J]; faster
        than `moved`.
        """
        return MemberState(step, self.status, StepState(q, v, work, *self.motion[3:]), *self[3:])

    def moved(self, **changes: Value | EventLog | SolverState) -> MemberState:
        """Return a copy of the state with new values for fields of `motion` (a `StepState`), such as q and v."""
        return self._replace(motion=self.motion._replace(**changes))


def select(condition: Condition, yes: Selected, no: Selected) -> Selected:
    """Return `yes` where the condition is true, else `no`; both are numbers, arrays or nested named tuples.

    Arrays may be empty.
    """
    one, other = cast(Any, yes), cast(Any, no)
    if one is other:
        return yes
    if isinstance(one, tuple):
        return cast(Any, type(one))(*(select(condition, a, b) for a, b in zip(one, other, strict=True)))
    return where(condition, one, other) if np.ndim(one) == 0 or np.size(one) else other


def flatten(record: tuple[object, ...]) -> list[Value]:
    """Return the numbers and arrays of the nested named tuple `record` as a flat list, in order."""
    return [leaf for part in record for leaf in (flatten(part) if isinstance(part, tuple) else [part])]


def unflatten(like: Record, leaves: Sequence[Value]) -> Record:
    """Return a nested named tuple with the structure of `like` and the numbers and arrays `leaves`, in order."""
    values = iter(leaves)
    found = _rebuilt(like, values)
    assert next(values, None) is None
    return found


def _rebuilt(like: Record, values: Iterator[Value]) -> Record:
    """Return a nested named tuple with the structure of `like`; its numbers and arrays are the next ones from
    `values`.
    """
    return type(like)(*(_rebuilt(part, values) if isinstance(part, tuple) else next(values) for part in like))


def leaf_names(record: tuple[object, ...], prefix: str = "") -> list[str]:
    """Return the names of the numbers and arrays in the nested named tuple `record`, such as 'motion.q'.

    `prefix` precedes every name.
    """
    names: Sequence[str] = getattr(record, "_fields", ())
    return [
        name
        for field, part in zip(names, record, strict=True)
        for name in (leaf_names(part, f"{prefix}{field}.") if isinstance(part, tuple) else [prefix + field])
    ]


def mapped(function: Callable[[Value], Value], record: Record) -> Record:
    """Return the nested named tuple `record` with a function applied to each of its numbers and arrays."""
    return unflatten(record, [function(leaf) for leaf in flatten(record)])


def member(record: Record, index: tuple[int, ...]) -> Record:
    """Return the state of the batch member at `index`, from a nested named tuple for the whole batch.

    All numbers and arrays of `record` have batch axes in front.
    """
    return mapped(lambda leaf: np.asarray(leaf)[index], record)
