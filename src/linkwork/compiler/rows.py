"""The shapes of what enters and leaves a kernel: fixed ones, and rows as many as a count says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

Shape = tuple[int, ...]


class Count(NamedTuple):
    """A number of iterations that is known when the kernel is called: the `number`-th of its counts."""

    number: int


@dataclass(frozen=True)
class Rows:
    """The shape of a table or a series: rows of shape `row`, as many as `count` is when the kernel is called.

    A series may be part of a longer one: then `room` counts the rows from one state's to the next one's.
    """

    count: Count
    row: Shape
    room: Count | None = None
