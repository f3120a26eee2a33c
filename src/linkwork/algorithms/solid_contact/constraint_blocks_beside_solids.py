"""Constraint rows that are solved together with solid pairs: point contacts, clutches, brakes and ratchets.

These rows are blocks of the solver in `constraints.bounded_impulse_solver`. The solver of solid pairs improves the
pairs and these blocks in turn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.algorithms.constraints.bounded_constraints import Box, trace_of
from linkwork.algorithms.constraints.bounded_impulse_solver import (
    Block,
    FactoredBlock,
    StickingElimination,
    improve_block,
    row_speeds,
    split_by_block,
    work,
)
from linkwork.spatial.scalar import Array, Number, largest, ldlt, maximum, where
from linkwork.tolerances import TINY_SIZE


class OtherBlocks:
    """Blocks of constraint rows that are solved together with solid pairs; a `Box`, if there is one, must be the first.

    The impulses of all blocks are one array (n,), and velocities are (nv,).
    """

    def __init__(self, blocks: Sequence[Block]):
        self.blocks = blocks
        self.known = [FactoredBlock(one, G := one.inverse_mass, ldlt(G), one.W) for one in blocks]
        self._boxed = StickingElimination(self.known) if blocks and isinstance(blocks[0], Box) else None

    def with_bounce(self, share: Number) -> OtherBlocks:
        """Return the same blocks, with their restitution if `share` is 1, without restitution if it is 0."""
        return OtherBlocks([one.with_bounce(share) for one in self.blocks])

    def velocities(self, v: Array, p: Array) -> Array:
        """Return the velocities after the impulses p of all blocks, from the velocities v."""
        return v + sum((one.W @ x for one, x in self._each(p)), np.zeros(len(v)))

    def work(self, p: Array, before: Array, after: Array) -> Number:
        """Return the work [J] of impulses p that change the velocities from `before` to `after`."""
        return work(self.blocks, p, before, after) if self.blocks else 0.0

    def fastest(self, v: Array) -> Number:
        """Return the largest speed [m/s] of an active point contact at the velocities v; 0 if none is active."""
        found: Number = 0.0
        for one in self.blocks:
            if one.same_units:
                found = maximum(found, where(one.acts, largest(row_speeds(one, v)) + one.bounce, 0.0))
        return found

    def scales(self, v: Array, weights: Array, settled: Number, enough: Number) -> list[Number]:
        """Return the factors that make the residuals of all blocks comparable with the tolerance `enough` [m/s].

        Clutches, brakes and friction torques may violate their complementarity conditions by `settled` times the
        largest speed that their rows could have with the kinetic energy of the velocities v; `weights` (nv,) are the
        square roots of the diagonal of the mass matrix.
        """
        energy = sum((x * x for x in weights * v), 0.0)
        own = [np.sqrt(trace_of(one.G) * energy) * settled + TINY_SIZE for one in self.known]
        return [1.0 if one.same_units else enough / x for one, x in zip(self.blocks, own, strict=True)]

    def residual(self, v: Array, p: Array, scales: Sequence[Number]) -> Number:
        """Return the largest scaled residual of a block with the impulses p at the velocities v."""
        parts, left = split_by_block(self.blocks, p), 0.0
        for k in range(len(self.blocks)):
            left = maximum(left, self._residual(k, v, parts, scales))
        return left

    def improve(self, v: Array, p: Array, scales: Sequence[Number], caution: Number) -> tuple[Array, Array, Number]:
        """Return velocities and impulses after all blocks were improved in turn, and the largest residual before.

        v are the velocities and p the impulses before; see `Block.improved` for `caution`.
        """
        parts, among, left, count = split_by_block(self.blocks, p), self.known, 0.0, len(self.blocks)
        for k in (*range(count), *reversed(range(count - 1))):
            left = maximum(left, self._residual(k, v, parts, scales))
            v = improve_block(among[k], parts, k, v, caution)
            if k == 0 and self._boxed is not None:
                among = self._boxed.among(parts[0], caution)
        return v, np.concatenate(parts), left

    def _each(self, p: Array) -> list[tuple[Block, Array]]:
        return list(zip(self.blocks, split_by_block(self.blocks, p), strict=True)) if self.blocks else []

    def _residual(self, k: int, v: Array, parts: Sequence[Array], scales: Sequence[Number]) -> Number:
        one = self.blocks[k]
        found = one.residual(self.known[k].G, parts[k], row_speeds(one, v), one.limit(parts))
        return where(one.acts, found * scales[k], 0.0)
