"""Contact patches: up to four points at which two solids touch or nearly touch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array, Condition, Number, dot, where
from linkwork.tolerances import TINY

FAR = 1e9  # distance [m] that marks an unused place of a patch
COUNT = 4  # number of places for points in a patch


class ContactPatch(NamedTuple):
    """Up to four contact points of two solids A and B, in the frame of B.

    `points` (4, 3) [m] are midway between the two surfaces. `distances` (4,) [m] are the signed distances of the
    surfaces along the normals at the points, negative if the solids penetrate; unused places have the distance `FAR`.
    `normals` (4, 3) are the unit normals at the points, from B to A. If solid A moves by -distance * normal of one
    point, the surfaces touch there.
    """

    points: Array
    distances: Array
    normals: Array

    def swapped(self, X: Transform) -> ContactPatch:
        """Return the patch with the roles of A and B exchanged, in the frame of A.

        X is the pose of A in the frame of B. Points and normals are (4, 3), distances (4,) [m].
        """
        points = np.array([X.R.T @ (point - X.p) for point in self.points])
        return ContactPatch(points, self.distances, np.array([-(X.R.T @ normal) for normal in self.normals]))


class Touch(NamedTuple):
    """One contact point of solids A and B.

    `point` (3,) [m] is midway between the surfaces, `distance` [m] is their signed distance there, and `normal` (3,) is
    the unit normal from B to A.
    """

    point: Array
    distance: Number
    normal: Array

    def if_(self, exists: Condition) -> Touch:
        """Return this contact point if the condition `exists` is true, else a point with the distance FAR: none."""
        return Touch(self.point, where(exists, self.distance, FAR), self.normal)


def touch_of_ball(centre: Array, radius: Number, distance: Number, normal: Array) -> Touch:
    """Return the contact point of a ball with a surface.

    The centre (3,) [m] of the ball is at the signed `distance` [m] from the surface, along the outward `normal` (3,) of
    the surface. `radius` [m] is the radius of the ball.
    """
    gap = distance - radius
    return Touch(centre - normal * (radius + 0.5 * gap), gap, normal)


def patch_of(touches: Sequence[Touch]) -> ContactPatch:
    """Return the contact patch of one to four contact points; unused places repeat the first point at the distance FAR.

    The patch has points (4, 3) [m], distances (4,) [m] and normals (4, 3). `touches` are the contact points.
    """
    rest = [touches[0].if_(False)] * (COUNT - len(touches))
    points, distances, normals = zip(*touches, *rest, strict=True)
    return ContactPatch(np.array(points), np.array(distances), np.array(normals))


def unit(v: Array, otherwise: Array) -> tuple[Array, Number]:
    """Return the direction (3,) of a vector v (3,), and its length; the direction is `otherwise` (3,) if v is zero."""
    length = np.sqrt(dot(v, v) + TINY)
    there = length > 1e-140
    return where(there, v / length, otherwise), where(there, length, 0.0)


def axis(k: int) -> Array:
    """Return the unit vector (3,) along axis k."""
    return np.eye(3)[k]


def sign(x: Number) -> Number:
    """Return -1 if x is negative, else 1."""
    return where(x < 0.0, -1.0, 1.0)


def clamp(x: Number, low: Number, high: Number) -> Number:
    """Return x limited to the interval from `low` to `high`."""
    return where(x < low, low, where(x > high, high, x))
