"""Clutches and brakes: couplings and locks that can be engaged and released while a mechanism moves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from linkwork.model.faults import Fault
from linkwork.model.joints import JointKind
from linkwork.model.mimic import Mimic
from linkwork.model.requests import unknown_faults
from linkwork.spatial.scalar import Number

if TYPE_CHECKING:
    from linkwork.model.mechanism import Joint
    from linkwork.model.naming import Named


class Tie(NamedTuple):
    """Velocities that are held together while it is `engaged` (1, or 0): the sum of factor times velocity is zero.

    `velocities` are by joint and number within the joint.
    """

    name: str
    velocities: tuple[tuple[str, int, Number], ...]
    engaged: Number


@dataclass(frozen=True)
class Clutch:
    """Couples the joints `a` and `b`, of one velocity each: v_b = ratio v_a while it is `engaged`.

    It slips above its `capacity`, the force that it can put on b [N m or N].
    """

    name: str
    a: str
    b: str
    ratio: Number
    capacity: float
    engaged: Number

    @property
    def ties(self) -> Iterator[Tie]:
        """What it holds together."""
        yield Tie(self.name, ((self.b, 0, 1.0), (self.a, 0, -self.ratio)), self.engaged)

    def faults(self, kinds: Mapping[str, JointKind], mimics: Mapping[str, Mimic]) -> Iterator[Fault]:
        """What is wrong with it, given the kinds of all joints and who follows whom."""
        element = f"clutch {self.name!r}"
        yield from _joint_faults(element, {"joint a": self.a, "joint b": self.b}, kinds)
        lead_a, lead_b = (mimics[name].of if name in mimics else name for name in (self.a, self.b))
        if self.a == self.b:
            yield Fault(f"a clutch needs two joints; both are {self.a!r}", element)
        elif lead_a == lead_b:
            yield Fault(f"{self.a!r} and {self.b!r} move together already, by mimicking", element, "name other joints")


@dataclass(frozen=True)
class Brake:
    """Holds a joint still while it is `engaged`; it slips above its `capacity` [N m or N], of each velocity."""

    name: str
    joint: str
    capacity: float
    engaged: Number
    size: int = 1  # velocities that the joint has

    def sized(self, joints: Named[Joint]) -> Brake:
        """The same, knowing its joint."""
        return replace(self, size=joints[self.joint].kind.nv)

    @property
    def ties(self) -> Iterator[Tie]:
        """What it holds still."""
        for number in range(self.size):
            yield Tie(self.name, ((self.joint, number, 1.0),), self.engaged)

    def faults(self, kinds: Mapping[str, JointKind]) -> Iterator[Fault]:
        """What is wrong with it, given the kinds of all joints."""
        element = f"brake {self.name!r}"
        yield from unknown_faults(element, "joint", {"its joint": self.joint}, kinds)
        if self.joint in kinds and not kinds[self.joint].nv:
            yield Fault(f"its joint: {self.joint!r} is a Weld joint, which does not move", element)
        elif self.joint in kinds and kinds[self.joint].nv > 1 and np.isfinite(self.capacity):
            reason = f"its joint {self.joint!r} has {kinds[self.joint].nv} velocities; a brake that slips holds one"
            yield Fault(reason, element, "leave its capacity out, or give the joint another kind")


def may_hold(engaged: Number) -> bool:
    """Whether something is engaged, or may be: a number that hides its value may."""
    return np.asarray(engaged).dtype == object or bool(engaged)


def contradiction_faults(clutches: Iterable[Clutch]) -> Iterator[Fault]:
    """Clutches that, engaged as they are, drive a joint at two ratios."""
    driven: dict[tuple[str, str], Clutch] = {}
    for clutch in clutches:
        if not clutch.engaged:
            continue
        ratio, pair = clutch.ratio, (clutch.a, clutch.b)
        if (clutch.b, clutch.a) in driven:
            ratio, pair = 1.0 / ratio, (clutch.b, clutch.a)
        first = driven.setdefault(pair, clutch)
        if first.ratio != ratio:
            reason = f"drives {pair[1]!r} from {pair[0]!r} at {ratio:g}, and clutch {first.name!r} at {first.ratio:g}"
            yield Fault(reason, f"clutch {clutch.name!r}", "engage one of them at a time")


def _joint_faults(element: str, given: Mapping[str, str], kinds: Mapping[str, JointKind]) -> Iterator[Fault]:
    """Joints, by the role in which they are named, that are not there or do not have one velocity."""
    yield from unknown_faults(element, "joint", given, kinds)
    for role, name in given.items():
        if name in kinds and kinds[name].nv != 1:
            kind = type(kinds[name]).__name__
            yield Fault(f"{role}: {name!r} is a {kind} joint; it must have one velocity", element)
