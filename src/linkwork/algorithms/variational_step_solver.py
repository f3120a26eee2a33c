"""Linear-time solver for the Newton equations between two positions of a tree (S4 5.12 to 5.24, Algorithm 5.1).

The derivative of the discrete equations of motion is K = J_0^T B J_1: momenta of bodies in the first position by their
twists in the second. It is solved like forward dynamics, by the articulated-body algorithm, but with two positions:
wrenches are propagated inward in the first position, twists outward in the second. Wendlandt eliminates a body's
position, quaternion and joint multipliers together. In joint coordinates the multipliers do not appear, and his
7 + 1 + n_c equations for a body reduce to one per degree of freedom of its joint.

Coupling between joints is a compliant row: a force lambda = right v on the joints `left`, such as that of a rotor that
turns with several joints. Its force and rate are propagated inward with the twists and wrenches of the bodies, which
get one more component, up to the body inboard of all its joints. There lambda is eliminated like a joint velocity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.constraints.articulated_constraints import Rows, passages_of
from linkwork.algorithms.constraints.velocity_constraints import Path, path_of
from linkwork.algorithms.tree_traversal import inward, outward
from linkwork.model.mechanism import WORLD, Mechanism
from linkwork.spatial import Force, Motion, Transform
from linkwork.spatial.scalar import LU, Array, lu, may_be_nonzero


class Position(NamedTuple):
    """Joint poses X and subspaces S of all bodies in one position."""

    X: list[Transform]
    S: list[Motion]


class Row(NamedTuple):
    """A compliant row: forces `left` (nv,) times the rate `right` (nv,) @ velocities, and its path."""

    left: Array
    right: Array
    path: Path


def row(mechanism: Mechanism, left: Array, right: Array) -> Row:
    """The row with forces `left` (nv,) and rate `right` (nv,) of a tree; its path covers possibly nonzero entries."""
    nonzero = [may_be_nonzero(a) or may_be_nonzero(b) for a, b in zip(left, right, strict=True)]
    joints = [j.name for j in mechanism.joints if any(nonzero[j.v])]
    return Row(left, right, path_of(mechanism, joints) if joints else Path(1, (), WORLD))


class Eliminated(NamedTuple):
    """Unknowns eliminated at a body, with their pivot D (d, d).

    They depend by V (d, 6 + k) on the body's twist and on the forces of the remaining `rows` (k,), and contribute
    U (6 + k, d) to its wrench and to the rates of these rows.
    """

    D: LU
    U: Array
    V: Array
    rows: Rows


class TwoPoses:
    """Factors of K = J_0^T B J_1 + own + sum left right^T; `solve` maps joint forces to joint velocities."""

    def __init__(
        self,
        mechanism: Mechanism,
        first: Position,
        second: Position,
        B: Callable[[int], Array],
        own: Array,
        rows: Sequence[Row] = (),
    ):
        """`B(k)` (6, 6) is evaluated once per body; `own` (nv,) is the diagonal contribution of the joints."""
        self.mechanism, self.first, self.second = mechanism, first, second
        self.joints: dict[int, Eliminated] = {}
        self.eliminated: dict[int, Eliminated] = {}
        through, self.ending = passages_of(mechanism, [one.path for one in rows])
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
        """K^-1 r for r of shape (nv,) or (nv, k)."""
        columns = np.shape(r)[1:]
        none = np.zeros((6, *columns))
        z = [none for _ in self.mechanism.bodies]
        w: list[dict[int, Any]] = [{} for _ in self.mechanism.bodies]  # of rows that are not eliminated yet
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
                more = eliminated.D.solve(eliminated.V @ _with(twist, eliminated.rows, known))
                known.update(zip(self.ending[k], forces[k] - more, strict=True))

        twists, found = [none], [np.zeros((0, *columns))]
        recover(WORLD, none)
        for j in outward(self.mechanism):
            k, joint = j.o, self.joints[j.o]
            inherited = self.second.X[k].down(Motion.of(twists[j.i])).array if j.i != WORLD else none
            found.append(free[k] - joint.D.solve(joint.V @ _with(inherited, joint.rows, known)))
            twists.append(inherited + self.second.S[k].array @ found[k])
            recover(k, twists[k])
        return np.concatenate(found)


class _OpenRows(NamedTuple):
    """Derivative of a body's wrench and the rates of remaining `rows` by its twist and their forces: (6 + k, 6 + k)."""

    rows: Rows
    array: Array

    def at(self, rows: Rows) -> _OpenRows:
        """The same for another set of rows, with zeros for new rows."""
        if rows == self.rows:
            return self
        count = len(self.rows)
        k = [*range(6), *(6 + (self.rows.index(row) if row in self.rows else count) for row in rows)]
        return _OpenRows(rows, np.pad(self.array, (0, 1), constant_values=0.0)[k][:, k])

    def __add__(self, other: Any) -> _OpenRows:
        rows = tuple(sorted({*self.rows, *other.rows}))
        return _OpenRows(rows, self.at(rows).array + other.at(rows).array)

    def eliminate(self, rows: Rows) -> tuple[Eliminated, _OpenRows]:
        """Eliminate the forces of `rows`; return how they follow from other unknowns, and the other rows."""
        others = tuple(row for row in self.rows if row not in rows)
        Q, n = self.at((*others, *rows)).array, 6 + len(others)
        D, U, V = lu(Q[n:, n:] - np.eye(len(rows))), Q[:n, n:], Q[n:, :n]  # rate minus force is zero
        return Eliminated(D, U, V, others), _OpenRows(others, Q[:n, :n] - U @ D.solve(V))


def _add(to: dict[int, Any], rows: Any, values: Any) -> None:
    for number, value in zip(rows, values, strict=True):
        to[number] = to[number] + value if number in to else value


def _with(twist: Array, rows: Rows, known: dict[int, Any]) -> Array:
    return np.concatenate([twist, np.array([known[n] for n in rows])]) if rows else twist
