"""Derivatives of inverse and forward dynamics with the friction of joints, for trees.

In inverse dynamics, the motion determines the loads, so that friction is an explicit function of q, v and a. The graph
of this function is differentiated. Forward dynamics solves ID(q, v, a) = tau for a, where ID is inverse dynamics; its
derivatives follow from those of ID at the solution. The acceleration of a sticking joint is zero, and so are its
derivatives.
"""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.joint_friction import friction_dynamics
from linkwork.algorithms.joint_friction.friction_sites import sites, slip_velocities
from linkwork.algorithms.tangent_space import qdot
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array, Number, lu, maximum, where
from linkwork.tolerances import STICKING_SPEED


def inverse_dynamics_derivatives(mechanism: Mechanism, q: Array, v: Array, a: Array) -> Array:
    """Return the derivatives (3, nv, nv) of the joint forces with friction by q (tangent space), v and a."""
    # imported only here, so that importing linkwork loads no compiler
    from linkwork.compiler.function_jacobian import jacobian

    def inverse(*state: Array) -> Array:
        return friction_dynamics.inverse_dynamics(mechanism, *state)

    by_q, by_v, by_a = (jacobian(inverse, argument)(q, v, a) for argument in range(3))
    along = np.array([qdot(mechanism, q, unit) for unit in np.eye(mechanism.nv)])
    return np.array([by_q @ along.T, by_v, by_a])


def forward_dynamics_derivatives(mechanism: Mechanism, q: Array, v: Array, tau: Array) -> Array:
    """Return the derivatives (3, nv, nv) of the accelerations with friction by q (tangent space), v and tau."""
    a = friction_dynamics.forward_dynamics(mechanism, q, v, tau)
    by_q, by_v, by_a = inverse_dynamics_derivatives(mechanism, q, v, a)
    moves = _moves(mechanism, q, v, a)
    unit = np.eye(mechanism.nv)
    rows = moves[:, None]
    factors = lu(by_a * rows * moves[None, :] + unit * (1.0 - moves))
    return np.array([factors.solve(-by_q * rows), factors.solve(-by_v * rows), factors.solve(unit * rows)])


def _moves(mechanism: Mechanism, q: Array, v: Array, a: Array) -> Array:
    """Return 1 for each velocity (nv,) that moves or begins to move, and 0 for velocities at which a joint sticks."""
    speeds, changes = slip_velocities(mechanism, q, v), slip_velocities(mechanism, q, a)
    G, found = mechanism.spread, list(np.ones(mechanism.nv))
    for site in sites(mechanism):
        assert site.joint
        numbers = range(site.joint.v.start, site.joint.v.stop)
        for n, k in zip(range(site.start, site.start + site.size), numbers, strict=True):
            moves = where(maximum(abs(speeds[n]), abs(changes[n])) > STICKING_SPEED, 1.0, 0.0)
            for i in np.flatnonzero(G[k]):
                found[i] = _smaller(found[i], moves)
    return np.array(found)


def _smaller(x: Number, y: Number) -> Number:
    """Return the smaller of two numbers, which may be traced."""
    return where(x < y, x, y)
