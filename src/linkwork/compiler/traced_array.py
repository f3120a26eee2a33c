"""Arrays of traced numbers, which make plain NumPy functions of users traceable.

linkwork's algorithms use NumPy's object arrays, which trace fast. A user's function also compares arrays, calls
`np.clip`, `np.tanh` or `np.linalg.norm` and mixes traced with plain numbers: `TracedArray` supports this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.compiler.traced_ufuncs import apply, plain
from linkwork.spatial.scalar import own_copy, where

SELECT = np.frompyfunc(where, 3, 1)


def _where(condition: Any, yes: Any, no: Any) -> Any:
    return lift(SELECT(*map(plain, (condition, yes, no))))


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A002  NumPy's name
    if ord not in (None, 2):
        raise TypeError("np.linalg.norm of traced numbers supports the Euclidean norm only; remove the argument `ord`")
    return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))


def _clip(a: Any, a_min: Any = None, a_max: Any = None, **_: Any) -> Any:
    low = a if a_min is None else np.maximum(a, a_min)
    return low if a_max is None else np.minimum(low, a_max)


FUNCTIONS: dict[Any, Callable[..., Any]] = {np.where: _where, np.clip: _clip, np.linalg.norm: _norm}


class TracedArray(np.ndarray[Any, np.dtype[Any]]):
    """An object array of traced and plain numbers that NumPy's functions treat like an array of floats."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: Any, *inputs: Any, **options: Any) -> Any:
        return lift(apply(ufunc, method, inputs, options))

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return apply_function(func, args, kwargs)

    def select(self, yes: Any, no: Any) -> Any:
        """Return elementwise `yes` where this array of conditions is true, else `no`.

        `linkwork.where` calls this method.
        """
        return _where(self, yes, no)


def apply_function(func: Any, args: Any, kwargs: Any) -> Any:
    """Apply a NumPy function, such as `np.clip`, to traced arguments; implements `__array_function__`."""
    return FUNCTIONS[func](*args, **kwargs) if func in FUNCTIONS else lift(func._implementation(*args, **kwargs))


def lift(value: Any) -> Any:
    """Return an object array of traced numbers as a `TracedArray`; return any other value unchanged."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        return value.view(TracedArray) if value.ndim else value[()]
    return value


def lifted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a version of a user's function of numbers and arrays that can be traced.

    Called with floats, the function runs unchanged.
    """

    def run(*arguments: Any) -> Any:
        found = function(*(lift(own_copy(argument)) for argument in arguments))
        return tuple(map(_lowered, found)) if isinstance(found, tuple) else _lowered(found)

    return run


def _lowered(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, TracedArray) else value
