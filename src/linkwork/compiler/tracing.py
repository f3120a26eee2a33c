"""Tracing: runs a plain function on traced numbers and records its operations as a graph."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import linkwork.compiler.function_jacobian  # noqa: F401 - registers derivatives of functions of traced numbers
from linkwork.compiler.graph import Graph, pruned
from linkwork.compiler.kernel_shapes import Count, Rows, Shape
from linkwork.compiler.traced_loops import LoopTracer, Series, TracedTable, inputs
from linkwork.compiler.traced_number import Scope, operand
from linkwork.errors import NotTraceable
from linkwork.spatial.traceable_loops import traced_by


def trace(
    function: Callable[..., Any],
    arguments: Sequence[Shape | Rows],
    results: Sequence[Shape | Rows] | None = None,
    counts: int = 0,
) -> Graph:
    """Return the graph of `function` for arguments of the given shapes.

    The graph's inputs and outputs are the numbers of the arrays in C order. An argument with a shape of type `Rows` is
    a table that a loop reads row by row. After its arrays, the function is called with `counts` further arguments:
    iteration counts, whose values the caller of the kernel gives. A function with several results returns a tuple, with
    recorded series at its end. `results`, if given, are the expected shapes.
    """
    graph = Scope()
    tracer = LoopTracer(graph)
    arrays = [
        TracedTable(number, shape) if isinstance(shape, Rows) else inputs(graph, shape)
        for number, shape in enumerate(arguments)
    ]
    try:
        with traced_by(tracer):
            found = function(*arrays, *map(Count, range(counts)))
    except TypeError as failure:
        if "has no callable" in str(failure):  # NumPy's message for a function without an object loop
            raise NotTraceable(
                f"{failure}: np.array([...]) cannot mix traced and plain numbers; combine them with np.stack([...]) or "
                "np.concatenate([...]), or apply the function to the numbers first"
            ) from failure
        raise
    values = list(found) if isinstance(found, tuple) else [found]
    series = [value for value in values if isinstance(value, Series)]
    finals = [np.asarray(value, dtype=object) for value in values if not isinstance(value, Series)]
    if series != tracer.series or values[len(finals) :] != series:
        raise NotTraceable("a function must return all arrays that its loops record, in order, after its other results")
    if results is not None:
        shapes = [*(np.shape(value) for value in finals), *(one.rows for one in series)]
        if not _same_sizes(shapes, results):
            name = getattr(function, "__name__", type(function).__name__)
            raise NotTraceable(
                f"function {name!r} must return arrays of the shapes {list(results)}; it returned {shapes}"
            )
    graph.outputs = [operand(graph, x) for value in finals for x in value.ravel()]
    graph.open = False
    return pruned(graph)


def _same_sizes(found: Sequence[Shape | Rows], wanted: Sequence[Shape | Rows]) -> bool:
    """Return whether the shapes `found` and `wanted` agree pairwise in their number of entries.

    The shapes of tables and series, of type `Rows`, must be equal.
    """
    return len(found) == len(wanted) and all(
        isinstance(a, Rows) and isinstance(b, Rows) and (a.count, a.row) == (b.count, b.row)
        if isinstance(a, Rows) or isinstance(b, Rows)
        else math.prod(a) == math.prod(b)
        for a, b in zip(found, wanted, strict=True)
    )
