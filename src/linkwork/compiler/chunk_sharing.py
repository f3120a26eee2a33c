"""Chunks that are alike: the same operations on other numbers share one text.

A long chain does the same at each of its joints. Written out, its code would be read from ever farther caches, and be
generated joint by joint. So chunks that differ in nothing but constants and places are one function, which finds in a
row of a table what differs. Places that keep their distances in all the chunks need one number of the row together.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from linkwork.compiler.graph import bits_of, is_truth
from linkwork.compiler.plan import Chunk, Plan, chunks_of


class At(NamedTuple):
    """A place: so far behind the one that a column of the row tells, or behind the first of all if that is None."""

    column: int | None
    distance: int


class Alike(NamedTuple):
    """Chunks with one text, that of `chunk`.

    `places` says where its values are that come from outside or leave, `constants` in which columns those are that
    differ. A row has a number for each column and each of the chunks: a place, or the bits of a constant.
    """

    chunk: Chunk
    places: dict[int, At]
    constants: dict[int, int]
    rows: list[tuple[int, ...]]


class Form(NamedTuple):
    """What a chunk does, as a text that alike chunks share, and the nodes that differ: constants, those with places."""

    text: Hashable
    constants: list[int]
    placed: list[int]


def form(chunk: Chunk) -> Form:
    """What a chunk does; nodes are numbered as they are met."""
    graph = chunk.graph
    text: list[Hashable] = []
    numbers: dict[int, int] = {}
    constants, placed = list[int](), list[int]()
    for k in chunk.nodes:
        operation, *operands = graph.nodes[k]
        text.append(operation)
        for operand in operands:
            if operand not in numbers:  # it comes from outside
                numbers[operand] = len(numbers)
                value = graph.value(operand)
                if isinstance(value, bool):
                    text.append(str(value))
                elif value is not None:
                    text.append("const")
                    constants.append(operand)
                else:
                    text.append("truth" if is_truth(graph, operand) else "number")
                    placed.append(operand)
            text.append(numbers[operand])
        numbers[k] = len(numbers)
        if k in chunk.leaving:
            text.append("leaves")
            placed.append(k)
    return Form(tuple(text), constants, placed)


def alike(plan: Plan) -> list[tuple[Alike, list[Chunk]]]:
    """The chunks of a plan by their texts, each text with the chunks whose rows it has; all alone if it is not long."""
    found: dict[Hashable, list[tuple[Chunk, Form]]] = {}
    for number, chunk in enumerate(chunks_of(plan.steps)):
        its = form(chunk)
        found.setdefault(its.text if plan.long else number, []).append((chunk, its))
    return [(_together(members), [chunk for chunk, _ in members]) for members in found.values()]


def _together(members: list[tuple[Chunk, Form]]) -> Alike:
    """One text for chunks of one form: what is the same in all of them is part of it, the rest in columns."""
    chunk, first = members[0]
    columns: list[tuple[int, ...]] = []
    constants: dict[int, int] = {}
    for i, k in enumerate(first.constants):
        bits = tuple(bits_of(one.graph.value(its.constants[i])) for one, its in members)
        if len(set(bits)) > 1:
            constants[k] = len(columns)
            columns.append(bits)
    places: dict[int, At] = {}
    bases: dict[
        tuple[int, ...], tuple[int, int]
    ] = {}  # by how places move from chunk to chunk: a column, and its first
    for i, k in enumerate(first.placed):
        at = tuple(one.places[its.placed[i]] for one, its in members)
        if len(set(at)) == 1:
            places[k] = At(None, at[0])
            continue
        moves = tuple(place - at[0] for place in at)
        if moves not in bases:
            bases[moves] = len(columns), at[0]
            columns.append(at)
        column, base = bases[moves]
        places[k] = At(column, at[0] - base)
    return Alike(chunk, places, constants, list(zip(*columns, strict=True)) if columns else [() for _ in members])
