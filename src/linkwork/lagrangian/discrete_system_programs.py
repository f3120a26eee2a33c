"""The compiled programs of a discrete system: start, step, derivative of a step, and run, each for one batch member."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from linkwork.compiler import Count, Kernel, Rows
from linkwork.errors import LinkworkError
from linkwork.lagrangian.composed_integrators import Composed
from linkwork.lagrangian.energy_momentum_integrator import EnergyMomentum
from linkwork.lagrangian.one_step_integrator import Integrator, State
from linkwork.lagrangian.time_transformed_steps import Clocked
from linkwork.lagrangian.user_defined_lagrangian import Form, Functions
from linkwork.lagrangian.variational_integrator import ENDS, FIRST_ORDER, MIDPOINT, Variational
from linkwork.model.batch_broadcasting import Shape
from linkwork.simulation.state import Leaves
from linkwork.spatial.scalar import Array, Number, Value, maximum, where
from linkwork.spatial.traceable_loops import record, repeat

RULES = {"midpoint": MIDPOINT, "first-order": FIRST_ORDER, "shake": FIRST_ORDER, "rattle": ENDS, "verlet": ENDS}
ENERGY_MOMENTUM = "energy-momentum"
# names of the methods whose integrators are not symmetric
ONE_SIDED = [name for name, rule in RULES.items() if rule is FIRST_ORDER]

Gains = tuple[tuple[str, Shape], ...]  # names of the gains, with their shapes for one batch member


class Programs:
    """The functions of a discrete system that are compiled; arguments and results are those of one batch member.

    The system has `size` coordinates. Gains are further named arguments of the user's functions; `gains` has their
    names and shapes. `method` and `order` select the integrator.
    """

    def __init__(self, functions: Functions, method: str, order: int, size: int, gains: Gains):
        self.functions, self.method, self.order, self.size, self.gains = functions, method, order, size, gains
        self.form: Form = functions.form(size, dict(gains))
        self.constant = functions.constant_mass(size, dict(gains)) if method == ENERGY_MOMENTUM else None
        if method == ENERGY_MOMENTUM and self.constant is None:
            raise LinkworkError(
                'the method "energy-momentum" needs L = xdot M xdot / 2 - V(x) with a constant mass matrix M; the mass '
                "matrix of this Lagrangian depends on x or xdot: choose other coordinates or another method"
            )
        self.kernel = cache(self._kernel)

    def integrator(self, values: Sequence[Value]) -> Integrator:
        """Return the integrator that `method` and `order` select, with the values `values` of the gains."""
        plain = self._second_order_integrator(values)
        return plain if self.order == 2 else Composed(plain, self.order)

    def _second_order_integrator(self, values: Sequence[Value]) -> Integrator:
        """Return the integrator of order 2 that `method` selects, with the given values of the gains."""
        named = dict(zip((name for name, _ in self.gains), values, strict=True))
        system = self.functions.bound(self.size, named, self.form.linear_momentum)
        if self.constant is not None:
            return EnergyMomentum(system, *self.constant)
        kind = Variational if system.clock is None else Clocked
        return kind(system, RULES[self.method])

    # --- programs ---

    def start(self, x: Array, xdot: Array, *values: Value) -> Leaves:
        """Return the initial state at x (n,) with velocity xdot (n,), and the quantities that a run checks at the
        start.

        The numbers of the state are followed by those of `Start`. `values` are the values of the gains, in the order of
        `self.gains`.
        """
        integrator = self.integrator(values)
        system = integrator.system
        inspected = system.violation(x), system.rows(x), system.mass(x, xdot), system.clock_rate(x)
        return *integrator.start(0.0, x, xdot), *inspected

    def start_between(self, x: Array, y: Array, h: Number, *values: Value) -> Leaves:
        """Return the velocity (n,) at x (n,) from which a first step of length h [s] leads to the coordinates y (n,).

        `values` are the values of the gains, in the order of `self.gains`.
        """
        plain = self._second_order_integrator(values)
        assert isinstance(plain, Variational)
        return (plain.velocity_between(0.0, x, y, h),)

    def step(self, *numbers: Value) -> Leaves:
        """Return the state after one step, and 1 if the equations of the step were solved, else 0.

        `numbers` are the entries of the `State` before the step, the step size h [s] and the values of the gains.
        """
        now, (h, *values) = _split(numbers)
        step = self.integrator(values).step(now, h)
        return *step.state, where(step.solved, 1.0, 0.0)

    def derivative(self, *numbers: Value) -> Leaves:
        """Return the derivative (2n, 2n) of (x, p) after a step with respect to (x, p) before it, and two matrices.

        The two matrices are those of `LagrangianSystem.tangents` in the state before the step: the constraint matrix
        for changes of this state, and their map to changes of the momenta. `numbers` are the entries of the `State`
        before the step, the step size h [s] and the gains.
        """
        now, (h, *values) = _split(numbers)
        integrator = self.integrator(values)
        return integrator.derivative(now, h), *integrator.system.tangents(now.x, now.xdot)

    def first_sample(self, *numbers: Value) -> Leaves:
        """Return the sample of the initial state; its multipliers are NaN, because no step precedes it.

        `numbers` are the entries of the `State` and the values of the gains.
        """
        now, values = _split(numbers)
        return self._sample(self.integrator(values), now, np.full(self.form.constraints, np.nan), 0.0)

    def run(self, every: int, *numbers: Value) -> Leaves:
        """Return the number of completed steps, a flag, the last state, and the recorded series of a run.

        The flag is 1 if all steps were solved, else 0; the series are in the order of SERIES. `numbers` are the entries
        of the initial `State`, the step size h [s], the values of the gains, and the number of samples. The run makes
        `every` steps from sample to sample.
        """
        begun, (h, *values, count) = _split(numbers)
        integrator = self.integrator(values)

        def one(_: Number, done: Number, going: Number, *before: Value) -> Leaves:
            now, (multipliers, most) = _split(before)
            step = integrator.step(now, h)
            good = (going == 1.0) & step.solved
            after = step.state
            # the steps are equal: compute the time as one product, so that round-off does not add up
            if self.functions.clock is None:
                after = after._replace(t=begun.t + (done + 1.0) * h)
            return (
                where(good, done + 1.0, done),
                where(good, 1.0, 0.0),
                *(where(good, a, b) for a, b in zip(after, now, strict=True)),
                where(good, step.multipliers, multipliers) if len(multipliers) else multipliers,
                where(good, maximum(most, step.iterations), most),
            )

        def sample(_: Number, *state: Value) -> tuple[Leaves, Leaves]:
            first = (*state, np.zeros(self.form.constraints), 0.0)
            *after, multipliers, most = one(0.0, *first) if every == 1 else repeat(every, one, *first)
            return tuple(after), self._sample(integrator, State(*after[2:]), multipliers, most)

        (done, going, *last), series = record(count, sample, 0.0, 1.0, *begun)
        return done, going, *last, *series

    def _sample(self, integrator: Integrator, now: State, multipliers: Array, iterations: Number) -> Leaves:
        """Return one sample of a motion at the state `now`: the recorded values in the order of SERIES.

        `multipliers` (m + l,) are those of the step before, `iterations` is the largest number of Newton iterations in
        a step since the previous sample.
        """
        energy, momenta = integrator.system.energy(now.x, now.xdot), integrator.system.momenta(now.x, now.p)
        return now.t, now.x, now.xdot, now.p, multipliers, energy, momenta, iterations

    # --- kernels ---

    def _kernel(self, what: str, every: int = 1) -> Kernel:
        """Return the compiled kernel of the program `what`, such as "step".

        `every` is the number of steps per sample of the program "run".
        """
        n, form = self.size, self.form
        state: list[Shape] = [(), (n,), (n,), (n,), ()]
        sample: list[Shape] = [(), (n,), (n,), (n,), (form.constraints,), (), (form.symmetries,), ()]
        ports: dict[str, tuple[list[Shape], Sequence[Shape | Rows]]] = {
            "start": ([(n,), (n,)], [*state, (form.positions,), (form.constraints, n), (n, n), ()]),
            "start_between": ([(n,), (n,), ()], [(n,)]),
            "step": ([*state, ()], [*state, ()]),
            "derivative": ([*state, ()], [(2 * n, 2 * n), (form.positions + form.constraints, 2 * n), (n, 2 * n)]),
            "first_sample": (state, sample),
            "run": ([*state, ()], [(), (), *state, *(Rows(Count(0), shape) for shape in sample)]),
        }
        shapes, results = ports[what]
        program: Callable[..., Leaves] = getattr(self, what)
        if what == "run":
            program = lambda *numbers: self.run(every, *numbers)  # noqa: E731
        shapes = [*shapes, *(shape for _, shape in self.gains)]
        return Kernel(f"{what} of a discrete system", program, shapes, results, None, counts=int(what == "run"))


def _split(numbers: Sequence[Value]) -> tuple[State, list[Value]]:
    """Return the `State` made of the first entries of `numbers`, and the remaining entries."""
    size = len(State._fields)
    return State(*numbers[:size]), list(numbers[size:])
