"""A mechanical system defined by a Lagrangian, constraints and forces; derivatives give momenta and mass matrix.

All functions take one state, of floats or traced numbers. Coordinates x (n,) are arbitrary. With a chart, the
Lagrangian and the forces are functions of the point chart(x), and x are generalized coordinates (Wendlandt, section
2.3.2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from linkwork.compiler import jacobian
from linkwork.spatial.scalar import Array, Number


@dataclass(frozen=True, eq=False)
class LagrangianSystem:
    """A Lagrangian system, given by functions of one state such as `lagrangian(x, xdot)` [J].

    The functions are `lagrangian(x, xdot)` [J], `constraints(x)` (m,), `forces(t, x, xdot)` and `chart(x)`. `size` is
    n, the number of coordinates x. Constraints are zero at admissible positions; a system with a chart has none. If
    there is a chart, the argument x of the Lagrangian and of the forces is the point chart(x) (N,); otherwise N = n.
    `nonholonomic(x)` (l, n) are rows with rows @ xdot = 0, such as rolling without slipping. `symmetries(x)` (k, n) are
    directions in which the Lagrangian does not change. `clock(point)` [s] is the time per unit of the step size.
    `linear_momentum` is true if the momentum is linear in the velocity.
    """

    size: int
    lagrangian: Callable[[Array, Array], Number]
    constraints: Callable[[Array], Array] | None = None
    forces: Callable[[Number, Array, Array], Array] | None = None
    nonholonomic: Callable[[Array], Array] | None = None
    chart: Callable[[Array], Array] | None = None
    symmetries: Callable[[Array], Array] | None = None
    clock: Callable[[Array], Number] | None = None
    linear_momentum: bool = False  # whether the momentum is known to be linear in the velocity

    def point(self, x: Array) -> Array:
        """Return the point (N,) at which the Lagrangian is evaluated: chart(x), or x without a chart."""
        return x if self.chart is None else self.chart(x)

    def clock_rate(self, x: Array) -> Number:
        """Return the time [s] per unit of the step size: the value of the clock, or 1 without a clock."""
        return 1.0 if self.clock is None else self.clock(self.point(x))

    def pulled_back(self, x: Array, covector: Array) -> Array:
        """Return the covector (n,) in the coordinates x of a momentum or force `covector` (N,) at the point chart(x).

        The result is the transposed derivative of the chart times `covector` (the pullback).
        """
        return covector if self.chart is None else jacobian(self.chart)(x).T @ covector

    def momentum(self, point: Array, rate: Array) -> Array:
        """Return the momentum dL/dxdot (N,) at a point (N,) with velocity `rate` (N,)."""
        return jacobian(self.lagrangian, 1)(point, rate)

    def load(self, t: Number, point: Array, rate: Array) -> Array:
        """Return dL/dx + forces (N,) at time t [s]: the generalized force, which is the time derivative of the
        momentum.

        `point` (N,) and `rate` (N,) are the arguments x and xdot of the Lagrangian.
        """
        found = jacobian(self.lagrangian, 0)(point, rate)
        return found if self.forces is None else found + self.forces(t, point, rate)

    # --- on the coordinates ---

    def coordinate_momentum(self, x: Array, xdot: Array) -> Array:
        """Return the momentum (n,) conjugate to the coordinates x (n,), for velocities xdot (n,)."""
        if self.chart is None:
            return self.momentum(x, xdot)
        rate = jacobian(self.chart)(x) @ xdot
        return self.pulled_back(x, self.momentum(self.chart(x), rate))

    def mass(self, x: Array, xdot: Array) -> Array:
        """Return the mass matrix d^2L/dxdot^2 (n, n) in the coordinates x (n,), at velocities xdot (n,)."""
        return jacobian(self.coordinate_momentum, 1)(x, xdot)

    def violation(self, x: Array) -> Array:
        """Return the values g(x) (m,) of the m constraints, zero where they are satisfied; m may be 0."""
        return np.zeros(0) if self.constraints is None else self.constraints(x)

    def rows(self, x: Array) -> Array:
        """Return the matrix (m + l, n) of all constraints on velocities: admissible velocities have rows @ xdot = 0.

        The matrix has the derivatives Dg(x) of the m constraints, and below them the l nonholonomic rows.
        """
        holonomic = np.zeros((0, self.size)) if self.constraints is None else jacobian(self.constraints)(x)
        return np.concatenate([holonomic, self.slip_rows(x)])

    def slip_rows(self, x: Array) -> Array:
        """Return the rows (l, n) of the nonholonomic constraints; l may be 0."""
        return np.zeros((0, self.size)) if self.nonholonomic is None else self.nonholonomic(x)

    def tangents(self, x: Array, xdot: Array) -> tuple[Array, Array]:
        """Return the constraint matrix for small changes (dx, dxdot) of a state, and the map to changes dp of the
        momenta.

        The first matrix, (2m + l, 2n), is for m constraints and l nonholonomic rows: changes satisfy the constraints if
        its product with (dx, dxdot) is zero. The second, (n, 2n), maps (dx, dxdot) to dp.
        """
        G, m = self.rows(x), len(self.violation(x))
        turning = jacobian(lambda x: self.rows(x) @ xdot)(x) if len(G) else np.zeros((0, self.size))
        rows = np.block([[G[:m], np.zeros((m, self.size))], [turning, G]])
        return rows, np.hstack([jacobian(self.coordinate_momentum)(x, xdot), self.mass(x, xdot)])

    def momenta(self, x: Array, p: Array) -> Array:
        """Return the momenta (k,) of the k symmetries: components of p (n,) along the directions of symmetry.

        This is Wendlandt's equation (2.22).
        """
        return np.zeros(0) if self.symmetries is None else self.symmetries(x) @ p

    def energy(self, x: Array, xdot: Array) -> Number:
        """Return the energy p . xdot - L [J], which is kinetic plus potential energy."""
        rate = xdot if self.chart is None else jacobian(self.chart)(x) @ xdot
        p, point = self.coordinate_momentum(x, xdot), self.point(x)
        return sum(a * b for a, b in zip(p, xdot, strict=True)) - self.lagrangian(point, rate)
