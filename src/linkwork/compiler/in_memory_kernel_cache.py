"""Cache of kernels in memory: kernels with the same key and target share one compiled code."""

from __future__ import annotations

from collections import OrderedDict

from linkwork.compiler.kernel import Kernel

MAX_LOADED = 64  # largest number of cached kernels; beyond it the least recently used one is removed

_recent: OrderedDict[tuple[str, str], Kernel] = OrderedDict()


def shared(kernel: Kernel) -> Kernel:
    """Return the cached kernel with the same key and target; if there is none, add this kernel to the cache."""
    key = kernel.target, kernel.key
    found = _recent.pop(key, kernel)
    _recent[key] = found
    while len(_recent) > MAX_LOADED:
        _recent.popitem(last=False)
    return found


def forget() -> None:
    """Empty the in-memory cache of kernels; later kernels are loaded from disk or built."""
    _recent.clear()
