"""Two-position equations with rows that couple any joints of a tree have the same solution as dense equations."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from iftomm_linkages import bricard, four_bars
from linkwork.algorithms.constraints.dense_solver import DenseConstraints
from linkwork.algorithms.kinematics import joint_poses, subspaces
from linkwork.algorithms.variational_step_solver import ConstraintRows, Position, VariationalFactors, compliant_row
from linkwork.examples import four_bar_ladder
from random_mechanisms import tree
from scalars_of_unknown_value import from_opaque, to_opaque


@pytest.mark.parametrize("seed", [4, 7, 12, 17, 22])
def test_step_equations_with_compliant_rows_match_dense_equations(seed):
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


@pytest.mark.parametrize("cells", [1, 3])
@pytest.mark.parametrize("build", [four_bar_ladder.build, four_bars, lambda _: bricard()])
def test_step_equations_with_rows_at_both_ends_of_a_step_match_dense_equations(build, cells):
    """Loops that end at bodies and at the world, with redundant rows, and a compliant row across two joints."""
    m, rng = build(cells), np.random.default_rng(cells)
    start = m.keyframes["start"].q if "start" in m.keyframes else m.neutral()
    d = lw.compile(m)
    coordinates = [d.assemble(start + 0.1 * rng.normal(size=m.nq)) for _ in range(2)]
    first, second = [Position(joint_poses(m, q), subspaces(m, q)) for q in coordinates]
    rows = ConstraintRows(*(d.constraint_jacobian(q) for q in coordinates))
    inertias = [np.eye(6) + 0.1 * rng.normal(size=(6, 6)) for _ in m.bodies]
    left = np.zeros(m.nv)
    left[[0, -1]] = 1.0, -2.0
    factors = (m, first, second, inertias.__getitem__, np.ones(m.nv), [compliant_row(m, left, 0.5 * left)])
    r, target = rng.normal(size=m.nv), rows.second @ rng.normal(size=m.nv)
    v, multipliers = VariationalFactors(*factors, rows).solve_constrained(r, target)
    solve = VariationalFactors(*factors).solve
    np.testing.assert_allclose(solve(r + rows.first.T @ multipliers), v, rtol=0, atol=1e-10)
    np.testing.assert_allclose(rows.second @ v, target, rtol=0, atol=1e-9)
    dense = DenseConstraints.of_two(*rows, solve).solve_constrained(r, target)
    np.testing.assert_allclose(dense.a, v, rtol=0, atol=1e-8)


def test_path_of_a_compliant_row_ends_at_the_common_ancestor_of_its_joints():
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
