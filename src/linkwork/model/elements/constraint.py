"""The base classes of constraints: elements that restrict velocities while they are engaged.

A constraint has rows. Each row has a multiplier, the constraint force [N or N m], and bounds of this force: infinite
for loops and gears, the capacity for clutches and brakes, zero on one side for ratchets. A row slips when its
multiplier reaches a bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from linkwork.model.bodies import Place
from linkwork.model.constraint_rows import Row
from linkwork.model.elements.element import Element
from linkwork.spatial.scalar import Array, Number

Bound = tuple[Number, Number]  # lower and upper bound of a multiplier [N or N m]
UNBOUNDED: Bound = (-np.inf, np.inf)


class Constraint(Element):
    """Base class of a constraint element, which acts while `engaged` is 1 and has no effect while `engaged` is 0."""

    holonomic: ClassVar[bool]  # whether the rows constrain positions, not only velocities

    if TYPE_CHECKING:  # most subclasses define this property as a field

        @property
        def engaged(self) -> Number:
            """1 while the constraint acts (is engaged), else 0."""
            ...

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The lower and upper bounds of the multiplier [N or N m] of each constraint row."""
        raise self.lacks("bounds")


class FrameConstraint(Constraint):
    """Base class of a constraint between two frames on two bodies, such as a loop.

    `at` is the frame on the first body and `to` the frame on the second body. `rows` are the constraint rows of its
    joint kind or loop kind.
    """

    holonomic = True

    if TYPE_CHECKING:  # subclasses define these properties as fields

        @property
        def at(self) -> Place:
            """The constraint frame on the first body."""
            ...

        @property
        def to(self) -> Place:
            """The constraint frame on the second body."""
            ...

    def closed_now(self) -> Self:
        """Return a copy of the constraint that is engaged."""
        raise self.lacks("closed_now")

    @property
    def guide(self) -> Array | None:
        """The direction (3,), in the axes of the frame `at`, of the line on which the origin of the frame `to` moves.

        None for constraints without such a line.
        """
        return None

    @property
    def child(self) -> str:
        """The name of the body or welded part to which the frame `to` is fixed."""
        raise self.lacks("child")

    @property
    def rows(self) -> tuple[Row, ...]:
        """The constraint rows between the frames `at` and `to`, whose position errors must be zero."""
        raise self.lacks("rows")

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The bounds (-inf, inf) of the multiplier [N or N m] of each constraint row."""
        return tuple(UNBOUNDED for _ in self.rows)
