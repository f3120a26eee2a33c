"""Joints that close loops: they hold two bodies of the tree together, and have no coordinates of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from linkwork.errors import ModelError
from linkwork.model.bodies import Place
from linkwork.model.faults import Fault
from linkwork.model.joints import ClosingKind
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Number


@dataclass(frozen=True, eq=False)
class Loop:
    """A joint between the bodies or parts `a` and `b`, which both hang on the tree already.

    `at` is its place on a, `to` its place on b: the frame at `to`, seen from the frame at `at`, moves as `kind` allows,
    just as a child's frame moves in its joint frame. One that is not `closed` (0 for 1) holds nothing, until it is.
    """

    name: str
    kind: ClosingKind
    a: str
    b: str
    at: Place
    to: Place
    closed: Number = 1.0

    def placed(self, home: Mapping[str, tuple[int, Transform]]) -> Loop:
        """The same with its places on bodies, given the body and pose of every part."""
        return replace(self, at=self.at.on(*home[self.a]), to=self.to.on(*home[self.b]))

    def faults(self) -> Iterator[Fault]:
        """What is wrong with it once it is placed."""
        if self.at.body == self.to.body:
            reason = f"{self.a!r} and {self.b!r} are one body, which no joint can close a loop with"
            yield Fault(reason, f"loop {self.name!r}", "name bodies that move against each other")


def refuse_closing_nothing(kind: ClosingKind, a: str, b: str, element: str) -> None:
    """Raise a ModelError if a loop holds nothing together."""
    if not kind.closing:
        raise ModelError(f"kind {type(kind).__name__} closes nothing; any other kind of joint does", element)
    if a == b:
        raise ModelError(f"a loop needs two bodies; both are {a!r}", element)
