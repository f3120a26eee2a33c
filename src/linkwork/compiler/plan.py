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
from linkwork.compiler.schedule import chunks


class Chunk(NamedTuple):
    """Operations of a graph in order; `places` says where values are that come from outside or leave."""

    graph: Graph
    nodes: list[int]
    places: dict[int, int]
    leaving: set[int]


class Moves(NamedTuple):
    """Numbers to copy, all at once: each from a place, or a constant, to a place."""

    pairs: list[tuple[int | float, int]]


class Rounds(NamedTuple):
    """A loop over steps. Rows of tables enter from place `rows` on; what is recorded lies at the places `recorded`.

    `following` moves the next state to where the next round looks for it.
    """

    loop: Loop
    steps: list[Step]
    following: Moves
    rows: int
    recorded: list[int]
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
    """Steps on a workspace of `total` places: inputs come from place 0 on, outputs are found at their places."""

    steps: list[Step]
    outputs: list[int]
    total: int


def plan(graph: Graph) -> Plan:
    """The steps that compute the outputs of a graph from its inputs."""
    workspace = Workspace()
    first = workspace.region(graph.ninputs)
    steps, outputs = _steps(graph, range(first, first + graph.ninputs), workspace)
    return Plan(steps, outputs, workspace.total)


def _steps(graph: Graph, inputs: Sequence[int], workspace: Workspace) -> tuple[list[Step], list[int]]:
    """The steps of one graph, whose inputs lie at the given places, and the places of its outputs."""
    cuts = _cut(graph)
    home = {k: number for number, nodes in enumerate(cuts) for k in nodes}
    last_use = _last_uses(graph, cuts, home)
    places = {k: inputs[node[1]] for k, node in enumerate(graph.nodes) if node[0] == "input"}
    outputs = set(graph.outputs)
    leaving = outputs | last_use.keys()
    constants = {k: workspace.take() for k in sorted(outputs) if graph.value(k) is not None}
    steps: list[Step] = []
    if constants:
        steps.append(Moves([(float(graph.value(k)), place) for k, place in constants.items()]))
    ending: dict[int, list[int]] = {}  # places that are free after each cut
    for number, nodes in enumerate(cuts):
        operation = graph.nodes[nodes[0]][0]
        if isinstance(operation, Loop):
            steps += _rounds(graph, nodes, operation, places, workspace)
        else:
            for k in nodes:
                if k in outputs or k in last_use:
                    places[k] = workspace.take()
                if k in last_use and k not in outputs:
                    ending.setdefault(last_use[k], []).append(places[k])
            steps.append(Chunk(graph, nodes, places, leaving))
        workspace.free += ending.pop(number, [])
    return steps, [(places | constants)[k] for k in graph.outputs]


def _cut(graph: Graph) -> list[list[int]]:
    """The nodes that do something, in order: each loop with its values, and chunks of what is between loops."""
    runs: list[list[int]] = [[]]
    loops: dict[int, list[int]] = {}
    for k, node in enumerate(graph.nodes):
        if isinstance(node[0], Loop):
            loops[k] = [k]
            runs += [loops[k], []]
        elif isinstance(node[0], Value):
            loops[node[1]].append(k)
        elif graph.operands(k):
            runs[-1].append(k)
    return [cut for run in runs if run for cut in ([run] if run[0] in loops else chunks(graph, run))]


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
    inputs = [*range(state, workspace.total), *(places[k] for k in taken)]
    steps, outputs = _steps(loop.body, inputs, workspace)
    following, recorded = outputs[: loop.nstate], outputs[loop.nstate :]
    for k in nodes[1:]:
        places[k] = state + graph.nodes[k][0].number
    begin: list[tuple[int | float, int]] = []
    for number, k in enumerate(first):
        value = graph.value(k)
        begin.append((places[k] if value is None else float(value), state + number))
    move: list[tuple[int | float, int]] = [(place, state + k) for k, place in enumerate(following)]
    watched = None if loop.watch is None else state + loop.watch
    return [Moves(begin), Rounds(loop, steps, Moves(move), rows, recorded, watched)]
