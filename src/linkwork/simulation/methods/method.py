"""What a step is, and the equations behind implicit steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from linkwork.model.mechanism import Mechanism
from linkwork.simulation.state import StepState
from linkwork.simulation.system import System
from linkwork.spatial.scalar import Array, Condition, Number

# A step of h [s] of a system from a state at the time t [s], under joint forces (nv,) of sampled controllers:
# the next state, and whether its equations were solved (True, or a condition that may be traced)
Step = Callable[[System, Number, StepState, Number, Array], tuple[StepState, Condition]]


class Solution(NamedTuple):
    """A solution of a step's equations: the unknown (n,), the state that follows, whether Newton's method converged."""

    unknown: Array
    moved: StepState
    solved: Condition


class Witness:
    """What is seen of equations that are solved in plain numbers: the residual after every iteration.

    `residual` (nv,) and constraint `errors` (nh,) are those of the best guess.
    """

    def __init__(self) -> None:
        self.history: list[float] = []
        self.residual, self.errors = np.zeros(0), np.zeros(0)

    def see(self, size: float, residual: Array, errors: Array, better: bool) -> None:
        """Record one iteration: the relative residual, and where it is."""
        self.history.append(float(size))
        if better or len(self.history) == 1:
            self.residual, self.errors = np.asarray(residual, dtype=float), np.asarray(errors, dtype=float)


def changing(mechanism: Mechanism) -> str:
    """The label of the first element that may change its state within a step; empty if none does."""
    contacts = (pair.contact for pair in mechanism.contact_pairs)
    return next((one.label for one in (*contacts, *mechanism.bounded, *mechanism.self_switching)), "")


class Equations(Protocol):
    """The equations of one step from one state, which an iteration solves."""

    def __init__(self, system: System, t: Number, now: StepState, h: Number, held: Array): ...

    @staticmethod
    def unknowns(mechanism: Mechanism) -> int:
        """The number of unknowns."""
        ...

    def solve(self, witness: Witness | None = None) -> Solution:
        """The solution; a `witness` sees the iterations, where numbers are plain."""
        ...

    def residual(self, unknown: Array) -> Array:
        """The residual (n,) at a guess at the unknown (n,), zero at the solution."""
        ...

    def moved(self, unknown: Array) -> StepState:
        """The state that follows from the solution."""
        ...


def solving(equations: type[Equations]) -> Step:
    """The step that solves these equations."""

    def run(system: System, t: Number, now: StepState, h: Number, held: Array) -> tuple[StepState, Condition]:
        found = equations(system, t, now, h, held).solve()
        return found.moved, found.solved

    return run
