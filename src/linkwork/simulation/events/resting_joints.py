"""Joints at rest with dry friction: decide for all of these joints together which stick and which begin to slip.

At an event, the friction forces f_k of the joints at rest and their accelerations a_k satisfy, for every velocity k,

    a_k = 0 and |f_k| <= static limit    or    f_k = -s_k dynamic limit with a_k s_k >= 0

All accelerations change when one joint begins to slip, so an active-set iteration finds the slip directions s_k.
Several sets of friction forces can satisfy these conditions, for example in a linkage with more resting joints than
degrees of freedom; the accelerations are then the same for all these sets.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.algorithms.joint_friction.friction_limits import norm
from linkwork.algorithms.mimic_reduction import reduced, to_tree, velocities
from linkwork.simulation.events.event_tolerances import STOPPED
from linkwork.simulation.events.impulses import constrained_motion
from linkwork.simulation.events.slip import holding
from linkwork.simulation.events.turning_slip import directions_from_rest
from linkwork.simulation.joint_friction_rows import (
    friction_count,
    friction_part,
    friction_row_flags,
    locked,
    slack,
    slip_accelerations,
    slip_speeds,
)
from linkwork.simulation.methods.discrete_equations import momenta_of_joints
from linkwork.simulation.simulated_system import System
from linkwork.simulation.slip_groups import (
    SlipGroup,
    against,
    directions_of_groups,
    holds_at,
    slip_groups,
)
from linkwork.simulation.state import Leaves, StepState
from linkwork.spatial.scalar import Array, Condition, Number, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import STICKING_SPEED

# iterations in which all joints may change; then only one per iteration, so that it cannot cycle (Murty 1974)
TOGETHER = 12
MOST = 50  # largest number of iterations


def with_resting_joints(
    system: System, t: Number, now: StepState, held: Array, fired: Sequence[Condition]
) -> StepState:
    """Return the state `now` at t [s] in which each joint at rest either sticks, with velocity zero, or slips.

    `fired` (nf,) is true for each velocity with friction that has just become zero, or whose friction has just reached
    its limit. `held` (nv,) [N m or N] are the joint forces of a sampled controller. `system` is in the present modes.
    """
    m = system.mechanism
    slips, others = friction_part(m, now.slip), now.slip[: len(now.slip) - friction_count(m)]
    speeds, groups = slip_speeds(m, now.q, now.v), slip_groups(m)
    rests = [
        where(event, 1.0, where(abs(w) <= STICKING_SPEED, 1.0, 0.0)) for w, event in zip(speeds, fired, strict=True)
    ]
    # First guess: a slipping joint whose speed has just changed sign reverses, for example where a linkage turns it
    # back
    rows = zip(fired, rests, slips, speeds, strict=True)
    ahead = [where(event, where(s == 0.0, 0.0, where(w > 0.0, 1.0, -1.0)), 0.0) for event, _, s, w in rows]
    fired = list(fired)
    for one in groups:
        _begin_group(one, speeds, slips, fired, rests, ahead)
    slips = directions_of_groups(groups, speeds, slips)
    begin = np.array([where(rest == 1.0, guess, s) for rest, guess, s in zip(rests, ahead, slips, strict=True)])
    flags, by_row = friction_row_flags(m), {k: one for one in groups for k in one.rows}

    def improve(directions: Array, count: Number) -> tuple[Leaves, Condition]:
        there = now._replace(slip=np.concatenate([others, directions]))
        motion = constrained_motion(system, t, there, held)
        found, allowed, changed = [], 1.0, 0.0
        rates = slip_accelerations(m, now.q, now.v, motion.a)
        rows = zip(flags, rates, rests, fired, directions, motion.friction, motion.limits, strict=True)
        for number, (has_friction, rate, rest, event, s, force, limit) in enumerate(rows):
            group = by_row.get(number)
            if group is None:
                holds, needed, back = s == 0.0, abs(force), rate * s < 0.0
                starts = where(force > 0.0, -1.0, 1.0)
            else:
                holds = sum(x * x for x in group.of(directions)) == 0.0
                load, pairs = group.force(motion.friction), zip(group.slip(rates), group.of(directions), strict=True)
                needed, back = norm(np.array(load)), sum(x * e for x, e in pairs) < 0.0
                starts = against(load)[group.rows.index(number)]
            # At its event, a force has just exceeded limit + slack; here its threshold is lower, because the force is
            # computed again, with other round-off
            exceeds = holds & (needed > limit + slack(limit) * where(event, 0.5, 1.0))
            returns = ~holds & back
            changes = where(exceeds | returns, rest, 0.0) * has_friction * allowed
            new = where(holds, starts, 0.0)
            found.append(where(changes == 1.0, new, s))
            last_of_group = group is None or number == group.rows[-1]
            if last_of_group:
                allowed = where(count >= float(TOGETHER), allowed * (1.0 - changes), allowed)
            changed = where(changes == 1.0, 1.0, changed)
        return (np.array(found), count + 1.0), changed == 0.0

    (directions, _), _, _ = iterate(MOST, improve, begin, 0.0)
    directions = directions_from_rest(system, t, now, held, directions, rests)
    slip = np.concatenate([others, directions])
    stops = [hold * rest for hold, rest in zip(holds_at(groups, directions), rests, strict=True)]
    return now._replace(slip=slip, v=_stopped(system, now, slip, stops))


def _begin_group(
    one: SlipGroup,
    speeds: Sequence[Number],
    slips: Array,
    fired: list[Condition],
    rests: list[Number],
    ahead: list[Number],
) -> None:
    """Write to `rests` (nf,) whether a slip group is at rest, and to `ahead` (nf,) the first guess of its slip
    direction.

    `speeds` (nf,) [rad/s or m/s] are the velocities with friction and `slips` (nf,) the slip directions before the
    event. The group is `one`. The event of the first velocity of the group in `fired` (nf,) is copied to its other
    velocities. A group whose slip direction has turned is not at rest.
    """
    speed, before, event = norm(np.array(one.slip(speeds))), one.of(slips), fired[one.rows[0]]
    held = where(sum(s * s for s in before) == 0.0, 1.0, 0.0)
    rest = where((speed <= STICKING_SPEED) | (event & (speed <= STOPPED)), 1.0, 0.0)
    for k, e in zip(one.rows, before, strict=True):
        rests[k], fired[k] = rest, event
        ahead[k] = where(event & (held < 0.5), -e, 0.0)


def _stopped(system: System, now: StepState, slip: Array, stops: Sequence[Number]) -> Array:
    """Return the velocities (nv,) [rad/s, m/s] after impulses that stop the very slow velocities with friction for
    which `stops` (nf,) is 1.

    The momentum of all other velocities is conserved. `slip` are the slip directions of all constraints with a bound,
    -1, 0 or 1, and then of all velocities with friction.
    """
    m = system.mechanism
    position, speed = to_tree(m, ("q", "v"), (now.q, now.v))
    p = reduced("bias", m, momenta_of_joints(m.tree, position, speed))
    stopping = locked(holding(m, slip), slip)
    v = list(velocities(stopping, now.q, p))
    for k, stop in zip(m.friction_velocities, stops, strict=False):
        v[k] = where(stop == 1.0, 0.0, v[k])
    return np.array(v)
