"""Surfaces, and the points and balls on bodies that may touch them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from linkwork.model.bodies import Place
from linkwork.model.faults import Fault
from linkwork.model.geometry import Shape
from linkwork.model.naming import Named
from linkwork.model.requests import unknown_faults
from linkwork.spatial import Transform

REST_SPEED = 1e-3  # [m/s], if nothing is said


@dataclass(frozen=True, eq=False)
class Surface:
    """A `shape` on `body`, the name of a body, a welded part or the world, at `place`, that contacts can touch."""

    name: str
    body: str
    shape: Shape
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

    def reference_faults(self, bodies: Collection[str], surfaces: Collection[str]) -> Iterator[Fault]:
        """What it names that is not there."""
        element = f"contact {self.name!r}"
        yield from unknown_faults(element, "body", {"its body": self.body}, bodies)
        for name in self.against:
            yield from unknown_faults(element, "surface", {"against": name}, surfaces)

    def placed(self, home: Mapping[str, tuple[int, Transform]], surfaces: Named[Surface]) -> Contact:
        """The same with its place on a body and the surfaces that it may touch."""
        at = self.at.on(*home[self.body])
        others = tuple(surface.name for surface in surfaces if surface.place.body != at.body)
        return replace(self, at=at, against=self.against or others)

    def faults(self, surfaces: Named[Surface]) -> Iterator[Fault]:
        """What is wrong with it once it is placed."""
        element = f"contact {self.name!r}"
        if not self.against:
            yield Fault("there is no surface on another body that it could touch", element, "add one")
        for name in self.against:
            if surfaces[name].place.body == self.at.body:
                reason = f"against {name!r} it would touch the body that it is on"
                yield Fault(reason, element, "name surfaces of other bodies")
