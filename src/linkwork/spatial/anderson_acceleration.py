"""Fixed-point iteration accelerated by Anderson's method (Anderson 1965).

One iteration maps a start x (k,) to a result; the *move* is the result minus the start. At a fixed point the move is
zero, and near it the moves depend linearly on the starts. Anderson's method therefore combines the results of recent
iterations linearly, with the coefficients for which the same combination of their moves is smallest. This combination
is closer to the fixed point than each result, and the next iteration starts there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork.spatial.scalar import Array, Number, largest, ldlt, where
from linkwork.tolerances import HUGE, TINY

DEPTH = 6  # number of previous iterations whose results are combined
WORSE = 2.0  # factor of growth of the residual in one iteration above which all stored iterations are discarded
QUICK, CAREFUL = 100, 300  # number of iterations in the quick mode, then in the careful mode
DEPENDENT = 1e-10  # relative regularization of the equations for the combination: moves may be linearly dependent


class AndersonIteration(NamedTuple):
    """State of a fixed-point iteration with Anderson acceleration.

    `start` (k,) is where the next iteration starts, and `end` (k,) the result of the last iteration. `move` (j,) is the
    move of the last iteration (result minus start), scaled so that its entries are comparable. `ends` (DEPTH, k) and
    `moves` (DEPTH, j) are the changes of `end` and `move` from one iteration to the next, latest last. `residual` is
    the measure of error, at least 0, that the caller gave for the last iteration. `is_combination` is 1 if `start` is a
    combination of results, and 0 if it is the last result.

    An iteration that does not converge may cycle. The caller therefore has two modes of iteration, and `iterations`,
    the number of iterations so far (0 again after two cycles), selects one: first QUICK iterations in the quick mode,
    then CAREFUL iterations in the careful mode, which makes smaller moves, then both again. In every second cycle,
    a combination after which the residual grew by more than the factor WORSE is undone.
    """

    start: Array
    end: Array
    move: Array
    ends: Array
    moves: Array
    residual: Number
    is_combination: Number = 0.0
    iterations: Number = 0.0

    @staticmethod
    def at(x: Array, moves: int) -> AndersonIteration:
        """Return the state before the first iteration, which starts at x (k,).

        `moves` is the number j of entries of a scaled move, which may differ from k.
        """
        return AndersonIteration(x, x, np.zeros(moves), np.zeros((DEPTH, len(x))), np.zeros((DEPTH, moves)), HUGE)

    @property
    def careful(self) -> Any:
        """Whether the next iteration uses the careful mode: smaller moves that converge more reliably."""
        both = QUICK + CAREFUL
        return (self.iterations >= QUICK) & (self.iterations < both) | (self.iterations >= both + QUICK)

    def after(self, end: Array, move: Array, residual: Number) -> AndersonIteration:
        """Return the state after one fixed-point iteration; its `start` is where the next iteration starts.

        `end` (k,) is the result of the iteration, `move` (j,) its scaled move, and `residual` its residual.
        """
        worse, both = residual > WORSE * self.residual, QUICK + CAREFUL
        anew, iterations = worse, where(self.iterations >= 2 * both - 1, 0.0, self.iterations + 1.0)
        for first in (0, QUICK, both, both + QUICK):  # first iteration of a mode: discard those of the other
            anew = anew | (self.iterations == first)
        ends = where(anew, np.zeros_like(self.ends), np.array([*self.ends[1:], end - self.end]))
        moves = where(anew, np.zeros_like(self.moves), np.array([*self.moves[1:], move - self.move]))
        products = moves @ moves.T
        parts = ldlt(products + np.diag(np.diag(products) * DEPENDENT + TINY)).solve(moves @ move)
        guess = end - parts @ ends
        # If moves grow, the combination lies in the direction opposite to the move, towards a fixed point that repels
        # the iteration; it is not used
        ahead = ((guess - self.start) @ (end - self.start) >= 0.0) & (largest(parts) > 0.0)
        back = worse & (self.is_combination == 1.0) & (self.iterations >= both)
        last = where(back, self.end, end), where(back, self.move, move)
        start = where(back, self.end, where(ahead, guess, end))
        start = where(iterations == QUICK, np.zeros_like(start), start)  # restart from zero: leaves a possible cycle
        is_combination = where(back, 0.0, where(ahead, 1.0, 0.0))
        return AndersonIteration(
            start, *last, ends, moves, where(back, self.residual, residual), is_combination, iterations
        )
