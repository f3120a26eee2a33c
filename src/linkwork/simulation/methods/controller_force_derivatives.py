"""Derivatives of controller forces with respect to the motion within a step, for Newton's matrix.

A servo acts like a spring and a damper, which is stiff if the link is light. Without its derivatives in the matrix,
Newton's method converges slowly, or diverges if half a step times the damping exceeds the inertia that the servo moves.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from linkwork.simulation.methods.method_tolerances import DIFFERENCE_STEP
from linkwork.spatial.scalar import Array, where
from linkwork.tolerances import HUGE

# A controller with more operations per velocity is not differentiated. Servos have about ten, and their derivative has
# no more. Computed torque of seven joints has 120, and its derivative 1,100.
SHORT = 60


def force_jacobian(forces: Callable[[Array], Array], x: Array) -> Array:
    """Return the derivative (nv, nv) of the joint forces or impulses forces(x) (nv,) with respect to x (nv,).

    The derivative is exact for traced numbers, and a difference quotient for floats. If the traced function has too
    many operations, the result is zeros; Newton's method then needs more iterations, but its solution does not change.
    """
    if x.dtype == object:
        # imported only here, because runs with a cached kernel need no compiler
        from linkwork.compiler import jacobian_if_short

        found = jacobian_if_short(forces, SHORT * len(x))(x)
    else:
        here = forces(x)
        columns = [(forces(x + step) - here) / DIFFERENCE_STEP for step in np.eye(len(x)) * DIFFERENCE_STEP]
        found = np.array(columns).reshape(len(x), -1).T
    # a derivative can be infinite or nan, for example that of a norm at zero
    finite = [where(abs(x) <= HUGE, x, 0.0) for x in found.ravel()]
    return np.array(finite, dtype=found.dtype).reshape(found.shape)
