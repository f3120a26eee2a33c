"""One step of a discrete system, from (x, p) to (x, p): equations for the velocity of the step, and their solution.

The unknown is the velocity of the step, not its end: there is no cancellation where steps are small.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from linkwork.compiler import jacobian
from linkwork.lagrangian.lagrangian_system import LagrangianSystem
from linkwork.simulation.methods.newton import ITERATIONS, Floor, Root, newton
from linkwork.spatial.elimination import solve_held
from linkwork.spatial.scalar import Array, Condition, Number, largest

ROUND_OFF = 1e-12  # part of the positions that a step may be off by
STILL = 1e-14  # [m or rad] by which a step may be off at rest, where forces cancel but for round-off


class State(NamedTuple):
    """Where a system is: time t [s], coordinates x (n,), momenta p (n,), velocities xdot (n,).

    `energy` [J] is that with which the motion began; steps by a clock are made for it.
    """

    t: Number
    x: Array
    p: Array
    xdot: Array
    energy: Number


class Step(NamedTuple):
    """The state after a step, the multipliers (m,) over it, iterations of Newton's method, and whether they solved it.

    Constraints act on the momentum by Dg^T multipliers, per second.
    """

    state: State
    multipliers: Array
    iterations: Number
    solved: Condition


class Mover(ABC):
    """Takes steps of a system."""

    system: LagrangianSystem

    def start(self, t: Number, x: Array, xdot: Array) -> State:
        """The state in which a system starts that moves by xdot (n,)."""
        system = self.system
        return State(t, x, system.coordinate_momentum(x, xdot), xdot, system.energy(x, xdot))

    @abstractmethod
    def step(self, now: State, h: Number) -> Step:
        """The next state after h [s]."""

    @abstractmethod
    def derivative(self, now: State, h: Number) -> Array:
        """Derivatives (2n, 2n) of (x, p) after a step by (x, p) before it."""

    @abstractmethod
    def failing(self, now: State, h: Number) -> tuple[Stepper, State, Number]:
        """The equations of a step that have no solution, from where and for how long, on floats."""


class Stepper(Mover):
    """Steps by equations: defect(d) = acting(d)^T impulses, g(x + h d) = 0, and no slip in the middle of the step.

    The last, a(x + h d / 2) d = 0 for nonholonomic rows a, with reactions along a at both ends, is the discrete
    principle of Lagrange and d'Alembert (Cortes and Martinez 2001, Nonlinearity 14), and symmetric.
    """

    @abstractmethod
    def defect(self, now: State, h: Number, d: Array) -> Array:
        """The momenta (n,) that a step with velocity d (n,) lacks; constraints must bring them."""

    @abstractmethod
    def acting(self, now: State, h: Number, d: Array) -> Array:
        """The rows (m, n) along which impulses of constraints act."""

    @abstractmethod
    def landed(self, now: State, h: Number, root: Root) -> Step:
        """The end of a step whose velocity and impulses are known."""

    def step(self, now: State, h: Number) -> Step:
        """The next state after h [s]."""
        return self.landed(now, h, self.solve(now, h))

    def solve(self, now: State, h: Number, most: int = ITERATIONS) -> Root:
        """The velocity (n,) of a step and the impulses (m,) of constraints."""
        sure = ROUND_OFF * largest(now.x) / h
        floor = Floor(sure, sure + STILL / h)
        guess = np.zeros(len(self.system.rows(now.x)))  # the first correction finds them
        return newton(lambda d, held: self.correction(now, h, d, held), now.xdot, guess, floor, most)

    def residual(self, now: State, h: Number, d: Array, held: Array) -> tuple[Array, Array]:
        """What is left of the equations: momenta (n,), and violations of constraints over h, and slip (m + l,)."""
        lack = self.defect(now, h, d) - self.acting(now, h, d).T @ held
        return lack, np.concatenate([self.system.violation(now.x + h * d) / h, self._slip(now, h, d)])

    def _slip(self, now: State, h: Number, d: Array) -> Array:
        return self.system.slip_rows(now.x + (0.5 * h) * d) @ d

    def correction(self, now: State, h: Number, d: Array, held: Array) -> tuple[Array, Array]:
        """By what Newton's method corrects the velocity of a step and its impulses; its matrix is (S4, 2.43)."""
        momenta, positions = self.residual(now, h, d, held)
        K = jacobian(lambda d: self.residual(now, h, d, held)[0])(d)
        rows = self.system.rows(now.x + h * d)
        if self.system.nonholonomic is not None:
            slip = jacobian(lambda d: self._slip(now, h, d))(d)
            rows = np.concatenate([rows[: len(rows) - len(slip)], slip])
        u, w = solve_held(K, self.acting(now, h, d).T, rows, -momenta, -positions)
        return u, -w

    def derivative(self, now: State, h: Number) -> Array:
        """Derivatives (2n, 2n) of (x, p) after a step by (x, p) before it.

        One more correction from the solution depends on the start as the solution itself does, to first order.
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
        """These equations."""
        return self, now, h
