"""Memory for results; that of large results is used again once no array refers to it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linkwork.spatial.scalar import Array

# Kernels write results of so many bytes past the caches, and the system clears the pages of new ones each time.
LARGE_BYTES = 1 << 24
MAX_SPARE_BYTES = 1 << 28  # that are held for the next result


def aligned(count: int) -> Array:
    """An array of `count` doubles that begins at a cache line."""
    raw = np.empty(count + 8)
    return raw[(-raw.ctypes.data // 8) % 8 :][:count]


class Results:
    """Hands out arrays for results.

    Measured: fresh pages double the time of 10,000 mass matrices (38 dof, 115 MB), since the system clears them.
    """

    def __init__(self) -> None:
        self.spare: Array | None = None

    def new(self, shape: tuple[int, ...]) -> Array:
        """An array of that shape, with arbitrary values."""
        count = math.prod(shape)
        if 8 * count < LARGE_BYTES:
            return np.empty(shape)
        memory, self.spare = self.spare, None
        if memory is None or memory.size != count:
            memory = aligned(count)
        return np.asarray(_Lease(self, memory)).reshape(shape)


class _Lease:
    """What an array of results and all its views refer to: when the last of them is gone, the memory is spare again."""

    def __init__(self, results: Results, memory: Array):
        self._results, self._memory = results, memory

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self._memory.__array_interface__

    def __del__(self) -> None:
        if self._memory.nbytes <= MAX_SPARE_BYTES:
            self._results.spare = self._memory
