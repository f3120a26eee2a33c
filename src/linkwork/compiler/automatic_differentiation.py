"""Automatic differentiation of traced expressions, node by node; derivatives that are structurally zero are skipped.

Both modes work inside a trace: they take traced outputs and inputs and return traced derivatives in the same graph.
`pushforward` (forward mode) returns Jacobian-vector products, or a Jacobian column by column. `pullback` (reverse mode)
returns gradients, or a Jacobian row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from linkwork.compiler.graph import RANDOM, TRUTHS, Graph, Lookup
from linkwork.compiler.traced_number import Scope, Traced, operand, wrap
from linkwork.errors import NotTraceable
from linkwork.spatial.scalar import Array

# Function of (graph, node, operands) that returns, for each operand, the node of the partial derivative; None for zero
Partial = Callable[[Graph, int, Sequence[int]], Sequence[int | None]]


def _operation(operation: str) -> Callable[..., int]:
    """Return a function (graph, *operands) that adds `operation` to the graph and returns its node."""
    return lambda g, *operands: g.apply(operation, *operands)


_add, _sub, _mul, _div, _neg = (_operation(name) for name in ("add", "sub", "mul", "div", "neg"))


def _square(g: Graph, a: int) -> int:
    return _mul(g, a, a)


def _one_minus_square(g: Graph, a: int) -> int:
    return _sub(g, g.constant(1.0), _square(g, a))


def _atan2(g: Graph, y: int, x: int) -> Sequence[int]:
    length = _add(g, _square(g, x), _square(g, y))
    return _div(g, x, length), _neg(g, _div(g, y, length))


def _choice(g: Graph, second: int) -> Sequence[int]:
    """Return the partial derivatives, as two graph nodes, of an operation that selects one of two operands.

    The operation selects its second operand if the value of the node `second` is true, else its first operand. `g` is
    the graph.
    """
    zero, one = g.constant(0.0), g.constant(1.0)
    return g.apply("select", second, zero, one), g.apply("select", second, one, zero)


# Partial derivatives of each operation with respect to its operands x; `r` is the node of the operation's result
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
    "min": lambda g, r, x: _choice(g, g.apply("lt", x[1], x[0])),
    "max": lambda g, r, x: _choice(g, g.apply("lt", x[0], x[1])),
}


def pushforward(outputs: Array, inputs: Array, directions: Array) -> Array:
    """Return the directional derivatives (k, *outputs.shape) of traced `outputs` along k `directions`.

    `directions` (k, *inputs.shape) are directions in the space of the traced `inputs`, as floats or traced numbers.
    Unit directions give the columns of the Jacobian of `outputs` with respect to `inputs`.
    """
    graph, starts, ends, order = _path(outputs, inputs)
    columns = []
    for direction in np.asarray(directions).reshape(len(directions), -1):
        rates = _nonzero(graph, starts, direction)
        _propagate(graph, order, rates)
        columns.append([_derivative_number(graph, rates.get(end)) for end in ends])
    return np.array(columns, dtype=object).reshape(len(columns), *np.shape(outputs))


def pullback(outputs: Array, inputs: Array, weights: Array) -> Array:
    """Return the gradients (k, *inputs.shape) of k weighted sums of `outputs` with respect to `inputs`.

    `outputs` and `inputs` are traced; `weights` (k, *outputs.shape) are floats or traced numbers. A gradient costs a
    few times as much as the outputs, for any number of inputs. Unit weights give the rows of the Jacobian.
    """
    graph, starts, ends, order = _path(outputs, inputs)
    rows = []
    for weight in np.asarray(weights).reshape(len(weights), -1):
        adjoints: dict[int, int] = {}  # derivative of the weighted sum with respect to each node
        for end, contribution in zip(ends, weight, strict=True):
            _accumulate(graph, adjoints, end, operand(graph, contribution))
        _propagate_back(graph, order, adjoints)
        rows.append([_derivative_number(graph, adjoints.get(start)) for start in starts])
    return np.array(rows, dtype=object).reshape(len(rows), *np.shape(inputs))


def _path(outputs: Array, inputs: Array) -> tuple[Scope, list[int], list[int], list[int]]:
    """Return the graph of the traced inputs, the nodes of inputs and outputs, and all nodes between them.

    The results are (graph, input nodes, output nodes, nodes on paths from inputs to outputs in order of evaluation). An
    output that is constant, or a number of an enclosing graph, has the node -1.
    """
    parameters = list(np.ravel(inputs))
    graph = next(x.graph for x in parameters)
    starts = [x.number for x in parameters]
    ends = [x.number if isinstance(x, Traced) and x.graph is graph else -1 for x in np.ravel(outputs)]
    return graph, starts, ends, _between(graph, ends, set(starts))


def _nonzero(graph: Scope, numbers: Sequence[int], values: Iterable[Any]) -> dict[int, int]:
    """Return the directional derivatives of input nodes as a dict from node to the node of its derivative.

    `numbers` are the nodes and `values` their derivatives, floats or traced numbers. Derivatives equal to the constant
    0.0 are left out. `graph` is the graph of all nodes.
    """
    rates = {number: operand(graph, value) for number, value in zip(numbers, values, strict=True)}
    return {number: rate for number, rate in rates.items() if graph.value(rate) != 0.0}


def _between(graph: Graph, ends: Sequence[int], starts: set[int]) -> list[int]:
    """Return the nodes on paths from `starts` to `ends`, in order of evaluation.

    `graph` is the graph of all nodes.
    """
    leads = [False] * len(graph.nodes)
    for number in range(len(leads)):
        operation = graph.nodes[number][0]
        constant = isinstance(operation, Lookup) or operation in RANDOM  # piecewise constant: the derivative is zero
        leads[number] = number in starts or (not constant and any(leads[k] for k in graph.operands(number)))
    needed = [False] * len(graph.nodes)
    for end in ends:
        if end >= 0:
            needed[end] = True
    for number in reversed(range(len(needed))):
        if needed[number] and number not in starts:
            for k in graph.operands(number):
                needed[k] = True
    path = [k for k in range(len(leads)) if leads[k] and needed[k] and k not in starts]
    if not all(isinstance(graph.nodes[k][0], str) for k in path):
        raise NotTraceable(
            "the result of a compiled loop (repeat, record or iterate) cannot be differentiated; differentiate inside "
            "the body of the loop"
        )
    return path


def _propagate(graph: Graph, order: Sequence[int], rates: dict[int, int]) -> None:
    """Compute the derivatives of the nodes `order` in forward mode, and add them to `rates`.

    `rates` maps a node to the node of its derivative; a node without an entry has derivative zero. `graph` is the graph
    of all nodes.
    """
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


def _propagate_back(graph: Graph, order: Sequence[int], adjoints: dict[int, int]) -> None:
    """Compute the adjoints of the nodes `order` and of their operands in reverse mode, and add them to `adjoints`.

    The adjoint of a node is the derivative of the weighted sum of outputs with respect to it. `adjoints` maps each node
    to the node of its adjoint; a node without an entry has the adjoint zero. `graph` is the graph of all nodes.
    """
    for number in reversed(order):
        operation, *operands = graph.nodes[number]
        adjoint = adjoints.get(number)
        if adjoint is None or operation in TRUTHS:
            continue
        if operation == "select":
            condition, yes, no = operands
            zero = graph.constant(0.0)
            _accumulate(graph, adjoints, yes, graph.apply("select", condition, adjoint, zero))
            _accumulate(graph, adjoints, no, graph.apply("select", condition, zero, adjoint))
        else:
            for k, partial in zip(operands, PARTIALS[operation](graph, number, operands), strict=True):
                if partial is not None:
                    _accumulate(graph, adjoints, k, _mul(graph, partial, adjoint))


def _accumulate(graph: Graph, adjoints: dict[int, int], number: int, contribution: int) -> None:
    """Add the node `contribution` to the adjoint of graph node `number`.

    The adjoint of a node is the derivative of the weighted sum of outputs with respect to it. `adjoints` maps each node
    to the node of its adjoint, the sum so far. Constant nodes, node -1 and contributions of 0.0 are skipped.
    """
    if number >= 0 and graph.value(number) is None and graph.value(contribution) != 0.0:
        adjoints[number] = _add(graph, adjoints[number], contribution) if number in adjoints else contribution


def _derivative_number(graph: Scope, number: int | None) -> Any:
    """Return the derivative that graph node `number` computes, as a traced number or float; 0.0 if it is None."""
    return 0.0 if number is None else wrap(graph, number)
