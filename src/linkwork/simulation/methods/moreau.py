"""Moreau's time-stepping for rigid contacts that bounce, slide and stick, without springs and dampers.

A step moves to its middle in free flight: every free body and every body on a ball joint conserves its own momentum,
all other joints keep their velocities. At mid-step, the method finds the touching contacts, and computes the new
velocities from all other forces and the contact impulses together. The second half of the step is free flight again.
Impacts are therefore found late, by at most one step; the penetration that remains is removed without a change of
velocities.

Between impacts the method has order two. Velocity-dependent forces use the mean of the velocities before and after the
impulses, found in two passes. Contact conditions hold for the velocities at the end of the step, because in free flight
the velocity of a contact point changes. The friction of a sliding contact opposes its mean slip in the step.

Clutches, brakes and ratchets that can slip are rows with bounded impulses, which are solved together with the contacts.
With a capacity c, the impulse in a step h is at most c h, and the element slips if the impulse reaches this bound. Slip
events are not located: the step determines which elements slip at its end, and logs which elements began to slip or to
hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.compliant_contact import APART, SLIDING, STICKING, ContactLaw
from linkwork.algorithms.constraints.bounded_constraints import Ball, Box
from linkwork.algorithms.constraints.bounded_impulse_solver import Block, split_by_block
from linkwork.algorithms.constraints.constraint_tolerances import SETTLED
from linkwork.algorithms.contact_kinematics import contact_kinematics, contact_rates, contact_rows
from linkwork.algorithms.contact_tolerances import SETTLED_FIRST_PASS, TOUCHING, WITHIN_BOUND
from linkwork.algorithms.kinematics import subspaces
from linkwork.algorithms.mimic_reduction import reduced, to_tree
from linkwork.algorithms.passive_joint_forces import dry_friction_limits
from linkwork.algorithms.rigid_contact import (
    ImpulseSolution,
    RigidContact,
    axes,
    forces_of,
    has_torques,
    separating_displacement,
    solve_impulses,
    solve_with_restitution,
)
from linkwork.algorithms.tangent_space import free_acceleration, free_flight, integrate
from linkwork.model.elements.key_types import is_finite
from linkwork.model.elements.velocity_constraint import VelocityConstraint
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.events.event_log import Line, write
from linkwork.simulation.events.impulses import constraint_forces
from linkwork.simulation.events.slip import slip_rows, unbounded
from linkwork.simulation.joint_friction_rows import friction_flags, friction_part, friction_rows, holds
from linkwork.simulation.load_dependent_friction import depends_on_load
from linkwork.simulation.methods.moreau_friction import StepBounds
from linkwork.simulation.methods.moreau_mid_step import Middle, middle_of_step, resting_speed
from linkwork.simulation.methods.rigid_contact_work import ledger_of_step, with_ground
from linkwork.simulation.simulated_system import System
from linkwork.simulation.state import Leaves, StepState
from linkwork.spatial.scalar import Array, Condition, Number, maximum, may_be_nonzero, minimum, where
from linkwork.spatial.traceable_loops import repeat
from linkwork.tolerances import STICKING_SPEED

# values per contact that change between the passes of a step: coefficient of friction, velocity drift of six rows
TERMS = 7
FAR = 1e3  # [m or rad] larger than any displacement out of penetration, so that it limits nothing


def moreau(system: System, t: Number, now: StepState, h: Number, held: Array) -> tuple[StepState, Condition]:
    """Return the state after one step h [s] of Moreau's method from the state `now` at t [s], and whether the step was
    solved.

    `held` (nv,) [N m or N] are the joint forces of a sampled controller.
    """
    bounded, free = can_slip(system.mechanism), replace(system, mechanism=unbounded(system.mechanism))
    m, middle = free.mechanism, middle_of_step(free, t, now, h, held)
    boxes = [bounded_rows(system.mechanism, middle)] if bounded else []
    there = mid_step_contacts(m, middle, now.contact_memory[:, 0], len(boxes))
    bounces = any(may_bounce(pair.contact) for pair in m.contact_pairs)
    guess = np.concatenate(
        [*(impulses_at_bound(box, now.slip) for box in boxes), *remembered_point_impulses(there, now.contact_memory, h)]
    )

    bounds = StepBounds(m, middle, now, there) if depends_on_load(m) else None

    def blocks_with(terms: Array, limits: Array) -> list[Block]:
        each = zip(there, terms, strict=True)
        bounded = [with_limits(box, limits * h) for box in boxes] if bounds else boxes
        return [*bounded, *(block for one, row in each for block in one.with_terms(row).blocks)]

    def once(k: Number, *state: Any) -> Leaves:
        v, p, iterations, terms, limits, change = *state[:3], *state[5:]
        if bounds:
            limits, change = bounds.after(k, v, split_by_block(blocks_with(terms, limits), p), limits)
        terms = pass_terms(m, middle, there, k == 0, v)
        blocks, free, settled = blocks_with(terms, limits), middle.free(v), where(k == 0, SETTLED_FIRST_PASS, SETTLED)
        if bounces:
            found = solve_with_restitution(blocks, middle.v, free, p, settled)
        else:
            found = solve_impulses(blocks, free, p, settled=settled)
        return (*found._replace(iterations=iterations + found.iterations), terms, limits, change)

    none = np.zeros(len(m.friction_velocities))
    begin = (middle.v, guess, 0.0, 0.0, 0.0, np.zeros((len(there), TERMS)), none, none)
    *found, terms, limits, change = bounds.repeated(once, *begin) if bounds else repeat(2, once, *begin)
    found, blocks = ImpulseSolution(*found), blocks_with(terms, limits)
    there, p = [one.with_terms(row) for one, row in zip(there, terms, strict=True)], split_by_block(blocks, found.p)
    rates = free.rates(middle.q, (middle.v + found.v) * 0.5, middle.loads(found.v), now)
    pushes = list(zip([one.facing for one in there], push_out_distances(m, there, p, found.v, h), strict=True))
    push_out = _push_out(
        free, middle.q, found.v, [*pushes, *(row for box in boxes for row in one_way_rows(m.bounded, box, found.v, h))]
    )
    q, v = free_flight(m, push_out.q, found.v, 0.5 * h)
    done = ledger_of_step(now, rates * h, blocks, p, middle.v, found.v, push_out.work, m)
    touch = [
        contact_state(one, p, before, found.v, h, t + h) for one, before in zip(there, now.contact_memory, strict=True)
    ]
    moved = now._replace(q=q, v=v, contact_memory=np.array(touch)).with_work(done)
    moved = with_ground(m, middle.q, middle.v, moved, h)
    residual = maximum(now.solver.residual, found.left)
    moved = moved._replace(solver=moved.solver._replace(iterations=found.iterations, residual=residual))
    slips = [with_slip(system, t, moved, h, held, box, p[0], box.K @ found.v) for box in boxes]
    return (slips[0] if slips else moved), bounds.agree(change, limits) if bounds else True


def with_limits(box: Box, limits: Array) -> Box:
    """Return the constraint rows `box` with new impulse bounds `limits` (nf,) [N s or N m s] of the last rows, which
    are those of joint friction.
    """
    count = len(box.lower) - len(limits)
    return replace(box, lower=[*box.lower[:count], *(-limits)], upper=[*box.upper[:count], *limits])


class MidStepContact(NamedTuple):
    """A contact pair at mid-step: its distance, contact axes and velocities, and its blocks for the impulse solver.

    A block is a group of constraint rows with their impulses. `facing` is the block of the contact force; `rolling` and
    `spinning` are blocks of friction torques, or None. `number` is the number of the first of these blocks in the list
    of all blocks. `own` and `axes` have the contact axes in the surface's frame and in the world as columns (3, 3),
    normal first. `slides` is whether the contact slid in the last step. `approach` [m/s], positive towards the surface,
    and `slip` (2,) [m/s] are its normal and tangential velocity before the impulses. The `distance` [m] is negative if
    the contact penetrates. Contacts that approach at most at the speed `slow` [m/s] do not bounce.
    """

    contact: ContactLaw
    distance: Number
    own: Array
    axes: Array
    slides: Condition
    approach: Number
    slip: Array
    slow: Number
    facing: RigidContact
    number: int
    rolling: Ball | None
    spinning: Ball | None

    @property
    def blocks(self) -> list[Block]:
        """The blocks of the contact for the impulse solver: contact force, and rolling and spinning friction if
        present.
        """
        return [self.facing, *(ball for ball in (self.rolling, self.spinning) if ball is not None)]

    def force(self, p: Sequence[Array]) -> Array:
        """Return the contact's impulse (3,) [N s] in contact axes, normal first, from the impulses p of all blocks."""
        return p[self.number]

    def torque(self, p: Sequence[Array]) -> Array:
        """Return the contact's angular impulse (3,) [N m s] in contact axes, normal first, from the impulses p of all
        blocks.
        """
        roll = np.zeros(2) if self.rolling is None else p[self.number + 1]
        spin = np.zeros(1) if self.spinning is None else p[self.number + len(self.blocks) - 1]
        return np.concatenate([spin, roll])

    def speeds(self, v: Array) -> Array:
        """Return the velocity (3,) [m/s] of the contact relative to the surface at the end of the step, in contact
        axes, for velocities v (nv,).
        """
        return self.facing.K @ v + self.facing.drift

    def terms(self, first: Condition, slip: Array, drift: Array) -> Array:
        """Return the values (7,) that change between the passes of a step: coefficient of friction, drifts of six rows.

        A contact that slid in the last step has the dynamic coefficient until its slip stops or reverses. All other
        contacts, also those that have just closed, stick if the static coefficient is large enough, and otherwise slide
        with the dynamic coefficient. The first pass finds which contacts stick: `slip` (2,) [m/s] is the slip velocity
        after the first pass, or before the impulses if this is the `first` pass. `drift` (6,) [m/s, rad/s] is the
        change of the row speeds from mid-step to the end of the step. The friction of a sliding contact opposes its
        mean slip in the step.
        """
        static, dynamic = self.contact.friction
        halts = slip[0] * slip[0] + slip[1] * slip[1] <= STICKING_SPEED**2
        turns_back = slip[0] * self.slip[0] + slip[1] * self.slip[1] <= 0.0
        rests = halts | (where(self.slides, where(turns_back, 1.0, 0.0), where(first, 1.0, 0.0)) == 1.0)
        to_mean = where(self.slides, (self.slip - slip) * 0.5, np.zeros(2))
        along = where(rests, drift[1:3], to_mean)
        return np.array([where(rests, static, dynamic), drift[0], *along, *drift[3:]])

    def with_terms(self, terms: Array) -> MidStepContact:
        """Return the contact with the coefficient of friction and the row drifts given in `terms` (7,)."""
        impact = self.approach + terms[1]  # normal speed of approach at the start of the step
        bounce = where(impact > self.slow, self.contact.restitution * impact, 0.0)
        return self._replace(
            facing=self.facing._replace(friction=terms[0], drift=terms[1:4], bounce=bounce),
            rolling=None if self.rolling is None else replace(self.rolling, drift=terms[5:7]),
            spinning=None if self.spinning is None else replace(self.spinning, drift=terms[4:5]),
        )


def mid_step_contacts(m: Mechanism, middle: Middle, states: Array, number: int) -> list[MidStepContact]:
    """Return all contact pairs at mid-step, with their blocks for the impulse solver, numbered from `number` on.

    `states` (n,) are the contact states (numbers such as SLIDING) at the end of the last step.
    """
    position, speed = to_tree(m, ("q", "v"), (middle.q, middle.v))
    met, poses = contact_kinematics(m.tree, position, speed)
    S, slow, found = subspaces(m.tree, position), resting_speed(m, middle.h), []
    for pair, at, state in zip(m.contact_pairs, met, states, strict=True):
        own, contact = axes(at.normal), pair.contact
        rows = contact_rows(m.tree, poses, S, pair, at)
        K = reduced("jacobian", m, own.T @ rows[:3])
        W = np.column_stack([middle.response(row) for row in K])
        facing = RigidContact(at.distance <= TOUCHING, K, W, 0.0, 0.0)
        balls: list[Ball | None] = []
        for coefficient, part in ((contact.rolling, slice(1, 3)), (contact.spinning, slice(0, 1))):
            if may_be_nonzero(coefficient):
                turn = reduced("jacobian", m, own.T[part] @ rows[3:])
                moves = np.column_stack([middle.response(row) for row in turn])
                balls.append(Ball(facing.acts, turn, moves, coefficient, number))
            else:
                balls.append(None)
        speeds = own.T @ at.velocity
        one = MidStepContact(
            contact, at.distance, own, at.pose.R @ own, state == SLIDING, -speeds[0], speeds[1:], slow, facing, number,
            *balls,
        )  # fmt: skip
        found.append(one)
        number += len(one.blocks)
    return found


def pass_terms(m: Mechanism, middle: Middle, there: list[MidStepContact], first: Condition, v: Array) -> Array:
    """Return the values (n, 7) of all contacts that a pass of the step changes; see `MidStepContact.terms`.

    A drift [m/s or rad/s] is the change of a row's speed in free flight from mid-step to the end of the step, where
    contact conditions hold. v (nv,) are the velocities at mid-step after the last pass. Each contact has three drifts
    for the force, then those for spinning and rolling; all are zero in the `first` pass. The drifts of redundant
    contacts that stick do not contradict each other, because the velocities after the first pass satisfy their contact
    conditions.
    """
    position, speed, rate = to_tree(m, ("q", "v", "a"), (middle.q, v, free_acceleration(m, v)))
    met = contact_rates(m.tree, position, speed, rate, [one.own for one in there])
    half = where(first, 0.0, 0.5 * middle.h)
    return np.array(
        [one.terms(first, speeds[1:3], rates * half) for one, (speeds, rates) in zip(there, met, strict=True)]
    )


def remembered_point_impulses(there: list[MidStepContact], stored: Array, h: Number) -> list[Array]:
    """Return a first guess of all contact impulses in a step h [s], from the contact forces of the last step.

    `there` are the contact pairs at mid-step, and `stored` (n, 5) or (n, 8) the values that contacts store; see
    `contact_memory_size`.
    """
    found = []
    for one, force in zip(there, forces_of(stored), strict=True):
        found.append(one.axes.T @ force[:3] * h)
        if len(one.blocks) > 1:
            torque = one.axes.T @ force[3:] * h
            found += [torque[1:]] if one.rolling is not None else []
            found += [torque[:1]] if one.spinning is not None else []
    return found


def bounded_rows(mechanism: Mechanism, middle: Middle) -> Box:
    """Return the rows of clutches, brakes, ratchets and joint friction, with impulse bounds for one step."""
    limits, flags = dry_friction_limits(mechanism), friction_flags(mechanism)
    K = np.concatenate([slip_rows(mechanism), friction_rows(mechanism)])
    bounds = [item.capacities for item in mechanism.bounded] + [
        (limits[k], limits[k]) for k in mechanism.friction_velocities
    ]
    free = [middle.solve(row) for row in K]
    return Box(
        K,
        np.column_stack([middle.project(response) for response in free]),
        [-most * middle.h for most, _ in bounds],
        [most * middle.h for _, most in bounds],
        [item.engaged > 0.0 for item in mechanism.bounded] + [flags[k] > 0.0 for k in mechanism.friction_velocities],
        [row @ response for row, response in zip(K, free, strict=True)],
    )


def impulses_at_bound(box: Box, slip: Array) -> Array:
    """Return a first guess of the impulses (k,) of constraints with a bound: the bound if they slip, else 0.

    `slip` (k,) are the slip directions -1, 0 or 1. `box` has the constraint rows with their impulse bounds.
    """
    found = []
    for s, (low, high) in zip(slip, box.bounds(), strict=True):
        bound = where(s > 0.0, low, where(s < 0.0, high, 0.0))
        found.append(where(abs(bound) < np.inf, bound, 0.0))
    return np.array(found)


def with_slip(
    system: System, t: Number, moved: StepState, h: Number, held: Array, box: Box, p: Array, speeds: Array
) -> StepState:
    """Return the state at the end of a step from t [s] to t + h with updated slip directions.

    The log gets a line for each constraint that began to slip or to hold. `box` has the rows of the constraints with a
    bound; `p` (k,) are their impulses in the step, and `speeds` (k,) their slip speeds after it. `moved` is the state
    at the end of the step before the update, and `held` (nv,) are the joint forces of a sampled controller.
    """
    m, found = system.mechanism, []
    for k, (impulse, w, (low, high)) in enumerate(zip(p, speeds, box.bounds(), strict=True)):
        ahead = (impulse <= low * WITHIN_BOUND) & (w > STICKING_SPEED)
        behind = (impulse >= high * WITHIN_BOUND) & (w < -STICKING_SPEED)
        found.append(where(box.engaged[k], where(ahead, 1.0, where(behind, -1.0, 0.0)), 0.0))
    after = stopped(m, moved._replace(slip=np.array(found)), moved.v)
    if not len(moved.log.lines):
        return after
    carried, names = constraint_forces(system, t + h, after, held), [item.name for item in m.constraints]
    lines, changed, count = [], [], len(m.bounded)
    for k, slip in enumerate(found):
        changed.append(slip != moved.slip[k])
        if k >= count:
            lines.append(Line(float(count + k), slip, t + h, 0.0, 0.0, p[k] / h, 0.0))
            continue
        force = where(slip == 0.0, carried[names.index(m.bounded[k].name, len(m.frame_constraints))], p[k] / h)
        lines.append(Line(2.0 * k, slip, t + h, 0.0, 0.0, force, 0.0))
    return after._replace(log=write(moved.log, changed, lines))


def can_slip(mechanism: Mechanism) -> bool:
    """Return whether a mechanism has clutches, brakes or ratchets that can slip, or joint friction."""
    return bool(mechanism.bounded or mechanism.friction_velocities)


def stopped(mechanism: Mechanism, moved: StepState, v: Array) -> StepState:
    """Return the state `moved` with the velocities `v` (nv,), set to exactly zero where joint friction holds a joint.

    The impulse solver returns the velocities of held joints with a round-off error.
    """
    held, found = holds(mechanism, friction_part(mechanism, moved.slip)), list(v)
    for k in mechanism.friction_velocities:
        found[k] = where((held[k] == 1.0) & (abs(v[k]) <= STICKING_SPEED), 0.0, v[k])
    return moved._replace(v=np.array(found))


def may_bounce(contact: ContactLaw) -> bool:
    """Return whether a contact may bounce: its coefficient of restitution is above 0, or traced and therefore
    unknown.
    """
    return np.asarray(contact.restitution).dtype == object or contact.restitution > 0.0


class PushOut(NamedTuple):
    """Coordinates q (nq,) after the removal of contact penetration, and the work [J] of this correction."""

    q: Array
    work: Number


def push_out_distances(
    m: Mechanism, there: list[MidStepContact], p: Sequence[Array], v: Array, h: Number
) -> list[Number]:
    """Return, for each contact, the distance [m] by which it is moved out of the surface at the end of a step h [s].

    Resting contacts are moved out, except for the depth that gravity causes in one step, so that a contact on a curved
    surface does not separate. Bouncing contacts separate without this correction. By a negative distance, the contact
    may move inward at most. `there` are the contact pairs at mid-step, p the impulses of all blocks, and v (nv,) the
    velocities at the end.
    """
    distances, slow = [], resting_speed(m, h)
    for one in there:
        ends, drift = one.speeds(v)[0], one.facing.drift[0]
        depth = -(one.distance + (ends - drift * 0.5) * (0.5 * h)) - slow * h
        rests = (one.force(p)[0] > 0.0) & (ends <= slow)
        distances.append(where(rests, depth, minimum(depth, 0.0)))
    return distances


def one_way_rows(
    bounded: Sequence[VelocityConstraint], box: Box, v: Array, h: Number
) -> list[tuple[RigidContact, Number]]:
    """Return the rows of ratchets without a force limit, each with its smallest allowed motion in the push-out.

    The push-out moves contacts out of penetration. It must not move these ratchets back by more than they advanced in
    the step h [s], at velocities v (nv,). Constraints with a capacity do not stop the push-out. `bounded` are the
    constraints with a bound, and `box` has their rows.
    """
    found = []
    for k, item in enumerate(bounded):
        if not is_finite(item.capacities[1]):
            row = RigidContact(box.engaged[k], box.K[k : k + 1], box.W[:, k : k + 1], 0.0, 0.0)
            found.append((row, where(box.engaged[k], -maximum(box.K[k] @ v, 0.0) * h, -FAR)))
    return found


def _push_out(system: System, q: Array, v: Array, pushes: list[tuple[RigidContact, Number]]) -> PushOut:
    """Return the coordinates after a displacement from q (nq,) that moves each row by at least the given distance.

    `pushes` are pairs of a constraint row and its distance [m or rad]. Of all displacements that do so, this one is the
    smallest in the metric of the kinetic energy. The velocities v (nv,) do not change.
    """
    rows, distances = zip(*pushes, strict=True)
    after = integrate(system.mechanism, q, separating_displacement(rows, np.array(distances)))
    return PushOut(after, sum(system.energies(after, v)) - sum(system.energies(q, v)))


def contact_state(
    one: MidStepContact, impulses: Sequence[Array], before: Array, v: Array, h: Number, at: Number
) -> Array:
    """Return the stored values (5,) of a contact after a step: number of its state, force (3,) [N], start time [s] of
    its state.

    The force is in world axes. If any contact of the mechanism has rolling or spinning friction, the torque (3,) [N m]
    follows: shape (8,). `one` is the contact at mid-step, and `impulses` are the impulses of all blocks. `before` are
    the stored values of the contact before the step h [s], v (nv,) the velocities after the step, and `at` [s] the time
    at its end.
    """
    p = one.force(impulses)
    limit, u = one.facing.friction * p[0] * WITHIN_BOUND, one.speeds(v)
    slides = (p[1] * p[1] + p[2] * p[2] >= limit * limit) & (u[1] * u[1] + u[2] * u[2] > STICKING_SPEED**2)
    number = where(p[0] > 0.0, where(slides, SLIDING, STICKING), APART)
    torque = one.axes @ one.torque(impulses) / h if has_torques(before) else ()
    return np.array([number, *(one.axes @ p / h), where(number == before[0], before[4], at), *torque])
