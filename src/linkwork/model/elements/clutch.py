"""Clutches, which couple two joints and can be engaged, released and shifted during a run."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

from linkwork.model.builder_specifications import Draft
from linkwork.model.elements.constraint import Bound
from linkwork.model.elements.element import FLIP, GIVEN
from linkwork.model.elements.key_types import Side, key, nonzero, side
from linkwork.model.elements.velocity_constraint import (
    VelocityConstraint,
    VelocityRow,
    capacity_key,
    engaged_key,
    side_faults,
    side_text,
    state_text,
    terms_of,
)
from linkwork.model.model_definition_faults import Fault
from linkwork.spatial.scalar import Number


class Clutch(VelocityConstraint, section="clutches"):
    """Add a clutch between the joints `a` and `b`: while it is engaged, v_b = ratio v_a [rad/s or m/s].

    Each side is a joint with one velocity or a weighted sum of such joints: {"hip": 1, "knee": 1} is the angle of a
    tibia relative to the body. The clutch slips when the force on b exceeds `capacity`. Each joint of a sum receives
    the force on its side times its factor.

    Examples
    --------
    >>> b = lw.Builder().body("wheel", 1.0, inertia=(1, 1, 1)).body("disc", 1.0, inertia=(1, 1, 1))
    >>> b = b.joint("input", lw.Revolute(), "world", "wheel").joint("output", lw.Revolute(), "world", "disc")
    >>> m = b.clutch("shaft", "input", "output", ratio=2.0, capacity=12.0).build()
    >>> m.clutches["shaft"].ratio
    2.0

    """

    a: Side = key(side, "Driving joint, or the factors of a weighted sum of joints, by joint name")
    b: Side = key(side, "Driven joint, or the factors of a weighted sum of joints, by joint name")
    ratio: Number = key(nonzero(), "Speed ratio v_b / v_a while the clutch is engaged", default=1.0, mode=True)
    capacity: Number = capacity_key()
    engaged: Number = engaged_key(False)

    couples_ratios = True
    switches = MappingProxyType({**VelocityConstraint.switches, "reverse": ("ratio", FLIP), "shift": ("ratio", GIVEN)})

    @property
    def velocity_rows(self) -> Iterator[VelocityRow]:
        """The velocity constraint row of the clutch: the slip velocity v_b - ratio v_a is zero.

        v_a and v_b are the velocities of the sides a and b. The multiplier is the force [N m or N] on side b.
        """
        driven = [(joint, 0, factor) for joint, factor in terms_of(self.b)]
        driving = [(joint, 0, -self.ratio * factor) for joint, factor in terms_of(self.a)]
        yield VelocityRow(self.name, (*driven, *driving), self.engaged)

    @property
    def driven_sides(self) -> tuple[Side, Side, Number]:
        """The sides a and b of the clutch, each a weighted sum of joint velocities, and the ratio v_b / v_a."""
        return self.a, self.b, self.ratio

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The bounds of the clutch's multiplier, its force on side b: minus and plus the capacity [N m or N]."""
        return ((-self.capacity, self.capacity),)

    def draft_faults(self, draft: Draft) -> Iterator[Fault]:
        """Yield a fault for each invalid joint on the two sides of the clutch.

        `draft` is the content of the Builder before `build`.
        """
        yield from side_faults(self.what, self.name, {"joint a": self.a, "joint b": self.b}, draft)

    def describe(self) -> tuple[str, str]:
        """Return two cells for `linkwork check`: state and capacity of the clutch, and its sides with the ratio."""
        sides = f"{side_text(self.a)}, {side_text(self.b)} x {self.ratio:g}"
        return f"{state_text(self.engaged)}, up to {self.capacity:g} N m or N", sides
