"""Diagnosis of a step whose equations were not solved: repeat the step in plain Python, then try smaller steps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork.simulation.methods.method import IterationHistory, changing
from linkwork.simulation.methods.registry import Method
from linkwork.simulation.simulated_system import System
from linkwork.simulation.state import StepState
from linkwork.spatial.scalar import Array
from linkwork.tolerances import CLOSURE_OPEN

SHORTER = 6  # number of times that a step is halved to find one that is solved
SHOWN = 3  # number of first iterations whose residuals are reported, beside the last


class Unsolved(NamedTuple):
    """Diagnosis of a step that was not solved.

    `history` has the relative residual after every iteration, `worst` names the joint or loop with the largest
    residual, and `step` [s] is a smaller step that is solved, or None if none was found.
    """

    history: tuple[float, ...]
    worst: str
    step: float | None

    def text(self, h: float) -> str:
        """Return the diagnosis of a step h [s] as text."""
        left = [f"{size:.1e}" for size in self.history]
        if len(left) > SHOWN + 1:
            left = [*left[:SHOWN], "...", left[-1]]
        smallest = f"steps down to {h / 2**SHORTER:.3g} s are not solved either"
        remedy = f"dt={self.step:g} is solved" if self.step else smallest
        failed = f"Newton's method did not converge in {len(self.history)} iterations with a step of {h:g} s"
        return f"{failed} (relative residuals {', '.join(left)}), largest at {self.worst}; {remedy}"


def unsolved(method: Method, system: System, t: float, now: StepState, h: float, held: Array) -> Unsolved | None:
    """Return the diagnosis of a step h [s] from the state `now` that was not solved.

    None if the step is solved, the method is explicit, or events can occur within the step. `held` (nv,) are the joint
    forces of a sampled controller.
    """
    if not method.implicit or changing(system.mechanism):
        return None
    with np.errstate(all="ignore"):
        history = _failing(method, system, t, now, h, held)
        if history is None:
            return None
        shorter = (h / 2**k for k in range(1, SHORTER + 1))
        step = next((one for one in shorter if _failing(method, system, t, now, one, held) is None), None)
    return Unsolved(tuple(history.sizes), _worst(system, history), step)


def _failing(
    method: Method, system: System, t: float, now: StepState, h: float, held: Array
) -> IterationHistory | None:
    """Return the iteration history of the first substep that is not solved; None if all substeps are solved.

    `held` (nv,) are the joint forces of a sampled controller.
    """
    assert method.equations
    for part in method.parts:
        history = IterationHistory()
        found = method.equations(system, t, now, part * h, held).solve(history)
        if not found.solved:
            return history
        now, t = found.moved, t + part * h
    return None


def _worst(system: System, history: IterationHistory) -> str:
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
