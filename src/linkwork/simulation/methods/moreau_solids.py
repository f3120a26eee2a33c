"""Contact of solids in a step of Moreau's method: what `moreau` does with points, for pairs of solids in loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.compliant_contact import APART, SLIDING, STICKING
from linkwork.algorithms.kinematics import kinematics, world_poses
from linkwork.algorithms.mimic_reduction import to_tree
from linkwork.algorithms.solid_contact.body_responses import body_jacobian, body_responses, relative_compliance
from linkwork.algorithms.solid_contact.detection import BodyMotion, WorldPatch, body_rows, touching_pairs
from linkwork.algorithms.solid_contact.impulse_iteration import (
    SETTLED,
    solve_pairs,
)
from linkwork.algorithms.solid_contact.pair_tables import BodyRows, groups_of
from linkwork.algorithms.solid_contact.push_out import separating_displacement
from linkwork.algorithms.solid_contact.rigid_pairs import (
    COMPLIANCE,
    CONDITIONS,
    FRAME,
    MOBILITY,
    ROWS,
    PairConditions,
    pair_frame,
    stored_compliance,
    stored_pair_mobility,
)
from linkwork.algorithms.solid_contact.touching_pairs import PairImpulses, TouchingPairs
from linkwork.algorithms.tangent_space import free_flight, integrate
from linkwork.model.mechanism import Mechanism
from linkwork.model.solids import POINTS
from linkwork.simulation.methods.moreau_mid_step import middle_of_step, resting_speed
from linkwork.simulation.simulated_system import System
from linkwork.simulation.state import CONTACT_COLUMNS, StepState
from linkwork.spatial.row_arrays import RowArray, RowLayout, row_array, selected_rows
from linkwork.spatial.scalar import Array, Condition, Number, lookup, maximum, minimum, where
from linkwork.spatial.traceable_loops import repeat
from linkwork.tolerances import STICKING_SPEED

NEAR = 1e-9  # distance [m] below which points of two solids touch
HELD = 1.0 - 1e-9  # fraction of the friction limit below which a point sticks
FORCE_LAW = RowLayout((2,), ())  # friction coefficients, restitution
MEMORY = RowLayout((POINTS, CONTACT_COLUMNS))


class SolidsAtMidStep(NamedTuple):
    """All pairs of solids in the middle of a step: the touching ones, and what else the step needs of each pair.

    `patches` has the contact points, `memory` the state of the contacts at the beginning of the step, `before` (12,)
    the speeds of the points before the impulses, and `laws` the force laws. `law` (n, 1) is the row in `laws` of each
    pair. Contacts that approach at most at the speed `slow` [m/s] do not bounce.
    """

    pairs: TouchingPairs
    patches: RowArray
    memory: RowArray
    before: RowArray
    laws: RowArray
    law: Array
    slow: Number

    def with_conditions(self, conditions: RowArray) -> SolidsAtMidStep:
        """Return the same pairs with other contact conditions."""
        return self._replace(pairs=replace(self.pairs, conditions=conditions))


def solids_at_mid_step(
    m: Mechanism,
    q: Array,
    v: Array,
    response: Callable[[Array], Array],
    weights: Array,
    stored: Array,
    slow: Number,
    within: Number,
) -> SolidsAtMidStep:
    """Return the pairs of solids at mid-step, at q (nq,) and the velocities v (nv,) before the impulses.

    `response` returns the change of the velocities due to a unit impulse along a row (nv,). `weights` (nv,) make
    velocities comparable, `stored` (4n, 5) is the contact memory. Points at most `within` [m] apart touch.
    """
    position, speed = to_tree(m, ("q", "v"), (q, v))
    motion = kinematics(m.tree, position, speed)
    poses = world_poses(m.tree, motion.X)
    of = BodyRows(m.solid_pairs)
    bodies = body_rows(of.numbers, poses, motion.twist)
    touching = touching_pairs(groups_of(m.solid_pairs, of), bodies, within)
    responses = body_responses([body_jacobian(m, poses, motion.S, body) for body in of.numbers], response)
    count, selection = len(m.solid_pairs), selected_rows(touching.flags)
    ends = [_arranged_bodies(m, of)[:, column : column + 1] for column in (0, 1)]
    laws, law = _force_laws(m)

    def prepare(k: Number, frames: RowArray, mobilities: RowArray) -> tuple[RowArray, RowArray]:
        rows = lookup(ends[0], k)[0], lookup(ends[1], k)[0]
        A, B = (BodyMotion.read(bodies, row).pose for row in rows)
        frame = pair_frame(WorldPatch.read(touching.patches, k), A.p, B.p, within)
        compliance = relative_compliance(responses, rows, (frame.to_a, frame.to_b))
        store = stored_compliance if responses.separate else stored_pair_mobility
        return frames.put(k, FRAME.row(*frame)), mobilities.put(k, store(frame, compliance))

    size = (COMPLIANCE if responses.separate else MOBILITY).size
    frames, mobilities = selection.visit(prepare, row_array(count, FRAME.size), row_array(count, size))
    conditions = row_array(count, CONDITIONS.size)
    pairs = TouchingPairs(selection, frames, conditions, mobilities, *ends, responses, weights)
    start = responses.velocity_rows(v)
    (before,) = selection.visit(
        lambda k, rows: (rows.put(k, pairs.speeds(k, pairs.frame(k), start)),), row_array(count, ROWS)
    )
    memory = row_array(count, MEMORY.size)
    for k in range(count):
        memory = memory.put(float(k), MEMORY.row(stored[POINTS * k : POINTS * k + POINTS]))
    return SolidsAtMidStep(pairs, touching.patches, memory, before, laws, law, slow)


def _arranged_bodies(m: Mechanism, of: BodyRows) -> Array:
    """Return the rows (n, 2) of the bodies A and B of each pair, in the order that the contact functions expect."""
    found = np.zeros((len(m.solid_pairs), 2))
    for group in groups_of(m.solid_pairs, of):
        for row in group.table:
            number, bodies, *_ = group.layout.parts(row)
            found[int(number)] = bodies
    return found


def _force_laws(m: Mechanism) -> tuple[RowArray, Array]:
    """Return the force laws of all collisions as rows of FORCE_LAW, and the row (n, 1) of each pair's collision."""
    collisions = list(m.collisions)
    laws = row_array(len(collisions), FORCE_LAW.size)
    for row, one in enumerate(collisions):
        laws = laws.put(float(row), FORCE_LAW.row(one.friction, one.restitution))
    names = [one.name for one in collisions]
    return laws, np.array([[float(names.index(pair.collision.name))] for pair in m.solid_pairs])


def pass_conditions(solids: SolidsAtMidStep, first: Condition, v: Array, conditions: RowArray) -> RowArray:
    """Return the contact conditions of all touching pairs for a pass of the step, as rows of CONDITIONS.

    v (nv,) are the velocities after the last pass. The coefficients of friction follow the rule of
    `moreau.MidStepContact.terms`. `conditions` are rows to write to.
    """
    pairs = solids.pairs
    rows = pairs.responses.velocity_rows(v)

    def update(k: Number, conditions: RowArray) -> tuple[RowArray]:
        (static, dynamic), restitution = FORCE_LAW.parts(solids.laws.at(lookup(solids.law, k)[0]))
        (memory,) = MEMORY.parts(solids.memory.at(k))
        start = solids.before.at(k)
        after = where(first, start, pairs.speeds(k, pairs.frame(k), rows))
        friction, bounce = [], []
        for j in range(POINTS):
            slides = memory[j][0] == SLIDING
            slip, slip_before = after[3 * j + 1 : 3 * j + 3], start[3 * j + 1 : 3 * j + 3]
            halts = slip[0] * slip[0] + slip[1] * slip[1] <= STICKING_SPEED**2
            turns_back = slip[0] * slip_before[0] + slip[1] * slip_before[1] <= 0.0
            rests = halts | (where(slides, where(turns_back, 1.0, 0.0), where(first, 1.0, 0.0)) == 1.0)
            friction.append(where(rests, static, dynamic))
            approach = -start[3 * j]
            bounce.append(where(approach > solids.slow, restitution * approach, 0.0))
        drift = np.zeros((POINTS, 3))
        return (conditions.put(k, CONDITIONS.row(*PairConditions(np.array(friction), np.array(bounce), drift))),)

    (conditions,) = pairs.selection.visit(update, conditions)
    return conditions


def remembered_impulses(solids: SolidsAtMidStep, h: Number) -> RowArray:
    """Return a first guess of the impulses (12,) of each touching pair in a step h [s]: the forces of the last step."""
    pairs = solids.pairs

    def read(k: Number, p: RowArray) -> tuple[RowArray]:
        (memory,), frame = MEMORY.parts(solids.memory.at(k)), pairs.frame(k)
        parts = [D.T @ row[1:4] * acts * h for D, row, acts in zip(frame.axes, memory, frame.acts, strict=True)]
        return (p.put(k, np.concatenate(parts)),)

    (p,) = pairs.selection.visit(read, row_array(pairs.count, ROWS))
    return p


@dataclass(frozen=True, eq=False)
class SolidsAfterImpulses:
    """The pairs of solids after the impulses of a step h [s]: impulses `p`, and velocities v (nv,) after them."""

    solids: SolidsAtMidStep
    found: PairImpulses
    h: Number

    def work(self, before: Array) -> Number:
        """Return the work [J] of the contact impulses, which changed the velocities (nv,) from `before`."""
        pairs, p = self.solids.pairs, self.found.p
        mean = pairs.responses.velocity_rows((before + self.found.v) * 0.5)
        (total,) = pairs.selection.visit(
            lambda k, total: (total + p.at(k) @ pairs.speeds(k, pairs.frame(k), mean),), 0.0
        )
        return total

    def push_out(self) -> Array:
        """Return the displacement (nv,) that moves resting solids out of each other.

        The depth that gravity causes in a step remains; see `moreau._push_out_distances`.
        """
        pairs, slow, h = self.solids.pairs, self.solids.slow, self.h
        v = pairs.responses.velocity_rows(self.found.v)

        def depth(k: Number, depths: RowArray) -> tuple[RowArray]:
            ends, p = pairs.speeds(k, pairs.frame(k), v), self.found.p.at(k)
            distances, found = WorldPatch.read(self.solids.patches, k).distances, []
            for j in range(POINTS):
                deep = -(distances[j] + ends[3 * j] * (0.5 * h)) - slow * h
                rests = (p[3 * j] > 0.0) & (ends[3 * j] <= slow)
                found.append(where(rests, deep, minimum(deep, 0.0)))
            return (depths.put(k, found),)

        (depths,) = pairs.selection.visit(depth, row_array(pairs.count, POINTS))
        return separating_displacement(pairs, depths, self.found.v * 0.0)

    def memory(self, at: Number) -> Array:
        """Return the contact memory (4n, 5) at the end of the step, at the time `at` [s]: state, force [N], time."""
        pairs, h = self.solids.pairs, self.h
        v = pairs.responses.velocity_rows(self.found.v)

        def none(k: Number, rows: RowArray) -> tuple[RowArray]:
            (old,) = MEMORY.parts(self.solids.memory.at(k))
            new = [[APART, 0.0, 0.0, 0.0, where(row[0] == APART, row[4], at)] for row in old]
            return (rows.put(k, MEMORY.row(new)),)

        def touching(k: Number, rows: RowArray) -> tuple[RowArray]:
            pair, p = pairs.pair(k), self.found.p.at(k)
            (old,), u = MEMORY.parts(self.solids.memory.at(k)), pairs.speeds(k, pair.frame, v)
            new: list[Any] = []
            for j in range(POINTS):
                part, speed = p[3 * j : 3 * j + 3], u[3 * j : 3 * j + 3]
                limit = pair.conditions.friction[j] * part[0] * HELD
                fast = speed[1] * speed[1] + speed[2] * speed[2] > STICKING_SPEED**2
                slides = (part[1] * part[1] + part[2] * part[2] >= limit * limit) & fast
                number = where(part[0] > 0.0, where(slides, SLIDING, STICKING), APART)
                force = pair.frame.axes[j] @ part / h
                new.append([number, *force, where(number == old[j][0], old[j][4], at)])
            return (rows.put(k, MEMORY.row(new)),)

        (rows,) = repeat(pairs.count, none, row_array(pairs.count, MEMORY.size))
        (rows,) = pairs.selection.visit(touching, rows)
        found = [MEMORY.parts(rows.at(float(k)))[0] for k in range(pairs.count)]
        return np.concatenate(found)


def moreau_with_solids(
    system: System, t: Number, now: StepState, h: Number, held: Array
) -> tuple[StepState, Condition]:
    """Make one step h [s] of Moreau's method with contact of solids: half a step, impulses, half a step.

    `now` is the state at t [s], and `held` (nv,) are the joint forces of a sampled controller.
    """
    m, middle = system.mechanism, middle_of_step(system, t, now, h, held)
    weights = np.array([np.sqrt(x) for x in np.diag(middle.M)])
    solids = solids_at_mid_step(
        m, middle.q, middle.v, middle.response, weights, now.solid_memory, resting_speed(m, h), NEAR
    )
    count = len(m.solid_pairs)

    def once(k: Number, v: Array, p: RowArray, conditions: RowArray, iterations: Number, *_: Any) -> tuple[Any, ...]:
        conditions = pass_conditions(solids, k == 0, v, conditions)
        found = solve_pairs(replace(solids.pairs, conditions=conditions), middle.free(v), p, SETTLED)
        return found.v, found.p, conditions, iterations + found.iterations, found.left, found.agreed

    start = remembered_impulses(solids, h), row_array(count, CONDITIONS.size)
    v, p, conditions, *rest = repeat(2, once, middle.v, *start, 0.0, 0.0, 0.0)
    found = PairImpulses(v, p, *rest)
    after = SolidsAfterImpulses(solids.with_conditions(conditions), found, h)
    power = system.power(middle.q, (middle.v + found.v) * 0.5, middle.loads(found.v))
    out = integrate(m, middle.q, after.push_out())
    pushing = sum(system.energies(out, found.v)) - sum(system.energies(middle.q, found.v))
    q, v = free_flight(m, out, found.v, 0.5 * h, mirrored=True)
    done = power * h + after.work(middle.v) + pushing
    moved = now._replace(q=q, v=v, work=now.work + done, solid_memory=after.memory(t + h))
    residual = maximum(now.solver.residual, found.left)
    return moved._replace(solver=moved.solver._replace(iterations=found.iterations, residual=residual)), True
