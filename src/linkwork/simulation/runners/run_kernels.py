"""Kernels of runs, and what they are known by.

A request tells all that a program is made of, save what users' functions do, since the text of a function does not tell
what it depends on. They are traced alone, every time, and their graphs are part of the name; the program around them is
traced only where no kernel of that name was built before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from linkwork.compiler import kernel_cache
from linkwork.compiler.graph import Count, description
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.loaded_kernels import shared
from linkwork.compiler.program import Rows
from linkwork.compiler.trace import trace
from linkwork.evaluation.dynamics_kernels import has_kinds_of_users, mechanism_digest, source_digest
from linkwork.model.elements.ground import Ground
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.events.guards import Once
from linkwork.simulation.problem import Request
from linkwork.simulation.state import Carry
from linkwork.spatial.scalar import Array, Number

__all__ = ["Count", "Rows", "kernel_of"]

_traced: WeakKeyDictionary[Request, str] = WeakKeyDictionary()  # of each request's functions, traced once: their name


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
    """What a kernel is known by: all that its program is made of; None where only its graph tells that."""
    m = asked.mechanism
    if has_kinds_of_users(m):
        return None
    stops = () if asked.stops is None else (a.tobytes() for a in asked.stops)
    limits = [a.tobytes() for j in m.joints for a in j.limits]
    guarded = [(s.parameter, s.value, isinstance(s.when, Once)) for s in asked.switches if s.guarded]
    told = (asked.baumgarte, asked.switched, asked.commands, asked.rigid, guarded, list(asked.values))
    parts = (*stops, *limits, *_contacts(m), repr(told), *name)
    return kernel_cache.digest(source_digest(), _room_digest(), mechanism_digest(m), _functions_digest(asked), *parts)


def _functions_digest(asked: Request) -> str:
    """A name for what users' functions do with any numbers: which there are, and their graphs."""
    laws = [asked.control, asked.sampler if asked.traced_sampler else None, asked.wrenches, asked.stop, *asked.guards]
    grounds = {s.name: s.shape for s in asked.mechanism.surfaces if isinstance(s.shape, Ground)}
    if asked in _traced or not (any(laws) or grounds):
        return _traced.get(asked, "")
    size = len(Carry._fields)

    def all_of_them(t: Number, place: Array, *inputs: Any) -> tuple[Any, ...]:
        now, values = Carry(*inputs[:size]), dict(zip(asked.values, inputs[size:], strict=True))
        heights = [ground.function(*place) for ground in grounds.values()]
        return (*asked.answers(values, t, now), *heights)

    states = [np.shape(x)[len(asked.batch) :] for x in asked.start]
    graph = trace(all_of_them, [(), (2,), *states, *map(asked.core, asked.values)])
    present = repr(([law is not None for law in laws], list(grounds)))
    return _traced.setdefault(asked, kernel_cache.digest(present, description(graph)))


def _contacts(mechanism: Mechanism) -> Iterator[str | bytes]:
    """All that elements say which only motion depends on: contacts and surfaces."""
    for items in mechanism.elements.values():
        for one in items:
            if one.acts_in_motion_only:
                yield one.fingerprint


@cache
def _room_digest() -> str:
    """A name for the text of this room."""
    return kernel_cache.digest(*(path.read_bytes() for path in sorted(Path(__file__).parents[1].rglob("*.py"))))
