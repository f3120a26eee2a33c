"""Builds a `Program` from a traced graph: the plan and memory layout from which a target generates machine code.

Kernels with cached code do not load this module.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from linkwork.compiler.graph import Graph, description, fused, verify
from linkwork.compiler.kernel_plan import plan
from linkwork.compiler.kernel_shapes import Rows, Shape
from linkwork.compiler.targets import Port, Program
from linkwork.compiler.tracing import trace

__all__ = ["description", "program_of", "trace"]


def program_of(graph: Graph, shapes: Sequence[Shape | Rows], results: Sequence[Shape | Rows], fuse: bool) -> Program:
    """Return the program from which a target compiles a graph: its plan, and the sizes of arguments and results.

    `shapes` and `results` are the shapes of the arguments and results. If `fuse` is true, products and sums are
    combined to fused multiply-adds (see `fused`).
    """
    graph = fused(graph) if fuse else graph
    verify(graph)
    return Program(plan(graph), list(map(_port, shapes)), list(map(_port, results)))


def _port(shape: Shape | Rows) -> Port:
    """Return the memory layout of a kernel argument or result with this shape."""
    return (
        Port(math.prod(shape.row), shape.count, shape.capacity) if isinstance(shape, Rows) else Port(math.prod(shape))
    )
