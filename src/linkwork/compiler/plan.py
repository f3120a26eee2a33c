"""What a kernel does, step by step, before it is printed for a machine: chunks of a graph, moves and loops.

The steps work on a workspace of places, one number each (a vector of them where lanes run side by side). A chunk is a
bounded run of operations that keeps its values in registers and passes on through the workspace what others need, so
that code generation takes time linear in the graph. Places are used again once nobody needs their value.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from linkwork.compiler.chunking import chunks
from linkwork.compiler.graph import Graph, Loop, Value

# Straight code of so many operations leaves the caches near the processor. Measured on variational steps of chains, Zen
# 3: with shared texts 8 joints (5,300 operations) take 2 % more time, 32 joints (25,000) 6 to 11 % less.
LONG = 10_000  # nodes


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
    """Hands out places that follow each other, and takes them back.

    As `records`, many are asked for at once; otherwise they go one by one, those first that were given back last.
    """

    records: bool
    total: int = 0
    free: list[tuple[int, int]] = field(default_factory=list)  # runs of places: where they begin and end

    def region(self, size: int) -> int:
        """The first of `size` new places."""
        self.total += size
        return self.total - size

    def take(self, size: int = 1) -> int:
        """The first of `size` places that nobody uses."""
        runs = range(len(self.free))
        for i in runs if self.records else reversed(runs):
            first, end = self.free[i]
            if end - first >= size:
                self.free[i : i + 1] = [(first + size, end)] if first + size < end else []
                return first
        return self.region(size)

    def give_back(self, first: int, size: int) -> None:
        """Nobody uses these places any more; in order, as records, they join the runs beside them."""
        end = first + size
        i = bisect(self.free, (first, end)) if self.records else len(self.free)
        before = self.records and i > 0 and self.free[i - 1][1] == first
        after = self.records and i < len(self.free) and self.free[i][0] == end
        run = self.free[i - 1][0] if before else first, self.free[i][1] if after else end
        self.free[i - before : i + after] = [run]


class Plan(NamedTuple):
    """Steps on a workspace of `total` places: inputs come from place 0 on, outputs are found at their places.

    If it is `long`, what leaves a chunk lies side by side, and chunks that are alike should share a text.
    """

    steps: list[Step]
    outputs: list[int]
    total: int
    long: bool


def plan(graph: Graph) -> Plan:
    """The steps that compute the outputs of a graph from its inputs."""
    long = _length(graph) >= LONG
    workspace = Workspace(long)
    first = workspace.region(graph.ninputs)
    steps, outputs = _steps(graph, range(first, first + graph.ninputs), workspace)
    return Plan(steps, outputs, workspace.total, long)


def _length(graph: Graph) -> int:
    """How many nodes a graph has, with those of its loops."""
    loops = (node[0].body for node in graph.nodes if isinstance(node[0], Loop))
    return len(graph.nodes) + sum(map(_length, loops))


def chunks_of(steps: Sequence[Step]) -> Iterator[Chunk]:
    """All chunks of some steps, also those in loops."""
    for step in steps:
        if isinstance(step, Rounds):
            yield from chunks_of(step.steps)
        elif isinstance(step, Chunk):
            yield step


def _steps(graph: Graph, inputs: Sequence[int], workspace: Workspace) -> tuple[list[Step], list[int]]:
    """The steps of one graph, whose inputs lie at the given places, and the places of its outputs."""
    cuts = _cut(graph, workspace.records)
    home = {k: number for number, nodes in enumerate(cuts) for k in nodes}
    last_use = _last_uses(graph, cuts, home)
    places = {k: inputs[node[1]] for k, node in enumerate(graph.nodes) if node[0] == "input"}
    outputs = set(graph.outputs)
    leaving = outputs | last_use.keys()
    constants = {k: workspace.take() for k in sorted(outputs) if graph.value(k) is not None}
    steps: list[Step] = []
    if constants:
        steps.append(Moves([(float(graph.value(k)), place) for k, place in constants.items()]))
    ending: dict[int, list[tuple[int, int]]] = {}  # places that are free after each cut
    for number, nodes in enumerate(cuts):
        operation = graph.nodes[nodes[0]][0]
        if isinstance(operation, Loop):
            steps += _rounds(graph, nodes, operation, places, workspace)
        else:
            for last, together in _leaving(nodes, outputs, last_use, workspace.records):
                first = workspace.take(len(together))
                places.update(zip(together, range(first, first + len(together)), strict=True))
                if last is not None:
                    ending.setdefault(last, []).append((first, len(together)))
            steps.append(Chunk(graph, nodes, places, leaving))
        for first, size in ending.pop(number, []):
            workspace.give_back(first, size)
    found = places | constants
    return steps, [found[k] for k in graph.outputs]


def _cut(graph: Graph, share: bool) -> list[list[int]]:
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
    return [cut for run in runs if run for cut in ([run] if run[0] in loops else chunks(graph, run, share))]


def _last_uses(graph: Graph, cuts: list[list[int]], home: dict[int, int]) -> dict[int, int]:
    """For each value that is used outside its cut, the last cut that uses it."""
    found: dict[int, int] = {}
    for number, nodes in enumerate(cuts):
        for k in nodes:
            for operand in graph.operands(k):
                if operand in home and home[operand] != number:
                    found[operand] = number
    return found


def _leaving(
    nodes: list[int], outputs: set[int], last_use: dict[int, int], records: bool
) -> Iterator[tuple[int | None, list[int]]]:
    """The values that leave a cut, each with the last cut that uses it, None for outputs.

    As `records` those that end together lie side by side, so that chunks that are alike find most of what they use at
    the same distances (see `alike`); one by one they leave fewer gaps.
    """
    found: dict[Any, list[int]] = {}
    ends = {k: None if k in outputs else last_use[k] for k in nodes if k in outputs or k in last_use}
    for k, last in ends.items():
        found.setdefault(last if records else (k,), []).append(k)
    return ((ends[together[0]], together) for together in found.values())


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
