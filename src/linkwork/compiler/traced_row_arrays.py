"""Traced row arrays: the arrays of `spatial.row_arrays` as memory regions of a kernel.

Each member of a batch runs in one SIMD lane, and a loop runs as long as any lane needs another iteration. A write
therefore has a condition (`LoopTracer.mask`): the write does not change the numbers of lanes that have finished the
loop. A visit (a loop over selected rows) runs its body for each row that any lane has selected, and changes only the
lanes that have selected this row. The result of a member therefore does not depend on other members.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.compiler.graph import Lookup
from linkwork.compiler.row_array_operations import ReadRow, Region, WriteRow
from linkwork.compiler.traced_number import Scope, Traced, any_lane, operand, wrap
from linkwork.errors import NotTraceable
from linkwork.spatial.scalar import Array, Number, where

if TYPE_CHECKING:
    from linkwork.compiler.traced_loops import LoopTracer


class TracedRows:
    """A row array in a trace, with the contents that it has between two successive writes.

    `region` is its memory in the kernel. `version` is the traced number that the last write returned; as an operand, it
    makes later reads and writes depend on this write.
    """

    def __init__(self, tracer: LoopTracer, region: Region, version: Number):
        self._tracer, self.region, self.version = tracer, region, version
        tracer.latest[region.number] = self

    @property
    def count(self) -> int:
        """Number of rows of the row array."""
        return self.region.count

    @property
    def size(self) -> int:
        """Number of columns of the row array."""
        return self.region.size

    def at(self, index: Number) -> Array:
        """Return row number `index` as an array (size,) of traced numbers."""
        scope = self._tracer.scope
        place, version = self._index(index), operand(scope, self._current())
        row = np.empty(self.size, dtype=object)
        row[:] = [wrap(scope, scope.apply(ReadRow(self.region, column), place, version)) for column in range(self.size)]
        return row

    def put(self, index: Number, row: Sequence[Number] | Array, first: int = 0, when: Any = True) -> TracedRows:
        """Return the row array after the numbers `row` are written to row `index`, from column `first` on.

        Lanes in which `when` is false, or which have finished their loop, do not write.
        """
        mask = self._tracer.mask
        return self.written(index, row, first, when if mask is True else mask & when)

    def written(self, index: Number, row: Sequence[Number] | Array, first: int, when: Any) -> TracedRows:
        """Return the row array after a write in all lanes where `when` is true, even if they have finished their loop.

        The numbers `row` are written to the row `index`, from column `first` on.
        """
        numbers = list(np.ravel(np.asarray(row, dtype=object)))
        if first + len(numbers) > self.size:
            raise NotTraceable(f"a row of {self.size} numbers cannot hold {len(numbers)} numbers from column {first}")
        scope = self._tracer.scope
        operands = [operand(scope, x) for x in (self._current(), when, index, *numbers)]
        self._index(index)
        version = scope.apply(WriteRow(self.region, first), *operands)
        return TracedRows(self._tracer, self.region, Traced(scope, version))

    def again(self, version: Number) -> TracedRows:
        """Return the same row array with another version, for the beginning of a loop's body or the end of the loop.

        `version` is a number of the loop's state, which stands for the last write before this point.
        """
        return TracedRows(self._tracer, self.region, version)

    def selection(self, first: Number, count: int) -> TracedSelection:
        """Return the selection of rows whose first number is not zero; see `spatial.row_arrays.selected_rows`.

        Only `count` rows from row `first` on are considered, and a visit counts these rows from 0.
        """
        tracer = self._tracer
        rows, length = _listed(tracer, self, first, count, tracer.new_rows(count, 1, shared=True), 0.0)
        return TracedSelection(tracer, self, first, count, rows, 0.0, length)

    def selections(self, size: int, groups: Any) -> TracedSelections:
        """Return the selection of each group of rows; see `spatial.row_arrays.selected_rows_of_groups`.

        Each of the `groups` has `size` successive rows.
        """
        return TracedSelections(self._tracer, self, size, groups)

    def _current(self) -> Number:
        if self._tracer.latest[self.region.number] is not self:
            raise NotTraceable(
                "a row array was used after a later version of it was written; pass the later one on in the loop state"
            )
        return self.version

    def _index(self, index: Number) -> int:
        scope = self._tracer.scope
        number = operand(scope, index)
        if not is_uniform(scope, number):
            raise NotTraceable(
                "the index of a row array must be the counter of a loop, or follow from it and constants, so that it "
                "is the same for all members of a batch"
            )
        return number


class TracedSelections:
    """Selections of rows of `flags` for groups of `size` successive rows, in a trace.

    The selected rows of all groups are listed in one row array: the list of a group has the rows that any SIMD lane has
    selected, and begins at the row number of the group's first row. A second row array has the lengths of the lists.
    `groups` is the selection of groups for which lists are made.
    """

    def __init__(self, tracer: LoopTracer, flags: TracedRows, size: int, groups: Any):
        self._tracer, self._flags, self._size = tracer, flags, size

        def add(group: Number, rows: TracedRows, lengths: TracedRows) -> tuple[TracedRows, TracedRows]:
            rows, length = _listed(tracer, flags, group * size, size, rows, group * size)
            return rows, lengths.written(group, [length], 0, True)

        rows, lengths = (tracer.new_rows(n, 1, shared=True) for n in (flags.count, flags.count // size))
        self._rows, self._lengths = groups.visit(add, rows, lengths)

    def of(self, group: Number) -> TracedSelection:
        """Return the selection of the rows of a group; a visit counts these rows from 0."""
        first, length = group * self._size, self._lengths.at(group)[0]
        return TracedSelection(self._tracer, self._flags, first, self._size, self._rows, first, length)


def _listed(
    tracer: LoopTracer, flags: TracedRows, first: Number, count: int, rows: TracedRows, place: Number
) -> tuple[TracedRows, Number]:
    """Write a list of the row numbers that any SIMD lane has selected; return the row array and the list's length.

    A lane selects a row of `flags` if its first number is not zero. Only `count` rows from row `first` on are listed,
    and counted from 0. The list has one number per row of the row array `rows`, from row `place` on. `tracer` traces
    the loop that writes it.
    """

    def add(k: Number, length: Number, rows: TracedRows) -> tuple[Any, ...]:
        tracer.scope.uniform.add(length.number)
        wanted = (flags.at(first + k)[0] != 0.0) & tracer.mask
        found = any_lane(wanted)
        return length + where(found, 1.0, 0.0), rows.written(place + length, [k], 0, found)

    (length, rows), _ = tracer.record(count, lambda k, *state: (add(k, *state), ()), (0.0, rows), ())
    tracer.scope.uniform.add(length.number)
    return rows, length


class TracedSelection:
    """Rows that the loop `visit` runs over, in a trace: the rows that any SIMD lane has selected.

    A lane has selected a row if the first number of this row of `flags` is not zero. Only `count` rows from row `first`
    on are considered, and counted from 0. The row array `rows` lists the numbers of the selected rows, one per row,
    from row `place` on. `length` is the length of this list. List and length are equal in all lanes.
    """

    def __init__(
        self,
        tracer: LoopTracer,
        flags: TracedRows,
        first: Number,
        count: int,
        rows: TracedRows,
        place: Number,
        length: Number,
    ):
        self._tracer, self._flags, self._first, self._count = tracer, flags, first, count
        self._rows, self._place, self._length = rows, place, length

    def visit(self, body: Callable[..., tuple[Any, ...]], *state: Any, backward: bool = False) -> tuple[Any, ...]:
        """Return the loop state after state = body(k, *state) for each selected row number k, in increasing order.

        `state` is the initial state. If `backward` is true, the order of k is decreasing.
        """
        tracer, length = self._tracer, self._length
        outer = tracer.mask

        def each(i: Number, *now: Any) -> tuple[tuple[Any, ...], Any]:
            tracer.scope.uniform.add(i.number)
            k = self._rows.at(self._place + (length - 1.0 - i if backward else i))[0]
            tracer.mask = (self._flags.at(self._first + k)[0] != 0.0) & (i < length) & outer
            changed = body(k, *now)
            tracer.mask, own = outer, tracer.mask
            return (i + 1.0, *tracer.frozen(own, changed, now)), i + 1.0 < length

        return tracer.while_going(self._count, each, 0.0 < length, (0.0, *state))[1:]


def is_uniform(scope: Scope, number: int) -> bool:
    """Return whether node `number` of a scope certainly has the same value in all SIMD lanes."""
    if number in scope.uniform:
        return True
    node = scope.nodes[number]
    operation = node[0]
    if operation == "const":
        return True
    if operation == "input":
        outer = scope.outside_node(number)
        return outer is not None and scope.around is not None and is_uniform(scope.around, outer)
    if isinstance(operation, ReadRow):
        return operation.region.shared and is_uniform(scope, node[1])
    if operation == "any" or (isinstance(operation, (str, Lookup)) and all(is_uniform(scope, k) for k in node[1:])):
        scope.uniform.add(number)
        return True
    return False


def shape_in_state(value: Any) -> tuple[int, ...]:
    """Return the shape of the numbers that stand for `value` in a loop's state.

    A row array is represented by one number of shape (): the version that its last write returned.
    """
    return () if isinstance(value, TracedRows) else np.shape(value)


def numbers_in_state(values: Sequence[Any]) -> list[Any]:
    """Return all numbers of `values`, the state of a loop, as one list.

    A row array is represented by one number: the version that its last write returned.
    """
    found: list[Any] = []
    for value in values:
        whole = value.version if isinstance(value, TracedRows) else value
        found += list(np.ravel(np.asarray(whole, dtype=object))) if math.prod(np.shape(whole)) else []
    return found
