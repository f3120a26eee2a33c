"""A mechanical system as its Lagrangian, constraints and forces: momenta, loads, mass and rows, by differentiation.

All are functions of one state, of floats or of traced numbers. Coordinates x (n,) may be any; where a chart is given,
the Lagrangian and the forces speak of points chart(x), and x are generalized coordinates of them (S4, 2.3.2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from linkwork.compiler import jacobian
from linkwork.spatial.scalar import Array, Number


@dataclass(frozen=True, eq=False)
class LagrangianSystem:
    """Functions of one state: `lagrangian(x, xdot)` [J], `constraints(x)` (m,), `forces(t, x, xdot)`, `chart(x)`.

    `size` is n. Constraints vanish where the system may be; a chart excludes them. `nonholonomic(x)` (l, n) are rows
    of further velocities that must vanish, as that of slipping where wheels roll. `symmetries(x)` (k, n) are directions
    in which the system may be moved without a change. `clock(point)` [s] is how long a unit of steps is in a place.
    """

    size: int
    lagrangian: Callable[[Array, Array], Number]
    constraints: Callable[[Array], Array] | None = None
    forces: Callable[[Number, Array, Array], Array] | None = None
    nonholonomic: Callable[[Array], Array] | None = None
    chart: Callable[[Array], Array] | None = None
    symmetries: Callable[[Array], Array] | None = None
    clock: Callable[[Array], Number] | None = None
    linear_momentum: bool = False  # in the velocity, if that is known

    def point(self, x: Array) -> Array:
        """Where the system is in the coordinates of its Lagrangian, (k,): chart(x), or x itself."""
        return x if self.chart is None else self.chart(x)

    def pace(self, x: Array) -> Number:
        """Seconds in a unit of steps: the clock's, or one."""
        return 1.0 if self.clock is None else self.clock(self.point(x))

    def pulled(self, x: Array, covector: Array) -> Array:
        """A momentum or force (k,) at a point as one on the coordinates, (n,)."""
        return covector if self.chart is None else jacobian(self.chart)(x).T @ covector

    def momentum(self, point: Array, rate: Array) -> Array:
        """dL/dxdot (k,) at a point that moves."""
        return jacobian(self.lagrangian, 1)(point, rate)

    def load(self, t: Number, point: Array, rate: Array) -> Array:
        """dL/dx and the forces (k,): by what the momentum changes."""
        found = jacobian(self.lagrangian, 0)(point, rate)
        return found if self.forces is None else found + self.forces(t, point, rate)

    # --- on the coordinates ---

    def coordinate_momentum(self, x: Array, xdot: Array) -> Array:
        """The momentum (n,) that belongs to the coordinates."""
        if self.chart is None:
            return self.momentum(x, xdot)
        rate = jacobian(self.chart)(x) @ xdot
        return self.pulled(x, self.momentum(self.chart(x), rate))

    def mass(self, x: Array, xdot: Array) -> Array:
        """The mass matrix (n, n), d^2L/dxdot^2."""
        return jacobian(self.coordinate_momentum, 1)(x, xdot)

    def violation(self, x: Array) -> Array:
        """g(x) (m,), empty where nothing is held."""
        return np.zeros(0) if self.constraints is None else self.constraints(x)

    def rows(self, x: Array) -> Array:
        """Dg(x), and the nonholonomic rows below it (m + l, n): velocities with rows @ xdot = 0 are allowed."""
        held = np.zeros((0, self.size)) if self.constraints is None else jacobian(self.constraints)(x)
        return np.concatenate([held, self.slip_rows(x)])

    def slip_rows(self, x: Array) -> Array:
        """The nonholonomic rows (l, n), of which there may be none."""
        return np.zeros((0, self.size)) if self.nonholonomic is None else self.nonholonomic(x)

    def tangents(self, x: Array, xdot: Array) -> tuple[Array, Array]:
        """Rows (2m + l, 2n) that vanish for changes (dx, dxdot) that constraints allow, and dp of them (n, 2n)."""
        G, m = self.rows(x), len(self.violation(x))
        turning = jacobian(lambda x: self.rows(x) @ xdot)(x) if len(G) else np.zeros((0, self.size))
        rows = np.block([[G[:m], np.zeros((m, self.size))], [turning, G]])
        return rows, np.hstack([jacobian(self.coordinate_momentum)(x, xdot), self.mass(x, xdot)])

    def momenta(self, x: Array, p: Array) -> Array:
        """The momentum maps (k,) of the symmetries: what p (n,) does along them (S4, 2.22)."""
        return np.zeros(0) if self.symmetries is None else self.symmetries(x) @ p

    def energy(self, x: Array, xdot: Array) -> Number:
        """The energy p xdot - L [J]: the sum of a kinetic and a potential one."""
        rate = xdot if self.chart is None else jacobian(self.chart)(x) @ xdot
        p, point = self.coordinate_momentum(x, xdot), self.point(x)
        return sum(a * b for a, b in zip(p, xdot, strict=True)) - self.lagrangian(point, rate)
