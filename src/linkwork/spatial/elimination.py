"""Small linear equations of numbers that may be traced: elimination in the order given, alone and with constraints."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.spatial.scalar import Array, Number


class LU(NamedTuple):
    """Factors A = L U: rows of unit lower L, rows of upper U, and the inverses of U's diagonal."""

    L: list[list[Number]]
    U: list[list[Number]]
    inverses: list[Number]

    def solve(self, b: Array) -> Array:
        """A^-1 b for b of shape (d,) or (d, k)."""
        x = list(b)
        for i, row in enumerate(self.L):
            for j, factor in enumerate(row):
                x[i] = x[i] - factor * x[j]
        for i in reversed(range(len(x))):
            for j in range(i + 1, len(x)):
                x[i] = x[i] - self.U[i][j] * x[j]
            x[i] = x[i] * self.inverses[i]
        return np.array(x).reshape(np.shape(b))


def lu(A: Array) -> LU:
    """Factor a small matrix A (d, d) whose symmetric part is positive: its pivots need no search.

    Zeros that are known when it is traced cost nothing, so that sparse matrices are factored as such.
    """
    rows = [list(row) for row in A]
    L: list[list[Number]] = []
    inverses: list[Number] = []
    for i, row in enumerate(rows):
        factors: list[Number] = []
        for j in range(i):
            factors.append(row[j] * inverses[j])
            for k in range(j + 1, len(rows)):
                row[k] = row[k] - factors[j] * rows[j][k]
        L.append(factors)
        inverses.append(1.0 / row[i])
    return LU(L, rows, inverses)


def solve_held(K: Array, B: Array, C: Array, r: Array, s: Array) -> tuple[Array, Array]:
    """U (n,) and w (m,) with K u + B w = r and C u = s, for K (n, n), B (n, m), C (m, n).

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
