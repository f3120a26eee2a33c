"""Small linear equations with constraints, of numbers that may be traced."""

from __future__ import annotations

import numpy as np

from linkwork.spatial.scalar import Array, Number, lu


def solve_held(K: Array, B: Array, C: Array, r: Array, s: Array) -> tuple[Array, Array]:
    """The solution u (n,), w (m,) of K u + B w = r and C u = s, for K (n, n), B (n, m), C (m, n).

    K need only be positive along motions that C allows, as a mass matrix of quaternions is: K + B c C has the same
    solution with r + B c s, and for c > 0 it is positive altogether if B is about C^T. Then come m equations for w.
    """
    if not len(s):
        return lu(K).solve(r), np.zeros(0)
    size = sum(abs(K[i, i]) for i in range(len(r)))
    # Each constraint adds as much as K has
    c = np.array([2.0 * size / (_square(B[:, j]) + _square(C[j])) for j in range(len(s))])
    factors = lu(K + (B * c) @ C)
    u, U = factors.solve(r + B @ (c * s)), factors.solve(B)
    w = lu(C @ U).solve(C @ u - s)
    return u - U @ w, w


def _square(a: Array) -> Number:
    return sum(x * x for x in a)
