"""Derivatives of the forward dynamics of mechanisms with loops, by differentiating the algorithm itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from linkwork.algorithms.mimic_reduction import constrained_forward_dynamics
from linkwork.algorithms.tangent_space import qdot
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array

COMPLEX_STEP = 1e-30  # imaginary step; it can be this small because a complex step has no cancellation


def constrained_forward_derivatives(mechanism: Mechanism, q: Array, v: Array, tau: Array) -> Array:
    """Return the derivatives (3, nv, nv) of a constrained mechanism's accelerations with respect to q, v and tau.

    Those with respect to q (tangent space), v and tau are entries 0, 1 and 2. For traced inputs, the expression graph
    is differentiated. For floats, each column is a complex step, exact to round-off.
    """
    along_q = np.array([qdot(mechanism, q, one) for one in np.eye(mechanism.nv)])
    unit = np.eye(mechanism.nv)
    if q.dtype == object:
        from linkwork.compiler import pushforward

        a = constrained_forward_dynamics(mechanism, q, v, tau).a
        return np.array([pushforward(a, x, along).T for x, along in ((q, along_q), (v, unit), (tau, unit))])

    def columns(moved: Callable[[Array], tuple[Array, Array, Array]], directions: Array) -> Array:
        """Return the derivatives (nv, k) of the acceleration in the directions that are the k rows of `directions`.

        `moved` takes a row of `directions` times a small imaginary number, and returns q, v and tau, one of them
        displaced by this product.
        """
        steps = [constrained_forward_dynamics(mechanism, *moved(1j * COMPLEX_STEP * d)).a for d in directions]
        return np.imag(steps).T / COMPLEX_STEP

    return np.array(
        [
            columns(lambda d: (q + d, v + 0j, tau + 0j), along_q),
            columns(lambda d: (q + 0j, v + d, tau + 0j), unit),
            columns(lambda d: (q + 0j, v + 0j, tau + d), unit),
        ]
    )
