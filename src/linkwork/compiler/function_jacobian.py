"""Derivatives of functions: `jacobian(f)` returns a function that can be traced and differentiated again.

`jacobian` traces `f` on new inputs, differentiates the graph with respect to these inputs, and inlines the derivative
into the caller's graph. The arguments may therefore be any values: loop variables, results of other functions, or
constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.compiler.automatic_differentiation import pullback, pushforward
from linkwork.compiler.graph import needed
from linkwork.compiler.traced_loops import flat, inputs
from linkwork.compiler.traced_number import Scope, Traced, operand, wrap
from linkwork.errors import NotTraceable
from linkwork.spatial.function_derivatives import SecondOrder, central_difference, rate_along_for, second_order_for
from linkwork.spatial.scalar import Array, Number
from linkwork.spatial.traceable_loops import traced_by, unrolled


def jacobian(function: Callable[..., Any], argument: int = 0) -> Callable[..., Array]:
    """Return the derivative of `function` with respect to its argument number `argument`.

    The derivative is a function of the same arguments, which may be numbers or arrays. It returns an array (*shape of
    the value, *shape of the argument); for a scalar function this is the gradient. Entries that do not depend on the
    argument are float constants 0.0.
    """

    def derivative(*arguments: Any) -> Array:
        inlining = _Inlining(arguments)
        fresh = inlining.inputs
        value = np.asarray(function(*fresh), dtype=object)
        return inlining.close(_jacobian(value, np.asarray(fresh[argument], dtype=object)))

    return derivative


def _jacobian(y: Array, x: Array) -> Array:
    """Return the derivative (*y.shape, *x.shape) of a traced array y with respect to a traced array x."""
    if not y.size or not x.size:
        return np.zeros(y.shape + x.shape)
    if y.size < x.size:
        rows = pullback(y, x, np.eye(y.size).reshape(y.size, *y.shape))
        return rows.reshape(y.shape + x.shape)
    columns = pushforward(y, x, np.eye(x.size).reshape(x.size, *x.shape))
    return np.moveaxis(columns, 0, -1).reshape(y.shape + x.shape)


def jacobian_if_short(function: Callable[[Array], Array], most: int) -> Callable[[Array], Array]:
    """Return the derivative of `function` as a function x (n,) -> (n, n); zeros if `function` is long.

    `function` maps (n,) to (n,). It is long if it has compiled loops or row arrays, or if its graph has more than
    `most` nodes besides the inputs. Use this where the derivative is not essential: derivatives of long functions are
    expensive.
    """

    def derivative(x: Array) -> Array:
        if not len(x):
            return np.zeros((0, 0))
        inlining = _Inlining((x,))
        (fresh,) = inlining.inputs
        try:
            with traced_by(_NoLoops()):
                value = np.asarray(function(fresh), dtype=object)
        except NotTraceable:
            return inlining.close(np.zeros(2 * fresh.shape))
        short = len(inlining.inside.nodes) - fresh.size <= most
        return inlining.close(_jacobian(value, fresh) if short else np.zeros(2 * fresh.shape))

    return derivative


@second_order_for.register
def _second_order(kind: Traced, function: Callable[[Any, Any], Any], x: Number, y: Number) -> SecondOrder:
    """Return value, slopes (2,) and second derivatives (2, 2) of function(x, y) by automatic differentiation.

    This implements `spatial.function_derivatives.second_order` for traced numbers; `kind` is an example of such a
    number.
    """

    def value(at: Array) -> Any:
        return function(at[0], at[1])

    at, slopes = np.array([x, y], dtype=object), jacobian(value)
    with unrolled():
        return SecondOrder(value(at), slopes(at), jacobian(slopes)(at))


@rate_along_for.register
def _rate_along(
    kind: Traced, function: Callable[[Array], Array], x: Array, direction: Array, step: Number, size: int
) -> Array:
    """Return the derivative (size,) of `function` at x (n,) along a direction (n,), by automatic differentiation.

    This implements `spatial.function_derivatives.rate_along` for traced numbers; `kind` is an example of such a number.
    A function with loops is differentiated by a central difference over `step`.
    """
    inlining = _Inlining((x, direction))
    fresh, along = inlining.inputs
    try:
        with traced_by(_NoLoops()):
            value = np.asarray(function(fresh), dtype=object)
    except NotTraceable:
        return central_difference(function, x, direction, step, size)
    return inlining.close(pushforward(value, fresh, along[None])[0])


class _NoLoops:
    """Loop tracer that raises NotTraceable for every loop and row array; used while a function is differentiated."""

    def record(self, count: Any, body: Any, state: Any, each: Any) -> Any:
        """Raise NotTraceable: a loop of `spatial.traceable_loops.record` cannot be differentiated."""
        raise NotTraceable("a function with a compiled loop (repeat, record or iterate) cannot be differentiated")

    def iterate(self, most: int, body: Any, state: Any, start: Any) -> Any:
        """Raise NotTraceable: a loop of `spatial.traceable_loops.iterate` cannot be differentiated."""
        raise NotTraceable("a function with a compiled loop (repeat, record or iterate) cannot be differentiated")

    def row_array(self, count: int, size: int) -> Any:
        """Raise NotTraceable: a row array cannot be differentiated."""
        raise NotTraceable("the result of a row array cannot be differentiated")


def traced_on_new_inputs(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Any:
    """Trace `function` on new inputs, one for each of its arguments, in a new graph; return its traced result.

    `shapes` are the shapes of the arguments.
    """
    graph = Scope()
    return function(*(inputs(graph, shape) for shape in shapes))


def is_structurally_zero(values: Array) -> bool:
    """Return whether all entries of `values` are the constant 0.0; `values` is a result of `traced_on_new_inputs`."""
    return all(not isinstance(x, Traced) and x == 0.0 for x in np.ravel(np.asarray(values, dtype=object)))


class _Inlining:
    """Inserts the operations of a traced function into the graph of its arguments.

    The function is traced on new `inputs` in a separate graph; `close` copies its nodes to the enclosing graph, with
    the arguments in place of the inputs.
    """

    def __init__(self, arguments: Sequence[Any]):
        self.values = flat(arguments)
        scopes = [x.graph for x in self.values if isinstance(x, Traced)]
        self.is_traced = bool(scopes)
        self.around = max(scopes, key=lambda scope: scope.depth) if scopes else Scope()
        self.inside = Scope(self.around)
        self.inputs = [inputs(self.inside, np.shape(a)) for a in arguments]

    def close(self, result: Any) -> Array:
        """Copy the function's traced `result` to the graph of the arguments; return floats if no argument is traced."""
        around, inside = self.around, self.inside
        result = np.asarray(result, dtype=object)
        outputs = [operand(inside, x) for x in result.ravel()]
        inside.open = False
        given = [operand(around, x) for x in self.values] + list(inside.taken)
        live, place = needed(inside, outputs), dict[int, int]()
        for number, (operation, *operands) in enumerate(inside.nodes):
            if not live[number]:
                continue
            if operation == "input":
                place[number] = given[operands[0]]
            elif operation == "const":
                place[number] = around.constant(operands[0])
            else:
                place[number] = around.apply(operation, *(place[k] for k in operands))
        numbers = [wrap(around, place[k]) for k in outputs]
        if self.is_traced:
            array = np.empty(len(numbers), dtype=object)
            array[:] = numbers
            return array.reshape(result.shape)
        # With float arguments all nodes were folded to constants, except results that are NaN
        return np.array([np.nan if isinstance(x, Traced) else x for x in numbers], dtype=float).reshape(result.shape)
