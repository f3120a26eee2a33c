"""Latches, which lock a joint by themselves when it reaches a position."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from linkwork.model.builder_specifications import Draft
from linkwork.model.elements.key_types import choice, finite, joint_name, key
from linkwork.model.elements.velocity_constraint import (
    VelocityConstraint,
    VelocityRow,
    engaged_key,
    side_faults,
    state_text,
)
from linkwork.model.model_definition_faults import Fault
from linkwork.model.model_tolerances import LATCH_ARMED
from linkwork.spatial.scalar import Array, Number, where

# Side from which the joint must approach the latch: its sign, 0 for both
SIDES = {"below": -1.0, "above": 1.0, "both": 0.0}


class Latch(VelocityConstraint, section="latches"):
    """Add a latch, which engages when its joint reaches the position `at`, and locks the joint until it is released.

    The latch engages only if the joint approaches from `side`. The joint has one velocity.

    Examples
    --------
    >>> b = lw.Builder().body("door", 5.0, (0.4, 0, 0), (0.1, 0.3, 0.3)).joint("hinge", lw.Revolute(), "world", "door")
    >>> m = b.latch("lock", "hinge", at=1.5, side="below").build()
    >>> m.latches["lock"].at
    1.5

    """

    joint: str = key(joint_name(), "Joint that the latch locks")
    at: Number = key(finite("rad or m"), "Joint position at which the latch engages")
    side: str = key(
        choice(*SIDES), "Side of `at` from which the joint must approach for the latch to engage", default="both"
    )
    engaged: Number = engaged_key(False)

    switches_itself = True
    fires = ("engaged", 1.0)  # mode that the event sets, and its new value
    disarmed = 0.0  # value of `armed` after the latch has engaged

    @property
    def velocity_rows(self) -> Iterator[VelocityRow]:
        """The velocity constraint row of the latch: the velocity of its joint is zero."""
        yield VelocityRow(self.name, ((self.joint, 0, 1.0),), self.engaged)

    def distance(self, position: Callable[[str], Array]) -> Number:
        """Return the position of the latch's joint minus `at` [rad or m].

        `position(name)` returns the coordinates (nq,) of a joint.
        """
        return position(self.joint)[0] - self.at

    def armed(self, distance: Number, before: Number) -> Number:
        """Return the side of `at`, 1 (above) or -1 (below), from which the joint can engage the latch; 0 if not armed.

        A released latch becomes armed when the joint is on a permitted side of `at`, more than LATCH_ARMED away.
        `distance` [rad or m] is the joint's position minus `at`; `before` is the previous return value.
        """
        allowed, side = SIDES[self.side], where(distance > LATCH_ARMED, 1.0, where(distance < -LATCH_ARMED, -1.0, 0.0))
        fits = side if allowed == 0.0 else where(side == allowed, side, 0.0)
        return where(self.engaged == 0.0, where(before == 0.0, fits, before), 0.0)

    def event_function(self, distance: Number, armed: Number) -> Number:
        """Return the event function [rad or m] of the latch, which becomes negative when the latch must engage.

        `distance` [rad or m] is the joint's position minus `at`; `armed` is the result of `Latch.armed`.
        """
        return where(armed == 0.0, 1.0, armed * distance)

    def draft_faults(self, draft: Draft) -> Iterator[Fault]:
        """Yield a fault if the latch's joint is unknown or does not have one velocity.

        `draft` is the content of the Builder before `build`.
        """
        yield from side_faults(self.what, self.name, {"its joint": self.joint}, draft)

    def describe(self) -> tuple[str, str]:
        """Return two cells for `linkwork check`: state and position of the latch, and the name of its joint."""
        return f"{state_text(self.engaged)}, at {self.at:g} from {self.side}", self.joint
