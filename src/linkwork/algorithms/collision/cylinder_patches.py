"""Contact patches of cylinders with spheres, capsules, boxes and cylinders."""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.collision.collision_tolerances import SAME_POINT
from linkwork.algorithms.collision.contact_patch import ContactPatch, patch_of, sign, touch_of_ball, unit
from linkwork.algorithms.collision.convex_patches import convex_patch
from linkwork.algorithms.collision.convex_solids import Segment, SolidBox, SolidCylinder
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array, maximum, where

HERE = Transform.identity()


def sphere_cylinder(a: Array, b: Array, X: Transform) -> ContactPatch:
    """Return the one-point contact patch of a sphere A and a cylinder B; X is the pose of A in B.

    a (1,) [m] is the radius of A, and b (2,) [m] are radius and half length of B. If the centre of the sphere is inside
    the cylinder, the normal is that of the nearest face.
    """
    x, y, z = X.p
    flat = np.array([x, y, 0.0 * z])
    outward, far = unit(flat, np.array([1.0, 0.0, 0.0]))
    upward = np.array([0.0, 0.0, 1.0]) * sign(z)
    aside, above = far - b[0], abs(z) - b[1]
    rim = outward * maximum(aside, 0.0) + upward * maximum(above, 0.0)
    slanted, gap = unit(rim, upward)
    outside = gap > SAME_POINT * (b[0] + b[1])
    lid = above >= aside
    distance = where(outside, gap, where(lid, above, aside))
    normal = where(outside, slanted, where(lid, upward, outward))
    return patch_of([touch_of_ball(X.p, a[0], distance, normal)])


def capsule_cylinder(a: Array, b: Array, X: Transform) -> ContactPatch:
    """Return the contact patch of a capsule A and a cylinder B; X is the pose of A in B.

    a and b (2,) [m] are the radius and half length of each solid.
    """
    return convex_patch(Segment(X, a[0], a[1]), SolidCylinder(HERE, b[0], b[1]))


def cylinder_cylinder(a: Array, b: Array, X: Transform) -> ContactPatch:
    """Return the contact patch of two cylinders A and B; X is the pose of A in B.

    a and b (2,) [m] are the radius and half length of each cylinder.
    """
    return convex_patch(SolidCylinder(X, a[0], a[1]), SolidCylinder(HERE, b[0], b[1]))


def cylinder_box(a: Array, b: Array, X: Transform) -> ContactPatch:
    """Return the contact patch of a cylinder A and a box B; X is the pose of A in B.

    a (2,) [m] are the radius and half length of A, and b (3,) [m] the half extents of B.
    """
    return convex_patch(SolidCylinder(X, a[0], a[1]), SolidBox(HERE, b))
