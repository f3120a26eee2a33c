"""Code deduplication: chunks with the same operations on different numbers are compiled to one shared function.

A long chain of bodies repeats the same operations for each joint. Straight-line code for all of them would not fit the
instruction cache and takes long to generate. Chunks that differ only in constants and slots therefore become one
function, which reads the differing values from a row of a table, one row per chunk. Slots whose numbers differ by the
same amounts from chunk to chunk share one table column.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from linkwork.compiler.graph import bits_of, is_truth
from linkwork.compiler.kernel_plan import Chunk, Plan, chunks_of


class SlotAddress(NamedTuple):
    """Address of a workspace slot (memory for one number) in code that several chunks of operations share.

    The slot number is a base slot plus `distance`. The base slot is read from column `column` of the chunk's table row;
    it is slot 0 if `column` is None.
    """

    column: int | None
    distance: int


class SharedChunk(NamedTuple):
    """One function for several chunks with the same operations, and the table of the values that differ between them.

    A chunk is a short sequence of operations; `chunk` is the first of the chunks. `slots` maps nodes of `chunk` to the
    addresses of their workspace slots: operands that other chunks compute, and results that other chunks use.
    `constants` maps the constants that differ between the chunks to table columns. `rows` is the table: one row for
    each chunk, with one integer per column, a slot number or the bits of a constant.
    """

    chunk: Chunk
    slots: dict[int, SlotAddress]
    constants: dict[int, int]
    rows: list[tuple[int, ...]]


class ChunkForm(NamedTuple):
    """The operations of a chunk without its constants and slot numbers: two chunks with equal forms can share code.

    `text` describes the operations. `constants` are the nodes of constants, and `slotted` the nodes whose values are in
    workspace slots; both may differ between chunks that share code.
    """

    text: Hashable
    constants: list[int]
    slotted: list[int]


def form_of(chunk: Chunk) -> ChunkForm:
    """Return the `ChunkForm` of a chunk: its operations, with nodes renumbered in order of appearance."""
    graph = chunk.graph
    text: list[Hashable] = []
    numbers: dict[int, int] = {}
    constants, slotted = list[int](), list[int]()
    for k in chunk.nodes:
        operation, *operands = graph.nodes[k]
        text.append(operation)
        for operand in operands:
            if operand not in numbers:  # the operand is computed outside the chunk
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
    """Return the functions to compile for a kernel plan, each with the list of code chunks that it computes.

    If the plan does not share code (`plan.shares_chunks` is false), each chunk has a separate function.
    """
    found: dict[Hashable, list[tuple[Chunk, ChunkForm]]] = {}
    for number, chunk in enumerate(chunks_of(plan.steps)):
        form = form_of(chunk)
        found.setdefault(form.text if plan.shares_chunks else number, []).append((chunk, form))
    return [(_merged(members), [chunk for chunk, _ in members]) for members in found.values()]


def _merged(members: list[tuple[Chunk, ChunkForm]]) -> SharedChunk:
    """Return the function that several chunks with equal operations share.

    `members` are the chunks with their forms. A constant or slot number that is equal in all chunks becomes part of the
    code; one that differs gets a column of the function's table.
    """
    chunk, first = members[0]
    columns: list[tuple[int, ...]] = []
    constants: dict[int, int] = {}
    for i, k in enumerate(first.constants):
        bits = tuple(bits_of(one.graph.value(form.constants[i])) for one, form in members)
        if len(set(bits)) > 1:
            constants[k] = len(columns)
            columns.append(bits)
    slots: dict[int, SlotAddress] = {}
    # Key: the slot number in each chunk minus that in the first chunk. Value: the table column for these differences,
    # and the slot number that this column has in the first chunk.
    bases: dict[tuple[int, ...], tuple[int, int]] = {}
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
