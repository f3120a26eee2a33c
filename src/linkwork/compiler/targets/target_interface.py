"""The interface between kernels and the machines that run them.

A kernel plans its graph, asks a target by name for code and launches it over a batch. Whatever knows an instruction
set, a vector width, a code format, an address or a device is inside the target's folder, of which
`<name>/<name>_target.py` defines `TARGET`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from linkwork.compiler.rows import Count, Shape
from linkwork.errors import unknown_name
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from linkwork.compiler.plan import Plan


class Port(NamedTuple):
    """An array that enters or leaves a kernel: `size` doubles per state, or per row where loops take rows of it.

    `rows` counts the rows of one state, `room` those from one state's first row to the next one's (see `Rows`).
    """

    size: int
    rows: Count | None = None
    room: Count | None = None


class Program(NamedTuple):
    """What a target compiles: the steps of a plan, and the arrays that enter and leave it."""

    plan: Plan
    arguments: Sequence[Port]
    results: Sequence[Port]


class Batch(NamedTuple):
    """The states that one launch computes, in C-ordered float64 arrays, state after state.

    `strides` are the distances from one state to the next in doubles, 0 where all states share one input. `counts` are
    the iterations of the program's loops.
    """

    nstates: int
    inputs: Sequence[Array]
    strides: Sequence[int]
    counts: Sequence[int]
    results: Sequence[Array]


class OneStateCall(NamedTuple):
    """A function of one state as Python calls it: its name and docstring, and the shapes of its arrays and its result.

    `general` is the same function for any arguments: batches, lists, keywords, wrong shapes, results that are not
    finite.
    """

    name: str
    doc: str
    shapes: Sequence[Shape]
    result: Shape
    general: Callable[..., Any]


class Code(Protocol):
    """One program's code, loaded and ready to run."""

    def launch(self, batch: Batch, threads: int | None) -> bool:
        """Compute all states of a batch on at most `threads` threads (None: all there are); whether all are finite."""
        ...

    def fast_call(self, call: OneStateCall) -> Callable[..., Any]:
        """`call` with the least overhead for one state; `call.general` itself where the target has nothing quicker."""
        ...


class Target(Protocol):
    """A machine: builds, loads and runs code. States have the same bits in every variant of a program's code."""

    def digest(self) -> str:
        """Everything about the machine and the code generator that built code depends on; part of its cache key."""
        ...

    def has_fused_multiply_add(self) -> bool:
        """Whether a product and a sum are rounded once, so that the graph should fuse them."""
        ...

    def variant(self, count: int) -> str:
        """The name of the code that runs `count` states: a target may have one for single states, one for batches."""
        ...

    def build(self, program: Program, variant: str) -> bytes:
        """The code of a program, as bytes that can be stored."""
        ...

    def load(self, code: bytes) -> Code:
        """Built code, ready to run."""
        ...


@cache
def target_named(name: str) -> Target:
    """The target in the folder `name` beside this file. It is imported here: code generators are large libraries."""
    path = f"{__package__}.{name}.{name}_target"
    try:
        return import_module(path).TARGET
    except ModuleNotFoundError as missing:
        if missing.name is None or not path.startswith(missing.name):
            raise  # a library that the target needs
    known = sorted(file.parent.name for file in Path(__file__).parent.glob("*/*_target.py"))
    raise unknown_name("compilation target", name, known)
