"""Variational integrators (S4, chapter 2): steps that conserve momenta and the symplectic form.

The action of a step is a quadrature of the Lagrangian along the straight line between two points. Its derivatives by
the points are the momenta at both ends (discrete Legendre transform). A step therefore maps (x, p) to (x, p), and its
points satisfy the discrete Euler-Lagrange equations (S4, 2.26 to 2.28; with forces 5.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from linkwork.lagrangian.discrete_step import ROUND_OFF, State, Step, Stepper
from linkwork.lagrangian.lagrangian_system import LagrangianSystem
from linkwork.simulation.methods.newton import Floor, Root, newton
from linkwork.spatial.constrained_linear_systems import solve_constrained
from linkwork.spatial.scalar import Array, Condition, Number, largest


class Quadrature(NamedTuple):
    """Quadrature of the action of a step: h times the weighted sum of L at `places` in [0, 1] of the line."""

    weights: tuple[float, ...]
    places: tuple[float, ...]


MIDPOINT = Quadrature((1.0,), (0.5,))  # S4, 2.23
FIRST_ORDER = Quadrature((1.0,), (1.0,))  # S4, 2.45: its points are those of SHAKE; of Verlet without constraints
ENDS = Quadrature((0.5, 0.5), (0.0, 1.0))  # RATTLE (S4, 2.33 to 2.37); velocity Verlet without constraints


class Ends(NamedTuple):
    """Momenta (n,) of the coordinates at both ends of a step, without constraint impulses."""

    before: Array
    after: Array


class Arrived(NamedTuple):
    """Admissible momenta (n,) and velocities (n,), the constraint impulses (m,), and whether they were found."""

    p: Array
    xdot: Array
    impulses: Array
    solved: Condition


@dataclass(frozen=True, eq=False)
class Variational(Stepper):
    """Variational integrator of a system; `rule` is the quadrature of the action."""

    system: LagrangianSystem
    rule: Quadrature = MIDPOINT

    def velocity_between(self, t: Number, x: Array, y: Array, h: Number) -> Array:
        """The velocity (n,) at x from which a step leads to y (n,): a start from two points, as in the paper."""
        d = (y - x) / h
        return self._arrived(x, self.ends(t, x, d, h).before, d).xdot

    def defect(self, now: State, h: Number, d: Array) -> Array:
        """Momenta (n,) required by a step with velocity d (n,) minus the momenta before the step (S4, 2.27)."""
        return self.ends(now.t, now.x, d, h).before - now.p

    def acting(self, now: State, h: Number, d: Array) -> Array:
        """Dg and nonholonomic rows (m + l, n) at the beginning of the step."""
        return self.system.rows(now.x)

    def landed(self, now: State, h: Number, root: Root) -> Step:
        """The result of a step with known velocity and impulses."""
        d = root.unknown
        y = now.x + h * d
        last = self._arrived(y, self.ends(now.t, now.x, d, h).after, d)
        state = State(now.t + h, y, last.p, last.xdot, now.energy)
        return Step(state, (root.multipliers + last.impulses) / h, root.iterations, root.solved & last.solved)

    def ends(self, t: Number, x: Array, d: Array, h: Number) -> Ends:
        """The discrete Legendre transforms of a step with velocity d (n,): -D1 and D2 of its action, and forces.

        With a chart, points move along a chord; momenta are pulled back at both ends (S4, 2.41 and 2.42).
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
        return Ends(system.pulled(x, before), system.pulled(y, after))

    def _arrived(self, x: Array, p: Array, guess: Array) -> Arrived:
        """Project the momentum p (n,) at x onto the constraints.

        This is the second half of RATTLE (S4, 2.36 and 2.37): it enforces Dg xdot = 0 at every step. It does not change
        the following points, because the impulses at the beginning of the next step act along the same rows.
        """
        system = self.system
        G = system.rows(x)

        def correction(xdot: Array, held: Array) -> tuple[Array, Array]:
            left = system.coordinate_momentum(x, xdot) - G.T @ held - p
            u, w = solve_constrained(system.mass(x, xdot), G.T, G, -left, -(G @ xdot))
            return u, -w

        none = np.zeros(len(G))
        if system.linear_momentum:  # a single Newton correction is exact
            dx, held = correction(guess, none)
            root = Root(guess + dx, held, 1, True)
        else:
            still = Floor(0.0, ROUND_OFF * largest(guess))
            root = newton(correction, guess, none, still)
        return Arrived(p + G.T @ root.multipliers, root.unknown, root.multipliers, root.solved)
