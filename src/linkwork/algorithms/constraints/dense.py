"""Constraints solved by a dense matrix: where joints are coupled as in no tree.

Articulated bodies (`articulated_constraints`) solve constraints on trees in linear time. Mimics, and the matrices
M + h D + h^2 K of implicit steps, couple joints of different branches: there J M^-1 J^T is formed and solved. Both give
the smallest multipliers among those that hold, without a rank decision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from linkwork.algorithms.constraints.closure import smallest
from linkwork.spatial.scalar import Array, Number


@dataclass(frozen=True, eq=False)
class DenseConstraints:
    """Constraint rows J (k, nv), and their `response` (nv, k): what an impulse of one along each does to velocities.

    The matrix J response is `symmetric` unless friction or controllers are part of the mass matrix. Equations are
    solved `over` a number, such as a step that goes back in time, with which the matrix is positive.
    """

    J: Array
    response: Array
    symmetric: bool = True
    over: Number | None = None

    @staticmethod
    def of(J: Array, solve: Callable[[Array], Array], symmetric: bool = True) -> DenseConstraints:
        """The constraints of rows J (k, nv), where `solve` gives velocities (nv, k) for impulses (nv, k)."""
        return DenseConstraints(J, solve(J.T) if len(J) else np.zeros(J.T.shape), symmetric)

    def multipliers(self, target: Array) -> Array:
        """The smallest multipliers (k,) that change the rows' rates J v by `target` (k,)."""
        if not len(self.J):
            return np.zeros(0)
        N = self.J @ self.response
        N, target = (N, target) if self.over is None else (N / self.over, target / self.over)
        return smallest(N, target, self.symmetric)

    def change(self, multipliers: Array) -> Array:
        """What multipliers (k,) do to velocities (nv,)."""
        return self.response @ multipliers

    def without_rates(self, v: Array) -> Array:
        """Velocities (nv,) nearest to v with J v = 0."""
        return v - self.change(self.multipliers(self.J @ v)) if len(self.J) else v
