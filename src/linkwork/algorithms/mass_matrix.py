"""Mass matrix by the composite-rigid-body algorithm, and its sparse factor M = L^T L.

M is (nv, nv). The composite inertia of body k is the inertia of k and all bodies outboard of it, moving as one rigid
body. The factor follows Featherstone, Rigid Body Dynamics Algorithms (2008), section 6.5: with the velocities numbered
outward, L is zero wherever M is zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.kinematics import joint_poses, subspaces
from linkwork.algorithms.rotor_inertia import coupling_matrix
from linkwork.algorithms.tree_traversal import inward, outward, to_root
from linkwork.model.mechanism import Mechanism
from linkwork.spatial import RigidInertia, Transform
from linkwork.spatial.scalar import LDLT, Array, Number, ldlt, may_be_nonzero


def composite_inertias(mechanism: Mechanism, X: list[Transform]) -> list[RigidInertia]:
    """Return the composite inertia of every body, in its frame; entry 0 is that of the whole mechanism in the world.

    X are the poses of the bodies in their inboard bodies.
    """
    composite = [RigidInertia.zero(), *(body.inertia for body in mechanism.bodies[1:])]
    for j in inward(mechanism):
        composite[j.i] = composite[j.i] + X[j.o].up(composite[j.o])
    return composite


def mass_matrix(mechanism: Mechanism, q: Array) -> Array:
    """Return the mass matrix M (nv, nv) [kg m^2, kg m, kg], with armature: the kinetic energy is v^T M v / 2.

    q (nq,) [rad or m, or quaternions] are the coordinates.
    """
    X, S = joint_poses(mechanism, q), subspaces(mechanism, q)
    composite = composite_inertias(mechanism, X)
    M: list[list[Number]] = [[0.0] * mechanism.nv for _ in range(mechanism.nv)]
    for j in inward(mechanism):
        force = composite[j.o] @ S[j.o]  # force on the subtree for unit accelerations of joint j
        for k in to_root(mechanism, j.o):
            _write_symmetric_block(M, k.v, j.v, S[k.o].pair(force))
            force = X[k.o].up(force)
    for d, rotor in enumerate(mechanism.armature):
        M[d][d] = M[d][d] + rotor
    return np.array(M).reshape(mechanism.nv, mechanism.nv) + coupling_matrix(mechanism)


def _write_symmetric_block(M: list[list[Number]], rows: slice, columns: slice, block: Array) -> None:
    """Write `block` into the given rows and columns of the symmetric matrix M, and its transpose at the mirrored place.

    Of a diagonal block, the lower half is copied to the upper half.
    """
    for a, r in enumerate(range(rows.start, rows.stop)):
        for b, c in enumerate(range(columns.start, columns.stop)):
            if rows != columns or b <= a:
                M[r][c] = M[c][r] = block[a, b]


class LTL(NamedTuple):
    """Sparse factor L of the mass matrix M = L^T L: `rows[i]` maps index j to L_ij, for j = i and its ancestors.

    Indices are those of the velocities; the ancestors of i are the velocities inboard of it. `pivots[i]` is 1 / L_ii.
    """

    rows: list[dict[int, Number]]
    pivots: list[Number]

    def solve(self, b: Array) -> Array:
        """Return M^-1 b for b of shape (nv,) or (nv, k): solve L^T y = b inward, then L x = y outward."""
        y: dict[int, Any] = {}
        outer: list[list[int]] = [[] for _ in self.rows]
        for i, row in enumerate(self.rows):
            for j in row.keys() - {i}:
                outer[j].append(i)
        for j in reversed(range(len(self.rows))):
            total = b[j]
            for i in outer[j]:
                total = total - y[i] * self.rows[i][j]
            y[j] = total * self.pivots[j]
        x: list[Any] = []
        for i, row in enumerate(self.rows):
            total = y[i]
            for j in list(row)[1:]:
                total = total - x[j] * row[j]
            x.append(total * self.pivots[i])
        return np.array(x).reshape(np.shape(b))

    def inverse(self) -> InverseLTL:
        """Return the inverse factor L^-1, as sparse as L: row i has entries for velocity i and its ancestors only."""
        rows: list[dict[int, Number]] = []
        for i, row in enumerate(self.rows):
            found: dict[int, Number] = {i: self.pivots[i]}
            for k in list(row)[1:]:
                for j, entry in rows[k].items():
                    found[j] = found.get(j, 0.0) - row[k] * entry
            rows.append({j: entry if j == i else entry * self.pivots[i] for j, entry in found.items()})
        return InverseLTL(rows)


class InverseLTL(NamedTuple):
    """Sparse inverse factor of M^-1 = L^-1 L^-T: `rows[i]` maps velocity j to entry i, j of L^-1.

    Entries exist for j = i and its ancestors, the velocities inboard of i.
    """

    rows: list[dict[int, Number]]

    def solve(self, b: Array) -> Array:
        """Return M^-1 b for b (nv,) or (nv, k).

        For many columns this is cheaper than `LTL.solve`, because zeros of b are skipped.
        """
        y: list[Any] = [0.0] * len(self.rows)
        for row, number in zip(self.rows, b, strict=True):
            for k, entry in row.items():
                y[k] = y[k] + entry * number
        return np.array([sum(entry * y[k] for k, entry in row.items()) for row in self.rows]).reshape(np.shape(b))

    def matrix(self) -> Array:
        """Return the inverse mass matrix M^-1 (nv, nv); an entry is a sum over common ancestors of two velocities."""
        n = len(self.rows)
        M: list[list[Number]] = [[0.0] * n for _ in range(n)]
        for i, row in enumerate(self.rows):
            for j in range(i + 1):
                M[i][j] = M[j][i] = sum(x * self.rows[j][k] for k, x in row.items() if k in self.rows[j])
        return np.array(M).reshape(n, n)


def dof_parents(mechanism: Mechanism) -> list[int]:
    """Return, for each velocity (nv,), the index of the next velocity inboard of it; -1 if there is none."""
    parent: list[int] = []
    last = {0: -1}  # last velocity of each body's inboard joint
    for j in outward(mechanism):
        for d in range(j.v.start, j.v.stop):
            parent.append(last[j.i] if d == j.v.start else d - 1)
        last[j.o] = j.v.stop - 1
    return parent


def _velocities_to_world(parent: list[int], i: int) -> Iterator[int]:
    """Yield velocity i, then all velocities inboard of it; `parent` is the result of `dof_parents`."""
    while i >= 0:
        yield i
        i = parent[i]


def matrix_factors(mechanism: Mechanism, M: Array) -> LTL | LDLT:
    """Return factors of a symmetric matrix M (nv, nv), such as the mass matrix.

    The factors are sparse if M has the structural zeros of the tree, and dense if rotors, springs or mimic joints
    couple branches.
    """
    parent, n = dof_parents(mechanism.tree), len(M)
    inboard = [list(_velocities_to_world(parent, i)) for i in range(len(parent))]
    if len(parent) == n and not any(may_be_nonzero(M[i, j]) for i in range(n) for j in set(range(i)) - {*inboard[i]}):
        return factor(mechanism, M)
    return ldlt(M)


def factor(mechanism: Mechanism, M: Array) -> LTL:
    """Return the sparse factor L of the mass matrix M = L^T L of a tree, computed from the outermost velocity inward.

    Entries that are zero by the structure of the tree are skipped.
    """
    parent = dof_parents(mechanism)
    rows: list[dict[int, Number]] = [{j: M[i, j] for j in _velocities_to_world(parent, i)} for i in range(mechanism.nv)]
    pivots: list[Number] = [0.0] * mechanism.nv
    for k in reversed(range(mechanism.nv)):
        row = rows[k]
        ancestors = list(row)[1:]
        row[k] = np.sqrt(row[k])
        pivots[k] = 1.0 / row[k]
        for i in ancestors:
            row[i] = row[i] * pivots[k]
        for i in ancestors:
            for j in rows[i]:
                rows[i][j] = rows[i][j] - row[i] * row[j]
    return LTL(rows, pivots)
