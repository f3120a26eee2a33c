"""Shapes of kernel arguments and results: fixed shapes, and `Rows`, whose number of rows the caller gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

Shape = tuple[int, ...]


class Count(NamedTuple):
    """An iteration count that the caller of a kernel gives: entry `number` of the argument `counts` of the call."""

    number: int


@dataclass(frozen=True)
class Rows:
    """Shape of a table or recorded series for one state: `count` rows of shape `row`; the caller gives the count.

    A series may be part of a longer array. `capacity` is then the number of rows of this array per state: the distance
    from the first row of one state to the first row of the next state.
    """

    count: Count
    row: Shape
    capacity: Count | None = None
