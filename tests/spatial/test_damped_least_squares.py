"""Damped least squares solves consistent equations of any rank, also with small and negative eigenvalues."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.spatial.damped_least_squares import least_squares_factors
from scalars_of_unknown_value import from_opaque, to_opaque


@pytest.mark.parametrize(("size", "rank"), [(1, 1), (2, 2), (5, 4), (5, 5), (6, 2), (12, 9)])
def test_damped_least_squares_solves_consistent_equations(size: int, rank: int) -> None:
    rng = np.random.default_rng(size)
    A = rng.normal(size=(size, rank)) @ rng.normal(size=(rank, size))
    b = A @ rng.normal(size=(size, 3))
    x = least_squares_factors(A).solve(b)
    assert np.abs(A @ x - b).max() < 1e-12 * size
    assert np.abs(x).max() < 1e3
    np.testing.assert_array_equal(least_squares_factors(A).solve(b[:, 0]), x[:, 0])
    hidden = from_opaque(least_squares_factors(to_opaque(A)).solve(to_opaque(b[:, 0])))
    np.testing.assert_allclose(hidden, x[:, 0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("small", [1e-3, -1e-3, -1e-7, 1e-9, -1e-9])
def test_damped_least_squares_inverts_small_eigenvalues_of_either_sign(small: float) -> None:
    rng = np.random.default_rng(0)
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    A, x = Q @ np.diag([1.0, 2.0, small]) @ Q.T, rng.normal(size=3)
    np.testing.assert_allclose(least_squares_factors(A).solve(A @ x), x, rtol=0, atol=1e-3)


def test_damped_least_squares_of_equations_without_a_solution_is_finite() -> None:
    np.testing.assert_array_equal(least_squares_factors(np.zeros((3, 3))).solve(np.ones(3)), np.zeros(3))
    np.testing.assert_allclose(least_squares_factors(np.array([[0.0, 1.0], [0.0, 0.0]])).solve(np.ones(2)), [0.0, 1.0])


def test_scaling_of_rows_and_columns_does_not_change_the_least_squares_solution() -> None:
    rng = np.random.default_rng(1)
    A, x = rng.normal(size=(4, 4)), rng.normal(size=4)
    sizes = np.array([1.0, 1e-12, 1e8, 1e-5])
    found = least_squares_factors(A * sizes[:, None] * sizes).solve(A @ x * sizes)
    np.testing.assert_allclose(found * sizes, x, rtol=1e-9)


def test_damped_least_squares_of_a_banded_matrix_has_linear_cost() -> None:
    def entries(size: int) -> int:
        A = np.diag(np.full(size, 2.0)) + np.diag(np.ones(size - 1), 1) + np.diag(np.ones(size - 1), -1)
        return sum(len(row) for row in least_squares_factors(A).R.values())

    assert entries(80) - entries(40) == 2 * (entries(40) - entries(20))
