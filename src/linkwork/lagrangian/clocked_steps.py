"""Steps by a clock that runs faster or slower with the place, and yet keep the symplectic form.

Where motion is quick its steps should be short. Changed from step to step, they would no longer be those of one
system, and energy would drift. Instead the system is changed (Poincare's transformation; Hairer, Lubich and Wanner
2006, VIII.2): with t' = c(x) for a clock c > 0, and the energy E of the start,

    L'(x, x') = c(x) (L(x, x' / c(x)) + E)

has the same motions as L at that energy, the same momenta, and is moved by equal steps of its own time. A step then
takes the time by which its action changes with E: the quadrature of c along the step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from linkwork.lagrangian.discrete_step import Mover, State, Step, Stepper
from linkwork.lagrangian.lagrangian_system import LagrangianSystem
from linkwork.lagrangian.variational_equations import Quadrature, Variational
from linkwork.spatial.scalar import Array, Number


@dataclass(frozen=True, eq=False)
class Clocked(Mover):
    """A system with a clock and without forces, and the rule for the action of its steps."""

    system: LagrangianSystem
    rule: Quadrature

    def step(self, now: State, h: Number) -> Step:
        """The next state, after h in the clock's time."""
        found = self._inner(now).step(self._entered(now), h)
        y = found.state.x
        xdot = found.state.xdot / self.system.pace(y)
        return found._replace(state=found.state._replace(t=now.t + self._passed(now.x, y, h), xdot=xdot))

    def derivative(self, now: State, h: Number) -> Array:
        """Derivatives (2n, 2n) of (x, p) after a step by (x, p) before it, for the energy of the start."""
        return self._inner(now).derivative(self._entered(now), h)

    def failing(self, now: State, h: Number) -> tuple[Stepper, State, Number]:
        """The equations in the clock's time."""
        return self._inner(now), self._entered(now), h

    def _clock(self, point: Array) -> Number:
        assert self.system.clock is not None
        return self.system.clock(point)

    def _inner(self, now: State) -> Variational:
        lagrangian = self.system.lagrangian

        def transformed(point: Array, rate: Array) -> Number:
            c = self._clock(point)
            return c * (lagrangian(point, rate / c) + now.energy)

        return Variational(replace(self.system, lagrangian=transformed, clock=None), self.rule)

    def _entered(self, now: State) -> State:
        return now._replace(xdot=now.xdot * self.system.pace(now.x))

    def _passed(self, x: Array, y: Array, h: Number) -> Number:
        """Time [s] that a step from x to y takes, by the quadrature of its action."""
        X, Y = self.system.point(x), self.system.point(y)
        return h * sum(weight * self._clock(X + place * (Y - X)) for weight, place in zip(*self.rule, strict=True))
