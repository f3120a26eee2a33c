"""Couplings: weighted sums of joint velocities that are constrained to zero, as for rolling wheels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from linkwork.errors import listed
from linkwork.model.builder_specifications import Draft, unknown_faults
from linkwork.model.elements.key_types import key, numbers_by_joint_name
from linkwork.model.elements.velocity_constraint import (
    VelocityConstraint,
    VelocityRow,
    direction_of,
    engaged_key,
    state_text,
)
from linkwork.model.model_definition_faults import Fault
from linkwork.spatial.scalar import Number


class Coupling(VelocityConstraint, section="couplings"):
    """Constrain a weighted sum of joint velocities to zero while the coupling is engaged.

    The velocities of a free joint are components in the frame of its child body. A coupling with a free joint can
    therefore model a wheel that rolls without slip, or a blade that does not slip sideways.

    Examples
    --------
    >>> b = lw.Builder().body("cart", 5.0).body("wheel", 1.0, inertia=(0.01, 0.01, 0.01))
    >>> b = b.joint("rail", lw.Prismatic((1, 0, 0)), "world", "cart")
    >>> b = b.joint("axle", lw.Revolute((0, 1, 0)), "cart", "wheel")
    >>> m = b.couple("rolling", {"rail": 1.0, "axle": -0.1}).build()
    >>> m.couplings.names
    ('rolling',)

    """

    factors: Any = key(
        numbers_by_joint_name,
        "Factors of the joint velocities, by joint: one number, or one for each velocity of the joint",
    )
    engaged: Number = engaged_key(True)

    @property
    def velocity_rows(self) -> Iterator[VelocityRow]:
        """The velocity constraint row: the weighted sum of velocities is zero.

        The force [N m or N] along each velocity is the multiplier times the factor of this velocity.
        """
        numbers = [(joint, k, x) for joint, row in self.factors for k, x in enumerate(row.tolist()) if x != 0.0]
        yield VelocityRow(self.name, tuple(numbers), self.engaged)

    def draft_faults(self, draft: Draft) -> Iterator[Fault]:
        """Yield a fault for each unknown joint and each wrong number of factors.

        If mimic joints already impose the relation of the coupling, yield a fault too. `draft` is the content of the
        Builder before `build`.
        """
        single = [(joint, numbers[0]) for joint, numbers in self.factors if len(numbers) == 1]
        if len(single) == len(self.factors) and not direction_of(tuple(single), draft.mimics)[0]:
            names = listed(repr(joint) for joint, _ in single)
            yield Fault(f"mimic joints already impose this relation on {names}", self.label, "name other joints")
        for joint, numbers in self.factors:
            kind = draft.kinds.get(joint)
            if kind is None:
                yield from unknown_faults(self.label, "joint", {"factors": joint}, draft.kinds)
            elif len(numbers) != kind.nv:
                wanted = f"{kind.nv} numbers, one for each velocity"
                yield Fault(f"factors of joint {joint!r} must be {wanted}; got {numbers.tolist()}", self.label)

    def describe(self) -> tuple[str, str]:
        """Return two cells for `linkwork check`: the state of the coupling, and its factors by joint."""
        rows = ", ".join(f"{joint} x {' '.join(f'{x:g}' for x in numbers)}" for joint, numbers in self.factors)
        return state_text(self.engaged), rows
