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
from linkwork.spatial.traceable_loops import OutOfTime

# step(system, t, now, h, held): one step of h [s] from the state `now` at time t [s], with joint forces `held` (nv,) [N
# m or N] of sampled controllers. It returns the next state, and whether its equations were solved (True, or a traced
# condition)
Step = Callable[[System, Number, StepState, Number, Array], tuple[StepState, Condition]]


class Solution(NamedTuple):
    """Solution of a step's equations: the unknowns (n,), the state `moved` after the step, and whether the equations
    were solved.
    """

    unknown: Array
    moved: StepState
    solved: Condition


class IterationHistory:
    """Convergence history of one implicit step: the relative residual after every iteration, for floats.

    `sizes` are the relative residuals. `residual` (nv,) and `errors` (nh,) are the residual and the constraint errors
    of the best iterate. `record` raises OutOfTime after the `deadline` [s], a time of `time.perf_counter`.
    """

    def __init__(self, deadline: float = np.inf) -> None:
        self.deadline = deadline
        self.sizes: list[float] = []
        self.residual, self.errors = np.zeros(0), np.zeros(0)

    def record(self, size: float, residual: Array, errors: Array, better: bool) -> None:
        """Record the relative residual `size` of one iteration.

        If the iterate is `better` than all previous ones, also store its `residual` (nv,) and constraint `errors`
        (nh,).
        """
        self.sizes.append(float(size))
        if better or len(self.sizes) == 1:
            self.residual, self.errors = np.asarray(residual, dtype=float), np.asarray(errors, dtype=float)
        if time.perf_counter() > self.deadline:
            raise OutOfTime


def label_of_changing_element(mechanism: Mechanism) -> str:
    """Return the label of the first element, such as a contact or clutch, that can change state within a step; "" if
    none.
    """
    contacts = (label for label, *_ in mechanism.contact_bodies)
    others = (one.label for one in (*mechanism.bounded, *mechanism.self_switching))
    return next((label for some in (contacts, others) for label in some), "")


class Equations(Protocol):
    """The equations of one integration step h [s] from the state `now` at t [s], which are solved by iteration. `held`
    (nv,) [N m or N] are the joint forces of a sampled controller.
    """

    def __init__(self, system: System, t: Number, now: StepState, h: Number, held: Array): ...

    @staticmethod
    def unknowns(mechanism: Mechanism) -> int:
        """Return the number of unknowns in the equations of a step of a mechanism."""
        ...

    def solve(self, history: IterationHistory | None = None) -> Solution:
        """Return the solution of the equations of the step.

        `history` receives the residual of each iteration; it is used with floats only, not while tracing.
        """
        ...

    def residual(self, unknown: Array) -> Array:
        """Return the residual (n,) of the equations at the values `unknown` (n,) of the unknowns; it is zero at the
        solution.
        """
        ...

    def moved(self, unknown: Array) -> StepState:
        """Return the state at the end of the step, given the solution `unknown` (n,) of its equations."""
        ...


def solving(equations: type[Equations]) -> Step:
    """Return an integration step function that solves `equations`, a class with the interface `Equations`."""

    def run(system: System, t: Number, now: StepState, h: Number, held: Array) -> tuple[StepState, Condition]:
        found = equations(system, t, now, h, held).solve()
        return found.moved, found.solved

    return run
