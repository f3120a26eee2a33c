"""Steps of order 4 and 6, composed of symmetric steps of order 2."""

from __future__ import annotations

import numpy as np

from linkwork.lagrangian.discrete_step import Mover, State, Step, Stepper
from linkwork.simulation.methods.composition import composition, part_of_iteration, substeps
from linkwork.simulation.state import Leaves
from linkwork.spatial.scalar import Array, Number, Value, maximum, where
from linkwork.spatial.traceable_loops import repeat


class Composed(Mover):
    """Composition of a symmetric one-step integrator of order 2; the substeps are iterations of one loop."""

    def __init__(self, mover: Mover, order: int):
        self.system, self.mover, self.order = mover.system, mover, order
        self.count = len(composition(order).parts)

    def step(self, now: State, h: Number) -> Step:
        """The state after all substeps, with the mean multipliers and the largest iteration count."""

        def one(k: Number, *before: Value) -> Leaves:
            *state, held, most, good = before
            part = part_of_iteration(self.order, k)
            step = self.mover.step(State(*state), part * h)
            held = held + part * step.multipliers
            return *step.state, held, maximum(most, step.iterations), where(step.solved, good, 0.0)

        none = np.zeros(len(self.system.rows(now.x)))
        *state, held, most, good = repeat(self.count, one, *now, none, 0.0, 1.0)
        return Step(State(*state), held, most, good == 1.0)

    def derivative(self, now: State, h: Number) -> Array:
        """Derivatives (2n, 2n) of a step: the product of the derivatives of its substeps."""

        def one(k: Number, *before: Value) -> Leaves:
            *state, found = before
            at, part = State(*state), part_of_iteration(self.order, k)
            return *self.mover.step(at, part * h).state, self.mover.derivative(at, part * h) @ found

        return repeat(self.count, one, *now, np.eye(2 * self.system.size))[-1]

    def failing(self, now: State, h: Number) -> tuple[Stepper, State, Number]:
        """The equations of the first substep that fails, else of the last substep."""
        *parts, last = substeps(self.order, h)
        for part in parts:
            step = self.mover.step(now, part.h)
            if not step.solved:
                return self.mover.failing(now, part.h)
            now = step.state
        return self.mover.failing(now, last.h)
