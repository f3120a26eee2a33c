"""Linear equations between separate bodies that touch each other: sparse blocks (6, 6), and their LU factorization.

The equations have one block row for each body that moves and touches something. Block (i, j) couples the velocities of
the bodies in rows i and j; it is not zero if they touch, or if the elimination of another body fills it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork.algorithms.solid_contact.touching_pairs import TouchingPairs, zero_rows
from linkwork.spatial.row_arrays import RowArray, Selection, row_array, selected_rows
from linkwork.spatial.scalar import Array, Number, lookup, lu, maximum, minimum
from linkwork.spatial.traceable_loops import repeat

BLOCK = 6


@dataclass(frozen=True, eq=False)
class BodyEquations:
    """Sparsity pattern of the equations of n bodies: which blocks are not zero.

    `bodies` are the bodies that move and touch something. `coupled` (one row for each pair of bodies) is 1 for blocks
    (i, j), i < j, that are not zero. Blocks of bodies that do not move are never read.
    """

    bodies: Selection
    coupled: RowArray
    count: int

    @staticmethod
    def of(pairs: TouchingPairs) -> BodyEquations:
        """Return the equations of the bodies of touching pairs, with the blocks that their elimination fills."""
        count = pairs.responses.bodies
        mobile = pairs.responses.mobile

        def mark(k: Number, active: RowArray, coupled: RowArray) -> tuple[RowArray, RowArray]:
            a, b = pairs.body_rows(k)
            moves_a, moves_b = (lookup(mobile, row)[0] for row in (a, b))
            active = active.put(a, [moves_a]).put(b, [moves_b])
            place = minimum(a, b) * count + maximum(a, b)
            return active, coupled.put(place, [moves_a * moves_b])

        active, coupled = pairs.selection.visit(mark, zero_rows(count, 1), zero_rows(count * count, 1))
        bodies = selected_rows(active)

        def fill(k: Number, coupled: RowArray) -> tuple[RowArray]:
            (own,) = repeat(count, lambda i, own: (own.put(i, coupled.at(k * count + i)),), row_array(count, 1))
            later = selected_rows(own)

            def fill_row(i: Number, coupled: RowArray) -> tuple[RowArray]:
                def fill_block(j: Number, coupled: RowArray) -> tuple[RowArray]:
                    return (coupled.put(i * count + j, [1.0], when=j > i),)

                return later.visit(fill_block, coupled)

            return later.visit(fill_row, coupled)

        (coupled,) = bodies.visit(fill, coupled)
        return BodyEquations(bodies, coupled, count)

    def later(self, k: Number) -> Selection:
        """Return the bodies with numbers above k whose equations the elimination of body k changes."""
        return selected_rows(self.coupled, k * self.count, self.count)

    def cleared(self, blocks: RowArray, diagonal: RowArray) -> RowArray:
        """Return `blocks` with new diagonal blocks, one row (36,) per body, and off-diagonal blocks set to zero."""
        zero = np.zeros(BLOCK * BLOCK)

        def clear(k: Number, blocks: RowArray) -> tuple[RowArray]:
            blocks = blocks.put(k * self.count + k, diagonal.at(k))
            return self.later(k).visit(
                lambda i, blocks: (blocks.put(k * self.count + i, zero).put(i * self.count + k, zero),), blocks
            )

        (blocks,) = self.bodies.visit(clear, blocks)
        return blocks

    def solve(self, blocks: RowArray, x: RowArray) -> RowArray:
        """Return the solution of the equations with the given blocks, one row (6,) per body; x is the right-hand side.

        The blocks and x are overwritten. Bodies that do not move have the solution zero.
        """
        count = self.count

        def block(blocks: RowArray, i: Number, j: Number) -> Array:
            return blocks.at(i * count + j).reshape(BLOCK, BLOCK)

        def eliminate(k: Number, blocks: RowArray, x: RowArray) -> tuple[RowArray, RowArray]:
            factors, later = lu(block(blocks, k, k)), self.later(k)
            solved = factors.solve(x.at(k))

            def solve_for(j: Number, blocks: RowArray) -> tuple[RowArray]:
                return (blocks.put(k * count + j, factors.solve(block(blocks, k, j)).reshape(-1)),)

            def eliminate_from(i: Number, blocks: RowArray, x: RowArray) -> tuple[RowArray, RowArray]:
                factor = block(blocks, i, k)

                def update(j: Number, blocks: RowArray) -> tuple[RowArray]:
                    place = i * count + j
                    change = factor @ block(blocks, k, j)
                    return (blocks.put(place, blocks.at(place) - change.reshape(-1)),)

                (blocks,) = later.visit(update, blocks)
                return blocks, x.put(i, x.at(i) - factor @ solved)

            (blocks,) = later.visit(solve_for, blocks)
            blocks, x = later.visit(eliminate_from, blocks, x)
            return blocks, x.put(k, solved)

        def substitute(k: Number, found: RowArray) -> tuple[RowArray]:
            (rest,) = self.later(k).visit(lambda j, rest: (rest - block(blocks, k, j) @ found.at(j),), x.at(k))
            return (found.put(k, rest),)

        blocks, x = self.bodies.visit(eliminate, blocks, x)
        (found,) = self.bodies.visit(substitute, zero_rows(count, BLOCK), backward=True)
        return found
