"""Starts of discrete systems are projected only along their constraints, also if these are redundant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw

NOISE = (1e-15, 3e-15, 1e-14, 1e-12)  # as far as sums in another order, or on another processor, may differ


def point(x: Any, xdot: Any) -> Any:
    return 0.5 * (xdot @ xdot) - 9.81 * x[2]


@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_duplicated_constraint_counts_once_in_the_projection_of_initial_states(noise: float, size: float) -> None:
    n = np.array([0.6, 0.0, 0.8])

    def planes(x: Any) -> Any:
        return np.stack([n @ x - 1.0, size * (n @ x + noise * x[1] - 1.0)])

    along = np.array([0.8, 0.0, -0.6])
    x, xdot = lw.discrete(point, planes).consistent(1.3 * n + along + [0.0, 2.0, 0.0], [1.0, 2.0, 3.0])
    assert np.abs(x - (n + along + [0.0, 2.0, 0.0])).max() < 1e-9
    assert np.abs(xdot - (np.array([1.0, 2.0, 3.0]) - 3.0 * n)).max() < 1e-9


def test_initial_states_satisfy_constraints_of_very_different_scale() -> None:
    def planes(x: Any) -> Any:
        return np.stack([1e6 * (x[0] - 1.0), 1e-6 * (x[1] - 2.0)])

    x, xdot = lw.discrete(point, planes).consistent([3.0, 3.0, 3.0], [1.0, 1.0, 1.0])
    assert np.allclose(x, [1.0, 2.0, 3.0], atol=1e-7)
    assert np.allclose(xdot, [0.0, 0.0, 1.0], atol=1e-9)
