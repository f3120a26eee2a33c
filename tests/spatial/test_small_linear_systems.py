"""Elimination in the given order matches NumPy, also for masses that are singular without their constraints."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.spatial.constrained_linear_systems import solve_constrained
from linkwork.spatial.scalar import lu


@pytest.mark.parametrize("size", [1, 2, 5, 9])
def test_linear_systems_with_positive_symmetric_part_are_solved(size: int) -> None:
    rng = np.random.default_rng(size)
    A, b = rng.normal(size=(size, size)), rng.normal(size=(size, 3))
    A = A - A.T + A @ A.T + np.eye(size)
    assert np.abs(lu(A).solve(b) - np.linalg.solve(A, b)).max() < 1e-12
    assert np.abs(lu(A).solve(b[:, 0]) - np.linalg.solve(A, b[:, 0])).max() < 1e-12


@pytest.mark.parametrize("held", [0, 1, 3])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_linear_equations_with_constraints_are_solved(held: int, scale: float) -> None:
    """K is singular along the constraints, which differ in scale by orders of magnitude."""
    rng = np.random.default_rng(held)
    C = rng.normal(size=(held, 6)) * scale ** np.arange(held)[:, None]
    free = np.linalg.svd(np.vstack([C, np.zeros((6 - held, 6))]))[2][held:]
    K = free.T @ np.diag(rng.uniform(1.0, 2.0, 6 - held)) @ free
    B = C.T * (1.0 + 0.1 * rng.normal(size=(6, held)))
    r, s = rng.normal(size=6), scale ** np.arange(held) * rng.normal(size=held)
    u, w = solve_constrained(K, B, C, r, s)
    assert np.abs(K @ u + B @ w - r).max() < 1e-11
    assert np.abs((C @ u - s) / scale ** np.arange(held)).max(initial=0.0) < 1e-11
