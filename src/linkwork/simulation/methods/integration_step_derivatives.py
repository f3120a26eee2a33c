"""Derivatives of an integration step with respect to state and joint forces, exact to round-off; for control design.

The operations of an explicit step are differentiated directly. For a step that solves equations R(z; x) = 0, the
iteration is not differentiated; the implicit function theorem gives dz = -(dR/dz)^-1 (dR/dx) dx at the solution. Both
cases need only derivatives along directions, which one kernel computes for all directions at once, in SIMD lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.constraint_ranks import least_squares, row_terms
from linkwork.algorithms.tangent_space import qdot, tangent
from linkwork.compiler import Kernel, pushforward
from linkwork.errors import LinkworkError, NotConverged
from linkwork.model.batch_broadcasting import Shape
from linkwork.simulation.methods.constraint_projection import projected
from linkwork.simulation.methods.integration_step import Step, label_of_changing_element
from linkwork.simulation.methods.method_registry import METHODS, Method
from linkwork.simulation.methods.method_tolerances import STEP_RANK
from linkwork.simulation.runners.run_kernels import kernel_of
from linkwork.simulation.simulated_system import System
from linkwork.simulation.simulation_problem import Problem
from linkwork.simulation.state import StepState
from linkwork.spatial.scalar import Array, Condition, Number, where
from linkwork.spatial.traceable_loops import unrolled
from linkwork.tolerances import TINY


class StepDerivatives(NamedTuple):
    """Derivatives A (2 nv, 2 nv) and B (2 nv, nv) of a step: the state at its end changes by A dx + B dtau.

    dx = (dq, dv) is the change of the state before the step, with dq in the tangent space, and dtau (nv,) the change of
    the joint forces.
    """

    A: Array
    B: Array


class StepMap:
    """One integration step of `dt` [s] as a map from a state (nq + nv,) and joint forces (nv,) to the next state, with
    derivatives.

    `system(*changes)` returns the system to step; `changes` are the shapes of the arguments of `system`, for example
    those of changed parameters. `name` identifies the system in the names of kernels.
    """

    def __init__(
        self,
        problem: Problem,
        method: Method,
        dt: float,
        system: Callable[..., System],
        changes: Sequence[Shape] = (),
        name: str = "",
    ):
        self.problem, self.method, self.dt, self.system, self.changes = problem, method, dt, system, list(changes)
        self.name, m = name, problem.mechanism
        if what := label_of_changing_element(m):
            raise LinkworkError(f"step derivatives do not exist: {what} can change its state within the step")
        self.unknowns = 0 if method.equations is None else method.equations.unknowns(m)
        self._kernels: dict[str, Kernel] = {}

    def derivatives(self, x: Array, tau: Array, *changes: Array) -> StepDerivatives:
        """Return the derivatives of the step from the state x (nq + nv,), which is q and then v, under joint forces tau
        (nv,) [N m or N].

        `changes` are the arguments of `system`.
        """
        nv = self.problem.mechanism.nv
        A, B = np.eye(2 * nv), np.zeros((2 * nv, nv))
        for part in self.method.parts:
            given = [x, tau, np.asarray(part * self.dt), *changes]
            x, unknown = self._run("step with its unknown", given, [np.shape(x), (self.unknowns,)], ())
            if not (np.isfinite(x).all() and np.isfinite(unknown).all()):
                raise NotConverged(f"the equations of the step were not solved with dt={self.dt:g} s; use a smaller dt")
            by_state, by_force = self._one(given, unknown)
            A, B = by_state @ A, by_state @ B + by_force
        return StepDerivatives(A, B)

    def _one(self, given: list[Array], unknown: Array) -> tuple[Array, Array]:
        """Return the derivatives of one substep with respect to the state (2 nv, 2 nv) and the joint forces (2 nv, nv).

        `unknown` (n,) is the solution of the equations of the substep. `given` are the state, the joint forces, the
        step size and the arguments of `system`.
        """
        m, n = self.problem.mechanism, self.unknowns
        nv = m.nv
        directions = np.eye(3 * nv + n)
        (rates,) = self._run("derivatives of a step", [*given, unknown, directions], [(2 * nv + n,)], (3 * nv + n,))
        D = rates.T
        found = D[: 2 * nv, : 3 * nv]
        if n:
            by_unknown, by_known = D[2 * nv :, 3 * nv :], D[2 * nv :, : 3 * nv]
            found = found - D[: 2 * nv, 3 * nv :] @ _solved(by_unknown, by_known, row_terms(m, given[0][: m.nq]))
        return found[:, : 2 * nv], found[:, 2 * nv :]

    # --- compiled functions ---

    def _state_and_solution(self, x: Array, tau: Array, h: Number, *changes: Array) -> tuple[Array, Array]:
        """Return the state (nq + nv,) after a step h [s], and the solution (n,) of the step's equations.

        The state is nan if the equations were not solved. x (nq + nv,) is the state before the step, tau (nv,) are
        joint forces, and `changes` are the arguments of `system`.
        """
        nq, system, equations = self.problem.mechanism.nq, self.system(*changes), self.method.equations
        now, unknown = StepState(x[:nq], x[nq:]), [np.zeros(0)]

        def step(system: System, t: Number, now: StepState, h: Number, held: Array) -> tuple[StepState, Condition]:
            assert equations
            found = equations(system, t, now, h, held).solve()
            unknown[0] = found.unknown
            return found.moved, found.solved

        base = self.base if equations is None else self._after(step)
        moved, solved = base(system, 0.0, now, h, system.clipped(tau))
        after = np.concatenate([moved.q, moved.v])
        return after if solved is True else where(solved, after, np.full(len(after), np.nan)), unknown[0]

    def _along(self, x: Array, tau: Array, h: Number, *rest: Array) -> Array:
        """Return the derivative (2 nv + n,) of the next state and of the residual of a step h [s], along one direction.

        The step begins in the state x (nq + nv,) under joint forces tau (nv,). The direction (3 nv + n,) is a change of
        q in the tangent space, of v, of tau, and of the n unknowns, in this order. `rest` are the arguments of
        `system`, then the unknowns (n,), then the direction.
        """
        *changes, unknown, direction = rest
        m, system, equations = self.problem.mechanism, self.system(*changes), self.method.equations
        q, v = x[: m.nq], x[m.nq :]
        state = (system, 0.0, StepState(q, v), h, system.clipped(tau))
        with unrolled():
            if equations is None:
                moved, left = self.base(*state)[0], np.zeros(0)
            else:
                moved = self._after(lambda *state: (equations(*state).moved(unknown), True))(*state)[0]
                left = equations(*state).residual(unknown)
        inputs = np.concatenate([q, v, tau, unknown])
        along = np.concatenate([qdot(m, q, direction[: m.nv]), direction[m.nv :]])
        (rates,) = pushforward(np.concatenate([moved.q, moved.v, left]), inputs, along[None])
        return np.concatenate([tangent(m, moved.q, rates[: m.nq]), rates[m.nq :]])

    def _after(self, step: Step) -> Step:
        return projected(step) if self.method.projects else step

    @property
    def base(self) -> Step:
        """The step function of the method at its own order, without composition."""
        return METHODS[self.method.name].step

    def _run(self, what: str, arrays: list[Array], results: list[Shape], batch: Shape) -> list[Array]:
        if what not in self._kernels:
            shapes = [np.shape(a) for a in arrays[: 3 + len(self.changes)]]
            along = batch != ()
            shapes += [(self.unknowns,), batch] if along else []
            name = (what, self.name, self.method.name)
            self._kernels[what] = kernel_of(
                self.problem, name, self._along if along else self._state_and_solution, shapes, results
            )
        return self._kernels[what].over_batch(arrays, batch, None)[0]


def _solved(matrix: Array, right: Array, terms: Array) -> Array:
    """Return the solution x (n, k) of least norm of matrix @ x = right, after scaling of rows and columns.

    `matrix` is (n, n), and `right` (n, k). The first nv rows and columns belong to the motion, the next nh to the
    constraint rows, which may be redundant or zero. Constraint rows are therefore scaled by `terms` (nh, nv), the sums
    of squares of the terms that add up to their entries.
    """
    nh, nv = terms.shape
    held = slice(nv, nv + nh)
    rows = 1.0 / np.maximum(np.abs(matrix).max(axis=1), TINY)
    rows[held] = 1.0 / np.maximum(np.sqrt(terms.max(axis=1, initial=0.0)), TINY)
    scaled = matrix * rows[:, None]
    columns = 1.0 / np.maximum(np.abs(scaled).max(axis=0), TINY)
    columns[held] = 1.0 / np.maximum((np.sqrt(terms) * rows[:nv]).max(axis=1, initial=0.0), TINY)
    return least_squares(scaled * columns, right * rows[:, None], 1.0, STEP_RANK) * columns[:, None]
