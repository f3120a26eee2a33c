"""Two-position equations with rows that couple any joints of a tree have the same solution as dense equations."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.algorithms.kinematics import joint_poses, subspaces
from linkwork.algorithms.variational_step_solver import Position, VariationalFactors, compliant_row
from opaque_scalars import from_opaque, to_opaque
from random_mechanisms import tree


@pytest.mark.parametrize("seed", [4, 7, 12, 17, 22])
def test_compliant_rows_match_a_dense_sum_of_outer_products(seed):
    """Solve K + sum left right^T with unequal `left` and `right`, each over up to four joints in any branches."""
    m, rng = tree(seed), np.random.default_rng(seed)
    first, second = [Position(joint_poses(m, q), subspaces(m, q)) for q in (m.random(rng), m.random(rng))]
    inertias = [np.eye(6) + 0.1 * rng.normal(size=(6, 6)) for _ in m.bodies]
    own, movable = rng.uniform(0.1, 1.0, m.nv), [joint for joint in m.joints if joint.kind.nv]
    rows = []
    for count in (1, 2, 3, 4, 2):
        left, right = np.zeros(m.nv), np.zeros(m.nv)
        for k in rng.permutation(len(movable))[:count]:
            at = movable[k].v
            left[at] = rng.normal(size=movable[k].kind.nv)
            right[at] = left[at] + 0.1 * rng.normal(size=movable[k].kind.nv)
        rows.append(compliant_row(m, left, right))
    rows.append(compliant_row(m, np.zeros(m.nv), np.zeros(m.nv)))  # as of a spring along an axis

    def inverse(rows):
        return VariationalFactors(m, first, second, inertias.__getitem__, own, rows).solve(np.eye(m.nv))

    dense = np.linalg.inv(inverse([])) + sum(np.outer(one.left, one.right) for one in rows)
    np.testing.assert_allclose(dense @ inverse(rows), np.eye(m.nv), rtol=0, atol=1e-10)
    one = VariationalFactors(m, first, second, inertias.__getitem__, own, rows).solve(own)
    np.testing.assert_allclose(dense @ one, own, rtol=0, atol=1e-10)
    hidden = VariationalFactors(m, first, second, inertias.__getitem__, to_opaque(own), rows).solve(to_opaque(own))
    np.testing.assert_allclose(from_opaque(hidden), one, rtol=0, atol=1e-11)


def test_compliant_row_path_ends_at_the_common_ancestor():
    """The path of a row ends at the body on which all its joints hang."""
    m = tree(12)
    ends = [joint for joint in m.joints if joint.kind.nv][-2:]
    left = np.zeros(m.nv)
    for joint in ends:
        left[joint.v] = 1.0
    path = compliant_row(m, left, left).path
    assert {joint.name for joint in ends} <= {joint.name for joint in path.joints}
    assert all(path.top != joint.o for joint in path.joints)
    assert len(path.joints) < len(m.joints)
