"""Points and balls that represent a solid shape in contacts with surfaces.

Against a plane, the points of spheres, capsules, boxes and convex hulls are exact: the point of the shape that is
nearest to a plane is one of them. A cylinder is replaced by a prism. Against curved or bounded surfaces, a contact
between the points, at an edge or a face of the shape, is not detected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linkwork.model.elements.contact import box_corners
from linkwork.model.geometry import Box, Capsule, Cylinder, Hull, Shape, Sphere
from linkwork.model.hull_vertices import hull_vertices, spread_vertices
from linkwork.spatial.scalar import Array

# Number of contact points around each end of a cylinder. The prism with these vertices is smaller than the cylinder by
# at most 1 - cos(pi / 12) = 3.4 % of the radius.
RIM_POINTS = 12
HULL_POINTS = 32  # largest number of vertices of a convex hull that become contact points
# Largest number of pairs of a contact point and a surface. Compiling a simulation takes about 0.1 s for each pair.
MOST_PAIRS = 1000
TOO_MANY = (
    f"its contacts would need more than {MOST_PAIRS} pairs of a contact point and a surface; {MOST_PAIRS} is the limit"
)
APPROXIMATED = "shapes approximated by fewer points than they have:"  # text of a warning


class ContactPoints(NamedTuple):
    """Contact points of a shape: points, or balls of equal radius.

    `at` (k, 3) [m] are their centres in the shape's frame, and `radius` [m] is the radius, 0 for points. `error` [m] is
    the largest distance of the shape from the convex hull of the points or balls.
    """

    at: Array
    radius: float = 0.0
    error: float = 0.0

    def describe(self, name: str) -> str:
        """Return a text with the number of points, and how far [m] they leave out the surface of the shape `name`."""
        return f"{name} ({len(self.at)} points, up to {self.error:.2g} m inside)"


def contact_points(shape: Shape) -> ContactPoints | None:
    """Return the contact points of a shape; None for a plane or a mesh, which have none."""
    make = _POINTS.get(type(shape))
    return None if make is None else make(shape)


def hull_points(vertices: Array) -> ContactPoints | None:
    """Return as contact points at most HULL_POINTS vertices of the hull of `vertices` (n, 3) [m]; None if it is flat.

    Vertices are chosen one after the other: each is the vertex farthest outside the hull of all previous ones.
    """
    corners = hull_vertices(vertices)
    if corners is None:  # all vertices lie in one plane, or there are too few
        return None
    at, error = spread_vertices(corners, HULL_POINTS)
    return ContactPoints(at, error=error)


def _corners(shape: Hull) -> ContactPoints:
    at, error = spread_vertices(np.array(shape.points), HULL_POINTS)
    return ContactPoints(at, error=error)


def _rims(shape: Cylinder) -> ContactPoints:
    angles = 2.0 * np.pi / RIM_POINTS * np.arange(RIM_POINTS)
    x, y = shape.radius * np.cos(angles), shape.radius * np.sin(angles)
    ends = [np.column_stack([x, y, np.full(RIM_POINTS, z)]) for z in (-0.5 * shape.length, 0.5 * shape.length)]
    return ContactPoints(np.concatenate(ends), error=shape.radius * (1.0 - np.cos(np.pi / RIM_POINTS)))


def _ends(shape: Capsule) -> ContactPoints:
    return ContactPoints(np.array([[0.0, 0.0, z] for z in (-0.5 * shape.length, 0.5 * shape.length)]), shape.radius)


_POINTS: dict[type, Callable[[Any], ContactPoints]] = {
    Sphere: lambda shape: ContactPoints(np.zeros((1, 3)), shape.radius),
    Capsule: _ends,
    Hull: _corners,
    Box: lambda shape: ContactPoints(box_corners(shape.size)),
    Cylinder: _rims,
}
