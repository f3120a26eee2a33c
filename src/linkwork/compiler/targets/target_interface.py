"""The interface that a hardware target implements so that kernels can be compiled and run on it.

A kernel plans its graph, has a target build the code and launches it over a batch. Everything specific to an
instruction set, vector width, code format, address or device is inside the target's folder, in which
`<name>/<name>_target.py` defines `TARGET`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from linkwork.compiler.kernel_shapes import Count, Shape
from linkwork.errors import unknown_name
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from linkwork.compiler.kernel_plan import Plan


class Port(NamedTuple):
    """The memory layout of a kernel argument or result: `size` doubles per state, or per row for tables and series.

    `rows` is the number of rows per state of a table or series; `capacity` is the number of rows from the first row of
    one state to that of the next (see `Rows`).
    """

    size: int
    rows: Count | None = None
    capacity: Count | None = None


class Program(NamedTuple):
    """The input of a target's code generator: the plan, and the layouts of the kernel's arguments and results."""

    plan: Plan
    arguments: Sequence[Port]
    results: Sequence[Port]


class Batch(NamedTuple):
    """Arguments of one kernel launch for a batch of `nstates` states.

    The arrays in `inputs` and `results` are C-ordered float64, one state after another. `strides` are the distances
    between successive states of each input in doubles, 0 for an input that all states share. `counts` are the iteration
    counts that the caller gives. The launch writes to `results`.
    """

    nstates: int
    inputs: Sequence[Array]
    strides: Sequence[int]
    counts: Sequence[int]
    results: Sequence[Array]


class OneStateCall(NamedTuple):
    """Description of a Python function of one state.

    `name` and `doc` are its name and docstring, and `shapes` and `result` the shapes of its arguments and its result.
    `general` is the Python function for all other calls: batches, lists, keywords, wrong shapes, non-finite results.
    `counts` are the iteration counts of the program's loops, equal in all calls.
    """

    name: str
    doc: str
    shapes: Sequence[Shape]
    result: Shape
    general: Callable[..., Any]
    counts: Sequence[int] = ()


class Code(Protocol):
    """The machine code of one program, loaded and ready to run."""

    def launch(self, batch: Batch, threads: int | None) -> bool:
        """Compute `batch.results` for all states of a batch; return whether all numbers in them are finite.

        At most `threads` threads are used; None means all available threads.
        """
        ...

    def fast_call(self, call: OneStateCall) -> Callable[..., Any]:
        """Return a Python function that runs the code on one state with the least overhead, as described by `call`.

        Return `call.general` if the target has no faster function.
        """
        ...


class Target(Protocol):
    """Interface of a hardware target, which builds, loads and runs code.

    All variants of a program's code compute the same bits.
    """

    def digest(self) -> str:
        """Return a text that identifies the hardware and the code generator; it is part of the code's cache key."""
        ...

    def has_fused_multiply_add(self) -> bool:
        """Return whether the hardware has fused multiply-add instructions; if so, graphs use them."""
        ...

    def variant(self, count: int) -> str:
        """Return the name of the code variant for a batch of `count` states.

        A target may have one variant for single states and one for larger batches.
        """
        ...

    def build(self, program: Program, variant: str) -> bytes:
        """Generate the code of a program and return it as bytes that can be stored on disk.

        `variant` is a name that `Target.variant` returned.
        """
        ...

    def load(self, code: bytes) -> Code:
        """Load machine code that `build` returned, and return it ready to run."""
        ...


@cache
def target_named(name: str) -> Target:
    """Return the hardware target `name`, defined in the folder of that name beside this file.

    The target is imported at the first call, because code generators are large libraries.
    """
    path = f"{__package__}.{name}.{name}_target"
    try:
        return import_module(path).TARGET
    except ModuleNotFoundError as missing:
        if missing.name is None or not path.startswith(missing.name):
            raise  # the missing module is a library that the target needs
    known = sorted(file.parent.name for file in Path(__file__).parent.glob("*/*_target.py"))
    raise unknown_name("compilation target", name, known)
