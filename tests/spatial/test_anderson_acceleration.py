"""Fixed-point iterations converge faster by extrapolation from the last changes."""

import numpy as np
import pytest

from linkwork.spatial.anderson_acceleration import DEPTH, AndersonIteration
from linkwork.spatial.scalar import Array


def residuals(A: Array, b: Array, most: int, guess: bool) -> list[float]:
    """Residual after each iteration x -> A x + b, with or without extrapolation."""
    search, x, left = AndersonIteration.at(np.zeros(len(b)), len(b)), np.zeros(len(b)), []
    for _ in range(most):
        start = search.start if guess else x
        x = A @ start + b
        left.append(float(np.abs(x - start).max()))
        search = search.after(x, x - start, left[-1])
    return left


def test_extrapolation_makes_a_slow_linear_iteration_converge_in_few_iterations() -> None:
    A, b = np.diag([0.99, 0.9, -0.5, 0.3]), np.ones(4)
    assert DEPTH >= 4
    assert residuals(A, b, 60, guess=False)[-1] > 0.1
    assert residuals(A, b, 12, guess=True)[-1] < 1e-9


def test_extrapolation_does_not_reverse_a_diverging_iteration() -> None:
    """The fixed point of x -> 2 x + 1 is -1 and repelling: the iteration continues away from it."""
    search = AndersonIteration.at(np.zeros(1), 1)
    for _ in range(4):
        end = 2.0 * search.start + 1.0
        search = search.after(end, end - search.start, 1.0)
    assert search.start == pytest.approx([15.0])
