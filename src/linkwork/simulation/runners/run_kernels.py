"""Compiled kernels of runs, and the keys under which they are cached.

The data of a problem determine its program, except for user functions: their source text does not show on which other
code they depend. For every run, user functions are therefore traced separately, and their graphs are part of the key.
The whole program is traced only if no kernel with this key exists.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np

from linkwork.compiler import Count, Kernel, Repeatable, Rows, digest, shared, text_digest
from linkwork.evaluation.dynamics_kernels import has_kinds_of_users, mechanism_digest, source_digest
from linkwork.model.batch_broadcasting import Shape
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.events.guards import OneShot
from linkwork.simulation.simulation_problem import Problem
from linkwork.simulation.state import Leaves, MemberState, flatten, unflatten
from linkwork.spatial.scalar import Array, Number, Value

__all__ = ["Count", "Rows", "formula_digest", "kernel_of", "packed", "unpacked"]

_traced: WeakKeyDictionary[Problem, str] = WeakKeyDictionary()  # hash of the traced user functions of each problem
_mechanism_keys: WeakKeyDictionary[Mechanism, str | None] = WeakKeyDictionary()  # see `_mechanism_key`


def kernel_of(
    problem: Problem,
    name: tuple[str, ...],
    program: Callable[..., Value | Leaves],
    shapes: Sequence[Shape],
    results: Sequence[Shape | Rows],
    counts: int = 0,
) -> Kernel:
    """Return the compiled kernel of a program of a run, such as that of its steps, from the cache if possible.

    `name` distinguishes the programs of a problem. `shapes` are the shapes of the inputs of the program, `results` the
    shapes of its outputs, and `counts` is the number of loop counts among its arguments.
    """
    title = f"{name[0]} of {problem.mechanism.name}"
    key = _key(problem, *name, repr(shapes), repr(results))
    return shared(Kernel(title, program, shapes, results, key, counts))


def packed(parts: Sequence[Value]) -> Array:
    """Return all entries of the numbers and arrays `parts` in one array (n,)."""
    return np.concatenate([np.zeros(0), *(np.asarray(part, dtype=float).reshape(-1) for part in parts)])


def unpacked(x: Array, shapes: Sequence[Shape]) -> list[Value]:
    """Return the numbers and arrays with the shapes `shapes` from the array x (n,), into which `packed` has put
    them.
    """
    ends = np.cumsum([0, *map(math.prod, shapes)])
    return [x[begin:end].reshape(shape)[()] for (begin, end), shape in zip(pairwise(ends), shapes, strict=True)]


def _key(problem: Problem, *name: str) -> str | None:
    """Return the cache key of a kernel, made from all data that determine its program.

    `name` are texts that distinguish the programs of a problem. The result is None if the mechanism has user-defined
    joint kinds or elements, because then only the traced graph identifies the program.
    """
    own = _mechanism_key(problem.mechanism)
    if own is None:
        return None
    stops = () if problem.stops is None else (a.tobytes() for a in problem.stops)
    limits = [] if problem.effort is None else [b"clipped", problem.effort.tobytes()]
    guarded = [(s.parameter, s.value, isinstance(s.when, OneShot)) for s in problem.switches if s.guarded]
    facts = (problem.baumgarte, problem.switched, problem.commands, problem.rigid, guarded, list(problem.values))
    return digest(own, _functions_digest(problem), *stops, *limits, repr(facts), *name)


def _mechanism_key(mechanism: Mechanism) -> str | None:
    """Return a hash of linkwork's source and of a mechanism, with its joint limits and contacts, computed once.

    The result is None if the mechanism has user-defined joint kinds or elements.
    """
    if mechanism not in _mechanism_keys:
        limits = (a.tobytes() for j in mechanism.joints for a in j.limits)
        parts = source_digest(), _package_digest(), mechanism_digest(mechanism), *limits, *_contacts(mechanism)
        _mechanism_keys[mechanism] = None if has_kinds_of_users(mechanism) else digest(*parts)
    return _mechanism_keys[mechanism]


def _functions_digest(problem: Problem) -> str:
    """Return a hash of all user functions of a problem: of which functions are given, and of their traced graphs."""
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
    shapes = [(), (2,), *states, *map(problem.core, problem.values)]
    functions = [(one.what, one.function) for one in users if one is not None] + [("ground", one) for one in own]
    traced = Repeatable(functions).trace(lambda: _graph_of(all_of_them, shapes))
    present = repr(([one is not None for one in users], len(own)))
    return _traced.setdefault(problem, digest(present, traced))


def formula_digest(
    problem: Problem, formulas: Callable[[dict[str, Array], Number, MemberState], tuple[Array, ...]]
) -> str:
    """Return a hash of the traced graphs of user-defined series.

    `formulas(values, dt, now)` returns one sample of these series for a batch member.
    """
    size = len(flatten(problem.start))

    def all_of_them(dt: Number, *inputs: Array) -> tuple[Array, ...]:
        values = dict(zip(problem.values, inputs[size:], strict=True))
        return formulas(values, dt, unflatten(problem.start, inputs[:size]))

    states = [np.shape(x)[len(problem.batch) :] for x in flatten(problem.start)]
    return digest(_graph_of(all_of_them, [(), *states, *map(problem.core, problem.values)]))


def _graph_of(function: Callable[..., Value | Leaves], shapes: Sequence[Shape]) -> str:
    """Return the traced graph of a function, for inputs of the given shapes, as text."""
    # imported only here, because runs without user functions do not trace
    from linkwork.compiler import description, trace

    return description(trace(function, shapes))


def _contacts(mechanism: Mechanism) -> Iterator[str | bytes]:
    """Yield texts or bytes that identify the contacts, surfaces and solids of a mechanism, which are not part of
    `mechanism_digest`.
    """
    for items in mechanism.elements.values():
        for one in items:
            if one.acts_in_motion_only:
                yield one.fingerprint
    for pair in mechanism.solid_pairs:
        for solid in (pair.first, pair.second):
            yield from (str(solid.body), solid.pose.R.tobytes(), solid.pose.p.tobytes(), repr(solid.shape))


@cache
def _package_digest() -> str:
    """Return a hash of the source text of the package `simulation`, which is part of the cache key."""
    return text_digest(Path(__file__).parents[1])
