"""The base class of velocity constraints, which force linear combinations of joint velocities to zero."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from linkwork.model.builder_specifications import Draft, unknown_faults
from linkwork.model.elements.constraint import UNBOUNDED, Bound, Constraint
from linkwork.model.elements.element import Element
from linkwork.model.elements.key_types import Direction, Side, key, positive, switch
from linkwork.model.joints import JointKind
from linkwork.model.mimic_joints import Mimic
from linkwork.model.model_definition_faults import Fault
from linkwork.model.model_tolerances import EQUAL_DIGITS, EQUAL_RATIOS
from linkwork.model.parameter_value_checks import is_traced
from linkwork.spatial.scalar import Number


class VelocityRow(NamedTuple):
    """One velocity constraint row: a weighted sum of joint velocities that is zero while `engaged` is 1.

    Each entry of `velocities` is (joint name, index of the velocity within the joint from 0, factor). `name` is the
    name of the constraint to which the row belongs.
    """

    name: str
    velocities: tuple[tuple[str, int, Number], ...]
    engaged: Number


class VelocityConstraint(Constraint):
    """Base class of constraints such as clutches and brakes: linear combinations of joint velocities are zero.

    If the multiplier of a row reaches a bound, the row slips and the combination need not be zero.
    """

    holonomic = False
    writes_all = True
    switches = MappingProxyType({"engage": ("engaged", 1.0), "release": ("engaged", 0.0)})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VelocityConstraint) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash((type(self), self.name))

    @property
    def velocity_rows(self) -> Iterator[VelocityRow]:
        """The constraint rows: weighted sums of joint velocities that are zero while the constraint is engaged."""
        raise self.lacks("velocity_rows")

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The bounds of the multiplier [N or N m] of each constraint row; infinite unless a subclass defines them."""
        return tuple(UNBOUNDED for _ in self.velocity_rows)

    @property
    def pushes_only(self) -> bool:
        """Whether the constraint force has only one sign, as for ratchets: the lower bound of the first row is zero."""
        lower = self.bounds[0][0]
        return not is_traced(lower) and lower == 0.0

    @property
    def driven_sides(self) -> tuple[Side, Side, Number] | None:
        """The coupled sides a and b (joints or weighted sums of joints) and the ratio v_b / v_a; None without sides."""
        return None

    @property
    def capacities(self) -> tuple[Number, Number]:
        """The largest magnitudes [N m or N] of the first row's multiplier: of negative and of positive multipliers."""
        lower, upper = self.bounds[0]
        return 0.0 - lower, upper


def engaged_key(default: bool) -> Any:
    """Define the field `engaged` of a constraint, which runs can switch; `default` is its initial value."""
    return key(switch, "Whether the constraint is engaged at the start of a run", default=default, mode=True)


def capacity_key() -> Any:
    """Define the field `capacity` of a constraint that can slip: its largest force, which is a parameter."""
    about = "Largest force or torque of the constraint; if more is needed, the constraint slips"
    return key(positive("N m or N", infinite=True), about, default=np.inf, parameter=True)


def state_text(engaged: Number) -> str:
    """Return "engaged" or "released", the state of a constraint as `linkwork check` prints it."""
    return "engaged" if engaged else "released"


def may_be_engaged(engaged: Number) -> bool:
    """Return whether a constraint with this value of `engaged` may act: it is nonzero or traced."""
    return is_traced(engaged) or bool(engaged)


# --- sides ---


def terms_of(side: Side) -> Direction:
    """Return one side of a clutch or ratchet as pairs of a joint name and its factor in the weighted sum."""
    return ((side, 1.0),) if isinstance(side, str) else tuple(dict(side).items())


def side_text(side: Side) -> str:
    """Return one side of a clutch or ratchet as text: a joint, or a sum such as 'hip + 2 knee'."""
    terms = [
        f"{'-' if by < 0.0 else '+'} {f'{abs(by):g} ' if abs(by) != 1.0 else ''}{name}" for name, by in terms_of(side)
    ]
    return " ".join(terms).removeprefix("+ ")


def direction_of(side: Side, mimics: Mapping[str, Mimic] = MappingProxyType({})) -> tuple[Direction, float]:
    """Return one side of a clutch, a weighted sum of joints, divided by the factor of its first joint, and this factor.

    Joints are sorted by name, and mimic joints are replaced by the joints that they mimic. If the divided sums of two
    sides are equal, the sides are proportional and always move together. `mimics` has the mimic relations by joint
    name.
    """
    factors: dict[str, float] = {}
    largest = 0.0
    for joint, factor in terms_of(side):
        lead, by = (mimics[joint].of, mimics[joint].multiplier) if joint in mimics else (joint, 1.0)
        factors[lead] = factors.get(lead, 0.0) + factor * by
        largest = max(largest, abs(factor * by))
    left = sorted((joint, factor) for joint, factor in factors.items() if abs(factor) > EQUAL_RATIOS * largest)
    first = left[0][1] if left else 1.0
    return tuple((joint, round(factor / first, EQUAL_DIGITS)) for joint, factor in left), first


# --- faults ---


def side_faults(what: str, name: str, sides: Mapping[str, Side], draft: Draft) -> Iterator[Fault]:
    """Yield a fault for each invalid joint of a clutch or ratchet, and a fault if its two sides always move together.

    `what` is the kind of element and `name` its name. `sides` maps the role of each side, such as "a", to the joint or
    weighted sum of joints on this side. `draft` is the content of the Builder before `build`.
    """
    element = f"{what} {name!r}"
    for role, side in sides.items():
        for joint, _ in terms_of(side):
            yield from unknown_faults(element, "joint", {role: joint}, draft.kinds)
            yield from single_faults(element, role, joint, draft.kinds)
    if len(sides) < 2:
        return
    joints = {joint for side in sides.values() for joint, _ in terms_of(side)}
    a, b = (direction_of(side, draft.mimics)[0] for side in sides.values())
    if len(joints) == 1:
        yield Fault(f"a {what} needs two different joints; both are {joints.pop()!r}", element)
    elif a == b or not a or not b:
        both = " and ".join(repr(side_text(side)) for side in sides.values())
        how = ", because of a mimic joint" if joints & set(draft.mimics) else ""
        yield Fault(f"{both} already move together{how}", element, "name other joints")


def role_faults(element: str, roles: Mapping[str, str], draft: Draft) -> Iterator[Fault]:
    """Yield a fault for each named joint of an element that is unknown, has several velocities, or is named twice.

    `roles` maps roles to joint names, such as {"driving": "input"}. `draft` is the content of the Builder before
    `build`.
    """
    yield from unknown_faults(element, "joint", roles, draft.kinds)
    led: dict[str, str] = {}
    for role, name in roles.items():
        yield from single_faults(element, role, name, draft.kinds)
        leader = draft.mimics[name].of if name in draft.mimics else name
        if leader in led:
            other = led[leader]
            how = f"is the same joint as {other}" if roles[other] == name else f"already moves with {other} as a mimic"
            yield Fault(f"{role}: {name!r} {how}", element, "name another joint")
        led.setdefault(leader, role)


def single_faults(element: str, role: str, name: str, kinds: Mapping[str, JointKind]) -> Iterator[Fault]:
    """Yield a fault if the joint `name` does not have exactly one velocity.

    In the message, `element` is the label of the element and `role` the word for the joint; `kinds` are the kinds of
    all joints by name.
    """
    if name in kinds and kinds[name].nv != 1:
        kind = type(kinds[name]).__name__
        yield Fault(f"{role}: {name!r} is a {kind} joint; it must have one velocity", element)


def shared_name_faults(elements: Iterable[Element]) -> Iterator[Fault]:
    """Yield a fault for each name that several of the `elements` have.

    A schedule switches velocity constraints by name, so names must be unique.
    """
    owners: dict[str, str] = {}
    for one in elements:
        if isinstance(one, VelocityConstraint):
            if one.name in owners:
                reason = f"this {one.what} has the name of a {owners[one.name]}, but schedules switch elements by name"
                yield Fault(reason, one.label, "give it another name")
            owners.setdefault(one.name, one.what)
