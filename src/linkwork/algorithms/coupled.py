"""Mechanisms in which joints mimic others: the tree's answers, brought to the coordinates that move on their own.

All joints of the tree move as q_tree = G q + g, v_tree = G v with constant G. Power is the same either way, so joint
forces are tau = G^T tau_tree, and M = G^T M_tree G. What the recursions say of the tree thus holds for the mechanism;
only forward dynamics must solve with M, since a coupling ties branches together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.algorithms.derivatives import inverse_dynamics_derivatives
from linkwork.algorithms.inverse import inverse_dynamics
from linkwork.algorithms.mass import mass_matrix
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import LDLT, Array, ldlt

Algorithm = Callable[..., Array]


def to_tree(mechanism: Mechanism, names: Sequence[str], state: Sequence[Array]) -> list[Array]:
    """Named arrays of a state as the tree takes them: q (tree.nq,) [rad, m], v and a (tree.nv,), others as they are."""
    spread = {"q": mechanism.tree_position, "v": mechanism.tree_velocity, "a": mechanism.tree_velocity}
    return [spread.get(name, np.asarray)(array) for name, array in zip(names, state, strict=True)]


def _reduced_forces(G: Array, tau: Array) -> Array:
    return G.T @ tau


def _reduced_columns(G: Array, J: Array) -> Array:
    return J @ G


def _reduced_both(G: Array, M: Array) -> Array:
    return G.T @ M @ G


# What becomes of the tree's answers; those that are not here stay as they are.
REDUCTIONS: dict[str, Callable[[Array, Array], Array]] = {
    **dict.fromkeys(("inverse_dynamics", "bias", "gravity", "passive"), _reduced_forces),
    **dict.fromkeys(("jacobian", "jacobian_rate", "momentum_matrix"), _reduced_columns),
    **dict.fromkeys(("mass_matrix", "inverse_dynamics_derivatives"), _reduced_both),
}


def coupled(quantity: str, algorithm: Algorithm, names: Sequence[str]) -> Algorithm:
    """The algorithm of a quantity, which takes the named arrays of a state, for mechanisms with and without mimics."""

    def run(mechanism: Mechanism, *state: Array) -> Array:
        if not mechanism.mimics:
            return algorithm(mechanism, *state)
        if quantity in SOLVED:
            return SOLVED[quantity](mechanism, *state)
        found = algorithm(mechanism.tree, *to_tree(mechanism, names, state))
        return REDUCTIONS[quantity](mechanism.spread, found) if quantity in REDUCTIONS else found

    return run


# --- what must be solved for ---


def _factored(mechanism: Mechanism, q: Array) -> LDLT:
    G = mechanism.spread
    return ldlt(G.T @ mass_matrix(mechanism.tree, mechanism.tree_position(q)) @ G)


def forward_dynamics(mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> Array:
    """Accelerations (nv,) [rad/s^2, m/s^2] of the joints that move on their own: M^-1 (tau - G^T bias)."""
    positions, velocities = to_tree(mechanism, ("q", "v"), (q, v))
    bias = inverse_dynamics(mechanism.tree, positions, velocities, np.zeros(mechanism.tree.nv), wrenches).tau
    return _factored(mechanism, q).solve(tau - mechanism.spread.T @ bias)


def forward_dynamics_derivatives(mechanism: Mechanism, q: Array, v: Array, tau: Array) -> Array:
    """(3, nv, nv): derivatives of the acceleration by q (tangent space), v and tau."""
    a = forward_dynamics(mechanism, q, v, tau)
    state = to_tree(mechanism, ("q", "v", "a"), (q, v, a))
    by_q, by_v, _ = _reduced_both(mechanism.spread, inverse_dynamics_derivatives(mechanism.tree, *state))
    M = _factored(mechanism, q)
    return np.array([-M.solve(by_q), -M.solve(by_v), M.solve(np.eye(mechanism.nv))])


def reactions(mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> Array:
    """Wrench (njoints, 6) [N, N m] of the parent on the child through each joint, in the child's frame."""
    a = forward_dynamics(mechanism, q, v, tau, wrenches)
    positions, velocities, accelerations = to_tree(mechanism, ("q", "v", "a"), (q, v, a))
    force = inverse_dynamics(mechanism.tree, positions, velocities, accelerations, wrenches).force
    return np.array([F.array for F in force[1:]]).reshape(len(mechanism.joints), 6)


SOLVED: dict[str, Callable[..., Any]] = {
    "forward_dynamics": forward_dynamics,
    "forward_dynamics_derivatives": forward_dynamics_derivatives,
    "reactions": reactions,
}
