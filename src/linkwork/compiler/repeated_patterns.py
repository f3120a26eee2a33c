"""Stretches of operations that come again, on other numbers, as they do for each leg of a machine.

Chunks can be alike only if stretches that are alike are cut alike (see `alike`). So cuts should fall on the borders of
what comes again, and what began before like a chunk should end like it.
"""

from __future__ import annotations

from linkwork.compiler.graph import Graph

FEW = 20  # operations by which stretches are recognised
WORTH = 80  # operations of a stretch whose borders are worth a cut; with 60 to 120, texts are as long within 10 %
NEAR = 16  # operations back to which an operand is known by its distance; all farther ones count as the same

Letters = list[int]


def letters(graph: Graph, work: list[int]) -> Letters:
    """For each operation a whole number, the same for all that do the same: constants, and what is far, may differ."""
    place = {k: i for i, k in enumerate(work)}
    found, known = [], dict[tuple[object, ...], int]()
    for i, k in enumerate(work):
        operation, *operands = graph.nodes[k]
        told: list[object] = [operation]
        for operand in operands:
            back = i - place.get(operand, i - NEAR)
            told.append("const" if graph.value(operand) is not None else min(back, NEAR))
        found.append(known.setdefault(tuple(told), len(known)))
    return found


def borders(text: Letters) -> set[int]:
    """Where stretches begin and end that come again, each time that they do."""
    found, begun = set[int](), dict[tuple[int, ...], int]()  # where some operations were seen last
    start = 0
    while start < len(text):
        length, before = 0, begun.get(tuple(text[start : start + FEW]), -1)
        if before >= 0:
            while start + length < len(text) and text[start + length] == text[before + length]:
                length += 1
        if length < WORTH:
            length = 1
        else:
            found |= {before, before + length, start, start + length}
        for i in range(start, start + length):
            begun[tuple(text[i : i + FEW])] = i
        start += length
    return found


class Known:
    """The chunks of a text so far, by how they begin."""

    def __init__(self, text: Letters):
        self._text, self._known = text, dict[tuple[int, ...], Letters]()

    def keep(self, start: int, end: int) -> None:
        """Take note of a chunk."""
        self._known[self._beginning(start)] = self._text[start:end]

    def length(self, start: int) -> int:
        """How long a chunk was that comes again here, or 0."""
        chunk = self._known.get(self._beginning(start), [])
        return len(chunk) if self._text[start : start + len(chunk)] == chunk else 0

    def _beginning(self, start: int) -> tuple[int, ...]:
        return tuple(self._text[start : start + FEW])
