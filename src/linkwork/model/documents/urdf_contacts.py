"""Contacts of URDF models with the plane z = 0: the collision shapes of moving links become points that touch it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from linkwork.errors import ModelError, listed
from linkwork.model.builder import Builder
from linkwork.model.documents.base_reader import GROUND
from linkwork.model.documents.contact_points_of_shapes import (
    APPROXIMATED,
    MOST_PAIRS,
    TOO_MANY,
    ContactPoints,
    contact_points,
    hull_points,
)
from linkwork.model.documents.mesh_vertices import mesh_vertices
from linkwork.model.documents.mujoco_compiler import unused
from linkwork.model.documents.mujoco_contact_compliance import FRICTION, SOLIMP, SOLREF, compliance
from linkwork.model.geometry import Mesh, Plane, Shape
from linkwork.spatial import Transform


class CollisionShape(NamedTuple):
    """A collision shape of a link: name of the link, shape, pose in the link's frame, and a name for messages."""

    link: str
    shape: Shape
    pose: Transform
    name: str


def can_move(link: str, parents: Mapping[str, tuple[str, bool]], floating: bool) -> bool:
    """Return whether a link can move relative to the world.

    `parents` maps each child link to its parent link and to whether the joint between them is fixed. `floating` is true
    if the root link can move.
    """
    visited: set[str] = set()
    while link in parents and link not in visited:
        visited.add(link)
        link, fixed = parents[link]
        if not fixed:
            return True
    return floating


def add_ground_contacts(builder: Builder, shapes: Iterable[CollisionShape], mass: float, taken: set[str]) -> list[str]:
    """Add the plane z = 0, and its contacts with `shapes`, the collision shapes of moving links, to `builder`.

    `mass` [kg] is the mass of the robot, which sets stiffness and damping. `taken` are the names of joints, which
    contacts must not have. Return texts that name what was left out, each with the reason.
    """
    spring = compliance(SOLREF, SOLIMP, 1.0 / mass)._asdict() if mass > 0.0 else {}
    left_out: dict[str, list[str]] = {}
    count = 0
    for link, shape, X, name in shapes:
        try:
            points = _points(shape)
        except ModelError as error:
            left_out.setdefault("meshes that cannot be read:", []).append(f"{name} ({error.reason})")
            continue
        if points is None:
            left_out.setdefault("flat or unsupported shapes:", []).append(name)
            continue
        if points.error:
            left_out.setdefault(APPROXIMATED, []).append(points.describe(name))
        count += len(points.at)
        if count > MOST_PAIRS:
            raise ModelError(f"{TOO_MANY}; remove collision shapes that need no contact", f"body {link!r}")
        if count == len(points.at):
            builder.surface(GROUND, Plane())
        _add_contact_points(builder, name, link, points, X, taken, spring)
    if not count:
        left_out["no moving link has a collision shape with contact points"] = []
    return [f"{reason} {listed(names)}".strip() for reason, names in left_out.items()]


def _add_contact_points(
    builder: Builder,
    name: str,
    link: str,
    points: ContactPoints,
    X: Transform,
    taken: set[str],
    spring: Mapping[str, float],
) -> None:
    """Add the contact points of one collision shape with the pose X in the frame of its link `link` to `builder`.

    `name` is the name of the contacts, which is changed if it is in `taken`, and `spring` has the parameters of their
    force law.
    """
    for number, at in enumerate(points.at @ X.R.T + X.p, start=1):
        own = f"{name} {number}" if len(points.at) > 1 else name
        given: dict[str, Any] = {"radius": points.radius, "friction": FRICTION, **spring}
        builder.touch(unused(own, taken), link, at, against=[GROUND], **given)


def _points(shape: Shape) -> ContactPoints | None:
    """Return the contact points of a collision shape, in its frame, or None if it has none.

    Raise a ModelError if the file of a mesh cannot be read.
    """
    if not isinstance(shape, Mesh):
        return contact_points(shape)
    if shape.path is None:
        raise ModelError("the file is not found")
    return hull_points(mesh_vertices(shape.path) * np.array(shape.scale))
