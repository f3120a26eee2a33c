"""Velocity constraints: rows that are linear combinations of joint velocities, and the sides that they relate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from linkwork.model.elements.constraint import UNBOUNDED, Bound, Constraint
from linkwork.model.elements.element import Element
from linkwork.model.elements.keys import Direction, Side, key, positive, switch
from linkwork.model.faults import Fault
from linkwork.model.joints import JointKind
from linkwork.model.mimic import Mimic
from linkwork.model.parameters import is_hidden
from linkwork.model.specifications import Draft, unknown_faults
from linkwork.spatial.scalar import Number

DIGITS, ROUNDING = 12, 1e-12  # within which factors and ratios are the same


class VelocityRow(NamedTuple):
    """Joint velocities whose sum, each times its factor, is zero while the row is `engaged` (1, or 0).

    `velocities` are by joint and number within the joint.
    """

    name: str
    velocities: tuple[tuple[str, int, Number], ...]
    engaged: Number


class VelocityConstraint(Constraint):
    """Holds linear combinations of joint velocities at zero while it is engaged."""

    holonomic = False
    writes_all = True
    switches = MappingProxyType({"engage": ("engaged", 1.0), "release": ("engaged", 0.0)})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VelocityConstraint) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash((type(self), self.name))

    @property
    def velocity_rows(self) -> Iterator[VelocityRow]:
        """What it holds at zero."""
        raise self.lacks("velocity_rows")

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """No multiplier is bounded, unless a kind says otherwise [N or N m]."""
        return tuple(UNBOUNDED for _ in self.velocity_rows)

    @property
    def pushes_only(self) -> bool:
        """Whether its first row never pulls."""
        lower = self.bounds[0][0]
        return not is_hidden(lower) and lower == 0.0

    @property
    def driven_sides(self) -> tuple[Side, Side, Number] | None:
        """Sides a and b and the ratio of a constraint that drives b from a; None for others."""
        return None

    @property
    def capacities(self) -> tuple[Number, Number]:
        """The most that the first row can push backward and forward [N m or N]."""
        lower, upper = self.bounds[0]
        return 0.0 - lower, upper


def engaged_key(default: bool) -> Any:
    """The mode that says whether a constraint holds."""
    return key(switch, default=default, mode=True)


def capacity_key() -> Any:
    """The most that a constraint can hold, above which it slips."""
    return key(positive("N m or N", infinite=True), "above which it slips", default=np.inf, parameter=True)


def state_text(engaged: Number) -> str:
    """How `linkwork check` calls that."""
    return "engaged" if engaged else "released"


def may_hold(engaged: Number) -> bool:
    """Whether something is engaged, or may be: a number that hides its value may."""
    return is_hidden(engaged) or bool(engaged)


# --- sides ---


def summed(side: Side) -> Direction:
    """The joints of a side, each with its factor."""
    return ((side, 1.0),) if isinstance(side, str) else tuple(dict(side).items())


def side_text(side: Side) -> str:
    """What messages call a side: a joint, or a sum such as 'hip + 2 knee'."""
    terms = [
        f"{'-' if by < 0.0 else '+'} {f'{abs(by):g} ' if abs(by) != 1.0 else ''}{name}" for name, by in summed(side)
    ]
    return " ".join(terms).removeprefix("+ ")


def direction_of(side: Side, mimics: Mapping[str, Mimic] = MappingProxyType({})) -> tuple[Direction, float]:
    """The joints of a side, sorted, with factors by that of the first, and that factor.

    Joints that are in `mimics` are replaced by those that they follow.
    """
    factors: dict[str, float] = {}
    largest = 0.0
    for joint, factor in summed(side):
        lead, by = (mimics[joint].of, mimics[joint].multiplier) if joint in mimics else (joint, 1.0)
        factors[lead] = factors.get(lead, 0.0) + factor * by
        largest = max(largest, abs(factor * by))
    left = sorted((joint, factor) for joint, factor in factors.items() if abs(factor) > ROUNDING * largest)
    first = left[0][1] if left else 1.0
    return tuple((joint, round(factor / first, DIGITS)) for joint, factor in left), first


# --- faults ---


def side_faults(what: str, name: str, sides: Mapping[str, Side], draft: Draft) -> Iterator[Fault]:
    """What is wrong with one or two sides, by the roles in which they are named, of a `what` of that name."""
    element = f"{what} {name!r}"
    for role, side in sides.items():
        for joint, _ in summed(side):
            yield from unknown_faults(element, "joint", {role: joint}, draft.kinds)
            yield from single_faults(element, role, joint, draft.kinds)
    if len(sides) < 2:
        return
    joints = {joint for side in sides.values() for joint, _ in summed(side)}
    a, b = (direction_of(side, draft.mimics)[0] for side in sides.values())
    if len(joints) == 1:
        yield Fault(f"a {what} needs two joints; both are {joints.pop()!r}", element)
    elif a == b or not a or not b:
        both = " and ".join(repr(side_text(side)) for side in sides.values())
        how = ", by mimicking" if joints & set(draft.mimics) else ""
        yield Fault(f"{both} move together already{how}", element, "name other joints")


def role_faults(element: str, roles: Mapping[str, str], draft: Draft) -> Iterator[Fault]:
    """Joints, by the role in which they are named, that are not there, are not single, or are the same."""
    yield from unknown_faults(element, "joint", roles, draft.kinds)
    led: dict[str, str] = {}
    for role, name in roles.items():
        yield from single_faults(element, role, name, draft.kinds)
        leader = draft.mimics[name].of if name in draft.mimics else name
        if leader in led:
            how = "is the same joint" if roles[led[leader]] == name else "moves together already, by mimicking"
            yield Fault(f"{role}: {name!r} {how} as {led[leader]}", element, "name another joint")
        led.setdefault(leader, role)


def single_faults(element: str, role: str, name: str, kinds: Mapping[str, JointKind]) -> Iterator[Fault]:
    """A joint that does not have one velocity."""
    if name in kinds and kinds[name].nv != 1:
        kind = type(kinds[name]).__name__
        yield Fault(f"{role}: {name!r} is a {kind} joint; it must have one velocity", element)


def shared_name_faults(elements: Iterable[Element]) -> Iterator[Fault]:
    """Velocity constraints of one name: what is switched by its name must have one of its own."""
    owners: dict[str, str] = {}
    for one in elements:
        if isinstance(one, VelocityConstraint):
            if one.name in owners:
                yield Fault(f"there is a {owners[one.name]} of that name", one.label, "give it another")
            owners.setdefault(one.name, one.what)
