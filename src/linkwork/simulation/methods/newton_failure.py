"""Diagnosis of a step whose equations were not solved: repeat it in plain Python, and try smaller steps.

All functions stop at a deadline, a time of `time.perf_counter`.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from linkwork.simulation.methods.integration_step import IterationHistory, label_of_changing_element
from linkwork.simulation.methods.method_registry import Method
from linkwork.simulation.simulated_system import System
from linkwork.simulation.state import StepState
from linkwork.spatial.scalar import Array
from linkwork.spatial.traceable_loops import OutOfTime
from linkwork.tolerances import CLOSURE_OPEN

SHORTER = 6  # the failed step is divided into at most 2^SHORTER substeps to find a step size that is solved
SHOWN = 3  # number of first iterations whose residuals the diagnosis reports, in addition to the last iteration
HISTORY_SECONDS = 0.15  # longest time for the repetition of a failed step in plain Python
SHORTER_SECONDS = 0.5  # longest time for the search of a shorter step in plain Python


class FailedStep(NamedTuple):
    """An integration step to diagnose: method, system, time t [s], state `now` before the step, and step size h [s].

    `held` (nv,) are the joint forces of a sampled controller.
    """

    method: Method
    system: System
    t: float
    now: StepState
    h: float
    held: Array


class Unsolved(NamedTuple):
    """Diagnosis of a step whose equations were not solved: residuals, and the joint or loop with the largest residual.

    `history` has the relative residual after every iteration; if `complete` is false, only of the first iterations.
    `worst` names the joint or loop.
    """

    history: tuple[float, ...]
    complete: bool
    worst: str

    def text(self, h: float) -> str:
        """Return the diagnosis of a step h [s] as text."""
        left = [f"{size:.1e}" for size in self.history]
        if not self.complete:
            left = [*left[:SHOWN], "..."]
        elif len(left) > SHOWN + 1:
            left = [*left[:SHOWN], "...", left[-1]]
        count = f"{len(self.history)} iterations " if self.complete else ""
        failed = f"Newton's method did not converge {count and 'in ' + count}with a step of {h:g} s"
        return f"{failed} (relative residuals {', '.join(left)}), largest at {self.worst}"


def unsolved(step: FailedStep) -> Unsolved | None:
    """Return the diagnosis of a step whose equations plain Python cannot solve: its residuals and the worst joint or
    loop.

    The result is None if the step is solved, the method is explicit, or events can occur within the step. The function
    stops after HISTORY_SECONDS.
    """
    if not step.method.implicit or label_of_changing_element(step.system.mechanism):
        return None
    with np.errstate(all="ignore"):
        history, complete = _first_unsolved_substep(step, 1, time.perf_counter() + HISTORY_SECONDS)
    if history is None:
        return None
    return Unsolved(tuple(history.sizes), complete, _worst_joint_or_loop(step.system, history))


def solved_step(step: FailedStep) -> float | None:
    """Return a step size h / 2^k [s] with which plain Python solves the interval of the failed step of size h; None if
    it finds none.

    The search ends after SHORTER_SECONDS.
    """
    deadline = time.perf_counter() + SHORTER_SECONDS
    with np.errstate(all="ignore"):
        for k in range(1, SHORTER + 1):
            failing, complete = _first_unsolved_substep(step, 2**k, deadline)
            if not complete:
                return None
            if failing is None:
                return step.h / 2**k
    return None


def _first_unsolved_substep(step: FailedStep, count: int, deadline: float) -> tuple[IterationHistory | None, bool]:
    """Return the convergence history of the first of `count` equal substeps of a failed step that is not solved.

    The history is None if all substeps are solved. The second result is false if the search reached the `deadline` [s]
    before this was known.
    """
    assert step.method.equations
    t, now, history = step.t, step.now, None
    try:
        for part in [part / count for part in step.method.parts] * count:
            history = IterationHistory(deadline)
            found = step.method.equations(step.system, t, now, part * step.h, step.held).solve(history)
            if not found.solved:
                return history, True
            now, t = found.moved, t + part * step.h
    except OutOfTime:
        return history, False
    return None, True


def _worst_joint_or_loop(system: System, history: IterationHistory) -> str:
    """Return the name of the joint with the largest residual, or of the loop that is not closed.

    `history` has the residual of the best iterate.
    """
    m = system.mechanism
    errors: Any = np.nan_to_num(np.abs(history.errors), nan=np.inf)
    if errors.max(initial=0.0) > CLOSURE_OPEN:
        return m.constraint_of_row(int(np.argmax(errors)))
    residual: Any = np.nan_to_num(np.abs(history.residual), nan=np.inf)
    number = int(np.argmax(residual))
    return f"joint {next(j.name for j in m.leaders if j.v.start <= number < j.v.stop)!r}"
