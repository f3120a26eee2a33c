"""Bodies: what has mass, and the frames fixed to it. Several welded parts make one body."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.geometry import Geometry
from linkwork.spatial import RigidInertia, Transform
from linkwork.spatial.scalar import Array, Number

INERTIA_ORDER = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


@dataclass(frozen=True, eq=False)
class Attachment:
    """How something was fixed on: `to` names the body, part or world, `offset` is its pose there, `by` the weld."""

    to: str
    offset: Transform
    by: str = ""


@dataclass(frozen=True, eq=False)
class Part:
    """A body as its author described it: mass [kg], com (3,) [m] and inertia (6,) [kg m^2] in the part's own frame.

    The inertia is about the centre of mass, in the order ixx, iyy, izz, ixy, ixz, iyz. `pose` places the part's
    frame in the frame of the body it is welded into, `attachment` says by which weld; `geometry` is placed in the
    part's own frame.
    """

    name: str
    mass: Number
    com: Array
    inertia: Array
    pose: Transform
    geometry: tuple[Geometry, ...] = ()
    attachment: Attachment | None = None

    @property
    def rigid_inertia(self) -> RigidInertia:
        """Inertia about the origin of the body's frame."""
        return self.pose.up(RigidInertia.of(self.mass, self.com, inertia_matrix(self.inertia)))


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body that moves as one, named after the part that its joint carries. Body 0 is the world."""

    name: str
    index: int
    parts: tuple[Part, ...]

    @cached_property
    def inertia(self) -> RigidInertia:
        """Inertia of all parts together, about the origin of the body's frame."""
        total = RigidInertia.zero()
        for part in self.parts:
            total += part.rigid_inertia
        return total

    @property
    def mass(self) -> Number:
        """Mass of all parts together [kg]."""
        return self.inertia.mass

    @cached_property
    def geometry(self) -> tuple[Geometry, ...]:
        """The geometry of all parts, placed in the body's frame."""
        return tuple(
            replace(item, pose=(part.pose @ item.pose).snapped()) for part in self.parts for item in part.geometry
        )


@dataclass(frozen=True, eq=False)
class Frame:
    """A named frame fixed to a body: `pose` in that body's frame. Bodies and welded parts are frames too.

    One that is no part has an `attachment`, which says what its author fixed it to.
    """

    name: str
    body: int
    pose: Transform
    attachment: Attachment | None = None


@dataclass(frozen=True, eq=False)
class Place:
    """A frame fixed to a body: `pose` in the frame of the body of number `body`.

    Its author put it at `offset` in the frame of a body, a welded part or the world, which has the pose `mount` in the
    frame of that body.
    """

    offset: Transform
    body: int
    pose: Transform
    mount: Transform = field(default_factory=Transform.identity)

    @staticmethod
    def stated(offset: Transform) -> Place:
        """As its author says it, before bodies are numbered and parts welded."""
        return Place(offset, 0, offset)

    def on(self, body: int, pose: Transform) -> Place:
        """The same on a part that has that `pose` in the frame of that body."""
        return replace(self, body=body, pose=(pose @ self.offset).snapped(), mount=pose)

    def moved(self, p: Array) -> Place:
        """The same at p (3,) [m] in the frame that its author put it in."""
        offset = Transform(self.offset.R, p)
        return replace(self, offset=offset, pose=(self.mount @ offset).snapped())


def inertia_matrix(six: Array) -> Array:
    """The symmetric (3, 3) matrix of (ixx, iyy, izz, ixy, ixz, iyz)."""
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def six_inertias(inertia: object, element: str) -> Array:
    """(6,) floats of an inertia given as 3 principal moments, 6 numbers or a symmetric (3, 3) matrix."""
    try:
        a = np.array(inertia, dtype=float)
    except (TypeError, ValueError):
        a = np.array(())
    if a.shape == (3,):
        return np.array([*a, 0.0, 0.0, 0.0])
    if a.shape == (6,):
        return a
    if a.shape == (3, 3):
        if np.isfinite(a).all() and np.abs(a - a.T).max() > 1e-9 * np.abs(a).max():
            raise ModelError(f"inertia must be symmetric; got {a.tolist()}", element)
        mean = 0.5 * (a + a.T)  # keeps what is not finite in either half, for the builder to refuse
        return np.array([mean[0, 0], mean[1, 1], mean[2, 2], mean[0, 1], mean[0, 2], mean[1, 2]])
    raise ModelError(
        f"inertia must be 3 numbers (ixx, iyy, izz), 6 ({', '.join(INERTIA_ORDER)}) or 3x3; got {inertia!r}", element
    )
