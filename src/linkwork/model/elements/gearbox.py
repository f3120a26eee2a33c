"""Transmissions: two joints with several gears between them."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.elements.element import GIVEN
from linkwork.model.elements.keys import gear_ratios, joint_name, key, whole
from linkwork.model.elements.velocity_constraint import VelocityConstraint, VelocityRow, role_faults
from linkwork.model.faults import Fault
from linkwork.model.specifications import Draft
from linkwork.spatial.scalar import Array, Number, lookup, maximum, minimum, where

HUGE = 1e300  # numbers beyond this count as infinite


class Transmission(VelocityConstraint, section="transmissions"):
    """Put a transmission between two joints: in gear k, v_driving = ratios[k - 1] v_driven [rad/s or m/s].

    The gear that is `selected` is number 1 to as many as there are ratios, or 0, neutral, in which both are free.
    """

    driving: str = key(joint_name("driving"))
    driven: str = key(joint_name("driven"))
    ratios: Any = key(gear_ratios, "v_driving = ratio v_driven, one for each gear")
    selected: Number = key(whole, "the gear that is in, from 1; 0 is neutral", default=0, mode=True)

    couples_ratios = True
    switches = MappingProxyType({"shift": ("selected", GIVEN)})

    @property
    def engaged(self) -> Number:
        """Whether any gear is."""
        return where(self.selected > 0.0, 1.0, 0.0)

    @property
    def velocity_rows(self) -> Iterator[VelocityRow]:
        """How fast the driven joint slips; the multiplier is the force on it."""
        shares = np.array([[0.0], *([1.0 / ratio] for ratio in self.ratios)])  # of a turn, by gear
        share = shares[self.selected.astype(int)] if np.ndim(self.selected) else lookup(shares, self.selected)
        yield VelocityRow(self.name, ((self.driven, 0, 1.0), (self.driving, 0, -share[..., 0])), self.engaged)

    def completed(self) -> Self:
        """The same, if it has the gear that is selected."""
        self.refuse_gear(self.selected)
        return self

    def check_parameter(self, key: str, values: Array, name: str) -> None:
        """Raise an error unless these are gears that it has."""
        super().check_parameter(key, values, name)
        self.refuse_gear(values)

    def refuse_gear(self, selected: Any) -> None:
        """Raise a ModelError unless these are numbers of gears that it has, or 0."""
        numbers, most = np.asarray(selected), len(self.ratios)
        if numbers.dtype == object:
            return
        wrong = (numbers != np.round(numbers)) | (numbers < 0.0) | (numbers > most)
        if wrong.any():
            got = f"{np.atleast_1d(numbers)[np.argmax(wrong)]:g}"
            raise ModelError(f"it has the gears 1 to {most}, and 0 for neutral; got {got}", self.label)

    def possible(self, key: str, mode: Number) -> Number:
        """The gear next below, of those that it has; nan stays nan."""
        if key != "selected":
            return mode
        gear = minimum(maximum(np.floor(mode), 0.0), float(len(self.ratios)))
        return where(abs(mode) <= HUGE, gear, np.nan)

    def draft_faults(self, draft: Draft) -> Iterator[Fault]:
        """What is wrong with its joints."""
        yield from role_faults(self.label, {"driving": self.driving, "driven": self.driven}, draft)

    def describe(self) -> tuple[str, str]:
        """Its gears, the one that is in, and its joints."""
        gears = ", ".join(f"{ratio:g}" for ratio in self.ratios)
        state = f"in gear {self.selected:g}" if self.engaged else "neutral"
        return f"{gears}; {state}", f"{self.driving}, {self.driven}"
