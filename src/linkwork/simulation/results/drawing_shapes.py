"""Visual shapes of bodies for drawings: points whose convex hull is the shape, and the edges of the shape."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.model.bodies import Body
from linkwork.model.geometry import Box, Capsule, Cylinder, Shape, Sphere
from linkwork.spatial.scalar import Array

AROUND = np.linspace(0.0, 2.0 * np.pi, 49)  # angles of points on a circle [rad]
UPWARD = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 25)  # latitudes of points on a ball [rad]


class Solid(NamedTuple):
    """A visual shape of a body: `points` (n, 3) [m] whose convex hull is the shape, and `edges`, polylines with k
    points, (k, 3) [m].

    All points are in the frame of body number `body`. `color` is (red, green, blue) from 0 to 1, or None.
    """

    body: int
    points: Array
    edges: tuple[Array, ...]
    color: tuple[float, ...] | None


def solids_of(body: Body) -> list[Solid]:
    """Return the visual shapes of a body for drawings, except meshes and planes."""
    found = []
    for geometry in body.geometry:
        if geometry.role == "visual" and isinstance(geometry.shape, Box | Sphere | Cylinder):
            points, edges = _hull(geometry.shape)
            R, p = geometry.pose.R, geometry.pose.p
            color = None if geometry.color is None else geometry.color[:3]
            found.append(Solid(body.index, points @ R.T + p, tuple(edge @ R.T + p for edge in edges), color))
    return found


def _hull(shape: Shape) -> tuple[Array, list[Array]]:
    """Return points (n, 3) [m] whose convex hull is the shape, and its edges, polylines (k, 3) [m]; all in the shape's
    frame.
    """
    match shape:
        case Box(size):
            signs = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1], [1, 1]])
            lids = [np.column_stack([signs, np.full(5, side)]) * 0.5 * np.array(size) for side in (-1, 1)]
            sides = list(np.stack(lids, axis=1)[:4])
            return np.concatenate(lids), [*lids, *sides]
        case Sphere(radius):
            return _ball(radius), []
        case Capsule(radius, length):
            half = np.array([0.0, 0.0, 0.5 * length])
            return np.concatenate([_ball(radius) - half, _ball(radius) + half]), []
        case Cylinder(radius, length):
            circle, half = [radius * np.cos(AROUND), radius * np.sin(AROUND)], np.full(len(AROUND), 0.5 * length)
            rims = [np.column_stack([*circle, height]) for height in (-half, half)]
            return np.concatenate(rims), rims
        case _:
            return np.zeros((0, 3)), []


def _ball(radius: float) -> Array:
    """Return points (n, 3) [m] on a sphere of radius `radius` [m] about the origin."""
    around, upward = (angles.ravel() for angles in np.meshgrid(AROUND, UPWARD))
    level = np.cos(upward)
    return radius * np.column_stack([level * np.cos(around), level * np.sin(around), np.sin(upward)])
