"""Recently used kernels stay loaded: equal kernels, wherever they are made, share one code."""

from __future__ import annotations

from collections import OrderedDict

from linkwork.compiler.kernel import Kernel

MAX_LOADED = 64  # kernels; each holds its graph and its code

_recent: OrderedDict[tuple[str, str], Kernel] = OrderedDict()


def shared(kernel: Kernel) -> Kernel:
    """A recently used kernel with the same key and target, or else this one."""
    key = kernel.target, kernel.key
    found = _recent.pop(key, kernel)
    _recent[key] = found
    while len(_recent) > MAX_LOADED:
        _recent.popitem(last=False)
    return found


def forget() -> None:
    """Release all kernels, so that the next ones are loaded from disk or built."""
    _recent.clear()
