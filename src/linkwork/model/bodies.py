"""Rigid bodies, the parts that are welded into them, and frames fixed to them."""

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
    """The attachment of a part or frame: the body, part or world `to`, the pose `offset` there, and the weld `by`."""

    to: str
    offset: Transform
    by: str = ""


@dataclass(frozen=True, eq=False)
class Part:
    """A body as given to the Builder: mass [kg], com (3,) [m] and inertia (6,) [kg m^2] in the part's frame.

    The inertia is about the centre of mass, in the order ixx, iyy, izz, ixy, ixz, iyz. `pose` is the pose of the part's
    frame in the frame of the body that it is welded into, by the weld `attachment`. Poses of `geometry` are in the
    part's frame.
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
        """Inertia about the origin of the body's frame, in body axes."""
        return self.pose.up(RigidInertia.of(self.mass, self.com, inertia_matrix(self.inertia)))


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body, made of one or several welded parts. It has the name of its joint's child. Body 0 is the world."""

    name: str
    index: int
    parts: tuple[Part, ...]

    @cached_property
    def inertia(self) -> RigidInertia:
        """Total inertia of all parts, about the origin of the body's frame."""
        total = RigidInertia.zero()
        for part in self.parts:
            total += part.rigid_inertia
        return total

    @property
    def mass(self) -> Number:
        """Total mass of all parts [kg]."""
        return self.inertia.mass

    @cached_property
    def geometry(self) -> tuple[Geometry, ...]:
        """The geometry of all parts, with poses in the body's frame."""
        return tuple(
            replace(item, pose=(part.pose @ item.pose).snapped()) for part in self.parts for item in part.geometry
        )


@dataclass(frozen=True, eq=False)
class Frame:
    """A named frame fixed to body number `body`, with `pose` in that body's frame.

    Bodies and welded parts are frames too. A frame that is not a part has an `attachment`: the body or part to which
    the Builder fixed it.
    """

    name: str
    body: int
    pose: Transform
    attachment: Attachment | None = None


@dataclass(frozen=True, eq=False)
class Place:
    """A frame fixed to body number `body`, with `pose` in that body's frame.

    `offset` is its pose in the body, welded part or world that was named; `mount` is the pose of that part in the body.
    """

    offset: Transform
    body: int
    pose: Transform
    mount: Transform = field(default_factory=Transform.identity)

    @staticmethod
    def stated(offset: Transform) -> Place:
        """Return a place as given to the Builder, before bodies are numbered."""
        return Place(offset, 0, offset)

    def on(self, body: int, pose: Transform) -> Place:
        """Return the place on body number `body`, on a part with that `pose` in the body's frame."""
        return replace(self, body=body, pose=(pose @ self.offset).snapped(), mount=pose)

    def moved(self, p: Array) -> Place:
        """Return the place with its origin moved to p (3,) [m] in the frame of the named part."""
        offset = Transform(self.offset.R, p)
        return replace(self, offset=offset, pose=(self.mount @ offset).snapped())


def inertia_matrix(six: Array) -> Array:
    """Return the symmetric matrix (3, 3) of (ixx, iyy, izz, ixy, ixz, iyz)."""
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def six_inertias(inertia: object, element: str) -> Array:
    """Return an inertia as six floats (6,), from 3 principal moments, 6 numbers or a symmetric (3, 3) matrix."""
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
        mean = 0.5 * (a + a.T)  # keeps entries that are not finite, which the Builder refuses later
        return np.array([mean[0, 0], mean[1, 1], mean[2, 2], mean[0, 1], mean[0, 2], mean[1, 2]])
    raise ModelError(
        f"inertia must be 3 numbers (ixx, iyy, izz), 6 ({', '.join(INERTIA_ORDER)}) or 3x3; got {inertia!r}", element
    )
