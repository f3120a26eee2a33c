"""Rounds that lead to a fixed point lead there sooner by what the last ones changed."""

import numpy as np
import pytest

from linkwork.spatial.fixed_points import DEPTH, Search
from linkwork.spatial.scalar import Array


def rounds(A: Array, b: Array, most: int, guess: bool) -> list[float]:
    """What is left after each of so many rounds x -> A x + b, with guesses between them or without."""
    search, x, left = Search.at(np.zeros(len(b)), len(b)), np.zeros(len(b)), []
    for _ in range(most):
        start = search.start if guess else x
        x = A @ start + b
        left.append(float(np.abs(x - start).max()))
        search = search.after(x, x - start, left[-1])
    return left


def test_a_slow_round_in_few_directions_ends_after_as_many() -> None:
    A, b = np.diag([0.99, 0.9, -0.5, 0.3]), np.ones(4)
    assert DEPTH >= 4
    assert rounds(A, b, 60, guess=False)[-1] > 0.1
    assert rounds(A, b, 12, guess=True)[-1] < 1e-9


def test_rounds_that_lead_away_are_not_turned_round() -> None:
    """The fixed point of x -> 2 x + 1 is at -1, from which rounds lead away: what they lead to is further on."""
    search = Search.at(np.zeros(1), 1)
    for _ in range(4):
        end = 2.0 * search.start + 1.0
        search = search.after(end, end - search.start, 1.0)
    assert search.start == pytest.approx([15.0])
