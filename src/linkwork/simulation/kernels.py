"""Kernels of programs that hold users' functions: known by their graphs, since a function's text does not tell all."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from linkwork.compiler.graph import Count
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.program import Rows

__all__ = ["Count", "Rows", "kernel_of"]

RECENT = 32  # kernels that stay loaded
_recent: OrderedDict[str, Kernel] = OrderedDict()


def kernel_of(
    name: str, program: Callable[..., Any], shapes: Sequence[Any], results: Sequence[Any], counts: int
) -> Kernel:
    """The kernel of a program; one that was used lately if it does the same."""
    kernel = Kernel(name, program, shapes, results, None, counts)
    key = kernel.key
    kernel = _recent.pop(key, kernel)
    _recent[key] = kernel
    while len(_recent) > RECENT:
        _recent.popitem(last=False)
    return kernel
