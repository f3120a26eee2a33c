"""Room for what a run records: how much it will be is known, and told, before it starts."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkwork.compiler.result_buffers import Results
from linkwork.errors import LinkworkError, unknown_name
from linkwork.simulation.method_choice import Choice
from linkwork.simulation.problem import Request
from linkwork.spatial.scalar import Array

SERIES = (
    "q", "v", "tau", "work", "memory", "stops", "wrenches", "slip", "rounds", "drive.force",
    "contact.state", "contact.since", "contact.force", "contact.anchor", "contact.slip", "contact.energy",
    "contact.torque", "contact.wrenches",
)  # fmt: skip
ON_REQUEST = ("stops", "wrenches", "rounds", "drive.force", "contact.wrenches")
COMFORTABLE = 2 << 30  # bytes that are recorded without being asked for
WORTH_TELLING = 1 << 30


class Storage:
    """Arrays (*batch, rows, ...) for every recorded series, and the numbers of the steps (rows,) they belong to."""

    def __init__(
        self, asked: Request, choice: Choice, record: Sequence[str] | None, every: int | None, duration: float
    ):
        batch, shapes = asked.batch, asked.series_shapes
        default = [name for name in shapes if name not in ON_REQUEST]
        names = _names(record, shapes) if record is not None else default
        if {"q", "v"} <= set(names):  # what follows from them depends on what was engaged then
            names += [name for name in (*asked.switched, "slip") if name in shapes and name not in names]
        self.series = tuple(names)
        self.count = max(1, round(duration / choice.dt))  # steps in all
        row = 8 * int(np.prod(batch, dtype=int)) * sum(int(np.prod(shapes[name], dtype=int)) for name in self.series)
        self.every = _every(every, self.count, row)
        first = int(asked.start.step.max(initial=0.0))
        self.steps = np.append(np.arange(0.0, self.count, self.every), self.count) + first
        self.bytes = row * len(self.steps)
        _refuse_beyond_memory(self.bytes)
        if self.bytes > WORTH_TELLING:
            warnings.warn(
                f"linkwork: this run records {self.bytes / 1e9:.1f} GB ({', '.join(self.series)} of "
                f"{len(self.steps)} rows); `every` and `record` make it less",
                stacklevel=4,
            )
        self.arrays = _arrays({name: (*batch, len(self.steps), *shapes[name]) for name in self.series})
        self.rows = 0  # rows filled so far
        self._axis = len(batch)

    def places(self) -> dict[str, Array]:
        """Where the next rows of every series go: (*batch, rows that are left, ...)."""
        return {name: array[self._rows(self.rows, len(self.steps))] for name, array in self.arrays.items()}

    def empty(self, count: int) -> dict[str, Array]:
        """Arrays for `count` rows of every series that may not all be kept."""
        shapes = {name: array.shape for name, array in self.arrays.items()}
        return {name: np.empty((*s[: self._axis], count, *s[self._axis + 1 :])) for name, s in shapes.items()}

    def put(self, rows: Mapping[str, Array], count: int) -> None:
        """Keep the next `count` rows, each series (*batch, count, ...)."""
        for name, values in rows.items():
            self.arrays[name][self._rows(self.rows, self.rows + count)] = values
        self.rows += count

    def _rows(self, start: int, stop: int) -> tuple[slice, ...]:
        return (*(slice(None),) * self._axis, slice(start, stop))

    def cut(self, last: float) -> None:
        """Forget rows after the step `last`, at which all members had ended."""
        self.rows = int(np.searchsorted(self.steps[: self.rows], last, side="right"))

    def recorded(self, ended: Array) -> dict[str, Array]:
        """What was recorded so far; nan for members (*batch,) after the step at which they ended."""
        steps = self.steps[: self.rows]
        late = steps > ended[..., None]
        found = {}
        for name, array in self.arrays.items():
            kept = array[self._rows(0, self.rows)]
            if late.any():
                kept[late] = np.nan
            found[name] = kept
        return found


_MEMORY = Results()  # what a large run leaves when nobody holds it any more serves the next


def _arrays(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
    """Arrays of these shapes, one after the other in one piece of memory."""
    sizes = [math.prod(shape) for shape in shapes.values()]
    parts = np.split(_MEMORY.new((sum(sizes),)), np.cumsum(sizes)[:-1]) if sizes else []
    return {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}


def _names(record: Sequence[str], possible: Mapping[str, Any]) -> list[str]:
    names = [record] if isinstance(record, str) else list(record)
    for name in names:
        if name not in possible:
            hint = (
                " There is nothing of the kind in this run." if name in SERIES else " The others follow from q and v."
            )
            raise unknown_name("series to record", name, possible, hint)
    return names


def _every(every: int | None, count: int, row: int) -> int:
    """Steps between rows: as asked, or as many as keep a run comfortable."""
    if every is None:
        return max(1, math.ceil(row * count / COMFORTABLE))
    if not (isinstance(every, (int, np.integer)) and every >= 1):
        raise LinkworkError(f"every must be a whole number of steps, at least 1; got {every!r}")
    return min(int(every), count)


def _refuse_beyond_memory(needed: int) -> None:
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if needed > 0.8 * there:
            raise LinkworkError(
                f"the recording would take {needed / 1e9:.1f} GB, and this machine has {there / 1e9:.1f} GB: record "
                "fewer rows (every=...), fewer series (record=...), or fewer members at a time"
            )
