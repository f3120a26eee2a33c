"""Kernels of runs, and what they are known by.

A problem determines its program, except what users' functions compute, since the text of a function does not say what
it depends on. They are traced alone, every time, and their graphs are part of the name; the program around them is
traced only where no kernel of that name was built before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np

from linkwork.compiler import Count, Kernel, Rows, digest, shared, text_digest
from linkwork.evaluation.dynamics_kernels import has_kinds_of_users, mechanism_digest, source_digest
from linkwork.model.broadcast import Shape
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.events.guards import OneShot
from linkwork.simulation.problem import Problem
from linkwork.simulation.state import Leaves, MemberState, flatten, unflatten
from linkwork.spatial.scalar import Array, Number, Value

__all__ = ["Count", "Rows", "formula_digest", "kernel_of"]

_traced: WeakKeyDictionary[Problem, str] = WeakKeyDictionary()  # digest of each problem's functions, traced once


def kernel_of(
    problem: Problem,
    name: tuple[str, ...],
    program: Callable[..., Value | Leaves],
    shapes: Sequence[Shape],
    results: Sequence[Shape | Rows],
    counts: int = 0,
) -> Kernel:
    """The kernel of a program of a problem; `name` says which. It may be one that was used lately."""
    title = f"{name[0]} of {problem.mechanism.name}"
    key = _key(problem, *name, repr(shapes), repr(results))
    return shared(Kernel(title, program, shapes, results, key, counts))


def _key(problem: Problem, *name: str) -> str | None:
    """What a kernel is known by: all that its program is made of; None where only its graph says that."""
    m = problem.mechanism
    if has_kinds_of_users(m):
        return None
    stops = () if problem.stops is None else (a.tobytes() for a in problem.stops)
    limits = [a.tobytes() for j in m.joints for a in j.limits]
    guarded = [(s.parameter, s.value, isinstance(s.when, OneShot)) for s in problem.switches if s.guarded]
    facts = (problem.baumgarte, problem.switched, problem.commands, problem.rigid, guarded, list(problem.values))
    parts = (*stops, *limits, *_contacts(m), repr(facts), *name)
    return digest(source_digest(), _package_digest(), mechanism_digest(m), _functions_digest(problem), *parts)


def _functions_digest(problem: Problem) -> str:
    """A name for what users' functions do with any numbers: which there are, and their graphs."""
    users = [
        problem.control,
        problem.sampler if problem.traced_sampler else None,
        problem.wrenches,
        problem.stop,
        *problem.guards,
    ]
    own = [function for one in problem.mechanism.all_elements for function in one.functions]
    if problem in _traced or not (any(users) or own):
        return _traced.get(problem, "")
    size = len(flatten(problem.start))

    def all_of_them(t: Number, place: Array, *inputs: Value) -> Leaves:
        now, values = unflatten(problem.start, inputs[:size]), dict(zip(problem.values, inputs[size:], strict=True))
        heights = [function(*place) for function in own]
        return (*problem.answers(values, t, now), *heights)

    states = [np.shape(x)[len(problem.batch) :] for x in flatten(problem.start)]
    traced = _graph_of(all_of_them, [(), (2,), *states, *map(problem.core, problem.values)])
    present = repr(([one is not None for one in users], len(own)))
    return _traced.setdefault(problem, digest(present, traced))


def formula_digest(
    problem: Problem, formulas: Callable[[dict[str, Array], Number, MemberState], tuple[Array, ...]]
) -> str:
    """A name for what users' formulas compute from values, the step and the state of a member: that of their graph."""
    size = len(flatten(problem.start))

    def all_of_them(dt: Number, *inputs: Array) -> tuple[Array, ...]:
        values = dict(zip(problem.values, inputs[size:], strict=True))
        return formulas(values, dt, unflatten(problem.start, inputs[:size]))

    states = [np.shape(x)[len(problem.batch) :] for x in flatten(problem.start)]
    return digest(_graph_of(all_of_them, [(), *states, *map(problem.core, problem.values)]))


def _graph_of(function: Callable[..., Value | Leaves], shapes: Sequence[Shape]) -> str:
    """What a function computes, as text."""
    from linkwork.compiler import description, trace  # here: runs without functions of users are found on disk

    return description(trace(function, shapes))


def _contacts(mechanism: Mechanism) -> Iterator[str | bytes]:
    """All that elements say which only motion depends on: contacts and surfaces."""
    for items in mechanism.elements.values():
        for one in items:
            if one.acts_in_motion_only:
                yield one.fingerprint


@cache
def _package_digest() -> str:
    """A name for the text of the package `simulation`."""
    return text_digest(Path(__file__).parents[1])
