"""Programs: graphs joined by counted loops and bounded while-loops, as `spatial.loops` writes them.

A loop is one operation of the graph around it. Its body is traced once, into a graph of its own whose inputs are the
state, a row of each table, and what the body takes from around it. A while-loop is a counted one that watches a number
of its state and leaves early when no lane needs another round; lanes that are done are frozen by a selection in the
body, so that no lane's bits depend on its neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linkwork.compiler.graph import Count, Loop, Table, Value
from linkwork.compiler.traced import Scope, Traced, operand, wrap
from linkwork.errors import NotTraceable
from linkwork.spatial.scalar import where

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Rows:
    """The shape of a table or a series: rows of shape `row`, as many as `count` is when the kernel is called.

    A series may be part of a longer one: then `room` counts the rows from one state's to the next one's.
    """

    count: Count
    row: Shape
    room: Count | None = None


class TracedTable(NamedTuple):
    """A table among the arguments of a function that is being traced: to be handed to `record(..., each=...)`."""

    argument: int
    rows: Rows


class Series(NamedTuple):
    """What a loop records, while it is being traced: to be returned by the function."""

    number: int
    rows: Rows


class LoopTracer:
    """Turns the loops of a function into operations of the graph that it is being traced into."""

    def __init__(self, graph: Scope):
        self.scope, self.series = graph, list[Series]()

    def record(
        self, count: int | Count, body: Callable[..., Any], state: Sequence[Any], each: Sequence[Any]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """`spatial.loops.record` in a trace; the index of the round is one more number of the state."""

        def indexed(k: Any, *now_and_rows: Any) -> tuple[Any, tuple[Any, ...]]:
            new, row = body(k, *now_and_rows)
            return (k + 1.0, *_like(state, new)), row

        (_, *last), series = self._loop(count, indexed, (0.0, *state), each, watched=False)
        return tuple(last), series

    def iterate(self, most: int, body: Callable[..., Any], state: Sequence[Any]) -> tuple[tuple[Any, ...], Any, Any]:
        """`spatial.loops.iterate` in a trace: the state carries `going`, 1 or 0, and the rounds so far."""

        def frozen_when_done(going: Any, rounds: Any, *now: Any) -> tuple[Any, tuple[()]]:
            new, done = body(*now)
            still = going == 1.0
            kept = [where(still, a, b) for a, b in zip(_like(state, new), now, strict=True)]
            return (where(done, 0.0, going), rounds + going, *kept), ()

        if isinstance(most, Count) or most < 0:
            raise NotTraceable(f"the bound of an iteration must be a whole number; got {most!r}")
        (going, rounds, *last), _ = self._loop(most, frozen_when_done, (1.0, 0.0, *state), (), watched=True)
        return tuple(last), rounds, going == 0.0

    def _loop(
        self, count: int | Count, body: Callable[..., Any], state: Sequence[Any], each: Sequence[Any], watched: bool
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Add a loop to the graph; the last state, and the series that it records."""
        around = self.scope
        self.scope = inside = Scope(around)
        shapes = [np.shape(x) for x in state]
        now = [inputs(inside, shape) for shape in shapes]
        rows = [inputs(inside, self._table(table, count).rows.row) for table in each]
        new, recorded = body(*now, *rows)
        self.scope, inside.open = around, False
        numbers = flat(state)
        inside.outputs = [operand(inside, x) for x in (*flat(new), *flat(recorded))]
        series = tuple(self._series(count, np.shape(x)) for x in recorded)
        tables = tuple(Table(table.argument, math.prod(table.rows.row)) for table in each)
        loop = Loop(
            inside, len(numbers), count, tables, tuple(one.number for one in series), watch=0 if watched else None
        )
        node = around.apply(loop, *(operand(around, x) for x in numbers), *inside.taken)
        values = iter([wrap(around, around.apply(Value(k), node)) for k in range(len(numbers))])
        last = [_shaped([next(values) for _ in range(math.prod(shape))], shape) for shape in shapes]
        return tuple(last), series

    def _table(self, table: Any, count: int | Count) -> TracedTable:
        if not isinstance(table, TracedTable) or table.rows.count != count:
            raise NotTraceable(f"a loop takes rows of tables that have one row a round; got {table!r:.80}")
        return table

    def _series(self, count: int | Count, row: Shape) -> Series:
        if not isinstance(count, Count) or self.scope.depth > 0:
            raise NotTraceable("a loop that records must not be inside another, and its count must be an argument")
        self.series.append(Series(len(self.series), Rows(count, row)))
        return self.series[-1]


def _like(state: Sequence[Any], new: Any) -> tuple[Any, ...]:
    """`new` as the next state, if it has the shapes of the old one."""
    if not isinstance(new, tuple) or [np.shape(x) for x in new] != [np.shape(x) for x in state]:
        before, after = ([np.shape(x) for x in each] for each in (state, new if isinstance(new, tuple) else (new,)))
        raise NotTraceable(f"a loop's body must return the state as a tuple with the same shapes {before}; got {after}")
    return new


def inputs(graph: Scope, shape: Shape) -> Any:
    """New inputs of a graph as an object array, or as a number for shape ()."""
    return _shaped([Traced(graph, graph.input()) for _ in range(math.prod(shape))], shape)


def _shaped(numbers: list[Any], shape: Shape) -> Any:
    if shape == ():
        return numbers[0]
    array = np.empty(len(numbers), dtype=object)
    array[:] = numbers
    return array.reshape(shape)


def flat(values: Sequence[Any]) -> list[Any]:
    """All numbers of some numbers and arrays, one after the other."""
    return [x for value in values for x in np.ravel(np.asarray(value, dtype=object))]
