"""Contact patches of solids A with a plane B: the plane z = 0 of the frame of B, with the material of B below it."""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.collision.collision_tolerances import SAME_POINT, UPRIGHT_ANGLE
from linkwork.algorithms.collision.contact_patch import ContactPatch, Touch, axis, patch_of, sign
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array, maximum, where


def sphere_plane(a: Array, b: Array, X: Transform) -> ContactPatch:
    """Return the one-point contact patch of a sphere A on a plane B: z = 0 of its frame; X is the pose of A in B.

    a (1,) [m] is the radius of A, and b (0,) is empty, because a plane has no size.
    """
    del b
    return patch_of([_above(X.p - axis(2) * a[0])])


def capsule_plane(a: Array, b: Array, X: Transform) -> ContactPatch:
    """Return the contact patch of a capsule A on a plane B: the lowest point of each end; X is the pose of A in B.

    The plane is z = 0 of the frame of B. a (2,) [m] are the radius of A and half the length of its axis segment, and b
    (0,) is empty, because a plane has no size.
    """
    del b
    along, down = X.R[:, 2] * a[1], axis(2) * a[0]
    return patch_of([_above(X.p - along - down), _above(X.p + along - down)])


def box_plane(a: Array, b: Array, X: Transform) -> ContactPatch:
    """Return the contact patch of a box A on a plane B: four corners of the box; X is the pose of A in B.

    They are the corners of the face of the box that faces the plane most. The plane is z = 0 of the frame of B. a (3,)
    [m] are the half extents of A, and b (0,) is empty, because a plane has no size.
    """
    del b
    centre, first, second = facing_face(a, X.R, X.p, X.R[2])
    corners = (centre + first + second, centre - first + second, centre - first - second, centre + first - second)
    return patch_of([_above(corner) for corner in corners])


def cylinder_plane(a: Array, b: Array, X: Transform) -> ContactPatch:
    """Return the contact patch of a cylinder A on a plane B: points of its rims; X is the pose of A in B.

    The plane is z = 0 of the frame of B. a (2,) [m] are the radius and half length of A, and b (0,) is empty, because a
    plane has no size. The points are the lowest point of each rim, and the two points of the lower rim a quarter turn
    from its lowest point. If the point of the lower rim opposite to its lowest point is lower than the upper rim, this
    point replaces the point of the upper rim.
    """
    del b
    R, half = X.R, a[1]
    # Steepest downward direction in the plane of the rims; the x axis of the cylinder if the cylinder is upright
    steep = (R[2][0] * R[2][0] + R[2][1] * R[2][1]) / (4.0 * UPRIGHT_ANGLE * UPRIGHT_ANGLE)
    down_x, down_y = UPRIGHT_ANGLE * maximum(1.0 - steep, 0.0) - R[2][0], -R[2][1]
    length = np.sqrt(down_x * down_x + down_y * down_y + 1e-40)
    lowest = (R[:, 0] * down_x + R[:, 1] * down_y) * (a[0] / length)
    beside = (R[:, 1] * down_x - R[:, 0] * down_y) * (a[0] / length)
    axial = R[:, 2] * (-sign(R[2][2]) * half)
    lower = X.p + axial
    opposite, upper = lower - lowest, X.p - axial + lowest
    last = where(opposite[2] <= upper[2], opposite, upper)
    return patch_of([_above(lower + lowest), _above(lower + beside), _above(lower - beside), _above(last)])


def facing_face(half: Array, R: Array, p: Array, along: Array) -> tuple[Array, Array, Array]:
    """Return the face of a box whose outward normal points most against a direction: its midpoint and two half edges.

    The box has the half extents `half` (3,) [m], its axes as columns of R (3, 3), and its centre at p (3,) [m]. `along`
    (3,) has the components of the direction along the axes of the box. The results are three vectors (3,) [m] in the
    frame of R and p. Of faces that are equal within round-off, a z face of the box is preferred, then an x face.
    """
    steep = [abs(x) for x in along]
    z_face = (steep[2] >= steep[0] - SAME_POINT) & (steep[2] >= steep[1] - SAME_POINT)
    x_face = steep[0] >= steep[1] - SAME_POINT
    x, y, z = (R[:, k] * half[k] for k in range(3))
    outward = where(z_face, z * sign(along[2]), where(x_face, x * sign(along[0]), y * sign(along[1])))
    first = where(z_face, x, where(x_face, y, z))
    second = where(z_face, y, where(x_face, z, x))
    return p - outward, first, second


def _above(point: Array) -> Touch:
    """Return the contact point of a point (3,) [m] of A with the plane z = 0: midway between point and plane."""
    height = point[2]
    return Touch(np.array([point[0], point[1], 0.5 * height]), height, axis(2))
