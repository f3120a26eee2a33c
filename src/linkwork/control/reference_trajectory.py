"""Reference trajectories: functions of time that interpolate given points, for floats and for compiled kernels.

A reference is a table of polynomials, one for each time interval: before the first point, between two points, after the
last. Evaluation finds the interval of a time and reads the coefficients of its polynomial. Both are table lookups, so
that in a kernel every SIMD lane can have its own time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linkwork.control.control_tolerances import FIRST_GUESS, UNIFORM_TIMES
from linkwork.errors import LinkworkError, ShapeError, unknown_name
from linkwork.model.batch_broadcasting import as_numbers, refuse_non_finite
from linkwork.spatial.scalar import Array, Number, lookup, where

KINDS = ("hold", "linear", "cubic")


class Reference:
    """Reference trajectory: a function of time that interpolates given values.

    Call a reference with a time [s], or an array of times (k,), to get the value. Before the first given time, the
    value is the first value; from the last time on, it is the last value, with zero rates. At a discontinuity, a
    reference returns the value or rate after the discontinuity. Controllers accept a reference as their target.

    Parameters
    ----------
    times : array (n,), [s]
        Increasing times of the given values; at least two.
    values : array (n, ...)
        Values at these times, in any unit and of any shape.
    kind : {"cubic", "linear", "hold"}, default "cubic"
        "cubic" is the clamped cubic spline, with continuous first and second derivatives. "linear" joins the values by
        straight lines. "hold" keeps each value until the next time.
    end_rates : float or array (2, ...), default 0.0
        Rates of a cubic reference at the first and at the last time, in the values' unit per second. With zero, the
        rate is continuous everywhere.

    Raises
    ------
    LinkworkError
        If the times do not increase, or `kind` or `end_rates` is not valid.
    ShapeError
        If the shapes of `times`, `values` and `end_rates` do not match.

    Examples
    --------
    >>> reference = lw.Reference([0.0, 1.0, 2.0], [[0.0, 1.0], [0.5, 1.0], [0.5, 0.0]])
    >>> reference(1.0), reference.rate(2.0)
    (array([0.5, 1. ]), array([0., 0.]))
    >>> lw.Reference([0.0, 1.0], [0.0, 4.0], kind="linear")([0.25, 0.5])
    array([1., 2.])

    """

    def __init__(self, times: Any, values: Any, kind: str = "cubic", end_rates: Any = 0.0):
        if kind not in KINDS:
            raise unknown_name("kind of reference", kind, KINDS)
        self.kind = kind
        self.times, self.values = _checked_times(times), _checked("values", values)
        if self.values.shape[:1] != self.times.shape:
            raise ShapeError(
                f"values have shape {self.values.shape}, expected ({len(self.times)}, ...), one value for each time"
            )
        self.shape = self.values.shape[1:]
        pieces = _polynomials(self.times, self.values, kind, self._end_rates(end_rates))
        starts = np.concatenate([self.times[:1], self.times])
        self._pieces = np.column_stack([starts, pieces.reshape(len(pieces), -1)])
        self._search = _search_table(self.times)

    def _end_rates(self, given: Any) -> Array:
        """Return the rates at first and last time as an array (2, ...); raise an error if `given` is not valid."""
        rates, wanted = _checked("end_rates", given), (2, *self.shape)
        if rates.any() and self.kind != "cubic":
            raise LinkworkError(f"end_rates are only for kind 'cubic'; this reference has kind {self.kind!r}")
        try:
            return np.broadcast_to(rates, wanted)
        except ValueError:
            raise ShapeError(f"end_rates have shape {rates.shape}, expected one number or {wanted}") from None

    def __repr__(self) -> str:
        return f"<Reference of shape {self.shape}, {self.kind}, {self.times[0]:g} s to {self.times[-1]:g} s>"

    def __call__(self, t: Any) -> Any:
        """Return the value of the reference at time t [s], or its values (k, ...) at times (k,)."""
        return self._derivative(t, 0)

    def rate(self, t: Any) -> Any:
        """Return the first time derivative of the reference.

        Parameters
        ----------
        t : float or array (k,), [s]
            Time, or times.

        Returns
        -------
        float or array
            Rate in the values' unit per second, with the shape of one value; (k, ...) for k times.

        Examples
        --------
        >>> float(lw.Reference([0.0, 2.0], [0.0, 1.0], kind="linear").rate(1.0))
        0.5

        """
        return self._derivative(t, 1)

    def acceleration(self, t: Any) -> Any:
        """Return the second time derivative of the reference.

        Parameters
        ----------
        t : float or array (k,), [s]
            Time, or times.

        Returns
        -------
        float or array
            Acceleration in the values' unit per second squared, with the shape of one value; (k, ...) for k times.

        Examples
        --------
        >>> float(lw.Reference([0.0, 1.0], [0.0, 1.0]).acceleration(0.0))
        6.0

        """
        return self._derivative(t, 2)

    def _derivative(self, t: Any, order: int) -> Any:
        """Return the derivative of order `order` of the reference at the time or times t [s]; order 0 is its value."""
        if np.ndim(t) > 0:
            return np.array([self._derivative(one, order) for one in t])
        row = lookup(self._pieces, self._piece(t))
        since, coefficients = t - row[0], row[1:].reshape(-1, *self.shape)
        total = np.zeros(self.shape)[()]
        for power in reversed(range(order, len(coefficients))):
            total = total * since + math.perm(power, order) * coefficients[power]
        return total

    def _piece(self, t: Number) -> Number:
        """Return the index of the time interval that contains t [s]: the number of given times that are at most t."""
        if self._search is not None:
            return _counted(self._search, t)
        step = (self.times[-1] - self.times[0]) / (len(self.times) - 1)
        guess = np.floor((t - self.times[0]) / step + (1.0 - FIRST_GUESS))  # exact, or one too low
        return where(t >= lookup(self.times, guess), guess + 1.0, guess)


def _checked(name: str, given: Any) -> Array:
    array = as_numbers(name, given).copy()
    refuse_non_finite(name, array)
    array.flags.writeable = False
    return array


def _checked_times(given: Any) -> Array:
    times = _checked("times", given)
    if times.ndim != 1 or len(times) < 2:
        raise ShapeError(f"times have shape {times.shape}, expected (n,) with n at least 2")
    late = np.flatnonzero(np.diff(times) <= 0.0)
    if len(late):
        k = int(late[0])
        raise LinkworkError(
            f"times must increase; times[{k + 1}] = {times[k + 1]:g} is not after times[{k}] = {times[k]:g}"
        )
    return times


# --- search of the interval ---


def _search_table(times: Array) -> Array | None:
    """Return the given times (n,), padded with inf to 2^p - 1 >= n entries for a binary search.

    The result is None if the times are uniform: the interval is then found without a search.
    """
    even = np.linspace(times[0], times[-1], len(times))
    if np.abs(times - even).max() <= UNIFORM_TIMES * (even[1] - even[0]):
        return None
    return np.concatenate([times, np.full(2 ** len(times).bit_length() - 1 - len(times), np.inf)])


def _counted(table: Array, t: Number) -> Number:
    """Return the number of entries of an increasing table that are at most t, by binary search without branches.

    The table has 2^p - 1 entries, and the search needs p lookups.
    """
    count: Number = 0.0
    step = (len(table) + 1) // 2
    while step:
        count = where(t >= lookup(table, count + (step - 1.0)), count + step, count)
        step //= 2
    return count


# --- polynomials ---


def _polynomials(times: Array, values: Array, kind: str, end_rates: Array) -> Array:
    """Return the polynomial coefficients (n + 1, degree + 1, ...) of all intervals of a reference.

    The polynomials are in powers of the time since the interval began, lowest power first. `values` (n, ...) are given
    at `times` (n,) [s]; the first interval is before these times, the last one after them. `kind` is the interpolation:
    "hold" (piecewise constant), "linear" or "cubic". `end_rates` are the rates at both ends of a "cubic" reference.
    """
    h = np.diff(times).reshape(-1, *[1] * (values.ndim - 1))
    slope = np.diff(values, axis=0) / h
    rows = [values[:-1]]
    if kind == "linear":
        rows.append(slope)
    elif kind == "cubic":
        m = _knot_rates(h, slope, end_rates)
        rows += [m[:-1], (3.0 * slope - 2.0 * m[:-1] - m[1:]) / h, (m[:-1] + m[1:] - 2.0 * slope) / h**2]
    between = np.stack(rows, axis=1)
    before, after = np.zeros((2, 1, *between.shape[1:]))
    before[0, 0], after[0, 0] = values[0], values[-1]
    return np.concatenate([before, between, after])


def _knot_rates(h: Array, slope: Array, end_rates: Array) -> Array:
    """Return the derivatives m (n, ...) of a cubic spline at its knots, for which the second derivative is continuous.

    `h` (n - 1, ...) [s] are the intervals between the times, `slope` (n - 1, ...) the mean rates within them, and
    `end_rates` (2, ...) the rates at both ends. The derivatives m solve the tridiagonal system

        m[k-1] / h[k-1] + 2 (1 / h[k-1] + 1 / h[k]) m[k] + m[k+1] / h[k] = 3 (slope[k-1] / h[k-1] + slope[k] / h[k])
    """
    m = [end_rates[0]]
    factors = [np.zeros_like(h[0])]
    for k in range(1, len(h)):
        before, after = 1.0 / h[k - 1], 1.0 / h[k]
        pivot = 2.0 * (before + after) - before * factors[-1]
        m.append((3.0 * (slope[k - 1] * before + slope[k] * after) - before * m[-1]) / pivot)
        factors.append(after / pivot)
    m.append(end_rates[1])
    for k in reversed(range(1, len(h))):
        m[k] = m[k] - factors[k] * m[k + 1]
    return np.array(m)
