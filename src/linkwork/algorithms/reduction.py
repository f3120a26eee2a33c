"""Mechanisms with mimic joints: results of the tree, mapped to the independent coordinates.

All joints of the tree move as q_tree = G q + g, v_tree = G v with a constant mimic matrix G. Power is the same in both
coordinates, so joint forces are tau = G^T tau_tree, and M = G^T M_tree G. The recursive algorithms of the tree thus
apply to the mechanism too. Only forward dynamics must solve with M, because mimic joints couple branches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from linkwork.algorithms.constraints import constrained_dynamics
from linkwork.algorithms.constraints.dense_solver import DenseConstraints
from linkwork.algorithms.derivatives import inverse_dynamics_derivatives
from linkwork.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.algorithms.mass_matrix import mass_matrix
from linkwork.model.elements.velocity_constraint import may_hold
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import LDLT, Array, Number, largest, ldlt

Algorithm = Callable[..., Array]
Result = TypeVar("Result")


def to_tree(mechanism: Mechanism, names: Sequence[str], state: Sequence[Array]) -> list[Array]:
    """Named arrays of a state in tree coordinates: q (tree.nq,) [rad, m], v and a (tree.nv,), others unchanged."""
    expand = {"q": mechanism.tree_position, "v": mechanism.tree_velocity, "a": mechanism.tree_velocity}
    return [expand.get(name, np.asarray)(array) for name, array in zip(names, state, strict=True)]


def _reduced_forces(G: Array, tau: Array) -> Array:
    return G.T @ tau


def _reduced_columns(G: Array, J: Array) -> Array:
    return J @ G


def _reduced_rows(G: Array, J: Array) -> Array:
    """Loop rows J G (nc, nv), with zeros for rows that are only round-off after the reduction."""
    return constrained_dynamics.without_noise(J @ G, [sum((x * x for x in row), 0.0) for row in J])


def _unchanged(G: Array, found: Array) -> Array:
    return found


def _reduced_both(G: Array, M: Array) -> Array:
    return G.T @ M @ G


# How results of the tree are reduced; quantities that are not listed are unchanged.
REDUCTIONS: dict[str, Callable[[Array, Array], Array]] = {
    **dict.fromkeys(("inverse_dynamics", "bias", "gravity", "passive"), _reduced_forces),
    **dict.fromkeys(("jacobian", "jacobian_rate", "momentum_matrix"), _reduced_columns),
    "constraint_jacobian": _reduced_rows,
    **dict.fromkeys(("mass_matrix", "inverse_dynamics_derivatives"), _reduced_both),
}


def reduced(quantity: str, mechanism: Mechanism, found: Array) -> Array:
    """A quantity of the tree, such as forces (tree.nv,), reduced to the independent joints: (nv,)."""
    return _either(lambda _: found, lambda m: REDUCTIONS.get(quantity, _unchanged)(m.spread, found))(mechanism)


def reduced_rows(mechanism: Mechanism, J: Array) -> Array:
    """The loop rows (nc, nv) in the independent velocities, from those of the tree (nc, tree.nv)."""
    return reduced("constraint_jacobian", mechanism, J)


def coupled(quantity: str, algorithm: Algorithm, names: Sequence[str]) -> Algorithm:
    """Return an algorithm that also applies to mimic joints; `names` are those of its array arguments."""

    def run(mechanism: Mechanism, *state: Array) -> Array:
        if mechanism.constrained and quantity in CLOSED:
            return CLOSED[quantity](mechanism, *state)
        return _either(algorithm, SOLVED.get(quantity, by_tree))(mechanism, *state)

    def by_tree(mechanism: Mechanism, *state: Array) -> Array:
        return reduced(quantity, mechanism, algorithm(mechanism.tree, *to_tree(mechanism, names, state)))

    return run


# --- quantities that need a solution with the mass matrix ---


def mass_solver(mechanism: Mechanism, q: Array) -> Callable[[Array], Array]:
    """A solver for the mass matrix at q, for right-hand sides (nv,) or (nv, k)."""
    return _factored(mechanism, q).solve


def _factored(mechanism: Mechanism, q: Array) -> LDLT:
    G = mechanism.spread
    return ldlt(G.T @ mass_matrix(mechanism.tree, mechanism.tree_position(q)) @ G)


def forward_dynamics(mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> Array:
    """Accelerations (nv,) [rad/s^2, m/s^2] of the independent joints: M^-1 (tau - G^T bias)."""
    positions, velocities = to_tree(mechanism, ("q", "v"), (q, v))
    bias = inverse_dynamics(mechanism.tree, positions, velocities, np.zeros(mechanism.tree.nv), wrenches).tau
    return _factored(mechanism, q).solve(tau - mechanism.spread.T @ bias)


def forward_dynamics_derivatives(mechanism: Mechanism, q: Array, v: Array, tau: Array) -> Array:
    """Derivatives (3, nv, nv) of the acceleration by q (tangent space), v and tau."""
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
    "consistent": lambda mechanism, q, v: v,
    "carried": lambda mechanism, *state: carried(mechanism, *state),
}


# --- mechanisms with constraints ---


def closed_forward_dynamics(
    mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None = None, baumgarte: float = 0.0
) -> constrained_dynamics.Constrained:
    """Accelerations (nv,) and constraint multipliers (nh,), for mechanisms with and without mimic joints."""
    solve = _either(constrained_dynamics.forward_dynamics, _reduced_closed_dynamics)
    return solve(mechanism, q, v, tau, wrenches, baumgarte)


def _reduced_closed_dynamics(
    mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None, baumgarte: float
) -> constrained_dynamics.Constrained:
    free = forward_dynamics(mechanism, q, v, tau, wrenches)
    return held_to(mechanism, q, v, free, _factored(mechanism, q).solve, baumgarte)


def _either(of_tree: Callable[..., Result], reduced: Callable[..., Result]) -> Callable[..., Result]:
    """A function of a mechanism: `of_tree`, or `reduced` for mechanisms with mimic joints."""
    return lambda mechanism, *state: (reduced if mechanism.mimics else of_tree)(mechanism, *state)


def held_to(
    mechanism: Mechanism, q: Array, v: Array, free: Array, solve: Callable[[Array], Array], baumgarte: float = 0.0
) -> constrained_dynamics.Constrained:
    """Constrained accelerations (nv,) and multipliers (nh,), from unconstrained ones `free`; `solve` solves with M."""
    positions, velocities = to_tree(mechanism, ("q", "v"), (q, v))
    J, gamma = constrained_dynamics.rows_and_bias(mechanism.tree, positions, velocities)
    constraints = DenseConstraints.of(reduced_rows(mechanism, J), solve)
    J, target = constraints.J, -gamma
    if baumgarte:
        errors = constrained_dynamics.held(mechanism.tree, positions).errors
        target = constrained_dynamics.stabilized(target, errors, J @ v, baumgarte)
    multipliers = constraints.multipliers(target - J @ free)
    return constrained_dynamics.Constrained(free + constraints.change(multipliers), multipliers)


def closed_again(
    mechanism: Mechanism, q: Array, v: Array, iterations: int = constrained_dynamics.CLOSINGS
) -> constrained_dynamics.Closing:
    """Project coordinates (nq,) and velocities (nv,) onto the constraints; see `constrained_dynamics.closed_again`."""
    return constrained_dynamics.closed_again(mechanism, q, v, held, iterations)


def closed_positions(mechanism: Mechanism, q: Array, iterations: int) -> tuple[Array, Number]:
    """Project coordinates (nq,) onto the loops; return them and the largest remaining closure error."""
    q, _ = constrained_dynamics.closed_positions(mechanism, q, held, iterations)
    return q, largest(held(mechanism, q).errors)


def consistent_velocity(mechanism: Mechanism, q: Array, v: Array) -> Array:
    """Project velocities v (nv,) onto the constraints at q."""
    return constrained_dynamics.consistent_velocity(held(mechanism, q), v)


def held_rows(mechanism: Mechanism, q: Array) -> Array:
    """The rows (nh, nv) of loops, clutches and brakes at q, for mechanisms with and without mimic joints."""
    tree = mechanism.tree
    (position,) = to_tree(mechanism, ("q",), (q,))
    if not mechanism.constrained:
        return np.zeros((0, mechanism.nv))
    return reduced_rows(mechanism, constrained_dynamics.rows_and_bias(tree, position, np.zeros(tree.nv))[0])


def velocities(mechanism: Mechanism, q: Array, p: Array) -> Array:
    """Velocities (nv,) at q that satisfy the loops, from momenta p (nv,) [N s, N m s]."""
    return _either(constrained_dynamics.velocities, _reduced_velocities)(mechanism, q, p)


def _reduced_velocities(mechanism: Mechanism, q: Array, p: Array) -> Array:
    return consistent_velocity(mechanism, q, mass_solver(mechanism, q)(p))


def held(mechanism: Mechanism, q: Array) -> constrained_dynamics.Held:
    """The constraints at q, for mechanisms with and without mimic joints."""
    if not mechanism.constrained:
        return constrained_dynamics.not_held(mechanism)
    return _either(constrained_dynamics.held, _reduced_held)(mechanism, q)


def _reduced_held(mechanism: Mechanism, q: Array) -> constrained_dynamics.Held:
    (position,) = to_tree(mechanism, ("q",), (q,))
    tree = constrained_dynamics.held(mechanism.tree, position)
    constraints = DenseConstraints.of(held_rows(mechanism, q), _factored(mechanism, q).solve)

    def push(target: Array) -> constrained_dynamics.Constrained:
        impulses = constraints.multipliers(target)
        return constrained_dynamics.Constrained(constraints.change(impulses), impulses)

    return constrained_dynamics.Held(tree.errors, lambda v: constraints.J @ v, push)


def closed_reactions(mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> Array:
    """Wrenches (njoints + nloops, 6) [N, N m] of parents on children, in the children's frames; loops: of a on b."""
    found = closed_forward_dynamics(mechanism, q, v, tau, wrenches)
    positions, velocities, a = to_tree(mechanism, ("q", "v", "a"), (q, v, found.a))
    held = constrained_dynamics.reaction_wrenches(mechanism.tree, positions, found.multipliers[: mechanism.nc])
    outside = held.on_bodies if wrenches is None else wrenches + held.on_bodies
    force = inverse_dynamics(mechanism.tree, positions, velocities, a, outside).force
    return np.concatenate([np.array([F.array for F in force[1:]]).reshape(-1, 6), held.through_loops])


def carried(mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> Array:
    """Force (k,) [N m or N] of every clutch (on its b), brake and other velocity constraint; 0 if released."""
    forces = iter(closed_forward_dynamics(mechanism, q, v, tau, wrenches).multipliers[mechanism.nc :])
    rows = [row for item in mechanism.velocity_constraints for row in item.velocity_rows]
    return np.array([next(forces) * row.engaged if may_hold(row.engaged) else 0.0 for row in rows])


CLOSED: dict[str, Callable[..., Any]] = {
    "forward_dynamics": lambda *state: closed_forward_dynamics(*state).a,
    "reactions": closed_reactions,
    "consistent": consistent_velocity,
    "carried": carried,
}
