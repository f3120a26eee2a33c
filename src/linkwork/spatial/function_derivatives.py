"""Value and first two derivatives of a function of two numbers, which are floats or the compiler's traced numbers.

`second_order` selects the implementation by the type of the numbers. Here is the one for floats, by finite differences;
the compiler registers one for traced numbers, by automatic differentiation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from linkwork.spatial.scalar import Array, Number

# Step sizes of the finite differences. With stencils of order four, a function that changes by 1 over a distance L has
# errors of (e/L)^4 + 2e-16 L/e in first and (e/L)^4 + 2e-16 (L/e)^2 in second derivatives, relative to 1/L and 1/L^2.
# At L = 1 they are 2e-12 and 2e-9; larger steps are better there, but not at L = 0.01: 1e-8 and 1e-6.
FIRST_STEP, SECOND_STEP = 1e-4, 3e-4
SIDES = (-2, -1, 1, 2)  # stencil points, in steps
FIRST, SECOND = np.array([1, -8, 8, -1]) / 12.0, np.array([-1, 16, 16, -1]) / 12.0  # weights; the middle has -2.5


class SecondOrder(NamedTuple):
    """Value, first derivatives `slopes` (2,) and second derivatives `curvature` (2, 2) of a function of two numbers."""

    value: Number
    slopes: Array
    curvature: Array


@singledispatch
def second_order_for(kind: object, function: Callable[[Any, Any], Any], x: Number, y: Number) -> SecondOrder:
    """Return value and derivatives of function(x, y); the type of the number `kind` selects the implementation.

    The derivatives are finite differences of order four: slopes (2,) and curvature (2, 2).
    """
    slopes, second = [], []
    middle, a = function(x, y), SECOND_STEP
    for dx, dy in ((1.0, 0.0), (0.0, 1.0)):
        first, others = (np.array([function(x + k * e * dx, y + k * e * dy) for k in SIDES]) for e in (FIRST_STEP, a))
        slopes.append(FIRST @ first / FIRST_STEP)
        second.append((SECOND @ others - 2.5 * middle) / a**2)
    corners = np.array([[function(x + i * a, y + j * a) for j in SIDES] for i in SIDES])
    mixed = FIRST @ corners @ FIRST / a**2
    return SecondOrder(middle, np.array(slopes), np.array([[second[0], mixed], [mixed, second[1]]]))


def second_order(function: Callable[[Any, Any], Any], x: Number, y: Number) -> SecondOrder:
    """Return the value of function(x, y), its slopes (2,) and its second derivatives (2, 2).

    Derivatives of traced numbers are exact; those of floats are finite differences, see the step sizes of this module.
    """
    return second_order_for(x + y, function, x, y)
