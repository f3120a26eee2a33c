"""The solvers of adaptive runs: "dop853" with compiled steps, and SciPy's "radau" and "lsoda"."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, cast

import numpy as np
from scipy.integrate import LSODA, OdeSolver, Radau

from linkwork.compiler import digest
from linkwork.simulation.joint_friction_rows import friction_count
from linkwork.simulation.methods.dop853 import EXTRA, STAGES, TABLE, WINDOW, Dop853, StageFunction, stages
from linkwork.simulation.runners.run_kernels import kernel_of, packed, unpacked
from linkwork.simulation.runners.state_derivative import StateDerivative
from linkwork.simulation.user_functions import Values
from linkwork.spatial.scalar import Array


class Solver(Protocol):
    """The interface of a solver: `step` makes a step from time `t_old` to `t` [s], with the state `y` (n,) at its end.

    `status` is "running", "finished" or "failed"; `step_size` [s] is the length of the last step. `fun(t, y)` returns
    the time derivative of the state.
    """

    t: float
    t_old: float
    y: Array
    status: str
    fun: Callable[[float, Array], Array]

    @property
    def step_size(self) -> float:
        """The length [s] of the solver's last step."""
        ...

    def step(self) -> str | None:
        """Make one step of the solver; if the step fails, return the reason."""
        ...

    def dense_output(self) -> Callable[[float | Array], Array]:
        """Return a function that maps a time [s] within the last step to the state (n,) at this time, or k times to
        states (n, k).
        """
        ...


class Tolerances(NamedTuple):
    """The relative (`rtol`) and absolute (`atol`) error tolerances of a solver, and its largest step `max_step` [s]."""

    rtol: float
    atol: float
    max_step: float


# start(begin, x, end, step) returns a solver from the state x (n,) at `begin` [s] to `end` [s]. Its first step is
# `step` [s]; if `step` is None, the solver chooses it
Start = Callable[[float, Array, float, float | None], Solver]
# solvers(held, values, slip_directions) returns a `Start` for joint forces `held` (nv,) of a sampled controller, for
# parameters and gains, and for slip directions (nf,) of joint friction
Solvers = Callable[[Array, Values, Array], Start]


def solvers_of(method: str, derivative: StateDerivative, tolerances: Tolerances) -> Solvers:
    """Return a function that makes solvers of the adaptive method called `method`.

    The arguments of this function are joint forces (nv,) [N m or N], parameters and gains, and slip directions (nf,) of
    friction. `derivative` is the time derivative of the state, and `tolerances` are the tolerances of the solvers.
    """
    kernel, options = StageKernel(derivative), tolerances._asdict()

    def dop853(held: Array, values: Values, slip_directions: Array) -> Start:
        stages = kernel.bound(held, values, slip_directions)
        return lambda begin, x, end, step: _solver(Dop853(stages, begin, x, end, first_step=step, **options))

    def radau(held: Array, values: Values, slip_directions: Array) -> Start:
        rates = derivative.bound(held, values, slip_directions)
        return lambda begin, x, end, step: _solver(Radau(rates, begin, x, end, first_step=step, **options))

    def lsoda(held: Array, values: Values, slip_directions: Array) -> Start:
        # lsoda starts with order one and therefore with short steps, so that `step` is not passed
        rates = derivative.bound(held, values, slip_directions)
        return lambda begin, x, end, step: _solver(LSODA(rates, begin, x, end, **options))

    return {"dop853": dop853, "radau": radau, "lsoda": lsoda}[method]


def _solver(solver: OdeSolver) -> Solver:
    return cast(Solver, solver)  # SciPy does not declare the types of its attributes


class StageKernel:
    """The stages of "dop853" for the state derivative of a problem, compiled once for all stages and steps."""

    def __init__(self, derivative: StateDerivative):
        self.derivative, self.problem = derivative, derivative.problem
        self._compiled: dict[int, Callable[..., Array]] = {}

    def bound(self, held: Array, values: Values, slip_directions: Array) -> StageFunction:
        """Return a function that evaluates stages of "dop853" with fixed joint forces `held` (nv,) [N m or N] and
        `values`.

        `values` are parameters and gains by name, and `slip_directions` (nf,) the slip directions -1, 0 or 1 of joint
        friction.
        """
        fixed = packed([held, slip_directions, *values.values()])

        def in_python(count: int, at: Array, y: Array, f: Array, window: Array) -> Array:
            return np.asarray(self.one(at, y, f, window, fixed, count), dtype=float)

        def compiled(count: int, at: Array, y: Array, f: Array, window: Array) -> Array:
            if not self._compiled:
                self._compile(fixed)
            return self._compiled[count](at, y, f, window, fixed)

        return in_python if self.derivative.target == "numpy" else compiled

    def one(self, at: Array, y: Array, f: Array, window: Array, fixed: Array, count: int) -> Array:
        """Return the result of `dop853.stages` for the problem; `at`, `y`, `f`, `window` and `count` are the arguments
        of `stages`.

        `fixed` (m,) has joint forces, slip directions, parameters and gains.
        """
        problem = self.problem
        m = problem.mechanism
        held, slip_directions, *values = unpacked(
            fixed, [(m.nv,), (friction_count(m),), *map(problem.core, problem.values)]
        )
        derivative = self.derivative.at(held, dict(zip(problem.values, values, strict=True)), slip_directions)
        return stages(derivative, count, at, y, f, window)

    def _compile(self, fixed: Array) -> None:
        """Compile the stages, with a fast entry point for each number of stages that the solver evaluates at once.

        `fixed` (m,) has joint forces, slip directions, parameters and gains; only the size m is used.
        """
        n = self.derivative.size
        shapes, results = [(5,), (n,), (n,), (WINDOW, n), fixed.shape], [(2 + n + WINDOW * n,)]
        key = ("stages", repr(list(self.problem.parameters)), digest(TABLE.tobytes()), f"{n} rates")
        kernel = kernel_of(self.problem, key, self.one, shapes, results, counts=1)

        def compiled(count: int) -> Callable[..., Array]:
            return kernel.fast_call(
                lambda *arrays: kernel.over_batch(arrays, (), 1, counts=(count,))[0][0], "stages", "", (count,)
            )

        self._compiled = {count: compiled(count) for count in (1, STAGES, EXTRA)}
