"""What a kernel does, step by step, before it is printed for a machine: chunks of a graph, moves and loops.

The steps work on a workspace of places, one number each (a vector of them where lanes run side by side). A chunk is a
bounded run of operations that keeps its values in registers and passes on through the workspace what others need, so
that code generation takes time linear in the graph. Places are used again once nobody needs their value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from linkwork.compiler.graph import Graph, Loop, Value

# Measured on forward dynamics, AVX2: chunks of 200 to 500 operations in panels of 4 to 8 blocks take 5 % (9 dof) and
# 25 % (38 dof) less time than chunks of 1500, block by block, whose instructions leave the first cache in between.
CHUNK = 200  # operations


class Chunk(NamedTuple):
    """Operations of a graph in order; `places` says where values are that come from outside or leave."""

    graph: Graph
    nodes: list[int]
    places: dict[int, int]
    leaving: set[int]


class Moves(NamedTuple):
    """Numbers to copy: each from a place, or a constant, to a place."""

    pairs: list[tuple[int | float, int]]


class Rounds(NamedTuple):
    """A loop over steps. Rows of tables enter at `rows`; what is recorded lies from place `recorded` on."""

    loop: Loop
    steps: list[Step]
    rows: int
    recorded: int
    watched: int | None


Step = Chunk | Moves | Rounds


@dataclass
class Workspace:
    """Hands out places and takes them back."""

    total: int = 0
    free: list[int] = field(default_factory=list)

    def region(self, size: int) -> int:
        """The first of `size` new places that follow each other."""
        self.total += size
        return self.total - size

    def take(self) -> int:
        """A place that nobody uses."""
        return self.free.pop() if self.free else self.region(1)


class Plan(NamedTuple):
    """Steps on a workspace of `total` places: inputs from place 0 on, outputs from place `outputs` on."""

    steps: list[Step]
    outputs: int
    total: int


def plan(graph: Graph) -> Plan:
    """The steps that compute the outputs of a graph from its inputs."""
    workspace = Workspace()
    inputs = workspace.region(graph.ninputs)
    outputs = workspace.region(len(graph.outputs))
    steps = _steps(graph, list(range(inputs, inputs + graph.ninputs)), outputs, workspace)
    return Plan(steps, outputs, workspace.total)


def _steps(graph: Graph, inputs: Sequence[int], outputs: int, workspace: Workspace) -> list[Step]:
    """The steps of one graph, whose inputs lie at the given places and whose outputs follow each other."""
    cuts = _cut(graph)
    home = {k: number for number, nodes in enumerate(cuts) for k in nodes}
    last_use = _last_uses(graph, cuts, home)
    places = {k: inputs[node[1]] for k, node in enumerate(graph.nodes) if node[0] == "input"}
    first_output: dict[int, int] = {}
    for number, k in enumerate(graph.outputs):
        first_output.setdefault(k, outputs + number)
    leaving = set(last_use) | set(first_output)
    steps: list[Step] = []
    ending: dict[int, list[int]] = {}  # places that are free after each cut
    for number, nodes in enumerate(cuts):
        operation = graph.nodes[nodes[0]][0]
        if isinstance(operation, Loop):
            steps += _rounds(graph, nodes, operation, places, workspace)
        else:
            for k in nodes:
                if k in first_output:
                    places[k] = first_output[k]
                elif k in last_use:
                    places[k] = workspace.take()
                    ending.setdefault(last_use[k], []).append(places[k])
            steps.append(Chunk(graph, nodes, places, leaving))
        workspace.free += ending.pop(number, [])
    copies: list[tuple[int | float, int]] = []
    for number, k in enumerate(graph.outputs):
        source = graph.value(k) if graph.value(k) is not None else places[k]
        if source != outputs + number or isinstance(source, float):
            copies.append((source, outputs + number))
    return [*steps, Moves(copies)] if copies else steps


def _cut(graph: Graph) -> list[list[int]]:
    """The nodes that do something, in order: runs of at most CHUNK operations, and each loop with its values alone."""
    cuts: list[list[int]] = []
    loops: dict[int, list[int]] = {}
    for k, node in enumerate(graph.nodes):
        if isinstance(node[0], Loop):
            loops[k] = [k]
            cuts.append(loops[k])
        elif isinstance(node[0], Value):
            loops[node[1]].append(k)
        elif graph.operands(k):
            if not cuts or len(cuts[-1]) >= CHUNK or isinstance(graph.nodes[cuts[-1][0]][0], Loop):
                cuts.append([])
            cuts[-1].append(k)
    return cuts


def _last_uses(graph: Graph, cuts: list[list[int]], home: dict[int, int]) -> dict[int, int]:
    """For each value that is used outside its cut, the last cut that uses it."""
    found: dict[int, int] = {}
    for number, nodes in enumerate(cuts):
        for k in nodes:
            for operand in graph.operands(k):
                if operand in home and home[operand] != number:
                    found[operand] = number
    return found


def _rounds(graph: Graph, nodes: list[int], loop: Loop, places: dict[int, int], workspace: Workspace) -> list[Step]:
    """The first state moves into its places; a round computes the next beside it, and moves it there."""
    operands = graph.operands(nodes[0])
    first, taken = operands[: loop.nstate], operands[loop.nstate :]
    state = workspace.region(loop.nstate)
    rows = workspace.region(sum(table.size for table in loop.tables))
    following = workspace.region(len(loop.body.outputs))
    inputs = [*range(state, following), *(places[k] for k in taken)]
    steps = _steps(loop.body, inputs, following, workspace)
    steps.append(Moves([(following + k, state + k) for k in range(loop.nstate)]))
    for k in nodes[1:]:
        places[k] = state + graph.nodes[k][0].number
    begin: list[tuple[int | float, int]] = []
    for number, k in enumerate(first):
        value = graph.value(k)
        begin.append((places[k] if value is None else float(value), state + number))
    watched = None if loop.watch is None else state + loop.watch
    return [Moves(begin), Rounds(loop, steps, rows, following + loop.nstate, watched)]
