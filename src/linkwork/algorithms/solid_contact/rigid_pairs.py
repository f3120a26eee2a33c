"""Rigid contact of one pair of solids: up to four contact points, whose impulses are found together.

The four impulses p (12,) of a pair change the speeds u (12,) of its points by G p, with the mobility G (12, 12) of the
pair. Four points on two bodies are redundant, so G has at most rank 6. If all points stick, p changes by -G^-1 u with a
regularized G: this is the least-norm change, which favours no point. If some point slides or separates, the
points are solved one after the other, each as a contact by itself (`rigid_contact.RigidContact`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.algorithms.constraints.bounded_constraints import EASY, regularized, trace_of
from linkwork.algorithms.rigid_contact import RigidContact, axes
from linkwork.algorithms.solid_contact.detection import WorldPatch
from linkwork.model.solids import POINTS
from linkwork.spatial.row_arrays import RowArray, RowLayout
from linkwork.spatial.scalar import LDLT, Array, Condition, Number, cross, hat, ldlt, maximum, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import TINY_SIZE

ROWS = 3 * POINTS
SWEEPS = 4  # over the points of a pair of which some slide or separate, in one visit to the pair
LOWER = np.tril_indices(ROWS)
STRICT = np.tril_indices(ROWS, -1)


class PairFrame(NamedTuple):
    """Geometry of the contact points of a pair: axes (4, 3, 3), columns with the normal first, in the world.

    `arms` (4, 3) [m] are the points relative to the first one; `to_a` and `to_b` (3,) [m] is the first point, relative
    to the origins of the two bodies. `acts` (4,) is 1 for points that touch.
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
        """Return impulse (3,) and angular impulse (3,) about the first point of the impulses p (12,) of all points."""
        force, torque = np.zeros(3), np.zeros(3)
        for D, arm, part in zip(self.axes, self.arms, p.reshape(POINTS, 3), strict=True):
            push = D @ part
            force, torque = force + push, torque + cross(arm, push)
        return force, torque


class PairConditions(NamedTuple):
    """Contact conditions of the four points: `friction` (4,), smallest separation speeds `bounce` (4,) [m/s].

    The conditions are for the speeds along the axes plus `drift` (4, 3) [m/s].
    """

    friction: Array
    bounce: Array
    drift: Array


class PairMobility(NamedTuple):
    """Mobility G (12, 12) of a pair, and the factors of the regularized G."""

    G: Array
    factors: LDLT


FRAME = RowLayout((POINTS, 3, 3), (POINTS, 3), (3,), (3,), (POINTS,))
CONDITIONS = RowLayout((POINTS,), (POINTS,), (POINTS, 3))
MOBILITY = RowLayout((len(LOWER[0]),), (len(STRICT[0]),), (ROWS,))


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


def pair_mobility(frame: PairFrame, compliance: Array) -> PairMobility:
    """Return the mobility of a pair, from the `compliance` (6, 6) of the two bodies about the first point.

    Multiplied by an impulse and an angular impulse, the compliance gives the change of the relative velocity. Points
    that do not touch have the identity as mobility, and no effect on others.
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
    return PairMobility(G, ldlt(G + np.diag([trace * EASY + TINY_SIZE] * ROWS)))


def compliance_of(J: Array, W: Array, offset: Array) -> Array:
    """Return the change (6, 6) of a body's velocity about a point due to a unit impulse and angular impulse there.

    J (6, n) and W (n, 6) are the body's Jacobian and response about its origin, `offset` (3,) [m] the point relative to
    it.
    """
    return about(J, offset) @ about(W.T, offset).T


def about(J: Array, offset: Array) -> Array:
    """Return a Jacobian (6, n) about the origin of a body as that about a point `offset` (3,) [m] from it."""
    return np.concatenate([J[:3] - hat(offset) @ J[3:], J[3:]])


def stored_mobility(mobility: PairMobility) -> list[Number]:
    """Return the mobility of a pair as a row with the layout MOBILITY."""
    L = [mobility.factors.L[i][j] for i, j in zip(*STRICT, strict=True)]
    return MOBILITY.row(mobility.G[LOWER], L, mobility.factors.inverse_D)


def read_mobility(rows: RowArray, k: Number) -> PairMobility:
    """Return the mobility of pair k from its row."""
    lower, strict, inverse = MOBILITY.parts(rows.at(k))
    G = np.zeros((ROWS, ROWS), dtype=object)
    for x, i, j in zip(lower, *LOWER, strict=True):
        G[i, j] = G[j, i] = x
    L: list[list[Number]] = [[] for _ in range(ROWS)]
    for x, i in zip(strict, STRICT[0], strict=True):
        L[i].append(x)
    return PairMobility(G, LDLT(tuple(map(tuple, L)), tuple(inverse)))


class RigidPair(NamedTuple):
    """A pair of solids in rigid contact: the geometry, conditions and mobility of its four contact points."""

    frame: PairFrame
    conditions: PairConditions
    mobility: PairMobility

    def _points(self) -> list[tuple[slice, RigidContact, Array, Condition]]:
        found = []
        for j in range(POINTS):
            rows = slice(3 * j, 3 * j + 3)
            acts = self.frame.acts[j] > 0.0
            one = RigidContact(acts, np.zeros((3, 0)), np.zeros((0, 3)), *(x[j] for x in self.conditions[:2]))
            found.append((rows, one, regularized(self.mobility.G[rows, rows]), acts))
        return found

    def residual(self, p: Array, u: Array) -> Number:
        """Return the largest violation [m/s] of the points' conditions, for impulses p (12,) and speeds u (12,)."""
        left: Number = 0.0
        for rows, one, G, acts in self._points():
            left = maximum(left, where(acts, one.residual(G, p[rows], u[rows], 0.0), 0.0))
        return left

    def _sticks(self, p: Array) -> Condition:
        """Return whether the impulses p (12,) of all points are within their friction cones."""
        sticks: Condition = True
        for rows, one, _, acts in self._points():
            n, t1, t2 = p[rows]
            limit = one.friction * n
            fits = (n >= 0.0) & (t1 * t1 + t2 * t2 <= limit * limit)
            sticks = (fits | ~acts) & sticks
        return sticks

    def improved(self, p: Array, u: Array, caution: Number) -> Array:
        """Return impulses (12,) that satisfy the conditions of the pair, or nearly, with the other pairs fixed.

        The points have the speeds u (12,) at the present impulses p (12,); see `RigidContact.improved` for `caution`.
        """
        each = self._points()
        target = np.array([where(acts, u[rows][0] - one.bounce, 0.0) for rows, one, _, acts in each])
        error = np.array([where(acts, x, 0.0) for rows, _, _, acts in each for x in u[rows]])
        error[0::3] = target
        stuck = p - self.mobility.factors.solve(error)
        sticks = self._sticks(stuck)

        def sweep(p: Array, u: Array) -> tuple[tuple[Array, Array], Condition]:
            for rows, one, G, acts in self._points():
                better = one.improved(G, ldlt(G), p[rows], u[rows], 0.0, caution)
                change = np.array([where(acts, x, 0.0) for x in better - p[rows]])
                p = np.concatenate([p[: rows.start], p[rows] + change, p[rows.stop :]])
                u = u + self.mobility.G[:, rows] @ change
            return (p, u), False

        (swept, _), _, _ = iterate(SWEEPS, sweep, p, u, start=~sticks)
        return where(sticks, stuck, swept)


def weight(mobility: PairMobility) -> Number:
    """Return the factor that makes impulses of different pairs comparable: the square root of the trace of G."""
    return np.sqrt(trace_of(mobility.G))
