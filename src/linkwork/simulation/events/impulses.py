"""Impulses when constraints engage: velocity jumps, and projection of small loop closure errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.constraints.articulated_body_solver import Constrained
from linkwork.algorithms.mimic_reduction import (
    active_constraints,
    constrained_forward_dynamics,
    project_positions,
)
from linkwork.algorithms.passive_joint_forces import dry_friction_limits
from linkwork.algorithms.solver_choice import SolverChoice
from linkwork.model.elements.contradicting_couplings import contradictions, couplings_agree
from linkwork.model.elements.key_types import is_finite
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.contact_families import contact_families
from linkwork.simulation.events.event_tolerances import PULLING_IMPULSE
from linkwork.simulation.events.slip import (
    holding,
    slip_forces,
    slip_of_speeds,
    slip_speeds,
)
from linkwork.simulation.joint_friction_rows import directions_after, holding_forces, still
from linkwork.simulation.joint_friction_rows import slip_speeds as slip_speeds_of_joints
from linkwork.simulation.simulated_system import System, free_acceleration
from linkwork.simulation.state import Leaves, StepState
from linkwork.spatial.scalar import Array, Condition, Number, Value, largest, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import BOUND_SLACK, CLOSURE_GAP, CLOSURE_OPEN, STICKING_SPEED

ITERATIONS = 6  # number of Newton iterations of the projection that removes a loop closure error


class Impact(NamedTuple):
    """State after constraints engage: coordinates q (nq,), velocities v (nv,) and slip directions -1, 0 or 1 (k,).

    `energy` [J] is the energy gained. `possible` is false if a loop closure error was too large or could not be
    removed, or if couplings contradict each other. `slip` contains the slip directions of bounded constraints, then of
    velocities with friction. The other arrays have one entry per constraint, loops first, then velocity constraints:
    `impulses` (n,) [N s or N m s], `energies` (n,) [J] gained, and `gaps` (n,) [m or rad], the loop closure errors that
    were removed.
    """

    q: Array
    v: Array
    slip: Array
    energy: Number
    possible: Condition
    impulses: Array
    energies: Array
    gaps: Array


class ConstraintImpulses(NamedTuple):
    """Velocities v (nv,) [rad/s, m/s] after simultaneous impulses of n constraints, and the effect of each constraint.

    `impulses` (n,) [N s or N m s] are the impulses of the constraints, and `energies` (n,) [J] the energy gained by
    each.
    """

    v: Array
    impulses: Array
    energies: Array


def impact(
    system: System,
    q: Array,
    v: Array,
    slip: Array,
    iterations: int = ITERATIONS,
    decided: Sequence[Condition] | None = None,
) -> Impact:
    """Return the state after the impulses that make the velocities v (nv,) satisfy all engaged constraints at q (nq,).

    Impulses along the constraint rows remove the velocities that violate them; `iterations` of Newton's method remove
    small loop closure errors by projection. Momentum is conserved in all directions that the constraints leave free
    (paper S0, section 3.1.1). Ratchets without a force limit only push: a ratchet that would pull is released, and a
    ratchet that would run backward engages, one ratchet per iteration (Murty 1974, least index). Constraints with a
    capacity receive no impulse; their slip directions follow from the slip speeds after the impact. Where `decided`
    (k,) is true, the direction in `slip` remains instead; with the direction 0, the constraint holds and receives an
    impulse.
    """
    m = system.mechanism
    slip, slip_directions = slip[: len(m.bounded)], slip[len(m.bounded) :]
    gap, error, before = 0.0, 0.0, q
    if iterations:
        gap = largest(active_constraints(m, q).errors)
        q, error = project_positions(m, q, iterations)
    names = [item.name for item in m.velocity_constraints]
    one_way = [k for k, item in enumerate(m.bounded) if item.pushes_only and not is_finite(item.capacities[1])]
    unchanged = [False] * len(m.bounded) if decided is None else decided
    # Constraints with a capacity receive no impulse, except those that are decided to hold
    found = slip_of_speeds(m.bounded, slip_speeds(m, v), slip)
    free = [new if k in one_way else 1.0 for k, new in enumerate(found)]
    trial = np.array([where(same, s, new) for same, s, new in zip(unchanged, slip, free, strict=True)])

    def improve(slip: Array, *_: Value) -> tuple[Leaves, Condition]:
        push = _constraint_impulses(holding(m, slip), q, v)
        speeds, least = slip_speeds(m, push.v), -PULLING_IMPULSE * largest(push.impulses) - BOUND_SLACK
        changed, settled = list(slip), 1.0
        for k in one_way:
            item = m.bounded[k]
            impulse = push.impulses[len(m.frame_constraints) + names.index(item.name)]
            pulls = (slip[k] == 0.0) & (impulse < least)
            behind = (slip[k] != 0.0) & (speeds[k] < -STICKING_SPEED)
            turned = where(pulls | behind, 1.0, 0.0) * settled * item.engaged
            changed[k] = where(turned == 1.0, where(slip[k] == 0.0, 1.0, 0.0), slip[k])
            settled = settled * (1.0 - turned)
        return (np.array(changed), *push), settled == 1.0

    if one_way:
        none = np.zeros(len(m.constraints))
        (trial, *push), _, _ = iterate(2 * 2 ** min(len(one_way), 5), improve, trial, v, none, none)
        push = ConstraintImpulses(*push)
    else:
        push = _constraint_impulses(holding(m, trial), q, v)
    found = slip_of_speeds(m.bounded, slip_speeds(m, push.v), slip)
    slip = np.array([x if k in one_way else where(unchanged[k], slip[k], found[k]) for k, x in enumerate(trial)])
    energy = sum(system.energies(q, push.v)) - sum(system.energies(before, v))
    possible = (gap <= CLOSURE_GAP) & (error <= CLOSURE_OPEN) & couplings_agree(m)
    loops = len(m.frame_constraints)
    # energy gained in the projection that closes the loops; it is attributed to the first engaged loop
    bridged = energy - sum(push.energies, 0.0)
    energies, first = list(push.energies), 1.0
    for k, one in enumerate(m.frame_constraints):
        energies[k] = energies[k] + bridged * one.engaged * first
        first = first * (1.0 - one.engaged)
    gaps = np.array([gap] * loops + [0.0] * len(m.velocity_constraints))
    slip = np.concatenate([slip, directions_after(m, slip_speeds_of_joints(m, q, push.v), slip_directions)])
    return Impact(q, push.v, slip, energy, possible, push.impulses, np.array(energies), gaps)


def _constraint_impulses(mechanism: Mechanism, q: Array, v: Array) -> ConstraintImpulses:
    """Return the impulses that make the velocity errors of all constraints zero at q (nq,), v (nv,), and the velocities
    after them.

    Among all velocity changes that do so, this change has the least kinetic energy.
    """
    rows = active_constraints(mechanism, q)
    rates = rows.rates(v)
    push = rows.push(rates)
    work = [-0.5 * impulse * rate for impulse, rate in zip(push.multipliers, rates, strict=True)]
    return ConstraintImpulses(
        v - push.a,
        reduced_by_constraint(mechanism, -push.multipliers, norm_of_rows),
        reduced_by_constraint(mechanism, work, sum),
    )


def reduced_by_constraint(
    mechanism: Mechanism, rows: Sequence[Number] | Array, reduce: Callable[[Sequence[Number]], Number]
) -> Array:
    """Return one value per constraint (n,), reduced from the values `rows`, one for each row of all constraints.

    `reduce` maps the values of the rows of one constraint to one number. Loops come first, then velocity constraints.
    """
    values = iter(rows)
    found = [reduce([next(values) for _ in one.rows]) for one in mechanism.frame_constraints]
    names = [row.name for row in mechanism.velocity_rows]
    found += [reduce([next(values) for _ in range(names.count(item.name))]) for item in mechanism.velocity_constraints]
    return np.array(found)


def norm_of_rows(rows: Sequence[Number]) -> Number:
    """Return the value itself if a constraint has one row, and the norm of the values of its rows if it has several."""
    if len(rows) < 2:
        return rows[0] if rows else 0.0
    return np.sqrt(sum((x * x for x in rows), 0.0))


class ConstrainedMotion(NamedTuple):
    """Accelerations a (nv,) [rad/s^2 or m/s^2] in one state, and the force `forces` (n,) [N or N m] of each loop and
    velocity constraint.

    `friction` (nf,) [N m or N] are the forces that stop the sticking velocities in `Mechanism.friction_velocities`; 0
    for slipping velocities. `limits` (nf,) [N m or N] are the largest friction forces of these velocities: static
    limits if they stick. `slipping` (tree.nv,) [N m or N] are the friction forces of slipping joints.
    """

    a: Array
    forces: Array
    friction: Array
    limits: Array
    slipping: Array


def constraint_forces(system: System, t: Number, now: StepState, held: Array) -> Array:
    """Return the force (n,) [N or N m] of each loop and velocity constraint in the state `now` at time t [s]; see
    `constrained_motion`.
    """
    return constrained_motion(system, t, now, held).forces


def constrained_motion(system: System, t: Number, now: StepState, held: Array) -> ConstrainedMotion:
    """Return the accelerations, friction and constraint forces in the state `now` at time t [s].

    The force of a slipping constraint is 0. `system` is in the present modes, and `held` (nv,) [N m or N] are the joint
    forces of a sampled controller.
    """
    m = system.mechanism
    acting = replace(system, mechanism=holding(m, now.slip)).with_slip_directions(now.slip)
    stuck = acting.mechanism
    begun = acting.begun(t, now.contact_memory, now.solid_memory)
    loads = begun.external_loads(t, now.q, now.v, held + slip_forces(m, now.slip))
    if system.rigid:
        loads = loads._replace(wrenches=_with_contact_forces(m, now, loads.wrenches))
    loads, friction = begun.with_friction(now.q, now.v, loads)
    if friction is not None:
        assert acting.slip_directions is not None
        forces = reduced_by_constraint(acting.unlocked or stuck, friction.multipliers, norm_of_rows)
        # The multipliers of the rows that hold loops by friction are not constraint forces
        a = still(m, acting.slip_directions, friction.a)
        return ConstrainedMotion(a, forces, friction.holding, friction.limits, friction.slipping)
    tau, outside = acting.joint_forces(now.q, now.v, loads), loads.outside
    solvers = SolverChoice.by_constraints(_without_multipliers, constrained_forward_dynamics)
    found = solvers.of(stuck)(stuck, now.q, now.v, tau, outside)
    forces = reduced_by_constraint(stuck, found.multipliers, norm_of_rows)
    if acting.slip_directions is None:
        return ConstrainedMotion(found.a, forces, np.zeros(0), np.zeros(0), np.zeros(m.tree.nv))
    limits = dry_friction_limits(m)[list(m.friction_velocities)]
    held, a = holding_forces(m, acting.slip_directions, found.a), still(m, acting.slip_directions, found.a)
    assert loads.friction is not None
    return ConstrainedMotion(a, forces, held, limits, loads.friction)


def _without_multipliers(m: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None) -> Constrained:
    """Return the accelerations (nv,) of a mechanism without constraints, which has no multipliers.

    At q (nq,) and v (nv,), the joint forces tau (nv,) [N m or N] and the `wrenches` (nbodies, 6) [N, N m] on the bodies
    act.
    """
    return Constrained(free_acceleration(m, q, v, tau, wrenches), np.zeros(0))


def _with_contact_forces(m: Mechanism, now: StepState, wrenches: Array | None) -> Array:
    """Return the sum (nbodies, 6) [N, N m] of `wrenches` and of the wrenches of rigid contacts on the bodies.

    The wrenches of rigid contacts follow from the contact memory of the state `now`.
    """
    pushed = sum((family.rigid_wrenches(now) for family in contact_families(m)), np.zeros((m.nbodies, 6)))
    return pushed if wrenches is None else wrenches + pushed


def why_impossible(mechanism: Mechanism, q: Array) -> str:
    """Return the reason why the engaged constraints cannot be satisfied at q (nq,) [rad, m]; an empty text if they
    can.
    """
    for fault in contradictions(mechanism):
        return f"{fault.element} {fault.reason}"
    errors = np.abs(active_constraints(mechanism, q).errors[: mechanism.nc])
    if errors.max(initial=0.0) <= CLOSURE_GAP:
        return ""
    name = mechanism.frame_constraint_of_row(int(np.argmax(errors))).name
    size = f"{errors.max():.3g} m or rad"
    return f"loop {name!r} has a closure error of {size}; it must be at most {CLOSURE_GAP:g} when the loop is closed"
