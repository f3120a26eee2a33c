"""Shapes of kernel arguments and results: fixed shapes, and rows whose number is given at the call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

Shape = tuple[int, ...]


class Count(NamedTuple):
    """A number of iterations given when the kernel is called: the `number`-th of its counts."""

    number: int


@dataclass(frozen=True)
class Rows:
    """The shape of a table or a series: `count` rows of shape `row`; the count is given when the kernel is called.

    If a series is part of a longer array, `capacity` is the number of rows between the starts of successive states.
    """

    count: Count
    row: Shape
    capacity: Count | None = None
