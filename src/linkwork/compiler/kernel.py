"""Kernels: functions of one state that are traced, compiled for a target, cached on disk, and run over batches."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.compiler import kernel_cache
from linkwork.compiler.compiler_thread_lock import BUILDING
from linkwork.compiler.kernel_shapes import Rows, Shape
from linkwork.compiler.result_buffers import Results
from linkwork.compiler.targets import Batch, Code, OneStateCall, target_named
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from linkwork.compiler.graph import Graph

NOTICE_AFTER = 2.0  # compile time [s] after which a notice is printed on a terminal


class Kernel:
    """A function of one state, compiled to machine code that runs over batches of states.

    The code is built at first use, or loaded from the disk cache. `shapes` are the shapes of the function's arguments
    and `results` those of its values, for one state; a function with several values returns a tuple. An argument that a
    loop reads row by row (a table), and a result that a loop writes row by row (a series), has a shape of type `Rows`.
    The function then takes `counts` iteration counts as further arguments after its arrays (see `trace`). `key`
    identifies the function: equal keys must mean equal functions. If `key` is None, as for functions of users, the
    function is traced and its graph becomes the key. `target` names the hardware (see `targets`).
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        shapes: Sequence[Shape | Rows],
        results: Sequence[Shape | Rows],
        key: str | None,
        counts: int = 0,
        target: str = "cpu",
    ):
        self.name, self.shapes, self.results, self.counts = name, list(shapes), list(results), counts
        self.target = target
        self._function, self._key = function, key
        self._machine = target_named(target)
        self._codes: dict[str, Code] = {}
        self._traced: Graph | None = None
        self._memory = Results()

    @property
    def key(self) -> str:
        """Text that identifies the kernel's function: kernels with equal keys compute the same function."""
        with BUILDING:
            if self._key is None:
                from linkwork.compiler.program_from_graph import description

                ports = repr((self.shapes, self.results))
                self._key = kernel_cache.digest(compiler_digest(), ports, description(self.traced()))
            return self._key

    def traced(self) -> Graph:
        """Return the expression graph of the kernel's function; the function is traced at the first call."""
        with BUILDING:
            if self._traced is None:
                # Imported here, because cached kernels do not need it
                from linkwork.compiler.program_from_graph import trace

                self._traced = trace(self._function, self.shapes, self.results, self.counts)
            return self._traced

    def _build(self, variant: str) -> Code:
        """Return the loaded code of one variant, whose name the target gives: for one state or for batches.

        The code is in memory already, loaded from the disk cache, or built now.
        """
        with BUILDING:
            if variant in self._codes:
                return self._codes[variant]
            begin = time.perf_counter()
            key = kernel_cache.digest(self.key, self._machine.digest(), variant)
            code = kernel_cache.stored(key, lambda: self._new_code(variant))
            self._codes[variant] = self._machine.load(code)
            _building.seconds = building_seconds() + time.perf_counter() - begin
            return self._codes[variant]

    def _new_code(self, variant: str) -> bytes:
        """Build the code of one variant, for one state or for batches, from the kernel's graph; return it as bytes."""
        from linkwork.compiler.program_from_graph import program_of

        with CompileNotice(self.name):
            fuse = self._machine.has_fused_multiply_add()
            return self._machine.build(program_of(self.traced(), self.shapes, self.results, fuse), variant)

    def over_batch(
        self,
        arrays: Sequence[Array],
        batch: Shape,
        threads: int | None,
        outs: Sequence[Array | None] | None = None,
        counts: Sequence[int] = (),
    ) -> tuple[list[Array], bool]:
        """Evaluate the kernel's function for a batch of states; return the results and whether all numbers are finite.

        `arrays` are the arguments. They are broadcast to the shape `batch` followed by their shape for one state; the
        results have such shapes too. `threads` is the largest number of threads, None for all available. `outs`, if
        given, has an array for each result, or None for a result to be allocated. `counts` are the values of the
        iteration counts. A series that is part of a longer array (see `Rows.capacity`) needs an array in `outs`, in C
        order, that begins at the first row to write.
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
        variant = self._machine.variant(count)
        code = self._codes.get(variant) or self._build(variant)
        states = Batch(count, [row for row, _ in rows], [stride for _, stride in rows], counts, found)
        return found, code.launch(states, threads)

    def fast_call(
        self, general: Callable[..., Any], name: str, doc: str, counts: Sequence[int] = ()
    ) -> Callable[..., Any]:
        """Return a function called `name` that evaluates the kernel for one state with little overhead.

        The kernel must have one result. The function accepts contiguous float64 arrays of one state; for other
        arguments and for non-finite results it calls `general`. `doc` becomes its docstring. `counts` are the iteration
        counts of every call. If an argument is a table, or the result a series, `general` itself is returned.
        """
        (result,) = self.results
        shapes = [shape for shape in self.shapes if not isinstance(shape, Rows)]
        if isinstance(result, Rows) or len(shapes) < len(self.shapes):
            return general
        variant = self._machine.variant(1)
        with BUILDING:
            code = self._codes.get(variant) or self._build(variant)
            return code.fast_call(OneStateCall(name, doc, shapes, result, general, counts))


_building = threading.local()


def building_seconds() -> float:
    """Return the total time [s] that the calling thread has spent so far on building and loading kernels."""
    return getattr(_building, "seconds", 0.0)


@cache
def compiler_digest() -> str:
    """Return a hash of the compiler's source text.

    It is part of cache keys, because another version of the compiler may build other code.
    """
    return kernel_cache.text_digest(Path(__file__).parent)


def _shape(shape: Shape | Rows, counts: Sequence[int]) -> Shape:
    """Return the shape of a kernel's argument or result for one state, with the number of rows of `Rows` filled in.

    `counts` are the iteration counts of the call, one of which is the number of rows.
    """
    return (counts[shape.count.number], *shape.row) if isinstance(shape, Rows) else shape


def _by_state(array: Array, batch: Shape, shape: Shape) -> tuple[Array, int]:
    """Return a batch array in C order, with its states one after another, and the stride between states in doubles.

    `shape` is the shape of the argument for one state, and `batch` the shape of the batch. The stride is 0 if all
    states share one value of the argument.
    """
    size = math.prod(shape)
    leading = array.shape[: array.ndim - len(shape)]
    if math.prod(leading) == 1:
        return np.ascontiguousarray(array), 0
    return np.ascontiguousarray(np.broadcast_to(array, batch + shape)), size


class CompileNotice:
    """A context manager that prints a notice on a terminal if compiling takes longer than NOTICE_AFTER [s]."""

    def __init__(self, name: str):
        self._name, self._start = name, 0.0
        self._timer = threading.Timer(NOTICE_AFTER, self._announce)

    def _announce(self) -> None:
        if sys.stderr.isatty():
            print(f"linkwork: compiling {self._name} ...", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> None:
        self._start = time.perf_counter()
        self._timer.daemon = True
        self._timer.start()

    def __exit__(self, *reason: object) -> None:
        self._timer.cancel()
        elapsed = time.perf_counter() - self._start
        if elapsed > NOTICE_AFTER and sys.stderr.isatty():
            print(f" {elapsed:.1f} s", file=sys.stderr, flush=True)
