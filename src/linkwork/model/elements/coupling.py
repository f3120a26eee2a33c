"""Couplings: any sums of velocities that are held at zero, such as those of wheels that roll."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from linkwork.errors import listed
from linkwork.model.elements.keys import key, numbers_by_joint_name
from linkwork.model.elements.velocity_constraint import (
    VelocityConstraint,
    VelocityRow,
    direction_of,
    engaged_key,
    state_text,
)
from linkwork.model.faults import Fault
from linkwork.model.specifications import Draft, unknown_faults
from linkwork.spatial.scalar import Number


class Coupling(VelocityConstraint, section="couplings"):
    """Hold a sum of velocities at zero while engaged: `factors` by joint, one number or one for each velocity.

    With a free joint, whose velocities are in its body's frame, these are wheels that roll and do not slip, or blades
    that do not slip sideways.
    """

    factors: Any = key(numbers_by_joint_name, "of velocities, whose sum is zero while engaged")
    engaged: Number = engaged_key(True)

    @property
    def velocity_rows(self) -> Iterator[VelocityRow]:
        """The sum; the multiplier times a factor is the force on a velocity."""
        numbers = [(joint, k, x) for joint, row in self.factors for k, x in enumerate(row.tolist()) if x != 0.0]
        yield VelocityRow(self.name, tuple(numbers), self.engaged)

    def draft_faults(self, draft: Draft) -> Iterator[Fault]:
        """What is wrong with its joints."""
        single = [(joint, numbers[0]) for joint, numbers in self.factors if len(numbers) == 1]
        if len(single) == len(self.factors) and not direction_of(tuple(single), draft.mimics)[0]:
            names = listed(repr(joint) for joint, _ in single)
            yield Fault(f"{names} move so already, by mimicking", self.label, "name other joints")
        for joint, numbers in self.factors:
            kind = draft.kinds.get(joint)
            if kind is None:
                yield from unknown_faults(self.label, "joint", {"factors": joint}, draft.kinds)
            elif len(numbers) != kind.nv:
                wanted = f"{kind.nv} numbers, one for each velocity"
                yield Fault(f"factors of joint {joint!r} must be {wanted}; got {numbers.tolist()}", self.label)

    def describe(self) -> tuple[str, str]:
        """Whether it is engaged, and its factors."""
        rows = ", ".join(f"{joint} x {' '.join(f'{x:g}' for x in numbers)}" for joint, numbers in self.factors)
        return state_text(self.engaged), rows
