"""Equations between two positions, with rows that couple joints anywhere in a tree, are solved as dense ones are."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.algorithms.kinematics import joint_poses, subspaces
from linkwork.algorithms.two_position_solver import Position, TwoPoses, row
from opaque import hide, reveal
from zoo import tree


@pytest.mark.parametrize("seed", [4, 7, 12, 17, 22])
def test_rows_that_yield_are_a_sum_of_products(seed):
    """Of K + sum left right^T, where `left` and `right` differ, of up to four joints each, in any branches."""
    m, rng = tree(seed), np.random.default_rng(seed)
    first, second = [Position(joint_poses(m, q), subspaces(m, q)) for q in (m.random(rng), m.random(rng))]
    inertias = [np.eye(6) + 0.1 * rng.normal(size=(6, 6)) for _ in m.bodies]
    own, moving = rng.uniform(0.1, 1.0, m.nv), [joint for joint in m.joints if joint.kind.nv]
    rows = []
    for count in (1, 2, 3, 4, 2):
        left, right = np.zeros(m.nv), np.zeros(m.nv)
        for k in rng.permutation(len(moving))[:count]:
            at = moving[k].v
            left[at] = rng.normal(size=moving[k].kind.nv)
            right[at] = left[at] + 0.1 * rng.normal(size=moving[k].kind.nv)
        rows.append(row(m, left, right))
    rows.append(row(m, np.zeros(m.nv), np.zeros(m.nv)))  # as of a spring along an axis

    def inverse(rows):
        return TwoPoses(m, first, second, inertias.__getitem__, own, rows).solve(np.eye(m.nv))

    dense = np.linalg.inv(inverse([])) + sum(np.outer(one.left, one.right) for one in rows)
    np.testing.assert_allclose(dense @ inverse(rows), np.eye(m.nv), rtol=0, atol=1e-10)
    one = TwoPoses(m, first, second, inertias.__getitem__, own, rows).solve(own)
    np.testing.assert_allclose(dense @ one, own, rtol=0, atol=1e-10)
    hidden = TwoPoses(m, first, second, inertias.__getitem__, hide(own), rows).solve(hide(own))
    np.testing.assert_allclose(reveal(hidden), one, rtol=0, atol=1e-11)


def test_a_row_goes_only_where_it_has_something_to_do():
    """Its path ends at the body on which all its joints hang."""
    m = tree(12)
    ends = [joint for joint in m.joints if joint.kind.nv][-2:]
    left = np.zeros(m.nv)
    for joint in ends:
        left[joint.v] = 1.0
    path = row(m, left, left).path
    assert {joint.name for joint in ends} <= {joint.name for joint in path.joints}
    assert all(path.top != joint.o for joint in path.joints)
    assert len(path.joints) < len(m.joints)
