"""Loops that the compiler can trace: with floats they run in Python; in a trace each becomes one loop of the kernel.

Tracing a Python `for` unrolls it. Use a Python `for` if the number of iterations is small and known. Use these
functions if it is large, given when the kernel is called, or dependent on the computed values. The loop state is a
tuple of numbers and arrays of constant shape. A loop body may use variables of the enclosing scope.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

import numpy as np

State = tuple[Any, ...]


class Tracer(Protocol):
    """Interface of the compiler's object that handles loops while a function is being traced."""

    def record(self, count: Any, body: Callable[..., Any], state: State, each: Sequence[Any]) -> tuple[State, State]:
        """Trace a loop that records values; arguments and results are those of the function `record` in this module."""
        ...

    def iterate(self, most: int, body: Callable[..., Any], state: State, start: Any) -> tuple[State, Any, Any]:
        """Trace a loop with a stopping condition; arguments and results are those of the function `iterate` here."""
        ...

    def row_array(self, count: int, size: int) -> Any:
        """Return a new array of `count` rows of `size` numbers, read and written at indices that a loop computes.

        See `spatial.row_arrays`.
        """
        ...


_tracer: ContextVar[Tracer | None] = ContextVar("tracer of loops", default=None)


def active_tracer() -> Tracer | None:
    """Return the tracer that handles loops now; None if functions run on plain numbers, or loops are unrolled."""
    return _tracer.get()


@contextmanager
def traced_by(tracer: Tracer) -> Iterator[None]:
    """Context manager inside which `tracer` handles all traceable loops."""
    token = _tracer.set(tracer)
    try:
        yield
    finally:
        _tracer.reset(token)


@contextmanager
def unrolled() -> Iterator[None]:
    """Context manager inside which a trace unrolls loops, as Python does.

    The results of a loop can be differentiated only if the loop is unrolled.
    """
    token = _tracer.set(None)
    try:
        yield
    finally:
        _tracer.reset(token)


class OutOfTime(Exception):
    """Raised when a failure diagnosis or a trial run exceeds its time limit."""


_deadline: ContextVar[float] = ContextVar("deadline of loops in plain Python", default=np.inf)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Context manager inside which traceable loops that run in Python raise OutOfTime after `seconds` [s]."""
    token = _deadline.set(time.perf_counter() + seconds)
    try:
        yield
    finally:
        _deadline.reset(token)


def check_time() -> None:
    """Raise OutOfTime if the time limit that `time_limit` set has passed."""
    if time.perf_counter() > _deadline.get():
        raise OutOfTime


def repeat(count: Any, body: Callable[..., State], *state: Any) -> State:
    """Return the loop state after `count` iterations of state = body(k, *state), with k = 0, 1, ..., count - 1.

    `state` are the numbers and arrays of the initial state; the result is a tuple of the final ones.
    """
    return record(count, lambda k, *now: (body(k, *now), ()), *state)[0]


def record(
    count: Any, body: Callable[..., tuple[State, State]], *state: Any, each: Sequence[Any] = ()
) -> tuple[State, State]:
    """Run `count` iterations of a loop that records a row of values; return the last state and the recorded arrays.

    Iteration k computes state, row = body(k, *state, *entries), where `entries` are the k-th entries of the arrays
    `each` (count, ...). The body returns the next state and a tuple `row` of values to record. Each of these values is
    returned as an array (count, ...); if count is 0, no arrays are returned.
    """
    tracer = _tracer.get()
    if tracer is not None:
        return tracer.record(count, body, state, each)
    rows = []
    for k in range(count):
        check_time()
        state, row = body(k, *state, *(table[k] for table in each))
        rows.append(row)
    return state, tuple(np.array(series) for series in zip(*rows, strict=True))


def iterate(
    most: int, body: Callable[..., tuple[State, Any]], *state: Any, start: Any = True
) -> tuple[State, Any, Any]:
    """Iterate state, done = body(*state) until done, at most `most` times; return state, iteration count and `done`.

    In a batch every member stops separately: its state does not change after it is done. Comparisons with NaN are
    false: a member with NaN values is therefore usually never done, and stops after `most` iterations. If the condition
    `start` is false, there is no iteration, and the returned `done` is true.
    """
    tracer = _tracer.get()
    if tracer is not None:
        return tracer.iterate(most, body, state, start)
    count, done = 0, not start
    while count < most and not done:
        check_time()
        state, done = body(*state)
        count += 1
    return state, count, done
