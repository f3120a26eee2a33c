"""Variational integrators with a position-dependent step size.

Short steps are needed where the motion is fast. Changing the step size from step to step would destroy the symplectic
structure, and energy would drift. Poincare's time transformation avoids this (Hairer, Lubich and Wanner 2006, VIII.2):
with dt/ds = c(x) for a clock c > 0 and the initial energy E, the Lagrangian

    L'(x, x') = c(x) (L(x, x' / c(x)) + E)

where x' is dx/ds, has the same trajectories as L at that energy and the same momenta. The integrator makes equal steps
in the clock's time s. The physical duration of a step is the derivative of its action with respect to E: the quadrature
of c along the step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from linkwork.lagrangian.lagrangian_system import LagrangianSystem
from linkwork.lagrangian.one_step_integrator import ImplicitIntegrator, Integrator, State, Step
from linkwork.lagrangian.variational_integrator import Quadrature, Variational
from linkwork.spatial.scalar import Array, Number


@dataclass(frozen=True, eq=False)
class Clocked(Integrator):
    """Integrator with a position-dependent step size, for a system with a clock function and without forces.

    `rule` is the quadrature of the action. A step of length h in the clock's time s has a physical duration [s] of h
    times the mean value of the clock.
    """

    system: LagrangianSystem
    rule: Quadrature

    def step(self, now: State, h: Number) -> Step:
        """Return the result of a step of length h in the clock's time: new state, multipliers and convergence."""
        found = self._transformed(now).step(self._in_clock_time(now), h)
        y = found.state.x
        xdot = found.state.xdot / self.system.clock_rate(y)
        return found._replace(state=found.state._replace(t=now.t + self._duration(now.x, y, h), xdot=xdot))

    def derivative(self, now: State, h: Number) -> Array:
        """Return the derivative (2n, 2n) of (x, p) after a step with respect to (x, p) before it.

        The step begins in the state `now` and has the length h in the clock's time. The initial energy is fixed.
        """
        return self._transformed(now).derivative(self._in_clock_time(now), h)

    def failing(self, now: State, h: Number) -> tuple[ImplicitIntegrator, State, Number]:
        """Return the integrator, state and step size of a step without solution, all in the clock's time variable s."""
        return self._transformed(now), self._in_clock_time(now), h

    def _clock(self, point: Array) -> Number:
        """Return the value of the clock [s] at the point (N,)."""
        assert self.system.clock is not None
        return self.system.clock(point)

    def _transformed(self, now: State) -> Variational:
        """Return the variational integrator of the transformed Lagrangian L' for the initial energy of the state
        `now`.
        """
        lagrangian = self.system.lagrangian

        def transformed(point: Array, rate: Array) -> Number:
            c = self._clock(point)
            return c * (lagrangian(point, rate / c) + now.energy)

        return Variational(replace(self.system, lagrangian=transformed, clock=None), self.rule)

    def _in_clock_time(self, now: State) -> State:
        """Return the state `now` with its velocity per unit of the clock's time instead of per second."""
        return now._replace(xdot=now.xdot * self.system.clock_rate(now.x))

    def _duration(self, x: Array, y: Array, h: Number) -> Number:
        """Return the physical duration [s] of a step of length h in the clock's time variable from x (n,) to y (n,).

        The duration is h times the mean of the clock by the quadrature of the action.
        """
        X, Y = self.system.point(x), self.system.point(y)
        return h * sum(weight * self._clock(X + place * (Y - X)) for weight, place in zip(*self.rule, strict=True))
