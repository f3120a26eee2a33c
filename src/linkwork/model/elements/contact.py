"""Surfaces, and the points and balls on bodies that may touch them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.arguments import (
    above_zero,
    at_least_zero,
    at_most_one,
    friction_pair,
    names_of,
    numbers_of,
    placement,
)
from linkwork.model.bodies import Place
from linkwork.model.elements.ground import SurfaceShape
from linkwork.model.faults import Fault
from linkwork.model.naming import Named
from linkwork.model.specifications import unknown_faults
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array

REST_SPEED = 1e-3  # [m/s], if nothing is said


@dataclass(frozen=True, eq=False)
class Surface:
    """A `shape` on `body`, the name of a body, a welded part or the world, at `place`, that contacts can touch."""

    name: str
    body: str
    shape: SurfaceShape
    place: Place

    def placed(self, home: Mapping[str, tuple[int, Transform]]) -> Surface:
        """The same with its place on a body, given the body and pose of every part."""
        return replace(self, place=self.place.on(*home[self.body]))


@dataclass(frozen=True, eq=False)
class Contact:
    """A ball of `radius` [m], or a point if that is 0, about `at` on `body`, that touches the surfaces `against`.

    A spring and damper act along the normal, `stiffness` [N/m] and `damping` [N s/m], and along the surface,
    `tangential_stiffness` and `tangential_damping`. `friction` is (static, dynamic) coefficients of friction, and
    below `rest_speed` [m/s] a sliding contact sticks. Where none are named, `against` is all surfaces of other bodies.
    A ball is braked by the torques `rolling` and `spinning` [m] times the normal force. With a `dissipation` [s/m] the
    normal force is that of Hunt and Crossley, and `stiffness` in [N/m^1.5]. Of rigid contacts only the place, the
    radius, `friction`, `rolling`, `spinning` and `restitution`, speed after over speed before an impact, count: a
    `stiffness` of 0 is none.
    """

    name: str
    body: str
    at: Place
    radius: float
    against: tuple[str, ...]
    stiffness: float
    damping: float
    tangential_stiffness: float
    tangential_damping: float
    friction: tuple[float, float]
    rest_speed: float
    rolling: float = 0.0
    spinning: float = 0.0
    restitution: float = 0.0
    dissipation: float | None = None

    @staticmethod
    def stated(
        name: str,
        element: str,
        body: str,
        at: Any,
        against: Any,
        stiffness: Any,
        tangential_stiffness: Any,
        tangential_damping: Any,
        friction: Any,
        restitution: Any,
        dissipation: Any,
        **numbers: Any,
    ) -> Contact:
        """As its author says it: numbers are checked, and what is left out is as along the normal."""
        found = {key: at_least_zero(x, key, element) for key, x in numbers.items() if key != "rest_speed"}
        hard = 0.0 if stiffness is None else above_zero(stiffness, "stiffness", element)
        if not hard and (found["damping"] or dissipation is not None or tangential_stiffness or tangential_damping):
            raise ModelError(
                "springs and dampers of a contact need its stiffness; a rigid one has none of them", element
            )
        if dissipation is not None:
            dissipation = at_least_zero(dissipation, "dissipation", element)
            if found["damping"] or tangential_stiffness is None:
                reason = "a contact with dissipation has no damping along its normal, and needs a tangential_stiffness"
                raise ModelError(f"{reason} of its own", element)
        if (found["rolling"] or found["spinning"]) and not found["radius"]:
            raise ModelError("rolling and spinning brake balls: give it a radius", element)
        along = hard if tangential_stiffness is None else tangential_stiffness
        losses = found["damping"] if tangential_damping is None else tangential_damping
        return Contact(
            name,
            str(body),
            Place.stated(placement(at, np.zeros(3), None, element)),
            against=names_of(against, "against", element),
            stiffness=hard,
            tangential_stiffness=above_zero(along, "tangential_stiffness", element) if hard else 0.0,
            tangential_damping=at_least_zero(losses, "tangential_damping", element),
            friction=friction_pair(friction, element),
            rest_speed=above_zero(numbers["rest_speed"], "rest_speed", element),
            restitution=at_most_one(restitution, "restitution", element),
            dissipation=dissipation,
            **found,
        )

    def reference_faults(
        self, bodies: Collection[str], surfaces: Collection[str], joints: Collection[str]
    ) -> Iterator[Fault]:
        """What it names that is not there, and whether its parameters could be told from those of a joint."""
        element = f"contact {self.name!r}"
        if self.name in joints:
            reason = f"its name is that of a joint or spring, whose '{self.name}.stiffness' is another number"
            yield Fault(reason, element, "call one of them otherwise")
        yield from unknown_faults(element, "body", {"its body": self.body}, bodies)
        for name in self.against:
            yield from unknown_faults(element, "surface", {"against": name}, surfaces)

    def placed(self, home: Mapping[str, tuple[int, Transform]], surfaces: Named[Surface]) -> Contact:
        """The same with its place on a body and the surfaces that it may touch."""
        at = self.at.on(*home[self.body])
        others = tuple(surface.name for surface in surfaces if surface.place.body != at.body)
        return replace(self, at=at, against=self.against or others)

    def press(self, depth: float) -> float:
        """The force [N] of the normal's spring at a depth [m]."""
        return self.stiffness * (depth if self.dissipation is None else depth**1.5)

    def slopes(self, load: float) -> tuple[float, float]:
        """Stiffness [N/m] and damping [N s/m] along the normal for small motion under a load [N]."""
        if self.dissipation is None:
            return self.stiffness, self.damping
        depth = (load / self.stiffness) ** (2.0 / 3.0)
        return 1.5 * self.stiffness * depth**0.5, self.dissipation * load

    def faults(self, surfaces: Named[Surface]) -> Iterator[Fault]:
        """What is wrong with it once it is placed."""
        element = f"contact {self.name!r}"
        if not self.against:
            yield Fault("there is no surface on another body that it could touch", element, "add one")
        for name in self.against:
            if surfaces[name].place.body == self.at.body:
                reason = f"against {name!r} it would touch the body that it is on"
                yield Fault(reason, element, "name surfaces of other bodies")


class Pair(NamedTuple):
    """A contact and one of the surfaces that it may touch."""

    contact: Contact
    surface: Surface

    @property
    def name(self) -> str:
        """The contact's name, with the surface's where there are several."""
        one = len(self.contact.against) == 1
        return self.contact.name if one else f"{self.contact.name} on {self.surface.name}"


def pairs_of(contacts: Named[Contact], surfaces: Named[Surface]) -> tuple[Pair, ...]:
    """All pairs that may touch, contact after contact."""
    return tuple(Pair(contact, surfaces[name]) for contact in contacts for name in contact.against)


def box_corners(size: Any) -> Array:
    """The corners (8, 3) [m] of a box of that size (3,) [m] about its origin.

    The first four are those below, in the order in which they go around: the sole of a foot.
    """
    half = 0.5 * numbers_of(size, (3,), "size", "box")
    around = ((1, -1), (1, 1), (-1, 1), (-1, -1))
    return np.array([(x, y, z) for z, (x, y) in product((-1, 1), around)]) * half
