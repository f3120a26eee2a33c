"""Kernels that were used lately stay loaded: whoever asks again, from whatever room, gets the same one."""

from __future__ import annotations

from collections import OrderedDict

from linkwork.compiler.kernel import Kernel

MOST = 64  # kernels that stay loaded

_recent: OrderedDict[str, Kernel] = OrderedDict()


def shared(kernel: Kernel) -> Kernel:
    """The kernel, or one of the same key that was used lately."""
    key = kernel.key
    found = _recent.pop(key, kernel)
    _recent[key] = found
    while len(_recent) > MOST:
        _recent.popitem(last=False)
    return found


def forget() -> None:
    """Let go of all, so that the next ones come from disk or are built."""
    _recent.clear()
