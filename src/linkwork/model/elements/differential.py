"""Differentials: a joint that turns the mean of two others."""

from __future__ import annotations

from collections.abc import Iterator

from linkwork.model.elements.keys import joint_name, key, nonzero
from linkwork.model.elements.velocity_constraint import (
    VelocityConstraint,
    VelocityRow,
    engaged_key,
    role_faults,
    state_text,
)
from linkwork.model.faults import Fault
from linkwork.model.specifications import Draft
from linkwork.spatial.scalar import Number


class Differential(VelocityConstraint, section="differentials"):
    """Let the joint `driving` turn the mean of two others, with the same force on both.

    While it is engaged, v_left + v_right = 2 ratio v_driving [rad/s or m/s].
    """

    driving: str = key(joint_name("driving"))
    left: str = key(joint_name("left"))
    right: str = key(joint_name("right"))
    ratio: Number = key(nonzero(), "v_left + v_right = 2 ratio v_driving while engaged", default=1.0)
    engaged: Number = engaged_key(True)

    couples_ratios = True

    @property
    def velocity_rows(self) -> Iterator[VelocityRow]:
        """How fast the mean slips; the multiplier is the force on left and right."""
        sides = ((self.left, 0, 1.0), (self.right, 0, 1.0))
        yield VelocityRow(self.name, (*sides, (self.driving, 0, -2.0 * self.ratio)), self.engaged)

    def draft_faults(self, draft: Draft) -> Iterator[Fault]:
        """What is wrong with its joints."""
        roles = {"driving": self.driving, "left": self.left, "right": self.right}
        yield from role_faults(self.label, roles, draft)

    def describe(self) -> tuple[str, str]:
        """Whether it is engaged, and its joints."""
        return state_text(self.engaged), f"{self.driving} x {self.ratio:g}, {self.left}, {self.right}"
