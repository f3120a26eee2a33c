"""Constraints: elements that hold something together while they are engaged.

A constraint has rows. Each row has a multiplier, the force that holds it [N or N m], and a bound on that: none for
loops and gears, a capacity for clutches and brakes, zero on one side for ratchets. A row whose multiplier is at its
bound slips.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from linkwork.model.bodies import Place
from linkwork.model.constraint_rows import Row
from linkwork.model.elements.element import Element
from linkwork.spatial.scalar import Array, Number

Bound = tuple[Number, Number]  # least and most of a multiplier [N or N m]
UNBOUNDED: Bound = (-np.inf, np.inf)


class Constraint(Element):
    """Holds something together while it is `engaged`: 1, or 0 where it holds nothing."""

    holonomic: ClassVar[bool]  # whether its rows are rates of position errors

    if TYPE_CHECKING:  # a field of most kinds

        @property
        def engaged(self) -> Number:
            """1 while it holds, else 0."""
            ...

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The least and the most that each row's multiplier may be [N or N m]."""
        raise self.lacks("bounds")


class FrameConstraint(Constraint):
    """Holds the frame `to` on one body to the frame `at` on another, by the rows of a kind of joint."""

    holonomic = True

    if TYPE_CHECKING:  # fields of its kinds

        @property
        def at(self) -> Place:
            """The frame on one body."""
            ...

        @property
        def to(self) -> Place:
            """The frame on the other."""
            ...

    def closed_now(self) -> Self:
        """The same, engaged."""
        raise self.lacks("closed_now")

    @property
    def guide(self) -> Array | None:
        """The direction (3,), in the frame `at`, of a line on which the origin of `to` stays; None if there is none."""
        return None

    @property
    def child(self) -> str:
        """The name of the body, part or frame that `to` is placed in."""
        raise self.lacks("child")

    @property
    def rows(self) -> tuple[Row, ...]:
        """What must be zero between the two frames."""
        raise self.lacks("rows")

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """No multiplier is bounded."""
        return tuple(UNBOUNDED for _ in self.rows)
