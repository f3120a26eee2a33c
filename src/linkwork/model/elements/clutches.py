"""Clutches and brakes: couplings and locks that can be engaged and released while a mechanism moves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.arguments import not_zero
from linkwork.model.faults import Fault
from linkwork.model.joints import JointKind
from linkwork.model.mimic import Mimic
from linkwork.model.specifications import unknown_faults
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


Direction = tuple[tuple[str, float], ...]  # joints with the factors by which their velocities are added
Side = str | Direction  # of a clutch: a joint, or a sum of joints
DIGITS, ROUNDING = 12, 1e-12  # within which factors and ratios are the same


def summed(side: Side) -> Direction:
    """The joints of a side, each with its factor."""
    return ((side, 1.0),) if isinstance(side, str) else side


def checked_side(side: object, what: str, element: str) -> Side:
    """What was given for the side `what`: a joint, or a sum {joint: factor} of joints of one velocity each."""
    if not isinstance(side, Mapping):
        return str(side)
    if not side:
        raise ModelError(f"{what} must name at least one joint", element)
    return tuple((str(joint), not_zero(by, f"{what}: the factor of {joint!r}", element)) for joint, by in side.items())


def side_text(side: Side) -> str:
    """What messages call a side: a joint, or a sum such as 'hip + 2 knee'."""
    terms = [
        f"{'-' if by < 0.0 else '+'} {f'{abs(by):g} ' if abs(by) != 1.0 else ''}{name}" for name, by in summed(side)
    ]
    return " ".join(terms).removeprefix("+ ")


@dataclass(frozen=True)
class Clutch:
    """Couples its sides `a` and `b`: v_b = ratio v_a while it is `engaged`.

    A side is a joint of one velocity, or several, whose velocities are added with factors. The clutch slips above its
    `capacity`, the force that it can put on b [N m or N]; joints of a sum feel their factor times that.
    """

    name: str
    a: Side
    b: Side
    ratio: Number
    capacity: float
    engaged: Number

    @property
    def ties(self) -> Iterator[Tie]:
        """What it holds together."""
        driven = [(joint, 0, factor) for joint, factor in summed(self.b)]
        driving = [(joint, 0, -self.ratio * factor) for joint, factor in summed(self.a)]
        yield Tie(self.name, (*driven, *driving), self.engaged)

    @property
    def capacities(self) -> tuple[float, float]:
        """The most that it can push b [N m or N], backward and forward."""
        return self.capacity, self.capacity

    def faults(self, kinds: Mapping[str, JointKind], mimics: Mapping[str, Mimic]) -> Iterator[Fault]:
        """What is wrong with it, given the kinds of all joints and who follows whom."""
        yield from side_faults("clutch", self.name, {"joint a": self.a, "joint b": self.b}, kinds, mimics)


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

    @property
    def capacities(self) -> tuple[float, float]:
        """The most that it can push its joint [N m or N], backward and forward."""
        return self.capacity, self.capacity

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
    """Clutches that, engaged as they are, drive a joint or a sum of joints at two ratios."""
    driven: dict[tuple[Direction, Direction], tuple[Clutch, float]] = {}
    for clutch in clutches:
        if not clutch.engaged:
            continue
        (a, by_a), (b, by_b) = direction_of(clutch.a), direction_of(clutch.b)
        ratio, pair = float(clutch.ratio) * by_a / by_b, (a, b)
        if (b, a) in driven:
            ratio, pair = 1.0 / ratio, (b, a)
        first, before = driven.setdefault(pair, (clutch, ratio))
        if abs(ratio / before - 1.0) > ROUNDING:
            sides, found = f"{side_text(first.b)!r} from {side_text(first.a)!r}", ratio / before * first.ratio
            reason = f"drives {sides} at {found:g}, and clutch {first.name!r} at {first.ratio:g}"
            yield Fault(reason, f"clutch {clutch.name!r}", "engage one of them at a time")


def direction_of(side: Side, mimics: Mapping[str, Mimic] = MappingProxyType({})) -> tuple[Direction, float]:
    """The joints of a side, sorted, with factors by that of the first, and that; of those that mimic none, if told."""
    factors: dict[str, float] = {}
    largest = 0.0
    for joint, factor in summed(side):
        lead, by = (mimics[joint].of, mimics[joint].multiplier) if joint in mimics else (joint, 1.0)
        factors[lead] = factors.get(lead, 0.0) + factor * by
        largest = max(largest, abs(factor * by))
    kept = sorted((joint, factor) for joint, factor in factors.items() if abs(factor) > ROUNDING * largest)
    first = kept[0][1] if kept else 1.0
    return tuple((joint, round(factor / first, DIGITS)) for joint, factor in kept), first


def side_faults(
    what: str, name: str, sides: Mapping[str, Side], kinds: Mapping[str, JointKind], mimics: Mapping[str, Mimic]
) -> Iterator[Fault]:
    """What is wrong with one or two sides, by the roles in which they are named, of a `what` of that name."""
    element = f"{what} {name!r}"
    for role, side in sides.items():
        for joint, _ in summed(side):
            yield from _joint_faults(element, {role: joint}, kinds)
    if len(sides) < 2:
        return
    joints = {joint for side in sides.values() for joint, _ in summed(side)}
    a, b = (direction_of(side, mimics)[0] for side in sides.values())
    if len(joints) == 1:
        yield Fault(f"a {what} needs two joints; both are {joints.pop()!r}", element)
    elif a == b or not a or not b:
        names = " and ".join(repr(side_text(side)) for side in sides.values())
        how = ", by mimicking" if joints & set(mimics) else ""
        yield Fault(f"{names} move together already{how}", element, "name other joints")


def _joint_faults(element: str, given: Mapping[str, str], kinds: Mapping[str, JointKind]) -> Iterator[Fault]:
    """Joints, by the role in which they are named, that are not there or do not have one velocity."""
    yield from unknown_faults(element, "joint", given, kinds)
    for role, name in given.items():
        if name in kinds and kinds[name].nv != 1:
            kind = type(kinds[name]).__name__
            yield Fault(f"{role}: {name!r} is a {kind} joint; it must have one velocity", element)
