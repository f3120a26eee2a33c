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
    """Result of a step: the state, the multipliers (m,), the number of Newton iterations, and whether they converged.

    Constraints change the momentum by Dg^T multipliers per second.
    """

    state: State
    multipliers: Array
    iterations: Number
    solved: Condition


class Mover(ABC):
    """A one-step integrator of a Lagrangian system."""

    system: LagrangianSystem

    def start(self, t: Number, x: Array, xdot: Array) -> State:
        """The initial state at x (n,) with velocity xdot (n,)."""
        system = self.system
        return State(t, x, system.coordinate_momentum(x, xdot), xdot, system.energy(x, xdot))

    @abstractmethod
    def step(self, now: State, h: Number) -> Step:
        """The state after a step h [s]."""

    @abstractmethod
    def derivative(self, now: State, h: Number) -> Array:
        """Derivatives (2n, 2n) of (x, p) after a step with respect to (x, p) before it."""

    @abstractmethod
    def failing(self, now: State, h: Number) -> tuple[Stepper, State, Number]:
        """The equations of a step that have no solution, with their initial state and step size; on floats."""


class Stepper(Mover):
    """Integrator whose step solves defect(d) = acting(d)^T impulses, g(x + h d) = 0 and the no-slip condition.

    The no-slip condition is a(x + h d / 2) d = 0 for nonholonomic rows a, with reactions along a at both ends of the
    step. It is the discrete Lagrange-d'Alembert principle (Cortes and Martinez 2001, Nonlinearity 14) and symmetric.
    """

    @abstractmethod
    def defect(self, now: State, h: Number, d: Array) -> Array:
        """Momentum residual (n,) of a step with velocity d (n,), which the constraint impulses must balance."""

    @abstractmethod
    def acting(self, now: State, h: Number, d: Array) -> Array:
        """The rows (m, n) along which constraint impulses act."""

    @abstractmethod
    def landed(self, now: State, h: Number, root: Root) -> Step:
        """The result of a step with known velocity and impulses."""

    def step(self, now: State, h: Number) -> Step:
        """The state after a step h [s]."""
        return self.landed(now, h, self.solve(now, h))

    def solve(self, now: State, h: Number, most: int = ITERATIONS) -> Root:
        """The velocity (n,) of a step and its constraint impulses (m,)."""
        sure = ROUND_OFF * largest(now.x) / h
        floor = Floor(sure, sure + STILL / h)
        guess = np.zeros(len(self.system.rows(now.x)))  # the first Newton iteration computes the impulses
        return newton(lambda d, held: self.correction(now, h, d, held), now.xdot, guess, floor, most)

    def residual(self, now: State, h: Number, d: Array, held: Array) -> tuple[Array, Array]:
        """Residuals of the equations: momenta (n,); constraint violations over h, and slip (m + l,)."""
        momenta = self.defect(now, h, d) - self.acting(now, h, d).T @ held
        return momenta, np.concatenate([self.system.violation(now.x + h * d) / h, self._slip(now, h, d)])

    def _slip(self, now: State, h: Number, d: Array) -> Array:
        return self.system.slip_rows(now.x + (0.5 * h) * d) @ d

    def correction(self, now: State, h: Number, d: Array, held: Array) -> tuple[Array, Array]:
        """Newton correction of the step's velocity and impulses; its matrix is (S4, 2.43)."""
        momenta, positions = self.residual(now, h, d, held)
        K = jacobian(lambda d: self.residual(now, h, d, held)[0])(d)
        rows = self.system.rows(now.x + h * d)
        if self.system.nonholonomic is not None:
            slip = jacobian(lambda d: self._slip(now, h, d))(d)
            rows = np.concatenate([rows[: len(rows) - len(slip)], slip])
        u, w = solve_constrained(K, self.acting(now, h, d).T, rows, -momenta, -positions)
        return u, -w

    def derivative(self, now: State, h: Number) -> Array:
        """Derivatives (2n, 2n) of (x, p) after a step with respect to (x, p) before it.

        Differentiates one more Newton correction at the solution: to first order it depends on the initial state as the
        solution does.
        """
        root = self.solve(now, h)

        def arrived(x: Array, p: Array, d: Array, held: Array) -> Array:
            start = now._replace(x=x, p=p)
            dd, more = self.correction(start, h, d, held)
            state = self.landed(start, h, root._replace(unknown=d + dd, multipliers=held + more)).state
            return np.concatenate([state.x, state.p])

        at = (now.x, now.p, root.unknown, root.multipliers)
        return np.hstack([jacobian(arrived, 0)(*at), jacobian(arrived, 1)(*at)])

    def failing(self, now: State, h: Number) -> tuple[Stepper, State, Number]:
        """The equations of this step itself."""
        return self, now, h
