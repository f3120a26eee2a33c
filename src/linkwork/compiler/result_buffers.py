"""Allocation of the arrays that kernels return. The memory of a large result is reused after the result is deleted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linkwork.spatial.scalar import Array

# Size [bytes] from which a result is large. The memory of large results is reused, because the operating system clears
# the pages of new arrays each time; kernels write them past the caches if their alignment and layout permit.
LARGE_BYTES = 1 << 24
MAX_SPARE_BYTES = 1 << 28  # largest memory of deleted results that is retained for later results


def aligned(count: int) -> Array:
    """Return an uninitialized array of `count` doubles that begins at a cache line: its address is a multiple of 64."""
    raw = np.empty(count + 8)
    return raw[(-raw.ctypes.data // 8) % 8 :][:count]


class Results:
    """Allocator of the arrays that kernels return, which reuses the memory of large arrays.

    Without reuse, the time for 10,000 mass matrices (38 dof, 115 MB) doubles, because the operating system clears new
    pages.
    """

    def __init__(self) -> None:
        self.spare: Array | None = None

    def new(self, shape: tuple[int, ...]) -> Array:
        """Return an uninitialized result array of the given shape, in the memory of a deleted result if possible."""
        count = math.prod(shape)
        if 8 * count < LARGE_BYTES:
            return np.empty(shape)
        memory, self.spare = self.spare, None
        if memory is None or memory.size != count:
            memory = aligned(count)
        return np.asarray(_Lease(self, memory)).reshape(shape)


class _Lease:
    """Owner of the memory of a large result array, and the base object of the array and all its views.

    When the array and all its views are deleted, the memory becomes available for the next result.
    """

    def __init__(self, results: Results, memory: Array):
        self._results, self._memory = results, memory

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self._memory.__array_interface__

    def __del__(self) -> None:
        if self._memory.nbytes <= MAX_SPARE_BYTES:
            self._results.spare = self._memory
