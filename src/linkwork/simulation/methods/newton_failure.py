"""Diagnosis of a step whose equations were not solved: it is tried again in plain numbers, then by smaller steps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork.simulation.methods.method import Witness, changing
from linkwork.simulation.methods.registry import Method
from linkwork.simulation.state import StepState
from linkwork.simulation.system import System
from linkwork.spatial.scalar import Array
from linkwork.tolerances import CLOSURE_OPEN

SHORTER = 6  # times that a step is halved in search of one that is solved
SHOWN = 3  # first iterations whose residual is reported, and the last


class Unsolved(NamedTuple):
    """The relative residual after every iteration; where most of it was; a step [s] that is solved, None if none is."""

    history: tuple[float, ...]
    worst: str
    step: float | None

    def text(self, h: float) -> str:
        """The same in words, of a step h [s]."""
        left = [f"{size:.1e}" for size in self.history]
        if len(left) > SHOWN + 1:
            left = [*left[:SHOWN], "...", left[-1]]
        remedy = f"try dt={self.step:g}, at which they are" if self.step else f"nor at {h / 2**SHORTER:.3g} s"
        failed = f"not solved in {len(self.history)} iterations at a step of {h:g} s"
        return f"its equations were {failed} (left: {', '.join(left)}), worst at {self.worst}; {remedy}"


def unsolved(method: Method, system: System, t: float, now: StepState, h: float, held: Array) -> Unsolved | None:
    """What can be said of a step from a state; None if it can be solved after all, solves nothing, or has contacts."""
    if not method.implicit or changing(system.mechanism):
        return None
    with np.errstate(all="ignore"):
        witness = _failing(method, system, t, now, h, held)
        if witness is None:
            return None
        shorter = (h / 2**k for k in range(1, SHORTER + 1))
        step = next((one for one in shorter if _failing(method, system, t, now, one, held) is None), None)
    return Unsolved(tuple(witness.history), _worst(system, witness), step)


def _failing(method: Method, system: System, t: float, now: StepState, h: float, held: Array) -> Witness | None:
    """The witness of the first part of a step that is not solved; None if all are."""
    assert method.equations
    for part in method.parts:
        witness = Witness()
        found = method.equations(system, t, now, part * h, held).solve(witness)
        if not found.solved:
            return witness
        now, t = found.moved, t + part * h
    return None


def _worst(system: System, witness: Witness) -> str:
    """The joint that lacks most, or the loop that is open."""
    m = system.mechanism
    errors: Any = np.nan_to_num(np.abs(witness.errors), nan=np.inf)
    if errors.max(initial=0.0) > CLOSURE_OPEN:
        return m.constraint_of_row(int(np.argmax(errors)))
    lack: Any = np.nan_to_num(np.abs(witness.residual), nan=np.inf)
    number = int(np.argmax(lack))
    return f"joint {next(j.name for j in m.leaders if j.v.start <= number < j.v.stop)!r}"
