"""Event sources within a step: slip of clutches and brakes, latches, and guards of schedules.

Each source has event functions that are not negative before the event and negative just after it. `watch` evaluates
them. `apply_events` changes modes, slip directions and velocities at an event and writes the event log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.joint_friction.friction_limits import norm
from linkwork.model.elements.element_key_definition import is_finite
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.events.double_zero_crossings import values_and_slopes
from linkwork.simulation.events.energy_attribution import shares
from linkwork.simulation.events.event_log import Line, write
from linkwork.simulation.events.event_tolerances import SMALLEST_ENERGY
from linkwork.simulation.events.guards import armed_again, disarmed, guard_functions, self_switched_modes
from linkwork.simulation.events.impulses import ITERATIONS, Impact, constrained_motion, impact
from linkwork.simulation.events.resting_joints import with_resting_joints
from linkwork.simulation.events.slip import one_releases, slip_after, slip_functions
from linkwork.simulation.joint_friction_rows import (
    friction_count,
    friction_functions,
    friction_part,
    friction_row_flags,
    slip_speeds,
)
from linkwork.simulation.simulated_system import System
from linkwork.simulation.slip_groups import changed_slip, holds_at, slip_groups
from linkwork.simulation.state import MemberState, StepState
from linkwork.simulation.state_series import friction_names
from linkwork.simulation.work_ledger import CLUTCHES
from linkwork.spatial.scalar import Array, Condition, Number, where


class Source(NamedTuple):
    """An event source: its event texts `what` for the slip directions -1, 0, 1 after the event, and the number of its
    `constraint`. The number is -1 for the friction of joints, which belongs to no constraint.
    """

    what: tuple[str, ...]
    constraint: int


def sources(system: System) -> list[Source]:
    """Return all event sources in the order of their event functions: slip, friction of joints, latches, guards.

    There are two event functions per bounded constraint, and one per velocity with joint friction. A bounded constraint
    is a clutch or brake, with limited force. With rigid contacts, the integration step itself determines and logs which
    constraints slip.
    """
    m = system.mechanism
    names, count = [item.name for item in m.constraints], len(m.frame_constraints)
    found: list[Source] = []
    for item in m.bounded:
        forward = "overruns" if item.pushes_only else "slips"
        words = tuple(f"{item.name} {what}" for what in ("slips", "holds", forward))
        found += [Source(words, names.index(item.name, count))] * 2
    found += [Source((f"{name} slips", f"{name} holds", f"{name} slips"), -1) for name in friction_names(m)]
    for one in m.self_switching:
        found.append(Source((f"{one.name} engages",) * 3, names.index(one.name, count)))
    for guard in system.guards:
        found.append(Source((guard.what,) * 3, constraint_number(m, system.modes[guard.mode])))
    return found


def has_events(system: System) -> bool:
    """Return whether events can occur within a step (slip, latches or guards), so that they must be located."""
    m = system.mechanism
    return bool(m.self_switching or system.guards or ((m.bounded or friction_count(m)) and not system.rigid))


def constraint_number(mechanism: Mechanism, parameter: str) -> int:
    """Return the number, in `mechanism.constraints`, of the loop or velocity constraint whose switchable parameter is
    called `parameter`.
    """
    name, _, key = parameter.rpartition(".")
    pairs = enumerate(mechanism.constraints)
    return next(k for k, one in pairs if key in one.modes() and name in (one.name, f"{one.section}.{one.name}"))


def any_of(conditions: Sequence[Condition]) -> Condition:
    """Return whether any of the conditions is true; conditions may be traced."""
    found = conditions[0]
    for condition in conditions[1:]:
        found = found | condition
    return found


def nan_guard(system: System, *states: tuple[float, StepState | MemberState]) -> str:
    """Return a message about a guard whose value is nan in one of the `states`; "" if there is no such guard.

    `states` are pairs of a time [s] and a state.
    """
    for t, now in states:
        for guard in system.guards:
            if np.isnan(guard.function(t, now.q, now.v)):
                return f"the guard of {guard.what!r} is nan at {t:g} s"
    return ""


def watch(system: System, t: Number, now: StepState, held: Array, possible: Number = 1.0) -> StepState:
    """Return the state `now` with its k event functions and n constraint forces [N or N m] stored in `watched`.

    `watched` also contains the nf friction forces [N m or N] of sticking joints, and the `ValuesAndSlopes` of latches
    and guards. The last entry of `watched` is 1 if the run can continue, and 0 if the last event was not `possible` or
    a guard is nan. The state is that at time t [s]. `held` (nv,) [N m or N] are the joint forces of a sampled
    controller.
    """
    here = system.in_modes(now.modes)
    m = here.mechanism
    a, forces, friction, limits, _ = constrained_motion(here, t, now, held)
    values = [guard.function(t, now.q, now.v) for guard in system.guards]
    for value in values:
        possible = where(value == value, possible, 0.0)
    armed = armed_again(m, now.q, values, now.armed)
    bounded = {one.name for one in m.bounded}
    numbers = [k for k, item in enumerate(m.velocity_constraints) if item.name in bounded]
    carried = [forces[len(m.frame_constraints) + k] for k in numbers]
    # With rigid contacts the step itself decides which constraints slip
    functions = [1.0, 1.0] * len(carried) if system.rigid else slip_functions(m, now.slip, now.v, carried)
    slip_directions = friction_part(m, now.slip)
    speeds = slip_speeds(m, now.q, now.v)
    functions += (
        [1.0] * len(slip_directions)
        if system.rigid
        else friction_functions(m, slip_directions, speeds, friction, limits)
    )
    functions += guard_functions(m, now.q, values, armed)
    after = now._replace(armed=armed)
    return after._replace(
        watched=np.array([*functions, *forces, *friction, *values_and_slopes(here, t, after, a, values), possible])
    )


def apply_events(system: System, t: Number, end: StepState, held: Array, which: Sequence[Condition]) -> StepState:
    """Return the state after the events for which `which` (k,) is true: new modes, slip directions and velocities, and
    log lines.

    `end` is the state at time t [s] before the events, and `held` (nv,) [N m or N] are the joint forces of a sampled
    controller.
    """
    m = system.mechanism
    bounded, joint_rows = len(m.bounded), friction_count(m)
    slips, others = one_releases(end.slip[:bounded], which[: 2 * bounded]), which[2 * bounded + joint_rows :]
    slip = np.concatenate([np.array(slip_after(end.slip[:bounded], slips)), end.slip[bounded:]])
    modes = list(end.modes)
    for name, one, fires in zip(self_switched_modes(m), m.self_switching, others, strict=False):
        k = system.modes.index(name)
        modes[k] = where(fires, one.fires[1], modes[k])
    for guard, fires in zip(system.guards, others[len(m.self_switching) :], strict=True):
        modes[guard.mode] = where(fires, guard.applied(modes), modes[guard.mode])
    armed = disarmed(m, system.guards, end.armed, others)
    closes = any(name.endswith(".closed") for name in system.modes)
    decided = [backward | forward for backward, forward in zip(slips[::2], slips[1::2], strict=True)]
    here = system.in_modes(np.array(modes))
    found = impact(here, end.q, end.v, slip, ITERATIONS if closes else 0, decided if bounded else None)
    after = end._replace(
        q=found.q, v=found.v, work=end.work + found.energy, slip=found.slip, modes=np.array(modes), armed=armed
    )
    after = after.with_work_of(CLUTCHES, sum(found.energies[len(m.frame_constraints) :], 0.0))
    slip_directions = list(which[2 * bounded : 2 * bounded + joint_rows])
    if joint_rows and not system.rigid:
        after = with_resting_joints(here, t, after, held, slip_directions)
        changed, flags = changed_slip(m, after.slip[bounded:], end.slip[bounded:]), friction_row_flags(here.mechanism)
        slip_directions = [one & (flag > 0.0) for one, flag in zip(changed, flags, strict=True)]
    after = watch(system, t, after, held, where(found.possible, 1.0, 0.0))
    return _logged(system, t, end, after, found, [*slips, *slip_directions, *others]) if len(end.log.lines) else after


def _logged(
    system: System, t: Number, end: StepState, after: StepState, found: Impact, which: list[Condition]
) -> StepState:
    """Return the state `after` the events, with a line in the event log for each event in `which` that occurred.

    `end` is the state at t [s] before the events, and `found` is the impact that the events cause. If a constraint with
    a capacity receives an impulse that changes the energy only by round-off, the impulse is logged as 0.
    """
    known, m = sources(system), system.mechanism
    count, bounded, joint_rows = len(known), len(m.bounded), friction_count(m)
    loops = len(m.frame_constraints)
    pairs = enumerate(m.velocity_constraints, loops)
    with_capacity = {k for k, one in pairs if all(map(is_finite, one.capacities))}
    # event functions of joint friction, which belong to no constraint
    rows = slice(2 * bounded, 2 * bounded + joint_rows)
    lines, of_joints = [], range(len(known))[rows]
    by_row = {one.rows[0]: one for one in slip_groups(m)}
    left = [k for k in range(len(known)) if k not in of_joints]
    each = iter(
        shares(
            [known[k].constraint for k in left], [which[k] for k in left], found.energies, found.impulses, found.gaps
        )
    )
    for number, source in enumerate(known):
        if number in of_joints:
            k = number - rows.start
            force = end.watched[count + len(m.constraints) + k]
            result = after.slip[bounded + k]
            if k in by_row:
                moves = 1.0 - holds_at([by_row[k]], after.slip[bounded:])[k]
                result, force = moves, norm(end.watched[[count + len(m.constraints) + n for n in by_row[k].rows]])
            lines.append(Line(float(number), result, t, 0.0, 0.0, force, 0.0))
            continue
        share = next(each)
        result = after.slip[number // 2] if number < 2 * bounded else 0.0
        k = source.constraint
        before, now = end.watched[count + k], after.watched[count + k]
        impulse = share.impulse
        if k in with_capacity:  # the impulse only removes the round-off slip speed at which sticking was located
            impulse = where(abs(found.energies[k]) > SMALLEST_ENERGY, impulse, 0.0)
        took = (share.energy, impulse, where(now == 0.0, before, now), share.gap)
        lines.append(Line(float(number), result, t, *took))
    return after._replace(log=write(end.log, which, lines))
