"""Questions of a mechanism that take more than this room to answer: who answers them.

A mechanism has the questions as methods. The room `evaluation`, which comes with linkwork, enters who answers them.
Those are imported when they are first asked.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# The module and the function in it that answer, by the name of the mechanism's method, which hands itself on
ANSWERS: dict[str, tuple[str, str]] = {}


def answer(question: str, *asked: Any) -> Any:
    """What the function says that answers a question, of a mechanism and of what it is asked with."""
    module, function = ANSWERS[question]
    return getattr(import_module(module), function)(*asked)
