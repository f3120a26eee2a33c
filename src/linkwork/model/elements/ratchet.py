"""Ratchets: one-way clutches, which hold one side from falling behind the other."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

from linkwork.model.elements.constraint import Bound
from linkwork.model.elements.element import FLIP, GIVEN
from linkwork.model.elements.keys import Side, key, nonzero, side, sign
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


class Ratchet(VelocityConstraint, section="ratchets"):
    """Put a one-way clutch between the joints `a` and `b`: v_b >= ratio v_a [rad/s or m/s] while it is engaged.

    b may run ahead, and is free then, but does not fall behind. Without b, a itself turns forward only. The
    `direction` -1 turns it round. Sides may be sums of joints, as those of a clutch. It slips above `capacity`, the
    force with which it can push b [N m or N].
    """

    a: Side = key(side, "summed up")
    b: Side | None = key(side, "that may run ahead; a, if left out", default=None)
    ratio: Number = key(nonzero(), "v_b >= ratio v_a while engaged", default=1.0, mode=True)
    capacity: Number = capacity_key()
    engaged: Number = engaged_key(True)
    direction: Number = key(sign, "1, or -1 where it is turned round", default=1, mode=True)

    switches = MappingProxyType(
        {**VelocityConstraint.switches, "reverse": ("direction", FLIP), "shift": ("ratio", GIVEN)}
    )

    @property
    def velocity_rows(self) -> Iterator[VelocityRow]:
        """How fast b runs ahead; the multiplier is the force that pushes it."""
        ahead = [(joint, factor) for joint, factor in summed(self.a if self.b is None else self.b)]
        behind = [] if self.b is None else [(joint, -self.ratio * factor) for joint, factor in summed(self.a)]
        velocities = [(joint, 0, self.direction * factor) for joint, factor in (*ahead, *behind)]
        yield VelocityRow(self.name, tuple(velocities), self.engaged)

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """It never pulls, and pushes with its capacity at most [N m or N]."""
        return ((0.0, self.capacity),)

    def draft_faults(self, draft: Draft) -> Iterator[Fault]:
        """What is wrong with its sides."""
        sides = {"joint a": self.a} | ({} if self.b is None else {"joint b": self.b})
        yield from side_faults(self.what, self.name, sides, draft)

    def describe(self) -> tuple[str, str]:
        """Whether it is engaged, its sides and its direction."""
        sides = side_text(self.a) + ("" if self.b is None else f", {side_text(self.b)} x {self.ratio:g}")
        state = f"{state_text(self.engaged)}, up to {self.capacity:g} N m or N"
        return state, f"{sides}, {self.direction:+g}"
