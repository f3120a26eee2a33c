"""Derivatives of functions: `jacobian(f)` is a function again, of traced numbers or floats, and has derivatives itself.

A function is run on inputs of its own, differentiated by them, and what came out is written into the graph of whoever
asked. So it does not matter how the arguments came about: in loops, as results of others, or as constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.compiler.differentiate import pullback, pushforward
from linkwork.compiler.graph import needed
from linkwork.compiler.program import flat, inputs
from linkwork.compiler.traced import Scope, Traced, operand, wrap
from linkwork.errors import NotTraceable
from linkwork.spatial.loops import traced_by
from linkwork.spatial.scalar import Array


def jacobian(function: Callable[..., Any], argument: int = 0) -> Callable[..., Array]:
    """The derivative of a function of numbers and arrays by one of its arguments, as a function of all of them.

    It returns an array (*shape of the value, *shape of the argument), which for a number is the gradient. Constants are
    float 0.0 where nothing depends on the argument.
    """

    def derived(*fresh: Any) -> Array:
        return _jacobian(np.asarray(function(*fresh), dtype=object), np.asarray(fresh[argument], dtype=object))

    return lambda *arguments: _inlined(derived, arguments)


def _jacobian(y: Array, x: Array) -> Array:
    """The derivative (*y.shape, *x.shape) of traced y by traced x."""
    if not y.size or not x.size:
        return np.zeros(y.shape + x.shape)
    if y.size < x.size:
        rows = pullback(y, x, np.eye(y.size).reshape(y.size, *y.shape))
        return rows.reshape(y.shape + x.shape)
    columns = pushforward(y, x, np.eye(x.size).reshape(x.size, *x.shape))
    return np.moveaxis(columns, 0, -1).reshape(y.shape + x.shape)


def jacobian_if_short(function: Callable[[Array], Array], most: int) -> Callable[[Array], Array]:
    """The derivative (n, n) of a function from (n,) to (n,); zeros where it loops or takes more than `most` operations.

    It is for those who can do without: derivatives of long functions take many times as long.
    """

    def derived(x: Array) -> Array:
        try:
            with traced_by(_NoLoops()):
                y = np.asarray(function(x), dtype=object)
        except NotTraceable:
            return np.zeros(2 * x.shape)
        return _jacobian(y, x) if len(x[0].graph.nodes) - x.size <= most else np.zeros(2 * x.shape)

    return lambda x: _inlined(derived, (x,)) if len(x) else np.zeros((0, 0))


class _NoLoops:
    """Refuses loops, through which there are no derivatives."""

    def record(self, count: Any, body: Any, state: Any, each: Any) -> Any:
        """See `spatial.loops`."""
        raise NotTraceable("derivatives through a loop are not available")

    def iterate(self, most: int, body: Any, state: Any) -> Any:
        """See `spatial.loops`."""
        raise NotTraceable("derivatives through a loop are not available")


def on_inputs(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Any:
    """What a function of arrays of these shapes returns of numbers of which nothing is known."""
    graph = Scope()
    return function(*(inputs(graph, shape) for shape in shapes))


def vanishes(values: Array) -> bool:
    """Whether what a function returned `on_inputs` is zero by its form."""
    return all(not isinstance(x, Traced) and x == 0.0 for x in np.ravel(np.asarray(values, dtype=object)))


def _inlined(function: Callable[..., Array], arguments: Sequence[Any]) -> Array:
    """`function` of the arguments, run on inputs of its own first."""
    values = flat(arguments)
    scopes = [x.graph for x in values if isinstance(x, Traced)]
    around = max(scopes, key=lambda scope: scope.depth) if scopes else Scope()
    inside = Scope(around)
    found = np.asarray(function(*(inputs(inside, np.shape(a)) for a in arguments)), dtype=object)
    outputs = [operand(inside, x) for x in found.ravel()]
    inside.open = False
    given = [operand(around, x) for x in values] + list(inside.taken)
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
    results = [wrap(around, place[k]) for k in outputs]
    if scopes:
        array = np.empty(len(results), dtype=object)
        array[:] = results
        return array.reshape(found.shape)
    # Of floats everything has folded, but for what is not a number
    return np.array([np.nan if isinstance(x, Traced) else x for x in results], dtype=float).reshape(found.shape)
