"""Contact patches of solids with uneven ground: a `HeightField` or a `Ground`.

Up to four points of the solid can touch the ground: the ends of a capsule, the corners of the face of a box, points of
the rims of a cylinder, or vertices of a hull that face the ground below the solid's centre. Each has its own distance
and normal. A ridge of the ground that enters the solid between these points is not detected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from linkwork.algorithms.collision.collision_tolerances import SAME_POINT
from linkwork.algorithms.collision.contact_patch import ContactPatch, Touch, patch_of, touch_of_ball
from linkwork.algorithms.collision.convex_patches import RoundedSolid
from linkwork.algorithms.collision.convex_separation import tangents
from linkwork.algorithms.collision.convex_solids import Segment, SolidBox, SolidCylinder
from linkwork.algorithms.collision.face_overlap import DIRECTIONS
from linkwork.algorithms.collision.hull_patches import HullPairs
from linkwork.model.elements.uneven_ground import Ground, HeightField
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array, Number, dot, minimum, where
from linkwork.spatial.traceable_loops import repeat

Patch = Callable[[Array, Array, Transform], ContactPatch]


class GroundPairs:
    """Contact functions of all kinds of solids with one uneven `ground`, which is always B and has the size (0,).

    `kinds` maps (kind of A, "ground") to the contact function. For a HeightField, distances of balls with radii up to
    `radius` [m] are exact, and the computing time grows with `radius`; a Ground ignores it. If `hulls` is given, convex
    hulls can touch the ground too.
    """

    def __init__(self, ground: HeightField | Ground, radius: float = 0.0, hulls: HullPairs | None = None):
        self.ground, self.radius = ground, radius
        self.kinds: dict[tuple[str, str], Patch] = {
            ("sphere", "ground"): lambda a, _, X: patch_of([self._touch(X.p, a[0])]),
            ("capsule", "ground"): lambda a, _, X: self._patch(Segment(X, a[0], a[1]), a[0]),
            ("cylinder", "ground"): lambda a, _, X: self._patch(SolidCylinder(X, a[0], a[1]), 0.0),
            ("box", "ground"): lambda a, _, X: self._patch(SolidBox(X, a), 0.0),
        }
        if hulls is not None:
            self.kinds["hull", "ground"] = lambda a, _, X: self._patch(hulls.solid(a, X), 0.0, lowest=True)

    def _touch(self, p: Array, radius: Number) -> Touch:
        """Return the contact point with the ground of a ball with its centre at p (3,) [m], or of a point (`radius` 0).

        The ball is part of the surface of solid A, such as an end of a capsule. `radius` [m] is its radius.
        """
        near = self.ground.near(p, self.radius) if isinstance(self.ground, HeightField) else self.ground.near(p)
        return touch_of_ball(p, radius, near.distance, near.normal)

    def _patch(self, solid: RoundedSolid, radius: Number, lowest: bool = False) -> ContactPatch:
        """Return the contact patch of a solid with the ground: the contact points of up to four of its surface points.

        The surface points face the ground below the solid's centre; if several of them coincide, only one is used.
        `radius` [m] is the radius of the balls at these points, 0 if they are points. If `lowest` is true, the vertex
        that is lowest along the normal of the ground below the centre replaces the surface point nearest to this
        vertex.
        """
        below = self._touch(solid.centre, 0.0).normal
        first, second = tangents(below)
        points = solid.part(-below, [first * x + second * y for x, y in DIRECTIONS], solid.centre)
        if lowest:
            points = _with(points, solid.support(-below))
        found = np.zeros((4, 7)) + 0.0 * below[0]

        def visit(k: Number, found: Array) -> tuple[Array]:
            """Return the table `found` (4, 7) with position, distance and normal of contact point number k in row k."""
            p = where(k < 1.5, where(k < 0.5, points[0], points[1]), where(k < 2.5, points[2], points[3]))
            point, distance, normal = self._touch(p, radius)
            row = [*point, distance, *normal]
            rows = [[where(abs(k - j) < 0.5, x, y) for x, y in zip(row, found[j], strict=True)] for j in range(4)]
            return (np.array(rows),)

        (found,) = repeat(4, visit, found)
        touches = [Touch(row[:3], row[3], row[4:]) for row in found]
        slack = SAME_POINT * solid.size
        for k in range(1, 4):
            for j in range(k):
                apart = points[k] - points[j]
                touches[k] = touches[k].if_(dot(apart, apart) > slack * slack)
        return patch_of(touches)


def _with(points: Sequence[Array], other: Array) -> list[Array]:
    """Return the four points (3,) [m], with `other` (3,) [m] in place of the point that is nearest to it."""
    squares = [dot(p - other, p - other) for p in points]
    low = minimum(minimum(squares[0], squares[1]), minimum(squares[2], squares[3]))
    # If several points are equal, all of them are replaced; the caller uses only one of several equal points
    return [where(square <= low, other, point) for point, square in zip(points, squares, strict=True)]
