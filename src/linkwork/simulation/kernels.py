"""Kernels of runs, and what they are known by.

Where users' functions take part, a kernel is known by its graph, since the text of a function does not tell all that it
depends on: it is traced every time, and compiled if its graph is new. Without them its request tells all, and a kernel
that was built before is neither traced nor compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from linkwork.compiler import store
from linkwork.compiler.graph import Count
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.program import Rows
from linkwork.compiler.recent import shared
from linkwork.evaluation.compiled import mechanism_digest, source_digest
from linkwork.model.grounds import Ground
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.preparation import Request

__all__ = ["Count", "Rows", "kernel_of"]


def kernel_of(
    asked: Request,
    name: tuple[str, ...],
    program: Callable[..., Any],
    shapes: Sequence[Any],
    results: Sequence[Any],
    counts: int = 0,
) -> Kernel:
    """The kernel of a program that answers a request; `name` says which. It may be one that was used lately."""
    title = f"{name[0]} of {asked.mechanism.name}"
    key = _key(asked, *name, repr(shapes), repr(results))
    return shared(Kernel(title, program, shapes, results, key, counts))


def _key(asked: Request, *name: str) -> str | None:
    """What a kernel without users' functions is known by; None if there are some."""
    if any((asked.control, asked.sampler, asked.wrenches, asked.stop, asked.guards)):
        return None
    m = asked.mechanism
    if any(isinstance(surface.shape, Ground) for surface in m.surfaces):
        return None
    stops = () if asked.stops is None else (a.tobytes() for a in asked.stops)
    name = (*name, repr(asked.baumgarte), repr(asked.switched))
    limits = [a.tobytes() for j in m.joints for a in j.limits]
    parts = (*stops, *limits, *_contacts(m), *name)
    return store.digest(source_digest(), _room_digest(), mechanism_digest(m), *parts)


def _contacts(mechanism: Mechanism) -> Iterator[str | bytes]:
    """All that contacts say, which only motion depends on."""
    for pair in mechanism.touches:
        numbers = {
            field.name: getattr(pair.contact, field.name) for field in fields(pair.contact) if field.name != "at"
        }
        yield f"{numbers} {pair.surface.name} {pair.surface.shape}"
        for place in (pair.contact.at, pair.surface.place):
            yield from (str(place.body), place.pose.R.tobytes(), place.pose.p.tobytes())


@cache
def _room_digest() -> str:
    """A name for the text of this room."""
    return store.digest(*(path.read_bytes() for path in sorted(Path(__file__).parent.rglob("*.py"))))
