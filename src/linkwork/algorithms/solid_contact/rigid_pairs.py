"""Rigid contact of one solid pair: up to four contact points, whose impulses are found together.

The impulses p (12,) [N s] of the four points change their speeds u (12,) [m/s] by G p, with the inverse effective mass
G (12, 12) [1/kg] of the pair. Four points on two bodies are redundant, so G has at most rank 6. If all points stick, p
changes by -G^-1 u with a regularized G; this change has the least norm, and favours no point. If some point slides or
separates, the points are solved one after the other, each as a separate contact (`rigid_contact.RigidContact`).

A pair with rolling or spinning friction has three more impulses, those of its torque (see `friction_torques`); then p
and u have 15 entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.constraints.admissible_sets import clipped, excess, length
from linkwork.algorithms.contact_tolerances import FLAT_FACE, SAME_NORMAL
from linkwork.algorithms.rigid_contact import axes
from linkwork.algorithms.solid_contact.detection import WorldPatch
from linkwork.algorithms.solid_contact.friction_torques import TORQUES, TorqueSlope, torque_violations, turning_axes
from linkwork.model.solids import POINTS
from linkwork.spatial.row_arrays import RowArray, RowLayout
from linkwork.spatial.scalar import Array, Condition, Number, cross, dot, largest, where
from linkwork.tolerances import TINY_SIZE

ROWS = 3 * POINTS
SWEEPS = 4  # sweeps over the points of a pair of which some slide or separate, in one visit to the pair
LOWER = np.tril_indices(ROWS)
STRICT = np.tril_indices(ROWS, -1)


class PairFrame(NamedTuple):
    """Geometry of the contact points of a pair, in the world.

    The columns of `axes` (4, 3, 3) are the axes of each point, normal first. `arms` (4, 3) [m] are the points relative
    to the first one; `to_a` and `to_b` (3,) [m] are the positions of the first point relative to the origins of the
    bodies A and B. `acts` (4,) is 1 for points that touch. The columns of `turning` (3, 3) are the axes of the torque
    of rolling and spinning friction; None if the pair has no such friction.
    """

    axes: Array
    arms: Array
    to_a: Array
    to_b: Array
    acts: Array
    turning: Array | None = None

    @property
    def rows(self) -> int:
        """Number of impulses of the pair: 12, or 15 with the torque of rolling and spinning friction."""
        return row_count(self.turning is not None)

    @property
    def without_torque(self) -> PairFrame:
        """The same contact points without rolling and spinning friction."""
        return self._replace(turning=None)

    def row(self) -> list[Number]:
        """Return the geometry as a row with the layout FRAME or TURNING_FRAME."""
        return FRAME.row(*self[:-1]) if self.turning is None else TURNING_FRAME.row(*self)

    def speeds(self, linear: Array, angular: Array) -> Array:
        """Return the speeds (12,) [m/s] of all points along their axes.

        `linear` (3,) [m/s] is the velocity of A relative to B at the first point, `angular` (3,) [rad/s] the relative
        angular velocity, in the world. With rolling and spinning friction, the angular speeds (3,) [rad/s] along the
        axes of the torque follow.
        """
        each = [D.T @ (linear + cross(angular, arm)) for D, arm in zip(self.axes, self.arms, strict=True)]
        return np.concatenate(each if self.turning is None else [*each, self.turning.T @ angular])

    def wrench(self, p: Array) -> tuple[Array, Array]:
        """Return the resultant impulse (3,) [N s] and angular impulse (3,) [N m s] about the first point of p.

        The impulses p (12,) or (15,) are along the axes of the points and of the torque; the results are in the world.
        """
        force, torque = np.zeros(3), np.zeros(3) if self.turning is None else self.turning @ p[ROWS:]
        for D, arm, part in zip(self.axes, self.arms, p[:ROWS].reshape(POINTS, 3), strict=True):
            push = D @ part
            force, torque = force + push, torque + cross(arm, push)
        return force, torque

    def torque_slope(self, slope: TorqueSlope, normals: Sequence[Number]) -> Array:
        """Return minus the derivative (6, 6) of the torque impulse with respect to the relative velocity of A.

        The torque impulse is a wrench impulse on A whose first three components are zero; the velocity (6,) is relative
        to B, at the origin of A, in world axes. `slope` has the derivatives of the torque impulse, and `normals` (4,)
        [kg] are minus the derivatives of the normal impulses with respect to the normal speeds.
        """
        assert self.turning is not None
        row = np.zeros(6)  # change of the sum of the normal impulses
        for D, arm, stiff in zip(self.axes, self.arms, normals, strict=True):
            row = row + np.concatenate([D[:, 0], cross(self.to_a + arm, D[:, 0])]) * stiff
        turns = self.turning @ slope.by_turning @ self.turning.T
        moved = np.outer(self.turning @ slope.by_normal, row) + np.concatenate([np.zeros((3, 3)), turns], axis=1)
        return np.concatenate([np.zeros((3, 6)), moved])

    def on_bodies(self, force: Array, torque: Array) -> tuple[Array, Array]:
        """Return the impulse and angular impulse (6,) on body A about its origin, and that on body B about its origin.

        `force` (3,) [N s] is the impulse and `torque` (3,) [N m s] the angular impulse about the first point that act
        on A, in world axes; their opposites act on B.
        """
        a = np.concatenate([force, torque + cross(self.to_a, force)])
        return a, -np.concatenate([force, torque + cross(self.to_b, force)])


class PairConditions(NamedTuple):
    """Parameters of the contact conditions of four points.

    `friction` (4,) are the friction coefficients, and `bounce` (4,) [m/s] the smallest separation speeds after an
    impact. The conditions apply to the speeds along the axes plus `drift` (4, 3) [m/s]. `turning` (2,) [m] are the
    coefficients of spinning and rolling friction, and `turning_drift` (3,) [rad/s] the drifts of the angular speeds;
    both are None if the pair has no such friction.
    """

    friction: Array
    bounce: Array
    drift: Array
    turning: Array | None = None
    turning_drift: Array | None = None

    @property
    def drifts(self) -> Array:
        """Drifts of all speeds of the pair, (12,) or (15,)."""
        drift = self.drift.reshape(ROWS)
        return drift if self.turning_drift is None else np.concatenate([drift, self.turning_drift])

    def row(self) -> list[Number]:
        """Return the conditions as a row with the layout CONDITIONS or TURNING_CONDITIONS."""
        return CONDITIONS.row(*self[:3]) if self.turning is None else TURNING_CONDITIONS.row(*self)


class PairCompliance(NamedTuple):
    """Compliance C (6, 6) of the two bodies of a pair about its first point, and traces of inverse effective masses.

    In world axes, C maps an impulse [N s] and angular impulse [N m s] on A, with the opposite on B, to the change of
    the velocity [m/s, rad/s] of A relative to B. `traces` (4,) [1/kg] are the traces of the inverse effective masses
    (3, 3) of the points.
    """

    C: Array
    traces: Array


_FRAME, _CONDITIONS = ((POINTS, 3, 3), (POINTS, 3), (3,), (3,), (POINTS,)), ((POINTS,), (POINTS,), (POINTS, 3))
FRAME, TURNING_FRAME = RowLayout(*_FRAME), RowLayout(*_FRAME, (3, 3))
CONDITIONS, TURNING_CONDITIONS = RowLayout(*_CONDITIONS), RowLayout(*_CONDITIONS, (2,), (TORQUES,))
COMPLIANCE = RowLayout((21,), (POINTS,))
TRIANGLE = np.tril_indices(6)


def row_count(turns: bool) -> int:
    """Return the number of impulses of a pair: 12, or 15 if some pair has rolling or spinning friction."""
    return ROWS + TORQUES if turns else ROWS


def pair_frame(patch: WorldPatch, origin_a: Array, origin_b: Array, within: Number, turns: bool = False) -> PairFrame:
    """Return the geometry of the contact points of a pair; points at a signed distance of at most `within` [m] touch.

    `patch` has the contact points. `origin_a` and `origin_b` (3,) [m] are the origins of the bodies A and B in the
    world. If `turns` is true, the result has axes for the torque of rolling and spinning friction.

    Points with one normal that differ in height by no more than their depths, as those of a face that lands with a
    slight tilt, are moved to the height of the first point. Otherwise they could not stick all together while the face
    turns flat, and the friction impulses of points that stick against each other would be hard to find.
    """
    first = patch.points[0]
    acts = np.array([where(distance <= within, 1.0, 0.0) for distance in patch.distances])
    points = list(zip(patch.points, patch.normals, acts, strict=True))
    return PairFrame(
        np.array([axes(normal) for normal in patch.normals]),
        np.array([_levelled(point - first, normal, patch.normals[0], on * acts[0]) for point, normal, on in points]),
        first - origin_a,
        first - origin_b,
        acts,
        turning_axes(patch.normals, acts) if turns else None,
    )


def _levelled(arm: Array, normal: Array, first: Array, acts: Number) -> Array:
    """Return the position (3,) [m] of a point relative to the first point, without its height if both form a flat face.

    `normal` and `first` (3,) are the normals of the point and of the first point; `acts` is 1 if both touch.
    """
    turned, height = normal - first, dot(arm, first)
    flat = (dot(turned, turned) <= SAME_NORMAL**2) & (height * height <= dot(arm, arm) * FLAT_FACE**2)
    return where(flat & (acts > 0.0), arm - first * height, arm)


def pair_inverse_mass(frame: PairFrame, compliance: Array) -> Array:
    """Return the inverse effective mass (12, 12) [1/kg] of a pair, from the `compliance` (6, 6) about its first point.

    See `PairCompliance` for the compliance. The rows and columns of points that do not touch are those of the identity
    matrix. `frame` is the geometry of the pair.
    """
    columns = []  # impulse and angular impulse about the first point of a unit impulse along each axis
    for D, arm, acts in zip(frame.axes, frame.arms, frame.acts, strict=True):
        columns += [np.concatenate([d, cross(arm, d)]) * acts for d in D.T]
    moved = [compliance @ column for column in columns]
    G = np.zeros((ROWS, ROWS), dtype=object)
    for i, j in zip(*LOWER, strict=True):
        G[i, j] = G[j, i] = columns[i] @ moved[j]
    for i in range(ROWS):
        G[i, i] = G[i, i] + where(frame.acts[i // 3] > 0.0, 0.0, 1.0)
    return G


def stored_compliance(frame: PairFrame, compliance: Array) -> list[Number]:
    """Return the 25 numbers from which `read_compliance` reads the compliance of a pair.

    They are the lower triangle (21,) of the `compliance` (6, 6) about the first point, and the traces (4,) [1/kg] of
    the inverse effective masses of the points. See `PairCompliance` for both, and COMPLIANCE for their layout. `frame`
    is the geometry of the contact points.
    """
    traces = []
    for D, arm in zip(frame.axes, frame.arms, strict=True):
        columns = [np.concatenate([d, cross(arm, d)]) for d in D.T]
        traces.append(sum((column @ (compliance @ column) for column in columns), 0.0))
    return COMPLIANCE.row(compliance[TRIANGLE], traces)


def read_compliance(rows: RowArray, k: Number) -> PairCompliance:
    """Return the compliance of pair k, read from row k of `rows`, which `stored_compliance` wrote."""
    lower, traces = COMPLIANCE.parts(rows.at(k))
    C = np.zeros((6, 6), dtype=object)
    for x, i, j in zip(lower, *TRIANGLE, strict=True):
        C[i, j] = C[j, i] = x
    return PairCompliance(C, traces)


class RigidPair(NamedTuple):
    """A solid pair in rigid contact: geometry `frame`, contact `conditions`, and response of its contact points.

    `inverse_mass` (12, 12) [1/kg] maps the impulses of the points to the changes of their speeds.
    """

    frame: PairFrame
    conditions: PairConditions
    inverse_mass: Array


def all_within_limits(acts: Array, friction: Array, p: Array) -> Condition:
    """Return whether the impulses p (12,) [N s] of all points that touch are within their friction cones.

    `acts` (4,) is 1 for points that touch, and `friction` (4,) are the friction coefficients.
    """
    within: Condition = True
    for j in range(POINTS):
        n, t1, t2 = p[3 * j : 3 * j + 3]
        limit = friction[j] * n
        fits = (n >= 0.0) & (t1 * t1 + t2 * t2 <= limit * limit)
        within = (fits | ~(acts[j] > 0.0)) & within
    return within


def acting_at(B: Array, arm: Array) -> Array:
    """Return the matrix (6, 6) about a reference point that is equivalent to B (3, 3) at another point.

    B [kg] maps a velocity to an impulse at the position `arm` (3,) [m] relative to the reference point. The result maps
    the velocity and angular velocity (6,) at the reference point to the impulse and angular impulse (6,) about it.
    """
    right = np.array([cross(arm, row) for row in B])  # B times the transposed cross-product matrix of the arm
    upper = np.concatenate([B, right], axis=1)
    return np.concatenate([upper, np.array([cross(arm, column) for column in upper.T]).T], axis=0)


def violations(
    frame: PairFrame, conditions: PairConditions, compliance: PairCompliance, p: Array, u: Array
) -> list[Number]:
    """Return the violations (4,) [m/s] of the contact conditions at the points of a pair.

    p (12,) [N s] are the impulses of the points and u (12,) [m/s] their speeds, with drifts. `RigidContact.residual`
    defines the violation. With rolling and spinning friction, p and u are (15,), and two more violations follow, see
    `torque_violations`. `frame` is the geometry of the pair, and `conditions` are its contact conditions.
    """
    found = []
    for j, (normal, t1, t2) in enumerate(p[:ROWS].reshape(POINTS, 3)):
        ease, (un, u1, u2) = compliance.traces[j] + TINY_SIZE, u[3 * j : 3 * j + 3]
        pushes = clipped((conditions.bounce[j] - un) / ease, -normal)
        slip = np.array([u1, u2]) / ease
        along = np.array([t1, t2]) - slip
        beyond = excess(length(along), conditions.friction[j] * (normal + pushes))
        one = largest(np.array([pushes, *(slip + along * beyond)])) * ease
        found.append(where(frame.acts[j] > 0.0, one, 0.0))
    if conditions.turning is not None:
        found += torque_violations(conditions.turning, compliance.C, list(p[:ROWS:3]), p[ROWS:], u[ROWS:])
    return found
