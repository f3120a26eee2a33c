"""Arithmetic helpers for numbers that are floats or the compiler's traced numbers.

Formulas must not branch on the value of a number. They use `where` instead. A comparison of traced numbers returns an
object with the method `select(yes, no)`, which `where` calls. The module also has small vector and matrix operations
for such numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

Number = Any  # a float, or an object with arithmetic operators and methods such as sin and sqrt
Array = np.ndarray[Any, np.dtype[Any]]  # an array of floats, or of objects with arithmetic operators
Value = Number | Array  # a number or an array of numbers


class TracedCondition(Protocol):
    """A comparison of traced numbers; its truth value is unknown until the kernel runs. Combine it with &, | and ~."""

    def select(self, yes: Number, no: Number) -> Number:
        """Return `yes` if the condition is true, else `no`."""
        ...

    def __and__(self, other: Condition, /) -> Condition: ...

    def __rand__(self, other: Condition, /) -> Condition: ...

    def __or__(self, other: Condition, /) -> Condition: ...

    def __ror__(self, other: Condition, /) -> Condition: ...

    def __invert__(self) -> Condition: ...


Condition = bool | np.bool_ | TracedCondition  # a truth value: known now, or only when the kernel runs


def where(condition: Condition | Array, yes: Value, no: Value) -> Any:
    """Return `yes` where `condition` is true, else `no`; works in compiled functions too.

    Use it instead of `if` in functions that linkwork compiles, such as controllers. Both alternatives are evaluated:
    both must be free of errors such as division by zero.

    Parameters
    ----------
    condition : bool, array of bool, or comparison in a compiled function
        The condition. For an array, the result is that of `numpy.where`.
    yes : float or array
        Result where the condition is true.
    no : float or array
        Result where the condition is false. For a single condition, the same shape as `yes`.

    Returns
    -------
    float or array
        `yes` or `no`; for an array of conditions, elementwise.

    Examples
    --------
    >>> angle = -0.3
    >>> lw.where(angle > 0.0, angle, 0.0)
    0.0
    >>> lw.where(np.array([1.0, -2.0]) > 0.0, 1.0, 0.0)
    array([1., 0.])

    """
    select = getattr(condition, "select", None)
    if select is None:
        known: Any = condition
        return np.where(known, yes, no) if np.ndim(known) else yes if known else no
    if np.ndim(yes) == 0:
        return select(yes, no)
    pairs = zip(np.ravel(yes), np.ravel(no), strict=True)
    return np.array([select(y, n) for y, n in pairs], dtype=object).reshape(np.shape(yes))


def lookup(table: Array, index: Any) -> Any:
    """Return `table[index]` for a table (n, ...) and an index that is rounded down and clipped to 0 ... n - 1.

    A NaN index reads entry 0. A traced index has a method `lookup(table)`, which is called here.
    """
    found = getattr(index, "lookup", None)
    return table[int(min(max(0.0, index), len(table) - 1.0))] if found is None else found(table)


def minimum(a: Any, b: Any) -> Any:
    """Return the smaller of two numbers a and b; NaN if one of them is NaN."""
    return a.minimum(b) if hasattr(a, "minimum") else b.minimum(a) if hasattr(b, "minimum") else np.minimum(a, b)


def maximum(a: Any, b: Any) -> Any:
    """Return the larger of two numbers a and b; NaN if one of them is NaN."""
    return a.maximum(b) if hasattr(a, "maximum") else b.maximum(a) if hasattr(b, "maximum") else np.maximum(a, b)


def may_be_nonzero(number: Number) -> bool:
    """Return whether a number is possibly nonzero; true for every traced number, because its value is unknown."""
    return np.asarray(number).dtype == object or bool(number)


def real(a: Number) -> Number:
    """Return the real part of a complex number (for complex-step differentiation); other numbers unchanged."""
    return a.real if isinstance(a, complex) else a


def arctan2(y: Number, x: Number) -> Number:
    """Return the angle [rad] of the point (x, y), in [-pi, pi].

    The arguments may be complex with small imaginary parts, for complex-step derivatives.
    """
    if not (isinstance(y, complex) or isinstance(x, complex)):
        return np.arctan2(y, x)
    slope = (real(x) * np.imag(y) - real(y) * np.imag(x)) / (real(x) ** 2 + real(y) ** 2)
    return complex(np.arctan2(real(y), real(x)), slope)


def dot(a: Array, b: Array) -> Number:
    """Return the scalar product of two vectors a and b (3,); NumPy's product is slow for object arrays."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Array, b: Array) -> Array:
    """Return the vector product a x b; each argument is (3,) or a matrix of columns (3, k)."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def hat(a: Array) -> Array:
    """Return the skew-symmetric matrix (3, 3) of a vector a (3,): hat(a) @ b = a x b."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def symmetric(entry: Callable[[int, int], Number]) -> Array:
    """Return the symmetric matrix (3, 3) with entries entry(i, j); `entry` is called once for each i <= j."""
    xx, xy, xz, yy, yz, zz = (entry(i, j) for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)))
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def congruence(R: Array, A: Array) -> Array:
    """Return R A R^T (3, 3) for R (3, 3) and a symmetric matrix A (3, 3); the result is exactly symmetric."""
    B = R @ A
    return symmetric(lambda i, j: dot(B[i], R[j]))


def own_copy(value: Any) -> Any:
    """Return a copy of the array `value` to be passed to a user's function, or a float as NumPy's float64.

    The user's function may then write into the array without effect on the caller. Dividing the float64 by zero gives
    inf or NaN instead of ZeroDivisionError.
    """
    if isinstance(value, np.ndarray):
        return value.copy()
    return np.float64(value) if type(value) is float else value


def largest(values: Array) -> Number:
    """Return the largest magnitude of the numbers `values` (n,); 0 if there are none, NaN if one is NaN."""
    found: Number = 0.0
    for x in values:
        found = maximum(found, abs(x))
    return found


class LDLT(NamedTuple):
    """Factors A = L D L^T of a small symmetric positive definite matrix A (d, d).

    `L` are the rows of the unit lower triangular factor L, row i with its i entries before the diagonal. `inverse_D`
    (d,) is the diagonal of D^-1.
    """

    L: tuple[tuple[Number, ...], ...]
    inverse_D: tuple[Number, ...]

    def solve(self, b: Array) -> Array:
        """Return A^-1 b for the factored matrix A = L D L^T (d, d), with b of shape (d,) or (d, k)."""
        d = len(self.inverse_D)
        x = [y * inverse for y, inverse in zip(_forward_substituted(self.L, b), self.inverse_D, strict=True)]
        for i in reversed(range(d - 1)):
            x[i] = x[i] - sum(self.L[j][i] * x[j] for j in range(i + 1, d))
        return np.array(x)

    def inverse(self) -> LDLT:
        """Return an object whose method `solve` is fast for many right-hand sides; here, these dense factors.

        Sparse factorizations with the same interface return the inverses of their factors instead.
        """
        return self

    def matrix(self) -> Array:
        """Return the inverse matrix A^-1 (d, d) of the factored matrix A."""
        return self.solve(np.eye(len(self.inverse_D)))


def ldlt(A: Array) -> LDLT:
    """Return the factors A = L D L^T of a small symmetric positive definite matrix A (d, d).

    Only the lower half of A is read.
    """
    L: list[tuple[Number, ...]] = []
    D: list[Number] = []
    for i in range(len(A)):
        LD: list[Number] = []  # rows of L D
        row: list[Number] = []
        for j in range(i):
            LD.append(A[i][j] - sum(LD[k] * L[j][k] for k in range(j)) if j else A[i][j])
            row.append(LD[j] * D[j])
        pivot = A[i][i] - sum(LD[k] * row[k] for k in range(i)) if i else A[i][i]
        L.append(tuple(row))
        D.append(1.0 / pivot)
    return LDLT(tuple(L), tuple(D))


class LU(NamedTuple):
    """Factors A = L U of a small matrix A (d, d).

    `L` are the rows of the unit lower triangular factor, row i with its i entries before the diagonal. `U` are rows of
    d numbers; only their entries beyond the diagonal belong to the upper triangular factor. `inverse` (d,) are the
    reciprocals of the diagonal of this factor.
    """

    L: tuple[tuple[Number, ...], ...]
    U: tuple[tuple[Number, ...], ...]
    inverse: tuple[Number, ...]

    def solve(self, b: Array) -> Array:
        """Return A^-1 b for the factored matrix A = L U (d, d), with b of shape (d,) or (d, k)."""
        d = len(self.inverse)
        x = _forward_substituted(self.L, b)
        for i in reversed(range(d)):
            rest = sum(self.U[i][j] * x[j] for j in range(i + 1, d)) if i + 1 < d else 0.0
            x[i] = (x[i] - rest) * self.inverse[i]
        return np.array(x)

    def packed(self) -> Array:
        """Return the factors as one matrix (d, d): L below the diagonal, U above it, `inverse` on it."""
        rows = zip(self.L, self.inverse, self.U, strict=True)
        return np.array([[*lower, inverse, *upper[i + 1 :]] for i, (lower, inverse, upper) in enumerate(rows)])

    @staticmethod
    def unpacked(A: Array) -> LU:
        """Return the factors that `packed` returned as the matrix A (d, d)."""
        L = tuple(tuple(row[:i]) for i, row in enumerate(A))
        return LU(L, tuple(map(tuple, A)), tuple(row[i] for i, row in enumerate(A)))


def lu(A: Array) -> LU:
    """Return the factors A = L U of a small dense matrix A (d, d), without row exchanges (pivoting).

    The factors are accurate if A is nearly symmetric and positive definite.
    """
    d = len(A)
    U = [list(row) for row in A]
    L: list[list[Number]] = [[] for _ in range(d)]
    inverse: list[Number] = []
    for k in range(d):
        inverse.append(1.0 / U[k][k])
        for i in range(k + 1, d):
            factor = U[i][k] * inverse[k]
            L[i].append(factor)
            for j in range(k + 1, d):
                U[i][j] = U[i][j] - factor * U[k][j]
    return LU(tuple(map(tuple, L)), tuple(map(tuple, U)), tuple(inverse))


def _forward_substituted(L: tuple[tuple[Number, ...], ...], b: Array) -> list[Any]:
    """Return L^-1 b by forward substitution, as a list of d numbers or rows; b is (d,) or (d, k).

    `L` has the rows of a unit lower triangular matrix (d, d); only entries before the diagonal are read.
    """
    y: list[Any] = []
    for i in range(len(L)):
        y.append(b[i] - sum(L[i][j] * y[j] for j in range(i)) if i else b[i])
    return y
