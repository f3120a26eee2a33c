"""Clutches and brakes: couplings and locks that can be engaged and released while a mechanism moves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from linkwork.model.faults import Fault
from linkwork.model.joints import JointKind
from linkwork.model.mimic import Mimic
from linkwork.model.requests import unknown_faults


@dataclass(frozen=True)
class Clutch:
    """Couples the joints `a` and `b`, of one velocity each: v_b = ratio v_a while it is `engaged`.

    It slips above its `capacity`, the force that it can put on b [N m or N].
    """

    name: str
    a: str
    b: str
    ratio: float
    capacity: float
    engaged: bool

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
    """Holds a joint of one velocity still while it is `engaged`; it slips above its `capacity` [N m or N]."""

    name: str
    joint: str
    capacity: float
    engaged: bool

    def faults(self, kinds: Mapping[str, JointKind]) -> Iterator[Fault]:
        """What is wrong with it, given the kinds of all joints."""
        yield from _joint_faults(f"brake {self.name!r}", {"its joint": self.joint}, kinds)


def engaged_names(items: Iterable[Clutch | Brake]) -> list[str]:
    """The names of those that are engaged."""
    return [item.name for item in items if item.engaged]


def _joint_faults(element: str, given: Mapping[str, str], kinds: Mapping[str, JointKind]) -> Iterator[Fault]:
    """Joints, by the role in which they are named, that are not there or do not have one velocity."""
    yield from unknown_faults(element, "joint", given, kinds)
    for role, name in given.items():
        if name in kinds and kinds[name].nv != 1:
            kind = type(kinds[name]).__name__
            yield Fault(f"{role}: {name!r} is a {kind} joint; it must have one velocity", element)
