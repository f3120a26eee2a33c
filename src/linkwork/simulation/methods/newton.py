"""Newton's method for the equations of a step: bounded, with a line search, each member of a batch on its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from linkwork.spatial.loops import iterate
from linkwork.spatial.scalar import Array, Condition, Number, largest, where
from linkwork.tolerances import HUGE

ITERATIONS = 25  # at most
CLOSE = 1e-8  # part of the unknown below which a correction is the last: the next would be its square

Correction = Callable[[Array, Array], tuple[Array, Array]]  # of the unknown and the multipliers, at a guess of both


class Root(NamedTuple):
    """What was found: unknowns (n,), multipliers (m,), iterations, and whether it is a solution."""

    unknown: Array
    multipliers: Array
    iterations: Number
    solved: Condition


class Floor(NamedTuple):
    """Sizes of corrections that are round-off: surely so, and where a whole correction made the next no smaller."""

    sure: Number
    stalled: Number


def newton(correction: Correction, unknown: Array, multipliers: Array, floor: Floor, most: int = ITERATIONS) -> Root:
    """The root near a guess, where corrections are smaller than CLOSE of the unknown, or round-off.

    An iteration tries a part of the last correction. If the correction from there is smaller, it goes on from there,
    else it tries half of that part: this measure does not depend on the units of the equations.
    """

    def iteration(
        x: Array, y: Array, dx: Array, dy: Array, part: Number, size: Number
    ) -> tuple[tuple[Array, ...], Condition]:
        x_next, y_next = x + part * dx, y + part * dy
        dx_next, dy_next = correction(x_next, y_next)
        size_next = largest(dx_next)
        better = size_next < size
        stalled = (part == 1.0) & (size < HUGE) & (size_next <= floor.stalled)
        done = (better & (size_next <= CLOSE * largest(x_next) + floor.sure)) | stalled
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
    return where(condition, yes, no) if len(yes) else no
