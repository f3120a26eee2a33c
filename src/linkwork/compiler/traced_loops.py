"""Traced loops: the counted loops and bounded while-loops of `spatial.traceable_loops` as graph operations.

A loop is one operation of the enclosing graph. Its body is traced once, into a separate graph with these inputs: the
state, one row of each table, and values from the enclosing graph. A while-loop is a counted loop that watches a number
of its state and ends early if no SIMD lane needs another iteration. In the body, `where` freezes the state of lanes
that are done, so that the bits of a lane do not depend on other lanes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.compiler.graph import Loop, Table, Value
from linkwork.compiler.kernel_shapes import Count, Rows, Shape
from linkwork.compiler.row_array_operations import Region
from linkwork.compiler.traced_number import Scope, Traced, operand, wrap
from linkwork.compiler.traced_row_arrays import TracedRows, numbers_in_state, shape_in_state
from linkwork.errors import NotTraceable
from linkwork.spatial.scalar import where


class TracedTable(NamedTuple):
    """A table argument of a traced function, to be passed to `record(..., each=...)`, which reads it row by row.

    `argument` is the index of the table among the function's arguments, and `rows` the shape of the table.
    """

    argument: int
    rows: Rows


class Series(NamedTuple):
    """A series of values that a compiled loop records, one row per iteration; the traced function must return it.

    `number` is the index of the series among all recorded series of the function, and `rows` its shape.
    """

    number: int
    rows: Rows


class LoopTracer:
    """Converts the loops of a traced function to loop operations of its graph.

    `mask` is a condition: it is true in the SIMD lanes that still take part in the innermost while-loop, and in all
    lanes outside of while-loops. `latest` maps the number of each region of memory to its row array after the last
    write.
    """

    def __init__(self, graph: Scope):
        self.scope, self.series = graph, list[Series]()
        self.mask: Any = True
        self.latest: dict[int, TracedRows] = {}

    def row_array(self, count: int, size: int) -> TracedRows:
        """Return a new row array; implements `spatial.row_arrays.row_array`.

        It has `count` rows of `size` numbers.
        """
        return self.new_rows(count, size, shared=False)

    def new_rows(self, count: int, size: int, shared: bool) -> TracedRows:
        """Return a new row array of `count` rows of `size` numbers.

        If `shared` is true, the numbers are the same in all SIMD lanes.
        """
        return TracedRows(self, Region(len(self.latest), count, size, shared), 0.0)

    def record(
        self, count: int | Count, body: Callable[..., Any], state: Sequence[Any], each: Sequence[Any]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Trace a counted loop that records values; implements `spatial.traceable_loops.record`.

        In the graph, the loop's state has one more number, which comes first: the iteration index.
        """
        loop = _OpenLoop(self, count, (0.0, *state), each)
        k, *now = loop.now
        self.scope.uniform.add(k.number)
        new, row = body(k, *now, *loop.rows)
        (_, *last), series = loop.close((k + 1.0, *_checked_state(state, new)), row)
        return tuple(last), series

    def iterate(
        self, most: int, body: Callable[..., Any], state: Sequence[Any], start: Any = True
    ) -> tuple[tuple[Any, ...], Any, Any]:
        """Trace a bounded while-loop; implements `spatial.traceable_loops.iterate`.

        In the graph, the loop's state has two more numbers, which come first. These are `going`, 1 in lanes that are
        not done and else 0, and the iteration count of the lane.
        """
        if isinstance(most, Count) or most < 0:
            raise NotTraceable(f"the bound of `iterate` must be an integer >= 0; got {most!r}")
        outer = self.mask
        loop = _OpenLoop(self, most, (where(start & outer, 1.0, 0.0), 0.0, *state), (), watch=0)
        going, iterations, *now = loop.now
        still = going == 1.0
        self.mask = still
        new, done = body(*now)
        self.mask = outer
        frozen = self.frozen(still, _checked_state(now, new), now)
        (going, iterations, *last), _ = loop.close((where(done, 0.0, going), iterations + going, *frozen), ())
        return tuple(last), iterations, going == 0.0

    def while_going(
        self, most: int, body: Callable[..., tuple[Sequence[Any], Any]], start: Any, state: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Trace a loop of state, going = body(*state) while `going` is true in any lane; return the final state.

        The loop makes at most `most` iterations, and every lane takes part in each of them. It makes none if the
        condition `start` is false in all lanes.
        """
        loop = _OpenLoop(self, most, (where(start, 1.0, 0.0), *state), (), watch=0)
        _, *now = loop.now
        new, going = body(*now)
        (_, *last), _ = loop.close((where(going, 1.0, 0.0), *_checked_state(state, tuple(new))), ())
        return tuple(last)

    @staticmethod
    def frozen(still: Any, new: Sequence[Any], now: Sequence[Any]) -> list[Any]:
        """Return the state of a loop after an iteration: `new` in lanes where `still` is true, else `now`.

        Row arrays are returned unchanged, because writes to row arrays have the condition `mask`.
        """
        return [a if isinstance(a, TracedRows) else where(still, a, b) for a, b in zip(new, now, strict=True)]

    def new_series(self, count: int | Count, row: Shape) -> Series:
        """Add a kernel result with one row of shape `row` for each of `count` iterations of a loop; return it."""
        if not isinstance(count, Count) or self.scope.depth > 0:
            raise NotTraceable(
                "a loop that records values must not be inside another loop, and its number of iterations must be an "
                "argument of the compiled function"
            )
        self.series.append(Series(len(self.series), Rows(count, row)))
        return self.series[-1]


class _OpenLoop:
    """A loop whose body is being traced: from its creation to `close`, operations are added to the graph of the body.

    `count` is the number of iterations, `first` the initial state, `each` the tables, and `watch` the index of the
    watched number in the state. `now` are the numbers and arrays of the state at the beginning of an iteration, and
    `rows` the current rows of the tables. The tracer calls the body between `__init__` and `close`; nested loops then
    use few Python stack frames.
    """

    def __init__(
        self,
        tracer: LoopTracer,
        count: int | Count,
        first: Sequence[Any],
        each: Sequence[Any],
        watch: int | None = None,
    ):
        self.tracer, self.count, self.first, self.watch = tracer, count, first, watch
        self.begin = numbers_in_state(first)
        self.around = tracer.scope
        self.inside = tracer.scope = Scope(self.around)
        self.now: list[Any] = [
            x.again(inputs(self.inside, ())) if isinstance(x, TracedRows) else inputs(self.inside, np.shape(x))
            for x in first
        ]
        self.tables = [self._table(table) for table in each]
        self.rows = [inputs(self.inside, table.rows.row) for table in self.tables]

    def close(self, new: Sequence[Any], recorded: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Add the loop to the enclosing graph; return the final state and the recorded series.

        `new` is the next state that the body returned, and `recorded` the values that it records.
        """
        around, inside = self.around, self.inside
        self.tracer.scope, inside.open = around, False
        numbers = self.begin
        inside.outputs = [operand(inside, x) for x in (*numbers_in_state(new), *flat(recorded))]
        series = tuple(self.tracer.new_series(self.count, np.shape(x)) for x in recorded)
        tables = tuple(Table(table.argument, math.prod(table.rows.row)) for table in self.tables)
        loop = Loop(inside, len(numbers), self.count, tables, tuple(one.number for one in series), self.watch)
        node = around.apply(loop, *(operand(around, x) for x in numbers), *inside.taken)
        values = iter([wrap(around, around.apply(Value(k), node)) for k in range(len(numbers))])
        last = [_shaped([next(values) for _ in range(math.prod(shape))], shape) for shape in map(shape_in_state, new)]
        arrays = zip(new, last, strict=True)
        return tuple(a.again(x) if isinstance(a, TracedRows) else x for a, x in arrays), series

    def _table(self, table: Any) -> TracedTable:
        if not isinstance(table, TracedTable) or table.rows.count != self.count:
            raise NotTraceable(
                "each array that a compiled loop iterates over (`each`) must be a kernel argument with one row per "
                f"iteration; got {table!r:.80}"
            )
        return table


def _checked_state(state: Sequence[Any], new: Any) -> tuple[Any, ...]:
    """Return `new` as the next state of a loop; raise NotTraceable if its shapes differ from those of `state`."""
    if not isinstance(new, tuple) or [*map(shape_in_state, new)] != [*map(shape_in_state, state)]:
        before, after = ([*map(shape_in_state, each)] for each in (state, new if isinstance(new, tuple) else (new,)))
        raise NotTraceable(f"a loop's body must return the state as a tuple with the same shapes {before}; got {after}")
    for a, b in zip(state, new, strict=True):
        if isinstance(a, TracedRows) and a.region != b.region:
            raise NotTraceable(
                "a loop's body must return the row arrays of its state; got another row array: copy its rows instead"
            )
    return new


def inputs(graph: Scope, shape: Shape) -> Any:
    """Add the inputs of an argument with the given shape to a graph; return them as an object array of traced numbers.

    For shape () the result is one traced number.
    """
    return _shaped([Traced(graph, graph.input()) for _ in range(math.prod(shape))], shape)


def _shaped(numbers: list[Any], shape: Shape) -> Any:
    if shape == ():
        return numbers[0]
    array = np.empty(len(numbers), dtype=object)
    array[:] = numbers
    return array.reshape(shape)


def flat(values: Sequence[Any]) -> list[Any]:
    """Return all numbers in `values`, which are numbers and arrays, as one list."""
    return [x for value in values for x in np.ravel(np.asarray(value, dtype=object))]
