"""What is compiled of a discrete system: starts, steps, derivatives of steps and whole runs of one member."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from linkwork.compiler.graph import Count
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.program import Rows
from linkwork.errors import LinkworkError
from linkwork.model.broadcast import Shape
from linkwork.simulation.discrete_step import State, Stepper
from linkwork.simulation.energy_momentum import EnergyMomentum
from linkwork.simulation.user_system import Form, Functions
from linkwork.simulation.variational import ENDS, FIRST_ORDER, MIDPOINT, Variational
from linkwork.spatial.loops import record, repeat
from linkwork.spatial.scalar import Array, Number, maximum, where

RULES = {"midpoint": MIDPOINT, "first-order": FIRST_ORDER, "shake": FIRST_ORDER, "rattle": ENDS, "verlet": ENDS}
ENERGY_MOMENTUM = "energy-momentum"

Gains = tuple[tuple[str, Shape], ...]  # names, and shapes of one member's


class Programs:
    """The programs of a system in `size` coordinates, with gains of these shapes: functions of one member's numbers."""

    def __init__(self, functions: Functions, rule: str, size: int, gains: Gains):
        self.functions, self.rule, self.size, self.gains = functions, rule, size, gains
        self.form: Form = functions.form(size, dict(gains))
        self.constant = functions.constant_mass(size, dict(gains)) if rule == ENERGY_MOMENTUM else None
        if rule == ENERGY_MOMENTUM and self.constant is None:
            raise LinkworkError(
                'the rule "energy-momentum" needs L = xdot M xdot / 2 - V(x) with a constant mass matrix M; this '
                "momentum is another function of x and xdot: choose other coordinates, or another rule"
            )
        self.kernel = cache(self._kernel)

    def stepper(self, values: Sequence[Any]) -> Stepper:
        """How steps are taken, with values of the gains."""
        named = dict(zip((name for name, _ in self.gains), values, strict=True))
        system = self.functions.bound(self.size, named, self.form.linear_momentum)
        if self.constant is not None:
            return EnergyMomentum(system, *self.constant)
        return Variational(system, RULES[self.rule])

    # --- programs ---

    def start(self, x: Array, xdot: Array, *values: Any) -> tuple[Any, ...]:
        """The state at x that moves by xdot, and what is to be looked at: g (m,), Dg (m, n), mass matrix (n, n)."""
        stepper = self.stepper(values)
        system = stepper.system
        return *stepper.start(0.0, x, xdot), system.violation(x), system.rows(x), system.mass(x, xdot)

    def start_between(self, x: Array, y: Array, h: Number, *values: Any) -> tuple[Any, ...]:
        """The velocity (n,) at x from which a step leads to y."""
        stepper = self.stepper(values)
        assert isinstance(stepper, Variational)
        return (stepper.start_between(0.0, x, y, h).xdot,)

    def step(self, t: Number, x: Array, p: Array, xdot: Array, h: Number, *values: Any) -> tuple[Any, ...]:
        """The next state, and 1 if it was found."""
        step = self.stepper(values).step(State(t, x, p, xdot), h)
        return *step.state, where(step.solved, 1.0, 0.0)

    def derivative(self, t: Number, x: Array, p: Array, xdot: Array, h: Number, *values: Any) -> tuple[Any, ...]:
        """Derivatives (2n, 2n) of a step."""
        stepper, now = self.stepper(values), State(t, x, p, xdot)
        return (stepper.derivative(now, h, stepper.solve(now, h)),)

    def first_row(self, t: Number, x: Array, p: Array, xdot: Array, *values: Any) -> tuple[Any, ...]:
        """What is recorded of a start: nothing is known of multipliers."""
        return self._row(self.stepper(values), State(t, x, p, xdot), np.full(self.form.held, np.nan), 0.0)

    def run(
        self, every: int, t: Number, x: Array, p: Array, xdot: Array, h: Number, *values_and_count: Any
    ) -> tuple[Any, ...]:
        """So many rows, each after `every` steps: steps done, 1 if all were, the last state, and the series."""
        *values, count = values_and_count
        stepper = self.stepper(values)

        def one(_: Number, done: Number, going: Number, x: Array, p: Array, xdot: Array, *told: Any) -> tuple[Any, ...]:
            held, most = told
            step = stepper.step(State(t + done * h, x, p, xdot), h)
            good = (going == 1.0) & step.solved
            return (
                where(good, done + 1.0, done),
                where(good, 1.0, 0.0),
                *(where(good, a, b) for a, b in zip(step.state[1:], (x, p, xdot), strict=True)),
                where(good, step.multipliers, held) if len(held) else held,
                where(good, maximum(most, step.rounds), most),
            )

        def row(_: Number, *state: Any) -> tuple[Any, Any]:
            begun = (*state, np.zeros(self.form.held), 0.0)
            *after, held, most = one(0.0, *begun) if every == 1 else repeat(every, one, *begun)
            return tuple(after), self._row(stepper, State(t, *after[2:]), held, most)

        (done, going, *last), series = record(count, row, 0.0, 1.0, x, p, xdot)
        return done, going, t + done * h, *last, *series

    def _row(self, stepper: Stepper, now: State, held: Array, rounds: Number) -> tuple[Any, ...]:
        """What is recorded, in the order of SERIES."""
        energy, momenta = stepper.system.energy(now.x, now.xdot), stepper.system.momenta(now.x, now.p)
        return now.x, now.xdot, now.p, held, energy, momenta, rounds

    # --- kernels ---

    def _kernel(self, what: str, every: int = 1) -> Kernel:
        n, form = self.size, self.form
        state: list[Shape] = [(), (n,), (n,), (n,)]
        row: list[Shape] = [(n,), (n,), (n,), (form.held,), (), (form.kept,), ()]
        ports: dict[str, tuple[list[Shape], list[Any]]] = {
            "start": ([(n,), (n,)], [*state, (form.held,), (form.held, n), (n, n)]),
            "start_between": ([(n,), (n,), ()], [(n,)]),
            "step": ([*state, ()], [*state, ()]),
            "derivative": ([*state, ()], [(2 * n, 2 * n)]),
            "first_row": (state, row),
            "run": ([*state, ()], [(), (), *state, *(Rows(Count(0), shape) for shape in row)]),
        }
        shapes, results = ports[what]
        program: Callable[..., Any] = getattr(self, what)
        if what == "run":
            program = lambda *numbers: self.run(every, *numbers)  # noqa: E731
        shapes = [*shapes, *(shape for _, shape in self.gains)]
        return Kernel(f"{what} of a discrete system", program, shapes, results, None, counts=int(what == "run"))
