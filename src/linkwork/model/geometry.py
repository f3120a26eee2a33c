"""What bodies look like and touch with: shapes, and their place, colour and purpose. Dynamics does not read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from linkwork.errors import ModelError
from linkwork.spatial import Transform

Role = Literal["visual", "collision"]
ROLES: tuple[Role, ...] = ("visual", "collision")
Three = Sequence[float]  # three numbers; kept as a tuple


def _numbers(value: Any, count: int, what: str, signed: bool = False) -> tuple[float, ...]:
    """`count` finite floats, not negative unless `signed`."""
    try:
        array = np.array(value, dtype=float).reshape(-1)
    except (TypeError, ValueError):
        array = np.array(())
    if array.shape != (count,) or not np.isfinite(array).all() or not (signed or (array >= 0.0).all()):
        wanted = "a finite number" if count == 1 else f"{count} finite numbers"
        raise ModelError(f"{what} must be {wanted}{'' if signed else ' >= 0'}; got {value!r}")
    return tuple(array.tolist())


@dataclass(frozen=True)
class Box:
    """A cuboid about its frame's origin; `size` is its (x, y, z) extent [m]."""

    size: Three

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", _numbers(self.size, 3, "size"))


@dataclass(frozen=True)
class Sphere:
    """A ball about its frame's origin; `radius` [m]."""

    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _numbers(self.radius, 1, "radius")[0])


@dataclass(frozen=True)
class Cylinder:
    """A cylinder along z about its frame's origin; `radius` and `length` [m]."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _numbers(self.radius, 1, "radius")[0])
        object.__setattr__(self, "length", _numbers(self.length, 1, "length")[0])


@dataclass(frozen=True)
class Capsule(Cylinder):
    """A cylinder of `radius` and `length` [m] along z, with half a sphere at either end."""


@dataclass(frozen=True)
class Plane:
    """A plane without end through its frame's origin, whose solid side is below it: z is the normal, outwards."""


@dataclass(frozen=True)
class Mesh:
    """A surface from a file: `source` as the model's author wrote it, `path` where it is on this machine, if it is.

    `scale` stretches it along its (x, y, z); a negative number mirrors.
    """

    source: str
    path: Path | None = None
    scale: Three = (1.0, 1.0, 1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _numbers(self.scale, 3, "scale", signed=True))


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
