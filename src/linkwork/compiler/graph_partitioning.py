"""Divides a graph of operations into chunks: short sequences of operations that are compiled as separate functions.

A value that is used outside its chunk is stored to memory and loaded again, so a chunk ends where few values are live.
"""

from __future__ import annotations

from itertools import pairwise

from linkwork.compiler.graph import Graph
from linkwork.compiler.repeated_patterns import KnownChunks, operation_codes, pattern_borders
from linkwork.compiler.row_array_operations import WriteRow

# Measured on AVX2, 7 to 38 dof: chunks of 80 to 160 operations that end where few values are live take 0 to 4 % less
# time than cuts after every 200 operations, because they spill less; shorter chunks store more. Ending a chunk before
# its chains of dependent operations get too long saves another 2 to 5 % in forward dynamics.
MIN_OPERATIONS, MAX_OPERATIONS = 40, 160  # limits of the number of operations in a chunk
MAX_CHAIN = 80  # cycles of the longest chain of dependent operations in a chunk
# Loops over row arrays run few operations per iteration; a chunk should then contain the whole loop body, whose values
# stay in registers. Measured, Zen 5: rigid contact of 3 boxes takes 16 % less time for one state and 22 % for many, and
# compiling takes no longer.
LONG_OPERATIONS, LONG_CHAIN = 800, 1000
LONG_RUN = 1200  # largest number of operations of a sequence that is divided with these two limits
LATENCY = {"add": 3, "sub": 3, "mul": 3, "div": 13, "sqrt": 20, "sin": 50, "cos": 50}  # in cycles
OTHER_LATENCY = 4  # cycles, for operations that LATENCY does not name


def chunks(graph: Graph, work: list[int], share: bool, row_arrays: bool = False) -> list[list[int]]:
    """Divide the operations `work` of a graph into chunks that end where few values are live; return the chunks.

    `work` has the operations as graph nodes in order of evaluation; each chunk is a part of this list. If `share` is
    true, each occurrence of a repeated pattern is divided like the first one, and chunks also end where a pattern
    begins or ends. Equal chunks can then share code. `row_arrays` is whether the kernel has row arrays.
    """
    long = row_arrays and len(work) <= LONG_RUN
    limits = (LONG_OPERATIONS, LONG_CHAIN) if long else (MAX_OPERATIONS, MAX_CHAIN)
    codes = operation_codes(graph, work) if share else []
    alive, borders, known, cuts = _alive_after(graph, work), pattern_borders(codes), KnownChunks(codes), [0]
    while cuts[-1] < len(work):
        start = cuts[-1]
        end = start + known.length(start)
        if end == start:
            end = limit = _limit(graph, work, start, *limits)
            if limit < len(work):
                least = min(limit, max(start + MIN_OPERATIONS, (start + limit) // 2))
                ends = range(limit, least - 1, -1)
                good = [end for end in ends if known.length(end)] or [end for end in ends if end in borders] or ends
                end = min(good, key=lambda end: alive[end - 1])  # of equally good ends, the last one
                known.add(start, end)
        cuts.append(end)
    return [work[start:end] for start, end in pairwise(cuts)]


def _limit(graph: Graph, work: list[int], start: int, operations: int, chain: int) -> int:
    """Return the largest allowed end of a chunk that begins at `start`, both as indices in the list `work`.

    `work` are nodes of `graph` in order of evaluation. A chunk has at most `operations` operations. If it has at least
    MIN_OPERATIONS, the latency of its longest chain of dependent operations is at most `chain` cycles. If each operand
    of a write to a row array counts as one more operation, the sum is at most LONG_OPERATIONS.
    """
    ready: dict[int, int] = {}  # the cycle in which each value of the chunk is computed
    written = 0  # count of operands of the writes to row arrays
    for i in range(start, min(start + operations, len(work))):
        operation, *operands = graph.nodes[work[i]]
        written += len(operands) if isinstance(graph.nodes[work[i]][0], WriteRow) else 0
        if i - start + written > LONG_OPERATIONS and i > start:
            return i
        ready[work[i]] = LATENCY.get(operation, OTHER_LATENCY) + max(ready.get(k, 0) for k in operands)
        if ready[work[i]] > chain and i >= start + MIN_OPERATIONS:
            return i
    return min(start + operations, len(work))


def _alive_after(graph: Graph, work: list[int]) -> list[int]:
    """Return, for each operation in `work`, how many values are live directly after it is computed.

    A value is live if an earlier operation computed it and a later operation in `work` uses it. `work` are nodes of
    `graph`, in order of evaluation.
    """
    position = {k: i for i, k in enumerate(work)}
    last_use = list(range(len(work)))
    for i, k in enumerate(work):
        for operand in graph.operands(k):
            if operand in position:
                last_use[position[operand]] = i
    change = [0] * (len(work) + 1)
    for i, last in enumerate(last_use):
        change[i] += 1
        change[last] -= 1
    alive, count = [], 0
    for step in change[:-1]:
        count += step
        alive.append(count)
    return alive
