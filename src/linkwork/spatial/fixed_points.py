"""Fixed points in fewer rounds: what the last rounds changed tells where rounds lead (Anderson 1965).

A round takes x to an end and moves it by so much. Near a fixed point moves change in proportion to starts, so that the
combination of the last ends whose moves cancel best is nearer to it than any of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.spatial.scalar import Array, Number, ldlt, where

DEPTH = 6  # rounds that are remembered
WORSE = 2.0  # times what was left before: what was remembered is forgotten then
GROWN = 1.5  # square of a move, over that of the one before, above which the next round is not guessed
ALIKE = 1e-10  # part that is added to products of moves, which may be alike
FAR, TINY = 1e300, 1e-300


class Search(NamedTuple):
    """Where the next round starts (k,), where the last one ended (k,), and its move (j,), in units that compare.

    `ends` (DEPTH, k) and `moves` (DEPTH, j) are how these changed from round to round, the latest last; `left` is what
    the last round left.
    """

    start: Array
    end: Array
    move: Array
    ends: Array
    moves: Array
    left: Number

    @staticmethod
    def at(x: Array, moves: int) -> Search:
        """Before the first round, whose moves have so many numbers."""
        return Search(x, x, np.zeros(moves), np.zeros((DEPTH, len(x))), np.zeros((DEPTH, moves)), FAR)

    def after(self, end: Array, move: Array, left: Number) -> Search:
        """After a round that ended at `end` (k,), moved by `move` (j,), and left so much."""
        anew = (self.left == FAR) | (left > WORSE * self.left)
        ends = where(anew, np.zeros_like(self.ends), np.array([*self.ends[1:], end - self.end]))
        moves = where(anew, np.zeros_like(self.moves), np.array([*self.moves[1:], move - self.move]))
        products = moves @ moves.T
        parts = ldlt(products + np.diag(np.diag(products) * ALIKE + TINY)).solve(moves @ move)
        # Where moves grow, a fixed point from which rounds lead away would be found
        calm = move @ move <= GROWN * (self.move @ self.move)
        return Search(where(calm, end - parts @ ends, end), end, move, ends, moves, left)
