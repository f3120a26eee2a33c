"""Exact derivatives of what was traced: node by node, along given directions, with zeros never computed.

`pushforward` works inside a trace: it takes traced outputs and inputs and returns traced derivatives in the same graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.compiler.graph import ARITY, TRUTHS, Graph
from linkwork.compiler.trace import Traced
from linkwork.spatial.scalar import Array

Partial = Callable[[Graph, int, Sequence[int]], Sequence[int | None]]  # of a node, its number and its operands


def _of(operation: str) -> Callable[..., int]:
    return lambda g, *operands: g.apply(operation, *operands)


_add, _sub, _mul, _div, _neg = (_of(name) for name in ("add", "sub", "mul", "div", "neg"))


def _square(g: Graph, a: int) -> int:
    return _mul(g, a, a)


def _one_minus_square(g: Graph, a: int) -> int:
    return _sub(g, g.constant(1.0), _square(g, a))


def _atan2(g: Graph, y: int, x: int) -> Sequence[int]:
    length = _add(g, _square(g, x), _square(g, y))
    return _div(g, x, length), _neg(g, _div(g, y, length))


# The partial derivatives of each operation by its operands; `r` is the node itself.
PARTIALS: dict[str, Partial] = {
    "add": lambda g, r, x: (g.constant(1.0), g.constant(1.0)),
    "sub": lambda g, r, x: (g.constant(1.0), g.constant(-1.0)),
    "neg": lambda g, r, x: (g.constant(-1.0),),
    "mul": lambda g, r, x: (x[1], x[0]),
    "div": lambda g, r, x: (_div(g, g.constant(1.0), x[1]), _neg(g, _div(g, r, x[1]))),
    "sqrt": lambda g, r, x: (_div(g, g.constant(0.5), r),),
    "sin": lambda g, r, x: (g.apply("cos", x[0]),),
    "cos": lambda g, r, x: (_neg(g, g.apply("sin", x[0])),),
    "tan": lambda g, r, x: (_add(g, g.constant(1.0), _square(g, r)),),
    "asin": lambda g, r, x: (_div(g, g.constant(1.0), g.apply("sqrt", _one_minus_square(g, x[0]))),),
    "acos": lambda g, r, x: (_div(g, g.constant(-1.0), g.apply("sqrt", _one_minus_square(g, x[0]))),),
    "exp": lambda g, r, x: (r,),
    "log": lambda g, r, x: (_div(g, g.constant(1.0), x[0]),),
    "abs": lambda g, r, x: (
        g.apply("select", g.apply("lt", x[0], g.constant(0.0)), g.constant(-1.0), g.constant(1.0)),
    ),
    "floor": lambda g, r, x: (None,),
    "atan2": lambda g, r, x: _atan2(g, x[0], x[1]),
}


def pushforward(outputs: Array, inputs: Array, directions: Array) -> Array:
    """Derivatives (k, *outputs.shape) of traced `outputs` along k directions (k, *inputs.shape) of traced `inputs`.

    Directions hold floats or traced numbers.
    """
    results, parameters = list(np.ravel(outputs)), list(np.ravel(inputs))
    graph = next(x.graph for x in parameters)
    ends = [x.number if isinstance(x, Traced) else -1 for x in results]
    order = _between(graph, ends, {x.number for x in parameters})
    columns = []
    for direction in np.asarray(directions).reshape(len(directions), -1):
        rates = {x.number: d for x, d in zip(parameters, (_node(graph, d) for d in direction), strict=True)}
        rates = {number: rate for number, rate in rates.items() if graph.value(rate) != 0.0}
        _propagate(graph, order, rates)
        columns.append([_wrap(graph, rates.get(end)) for end in ends])
    return np.array(columns, dtype=object).reshape(len(columns), *np.shape(outputs))


def _between(graph: Graph, ends: Sequence[int], starts: set[int]) -> list[int]:
    """The nodes that lead from the starts to the ends, in order."""
    leads = [False] * len(graph.nodes)
    for number, node in enumerate(graph.nodes):
        if number in starts:
            leads[number] = True
        elif node[0] in ARITY:
            leads[number] = any(leads[k] for k in node[1:])
    needed = [False] * len(graph.nodes)
    for end in ends:
        if end >= 0:
            needed[end] = True
    for number in reversed(range(len(graph.nodes))):
        if needed[number] and graph.nodes[number][0] in ARITY and number not in starts:
            for k in graph.nodes[number][1:]:
                needed[k] = True
    return [k for k in range(len(leads)) if leads[k] and needed[k] and k not in starts and graph.nodes[k][0] in ARITY]


def _propagate(graph: Graph, order: Sequence[int], rates: dict[int, int]) -> None:
    """Fill in the rate of every node in order; nodes without one have rate zero."""
    for number in order:
        operation, *operands = graph.nodes[number]
        if operation in TRUTHS or not any(k in rates for k in operands):
            continue
        if operation == "select":
            zero = graph.constant(0.0)
            rate = graph.apply("select", operands[0], rates.get(operands[1], zero), rates.get(operands[2], zero))
        else:
            rate = graph.constant(0.0)
            partials = PARTIALS[operation](graph, number, operands)
            for k, partial in zip(operands, partials, strict=True):
                if k in rates and partial is not None:
                    rate = _add(graph, rate, _mul(graph, partial, rates[k]))
        if graph.value(rate) != 0.0:
            rates[number] = rate


def _node(graph: Graph, value: Any) -> int:
    return value.number if isinstance(value, Traced) else graph.constant(float(value))


def _wrap(graph: Graph, number: int | None) -> Any:
    """A rate as a number: traced, or a float if it is constant."""
    if number is None:
        return 0.0
    value = graph.value(number)
    return Traced(graph, number) if value is None else value
