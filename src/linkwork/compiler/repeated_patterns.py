"""Patterns of operations that a graph repeats on other numbers, as it does for each leg of a machine.

Chunks can share code only if equal patterns are cut equally (see `chunk_sharing`). So cuts should fall on the borders
of repeated patterns, and a chunk that begins like an earlier one should end like it.
"""

from __future__ import annotations

from linkwork.compiler.graph import Graph

# All in operations
KEY_LENGTH = 20  # by which a pattern is recognised
MIN_PATTERN = 80  # of a pattern whose borders are worth a cut; with 60 to 120, shared code is as long within 10 %
MAX_DISTANCE = 16  # back to which an operand is known by its distance; all farther ones count as the same

Codes = list[int]


def operation_codes(graph: Graph, work: list[int]) -> Codes:
    """For each operation a whole number, equal for equal operations: constants and distant operands may differ."""
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
    """Where repeated patterns begin and end, at each of their occurrences."""
    found, seen = set[int](), dict[tuple[int, ...], int]()  # where each key was seen last
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
    """The chunks cut so far, by how they begin."""

    def __init__(self, codes: Codes):
        self._codes, self._known = codes, dict[tuple[int, ...], Codes]()

    def add(self, start: int, end: int) -> None:
        """Remember a chunk."""
        self._known[self._key(start)] = self._codes[start:end]

    def length(self, start: int) -> int:
        """The length of a known chunk that is repeated here, or 0."""
        chunk = self._known.get(self._key(start), [])
        return len(chunk) if self._codes[start : start + len(chunk)] == chunk else 0

    def _key(self, start: int) -> tuple[int, ...]:
        return tuple(self._codes[start : start + KEY_LENGTH])
