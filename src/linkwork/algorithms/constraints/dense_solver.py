"""Dense constraint solver, for mechanisms whose joints are coupled across branches of the tree.

The articulated-body algorithm (`articulated_constraints`) solves constraints on trees in linear time. Mimic joints, and
the matrices M + h D + h^2 K of implicit steps, couple joints of different branches; then J M^-1 J^T is formed and
solved. Both methods return the smallest multipliers that satisfy the constraints, without a rank decision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from linkwork.algorithms.constraints.constrained_dynamics import smallest_solution
from linkwork.spatial.scalar import Array, Number


@dataclass(frozen=True, eq=False)
class DenseConstraints:
    """Constraint rows J (k, nv) and their `response` (nv, k): velocity changes due to unit impulses along the rows.

    J response is `symmetric`, unless the implicit terms of friction or controllers are added to the mass matrix. `over`
    is a factor by which both sides of the equations are divided so that J response is positive definite, such as a
    negative step size; None for no factor.
    """

    J: Array
    response: Array
    symmetric: bool = True
    over: Number | None = None

    @staticmethod
    def of(J: Array, solve: Callable[[Array], Array], symmetric: bool = True) -> DenseConstraints:
        """Return constraints with rows J (k, nv); `solve` maps impulses (nv, k) to velocity changes (nv, k).

        `symmetric` is false if that map is not symmetric.
        """
        return DenseConstraints(J, solve(J.T) if len(J) else np.zeros(J.T.shape), symmetric)

    def multipliers(self, target: Array) -> Array:
        """Return the smallest multipliers (k,) that change the rows' rates J v by `target` (k,)."""
        if not len(self.J):
            return np.zeros(0)
        N = self.J @ self.response
        N, target = (N, target) if self.over is None else (N / self.over, target / self.over)
        return smallest_solution(N, target, self.symmetric)

    def change(self, multipliers: Array) -> Array:
        """Return the velocity changes (nv,) due to multipliers (k,)."""
        return self.response @ multipliers

    def without_rates(self, v: Array) -> Array:
        """Return the velocities (nv,) nearest to v with J v = 0."""
        return v - self.change(self.multipliers(self.J @ v)) if len(self.J) else v
