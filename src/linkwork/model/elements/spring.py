"""Springs and dampers between two points of different bodies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

from linkwork.errors import ModelError
from linkwork.model.elements.force import LineForce
from linkwork.model.elements.keys import ZERO, body_name, key, not_negative, point
from linkwork.model.faults import Fault
from linkwork.model.specifications import Draft
from linkwork.spatial.scalar import Number

if TYPE_CHECKING:
    from linkwork.model.mechanism import Mechanism


class Spring(LineForce, section="springs"):
    """Stretch a spring and a damper from the point `at` (3,) [m] of `a` to the point `to` (3,) [m] of `b`.

    Either may be "world". At a distance L the points are pulled together by the force
    stiffness (L - length) + damping dL/dt, with `stiffness` [N/m], `damping` [N s/m] and `length` [m].
    """

    a: str = key(body_name("body a"))
    b: str = key(body_name("body b"))
    at: Any = key(point("a"), "the point of a", default=ZERO, parameter=True)
    to: Any = key(point("b", "to"), "the point of b", default=ZERO, parameter=True)
    stiffness: Number = key(not_negative("N/m"), default=0.0, kw_only=True, parameter=True)
    damping: Number = key(not_negative("N s/m"), default=0.0, kw_only=True, parameter=True)
    length: Number = key(
        not_negative("m"), "between the points, at which the spring rests", default=0.0, kw_only=True, parameter=True
    )

    def completed(self) -> Self:
        """The same, if its ends are on two bodies."""
        if self.a == self.b:
            raise ModelError(f"a spring needs two bodies; both are {self.a!r}", self.label)
        return self

    def draft_faults(self, draft: Draft) -> Iterator[Fault]:
        """What it names that is not there, and whether its parameters can be told from those of a joint."""
        yield from super().draft_faults(draft)
        if self.name in draft.joints:
            reason = f"its name is that of a joint, whose '{self.name}.stiffness' is another number"
            yield Fault(reason, self.label, "call one of them otherwise")

    def faults(self, mechanism: Mechanism) -> Iterator[Fault]:
        """Whether both points are on one body."""
        if self.at.body == self.to.body:
            reason = f"{self.a!r} and {self.b!r} are one body, between whose points no length changes"
            yield Fault(reason, self.label, "name bodies that move against each other")

    def describe(self) -> tuple[str, str]:
        """Its numbers, and its bodies."""
        what = f"{self.stiffness:g} N/m, {self.damping:g} N s/m, rests at {self.length:g} m"
        return what, f"{self.a}, {self.b}"
