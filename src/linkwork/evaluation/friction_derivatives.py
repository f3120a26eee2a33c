"""Derivatives of inverse and forward dynamics with the friction of joints.

In inverse dynamics, the motion determines the loads, so that friction is an explicit function of q, v and a. The graph
of this function is differentiated. For trees, forward dynamics solves ID(q, v, a) = tau for a, where ID is inverse
dynamics; its derivatives follow from those of ID at the solution. The acceleration of a sticking joint is zero, and so
are its derivatives.

With constraints, the loads depend on multipliers that inverse dynamics does not know. There, the friction forces f
solve E(q, v, tau, f) = 0: the friction of slipping joints agrees with the loads that f causes, and sticking joints have
no acceleration. The derivatives of f follow from those of E, and the accelerations are a function of q, v, tau and f.
"""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.joint_friction import friction_dynamics
from linkwork.algorithms.joint_friction.friction_limits import active_limits, norm
from linkwork.algorithms.joint_friction.friction_sites import sites, slip_bias, slip_velocities, tree_slip_rows
from linkwork.algorithms.joint_friction.joint_friction_tolerances import ADDED_DIAGONAL, REFINEMENTS, STARTS
from linkwork.algorithms.joint_friction.load_response import load_response
from linkwork.algorithms.kinematics import kinematics
from linkwork.algorithms.tangent_space import qdot
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array, Number, largest, lu, maximum, where
from linkwork.tolerances import STICKING_SPEED, TINY


def inverse_dynamics_derivatives(mechanism: Mechanism, q: Array, v: Array, a: Array) -> Array:
    """Return the derivatives (3, nv, nv) of the joint forces with friction, for given accelerations a (nv,).

    They are the derivatives with respect to q (tangent space), v and a, in this order along the first axis. The last
    axis has the nv components of q, v or a.
    """
    # imported only here, so that importing linkwork loads no compiler
    from linkwork.compiler.function_jacobian import jacobian

    def inverse(*state: Array) -> Array:
        return friction_dynamics.inverse_dynamics(mechanism, *state)

    by_q, by_v, by_a = (jacobian(inverse, argument)(q, v, a) for argument in range(3))
    along = np.array([qdot(mechanism, q, unit) for unit in np.eye(mechanism.nv)])
    return np.array([by_q @ along.T, by_v, by_a])


def forward_dynamics_derivatives(mechanism: Mechanism, q: Array, v: Array, tau: Array) -> Array:
    """Return the derivatives (3, nv, nv) of the accelerations with friction, for given joint forces tau (nv,).

    They are the derivatives with respect to q (tangent space), v and tau, in this order along the first axis. The last
    axis has the nv components of q, v or tau.
    """
    if mechanism.constrained:
        return _with_constraints(mechanism, q, v, tau)
    a = friction_dynamics.forward_dynamics(mechanism, q, v, tau)
    by_q, by_v, by_a = inverse_dynamics_derivatives(mechanism, q, v, a)
    moves = _moving_flags(mechanism, q, v, a)
    unit = np.eye(mechanism.nv)
    rows = moves[:, None]
    factors = lu(by_a * rows * moves[None, :] + unit * (1.0 - moves))
    return np.array([factors.solve(-by_q * rows), factors.solve(-by_v * rows), factors.solve(unit * rows)])


def _with_constraints(mechanism: Mechanism, q: Array, v: Array, tau: Array) -> Array:
    """Return the derivatives (3, nv, nv) of the accelerations of a mechanism with constraints and friction.

    They are the derivatives with respect to q (tangent space), v and tau, in this order along the first axis. The last
    axis has the nv components of q, v or tau.
    """
    # imported only here, so that importing linkwork loads no compiler
    from linkwork.compiler.function_jacobian import jacobian

    f, slips = _slips(mechanism, q, v, tau)
    count = len(f)

    def equations(q: Array, v: Array, tau: Array, f: Array, slips: Array) -> Array:
        """Return the accelerations (nv,), then the residuals E (nf,) of the friction forces f (nf,)."""
        response = load_response(mechanism, q, v, tau, None, np.ones(count))
        answer = response.motion(f)
        speeds = slip_velocities(mechanism, q, v)
        residual: list[Number] = [0.0] * count
        for one in active_limits(mechanism, q, speeds, np.zeros(count)):
            pairs = list(zip(one.numbers, one.scales, strict=True))
            moved = np.array([speeds[n] * scale for n, scale in pairs])
            begun = np.array([answer.slip[n] * scale for n, scale in pairs])
            along = where(norm(moved) > STICKING_SPEED, moved / norm(moved), begun / norm(begun))
            limit = one.value(answer.loads[one.site], f)
            for (n, scale), e in zip(pairs, along, strict=True):
                residual[n] = where(slips[n] > 0.5, f[n] + limit * scale * e, answer.slip[n])
        return np.concatenate([answer.a, np.array(residual)])

    state = (q, v, tau, f, slips)
    by_q, by_v, by_tau, by_f = (jacobian(equations, argument)(*state) for argument in range(4))
    along = np.array([qdot(mechanism, q, unit) for unit in np.eye(mechanism.nv)])
    nv = mechanism.nv
    scales = np.array([1.0 / maximum(largest(row), TINY) for row in by_f[nv:]])
    E = by_f[nv:] * scales[:, None]
    factors = lu(E + np.eye(count) * ADDED_DIAGONAL)
    found = []
    for part in (by_q @ along.T, by_v, by_tau):
        right = -part[nv:] * scales[:, None]
        df = factors.solve(right)
        for _ in range(REFINEMENTS):
            df = df + factors.solve(right - E @ df)
        found.append(part[:nv] + by_f[:nv] @ df)
    return np.array(found)


def _slips(mechanism: Mechanism, q: Array, v: Array, tau: Array) -> tuple[Array, Array]:
    """Return the friction forces (nf,) [N m, N] in one state, and a flag (nf,) for each: 1 if it slips, 0 if it sticks.

    The nf friction forces are those of all slip velocities of joints and loops with dry friction. A velocity that is
    zero but begins to change counts as slipping. q (nq,), v (nv,) and tau (nv,) are the state and the joint forces.
    """
    found = friction_dynamics.solve(mechanism, q, v, tau)
    speeds = slip_velocities(mechanism, q, v)
    motion = kinematics(mechanism.tree, mechanism.tree_position(q), mechanism.tree_velocity(v))
    starts = tree_slip_rows(mechanism, motion) @ mechanism.tree_velocity(found.a) + slip_bias(mechanism, motion)
    least = largest(starts) * STARTS + STICKING_SPEED
    slips: list[Number] = [0.0] * len(speeds)
    for one in active_limits(mechanism, q, speeds, np.zeros(len(speeds))):
        pairs = list(zip(one.numbers, one.scales, strict=True))
        moved = norm(np.array([speeds[n] * scale for n, scale in pairs])) > STICKING_SPEED
        begins = norm(np.array([starts[n] * scale for n, scale in pairs])) > least
        for n in one.numbers:
            slips[n] = where(moved | begins, 1.0, 0.0)
    return found.friction, np.array(slips)


def _moving_flags(mechanism: Mechanism, q: Array, v: Array, a: Array) -> Array:
    """Return a flag (nv,) for each velocity: 0 if a joint with dry friction sticks there, else 1.

    A joint slips if its velocity is not zero, or its acceleration is not: it begins to move. A mimic joint that sticks
    also holds the joint that it mimics. q (nq,), v (nv,) and a (nv,) are the motion.
    """
    speeds, changes = slip_velocities(mechanism, q, v), slip_velocities(mechanism, q, a)
    G, found = mechanism.spread, list(np.ones(mechanism.nv))
    for site in sites(mechanism):
        assert site.joint
        numbers = range(site.joint.v.start, site.joint.v.stop)
        for n, k in zip(range(site.start, site.start + site.size), numbers, strict=True):
            moves = where(maximum(abs(speeds[n]), abs(changes[n])) > STICKING_SPEED, 1.0, 0.0)
            for i in np.flatnonzero(G[k]):
                found[i] = _smaller_of(found[i], moves)
    return np.array(found)


def _smaller_of(x: Number, y: Number) -> Number:
    """Return the smaller of two numbers, which may be traced."""
    return where(x < y, x, y)
