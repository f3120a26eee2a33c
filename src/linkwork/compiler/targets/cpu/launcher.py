"""Runs a kernel's machine code over a batch of states, on several threads for large batches."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.compiler.compiler_thread_lock import BUILDING
from linkwork.compiler.result_buffers import aligned
from linkwork.compiler.targets.cpu.code_loader import Loaded
from linkwork.compiler.targets.cpu.fast_call import MAX_ARRAYS, fast_call
from linkwork.compiler.targets.target_interface import Batch, OneStateCall
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

RUN = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_int64] * 3, *[ctypes.c_void_p] * 5)  # CFUNCTYPE: releases the GIL
HEADER = struct.Struct("<qq")  # header of object code: vector width, and workspace size in doubles
MIN_BLOCKS_PER_THREAD = 64  # with fewer blocks, starting a thread costs more than it saves
# A kernel with loop counts, such as a run of many steps, works long on each block: then one block per thread is enough.
# Blocks of a run may take different times; threads take them in small portions, so that all end at about the same time.
PORTIONS_PER_THREAD = 4
MIN_POOL_THREADS = 8  # smallest size of the thread pool, so that a user may use more threads than processors


def packed(width: int, workspace: int, object_code: bytes) -> bytes:
    """Return `object_code` with a header for `MachineCode`: the vector width and the workspace size in doubles."""
    return HEADER.pack(width, workspace) + object_code


class MachineCode:
    """The machine code of a kernel for one vector width, loaded in memory."""

    def __init__(self, code: bytes):
        self.width, self._workspace = HEADER.unpack_from(code)
        self._loaded = Loaded(code[HEADER.size :], "run")
        self.address = self._loaded.address
        self._run = RUN(self.address)

    def new_workspace(self) -> Array:
        """Return a new workspace (temporary memory) for one thread, aligned to a cache line."""
        return aligned(self._workspace)

    def launch(self, batch: Batch, threads: int | None) -> bool:
        """Compute `batch.results` for all states of a batch; return whether all numbers in them are finite.

        At most `threads` threads are used; None means one for each available processor.
        """
        # Input addresses, strides, counts and result addresses, in the argument order of `run` (see `emit`)
        groups = (_addresses(batch.inputs), batch.strides, batch.counts, _addresses(batch.results))
        words = np.array([word for group in groups for word in group], dtype=np.int64)
        tables = tuple(accumulate((8 * len(group) for group in groups[:-1]), initial=words.ctypes.data))

        def run(start: int, stop: int) -> float:
            workspace = self.new_workspace()
            return self._run(start, stop, batch.nstates - 1, workspace.ctypes.data, *tables)

        blocks = -(-batch.nstates // self.width)
        shares = max(1, min(threads or available_threads(), blocks // (1 if batch.counts else MIN_BLOCKS_PER_THREAD)))
        if shares == 1:
            return run(0, batch.nstates) == 0.0
        portions = min(blocks, shares * (PORTIONS_PER_THREAD if batch.counts else 1))
        cuts = [min(batch.nstates, self.width * (blocks * k // portions)) for k in range(portions)] + [batch.nstates]
        waiting = iter([*pairwise(cuts)])

        def work(_: int) -> float:
            return sum((run(start, stop) for start, stop in waiting), 0.0)

        return sum(_pool().map(work, range(shares))) == 0.0

    def fast_call(self, call: OneStateCall) -> Callable[..., Any]:
        """Return a built-in function that runs the code on one state, with the name and docstring of `call`.

        The method returns `call.general` if the entry function does not support the arguments: more than MAX_ARRAYS
        arguments, or one of shape ().
        """
        if len(call.shapes) > MAX_ARRAYS or () in call.shapes:
            return call.general
        return fast_call(call, self.address, self.new_workspace(), self)


def _addresses(arrays: Sequence[Array]) -> list[int]:
    return [_address(array) for array in arrays]


def _address(array: Any) -> int:
    """Return the address of an array's data, or 0 if it is empty; `ctypes.data` takes five times as long."""
    if not array.size:
        return 0
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    except (TypeError, ValueError):  # the array is read-only, or its rows are not contiguous
        return array.ctypes.data


# --- threads ---

_POOL: list[ThreadPoolExecutor] = []


def available_threads() -> int:
    """Return the number of logical processors on which this process may run."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _pool() -> ThreadPoolExecutor:
    with BUILDING:
        if not _POOL:
            from concurrent.futures import ThreadPoolExecutor  # imported here, because few batches need threads

            _POOL.append(ThreadPoolExecutor(max(available_threads(), MIN_POOL_THREADS), thread_name_prefix="linkwork"))
        return _POOL[0]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_POOL.clear)  # a child process has none of its parent's threads
