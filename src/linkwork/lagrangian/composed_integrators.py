"""Integrators of order 4 and 6 for Lagrangian systems, composed of symmetric steps of order 2."""

from __future__ import annotations

import numpy as np

from linkwork.lagrangian.one_step_integrator import ImplicitIntegrator, Integrator, State, Step
from linkwork.simulation.methods.step_composition import composition, part_of_iteration, substeps
from linkwork.simulation.state import Leaves
from linkwork.spatial.scalar import Array, Number, Value, maximum, where
from linkwork.spatial.traceable_loops import repeat


class Composed(Integrator):
    """Integrator of order 4 or 6, whose step is a composition of steps of a symmetric integrator of order 2.

    One traced loop makes all substeps.
    """

    def __init__(self, integrator: Integrator, order: int):
        self.system, self.integrator, self.order = integrator.system, integrator, order
        self.count = len(composition(order).parts)

    def step(self, now: State, h: Number) -> Step:
        """Return the result of a step h [s] from the state `now`: new state, multipliers, iteration count, convergence.

        The multipliers are means over the substeps, weighted by their lengths; the iteration count is the largest of
        all substeps.
        """

        def one(k: Number, *before: Value) -> Leaves:
            *state, multipliers, most, good = before
            part = part_of_iteration(self.order, k)
            step = self.integrator.step(State(*state), part * h)
            multipliers = multipliers + part * step.multipliers
            return *step.state, multipliers, maximum(most, step.iterations), where(step.solved, good, 0.0)

        none = np.zeros(len(self.system.rows(now.x)))
        *state, multipliers, most, good = repeat(self.count, one, *now, none, 0.0, 1.0)
        return Step(State(*state), multipliers, most, good == 1.0)

    def derivative(self, now: State, h: Number) -> Array:
        """Return the derivative (2n, 2n) of (x, p) after a step h [s] with respect to (x, p) before it.

        The step begins in the state `now`. The result is the product of the derivatives of the substeps.
        """

        def one(k: Number, *before: Value) -> Leaves:
            *state, found = before
            at, part = State(*state), part_of_iteration(self.order, k)
            return *self.integrator.step(at, part * h).state, self.integrator.derivative(at, part * h) @ found

        return repeat(self.count, one, *now, np.eye(2 * self.system.size))[-1]

    def failing(self, now: State, h: Number) -> tuple[ImplicitIntegrator, State, Number]:
        """Return the integrator, state and step size of the first substep without solution, for the failure diagnosis.

        The composed step is h [s] from the state `now`. If all substeps are solved, the result belongs to the last
        substep.
        """
        *parts, last = substeps(self.order, h)
        for part in parts:
            step = self.integrator.step(now, part.h)
            if not step.solved:
                return self.integrator.failing(now, part.h)
            now = step.state
        return self.integrator.failing(now, last.h)
