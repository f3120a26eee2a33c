"""Contact drifts: changes of the relative velocities at the contact points of solids in free flight.

A contact point c and its normal n move on both solids. In free flight the relative velocity u of the material there
changes at the rate

    u' = a_A(c) - a_B(c) + w_A x (c' - v_A(c)) - w_B x (c' - v_B(c))

with the velocities v_A, v_B and accelerations a_A, a_B of the material of A and B at c, and the angular velocities w_A,
w_B. The rates c' and n' are directional derivatives of the contact function along the relative motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.kinematics import accelerations, kinematics
from linkwork.algorithms.solid_contact.detection import BodyMotion, Touching, WorldPatch
from linkwork.algorithms.solid_contact.pair_tables import GroupPair, PairGroup
from linkwork.model.mechanism import Mechanism
from linkwork.model.solids import POINTS
from linkwork.spatial import Transform
from linkwork.spatial.function_derivatives import rate_along
from linkwork.spatial.row_arrays import RowArray, RowLayout, Selection, row_array
from linkwork.spatial.scalar import Array, Condition, Number, cross, dot, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.spatial.vectors import Motion

RATES = RowLayout((3,), (3,), (3,), (3,))
# Time step of the finite differences by which contact functions with loops are differentiated, as a fraction of the
# time for which the drift is computed
DIFFERENCE = 1e-3
# The drift of a point is set to zero if its normal turns by more than this angle [rad], or if the point moves by more
# than this fraction of the size of the solids
SMOOTH = 0.1
VALUES = 6 * POINTS  # number of coordinates of all points and normals of a pair


class BodyRates(NamedTuple):
    """Velocities and accelerations of a body, each (3,) in world axes.

    `linear` [m/s] and `acceleration` [m/s^2] belong to the body's origin; `angular` [rad/s] is the angular velocity and
    `angular_acceleration` [rad/s^2] its derivative.
    """

    linear: Array
    angular: Array
    acceleration: Array
    angular_acceleration: Array

    @staticmethod
    def read(rows: RowArray, row: Number) -> BodyRates:
        """Return the `BodyRates` of body number `row`, read from the row array `rows`."""
        return BodyRates(*RATES.parts(rows.at(row)))

    def at(self, arm: Array) -> tuple[Array, Array]:
        """Return velocity (3,) [m/s] and acceleration (3,) [m/s^2] of a material point of the body.

        `arm` (3,) [m] is the position of the point relative to the body's origin, in world axes.
        """
        v = cross(self.angular, arm)
        return self.linear + v, self.acceleration + cross(self.angular_acceleration, arm) + cross(self.angular, v)


def body_rate_rows(
    m: Mechanism, numbers: Sequence[int], poses: Sequence[Transform], q: Array, v: Array, a: Array
) -> RowArray:
    """Return a row array with the `BodyRates` of the bodies `numbers` of a tree.

    q (nq,) are the coordinates of the tree, v (nv,) its velocities and a (nv,) its accelerations; `poses` are the world
    poses of all bodies.
    """
    motion = kinematics(m, q, v)
    acc, rows = accelerations(m, motion, a), row_array(len(numbers), RATES.size)
    for row, number in enumerate(numbers):
        V, A, R = motion.twist[number], acc[number], poses[number].R
        true = Motion(A.linear + cross(V.angular, V.linear), A.angular)
        parts = (R @ V.linear, R @ V.angular, R @ true.linear, R @ true.angular)
        rows = rows.put(float(row), RATES.row(*parts))
    return rows


class PatchRates(NamedTuple):
    """Rates of the contact points (4, 3) [m/s] and of their normals (4, 3) [1/s] relative to solid B, in axes of B."""

    points: Array
    normals: Array


def patch_rates(group: PairGroup, one: GroupPair, X: Transform, motion: Motion, time: Number) -> PatchRates:
    """Return the rates of the contact points and normals of a pair at the pose X of solid A in solid B.

    `motion` is the twist of A relative to B at the origin of A, in the axes of B. `time` [s] is the time over which the
    rates will be extrapolated; it determines the step of finite differences. `group` has the contact function of the
    pair, and `one` the data of the pair.
    """

    def values(pose: Array) -> Array:
        patch = group.patch(one.a, one.b, Transform(pose[:9].reshape(3, 3), pose[9:]))
        return np.concatenate([patch.points.ravel(), patch.normals.ravel()])

    turned = np.array([cross(motion.angular, column) for column in X.R.T]).T
    pose, rate = (np.concatenate([R.ravel(), p]) for R, p in ((X.R, X.p), (turned, motion.linear)))
    found = rate_along(values, pose, rate, time * DIFFERENCE, VALUES)
    points, normals = found.reshape(2, POINTS, 3)
    return PatchRates(points, normals)


def contact_drifts(
    groups: Sequence[PairGroup],
    touching: Touching,
    selection: Selection,
    bodies: RowArray,
    axes: RowArray,
    rates: RowArray,
    time: Number,
    wanted: Condition,
    size: int,
) -> RowArray:
    """Return the changes (12,) of the speeds of all touching pairs, one row per pair, in free flight for a `time` [s].

    `selection` selects the touching pairs. If `wanted` is false, all changes are zero. The changes of a point are also
    zero if the point moves too far, or its normal turns too far; see SMOOTH. `bodies` has the `BodyMotion` of each
    body, and `rates` its `BodyRates`. The first columns of `axes` are the axes (4, 3, 3) of the contact points of each
    pair in the world, normal first. If `size` is 15, the change (3,) [rad/s] of the relative angular velocity in the
    world follows in each row. `groups` are the groups of all pairs.
    """
    count = sum(len(group.numbers) for group in groups)
    (drifts,) = selection.visit(lambda k, rows: (rows.put(k, [0.0] * size),), row_array(count, size))
    for group, own in zip(groups, touching.in_groups, strict=True):

        def find(drifts: RowArray, group: PairGroup = group, own: Selection = own) -> tuple[tuple[RowArray], Condition]:
            return (_drifts_of_group(group, own, touching.patches, bodies, axes, rates, time, drifts),), True

        (drifts,), _, _ = iterate(1, find, drifts, start=wanted)
    return drifts


def _drifts_of_group(
    group: PairGroup,
    touching: Selection,
    patches: RowArray,
    bodies: RowArray,
    axes: RowArray,
    rates: RowArray,
    time: Number,
    drifts: RowArray,
) -> RowArray:
    def find(k: Number, drifts: RowArray) -> tuple[RowArray]:
        one = group.read(k)
        patch, D = WorldPatch.read(patches, one.number), axes.at(one.number)[: 9 * POINTS].reshape(POINTS, 3, 3)
        (on_a, a), (on_b, b) = (
            (BodyMotion.read(bodies, row).pose, BodyRates.read(rates, row)) for row in (one.row_a, one.row_b)
        )
        A, B = on_a @ one.on_a, on_b @ one.on_b
        w = a.angular - b.angular
        relative = Motion(B.R.T @ (a.at(A.p - on_a.p)[0] - b.at(A.p - on_b.p)[0]), B.R.T @ w)
        each = patch_rates(group, one, B.inverse() @ A, relative, time)
        most, found = SMOOTH / time, []
        for j in range(POINTS):
            (v_a, acc_a), (v_b, acc_b) = a.at(patch.points[j] - on_a.p), b.at(patch.points[j] - on_b.p)
            u, moves, turns = v_a - v_b, B.R @ each.points[j], B.R @ each.normals[j]
            # The rates are inaccurate if the point or the normal moves too far, as for a coin just before it lies flat
            far = (dot(moves, moves) > (most * most) * one.reach * one.reach) | (dot(turns, turns) > most * most)
            u_rate = acc_a - acc_b + cross(w, moves) - cross(a.angular, u)
            n_rate = cross(b.angular, patch.normals[j]) + turns
            found += list(where(far, np.zeros(3), _along_axes(D[j], u, u_rate, n_rate) * time))
        if drifts.size > len(found):
            found += list((a.angular_acceleration - b.angular_acceleration) * time)
        return (drifts.put(one.number, found),)

    return touching.visit(find, drifts)[0]


def _along_axes(D: Array, u: Array, u_rate: Array, n_rate: Array) -> Array:
    """Return the time derivatives (3,) of the components of a vector u (3,) along moving axes, the columns of D (3, 3).

    `u_rate` (3,) is the time derivative of u, in world axes like u. The first axis is the normal, whose time derivative
    is `n_rate` (3,); the axes do not rotate about the normal.
    """
    fixed, along = D.T @ u_rate, D.T @ u
    turned = D.T @ n_rate
    return np.array([fixed[0] + dot(n_rate, u), fixed[1] - turned[1] * along[0], fixed[2] - turned[2] * along[0]])
