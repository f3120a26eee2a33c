"""Contact patches of convex hulls with all solids and with planes.

The vertices of all hulls are rows of one constant table, and the normals of their faces are rows of another. The size
of a hull is (8,): first row and number of its vertices, first row and number of its faces, a point inside [m], and the
largest distance [m] of a vertex from this point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from linkwork.algorithms.collision.collision_tolerances import SAME_POINT
from linkwork.algorithms.collision.contact_patch import ContactPatch, Touch, axis, patch_of
from linkwork.algorithms.collision.convex_patches import RoundedSolid, convex_patch
from linkwork.algorithms.collision.convex_solids import HullRows, Point, Segment, SolidBox, SolidCylinder, SolidHull
from linkwork.algorithms.collision.face_overlap import DIRECTIONS, Corner, spanning
from linkwork.model.hull_vertices import face_normals
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array

Patch = Callable[[Array, Array, Transform], ContactPatch]
HERE = Transform.identity()
SIZE = 8  # number of entries in the array that describes a hull


class HullPairs:
    """Contact functions of all kinds of pairs with the hulls of a mechanism.

    `hulls` has, for each of k hulls, its vertices (n, 3) [m] in its own frame. `sizes` (k, 8) describe the hulls in the
    same order; the module says what the eight entries are. `kinds` maps (kind of A, kind of B) to the contact function.
    """

    def __init__(self, hulls: Sequence[Array]):
        vertices = [np.asarray(hull, dtype=float) for hull in hulls]
        faces = [face_normals(hull) for hull in vertices]
        self.table, self.face_table = np.concatenate(vertices), np.concatenate(faces)
        rows, face_rows = _rows(vertices), _rows(faces)
        self.most, self.most_faces = int(rows[:, 1].max()), int(face_rows[:, 1].max())
        self.sizes = np.concatenate([rows, face_rows, [_inside(hull) for hull in vertices]], axis=1)
        self.kinds: dict[tuple[str, str], Patch] = {
            ("sphere", "hull"): self._beside(lambda a, X: Point(X, a[0])),
            ("capsule", "hull"): self._beside(lambda a, X: Segment(X, a[0], a[1])),
            ("cylinder", "hull"): self._beside(lambda a, X: SolidCylinder(X, a[0], a[1])),
            ("box", "hull"): self._beside(lambda a, X: SolidBox(X, a)),
            ("hull", "hull"): self._beside(self.solid),
            ("hull", "plane"): self.hull_plane,
        }

    def solid(self, size: Array, X: Transform) -> SolidHull:
        """Return the convex hull that `size` (8,) describes; X is its pose in the frame of the contact patch."""
        vertices = HullRows(self.table, self.most, size[0], size[1])
        faces = HullRows(self.face_table, self.most_faces, size[2], size[3])
        return SolidHull(X, vertices, faces, size[4:7], size[7])

    def hull_plane(self, a: Array, b: Array, X: Transform) -> ContactPatch:
        """Return the contact patch of a hull A on a plane B: its lowest vertices; X is the pose of A in B.

        The plane is z = 0 of the frame of B. a (8,) describes the hull, and b (0,) is empty. The points are four
        vertices that span the nearly horizontal part of the hull on its lower side. The lowest vertex of the hull
        replaces one of them if it is lower than all four.
        """
        del b
        hull = self.solid(a, X)
        down, slack = -axis(2), SAME_POINT * a[7]
        tilted = [np.array([x, y, 0.0]) for x, y in DIRECTIONS]
        low, *corners = [Corner(x, y, z, z) for x, y, z in (hull.support(down), *hull.part(down, tilted, X.p))]
        # The lowest vertex replaces another vertex only if it is lower by more than `slack`
        chosen = spanning(corners, low.distance, low, slack, 4.0 * slack)
        return patch_of([_above(corner) for corner in chosen])

    def _beside(self, solid: Callable[[Array, Transform], RoundedSolid]) -> Patch:
        """Return the contact function for pairs of a solid A and a hull B.

        `solid` is a function that returns A, given the array of its size and its pose in the frame of B.
        """

        def patch(a: Array, b: Array, X: Transform) -> ContactPatch:
            """Return the contact patch of a solid A and a hull B, size (8,); X is the pose of A in the frame of B."""
            return convex_patch(solid(a, X), self.solid(b, HERE))

        return patch


def _rows(parts: Sequence[Array]) -> Array:
    """Return (k, 2) the first row and the number of rows of each of the k arrays `parts` after they are stacked."""
    counts = [len(part) for part in parts]
    return np.array([np.cumsum([0, *counts[:-1]]), counts], dtype=float).T


def _inside(vertices: Array) -> list[float]:
    """Return the mean (3,) [m] of the vertices (n, 3) [m] of a hull, and their largest distance [m] from it."""
    inside = vertices.mean(axis=0)
    return [*inside, np.linalg.norm(vertices - inside, axis=1).max()]


def _above(corner: Corner) -> Touch:
    """Return the contact point of a vertex of hull A with the plane z = 0, midway between the vertex and the plane."""
    return Touch(np.array([corner.x, corner.y, 0.5 * corner.height]), corner.distance, axis(2))
