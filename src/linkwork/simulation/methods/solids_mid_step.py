"""Solid pairs in the middle of a step of Moreau's method: contact detection, contact points, inverse effective
masses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.compliant_contact import APART
from linkwork.algorithms.contact_tolerances import PUSHED_APART_AT_START
from linkwork.algorithms.kinematics import kinematics, world_poses
from linkwork.algorithms.mimic_reduction import to_tree
from linkwork.algorithms.solid_contact.body_responses import body_jacobian, body_responses, relative_compliance
from linkwork.algorithms.solid_contact.constraint_blocks_beside_solids import OtherBlocks
from linkwork.algorithms.solid_contact.detection import BodyMotion, Touching, WorldPatch, body_rows, touching_pairs
from linkwork.algorithms.solid_contact.pair_tables import BodyRows, PairGroup, groups_of
from linkwork.algorithms.solid_contact.rigid_pairs import (
    COMPLIANCE,
    CONDITIONS,
    FRAME,
    ROWS,
    TURNING_CONDITIONS,
    TURNING_FRAME,
    pair_frame,
    stored_compliance,
)
from linkwork.algorithms.solid_contact.solid_contact_forces import COLUMNS, stored_columns
from linkwork.algorithms.solid_contact.touching_pairs import TouchingPairs
from linkwork.model.mechanism import Mechanism
from linkwork.model.solids import POINTS
from linkwork.simulation.methods.moreau_mid_step import Middle, resting_speed
from linkwork.simulation.solid_memory_rows import memory_rows
from linkwork.spatial import Transform
from linkwork.spatial.row_arrays import RowArray, RowLayout, Selection, row_array, selected_rows
from linkwork.spatial.scalar import Array, Condition, Number, lookup, maximum, where
from linkwork.spatial.traceable_loops import iterate, repeat

FORCE_LAW = RowLayout((2,), (), (2,))  # friction coefficients, restitution, coefficients of spinning and rolling


class BodiesAtMidStep(NamedTuple):
    """Bodies with solids: their `numbers`, the world `poses` of all bodies, and `rows` with the pose and the twist of
    each body in `numbers`.
    """

    numbers: Sequence[int]
    poses: Sequence[Transform]
    rows: RowArray


class SolidsAtMidStep(NamedTuple):
    """All solid pairs in the middle of a step, and the touching pairs among them.

    `groups` has all pairs by the kinds of their shapes, and `touching` the contact points. `memory` has the contact
    memory of each pair at the beginning of the step, and `before` has a row for each pair, its relative speeds before
    the impulses: 12 of its points [m/s], then 3 angular speeds [rad/s] if there is rolling or spinning friction.
    `force_laws` are the friction and restitution of all collision elements, and `force_law_of` (n, 1) the row of each
    solid pair in `force_laws`. Contacts that approach at most at the speed `slow` [m/s] do not bounce.
    """

    pairs: TouchingPairs
    bodies: BodiesAtMidStep
    groups: list[PairGroup]
    touching: Touching
    memory: RowArray
    before: RowArray
    force_laws: RowArray
    force_law_of: Array
    slow: Number

    def starts_inside(self, h: Number, first: Condition) -> Condition:
        """Return whether some pairs overlapped at the start of this step h [s], and no pair touched in earlier steps.

        If this is not the `first` step of the run, the result is false. In a run without contacts so far, the contact
        memory says that all points have been apart since the time 0.
        """

        def look(k: Number, touched: Number) -> tuple[Number]:
            for row in self.remembered(k):
                touched = where((row[0] != APART) | (row[4] != 0.0), 1.0, touched)
            return (touched,)

        def measure(k: Number, deepest: Number) -> tuple[Number]:
            distances, speeds = WorldPatch.read(self.touching.patches, k).distances, self.before.at(k)[:ROWS:3]
            for distance, speed in zip(distances, speeds, strict=True):
                deepest = maximum(deepest, speed * (0.5 * h) - distance)
            return (deepest,)

        def find(*_: Number) -> tuple[tuple[Number, Number], Condition]:
            return (*repeat(self.pairs.count, look, 0.0), *self.pairs.selection.visit(measure, 0.0)), True

        (touched, deepest), _, _ = iterate(1, find, 1.0, 0.0, start=first)
        return (touched == 0.0) & (deepest > self.slow * h + PUSHED_APART_AT_START)

    def force_law(self, k: Number) -> tuple[Array, Number]:
        """Return the static and the dynamic friction coefficient (2,) of pair k, and its coefficient of restitution."""
        friction, restitution, _ = FORCE_LAW.parts(self.force_laws.at(lookup(self.force_law_of, k)[0]))
        return friction, restitution

    def turning(self, k: Number) -> Array:
        """Return the coefficients (2,) [m] of spinning and rolling friction of pair k."""
        return FORCE_LAW.parts(self.force_laws.at(lookup(self.force_law_of, k)[0]))[2]

    def remembered(self, k: Number) -> Array:
        """Return the contact memory (4, 5) of pair k before the step, or (4, 8) if torques are stored."""
        return self.memory.at(k).reshape(POINTS, -1)

    def with_conditions(self, conditions: RowArray) -> SolidsAtMidStep:
        """Return a copy of the pairs with the given contact conditions, one row per pair."""
        return self._replace(pairs=replace(self.pairs, conditions=conditions))


def solids_at_mid_step(
    middle: Middle, stored: Array | RowArray, within: Number, others: OtherBlocks
) -> SolidsAtMidStep:
    """Return the solid pairs in the middle of a step.

    `stored` is the contact memory of n pairs: an array (4 n, 5) or (4 n, 8), see `stored_columns`, or a row array, see
    `memory_rows`. Points at most `within` [m] apart touch. `others` are the blocks (groups of rows) of all other
    contacts and constraints.
    """
    m, q, v = middle.system.mechanism, middle.q, middle.v
    weights, slow = np.array([np.sqrt(x) for x in np.diag(middle.M)]), resting_speed(m, middle.h)
    position, speed = to_tree(m, ("q", "v"), (q, v))
    motion = kinematics(m.tree, position, speed)
    poses = world_poses(m.tree, motion.X)
    of = BodyRows(m.solid_pairs)
    bodies, groups = body_rows(of.numbers, poses, motion.twist), groups_of(m.solid_pairs, of)
    touching = touching_pairs(groups, bodies, within)
    count, selection = len(m.solid_pairs), selected_rows(touching.flags)
    ends = [_arranged_bodies(groups)[:, column : column + 1] for column in (0, 1)]
    jacobians = [*(body_jacobian(m, poses, motion.S, body) for body in of.numbers), *others.jacobians]
    responses = body_responses(
        jacobians, middle.response, _touching_bodies(selection, ends, len(of.numbers), len(others.jacobians))
    )
    (force_laws, force_law_of), turns = _force_laws(m), stored_columns(m.collisions) > COLUMNS

    def prepare(k: Number, frames: RowArray, compliances: RowArray) -> tuple[RowArray, RowArray]:
        rows = lookup(ends[0], k)[0], lookup(ends[1], k)[0]
        A, B = (BodyMotion.read(bodies, row).pose for row in rows)
        frame = pair_frame(WorldPatch.read(touching.patches, k), A.p, B.p, within, turns)
        compliance = relative_compliance(responses, rows, (frame.to_a, frame.to_b))
        return frames.put(k, frame.row()), compliances.put(k, stored_compliance(frame, compliance))

    frames, compliances = selection.visit(
        prepare, row_array(count, (TURNING_FRAME if turns else FRAME).size), row_array(count, COMPLIANCE.size)
    )
    conditions = row_array(count, (TURNING_CONDITIONS if turns else CONDITIONS).size)
    pairs = TouchingPairs(selection, frames, conditions, compliances, ends[0], ends[1], responses, weights)
    start = responses.velocity_rows(v)
    (before,) = selection.visit(
        lambda k, rows: (rows.put(k, pairs.speeds(k, pairs.frame(k), start)),), row_array(count, pairs.rows)
    )
    there = BodiesAtMidStep(of.numbers, poses, bodies)
    return SolidsAtMidStep(pairs, there, groups, touching, memory_rows(stored), before, force_laws, force_law_of, slow)


def _touching_bodies(selection: Selection, ends: Sequence[Array], solids: int, others: int) -> RowArray:
    """Return a row array with 1 for each body that touches another body, and for the bodies of `others`, else 0.

    `ends` are two tables (n, 1), with the row number of the first and of the second body of each pair. The first
    `solids` bodies have solids, and the next `others` bodies belong to other contacts and constraints.
    """
    rows = row_array(solids + others, 1)
    for b in range(solids + others):
        rows = rows.put(float(b), [0.0 if b < solids else 1.0])

    def mark(k: Number, rows: RowArray) -> tuple[RowArray]:
        for table in ends:
            rows = rows.put(lookup(table, k)[0], [1.0])
        return (rows,)

    return selection.visit(mark, rows)[0]


def _arranged_bodies(groups: Sequence[PairGroup]) -> Array:
    """Return an array (n, 2) with the row numbers, in the table of bodies with solids, of the bodies A and B of each
    pair. A and B are in the order that the contact functions expect.
    """
    found = np.zeros((sum(len(group.numbers) for group in groups), 2))
    for group in groups:
        for row in group.table:
            number, bodies, *_ = group.layout.parts(row)
            found[int(number)] = bodies
    return found


def _force_laws(m: Mechanism) -> tuple[RowArray, Array]:
    """Return the friction and restitution of all collision elements, one row per element (see `FORCE_LAW`), and the row
    number (n, 1) of each of n solid pairs in this table.
    """
    collisions = list(m.collisions)
    force_laws = row_array(len(collisions), FORCE_LAW.size)
    for row, one in enumerate(collisions):
        force_laws = force_laws.put(
            float(row), FORCE_LAW.row(one.friction, one.restitution, [one.spinning, one.rolling])
        )
    names = [one.name for one in collisions]
    return force_laws, np.array([[float(names.index(pair.collision.name))] for pair in m.solid_pairs])


def remembered_impulses(solids: SolidsAtMidStep, h: Number) -> RowArray:
    """Return a first guess of the impulses of each touching pair in a step h [s], one row per pair, from the contact
    forces of the last step.
    """
    pairs = solids.pairs

    def read(k: Number, p: RowArray) -> tuple[RowArray]:
        memory, frame = solids.remembered(k), pairs.frame(k)
        parts = [D.T @ row[1:4] * acts * h for D, row, acts in zip(frame.axes, memory, frame.acts, strict=True)]
        if frame.turning is not None:
            parts.append(frame.turning.T @ sum(memory[:, COLUMNS:], np.zeros(3)) * h)
        return (p.put(k, np.concatenate(parts)),)

    (p,) = pairs.selection.visit(read, row_array(pairs.count, pairs.rows))
    return p
