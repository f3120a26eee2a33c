"""Row arrays: arrays whose rows a compiled loop reads and writes at indices that it computes.

The indices of NumPy's arrays of traced numbers are fixed in a trace, so that a loop over many similar things, such as
solid pairs, would be unrolled. The rows of a `RowArray` are in memory instead. A kernel reads and writes rows at an
index that it computes, so that the loop's body is compiled once for all rows:

    flags = row_array(n, 1)                       # rows are undefined until they are written
    (flags,) = repeat(n, lambda k, flags: (flags.put(k, [near(k)]),), flags)
    near = selected_rows(flags)                   # the rows whose first number is not zero
    (total,) = near.visit(lambda k, total: (total + force(k),), 0.0)

`put` returns the changed array; the array before the change must not be used any more. A loop that writes to a row
array must have the array in its state. An index must be the same for all members of a batch: a loop's counter, the
argument k of a visit, or a number computed from these and constant tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any, Protocol

import numpy as np

from linkwork.spatial.scalar import Array, Condition, Number
from linkwork.spatial.traceable_loops import active_tracer, check_time


class RowArray(Protocol):
    """Interface of an array of `count` rows of `size` numbers, which a loop reads and writes at computed indices."""

    @property
    def count(self) -> int:
        """Number of rows of the array."""
        ...

    @property
    def size(self) -> int:
        """Number of columns of the array."""
        ...

    def at(self, index: Number, /) -> Array:
        """Return row `index` as an array (size,)."""
        ...

    def put(self, index: Number, row: Sequence[Number] | Array, /, first: int = 0, when: Condition = True) -> Any:
        """Return the array after the numbers `row` are written to row `index`, from column `first` on.

        Nothing is written if the condition `when` is false.
        """
        ...


class Selection(Protocol):
    """Interface of a selection of rows of a row array, over whose row numbers the loop `visit` runs."""

    def visit(self, body: Callable[..., tuple[Any, ...]], /, *state: Any, backward: bool = False) -> tuple[Any, ...]:
        """Return the loop state after state = body(k, *state) for each selected row number k, in increasing order.

        `state` are the numbers and arrays of the initial state. If `backward` is true, the order of k is decreasing.
        """
        ...


class Selections(Protocol):
    """Interface of several selections: one for each group of successive rows of a row array."""

    def of(self, group: Number, /) -> Selection:
        """Return the selection of the rows of group number `group`; a visit counts these rows from 0."""
        ...


class RowLayout:
    """The layout of a row that contains several arrays, one after the other, with the shapes `shapes`, in C order."""

    def __init__(self, *shapes: tuple[int, ...]):
        self._shapes = shapes
        self._ends = (0, *accumulate(math.prod(shape) for shape in shapes))

    @property
    def size(self) -> int:
        """Number of columns of the row."""
        return self._ends[-1]

    def first(self, part: int) -> int:
        """Return the column at which array number `part` of the row begins."""
        return self._ends[part]

    def row(self, *parts: Any) -> list[Any]:
        """Return the row with the given arrays, as a list of numbers."""
        return [x for part in parts for x in np.ravel(np.asarray(part, dtype=object))]

    def parts(self, row: Array) -> list[Any]:
        """Return the arrays that a row contains; an array of the shape () is returned as a number."""
        places = zip(pairwise(self._ends), self._shapes, strict=True)
        return [row[begin:end].reshape(shape) if shape else row[begin] for (begin, end), shape in places]


def row_array(count: int, size: int) -> RowArray:
    """Return a new row array with `count` rows of `size` numbers, which are undefined until they are written."""
    tracer = active_tracer()
    return _PlainRows(count, size) if tracer is None else tracer.row_array(count, size)


def selected_rows(flags: RowArray, first: Number = 0.0, count: int | None = None) -> Selection:
    """Return the selection of the rows of `flags` whose first number is not zero.

    If `first` and `count` are given, only `count` rows from row `first` on are considered, and a visit numbers these
    rows from 0.
    """
    size = flags.count if count is None else count
    choose = getattr(flags, "selection", None)
    if choose is not None:
        return choose(first, size)
    return _PlainSelection([k for k in range(size) if flags.at(first + k)[0] != 0.0])


def selected_rows_of_groups(flags: RowArray, size: int, groups: Selection) -> Selections:
    """Return the selections of rows of `flags` whose first number is not zero, for groups of `size` successive rows.

    Group k has the rows from k times `size` on. The selection `groups` has the numbers of the groups that are needed. A
    loop that visits the same groups many times then finds the selected rows already listed.
    """
    choose = getattr(flags, "selections", None)
    if choose is not None:
        return choose(size, groups)
    return _PlainSelections(flags, size)


class _PlainSelections:
    """Selections of rows for each group of successive rows of a row array of floats, used outside of traces."""

    def __init__(self, flags: RowArray, size: int):
        self._flags, self._size = flags, size

    def of(self, group: Number) -> Selection:
        return selected_rows(self._flags, group * self._size, self._size)


class _PlainRows:
    """A row array of floats, used outside of traces.

    Only the result of the last `put` is valid, as in a trace, because `put` changes the numbers in place.
    """

    def __init__(self, count: int, size: int, table: Array | None = None):
        self.count, self.size = count, size
        self._table: Array | None = np.full((count, size), np.nan, dtype=object) if table is None else table

    def _rows(self) -> Array:
        assert self._table is not None, "a row array was used after a later version of it was written"
        return self._table

    def at(self, index: Number) -> Array:
        row = self._rows()[int(index)]
        return row.astype(float) if all(isinstance(x, (float, np.floating)) for x in row) else row.copy()

    def put(self, index: Number, row: Any, first: int = 0, when: Any = True) -> _PlainRows:
        table, self._table = self._rows(), None
        if when:
            table[int(index), first : first + len(row)] = row
        return _PlainRows(self.count, self.size, table)


class _PlainSelection:
    """Selected rows of a row array of floats, used outside of traces."""

    def __init__(self, rows: list[int]):
        self._rows = rows

    def visit(self, body: Callable[..., tuple[Any, ...]], *state: Any, backward: bool = False) -> tuple[Any, ...]:
        for k in reversed(self._rows) if backward else self._rows:
            check_time()
            state = body(k, *state)
        return state
