"""What bodies look like and touch with: shapes, and their place, colour and purpose.

As surfaces that contacts touch, shapes say how near a point is: `near` is text for any numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from linkwork.errors import ModelError
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array, Number, dot, maximum, minimum, where

Role = Literal["visual", "collision"]
ROLES: tuple[Role, ...] = ("visual", "collision")
Three = Sequence[float]  # three numbers; kept as a tuple


def plain_numbers(value: Any, count: int, what: str, signed: bool = False) -> tuple[float, ...]:
    """`count` finite floats, not negative unless `signed`."""
    try:
        array = np.array(value, dtype=float).reshape(-1)
    except (TypeError, ValueError):
        array = np.array(())
    if array.shape != (count,) or not np.isfinite(array).all() or not (signed or (array >= 0.0).all()):
        wanted = "a finite number" if count == 1 else f"{count} finite numbers"
        raise ModelError(f"{what} must be {wanted}{'' if signed else ' >= 0'}; got {value!r}")
    return tuple(array.tolist())


class Near(NamedTuple):
    """How near a point is to a shape: signed `distance` [m], negative inside, and the shape's outward `normal` (3,).

    `bend` (3, 3) [1/m] is the derivative of the normal by the point.
    """

    distance: Number
    normal: Array
    bend: Array


def _off(apart: Array, radius: Number, moves: Array) -> Near:
    """Near a shape at the distance `radius` [m] about a core; `apart` (3,) is the way from the core's nearest point.

    `moves` (3,) is 1 along the axes along which that point follows, else 0.
    """
    squared = dot(apart, apart)
    away = squared > 0.0
    length = np.sqrt(where(away, squared, 1.0))
    normal = where(away, apart / length, np.array([0.0, 0.0, 1.0]))
    bend = (np.diag(1.0 - moves) - np.outer(normal, normal)) / length
    return Near(where(away, length, 0.0) - radius, normal, bend)


@dataclass(frozen=True)
class Box:
    """A cuboid about its frame's origin; `size` is its (x, y, z) extent [m]."""

    size: Three

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", plain_numbers(self.size, 3, "size"))

    def near(self, p: Array) -> Near:
        """How near p (3,) [m] is: outside by the nearest point of the box, inside by its nearest face."""
        half = [0.5 * length for length in self.size]
        core = np.array([minimum(maximum(x, -a), a) for x, a in zip(p, half, strict=True)])
        within = np.array([where(abs(x) < a, 1.0, 0.0) for x, a in zip(p, half, strict=True)])
        outside = _off(p - core, 0.0, within)
        over = [abs(x) - a for x, a in zip(p, half, strict=True)]  # how far beyond each pair of faces
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
    """A ball about its frame's origin; `radius` [m]."""

    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", plain_numbers(self.radius, 1, "radius")[0])

    def near(self, p: Array) -> Near:
        """How near p (3,) [m] is."""
        return _off(p, self.radius, np.zeros(3))


@dataclass(frozen=True)
class Cylinder:
    """A cylinder along z about its frame's origin; `radius` and `length` [m]."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", plain_numbers(self.radius, 1, "radius")[0])
        object.__setattr__(self, "length", plain_numbers(self.length, 1, "length")[0])

    def near(self, p: Array) -> Near:
        """How near p (3,) [m] is: to the barrel, to a lid, or to the rim between them."""
        x, y, z = p
        round_ = _off(np.array([x, y, 0.0 * z]), self.radius, np.array([0.0, 0.0, 1.0]))
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
    """A cylinder of `radius` and `length` [m] along z, with half a sphere at either end."""

    def near(self, p: Array) -> Near:
        """How near p (3,) [m] is."""
        half = 0.5 * self.length
        core = np.array([0.0 * p[0], 0.0 * p[1], minimum(maximum(p[2], -half), half)])
        return _off(p - core, self.radius, np.array([0.0, 0.0, where(abs(p[2]) < half, 1.0, 0.0)]))


@dataclass(frozen=True)
class Plane:
    """A plane without end through its frame's origin, whose solid side is below it: z is the normal, outwards."""

    def near(self, p: Array) -> Near:
        """How near p (3,) [m] is."""
        return Near(p[2], np.array([0.0, 0.0, 1.0]), np.zeros((3, 3)))


@dataclass(frozen=True)
class Mesh:
    """A surface from a file: `source` as the model's author wrote it, `path` where it is on this machine, if it is.

    `scale` stretches it along its (x, y, z); a negative number mirrors.
    """

    source: str
    path: Path | None = None
    scale: Three = (1.0, 1.0, 1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", plain_numbers(self.scale, 3, "scale", signed=True))

    def near(self, p: Array) -> Near:
        """Not known: what is in the file is not read."""
        raise ModelError(f"contacts cannot touch the mesh {self.source!r}")


Shape = Box | Sphere | Cylinder | Capsule | Plane | Mesh


def checked_shape(shape: object, element: str) -> Shape:
    """`shape`, if it is one."""
    if not isinstance(shape, Shape):
        raise ModelError(f"shape must be a shape such as lw.Box((1, 1, 1)); got {shape!r}", element)
    return shape


@dataclass(frozen=True, eq=False)
class Geometry:
    """A shape on a body: `pose` in the frame of the part or body that lists it.

    `role` is "visual" (what is shown) or "collision" (what touches); `color` is (red, green, blue, opacity), each
    from 0 to 1.
    """

    shape: Shape
    pose: Transform
    role: Role = "visual"
    color: tuple[float, float, float, float] | None = None
    name: str | None = None
