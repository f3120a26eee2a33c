"""Joints at rest with dry friction: decide for all of these joints together which stick and which begin to slip.

At an event, the friction forces f_k of the joints at rest and the accelerations a satisfy, for every velocity k,

    a_k = 0 and |f_k| <= static limit    or    f_k = -s_k dynamic limit with a_k s_k >= 0

All accelerations change when one joint begins to slip, so an active-set iteration finds the slip directions s_k.
Several sets of friction forces can satisfy these conditions, for example in a linkage with more resting joints than
degrees of freedom; the motion is then the same for all these sets.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.algorithms.mimic_reduction import reduced, to_tree, velocities
from linkwork.simulation.events.impulses import constrained_motion
from linkwork.simulation.events.slip import holding
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
    its limit. `held` (nv,) are the joint forces of a sampled controller. `system` has the present modes.
    """
    m = system.mechanism
    slips, others = friction_part(m, now.slip), now.slip[: len(now.slip) - friction_count(m)]
    rests = [
        where(event, 1.0, where(abs(w) <= STICKING_SPEED, 1.0, 0.0))
        for w, event in zip(slip_speeds(m, now.q, now.v), fired, strict=True)
    ]
    # First guess: a slipping joint whose speed has just changed sign reverses, for example where a linkage turns it
    # back
    speeds = slip_speeds(m, now.q, now.v)
    rows = zip(fired, rests, slips, speeds, strict=True)
    ahead = [where(event, where(s == 0.0, 0.0, where(w > 0.0, 1.0, -1.0)), 0.0) for event, _, s, w in rows]
    begin = np.array([where(rest == 1.0, guess, s) for rest, guess, s in zip(rests, ahead, slips, strict=True)])
    flags = friction_row_flags(m)

    def improve(directions: Array, count: Number) -> tuple[Leaves, Condition]:
        there = now._replace(slip=np.concatenate([others, directions]))
        motion = constrained_motion(system, t, there, held)
        found, allowed, changed = [], 1.0, 0.0
        rates = slip_accelerations(m, now.q, now.v, motion.a)
        rows = zip(flags, rates, rests, fired, directions, motion.friction, motion.limits, strict=True)
        for has_friction, rate, rest, event, s, force, limit in rows:
            # At its event, a force has just exceeded limit + slack; here its threshold is lower, because the force is
            # computed again, with other round-off
            exceeds = (s == 0.0) & (abs(force) > limit + slack(limit) * where(event, 0.5, 1.0))
            returns = (s != 0.0) & (rate * s < 0.0)
            changes = where(exceeds | returns, rest, 0.0) * has_friction * allowed
            new = where(s == 0.0, where(force > 0.0, -1.0, 1.0), 0.0)
            found.append(where(changes == 1.0, new, s))
            allowed = where(count >= float(TOGETHER), allowed * (1.0 - changes), allowed)
            changed = where(changes == 1.0, 1.0, changed)
        return (np.array(found), count + 1.0), changed == 0.0

    (directions, _), _, _ = iterate(MOST, improve, begin, 0.0)
    slip = np.concatenate([others, directions])
    stops = [where(s == 0.0, rest, 0.0) for s, rest in zip(directions, rests, strict=True)]
    return now._replace(slip=slip, v=_stopped(system, now, slip, stops))


def _stopped(system: System, now: StepState, slip: Array, stops: Sequence[Number]) -> Array:
    """Return the velocities (nv,) after impulses that stop the very slow joints for which `stops` is 1.

    The momentum of all other joints is conserved. `slip` (n,) are the slip directions -1, 0 or 1 of all constraints
    with a bound and of all velocities with friction.
    """
    m = system.mechanism
    position, speed = to_tree(m, ("q", "v"), (now.q, now.v))
    p = reduced("bias", m, momenta_of_joints(m.tree, position, speed))
    stopping = locked(holding(m, slip), slip)
    v = list(velocities(stopping, now.q, p))
    for k, stop in zip(m.friction_velocities, stops, strict=False):
        v[k] = where(stop == 1.0, 0.0, v[k])
    return np.array(v)
