"""Kernels: a function of one state, traced, compiled, kept on disk, loaded, and run over batches."""

from __future__ import annotations

import ctypes
import math
import os
import struct
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from linkwork.compiler import machine, store
from linkwork.compiler.emit_llvm import emit
from linkwork.compiler.graph import Graph, fused, verify
from linkwork.compiler.trace import Shape, trace
from linkwork.spatial.scalar import Array

RUN = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_int64] * 3, *[ctypes.c_void_p] * 4)  # releases the GIL
WORTH_A_THREAD = 64  # blocks of states below which handing work over costs more than it saves


class Code:
    """A kernel's machine code for one vector width: `run` over states, with a workspace of so many doubles."""

    def __init__(self, body: bytes, width: int):
        (self.workspace,) = struct.unpack_from("<q", body)
        self.width = width
        self._loaded = machine.Loaded(body[8:])
        self.address = self._loaded.address("run")
        self.run = RUN(self.address)

    def new_workspace(self) -> Array:
        """Doubles aligned to a cache line."""
        raw = np.empty(self.workspace + 8)
        return raw[(-raw.ctypes.data // 8) % 8 :][: self.workspace]


class Kernel:
    """A function of one state in machine code. Built on first use, from disk if it was built before.

    `shapes` are those of the function's arguments and `result` of its value, for one state. `key` names what the
    function depends on: equal keys must mean equal functions.
    """

    def __init__(self, name: str, function: Callable[..., Any], shapes: Sequence[Shape], result: Shape, key: str):
        self.name, self.shapes, self.result = name, list(shapes), result
        self.sizes = [math.prod(shape) for shape in shapes]
        self._function, self._key = function, key
        self._codes: dict[int, Code] = {}
        self._graph: Graph | None = None
        self._lock = threading.RLock()

    def graph(self) -> Graph:
        """The traced and fused graph."""
        with self._lock:
            if self._graph is None:
                graph = trace(self._function, self.shapes)
                assert len(graph.outputs) == math.prod(self.result), (self.name, len(graph.outputs), self.result)
                self._graph = fused(graph) if machine.processor().has_fma else graph
                verify(self._graph)
            return self._graph

    def code(self, width: int) -> Code:
        """Machine code on vectors of `width` doubles."""
        found = self._codes.get(width)
        if found is None:
            with self._lock:
                found = self._codes.get(width) or self._build(width)
                self._codes[width] = found
        return found

    def _build(self, width: int) -> Code:
        key = store.digest(self._key, machine.identity(), f"width {width}")
        body = store.load(key)
        if body is None:
            with Announced(self.name):
                program = emit(self.graph(), self.sizes, width)
                body = struct.pack("<q", program.workspace) + machine.object_code(program.text)
            store.keep(key, body)
        return Code(body, width)

    def over_batch(
        self, arrays: Sequence[Array], batch: Shape, threads: int | None, out: Array | None = None
    ) -> tuple[Array, bool]:
        """The results (*batch, *result) for arrays whose leading axes broadcast to `batch`, and if all are finite."""
        count = math.prod(batch)
        if out is None:
            out = np.empty(batch + self.result)
        if out.size == 0:
            return out, True
        rows = [_by_state(a, batch, shape) for a, shape in zip(arrays, self.shapes, strict=True)]
        code = self.code(1 if count == 1 else machine.processor().width)
        pointers = np.array([row.ctypes.data for row, _ in rows], dtype=np.int64)
        strides = np.array([stride for _, stride in rows], dtype=np.int64)

        def run(start: int, stop: int) -> float:
            workspace = code.new_workspace()
            return code.run(
                start,
                stop,
                count - 1,
                workspace.ctypes.data,
                pointers.ctypes.data,
                strides.ctypes.data,
                out.ctypes.data,
            )

        blocks = -(-count // code.width)
        shares = max(1, min(threads or available_threads(), blocks // WORTH_A_THREAD))
        if shares == 1:
            return out, run(0, count) == 0.0
        cuts = [min(count, code.width * (blocks * k // shares)) for k in range(shares)] + [count]
        return out, sum(_pool().map(run, cuts[:-1], cuts[1:])) == 0.0


def _by_state(array: Array, batch: Shape, shape: Shape) -> tuple[Array, int]:
    """The array with states one after the other, and the distance between them in doubles: 0 if all share one."""
    size = math.prod(shape)
    leading = array.shape[: array.ndim - len(shape)]
    if math.prod(leading) == 1:
        return np.ascontiguousarray(array), 0
    return np.ascontiguousarray(np.broadcast_to(array, batch + shape)), size


# --- threads ---

_POOL: list[ThreadPoolExecutor] = []
_POOL_LOCK = threading.Lock()


def available_threads() -> int:
    """How many threads may run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _pool() -> ThreadPoolExecutor:
    with _POOL_LOCK:
        if not _POOL:
            _POOL.append(ThreadPoolExecutor(max(available_threads(), 8), thread_name_prefix="linkwork"))
        return _POOL[0]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_POOL.clear)  # a child has none of its parent's threads


class Announced:
    """Tells on a terminal what is being compiled once it takes more than two seconds."""

    def __init__(self, name: str):
        self._name, self._start = name, 0.0
        self._timer = threading.Timer(2.0, self._tell)

    def _tell(self) -> None:
        if sys.stderr.isatty():
            print(f"linkwork: compiling {self._name} ...", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> None:
        self._start = time.perf_counter()
        self._timer.daemon = True
        self._timer.start()

    def __exit__(self, *reason: object) -> None:
        self._timer.cancel()
        spent = time.perf_counter() - self._start
        if spent > 2.0 and sys.stderr.isatty():
            print(f" {spent:.1f} s", file=sys.stderr, flush=True)
