"""Contact patches of spheres and capsules with each other and with boxes.

A sphere is a ball; a capsule is a *rod*: balls along a line segment. The nearest point of a rod to a capsule or a box
is exact: half the squared distance to the core of the other solid is a convex function of the position along the rod,
and its derivative is linear between positions that are known in closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.collision.collision_tolerances import (
    AXIS_ROUND_OFF,
    DISTANCE_ROUND_OFF,
    MERGED_ENDS,
    PARALLEL_SQUARED,
    SAME_POINT,
)
from linkwork.algorithms.collision.contact_patch import (
    FAR,
    ContactPatch,
    Touch,
    axis,
    clamp,
    patch_of,
    sign,
    touch_of_ball,
    unit,
)
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array, Number, cross, dot, maximum, minimum, where
from linkwork.tolerances import TINY


class Rod(NamedTuple):
    """A line segment in the frame of B: its middle (3,) [m], unit direction (3,) and half length `half` [m]."""

    middle: Array
    direction: Array
    half: Number

    def at(self, t: Number) -> Array:
        """Return the point (3,) [m] of the rod at the signed distance t [m] from its middle along `direction`."""
        return self.middle + self.direction * t


def sphere_sphere(a: Array, b: Array, X: Transform) -> ContactPatch:
    """Return the one-point contact patch of two spheres A and B; X is the pose of A in B.

    a and b (1,) [m] are the radii.
    """
    return patch_of([_ball_ball(X.p, a[0], np.zeros(3), b[0], axis(2))])


def sphere_capsule(a: Array, b: Array, X: Transform) -> ContactPatch:
    """Return the one-point contact patch of a sphere A and a capsule B; X is the pose of A in B.

    a (1,) [m] is the radius of A, and b (2,) [m] are the radius and half length of B.
    """
    return patch_of([_ball_ball(X.p, a[0], axis(2) * clamp(X.p[2], -b[1], b[1]), b[0], axis(0))])


def sphere_box(a: Array, b: Array, X: Transform) -> ContactPatch:
    """Return the one-point contact patch of a sphere A and a box B; X is the pose of A in B.

    a (1,) [m] is the radius of A, and b (3,) [m] are the half extents of B. If the centre of the sphere is inside the
    box, the normal is that of the nearest face.
    """
    distance, normal = _near_box(X.p, b, None)
    return patch_of([touch_of_ball(X.p, a[0], distance, normal)])


def capsule_capsule(a: Array, b: Array, X: Transform) -> ContactPatch:
    """Return the contact patch of two capsules A and B; X is the pose of A in B.

    a and b (2,) [m] are the radius and half length of each capsule. The contact points are the two ends of the part of
    capsule A that lies beside capsule B. If another point of A is nearer to B than both ends, it is a contact point
    too.
    """
    rod = Rod(X.p, X.R[:, 2], a[1])
    across, _ = unit(cross(axis(2), rod.direction), axis(0))
    # Where the axes cross, the normal is perpendicular to both
    across = across * sign(dot(across, X.p))

    def ball(t: Number) -> Touch:
        p = rod.at(t)
        return _ball_ball(p, a[0], axis(2) * clamp(p[2], -b[1], b[1]), b[0], across)

    core = np.array([0.0, 0.0, b[1]])
    nearest = _nearest(rod, core, (2,))
    return _rod_patch(rod, nearest, core, (2,), ball, a[0] + a[1] + b[0] + b[1])


def capsule_box(a: Array, b: Array, X: Transform) -> ContactPatch:
    """Return the contact patch of a capsule A and a box B; X is the pose of A in B.

    a (2,) [m] are the radius and half length of A, and b (3,) [m] the half extents of B. The contact points are the two
    ends of the part of capsule A that lies above one face of the box, that whose normal is nearest to the contact
    normal. If another point of A is nearer to the box than
    both ends, it is a contact point too. If the axis of the capsule enters the box, the normal is that of least
    penetration.
    """
    rod = Rod(X.p, X.R[:, 2], a[1])
    nearest, size = _nearest(rod, b, (0, 1, 2)), a[0] + a[1] + b[0] + b[1] + b[2]
    p = rod.at(nearest)
    apart, length = unit(p - np.array([clamp(x, -h, h) for x, h in zip(p, b, strict=True)]), axis(2))
    outside = length > SAME_POINT * size
    least, witness = _least_penetration(rod, b, nearest, size)
    normal = where(outside, apart, least)
    t_best = where(outside, nearest, witness)

    def ball(t: Number) -> Touch:
        p = rod.at(t)
        distance, own = _near_box(p, b, least)
        inside = dot(least, p) - sum(h * abs(n) for h, n in zip(b, least, strict=True))
        return touch_of_ball(p, a[0], where(outside, distance, inside), where(outside, own, least))

    steep = [abs(n) for n in normal]
    x_face = (steep[0] >= steep[1]) & (steep[0] >= steep[2])
    y_face = steep[1] >= steep[2]
    beyond = [where(x_face, FAR, 0.0), where(x_face, 0.0, where(y_face, FAR, 0.0))]
    beyond.append(FAR - beyond[0] - beyond[1])
    reach = np.array([h + far for h, far in zip(b, beyond, strict=True)])
    return _rod_patch(rod, t_best, reach, (0, 1, 2), ball, size)


def _ball_ball(p: Array, radius: Number, q: Array, other: Number, otherwise: Array) -> Touch:
    """Return the contact point of two balls: A with its centre at p (3,) [m], B with its centre at q (3,) [m].

    `radius` [m] is the radius of A, and `other` [m] that of B. If the centres coincide within round-off, the normal is
    `otherwise` (3,).
    """
    apart = p - q
    length = np.sqrt(dot(apart, apart) + TINY)
    there = length > AXIS_ROUND_OFF * (radius + other)
    length = where(there, length, dot(apart, otherwise))
    normal = where(there, apart / where(there, length, 1.0), otherwise)
    return Touch(q + normal * (0.5 * (length + other - radius)), length - radius - other, normal)


def _near_box(p: Array, half: Array, otherwise: Array | None) -> tuple[Number, Array]:
    """Return the signed distance [m] of a point p (3,) [m] from a box, and the outward normal (3,) of the box there.

    `half` (3,) [m] are the half extents of the box, which has the axes of the frame. If the point is inside the box,
    the distance is minus that to the nearest face, and the normal is `otherwise` (3,) if given, else the normal of the
    nearest face.
    """
    core = np.array([clamp(x, -h, h) for x, h in zip(p, half, strict=True)])
    apart, length = unit(p - core, axis(2))
    over = [abs(x) - h for x, h in zip(p, half, strict=True)]
    size = half[0] + half[1] + half[2]
    z_face = (over[2] >= over[0] - SAME_POINT * size) & (over[2] >= over[1] - SAME_POINT * size)
    x_face = over[0] >= over[1]
    face = [where(z_face, 0.0, where(x_face, 1.0, 0.0)), where(z_face, 0.0, where(x_face, 0.0, 1.0))]
    face.append(where(z_face, 1.0, 0.0))
    normal = np.array([f * sign(x) for f, x in zip(face, p, strict=True)])
    away = length > SAME_POINT * size
    # If the point is on the surface within round-off, the direction of `apart` is meaningless
    depth = maximum(maximum(over[0], over[1]), over[2])
    if otherwise is not None:
        normal = otherwise
    return where(away, length, depth), where(away, apart, normal)


def _nearest(rod: Rod, half: Array, axes: Sequence[int]) -> Number:
    """Return the position [m] along a rod of the point that is nearest to a box.

    The position is the distance from the middle of the rod. Along the axes with the numbers `axes`, the box has the
    half extents `half` (3,) [m], along other axes the half extent zero.

    The derivative of half the squared distance increases along the rod. It is linear between the positions at which the
    rod passes the planes of the faces. Where it is zero along an interval, the function returns the middle of the
    interval.
    """
    p, d, end = rod

    def slope(t: Number) -> Number:
        x = rod.at(t)
        # p + t d minus its nearest point in the box
        return sum(d[i] * (x[i] - clamp(x[i], -half[i], half[i])) if i in axes else d[i] * x[i] for i in range(3))

    places = [-end, end]
    for i in axes:
        along = where(abs(d[i]) > TINY, d[i], 1.0)
        places += [clamp((side - p[i]) / along, -end, end) for side in (-half[i], half[i])]
    low, high, low_slope, high_slope = -end, end, 0.0 * end, 0.0 * end
    for t in places:
        value = slope(t)
        falls, rises = (value <= 0.0) & (t >= low), (value >= 0.0) & (t <= high)
        low, low_slope = where(falls, t, low), where(falls, value, low_slope)
        high, high_slope = where(rises, t, high), where(rises, value, high_slope)
    steep = where(high_slope > low_slope, high_slope - low_slope, 1.0)
    between = low - low_slope * ((high - low) / steep)
    return where(low < high, clamp(between, low, high), 0.5 * (low + high))


def _least_penetration(rod: Rod, half: Array, nearest: Number, size: Number) -> tuple[Array, Number]:
    """Return the normal (3,) of least penetration of a rod into a box, and the position [m] of a contact on the rod.

    The candidates are the normals of the faces, and the vector products of the rod's direction with the edges. If a
    face and a product penetrate equally within round-off of the `size` [m], the face is chosen. If a face is chosen,
    the position on the rod is `nearest` [m]. `half` (3,) [m] are the half extents of the box.
    """
    p, d, end = rod
    best, normal, t = -FAR, axis(2), nearest
    for i in (2, 1, 0):
        value = abs(p[i]) - half[i] - end * abs(d[i])
        better = value > best + SAME_POINT * size
        best = where(better, value, best)
        normal = where(better, axis(i) * sign(p[i]), normal)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        squared = d[j] * d[j] + d[k] * d[k]
        skew = squared > PARALLEL_SQUARED
        length = np.sqrt(where(skew, squared, 1.0))
        across = cross(axis(i), d) / length
        across = across * sign(dot(across, p))
        value = where(skew, dot(across, p) - half[j] * abs(across[j]) - half[k] * abs(across[k]), -FAR)
        better = value > best + SAME_POINT * size
        best, normal = where(better, value, best), where(better, across, normal)
        # Position along the rod above the edge: p + t d - (corner) is along the normal, apart from axis i
        gap_j, gap_k = p[j] - sign(across[j]) * half[j], p[k] - sign(across[k]) * half[k]
        t = where(better, clamp(-(gap_j * d[j] + gap_k * d[k]) / (length * length), -end, end), t)
    return normal, t


def _rod_patch(
    rod: Rod, nearest: Number, half: Array, axes: Sequence[int], ball: Callable[[Number], Touch], size: Number
) -> ContactPatch:
    """Return the contact patch of a rod: the ends of its part beside the other solid, and its nearest point.

    A point of the rod is beside the other solid if its coordinates along `axes` are at most `half` (3,) [m] in
    magnitude, or at most the coordinates of the nearest point. `nearest` [m] is the position of the nearest point on
    the rod; this point is left out if it is not nearer than the ends. `ball(t)` returns the contact point of the ball
    at the position t [m] on the rod. `size` [m] is the size of the solids.
    """
    p, d, end = rod
    slack, x = SAME_POINT * size, rod.at(nearest)
    low, high = -end, end
    for i in axes:
        bound = maximum(half[i], abs(x[i]))
        steep = abs(d[i]) * end > slack
        middle, span = -p[i] / where(steep, d[i], 1.0), bound / where(steep, abs(d[i]), 1.0)
        low = maximum(low, where(steep, middle - span, -end))
        high = minimum(high, where(steep, middle + span, end))
    # Ends this near to the nearest point have the same distance, but another normal: move them to the nearest point
    low = where(low > nearest - MERGED_ENDS * size, nearest, low)
    high = where(high < nearest + MERGED_ENDS * size, nearest, high)
    first, last, best = ball(low), ball(high), ball(nearest)
    several = high - low > 2.0 * slack
    nearer = best.distance < minimum(first.distance, last.distance) - DISTANCE_ROUND_OFF * size
    return patch_of([first, last.if_(several), best.if_(nearer)])
