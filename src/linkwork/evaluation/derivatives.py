"""Derivatives of inverse and forward dynamics along the tangent space of the coordinates.

On floats by a complex step, exact to round-off; on traced numbers by differentiating the graph. Both take the one text
of `inverse_dynamics` and `forward_dynamics`: there is no second one to keep.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from linkwork.algorithms.forward import forward_dynamics
from linkwork.algorithms.inverse import inverse_dynamics
from linkwork.algorithms.mass import factor, mass_matrix
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array

TINY = 1e-30  # a complex step has no cancellation


def inverse_dynamics_derivatives(mechanism: Mechanism, q: Array, v: Array, a: Array) -> Array:
    """(3, nv, nv): the derivatives of tau by q (tangent space), v and a; [., i, j] is that of tau_i by number j."""
    unit = np.eye(mechanism.nv)
    tangents = np.array([mechanism.qdot(q, velocity) for velocity in unit]).reshape(mechanism.nv, mechanism.nq)
    by_q = _along(lambda q: inverse_dynamics(mechanism, q, v, a).tau, q, tangents)
    by_v = _along(lambda v: inverse_dynamics(mechanism, q, v, a).tau, v, unit)
    return np.array([by_q.T, by_v.T, mass_matrix(mechanism, q)])


def forward_dynamics_derivatives(mechanism: Mechanism, q: Array, v: Array, tau: Array) -> Array:
    """(3, nv, nv): the derivatives of the acceleration by q (tangent space), v and tau.

    With tau = ID(q, v, a): da/dq = -M^-1 dID/dq, da/dv = -M^-1 dID/dv, da/dtau = M^-1, which costs less than
    differentiating the articulated-body sweep.
    """
    a = _held(forward_dynamics(mechanism, q, v, tau))
    by_q, by_v, M = inverse_dynamics_derivatives(mechanism, q, v, a)
    solve = factor(mechanism, M).solve
    inverse = np.array([solve(unit) for unit in np.eye(mechanism.nv)]).T
    minus = [-np.array([solve(column) for column in matrix.T]).T for matrix in (by_q, by_v)]
    return np.array([*minus, inverse])


def _held(a: Array) -> Array:
    """Numbers that depend on q and v, but count as constant in the derivatives that follow."""
    if a.dtype != object:
        return a
    from linkwork.compiler.differentiate import held

    return held(a)


def _along(function: Callable[[Array], Array], x: Array, directions: Array) -> Array:
    """Derivatives (k, ...) of function(x) along k directions."""
    if x.dtype == object:
        from linkwork.compiler.differentiate import pushforward  # here, so that importing linkwork loads no compiler

        return pushforward(function(x), x, directions)
    return np.array([np.imag(function(x + 1j * TINY * direction)) / TINY for direction in directions])
