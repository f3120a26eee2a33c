"""Solution of small linear systems with equality constraints; matrix entries may be floats or traced numbers."""

from __future__ import annotations

import numpy as np

from linkwork.spatial.scalar import Array, Number, lu


def solve_constrained(K: Array, B: Array, C: Array, r: Array, s: Array) -> tuple[Array, Array]:
    """Solve K u + B w = r and C u = s for u (n,) and w (m,), with K (n, n), B (n, m), C (m, n).

    K need not be positive definite, except on the null space of C; an example is the mass matrix in quaternion
    coordinates. Replacing K by K + B c C and r by r + B c s, with a diagonal matrix c (m, m), does not change the
    solution. For c > 0 the new matrix is positive definite if B is close to C^T. Its factors eliminate u, and m
    equations for w remain.
    """
    if not len(s):
        return lu(K).solve(r), np.zeros(0)
    size = sum(abs(K[i, i]) for i in range(len(r)))
    # Scale each constraint so that its term B c C is as large as K
    c = np.array([2.0 * size / (_sum_of_squares(B[:, j]) + _sum_of_squares(C[j])) for j in range(len(s))])
    factors = lu(K + (B * c) @ C)
    u, U = factors.solve(r + B @ (c * s)), factors.solve(B)
    w = lu(C @ U).solve(C @ u - s)
    return u - U @ w, w


def _sum_of_squares(a: Array) -> Number:
    """Return the sum of the squared entries of an array a."""
    return sum(x * x for x in a)
