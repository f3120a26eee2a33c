"""Newton's method with a line search and an iteration limit; in a batch, each member converges separately."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from linkwork.simulation.methods.method_tolerances import LAST_CORRECTION
from linkwork.spatial.scalar import Array, Condition, Number, largest, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import HUGE

ITERATIONS = 25  # largest number of iterations

Correction = Callable[[Array, Array], tuple[Array, Array]]  # maps (unknown, multipliers) to their Newton corrections


class Root(NamedTuple):
    """The result of `newton`: unknowns (n,), multipliers (m,), number of iterations, and whether the iteration
    converged (`solved`).
    """

    unknown: Array
    multipliers: Array
    iterations: Number
    solved: Condition


class Floor(NamedTuple):
    """Round-off thresholds of Newton corrections, at which the iteration ends.

    A correction that is smaller than the previous one ends the iteration if it is at most `sure` plus LAST_CORRECTION
    times the unknown. After a full step, a correction of at most `stalled` ends the iteration even if it is not smaller
    than the previous one.
    """

    sure: Number
    stalled: Number


def newton(correction: Correction, unknown: Array, multipliers: Array, floor: Floor, most: int = ITERATIONS) -> Root:
    """Return the root of equations by Newton's method, from the guess `unknown` (n,) and `multipliers` (m,).

    The iteration ends when corrections are smaller than LAST_CORRECTION times the unknown, or at round-off. Each
    iteration tries a fraction of the last correction. If the correction at the new point is smaller, the point is
    accepted; otherwise half of that fraction is tried. The sizes of corrections are compared, not residuals, because
    they do not depend on the units of the equations. `correction` returns the corrections of unknown and multipliers,
    `floor` has the thresholds of round-off, and `most` is the largest number of iterations.
    """

    def iteration(
        x: Array, y: Array, dx: Array, dy: Array, part: Number, size: Number
    ) -> tuple[tuple[Array, ...], Condition]:
        x_next, y_next = x + part * dx, y + part * dy
        dx_next, dy_next = correction(x_next, y_next)
        size_next = largest(dx_next)
        better = size_next < size
        stalled = (part == 1.0) & (size < HUGE) & (size_next <= floor.stalled)
        done = (better & (size_next <= LAST_CORRECTION * largest(x_next) + floor.sure)) | stalled
        return (
            where(done, x_next + dx_next, where(better, x_next, x)),
            _chosen(done, y_next + dy_next, _chosen(better, y_next, y)),
            where(better, dx_next, dx),
            _chosen(better, dy_next, dy),
            where(better, 1.0, 0.5 * part),
            where(better, size_next, size),
        ), done

    state = (unknown, multipliers, np.zeros(len(unknown)), np.zeros(len(multipliers)), 1.0, HUGE)
    (unknown, multipliers, *_), count, solved = iterate(most, iteration, *state)
    return Root(unknown, multipliers, count, solved)


def _chosen(condition: Condition, yes: Array, no: Array) -> Array:
    """Return the array `yes` (n,) if the condition is true, else the array `no` (n,)."""
    return where(condition, yes, no) if len(yes) else no
