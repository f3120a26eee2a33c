"""Articulated-body algorithm for closed loops, in linear time.

This is Algorithm 3.3 of S4 (Wendlandt), extended by the multipliers lambda of the loops that pass through a joint as
further unknowns. P_k is the articulated inertia of body k, A_k its acceleration, and E_k has the unit wrenches of the
constraint rows on the body. The wrench F_k on body k, and the part y_k of the constraint rows' rates due to the joints
outboard of k, are

    F_k = P_k A_k + z_k + E_k lambda        y_k = -E_k^T A_k + W_k lambda + w_k

At the body where both branches of a loop meet, y + damping lambda = target determines the loop's multipliers and
eliminates them. The cost of a loop depends on the length of its path only: a long chain of short loops has linear cost.

The rotor of a drive that turns with several joints is a compliant row. The row is scaled so that half the square of its
rate is the rotor's kinetic energy; the force along it is minus its acceleration, y + lambda = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.constraints.constraint_tolerances import ADDED_DIAGONAL, CORRECTIONS
from linkwork.algorithms.constraints.velocity_constraints import Path, paths, rotor_paths
from linkwork.algorithms.kinematics import Kinematics
from linkwork.algorithms.tree_traversal import inward, outward
from linkwork.model.mechanism import WORLD, Mechanism
from linkwork.spatial import ArticulatedInertia, Force, Motion
from linkwork.spatial.scalar import LDLT, Array, Condition, Number, ldlt, where
from linkwork.tolerances import TINY_SIZE

RowNumbers = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class OpenRows:
    """Constraint rows that act through a body and whose multipliers are not yet eliminated at this body.

    For k rows with multipliers lambda (k,): E lambda is the rows' wrench on the body, with E (6, k). W lambda, with W
    (k, k), is the part of the row rates that the multipliers cause through the joints outboard of the body. `rows` are
    the numbers of the rows. `joint_part` (k,) is the part of the diagonal of W that the motion of joints causes.
    """

    rows: RowNumbers
    E: Force
    W: Array
    joint_part: Array

    def at(self, rows: RowNumbers) -> OpenRows:
        """Return the open rows for other row numbers `rows`, with zeros for rows that are not in `self.rows`."""
        count = len(self.rows)
        k = [self.rows.index(row) if row in self.rows else count for row in rows]
        E = np.column_stack([self.E.array, np.zeros(6)])
        W = np.block([[self.W, np.zeros((count, 1))], [np.zeros((1, count + 1))]])
        return OpenRows(rows, Force.of(E[:, k]), W[k][:, k], np.append(self.joint_part, 0.0)[k])

    def __add__(self, other: OpenRows) -> OpenRows:
        rows = tuple(sorted({*self.rows, *other.rows}))
        a, b = self.at(rows), other.at(rows)
        return OpenRows(rows, a.E + b.E, a.W + b.W, a.joint_part + b.joint_part)


NO_ROWS = OpenRows((), Force.of(np.zeros((6, 0))), np.zeros((0, 0)), np.zeros(0))


class Eliminated(NamedTuple):
    """Constraint rows whose multipliers were eliminated at a body, with the matrices to recover these multipliers.

    The l rows with the numbers `rows` were eliminated; the k rows with the numbers `others` remain. E (6, l) has the
    unit wrenches of the eliminated rows on the body. N has the factors of the damped matrix W (l, l) of the eliminated
    rows. `W` (l, k) has the rates of the eliminated rows per unit multiplier of the other rows; see `OpenRows`. `moved`
    is whether any joint moves each eliminated row.
    """

    rows: RowNumbers
    E: Force
    N: LDLT
    others: RowNumbers
    W: Array
    moved: list[Condition]  # whether any joint moves the row


class JointFactors(NamedTuple):
    """Factors of one joint in the articulated-body algorithm, with the constraint rows that pass through the joint.

    The joint has d velocities, the motion subspace S (6, d) and the outboard articulated inertia P. D has the factors
    of S^T P S plus the armature, and G is P S D^-1 (6, d). B (k, d) has the rates of the constraint rows `rows` per
    unit of each joint velocity. `inertia` and E (6, k) are the articulated inertia and the rows' wrenches that the
    joint passes inward.
    """

    D: LDLT
    G: Force
    B: Array
    rows: RowNumbers
    inertia: ArticulatedInertia
    E: Force


class Factored(NamedTuple):
    """Factors of a tree with constraints, from `factorize`: the factors of all joints and of all eliminated rows.

    `eliminated` has the rows eliminated at each body, None if there are none, and `joints` the factors of each inboard
    joint, both by body number. The factors depend on the position only, not on forces.
    """

    eliminated: list[Eliminated | None]
    joints: dict[int, JointFactors]


def factorize(mechanism: Mechanism, motion: Kinematics, J: Array) -> Factored:
    """Return the factors of the equations of motion of a tree with the constraint rows J (nh, nv).

    The factors serve to solve the equations for any forces. J may have no rows. The rotors of drives that turn with
    several joints are included. `motion` has the kinematics of the tree.
    """
    rigid_count = len(J)
    J = np.concatenate([J, *(rotor.scaled[None] for rotor in mechanism.rotors)])
    P = [body.inertia.articulated() for body in mechanism.bodies]
    open_rows = [NO_ROWS for _ in mechanism.bodies]
    eliminated: list[Eliminated | None] = [None for _ in mechanism.bodies]
    joints: dict[int, JointFactors] = {}
    through, ending = rows_by_joint_and_body(mechanism, rigid_count)
    for j in inward(mechanism):
        k = j.o
        if ending[k]:
            eliminated[k], P[k], open_rows[k] = _eliminate(ending[k], P[k], open_rows[k], rigid_count)
        S, open_ = motion.S[k], open_rows[k].at(through[k])
        U = P[k] @ S
        D = ldlt(S.pair(U) + np.diag(mechanism.armature[j.v]))
        G = Force.of(D.solve(U.array.T).T)
        B = J[list(through[k]), j.v] - open_.E.array.T @ S.array
        DB = D.solve(B.T)  # shape (d, k)
        E = open_.E + U @ DB
        joints[k] = JointFactors(D, G, B, through[k], P[k].less(U, G), E)
        X = motion.X[k]
        if j.i != WORLD:
            P[j.i] = P[j.i] + X.up(joints[k].inertia)
        added = B @ DB
        joint_part = open_.joint_part + np.array([added[n, n] for n in range(len(added))])
        open_rows[j.i] = open_rows[j.i] + OpenRows(through[k], X.up(E), open_.W + added, joint_part)
    if ending[WORLD]:
        eliminated[WORLD], _, _ = _eliminate(ending[WORLD], P[WORLD], open_rows[WORLD], rigid_count)
    return Factored(eliminated, joints)


def _eliminate(
    rows: RowNumbers, P: ArticulatedInertia, open_rows: OpenRows, rigid_count: int
) -> tuple[Eliminated, ArticulatedInertia, OpenRows]:
    """Eliminate the multipliers of the constraint rows with the numbers `rows` at a body.

    Return the factors of the eliminated rows, the articulated inertia of the body after the elimination, and the
    remaining rows. P is the articulated inertia of the body before the elimination. `open_rows` are all rows that are
    not yet eliminated at the body. Rows with numbers from `rigid_count` on are compliant: rows of rotors.
    """
    others = tuple(row for row in open_rows.rows if row not in rows)
    both = open_rows.at((*rows, *others))
    count = len(rows)
    E, rest = Force.of(both.E.array[:, :count]), Force.of(both.E.array[:, count:])
    W = both.W[:count, count:]
    rigid = [row < rigid_count for row in rows]
    joint_part = [m for m, holds in zip(both.joint_part, rigid, strict=False) if holds]
    # TINY_SIZE avoids a division by zero for loops between bodies that cannot move
    damping = sum(joint_part, 0.0) * (ADDED_DIAGONAL / max(len(joint_part), 1)) + TINY_SIZE
    N = ldlt(both.W[:count, :count] + np.diag([damping if holds else 1.0 for holds in rigid]))
    moved = [part > 0.0 for part in both.joint_part[:count]]
    NW = N.solve(W)
    left = OpenRows(others, rest - E @ NW, both.W[count:, count:] - W.T @ NW, both.joint_part[count:])
    return Eliminated(rows, E, N, others, W, moved), P.less(-E, Force.of(N.solve(E.array.T).T)), left


def rows_by_joint_and_body(mechanism: Mechanism, rigid_count: int) -> tuple[list[RowNumbers], list[RowNumbers]]:
    """Return, by body number, the rows that act on the inboard joint, and the rows that are eliminated at the body.

    Rows are given by their numbers. The rows of loops, clutches and brakes are numbered first, then those of rotors.
    `rigid_count` is the number of rows of loops, clutches and brakes, or 0 to omit these rows.
    """
    return rows_of_paths(mechanism, (*(paths(mechanism) if rigid_count else ()), *rotor_paths(mechanism)))


def rows_of_paths(mechanism: Mechanism, along: Sequence[Path]) -> tuple[list[RowNumbers], list[RowNumbers]]:
    """Return, by body number, the rows that act on the inboard joint, and the rows that are eliminated at the body.

    Rows are given by their numbers. Each path in `along` has the joints on which one constraint acts; the rows are
    numbered in the order of the paths.
    """
    through: list[list[int]] = [[] for _ in mechanism.bodies]
    ending: list[list[int]] = [[] for _ in mechanism.bodies]
    start = 0
    for path in along:
        rows = range(start, start := start + path.size)
        for j in path.joints:
            through[j.o] += rows
        ending[path.top] += rows
    return [tuple(rows) for rows in through], [tuple(rows) for rows in ending]


class Constrained(NamedTuple):
    """Accelerations a (nv,) and constraint multipliers lambda (nc,) [N or N m] of a mechanism with constraints.

    The k rows of a loop exert the wrench C lambda on the loop's frame B, where C (6, k) are the wrenches of unit
    multipliers, about its origin in its axes.
    """

    a: Array
    multipliers: Array


def solve_damped(
    mechanism: Mechanism,
    motion: Kinematics,
    closed: Factored,
    tau: Array,
    z: Sequence[Force],
    bias: Sequence[Motion],
    base: Motion,
    target: Array,
) -> Constrained:
    """Return the accelerations a (nv,) and multipliers (nc,) with J a = target (nc,), except for a small damping error.

    `closed` are the factors of the tree with the rows J, and tau (nv,) [N m or N] are joint forces. z are the wrenches
    that the bodies require at zero acceleration, and `bias` the velocity-dependent accelerations of the bodies. `base`
    is the acceleration of the world, and `motion` has the kinematics. The rows are damped so that redundant rows can be
    solved; `refine_solution` removes the resulting error.
    """
    z = list(z)
    w: list[dict[int, Number]] = [{} for _ in mechanism.bodies]
    free, own = {}, {}

    def eliminate(k: int) -> None:
        eliminated = closed.eliminated[k]
        if eliminated is None:
            return
        pairs = zip(eliminated.moved, eliminated.rows, strict=True)
        wanted = [where(moved, target[row], 0.0) if row < len(target) else 0.0 for moved, row in pairs]
        residual = [x - w[k].pop(row, 0.0) for x, row in zip(wanted, eliminated.rows, strict=True)]
        own[k] = eliminated.N.solve(np.array(residual))
        z[k] = z[k] + eliminated.E @ own[k]
        _add(w[k], eliminated.others, eliminated.W.T @ own[k])

    for j in inward(mechanism):
        k = j.o
        eliminate(k)
        joint, X = closed.joints[k], motion.X[k]
        free[k] = tau[j.v] - motion.S[k].pair(z[k])
        if j.i != WORLD:
            z[j.i] = z[j.i] + X.up(joint.inertia @ bias[k] + z[k] + joint.G @ free[k])
        if joint.rows:
            _add(w[j.i], joint.rows, [w[k].get(row, 0.0) for row in joint.rows])
            _add(w[j.i], joint.rows, joint.B @ joint.D.solve(free[k]) - bias[k].pair(joint.E))
    eliminate(WORLD)

    found: dict[int, Number] = {}

    def recover(k: int, acc: Motion) -> None:
        eliminated = closed.eliminated[k]
        if eliminated is None:
            return
        known = np.array([found[row] for row in eliminated.others])
        more = eliminated.N.solve(acc.pair(eliminated.E) - eliminated.W @ known)
        found.update(zip(eliminated.rows, own[k] + more, strict=True))

    acc, a = [base], [np.zeros(0)]
    recover(WORLD, base)
    for j in outward(mechanism):
        k = j.o
        joint = closed.joints[k]
        inherited = motion.X[k].down(acc[j.i]) + bias[k]
        forces = free[k] + joint.B.T @ np.array([found[row] for row in joint.rows]) if joint.rows else free[k]
        a.append(joint.D.solve(forces) - inherited.pair(joint.G))
        acc.append(inherited + motion.S[k] @ a[k])
        recover(k, acc[k])
    return Constrained(np.concatenate(a), np.array([found[row] for row in range(len(target))]))


def _add(to: dict[int, Number], rows: RowNumbers, values: Sequence[Number] | Array) -> None:
    """Add `values` to the entries of the dictionary `to` whose keys are the row numbers `rows`."""
    for row, value in zip(rows, values, strict=True):
        to[row] = to.get(row, 0.0) + value


def rates(mechanism: Mechanism, J: Array, v: Array) -> Array:
    """Return the rates J v (nc,) of constraint rows J (nc, nv).

    The sums skip the joints outside each loop, whose entries of J are zero.
    """
    found: list[Number] = [0.0] * len(J)
    through, _ = rows_by_joint_and_body(mechanism, len(J))
    for j in outward(mechanism):
        for row in through[j.o]:
            if row < len(J):
                found[row] = found[row] + J[row, j.v] @ v[j.v]
    return np.array(found)


def refine_solution(
    mechanism: Mechanism, motion: Kinematics, closed: Factored, J: Array, target: Array, first: Constrained
) -> Constrained:
    """Return accelerations and multipliers without the error that the damping of the constraint rows causes.

    The iterative refinement starts from `first`, the accelerations a (nv,) and multipliers of `solve_damped`. The
    residual of each iteration is target - J a (nc,), with the constraint rows J (nc, nv). `motion` has the kinematics
    of the tree, and `closed` its factors.
    """
    a, multipliers = first
    for _ in range(CORRECTIONS - 1 if len(J) else 0):
        more = solve_from_rest(mechanism, motion, closed, target - rates(mechanism, J, a))
        a, multipliers = a + more.a, multipliers + more.multipliers
    return Constrained(a, multipliers)


def solve_from_rest(
    mechanism: Mechanism, motion: Kinematics, closed: Factored, target: Array, tau: Array | None = None
) -> Constrained:
    """Return accelerations a and multipliers of a tree at rest without gravity, with J a near `target` (nc,).

    J are the constraint rows. The joint forces are tau (nv,), by default zero. If tau are impulses instead of forces,
    the result is velocities and constraint impulses. `motion` has the kinematics of the tree, and `closed` the factors
    of the tree.
    """
    still, none = Motion.zero(), Force.zero()
    bodies = mechanism.bodies
    no_force, no_bias = [none for _ in bodies], [still for _ in bodies]
    forces = np.zeros(mechanism.nv) if tau is None else tau
    return solve_damped(mechanism, motion, closed, forces, no_force, no_bias, still, target)
