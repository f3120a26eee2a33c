"""Methods of a Mechanism that higher packages implement.

The package `evaluation` enters its functions here; each is imported at its first call. So the package `model` needs no
import from packages above it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# By method name: the module and the function that implement it; the mechanism is the function's first argument
IMPLEMENTATIONS: dict[str, tuple[str, str]] = {}


def call_implementation(method: str, *arguments: Any) -> Any:
    """Call the function that implements a method of Mechanism, and return its result."""
    module, function = IMPLEMENTATIONS[method]
    return getattr(import_module(module), function)(*arguments)
