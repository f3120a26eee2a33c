"""Contacts of URDF models as solids: the collision shapes of the links touch each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.errors import ModelError, listed
from linkwork.model.builder import Builder
from linkwork.model.documents.contact_points_of_shapes import APPROXIMATED
from linkwork.model.documents.mesh_vertices import mesh_vertices
from linkwork.model.documents.mujoco_compiler import unused
from linkwork.model.documents.mujoco_contact_compliance import FRICTION, SOLIMP, SOLREF, compliance
from linkwork.model.documents.urdf_contacts import CollisionShape
from linkwork.model.elements.collision import MOST_PAIRS, Collision
from linkwork.model.geometry import Hull, Mesh, Shape
from linkwork.model.mechanism import Mechanism
from linkwork.model.model_tolerances import OVERLAPPING_SHAPES
from linkwork.model.solid_separation import overlaps
from linkwork.model.solids import SolidPair, pairs_of_collision

NAME = "contacts"  # name of the collision element
FREEDOMS = 6  # number of velocities (degrees of freedom) of a free joint


class LeftOut(NamedTuple):
    """The collision shapes and solid pairs of a URDF that the reader leaves out or approximates.

    `names` maps each reason to the names of the shapes and pairs.
    """

    names: dict[str, list[str]]

    def add(self, reason: str, name: str) -> None:
        """Record that the shape or pair `name` is left out or approximated, for the given `reason`."""
        self.names.setdefault(reason, []).append(name)

    def texts(self) -> list[str]:
        """Return one text for each reason, which lists the names of the shapes and pairs."""
        return [f"{reason} {listed(names)}".strip() for reason, names in self.names.items()]


def add_link_contacts(builder: Builder, shapes: Sequence[CollisionShape], mass: float, taken: set[str]) -> list[str]:
    """Add collision shapes, and one collision element for all of them, to `builder`, which has all links and joints.

    `mass` [kg] is the mass of the robot; `taken` are the names of joints, which the collision element must not have.
    Return texts that say what was left out.
    """
    left_out = LeftOut({})
    solids = [(one, shape) for one in shapes if (shape := _solid(one, left_out))]
    for (link, _, X, _), shape, name in zip(*zip(*solids, strict=True), _names(solids), strict=True) if solids else ():
        builder.geometry(link, shape, X.p, rotation=X.R, role="collision", name=name)
    mechanism, _ = builder.examine(strict=False, cycles=False)
    if mechanism is None:  # the reader reports the faults
        return []
    collision = Collision(NAME)
    pairs = pairs_of_collision(mechanism, collision)
    banned = _joined_to_world(mechanism, pairs)
    apart = {pair.name for pair in banned}
    for one in overlaps(
        mechanism, [pair for pair in pairs if pair.name not in apart], mechanism.neutral(), OVERLAPPING_SHAPES
    ):
        left_out.add("pairs of shapes that overlap in the neutral position:", one.pair.name)
        banned.append(one.pair)
    count = len(pairs) - len(banned)
    if count > MOST_PAIRS:
        reason = f"its contacts would be {count} pairs of solids, and the limit is {MOST_PAIRS}"
        raise ModelError(f"{reason}; remove collision shapes that need no contact")
    if not count:
        return [*left_out.texts(), "no two links have collision shapes that could touch"]
    spring = compliance(SOLREF, SOLIMP, 1.0 / mass)._asdict() if mass > 0.0 else {}
    exclude = [(pair.first.name, pair.second.name) for pair in banned]
    builder.collide(unused(NAME, taken), exclude=exclude, friction=FRICTION, **spring)
    return left_out.texts()


def _solid(one: CollisionShape, left_out: LeftOut) -> Shape | None:
    """Return a collision shape as a solid, or None if it cannot be one; a mesh becomes its convex hull.

    Shapes that are left out or approximated are recorded in `left_out`.
    """
    if not isinstance(one.shape, Mesh):
        return one.shape
    try:
        if one.shape.path is None:
            raise ModelError("the file is not found")
        hull, error = Hull.simplified(mesh_vertices(one.shape.path) * np.array(one.shape.scale))
    except ModelError as fault:
        left_out.add("meshes that cannot be read or have no volume:", f"{one.name} ({fault.reason})")
        return None
    if error:
        left_out.add(APPROXIMATED, f"{one.name} ({len(hull.points)} vertices, up to {error:.2g} m inside)")
    return hull


def _names(solids: Iterable[tuple[CollisionShape, Shape]]) -> list[str]:
    """Return a unique name for each of the `solids`, different from the names of other links.

    If a link has only one solid, the solid has the name of the link.
    """
    links = [one.link for one, _ in solids]
    counts = Counter(links)
    taken = {*links, *(f"{link} {k}" for link, count in counts.items() for k in range(1, count + 1))}
    names: list[str] = []
    for one, _ in solids:
        number = links[: len(names) + 1].count(one.link)
        if one.name == one.link:
            names.append(one.link if counts[one.link] == 1 else f"{one.link} {number}")
        else:
            names.append(unused(one.name, taken))
    return names


def _joined_to_world(mechanism: Mechanism, pairs: Iterable[SolidPair]) -> list[SolidPair]:
    """Return the pairs of a solid of the world and a solid of a body that a joint connects to the world.

    Bodies on free joints are left out.
    """
    joined = {frozenset((joint.i, joint.o)) for joint in mechanism.joints if joint.kind.nv < FREEDOMS}
    return [pair for pair in pairs if frozenset((pair.first.body, pair.second.body)) in joined]
