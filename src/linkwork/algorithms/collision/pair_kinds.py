"""Kinds of pairs of solids, each with the function that returns its contact patch.

`pair_kinds` has the ordered pairs (kind of A, kind of B); `ordered` exchanges A and B where only the other order
exists. A loop over all pairs of one kind calls one function, with sizes and poses that it reads from tables.
"""

from __future__ import annotations

from collections.abc import Callable

from linkwork.algorithms.collision.box_patches import box_box
from linkwork.algorithms.collision.contact_patch import ContactPatch
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

SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "plane": 0}  # numbers that give the size of a solid

pair_kinds: dict[tuple[str, str], Patch] = {
    ("sphere", "sphere"): sphere_sphere,
    ("sphere", "capsule"): sphere_capsule,
    ("sphere", "box"): sphere_box,
    ("sphere", "plane"): sphere_plane,
    ("capsule", "capsule"): capsule_capsule,
    ("capsule", "box"): capsule_box,
    ("capsule", "plane"): capsule_plane,
    ("cylinder", "plane"): cylinder_plane,
    ("box", "box"): box_box,
    ("box", "plane"): box_plane,
}


def ordered(a: str, b: str) -> tuple[tuple[str, str], bool] | None:
    """Return the pair kind of two solids and whether their order must be exchanged; None if they cannot touch."""
    if (a, b) in pair_kinds:
        return (a, b), False
    return ((b, a), True) if (b, a) in pair_kinds else None
