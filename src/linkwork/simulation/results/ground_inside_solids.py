"""Depths of points of uneven ground inside solids.

The contact model computes only a few contact points between a solid and uneven ground (docs/solids.md). It misses a
ridge between these points; the report finds the ridge with the functions of this module. They examine the ground at the
points of a lattice around the solid, and on the grid lines of a height field.
"""

from __future__ import annotations

import numpy as np

from linkwork.model.elements.uneven_ground import Ground, HeightField
from linkwork.model.geometry import Box, Capsule, Cylinder, Hull
from linkwork.model.hull_vertices import face_normals
from linkwork.simulation.solid_separation_bounds import GROUND, SolidTables
from linkwork.spatial.scalar import Array

LATTICE = 16  # largest number of intervals between examined points of the ground, along x and along y
MOST_STATES = 200  # largest number of states that are examined; they are evenly distributed


def ground_depths(tables: SolidTables, poses: Array) -> Array:
    """Return, for s states, the depth (s, n) [m] of the deepest examined ground point inside the solid, for each of n
    pairs.

    The depth is zero for pairs without uneven ground, for spheres, whose contact points are exact, and in states that
    are not examined. `poses` (s, nbodies + 1, 4, 4) are the world poses of all bodies, the world first.
    """
    found = np.zeros((len(poses), len(tables.pairs)))
    states = np.arange(0, len(poses), max(1, -(-len(poses) // MOST_STATES)))
    for k in np.flatnonzero(tables.kind == GROUND):
        shape, ground = tables.pairs[k].first.shape, tables.pairs[k].second.shape
        if not (isinstance(shape, Box | Capsule | Cylinder | Hull) and isinstance(ground, HeightField | Ground)):
            continue
        R, p = (found[:, 0] for found in tables.place(poses[states], [k]))
        turn = np.swapaxes(R[:, 1], -1, -2)
        centre = (turn @ (p[:, 0] - p[:, 1])[..., None])[..., 0]
        points = _ground_points(ground, centre, float(tables.radius[k, 0]))
        inside = (points - centre[:, None]) @ (turn @ R[:, 0])  # in the frame of the solid
        found[states, k] = np.maximum(_depths(shape, inside).max(axis=1), 0.0)
    return found


def _ground_points(ground: HeightField | Ground, centre: Array, reach: float) -> Array:
    """Return points (s, m, 3) [m] of the ground beside or below a solid, in the frame of the ground.

    The solid is at `centre` (s, 3) [m] and reaches as far as `reach` [m] from it.
    """
    along = np.linspace(-reach, reach, LATTICE + 1)
    axes = [centre[:, [d]] + along for d in (0, 1)]
    if isinstance(ground, HeightField):
        axes = [np.concatenate([axes[d], _grid_lines(ground, d, centre[:, d], reach)], axis=1) for d in (0, 1)]
    x, y = np.broadcast_arrays(axes[0][:, :, None], axes[1][:, None, :])
    z = _bilinear(ground, x, y) if isinstance(ground, HeightField) else _heights(ground, x, y)
    return np.stack([x, y, z], axis=-1).reshape(len(centre), -1, 3)


def _grid_lines(ground: HeightField, d: int, centre: Array, reach: float) -> Array:
    """Return the positions (s, k) [m], along axis d (0 for x, 1 for y), of k grid lines within `reach` [m] of `centre`
    (s,) [m].
    """
    count, half = np.array(ground.heights).shape[d], 0.5 * ground.size[d]
    cell = 2.0 * half / (count - 1)
    most = int(np.ceil(2.0 * reach / cell)) + 1
    step = -(-most // LATTICE)
    first = np.ceil((centre - reach + half) / cell).astype(int)
    return np.clip(first[:, None] + step * np.arange(most // step + 1), 0, count - 1) * cell - half


def _bilinear(ground: HeightField, x: Array, y: Array) -> Array:
    """Return the heights [m] of a height field at the points x, y [m]; beyond an edge, the heights at the edge."""
    heights = np.array(ground.heights)
    shape, size = np.array(heights.shape) - 1, np.array(ground.size)
    u, v = (np.clip((w / size[d] + 0.5) * shape[d], 0.0, shape[d]) for d, w in enumerate((x, y)))
    i, j = np.minimum(u.astype(int), shape[0] - 1), np.minimum(v.astype(int), shape[1] - 1)
    a, b = u - i, v - j
    low = heights[i, j] * (1.0 - a) + heights[i + 1, j] * a
    return low * (1.0 - b) + (heights[i, j + 1] * (1.0 - a) + heights[i + 1, j + 1] * a) * b


def _heights(ground: Ground, x: Array, y: Array) -> Array:
    """Return the heights [m] of a ground function at the points x, y [m]; -inf where they are not finite."""
    with np.errstate(all="ignore"):
        try:
            z = np.asarray(ground.function(x, y), dtype=float)
        except (TypeError, ValueError):  # the function accepts single numbers only
            z = np.vectorize(ground.function, otypes=[float])(x, y)
    z = np.broadcast_to(z, x.shape)
    return np.where(np.isfinite(z), z, -np.inf)


def _depths(shape: Box | Capsule | Cylinder | Hull, points: Array) -> Array:
    """Return the depths (...) [m] of points (..., 3) [m] inside a convex solid; negative outside.

    The points are relative to the centre of the solid, in its axes.
    """
    with np.errstate(invalid="ignore"):
        if isinstance(shape, Box):
            depth = (0.5 * np.array(shape.size) - abs(points)).min(axis=-1)
        elif isinstance(shape, Hull):
            corners: Array = np.asarray(shape.points)
            corners = corners - 0.5 * (corners.min(axis=0) + corners.max(axis=0))
            normals = face_normals(corners)
            depth = ((normals @ corners.T).max(axis=1) - points @ normals.T).min(axis=-1)
        else:
            around, beyond = np.hypot(points[..., 0], points[..., 1]), abs(points[..., 2]) - 0.5 * shape.length
            if isinstance(shape, Capsule):
                depth = shape.radius - np.hypot(around, np.maximum(beyond, 0.0))
            else:
                depth = np.minimum(shape.radius - around, -beyond)
    return np.where(np.isfinite(depth), depth, -np.inf)
