"""From a function to the program that a target compiles. Kernels with cached code do not load this module."""

from __future__ import annotations

import math
from collections.abc import Sequence

from linkwork.compiler.graph import Graph, description, fused, verify
from linkwork.compiler.kernel_shapes import Rows, Shape
from linkwork.compiler.plan import plan
from linkwork.compiler.targets import Port, Program
from linkwork.compiler.tracing import trace

__all__ = ["description", "program_of", "trace"]


def program_of(graph: Graph, shapes: Sequence[Shape | Rows], results: Sequence[Shape | Rows], fuse: bool) -> Program:
    """The plan of a graph with the shapes of its arrays; with `fuse`, products and sums become fused multiply-adds."""
    graph = fused(graph) if fuse else graph
    verify(graph)
    return Program(plan(graph), list(map(_port, shapes)), list(map(_port, results)))


def _port(shape: Shape | Rows) -> Port:
    return (
        Port(math.prod(shape.row), shape.count, shape.capacity) if isinstance(shape, Rows) else Port(math.prod(shape))
    )
