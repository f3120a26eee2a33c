"""Compositions of symmetric steps: their parts obey the conditions of their order, and errors fall accordingly."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.errors import LinkworkError
from linkwork.simulation.composition import COMPOSITIONS, composition, substeps


@pytest.mark.parametrize("one", COMPOSITIONS, ids=lambda one: one.name)
def test_parts_are_symmetric_and_cancel_odd_powers(one):
    parts = np.array(one.parts)
    assert np.array_equal(parts, parts[::-1])
    assert abs(parts.sum() - 1.0) < 1e-15
    for power in range(3, one.order, 2):
        assert abs((parts**power).sum()) < 1e-15


@pytest.mark.parametrize("one", COMPOSITIONS, ids=lambda one: one.name)
def test_errors_of_a_pendulum_fall_by_the_order(one):
    def end(h):
        q, v = 1.2, 0.3
        for _ in range(round(4.0 / h)):
            for part in substeps(one.order, h):
                v = v - 0.5 * part.h * np.sin(q)
                q = q + part.h * v
                v = v - 0.5 * part.h * np.sin(q)
        return np.array([q, v])

    steps = 4.0 / np.array([20, 28, 40]) if one.order > 2 else 4.0 / np.array([80, 160, 320])
    exact = _exact(4.0)
    errors = [np.abs(end(h) - exact).max() for h in steps]
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert one.order - 0.1 < slope < one.order + 0.4


def _exact(t):
    from scipy.integrate import solve_ivp

    found = solve_ivp(lambda _, y: [y[1], -np.sin(y[0])], (0.0, t), [1.2, 0.3], "DOP853", rtol=1e-13, atol=1e-14)
    return found.y[:, -1]


def test_substeps_follow_each_other():
    found = substeps(6, 0.3)
    ends = np.cumsum([one.h for one in found])
    assert np.allclose([one.offset for one in found[1:]], ends[:-1], atol=1e-15)
    assert abs(ends[-1] - 0.3) < 1e-15


def test_other_orders_are_refused_with_those_there_are():
    with pytest.raises(LinkworkError, match="2, 4, 6"):
        composition(3)
