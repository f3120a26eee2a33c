"""Clutches: couplings of two sides that can be engaged, released and shifted while a mechanism moves."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

from linkwork.model.elements.constraint import Bound
from linkwork.model.elements.element import FLIP, GIVEN
from linkwork.model.elements.keys import Side, key, nonzero, side
from linkwork.model.elements.velocity_constraint import (
    VelocityConstraint,
    VelocityRow,
    capacity_key,
    engaged_key,
    side_faults,
    side_text,
    state_text,
    summed,
)
from linkwork.model.faults import Fault
from linkwork.model.specifications import Draft
from linkwork.spatial.scalar import Number


class Clutch(VelocityConstraint, section="clutches"):
    """Put a clutch between the joints `a` and `b`: while it is engaged, v_b = ratio v_a [rad/s or m/s].

    Either may be a sum of joints of one velocity, with factors: a tibia turns against the body by
    {"hip": 1, "knee": 1}. The clutch slips above `capacity`, the force that it can put on b [N m or N]; joints of a sum
    feel their factor times that.
    """

    a: Side = key(side, "summed up")
    b: Side = key(side, "summed up")
    ratio: Number = key(nonzero(), "v_b = ratio v_a while engaged", default=1.0, mode=True)
    capacity: Number = capacity_key()
    engaged: Number = engaged_key(False)

    couples_ratios = True
    switches = MappingProxyType({**VelocityConstraint.switches, "reverse": ("ratio", FLIP), "shift": ("ratio", GIVEN)})

    @property
    def velocity_rows(self) -> Iterator[VelocityRow]:
        """How fast b slips; the multiplier is the force on b."""
        driven = [(joint, 0, factor) for joint, factor in summed(self.b)]
        driving = [(joint, 0, -self.ratio * factor) for joint, factor in summed(self.a)]
        yield VelocityRow(self.name, (*driven, *driving), self.engaged)

    @property
    def driven_sides(self) -> tuple[Side, Side, Number]:
        """Both sides, and the ratio at which b is driven."""
        return self.a, self.b, self.ratio

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """Its capacity [N m or N], backward and forward."""
        return ((-self.capacity, self.capacity),)

    def draft_faults(self, draft: Draft) -> Iterator[Fault]:
        """What is wrong with its sides."""
        yield from side_faults(self.what, self.name, {"joint a": self.a, "joint b": self.b}, draft)

    def describe(self) -> tuple[str, str]:
        """Whether it is engaged, and its sides."""
        sides = f"{side_text(self.a)}, {side_text(self.b)} x {self.ratio:g}"
        return f"{state_text(self.engaged)}, up to {self.capacity:g} N m or N", sides
