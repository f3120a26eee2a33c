"""Latches: locks that fall in by themselves where a joint reaches a position."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from linkwork.model.elements.keys import choice, finite, joint_name, key
from linkwork.model.elements.velocity_constraint import (
    VelocityConstraint,
    VelocityRow,
    engaged_key,
    side_faults,
    state_text,
)
from linkwork.model.faults import Fault
from linkwork.model.specifications import Draft
from linkwork.spatial.scalar import Array, Number, where

SIDES = {"below": -1.0, "above": 1.0, "both": 0.0}  # from which a latch is reached
CLEAR = 1e-6  # [rad or m] from its position, where a latch is armed


class Latch(VelocityConstraint, section="latches"):
    """Put a latch on a joint: it falls in when the joint reaches `at` [rad or m], and holds it until released.

    It does so where the joint comes from `side`: "below", "above" or "both".
    """

    joint: str = key(joint_name())
    at: Number = key(finite("rad or m"), "where it falls in")
    side: str = key(choice(*SIDES), "from where the joint comes", default="both")
    engaged: Number = engaged_key(False)

    switches_itself = True
    fires = ("engaged", 1.0)  # the mode that it sets where its event function becomes negative, and to what
    disarmed = 0.0  # what it remembers after that

    @property
    def velocity_rows(self) -> Iterator[VelocityRow]:
        """The velocity of its joint."""
        yield VelocityRow(self.name, ((self.joint, 0, 1.0),), self.engaged)

    def distance(self, position: Callable[[str], Array]) -> Number:
        """How far its joint is beyond it [rad or m]; `position` gives the coordinates (nq,) of a joint by name."""
        return position(self.joint)[0] - self.at

    def armed(self, distance: Number, before: Number) -> Number:
        """The side, 1 or -1, from which it is reached, 0 while it is not armed; `before` is what it remembered."""
        allowed, side = SIDES[self.side], where(distance > CLEAR, 1.0, where(distance < -CLEAR, -1.0, 0.0))
        fits = side if allowed == 0.0 else where(side == allowed, side, 0.0)
        return where(self.engaged == 0.0, where(before == 0.0, fits, before), 0.0)

    def event_function(self, distance: Number, armed: Number) -> Number:
        """A number that is not negative until it falls in."""
        return where(armed == 0.0, 1.0, armed * distance)

    def draft_faults(self, draft: Draft) -> Iterator[Fault]:
        """What is wrong with its joint."""
        yield from side_faults(self.what, self.name, {"its joint": self.joint}, draft)

    def describe(self) -> tuple[str, str]:
        """Whether it is engaged, where it falls in, and its joint."""
        return f"{state_text(self.engaged)}, at {self.at:g} from {self.side}", self.joint
