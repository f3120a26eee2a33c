"""Transmissions with several gears, differentials, and couplings of any velocities: beside clutches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.errors import ModelError, listed
from linkwork.model.elements.clutches import Tie, direction_of
from linkwork.model.faults import Fault
from linkwork.model.joints import JointKind
from linkwork.model.mimic import Mimic
from linkwork.model.naming import Named
from linkwork.model.specifications import unknown_faults
from linkwork.spatial.scalar import Number, lookup, where


@dataclass(frozen=True)
class Transmission:
    """Couples two joints of one velocity by the gear that is `selected`: v_driving = ratio v_driven; 0 is neutral.

    The first gear is number 1, with the first of `ratios`.
    """

    name: str
    driving: str
    driven: str
    ratios: tuple[float, ...]
    selected: Number = 0.0

    @property
    def engaged(self) -> Number:
        """Whether any gear is."""
        return where(self.selected > 0.0, 1.0, 0.0)

    @property
    def ties(self) -> Iterator[Tie]:
        """What it holds together; the multiplier is the force on the driven joint."""
        shares = np.array([[0.0], *([1.0 / ratio] for ratio in self.ratios)])  # of a turn, by gear
        share = shares[self.selected.astype(int)] if np.ndim(self.selected) else lookup(shares, self.selected)
        yield Tie(self.name, ((self.driven, 0, 1.0), (self.driving, 0, -share[..., 0])), self.engaged)

    @property
    def capacities(self) -> tuple[float, float]:
        """Teeth do not slip [N m or N], either way."""
        return np.inf, np.inf

    def faults(self, kinds: Mapping[str, JointKind], mimics: Mapping[str, Mimic]) -> Iterator[Fault]:
        """What is wrong with it, given the kinds of all joints and who follows whom."""
        roles = {"driving": self.driving, "driven": self.driven}
        yield from _faults(f"transmission {self.name!r}", roles, kinds, mimics)

    def refuse_gear(self, selected: Any) -> None:
        """Raise a ModelError unless these are numbers of gears that it has, or 0."""
        numbers, most = np.asarray(selected), len(self.ratios)
        if numbers.dtype == object:
            return
        wrong = (numbers != np.round(numbers)) | (numbers < 0.0) | (numbers > most)
        if wrong.any():
            told = f"it has the gears 1 to {most}, and 0 for neutral; got {np.atleast_1d(numbers)[np.argmax(wrong)]:g}"
            raise ModelError(told, f"transmission {self.name!r}")


@dataclass(frozen=True)
class Differential:
    """Lets the joint `driving` turn the mean of two others, with the same force on both.

    While it is `engaged`, v_left + v_right = 2 ratio v_driving.
    """

    name: str
    driving: str
    left: str
    right: str
    ratio: float = 1.0
    engaged: Number = 1.0

    @property
    def ties(self) -> Iterator[Tie]:
        """What it holds together; the multiplier is the force on left and right."""
        sides = ((self.left, 0, 1.0), (self.right, 0, 1.0))
        yield Tie(self.name, (*sides, (self.driving, 0, -2.0 * self.ratio)), self.engaged)

    @property
    def capacities(self) -> tuple[float, float]:
        """Teeth do not slip [N m or N], either way."""
        return np.inf, np.inf

    def faults(self, kinds: Mapping[str, JointKind], mimics: Mapping[str, Mimic]) -> Iterator[Fault]:
        """What is wrong with it, given the kinds of all joints and who follows whom."""
        roles = {"driving": self.driving, "left": self.left, "right": self.right}
        yield from _faults(f"differential {self.name!r}", roles, kinds, mimics)


@dataclass(frozen=True)
class Coupling:
    """Holds a sum of velocities at zero while it is `engaged`: `factors` has each joint with one number per velocity.

    Where velocities are no rates of coordinates, as those of a free joint in its own frame, it is a wheel that rolls or
    a blade that does not slip sideways.
    """

    name: str
    factors: tuple[tuple[str, tuple[float, ...]], ...]
    engaged: Number = 1.0

    @property
    def ties(self) -> Iterator[Tie]:
        """What it holds together; the multiplier times a factor is the force on a velocity."""
        numbers = [(joint, k, x) for joint, row in self.factors for k, x in enumerate(row) if x != 0.0]
        yield Tie(self.name, tuple(numbers), self.engaged)

    @property
    def capacities(self) -> tuple[float, float]:
        """It does not slip [N m or N], either way."""
        return np.inf, np.inf

    def faults(self, kinds: Mapping[str, JointKind], mimics: Mapping[str, Mimic]) -> Iterator[Fault]:
        """What is wrong with it, given the kinds of all joints and who follows whom."""
        element = f"coupling {self.name!r}"
        single = [(joint, numbers[0]) for joint, numbers in self.factors if len(numbers) == 1]
        if len(single) == len(self.factors) and not direction_of(tuple(single), mimics)[0]:
            names = listed(repr(joint) for joint, _ in single)
            yield Fault(f"{names} move so already, by mimicking", element, "name other joints")
        for joint, numbers in self.factors:
            if joint not in kinds:
                yield from unknown_faults(element, "joint", {"factors": joint}, kinds)
            elif len(numbers) != kinds[joint].nv:
                wanted = f"{kinds[joint].nv} numbers, one for each velocity"
                yield Fault(f"factors of joint {joint!r} must be {wanted}; got {list(numbers)}", element)


NO_TRANSMISSIONS: Named[Transmission] = Named("transmission", [])
NO_DIFFERENTIALS: Named[Differential] = Named("differential", [])
NO_COUPLINGS: Named[Coupling] = Named("coupling", [])


def ratios_of(given: Any, element: str) -> tuple[float, ...]:
    """Ratios of gears as floats, at least one and none of them 0."""
    try:
        ratios = np.array(given, dtype=float)
    except (TypeError, ValueError):
        ratios = np.zeros(0)
    if ratios.ndim != 1 or not len(ratios) or not np.isfinite(ratios).all():
        raise ModelError(f"ratios must be numbers, one for each gear; got {given!r:.60}", element)
    if not ratios.all():
        raise ModelError(f"the ratio of gear {int(np.argmin(ratios != 0.0)) + 1} must not be 0", element)
    return tuple(ratios.tolist())


def _faults(
    element: str, roles: Mapping[str, str], kinds: Mapping[str, JointKind], mimics: Mapping[str, Mimic]
) -> Iterator[Fault]:
    """Joints, by the role in which they are named, that are not there, are not single, or are the same."""
    yield from unknown_faults(element, "joint", roles, kinds)
    led: dict[str, str] = {}
    for role, name in roles.items():
        if name in kinds and kinds[name].nv != 1:
            kind = type(kinds[name]).__name__
            yield Fault(f"{role}: {name!r} is a {kind} joint; it must have one velocity", element)
        leader = mimics[name].of if name in mimics else name
        if leader in led:
            how = "is the same joint" if roles[led[leader]] == name else "moves together already, by mimicking"
            yield Fault(f"{role}: {name!r} {how} as {led[leader]}", element, "name another joint")
        led.setdefault(leader, role)
