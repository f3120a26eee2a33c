"""Detection of touching solids and their contact points, by one loop for each kind of pair.

A broad phase compares the distance of two solids with their sizes; the contact points are computed only for pairs that
may touch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.solid_contact.pair_tables import PairGroup
from linkwork.model.solids import POINTS
from linkwork.spatial import Motion, Transform
from linkwork.spatial.row_arrays import RowArray, RowLayout, Selection, row_array, selected_rows
from linkwork.spatial.scalar import Array, Number, where
from linkwork.spatial.traceable_loops import repeat

BODY = RowLayout((3, 3), (3,), (3,), (3,))  # rotation and position of a body; linear, angular velocity
PATCH = RowLayout((POINTS, 3), (POINTS,), (POINTS, 3))  # contact points, distances and normals of a pair, in the world


class BodyMotion(NamedTuple):
    """Pose and velocities of a body in the world.

    `pose` is the pose of the body's frame. `linear` (3,) [m/s] is the velocity of its origin, and `angular` (3,)
    [rad/s] the angular velocity, both in world axes.
    """

    pose: Transform
    linear: Array
    angular: Array

    @staticmethod
    def read(bodies: RowArray, row: Number) -> BodyMotion:
        """Return the motion of body number `row`, read from the row array `bodies`."""
        R, p, linear, angular = BODY.parts(bodies.at(row))
        return BodyMotion(Transform(R, p), linear, angular)


class WorldPatch(NamedTuple):
    """Up to four contact points of solids A and B, in the world.

    `points` (4, 3) [m] are midway between the surfaces, `distances` (4,) [m] are negative where the solids overlap, and
    the unit `normals` (4, 3) point from B to A. Unused places have the distance FAR.
    """

    points: Array
    distances: Array
    normals: Array

    @staticmethod
    def read(patches: RowArray, k: Number) -> WorldPatch:
        """Return the contact points of pair k, read from the row array `patches`."""
        return WorldPatch(*PATCH.parts(patches.at(k)))


class Touching(NamedTuple):
    """Result of the detection: the row arrays `flags` (1 for touching pairs) and `patches`, one row for each pair.

    `patches` has the contact points of touching pairs, with the layout PATCH. `in_groups` selects the touching pairs of
    each `PairGroup`, numbered within the group.
    """

    flags: RowArray
    patches: RowArray
    in_groups: Sequence[Selection]


def body_rows(numbers: Sequence[int], poses: Sequence[Transform], twists: Sequence[Motion]) -> RowArray:
    """Return a row array with the `BodyMotion` of each of the bodies `numbers`.

    `poses` are the world poses of all bodies of the tree, and `twists` their twists at the origins and in the axes of
    their own frames.
    """
    rows = row_array(len(numbers), BODY.size)
    for row, number in enumerate(numbers):
        X, V = poses[number], twists[number].rotated(poses[number].R)
        rows = rows.put(float(row), BODY.row(X.R, X.p, V.linear, V.angular))
    return rows


def touching_pairs(groups: Sequence[PairGroup], bodies: RowArray, within: Number) -> Touching:
    """Return the solid pairs that have a contact point at a signed distance of at most `within` [m].

    `bodies` has the `BodyMotion` of each body. `groups` are the groups of all pairs.
    """
    count = sum(len(group.numbers) for group in groups)
    flags, patches = row_array(count, 1), row_array(count, PATCH.size)
    in_groups = []
    for group in groups:
        flags, patches, touching = _touching_in_group(group, bodies, within, flags, patches)
        in_groups.append(touching)
    return Touching(flags, patches, in_groups)


def _touching_in_group(
    group: PairGroup, bodies: RowArray, within: Number, flags: RowArray, patches: RowArray
) -> tuple[RowArray, RowArray, Selection]:
    size = len(group.numbers)

    def broad(k: Number, near: RowArray, own: RowArray, flags: RowArray) -> tuple[RowArray, RowArray, RowArray]:
        one = group.read(k)
        A, B = (BodyMotion.read(bodies, row).pose @ on for row, on in ((one.row_a, one.on_a), (one.row_b, one.on_b)))
        near = near.put(k, [where(one.may_touch(A, B), 1.0, 0.0)])
        return near, own.put(k, [0.0]), flags.put(one.number, [0.0])

    def narrow(k: Number, own: RowArray, flags: RowArray, patches: RowArray) -> tuple[RowArray, RowArray, RowArray]:
        one = group.read(k)
        A, B = (BodyMotion.read(bodies, row).pose @ on for row, on in ((one.row_a, one.on_a), (one.row_b, one.on_b)))
        found = group.patch(one.a, one.b, B.inverse() @ A)
        points = np.array([B.point(point) for point in found.points])
        normals = np.array([B.R @ normal for normal in found.normals])
        nearest = found.distances[0]
        for distance in found.distances[1:]:
            nearest = where(distance < nearest, distance, nearest)
        touches = [where(nearest <= within, 1.0, 0.0)]
        own, flags = own.put(k, touches), flags.put(one.number, touches)
        return own, flags, patches.put(one.number, PATCH.row(points, found.distances, normals))

    near, own, flags = repeat(size, broad, row_array(size, 1), row_array(size, 1), flags)
    own, flags, patches = selected_rows(near).visit(narrow, own, flags, patches)
    return flags, patches, selected_rows(own)
