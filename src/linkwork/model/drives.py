"""Drives: motors that act on joints through fixed ratios."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from linkwork.errors import ModelError, unknown_name
from linkwork.model.faults import Fault
from linkwork.model.joints import JointKind
from linkwork.model.mimic import Mimic
from linkwork.model.naming import Named
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from linkwork.model.mechanism import Joint


@dataclass(frozen=True, eq=False)
class Drive:
    """A motor whose one coordinate is a sum of joints' coordinates, in fixed ratios.

    `ratios` has the name of each joint with one number per velocity. For a control u,

        length  l  = sum of ratio q [rad or m], where all joints have one coordinate
        rate    l' = sum of ratio v [rad/s or m/s]
        force   f  = clip(gain clip(u, control_limits) + bias[0] + bias[1] l + bias[2] l', force_limits) [N m or N]

    and each joint feels ratio f (MuJoCo's affine actuator). A torque motor has gain 1 and no bias; a position servo
    has gain k and bias (0, -k, -d). `control_limits` and `force_limits` are (2,), infinite where there are none.

    In the mechanism's own coordinates, in which joints may mimic others, l' = row v with `row` (nv,), and l is row q
    over the joints of one coordinate, plus `offset`.
    """

    name: str
    ratios: tuple[tuple[str, Array], ...]
    gain: float
    bias: Array
    control_limits: Array
    force_limits: Array
    row: Array = field(default_factory=lambda: np.zeros(0))  # until joints are numbered
    offset: float = 0.0

    @property
    def joints(self) -> tuple[str, ...]:
        """The names of the joints that it drives."""
        return tuple(joint for joint, _ in self.ratios)

    def faults(self, kinds: Mapping[str, JointKind]) -> Iterator[Fault]:
        """What is wrong with it, given the kinds of all joints."""
        element = f"drive {self.name!r}"
        for joint, numbers in self.ratios:
            kind = kinds.get(joint)
            if kind is None:
                yield Fault(f"ratios: {unknown_name('joint', joint, kinds).reason}", element)
            elif numbers.shape != (kind.nv,):
                wanted = f"{kind.nv} numbers, one for each velocity" if kind.nv else "none, as it cannot move"
                yield Fault(f"ratios of joint {joint!r} must be {wanted}; got {numbers.tolist()}", element)
            elif self.bias[1] != 0.0 and not kind.nq == kind.nv == 1:
                reason = f"bias[1] acts on a length, which joint {joint!r}, a {type(kind).__name__}, does not have"
                yield Fault(f"bias: {reason}", element, "let it be 0, or drive joints of one coordinate")

    def numbered(self, joints: Named[Joint], mimics: Named[Mimic]) -> Drive:
        """The same with its row in the coordinates of these joints."""
        row, offset = np.zeros(max((joint.v.stop for joint in joints), default=0)), 0.0
        for name, numbers in self.ratios:
            if name in mimics:  # it has one coordinate, and the slices of the joint that it follows
                row[joints[name].v] += numbers * mimics[name].multiplier
                offset += float(numbers[0]) * mimics[name].offset
            else:
                row[joints[name].v] += numbers
        row.flags.writeable = False  # a mechanism never changes
        return replace(self, row=row, offset=offset)


def refuse_zero_ratios(ratios: Mapping[str, Array], element: str) -> None:
    """Raise a ModelError if there are no ratios, or only zeros for some joint."""
    if not ratios:
        raise ModelError("ratios must name at least one joint", element)
    for joint, numbers in ratios.items():
        if not numbers.any():
            raise ModelError(f"ratios of joint {joint!r} must not all be 0; got {numbers.tolist()}", element)
