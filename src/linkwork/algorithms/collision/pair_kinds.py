"""Kinds of solid pairs, each with the contact function that returns its contact patch.

The table `pair_kinds` maps (kind of A, kind of B) to the contact function. `ordered` exchanges A and B if the table has
only the other order. A loop over all pairs of one kind calls one function, with sizes and poses that it reads from
tables. Pairs with hulls need the vertices of all hulls of a mechanism: `hull_patches.HullPairs`. Pairs with uneven
ground need the ground: `ground_patches.GroundPairs`.

| kind | size |
|---|---|
| sphere | radius [m] |
| capsule, cylinder | radius, half length [m] along z |
| box | half extents [m] |
| plane | none; the solid is below z = 0 |
| hull | (8,), see `HullPairs.sizes` |
| ground | none |

The smallest distance of a patch is the signed distance of the solids, exact for spheres, capsules, boxes and planes.
For two boxes that are apart it is a lower bound of the distance, and zero where they touch. `convex_patches` says how
exact the patches of cylinders and hulls are if they penetrate. Patches of uneven ground consider only points of the
solid.
"""

from __future__ import annotations

from collections.abc import Callable

from linkwork.algorithms.collision.box_patches import box_box
from linkwork.algorithms.collision.contact_patch import ContactPatch
from linkwork.algorithms.collision.cylinder_patches import (
    capsule_cylinder,
    cylinder_box,
    cylinder_cylinder,
    sphere_cylinder,
)
from linkwork.algorithms.collision.plane_patches import box_plane, capsule_plane, cylinder_plane, sphere_plane
from linkwork.algorithms.collision.rounded_patches import (
    capsule_box,
    capsule_capsule,
    sphere_box,
    sphere_capsule,
    sphere_sphere,
)
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array

Patch = Callable[[Array, Array, Transform], ContactPatch]

# Length of the array that describes the size of a solid, by its kind
SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "plane": 0, "hull": 8, "ground": 0}

pair_kinds: dict[tuple[str, str], Patch] = {
    ("sphere", "sphere"): sphere_sphere,
    ("sphere", "capsule"): sphere_capsule,
    ("sphere", "cylinder"): sphere_cylinder,
    ("sphere", "box"): sphere_box,
    ("sphere", "plane"): sphere_plane,
    ("capsule", "capsule"): capsule_capsule,
    ("capsule", "cylinder"): capsule_cylinder,
    ("capsule", "box"): capsule_box,
    ("capsule", "plane"): capsule_plane,
    ("cylinder", "cylinder"): cylinder_cylinder,
    ("cylinder", "box"): cylinder_box,
    ("cylinder", "plane"): cylinder_plane,
    ("box", "box"): box_box,
    ("box", "plane"): box_plane,
}


# The kind of A comes before the kind of B in the keys of `pair_kinds`
ORDER = ("sphere", "capsule", "cylinder", "box", "hull", "plane", "ground")


def ordered(a: str, b: str) -> tuple[tuple[str, str], bool] | None:
    """Return the shape kinds of A and B as a key of `pair_kinds`, and whether A and B are exchanged to get this key.

    Return None if the two kinds cannot touch, such as two planes.
    """
    if {a, b} <= {"plane", "ground"}:
        return None
    exchanged = ORDER.index(a) > ORDER.index(b)
    return ((b, a) if exchanged else (a, b)), exchanged
