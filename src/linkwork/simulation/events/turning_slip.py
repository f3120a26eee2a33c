"""Slip directions of slip groups: of several velocities that share one friction limit.

The functions return the slip directions at the start and in the middle of a substep, and when a group begins to move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from linkwork.algorithms.joint_friction.implicit_slip_directions import implicit_directions
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.events.slip import holding, slip_forces
from linkwork.simulation.joint_friction_rows import friction_count, friction_part, slip_speeds
from linkwork.simulation.load_dependent_friction import directions_of_forces
from linkwork.simulation.simulated_system import System
from linkwork.simulation.slip_groups import SlipGroup, directions_of_groups, slip_groups
from linkwork.simulation.state import StepState
from linkwork.spatial.scalar import Array, Number

# largest angle [rad] by which friction may turn a slip velocity in an explicit substep; above it, slip directions are
# fixed. Explicit steps are stable below 2.8
STIFF = 2.0


def slip_at_start(mechanism: Mechanism, groups: Sequence[SlipGroup], begin: StepState) -> Array:
    """Return the slip directions at the start of a substep: those of constraints with a bound, then those of joint
    friction. `begin` is the state at the start.

    The directions of moving slip groups are those of their velocities; all other directions are those stored in
    `begin`.
    """
    others = begin.slip[: len(begin.slip) - friction_count(mechanism)]
    speeds = slip_speeds(mechanism, begin.q, begin.v)
    return np.concatenate([others, directions_of_groups(groups, speeds, friction_part(mechanism, begin.slip))])


def with_slip_in_step(
    system: System, acting: System, t: Number, begin: StepState, h: Number, held: Array, implicit: bool
) -> System:
    """Return the system `acting` of a substep of h [s] from t [s], with the slip directions of slip groups in the
    substep.

    Implicit equations need fixed directions. In explicit steps, the directions follow the velocities, unless the
    substep is too long to be stable, as where slip begins or ends. `begin` is the state at t, `system` is in the
    present modes, and `held` (nv,) [N m or N] are the joint forces of a sampled controller.
    """
    directions = acting.slip_directions
    assert directions is not None
    every = [1.0] * len(directions)
    found, stiffness = _implicit(system, t, begin, held, directions, every, h)
    return replace(acting, slip_directions=found, turning=False if implicit else stiffness < STIFF)


def directions_from_rest(
    system: System, t: Number, now: StepState, held: Array, directions: Array, rests: Sequence[Number]
) -> Array:
    """Return the slip directions (nf,) at t [s], in which slip groups begin to move in the direction of their
    acceleration.

    `directions` (nf,) are the slip directions, approximate for groups that begin to slip, and `rests` (nf,) is 1 for
    velocities at rest, else 0. `held` (nv,) [N m or N] are the joint forces of a sampled controller.
    """
    if not slip_groups(system.mechanism):
        return directions
    return _implicit(system, t, now, held, directions, rests, None)[0]


def _implicit(
    system: System,
    t: Number,
    now: StepState,
    held: Array,
    directions: Array,
    follows: Sequence[Number],
    h: Number | None,
) -> tuple[Array, Number]:
    """Return the slip directions (nf,), those of slip groups solved implicitly for a step h [s], and the stiffness of
    the step: the largest angle [rad] by which friction could turn a slip velocity in it.

    `follows` (nf,) is 1 for velocities whose direction is solved for, else 0; see `implicit_directions`. If h is None,
    the directions are those of the accelerations. `now` is the state at t [s], `directions` (nf,) are the slip
    directions before, and `held` (nv,) [N m or N] the joint forces of a sampled controller. `now` is the state at t
    [s], `directions` (nf,) are the slip directions before, and `held` (nv,) [N m or N] the joint forces of a sampled
    controller.
    """
    m = system.mechanism
    slip = np.concatenate([now.slip[: len(now.slip) - len(directions)], directions])
    acting = replace(system, mechanism=holding(m, slip)).with_slip_directions(slip)
    begun = acting.begun(t, now.contact_memory, now.solid_memory)
    loads = begun.external_loads(t, now.q, now.v, held + slip_forces(m, slip))
    tau, stuck = acting.joint_forces(now.q, now.v, loads), acting.unlocked
    assert stuck
    groups, signed = slip_groups(m), directions_of_forces(stuck, directions)
    by_force = {n: follows[k] for one in groups for n, k in zip(one.forces, one.rows, strict=True)}
    turns = np.array([by_force.get(n, 0.0) for n in range(len(signed))])
    found = implicit_directions(stuck, now.q, now.v, tau, loads.outside, signed, turns, h)
    after = list(directions)
    for one in groups:
        for n, k in zip(one.forces, one.rows, strict=True):
            after[k] = found.directions[n]
    return np.array(after), found.stiffness
