"""The problem of rigid contact: find impulses that satisfy the conditions of touching pairs and other constraints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.constraints.bounded_constraints import trace_of
from linkwork.algorithms.solid_contact.body_equations import BodyEquations
from linkwork.algorithms.solid_contact.body_responses import BLOCK
from linkwork.algorithms.solid_contact.constraint_blocks_beside_solids import OtherBlocks
from linkwork.algorithms.solid_contact.friction_torques import SLOPE, torque_states
from linkwork.algorithms.solid_contact.linearized_contact import SLIDES, SLOPES, PointState
from linkwork.algorithms.solid_contact.rigid_pairs import ROWS, violations
from linkwork.algorithms.solid_contact.touching_pairs import TouchingPairs
from linkwork.model.solids import POINTS
from linkwork.spatial.row_arrays import RowArray, row_array
from linkwork.spatial.scalar import Array, Number, maximum, where
from linkwork.tolerances import TINY_SIZE

NORMAL = np.array([1.0, 0.0, 0.0])


class ContactProblem(NamedTuple):
    """A problem of rigid contact, whose unknowns are the impulses of touching pairs and of other constraint blocks.

    `pairs` are the touching pairs, and `others` are the other blocks of constraint rows, such as those of brakes.
    `equations` are the equations for the velocities of the bodies. `free` has these velocities without impulses, one
    row (6,) [m/s, rad/s] per body in world axes. The residual of each other block is multiplied by its factor in
    `scales`.
    """

    pairs: TouchingPairs
    equations: BodyEquations
    others: OtherBlocks
    free: RowArray
    scales: Sequence[Number]

    def velocities(self, p: RowArray, others: Array, v: RowArray | None = None) -> RowArray:
        """Return the velocities of the bodies, one row (6,) each, after the impulses of all pairs and other blocks.

        p has the impulses (12,) of each pair as a row, and `others` (n,) are the impulses of the other blocks. The
        result is written to the rows of `v` if `v` is given.
        """
        return self.after(self.wrenches(p, others), v)

    def after(self, wrenches: RowArray, v: RowArray | None = None) -> RowArray:
        """Return the velocities of the bodies, one row (6,) each, after impulses on the bodies.

        `wrenches` has the impulse [N s] and angular impulse [N m s] on each body as a row (6,). The result is written
        to the rows of `v` if `v` is given.
        """
        responses = self.pairs.responses
        v = responses.fixed_rows(row_array(responses.bodies, BLOCK)) if v is None else v
        return responses.changed(self.free, wrenches, v)

    def wrenches(self, p: RowArray, others: Array) -> RowArray:
        """Return the impulse and angular impulse on each body, one row (6,) each, due to all contact impulses.

        p has the impulses (12,) of each pair as a row, and `others` (n,) are the impulses of the other blocks.
        """
        return self.others.add_wrenches(others, self.pairs.wrenches(p))

    def violation(
        self, p: RowArray, others: Array, v: RowArray, u: RowArray, slopes: RowArray
    ) -> tuple[RowArray, Violation, Number]:
        """Return the speeds of the points, the violation of all conditions, and how many points changed state.

        The third result is 0 if every point has the state stored in `slopes` (rows with the layout SLOPES) and no point
        slides with friction. Only then are the derivatives of the impulses unchanged. p has the impulses (12,) of each
        pair as a row, and `others` (n,) are the impulses of other blocks. v has the velocities (6,) of the bodies with
        these impulses as rows. The speeds (12,) [m/s] of each pair, with their drifts, are written to the rows of `u`.
        """
        pairs = self.pairs

        def add(k: Number, rows: RowArray, squares: Number, most: Number, changed: Number) -> tuple[Any, ...]:
            frame, conditions, compliance = pairs.frame(k), pairs.pair_conditions(k), pairs.compliance(k)
            u = pairs.speeds(k, frame, v) + conditions.drifts
            found = Violation(squares, most).joined(violations(frame, conditions, compliance, p.at(k), u))
            _, states = SLOPES.parts(slopes.at(k))
            normals = []
            for j in range(POINTS):
                push, error = p.at(k)[3 * j : 3 * j + 3], u[3 * j : 3 * j + 3] - conditions.bounce[j] * NORMAL
                acts = frame.acts[j] > 0.0
                y = push - error * (1.0 / (compliance.traces[j] + TINY_SIZE))
                normals.append(where(acts, y[0], 0.0))
                friction = conditions.friction[j]
                number = PointState.of(friction, y, acts).number
                drags = where((number == SLIDES) & (friction > 0.0), 1.0, 0.0)
                changed = changed + abs(number - states[j]) + drags
            if conditions.turning is not None:
                y = p.at(k)[ROWS:] - u[ROWS:] * (1.0 / (trace_of(compliance.C[3:, 3:]) + TINY_SIZE))
                *_, before = SLOPE.parts(slopes.at(k)[SLOPES.size :])
                for state, old in zip(torque_states(conditions.turning, normals, y), before, strict=True):
                    changed = changed + abs(state - old) + state
            return rows.put(k, u), *found, changed

        u, squares, most, changed = pairs.selection.visit(add, u, 0.0, 0.0, 0.0)
        others_left = self.others.violations(others, self.others.speeds(v), self.scales)
        return u, Violation(squares, most).joined(others_left), changed


class Violation(NamedTuple):
    """Violation of contact conditions.

    `squares` [m^2/s^2] is the sum of the squared violations, and `largest` [m/s] the largest violation.
    """

    squares: Number
    largest: Number

    def joined(self, more: Sequence[Number]) -> Violation:
        """Return this violation combined with the violations [m/s] of further conditions, listed in `more`."""
        squares, most = self
        for x in more:
            squares, most = squares + x * x, maximum(most, x)
        return Violation(squares, most)


class Guess(NamedTuple):
    """First guess of the impulses: `p` with one row (12,) per pair, and `others` (n,) of the other blocks.

    `v` has the velocities (6,) of the bodies with these impulses as rows, `u` the speeds (12,) of the pairs, and
    `violation` is the violation of the contact conditions by these impulses.
    """

    p: RowArray
    others: Array
    v: RowArray
    u: RowArray
    violation: Violation
