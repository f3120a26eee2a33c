"""Vertices of convex hulls of points, all of them or a limited number."""

from __future__ import annotations

import numpy as np

from linkwork.model.model_tolerances import FLAT_HULL
from linkwork.spatial.scalar import Array


def hull_vertices(points: Array) -> Array | None:
    """Return the vertices (n, 3) [m] of the convex hull of points (k, 3) [m]; None if the hull is flat.

    The vertices are in the order of `points`.
    """
    from scipy.spatial import ConvexHull, QhullError  # imported here to keep `import linkwork` fast

    apart = points - points.mean(axis=0)
    extents = np.linalg.svd(apart, compute_uv=False) if len(points) > 3 else np.zeros(3)
    if not extents[2] > FLAT_HULL * extents[0]:
        return None
    try:
        # Scaled to unit extent, because Qhull's tolerances are absolute
        return points[np.sort(ConvexHull(apart / np.abs(apart).max()).vertices)]
    except QhullError:
        return None


def face_normals(vertices: Array) -> Array:
    """Return the outward unit normals (m, 3) of the faces of the convex hull of vertices (n, 3) [m], each once."""
    from scipy.spatial import ConvexHull  # imported here to keep `import linkwork` fast

    apart = vertices - vertices.mean(axis=0)
    normals = ConvexHull(apart / np.abs(apart).max()).equations[:, :3]
    # Triangles of a face have equal normals
    _, first = np.unique(np.round(normals, 9) + 0.0, axis=0, return_index=True)
    return normals[np.sort(first)]


def spread_vertices(corners: Array, most: int) -> tuple[Array, float]:
    """Return at most `most` of the corners (n, 3) [m] of a convex hull, and how far [m] the other corners are outside.

    The second result is the largest distance of a corner from the planes of the faces of the smaller hull. The function
    chooses corners one after the other: each is the corner that is farthest outside the hull of the corners chosen
    before.
    """
    from scipy.spatial import ConvexHull  # imported here to keep `import linkwork` fast

    if len(corners) <= most:
        return corners, 0.0
    chosen = _large_tetrahedron(corners)
    while True:
        planes = ConvexHull(corners[chosen]).equations  # outward normals and offsets of the facets
        outside = (corners @ planes[:, :3].T + planes[:, 3]).max(axis=1)
        if len(chosen) == most or outside.max() <= 0.0:
            return corners[chosen], max(0.0, float(outside.max()))
        chosen.append(int(outside.argmax()))


def _large_tetrahedron(corners: Array) -> list[int]:
    """Return the indices of four of the `corners` (n, 3) [m] that span a large tetrahedron."""
    first = int(np.argmax(corners @ np.array([1.0, 0.0, 0.0])))
    away = corners - corners[first]
    second = int(np.argmax((away**2).sum(axis=1)))
    normals = np.cross(away, away[second])
    third = int(np.argmax((normals**2).sum(axis=1)))
    return [first, second, third, int(np.argmax(abs(away @ normals[third])))]
