"""Springs and dampers between two points of different bodies."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from linkwork.errors import ModelError
from linkwork.model.bodies import Place
from linkwork.model.faults import Fault
from linkwork.model.specifications import unknown_faults
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Number


@dataclass(frozen=True, eq=False)
class Spring:
    """A spring and a damper along the line between the point `at` on a and the point `to` on b.

    `a` and `b` name bodies, welded parts or the world. At a distance L of the points, the tension that pulls them
    together is stiffness (L - length) + damping dL/dt [N], with `stiffness` [N/m], `damping` [N s/m] and `length` [m],
    at which the spring rests.
    """

    name: str
    a: str
    b: str
    at: Place
    to: Place
    stiffness: Number
    damping: Number
    length: Number

    def reference_faults(self, bodies: Collection[str], joints: Collection[str]) -> Iterator[Fault]:
        """What it names that is not there, and whether its parameters could be told from those of a joint."""
        element = f"spring {self.name!r}"
        yield from unknown_faults(element, "body", {"body a": self.a, "body b": self.b}, bodies)
        if self.name in joints:
            reason = f"its name is that of a joint, whose '{self.name}.stiffness' is another number"
            yield Fault(reason, element, "call one of them otherwise")

    def placed(self, home: Mapping[str, tuple[int, Transform]]) -> Spring:
        """The same with its places on bodies, given the body and pose of every part."""
        return replace(self, at=self.at.on(*home[self.a]), to=self.to.on(*home[self.b]))

    def faults(self) -> Iterator[Fault]:
        """What is wrong with it once it is placed."""
        if self.at.body == self.to.body:
            reason = f"{self.a!r} and {self.b!r} are one body, between whose points no length changes"
            yield Fault(reason, f"spring {self.name!r}", "name bodies that move against each other")


def refuse_one_end(a: str, b: str, element: str) -> None:
    """Raise a ModelError if a spring has both ends on one body."""
    if a == b:
        raise ModelError(f"a spring needs two bodies; both are {a!r}", element)
