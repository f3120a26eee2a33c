"""Contact patch of two boxes: separating axes, then clipping of the incident face on the reference face.

The normal is the axis, of 15 candidates, along which the boxes penetrate least. The candidates are the normals of the
faces of both boxes, and the vector products of an edge of one box and an edge of the other. If the normal belongs to a
face, the *reference face*, the patch is the overlap of this face with the *incident face*: the face of the other box
whose normal is most opposite. If the normal is a vector product of two edges, the patch is one point between these
edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.algorithms.collision.collision_tolerances import PARALLEL_SQUARED, SAME_POINT, SHALLOW_EDGES
from linkwork.algorithms.collision.contact_patch import FAR, ContactPatch, Touch, axis, clamp, patch_of, sign
from linkwork.algorithms.collision.face_overlap import overlap
from linkwork.algorithms.collision.plane_patches import facing_face
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array, Condition, Number, dot, where

# If the normal of two edges differs from a face normal by less than this angle [rad], the patch of the face is used. A
# box that rests on another box with a slight tilt then has four contact points. The patch of the edges would have one
# contact point, which changes from corner to corner.
ALIGNED = 0.02


class _Face(NamedTuple):
    """The face normal of one box along which the separation of the two boxes is largest.

    `separation` [m] is the signed distance along the normal, negative if the boxes penetrate. `selector` (3,) is 1 for
    the axis of the box that is normal to the face, else 0.
    """

    separation: Number
    selector: Array


class _Edges(NamedTuple):
    """The pair of edges, one of each box, along whose cross product the separation of boxes A and B is largest.

    `separation` [m] is the signed distance along the cross product, negative if the boxes penetrate. The unit vectors
    (3,) are in the frame of B: `normal` is the cross product, from B to A; `of_a` and `of_b` are the directions of the
    two edges.
    """

    separation: Number
    normal: Array
    of_a: Array
    of_b: Array


def box_box(a: Array, b: Array, X: Transform) -> ContactPatch:
    """Return the contact patch of two boxes with half extents a, b (3,) [m]; X is the pose of A in the frame of B.

    The smallest distance is exact if the boxes penetrate. Otherwise it is a lower bound of the true distance, which is
    exact unless the nearest features are two vertices, or a vertex and an edge. If several normals are equally good
    within round-off, faces are preferred to edges, faces of B to faces of A, and z faces to x faces to y faces. A face
    is also preferred to a pair of edges if the angle between both normals is below ALIGNED [rad], and the distance is
    below the fraction SHALLOW_EDGES of the size of the boxes. The error of the distance is then below this fraction of
    the size.
    """
    size = sum(a) + sum(b)
    p_a = X.R.T @ X.p
    face_b = _best_face(X.p, X.R, a, b, size)
    face_a = _best_face(p_a, X.R.T, b, a, size)
    edges = _best_edges(a, b, X, size)
    from_a = face_a.separation > face_b.separation + SAME_POINT * size
    face = where(from_a, face_a.separation, face_b.separation)
    selector = where(from_a, face_a.selector, face_b.selector)
    cosine = dot(edges.normal, where(from_a, X.R @ selector, selector))
    shallow = abs(edges.separation) < SHALLOW_EDGES * size
    skew = (cosine * cosine < 1.0 - ALIGNED * ALIGNED) | ~shallow
    edges_first = edges.separation > face + SAME_POINT * size
    along_edges = edges_first & skew
    faces = _face_patch(a, b, X, p_a, from_a, selector, where(edges_first, edges.separation, face))
    touch = _edge_touch(a, b, X, edges)
    first, *rest = (Touch(*one) for one in zip(*faces, strict=True))
    first = Touch(*(where(along_edges, e, f) for e, f in zip(touch, first, strict=True)))
    rest = [one._replace(distance=where(along_edges, FAR, one.distance)) for one in rest]
    return patch_of([first, *rest])


def _best_face(p: Array, R: Array, a: Array, b: Array, size: Number) -> _Face:
    """Return the face normal of box B along which the separation of the boxes A and B is largest.

    Box A has its centre at p (3,) [m] and its axes along the columns of R (3, 3), in the frame of B. a and b (3,) [m]
    are the half extents, and `size` [m] is their sum.
    """
    best, selector = -FAR, axis(2)
    for i in (2, 0, 1):
        value = abs(p[i]) - b[i] - sum(a[j] * abs(R[i][j]) for j in range(3))
        better = value > best + SAME_POINT * size
        best, selector = where(better, value, best), where(better, axis(i), selector)
    return _Face(best, selector)


def _best_edges(a: Array, b: Array, X: Transform, size: Number) -> _Edges:
    """Return the edges of boxes A and B along whose cross product the separation of the boxes is largest.

    a and b (3,) [m] are the half extents, X is the pose of A in B, and `size` [m] is the sum of all half extents.
    """
    R, p = X.R, X.p
    best = _Edges(-FAR, axis(2), axis(0), axis(1))
    for i in range(3):
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            j1, j2 = (j + 1) % 3, (j + 2) % 3
            squared = R[i1][j] * R[i1][j] + R[i2][j] * R[i2][j]
            skew = squared > PARALLEL_SQUARED
            length = np.sqrt(where(skew, squared, 1.0))
            # Normal e_i x R_j / length: components -R_2j and R_1j along the other axes of B
            along = R[i1][j] * p[i2] - R[i2][j] * p[i1]
            reach = b[i1] * abs(R[i2][j]) + b[i2] * abs(R[i1][j])
            reach = reach + a[j1] * abs(R[i][j2]) + a[j2] * abs(R[i][j1])
            value = where(skew, (abs(along) - reach) / length, -FAR)
            scale = sign(along) / length
            n1, n2 = -R[i2][j] * scale, R[i1][j] * scale
            normal = np.array([n1 if k == i1 else n2 if k == i2 else 0.0 for k in range(3)])
            better = value > best.separation + SAME_POINT * size
            found = _Edges(value, normal, R[:, j], axis(i))
            best = _Edges(*(where(better, new, old) for new, old in zip(found, best, strict=True)))
    return best


def _edge_touch(a: Array, b: Array, X: Transform, edges: _Edges) -> Touch:
    """Return the contact point of two edges: the middle of the shortest line between the edges.

    a and b (3,) [m] are the half extents of the boxes, and X is the pose of box A in box B.
    """
    n, d, e = edges.normal, edges.of_a, edges.of_b
    n_a = X.R.T @ n
    on_a = X.p - X.R @ np.array([sign(x) * h for x, h in zip(n_a, a, strict=True)])
    on_b = np.array([sign(x) * h for x, h in zip(n, b, strict=True)])
    apart, cosine = on_b - on_a, dot(d, e)
    squared = 1.0 - cosine * cosine
    along_d, along_e = dot(apart, d), dot(apart, e)
    t = (along_d - cosine * along_e) / where(squared > PARALLEL_SQUARED, squared, 1.0)
    # Limit t for nearly parallel edges: no point of the edge is farther from on_a than the length of the edge
    size = sum(a)
    point = on_a + d * clamp(t, -2.0 * size, 2.0 * size)
    gap = edges.separation
    return Touch(point - n * (0.5 * gap), gap, n)


def _face_patch(
    a: Array, b: Array, X: Transform, p_a: Array, from_a: Condition, selector: Array, separation: Number
) -> tuple[Array, Array, Array]:
    """Return points (4, 3) [m], distances (4,) [m] and normals (4, 3) of a contact patch on a face, in the frame of B.

    The face belongs to box A if `from_a` is true, else to box B; this box is the reference box. `selector` (3,) is 1
    for the axis of the reference box that is normal to the face, else 0. a and b (3,) [m] are the half extents, X is
    the pose of A in B, p_a (3,) [m] the centre of A in the axes of A, and `separation` [m] is the smallest distance.
    The function permutes the coordinates so that the normal is along z.
    """
    R, p = where(from_a, X.R.T, X.R), where(from_a, -p_a, X.p)
    own, other = where(from_a, a, b), where(from_a, b, a)
    x_face, z_face = selector[0] > 0.5, selector[2] > 0.5

    def permuted(v: Array) -> Array:
        """Return v with its components permuted cyclically, so that the component along the normal is last."""
        rows = where(x_face, np.array([v[1], v[2], v[0]]), np.array([v[2], v[0], v[1]]))
        return where(z_face, np.array([v[0], v[1], v[2]]), rows)

    def restored(v: Array) -> Array:
        """Undo `permuted`: return the vector v with its components in their original order."""
        rows = where(x_face, np.array([v[2], v[0], v[1]]), np.array([v[1], v[2], v[0]]))
        return where(z_face, np.array([v[0], v[1], v[2]]), rows)

    R, p, own = permuted(R), permuted(p), permuted(own)
    side = sign(p[2])
    centre, first, second = facing_face(other, R, p, R[2] * side)
    heights = [side * centre[2] - own[2], side * first[2], side * second[2]]
    flat = [np.array([*v[:2], h]) for v, h in zip((centre, first, second), heights, strict=True)]
    corners = overlap(own, flat[0], flat[1], flat[2], separation)
    points, distances, normals = [], [], []
    up = restored(np.array([0.0, 0.0, 1.0]) * side)
    turned = X.R @ up
    normal = where(from_a, -turned, up)
    for x, y, height, shown in corners:
        # Contact points are midway between the two surfaces
        point = restored(np.array([x, y, side * (own[2] + 0.5 * height)]))
        points.append(where(from_a, X.point(point), point))
        distances.append(shown)
        normals.append(normal)
    return np.array(points), np.array(distances), np.array(normals)
