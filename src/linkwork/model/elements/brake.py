"""Brakes, which lock a joint and can be engaged and released during a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

import numpy as np

from linkwork.errors import LinkworkError
from linkwork.model.builder_specifications import Draft
from linkwork.model.elements.constraint import Bound
from linkwork.model.elements.key_types import derived, joint_name, key
from linkwork.model.elements.velocity_constraint import (
    VelocityConstraint,
    VelocityRow,
    capacity_key,
    engaged_key,
    state_text,
)
from linkwork.model.model_definition_faults import Fault
from linkwork.spatial.scalar import Number

if TYPE_CHECKING:
    from linkwork.model.mechanism import Joint, Mechanism
    from linkwork.model.named_collections import Named


class Brake(VelocityConstraint, section="brakes"):
    """Add a brake to a joint.

    An engaged brake keeps the joint's velocities at zero. It slips when the force that it needs exceeds `capacity`.
    A finite capacity needs a joint with one velocity.

    Examples
    --------
    >>> b = lw.Builder().body("wheel", 1.0, inertia=(1, 1, 1)).joint("hub", lw.Revolute(), "world", "wheel")
    >>> m = b.brake("parking", "hub", capacity=8.0, engaged=True).build()
    >>> m.brakes["parking"].capacity
    8.0

    """

    joint: str = key(joint_name(), "Joint that the brake locks")
    capacity: Number = capacity_key()
    engaged: Number = engaged_key(False)
    size: int = derived(default=1)  # number of velocities of the joint

    locks_joint = True
    switches = MappingProxyType({**VelocityConstraint.switches, "lock": ("engaged", 1.0), "unlock": ("engaged", 0.0)})

    def numbered(self, joints: Named[Joint]) -> Self:
        """Return a copy of the brake that stores the number of velocities of its joint.

        `joints` are the numbered joints of the mechanism.
        """
        return replace(self, size=joints[self.joint].kind.nv)

    @property
    def velocity_rows(self) -> Iterator[VelocityRow]:
        """The velocity constraint rows of the brake, one for each velocity of its joint.

        The multiplier of a row is the force [N m or N] of the brake along the velocity of this row.
        """
        for number in range(self.size):
            yield VelocityRow(self.name, ((self.joint, number, 1.0),), self.engaged)

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The bounds of the brake's multipliers, (-capacity, capacity) [N m or N] for each velocity of its joint."""
        return ((-self.capacity, self.capacity),) * self.size

    def draft_faults(self, draft: Draft) -> Iterator[Fault]:
        """Yield a fault if the brake's joint is unknown or cannot move.

        A brake with a finite capacity on a joint with several velocities is also a fault. `draft` is the content of the
        Builder before `build`.
        """
        yield from super().draft_faults(draft)
        kind = draft.kinds.get(self.joint)
        if kind and not kind.nv:
            yield Fault(
                f"its joint: {self.joint!r} is a Weld joint, which cannot move", self.label, "name another joint"
            )
        elif kind and kind.nv > 1 and np.isfinite(self.capacity):
            reason = f"its joint {self.joint!r} has {kind.nv} velocities; a brake with a finite capacity needs one"
            yield Fault(reason, self.label, "omit the capacity, or use a joint with one velocity")

    def describe(self) -> tuple[str, str]:
        """Return two cells for `linkwork check`: state and capacity of the brake, and the name of its joint."""
        return f"{state_text(self.engaged)}, up to {self.capacity:g} N m or N", self.joint


def with_locks(mechanism: Mechanism, joints: Iterable[str]) -> Mechanism:
    """Return the mechanism with a released brake on each of the named `joints`, so that a run can lock them.

    The brake has the name of its joint. A joint that already has a brake with its name gets no other brake.
    """
    brakes = list(mechanism.brakes)
    for name in dict.fromkeys(joints):
        if name in mechanism.brakes or name not in mechanism.joints:
            continue
        for other in mechanism.velocity_constraints:
            if other.name == name:
                raise LinkworkError(
                    f"joint {name!r} cannot be locked by name, because a {other.what} has the same name; "
                    "rename one of them, or add a brake to the joint"
                )
        brakes.append(Brake(name, name, engaged=0.0, size=mechanism.joints[name].kind.nv))
    added = len(brakes) > len(mechanism.brakes)
    return mechanism.with_elements(Brake.section, brakes) if added else mechanism


def locks(mechanism: Mechanism) -> tuple[str, ...]:
    """Return the names of all brakes of a mechanism, which include those that `with_locks` added."""
    return mechanism.brakes.names
