"""Closed loops in linear time: articulated bodies that carry the reactions of loops inward until both sides meet.

Algorithm 3.3 of S4, with the multipliers lambda of loops that are still open at a body as further unknowns. The wrench
on body k, and the rate of the rows of those loops as far as the joints outboard of k make it, are

    F_k = P_k A_k + z_k + E_k lambda        y_k = -E_k^T A_k + W_k lambda + w_k

At the body on which both ends of a loop hang, y + damping lambda = target gives its multipliers, which leave. A loop
thus costs what its own path costs: a long row of loops, each a few joints around, costs as much as its length.

The rotor of a drive that turns with several joints is a row too, one that yields: with the row scaled so that half the
square of its rate is the rotor's kinetic energy, the force along it is less its own acceleration, y + lambda = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.constraints.velocity_constraints import Path, paths, rotor_paths
from linkwork.algorithms.kinematics import Kinematics
from linkwork.algorithms.sweeps import inward, outward
from linkwork.model.mechanism import WORLD, Mechanism
from linkwork.spatial import ArticulatedInertia, Force, Motion
from linkwork.spatial.scalar import LDLT, Array, Condition, Number, ldlt, where

# W may be singular: loops repeat each other, or a position is singular. A part of its mean diagonal is added, and what
# that changes is corrected in rounds, which leaves the smallest reactions among those that hold the loops.
DAMPING, ROUNDS = 1e-7, 3
TINY = 1e-100  # where loops hold what cannot move anyway

Rows = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Carried:
    """Rows of loops that are open at a body: E (6, k), W (k, k), and the part of its diagonal that joints added."""

    rows: Rows
    E: Force
    W: Array
    mobility: Array

    def at(self, rows: Rows) -> Carried:
        """The same among other rows; those that are new to it are zero."""
        count = len(self.rows)
        k = [self.rows.index(row) if row in self.rows else count for row in rows]
        E = np.column_stack([self.E.array, np.zeros(6)])
        W = np.block([[self.W, np.zeros((count, 1))], [np.zeros((1, count + 1))]])
        return Carried(rows, Force.of(E[:, k]), W[k][:, k], np.append(self.mobility, 0.0)[k])

    def __add__(self, other: Carried) -> Carried:
        rows = tuple(sorted({*self.rows, *other.rows}))
        a, b = self.at(rows), other.at(rows)
        return Carried(rows, a.E + b.E, a.W + b.W, a.mobility + b.mobility)


NOTHING = Carried((), Force.of(np.zeros((6, 0))), np.zeros((0, 0)), np.zeros(0))


class Met(NamedTuple):
    """The loops whose sides meet at a body: their rows, E (6, l), W + damping, and W (l, k) towards rows `others`."""

    rows: Rows
    E: Force
    N: LDLT
    others: Rows
    W: Array
    moved: list[Condition]  # whether anything moves a row


class Passed(NamedTuple):
    """What a joint does: D, G = P S D^-1, B (k, d) the rows' rates for its own, and what it passes on inward."""

    D: LDLT
    G: Force
    B: Array
    rows: Rows
    inertia: ArticulatedInertia
    E: Force


class Factored(NamedTuple):
    """All joints and meetings, by body: what does not depend on loads."""

    met: list[Met | None]
    passed: dict[int, Passed]


def factored(mechanism: Mechanism, motion: Kinematics, J: Array) -> Factored:
    """Articulated inertias with the loops of rows J (nh, nv) closed, none if there are no rows, and with all rotors."""
    held = len(J)
    J = np.concatenate([J, *(rotor.scaled[None] for rotor in mechanism.rotors)])
    P = [body.inertia.articulated() for body in mechanism.bodies]
    carried = [NOTHING for _ in mechanism.bodies]
    met: list[Met | None] = [None for _ in mechanism.bodies]
    passed: dict[int, Passed] = {}
    through, meeting = passages(mechanism, held)
    for j in inward(mechanism):
        k = j.o
        if meeting[k]:
            met[k], P[k], carried[k] = _meet(meeting[k], P[k], carried[k], held)
        S, open_ = motion.S[k], carried[k].at(through[k])
        U = P[k] @ S
        D = ldlt(S.pair(U) + np.diag(mechanism.armature[j.v]))
        G = Force.of(D.solve(U.array.T).T)
        B = J[list(through[k]), j.v] - open_.E.array.T @ S.array
        DB = D.solve(B.T)  # (d, k)
        E = open_.E + U @ DB
        passed[k] = Passed(D, G, B, through[k], P[k].less(U, G), E)
        X = motion.X[k]
        if j.i != WORLD:
            P[j.i] = P[j.i] + X.up(passed[k].inertia)
        added = B @ DB
        mobility = open_.mobility + np.array([added[n, n] for n in range(len(added))])
        carried[j.i] = carried[j.i] + Carried(through[k], X.up(E), open_.W + added, mobility)
    if meeting[WORLD]:
        met[WORLD], _, _ = _meet(meeting[WORLD], P[WORLD], carried[WORLD], held)
    return Factored(met, passed)


def _meet(rows: Rows, P: ArticulatedInertia, carried: Carried, held: int) -> tuple[Met, ArticulatedInertia, Carried]:
    """Close the loops of `rows`: they become part of the inertia. Those that are not among the first `held` yield."""
    others = tuple(row for row in carried.rows if row not in rows)
    both = carried.at((*rows, *others))
    count = len(rows)
    E, rest = Force.of(both.E.array[:, :count]), Force.of(both.E.array[:, count:])
    W = both.W[:count, count:]
    rigid = [row < held for row in rows]
    mobility = [m for m, holds in zip(both.mobility, rigid, strict=False) if holds]
    damping = sum(mobility, 0.0) * (DAMPING / max(len(mobility), 1)) + TINY
    N = ldlt(both.W[:count, :count] + np.diag([damping if holds else 1.0 for holds in rigid]))
    moved = [mobility > 0.0 for mobility in both.mobility[:count]]
    NW = N.solve(W)
    left = Carried(others, rest - E @ NW, both.W[count:, count:] - W.T @ NW, both.mobility[count:])
    return Met(rows, E, N, others, W, moved), P.less(-E, Force.of(N.solve(E.array.T).T)), left


def passages(mechanism: Mechanism, held: int) -> tuple[list[Rows], list[Rows]]:
    """By body: the rows that pass through its joint, and those all of whose joints hang on it.

    The first `held` are those of loops, clutches and brakes, all or none of them; then follow those of rotors.
    """
    return passages_of(mechanism, (*(paths(mechanism) if held else ()), *rotor_paths(mechanism)))


def passages_of(mechanism: Mechanism, along: Sequence[Path]) -> tuple[list[Rows], list[Rows]]:
    """The same of any paths, whose rows are counted in their order."""
    through: list[list[int]] = [[] for _ in mechanism.bodies]
    meeting: list[list[int]] = [[] for _ in mechanism.bodies]
    start = 0
    for path in along:
        rows = range(start, start := start + path.size)
        for j in path.joints:
            through[j.o] += rows
        meeting[path.top] += rows
    return [tuple(rows) for rows in through], [tuple(rows) for rows in meeting]


class Constrained(NamedTuple):
    """Accelerations a (nv,) and multipliers (nc,) [N or N m]: the wrench of loop rows C on B is C lambda."""

    a: Array
    multipliers: Array


def solved(
    mechanism: Mechanism,
    motion: Kinematics,
    closed: Factored,
    tau: Array,
    z: Sequence[Force],
    bias: Sequence[Motion],
    base: Motion,
    target: Array,
) -> Constrained:
    """Accelerations (nv,) and multipliers (nc,) under joint forces tau (nv,) and body forces z, near J a = target."""
    z = list(z)
    w: list[dict[int, Number]] = [{} for _ in mechanism.bodies]
    free, own = {}, {}

    def meet(k: int) -> None:
        met = closed.met[k]
        if met is None:
            return
        pairs = zip(met.moved, met.rows, strict=True)
        asked = [where(moved, target[row], 0.0) if row < len(target) else 0.0 for moved, row in pairs]
        lacking = [x - w[k].pop(row, 0.0) for x, row in zip(asked, met.rows, strict=True)]
        own[k] = met.N.solve(np.array(lacking))
        z[k] = z[k] + met.E @ own[k]
        _add(w[k], met.others, met.W.T @ own[k])

    for j in inward(mechanism):
        k = j.o
        meet(k)
        joint, X = closed.passed[k], motion.X[k]
        free[k] = tau[j.v] - motion.S[k].pair(z[k])
        if j.i != WORLD:
            z[j.i] = z[j.i] + X.up(joint.inertia @ bias[k] + z[k] + joint.G @ free[k])
        if joint.rows:
            _add(w[j.i], joint.rows, [w[k].get(row, 0.0) for row in joint.rows])
            _add(w[j.i], joint.rows, joint.B @ joint.D.solve(free[k]) - bias[k].pair(joint.E))
    meet(WORLD)

    found: dict[int, Number] = {}

    def part(k: int, acc: Motion) -> None:
        met = closed.met[k]
        if met is None:
            return
        known = np.array([found[row] for row in met.others])
        more = met.N.solve(acc.pair(met.E) - met.W @ known)
        found.update(zip(met.rows, own[k] + more, strict=True))

    acc, a = [base], [np.zeros(0)]
    part(WORLD, base)
    for j in outward(mechanism):
        k = j.o
        joint = closed.passed[k]
        carried = motion.X[k].down(acc[j.i]) + bias[k]
        forces = free[k] + joint.B.T @ np.array([found[row] for row in joint.rows]) if joint.rows else free[k]
        a.append(joint.D.solve(forces) - carried.pair(joint.G))
        acc.append(carried + motion.S[k] @ a[k])
        part(k, acc[k])
    return Constrained(np.concatenate(a), np.array([found[row] for row in range(len(target))]))


def _add(to: dict[int, Number], rows: Rows, values: Sequence[Number] | Array) -> None:
    for row, value in zip(rows, values, strict=True):
        to[row] = to.get(row, 0.0) + value


def rates(mechanism: Mechanism, J: Array, v: Array) -> Array:
    """J v (nc,), without the zeros of joints that loops do not pass through."""
    found: list[Number] = [0.0] * len(J)
    through, _ = passages(mechanism, len(J))
    for j in outward(mechanism):
        for row in through[j.o]:
            if row < len(J):
                found[row] = found[row] + J[row, j.v] @ v[j.v]
    return np.array(found)


def corrected(
    mechanism: Mechanism, motion: Kinematics, closed: Factored, J: Array, target: Array, first: Constrained
) -> Constrained:
    """The first answer, without the damping: what the rows lack of their target (nc,) is asked for again."""
    a, multipliers = first
    for _ in range(ROUNDS - 1 if len(J) else 0):
        more = pushed(mechanism, motion, closed, target - rates(mechanism, J, a))
        a, multipliers = a + more.a, multipliers + more.multipliers
    return Constrained(a, multipliers)


def pushed(
    mechanism: Mechanism, motion: Kinematics, closed: Factored, target: Array, tau: Array | None = None
) -> Constrained:
    """What joint forces tau (nv,) and those along the rows do to a mechanism at rest, so that J a is near `target`."""
    still, none = Motion.zero(), Force.zero()
    bodies = mechanism.bodies
    no_force, no_bias = [none for _ in bodies], [still for _ in bodies]
    forces = np.zeros(mechanism.nv) if tau is None else tau
    return solved(mechanism, motion, closed, forces, no_force, no_bias, still, target)
