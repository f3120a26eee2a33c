"""Dense constraint solver, for mechanisms whose joints are coupled across branches of the tree.

The articulated-body algorithm (`articulated_body_solver`) solves constraints on trees in linear time. Mimic joints, and
the matrices M + h D + h^2 K of implicit steps, couple joints of different branches; then J M^-1 J^T is formed and
solved. Both methods return the smallest multipliers that satisfy the constraints, without a rank decision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from linkwork.algorithms.constraints.articulated_body_solver import Constrained
from linkwork.algorithms.constraints.constrained_dynamics import smallest_solution
from linkwork.spatial.scalar import Array


@dataclass(frozen=True, eq=False)
class DenseConstraints:
    """Constraint rows J (k, nv) and their `response` (nv, k): velocity changes due to unit impulses along the rows.

    `solve` is the function that maps impulses (nv, k) to velocity changes. `symmetric` is whether the matrix product of
    J and `response` is symmetric. It is not symmetric if friction or controllers are part of the mass matrix, or if the
    impulses act along the rows of another position.
    """

    J: Array
    response: Array
    solve: Callable[[Array], Array]
    symmetric: bool = True

    @staticmethod
    def of(J: Array, solve: Callable[[Array], Array], symmetric: bool = True) -> DenseConstraints:
        """Return the constraints with rows J (k, nv); `solve` maps impulses (nv, k) to velocity changes (nv, k).

        `symmetric` is true if the matrix that `solve` inverts is symmetric.
        """
        return DenseConstraints(J, solve(J.T) if len(J) else np.zeros(J.T.shape), solve, symmetric)

    @staticmethod
    def of_two(first: Array, second: Array, solve: Callable[[Array], Array]) -> DenseConstraints:
        """Return constraints whose impulses act along the rows `first` and change the rates of the rows `second`.

        Both matrices are (k, nv). `solve` is a function that maps impulses (nv, k) to velocity changes (nv, k).
        """
        return DenseConstraints(second, DenseConstraints.of(first, solve).response, solve, symmetric=False)

    def multipliers(self, target: Array) -> Array:
        """Return the smallest multipliers (k,) that change the rows' rates J v by `target` (k,)."""
        return smallest_solution(self.J @ self.response, target, self.symmetric) if len(self.J) else np.zeros(0)

    def solve_constrained(self, impulses: Array, target: Array) -> Constrained:
        """Return velocity changes v (nv,) with J v = target (k,), due to `impulses` (nv,) and constraint impulses.

        The multipliers (k,) of the constraints are part of the result.
        """
        free = self.solve(impulses)
        multipliers = self.multipliers(target - self.J @ free)
        return Constrained(free + self.change(multipliers), multipliers)

    def change(self, multipliers: Array) -> Array:
        """Return the velocity changes (nv,) that the constraint multipliers (k,) cause."""
        return self.response @ multipliers

    def without_rates(self, v: Array) -> Array:
        """Return the velocities (nv,) nearest to v (nv,), in kinetic energy, that satisfy the constraints J v = 0."""
        return v - self.change(self.multipliers(self.J @ v)) if len(self.J) else v
