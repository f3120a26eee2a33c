"""Loops: joints that hold two bodies of the tree together, and have no coordinates of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.arguments import closing_kind
from linkwork.model.bodies import Place
from linkwork.model.constraint_rows import Row
from linkwork.model.document_values import named_kinds
from linkwork.model.elements.constraint import FrameConstraint
from linkwork.model.elements.keys import ZERO, ClassKind, Posed, body_name, key, place, switch
from linkwork.model.elements.loop_kinds import PointOnLine
from linkwork.model.faults import Fault
from linkwork.model.joints import ClosingKind, Free
from linkwork.model.specifications import JointRequest
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array, Number

if TYPE_CHECKING:
    from linkwork.model.mechanism import Mechanism


def _closing_kinds() -> Mapping[str, type]:
    """What a document can call the kind of a loop."""
    return {name: class_ for name, class_ in named_kinds(ClosingKind).items() if class_ is not Free}


class Loop(FrameConstraint, section="loops"):
    """A joint between the bodies or parts `a` and `b`, which both hang on the tree already.

    `at` is its place on a, `to` its place on b: the frame at `to`, seen from the frame at `at`, moves as `kind` allows,
    just as a child's frame moves in its joint frame. One that is not `closed` (0 for 1) holds nothing, until it is.
    """

    kind: ClosingKind = key(ClassKind(object, check=closing_kind, choices=_closing_kinds))
    a: str = key(body_name("body a"))
    b: str = key(body_name("body b"))
    at: Place = key(place("a"), parameter=True, default=ZERO)  # pyright: ignore[reportIncompatibleMethodOverride]
    to: Place = key(place("b", "to", "to_"), parameter=True, default=ZERO)  # pyright: ignore[reportIncompatibleMethodOverride]
    closed: Number = key(switch, default=True, kw_only=True, mode=True)

    switches = MappingProxyType({"open": ("closed", 0.0), "close": ("closed", 1.0)})

    @property
    def engaged(self) -> Number:
        """Whether it is closed."""
        return self.closed

    def closed_now(self) -> Self:
        """The same, closed."""
        return replace(self, closed=1.0)

    @property
    def guide(self) -> Array | None:
        """The direction (3,), in the frame `at`, of the line on which its other place stays; None if it has none."""
        return np.array(self.kind.axis) if isinstance(self.kind, PointOnLine) else None

    @property
    def child(self) -> str:
        """Its body b."""
        return self.b

    @property
    def rows(self) -> tuple[Row, ...]:
        """The closure rows of its kind."""
        return self.kind.closing

    def completed(self) -> Self:
        """The same, if it holds anything together."""
        if not self.kind.closing:
            raise ModelError(
                f"kind {type(self.kind).__name__} closes nothing; any other kind of joint does", self.label
            )
        if self.a == self.b:
            raise ModelError(f"a loop needs two bodies; both are {self.a!r}", self.label)
        return self

    def faults(self, mechanism: Mechanism) -> Iterator[Fault]:
        """Whether both places are on one body."""
        if self.at.body == self.to.body:
            reason = f"{self.a!r} and {self.b!r} are one body, which no joint can close a loop with"
            yield Fault(reason, self.label, "name bodies that move against each other")

    def describe(self) -> tuple[str, str]:
        """Its kind, and what it joins."""
        return type(self.kind).__name__, f"{self.a}, {self.b}"


def close(
    name: str,
    kind: ClosingKind,
    a: str,
    b: str,
    at: Any = ZERO,
    to: Any = ZERO,
    *,
    rpy: Any = ZERO,
    to_rpy: Any = ZERO,
    rotation: Any = None,
    to_rotation: Any = None,
    closed: bool = True,
) -> Loop:
    """Close a loop: join the bodies `a` and `b` (or "world"), which hang on joints already, by one more.

    `at` (3,) [m], with `rpy` (3,) [rad] or `rotation` (3, 3), is its place in the frame of a. `to`, with `to_rpy`
    or `to_rotation`, is that in the frame of b, which moves against the first as `kind` allows: any joint kind but
    Free, or lw.Rod(length), lw.PointOnLine(axis), lw.Gear(teeth, to_teeth), lw.Rack(radius). One that is not
    `closed` waits until a run closes it.
    """
    here: Any = Posed(at, rpy, rotation)
    there: Any = Posed(to, to_rpy, to_rotation)
    return Loop(name, kind, a, b, here, there, closed=closed)


closing_section = Loop.section  # of what closes cycles of joints


def closing_joint(joint: JointRequest) -> Loop:
    """The loop that a joint closes where it would make a cycle."""
    at, to = Place.stated(joint.offset), Place.stated(Transform.identity())
    return Loop(joint.name, joint.kind, joint.parent, joint.child, at, to, closed=1.0)
