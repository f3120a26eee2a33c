"""Composition of symmetric steps of order 2 to higher orders; some substeps go backward in time.

A composition conserves every quantity that each of its steps conserves: momenta, energy, the symplectic form. The
coefficients are symmetric, so that the composed step is symmetric too, and its order is even.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.errors import LinkworkError
from linkwork.simulation.methods.integration_step import Step
from linkwork.simulation.simulated_system import System
from linkwork.simulation.state import Leaves, StepState, flatten, unflatten
from linkwork.spatial.scalar import Array, Condition, Number, Value, lookup, maximum, where
from linkwork.spatial.traceable_loops import repeat


class Composition(NamedTuple):
    """Coefficients of a composed step: the lengths `parts` of its substeps as fractions of the step, with the sum 1."""

    name: str
    order: int
    parts: tuple[float, ...]


class Substep(NamedTuple):
    """One substep of a composed step: its start `offset`, counted from the start of the step, and its length `h`.

    `offset` and `h` have the unit in which the step is given.
    """

    offset: Number
    h: Number


def _symmetric(*first: float) -> tuple[float, ...]:
    """Return symmetric composition coefficients: `first`, a middle coefficient, then `first` in reverse order.

    The middle coefficient is chosen so that the sum of all coefficients is 1.
    """
    return (*first, 1.0 - 2.0 * sum(first), *first[::-1])


_FIFTH = 1.0 / (4.0 - 4.0 ** (1.0 / 3.0))

# A composition with more and shorter substeps than its order needs has smaller errors for the same work (Hairer, Lubich
# and Wanner 2006, V.3.2): five for order 4 instead of three, and nine for order 6 instead of seven.
COMPOSITIONS = (
    Composition("plain", 2, (1.0,)),
    Composition("Suzuki", 4, _symmetric(_FIFTH, _FIFTH)),  # Suzuki 1990, Phys. Lett. A 146
    Composition(  # Kahan and Li 1997, Math. Comp. 66, s9odr6a; Hairer, Lubich and Wanner (V.3.11)
        "Kahan and Li",
        6,
        _symmetric(
            0.39216144400731413927925056,
            0.33259913678935943859974864,
            -0.70624617255763935980996482,
            0.08221359629355080023149045,
        ),
    ),
)


def composition(order: int) -> Composition:
    """Return the coefficients that compose a method of order 2 to the given order: 2 (the method itself), 4 or 6."""
    for one in COMPOSITIONS:
        if one.order == order:
            return one
    orders = ", ".join(str(one.order) for one in COMPOSITIONS)
    raise LinkworkError(f"order must be one of {orders}; got {order!r}")


def part_of_iteration(order: int, k: Number) -> Number:
    """Return the length of substep k = 0, 1, ... of a step composed to `order`, as a fraction of the step.

    k may be a traced number, for a traced loop over substeps.
    """
    parts = composition(order).parts
    found = parts[0]
    for j in range(1, len(parts)):
        if parts[j] != parts[j - 1]:
            found = where(k >= j, parts[j], found)
    return found


def substeps(order: int, h: Number) -> list[Substep]:
    """Return the substeps, in sequence, of a step h (in any unit) that is composed to the order `order`."""
    found, offset = [], 0.0
    for part in composition(order).parts:
        found.append(Substep(offset * h, part * h))
        offset += part
    return found


def composed(step: Step, parts: tuple[float, ...]) -> Step:
    """Return a step function that makes `step` in substeps, whose lengths are the fractions `parts` of the step.

    Some fractions are negative. Each substep evaluates the forces at its own time.
    """
    lengths = np.array(parts)
    begins = np.cumsum(lengths) - lengths

    def run(system: System, t: Number, now: StepState, h: Number, held: Array) -> tuple[StepState, Condition]:
        def part(k: Number, good: Number, *state: Value) -> Leaves:
            before = unflatten(now, state)
            moved, solved = step(system, t + lookup(begins, k) * h, before, lookup(lengths, k) * h, held)
            iterations = maximum(before.solver.iterations, moved.solver.iterations)
            return where(solved, good, 0.0), *flatten(moved.solved_in(iterations))

        good, *moved = repeat(len(parts), part, 1.0, *flatten(now.solved_in(0.0)))
        return unflatten(now, moved), good == 1.0

    return run
