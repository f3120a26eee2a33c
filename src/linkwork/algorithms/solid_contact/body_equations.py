"""Linear equations that couple the velocities of bodies that touch each other: sparse blocks (6, 6), and LU factors.

The equations have one block row for each body that moves and touches something. Block (i, j) couples the velocities of
the bodies in rows i and j. It is nonzero if the bodies touch, if they are in the same component (see `BodyResponses`),
or if the elimination of another body makes it nonzero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork.algorithms.contact_tolerances import ADDED_COMPLIANCE
from linkwork.algorithms.solid_contact.body_responses import BLOCK, BodyResponses
from linkwork.algorithms.solid_contact.touching_pairs import TouchingPairs, zero_rows
from linkwork.spatial.row_arrays import (
    RowArray,
    Selection,
    Selections,
    row_array,
    selected_rows,
    selected_rows_of_groups,
)
from linkwork.spatial.scalar import LU, Array, Condition, Number, cross, ldlt, lookup, lu, maximum, minimum, where
from linkwork.spatial.traceable_loops import iterate, repeat
from linkwork.tolerances import TINY_SIZE


@dataclass(frozen=True, eq=False)
class BodyEquations:
    """Equations for the velocities of n bodies that touch: inverse compliances, and which blocks are nonzero.

    `responses` are the responses of the bodies to impulses, and `inertias` the inverse compliances of active bodies
    (see `body_inertias`). For each active body k, `later` selects the bodies j > k with a nonzero block (k, j): the
    elimination of body k changes the equations of these bodies. Blocks of bodies that do not move are never read.
    """

    responses: BodyResponses
    inertias: RowArray
    later: Selections

    @staticmethod
    def of(pairs: TouchingPairs) -> BodyEquations:
        """Return the equations of the bodies of touching pairs.

        The elimination of bodies makes further blocks nonzero; the result includes these blocks.
        """
        responses, count, mobile = pairs.responses, pairs.responses.bodies, pairs.responses.mobile

        def mark(k: Number, coupled: RowArray) -> tuple[RowArray]:
            a, b = pairs.body_rows(k)
            moves_a, moves_b = (lookup(mobile, row)[0] for row in (a, b))
            place = minimum(a, b) * count + maximum(a, b)
            return (coupled.put(place, [moves_a * moves_b]),)

        def join(i: Number, coupled: RowArray) -> tuple[RowArray]:
            def mark(j: Number, coupled: RowArray) -> tuple[RowArray]:
                return (coupled.put(i * count + j, [1.0], when=responses.together(i, j) & (i < j)),)

            return responses.active.visit(mark, coupled)

        def fill(k: Number, coupled: RowArray) -> tuple[RowArray]:
            (own,) = repeat(count, lambda i, own: (own.put(i, coupled.at(k * count + i)),), row_array(count, 1))
            later = selected_rows(own)

            def fill_row(i: Number, coupled: RowArray) -> tuple[RowArray]:
                def fill_block(j: Number, coupled: RowArray) -> tuple[RowArray]:
                    return (coupled.put(i * count + j, [1.0], when=j > i),)

                return later.visit(fill_block, coupled)

            return later.visit(fill_row, coupled)

        (coupled,) = pairs.selection.visit(mark, zero_rows(count * count, 1))
        if not responses.separate:
            (coupled,) = responses.active.visit(join, coupled)
        if count > 2:
            (coupled,) = responses.active.visit(fill, coupled)
        later = selected_rows_of_groups(coupled, count, responses.active)
        return BodyEquations(responses, body_inertias(responses), later)

    @property
    def bodies(self) -> Selection:
        """Numbers of the bodies that can move and that touch another solid."""
        return self.responses.active

    @property
    def count(self) -> int:
        """Number of bodies with solids."""
        return self.responses.bodies

    def started(self, blocks: RowArray) -> RowArray:
        """Return the blocks of the equations before pairs are added: inverse compliances of bodies, else zeros.

        `blocks` is the row array to write to. Each row has the entries of one block (6, 6).
        """
        responses, count, zero = self.responses, self.count, np.zeros(BLOCK * BLOCK)

        def beside(k: Number, i: Number) -> Array:
            if responses.separate:
                return zero
            return where(responses.together(k, i), self.inertias.at(k * count + i), zero)

        def start(k: Number, blocks: RowArray) -> tuple[RowArray]:
            blocks = blocks.put(k * count + k, self.inertias.at(k if responses.separate else k * count + k))

            def start_beside(i: Number, blocks: RowArray) -> tuple[RowArray]:
                return (blocks.put(k * count + i, beside(k, i)).put(i * count + k, beside(i, k)),)

            return self.later.of(k).visit(start_beside, blocks)

        (blocks,) = self.bodies.visit(start, blocks)
        return blocks

    def with_pair(self, rows: tuple[Number, Number], S: Array, offset: Array, blocks: RowArray) -> RowArray:
        """Return the blocks of the equations with the resistance S (6, 6) of the contact points of one pair A, B added.

        The resistance S = -d(wrench)/d(velocity) is minus the derivative of the wrench impulse on A with respect to the
        velocity of A relative to B. Both (6,) are at the origin of body A, linear part first, in world axes. `rows` are
        the row numbers of the bodies A and B. `offset` (3,) [m] is the position of the origin of A relative to the
        origin of B, in world axes. `blocks` is the row array of blocks (6, 6), which is overwritten.
        """
        count, (a, b) = self.count, rows

        def added(i: Number, j: Number, more: Array, blocks: RowArray) -> RowArray:
            place = i * count + j
            return blocks.put(place, blocks.at(place) + more.reshape(-1))

        def with_other(blocks: RowArray) -> tuple[tuple[RowArray], Condition]:
            right, left = moved_right(S, offset), moved_right(S.T, offset).T
            blocks = added(a, b, -right, added(b, a, -left, blocks))
            return (added(b, b, moved_right(left, offset), blocks),), True

        blocks = added(a, a, S, blocks)
        return iterate(1, with_other, blocks, start=lookup(self.responses.mobile, b)[0] > 0.0)[0][0]

    def factored(self, blocks: RowArray) -> RowArray:
        """Return the LU factors of the equations, one row per block, from the row array `blocks` of blocks (6, 6).

        The factors overwrite the blocks.
        """
        count = self.count

        def eliminate(k: Number, blocks: RowArray) -> tuple[RowArray]:
            factors, later = lu(self._block(blocks, k, k)), self.later.of(k)
            blocks = blocks.put(k * count + k, factors.packed().reshape(-1))

            def solve_for(j: Number, blocks: RowArray) -> tuple[RowArray]:
                return (blocks.put(k * count + j, factors.solve(self._block(blocks, k, j)).reshape(-1)),)

            def eliminate_from(i: Number, blocks: RowArray) -> tuple[RowArray]:
                factor = self._block(blocks, i, k)

                def update(j: Number, blocks: RowArray) -> tuple[RowArray]:
                    place = i * count + j
                    change = factor @ self._block(blocks, k, j)
                    return (blocks.put(place, blocks.at(place) - change.reshape(-1)),)

                return later.visit(update, blocks)

            (blocks,) = later.visit(solve_for, blocks)
            return later.visit(eliminate_from, blocks)

        return self.bodies.visit(eliminate, blocks)[0]

    def solve(self, factors: RowArray, x: RowArray) -> RowArray:
        """Return the solution of the equations, a row array with one row (6,) per body, given the LU `factors`.

        The right-hand side x has one wrench impulse (6,) [N s, N m s] per body as a row; the solution, the velocities
        [m/s, rad/s], overwrites it. Both are in world axes. Rows of bodies that do not move are zero.
        """

        def forward(k: Number, x: RowArray) -> tuple[RowArray]:
            solved = LU.unpacked(self._block(factors, k, k)).solve(x.at(k))

            def eliminate(i: Number, x: RowArray) -> tuple[RowArray]:
                return (x.put(i, x.at(i) - self._block(factors, i, k) @ solved),)

            return self.later.of(k).visit(eliminate, x.put(k, solved))

        def backward(k: Number, x: RowArray) -> tuple[RowArray]:
            (found,) = self.later.of(k).visit(lambda j, x_k: (x_k - self._block(factors, k, j) @ x.at(j),), x.at(k))
            return (x.put(k, found),)

        (x,) = self.bodies.visit(forward, x)
        return self.responses.fixed_rows(self.bodies.visit(backward, x, backward=True)[0])

    def _block(self, blocks: RowArray, i: Number, j: Number) -> Array:
        """Return block (i, j) of the equations (6, 6).

        `blocks` is the row array of all blocks.
        """
        return blocks.at(i * self.count + j).reshape(BLOCK, BLOCK)


def moved_right(S: Array, offset: Array) -> Array:
    """Return the matrix S (n, 6), given for the velocity of a body at one point, for the velocity at another point.

    S multiplies the velocity (6,) of the body in world axes: linear at the point, then angular. `offset` (3,) [m] is
    the position of the old point relative to the new point, in world axes.
    """
    turned = [row[3:] + cross(offset, row[:3]) for row in S]
    return np.concatenate([S[:, :3], np.array(turned)], axis=1)


def body_inertias(responses: BodyResponses) -> RowArray:
    """Return the inverses of the compliances of all active bodies, as a row array like `BodyResponses.compliances`.

    The fraction ADDED_COMPLIANCE of each diagonal entry is added to this entry of the compliance, so that the inverse
    exists. `responses` has the compliances.
    """
    count = responses.bodies

    def regular(b: Number) -> Array:
        C = responses.compliance(b)
        return C + np.diag([C[i, i] * ADDED_COMPLIANCE + TINY_SIZE for i in range(BLOCK)])

    if responses.separate:
        (found,) = responses.active.visit(
            lambda b, rows: (rows.put(b, ldlt(regular(b)).matrix().reshape(-1)),), row_array(count, BLOCK * BLOCK)
        )
        return found

    def block(rows: RowArray, i: Number, j: Number) -> Array:
        return rows.at(i * count + j).reshape(BLOCK, BLOCK)

    def begin(i: Number, rows: RowArray) -> tuple[RowArray]:
        (rows,) = responses.active.visit(
            lambda j, rows: (rows.put(i * count + j, responses.compliances.at(i * count + j)),), rows
        )
        return (rows.put(i * count + i, regular(i).reshape(-1)),)

    def eliminate(k: Number, rows: RowArray) -> tuple[RowArray]:
        """Gauss-Jordan elimination of body k in the matrix of compliances: exchange its velocity with its impulse.

        `rows` has the blocks (6, 6) of the matrix.
        """
        inverse = ldlt(block(rows, k, k)).matrix()

        def other(i: Number) -> Condition:
            return responses.together(i, k) & ((i < k) | (i > k))

        def divide(j: Number, rows: RowArray) -> tuple[RowArray]:
            return (rows.put(k * count + j, (inverse @ block(rows, k, j)).reshape(-1), when=other(j)),)

        def subtract(i: Number, rows: RowArray) -> tuple[RowArray]:
            factor = block(rows, i, k)

            def update(j: Number, rows: RowArray) -> tuple[RowArray]:
                new = block(rows, i, j) - factor @ block(rows, k, j)
                return (rows.put(i * count + j, new.reshape(-1), when=other(i) & other(j)),)

            (rows,) = responses.active.visit(update, rows)
            return (rows.put(i * count + k, -(factor @ inverse).reshape(-1), when=other(i)),)

        (rows,) = responses.active.visit(divide, rows)
        (rows,) = responses.active.visit(subtract, rows)
        return (rows.put(k * count + k, inverse.reshape(-1)),)

    (found,) = responses.active.visit(begin, row_array(count * count, BLOCK * BLOCK))
    (found,) = responses.active.visit(eliminate, found)
    return found
