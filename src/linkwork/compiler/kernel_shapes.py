"""Shapes of kernel arguments and results: fixed shapes, and `Rows`, whose number of rows the caller gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

Shape = tuple[int, ...]


class Count(NamedTuple):
    """The iteration count of a loop, if the caller of the kernel passes it: entry `number` of the kernel's `counts`."""

    number: int


@dataclass(frozen=True)
class Rows:
    """Shape of a table or recorded series: `count` rows of shape `row`; the caller of the kernel gives the count.

    A series may be part of a longer array. `capacity` is then the number of rows of this array per state: the distance
    from the first row of one state to the first row of the next state.
    """

    count: Count
    row: Shape
    capacity: Count | None = None
