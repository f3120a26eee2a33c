"""NumPy's universal functions for traced numbers, also mixed with floats, applied number by number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from linkwork.spatial.scalar import maximum, minimum, where


def _function(name: str) -> Callable[..., Any]:
    """Return a function of one number, such as the sine for `name` "sin".

    The function calls the number's method `name` if the number is traced, else NumPy's function.
    """
    plain = getattr(np, name)
    return lambda x: getattr(x, name)() if hasattr(x, name) else plain(x)


def _arctan2(y: Any, x: Any) -> Any:
    if hasattr(y, "arctan2"):
        return y.arctan2(x)
    return x.arctan2_from(y) if hasattr(x, "arctan2_from") else np.arctan2(y, x)


def _sign(x: Any) -> Any:
    return where(x > 0.0, 1.0, where(x < 0.0, -1.0, x))  # x for x = 0 and NaN


def _tanh(x: Any) -> Any:
    small = np.exp(-2.0 * abs(x))  # the argument is negative: no overflow
    return _sign(x) * ((1.0 - small) / (1.0 + small))


def _not(a: Any) -> Any:
    return ~a if hasattr(a, "select") else not a


# Functions that NumPy cannot apply to objects and floats together, or for which it would need a truth value
MEANINGS: dict[Any, Callable[..., Any]] = {
    **{getattr(np, name): _function(name) for name in ("sin", "cos", "tan", "arcsin", "arccos", "exp", "log", "sqrt")},
    np.minimum: minimum,
    np.maximum: maximum,
    np.arctan2: _arctan2,
    np.arctan: lambda x: _arctan2(x, 1.0),
    np.hypot: lambda x, y: np.sqrt(x * x + y * y),
    np.sign: _sign,
    np.sinh: lambda x: 0.5 * (np.exp(x) - np.exp(-x)),
    np.cosh: lambda x: 0.5 * (np.exp(x) + np.exp(-x)),
    np.tanh: _tanh,
    np.deg2rad: lambda x: x * (np.pi / 180.0),
    np.rad2deg: lambda x: x * (180.0 / np.pi),
    np.less: lambda a, b: a < b,
    np.less_equal: lambda a, b: a <= b,
    np.greater: lambda a, b: a > b,
    np.greater_equal: lambda a, b: a >= b,
    np.equal: lambda a, b: a == b,
    np.not_equal: lambda a, b: a != b,
    np.logical_and: lambda a, b: a & b,
    np.logical_or: lambda a, b: a | b,
    np.logical_not: _not,
}
NUMBERWISE = {ufunc: np.frompyfunc(meaning, ufunc.nin, 1) for ufunc, meaning in MEANINGS.items()}


def apply(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    """Apply a universal function, such as `np.sin`, to traced arguments; implements `__array_ufunc__`.

    The result is an object array or a number.
    """
    options = dict(options)
    if "out" in options:
        options["out"] = tuple(map(plain, options["out"]))
    return getattr(NUMBERWISE.get(ufunc, ufunc), method)(*map(plain, inputs), **options)


def plain(value: Any) -> Any:
    """Return `value` as an ordinary NumPy array if it is a traced number or an array, else unchanged.

    Unlike a `TracedArray`, the ordinary array does not override NumPy's functions.
    """
    if isinstance(value, np.ndarray):
        return value.view(np.ndarray)
    if not hasattr(value, "graph"):
        return value
    boxed = np.empty((), dtype=object)
    boxed[()] = value
    return boxed
