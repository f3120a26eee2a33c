"""Contacts of MJCF models as solids: geoms become collision shapes or surfaces that touch in pairs."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from linkwork.errors import ModelError
from linkwork.model.documents.contact_points_of_shapes import APPROXIMATED
from linkwork.model.documents.mjcf_collisions import Collision
from linkwork.model.documents.mjcf_contact_collector import (
    ContactCollector,
    mesh_of_geom,
    solid_primitive,
)
from linkwork.model.documents.mujoco_compiler import Compiled, unused
from linkwork.model.elements.collision import MOST_PAIRS
from linkwork.model.elements.uneven_ground import Ground, HeightField, SurfaceShape
from linkwork.model.geometry import Hull, Shape

NAME = "contacts"  # name of the collision elements
NOT_OF_BODIES = (Ground, HeightField)  # shapes of surfaces that a moving body cannot have


class SolidsRead(NamedTuple):
    """The solid contacts of an MJCF model, as arguments of the Builder.

    `shapes` has the name and the collision shape of each moving geom, by its number. `surfaces` has the arguments of
    `Builder.surface` by name, and `collisions` the names and arguments of `Builder.collide`.
    """

    shapes: dict[int, tuple[str, Shape]]
    surfaces: dict[str, dict[str, Any]]
    collisions: list[tuple[str, dict[str, Any]]]


class SolidContacts(ContactCollector):
    """Collector of the contacts between solids of an MJCF model."""

    most = MOST_PAIRS
    too_many = f"its contacts would be more than {MOST_PAIRS} pairs of solids, which is the limit"

    def __init__(self, c: Compiled):
        super().__init__(c)
        self.solids: dict[int, SurfaceShape | None] = {}
        self.groups: dict[tuple[float, ...], tuple[dict[str, float], list[tuple[int, int]]]] = {}

    def add(self, at: Collision) -> None:
        """Add a pair of geoms that can touch, of which at most one is static; `at` has the two geoms."""
        a, b = at.first, at.second
        self.limit(1, a)
        geom, other = (b, a) if self.static[a] else (a, b)
        if self.solid(geom) is None or self.solid(other) is None:
            return
        given = self.parameters(at, geom, other)
        numbers = self.parameters_of_force(given, geom, other) | self.turning_friction(given)
        self.groups.setdefault(tuple(numbers.values()), (numbers, []))[1].append((geom, other))

    def solid(self, g: int) -> SurfaceShape | None:
        """Return geom g as the shape of a solid, or None; record whether it is left out or approximated."""
        if g not in self.solids:
            vertices, field = mesh_of_geom(self.c, g), self.height_field(g) if self.static[g] else None
            self.solids[g] = solid_primitive(self.c, g) if vertices is None else self.hull(g, vertices)
            if field:
                self.solids[g] = field
            if self.solids[g] is None:
                self.record_unsupported_type(g)
        return self.solids[g]

    def hull(self, g: int, vertices: Any) -> Shape | None:
        """Return the convex hull of the vertices (n, 3) [m] of geom g, or None if it is flat."""
        try:
            shape, error = Hull.simplified(vertices)
        except ModelError:
            return None
        if error:
            text = f"{self.names[g]} ({len(shape.points)} vertices, up to {error:.2g} m inside)"
            self.record_left_out(APPROXIMATED, text)
        return shape

    def read(self) -> SolidsRead:
        """Return the collision shapes, surfaces and collision elements of all added pairs, for the Builder."""
        pairs = [pair for _, several in self.groups.values() for pair in several]
        used = sorted({g for pair in pairs for g in pair})
        names = self.own_names(used)
        shapes = {
            g: (names[g], shape)
            for g in used
            if not self.static[g] and (shape := self.solids[g]) and not isinstance(shape, NOT_OF_BODIES)
        }
        surfaces = {names[g]: self.placed(g, self.solids[g]) for g in used if self.static[g]}
        collisions: list[tuple[str, dict[str, Any]]] = []
        for number, (numbers, several) in enumerate(self.groups.values(), start=1):
            name = NAME if len(self.groups) == 1 else f"{NAME} {number}"
            collisions.append((name, {"pairs": [(names[a], names[b]) for a, b in several], **numbers}))
        return SolidsRead(shapes, surfaces, collisions)

    def own_names(self, used: list[int]) -> dict[int, str]:
        """Return, for each of the geoms `used`, a name that no body and no other solid has.

        The names must differ from those of bodies because a collision element may also name a solid by its body.
        """
        counts = Counter(self.bodies[self.c.geom_bodyid[g]] for g in used)
        taken = {*self.bodies, *(f"{body} {k}" for body, count in counts.items() for k in range(1, count + 1))}
        return {g: unused(self.names[g], taken) for g in used}
