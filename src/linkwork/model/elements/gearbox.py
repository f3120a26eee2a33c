"""Gearboxes (transmissions) with several ratios between two joints."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.builder_specifications import Draft
from linkwork.model.elements.element import GIVEN
from linkwork.model.elements.key_types import gear_ratios, joint_name, key, whole
from linkwork.model.elements.velocity_constraint import VelocityConstraint, VelocityRow, role_faults
from linkwork.model.model_definition_faults import Fault
from linkwork.spatial.scalar import Array, Number, lookup, maximum, minimum, where
from linkwork.tolerances import HUGE


class Transmission(VelocityConstraint, section="transmissions"):
    """Add a gearbox between two joints: in gear k, v_driving = ratios[k - 1] v_driven [rad/s or m/s].

    Gears are numbered from 1. In gear 0, neutral, both joints are free. Each joint has one velocity.

    Examples
    --------
    >>> b = lw.Builder().body("wheel", 1.0, inertia=(1, 1, 1)).body("disc", 1.0, inertia=(1, 1, 1))
    >>> b = b.joint("input", lw.Revolute(), "world", "wheel").joint("output", lw.Revolute(), "world", "disc")
    >>> m = b.transmission("gearbox", "input", "output", ratios=(4.0, 2.0, 1.0), selected=1).build()
    >>> m.transmissions["gearbox"].ratios
    (4.0, 2.0, 1.0)

    """

    driving: str = key(joint_name("driving"), "Driving joint")
    driven: str = key(joint_name("driven"), "Driven joint")
    ratios: Any = key(gear_ratios, "Ratios v_driving / v_driven, one for each gear")
    selected: Number = key(
        whole, "Number of the gear selected at the start of a run, from 1; 0 is neutral", default=0, mode=True
    )

    couples_ratios = True
    switches = MappingProxyType({"shift": ("selected", GIVEN)})

    @property
    def engaged(self) -> Number:
        """1 if a gear of the gearbox is selected, 0 in neutral."""
        return where(self.selected > 0.0, 1.0, 0.0)

    @property
    def velocity_rows(self) -> Iterator[VelocityRow]:
        """The velocity constraint row v_driven - v_driving / ratio = 0, with the ratio of the selected gear.

        Its multiplier is the force [N m or N] on the driven joint.
        """
        # Ratio v_driven / v_driving for each gear, 0 for neutral
        shares = np.array([[0.0], *([1.0 / ratio] for ratio in self.ratios)])
        share = shares[self.selected.astype(int)] if np.ndim(self.selected) else lookup(shares, self.selected)
        yield VelocityRow(self.name, ((self.driven, 0, 1.0), (self.driving, 0, -share[..., 0])), self.engaged)

    def completed(self) -> Self:
        """Return the gearbox; raise a ModelError if the selected gear does not exist."""
        self.refuse_gear(self.selected)
        return self

    def check_parameter(self, key: str, values: Array, name: str) -> None:
        """Raise an error unless all `values` of the gearbox parameter `key` are valid; selected gears must exist."""
        super().check_parameter(key, values, name)
        self.refuse_gear(values)

    def refuse_gear(self, selected: Any) -> None:
        """Raise a ModelError unless all numbers in `selected` are 0 (neutral) or existing gears."""
        numbers, most = np.asarray(selected), len(self.ratios)
        if numbers.dtype == object:
            return
        wrong = (numbers != np.round(numbers)) | (numbers < 0.0) | (numbers > most)
        if wrong.any():
            got = f"{np.atleast_1d(numbers)[np.argmax(wrong)]:g}"
            raise ModelError(f"selected must be a gear from 1 to {most}, or 0 for neutral; got {got}", self.label)

    def possible(self, key: str, mode: Number) -> Number:
        """Return `mode`, a controller's gear number, rounded down and clipped to the existing gears and 0 (neutral).

        The result is NaN if `mode` is NaN or infinite. Modes with another name than `selected` are unchanged.
        """
        if key != "selected":
            return mode
        gear = minimum(maximum(np.floor(mode), 0.0), float(len(self.ratios)))
        return where(abs(mode) <= HUGE, gear, np.nan)

    def draft_faults(self, draft: Draft) -> Iterator[Fault]:
        """Yield a fault for each joint of the gearbox that is unknown, has several velocities, or is named twice.

        `draft` is the content of the Builder before `build`.
        """
        yield from role_faults(self.label, {"driving": self.driving, "driven": self.driven}, draft)

    def describe(self) -> tuple[str, str]:
        """Return two cells for `linkwork check`: the ratios and the selected gear of the gearbox, and its joints."""
        gears = ", ".join(f"{ratio:g}" for ratio in self.ratios)
        state = f"in gear {self.selected:g}" if self.engaged else "neutral"
        return f"{gears}; {state}", f"{self.driving}, {self.driven}"
