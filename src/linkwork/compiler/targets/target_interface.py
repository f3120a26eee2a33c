"""The interface between kernels and hardware targets.

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
    from linkwork.compiler.plan import Plan


class Port(NamedTuple):
    """A kernel argument or result: `size` doubles per state, or per row if loops read or write its rows.

    `rows` counts the rows of one state, `capacity` those between the first rows of successive states (see `Rows`).
    """

    size: int
    rows: Count | None = None
    capacity: Count | None = None


class Program(NamedTuple):
    """The input of a target's compiler: the steps of a plan, and the kernel's arguments and results."""

    plan: Plan
    arguments: Sequence[Port]
    results: Sequence[Port]


class Batch(NamedTuple):
    """The states of one launch, in C-ordered float64 arrays, state after state.

    `strides` are the distances between states in doubles, 0 for an input that all states share. `counts` are the
    iterations of the program's loops.
    """

    nstates: int
    inputs: Sequence[Array]
    strides: Sequence[int]
    counts: Sequence[int]
    results: Sequence[Array]


class OneStateCall(NamedTuple):
    """A function of one state as called from Python: name, docstring, and the shapes of its arguments and its result.

    `general` is the same function for all other calls: batches, lists, keywords, wrong shapes, non-finite results.
    """

    name: str
    doc: str
    shapes: Sequence[Shape]
    result: Shape
    general: Callable[..., Any]


class Code(Protocol):
    """The code of one program, loaded and ready to run."""

    def launch(self, batch: Batch, threads: int | None) -> bool:
        """Compute all states of a batch on at most `threads` threads (None: all available); return whether all are
        finite.
        """
        ...

    def fast_call(self, call: OneStateCall) -> Callable[..., Any]:
        """`call` with the least overhead for one state; `call.general` itself if the target has no faster function."""
        ...


class Target(Protocol):
    """A hardware target: builds, loads and runs code. All variants of a program's code give the same bits."""

    def digest(self) -> str:
        """The identity of the hardware and code generator, on which built code depends; part of its cache key."""
        ...

    def has_fused_multiply_add(self) -> bool:
        """Whether the target has fused multiply-add, so that the graph should use it."""
        ...

    def variant(self, count: int) -> str:
        """The name of the code variant for `count` states: a target may have separate code for one state and for
        batches.
        """
        ...

    def build(self, program: Program, variant: str) -> bytes:
        """The code of a program as bytes that can be stored."""
        ...

    def load(self, code: bytes) -> Code:
        """Load built code."""
        ...


@cache
def target_named(name: str) -> Target:
    """The target in the folder `name` beside this file, imported here because code generators are large libraries."""
    path = f"{__package__}.{name}.{name}_target"
    try:
        return import_module(path).TARGET
    except ModuleNotFoundError as missing:
        if missing.name is None or not path.startswith(missing.name):
            raise  # a library that the target needs
    known = sorted(file.parent.name for file in Path(__file__).parent.glob("*/*_target.py"))
    raise unknown_name("compilation target", name, known)
