"""Finds repeated patterns of operations in a graph, such as the operations for equal legs of a mechanism.

Chunks can share code only if equal patterns are divided equally (see `code_deduplication`). Chunks should therefore end
at the borders of repeated patterns, and a chunk that begins like an earlier one should end like it.
"""

from __future__ import annotations

from linkwork.compiler.graph import Graph

# Lengths and distances are counted in operations
KEY_LENGTH = 20  # number of first operations by which a pattern or chunk is looked up
# Shortest pattern whose borders are used; for 60 to 120, the length of the shared code changes by less than 10 %
MIN_PATTERN = 80
MAX_DISTANCE = 16  # largest distance of an operand that matters; all farther operands count as equal

Codes = list[int]


def operation_codes(graph: Graph, work: list[int]) -> Codes:
    """Return an integer for each operation in `work`, a list of graph nodes; equal operations get equal integers.

    Two operations are equal if they have the same name, and if the distance to each operand, counted in operations, is
    the same. Constants may differ, and so may operands that are computed more than MAX_DISTANCE operations earlier.
    """
    position = {k: i for i, k in enumerate(work)}
    found, known = [], dict[tuple[object, ...], int]()
    for i, k in enumerate(work):
        operation, *operands = graph.nodes[k]
        form: list[object] = [operation]
        for operand in operands:
            back = i - position.get(operand, i - MAX_DISTANCE)
            form.append("const" if graph.value(operand) is not None else min(back, MAX_DISTANCE))
        found.append(known.setdefault(tuple(form), len(known)))
    return found


def pattern_borders(codes: Codes) -> set[int]:
    """Return the indices in `codes`, the coded operations, where an occurrence of a repeated pattern begins or ends."""
    found, seen = set[int](), dict[tuple[int, ...], int]()  # borders found; last position of each key
    start = 0
    while start < len(codes):
        length, before = 0, seen.get(tuple(codes[start : start + KEY_LENGTH]), -1)
        if before >= 0:
            while start + length < len(codes) and codes[start + length] == codes[before + length]:
                length += 1
        if length < MIN_PATTERN:
            length = 1
        else:
            found |= {before, before + length, start, start + length}
        for i in range(start, start + length):
            seen[tuple(codes[i : i + KEY_LENGTH])] = i
        start += length
    return found


class KnownChunks:
    """The chunks (sequences of operations) found so far, looked up by their first KEY_LENGTH operations.

    `codes` has an integer for each operation of the graph (see `operation_codes`).
    """

    def __init__(self, codes: Codes):
        self._codes, self._known = codes, dict[tuple[int, ...], Codes]()

    def add(self, start: int, end: int) -> None:
        """Add the chunk with the operations of index `start` to `end` - 1."""
        self._known[self._key(start)] = self._codes[start:end]

    def length(self, start: int) -> int:
        """Return the number of operations of the known chunk that begins at index `start`; 0 if none does."""
        chunk = self._known.get(self._key(start), [])
        return len(chunk) if self._codes[start : start + len(chunk)] == chunk else 0

    def _key(self, start: int) -> tuple[int, ...]:
        return tuple(self._codes[start : start + KEY_LENGTH])
