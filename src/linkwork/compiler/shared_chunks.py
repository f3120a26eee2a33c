"""Chunk sharing: chunks with the same operations on different numbers share one function.

A long chain repeats the same operations for each joint. Straight-line code for it would not fit the instruction cache
and takes long to generate. Chunks that differ only in constants and slots therefore become one function, which reads
the differing values from a table row. Slots with the same distances in all chunks share one table column.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from linkwork.compiler.graph import bits_of, is_truth
from linkwork.compiler.plan import Chunk, Plan, chunks_of


class SlotAddress(NamedTuple):
    """A slot: `distance` after the slot stored in a column of the row, or after the first slot if `column` is None."""

    column: int | None
    distance: int


class SharedChunk(NamedTuple):
    """Chunks that share one function, that of `chunk`.

    `slots` are the addresses of its values that come from outside or are live out, `constants` the columns of differing
    constants. `rows` has one row for each chunk, with one number per column: a slot, or the bits of a constant.
    """

    chunk: Chunk
    slots: dict[int, SlotAddress]
    constants: dict[int, int]
    rows: list[tuple[int, ...]]


class ChunkForm(NamedTuple):
    """The operations of a chunk as text that equal chunks share, and the nodes that may differ: constants and slots."""

    text: Hashable
    constants: list[int]
    slotted: list[int]


def form_of(chunk: Chunk) -> ChunkForm:
    """The form of a chunk; nodes are numbered in the order in which they appear."""
    graph = chunk.graph
    text: list[Hashable] = []
    numbers: dict[int, int] = {}
    constants, slotted = list[int](), list[int]()
    for k in chunk.nodes:
        operation, *operands = graph.nodes[k]
        text.append(operation)
        for operand in operands:
            if operand not in numbers:  # the operand comes from outside
                numbers[operand] = len(numbers)
                value = graph.value(operand)
                if isinstance(value, bool):
                    text.append(str(value))
                elif value is not None:
                    text.append("const")
                    constants.append(operand)
                else:
                    text.append("truth" if is_truth(graph, operand) else "number")
                    slotted.append(operand)
            text.append(numbers[operand])
        numbers[k] = len(numbers)
        if k in chunk.live_out:
            text.append("live out")
            slotted.append(k)
    return ChunkForm(tuple(text), constants, slotted)


def shared_chunks(plan: Plan) -> list[tuple[SharedChunk, list[Chunk]]]:
    """The functions of a plan, each with its chunks; one function per chunk if the plan does not share chunks."""
    found: dict[Hashable, list[tuple[Chunk, ChunkForm]]] = {}
    for number, chunk in enumerate(chunks_of(plan.steps)):
        form = form_of(chunk)
        found.setdefault(form.text if plan.shares_chunks else number, []).append((chunk, form))
    return [(_merged(members), [chunk for chunk, _ in members]) for members in found.values()]


def _merged(members: list[tuple[Chunk, ChunkForm]]) -> SharedChunk:
    """One function for chunks of one form: common values are part of the code, differing values are in columns."""
    chunk, first = members[0]
    columns: list[tuple[int, ...]] = []
    constants: dict[int, int] = {}
    for i, k in enumerate(first.constants):
        bits = tuple(bits_of(one.graph.value(form.constants[i])) for one, form in members)
        if len(set(bits)) > 1:
            constants[k] = len(columns)
            columns.append(bits)
    slots: dict[int, SlotAddress] = {}
    bases: dict[tuple[int, ...], tuple[int, int]] = {}  # by the shifts from chunk to chunk: a column and its first slot
    for i, k in enumerate(first.slotted):
        own = tuple(one.slots[form.slotted[i]] for one, form in members)
        if len(set(own)) == 1:
            slots[k] = SlotAddress(None, own[0])
            continue
        shifts = tuple(slot - own[0] for slot in own)
        if shifts not in bases:
            bases[shifts] = len(columns), own[0]
            columns.append(own)
        column, base = bases[shifts]
        slots[k] = SlotAddress(column, own[0] - base)
    return SharedChunk(chunk, slots, constants, list(zip(*columns, strict=True)) if columns else [() for _ in members])
