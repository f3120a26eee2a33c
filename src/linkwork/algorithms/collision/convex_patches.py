"""Contact patch of two convex solids: overlap of the parts of their surfaces that face each other.

Each solid gives four points of its surface near the contact. Seen along the normal they are the corners of a convex
polygon, which may be a line or a point. The patch has up to four corners of the overlap of both polygons. If no corner
is as near as the nearest points of the solids, these nearest points replace one of the corners.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from linkwork.algorithms.collision.collision_tolerances import FLAT_EXTENT, MERGED_PATCH_POINTS, SAME_POINT
from linkwork.algorithms.collision.contact_patch import ContactPatch, Touch, patch_of, sign
from linkwork.algorithms.collision.convex_separation import Solid, separation, tangents
from linkwork.algorithms.collision.face_overlap import DIRECTIONS, Corner, spanning
from linkwork.spatial.scalar import Array, Number, dot, maximum, minimum, where
from linkwork.tolerances import TINY, TINY_SIZE


class RoundedSolid(Solid, Protocol):
    """Interface of a rounded solid: all points within `radius` [m] of a convex solid, which `support` describes."""

    @property
    def radius(self) -> Number:
        """Return the radius [m] by which the solid is rounded."""
        ...

    def part(self, n: Array, directions: Sequence[Array], other: Array) -> list[Array]:
        """Return four points (3,) [m] of the solid's surface near its support point along n (3,), in cyclic order.

        `directions` (3,) are four directions perpendicular to n, a quarter turn apart. Only convex hulls use them, to
        choose vertices. `other` (3,) [m] is the centre of the other solid.
        """
        ...


class _Polygon(NamedTuple):
    """Quadrilateral on the surface of a solid, with a plane that fits it; z is along the contact normal from B to A.

    The origin is midway between the nearest points of the solids, and x and y are perpendicular to z. `corners` are the
    four corners (3,) [m] in cyclic order: x, y and height z. `slopes` are the derivatives of the plane's height with
    respect to x and y, and `level` [m] is its height at x = y = 0.
    """

    corners: list[Array]
    slopes: tuple[Number, Number]
    level: Number

    def height(self, x: Number, y: Number) -> Number:
        """Return the height z [m] of the plane of the quadrilateral at the position x, y [m]."""
        return self.level + self.slopes[0] * x + self.slopes[1] * y


def convex_patch(a: RoundedSolid, b: RoundedSolid) -> ContactPatch:
    """Return the contact patch of two convex solids A and B, both given in the same frame.

    The smallest distance and its normal are exact if the solids are apart. If they penetrate, the depth along the
    returned normal is exact, but the normal may be wrong: near edges and corners, the depth may be a local minimum over
    all normals, not the global one. Measured on random pairs with a depth of 0.1 % to 5 % of their size, this happened
    for 0.1 % to 0.5 % of the pairs of hulls with eight vertices, and for 1.3 % of the pairs of a cylinder and a box. If
    the depth is comparable to the size of the solids, it happened for up to 6 % of the pairs.

    All points of the patch have equal normals. An end face of a cylinder is represented by four points of its rim.
    """
    best = separation(a, b)
    n, size = best.normal, a.size + b.size
    t1, t2 = tangents(n)
    middle = (best.on_a + best.on_b) * 0.5
    tilted = [t1 * x + t2 * y for x, y in DIRECTIONS]

    def polygon(points: list[Array]) -> _Polygon:
        local = [point - middle for point in points]
        return _polygon([np.array([dot(r, t1), dot(r, t2), dot(r, n)]) for r in local])

    on_a, on_b = polygon(a.part(-n, tilted, b.centre)), polygon(b.part(n, tilted, a.centre))
    top = dot(b.support(n) - middle, n)  # height of B above `middle`; no point of A is lower than top + separation
    corners = _overlap(on_a, on_b, top, best.value, SAME_POINT * size)
    chosen = spanning(
        corners, best.value, Corner(0.0, 0.0, top, best.value), SAME_POINT * size, MERGED_PATCH_POINTS * size
    )
    touches = []
    rounded = a.radius + b.radius
    for x, y, on_top, gap in chosen:
        # The contact point is midway between the rounded surfaces: above B's core by B's radius and half the distance
        distance = gap - rounded
        up = on_top + b.radius + 0.5 * where(gap < 1e8, distance, 0.0)
        touches.append(Touch(middle + t1 * x + t2 * y + n * up, where(gap < 1e8, distance, gap), n))
    return patch_of(touches)


def _polygon(corners: list[Array]) -> _Polygon:
    """Return the quadrilateral of the four points `corners` (3,) [m], with their least-squares plane.

    The squared deviations are those of the heights z.
    """
    mean = (corners[0] + corners[1] + corners[2] + corners[3]) * 0.25
    apart = [corner - mean for corner in corners]
    xx, xy, yy = (sum(r[i] * r[j] for r in apart) for i, j in ((0, 0), (0, 1), (1, 1)))
    xz, yz = (sum(r[i] * r[2] for r in apart) for i in (0, 1))
    extra = FLAT_EXTENT * (xx + yy) + TINY_SIZE
    xx, yy = xx + extra, yy + extra
    det = xx * yy - xy * xy
    p, q = (xz * yy - yz * xy) / det, (yz * xx - xz * xy) / det
    return _Polygon(corners, (p, q), mean[2] - p * mean[0] - q * mean[1])


def _overlap(a: _Polygon, b: _Polygon, top: Number, least: Number, slack: Number) -> list[Corner]:
    """Return the corners of the overlap of quadrilaterals A and B: heights [m] on B and distances [m] from A.

    `top` [m] is the height of the highest point of B. The lowest point of A is `least` [m] above the highest point of
    B. Points outside a quadrilateral by at most `slack` [m] count as inside.
    """
    found = []
    for x, y, z, exists in _clipped(a, b, slack):
        under = minimum(b.height(x, y), top)
        found.append(Corner(x, y, under, maximum(z, top + least) - under).if_(exists))
    for x, y, z, exists in _clipped(b, a, slack):
        under = minimum(z, top)
        found.append(Corner(x, y, under, maximum(a.height(x, y), top + least) - under).if_(exists))
    return found


def _clipped(a: _Polygon, b: _Polygon, slack: Number) -> list[tuple[Number, Number, Number, Number]]:
    """Return the ends of the edges of polygon A after clipping by polygon B, as eight tuples (x, y, height, exists).

    Positions are in [m]; `exists` is true if a part of the edge is inside B. Two successive entries are the ends of one
    edge. Points outside B by at most `slack` [m] count as inside.
    """
    beyond = [_beyond(b, corner, slack) for corner in a.corners]
    ends = []
    for k in range(4):
        start, end = a.corners[k], a.corners[(k + 1) % 4]
        low, high, outside = 0.0, 1.0, 0.0
        for f, g in zip(beyond[k], beyond[(k + 1) % 4], strict=True):
            t = f / where(abs(f - g) > TINY, f - g, 1.0)
            enters, leaves = f > 0.0, g > 0.0
            outside = where(enters & leaves, 1.0, outside)
            low = where(enters, maximum(low, t), low)
            high = where(leaves, minimum(high, t), high)
        exists = (outside < 0.5) & (low <= high)
        for t in (low, high):
            x, y, z = start + (end - start) * minimum(maximum(t, 0.0), 1.0)
            ends.append((x, y, z, exists))
    return ends


def _beyond(polygon: _Polygon, point: Array, slack: Number) -> list[Number]:
    """Return the distances [m] by which a point is beyond the edges of a polygon, and beyond its extent.

    Each distance is reduced by `slack` [m]; negative distances are inside. `point` (3,) [m] is in the axes in which the
    corners of the polygon are given. The extent is measured in four directions; it is needed for polygons that are
    lines or points, which have no inside. The first four distances are those of the edges.
    """
    corners = polygon.corners
    first, second = corners[2] - corners[0], corners[3] - corners[1]
    turn = sign(first[0] * second[1] - first[1] * second[0])
    found = []
    for k in range(4):
        start, end = corners[k], corners[(k + 1) % 4]
        x, y = end[0] - start[0], end[1] - start[1]
        length = np.sqrt(x * x + y * y + TINY)
        aside = (point[0] - start[0]) * y - (point[1] - start[1]) * x
        found.append(where(length > slack, turn * aside / length, 0.0) - slack)
    for x, y in DIRECTIONS:
        along = [x * corner[0] + y * corner[1] for corner in corners]
        reach = maximum(maximum(along[0], along[1]), maximum(along[2], along[3]))
        found.append(x * point[0] + y * point[1] - reach - slack)
    return found
