"""Springs and dampers between points on two bodies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

from linkwork.errors import ModelError
from linkwork.model.builder_specifications import Draft
from linkwork.model.elements.force import LineForce
from linkwork.model.elements.key_types import ZERO, body_name, key, not_negative, point
from linkwork.model.model_definition_faults import Fault
from linkwork.spatial.scalar import Number

if TYPE_CHECKING:
    from linkwork.model.mechanism import Mechanism


class Spring(LineForce, section="springs"):
    """Add a spring and a damper between a point on the body `a` and a point on the body `b`.

    At the distance L between the points, the tension is stiffness (L - length) + damping dL/dt [N]. There is no force
    while L = 0.

    Examples
    --------
    >>> b = lw.Builder().body("bob", 2.0, (0, 0, -0.5)).joint("pin", lw.Revolute((0, 1, 0)), "world", "bob")
    >>> m = b.spring("stay", "world", "bob", (0.5, 0, 0), (0, 0, -0.5), stiffness=400.0, length=0.6).build()
    >>> m.springs["stay"].length
    0.6

    """

    a: str = key(body_name("body a"), 'First body: a body, a welded part or "world"')
    b: str = key(body_name("body b"), 'Second body: a body, a welded part or "world"')
    at: Any = key(point("a"), "Attachment point in the frame of body `a`", default=ZERO, parameter=True)
    to: Any = key(point("b", "to"), "Attachment point in the frame of body `b`", default=ZERO, parameter=True)
    stiffness: Number = key(not_negative("N/m"), "Spring stiffness", default=0.0, kw_only=True, parameter=True)
    damping: Number = key(not_negative("N s/m"), "Damping coefficient", default=0.0, kw_only=True, parameter=True)
    length: Number = key(
        not_negative("m"), "Distance between the points at zero spring force", default=0.0, kw_only=True, parameter=True
    )

    def completed(self) -> Self:
        """Return the spring; raise a ModelError if both of its ends are on one body."""
        if self.a == self.b:
            raise ModelError(f"a spring needs two different bodies; both are {self.a!r}", self.label)
        return self

    def draft_faults(self, draft: Draft) -> Iterator[Fault]:
        """Yield a fault for each unknown body of the spring, and if a joint has the spring's name.

        A shared name would make parameter names ambiguous. `draft` is the content of the Builder before `build`.
        """
        yield from super().draft_faults(draft)
        if self.name in draft.joints:
            reason = f"this spring has the name of a joint, so the parameter '{self.name}.stiffness' would be ambiguous"
            yield Fault(reason, self.label, "rename one of them")

    def faults(self, mechanism: Mechanism) -> Iterator[Fault]:
        """Yield a fault if both points of the spring are on the same rigid body."""
        if self.at.body == self.to.body:
            reason = f"{self.a!r} and {self.b!r} are welded into one body, so the spring's length is constant"
            yield Fault(reason, self.label, "name bodies that move relative to each other")

    def describe(self) -> tuple[str, str]:
        """Return two cells for `linkwork check`: stiffness, damping and free length of the spring, and its bodies."""
        what = f"{self.stiffness:g} N/m, {self.damping:g} N s/m, free length {self.length:g} m"
        return what, f"{self.a}, {self.b}"
