"""Ways to hold two bodies together that are no joints of a tree: they only close loops."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.constraint_rows import Angle, Distance, Roll, Row, Teeth, on_axis
from linkwork.model.joints import Axis, ClosingKind, unit_axis


@dataclass(frozen=True)
class Rod(ClosingKind):
    """A massless rod of that `length` [m] with a ball at each end: the two places keep their distance."""

    length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", _length(self.length, "length", "; lw.Ball() is a rod without length"))

    @cached_property
    def closing(self) -> tuple[Row, ...]:
        return (Distance(self.length),)


@dataclass(frozen=True)
class PointOnLine(ClosingKind):
    """The second place stays on a line through the first, along `axis` there."""

    axis: Axis = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))

    @cached_property
    def closing(self) -> tuple[Row, ...]:
        return on_axis(np.array(self.axis))


@dataclass(frozen=True)
class Gear(ClosingKind):
    """Two gears whose teeth mesh: a has `teeth`, b `to_teeth`; those of a ring with teeth inside are negative.

    Each turns about `axis` through its place; other joints are to hold the two axes parallel. Teeth mesh where the x
    axis of each place points to the other place (x for the axis z, y for x, z for y) and b is turned by `phase` [rad]
    from there; and wherever the two roll, tooth by tooth, whatever carries their centres.
    """

    teeth: int
    to_teeth: int
    axis: Axis = (0.0, 0.0, 1.0)
    phase: float = 0.0

    def __post_init__(self) -> None:
        for key in ("teeth", "to_teeth"):
            object.__setattr__(self, key, _teeth(getattr(self, key), key))
        object.__setattr__(self, "axis", unit_axis(self.axis))
        if not (isinstance(self.phase, Real) and np.isfinite(float(self.phase))):
            raise ModelError(f"phase must be a finite number of radians; got {self.phase!r}")
        object.__setattr__(self, "phase", float(self.phase))
        pair = f"got teeth={self.teeth}, to_teeth={self.to_teeth}"
        if self.teeth < 0 and self.to_teeth < 0:
            raise ModelError(f"teeth must be positive of one gear: two rings cannot mesh; {pair}")
        if min(self.teeth, self.to_teeth) < 0 and self.teeth + self.to_teeth >= 0:
            raise ModelError(f"teeth of a ring must be more than those of the gear inside it; {pair}")

    @cached_property
    def closing(self) -> tuple[Row, ...]:
        period = 2.0 * np.pi / abs(self.to_teeth)
        return (Teeth(np.array(self.axis), self.teeth / self.to_teeth, self.phase, period),)


@dataclass(frozen=True)
class Rack(ClosingKind):
    """A pinion a with the pitch `radius` [m] rolls about its `axis` on a rack b along the `direction` of its place.

    The pinion is on the side axis x direction of the rack: it turns backwards where it rolls on. Other joints are to
    hold the axes of both places parallel. The two mesh where the places are one, and after each turn of the pinion
    from there; after each tooth, if it is said how many `teeth` the pinion has.
    """

    radius: float
    axis: Axis = (0.0, 0.0, 1.0)
    direction: Axis = (1.0, 0.0, 0.0)
    teeth: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _length(self.radius, "radius"))
        object.__setattr__(self, "axis", unit_axis(self.axis))
        object.__setattr__(self, "direction", unit_axis(self.direction, "direction"))
        object.__setattr__(self, "teeth", _teeth(self.teeth, "teeth"))
        if self.teeth < 0:
            raise ModelError(f"teeth must be positive: a rack has none inside; got {self.teeth}")
        if abs(np.dot(self.axis, self.direction)) > 1e-9:
            raise ModelError(f"direction must be at a right angle to the axis {self.axis}; got {self.direction}")

    @cached_property
    def closing(self) -> tuple[Row, ...]:
        period = 2.0 * np.pi * self.radius / self.teeth
        return (Roll(Angle.about(np.array(self.axis)), np.array(self.direction), self.radius, period),)


MOST_TEETH = 10**6


def _length(value: object, what: str, instead: str = "") -> float:
    """A length [m] that is not zero; messages end with what serves instead."""
    if not (isinstance(value, Real) and np.isfinite(float(value)) and float(value) > 0.0):
        raise ModelError(f"{what} must be a finite number of metres > 0; got {value!r}{instead}")
    return float(value)


def _teeth(value: object, what: str) -> int:
    """A number of teeth, negative for a ring."""
    if not isinstance(value, Integral) or isinstance(value, bool) or not 0 < abs(int(value)) <= MOST_TEETH:
        raise ModelError(f"{what} must be a whole number other than 0, of at most {MOST_TEETH}; got {value!r}")
    return int(value)
