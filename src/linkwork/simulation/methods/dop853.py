"""The method "dop853" of Dormand and Prince, order 8(5,3): its stages as one traceable function, and its solver.

Coefficients, error estimate, step-size control and interpolant are those of `scipy.integrate.DOP853` (Hairer, Norsett
and Wanner, Solving Ordinary Differential Equations I, sections II.4 to II.6). SciPy evaluates each stage in Python;
here one compiled function evaluates all stages of a step. A stage needs the derivative of the first stage, and those of
at most eight other stages: the eight before it, and for the stages of the interpolant those in ORDER. A loop over the
stages therefore stores the first derivative and a window of the last eight. Without this loop, compilation would take
twelve times as long.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.integrate import DOP853, DenseOutput, OdeSolver

from linkwork.spatial.scalar import Array, Number, lookup, maximum
from linkwork.spatial.traceable_loops import repeat

# Step-size control: new step = step * SAFETY * error^(-1/8), at least SHRINK and at most GROW times the step
SAFETY, SHRINK, GROW = 0.9, 0.2, 10.0
WINDOW = 8  # number of derivatives in the window, that of the first stage not counted
# stages of a step after the first; the last one is at the end of the step, and is the first one of the next step
STAGES = 12
EXTRA = 3  # number of further stages that only the interpolant needs
# After a step, the window has the derivatives of stages 5 to 12. Each stage of the interpolant removes the first
# derivative from the window; in this order, no later stage uses the removed derivative.
ORDER = (9, 10, 11, 5, 6, 7, 8, 12)


def _table() -> Array:
    """Return the Butcher table of all stages, one per row: time of the stage, two factors for error estimates, and
    weights.

    The shape is (1 + STAGES + EXTRA, 4 + WINDOW). A row has the time of the stage as a fraction of the step; the
    factors of the stage's derivative in the error estimates of orders 5 and 3; and the weights of the first stage and
    of the WINDOW stages in the window, whose weighted sum gives the state at which the stage evaluates the derivative.
    Row 0, of zeros, evaluates the derivative at the start of a step.
    """
    times = [*DOP853.C[1:], 1.0, *DOP853.C_EXTRA]
    weights = [*DOP853.A[1:], DOP853.B, *DOP853.A_EXTRA]
    table = np.zeros((1 + STAGES + EXTRA, 4 + WINDOW))
    table[1 : 1 + STAGES, 1:3] = np.transpose([DOP853.E5[1:], DOP853.E3[1:]])
    window = list(range(1 - WINDOW, 1))
    for stage, (time, weight) in enumerate(zip(times, weights, strict=True), start=1):
        window = list(ORDER) if stage == STAGES + 1 else window
        table[stage, 0], table[stage, 3] = time, weight[0]
        table[stage, 4:] = [weight[k] if k > 0 else 0.0 for k in window]
        window = [*window[1:], stage]
    return table


def _interpolant() -> Array:
    """Return the weights (7, 4 + WINDOW) of the derivatives of the stages 0, 5, 6, ..., 15 in the seven terms of the
    interpolant.

    With the derivative f_k of stage k and the change of the state in a step, dy = h sum b_k f_k, the first terms are
    dy, h f_0 - dy, and 2 dy - h (f_0 + f_12).
    """
    change, begin, end = np.append(DOP853.B, np.zeros(1 + EXTRA)), np.eye(16)[0], np.eye(16)[STAGES]
    terms = np.vstack([change, begin - change, 2.0 * change - begin - end, DOP853.D])
    return np.delete(terms, range(1, 5), axis=1)


TABLE = _table()
REORDER = np.array(ORDER) - (STAGES + 1 - WINDOW)  # the places of the stages in ORDER in the window after a step
INTERPOLANT = _interpolant()
ODD = np.arange(len(INTERPOLANT)) % 2.0
EVEN_MINUS_ODD = 1.0 - 2.0 * ODD


def stages(
    derivative: Callable[[Number, Array], Array],
    count: int,
    at: Array,
    y: Array,
    f: Array,
    window: Array,
) -> Array:
    """Return the error estimates, the state and the derivatives after `count` consecutive stages of a step of "dop853".

    `at` (5,) are the start time t [s] and length h [s] of the step, the row of the first stage in TABLE, and the
    relative and absolute tolerance. `y` (n,) is the state at t, `f` (n,) its derivative, and `window` (WINDOW, n) are
    the derivatives of the WINDOW previous stages. `derivative(t, y)` is the time derivative of the state.

    The result (2 + n + WINDOW n,) has three parts: the sums of squares of the scaled error estimates of orders 5 and 3,
    the state at which the last stage evaluates the derivative, and the window after this stage. After all stages of a
    step, the error estimates and the state are those at the end of the step. The last derivative in the window is then
    that at the end of the step.
    """
    t, h, first, rtol, atol = at

    def stage(k: Number, _: Array, error_5: Array, error_3: Array, *window: Array) -> tuple[Array, ...]:
        time, factor_5, factor_3, *weights = lookup(TABLE, first + k)
        x = np.stack([1.0, *(h * weight for weight in weights)]) @ np.stack([y, f, *window])
        rate = derivative(t + time * h, x)
        return x, error_5 + factor_5 * rate, error_3 + factor_3 * rate, *window[1:], rate

    found = repeat(count, stage, y, DOP853.E5[0] * f, DOP853.E3[0] * f, *window)
    sums: list[Number] = [0.0, 0.0]
    for a, b, *estimates in zip(y, *found[:3], strict=True):
        scale = 1.0 / (atol + rtol * maximum(abs(a), abs(b)))
        sums = [total + (error * scale) ** 2 for total, error in zip(sums, estimates, strict=True)]
    return np.concatenate([sums, found[0], *found[3:]])


# The function `stages` for one state derivative, called as stages(count, at, y, f, window)
StageFunction = Callable[[int, Array, Array, Array, Array], Array]


class Dop853(OdeSolver):
    """A solver with the steps of `scipy.integrate.DOP853`, forward in time, which computes all stages in one function
    call.

    `y0` (n,) is the state at `t0` [s]; the solver ends at `t_bound` [s]. Steps have at most the length `max_step` [s];
    the first step has the length `first_step` [s], if given. `rtol` and `atol` are the relative and the absolute error
    tolerance of a step. `stages` computes the stages.
    """

    def __init__(
        self,
        stages: StageFunction,
        t0: float,
        y0: Array,
        t_bound: float,
        *,
        rtol: float,
        atol: float,
        max_step: float = np.inf,
        first_step: float | None = None,
    ):
        self._stages, self._before = stages, np.zeros((WINDOW, len(y0)))
        super().__init__(self._derivative, t0, y0, t_bound, vectorized=False)
        self._rtol, self._atol, self._longest = rtol, atol, max_step
        self._f = self.fun(t0, self.y)
        self._next = self._first_step() if first_step is None else first_step
        # start time, state and derivative, and window of the last step, for its interpolant
        self._start, self._window = (t0, self.y, self._f), self._before

    def _derivative(self, t: float, y: Array) -> Array:
        """Return the derivative (n,) of the state y (n,) at time t [s]."""
        return self._stages(1, np.array([t, 0.0, 0.0, 0.0, 1.0]), y, y, self._before)[-self.n :]

    def _first_step(self) -> float:
        """Return the length [s] of the first step (Hairer, Norsett and Wanner, section II.4)."""
        span, y, f = self.t_bound - self.t, self.y, self._f
        scale = self._atol + np.abs(y) * self._rtol
        size, rate = _norm(y / scale), _norm(f / scale)
        small = min(1e-6 if size < 1e-5 or rate < 1e-5 else 0.01 * size / rate, span)
        bend = _norm((self.fun(self.t + small, y + small * f) - f) / scale) / small
        still = rate <= 1e-15 and bend <= 1e-15
        fitting = max(1e-6, small * 1e-3) if still else (0.01 / max(rate, bend)) ** (1.0 / 8.0)
        return float(min(100.0 * small, fitting, span, self._longest))

    def _step_impl(self) -> tuple[bool, str | None]:
        t, n, end = float(self.t), self.n, self.t_bound
        shortest = 10.0 * (math.nextafter(t, math.inf) - t)
        size = self._longest if self._next > self._longest else max(self._next, shortest)
        most = GROW
        while size >= shortest:
            t_new = min(t + size, end)
            h = t_new - t
            at = np.array([t, h, 1.0, self._rtol, self._atol])
            found = self._stages(STAGES, at, self.y, self._f, self._before)
            self.nfev += STAGES
            error = _error(*found[:2].tolist(), h, n)
            if error < 1.0:
                self._next = h * (min(most, SAFETY * error**-0.125) if error > 0.0 else most)
                self._start = t, self.y, self._f
                self.t, self.y, self._window = t_new, found[2 : 2 + n], found[2 + n :].reshape(WINDOW, n)
                self._f = self._window[-1]
                return True, None
            size = h * max(SHRINK, SAFETY * error**-0.125)  # if the error is nan, the step shrinks by SHRINK
            most = 1.0
        return False, self.TOO_SMALL_STEP

    def _dense_output_impl(self) -> DenseOutput:
        t, y, f = self._start
        n, h = self.n, self.t - t
        at = np.array([t, h, 1.0 + STAGES, self._rtol, self._atol])
        found = self._stages(EXTRA, at, y, f, self._window[REORDER])
        self.nfev += EXTRA
        rates = np.concatenate([f, self._window.ravel(), found[-EXTRA * n :]]).reshape(-1, n)
        return Interpolant(t, self.t, y, h * (INTERPOLANT @ rates))


class Interpolant(DenseOutput):
    """The state within a step from `begin` to `end` [s], interpolated with order 7 (Hairer, Norsett and Wanner, II.6).

    `y` (n,) is the state at `begin`. The state is y + terms_0 x + terms_1 x (1 - x) + terms_2 x (1 - x) x + ..., where
    x is the fraction of the step and `terms` (7, n) are the terms.
    """

    def __init__(self, begin: float, end: float, y: Array, terms: Array):
        super().__init__(begin, end)
        self._y, self._terms = y, terms

    def _call_impl(self, t: Array) -> Array:
        x = (t - self.t_old) / (self.t - self.t_old)
        factors = ODD + EVEN_MINUS_ODD * x[..., None]  # the factors are x, 1 - x, x, 1 - x, ...
        return (self._y + np.multiply.accumulate(factors, axis=-1) @ self._terms).T


def _error(order_5: float, order_3: float, h: float, n: int) -> float:
    """Return the norm of the error of a step h [s] of n state components, relative to the tolerances: below 1, the step
    is accepted.

    `order_5` and `order_3` are the sums of squares of the scaled error estimates of orders 5 and 3.
    """
    return h * order_5 / math.sqrt((order_5 + 0.01 * order_3) * n) if order_5 else 0.0


def _norm(x: Array) -> np.floating:
    """Return the root mean square of the entries of x (n,)."""
    return np.linalg.norm(x) / math.sqrt(len(x))
