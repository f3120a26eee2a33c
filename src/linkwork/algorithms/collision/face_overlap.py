"""Overlap of a face with a rectangle: up to four points that span the overlap and include its lowest point."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.algorithms.collision.collision_tolerances import SAME_POINT
from linkwork.algorithms.collision.contact_patch import FAR, clamp
from linkwork.spatial.scalar import Array, Condition, Number, maximum, minimum, where
from linkwork.tolerances import TINY, TINY_SIZE

# Direction (2,) in the reference face along which the first two points are extreme. The edges of a face are seldom
# perpendicular to this direction, so two corners are seldom equally far along it.
FIRST = float(np.cos(0.6)), float(np.sin(0.6))
DIRECTIONS = (FIRST, (-FIRST[1], FIRST[0]), (-FIRST[0], -FIRST[1]), (FIRST[1], -FIRST[0]))  # quarter turns


class Corner(NamedTuple):
    """Corner of an overlap: x, y and height z [m], and the signed distance [m] of the faces there; FAR if unused."""

    x: Number
    y: Number
    height: Number
    distance: Number

    def if_(self, exists: Condition) -> Corner:
        """Return this corner if the condition `exists` is true, else the same corner with the distance FAR: unused."""
        return self._replace(distance=where(exists, self.distance, FAR))


def overlap(half: Array, centre: Array, first: Array, second: Array, separation: Number) -> list[Corner]:
    """Return a list of up to four points of the overlap of a parallelogram with a rectangle, seen along z.

    The rectangle is at z = 0, centred at the origin, with the half extents half[:2] [m] along x and y. The
    parallelogram has its `centre` (3,) [m] and the half edges `first`, `second` (3,) [m]. The points are on the
    parallelogram, and their distance is their height z. The function `spanning` selects them. If the faces do not
    overlap, or the lowest corner of the overlap is higher than `separation` [m], one point is replaced. The new point
    is the lowest corner of the parallelogram, moved sideways into the rectangle and to the height `separation`. Unused
    places of the list have the distance FAR.
    """
    size = half[0] + half[1] + sum(abs(x) for x in (*first, *second))
    slack = SAME_POINT * size
    corners = [*_clipped_edges(half, centre, first, second, slack), *_covered(half, centre, first, second)]
    down = [centre[i] - first[i] * _sign(first[2]) - second[i] * _sign(second[2]) for i in range(2)]
    bound = Corner(clamp(down[0], -half[0], half[0]), clamp(down[1], -half[1], half[1]), separation, separation)
    return spanning(corners, separation, bound, slack, 4.0 * slack)


def spanning(corners: list[Corner], separation: Number, nearest: Corner, slack: Number, merged: Number) -> list[Corner]:
    """Return up to four of the corners of an overlap that span it, including the lowest corner.

    Two corners are the farthest along a fixed direction and its opposite. Two more corners are the farthest on both
    sides of the line through the first two. All four corners of a parallelogram are selected in this manner, however
    long and thin it is. If all selected corners have a larger distance than the lowest corner, the lowest corner
    replaces the nearest of them. The lowest corner is the one of the smallest distance; if this distance is larger than
    `separation` [m], the point `nearest` takes its place. If selected corners differ by at most `merged` [m] in x and
    in y, only the one of smallest distance is used, and the others get the distance FAR. Distances that differ by less
    than `slack` [m] are equal.
    """
    lowest = corners[0]
    for corner in corners[1:]:
        lowest = _chosen(corner.distance < lowest.distance, corner, lowest)
    lowest = _chosen(lowest.distance > separation + slack, nearest, lowest)
    one, two = (_extreme(corners, *direction) for direction in DIRECTIONS[::2])
    x, y = across(two.x - one.x, two.y - one.y, DIRECTIONS[1])
    left, right = (_extreme(corners, sign * x, sign * y) for sign in (1.0, -1.0))
    none = one._replace(distance=FAR)
    left = _chosen((left.x - one.x) * x + (left.y - one.y) * y > merged, left, none)
    right = _chosen((one.x - right.x) * x + (one.y - right.y) * y > merged, right, none)
    chosen = _with_lowest([one, left, two, right], lowest, slack)
    for k in range(1, 4):
        for j in range(k):
            one, two = chosen[j], chosen[k]
            near = (abs(two.x - one.x) <= merged) & (abs(two.y - one.y) <= merged)
            twice = near & (one.distance < FAR) & (two.distance < FAR)
            chosen[j] = _chosen(twice & (two.distance < one.distance), two, one)
            chosen[k] = two._replace(distance=where(twice, FAR, two.distance))
    return chosen


def _sign(x: Number) -> Number:
    return where(x < 0.0, -1.0, 1.0)


def _chosen(condition: Condition, yes: Corner, no: Corner) -> Corner:
    return Corner(*(where(condition, a, b) for a, b in zip(yes, no, strict=True)))


def across(x: Number, y: Number, otherwise: tuple[float, float]) -> tuple[Number, Number]:
    """Return the components of (x, y) turned by a quarter turn from x to y, as a unit vector; `otherwise` if zero."""
    length = np.sqrt(x * x + y * y + TINY)
    apart = length > TINY_SIZE
    return where(apart, -y / length, otherwise[0]), where(apart, x / length, otherwise[1])


def _extreme(corners: list[Corner], x: Number, y: Number) -> Corner:
    """Return the corner of the overlap that is farthest along the direction (x, y).

    Entries of `corners` with the distance FAR are unused places of the fixed-size list, and are ignored.
    """
    best, found = -FAR, corners[0]
    for corner in corners:
        along = where(corner.distance < FAR, x * corner.x + y * corner.y, -FAR)
        farther = along > best
        best, found = where(farther, along, best), _chosen(farther, corner, found)
    return found


def _with_lowest(chosen: list[Corner], lowest: Corner, slack: Number) -> list[Corner]:
    """Return four points: the `chosen` points, with `lowest` in place of the nearest of them if all of them are higher.

    `lowest` replaces a point only if its distance is smaller than those of all `chosen` points by more than `slack`
    [m].
    """
    least = minimum(minimum(*(c.distance for c in chosen[:2])), minimum(*(c.distance for c in chosen[2:])))
    missing = lowest.distance < least - slack
    squares = [(c.x - lowest.x) * (c.x - lowest.x) + (c.y - lowest.y) * (c.y - lowest.y) for c in chosen]
    nearest = minimum(minimum(*squares[:2]), minimum(*squares[2:]))
    return [_chosen(missing & (s <= nearest), lowest, c) for s, c in zip(squares, chosen, strict=True)]


def _clipped_edges(half: Array, centre: Array, first: Array, second: Array, slack: Number) -> list[Corner]:
    """Return the ends of the edges of a parallelogram after clipping by a rectangle.

    The arguments `half`, `centre`, `first` and `second` are those of `overlap`. Points outside the rectangle by at most
    `slack` [m] count as inside. The list has the two ends of each of the four edges. If an edge is wholly outside the
    rectangle, its ends have the distance FAR: they are unused.
    """
    corners = []
    for middle, along in (
        (centre + second, first),
        (centre - first, second),
        (centre - second, -first),
        (centre + first, -second),
    ):
        low, high, beside = -1.0, 1.0, False
        for i in range(2):
            steep = abs(along[i]) > TINY
            step = where(steep, along[i], 1.0)
            reach = half[i] + slack
            one, two = (-reach - middle[i]) / step, (reach - middle[i]) / step
            low = maximum(low, where(steep, minimum(one, two), -1.0))
            high = minimum(high, where(steep, maximum(one, two), 1.0))
            beside = beside | where(steep, False, abs(middle[i]) > reach)
        exists = where(beside, 1.0, 0.0) + where(low <= high, 0.0, 1.0) < 0.5
        for t in (low, high):
            x, y, z = middle + along * t
            corner = Corner(clamp(x, -half[0], half[0]), clamp(y, -half[1], half[1]), z, where(exists, z, FAR))
            corners.append(corner)
    return corners


def _covered(half: Array, centre: Array, first: Array, second: Array) -> list[Corner]:
    """Return the four corners of a rectangle, each with the height of the plane of a parallelogram above it.

    Corners outside the parallelogram have the distance FAR: they are unused. The arguments `half`, `centre`, `first`
    and `second` are those of `overlap`.
    """
    area = first[0] * second[1] - first[1] * second[0]
    inverse = 1.0 / where(abs(area) > TINY, area, 1.0)
    corners = []
    for along_x, along_y in ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)):
        x, y = half[0] * along_x, half[1] * along_y
        u, v = x - centre[0], y - centre[1]
        s = (u * second[1] - v * second[0]) * inverse
        t = (first[0] * v - first[1] * u) * inverse
        z = centre[2] + s * first[2] + t * second[2]
        inside = (abs(s) <= 1.0) & (abs(t) <= 1.0) & (abs(area) > TINY)
        corners.append(Corner(x, y, z, where(inside, z, FAR)))
    return corners
