"""Brakes: locks of a joint that can be engaged and released while a mechanism moves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

import numpy as np

from linkwork.errors import LinkworkError
from linkwork.model.elements.constraint import Bound
from linkwork.model.elements.keys import derived, joint_name, key
from linkwork.model.elements.velocity_constraint import (
    VelocityConstraint,
    VelocityRow,
    capacity_key,
    engaged_key,
    state_text,
)
from linkwork.model.faults import Fault
from linkwork.model.specifications import Draft
from linkwork.spatial.scalar import Number

if TYPE_CHECKING:
    from linkwork.model.mechanism import Joint, Mechanism
    from linkwork.model.naming import Named


class Brake(VelocityConstraint, section="brakes"):
    """Put a brake on a joint, which holds it still while engaged and slips above `capacity` [N m or N].

    A brake that slips is on a joint of one velocity.
    """

    joint: str = key(joint_name())
    capacity: Number = capacity_key()
    engaged: Number = engaged_key(False)
    size: int = derived(default=1)  # velocities that the joint has

    locks_joint = True
    switches = MappingProxyType({**VelocityConstraint.switches, "lock": ("engaged", 1.0), "unlock": ("engaged", 0.0)})

    def numbered(self, joints: Named[Joint]) -> Self:
        """The same, knowing how many velocities its joint has."""
        return replace(self, size=joints[self.joint].kind.nv)

    @property
    def velocity_rows(self) -> Iterator[VelocityRow]:
        """Each velocity of its joint; the multiplier is the force on it."""
        for number in range(self.size):
            yield VelocityRow(self.name, ((self.joint, number, 1.0),), self.engaged)

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """Its capacity [N m or N], backward and forward, for each velocity."""
        return ((-self.capacity, self.capacity),) * self.size

    def draft_faults(self, draft: Draft) -> Iterator[Fault]:
        """What is wrong with its joint."""
        yield from super().draft_faults(draft)
        kind = draft.kinds.get(self.joint)
        if kind and not kind.nv:
            yield Fault(f"its joint: {self.joint!r} is a Weld joint, which does not move", self.label)
        elif kind and kind.nv > 1 and np.isfinite(self.capacity):
            reason = f"its joint {self.joint!r} has {kind.nv} velocities; a brake that slips holds one"
            yield Fault(reason, self.label, "leave its capacity out, or give the joint another kind")

    def describe(self) -> tuple[str, str]:
        """Whether it is engaged, and its joint."""
        return f"{state_text(self.engaged)}, up to {self.capacity:g} N m or N", self.joint


def with_locks(mechanism: Mechanism, joints: Iterable[str]) -> Mechanism:
    """The mechanism with brakes, of the joints' own names and released, on those named joints that have none."""
    brakes = list(mechanism.brakes)
    for name in dict.fromkeys(joints):
        if name in mechanism.brakes or name not in mechanism.joints:
            continue
        for other in mechanism.velocity_constraints:
            if other.name == name:
                raise LinkworkError(
                    f"joint {name!r} cannot be locked by its name, which is also that of a {other.what}; "
                    "give one of them another, or the joint a brake"
                )
        brakes.append(Brake(name, name, engaged=0.0, size=mechanism.joints[name].kind.nv))
    added = len(brakes) > len(mechanism.brakes)
    return mechanism.with_elements(Brake.section, brakes) if added else mechanism


def locks(mechanism: Mechanism) -> tuple[str, ...]:
    """The names of what `with_locks` and authors put on joints."""
    return mechanism.brakes.names
