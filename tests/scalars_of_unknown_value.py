"""A stand-in for a traced scalar: it hides its value, so that branching on it or converting it raises an error."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.spatial.scalar import Array, lookup


class Choice:
    """Result of a comparison of hidden floats: it can only select one of two values."""

    def __init__(self, holds: bool):
        self._holds = holds

    def select(self, yes: Any, no: Any) -> Opaque:
        return lift(yes) if self._holds else lift(no)

    def __bool__(self) -> bool:
        raise AssertionError("an algorithm branched on a value")


class Opaque:
    """A hidden float with the arithmetic that algorithms may use."""

    __slots__ = ("hidden",)

    def __init__(self, hidden: float):
        self.hidden = hidden

    def __float__(self) -> float:
        raise AssertionError("an algorithm used the value of an opaque number")

    __bool__ = __int__ = __index__ = __float__  # type: ignore[assignment]

    def _binary(self, other: Any, operation: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return Opaque(operation(self.hidden, lift(other).hidden))

    def __add__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: a + b)

    def __radd__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: b + a)

    def __sub__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: a * b)

    def __rmul__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: b * a)

    def __truediv__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: a / b)

    def __rtruediv__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: b / a)

    def __neg__(self) -> Opaque:
        return Opaque(-self.hidden)

    def __abs__(self) -> Opaque:
        return Opaque(abs(self.hidden))

    def __lt__(self, other: Any) -> Choice:
        return Choice(bool(self.hidden < lift(other).hidden))

    def __gt__(self, other: Any) -> Choice:
        return Choice(bool(self.hidden > lift(other).hidden))

    def sin(self) -> Opaque:
        return Opaque(np.sin(self.hidden))

    def cos(self) -> Opaque:
        return Opaque(np.cos(self.hidden))

    def sqrt(self) -> Opaque:
        return Opaque(np.sqrt(self.hidden))

    def arctan2(self, other: Any) -> Opaque:
        return Opaque(np.arctan2(self.hidden, lift(other).hidden))

    def minimum(self, other: Any) -> Opaque:
        return Opaque(np.minimum(self.hidden, lift(other).hidden))

    def maximum(self, other: Any) -> Opaque:
        return Opaque(np.maximum(self.hidden, lift(other).hidden))

    def __floor__(self) -> Opaque:
        return Opaque(np.floor(self.hidden))

    def lookup(self, table: Any) -> Array:
        return to_opaque(lookup(table, self.hidden))


def lift(value: Any) -> Opaque:
    """Return a float as an Opaque scalar; an Opaque is returned unchanged."""
    return value if isinstance(value, Opaque) else Opaque(np.float64(value))


def to_opaque(array: Any) -> Array:
    """Return an array of floats as an object array of Opaque scalars."""
    array = np.asarray(array, dtype=float)
    return np.array([Opaque(x) for x in array.ravel()], dtype=object).reshape(array.shape)


def from_opaque(array: Any) -> Array:
    """Return the float array of the values that an array of Opaque scalars hides."""
    array = np.asarray(array)
    values = [x.hidden if isinstance(x, Opaque) else x for x in array.ravel()]
    return np.array(values, dtype=float).reshape(array.shape)
