"""Registry of the Mechanism methods, such as `check_loops`, that the package `evaluation` implements.

The package `evaluation` registers its functions here; each function is imported when it is first called. The package
`model` therefore needs no import from packages above it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# By method name: the module and the function that implement it; the mechanism is the function's first argument
IMPLEMENTATIONS: dict[str, tuple[str, str]] = {}


def call_implementation(method: str, *arguments: Any) -> Any:
    """Call the registered function for a method of Mechanism, and return its result.

    `arguments` are the arguments of the function: the mechanism, then the arguments of the method.
    """
    module, function = IMPLEMENTATIONS[method]
    return getattr(import_module(module), function)(*arguments)
