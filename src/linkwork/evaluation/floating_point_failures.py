"""Errors for floating-point failures inside an algorithm, which name the quantity, joint and source line."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count, islice
from types import TracebackType
from typing import Any, NoReturn

import numpy as np

from linkwork.errors import NonFinite
from linkwork.model.batch_broadcasting import Shape
from linkwork.model.mechanism import Joint
from linkwork.spatial.scalar import Array


def watched(quantity: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that computes the same as `function`, but raises NonFinite at a floating-point failure.

    `function` takes one state. A failure is a division by zero, an overflow, an invalid operation or a singular
    matrix. The error names
    `quantity` and the index of the batch member: the returned function must be called once for each member, in order.
    """
    members = count()

    def run(*arrays: Any) -> Any:
        member = next(members)
        with failures_named(quantity, member):
            return function(*arrays)

    return run


def unwatched(function: Callable[..., Any], result: Shape) -> Callable[..., Any]:
    """Return a function that computes the same as `function`, with NaN or inf in its result at floating-point failures.

    `function` takes one state. If `function` raises an arithmetic error, the result is an array of NaN with the shape
    `result`.
    """

    def run(*arrays: Any) -> Any:
        try:
            with np.errstate(all="ignore"):
                return function(*arrays)
        except (ArithmeticError, np.linalg.LinAlgError):
            return np.full(result, np.nan)

    return run


@contextmanager
def failures_named(quantity: str, member: int) -> Iterator[None]:
    """Context manager that raises NonFinite at the first division by zero, overflow or invalid operation on floats.

    A singular matrix in a function of `np.linalg` raises it too. The error names `quantity`, the index `member` of the
    batch member, the joint and the source line.
    """
    try:
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            yield
    except (ArithmeticError, np.linalg.LinAlgError) as failure:
        joint, line = _failed_joint_and_line(failure.__traceback__)
        at = f" at joint {joint!r}" if joint else ""
        raise NonFinite(
            f"{quantity} of member {member} is not finite: {failure}{at} in `{line}`. "
            "Possible causes: a quaternion of length zero, a joint that moves no inertia in this position, or gears "
            "whose centres coincide."
        ) from failure


def explain_non_finite(
    quantity: str, function: Callable[..., Any], states: Iterator[tuple[Array, ...]], found: Array
) -> NoReturn:
    """Raise NonFinite for the first batch member with a non-finite result.

    This member is evaluated again in plain NumPy to find the joint and the source line of the failure. `found` (n, ...)
    has the results of the n members, at least one of them not finite. `function` computes `quantity` of one state, and
    `states` yields the states of all members.
    """
    member = int(np.argmax(~np.isfinite(found.reshape(len(found), -1)).all(axis=1)))
    with failures_named(quantity, member):
        function(*next(islice(states, member, None)))
    raise NonFinite(
        f"{quantity} of member {member} is not finite: "
        "the inputs are too large, or the mass matrix is nearly singular; check q, v and the parameters"
    )


def _failed_joint_and_line(trace: TracebackType | None) -> tuple[str | None, str]:
    """Return the name of the joint that the algorithm processed when it failed, or None, and the failing source line.

    `trace` is the traceback of the failure.
    """
    joint, line = None, ""
    while trace is not None:
        found = trace.tb_frame.f_locals.get("j")
        joint = found.name if isinstance(found, Joint) else joint
        line = linecache.getline(trace.tb_frame.f_code.co_filename, trace.tb_lineno).strip() or line
        trace = trace.tb_next
    return joint, line
