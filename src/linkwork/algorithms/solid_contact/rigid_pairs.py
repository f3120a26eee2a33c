"""Rigid contact of one solid pair: up to four contact points, whose impulses are found together.

The four impulses p (12,) of a pair change the speeds u (12,) of its points by G p, with the inverse effective mass G
(12, 12) of the pair. Four points on two bodies are redundant, so G has at most rank 6. If all points stick, p changes
by -G^-1 u with a regularized G: this is the least-norm change, which favours no point. If some point slides or
separates, the points are solved one after the other, each as a contact by itself (`rigid_contact.RigidContact`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.algorithms.constraints.admissible_sets import clipped, excess, length
from linkwork.algorithms.constraints.bounded_constraints import EASY, regularized
from linkwork.algorithms.rigid_contact import RigidContact, axes
from linkwork.algorithms.solid_contact.detection import WorldPatch
from linkwork.model.solids import POINTS
from linkwork.spatial.row_arrays import RowArray, RowLayout
from linkwork.spatial.scalar import LDLT, Array, Condition, Number, cross, largest, ldlt, maximum, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import TINY_SIZE

ROWS = 3 * POINTS
SWEEPS = 4  # over the points of a pair of which some slide or separate, in one visit to the pair
LOWER = np.tril_indices(ROWS)
STRICT = np.tril_indices(ROWS, -1)


class PairFrame(NamedTuple):
    """Geometry of the contact points of a pair: axes (4, 3, 3), columns with the normal first, in the world.

    `arms` (4, 3) [m] are the points relative to the first one; `to_a` and `to_b` (3,) [m] are the positions of the
    first point relative to the origins of the bodies A and B. `acts` (4,) is 1 for points that touch.
    """

    axes: Array
    arms: Array
    to_a: Array
    to_b: Array
    acts: Array

    def speeds(self, linear: Array, angular: Array) -> Array:
        """Return the speeds (12,) along the axes of all points, from the relative velocity at the first point."""
        each = [D.T @ (linear + cross(angular, arm)) for D, arm in zip(self.axes, self.arms, strict=True)]
        return np.concatenate(each)

    def wrench(self, p: Array) -> tuple[Array, Array]:
        """Return the impulse (3,) and the angular impulse (3,) about the first point of impulses p (12,)."""
        force, torque = np.zeros(3), np.zeros(3)
        for D, arm, part in zip(self.axes, self.arms, p.reshape(POINTS, 3), strict=True):
            push = D @ part
            force, torque = force + push, torque + cross(arm, push)
        return force, torque

    def on_bodies(self, force: Array, torque: Array) -> tuple[Array, Array]:
        """Return the impulse and angular impulse (6,) about the origins of the bodies A and B.

        `force` and `torque` (3,) act on body A, about the first point; the opposite acts on B.
        """
        a = np.concatenate([force, torque + cross(self.to_a, force)])
        return a, -np.concatenate([force, torque + cross(self.to_b, force)])


class PairConditions(NamedTuple):
    """Parameters of the contact conditions of four points: friction coefficients and separation speeds.

    `friction` (4,) are the coefficients, and `bounce` (4,) [m/s] the smallest speeds of separation after an impact.

    The conditions are for the speeds along the axes plus `drift` (4, 3) [m/s].
    """

    friction: Array
    bounce: Array
    drift: Array


class PairInverseMass(NamedTuple):
    """Inverse effective mass G (12, 12) of a pair, and the factors of the regularized G."""

    G: Array
    factors: LDLT


class PairCompliance(NamedTuple):
    """Compliance C (6, 6) of the two bodies of a pair about its first point, and traces of inverse effective masses.

    Multiplied by an impulse and an angular impulse, C gives the change of the relative velocity. `traces` (4,) [1/kg]
    are the traces of the inverse effective masses (3, 3) of the points.
    """

    C: Array
    traces: Array

    def inverse_mass(self, frame: PairFrame) -> PairInverseMass:
        """Return the inverse effective mass of the points of the pair."""
        return pair_inverse_mass(frame, self.C)


FRAME = RowLayout((POINTS, 3, 3), (POINTS, 3), (3,), (3,), (POINTS,))
CONDITIONS = RowLayout((POINTS,), (POINTS,), (POINTS, 3))
COMPLIANCE = RowLayout((21,), (POINTS,))
TRIANGLE = np.tril_indices(6)
INVERSE_MASS = RowLayout((len(LOWER[0]),), (len(STRICT[0]),), (ROWS,))


def pair_frame(patch: WorldPatch, origin_a: Array, origin_b: Array, within: Number) -> PairFrame:
    """Return the geometry of the contact points of a pair; points at most `within` [m] apart touch.

    `origin_a` and `origin_b` (3,) [m] are the origins of the two bodies in the world.
    """
    first = patch.points[0]
    return PairFrame(
        np.array([axes(normal) for normal in patch.normals]),
        np.array([point - first for point in patch.points]),
        first - origin_a,
        first - origin_b,
        np.array([where(distance <= within, 1.0, 0.0) for distance in patch.distances]),
    )


def pair_inverse_mass(frame: PairFrame, compliance: Array) -> PairInverseMass:
    """Return the inverse effective mass of a pair with the `compliance` (6, 6) of its bodies about the first point.

    Multiplied by an impulse and an angular impulse, the compliance gives the change of the relative velocity. Points
    that do not touch have the identity as inverse effective mass, and no effect on others.
    """
    columns = []  # impulse and angular impulse of a unit impulse along each axis
    for D, arm, acts in zip(frame.axes, frame.arms, frame.acts, strict=True):
        columns += [np.concatenate([d, cross(arm, d)]) * acts for d in D.T]
    moved = [compliance @ column for column in columns]
    trace = sum((columns[i] @ moved[i] for i in range(ROWS)), 0.0)
    G = np.zeros((ROWS, ROWS), dtype=object)
    for i, j in zip(*LOWER, strict=True):
        G[i, j] = G[j, i] = columns[i] @ moved[j]
    for i in range(ROWS):
        G[i, i] = G[i, i] + where(frame.acts[i // 3] > 0.0, 0.0, 1.0)
    return PairInverseMass(G, ldlt(G + np.diag([trace * EASY + TINY_SIZE] * ROWS)))


def stored_inverse_mass(frame: PairFrame, compliance: Array) -> list[Number]:
    """Return the inverse effective mass of a pair with the `compliance` (6, 6) as a row of INVERSE_MASS."""
    inverse_mass = pair_inverse_mass(frame, compliance)
    L = [inverse_mass.factors.L[i][j] for i, j in zip(*STRICT, strict=True)]
    return INVERSE_MASS.row(inverse_mass.G[LOWER], L, inverse_mass.factors.inverse_D)


def read_inverse_mass(rows: RowArray, k: Number) -> PairInverseMass:
    """Return the inverse effective mass of pair k from its row."""
    lower, strict, inverse = INVERSE_MASS.parts(rows.at(k))
    G = np.zeros((ROWS, ROWS), dtype=object)
    for x, i, j in zip(lower, *LOWER, strict=True):
        G[i, j] = G[j, i] = x
    L: list[list[Number]] = [[] for _ in range(ROWS)]
    for x, i in zip(strict, STRICT[0], strict=True):
        L[i].append(x)
    return PairInverseMass(G, LDLT(tuple(map(tuple, L)), tuple(inverse)))


def stored_compliance(frame: PairFrame, compliance: Array) -> list[Number]:
    """Return the compliance (6, 6) of a pair as a row with the layout COMPLIANCE."""
    traces = []
    for D, arm in zip(frame.axes, frame.arms, strict=True):
        columns = [np.concatenate([d, cross(arm, d)]) for d in D.T]
        traces.append(sum((column @ (compliance @ column) for column in columns), 0.0))
    return COMPLIANCE.row(compliance[TRIANGLE], traces)


def read_compliance(rows: RowArray, k: Number) -> PairCompliance:
    """Return the compliance of pair k from its row."""
    lower, traces = COMPLIANCE.parts(rows.at(k))
    C = np.zeros((6, 6), dtype=object)
    for x, i, j in zip(lower, *TRIANGLE, strict=True):
        C[i, j] = C[j, i] = x
    return PairCompliance(C, traces)


class RigidPair(NamedTuple):
    """A solid pair in rigid contact: the geometry, conditions and inverse effective mass of its four contact points."""

    frame: PairFrame
    conditions: PairConditions
    inverse_mass: PairInverseMass

    def _points(self) -> list[tuple[slice, RigidContact, Array, Condition]]:
        found = []
        for j in range(POINTS):
            rows = slice(3 * j, 3 * j + 3)
            acts = self.frame.acts[j] > 0.0
            one = RigidContact(acts, np.zeros((3, 0)), np.zeros((0, 3)), *(x[j] for x in self.conditions[:2]))
            found.append((rows, one, regularized(self.inverse_mass.G[rows, rows]), acts))
        return found

    def residual(self, p: Array, u: Array) -> Number:
        """Return the largest violation [m/s] of a contact condition, for impulses p (12,) and speeds u (12,)."""
        left: Number = 0.0
        for rows, one, G, acts in self._points():
            left = maximum(left, where(acts, one.residual(G, p[rows], u[rows], 0.0), 0.0))
        return left

    def _sticks(self, p: Array) -> Condition:
        return all_within_limits(self.frame.acts, self.conditions.friction, p)

    def improved(self, p: Array, u: Array, caution: Number) -> Array:
        """Return impulses (12,) that satisfy the conditions of the pair, or nearly, with the other pairs fixed.

        The points have the speeds u (12,) at the present impulses p (12,); see `RigidContact.improved` for `caution`.
        """
        each = self._points()
        target = np.array([where(acts, u[rows][0] - one.bounce, 0.0) for rows, one, _, acts in each])
        error = np.array([where(acts, x, 0.0) for rows, _, _, acts in each for x in u[rows]])
        error[0::3] = target
        stuck = p - self.inverse_mass.factors.solve(error)
        sticks = self._sticks(stuck)

        def sweep(p: Array, u: Array) -> tuple[tuple[Array, Array], Condition]:
            for rows, one, G, acts in self._points():
                better = one.improved(G, ldlt(G), p[rows], u[rows], 0.0, caution)
                change = np.array([where(acts, x, 0.0) for x in better - p[rows]])
                p = np.concatenate([p[: rows.start], p[rows] + change, p[rows.stop :]])
                u = u + self.inverse_mass.G[:, rows] @ change
            return (p, u), False

        (swept, _), _, _ = iterate(SWEEPS, sweep, p, u, start=~sticks)
        return where(sticks, stuck, swept)


def all_within_limits(acts: Array, friction: Array, p: Array) -> Condition:
    """Return whether the impulses p (12,) of all points that touch are within their friction cones."""
    within: Condition = True
    for j in range(POINTS):
        n, t1, t2 = p[3 * j : 3 * j + 3]
        limit = friction[j] * n
        fits = (n >= 0.0) & (t1 * t1 + t2 * t2 <= limit * limit)
        within = (fits | ~(acts[j] > 0.0)) & within
    return within


def acting_at(B: Array, arm: Array) -> Array:
    """Return the matrix (6, 6) about a reference point that is equivalent to B (3, 3) at `arm` (3,) [m] from it."""
    right = np.array([cross(arm, row) for row in B])  # B times the transposed cross-product matrix of the arm
    upper = np.concatenate([B, right], axis=1)
    return np.concatenate([upper, np.array([cross(arm, column) for column in upper.T]).T], axis=0)


def violations(frame: PairFrame, conditions: PairConditions, eases: Array, p: Array, u: Array) -> list[Number]:
    """Return the violations (4,) [m/s] of the contact conditions at the points of a pair.

    p (12,) are the impulses of the points and u (12,) their speeds. `eases` (4,) [1/kg] are the traces of the inverse
    effective masses of the points. See `RigidContact.residual`.
    """
    found = []
    for j, (normal, t1, t2) in enumerate(p.reshape(POINTS, 3)):
        ease, (un, u1, u2) = eases[j] + TINY_SIZE, u[3 * j : 3 * j + 3]
        pushes = clipped((conditions.bounce[j] - un) / ease, -normal)
        slip = np.array([u1, u2]) / ease
        along = np.array([t1, t2]) - slip
        beyond = excess(length(along), conditions.friction[j] * (normal + pushes))
        one = largest(np.array([pushes, *(slip + along * beyond)])) * ease
        found.append(where(frame.acts[j] > 0.0, one, 0.0))
    return found
