"""Contacts of MJCF models, as points of moving geoms against static surfaces or as contacts between solids.

MuJoCo's rules decide which geoms can collide and combine their friction. All integration methods can simulate contacts
of points, so they are used if they are exact for all pairs of geoms. What linkwork does not support is listed, so that
the reader can report it in one warning.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork.model.documents.mjcf_collisions import collisions, static_geoms
from linkwork.model.documents.mjcf_contact_collector import mesh_of_geom, solid_primitive
from linkwork.model.documents.mjcf_point_contacts import PointContacts, Touches
from linkwork.model.documents.mjcf_solid_contacts import SolidContacts
from linkwork.model.documents.mujoco_compiler import Compiled
from linkwork.model.geometry import Box, Capsule, Plane, Shape, Sphere

EXACT_ON_PLANES = (Sphere, Capsule, Box)  # shapes whose point nearest to a plane is one of their contact points


class ContactsRead(NamedTuple):
    """Contacts of an MJCF model as arguments of the Builder.

    `shapes` maps geom numbers to the names and shapes of solids; it is None if all contacts are point contacts.
    `surfaces` has the arguments of `Builder.surface` by name. `touches` and `collisions` are the names and arguments of
    `Builder.touch` and `Builder.collide`. `left_out` are texts that say what was left out.
    """

    shapes: dict[int, tuple[str, Shape]] | None
    surfaces: dict[str, dict[str, Any]]
    touches: Touches
    collisions: list[tuple[str, dict[str, Any]]]
    left_out: list[str]


def collision_count(c: Compiled) -> tuple[int, int]:
    """Return the number of geoms that can collide with another geom in MuJoCo, and the number of pairs that can.

    `c` is the model that MuJoCo compiled.
    """
    geoms, pairs = np.zeros(c.ngeom, dtype=bool), 0
    for geom, others, _ in collisions(c):
        geoms[geom] = geoms[others] = True
        pairs += len(others)
    return int(geoms.sum()), pairs


def contacts_of(c: Compiled) -> ContactsRead:
    """Return the contacts of an MJCF model: point contacts if they are exact for all geoms, else contacts of solids.

    `c` is the model that MuJoCo compiled.
    """
    if not _points_are_exact(c):
        solids = SolidContacts(c)
        for partners in collisions(c):
            for at in partners.collisions(np.ones(len(partners.others), dtype=bool)):
                solids.add(at)
        found = solids.read()
        return ContactsRead(found.shapes, found.surfaces, [], found.collisions, solids.left_out())
    points, static = PointContacts(c), static_geoms(c)
    for partners in collisions(c):
        fixed = static[partners.geom] | static[partners.others]
        for g in (partners.geom, *partners.others[~fixed].tolist()) if not fixed.all() else ():
            points.touching(g)  # records g if linkwork does not support its type
        for at in partners.collisions(fixed):
            points.add(at)
    surfaces = {points.names[g]: points.placed(g, points.surfaces[g]) for g in points.used}
    return ContactsRead(None, surfaces, points.read(), [], points.left_out())


def _points_are_exact(c: Compiled) -> bool:
    """Return whether point and ball contacts are exact for all pairs of geoms that linkwork supports.

    Pairs with a height field count as exact, because contacts of solids with a height field are at the same points. `c`
    is the model that MuJoCo compiled.
    """
    static = static_geoms(c)
    shapes = [solid_primitive(c, g) for g in range(c.ngeom)]
    supported = [shape is not None or mesh_of_geom(c, g) is not None for g, shape in enumerate(shapes)]

    def exact(a: int, b: int) -> bool:
        """Return whether point and ball contacts are exact for the pair of geoms a and b."""
        geom, surface = (b, a) if static[a] else (a, b)
        if not (supported[geom] and supported[surface]):
            return True
        on_plane = isinstance(shapes[surface], Plane) and isinstance(shapes[geom], EXACT_ON_PLANES)
        return bool(static[surface]) and (on_plane or isinstance(shapes[geom], Sphere))

    return all(exact(partners.geom, other) for partners in collisions(c) for other in partners.others.tolist())
