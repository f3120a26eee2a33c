"""Surfaces that contacts can touch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Self, get_args

from linkwork.model.bodies import Place
from linkwork.model.document_values import written_name
from linkwork.model.elements.element import Element
from linkwork.model.elements.ground import Ground, HeightField, SurfaceShape, checked_surface
from linkwork.model.elements.keys import ZERO, ClassKind, Posed, body_name, key, place
from linkwork.model.geometry import Plane, Shape


@cache
def _shapes() -> Mapping[str, type]:
    """What a document can call the shape of a surface."""
    return {written_name(class_): class_ for class_ in (*get_args(Shape), HeightField)}


_SHAPE = ClassKind(
    object, check=checked_surface, choices=_shapes, unwritable="ground that is a function cannot be written"
)


class Surface(Element, section="surfaces"):
    """A `shape` on `body`, the name of a body, a welded part or the world, at `place`, that contacts can touch."""

    shape: SurfaceShape = key(_SHAPE)
    body: str = key(body_name(), default="world")
    place: Place = key(place("body"), default=ZERO)

    acts_in_motion_only = True

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """The function of heights, where its shape is one."""
        return (self.shape.function,) if isinstance(self.shape, Ground) else ()

    @classmethod
    def stand_in(cls, name: str) -> Self:
        """A plane: contacts may name it."""
        return cls(name, Plane())

    def describe(self) -> tuple[str, str]:
        """Its shape, and its body."""
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
    """Give `body` a surface that contacts can touch, such as lw.Plane(), whose z is its normal.

    `at` (3,) [m], and `rpy` (3,) [rad] or `rotation` (3, 3), place it in the body's frame.
    """
    here: Any = Posed(at, rpy, rotation)
    return Surface(name, shape, body, here)
