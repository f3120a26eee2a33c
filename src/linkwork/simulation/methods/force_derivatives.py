"""Derivatives of joint forces of controllers by the motion through a step, for Newton's matrix.

A servo is a spring and a damper that only its controller knows. Beside light links it is stiff: iterations whose matrix
leaves it out converge slowly, or not at all where half a step times its damping is more than the inertia it moves.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from linkwork.spatial.scalar import Array, where

# Operations of a controller for each velocity, beyond which it is left out: servos have about ten, and a derivative
# that is no longer; computed torque of seven joints has 120, and a derivative of 1,100
SHORT = 60
STEEP = 1e300  # derivatives beyond it, and those that are NaN, are ignored
NEAR = 1e-7  # a difference of plain numbers, for those of a few meters or radians in a second


def slopes(forces: Callable[[Array], Array], x: Array) -> Array:
    """The derivative (nv, nv) of forces (nv,) by the numbers x (nv,) of a motion, 0.0 where nothing depends on them.

    Of traced numbers it is exact, but left out of long functions; of plain ones, of whose function nothing is known, it
    is found by differences. Newton's method ends at the same motion with any.
    """
    if x.dtype == object:
        from linkwork.compiler import jacobian_if_short  # the compiler, which runs whose code is on disk do without

        found = jacobian_if_short(forces, SHORT * len(x))(x)
    else:
        here = forces(x)
        columns = [(forces(x + step) - here) / NEAR for step in np.eye(len(x)) * NEAR]
        found = np.array(columns).reshape(len(x), -1).T
    finite = [where(abs(slope) <= STEEP, slope, 0.0) for slope in found.ravel()]  # a speed has none at rest
    return np.array(finite, dtype=found.dtype).reshape(found.shape)
