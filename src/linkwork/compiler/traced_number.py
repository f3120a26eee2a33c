"""Traced numbers: arithmetic with them adds nodes to a graph.

`Traced` numbers are entries of NumPy object arrays; `np.sin`, `@`, indexing and stacking work on them. Operations that
cannot be part of a graph (a branch on a value, `float()`) raise NotTraceable with the offending line.
"""

from __future__ import annotations

import math
import sys
from itertools import repeat
from numbers import Real
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from linkwork.compiler.graph import Graph, Lookup
from linkwork.compiler.traced_array import apply_function, lift
from linkwork.compiler.traced_ufuncs import apply
from linkwork.errors import NotTraceable
from linkwork.spatial.random_numbers import STREAMS

STALE = (
    "a traced number was stored in an earlier trace or inside a loop; functions must not store their arguments, "
    "and a loop must pass values out only through its state"
)
OWN_PACKAGE = str(Path(__file__).parent)


class Scope(Graph):
    """The graph of a function or of a loop body while it is being traced; `open` is false afterwards.

    A loop body may use numbers of the enclosing scope `around`; they become inputs of the body's graph. `taken` maps
    their nodes in the enclosing scope to these inputs. `depth` is the number of enclosing scopes.
    """

    def __init__(self, around: Scope | None = None) -> None:
        super().__init__()
        self.around, self.open = around, True
        self.depth: int = around.depth + 1 if around else 0
        self.taken: dict[int, int] = {}
        self.uniform: set[int] = set()  # nodes that are known to have the same value in all SIMD lanes

    def take(self, owner: Scope, number: int) -> int:
        """Return the node of this scope that represents node `number` of the scope `owner`.

        `owner` is this scope or an enclosing one. Numbers of enclosing scopes become inputs of this scope.
        """
        inner: list[Scope] = []
        scope = self
        while scope is not owner:
            if not owner.open or scope.around is None:
                raise NotTraceable(STALE)
            inner.append(scope)
            scope = scope.around
        for scope in reversed(inner):
            if number not in scope.taken:
                scope.taken[number] = scope.input()
            number = scope.taken[number]
        return number

    def outside_node(self, number: int) -> int | None:
        """Return the node of the enclosing scope that input node `number` stands for; None for other inputs."""
        return next((outer for outer, inner in self.taken.items() if inner == number), None)


class Condition:
    """A traced truth value, such as a comparison of traced numbers.

    Use it in `where`; combine conditions with &, | and ~.
    """

    __slots__ = ("graph", "number")

    def __init__(self, graph: Scope, number: int):
        self.graph, self.number = graph, number

    def select(self, yes: Any, no: Any) -> Any:
        """Return `yes` if the condition is true, else `no`; both are numbers, or both are conditions."""
        if isinstance(yes, (Condition, bool)) and isinstance(no, (Condition, bool)):
            return (self & yes) | (~self & no)
        return _number("select", self, yes, no)

    def __and__(self, other: Any) -> Any:
        if isinstance(other, (bool, np.bool_)):
            return self if other else False
        return _condition("and", self, other)

    def __or__(self, other: Any) -> Any:
        if isinstance(other, (bool, np.bool_)):
            return True if other else self
        return _condition("or", self, other)

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> Any:
        return _condition("not", self)

    # --- arithmetic, in which a condition is 1 or 0 as NumPy's booleans are ---

    def __add__(self, other: Any) -> Any:
        return self.select(1.0, 0.0) + other

    def __sub__(self, other: Any) -> Any:
        return self.select(1.0, 0.0) - other

    def __rsub__(self, other: Any) -> Any:
        return other - self.select(1.0, 0.0)

    def __mul__(self, other: Any) -> Any:
        return self.select(1.0, 0.0) * other

    def __truediv__(self, other: Any) -> Any:
        return self.select(1.0, 0.0) / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.select(1.0, 0.0)

    __radd__, __rmul__ = __add__, __mul__

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return apply(ufunc, method, inputs, options)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return apply_function(func, args, kwargs)

    def __bool__(self) -> NoReturn:
        _refuse("branches on", "linkwork.where(condition, yes, no), which evaluates both and selects one")


class Traced:
    """A traced number: node `number` of the graph `graph`. Arithmetic creates new nodes."""

    __slots__ = ("graph", "number")

    def __init__(self, graph: Scope, number: int):
        self.graph, self.number = graph, number

    def _binary(self, operation: str, other: Any, swapped: bool = False) -> Any:
        graph, kind = self.graph, type(other)
        # Shortcut for the most frequent case
        if graph.open and (kind is float or (kind is Traced and other.graph is graph)):
            if (
                kind is float and operation == "mul" and other in (0.0, 1.0)
            ):  # this and the next case are half of all operations
                return self if other else 0.0
            if kind is float and operation == "add" and other == 0.0:
                return self
            operands = self.number, graph.constant(other) if kind is float else other.number
            return wrap(graph, graph.apply(operation, *(operands[::-1] if swapped else operands)))
        if isinstance(other, np.ndarray):
            return NotImplemented
        return _number(operation, other, self) if swapped else _number(operation, self, other)

    def __add__(self, other: Any) -> Any:
        return self._binary("add", other)

    def __radd__(self, other: Any) -> Any:
        return self._binary("add", other)

    def __sub__(self, other: Any) -> Any:
        return self._binary("sub", other)

    def __rsub__(self, other: Any) -> Any:
        return self._binary("sub", other, swapped=True)

    def __mul__(self, other: Any) -> Any:
        return self._binary("mul", other)

    def __rmul__(self, other: Any) -> Any:
        return self._binary("mul", other)

    def __truediv__(self, other: Any) -> Any:
        return self._binary("div", other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._binary("div", other, swapped=True)

    def __pow__(self, power: Any) -> Any:
        if isinstance(power, Traced):
            return (power * self.log()).exp()
        exponent = float(power)
        if exponent == 0.5:
            return self.sqrt()
        if not exponent.is_integer():
            return (self.log() * exponent).exp()
        result: Any = 1.0
        for _ in range(abs(int(exponent))):
            result = result * self
        return result if exponent >= 0.0 else 1.0 / result

    def __rpow__(self, base: Any) -> Any:
        return (self * np.log(base)).exp()

    def __neg__(self) -> Any:
        return self._unary("neg")

    def __pos__(self) -> Traced:
        return self

    def __abs__(self) -> Any:
        return self._unary("abs")

    def _compare(self, operation: str, a: Any, b: Any) -> Any:
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            return NotImplemented
        return _condition(operation, a, b)

    def __lt__(self, other: Any) -> Any:
        return self._compare("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return self._compare("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return self._compare("lt", other, self)

    def __ge__(self, other: Any) -> Any:
        return self._compare("le", other, self)

    def __eq__(self, other: object) -> Any:
        return self._compare("eq", self, other)

    def __ne__(self, other: object) -> Any:
        equal = self._compare("eq", self, other)
        return ~equal if isinstance(equal, Condition) else not equal

    __hash__ = None  # type: ignore[assignment]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return apply(ufunc, method, inputs, options)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return apply_function(func, args, kwargs)

    # --- methods that NumPy's functions call on the entries of an object array ---

    def _unary(self, operation: str) -> Any:
        return _number(operation, self)

    def sqrt(self) -> Any:
        """Return the square root of this number."""
        return self._unary("sqrt")

    def sin(self) -> Any:
        """Return the sine of this number."""
        return self._unary("sin")

    def cos(self) -> Any:
        """Return the cosine of this number."""
        return self._unary("cos")

    def tan(self) -> Any:
        """Return the tangent of this number."""
        return self._unary("tan")

    def arcsin(self) -> Any:
        """Return the arcsine of this number."""
        return self._unary("asin")

    def arccos(self) -> Any:
        """Return the arccosine of this number."""
        return self._unary("acos")

    def exp(self) -> Any:
        """Return the exponential function of this number."""
        return self._unary("exp")

    def log(self) -> Any:
        """Return the natural logarithm of this number."""
        return self._unary("log")

    def __floor__(self) -> Any:
        return self._unary("floor")

    def arctan2(self, x: Any) -> Any:
        """Return the angle [rad] of the point (x, self) in the plane."""
        return self._binary("atan2", x)

    def arctan2_from(self, y: Any) -> Any:
        """Return the angle [rad] of the point (self, y) in the plane."""
        return self._binary("atan2", y, swapped=True)

    def minimum(self, other: Any) -> Any:
        """Return the smaller of this number and `other`; NaN if one of them is NaN."""
        return self._binary("min", other)

    def maximum(self, other: Any) -> Any:
        """Return the larger of this number and `other`; NaN if one of them is NaN."""
        return self._binary("max", other)

    def lookup(self, table: Any) -> Any:
        """Return the entry of a table (n, ...) of floats at this traced index; implements `spatial.scalar.lookup`."""
        table = np.asarray(table, dtype=float)
        rows, shape = table.tobytes(), table.shape[1:]
        size = math.prod(shape)
        found = np.empty(size, dtype=object)
        found[:] = [_number(Lookup(rows, size, column), self) for column in range(size)]
        return lift(found.reshape(shape))

    @staticmethod
    def uniforms(seed: Any, counter: Any, stream: Any, blocks: int) -> Any:
        """Return uniform random numbers (2 blocks,); at least one of seed, counter and stream is traced.

        `spatial.random_numbers.uniforms` calls this method.
        """
        places = [stream + block * STREAMS for block in range(blocks)]
        found = np.empty(2 * blocks, dtype=object)
        found[0::2] = [_number("uniform", seed, counter, place) for place in places]
        found[1::2] = [_number("uniform_second", seed, counter, place) for place in places]
        return lift(found)

    def __bool__(self) -> NoReturn:
        _refuse("branches on", "linkwork.where(condition, yes, no), which evaluates both and selects one")

    def __float__(self) -> NoReturn:
        _refuse("needs the value of", "the formula without float(), math functions or rounding")

    __int__ = __index__ = __complex__ = __round__ = __float__  # type: ignore[assignment]

    def __len__(self) -> NoReturn:
        raise TypeError("a traced number has no length")


def operand(graph: Scope, value: Any) -> int:
    """Return the node in `graph` for an operand `value`: a traced number, a condition, a float or a bool."""
    if isinstance(value, (Traced, Condition)):
        if value.graph is graph:
            return value.number
        if isinstance(value, Traced):
            return graph.take(value.graph, value.number)
        return _taken_condition(graph, value)
    if isinstance(value, (bool, np.bool_)):
        return graph.constant(bool(value))
    if isinstance(value, Real):
        return graph.constant(float(value))
    raise NotTraceable(f"a traced number was combined with {value!r:.60}, which is not a number")


def _taken_condition(graph: Scope, condition: Condition) -> int:
    """Return the node, in a loop body, of a condition that was computed outside the loop.

    The condition becomes an input with the value 1 or 0, because the inputs of a graph are numbers.
    """
    one_or_zero = operand(graph, condition.select(1.0, 0.0))
    return graph.apply("lt", graph.constant(0.0), one_or_zero)


def _innermost(values: tuple[Any, ...]) -> Scope:
    """Return the innermost scope (traced function or loop body) of `values`, at least one of which is traced."""
    graph: Scope | None = None
    for value in values:
        if isinstance(value, (Traced, Condition)) and (graph is None or value.graph.depth > graph.depth):
            graph = value.graph
    assert graph is not None
    if not graph.open:
        raise NotTraceable(STALE)
    return graph


def _number(operation: str | Lookup, *values: Any) -> Any:
    """Return the result of a graph operation on `values` as a traced number, or as a float if it is constant."""
    graph = _innermost(values)
    if Condition in map(type, values):  # in arithmetic, conditions are 1 or 0
        first = 1 if operation == "select" else 0
        numbers = (one.select(1.0, 0.0) if isinstance(one, Condition) else one for one in values[first:])
        values = (*values[:first], *numbers)
    return wrap(graph, graph.apply(operation, *map(operand, repeat(graph), values)))


def wrap(graph: Scope, number: int) -> Any:
    """Return a graph node as a traced number, or as a plain float if the node is a constant."""
    value = graph.value(number)
    return Traced(graph, number) if value is None else value


def _condition(operation: str, *values: Any) -> Any:
    graph = _innermost(values)
    number = graph.apply(operation, *map(operand, repeat(graph), values))
    value = graph.value(number)
    return Condition(graph, number) if value is None else value


def any_lane(condition: Any) -> Any:
    """Return a condition that is true in all SIMD lanes if `condition` is true in any of them.

    Use it only to skip work that does not affect results: a lane's result must not depend on other lanes.
    """
    return _condition("any", condition) if isinstance(condition, Condition) else condition


def _refuse(what: str, instead: str) -> NoReturn:
    """Raise NotTraceable: a line of code uses a traced number in a manner that cannot be part of a graph.

    The message names the line, the first one of the call stack outside this package and NumPy. `what` completes "the
    function ... a traced number", such as "branches on"; `instead` is the code to write instead.
    """
    frame: Any = sys._getframe(2)
    numpy_package = str(Path(np.__file__).parent)
    while frame.f_back and frame.f_code.co_filename.startswith((OWN_PACKAGE, numpy_package)):
        frame = frame.f_back
    place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    raise NotTraceable(f"{place}: {frame.f_code.co_name} {what} a traced number; write {instead}")
