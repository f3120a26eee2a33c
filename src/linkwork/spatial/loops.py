"""Loops that can be traced: on floats they simply run, in a trace each becomes one loop of the kernel.

A Python `for` is traced too, round by round: write it where rounds are few and known. Write these where there are many,
where their number is known only when the kernel is called, or where it depends on the numbers themselves. State is a
tuple of numbers and arrays that keep their shapes; a body may use whatever is around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

import numpy as np

State = tuple[Any, ...]


class Tracer(Protocol):
    """Whoever takes the loops over while a function is being traced."""

    def record(self, count: Any, body: Callable[..., Any], state: State, each: Sequence[Any]) -> tuple[State, State]:
        """See the function of that name."""
        ...

    def iterate(self, most: int, body: Callable[..., Any], state: State) -> tuple[State, Any, Any]:
        """See the function of that name."""
        ...


_tracer: ContextVar[Tracer | None] = ContextVar("tracer of loops", default=None)


@contextmanager
def traced_by(tracer: Tracer) -> Iterator[None]:
    """Hand the loops inside to `tracer`."""
    token = _tracer.set(tracer)
    try:
        yield
    finally:
        _tracer.reset(token)


@contextmanager
def unrolled() -> Iterator[None]:
    """Let loops inside run round by round in a trace too, as a derivative of what they compute needs them."""
    token = _tracer.set(None)
    try:
        yield
    finally:
        _tracer.reset(token)


def repeat(count: Any, body: Callable[..., State], *state: Any) -> State:
    """The state after `count` rounds of state = body(k, *state), k = 0, 1, ..."""
    return record(count, lambda k, *now: (body(k, *now), ()), *state)[0]


def record(
    count: Any, body: Callable[..., tuple[State, State]], *state: Any, each: Sequence[Any] = ()
) -> tuple[State, State]:
    """The state after `count` rounds of state, row = body(k, *state, *rows of each), and the rows, stacked.

    `each` are tables, arrays (count, ...) of which every round gets its row. The body returns the next state and a
    tuple of what is to be recorded; those come back as arrays (count, ...), of which there are none after no rounds.
    """
    tracer = _tracer.get()
    if tracer is not None:
        return tracer.record(count, body, state, each)
    rows = []
    for k in range(count):
        state, row = body(k, *state, *(table[k] for table in each))
        rows.append(row)
    return state, tuple(np.array(series) for series in zip(*rows, strict=True))


def iterate(most: int, body: Callable[..., tuple[State, Any]], *state: Any) -> tuple[State, Any, Any]:
    """Rounds of state, done = body(*state) until it is done, at most `most`: the state, how many rounds, if it is done.

    In a batch each member ends on its own: what it holds when it is done does not change while others go on. A
    member whose numbers are lost (not a number) is never done and ends at the bound.
    """
    tracer = _tracer.get()
    if tracer is not None:
        return tracer.iterate(most, body, state)
    rounds, done = 0, False
    while rounds < most and not done:
        state, done = body(*state)
        rounds += 1
    return state, rounds, done
