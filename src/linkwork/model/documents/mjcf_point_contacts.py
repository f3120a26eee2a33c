"""Contacts of MJCF models as points: geoms of moving bodies become points and balls that touch static surfaces."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.model.documents.contact_points_of_shapes import (
    APPROXIMATED,
    MOST_PAIRS,
    TOO_MANY,
    ContactPoints,
    contact_points,
    hull_points,
)
from linkwork.model.documents.mjcf_collisions import Collision, ContactParameters
from linkwork.model.documents.mjcf_contact_collector import (
    TORSIONAL,
    ContactCollector,
    mesh_of_geom,
    solid_primitive,
)
from linkwork.model.documents.mjcf_geoms import geom_pose
from linkwork.model.documents.mujoco_compiler import Compiled
from linkwork.model.geometry import Plane

Touches = list[tuple[str, dict[str, Any]]]  # names and arguments of `Builder.touch`


class PointContacts(ContactCollector):
    """Collector of the contacts between points of moving geoms and static geoms of an MJCF model."""

    most, too_many = MOST_PAIRS, TOO_MANY

    def __init__(self, c: Compiled):
        super().__init__(c)
        self.points: dict[int, ContactPoints | None] = {}
        self.groups: dict[tuple[int, tuple[float, ...]], tuple[ContactParameters, list[int]]] = {}

    def add(self, at: Collision) -> None:
        """Add the contact of a geom of a moving body with a static geom.

        `at` has the two geoms.
        """
        geom, surface = (at.second, at.first) if self.static[at.first] else (at.first, at.second)
        self.limit(1, geom)
        if self.surface(surface) is None or self.touching(geom) is None:
            return
        given = self.parameters(at, geom, surface)
        key = geom, tuple(np.concatenate([[given.condim], *given[1:4]]).tolist())
        self.groups.setdefault(key, (given, []))[1].append(surface)

    @property
    def used(self) -> list[int]:
        """The numbers of the static geoms that contact points can touch."""
        return sorted({surface for _, against in self.groups.values() for surface in against})

    def read(self) -> Touches:
        """Return names and arguments of `Builder.touch` for all added contacts."""
        found: Touches = []
        for (geom, _), (given, against) in self.groups.items():
            found += self.touches(geom, given, against)
        return found

    def touching(self, g: int) -> ContactPoints | None:
        """Return the contact points of the moving geom g in its frame, or None if it has none.

        The points are those of `points_of`, computed once for each geom. A geom without points, or with points that
        only approximate it, is recorded for a warning.
        """
        if g not in self.points:
            self.points[g] = found = self.points_of(g)
            if found is None:
                self.record_unsupported_type(g)
            elif found.error:
                self.record_left_out(APPROXIMATED, found.describe(self.names[g]))
        return self.points[g]

    def points_of(self, g: int) -> ContactPoints | None:
        """Return the contact points of the moving geom g, in the geom's frame, or None if linkwork has none for it."""
        vertices = mesh_of_geom(self.c, g)
        if vertices is not None:
            return hull_points(vertices)
        shape = solid_primitive(self.c, g)
        return None if shape is None else contact_points(shape)

    def parameters(self, at: Collision, geom: int, other: int) -> ContactParameters:
        """Return the checked parameters of a contact of a geom with a surface; record properties that are left out.

        `at` has the two geoms, `geom` is the moving geom and `other` the static one.
        """
        given, points, name = super().parameters(at, geom, other), self.points[geom], self.names[geom]
        assert points
        if given.condim >= TORSIONAL and not points.radius:
            self.record_left_out("torsional and rolling friction of geoms that are not spheres or capsules:", name)
        if not isinstance(self.surfaces[other], Plane) and len(points.at) > 1:
            self.record_left_out(
                "contacts between the corners or ends of geoms and a surface that is not a plane:", name
            )
        self.limit(len(points.at) - 1, geom)
        return given

    def touches(self, geom: int, given: ContactParameters, against: list[int]) -> Touches:
        """Return name and arguments of `Builder.touch` for each contact point of the geom number `geom`.

        `given` are the parameters from MuJoCo, and `against` the numbers of the static geoms that the points can touch.
        """
        points, X = self.points[geom], geom_pose(self.c, geom)
        assert points
        own = self.parameters_of_force(given, geom)
        arguments = {
            "body": self.bodies[int(self.c.geom_bodyid[geom])],
            "against": [self.names[surface] for surface in against],
            "radius": points.radius,
            "friction": own["friction"],
            **(self.turning_friction(given) if points.radius else {"spinning": 0.0, "rolling": 0.0}),
            "stiffness": own["stiffness"],
            "damping": own["damping"],
        }
        places = points.at @ X.R.T + X.p
        numbers = [f" {k}" for k in range(1, len(places) + 1)] if len(places) > 1 else [""]
        return [(f"{self.names[geom]}{k}", arguments | {"at": at}) for k, at in zip(numbers, places, strict=True)]
