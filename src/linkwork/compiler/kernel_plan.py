"""Plan of a kernel: its operations in the order in which the generated code runs them, independent of the target.

The plan is a sequence of steps: chunks of operations, moves (copies of numbers) and loops. The steps work on a
workspace of slots with one number each, or one vector if lanes run in parallel. A chunk is a bounded sequence of
operations. It holds its values in registers and stores live-out values, which other steps use, in the workspace. Code
generation therefore takes time linear in the size of the graph. A slot is reused when its value is no longer needed.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from linkwork.compiler.graph import Graph, Loop, Value
from linkwork.compiler.graph_partitioning import chunks
from linkwork.compiler.row_array_operations import ReadRow, Region, WriteRow

# Graphs with at least so many nodes share code between chunks: straight-line code of this length does not fit the
# first-level caches. Measured on variational steps of chains, Zen 3: with shared code 8 joints (5,300 operations) take
# 2 % more time, 32 joints (25,000) 6 to 11 % less.
MIN_NODES_TO_SHARE = 10_000


class Chunk(NamedTuple):
    """A step of the plan that computes a sequence of operations of `graph`, compiled as one function.

    `nodes` are the operations in order of evaluation. `live_out` are all nodes of the graph whose values are used
    outside the chunk that computes them. `slots` has the workspace slot of each value that the chunk loads or that is
    in `live_out`.
    """

    graph: Graph
    nodes: list[int]
    slots: dict[int, int]
    live_out: set[int]


class Moves(NamedTuple):
    """A step of the plan that copies numbers in the workspace simultaneously, as pairs (source, target slot).

    A source is a slot (int) or a constant (float).
    """

    pairs: list[tuple[int | float, int]]


class LoopStep(NamedTuple):
    """A step of the plan that repeats other steps, as a loop in the generated code.

    Each iteration does the following: it loads one row of each table into the workspace, from slot `rows` on; it runs
    `steps`; it writes the numbers in the slots `recorded` to the recorded series; and it copies the next state to the
    slots of the state (`update`). If `watched` is given, the loop continues only while the number in this slot is
    nonzero in any lane.
    """

    loop: Loop
    steps: list[Step]
    update: Moves
    rows: int
    recorded: list[int]
    watched: int | None


Step = Chunk | Moves | LoopStep


@dataclass
class Workspace:
    """Allocator of the workspace slots of a kernel, one number each.

    If `grouped` is true, it allocates contiguous ranges of slots; else single slots, the last freed slot first.
    """

    grouped: bool
    total: int = 0
    free: list[tuple[int, int]] = field(default_factory=list)  # ranges of free slots: begin and end
    regions: dict[Region, int] = field(default_factory=dict)  # first slot of the memory of each row array
    seldom: int = 0  # number of slots added for loops with at most one iteration, which serve as conditions

    def region(self, size: int) -> int:
        """Append `size` new slots to the workspace and return the first one."""
        self.total += size
        return self.total - size

    def take(self, size: int = 1) -> int:
        """Allocate `size` contiguous workspace slots and return the first of them; freed slots are used first."""
        runs = range(len(self.free))
        for i in runs if self.grouped else reversed(runs):
            first, end = self.free[i]
            if end - first >= size:
                self.free[i : i + 1] = [(first + size, end)] if first + size < end else []
                return first
        return self.region(size)

    def give_back(self, first: int, size: int) -> None:
        """Free `size` workspace slots from slot `first` on. If grouped, adjacent free ranges are merged."""
        end = first + size
        i = bisect(self.free, (first, end)) if self.grouped else len(self.free)
        before = self.grouped and i > 0 and self.free[i - 1][1] == first
        after = self.grouped and i < len(self.free) and self.free[i][0] == end
        run = self.free[i - 1][0] if before else first, self.free[i][1] if after else end
        self.free[i - before : i + after] = [run]


class Plan(NamedTuple):
    """The steps of a kernel, and the workspace of `total` slots (one number each) on which they work.

    The inputs are in the slots from 0 on; `outputs` are the slots of the results. If `shares_chunks` is true, chunks
    with equal operations share code; the results of a chunk that are last used in the same step are then in adjacent
    slots. `regions` maps the memory of each row array to its first slot. `usual` is the number of slots without those
    that only loops with at most one iteration need: such a loop serves as a condition, and few states enter it.
    """

    steps: list[Step]
    outputs: list[int]
    total: int
    shares_chunks: bool
    regions: dict[Region, int]
    usual: int


def plan(graph: Graph) -> Plan:
    """Return the plan of a kernel: the steps that compute the outputs of a graph from its inputs."""
    share = _length(graph) >= MIN_NODES_TO_SHARE
    workspace = Workspace(grouped=share)
    first = workspace.region(graph.ninputs)
    for region in dict.fromkeys(_row_arrays(graph)):
        workspace.regions[region] = workspace.region(region.count * region.size)
    steps, outputs = _steps(graph, range(first, first + graph.ninputs), workspace)
    usual = workspace.total - workspace.seldom
    return Plan(steps, outputs, workspace.total, share, workspace.regions, usual)


def _length(graph: Graph) -> int:
    """Return the number of nodes of a graph, including the bodies of its loops."""
    loops = (node[0].body for node in graph.nodes if isinstance(node[0], Loop))
    return len(graph.nodes) + sum(map(_length, loops))


def _row_arrays(graph: Graph) -> Iterator[Region]:
    """Yield the memory region of each row-array operation in a graph and its loops' bodies; regions may repeat."""
    for operation, *_ in graph.nodes:
        if isinstance(operation, (ReadRow, WriteRow)):
            yield operation.region
        elif isinstance(operation, Loop):
            yield from _row_arrays(operation.body)


def chunks_of(steps: Sequence[Step]) -> Iterator[Chunk]:
    """Yield all chunks of operations in a plan's steps, including those inside loops."""
    for step in steps:
        if isinstance(step, LoopStep):
            yield from chunks_of(step.steps)
        elif isinstance(step, Chunk):
            yield step


def _steps(graph: Graph, inputs: Sequence[int], workspace: Workspace) -> tuple[list[Step], list[int]]:
    """Return the plan steps of one graph, and the workspace slots of its outputs.

    `inputs` are the slots of the graph's inputs; `workspace` allocates slots for computed values.
    """
    groups = _operation_groups(graph, workspace)
    home = {k: number for number, nodes in enumerate(groups) for k in nodes}
    last_use = _last_uses(graph, groups, home)
    slots = {k: inputs[node[1]] for k, node in enumerate(graph.nodes) if node[0] == "input"}
    outputs = set(graph.outputs)
    live_out = outputs | last_use.keys()
    constants = {k: workspace.take() for k in sorted(outputs) if graph.value(k) is not None}
    steps: list[Step] = []
    if constants:
        steps.append(Moves([(float(graph.value(k)), slot) for k, slot in constants.items()]))
    ending: dict[int, list[tuple[int, int]]] = {}  # group: ranges of slots that become free after it
    for number, nodes in enumerate(groups):
        operation = graph.nodes[nodes[0]][0]
        if isinstance(operation, Loop):
            steps += _loop_steps(graph, nodes, operation, slots, workspace)
        else:
            for last, together in _live_out_groups(nodes, outputs, last_use, workspace.grouped):
                first = workspace.take(len(together))
                slots.update(zip(together, range(first, first + len(together)), strict=True))
                if last is not None:
                    ending.setdefault(last, []).append((first, len(together)))
            steps.append(Chunk(graph, nodes, slots, live_out))
        for first, size in ending.pop(number, []):
            workspace.give_back(first, size)
    found = slots | constants
    return steps, [found[k] for k in graph.outputs]


def _operation_groups(graph: Graph, workspace: Workspace) -> list[list[int]]:
    """Return the operations of a graph, in order of evaluation, as groups of nodes.

    A group is either a chunk of operations, or a loop and the `Value` nodes that read its final state. If `workspace`
    is grouped, chunks are chosen so that repeated patterns can share code.
    """
    share, rows = workspace.grouped, bool(workspace.regions)
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
    return [group for run in runs if run for group in ([run] if run[0] in loops else chunks(graph, run, share, rows))]


def _last_uses(graph: Graph, groups: list[list[int]], home: dict[int, int]) -> dict[int, int]:
    """Return, for each value that is used outside its group of operations, the index of the last other group using it.

    `groups` are the groups of operations of `graph`; `home` maps each computed value to the index of the group that
    computes it.
    """
    found: dict[int, int] = {}
    for number, nodes in enumerate(groups):
        for k in nodes:
            for operand in graph.operands(k):
                if operand in home and home[operand] != number:
                    found[operand] = number
    return found


def _live_out_groups(
    nodes: list[int], outputs: set[int], last_use: dict[int, int], grouped: bool
) -> Iterator[tuple[int | None, list[int]]]:
    """Yield the values that a group of operations computes for use outside it, as pairs (last use, list of values).

    The last use is the index of the last group that uses the values.

    `nodes` are the operations of the group; `last_use` has the index of the last group that uses each value. This index
    is None for the graph's `outputs`, whose slots are needed until the end. If `grouped` is true, values with the same
    last use are yielded together and get adjacent slots. Chunks with equal operations then find most of their values at
    the same distances (see `code_deduplication`). Otherwise values are yielded one by one: single slots leave fewer
    gaps.
    """
    found: dict[Any, list[int]] = {}
    ends = {k: None if k in outputs else last_use[k] for k in nodes if k in outputs or k in last_use}
    for k, last in ends.items():
        found.setdefault(last if grouped else (k,), []).append(k)
    return ((ends[together[0]], together) for together in found.values())


def _loop_steps(graph: Graph, nodes: list[int], loop: Loop, slots: dict[int, int], workspace: Workspace) -> list[Step]:
    """Return the plan steps of a loop of `graph`: the copy of the initial state to its slots, and the loop itself.

    `nodes` are the loop and the `Value` nodes that read its final state. `slots` maps nodes to their workspace slots;
    the slots of the `Value` nodes are added. `workspace` allocates slots.
    """
    operands = graph.operands(nodes[0])
    first, taken = operands[: loop.nstate], operands[loop.nstate :]
    state = [workspace.region(1) for _ in first]
    rows = workspace.region(sum(table.size for table in loop.tables))
    before, seldom = workspace.total, workspace.seldom
    inputs = [*state, *range(rows, before), *(slots[k] for k in taken)]
    steps, outputs = _steps(loop.body, inputs, workspace)
    if loop.count == 1:
        workspace.seldom = seldom + workspace.total - before
    following, recorded = outputs[: loop.nstate], outputs[loop.nstate :]
    for k in nodes[1:]:
        slots[k] = state[graph.nodes[k][0].number]
    begin: list[tuple[int | float, int]] = []
    for slot, k in zip(state, first, strict=True):
        value = graph.value(k)
        begin.append((slots[k] if value is None else float(value), slot))
    update: list[tuple[int | float, int]] = [(x, slot) for x, slot in zip(following, state, strict=True) if x != slot]
    watched = None if loop.watch is None else state[loop.watch]
    return [Moves(begin), LoopStep(loop, steps, Moves(update), rows, recorded, watched)]
