"""Rigid bodies, the parts that are welded together to form a body, and the frames that are fixed to bodies."""

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
    """Connection of a welded part, or of a frame, to the body, welded part or world that the user named.

    `to` is this name, and `offset` the pose of the attached part or frame in the frame of the object called `to`. `by`
    is the name of the weld; it is empty for a frame.
    """

    to: str
    offset: Transform
    by: str = ""


@dataclass(frozen=True, eq=False)
class Part:
    """A rigid part of a body: mass [kg], com (3,) [m] and inertia (6,) [kg m^2], as given to `Builder.body`.

    `com` is the centre of mass in the part's frame. The inertia is about the centre of mass, in the axes of the part's
    frame and in the order ixx, iyy, izz, ixy, ixz, iyz. `pose` is the pose of the part's
    frame in the frame of the `Body` that the part belongs to. `attachment` is the weld by which it belongs to this
    body. Poses of `geometry` are in the part's frame.
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
        """The spatial inertia of the part, about the origin of the frame of its `Body`, in the axes of this frame."""
        return self.pose.up(RigidInertia.of(self.mass, self.com, inertia_matrix(self.inertia)))


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body, made of one part or of several welded parts. Body 0 is the world.

    The body has the name of the part that is the child of its joint.
    """

    name: str
    index: int
    parts: tuple[Part, ...]

    @cached_property
    def inertia(self) -> RigidInertia:
        """The spatial inertia of all parts of the body, about the origin and in the axes of the body's frame."""
        total = RigidInertia.zero()
        for part in self.parts:
            total += part.rigid_inertia
        return total

    @property
    def mass(self) -> Number:
        """The mass of the body [kg], the sum of the masses of its parts."""
        return self.inertia.mass

    @cached_property
    def geometry(self) -> tuple[Geometry, ...]:
        """The shapes of all parts of the body, with poses in the body's frame."""
        return tuple(
            replace(item, pose=(part.pose @ item.pose).snapped()) for part in self.parts for item in part.geometry
        )


@dataclass(frozen=True, eq=False)
class Frame:
    """A named frame that is fixed to the body with number `body`; `pose` is its pose in that body's frame.

    Bodies and welded parts are frames too. A frame that is not a part has an `attachment`: the body or part to which
    the Builder fixed it.
    """

    name: str
    body: int
    pose: Transform
    attachment: Attachment | None = None


@dataclass(frozen=True, eq=False)
class Place:
    """The frame at which an element, such as a loop closure or a spring, is attached to a body.

    The user gave the pose `offset` of this frame in a named body, welded part or the world. `body` is the number of the
    body that contains the named part, and `pose` the pose of the attachment frame in this body's frame. `mount` is the
    pose of the named part in this body's frame.
    """

    offset: Transform
    body: int
    pose: Transform
    mount: Transform = field(default_factory=Transform.identity)

    @staticmethod
    def stated(offset: Transform) -> Place:
        """Return an attachment frame with the pose `offset` in the part that the user named.

        Its body number and its pose in the body are set later by `on`, when the bodies have numbers.
        """
        return Place(offset, 0, offset)

    def on(self, body: int, pose: Transform) -> Place:
        """Return a copy of the attachment frame on body number `body`.

        `pose` is the pose of the part that the user named, in the frame of this body.
        """
        return replace(self, body=body, pose=(pose @ self.offset).snapped(), mount=pose)

    def moved(self, p: Array) -> Place:
        """Return a copy of the attachment frame whose origin is at p (3,) [m] in the frame of the named part."""
        offset = Transform(self.offset.R, p)
        return replace(self, offset=offset, pose=(self.mount @ offset).snapped())


def inertia_matrix(six: Array) -> Array:
    """Return the symmetric inertia matrix (3, 3) with the entries `six` = (ixx, iyy, izz, ixy, ixz, iyz)."""
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def six_inertias(inertia: object, element: str) -> Array:
    """Return the entries (6,) (ixx, iyy, izz, ixy, ixz, iyz) of an inertia that a user gave in one of three forms.

    `inertia` is a list of 3 principal moments, a list of these 6 entries, or a symmetric (3, 3) matrix. `element` is
    the label of the body in error messages.
    """
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
        mean = 0.5 * (a + a.T)  # entries that are not finite stay; the Builder refuses them later
        return np.array([mean[0, 0], mean[1, 1], mean[2, 2], mean[0, 1], mean[0, 2], mean[1, 2]])
    raise ModelError(
        f"inertia must be 3 numbers (ixx, iyy, izz), 6 ({', '.join(INERTIA_ORDER)}) or 3x3; got {inertia!r}", element
    )
