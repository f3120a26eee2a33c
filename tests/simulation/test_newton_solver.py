"""Newton's method with line search: distant starts, separate batch members, and functions without a root."""

from __future__ import annotations

import numpy as np

from linkwork.compiler.kernel import Kernel
from linkwork.simulation.methods.newton_method import ITERATIONS, Floor, Root, newton
from linkwork.spatial.scalar import Array, where

NONE, EXACT = np.zeros(0), Floor(0.0, 0.0)


def bent(x: Array, none: Array) -> tuple[Array, Array]:
    """Return Newton corrections for x / sqrt(1 + x^2) = 0, whose full steps diverge if |x| > 1."""
    return -x * (1.0 + x * x), none


def test_line_search_converges_from_a_distant_start() -> None:
    x = np.array([5.0])
    assert abs(x + bent(x, NONE)[0])[0] > abs(x[0])  # a whole step leads away
    root = newton(bent, x, NONE, Floor(1e-300, 1e-300))
    assert root.solved
    assert abs(root.unknown[0]) < 1e-15
    assert root.iterations < ITERATIONS


def test_newtons_method_converges_separately_for_each_batch_member() -> None:
    def program(x: Array) -> tuple[Array, float, float]:
        root: Root = newton(bent, x, NONE, Floor(1e-300, 1e-300))
        return root.unknown, root.iterations, where(root.solved, 1.0, 0.0)

    kernel = Kernel("roots", program, [(1,)], [(1,), (), ()], None)
    starts = np.array([[5.0], [0.1], [0.0], [-2.0], [np.nan]])
    (found, iterations, solved), _ = kernel.over_batch([starts], (5,), None)
    for k, start in enumerate(starts):
        (alone, count, flag), _ = kernel.over_batch([start], (), None)
        assert np.array_equal(alone, found[k], equal_nan=True)
        assert (count, flag) == (iterations[k], solved[k])
    assert solved.tolist() == [1.0, 1.0, 1.0, 1.0, 0.0]
    assert iterations[2] == 1
    assert iterations[4] == ITERATIONS


def test_newtons_method_reports_functions_without_a_root() -> None:
    def never(x: Array, none: Array) -> tuple[Array, Array]:  # of x^2 + 1
        return -(x * x + 1.0) / (2.0 * x), none

    root = newton(never, np.array([0.7]), NONE, EXACT)
    assert not root.solved
    assert root.iterations == ITERATIONS
    assert np.isfinite(root.unknown).all()


def test_newton_corrections_at_round_off_count_as_converged() -> None:
    """At rest an unknown is only round-off, and so is each correction."""
    noise = iter(np.resize([1e-16, -2e-16], 1000))

    def noisy(x: Array, none: Array) -> tuple[Array, Array]:
        return -x + next(noise), none

    assert not newton(noisy, np.array([0.5]), NONE, EXACT).solved
    root = newton(noisy, np.array([0.5]), NONE, Floor(0.0, 1e-14))
    assert root.solved
    assert abs(root.unknown[0]) < 1e-15
