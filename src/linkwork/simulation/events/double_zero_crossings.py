"""Double zero crossings of guards and latches within a step, which the values at the ends of the step do not show.

Within a step, the value of a guard can become positive and then negative again, or a guard can be armed again and fire.
The values and time derivatives of its event function at both ends define a cubic. An event function is negative after
its event. If the cubic has a minimum near or below zero, the event search tries a step up to the time of this minimum.
Crossings that the cubic does not show remain undetected: the step must be short enough to resolve the guard.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.algorithms.tangent_space import integrate
from linkwork.simulation.events.event_tolerances import FIRST_TRIAL, SLOPE_TIME
from linkwork.simulation.events.guards import guard_functions
from linkwork.simulation.simulated_system import System
from linkwork.simulation.state import StepState
from linkwork.spatial.scalar import Array, Number, maximum, minimum, where
from linkwork.tolerances import TINY

# a minimum above zero also counts, if it is below this fraction of the range of the function in the step
MARGIN = 0.05
INSIDE = 0.01  # smallest distance of a minimum from either end, as a fraction of the step; nearer minima are ignored


class ValuesAndSlopes(NamedTuple):
    """Values (g,) and time derivatives `slopes` (g,) [1/s] of the event functions of g latches and guards, at one end
    of a step.

    For an armed latch or guard, the function is its event function, which is negative after the event. For a guard that
    is not armed, the function is the distance of the guard's value from the value at which the guard is armed again. A
    negative function means that the latch engages, or that the guard fires or is armed again.
    """

    values: Array
    slopes: Array


def values_and_slopes(system: System, t: Number, now: StepState, a: Array, values: list[Number]) -> Array:
    """Return the `ValuesAndSlopes` of the state `now` at t [s] as one array (2 g,): first all values, then all slopes.

    The arming states in `now` are up to date. `system` is in the present modes, a (nv,) [rad/s^2 or m/s^2] are the
    accelerations, and `values` are the values of the guards. The slope of a latch that is not armed is 0.
    """
    m, own = system.mechanism, len(system.mechanism.self_switching)
    q = integrate(m, now.q, now.v * SLOPE_TIME)
    v = now.v + a * SLOPE_TIME
    later = [guard.function(t + SLOPE_TIME, q, v) for guard in system.guards]
    here, there = (_functions(system, at, numbers, now.armed) for at, numbers in ((now.q, values), (q, later)))
    armed = [where(side == 0.0, 0.0, 1.0) for side in now.armed[:own]] + [1.0] * len(values)
    slopes = [(y - x) / SLOPE_TIME * on for x, y, on in zip(here, there, armed, strict=True)]
    return np.array([*here, *slopes])


def _functions(system: System, q: Array, values: list[Number], armed: Array) -> list[Number]:
    """Return the event functions (g,) of latches and guards that `ValuesAndSlopes` contains, at q (nq,) [rad, m].

    They follow from the guard `values` and the arming states `armed` (g,).
    """
    m = system.mechanism
    own = guard_functions(m, q, [], armed[: len(m.self_switching)])
    return own + [where(side > 0.0, -g, g - side) for g, side in zip(values, armed[len(own) :], strict=True)]


def latch_and_guard_count(system: System) -> int:
    """Return the number of latches and guards whose event functions `ValuesAndSlopes` contains."""
    return len(system.mechanism.self_switching) + len(system.guards)


def stored_values_and_slopes(watched: Array, count: int) -> ValuesAndSlopes:
    """Return the `ValuesAndSlopes` of `count` latches and guards that `event_sources.watch` has stored in `watched`."""
    return ValuesAndSlopes(watched[-1 - 2 * count : -1 - count], watched[-1 - count : -1])


def first_hidden_minimum(begin: ValuesAndSlopes, end: ValuesAndSlopes, duration: Number) -> Number:
    """Return the fraction of a step at which an event function may be negative for a short time within the step; 1 if
    none.

    The values and time derivatives at the `begin` and `end` of the step of `duration` [s] define a cubic for each
    function. The result is the fraction at the earliest minimum near or below zero, or FIRST_TRIAL if a function is
    negative at the start of the step and not at its end. If a function is negative at the end, its minimum counts only
    if the cubic rises above zero between the minimum and the end.
    """
    found: Number = 1.0
    for a, s, b, r in zip(begin.values, begin.slopes, end.values, end.slopes, strict=True):
        dip = _minimum(maximum(a, 0.0), s * duration, b, r * duration)
        found = minimum(found, where((a < 0.0) & (b >= 0.0), FIRST_TRIAL, dip))
    return found


def _minimum(a: Number, s: Number, b: Number, r: Number) -> Number:
    """Return the position in [0, 1] of the minimum of a cubic if the value there is near or below zero, else 1.

    The cubic has the values a and b and the derivatives s and r at 0 and 1.
    """
    square, cube = 3.0 * (b - a) - 2.0 * s - r, 2.0 * (a - b) + s + r
    inner = square * square - 3.0 * cube * s
    root = np.sqrt(maximum(inner, 0.0))
    below = square + root
    x = where(abs(below) > TINY, -s / where(abs(below) > TINY, below, 1.0), 1.0)
    lowest = a + x * (s + x * (square + x * cube))
    inside = (inner > 0.0) & (x > INSIDE) & (x < 1.0 - INSIDE)
    near = lowest < MARGIN * (maximum(a, b) - lowest)
    # If the function is negative at the end (b < 0), the event search finds a crossing without this one. The minimum
    # then counts only if the cubic rises above zero after it
    above = -cube * 3.0
    y = where(above > TINY, (square + root) / where(above > TINY, above, 1.0), 1.0)
    highest = a + y * (s + y * (square + y * cube))
    again = (b >= 0.0) | ((y > x) & (y < 1.0) & (highest > 0.0))
    return where(inside & near & again, x, 1.0)
