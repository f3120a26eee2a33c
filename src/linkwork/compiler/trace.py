"""Running a plain function on traced scalars: its arithmetic becomes a graph.

`Traced` numbers stand in NumPy object arrays; `np.sin`, `@`, indexing and stacking work on them. What cannot become a
graph (a branch on a value, `float()`) raises NotTraceable with the line that asked.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from linkwork.compiler.graph import Graph, pruned, verify
from linkwork.errors import NotTraceable
from linkwork.spatial.scalar import Array

Shape = tuple[int, ...]
OWN_ROOM = str(Path(__file__).parent)


class Condition:
    """A comparison of traced numbers: use it in `where`, combine with &, | and ~."""

    __slots__ = ("graph", "number")

    def __init__(self, graph: Graph, number: int):
        self.graph, self.number = graph, number

    def select(self, yes: Any, no: Any) -> Any:
        """`yes` where the condition holds, else `no`."""
        return _number(self.graph, "select", self.number, _operand(self.graph, yes), _operand(self.graph, no))

    def __and__(self, other: Any) -> Any:
        return _condition(self.graph, "and", self.number, _operand(self.graph, other))

    def __or__(self, other: Any) -> Any:
        return _condition(self.graph, "or", self.number, _operand(self.graph, other))

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> Any:
        return _condition(self.graph, "not", self.number)

    def __bool__(self) -> NoReturn:
        _refuse("branches on", "linkwork.where(condition, yes, no), which evaluates both and picks one")


class Traced:
    """A number that is being traced: a node of a graph. Arithmetic makes new nodes."""

    __slots__ = ("graph", "number")

    def __init__(self, graph: Graph, number: int):
        self.graph, self.number = graph, number

    def _binary(self, operation: str, other: Any, swapped: bool = False) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        a, b = self.number, _operand(self.graph, other)
        return _number(self.graph, operation, b, a) if swapped else _number(self.graph, operation, a, b)

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
        return _condition(self.graph, operation, _operand(self.graph, a), _operand(self.graph, b))

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

    # --- what NumPy's functions call on the numbers of an object array ---

    def _unary(self, operation: str) -> Any:
        return _number(self.graph, operation, self.number)

    def sqrt(self) -> Any:
        """Square root."""
        return self._unary("sqrt")

    def sin(self) -> Any:
        """Sine."""
        return self._unary("sin")

    def cos(self) -> Any:
        """Cosine."""
        return self._unary("cos")

    def tan(self) -> Any:
        """Tangent."""
        return self._unary("tan")

    def arcsin(self) -> Any:
        """Angle of a sine."""
        return self._unary("asin")

    def arccos(self) -> Any:
        """Angle of a cosine."""
        return self._unary("acos")

    def exp(self) -> Any:
        """Exponential."""
        return self._unary("exp")

    def log(self) -> Any:
        """Natural logarithm."""
        return self._unary("log")

    def __floor__(self) -> Any:
        return self._unary("floor")

    def arctan2(self, x: Any) -> Any:
        """The angle of the point (x, self)."""
        return self._binary("atan2", x)

    def __bool__(self) -> NoReturn:
        _refuse("branches on", "linkwork.where(condition, yes, no), which evaluates both and picks one")

    def __float__(self) -> NoReturn:
        _refuse("asks for the value of", "the number as it is, without float(), math functions or rounding")

    __int__ = __index__ = __complex__ = __round__ = __float__  # type: ignore[assignment]

    def __len__(self) -> NoReturn:
        raise TypeError("a traced number has no length")


def _operand(graph: Graph, value: Any) -> int:
    """The node of a traced number, a condition or a constant."""
    if isinstance(value, (Traced, Condition)):
        if value.graph is not graph:
            raise NotTraceable(
                "a traced number was kept from an earlier trace; functions must not store their arguments"
            )
        return value.number
    if isinstance(value, (bool, np.bool_)):
        return graph.constant(bool(value))
    if isinstance(value, Real):
        return graph.constant(float(value))
    raise NotTraceable(f"a traced number met {value!r:.60}, which is not a number")


def _number(graph: Graph, operation: str, *operands: int) -> Any:
    """The result of an operation: a plain float once it is constant, so that NumPy goes on with floats."""
    number = graph.apply(operation, *operands)
    value = graph.value(number)
    return Traced(graph, number) if value is None else value


def _condition(graph: Graph, operation: str, *operands: int) -> Any:
    number = graph.apply(operation, *operands)
    value = graph.value(number)
    return Condition(graph, number) if value is None else value


def _refuse(what: str, instead: str) -> NoReturn:
    """Raise NotTraceable for the first line outside this room and NumPy."""
    frame: Any = sys._getframe(2)
    numpy_room = str(Path(np.__file__).parent)
    while frame.f_back and frame.f_code.co_filename.startswith((OWN_ROOM, numpy_room)):
        frame = frame.f_back
    place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    raise NotTraceable(f"{place}: {frame.f_code.co_name} {what} a number that is being traced; write {instead}")


def trace(function: Callable[..., Any], shapes: Sequence[Shape]) -> Graph:
    """The graph of `function` on arrays of the given shapes; inputs and outputs are numbered in C order."""
    graph = Graph()
    arrays = [_traced_array(graph, shape) for shape in shapes]
    result = np.asarray(function(*arrays), dtype=object)
    graph.outputs = [_operand(graph, x) for x in result.ravel()]
    found = pruned(graph)
    verify(found)
    return found


def _traced_array(graph: Graph, shape: Shape) -> Array:
    array = np.empty(shape, dtype=object)
    for place in np.ndindex(shape):
        array[place] = Traced(graph, graph.input())
    return array
