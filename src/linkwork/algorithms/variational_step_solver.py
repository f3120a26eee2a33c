"""Linear-time solver for the Newton equations of a variational step of a tree (S4 5.12 to 5.24, Algorithm 5.1).

The derivative of the discrete equations of motion is K = J_0^T B J_1: momenta of bodies in the first position by their
twists in the second. The solver is the articulated-body algorithm of forward dynamics with two positions: wrenches are
propagated inward in the first position, twists outward in the second. Wendlandt eliminates a body's position,
quaternion and joint multipliers together. In joint coordinates the multipliers do not appear, and his 7 + 1 + n_c
equations for a body reduce to one per degree of freedom of its joint.

A compliant row couples joints: the joint forces are `left` times lambda = right v. An example is a rotor that turns
with several joints. lambda and its rate are propagated inward with the twists and wrenches of the bodies, which get one
more component, up to the body inboard of all joints of the row. There lambda is eliminated like a joint velocity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.constraints.articulated_constraints import RowNumbers, rows_of_paths
from linkwork.algorithms.constraints.velocity_constraints import Path, path_of
from linkwork.algorithms.tree_traversal import inward, outward
from linkwork.model.mechanism import WORLD, Mechanism
from linkwork.spatial import Force, Motion, Transform
from linkwork.spatial.scalar import LU, Array, lu, may_be_nonzero


class Position(NamedTuple):
    """Pose X of every body in its inboard body, and motion subspace S of its joint, in one position of the tree."""

    X: list[Transform]
    S: list[Motion]


class CompliantRow(NamedTuple):
    """A compliant row: it adds `left` right^T to K, both (nv,), and has a path of joints."""

    left: Array
    right: Array
    path: Path


def compliant_row(mechanism: Mechanism, left: Array, right: Array) -> CompliantRow:
    """Return the row with forces `left` (nv,) and rate `right` (nv,) @ v; its path covers possibly nonzero entries."""
    nonzero = [may_be_nonzero(a) or may_be_nonzero(b) for a, b in zip(left, right, strict=True)]
    joints = [j.name for j in mechanism.joints if any(nonzero[j.v])]
    return CompliantRow(left, right, path_of(mechanism, joints) if joints else Path(1, (), WORLD))


class Eliminated(NamedTuple):
    """Unknowns that are eliminated at a body, d joint velocities or row forces, with their pivot D (d, d).

    They depend by V (d, 6 + k) on the body's twist and on the forces of the remaining `rows` (k,), and contribute U (6
    + k, d) to the body's wrench and to the rates of these rows.
    """

    D: LU
    U: Array
    V: Array
    rows: RowNumbers


class VariationalFactors:
    """Factors of K = J_0^T B J_1 + diag(own) + sum left right^T; `solve` maps joint forces to joint velocities."""

    def __init__(
        self,
        mechanism: Mechanism,
        first: Position,
        second: Position,
        B: Callable[[int], Array],
        own: Array,
        rows: Sequence[CompliantRow] = (),
    ):
        """Factor K for the positions `first` and `second` of a tree.

        `B(k)` (6, 6) is called once for each body k; `own` (nv,) is the diagonal contribution of the joints; each of
        `rows` adds left right^T.
        """
        self.mechanism, self.first, self.second = mechanism, first, second
        self.joints: dict[int, Eliminated] = {}
        self.eliminated: dict[int, Eliminated] = {}
        through, self.ending = rows_of_paths(mechanism, [one.path for one in rows])
        left, right = np.array([one.left for one in rows]), np.array([one.right for one in rows])
        open_rows = [_OpenRows((), np.zeros((6, 6))) for _ in mechanism.bodies]
        for j in inward(mechanism):
            k, passing = j.o, through[j.o]
            P = _OpenRows((), B(k)) + open_rows[k]
            if self.ending[k]:
                self.eliminated[k], P = P.eliminate(self.ending[k])
            P = P.at(passing).array
            S = first.S[k].array, second.S[k].array
            U, V = P[:, :6] @ S[1], S[0].T @ P[:6]
            D = lu(S[0].T @ U[:6] + np.diag(own[j.v]))
            if passing:
                n = list(passing)
                U = np.concatenate([U[:6], U[6:] + right[n, j.v]])
                V = np.hstack([V[:, :6], V[:, 6:] + left[n, j.v].T])
            self.joints[k] = Eliminated(D, U, V, passing)
            if j.i != WORLD or passing:
                passed = P - U @ D.solve(V)
                raised = np.concatenate([first.X[k].up(Force.of(passed[:6])).array, passed[6:]])
                bodies = second.X[k].up(Force.of(raised[:, :6].T)).array.T
                open_rows[j.i] = open_rows[j.i] + _OpenRows(passing, np.hstack([bodies, raised[:, 6:]]))
        if self.ending[WORLD]:
            self.eliminated[WORLD], _ = open_rows[WORLD].eliminate(self.ending[WORLD])

    def solve(self, r: Array) -> Array:
        """Return K^-1 r for r of shape (nv,) or (nv, k)."""
        columns = np.shape(r)[1:]
        none = np.zeros((6, *columns))
        z = [none for _ in self.mechanism.bodies]
        w: list[dict[int, Any]] = [{} for _ in self.mechanism.bodies]  # rates of rows that are not eliminated yet
        free, forces = {}, {}

        def eliminate(k: int) -> None:
            if k not in self.eliminated:
                return
            eliminated = self.eliminated[k]
            own = np.array([w[k].pop(n, none[0]) for n in self.ending[k]])
            forces[k] = eliminated.D.solve(-own)
            given = eliminated.U @ forces[k]
            z[k] = z[k] + given[:6]
            _add(w[k], eliminated.rows, given[6:])

        for j in inward(self.mechanism):
            k, joint = j.o, self.joints[j.o]
            eliminate(k)
            free[k] = joint.D.solve(r[j.v] - self.first.S[k].array.T @ z[k])
            given = joint.U @ free[k]
            if j.i != WORLD:
                z[j.i] = z[j.i] + self.first.X[k].up(Force.of(z[k] + given[:6])).array
            _add(w[j.i], joint.rows, given[6:])
            _add(w[j.i], w[k], w[k].values())
        eliminate(WORLD)

        known: dict[int, Any] = {}

        def recover(k: int, twist: Array) -> None:
            if k in self.eliminated:
                eliminated = self.eliminated[k]
                more = eliminated.D.solve(eliminated.V @ _with_forces(twist, eliminated.rows, known))
                known.update(zip(self.ending[k], forces[k] - more, strict=True))

        twists, found = [none], [np.zeros((0, *columns))]
        recover(WORLD, none)
        for j in outward(self.mechanism):
            k, joint = j.o, self.joints[j.o]
            inherited = self.second.X[k].down(Motion.of(twists[j.i])).array if j.i != WORLD else none
            found.append(free[k] - joint.D.solve(joint.V @ _with_forces(inherited, joint.rows, known)))
            twists.append(inherited + self.second.S[k].array @ found[k])
            recover(k, twists[k])
        return np.concatenate(found)


class _OpenRows(NamedTuple):
    """Matrix (6 + k, 6 + k) of a body with k compliant rows that are not yet eliminated.

    It is the derivative of the body's wrench and of the rates of `rows` by the body's twist and the forces of `rows`.
    """

    rows: RowNumbers
    array: Array

    def at(self, rows: RowNumbers) -> _OpenRows:
        """Return the same matrix for another set of rows, with zeros for new rows."""
        if rows == self.rows:
            return self
        count = len(self.rows)
        k = [*range(6), *(6 + (self.rows.index(row) if row in self.rows else count) for row in rows)]
        return _OpenRows(rows, np.pad(self.array, (0, 1), constant_values=0.0)[k][:, k])

    def __add__(self, other: Any) -> _OpenRows:
        rows = tuple(sorted({*self.rows, *other.rows}))
        return _OpenRows(rows, self.at(rows).array + other.at(rows).array)

    def eliminate(self, rows: RowNumbers) -> tuple[Eliminated, _OpenRows]:
        """Eliminate the forces of `rows`; return how they depend on other unknowns, and the matrix of other rows."""
        others = tuple(row for row in self.rows if row not in rows)
        Q, n = self.at((*others, *rows)).array, 6 + len(others)
        D, U, V = lu(Q[n:, n:] - np.eye(len(rows))), Q[:n, n:], Q[n:, :n]  # rate minus force is zero
        return Eliminated(D, U, V, others), _OpenRows(others, Q[:n, :n] - U @ D.solve(V))


def _add(to: dict[int, Any], rows: Any, values: Any) -> None:
    """Add values to the entries of a dictionary, by row number."""
    for number, value in zip(rows, values, strict=True):
        to[number] = to[number] + value if number in to else value


def _with_forces(twist: Array, rows: RowNumbers, known: dict[int, Any]) -> Array:
    """Return the twist (6, ...), followed by the known forces of `rows`."""
    return np.concatenate([twist, np.array([known[n] for n in rows])]) if rows else twist
