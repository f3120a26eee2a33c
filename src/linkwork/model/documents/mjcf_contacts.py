"""Surfaces and contacts of MJCF models: static geoms become surfaces, geoms of moving bodies points that touch them.

MuJoCo's rules decide which geoms can collide and combine their friction. What linkwork does not support is listed, so
that the reader can report it in one warning.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from linkwork.errors import ModelError, listed, visible
from linkwork.model.documents.base_reader import LARGEST
from linkwork.model.documents.contact_compliance import compliance
from linkwork.model.documents.contact_points import (
    APPROXIMATED,
    MOST_PAIRS,
    TOO_MANY,
    ContactPoints,
    contact_points,
    hull_points,
)
from linkwork.model.documents.mjcf_collisions import (
    Collision,
    ContactParameters,
    Partners,
    collisions,
    contact_parameters,
    static_geoms,
)
from linkwork.model.documents.mjcf_geoms import geom_pose, kind_of_geom, primitive
from linkwork.model.documents.mjcf_unsupported import FEW
from linkwork.model.documents.mujoco_compiler import Compiled
from linkwork.model.elements.uneven_ground import HeightField, SurfaceShape
from linkwork.model.geometry import Plane, Sphere
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array

FRICTIONLESS, TORSIONAL, ROLLING = 1, 4, 6  # values of condim: without friction; from which a friction acts


class ContactsRead(NamedTuple):
    """Arguments of `Builder.surface` and `Builder.touch` by name, and texts that say what was left out."""

    surfaces: dict[str, dict[str, Any]]
    touches: list[tuple[str, dict[str, Any]]]
    left_out: list[str]


def collision_count(c: Compiled) -> tuple[int, int]:
    """Return the number of geoms that can collide with another geom in MuJoCo, and the number of pairs of them."""
    geoms, pairs = np.zeros(c.ngeom, dtype=bool), 0
    for geom, others, _ in collisions(c):
        geoms[geom] = geoms[others] = True
        pairs += len(others)
    return int(geoms.sum()), pairs


def contacts_of(c: Compiled) -> ContactsRead:
    """Return the surfaces and contacts of an MJCF model that MuJoCo compiled."""
    return _Contacts(c).read()


class _Contacts:
    """Collector of the surfaces and contacts of an MJCF model."""

    def __init__(self, c: Compiled):
        self.c, self.names, self.bodies = c, c.names("geom"), c.names("body")
        self.static = static_geoms(c)
        self.surfaces: dict[int, SurfaceShape | None] = {}
        self.points: dict[int, ContactPoints | None] = {}
        self.pairs = 0  # of a contact point and a surface
        self.solid_pairs, self.pair_names = 0, list[str]()  # pairs of geoms of two moving bodies, and some of them
        self.gone: dict[str, dict[str, None]] = {}  # what is left out: names of geoms by reason

    def read(self) -> ContactsRead:
        """Return the surfaces, the contacts, and what is left out of an MJCF model."""
        groups: dict[tuple[int, tuple[float, ...]], tuple[ContactParameters, list[int]]] = {}
        for partners in collisions(self.c):
            fixed = self.static[partners.geom] | self.static[partners.others]
            self.leave_moving(partners, ~fixed)
            for at in partners.collisions(fixed):
                geom, surface = (at.second, at.first) if self.static[at.first] else (at.first, at.second)
                self.limit(1, geom)
                if self.surface(surface) is None or self.touching(geom) is None:
                    continue
                given = self.parameters(at, geom, surface)
                key = geom, tuple(np.concatenate([[given.condim], *given[1:4]]).tolist())
                groups.setdefault(key, (given, []))[1].append(surface)
        touches: list[tuple[str, dict[str, Any]]] = []
        for (geom, _), (given, against) in groups.items():
            touches += self.touches(geom, given, against)
        used = {surface for _, against in groups.values() for surface in against}
        return ContactsRead({self.names[g]: self.placed(g) for g in sorted(used)}, touches, self.left_out())

    def leave_moving(self, partners: Partners, which: Array) -> None:
        """Record the collisions of a geom with geoms of other moving bodies, selected by `which` (k,), as left out."""
        found = int(which.sum())
        for a, b, _ in islice(partners.collisions(which), max(0, FEW - self.solid_pairs)):
            self.pair_names.append(f"{self.names[a]} and {self.names[b]}")
        self.solid_pairs += found

    def limit(self, pairs: int, geom: int) -> None:
        """Count the pairs of a geom; raise a ModelError if there are too many pairs of contact points and surfaces."""
        self.pairs += pairs
        if self.pairs > MOST_PAIRS:
            remedy = "set contype and conaffinity of geoms that need no contact to 0"
            raise ModelError(f"{TOO_MANY}; {remedy}", f"geom {self.names[geom]!r}")

    def leave(self, reason: str, name: str) -> None:
        """Record the geom `name` as left out or approximated; a warning prints `reason`, followed by such names."""
        self.gone.setdefault(reason, {})[name] = None

    def left_out(self) -> list[str]:
        """Return texts for a warning: the collisions and properties of geoms that are left out or approximated."""
        found = [f"{reason} {listed(names, FEW)}" for reason, names in self.gone.items()]
        if not self.solid_pairs:
            return found
        pairs = [*self.pair_names, "..."] if self.solid_pairs > FEW else self.pair_names
        word = "pair" if self.solid_pairs == 1 else "pairs"
        return [f"{self.solid_pairs} {word} of geoms of two moving bodies ({visible(', '.join(pairs))})", *found]

    # --- surfaces ---

    def surface(self, g: int) -> SurfaceShape | None:
        """Return the static geom g as the shape of a surface, or None if linkwork has no such surface."""
        if g not in self.surfaces:
            self.surfaces[g] = shape = self.height_field(g) or primitive(self.c, g)
            if shape is None:
                self.leave(f"static geoms that are {_plural(kind_of_geom(self.c, g))}:", self.names[g])
        return self.surfaces[g]

    def height_field(self, g: int) -> HeightField | None:
        """Return the height field of geom g, or None if geom g is none."""
        c = self.c
        if not c.is_a(c.geom_type[g], "mjGEOM_HFIELD"):
            return None
        k = int(c.geom_dataid[g])
        rows, columns, start = int(c.hfield_nrow[k]), int(c.hfield_ncol[k]), int(c.hfield_adr[k])
        heights = c.hfield_data[start : start + rows * columns].reshape(rows, columns)  # rows are along y
        half_x, half_y, height = c.hfield_size[k, :3]
        return HeightField((2.0 * half_x, 2.0 * half_y), height * heights.T.astype(float))

    def placed(self, g: int) -> dict[str, Any]:
        """Return the arguments of `Builder.surface` for the static geom g."""
        X = geom_pose(self.c, g)
        body = self.bodies[self.c.geom_bodyid[g]]
        return {"shape": self.surfaces[g], "body": body, "at": X.p, "rotation": X.R}

    # --- contacts ---

    def touching(self, g: int) -> ContactPoints | None:
        """Return the cached `points_of` the moving geom g; record whether it is left out or approximated."""
        if g not in self.points:
            self.points[g] = found = self.points_of(g)
            if found is None:
                self.leave(f"geoms of moving bodies that are {_plural(kind_of_geom(self.c, g))}:", self.names[g])
            elif found.error:
                self.leave(APPROXIMATED, found.describe(self.names[g]))
        return self.points[g]

    def points_of(self, g: int) -> ContactPoints | None:
        """Return the contact points of the moving geom g, in the geom's frame, or None if linkwork has none for it."""
        c = self.c
        if c.is_a(c.geom_type[g], "mjGEOM_ELLIPSOID") and np.ptp(c.geom_size[g]) == 0.0:
            return contact_points(Sphere(c.geom_size[g, 0]))
        if c.is_a(c.geom_type[g], "mjGEOM_MESH"):
            k = int(c.geom_dataid[g])
            start = int(c.mesh_vertadr[k])
            return hull_points(np.array(c.mesh_vert[start : start + int(c.mesh_vertnum[k])], dtype=float))
        shape = primitive(c, g)
        return None if shape is None else contact_points(shape)

    def parameters(self, at: Collision, geom: int, surface: int) -> ContactParameters:
        """Return the checked parameters of a contact between a geom and a surface, and record what is left out."""
        given, points = contact_parameters(self.c, at), self.points[geom]
        assert points
        name = self.names[geom]
        for key, numbers in (("friction", given.friction), ("solref", given.solref), ("solimp", given.solimp)):
            least = 0.0 if key == "friction" else -LARGEST
            if not ((np.abs(numbers) < LARGEST) & (numbers >= least)).all():
                wanted = "finite and >= 0" if key == "friction" else f"finite, and less than {LARGEST:g}"
                reason = f"{key} of the contact with {self.names[surface]!r} must be {wanted}; got {numbers.tolist()}"
                raise ModelError(reason, f"geom {name!r}")
        if given.offsets.any():
            self.leave("margin and gap of", name)
        if given.condim > FRICTIONLESS and given.friction[0] != given.friction[1]:
            self.leave("the second coefficient of sliding friction of", name)
        if given.condim >= TORSIONAL and not points.radius:
            self.leave("torsional and rolling friction of geoms that are not spheres or capsules:", name)
        if not isinstance(self.surfaces[surface], Plane) and len(points.at) > 1:
            self.leave("contacts between the corners or ends of geoms and a surface that is not a plane:", name)
        self.limit(len(points.at) - 1, geom)
        return given

    def touches(self, geom: int, given: ContactParameters, against: list[int]) -> list[tuple[str, dict[str, Any]]]:
        """Return name and arguments of `Builder.touch` for each contact point of a geom against some surfaces."""
        c, points = self.c, self.points[geom]
        assert points
        X: Transform = geom_pose(c, geom)
        body = int(c.geom_bodyid[geom])
        slide, _, twist, roll, _ = given.friction
        spring = compliance(given.solref, given.solimp, self.inverse_mass(body), self.smallest_step)
        arguments = {
            "body": self.bodies[body],
            "against": [self.names[surface] for surface in against],
            "radius": points.radius,
            "friction": float(slide) if given.condim > FRICTIONLESS else 0.0,
            "spinning": float(twist) if given.condim >= TORSIONAL and points.radius else 0.0,
            "rolling": float(roll) if given.condim >= ROLLING and points.radius else 0.0,
            "stiffness": spring.stiffness,
            "damping": spring.damping,
        }
        places = points.at @ X.R.T + X.p
        numbers = [f" {k}" for k in range(1, len(places) + 1)] if len(places) > 1 else [""]
        return [(f"{self.names[geom]}{k}", arguments | {"at": at}) for k, at in zip(numbers, places, strict=True)]

    @property
    def smallest_step(self) -> float:
        """The time step [s] that bounds MuJoCo's time constants from below; 0 if the model disables this bound."""
        return 0.0 if self.c.disabled("REFSAFE") else float(self.c.opt.timestep)

    def inverse_mass(self, body: int) -> float:
        """Return MuJoCo's estimate of the inverse inertia [1/kg] of a contact on a body.

        For a body whose points hardly move in translation, it is the inverse mass of the body and its descendants.
        """
        estimate = float(self.c.body_invweight0[body, 0])
        heaviest = 1.0 / max(float(self.c.body_subtreemass[body]), 1.0 / LARGEST)
        return estimate if estimate > 1e-6 * heaviest else heaviest


def _plural(kind: str) -> str:
    return {"mesh": "meshes"}.get(kind, f"{kind}s")
