"""Differentials: one joint drives the mean velocity of two others."""

from __future__ import annotations

from collections.abc import Iterator

from linkwork.model.builder_specifications import Draft
from linkwork.model.elements.key_types import joint_name, key, nonzero
from linkwork.model.elements.velocity_constraint import (
    VelocityConstraint,
    VelocityRow,
    engaged_key,
    role_faults,
    state_text,
)
from linkwork.model.model_definition_faults import Fault
from linkwork.spatial.scalar import Number


class Differential(VelocityConstraint, section="differentials"):
    """Add a differential: the joint `driving` drives the mean of two other joints, with the same force on both.

    While it is engaged, v_left + v_right = 2 ratio v_driving [rad/s or m/s]. Each joint has one velocity.

    Examples
    --------
    >>> b = lw.Builder()
    >>> for name in ("shaft", "left", "right"):
    ...     b = b.body(name, 1.0, inertia=(1, 1, 1)).joint(name, lw.Revolute(), "world", name)
    >>> m = b.differential("axle", "shaft", "left", "right", ratio=0.25).build()
    >>> m.differentials["axle"].ratio
    0.25

    """

    driving: str = key(joint_name("driving"), "Driving joint")
    left: str = key(joint_name("left"), "One of the two driven joints")
    right: str = key(joint_name("right"), "The other driven joint")
    ratio: Number = key(
        nonzero(), "Mean speed of the driven joints divided by the speed of the driving joint", default=1.0
    )
    engaged: Number = engaged_key(True)

    couples_ratios = True

    @property
    def velocity_rows(self) -> Iterator[VelocityRow]:
        """The velocity constraint row v_left + v_right - 2 ratio v_driving = 0.

        The multiplier is the force [N m or N] on the left joint, and equally on the right joint.
        """
        sides = ((self.left, 0, 1.0), (self.right, 0, 1.0))
        yield VelocityRow(self.name, (*sides, (self.driving, 0, -2.0 * self.ratio)), self.engaged)

    def draft_faults(self, draft: Draft) -> Iterator[Fault]:
        """Yield a fault for each joint that is unknown, has several velocities, or is named twice.

        `draft` is the content of the Builder before `build`.
        """
        roles = {"driving": self.driving, "left": self.left, "right": self.right}
        yield from role_faults(self.label, roles, draft)

    def describe(self) -> tuple[str, str]:
        """Return two cells for `linkwork check`: the state of the differential, and its joints with the ratio."""
        return state_text(self.engaged), f"{self.driving} x {self.ratio:g}, {self.left}, {self.right}"
