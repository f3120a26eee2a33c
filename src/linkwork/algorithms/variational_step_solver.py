"""Linear-time solver for the Newton equations of a variational step of a tree (S4, equations 5.12 to 5.24, Algorithm
5.1).

The derivative of the discrete equations of motion is K = J_0^T B J_1: B has the derivatives of the momenta of the
bodies in the first position with respect to their twists in the second. The solver is the articulated-body algorithm of
forward dynamics with two positions: wrenches are propagated inward in the first position, twists outward in the second.
Wendlandt eliminates a body's position, quaternion and joint multipliers together. In joint coordinates the multipliers
do not appear, and his 7 + 1 + n_c equations for a body reduce to one per degree of freedom of its joint.

A compliant row couples joints: the joint forces are `left` times lambda = right v. An example is a rotor that turns
with several joints. lambda and its rate are propagated inward with the twists and wrenches of the bodies, which get one
more component, up to the body inboard of all joints of the row. There lambda is eliminated like a joint velocity.

Constraint rows are eliminated in the same way: the joint forces are J_0^T times the multipliers, with the rows of the
first position, and J_1 v is given, with the rows of the second. The matrix J_1 K^-1 J_0^T of the rows of one loop is
not symmetric. It loses rank with redundant rows, and has negative eigenvalues if the loop passes a singular position
between the two positions; it is solved by damped least squares. The cost of a loop depends on the length of its path
only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.constraints.articulated_body_solver import Constrained, RowNumbers, rows_of_paths
from linkwork.algorithms.constraints.velocity_constraints import Path, path_of, paths
from linkwork.algorithms.tree_traversal import inward, outward
from linkwork.model.mechanism import WORLD, Mechanism
from linkwork.spatial import Force, Motion, Transform
from linkwork.spatial.damped_least_squares import LeastSquares, least_squares_factors
from linkwork.spatial.scalar import LU, Array, lu, may_be_nonzero


class Position(NamedTuple):
    """Pose X of every body in its inboard body, and motion subspace S of its joint, in one position of the tree."""

    X: list[Transform]
    S: list[Motion]


class CompliantRow(NamedTuple):
    """A compliant constraint row between joints, such as that of a rotor, which adds left right^T to Newton's matrix K.

    `left` and `right` are (nv,); `path` has the joints that the row acts on.
    """

    left: Array
    right: Array
    path: Path


def compliant_row(mechanism: Mechanism, left: Array, right: Array) -> CompliantRow:
    """Return the compliant row with joint forces `left` (nv,) per unit multiplier, and with the rate right . v.

    The path of the row contains the joints whose entries of `left` or `right` (nv,) are possibly nonzero.
    """
    nonzero = [may_be_nonzero(a) or may_be_nonzero(b) for a, b in zip(left, right, strict=True)]
    joints = [j.name for j in mechanism.joints if any(nonzero[j.v])]
    return CompliantRow(left, right, path_of(mechanism, joints) if joints else Path(1, (), WORLD))


class Eliminated(NamedTuple):
    """Equations of d unknowns that were eliminated at a body: joint velocities, or forces of the constraint rows `own`.

    D are the factors of the matrix of these equations. `rows` are the numbers of the k rows that remain. In the
    equations of the unknowns, V (d, 6 + k) multiplies the body's twist and the forces of `rows`; U (6 + k, d)
    multiplies the unknowns in the body's wrench and in the rates of `rows`.
    """

    D: LU | LeastSquares
    U: Array
    V: Array
    rows: RowNumbers
    own: RowNumbers = ()


class ConstraintRows(NamedTuple):
    """Jacobian rows (nh, nv) of loops, clutches and brakes in the two positions of a step.

    `first` are the rows in the first position, along which the constraint forces act; `second` are those in the second
    position, which constrain the velocities.
    """

    first: Array
    second: Array


class VariationalFactors:
    """Factors of the Newton matrix K of a variational step, with constraint rows between any joints.

    K (nv, nv) = J_0^T B J_1 + diag(own) + sum left right^T: derivatives of the bodies' momenta, diagonal terms of
    joints, and compliant rows. J_0 and J_1 are the Jacobians of the bodies in the first and the second position.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        first: Position,
        second: Position,
        B: Callable[[int], Array],
        own: Array,
        rows: Sequence[CompliantRow] = (),
        constraints: ConstraintRows | None = None,
    ):
        """Factor the Newton matrix K of a step for the positions `first` and `second` of a tree.

        `B(k)` (6, 6) is the derivative of the momentum of body k, see `momentum_derivative`; `own` (nv,) is the
        diagonal contribution of the joints; each of `rows` adds left right^T. `constraints` are the rows of all
        constraints of the tree, or None to omit them.
        """
        self.mechanism, self.first, self.second = mechanism, first, second
        self.joints: dict[int, Eliminated] = {}
        self.eliminated: dict[int, list[Eliminated]] = {}
        self.rigid = 0 if constraints is None else len(constraints.first)
        rigid_paths = paths(mechanism) if self.rigid else ()
        through, self.ending = rows_of_paths(mechanism, [*rigid_paths, *(one.path for one in rows)])
        left, right = ([getattr(one, side) for one in rows] for side in ("left", "right"))
        left, right = (
            np.array([*(constraints[k] if constraints and self.rigid else ()), *side])
            for k, side in enumerate((left, right))
        )
        open_rows = [_OpenRows((), np.zeros((6, 6))) for _ in mechanism.bodies]
        for j in inward(mechanism):
            k, passing = j.o, through[j.o]
            P = self._eliminate(k, _OpenRows((), B(k)) + open_rows[k]).at(passing).array
            S = first.S[k].array, second.S[k].array
            U, V = P[:, :6] @ S[1], S[0].T @ P[:6]
            D = lu(S[0].T @ U[:6] + np.diag(own[j.v]))
            if passing:
                n = list(passing)
                U = np.concatenate([U[:6], U[6:] + right[n, j.v]])
                V = np.hstack([V[:, :6], V[:, 6:] + left[n, j.v].T])
            self.joints[k] = Eliminated(D, U, V, passing)
            if j.i != WORLD:
                passed = P - U @ D.solve(V)
                raised = np.concatenate([first.X[k].up(Force.of(passed[:6])).array, passed[6:]])
                bodies = second.X[k].up(Force.of(raised[:, :6].T)).array.T
                open_rows[j.i] = open_rows[j.i] + _OpenRows(passing, np.hstack([bodies, raised[:, 6:]]))
            elif passing:  # the world does not move: only the matrix from forces to rates of rows remains
                passed = P[6:, 6:] - U[6:] @ D.solve(V[:, 6:])
                padded = np.pad(passed, ((6, 0), (6, 0)), constant_values=0.0)
                open_rows[WORLD] = open_rows[WORLD] + _OpenRows(passing, padded)
        self._eliminate(WORLD, open_rows[WORLD])

    def _eliminate(self, k: int, P: _OpenRows) -> _OpenRows:
        """Eliminate the rows whose joints are all outboard of body k; return the remaining matrix of the body.

        Compliant rows are eliminated before constraint rows. P is the matrix of the body with all its rows.
        """
        self.eliminated[k] = []
        compliant = tuple(row for row in self.ending[k] if row >= self.rigid)
        for own, factor in ((compliant, _compliant_pivot), (self.ending[k], least_squares_factors)):
            if rows := tuple(row for row in own if row in P.rows):
                eliminated, P = P.eliminate(rows, factor)
                self.eliminated[k].append(eliminated)
        return P

    def solve(self, r: Array) -> Array:
        """Return K^-1 r for r of shape (nv,) or (nv, k); the rates of constraint rows are zero."""
        return self._solve(r, np.zeros((self.rigid, *np.shape(r)[1:])))[0]

    def solve_constrained(self, r: Array, target: Array) -> Constrained:
        """Return v (nv,) and multipliers (nh,) with K v = r + J_0^T multipliers and J_1 v = target (nh,).

        J_0 and J_1 are the constraint rows in the two positions. If no multipliers give the target rates, the result is
        the solution of least squares.
        """
        v, forces = self._solve(r, target)
        return Constrained(v, -np.array([forces.get(row, 0.0) for row in range(self.rigid)]))

    def _solve(self, r: Array, target: Array) -> tuple[Array, dict[int, Any]]:
        """Return K^-1 r with constraint rates `target`: velocities (nv,) or (nv, k), and the constraint forces.

        The constraint forces are a dict from row number to force.
        """
        columns = np.shape(r)[1:]
        none = np.zeros((6, *columns))
        z = [none for _ in self.mechanism.bodies]
        w: list[dict[int, Any]] = [{} for _ in self.mechanism.bodies]  # rates of rows that are not eliminated yet
        free: dict[int, Array] = {}
        forces: dict[int, Any] = {}

        def eliminate(k: int) -> None:
            for eliminated in self.eliminated[k]:
                wanted = [target[n] if n < self.rigid else none[0] for n in eliminated.own]
                rates = [w[k].pop(n, none[0]) for n in eliminated.own]
                own = eliminated.D.solve(np.array(wanted) - np.array(rates))
                given = eliminated.U @ own
                forces.update(zip(eliminated.own, own, strict=True))
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

        def recover(k: int, twist: Array) -> None:
            for eliminated in reversed(self.eliminated[k]):
                more = eliminated.D.solve(eliminated.V @ _with_forces(twist, eliminated.rows, forces))
                forces.update((n, forces[n] - change) for n, change in zip(eliminated.own, more, strict=True))

        twists, found = [none], [np.zeros((0, *columns))]
        recover(WORLD, none)
        for j in outward(self.mechanism):
            k, joint = j.o, self.joints[j.o]
            inherited = self.second.X[k].down(Motion.of(twists[j.i])).array if j.i != WORLD else none
            found.append(free[k] - joint.D.solve(joint.V @ _with_forces(inherited, joint.rows, forces)))
            twists.append(inherited + self.second.S[k].array @ found[k])
            recover(k, twists[k])
        return np.concatenate(found), forces


class _OpenRows(NamedTuple):
    """Matrix (6 + k, 6 + k) of a body with k compliant and constraint rows that are not yet eliminated.

    The matrix `array` is the derivative of the body's wrench and of the rates of the rows `rows`, with respect to the
    body's twist and the forces of these rows.
    """

    rows: RowNumbers
    array: Array

    def at(self, rows: RowNumbers) -> _OpenRows:
        """Return the matrix of the body for another set `rows` of row numbers, with zeros for additional rows."""
        if rows == self.rows:
            return self
        count = len(self.rows)
        k = [*range(6), *(6 + (self.rows.index(row) if row in self.rows else count) for row in rows)]
        return _OpenRows(rows, np.pad(self.array, (0, 1), constant_values=0.0)[k][:, k])

    def __add__(self, other: Any) -> _OpenRows:
        rows = tuple(sorted({*self.rows, *other.rows}))
        return _OpenRows(rows, self.at(rows).array + other.at(rows).array)

    def eliminate(self, rows: RowNumbers, factor: Callable[[Array], LU | LeastSquares]) -> tuple[Eliminated, _OpenRows]:
        """Eliminate the forces of the given `rows`; return the eliminated equations, and the matrix of the other rows.

        `factor` returns the factors of a matrix (l, l), here the derivative of the rates of the l rows with respect to
        their forces.
        """
        others = tuple(row for row in self.rows if row not in rows)
        Q, n = self.at((*others, *rows)).array, 6 + len(others)
        D, U, V = factor(Q[n:, n:]), Q[:n, n:], Q[n:, :n]
        return Eliminated(D, U, V, others, rows), _OpenRows(others, Q[:n, :n] - U @ D.solve(V))


def _compliant_pivot(rates: Array) -> LU:
    """Return the factorized matrix of the equations rate - force = 0 of k compliant rows.

    `rates` (k, k) are the rates of the rows due to unit forces.
    """
    return lu(rates - np.eye(len(rates)))


def _add(to: dict[int, Any], rows: Any, values: Any) -> None:
    """Add values to the entries of the dictionary `to` whose keys are the row numbers `rows`."""
    for number, value in zip(rows, values, strict=True):
        to[number] = to[number] + value if number in to else value


def _with_forces(twist: Array, rows: RowNumbers, known: dict[int, Any]) -> Array:
    """Return a body's twist (6, ...), followed by the forces of the constraint rows `rows`, taken from `known`."""
    return np.concatenate([twist, np.array([known[n] for n in rows])]) if rows else twist
