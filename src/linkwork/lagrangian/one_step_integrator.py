"""One step of a discrete system from (x, p) to (x, p): the equations for the step's velocity, and their solution.

The unknown is the velocity of the step and not its end point: this avoids cancellation for small steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from linkwork.compiler import jacobian
from linkwork.lagrangian.lagrangian_system import LagrangianSystem
from linkwork.simulation.methods.newton import ITERATIONS, Floor, Root, newton
from linkwork.spatial.constrained_linear_systems import solve_constrained
from linkwork.spatial.scalar import Array, Condition, Number, largest

ROUND_OFF = 1e-12  # relative position error of a solved step
STILL = 1e-14  # [m or rad] absolute position error of a solved step at rest, where forces cancel up to round-off


class State(NamedTuple):
    """State of a discrete system: time t [s], coordinates x (n,), momenta p (n,), velocities xdot (n,).

    `energy` [J] is the initial energy of the motion; steps with a clock use it.
    """

    t: Number
    x: Array
    p: Array
    xdot: Array
    energy: Number


class Step(NamedTuple):
    """The result of a step: new state, multipliers (m,), number of Newton iterations, and whether they converged.

    Constraints change the momentum by Dg^T multipliers per second. m is the number of constraints.
    """

    state: State
    multipliers: Array
    iterations: Number
    solved: Condition


class Integrator(ABC):
    """Base class of the one-step integrators of a Lagrangian system."""

    system: LagrangianSystem

    def start(self, t: Number, x: Array, xdot: Array) -> State:
        """Return the initial state at time t [s], at x (n,) with velocity xdot (n,)."""
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

        They differ from the arguments if this integrator makes substeps or transforms time. Numbers are floats.
        """


class ImplicitIntegrator(Integrator):
    """Base class of integrators that solve equations for the velocity d of a step and its constraint impulses.

    The equations are defect(d) = impulse_rows(d)^T impulses, g(x + h d) = 0 and the no-slip condition a(x + h d / 2) d
    = 0 for nonholonomic rows a, with reactions along a at both ends of the step. They are the discrete
    Lagrange-d'Alembert principle (Cortes and Martinez 2001, Nonlinearity 14) and symmetric.
    """

    @abstractmethod
    def defect(self, now: State, h: Number, d: Array) -> Array:
        """Return the momentum residual (n,) of a step with velocity d (n,), which constraint impulses must balance."""

    @abstractmethod
    def impulse_rows(self, now: State, h: Number, d: Array) -> Array:
        """Return the rows (m + l, n) along which constraint impulses act in a step with velocity d (n,).

        There are m constraints and l nonholonomic rows.
        """

    @abstractmethod
    def step_result(self, now: State, h: Number, root: Root) -> Step:
        """Return the result of a step h [s]; `root` has its velocity (n,) and constraint impulses (m + l,).

        There are m constraints and l nonholonomic rows.
        """

    def step(self, now: State, h: Number) -> Step:
        """Return the result of a step h [s] from the state `now`: new state, multipliers and convergence."""
        return self.step_result(now, h, self.solve(now, h))

    def solve(self, now: State, h: Number, most: int = ITERATIONS) -> Root:
        """Solve for the velocity (n,) of a step and its constraint impulses (m + l,).

        `most` is the largest number of Newton iterations. There are m constraints and l nonholonomic rows.
        """
        sure = ROUND_OFF * largest(now.x) / h
        floor = Floor(sure, sure + STILL / h)
        guess = np.zeros(len(self.system.rows(now.x)))  # the first Newton iteration computes the impulses
        return newton(lambda d, impulses: self.correction(now, h, d, impulses), now.xdot, guess, floor, most)

    def residual(self, now: State, h: Number, d: Array, impulses: Array) -> tuple[Array, Array]:
        """Return the residuals of the step equations at velocity d (n,): of momenta (n,), and of constraints (m + l,).

        The latter are the constraint values at the end of the step over h, then the slip of nonholonomic constraints.
        There are m constraints and l nonholonomic rows.
        """
        momenta = self.defect(now, h, d) - self.impulse_rows(now, h, d).T @ impulses
        return momenta, np.concatenate([self.system.violation(now.x + h * d) / h, self._slip(now, h, d)])

    def _slip(self, now: State, h: Number, d: Array) -> Array:
        return self.system.slip_rows(now.x + (0.5 * h) * d) @ d

    def correction(self, now: State, h: Number, d: Array, impulses: Array) -> tuple[Array, Array]:
        """Return the Newton corrections of velocity (n,) and impulses (m + l,) of a step; the matrix is (S4, 2.43).

        d (n,) and `impulses` (m + l,) are the present velocity and impulses. There are m constraints and l nonholonomic
        rows.
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
        """Return the derivative (2n, 2n) of (x, p) after a step with respect to (x, p) before it.

        It differentiates one more Newton correction at the solution: to first order this correction depends on the
        initial state as the solution does.
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
