"""Deprecated names of keyword arguments, which are accepted for one release with a DeprecationWarning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def renamed(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that accepts deprecated keyword names, given as old="new".

    The decorated function warns and uses the value under the new name.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> R:
            for old in names.keys() & kwargs.keys():
                new = names[old]
                if new in kwargs:
                    raise TypeError(f"{function.__name__}() got both {old!r} and {new!r}; use {new!r} only")
                warn_renamed(f"the argument {old!r} of {function.__name__}()", repr(new), stacklevel=2)
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate


def warn_renamed(old: str, new: str, stacklevel: int) -> None:
    """Warn that the argument `old` was renamed `new`; `stacklevel` is as in `warnings.warn`, counted from the
    caller.
    """
    warnings.warn(f"{old} was renamed {new}; the old name will be removed", DeprecationWarning, stacklevel + 1)
