"""A step of Moreau's method with contact between solids; `moreau` makes the steps with point contacts only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.constraints.bounded_constraints import Box
from linkwork.algorithms.constraints.bounded_impulse_solver import Block, split_by_block
from linkwork.algorithms.contact_tolerances import SETTLED, SETTLED_PREDICTION, TOUCHING
from linkwork.algorithms.rigid_contact import separating_displacement
from linkwork.algorithms.solid_contact.body_equations import BodyEquations
from linkwork.algorithms.solid_contact.constraint_blocks_beside_solids import OtherBlocks
from linkwork.algorithms.solid_contact.impulse_iteration import Accuracy, solve_pairs
from linkwork.algorithms.solid_contact.impulse_work import without_positive_work
from linkwork.algorithms.solid_contact.newton_iteration import Matrix
from linkwork.algorithms.solid_contact.pair_restitution import solve_pairs_with_restitution
from linkwork.algorithms.solid_contact.touching_pairs import PairImpulses, copied
from linkwork.algorithms.tangent_space import free_flight
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.events.slip import unbounded
from linkwork.simulation.methods.energy_limited_push_out import energy_limited_push_out
from linkwork.simulation.methods.moreau import (
    TERMS,
    MidStepContact,
    bounded_rows,
    can_slip,
    contact_state,
    impulses_at_bound,
    may_bounce,
    mid_step_contacts,
    one_way_rows,
    pass_terms,
    push_out_distances,
    remembered_point_impulses,
    with_slip,
)
from linkwork.simulation.methods.moreau_mid_step import Middle, middle_of_step
from linkwork.simulation.methods.rigid_contact_work import ledger_of_step, with_ground
from linkwork.simulation.methods.solid_contact_conditions import pass_conditions
from linkwork.simulation.methods.solids_after_impulses import SolidsAfterImpulses
from linkwork.simulation.methods.solids_mid_step import remembered_impulses, solids_at_mid_step
from linkwork.simulation.methods.stopped_solids import retreat_of_stopped_solids
from linkwork.simulation.simulated_system import System
from linkwork.simulation.solid_memory_rows import is_in_place, memory_array
from linkwork.simulation.state import StepState
from linkwork.spatial.row_arrays import RowArray, row_array
from linkwork.spatial.scalar import Array, Condition, Number, maximum, where
from linkwork.spatial.traceable_loops import repeat
from linkwork.tolerances import HUGE

# number of passes in a step that compute the contact conditions; those of the last pass hold at the end of the step
PASSES = 2


def moreau_with_solids(
    system: System, t: Number, now: StepState, h: Number, held: Array
) -> tuple[StepState, Condition]:
    """Return the state after one step h [s] of Moreau's method with contact between solids, and whether the step was
    solved.

    `now` is the state at t [s], and `held` (nv,) [N m or N] are the joint forces of a sampled controller.
    """
    free = replace(system, mechanism=unbounded(system.mechanism))
    m, middle = free.mechanism, middle_of_step(free, t, now, h, held)
    beside = _rows_beside_solids(system.mechanism, middle, now)
    solids = solids_at_mid_step(middle, now.solid_memory, TOUCHING, OtherBlocks(beside.blocks))
    bounces, equations = _may_bounce(m), BodyEquations.of(solids.pairs)

    def once(
        k: Number,
        v: Array,
        p: RowArray,
        conditions: RowArray,
        others: Array,
        terms: Array,
        *rest: Any,
    ) -> tuple[Any, ...]:
        *factored, iterations = rest[: len(Matrix._fields) + 1]  # of the matrix, the iterations and the results
        conditions, terms = pass_conditions(solids, middle, k == 0, v, conditions), beside.terms(middle, k == 0, v)
        pairs, blocks = replace(solids.pairs, conditions=conditions), OtherBlocks(beside.with_terms(terms).blocks)
        free, matrix, last = middle.free(v), Matrix(*factored), k == PASSES - 1
        if bounces:
            found, conditions = solve_pairs_with_restitution(pairs, equations, middle.v, free, p, blocks, others)
            found = found._replace(p=copied(pairs, found.p, p))
        else:
            accuracy = Accuracy(where(last, SETTLED, SETTLED_PREDICTION), last & (iterations > k), last)
            found, matrix = solve_pairs(pairs, equations, free, p, accuracy, blocks, others, matrix)
        results = found.iterations + iterations, found.left, found.agreed
        return found.v, found.p, conditions, found.others, terms, *matrix, *results

    start = remembered_impulses(solids, h), row_array(solids.pairs.count, solids.pairs.conditions.size)
    terms = np.zeros((len(beside.points), TERMS))
    v, p, conditions, others, terms, _, _, _, iterations, left, agreed = repeat(
        PASSES, once, middle.v, *start, beside.guess, terms, *Matrix.none(solids.pairs), 0.0, 0.0, 0.0
    )
    solids, beside = solids.with_conditions(conditions), beside.with_terms(terms)
    found, blocks = PairImpulses(v, p, iterations, left, agreed, others), OtherBlocks(beside.blocks)
    retreat = retreat_of_stopped_solids(middle, solids, found)
    found, worked = without_positive_work(solids.pairs, middle.v, found, blocks, solids.slow, retreat.released)
    after = SolidsAfterImpulses(solids, equations, found, h)
    there = retreat.made(found.v, worked)
    rates, worked = free.rates(middle.q, there.mean, middle.loads(found.v), now), worked + there.work
    budget = where(solids.starts_inside(h, now.solver.iterations == 0.0), HUGE, -worked)
    out = energy_limited_push_out(free, there.q, there.v, _push_out(system.mechanism, beside, after), budget)
    q, v = free_flight(m, out.q, out.v, 0.5 * h)
    impulses = beside.impulses(others)
    contacts = worked - blocks.work(others, middle.v, found.v) + out.work
    done = ledger_of_step(now, rates * h, beside.blocks, impulses, middle.v, found.v, contacts, m)
    solver = now.solver._replace(iterations=found.iterations, residual=maximum(now.solver.residual, found.left))
    moved = _with_solid_memory(after, now._replace(q=q, v=v, solver=solver).with_work(done), t + h)
    moved = _with_point_memory(beside, now, moved, impulses, found.v, h, t + h)
    moved = with_ground(m, middle.q, middle.v, moved, h)
    moved = moved.pushed_by_ground(after.ground_impulse()) if len(moved.ledger) else moved
    for box in beside.boxes:
        moved = with_slip(system, t, moved, h, held, box, impulses[0], box.K @ found.v)
    return moved, True


def _with_solid_memory(after: SolidsAfterImpulses, moved: StepState, at: Number) -> StepState:
    """Return the state `moved` with the contact memory of solids at the time `at` [s]; it has that of the step's begin.

    The memory is unchanged if the state is not finite.
    """
    memory = after.memory(at, sum(map(abs, (*moved.q, *moved.v)), abs(moved.work)) <= HUGE)
    return moved._replace(solid_memory=memory if is_in_place(moved.solid_memory) else memory_array(memory))


def _with_point_memory(
    beside: _RowsBesideSolids,
    now: StepState,
    moved: StepState,
    impulses: list[Array],
    v: Array,
    h: Number,
    end: Number,
) -> StepState:
    """Return the state `moved` with updated memory of point contacts, after a step h [s] that ends at the time `end`
    [s].

    `now` is the state at the beginning of the step, `impulses` are those of all blocks of constraint rows, and v (nv,)
    are the velocities after these impulses. `beside` has the point contacts.
    """
    if not beside.points:
        return moved
    each = zip(beside.points, now.contact_memory, strict=True)
    touch = [contact_state(one, impulses, before, v, h, end) for one, before in each]
    return moved._replace(contact_memory=np.array(touch))


class _RowsBesideSolids(NamedTuple):
    """Point contacts and constraints with bounded impulses, in a mechanism that also has contacts between solids.

    `points` are the contacts at mid-step. `boxes` has at most one entry: the rows of clutches, brakes, ratchets and
    joint friction. `guess` (n,) is a first guess of the impulses [N s or N m s] of all n rows.
    """

    boxes: list[Box]
    points: list[MidStepContact]
    guess: Array

    @property
    def blocks(self) -> list[Block]:
        """The blocks (groups of rows) of all these contacts and constraints, for the impulse solver."""
        return [*self.boxes, *(block for one in self.points for block in one.blocks)]

    def impulses(self, p: Array) -> list[Array]:
        """Return the impulses of each block as a list, from one array p (n,) of all impulses."""
        return split_by_block(self.blocks, p) if self.blocks else []

    def terms(self, middle: Middle, first: Condition, v: Array) -> Array:
        """Return the values (n, 7) of n point contacts that a pass of the step changes, at velocities v (nv,); see
        `moreau.pass_terms`.
        """
        found = pass_terms(middle.system.mechanism, middle, self.points, first, v) if self.points else np.zeros(0)
        return found.reshape(-1, TERMS)

    def with_terms(self, terms: Array) -> _RowsBesideSolids:
        """Return these contacts and constraints with the values `terms` (n, 7) of a pass in the n point contacts."""
        return self._replace(points=[one.with_terms(row) for one, row in zip(self.points, terms, strict=True)])


def _rows_beside_solids(mechanism: Mechanism, middle: Middle, now: StepState) -> _RowsBesideSolids:
    """Return the point contacts and the constraints with bounded impulses of a mechanism at mid-step.

    `now` is the state at the beginning of the step.
    """
    boxes = [bounded_rows(mechanism, middle)] if can_slip(mechanism) else []
    points = mid_step_contacts(middle.system.mechanism, middle, now.contact_memory[:, 0], len(boxes))
    guess = [np.zeros(0), *(impulses_at_bound(box, now.slip) for box in boxes)]
    guess += remembered_point_impulses(points, now.contact_memory, middle.h)
    return _RowsBesideSolids(boxes, points, np.concatenate(guess))


def _push_out(mechanism: Mechanism, beside: _RowsBesideSolids, after: SolidsAfterImpulses) -> Array:
    """Return the displacement (nv,) [rad, m] that moves resting solids and contact points out of penetration.

    Solids are separated first; the displacement for contact points and ratchets is then added.
    """
    shift, v, h = after.push_out(), after.found.v, after.h
    p, pushes = beside.impulses(after.found.others), []
    if beside.points:
        depths = push_out_distances(mechanism, beside.points, p, v, h)
        pushes += zip([one.facing for one in beside.points], depths, strict=True)
    pushes += [row for box in beside.boxes for row in one_way_rows(mechanism.bounded, box, v, h)]
    if not pushes:
        return shift
    rows, distances = zip(*pushes, strict=True)
    left = [distance - row.K[0] @ shift for row, distance in zip(rows, distances, strict=True)]
    return shift + separating_displacement(rows, np.array(left))


def _may_bounce(m: Mechanism) -> bool:
    """Return whether some contact of a mechanism may have a coefficient of restitution above 0."""
    return any(map(may_bounce, [*m.collisions, *(pair.contact for pair in m.contact_pairs)]))
