"""Derivatives of a step as a map of states, exact to round-off: what control on the discrete map is made from.

What a step computes is differentiated as it is written. Where it solves equations R(z; x) = 0 by iteration, the
iterations are not: at the solution dz = -(dR/dz)^-1 dR, the implicit function theorem. Both need derivatives along
directions alone, which are one kernel that runs for all directions at once, in vector lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.coordinates import qdot, tangent
from linkwork.algorithms.ranks import least_squares, row_terms
from linkwork.compiler import Kernel, pushforward
from linkwork.errors import LinkworkError, NotConverged
from linkwork.model.broadcast import Shape
from linkwork.simulation.methods.method import Step, changing
from linkwork.simulation.methods.projection import projected
from linkwork.simulation.methods.registry import METHODS, Method
from linkwork.simulation.problem import Problem
from linkwork.simulation.runners.run_kernels import kernel_of
from linkwork.simulation.state import StepState
from linkwork.simulation.system import System
from linkwork.spatial.loops import unrolled
from linkwork.spatial.scalar import Array, Condition, Number, where
from linkwork.tolerances import TINY

RANK = 1e-11  # of the terms of rows and columns: smaller singular values are those of loops that repeat others


class StepDerivatives(NamedTuple):
    """A (2 nv, 2 nv) and B (2 nv, nv) of a step: (dq, dv) after it is A (dq, dv) + B dtau, dq in the tangent space."""

    A: Array
    B: Array


class StepMap:
    """One step of a method, from states (nq + nv,) under joint forces (nv,), with its derivatives.

    `system` gives what moves, from arrays of the shapes `changes` if there are any; `name` identifies it.
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
        if what := changing(m):
            raise LinkworkError(f"a step has no derivatives where {what} may change its state in it")
        self.unknowns = 0 if method.equations is None else method.equations.unknowns(m)
        self._kernels: dict[str, Kernel] = {}

    def derivatives(self, x: Array, tau: Array, *changes: Array) -> StepDerivatives:
        """Those of the step from x (nq + nv,) under tau (nv,)."""
        nv = self.problem.mechanism.nv
        A, B = np.eye(2 * nv), np.zeros((2 * nv, nv))
        for part in self.method.parts:
            given = [x, tau, np.asarray(part * self.dt), *changes]
            x, unknown = self._run("step with its unknown", given, [np.shape(x), (self.unknowns,)], ())
            if not (np.isfinite(x).all() and np.isfinite(unknown).all()):
                raise NotConverged(f"the equations of a step of {self.dt:g} s were not solved, so it has no derivative")
            by_state, by_force = self._one(given, unknown)
            A, B = by_state @ A, by_state @ B + by_force
        return StepDerivatives(A, B)

    def _one(self, given: list[Array], unknown: Array) -> tuple[Array, Array]:
        """Derivatives (2 nv, 2 nv) and (2 nv, nv) of one part of a step, whose equations this solves."""
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

    # --- what is compiled ---

    def _found(self, x: Array, tau: Array, h: Number, *changes: Array) -> tuple[Array, Array]:
        """The next state (nq + nv,) and the unknown (n,) that solved the step's equations; nan if it does not."""
        nq, system, equations = self.problem.mechanism.nq, self.system(*changes), self.method.equations
        now, unknown = StepState(x[:nq], x[nq:]), [np.zeros(0)]

        def step(system: System, t: Number, now: StepState, h: Number, held: Array) -> tuple[StepState, Condition]:
            assert equations
            found = equations(system, t, now, h, held).solve()
            unknown[0] = found.unknown
            return found.moved, found.solved

        base = self.base if equations is None else self._after(step)
        moved, solved = base(system, 0.0, now, h, tau)
        after = np.concatenate([moved.q, moved.v])
        return after if solved is True else where(solved, after, np.full(len(after), np.nan)), unknown[0]

    def _along(self, x: Array, tau: Array, h: Number, *rest: Array) -> Array:
        """Rates (2 nv + n,) of the state after a step, and of its equations, along a direction (3 nv + n,).

        The direction is one of q in the tangent space, v, tau and the unknown.
        """
        *changes, unknown, direction = rest
        m, system, equations = self.problem.mechanism, self.system(*changes), self.method.equations
        q, v = x[: m.nq], x[m.nq :]
        state = (system, 0.0, StepState(q, v), h, tau)
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
        """The step that the method composes."""
        return METHODS[self.method.name].step

    def _run(self, what: str, arrays: list[Array], results: list[Shape], batch: Shape) -> list[Array]:
        if what not in self._kernels:
            shapes = [np.shape(a) for a in arrays[: 3 + len(self.changes)]]
            along = batch != ()
            shapes += [(self.unknowns,), batch] if along else []
            name = (what, self.name, self.method.name)
            self._kernels[what] = kernel_of(self.problem, name, self._along if along else self._found, shapes, results)
        return self._kernels[what].over_batch(arrays, batch, None)[0]


def _solved(matrix: Array, right: Array, terms: Array) -> Array:
    """The smallest solution (n, k) of matrix (n, n) times it = right (n, k), with rows and columns of equal size.

    Equations, and unknowns, are nv of motion, nh of constraints, and perhaps others. Constraint rows may repeat each
    other or vanish, so their size is that of the squared `terms` (nh, nv) that they are sums of.
    """
    nh, nv = terms.shape
    held = slice(nv, nv + nh)
    rows = 1.0 / np.maximum(np.abs(matrix).max(axis=1), TINY)
    rows[held] = 1.0 / np.maximum(np.sqrt(terms.max(axis=1, initial=0.0)), TINY)
    scaled = matrix * rows[:, None]
    columns = 1.0 / np.maximum(np.abs(scaled).max(axis=0), TINY)
    columns[held] = 1.0 / np.maximum((np.sqrt(terms) * rows[:nv]).max(axis=1, initial=0.0), TINY)
    return least_squares(scaled * columns, right * rows[:, None], 1.0, RANK) * columns[:, None]
