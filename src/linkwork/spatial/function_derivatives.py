"""Derivatives of functions of floats or of the compiler's traced numbers.

`second_order` returns the value and first two derivatives of a function of two numbers, `rate_along` a directional
derivative. The type of the numbers selects the implementation. This module implements both functions for floats, by
finite differences; the compiler registers implementations for traced numbers, by automatic differentiation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from linkwork.spatial.scalar import Array, Number
from linkwork.spatial.traceable_loops import repeat

# Step sizes e of the finite differences. With stencils of order four, a function that changes by 1 over a length L has
# errors of (e/L)^4 + 2e-16 L/e in first and (e/L)^4 + 2e-16 (L/e)^2 in second derivatives, relative to 1/L and 1/L^2.
# At L = 1 they are 2e-12 and 2e-9; larger steps are better there, but not at L = 0.01: 1e-8 and 1e-6.
FIRST_STEP, SECOND_STEP = 1e-4, 3e-4
SIDES = (-2, -1, 1, 2)  # stencil points, in steps
# Weights of these points for first and second derivatives; the middle point has the weights 0 and -2.5
FIRST, SECOND = np.array([1, -8, 8, -1]) / 12.0, np.array([-1, 16, 16, -1]) / 12.0


class SecondOrder(NamedTuple):
    """The `value` of a function of two numbers x and y, with its first and second partial derivatives.

    `slopes` (2,) are the derivatives by x and y, and `curvature` (2, 2) is the symmetric matrix of second derivatives.
    """

    value: Number
    slopes: Array
    curvature: Array


@singledispatch
def second_order_for(kind: object, function: Callable[[Any, Any], Any], x: Number, y: Number) -> SecondOrder:
    """Return value and derivatives of function(x, y); the type of the number `kind` selects the implementation.

    This implementation, for floats, uses finite differences of order four. The value of `function` is one number.
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


def rate_along(function: Callable[[Array], Array], x: Array, direction: Array, step: Number, size: int) -> Array:
    """Return the derivative (size,) of function(x + s direction) with respect to s at s = 0.

    x and `direction` are (n,), s is a number, and the values of `function` are (size,). The derivative is exact for
    traced numbers, unless the function has compiled loops. Otherwise it is the central difference between s = step and
    s = -step.
    """
    kind = sum(x, 0.0) + sum(direction, 0.0)
    return rate_along_for(kind, function, x, direction, step, size)


@singledispatch
def rate_along_for(
    kind: object,
    function: Callable[[Array], Array],
    x: Array,
    direction: Array,
    step: Number,
    size: int,
) -> Array:
    """Return the derivative (size,) of `function` at x (n,) along a direction (n,); see `rate_along`.

    The type of the number `kind` selects the implementation. This one, for floats, uses a central difference with
    this `step`.
    """
    return central_difference(function, x, direction, step, size)


def central_difference(
    function: Callable[[Array], Array], x: Array, direction: Array, step: Number, size: int
) -> Array:
    """Return the derivative (size,) of `function` at x (n,) along a direction (n,), as a central difference.

    It is (function(x + step direction) - function(x - step direction)) / (2 step).
    """

    def add(k: Number, total: Array) -> tuple[Array]:
        side = 2.0 * k - 1.0
        return (total + function(x + direction * (side * step)) * side,)

    (total,) = repeat(2, add, np.zeros(size))
    return total / (2.0 * step)
