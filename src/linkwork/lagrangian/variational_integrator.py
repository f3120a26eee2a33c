"""Variational integrators (Wendlandt, chapter 2), whose steps conserve momenta and the symplectic form.

The action of a step is a quadrature of the Lagrangian along the straight line between two points. The derivatives of
the action with respect to the points are the momenta at both ends (discrete Legendre transform). A step therefore maps
(x, p) to (x, p), and its points satisfy the discrete Euler-Lagrange equations (Wendlandt, equations (2.26) to (2.28);
with forces, equation (5.4)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from linkwork.lagrangian.lagrangian_system import LagrangianSystem
from linkwork.lagrangian.lagrangian_tolerances import SOLVED_STEP
from linkwork.lagrangian.one_step_integrator import ImplicitIntegrator, State, Step
from linkwork.simulation.methods.newton_method import Floor, Root, newton
from linkwork.spatial.constrained_linear_systems import solve_constrained
from linkwork.spatial.scalar import Array, Condition, Number, largest


class Quadrature(NamedTuple):
    """Quadrature rule for the action of a step: h times a weighted sum of the Lagrangian at fractions of the step.

    `places` are these fractions, from 0 to 1, and `weights` the weights.
    """

    weights: tuple[float, ...]
    places: tuple[float, ...]


MIDPOINT = Quadrature((1.0,), (0.5,))  # Wendlandt, equation (2.23)
FIRST_ORDER = Quadrature((1.0,), (1.0,))  # equation (2.45): the points of SHAKE; without constraints, of Verlet
ENDS = Quadrature((0.5, 0.5), (0.0, 1.0))  # RATTLE, equations (2.33) to (2.37); without constraints, velocity Verlet


class EndMomenta(NamedTuple):
    """Momenta (n,) at the beginning (`before`) and at the end (`after`) of a step, without constraint impulses."""

    before: Array
    after: Array


class Projected(NamedTuple):
    """Momentum `p` (n,) and velocity `xdot` (n,) after projection onto the constraints.

    `impulses` (m + l,) are the impulses of the projection, for m constraints and l nonholonomic rows; `solved` is true
    if the projection converged.
    """

    p: Array
    xdot: Array
    impulses: Array
    solved: Condition


@dataclass(frozen=True, eq=False)
class Variational(ImplicitIntegrator):
    """Variational integrator of a Lagrangian system; `rule` is the quadrature of the action."""

    system: LagrangianSystem
    rule: Quadrature = MIDPOINT

    def velocity_between(self, t: Number, x: Array, y: Array, h: Number) -> Array:
        """Return the velocity (n,) at x (n,) from which a step h [s] from time t [s] leads to the coordinates y (n,).

        With this velocity, a motion can start from two given points, as in Wendlandt's thesis.
        """
        d = (y - x) / h
        return self._projected(x, self.end_momenta(t, x, d, h).before, d).xdot

    def defect(self, now: State, h: Number, d: Array) -> Array:
        """Return the momentum (n,) that a step with mean velocity d (n,) requires, minus the momentum before the step.

        This is Wendlandt's equation (2.27). Constraint impulses must balance the result.
        """
        return self.end_momenta(now.t, now.x, d, h).before - now.p

    def impulse_rows(self, now: State, h: Number, d: Array) -> Array:
        """Return the rows (m + l, n) along which constraint impulses act, taken at the beginning of the step.

        The rows are the derivatives Dg of m constraints, and below them l nonholonomic rows. The arguments h and d are
        not used.
        """
        return self.system.rows(now.x)

    def step_result(self, now: State, h: Number, root: Root) -> Step:
        """Return the result of a step h [s] from the state `now`, for a solution `root` of the step equations.

        `root.unknown` is the mean velocity (n,) of the step: the displacement is h times it. `root.multipliers` are the
        impulses (m + l,) of m constraints and l nonholonomic rows.
        """
        d = root.unknown
        y = now.x + h * d
        last = self._projected(y, self.end_momenta(now.t, now.x, d, h).after, d)
        state = State(now.t + h, y, last.p, last.xdot, now.energy)
        return Step(state, (root.multipliers + last.impulses) / h, root.iterations, root.solved & last.solved)

    def end_momenta(self, t: Number, x: Array, d: Array, h: Number) -> EndMomenta:
        """Return the momenta (n,) at both ends of a step h [s] from x (n,) with mean velocity d (n,).

        These are the discrete Legendre transforms. The momentum at the beginning is minus the derivative of the action
        with respect to the first point; the momentum at the end is the derivative with respect to the second point.
        Forces are included. With a chart, points move along a straight line between chart(x) at both ends, and the
        pullback maps momenta to the coordinates (Wendlandt, equations (2.41) and (2.42)).
        """
        system, y = self.system, x + h * d
        X = system.point(x)
        D = d if system.chart is None else (system.point(y) - X) / h
        before, after = np.zeros(len(X)), np.zeros(len(X))
        for weight, place in zip(*self.rule, strict=True):
            at = X + (place * h) * D
            p, load = system.momentum(at, D), h * system.load(t + place * h, at, D)
            before = before + weight * (p - (1.0 - place) * load)
            after = after + weight * (p + place * load)
        return EndMomenta(system.pulled_back(x, before), system.pulled_back(y, after))

    def _projected(self, x: Array, p: Array, guess: Array) -> Projected:
        """Return momentum, velocity and impulses that result from the projection of p onto the constraints at x.

        The arguments are coordinates x (n,), the momentum p (n,) before projection, and a velocity estimate `guess`
        (n,). This is the second half of RATTLE (Wendlandt, equations (2.36) and (2.37)): it enforces Dg xdot = 0 at
        every step. The projection does not change the following points, because the impulses at the beginning of the
        next step act along the same rows.
        """
        system = self.system
        G = system.rows(x)

        def correction(xdot: Array, impulses: Array) -> tuple[Array, Array]:
            left = system.coordinate_momentum(x, xdot) - G.T @ impulses - p
            u, w = solve_constrained(system.mass(x, xdot), G.T, G, -left, -(G @ xdot))
            return u, -w

        none = np.zeros(len(G))
        if system.linear_momentum:  # then a single Newton correction is exact
            dx, impulses = correction(guess, none)
            root = Root(guess + dx, impulses, 1, True)
        else:
            still = Floor(0.0, SOLVED_STEP * largest(guess))
            root = newton(correction, guess, none, still)
        return Projected(p + G.T @ root.multipliers, root.unknown, root.multipliers, root.solved)
