"""Ratchets: one-way clutches between two joints, or on one joint."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

from linkwork.model.builder_specifications import Draft
from linkwork.model.elements.constraint import Bound
from linkwork.model.elements.element import FLIP, GIVEN
from linkwork.model.elements.key_types import Side, key, nonzero, side, sign
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


class Ratchet(VelocityConstraint, section="ratchets"):
    """Add a one-way clutch between the joints `a` and `b`: v_b >= ratio v_a [rad/s or m/s] while it is engaged.

    The joint b can run faster, but not slower; the clutch only pushes it forward. Without b, v_a >= 0. If `direction`
    is -1, the inequality is reversed. Each side is a joint with one velocity or a weighted sum of such joints. The
    ratchet slips when the force on b exceeds `capacity`.

    Examples
    --------
    >>> b = lw.Builder().body("wheel", 1.0, inertia=(1, 1, 1)).joint("hub", lw.Revolute(), "world", "wheel")
    >>> m = b.ratchet("pawl", "hub", direction=-1).build()
    >>> m.ratchets["pawl"].direction
    -1.0

    """

    a: Side = key(side, "Driving joint, or the factors of a weighted sum of joints, by joint name")
    b: Side | None = key(
        side,
        "Driven joint, or factors as for `a`; if omitted, the driving side moves in one direction only",
        default=None,
    )
    ratio: Number = key(
        nonzero(),
        "Ratio in the inequality v_b >= ratio v_a, which holds while the ratchet is engaged",
        default=1.0,
        mode=True,
    )
    capacity: Number = capacity_key()
    engaged: Number = engaged_key(True)
    direction: Number = key(
        sign, "Direction of the inequality: 1 for v_b >= ratio v_a, -1 for v_b <= ratio v_a", default=1, mode=True
    )

    switches = MappingProxyType(
        {**VelocityConstraint.switches, "reverse": ("direction", FLIP), "shift": ("ratio", GIVEN)}
    )

    @property
    def velocity_rows(self) -> Iterator[VelocityRow]:
        """The velocity constraint row direction * (v_b - ratio v_a) >= 0, or direction * v_a >= 0 without a side b.

        The multiplier is >= 0. `direction` (1 or -1) times the multiplier is the force [N m or N] on side b, or on side
        a if there is no side b.
        """
        ahead = [(joint, factor) for joint, factor in terms_of(self.a if self.b is None else self.b)]
        behind = [] if self.b is None else [(joint, -self.ratio * factor) for joint, factor in terms_of(self.a)]
        velocities = [(joint, 0, self.direction * factor) for joint, factor in (*ahead, *behind)]
        yield VelocityRow(self.name, tuple(velocities), self.engaged)

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The bounds [N m or N] of the ratchet's multiplier: zero and the capacity, because a ratchet only pushes."""
        return ((0.0, self.capacity),)

    def draft_faults(self, draft: Draft) -> Iterator[Fault]:
        """Yield a fault for each invalid joint on the sides of the ratchet.

        `draft` is the content of the Builder before `build`.
        """
        sides = {"joint a": self.a} | ({} if self.b is None else {"joint b": self.b})
        yield from side_faults(self.what, self.name, sides, draft)

    def describe(self) -> tuple[str, str]:
        """Return two cells for `linkwork check`: state and capacity, and sides with ratio and direction."""
        sides = side_text(self.a) + ("" if self.b is None else f", {side_text(self.b)} x {self.ratio:g}")
        state = f"{state_text(self.engaged)}, up to {self.capacity:g} N m or N"
        return state, f"{sides}, {self.direction:+g}"
