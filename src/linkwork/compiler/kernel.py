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
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.compiler import kernel_cache
from linkwork.compiler.graph import Graph, description, fused, verify
from linkwork.compiler.program import Rows, Shape
from linkwork.compiler.result_buffers import Results, aligned
from linkwork.compiler.targets.cpu import loader
from linkwork.compiler.targets.cpu.batch_loop import Port, emit
from linkwork.compiler.trace import trace
from linkwork.spatial.scalar import Array

RUN = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_int64] * 3, *[ctypes.c_void_p] * 5)  # releases the GIL
WORTH_A_THREAD = 64  # blocks of states below which handing work over costs more than it saves


class Code:
    """A kernel's machine code for one vector width: `run` over states, with a workspace of so many doubles."""

    def __init__(self, body: bytes, width: int):
        (self.workspace,) = struct.unpack_from("<q", body)
        self.width = width
        self._loaded = loader.Loaded(body[8:])
        self.address = self._loaded.address("run")
        self.run = RUN(self.address)

    def new_workspace(self) -> Array:
        """Doubles aligned to a cache line."""
        return aligned(self.workspace)


class Kernel:
    """A function of one state in machine code. Built on first use, from disk if it was built before.

    `shapes` are those of the function's arguments and `results` of its values, for one state; a function with several
    returns a tuple. Those that a loop walks along or records have `Rows`, and the function takes so many `counts` after
    its arrays (see `trace`). `key` names what the function depends on: equal keys must mean equal functions. Where
    nothing does, as with users' functions, it is None: the function is traced then, and its graph is its name.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        shapes: Sequence[Shape | Rows],
        results: Sequence[Shape | Rows],
        key: str | None,
        counts: int = 0,
    ):
        self.name, self.shapes, self.results, self.counts = name, list(shapes), list(results), counts
        self._function, self._key = function, key
        self._codes: dict[int, Code] = {}
        self._traced: Graph | None = None
        self._memory = Results()
        self._lock = threading.RLock()

    @property
    def key(self) -> str:
        """What the kernel is known by."""
        with self._lock:
            if self._key is None:
                ports = repr((self.shapes, self.results))
                self._key = kernel_cache.digest(text_digest(), ports, description(self.traced()))
            return self._key

    def traced(self) -> Graph:
        """The graph as it was traced."""
        with self._lock:
            if self._traced is None:
                self._traced = trace(self._function, self.shapes, self.results, self.counts)
            return self._traced

    def graph(self) -> Graph:
        """The graph that machine code is made of: with products and sums fused, where the processor can."""
        graph = fused(self.traced()) if loader.processor().has_fma else self.traced()
        verify(graph)
        return graph

    def code(self, width: int) -> Code:
        """Machine code on vectors of `width` doubles."""
        found = self._codes.get(width)
        if found is None:
            with self._lock:
                found = self._codes.get(width) or self._build(width)
                self._codes[width] = found
        return found

    def _build(self, width: int) -> Code:
        key = kernel_cache.digest(self.key, loader.identity(), f"width {width}")
        body = kernel_cache.load(key)
        if body is None:
            with Announced(self.name):
                inputs, results = [_port(shape) for shape in self.shapes], [_port(shape) for shape in self.results]
                text = emit(self.graph(), inputs, results, width)
                body = struct.pack("<q", text.workspace) + loader.object_code(text.text)
            kernel_cache.keep(key, body)
        return Code(body, width)

    def over_batch(
        self,
        arrays: Sequence[Array],
        batch: Shape,
        threads: int | None,
        outs: Sequence[Array | None] | None = None,
        counts: Sequence[int] = (),
    ) -> tuple[list[Array], bool]:
        """The results, each (*batch, *result), for arrays that broadcast to `batch`, and whether all are finite.

        `outs`, if given, holds an array for each result, or None for those that are to be made. A series with room for
        more rows needs one: the place of its first row in C-ordered memory.
        """
        count = math.prod(batch)
        given = outs or [None] * len(self.results)
        found = [
            self._memory.new(batch + _shape(result, counts)) if out is None else out
            for result, out in zip(self.results, given, strict=True)
        ]
        if count == 0:
            return found, True
        cores = [_shape(shape, counts) for shape in self.shapes]
        rows = [_by_state(a, batch, core) for a, core in zip(arrays, cores, strict=True)]
        code = self.code(1 if count == 1 else loader.processor().width)
        # Addresses and distances in the order in which `run` takes them.
        inputs = np.array([row.ctypes.data for row, _ in rows], dtype=np.int64)
        strides = np.array([stride for _, stride in rows], dtype=np.int64)
        rounds = np.array(counts, dtype=np.int64)
        targets = np.array([array.ctypes.data for array in found], dtype=np.int64)
        tables = [array.ctypes.data for array in (inputs, strides, rounds, targets)]

        def run(start: int, stop: int) -> float:
            workspace = code.new_workspace()
            return code.run(start, stop, count - 1, workspace.ctypes.data, *tables)

        blocks = -(-count // code.width)
        shares = max(1, min(threads or available_threads(), blocks // WORTH_A_THREAD))
        if shares == 1:
            return found, run(0, count) == 0.0
        cuts = [min(count, code.width * (blocks * k // shares)) for k in range(shares)] + [count]
        return found, sum(_pool().map(run, cuts[:-1], cuts[1:])) == 0.0


@cache
def text_digest() -> str:
    """A name for the compiler's own text: another text may print a graph in another way."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return kernel_cache.digest(*(path.read_bytes() for path in files))


def _shape(shape: Shape | Rows, counts: Sequence[int]) -> Shape:
    """The shape of an argument or a result, for one state and these counts."""
    return (counts[shape.count.number], *shape.row) if isinstance(shape, Rows) else shape


def _port(shape: Shape | Rows) -> Port:
    return Port(math.prod(shape.row), shape.count, shape.room) if isinstance(shape, Rows) else Port(math.prod(shape))


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
