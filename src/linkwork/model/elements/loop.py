"""Loop closures: joints without coordinates between two bodies that the tree already connects to the world."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.bodies import Place
from linkwork.model.builder_argument_checks import closing_kind
from linkwork.model.builder_specifications import JointSpecification
from linkwork.model.constraint_rows import Row
from linkwork.model.elements.constraint import FrameConstraint
from linkwork.model.elements.key_types import ZERO, ClassKind, Posed, body_name, key, place, switch
from linkwork.model.elements.loop_kinds import PointOnLine
from linkwork.model.joints import ClosingKind, Free
from linkwork.model.model_definition_faults import Fault
from linkwork.model.toml_value_conversion import named_kinds
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array, Number

if TYPE_CHECKING:
    from linkwork.model.mechanism import Mechanism


def _closing_kinds() -> Mapping[str, type]:
    """Return the loop kinds, such as Rod or Gear, by their names in TOML documents."""
    return {name: class_ for name, class_ in named_kinds(ClosingKind).items() if class_ is not Free}


class Loop(FrameConstraint, section="loops"):
    """A loop closure: a joint between the bodies or parts `a` and `b`, which are both on the tree already.

    The frame `to` on b moves relative to the frame `at` on a as `kind` allows, as a child's frame moves relative to its
    joint frame. The loop has no effect while `closed` is 0.
    """

    kind: ClosingKind = key(
        ClassKind(
            object, python="joint kind, Rod, PointOnLine, Gear or Rack", check=closing_kind, choices=_closing_kinds
        ),
        "Kind of the joint: any joint kind except Free, or a kind for loops only, such as Gear",
    )
    a: str = key(body_name("body a"), 'First body: a body, a welded part or "world"')
    b: str = key(body_name("body b"), 'Second body: a body, a welded part or "world"')
    at: Place = key(place("a"), "Origin of the joint frame in the frame of body `a`", parameter=True, default=ZERO)  # pyright: ignore[reportIncompatibleMethodOverride]
    to: Place = key(  # pyright: ignore[reportIncompatibleMethodOverride]
        place("b", "to", "to_"), "Origin of the joint frame in the frame of body `b`", parameter=True, default=ZERO
    )
    closed: Number = key(
        switch,
        "Whether the loop is closed at the start; an open loop has no effect",
        default=True,
        kw_only=True,
        mode=True,
    )

    switches = MappingProxyType({"open": ("closed", 0.0), "close": ("closed", 1.0)})

    @property
    def engaged(self) -> Number:
        """1 while the loop is closed, else 0."""
        return self.closed

    def closed_now(self) -> Self:
        """Return a copy of the loop that is closed."""
        return replace(self, closed=1.0)

    @property
    def guide(self) -> Array | None:
        """The direction (3,) of a PointOnLine loop's line, in the axes of the frame `at`; None for other kinds."""
        return np.array(self.kind.axis) if isinstance(self.kind, PointOnLine) else None

    @property
    def child(self) -> str:
        """The name of the loop's second body, b."""
        return self.b

    @property
    def rows(self) -> tuple[Row, ...]:
        """The constraint rows of the loop, which its kind (Revolute, Rod, ...) defines."""
        return self.kind.closing

    def completed(self) -> Self:
        """Return the loop; raise a ModelError if its kind has no constraint rows or both ends are on one body."""
        if not self.kind.closing:
            raise ModelError(
                f"kind {type(self.kind).__name__} imposes no constraint and cannot close a loop; use another kind",
                self.label,
            )
        if self.a == self.b:
            raise ModelError(f"a loop needs two different bodies; both are {self.a!r}", self.label)
        return self

    def faults(self, mechanism: Mechanism) -> Iterator[Fault]:
        """Yield a fault if both frames of the loop are on the same rigid body."""
        if self.at.body == self.to.body:
            reason = f"{self.a!r} and {self.b!r} are welded into one body, so no loop can be closed between them"
            yield Fault(reason, self.label, "name bodies that move relative to each other")

    def describe(self) -> tuple[str, str]:
        """Return two cells for `linkwork check`: the kind of the loop, and its two bodies."""
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
    """Close a loop: add a joint between the bodies `a` and `b`, which are both on the tree already.

    The joint frame on b moves relative to the joint frame on a as `kind` allows. A loop that is not `closed` has no
    effect until a run closes it.

    Examples
    --------
    >>> b = lw.Builder().body("left", 1.0, inertia=(1, 1, 1)).body("right", 1.0, inertia=(1, 1, 1))
    >>> b = b.joint("pin", lw.Revolute((0, 1, 0)), "world", "left")
    >>> b = b.joint("pivot", lw.Revolute((0, 1, 0)), "world", "right", at=(1, 0, 0))
    >>> m = b.close("link", lw.Rod(1.0), "left", "right", at=(0, 0, 0.5), to=(0, 0, 0.5)).build()
    >>> m.nc
    1

    """
    here: Any = Posed(at, rpy, rotation)
    there: Any = Posed(to, to_rpy, to_rotation)
    return Loop(name, kind, a, b, here, there, closed=closed)


closing_section = Loop.section  # section of the elements that replace joints which close a cycle


def closing_joint(joint: JointSpecification) -> Loop:
    """Return the loop closure that replaces a joint which would close a cycle of joints."""
    at, to = Place.stated(joint.offset), Place.stated(Transform.identity())
    return Loop(joint.name, joint.kind, joint.parent, joint.child, at, to, closed=1.0)
