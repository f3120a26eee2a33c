"""Ways to hold two bodies together that are no joints of a tree: they only close loops."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Real

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.closing import Distance, Row, on_axis
from linkwork.model.joints import Axis, ClosingKind, unit_axis


@dataclass(frozen=True)
class Rod(ClosingKind):
    """A massless rod of that `length` [m] with a ball at each end: the two places keep their distance."""

    length: float

    def __post_init__(self) -> None:
        if not (isinstance(self.length, Real) and np.isfinite(float(self.length)) and float(self.length) > 0.0):
            raise ModelError(f"length must be a finite number of metres > 0; got {self.length!r}")
        object.__setattr__(self, "length", float(self.length))

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
