"""The base class of the readers of MJCF contacts: surfaces, contact parameters, and geoms that are left out."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from linkwork.errors import ModelError, listed
from linkwork.model.documents.base_reader import LARGEST
from linkwork.model.documents.mjcf_collisions import Collision, ContactParameters, contact_parameters, static_geoms
from linkwork.model.documents.mjcf_geoms import geom_pose, kind_of_geom, primitive
from linkwork.model.documents.mjcf_unsupported import FEW
from linkwork.model.documents.mujoco_compiler import Compiled
from linkwork.model.documents.mujoco_contact_compliance import compliance
from linkwork.model.elements.uneven_ground import HeightField, SurfaceShape
from linkwork.model.geometry import Shape, Sphere
from linkwork.spatial.scalar import Array

# MuJoCo's condim: 1 for contacts without friction; torsional friction acts from 4 on, rolling friction from 6 on
FRICTIONLESS, TORSIONAL, ROLLING = 1, 4, 6
REMEDY = "set contype and conaffinity of geoms that need no contact to 0"


class ContactCollector:
    """Collector of the contacts of an MJCF model.

    `most` is the largest number of contact pairs, and `too_many` the error message for more. `left_out_geoms` maps each
    reason for leaving out or approximating geoms to the names of these geoms.
    """

    most: ClassVar[int]
    too_many: ClassVar[str]

    def __init__(self, c: Compiled):
        self.c, self.names, self.bodies = c, c.names("geom"), c.names("body")
        self.static = static_geoms(c)
        self.surfaces: dict[int, SurfaceShape | None] = {}
        self.pairs = 0
        self.left_out_geoms: dict[str, dict[str, None]] = {}

    def limit(self, pairs: int, geom: int) -> None:
        """Add `pairs` to the number of contact pairs; raise a ModelError for geom number `geom` above `most`."""
        self.pairs += pairs
        if self.pairs > self.most:
            raise ModelError(f"{self.too_many}; {REMEDY}", f"geom {self.names[geom]!r}")

    def record_left_out(self, reason: str, name: str) -> None:
        """Record that the geom `name` is left out or approximated.

        The text of the warning is `reason`, followed by the names of all geoms with this reason.
        """
        self.left_out_geoms.setdefault(reason, {})[name] = None

    def record_unsupported_type(self, g: int) -> None:
        """Record that geom number g is left out because linkwork does not support its type."""
        role = "static geoms" if self.static[g] else "geoms of moving bodies"
        self.record_left_out(f"{role} that are {plural(kind_of_geom(self.c, g))}:", self.names[g])

    def left_out(self) -> list[str]:
        """Return texts for a warning: the collisions and properties of geoms that are left out or approximated."""
        return [f"{reason} {listed(names, FEW)}" for reason, names in self.left_out_geoms.items()]

    # --- surfaces ---

    def surface(self, g: int) -> SurfaceShape | None:
        """Return the static geom g as the shape of a surface, or None if linkwork has no such surface."""
        if g not in self.surfaces:
            self.surfaces[g] = shape = self.height_field(g) or primitive(self.c, g)
            if shape is None:
                self.record_unsupported_type(g)
        return self.surfaces[g]

    def height_field(self, g: int) -> HeightField | None:
        """Return the height field of geom g, or None if geom g is not a height field."""
        c = self.c
        if not c.is_a(c.geom_type[g], "mjGEOM_HFIELD"):
            return None
        k = int(c.geom_dataid[g])
        rows, columns, start = int(c.hfield_nrow[k]), int(c.hfield_ncol[k]), int(c.hfield_adr[k])
        # Rows of MuJoCo's heights are along y
        heights = c.hfield_data[start : start + rows * columns].reshape(rows, columns)
        half_x, half_y, height = c.hfield_size[k, :3]
        return HeightField((2.0 * half_x, 2.0 * half_y), height * heights.T.astype(float))

    def placed(self, g: int, shape: SurfaceShape | None) -> dict[str, Any]:
        """Return the arguments of `Builder.surface`, by name, for the static geom g with the given `shape`."""
        X = geom_pose(self.c, g)
        return {"shape": shape, "body": self.bodies[self.c.geom_bodyid[g]], "at": X.p, "rotation": X.R}

    # --- contact parameters ---

    def parameters(self, at: Collision, geom: int, other: int) -> ContactParameters:
        """Return the checked parameters of a contact of two geoms; record properties of `geom` that are left out.

        `at` has the two geoms; `geom` is one of them and `other` the other.
        """
        given, name = contact_parameters(self.c, at), self.names[geom]
        for key, numbers in (("friction", given.friction), ("solref", given.solref), ("solimp", given.solimp)):
            least = 0.0 if key == "friction" else -LARGEST
            if not ((np.abs(numbers) < LARGEST) & (numbers >= least)).all():
                wanted = "finite and >= 0" if key == "friction" else f"finite, and less than {LARGEST:g}"
                reason = f"{key} of the contact with {self.names[other]!r} must be {wanted}; got {numbers.tolist()}"
                raise ModelError(reason, f"geom {name!r}")
        if given.offsets.any():
            self.record_left_out("margin and gap of", name)
        if given.condim > FRICTIONLESS and given.friction[0] != given.friction[1]:
            self.record_left_out("the second coefficient of sliding friction of", name)
        return given

    def parameters_of_force(self, given: ContactParameters, *geoms: int) -> dict[str, float]:
        """Return friction, stiffness and damping of contacts between `geoms` with the parameters `given` from MuJoCo.

        The result has the keys friction (coefficient), stiffness [N/m] and damping [N s/m]. Stiffness and damping
        depend on the inverse masses of the moving geoms; static geoms have the inverse mass zero.
        """
        inverse = sum(self.inverse_mass(int(self.c.geom_bodyid[g])) for g in geoms if not self.static[g])
        spring = compliance(given.solref, given.solimp, inverse, self.smallest_step)
        friction = float(given.friction[0]) if given.condim > FRICTIONLESS else 0.0
        return {"friction": friction, "stiffness": spring.stiffness, "damping": spring.damping}

    @staticmethod
    def turning_friction(given: ContactParameters) -> dict[str, float]:
        """Return the coefficients of spinning and rolling friction [m] of contacts with the parameters `given`."""
        _, _, twist, roll, _ = given.friction
        return {
            "spinning": float(twist) if given.condim >= TORSIONAL else 0.0,
            "rolling": float(roll) if given.condim >= ROLLING else 0.0,
        }

    @property
    def smallest_step(self) -> float:
        """Half the smallest permitted time constant of contacts [s]: the time step, or 0 if the flag REFSAFE is off."""
        return 0.0 if self.c.disabled("REFSAFE") else float(self.c.opt.timestep)

    def inverse_mass(self, body: int) -> float:
        """Return MuJoCo's estimate of the inverse inertia [1/kg] of a contact on a body.

        For a body whose points hardly move in translation, the result is the inverse mass of the body and its
        descendants.
        """
        estimate = float(self.c.body_invweight0[body, 0])
        heaviest = 1.0 / max(float(self.c.body_subtreemass[body]), 1.0 / LARGEST)
        return estimate if estimate > 1e-6 * heaviest else heaviest


def solid_primitive(c: Compiled, g: int) -> Shape | None:
    """Return geom g as a plane, sphere, capsule, cylinder or box, or None; a round ellipsoid is a sphere.

    `c` is the model that MuJoCo compiled.
    """
    if c.is_a(c.geom_type[g], "mjGEOM_ELLIPSOID") and np.ptp(c.geom_size[g]) == 0.0:
        return Sphere(c.geom_size[g, 0])
    return primitive(c, g)


def mesh_of_geom(c: Compiled, g: int) -> Array | None:
    """Return the vertices (n, 3) [m] of geom g in its frame if it is a mesh, else None.

    `c` is the model that MuJoCo compiled.
    """
    if not c.is_a(c.geom_type[g], "mjGEOM_MESH"):
        return None
    k = int(c.geom_dataid[g])
    start = int(c.mesh_vertadr[k])
    return np.array(c.mesh_vert[start : start + int(c.mesh_vertnum[k])], dtype=float)


def plural(kind: str) -> str:
    """Return the plural of the MJCF word for a type of geom.

    `kind` is the word.
    """
    return {"mesh": "meshes"}.get(kind, f"{kind}s")
