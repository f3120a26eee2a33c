"""Fixed points in fewer rounds: what the last rounds changed tells where rounds lead (Anderson 1965).

A round takes x to an end and moves it by so much. Near a fixed point moves change in proportion to starts, so that the
combination of the last ends whose moves cancel best is nearer to it than any of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork.spatial.scalar import Array, Number, largest, ldlt, where
from linkwork.tolerances import HUGE, TINY

DEPTH = 6  # rounds that are remembered
WORSE = 2.0  # times what was left before: what was remembered is forgotten then
QUICK, CAREFUL = 100, 300  # rounds in one way, after which the other is tried
ALIKE = 1e-10  # part that is added to products of moves, which may be alike


class Search(NamedTuple):
    """Where the next round starts (k,), where the last one ended (k,), and its move (j,), in units that compare.

    `ends` (DEPTH, k) and `moves` (DEPTH, j) are how these changed from round to round, the latest last; `left` is what
    the last round left, and `guessed` is 1 if the start is not where it ended.

    Rounds that do not come to an end may go round in circles for ever. `turn` counts them, so that after some another
    way is tried: quick rounds, then `careful` ones, then both again with guesses taken back that turned out worse.
    """

    start: Array
    end: Array
    move: Array
    ends: Array
    moves: Array
    left: Number
    guessed: Number = 0.0
    turn: Number = 0.0

    @staticmethod
    def at(x: Array, moves: int) -> Search:
        """Before the first round, whose moves have so many numbers."""
        return Search(x, x, np.zeros(moves), np.zeros((DEPTH, len(x))), np.zeros((DEPTH, moves)), HUGE)

    @property
    def careful(self) -> Any:
        """Whether the next round is to be so that it leads on rather than far."""
        both = QUICK + CAREFUL
        return (self.turn >= QUICK) & (self.turn < both) | (self.turn >= both + QUICK)

    def after(self, end: Array, move: Array, left: Number) -> Search:
        """After a round that ended at `end` (k,), moved by `move` (j,), and left so much."""
        worse, both = left > WORSE * self.left, QUICK + CAREFUL
        anew, turn = worse, where(self.turn >= 2 * both - 1, 0.0, self.turn + 1.0)
        for first in (0, QUICK, both, both + QUICK):  # of a way: what was remembered is of another
            anew = anew | (self.turn == first)
        ends = where(anew, np.zeros_like(self.ends), np.array([*self.ends[1:], end - self.end]))
        moves = where(anew, np.zeros_like(self.moves), np.array([*self.moves[1:], move - self.move]))
        products = moves @ moves.T
        parts = ldlt(products + np.diag(np.diag(products) * ALIKE + TINY)).solve(moves @ move)
        guess = end - parts @ ends
        # Where moves grow, it lies behind: a fixed point from which rounds lead away
        ahead = ((guess - self.start) @ (end - self.start) >= 0.0) & (largest(parts) > 0.0)
        back = worse & (self.guessed == 1.0) & (self.turn >= both)
        kept = where(back, self.end, end), where(back, self.move, move)
        start = where(back, self.end, where(ahead, guess, end))
        start = where(turn == QUICK, np.zeros_like(start), start)  # from where no circle begins
        guessed = where(back, 0.0, where(ahead, 1.0, 0.0))
        return Search(start, *kept, ends, moves, where(back, self.left, left), guessed, turn)
