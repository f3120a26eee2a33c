"""Energy-momentum integrator with discrete gradients (Gonzalez 1996), for a constant mass matrix.

The method is that of Wendlandt's section 2.4.2. The displacement of a step follows from the mean of the momenta at both
ends. Forces are discrete gradients of the potential along the step, so that the work in a step equals the loss of
potential energy exactly, at any step size. Constraint forces act along discrete gradients of the constraint functions;
they do no work between two points that satisfy the constraints. The discrete gradient of a quadratic function is its
derivative at the midpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from linkwork.compiler import jacobian
from linkwork.lagrangian.lagrangian_system import LagrangianSystem
from linkwork.lagrangian.lagrangian_tolerances import DIFFERENCE_ROUND_OFF, NO_STEP
from linkwork.lagrangian.one_step_integrator import ImplicitIntegrator, State, Step
from linkwork.simulation.methods.newton_method import Root
from linkwork.spatial.scalar import Array, Number, lu, where

# Weights and nodes on [0, 1] of the three-point Gauss rule, exact for functions of degree 6 (derivatives of degree 5)
GAUSS = ((5 / 18, 0.5 - 0.15**0.5), (8 / 18, 0.5), (5 / 18, 0.5 + 0.15**0.5))


@dataclass(frozen=True, eq=False)
class EnergyMomentum(ImplicitIntegrator):
    """Integrator that conserves energy and momenta, for a Lagrangian system with a constant mass matrix.

    If the potential or all constraint functions are quadratic (`quadratic_potential`, `quadratic_constraints`), the
    equations of a step are shorter.
    """

    system: LagrangianSystem
    quadratic_potential: bool = False
    quadratic_constraints: bool = False

    def defect(self, now: State, h: Number, d: Array) -> Array:
        """Return the change of momentum (n,) in a step with mean velocity d (n,), minus the impulse of the forces.

        The step h [s] begins in the state `now`. The momentum is p before the step and 2 M d - p after it. Constraint
        impulses must balance the result.
        """
        system, middle = self.system, now.x + (0.5 * h) * d
        force = -1.0 * _discrete_gradient(self._potential, now.x, h * d, self.quadratic_potential)
        if system.forces is not None:
            force = force + system.forces(now.t + 0.5 * h, middle, d)
        return 2.0 * (system.momentum(middle, d) - now.p) - h * force

    def impulse_rows(self, now: State, h: Number, d: Array) -> Array:
        """Return the rows (m + l, n) along which constraint impulses act in a step with mean velocity d (n,).

        The rows are discrete gradients of the m constraints, and the l nonholonomic rows at mid-step.
        """
        violation, count = self.system.violation, len(self.system.violation(now.x))
        each = [lambda x, k=k: violation(x)[k] for k in range(count)]
        rows = [_discrete_gradient(one, now.x, h * d, self.quadratic_constraints) for one in each]
        gradients = np.array(rows).reshape(count, self.system.size)
        return np.concatenate([gradients, self.system.slip_rows(now.x + (0.5 * h) * d)])

    def step_result(self, now: State, h: Number, root: Root) -> Step:
        """Return the result of a step h [s] from the state `now`, for a solution `root` of the step equations.

        `root.unknown` is the mean velocity (n,) of the step: the displacement is h times it. `root.multipliers` are the
        impulses (m + l,) of m constraints and l nonholonomic rows.
        """
        d, y = root.unknown, now.x + h * root.unknown
        p = 2.0 * self.system.momentum(now.x, d) - now.p
        state = State(now.t + h, y, p, lu(self.system.mass(y, d)).solve(p), now.energy)
        return Step(state, root.multipliers / h, root.iterations, root.solved)

    def _potential(self, x: Array) -> Number:
        """Return the potential energy [J] at x (n,): minus the Lagrangian at zero velocity."""
        return -1.0 * self.system.lagrangian(x, np.zeros(len(x)))


def _discrete_gradient(function: Callable[[Array], Number], x: Array, step: Array, quadratic: bool) -> Array:
    """Return the discrete gradient (n,) of a function: its product with `step` (n,) is the change from x to x + step.

    The discrete gradient is the mean of the derivative from x to x + step by Gauss quadrature. If this quadrature is
    not exact, the mean is corrected in the direction of the step; Gonzalez corrects the derivative at the midpoint
    instead. The mean needs no correction for steps so small that differences of the function are round-off. If the
    function is `quadratic`, the discrete gradient is the derivative at the midpoint.
    """
    if quadratic:
        return jacobian(function)(x + 0.5 * step)
    mean = sum(weight * jacobian(function)(x + place * step) for weight, place in GAUSS)
    before, after, along = function(x), function(x + step), mean @ step
    missing = after - before - along
    matters = where(abs(missing) > DIFFERENCE_ROUND_OFF * (abs(after) + abs(before) + abs(along)), missing, 0.0)
    return mean + matters / (sum(s * s for s in step) + NO_STEP) * step
