"""The interface of integration steps, and of the equations that implicit steps solve."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from linkwork.model.mechanism import Mechanism
from linkwork.simulation.simulated_system import System
from linkwork.simulation.state import StepState
from linkwork.spatial.scalar import Array, Condition, Number

# step(system, t, now, h, held): one step of h [s] from the state `now` at time t [s], with joint forces `held` (nv,) of
# sampled controllers. It returns the next state, and whether its equations were solved (True, or a traced condition)
Step = Callable[[System, Number, StepState, Number, Array], tuple[StepState, Condition]]


class Solution(NamedTuple):
    """The solution of a step's equations: unknown (n,), state after the step, and whether the equations were solved."""

    unknown: Array
    moved: StepState
    solved: Condition


class OutOfTime(Exception):
    """Raised when a diagnosis or a trial run has used its time."""


class IterationHistory:
    """The relative residual after every iteration of a solver that runs on floats.

    `residual` (nv,) and constraint `errors` (nh,) are those of the best iterate. An iteration that ends after the
    `deadline` [s], a time of `time.perf_counter`, raises OutOfTime.
    """

    def __init__(self, deadline: float = np.inf) -> None:
        self.deadline = deadline
        self.sizes: list[float] = []
        self.residual, self.errors = np.zeros(0), np.zeros(0)

    def record(self, size: float, residual: Array, errors: Array, better: bool) -> None:
        """Record the relative residual `size` of one iteration; if it is `better`, also its residual and errors."""
        self.sizes.append(float(size))
        if better or len(self.sizes) == 1:
            self.residual, self.errors = np.asarray(residual, dtype=float), np.asarray(errors, dtype=float)
        if time.perf_counter() > self.deadline:
            raise OutOfTime


def changing(mechanism: Mechanism) -> str:
    """Return the label of the first element that can change its state within a step; empty if there is none."""
    contacts = (pair.contact for pair in mechanism.contact_pairs)
    return next((one.label for one in (*contacts, *mechanism.bounded, *mechanism.self_switching)), "")


class Equations(Protocol):
    """The equations of one integration step from a given state, which are solved by iteration."""

    def __init__(self, system: System, t: Number, now: StepState, h: Number, held: Array): ...

    @staticmethod
    def unknowns(mechanism: Mechanism) -> int:
        """Return the number of unknowns for a mechanism."""
        ...

    def solve(self, history: IterationHistory | None = None) -> Solution:
        """Solve the equations of the step.

        `history` receives the residual of each iteration; it is used with floats only, not while tracing.
        """
        ...

    def residual(self, unknown: Array) -> Array:
        """Return the residual (n,) of the equations at a value of the unknown (n,); zero at the solution."""
        ...

    def moved(self, unknown: Array) -> StepState:
        """Return the state at the end of the step, given the solution `unknown` (n,)."""
        ...


def solving(equations: type[Equations]) -> Step:
    """Return a step function that solves these equations."""

    def run(system: System, t: Number, now: StepState, h: Number, held: Array) -> tuple[StepState, Condition]:
        found = equations(system, t, now, h, held).solve()
        return found.moved, found.solved

    return run
