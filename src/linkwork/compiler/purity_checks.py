"""Checks that a user's function is pure, as tracing requires: every call must compute the same formulas.

Python runs a traced function only once, when it is compiled, and its formulas become machine code. A clock, a random
generator or a variable that the function changes would therefore stay constant. `refuse_unrepeatable` finds clocks and
generators by name; `Repeatable` traces twice and compares the graphs and the function's variables.
"""

from __future__ import annotations

import dis
import functools
import random
import sys
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from linkwork.errors import NotTraceable

CLOCKS_AND_GENERATORS = ("time", "datetime", "random", "secrets", "uuid", "numpy.random")
GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
LIBRARIES = ("linkwork", "numpy", "scipy")  # packages whose functions are not searched
# Largest number of entries of an array whose entries are compared between two traces; larger arrays: by identity
LARGEST_ARRAY = 10_000
REMEDY = "lw.host(f, rate=...) calls a function in Python at a given rate instead"


def refuse_unrepeatable(what: str, function: Callable[..., Any]) -> None:
    """Raise NotTraceable if a function, or a function that it calls, uses a clock or a random generator.

    `what` names the function in the message, such as "controller".
    """
    for name in _unrepeatable_names(function, set()):
        raise NotTraceable(
            f"the {what} uses {name}: Python runs the {what} only once, when it is compiled, so that the value would "
            "be the same at every step. "
            "Use lw.random_normal or lw.white_noise for random numbers, and the argument t for the time; " + REMEDY
        )


def _unrepeatable_names(function: Any, seen: set[int]) -> Iterator[str]:
    """Yield the names of clocks and random generators that a function uses, directly or in its callees.

    `seen` has the ids of the functions that were already searched.
    """
    code = _python_function(function)
    if code is None or id(code) in seen:
        return
    seen.add(id(code))
    if (code.__module__ or "").split(".")[0] in LIBRARIES:  # a function of a library may enclose a user's functions
        for value in _enclosing(code).values():
            yield from _unrepeatable_names(value, seen)
        return
    for name, value, attribute in _named_values(code):
        module = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
        owner = getattr(value, "__self__", None)
        if isinstance(value, types.ModuleType) and f"{module}.{attribute}" in CLOCKS_AND_GENERATORS:
            yield f"{name}.{attribute}"
        elif module in CLOCKS_AND_GENERATORS and not isinstance(value, type):
            yield f"{name}.{attribute}" if attribute and isinstance(value, types.ModuleType) else name
        elif isinstance(value, type) and module == "datetime" and attribute in ("now", "today", "utcnow"):
            yield f"{name}.{attribute}"
        elif isinstance(value, GENERATORS) or isinstance(owner, GENERATORS):
            yield name
        elif isinstance(value, (types.FunctionType, types.MethodType, functools.partial)):
            yield from _unrepeatable_names(value, seen)


def _python_function(function: Any) -> types.FunctionType | None:
    """Return the Python function behind a partial, a method or a callable object; None if there is none."""
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__func__", function)
    if not isinstance(function, types.FunctionType):
        function = vars(type(function)).get("__call__")
    return function if isinstance(function, types.FunctionType) else None


def _named_values(function: types.FunctionType) -> Iterator[tuple[str, Any, str]]:
    """Yield (name, value, attribute) for each global or enclosing variable that a function reads.

    The attribute is the one that the function reads from the value, or "" if it reads none.
    """
    enclosing = _enclosing(function)
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [one for one in code.co_consts if isinstance(one, types.CodeType)]
        steps = list(dis.get_instructions(code))
        for step, following in zip(steps, [*steps[1:], None], strict=True):
            if step.opname == "IMPORT_NAME":  # an import inside the function
                yield step.argval, sys.modules.get(step.argval, types.ModuleType(step.argval)), ""
            if step.opname.startswith(("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME", "LOAD_CLASSDEREF", "LOAD_FROM_DICT")):
                name = step.argval
                value = enclosing.get(name, function.__globals__.get(name))
                taken = following is not None and following.opname.startswith(("LOAD_ATTR", "LOAD_METHOD"))
                yield name, value, str(following.argval) if taken and following is not None else ""


def _enclosing(function: types.FunctionType) -> dict[str, Any]:
    """Return the enclosing variables (closure cells) of a function, by name."""
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # the variable has no value yet
            continue
    return found


class Repeatable:
    """Traces users' functions twice and raises NotTraceable if the two traces differ.

    `functions` are pairs (description such as "controller", function); functions of linkwork, NumPy and SciPy are
    ignored unless they enclose a function of a user.
    """

    def __init__(self, functions: Iterable[tuple[str, Any]]):
        self.functions = [(what, one) for what, one in functions if not _is_of_library(one)]

    def trace(self, described: Callable[[], str]) -> str:
        """Return the text of the users' traced functions; trace twice and raise NotTraceable if the texts differ.

        `described` is a function that traces the users' functions and returns the text of their graphs. The method also
        raises NotTraceable if a user's function changes one of its variables.
        """
        text = described()
        if not self.functions:
            return text
        before = [_variables(one) for _, one in self.functions]  # after the first call, which may fill caches
        again = described()
        for (what, one), held in zip(self.functions, before, strict=True):
            now = _variables(one)
            for name in held.keys() & now.keys():
                if held[name] != now[name]:
                    raise NotTraceable(
                        f"the {what} changes its variable {name!r} when it is called: Python runs the {what} only "
                        "once, when it is compiled, so that this variable would stay constant. Use a controller with "
                        "memory, controller(t, q, v, memory); " + REMEDY
                    )
        if again != text:
            names = " or ".join(dict.fromkeys(what for what, _ in self.functions))
            raise NotTraceable(
                f"the {names} computes a different result each time it is called, because it uses a clock, a random "
                "generator or a counter. Python runs the function only once, when it is compiled, so that this value "
                "would stay constant. " + REMEDY
            )
        return text


def _is_of_library(function: Any) -> bool:
    """Return whether a function belongs to linkwork, NumPy or SciPy and encloses no function of a user."""
    code = _python_function(function)
    if code is None:
        return False
    inner = [one for one in _enclosing(code).values() if isinstance(one, types.FunctionType)]
    return (code.__module__ or "").split(".")[0] in LIBRARIES and all(map(_is_of_library, inner))


def _variables(function: Any) -> dict[str, object]:
    """Return the contents of a function's variables, by name, in a form that can be compared later.

    The variables are the enclosing and global variables that the function reads, and the attributes of its object.
    """
    code = _python_function(function)
    found: dict[str, object] = {}
    if code is not None:
        found |= {name: _content(value) for name, value, _ in _named_values(code)}
    owner = getattr(function, "__self__", None if isinstance(function, types.FunctionType) else function)
    found |= {f"self.{name}": _content(value) for name, value in getattr(owner, "__dict__", {}).items()}
    return {name: content for name, content in found.items() if content is not None}


def _content(value: Any) -> object:
    """Return the content of the variable `value` as an object that can be compared later.

    Return None for values of unsupported types.
    """
    if isinstance(value, (bool, int, float, complex, str)):
        return repr(value)
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.tobytes() if value.size <= LARGEST_ARRAY else id(value)
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)
    if isinstance(value, np.random.RandomState):
        return repr(value.get_state(legacy=False))
    if isinstance(value, random.Random):
        return hash(value.getstate())
    if isinstance(value, dict):
        return tuple((str(key), _entry(one)) for key, one in value.items())
    if isinstance(value, (list, tuple, set, deque)):
        return tuple(map(_entry, value))
    return None


def _entry(value: Any) -> object:
    return repr(value) if isinstance(value, (bool, int, float, complex, str)) else id(value)
