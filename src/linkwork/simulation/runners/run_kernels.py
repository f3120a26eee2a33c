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

from linkwork.compiler import Count, Kernel, Rows, description, digest, shared, trace
from linkwork.evaluation.dynamics_kernels import has_kinds_of_users, mechanism_digest, source_digest
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.events.guards import Once
from linkwork.simulation.problem import Problem
from linkwork.simulation.state import MemberState, flatten, unflatten
from linkwork.spatial.scalar import Array, Number

__all__ = ["Count", "Rows", "formula_digest", "kernel_of"]

_traced: WeakKeyDictionary[Problem, str] = WeakKeyDictionary()  # of each request's functions, traced once: their name


def kernel_of(
    problem: Problem,
    name: tuple[str, ...],
    program: Callable[..., Any],
    shapes: Sequence[Any],
    results: Sequence[Any],
    counts: int = 0,
) -> Kernel:
    """The kernel of a program that answers a request; `name` says which. It may be one that was used lately."""
    title = f"{name[0]} of {problem.mechanism.name}"
    key = _key(problem, *name, repr(shapes), repr(results))
    return shared(Kernel(title, program, shapes, results, key, counts))


def _key(problem: Problem, *name: str) -> str | None:
    """What a kernel is known by: all that its program is made of; None where only its graph tells that."""
    m = problem.mechanism
    if has_kinds_of_users(m):
        return None
    stops = () if problem.stops is None else (a.tobytes() for a in problem.stops)
    limits = [a.tobytes() for j in m.joints for a in j.limits]
    guarded = [(s.parameter, s.value, isinstance(s.when, Once)) for s in problem.switches if s.guarded]
    told = (problem.baumgarte, problem.switched, problem.commands, problem.rigid, guarded, list(problem.values))
    parts = (*stops, *limits, *_contacts(m), repr(told), *name)
    return digest(source_digest(), _room_digest(), mechanism_digest(m), _functions_digest(problem), *parts)


def _functions_digest(problem: Problem) -> str:
    """A name for what users' functions do with any numbers: which there are, and their graphs."""
    laws = [
        problem.control,
        problem.sampler if problem.traced_sampler else None,
        problem.wrenches,
        problem.stop,
        *problem.guards,
    ]
    own = [function for one in problem.mechanism.all_elements for function in one.functions]
    if problem in _traced or not (any(laws) or own):
        return _traced.get(problem, "")
    size = len(flatten(problem.start))

    def all_of_them(t: Number, place: Array, *inputs: Any) -> tuple[Any, ...]:
        now, values = unflatten(problem.start, inputs[:size]), dict(zip(problem.values, inputs[size:], strict=True))
        heights = [function(*place) for function in own]
        return (*problem.answers(values, t, now), *heights)

    states = [np.shape(x)[len(problem.batch) :] for x in flatten(problem.start)]
    graph = trace(all_of_them, [(), (2,), *states, *map(problem.core, problem.values)])
    present = repr(([law is not None for law in laws], len(own)))
    return _traced.setdefault(problem, digest(present, description(graph)))


def formula_digest(
    problem: Problem, formulas: Callable[[dict[str, Array], Number, MemberState], tuple[Array, ...]]
) -> str:
    """A name for what users' formulas compute from values, the step and the state of a member: that of their graph."""
    size = len(flatten(problem.start))

    def all_of_them(dt: Number, *inputs: Array) -> tuple[Array, ...]:
        values = dict(zip(problem.values, inputs[size:], strict=True))
        return formulas(values, dt, unflatten(problem.start, inputs[:size]))

    states = [np.shape(x)[len(problem.batch) :] for x in flatten(problem.start)]
    return digest(description(trace(all_of_them, [(), *states, *map(problem.core, problem.values)])))


def _contacts(mechanism: Mechanism) -> Iterator[str | bytes]:
    """All that elements say which only motion depends on: contacts and surfaces."""
    for items in mechanism.elements.values():
        for one in items:
            if one.acts_in_motion_only:
                yield one.fingerprint


@cache
def _room_digest() -> str:
    """A name for the text of this room."""
    return digest(*(path.read_bytes() for path in sorted(Path(__file__).parents[1].rglob("*.py"))))
