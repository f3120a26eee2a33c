"""One step of a discrete system, which maps (x, p) before to (x, p) after it: its equations and their solution.

The unknown of the equations is the mean velocity of the step and not its end point: this avoids cancellation for small
steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from linkwork.compiler import jacobian
from linkwork.lagrangian.lagrangian_system import LagrangianSystem
from linkwork.lagrangian.lagrangian_tolerances import SOLVED_AT_REST, SOLVED_STEP
from linkwork.simulation.methods.newton_method import ITERATIONS, Floor, Root, newton
from linkwork.spatial.constrained_linear_systems import solve_constrained
from linkwork.spatial.scalar import Array, Condition, Number, largest


class State(NamedTuple):
    """State of a discrete system: time t [s], coordinates x (n,), momenta p (n,), velocities xdot (n,).

    `energy` [J] is the energy p . xdot - L at the start of the motion; steps with a clock use it.
    """

    t: Number
    x: Array
    p: Array
    xdot: Array
    energy: Number


class Step(NamedTuple):
    """The result of a step: new state, multipliers (m + l,), number of Newton iterations, and whether they converged.

    The constraint forces (n,) are G^T multipliers. G (m + l, n) are the constraint rows: the derivatives of m
    constraints and l nonholonomic rows.
    """

    state: State
    multipliers: Array
    iterations: Number
    solved: Condition


class Integrator(ABC):
    """Base class of the one-step integrators of a Lagrangian system."""

    system: LagrangianSystem

    def start(self, t: Number, x: Array, xdot: Array) -> State:
        """Return the initial state at time t [s], with coordinates x (n,) and velocity xdot (n,)."""
        system = self.system
        return State(t, x, system.coordinate_momentum(x, xdot), xdot, system.energy(x, xdot))

    @abstractmethod
    def step(self, now: State, h: Number) -> Step:
        """Return the result of a step h [s] from the state `now`: new state, multipliers and convergence."""

    @abstractmethod
    def derivative(self, now: State, h: Number) -> Array:
        """Return the derivative (2n, 2n) of (x, p) after a step h [s] with respect to (x, p) before it."""

    @abstractmethod
    def failing(self, now: State, h: Number) -> tuple[ImplicitIntegrator, State, Number]:
        """Return the integrator, state and step size of the equations that have no solution, for the failure diagnosis.

        The result is `self` and the arguments, unless this integrator makes substeps or transforms time. All numbers
        are floats.
        """


class ImplicitIntegrator(Integrator):
    """Base class of integrators that solve equations for the mean velocity d of a step and its constraint impulses.

    There are m constraints g(x) = 0 and l nonholonomic rows a(x). The equations for a step h [s] from x are

        defect(d) = impulse_rows(d)^T impulses,    g(x + h d) = 0,    a(x + h d / 2) d = 0

    The last equation excludes slip. The reactions of the rows a act at both ends of the step. These equations are the
    discrete Lagrange-d'Alembert principle (Cortes and Martinez 2001, Nonlinearity 14), and are symmetric.
    """

    @abstractmethod
    def defect(self, now: State, h: Number, d: Array) -> Array:
        """Return the momentum residual (n,) of a step h [s] from the state `now` with mean velocity d (n,).

        Constraint impulses must balance this residual.
        """

    @abstractmethod
    def impulse_rows(self, now: State, h: Number, d: Array) -> Array:
        """Return the rows (m + l, n) along which constraint impulses act in a step with mean velocity d (n,).

        There are m constraints and l nonholonomic rows.
        """

    @abstractmethod
    def step_result(self, now: State, h: Number, root: Root) -> Step:
        """Return the result of a step h [s] from the state `now`, for a solution `root` of the step equations.

        `root.unknown` is the mean velocity (n,) of the step: the displacement is h times it. `root.multipliers` are the
        impulses (m + l,) of m constraints and l nonholonomic rows.
        """

    def step(self, now: State, h: Number) -> Step:
        """Return the result of a step h [s] from the state `now`: new state, multipliers and convergence."""
        return self.step_result(now, h, self.solve(now, h))

    def solve(self, now: State, h: Number, most: int = ITERATIONS) -> Root:
        """Return the solution of the step equations: the mean velocity (n,) of a step h [s], and its impulses (m + l,).

        `now` is the state before the step, and `most` the largest number of Newton iterations. The impulses belong to
        m constraints and l nonholonomic rows.
        """
        sure = SOLVED_STEP * largest(now.x) / h
        floor = Floor(sure, sure + SOLVED_AT_REST / h)
        guess = np.zeros(len(self.system.rows(now.x)))  # zero, because the first Newton iteration computes the impulses
        return newton(lambda d, impulses: self.correction(now, h, d, impulses), now.xdot, guess, floor, most)

    def residual(self, now: State, h: Number, d: Array, impulses: Array) -> tuple[Array, Array]:
        """Return the residuals of the step equations: those of the momenta (n,), and those of the constraints (m + l,).

        d (n,) is the mean velocity of a step h [s] from the state `now`, and `impulses` (m + l,) are its constraint
        impulses. The residuals of the constraints are the values of the m constraints at the end of the step divided by
        h, then the slip velocities of the l nonholonomic rows.
        """
        momenta = self.defect(now, h, d) - self.impulse_rows(now, h, d).T @ impulses
        return momenta, np.concatenate([self.system.violation(now.x + h * d) / h, self._slip(now, h, d)])

    def _slip(self, now: State, h: Number, d: Array) -> Array:
        """Return the slip velocities (l,) of the l nonholonomic rows at the middle of a step with mean velocity d
        (n,).
        """
        return self.system.slip_rows(now.x + (0.5 * h) * d) @ d

    def correction(self, now: State, h: Number, d: Array, impulses: Array) -> tuple[Array, Array]:
        """Return the Newton corrections of the mean velocity d (n,) and of the constraint impulses (m + l,) of a step.

        d and `impulses` are the present iterates, for m constraints and l nonholonomic rows. The matrix of the linear
        system is given by Wendlandt's equation (2.43).
        """
        momenta, positions = self.residual(now, h, d, impulses)
        K = jacobian(lambda d: self.residual(now, h, d, impulses)[0])(d)
        rows = self.system.rows(now.x + h * d)
        if self.system.nonholonomic is not None:
            slip = jacobian(lambda d: self._slip(now, h, d))(d)
            rows = np.concatenate([rows[: len(rows) - len(slip)], slip])
        u, w = solve_constrained(K, self.impulse_rows(now, h, d).T, rows, -momenta, -positions)
        return u, -w

    def derivative(self, now: State, h: Number) -> Array:
        """Return the derivative (2n, 2n) of (x, p) after a step h [s] with respect to (x, p) before it.

        The method differentiates one more Newton correction at the solution: to first order, the corrected solution
        depends on the initial state in the same manner as the exact solution.
        """
        root = self.solve(now, h)

        def arrived(x: Array, p: Array, d: Array, impulses: Array) -> Array:
            start = now._replace(x=x, p=p)
            dd, more = self.correction(start, h, d, impulses)
            state = self.step_result(start, h, root._replace(unknown=d + dd, multipliers=impulses + more)).state
            return np.concatenate([state.x, state.p])

        at = (now.x, now.p, root.unknown, root.multipliers)
        return np.hstack([jacobian(arrived, 0)(*at), jacobian(arrived, 1)(*at)])

    def failing(self, now: State, h: Number) -> tuple[ImplicitIntegrator, State, Number]:
        """Return this integrator with the state `now` and step size h, because it makes no substeps."""
        return self, now, h
