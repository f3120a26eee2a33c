"""Cutting a graph into chunks, runs of its operations that are compiled and run each on its own.

A value that leaves its chunk is stored and loaded again, so a chunk ends where few values are alive.
"""

from __future__ import annotations

from itertools import pairwise

from linkwork.compiler.graph import Graph
from linkwork.compiler.repeated_patterns import Known, borders, letters

# Measured on AVX2, 7 to 38 dof: chunks of 80 to 160 that end where few values are alive take 0 to 4 % less time than
# cuts after every 200 operations: they spill less; still shorter ones store more. Ending a chunk before its chains get
# DEEP takes another 2 to 5 % off forward dynamics.
SHORTEST, LONGEST = 40, 160  # operations of a chunk
DEEP = 80  # cycles from the first operation of a chunk to its last if each waits for its operands alone
LATENCY = {"add": 3, "sub": 3, "mul": 3, "div": 13, "sqrt": 20, "sin": 50, "cos": 50}  # cycles; of others 4


def chunks(graph: Graph, work: list[int], share: bool) -> list[list[int]]:
    """Some operations of a graph, in their order, cut where the fewest values are alive.

    If chunks that are alike `share` a text, what comes again is cut as it was before, and where it begins and ends.
    """
    text = letters(graph, work) if share else []
    alive, between, known, cuts = _alive_after(graph, work), borders(text), Known(text), [0]
    while cuts[-1] < len(work):
        start = cuts[-1]
        end = start + known.length(start)
        if end == start:
            end = limit = _limit(graph, work, start)
            if limit < len(work):
                ends = range(limit, max(start + SHORTEST, (start + limit) // 2) - 1, -1)
                good = [end for end in ends if known.length(end)] or [end for end in ends if end in between] or ends
                end = min(good, key=lambda end: alive[end - 1])  # the last of equals
                known.keep(start, end)
        cuts.append(end)
    return [work[start:end] for start, end in pairwise(cuts)]


def _limit(graph: Graph, work: list[int], start: int) -> int:
    """Where a chunk must end at the latest."""
    ready: dict[int, int] = {}  # when the values of the chunk are
    for i in range(start, min(start + LONGEST, len(work))):
        operation, *operands = graph.nodes[work[i]]
        ready[work[i]] = LATENCY.get(operation, 4) + max(ready.get(k, 0) for k in operands)
        if ready[work[i]] > DEEP and i >= start + SHORTEST:
            return i
    return min(start + LONGEST, len(work))


def _alive_after(graph: Graph, work: list[int]) -> list[int]:
    """After each operation, how many values are there that later ones need."""
    place = {k: i for i, k in enumerate(work)}
    last_use = list(range(len(work)))
    for i, k in enumerate(work):
        for operand in graph.operands(k):
            if operand in place:
                last_use[place[operand]] = i
    change = [0] * (len(work) + 1)
    for i, last in enumerate(last_use):
        change[i] += 1
        change[last] -= 1
    alive, count = [], 0
    for step in change[:-1]:
        count += step
        alive.append(count)
    return alive
