"""Convex solids for the general contact patch: support points, and the parts of their surface near a contact.

A solid has a pose in the frame of the contact patch; all its results are in this frame. Spheres and capsules are a
point and a line segment with a radius; the radius is not part of their support points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.collision.collision_tolerances import CENTRED_OFFSET, UPRIGHT_ANGLE
from linkwork.algorithms.collision.contact_patch import sign
from linkwork.algorithms.collision.convex_separation import Faces, perpendicular
from linkwork.algorithms.collision.face_overlap import across
from linkwork.algorithms.collision.plane_patches import facing_face
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array, Number, dot, lookup, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import HUGE, TINY

TILT = 0.03  # angle [rad] by which a hull tilts the normal to find vertices of a nearly flat part of its surface


@dataclass(frozen=True, eq=False)
class Point:
    """A point, the core of a ball with the given `radius` [m]; X is its pose in the frame of the contact patch."""

    X: Transform
    radius: Number

    @property
    def centre(self) -> Array:
        """Return the point (3,) [m], which is the centre of the ball."""
        return self.X.p

    @property
    def size(self) -> Number:
        """Return the radius [m] of the ball as its size."""
        return self.radius

    def support(self, n: Array) -> Array:
        """Return the point (3,) [m] of the solid that is farthest along n (3,)."""
        return self.X.p + 0.0 * n

    @property
    def faces(self) -> Faces | None:
        """Return None, because only convex hulls have faces to visit."""
        return None

    @property
    def lines(self) -> Sequence[Array]:
        """Return no directions (3,), because a point has no straight lines on its surface."""
        return ()

    def bend(self, n: Array) -> Array:
        """Return zeros (3,), because the support point does not move when the direction n changes."""
        del n
        return np.zeros(3)

    def axes(self, n: Array) -> Sequence[Array]:
        """Return no normals (3,), because a point has no smooth surface."""
        del n
        return ()

    def part(self, n: Array, directions: Sequence[Array], other: Array) -> list[Array]:
        """Return four copies of the point (3,) [m], because a point has no other surface points near the contact."""
        del n, directions, other
        return [self.X.p] * 4


@dataclass(frozen=True, eq=False)
class Segment:
    """The line segment along the z axis of its frame that is the core of a capsule.

    X is the pose of the frame in the frame of the contact patch, `radius` [m] the radius of the capsule, and `half` [m]
    half the length of the segment.
    """

    X: Transform
    radius: Number
    half: Number

    @property
    def centre(self) -> Array:
        """Return the midpoint (3,) [m] of the segment."""
        return self.X.p

    @property
    def size(self) -> Number:
        """Return the sum of the capsule's radius and half length [m] as its size."""
        return self.radius + self.half

    def support(self, n: Array) -> Array:
        """Return the end (3,) [m] of the segment that is farthest along n (3,)."""
        d = self.X.R[:, 2]
        return self.X.p + d * (sign(dot(d, n)) * self.half)

    @property
    def faces(self) -> Faces | None:
        """Return None, because only convex hulls have faces to visit."""
        return None

    @property
    def lines(self) -> Sequence[Array]:
        """Return the direction (3,) of the capsule's axis, z."""
        return (self.X.R[:, 2],)

    def bend(self, n: Array) -> Array:
        """Return zeros (3,), because the support point, an end, does not move when the direction n changes slightly."""
        del n
        return np.zeros(3)

    def axes(self, n: Array) -> Sequence[Array]:
        """Return the direction (3,) nearest to n (3,) that is perpendicular to the segment."""
        return (perpendicular(self.X.R[:, 2], n, self.X.R[:, 0]),)

    def part(self, n: Array, directions: Sequence[Array], other: Array) -> list[Array]:
        """Return the two ends (3,) [m] of the segment, each twice, as the four points near the contact."""
        del n, directions, other
        along = self.X.R[:, 2] * self.half
        return [self.X.p + along, self.X.p + along, self.X.p - along, self.X.p - along]


@dataclass(frozen=True, eq=False)
class SolidBox:
    """A box with the half extents `half` (3,) [m]; X is its pose in the frame of the contact patch.

    The rounding `radius` of its edges is zero.
    """

    X: Transform
    half: Array
    radius: Number = 0.0

    @property
    def centre(self) -> Array:
        """Return the centre (3,) [m] of the box."""
        return self.X.p

    @property
    def size(self) -> Number:
        """Return the sum of the half extents [m] of the box as its size."""
        return self.half[0] + self.half[1] + self.half[2]

    def support(self, n: Array) -> Array:
        """Return the corner (3,) [m] of the box that is farthest along n (3,)."""
        own = self.X.R.T @ n
        return self.X.point(np.array([sign(x) * h for x, h in zip(own, self.half, strict=True)]))

    @property
    def faces(self) -> Faces | None:
        """Return None, because only convex hulls have faces to visit."""
        return None

    @property
    def lines(self) -> Sequence[Array]:
        """Return the directions (3,) of the edges of the box."""
        return tuple(self.X.R.T)

    def bend(self, n: Array) -> Array:
        """Return zeros (3,), because the support point, a corner, does not move when n changes slightly."""
        del n
        return np.zeros(3)

    def axes(self, n: Array) -> Sequence[Array]:
        """Return the outward normals (3,) of the three faces of the box on the side of n (3,)."""
        own = self.X.R.T @ n
        return tuple(self.X.R[:, k] * sign(own[k]) for k in (2, 0, 1))

    def part(self, n: Array, directions: Sequence[Array], other: Array) -> list[Array]:
        """Return the corners (3,) [m] of the face of the box whose normal is nearest to n (3,)."""
        del directions, other
        centre, first, second = facing_face(self.half, self.X.R, self.X.p, -(self.X.R.T @ n))
        return [centre + first + second, centre - first + second, centre - first - second, centre + first - second]


@dataclass(frozen=True, eq=False)
class SolidCylinder:
    """A cylinder along the z axis of its frame, which has the pose X in the frame of the contact patch.

    `round` [m] is the radius of the cylinder and `half` [m] half its length. The rounding `radius` of its edges is
    zero.
    """

    X: Transform
    round: Number
    half: Number
    radius: Number = 0.0

    @property
    def centre(self) -> Array:
        """Return the centre (3,) [m] of the cylinder."""
        return self.X.p

    @property
    def size(self) -> Number:
        """Return the sum of the cylinder's radius and half length [m] as its size."""
        return self.round + self.half

    def support(self, n: Array) -> Array:
        """Return the point (3,) [m] on the rims of the cylinder that is farthest along n (3,)."""
        x, y, z = self.X.R.T @ n
        squared = x * x + y * y
        aside = squared > TINY
        scale = self.round / np.sqrt(where(aside, squared, 1.0))
        rim = np.array([where(aside, x * scale, self.round), where(aside, y * scale, 0.0), sign(z) * self.half])
        return self.X.point(rim)

    @property
    def faces(self) -> Faces | None:
        """Return None, because only convex hulls have faces to visit."""
        return None

    @property
    def lines(self) -> Sequence[Array]:
        """Return the direction (3,) of the cylinder's axis, z."""
        return (self.X.R[:, 2],)

    def bend(self, n: Array) -> Array:
        """Return the vector k (3,) [m^(1/2)] that describes the curvature of the rim at the support point along n (3,).

        The derivative of the support point with respect to n is the matrix k k^T (3, 3) [m].
        """
        R = self.X.R
        x, y = dot(R[:, 0], n), dot(R[:, 1], n)
        squared = x * x + y * y
        aside = squared > 1e-16
        squared = where(aside, squared, 1.0)
        scale = where(aside, np.sqrt(self.round / (squared * np.sqrt(squared))), 0.0)
        return (R[:, 1] * x - R[:, 0] * y) * scale

    def axes(self, n: Array) -> Sequence[Array]:
        """Return the normals (3,) of the end face on the side of n (3,), and of the lateral surface nearest to n."""
        d = self.X.R[:, 2]
        return d * sign(dot(d, n)), perpendicular(d, n, self.X.R[:, 0])

    def part(self, n: Array, directions: Sequence[Array], other: Array) -> list[Array]:
        """Return four points (3,) [m] of the cylinder's rim, or the ends of a line on its lateral surface, each twice.

        The result is on the rim if n is nearer to the axis than to the end face. The four points are then a quarter
        turn apart, and the first one is the point farthest along n. If the end face is perpendicular to n within
        round-off, the first one is the point nearest to `other` (3,) [m]. `directions` is not used.
        """
        del directions
        X, R = self.X, self.X.R
        x, y, z = R.T @ n
        beside = R.T @ (other - X.p)
        u, v = CENTRED_OFFSET * self.size + beside[0], beside[1]
        scale = UPRIGHT_ANGLE / (CENTRED_OFFSET * self.size + np.sqrt(u * u + v * v + TINY))
        x, y = x + u * scale, y + v * scale
        length = np.sqrt(x * x + y * y + 1e-40)
        aside = (R[:, 0] * x + R[:, 1] * y) * (self.round / length)
        across = (R[:, 1] * x - R[:, 0] * y) * (self.round / length)
        end = R[:, 2] * (sign(z) * self.half)
        flat = abs(z) > length
        other = where(flat, X.p + end - aside, X.p - end + aside)
        second = where(flat, across, aside)
        third = where(flat, -across, aside)
        return [
            X.p + end + aside,
            X.p + end + second,
            other,
            where(flat, X.p + end + third, other),
        ]


class HullRows(NamedTuple):
    """The vertices or face normals of one hull: `count` rows of a constant `table` (n, 3), from row `first` on.

    The table has the rows of all hulls of a mechanism, in the frames of the hulls. `most` is the largest `count`.
    """

    table: Array
    most: int
    first: Number
    count: Number

    def row(self, k: Number) -> Array:
        """Return number k, counted from 0, of these vertices [m] or unit normals: (3,) in the frame of the hull."""
        return lookup(self.table, self.first + k)


@dataclass(frozen=True, eq=False)
class SolidHull:
    """A convex hull with `vertices` [m] and outward face `normals`, in a frame with the pose X in the patch's frame.

    `inside` (3,) [m] is a point inside the hull, and `size` [m] the largest distance of a vertex from this point. The
    rounding `radius` of its edges is zero.
    """

    X: Transform
    vertices: HullRows
    normals: HullRows
    inside: Array
    size: Number
    radius: Number = 0.0

    @property
    def centre(self) -> Array:
        """Return a point (3,) [m] inside the hull."""
        return self.X.point(self.inside)

    def support(self, n: Array) -> Array:
        """Return the vertex (3,) [m] that is farthest along n (3,)."""
        return self._extreme([n])[0]

    @property
    def faces(self) -> Faces | None:
        """Return the faces of the hull, with normals in the frame of the patch."""
        return Faces(self.normals.count, self.normals.most, lambda k: self.X.R @ self.normals.row(k))

    @property
    def lines(self) -> Sequence[Array]:
        """Return no directions (3,): the search for the separation of a hull starts at its `faces` instead."""
        return ()

    def bend(self, n: Array) -> Array:
        """Return zeros (3,), because the support point, a vertex, does not move when n changes slightly."""
        del n
        return np.zeros(3)

    def axes(self, n: Array) -> Sequence[Array]:
        """Return no normals (3,): the search for the separation of a hull visits its `faces` instead."""
        del n
        return ()

    def part(self, n: Array, directions: Sequence[Array], other: Array) -> list[Array]:
        """Return four vertices (3,) [m] of the hull that span its part facing n (3,), in cyclic order.

        `directions` (3,) are four directions perpendicular to n, of which the first two are used. Two of the vertices
        are the farthest along n tilted by `TILT` towards and away from the first direction. The other two are the
        farthest along n tilted to the two sides of the line through the first two. `other` is not used.
        """
        del other
        one, two = self._extreme([n + directions[0] * TILT, n - directions[0] * TILT])
        x, y = across(*(dot(two - one, direction) for direction in directions[:2]), otherwise=(0.0, 1.0))
        side = (directions[0] * x + directions[1] * y) * TILT
        left, right = self._extreme([n + side, n - side])
        return [one, left, two, right]

    def _extreme(self, normals: Sequence[Array]) -> list[Array]:
        """Return, for each of several directions (3,), the vertex (3,) [m] of the hull that is farthest along it.

        `normals` are the directions.
        """
        own = [self.X.R.T @ n for n in normals]

        def visit(k: Number, *best: Number) -> tuple[tuple[Number, ...], bool]:
            """Compare vertex number k with the farthest vertex found so far along each direction."""
            vertex = self.vertices.row(k)
            state = []
            for j, n in enumerate(own):
                far = dot(vertex, n)
                farther = far > best[2 * j]
                state += [where(farther, far, best[2 * j]), where(farther, k, best[2 * j + 1])]
            return (k + 1.0, *state), k + 1.0 >= self.vertices.count

        (_, *best), _, _ = iterate(self.vertices.most, visit, 0.0, *([-HUGE, 0.0] * len(own)))
        return [self.X.point(self.vertices.row(k)) for k in best[1::2]]
