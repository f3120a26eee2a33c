"""Shapes of bodies, with their pose, colour and role.

The method `near` of a shape returns the distance of a point to it, for contacts. It is traced, so it does not branch on
values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.hull_vertices import hull_vertices, spread_vertices
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array, Number, dot, maximum, minimum, where

Role = Literal["visual", "collision"]
ROLES: tuple[Role, ...] = ("visual", "collision")
Three = Sequence[float]  # three numbers; stored as a tuple
Rows = Sequence[Sequence[float]] | Array  # numbers in rows of equal length; stored as tuples
MOST_VERTICES = 256  # largest number of vertices of a hull; the time of a contact grows with the number


def plain_numbers(value: Any, count: int, what: str, signed: bool = False) -> tuple[float, ...]:
    """Return `value` as a tuple of `count` finite floats; raise a ModelError for other values.

    The floats must not be negative unless `signed` is true. `what` is the name of the value in the message.
    """
    try:
        array = np.array(value, dtype=float).reshape(-1)
    except (TypeError, ValueError):
        array = np.array(())
    if array.shape != (count,) or not np.isfinite(array).all() or not (signed or (array >= 0.0).all()):
        wanted = "a finite number" if count == 1 else f"{count} finite numbers"
        raise ModelError(f"{what} must be {wanted}{'' if signed else ' >= 0'}; got {value!r}")
    return tuple(array.tolist())


class Near(NamedTuple):
    """Position of a point relative to a shape: signed distance, normal, and derivative of the normal.

    `distance` [m] is negative inside; `normal` (3,) is the outward unit normal at the nearest point of the shape;
    `bend` (3, 3) [1/m] is the derivative of the normal with respect to the point. Both are in the frame of the shape.
    """

    distance: Number
    normal: Array
    bend: Array


def _near_core(apart: Array, radius: Number, moves: Array) -> Near:
    """Return distance and normal of a point relative to a rounded shape: all points within `radius` [m] of a core.

    The core of a capsule is a line segment, for example. `apart` (3,) [m] is the vector from the nearest point of the
    core to the given point, in the frame of the shape. `moves` (3,) is 1 for axes of this frame along which the nearest
    point moves with the given point, else 0.
    """
    squared = dot(apart, apart)
    away = squared > 0.0
    length = np.sqrt(where(away, squared, 1.0))
    normal = where(away, apart / length, np.array([0.0, 0.0, 1.0]))
    bend = (np.diag(1.0 - moves) - np.outer(normal, normal)) / length
    return Near(where(away, length, 0.0) - radius, normal, bend)


@dataclass(frozen=True)
class Box:
    """Shape for `Builder.geometry` (display, collision) and `Builder.surface` (contact): a solid box.

    The box is centred at the origin of its frame.

    Parameters
    ----------
    size : array_like, shape (3,), [m]
        Extent along x, y and z.

    Examples
    --------
    >>> lw.Box((1, 2, 3))
    Box(size=(1.0, 2.0, 3.0))

    """

    size: Three

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", plain_numbers(self.size, 3, "size"))

    def near(self, p: Array) -> Near:
        """Return the distance [m] of the point p (3,) [m] from the box, negative inside, and the outward normal.

        Point and normal are in the frame of the box. The normal is that at the nearest point of the box, or for a point
        inside the box, that of the nearest face.
        """
        half = [0.5 * length for length in self.size]
        core = np.array([minimum(maximum(x, -a), a) for x, a in zip(p, half, strict=True)])
        within = np.array([where(abs(x) < a, 1.0, 0.0) for x, a in zip(p, half, strict=True)])
        outside = _near_core(p - core, 0.0, within)
        over = [abs(x) - a for x, a in zip(p, half, strict=True)]  # distance of the point beyond each pair of faces
        distance = maximum(maximum(over[0], over[1]), over[2])
        x_faces = where(over[0] >= distance, 1.0, 0.0)
        y_faces = where(over[1] >= distance, 1.0 - x_faces, 0.0)
        faces = (x_faces, y_faces, 1.0 - x_faces - y_faces)
        normal = np.array([face * where(x < 0.0, -1.0, 1.0) for face, x in zip(faces, p, strict=True)])
        away = distance > 0.0
        return Near(
            where(away, outside.distance, distance),
            where(away, outside.normal, normal),
            where(away, outside.bend, np.zeros((3, 3))),
        )


@dataclass(frozen=True)
class Sphere:
    """Shape for `Builder.geometry` (display, collision) and `Builder.surface` (contact): a solid sphere.

    The sphere is centred at the origin of its frame.

    Parameters
    ----------
    radius : float, [m]
        Radius.

    Examples
    --------
    >>> lw.Sphere(0.1)
    Sphere(radius=0.1)

    """

    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", plain_numbers(self.radius, 1, "radius")[0])

    def near(self, p: Array) -> Near:
        """Return the distance [m] of the point p (3,) [m] from the sphere, negative inside, and the outward normal.

        Point and normal are in the frame of the sphere.
        """
        return _near_core(p, self.radius, np.zeros(3))


@dataclass(frozen=True)
class Cylinder:
    """Shape for `Builder.geometry` (display, collision) and `Builder.surface` (contact): a solid cylinder.

    The cylinder is along the z axis of its frame and centred at the origin of its frame.

    Parameters
    ----------
    radius : float, [m]
        Radius.
    length : float, [m]
        Length along z.

    Examples
    --------
    >>> lw.Cylinder(0.1, 0.5)
    Cylinder(radius=0.1, length=0.5)

    """

    radius: float
    length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", plain_numbers(self.radius, 1, "radius")[0])
        object.__setattr__(self, "length", plain_numbers(self.length, 1, "length")[0])

    def near(self, p: Array) -> Near:
        """Return the distance [m] of the point p (3,) [m] from the cylinder, negative inside, and the outward normal.

        Point and normal are in the frame of the cylinder. The nearest point is on the lateral surface, on an end face,
        or on the edge between them.
        """
        x, y, z = p
        round_ = _near_core(np.array([x, y, 0.0 * z]), self.radius, np.array([0.0, 0.0, 1.0]))
        side = where(z < 0.0, -1.0, 1.0)
        beyond = abs(z) - 0.5 * self.length
        lid = Near(beyond, np.array([0.0, 0.0, 1.0]) * side, np.zeros((3, 3)))
        inside = Near(*(where(beyond > round_.distance, a, b) for a, b in zip(lid, round_, strict=True)))
        at_rim = (round_.distance > 0.0) & (beyond > 0.0)
        out, up = where(at_rim, round_.distance, 1.0), where(at_rim, beyond, 1.0)
        gap = np.sqrt(out * out + up * up)
        along = (round_.normal * up - lid.normal * out) / gap
        bend = round_.bend * (out / gap) + np.outer(along, along) / gap
        rim = Near(gap, (round_.normal * out + lid.normal * up) / gap, bend)
        return Near(*(where(at_rim, a, b) for a, b in zip(rim, inside, strict=True)))


@dataclass(frozen=True)
class Capsule(Cylinder):
    """Shape for `Builder.geometry` (display, collision) and `Builder.surface` (contact): a solid capsule.

    It is a cylinder with a hemisphere at each end, along the z axis of its frame and centred at the origin of its
    frame.

    Parameters
    ----------
    radius : float, [m]
        Radius of the cylinder and the hemispheres.
    length : float, [m]
        Length of the cylinder along z, without the hemispheres.

    Examples
    --------
    >>> lw.Capsule(0.1, 0.5).length
    0.5

    """

    def near(self, p: Array) -> Near:
        """Return the distance [m] of the point p (3,) [m] from the capsule, negative inside, and the outward normal.

        Point and normal are in the frame of the capsule.
        """
        half = 0.5 * self.length
        core = np.array([0.0 * p[0], 0.0 * p[1], minimum(maximum(p[2], -half), half)])
        return _near_core(p - core, self.radius, np.array([0.0, 0.0, where(abs(p[2]) < half, 1.0, 0.0)]))


@dataclass(frozen=True)
class Plane:
    """Shape for `Builder.geometry` (display) and `Builder.surface` (contact): an infinite plane.

    It is the plane z = 0 of its frame. The outward normal is the z axis; the solid is below the plane.

    Examples
    --------
    >>> lw.Plane()
    Plane()

    """

    def near(self, p: Array) -> Near:
        """Return the distance [m] of the point p (3,) [m] from the plane, negative below, and the outward normal.

        Point and normal are in the frame of the plane.
        """
        return Near(p[2], np.array([0.0, 0.0, 1.0]), np.zeros((3, 3)))


@dataclass(frozen=True)
class Mesh:
    """Shape for `Builder.geometry`: a triangle mesh from a file, for display.

    Contacts with a mesh are not supported.

    Parameters
    ----------
    source : str
        File name or URL, as written in the model.
    path : pathlib.Path or None, default None
        Location of the file on this machine; None if it was not found.
    scale : array_like, shape (3,), default (1, 1, 1)
        Scale factors along x, y and z; a negative factor mirrors.

    Examples
    --------
    >>> lw.Mesh("arm.stl", scale=(0.001, 0.001, 0.001)).source
    'arm.stl'

    """

    source: str
    path: Path | None = None
    scale: Three = (1.0, 1.0, 1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", plain_numbers(self.scale, 3, "scale", signed=True))

    def near(self, p: Array) -> Near:
        """Raise a ModelError: linkwork does not read mesh files, so it cannot compute distances."""
        raise ModelError(f"contacts cannot touch the mesh {self.source!r}; use another shape as the surface")


@dataclass(frozen=True)
class Hull:
    """Shape for `Builder.geometry`: the convex hull of points, a solid for contacts with other solids.

    `points` contains only the vertices of the hull. Balls and points of `Builder.touch` cannot touch a hull.

    Parameters
    ----------
    points : array_like, shape (k, 3), [m]
        At least four points that do not lie in one plane. Their hull must have at most 256 vertices; for more vertices,
        use `Hull.simplified`, which chooses some of the points.

    Examples
    --------
    >>> len(lw.Hull([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.1, 0.1, 0.1]]).points)
    4

    """

    points: Rows

    def __post_init__(self) -> None:
        vertices = _vertices(self.points)
        if len(vertices) > MOST_VERTICES:
            raise ModelError(
                f"a Hull has at most {MOST_VERTICES} vertices; these points have {len(vertices)}. "
                "Use lw.Hull.simplified(points, most), which chooses some of them"
            )
        object.__setattr__(self, "points", tuple(map(tuple, vertices.tolist())))

    @staticmethod
    def simplified(points: Any, most: int = 64) -> tuple[Hull, float]:
        """Return the hull of some of the points, with at most `most` vertices, and the largest distance of the other
        points from it.

        Parameters
        ----------
        points : array_like, shape (k, 3), [m]
            Points, such as the vertices of a mesh.
        most : int, default 64
            Largest number of vertices, from 4 to 256.

        Returns
        -------
        Hull
            Hull of the chosen points. Each chosen point is the one that is farthest outside the hull of the points
            chosen before it.
        float
            Largest distance [m] of a point outside the planes of the hull's faces.

        """
        if not 4 <= most <= MOST_VERTICES:
            raise ModelError(f"most must be from 4 to {MOST_VERTICES}; got {most!r}")
        vertices, error = spread_vertices(_vertices(points), most)
        return Hull(vertices), error

    def near(self, p: Array) -> Near:
        """Raise a ModelError: contact points cannot touch a hull; only solids can."""
        raise ModelError("points and balls cannot touch a Hull; use another shape as the surface")


def _vertices(points: Any) -> Array:
    """Return the vertices (n, 3) [m] of the hull of points (k, 3) [m]; raise a ModelError for invalid points."""
    try:
        array = np.array(points, dtype=float)
    except (TypeError, ValueError):
        array = np.zeros((0, 3))
    if array.shape[1:] != (3,) or len(array) < 4 or not np.isfinite(array).all():
        raise ModelError(f"points must be at least four points (k, 3) of finite numbers; got {points!r:.80}")
    vertices = hull_vertices(array)
    if vertices is None:
        raise ModelError("the points of a Hull must not lie in one plane; use a Box or a thicker set of points")
    return vertices


Shape = Box | Sphere | Cylinder | Capsule | Plane | Mesh | Hull


def checked_shape(shape: object, element: str) -> Shape:
    """Return `shape`; raise a ModelError if it is not a shape such as Box or Mesh.

    The message names the element `element`.
    """
    if not isinstance(shape, Shape):
        raise ModelError(f"shape must be a shape such as lw.Box((1, 1, 1)); got {shape!r}", element)
    return shape


@dataclass(frozen=True, eq=False)
class Geometry:
    """A shape on a body, with `pose` in the frame of the part or body whose `geometry` contains it.

    `role` is "visual" or "collision"; `color` is (red, green, blue, opacity), each from 0 to 1.
    """

    shape: Shape
    pose: Transform
    role: Role = "visual"
    color: tuple[float, float, float, float] | None = None
    name: str | None = None
