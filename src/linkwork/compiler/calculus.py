"""Derivatives of functions: `jacobian(f)` is a function again, of traced numbers or floats, and has derivatives itself.

A function is run on inputs of its own, differentiated by them, and the derivative is written into the graph of the
caller. So it does not matter where the arguments come from: loops, results of other functions, or constants.
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

    def derivative(*arguments: Any) -> Array:
        inlining = _Inlining(arguments)
        fresh = inlining.inputs
        value = np.asarray(function(*fresh), dtype=object)
        return inlining.close(_jacobian(value, np.asarray(fresh[argument], dtype=object)))

    return derivative


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

    It is for callers that can do without: derivatives of long functions take many times as long.
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


class _NoLoops:
    """Refuses loops, through which there are no derivatives."""

    def record(self, count: Any, body: Any, state: Any, each: Any) -> Any:
        """See `spatial.loops`."""
        raise NotTraceable("derivatives through a loop are not available")

    def iterate(self, most: int, body: Any, state: Any) -> Any:
        """See `spatial.loops`."""
        raise NotTraceable("derivatives through a loop are not available")


def on_inputs(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Any:
    """What a function of arrays of these shapes returns for inputs of which nothing is known."""
    graph = Scope()
    return function(*(inputs(graph, shape) for shape in shapes))


def vanishes(values: Array) -> bool:
    """Whether what a function returned `on_inputs` is zero by its form."""
    return all(not isinstance(x, Traced) and x == 0.0 for x in np.ravel(np.asarray(values, dtype=object)))


class _Inlining:
    """A function traced on `inputs` of its own, which `close` replaces by the arguments in the graph around it."""

    def __init__(self, arguments: Sequence[Any]):
        self.values = flat(arguments)
        scopes = [x.graph for x in self.values if isinstance(x, Traced)]
        self.is_traced = bool(scopes)
        self.around = max(scopes, key=lambda scope: scope.depth) if scopes else Scope()
        self.inside = Scope(self.around)
        self.inputs = [inputs(self.inside, np.shape(a)) for a in arguments]

    def close(self, result: Any) -> Array:
        """The result of the function, written into the graph around it; floats where no argument is traced."""
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
        # Of floats everything has folded, but for what is not a number
        return np.array([np.nan if isinstance(x, Traced) else x for x in numbers], dtype=float).reshape(result.shape)
