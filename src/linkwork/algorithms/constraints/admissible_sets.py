"""Admissible sets of constraint multipliers, and the projections onto them: interval, ball and friction cone.

An interval bounds one multiplier (clutch, brake, ratchet, contact normal). A ball bounds the length of one or two
multipliers (tangential friction, rolling and spinning torques). A cone bounds a contact impulse by its normal
component.
"""

from __future__ import annotations

import numpy as np

from linkwork.spatial.scalar import Array, Number, maximum, minimum, where
from linkwork.tolerances import TINY_SIZE


def clipped(x: Number, lower: Number, upper: Number | None = None) -> Number:
    """Return the number nearest to x in the interval [lower, upper]; without `upper`, in [lower, infinity)."""
    least = maximum(x, lower)
    return least if upper is None else minimum(least, upper)


def length(x: Array) -> Number:
    """Return the Euclidean length of a vector x of one or two components, (1,) or (2,)."""
    return abs(x[0]) if len(x) == 1 else np.sqrt(x[0] * x[0] + x[1] * x[1])


def excess(size: Number, radius: Number) -> Number:
    """Return the fraction (size - radius) / size of a vector's length that exceeds `radius`; 0 if none does.

    `size` is the length of the vector. A vector reduced by this fraction has the length `radius`.
    """
    return maximum(size - radius, 0.0) / maximum(size, TINY_SIZE)


def into_ball(x: Array, radius: Number) -> Array:
    """Return the point (d,) of the ball of the given `radius` about zero that is nearest to x (d,)."""
    size = length(x)
    return x * where(size > radius, radius / maximum(size, TINY_SIZE), 1.0)


def into_cone(friction: Number, p: Array) -> Array:
    """Return the impulse (3,) nearest to p (3,) in the friction cone |p_t| <= friction p_n; normal part p_n first."""
    along = length(p[1:])
    normal = maximum(p[0] + friction * along, 0.0) / (1.0 + friction * friction)
    edge = where(friction * along <= -p[0], 0.0, normal)
    outside = along > friction * p[0]
    return where(outside, np.array([edge, *(p[1:] * (friction * edge / maximum(along, TINY_SIZE)))]), p)
