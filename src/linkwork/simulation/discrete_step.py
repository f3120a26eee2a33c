"""One step of a discrete system, from (x, p) to (x, p): equations for the velocity of the step, and their solution.

The unknown is the velocity of the step, not its end: nothing is lost to cancellation where steps are small.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from linkwork.compiler.calculus import jacobian
from linkwork.simulation.lagrangian import LagrangianSystem
from linkwork.simulation.newton import ROUNDS, Floor, Root, newton
from linkwork.spatial.elimination import solve_held
from linkwork.spatial.scalar import Array, Number, largest

ROUND_OFF = 1e-12  # part of the positions that a step may be off by
STILL = 1e-14  # [m or rad] by which a step may be off at rest, where forces cancel but for round-off


class State(NamedTuple):
    """Where a system is: time t [s], coordinates x (n,), momenta p (n,), velocities xdot (n,)."""

    t: Number
    x: Array
    p: Array
    xdot: Array


class Step(NamedTuple):
    """The state after a step, the multipliers (m,) over it, rounds of Newton's method, and whether they solved it.

    Constraints act on the momentum by Dg^T multipliers, per second.
    """

    state: State
    multipliers: Array
    rounds: Number
    solved: bool


class Stepper(ABC):
    """A way to take steps: its equations are defect(d) = acting(d)^T impulses and g(x + h d) = 0."""

    system: LagrangianSystem

    @abstractmethod
    def start(self, t: Number, x: Array, xdot: Array) -> State:
        """The state in which a system starts that moves by xdot (n,)."""

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

    def solve(self, now: State, h: Number, rounds: int = ROUNDS) -> Root:
        """The velocity (n,) of a step and the impulses (m,) of constraints."""
        sure = ROUND_OFF * largest(now.x) / h
        floor = Floor(sure, sure + STILL / h)
        guess = np.zeros(len(self.system.violation(now.x)))  # the first correction finds them
        return newton(lambda d, held: self.correction(now, h, d, held), now.xdot, guess, floor, rounds)

    def residual(self, now: State, h: Number, d: Array, held: Array) -> tuple[Array, Array]:
        """What is left of the equations: momenta (n,), and violations of constraints over h (m,)."""
        return self.defect(now, h, d) - self.acting(now, h, d).T @ held, self.system.violation(now.x + h * d) / h

    def correction(self, now: State, h: Number, d: Array, held: Array) -> tuple[Array, Array]:
        """By what Newton's method corrects the velocity of a step and its impulses; its matrix is (S4, 2.43)."""
        momenta, positions = self.residual(now, h, d, held)
        K = jacobian(lambda d: self.residual(now, h, d, held)[0])(d)
        rows = self.system.rows(now.x + h * d)
        u, w = solve_held(K, self.acting(now, h, d).T, rows, -momenta, -positions)
        return u, -w

    def derivative(self, now: State, h: Number, root: Root) -> Array:
        """Derivatives (2n, 2n) of (x, p) after a step by (x, p) before it, given its solution.

        One more correction from the solution depends on the start as the solution itself does, to first order.
        """

        def arrived(x: Array, p: Array, d: Array, held: Array) -> Array:
            start = State(now.t, x, p, now.xdot)
            dd, more = self.correction(start, h, d, held)
            state = self.landed(start, h, root._replace(unknown=d + dd, multipliers=held + more)).state
            return np.concatenate([state.x, state.p])

        at = (now.x, now.p, root.unknown, root.multipliers)
        return np.hstack([jacobian(arrived, 0)(*at), jacobian(arrived, 1)(*at)])
