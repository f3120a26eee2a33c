"""Surfaces of bodies, or of the world, that contacts can touch."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Self, get_args

from linkwork.model.bodies import Place
from linkwork.model.elements.element import Element
from linkwork.model.elements.key_types import ZERO, ClassKind, Posed, body_name, key, place
from linkwork.model.elements.uneven_ground import Ground, HeightField, SurfaceShape, checked_surface
from linkwork.model.geometry import Near, Plane, Shape
from linkwork.model.toml_value_conversion import written_name
from linkwork.spatial.scalar import Array


@cache
def _shapes() -> Mapping[str, type]:
    """Return the classes of surface shapes, such as Plane, by their names in TOML documents."""
    return {written_name(class_): class_ for class_ in (*get_args(Shape), HeightField)}


_SHAPE = ClassKind(
    object,
    python="Box, Sphere, Cylinder, Capsule, Plane, HeightField or Ground",
    check=checked_surface,
    choices=_shapes,
    unwritable="a Ground, whose height is a function, cannot be written to a document",
)


class Surface(Element, section="surfaces"):
    """A surface that contacts can touch: a `shape` at the pose `place` on a body, a welded part or the world."""

    shape: SurfaceShape = key(_SHAPE, "Shape of the surface")
    body: str = key(body_name(), 'Body that the surface is fixed to: a body, a welded part or "world"', default="world")
    place: Place = key(place("body"), "Origin of the surface's frame in the frame of the body", default=ZERO)

    acts_in_motion_only = True

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """The height function of a surface with the shape Ground; empty for other shapes."""
        return (self.shape.function,) if isinstance(self.shape, Ground) else ()

    @property
    def largest_radius(self) -> float:
        """Radius [m] of the largest ball that can touch the surface; infinite except for height fields."""
        return self.shape.largest_radius if isinstance(self.shape, HeightField) else math.inf

    def near(self, p: Array, radius: float) -> Near:
        """Return the distance [m] of the point p (3,) [m] from the surface, negative inside, and the outward normal.

        The point p, a contact point or the centre of a ball, and the normal are in the surface's frame. For height
        fields, only distances up to `radius` [m], the radius of the ball, are exact; `radius` is 0 for points.
        """
        return self.shape.near(p, radius) if isinstance(self.shape, HeightField) else self.shape.near(p)

    @classmethod
    def stand_in(cls, name: str) -> Self:
        """Return a plane called `name` that replaces an invalid surface, so that contacts can still refer to it."""
        return cls(name, Plane())

    def describe(self) -> tuple[str, str]:
        """Return two cells for `linkwork check`: the shape of the surface, and its body."""
        return type(self.shape).__name__, self.body


def surface(
    name: str,
    shape: SurfaceShape,
    body: str = "world",
    at: Any = ZERO,
    rpy: Any = ZERO,
    *,
    rotation: Any = None,
) -> Surface:
    """Add a surface for contacts to a body or to the world.

    The normal of `lw.Plane()` is the z axis of the surface's frame.

    Examples
    --------
    >>> b = lw.Builder().body("ball", 1.0, inertia=(1, 1, 1)).joint("fly", lw.Free(), "world", "ball")
    >>> m = b.surface("floor", lw.Plane(), at=(0, 0, -1)).build()
    >>> m.surfaces["floor"].shape
    Plane()

    """
    here: Any = Posed(at, rpy, rotation)
    return Surface(name, shape, body, here)
