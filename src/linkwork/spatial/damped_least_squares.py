"""Damped least squares for small matrices of any rank, in a fixed order of operations without decisions on the rank.

The solution minimizes |A x - b|^2 + DAMPING^2 |x|^2 after the rows and columns of A are scaled to unit size. Singular
values far above DAMPING are inverted; singular values far below DAMPING give no contribution. Adding a multiple of the
unit matrix to A instead could make the equations singular if A has negative eigenvalues; this damping cannot.

The factors are those of Householder's QR factorization of [DAMPING I; A], with the row of DAMPING I as the pivot of
each column (Bjorck, Numerical Methods for Least Squares Problems, 1996, 2.4). The condition number is not squared, and
the order of pivots is fixed. Entries that are the constant zero in a trace cost nothing, so that a banded matrix has
linear cost.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from linkwork.spatial.scalar import Array, Number, may_be_nonzero, where
from linkwork.tolerances import TINY

# Damping for rows and columns of unit size, whose round-off is 1e-16. A step through a singular position of a loop has
# singular values down to 1e-8, which must be inverted.
DAMPING = 1e-11

Entries = dict[int, Number]  # sparse column: row number -> entry; constant zeros are left out


class Reflection(NamedTuple):
    """Householder reflection of a matrix column x whose first entry, the pivot, is DAMPING.

    `below` are the entries of x below the pivot, `over_length` is 1 / |x|, and `over_square` is 1 / (|x| (|x| +
    DAMPING)).
    """

    below: Entries
    over_length: Number
    over_square: Number


class LeastSquares(NamedTuple):
    """Factors of a matrix A (m, n) for damped least squares (see the module's docstring); `shape` is (m, n).

    `row_scales` and `column_scales` are the factors, by row and column number, that scale A to unit size; zero rows and
    columns are left out. `reflections` maps each nonzero column of A to its Householder reflection. `R` maps each
    nonzero column j to row j of the triangular factor: its entries beyond the diagonal, by column number.
    """

    shape: tuple[int, int]
    row_scales: Entries
    column_scales: Entries
    reflections: dict[int, Reflection]
    R: dict[int, Entries]

    def solve(self, b: Array) -> Array:
        """Return the damped least-squares solution x of A x = b, for b of shape (m,) or (m, k)."""
        rest = {i: b[i] * scale for i, scale in self.row_scales.items()}
        top = {}
        for j, (below, over_length, over_square) in self.reflections.items():
            along = _scalar_product(below, rest)
            top[j] = along * over_length
            for i, entry in below.items():
                rest[i] = rest[i] - entry * (along * over_square)
        none = np.zeros(np.shape(b)[1:])
        x = [none for _ in range(self.shape[1])]
        for j in reversed(self.reflections):
            x[j] = (top[j] - sum(entry * x[k] for k, entry in self.R[j].items())) * self.reflections[j].over_length
        for j, scale in self.column_scales.items():
            x[j] = x[j] * scale
        return np.array(x)


def least_squares_factors(A: Array) -> LeastSquares:
    """Return the factors of a matrix A (m, n) of any rank, for damped least squares with any right-hand sides."""
    columns = [{i: x for i, x in enumerate(column) if may_be_nonzero(x)} for column in A.T]
    by_row: dict[int, list[Number]] = {}
    for column in columns:
        for i, x in column.items():
            by_row.setdefault(i, []).append(x)
    row_scales = {i: _reciprocal_size(by_row[i]) for i in sorted(by_row)}
    columns = [{i: x * row_scales[i] for i, x in column.items()} for column in columns]
    column_scales = {j: _reciprocal_size(column.values()) for j, column in enumerate(columns) if column}
    rest = {j: {i: x * scale for i, x in columns[j].items()} for j, scale in column_scales.items()}
    reflections: dict[int, Reflection] = {}
    R: dict[int, Entries] = {}
    for j in column_scales:
        below = rest.pop(j)
        length = np.sqrt(sum((x * x for x in below.values()), DAMPING**2))
        over_square = 1.0 / (length * (length + DAMPING))  # the only division for a column
        over_length = over_square * (length + DAMPING)
        reflections[j] = Reflection(below, over_length, over_square)
        R[j] = {}
        for k, column in rest.items():
            if column.keys().isdisjoint(below):
                continue
            along = _scalar_product(below, column)
            R[j][k] = along * over_length
            for i, entry in below.items():
                column[i] = column.get(i, 0.0) - entry * (along * over_square)
    return LeastSquares((A.shape[0], A.shape[1]), row_scales, column_scales, reflections, R)


def _scalar_product(a: Entries, b: Entries) -> Number:
    """Return the scalar product of two sparse columns a and b, dicts from row number to entry."""
    return sum(x * b[i] for i, x in a.items() if i in b)


def _reciprocal_size(entries: Iterable[Number]) -> Number:
    """Return the reciprocal of the sum of the magnitudes of `entries`; 0 if all entries are zero."""
    size = sum(abs(x) for x in entries)
    return where(size > 0.0, 1.0 / (size + TINY), 0.0)
