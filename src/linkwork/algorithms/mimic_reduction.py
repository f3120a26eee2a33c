"""Dynamics of mechanisms with mimic joints: results of the tree of all joints, reduced to the independent joints.

In the tree all joints are independent. The joints of the tree move as q_tree = G q + g, v_tree = G v with a constant
mimic matrix G and constant offsets g. Power is the same in the coordinates of the tree and of the mechanism, so joint
forces are tau = G^T tau_tree, and M = G^T M_tree G. The recursive algorithms of the tree thus apply to the mechanism
too. Only forward dynamics must solve with M, because mimic joints couple branches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.algorithms.constraints import constrained_dynamics
from linkwork.algorithms.constraints.dense_solver import DenseConstraints
from linkwork.algorithms.dynamics_derivatives import inverse_dynamics_derivatives
from linkwork.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.algorithms.kinematics import kinematics
from linkwork.algorithms.mass_matrix import mass_matrix
from linkwork.algorithms.solver_choice import SolverChoice
from linkwork.model.elements.velocity_constraint import may_be_engaged
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import LDLT, Array, Number, largest, ldlt

Algorithm = Callable[..., Array]


def to_tree(mechanism: Mechanism, names: Sequence[str], state: Sequence[Array]) -> list[Array]:
    """Return the state of a mechanism in the coordinates of all joints of its tree: q (tree.nq,), v and a (tree.nv,).

    Each mimic joint has coordinates in the tree. `state` has the arrays to convert and `names` their names "q", "v" or
    "a"; arrays with other names, such as "tau", are unchanged.
    """
    expand = {"q": mechanism.tree_position, "v": mechanism.tree_velocity, "a": mechanism.tree_velocity}
    return [expand.get(name, np.asarray)(array) for name, array in zip(names, state, strict=True)]


def _reduced_forces(G: Array, tau: Array) -> Array:
    """Return the joint forces G^T tau (nv,) of the independent joints.

    tau (tree.nv,) are the forces of all joints, and G (tree.nv, nv) is the mimic matrix.
    """
    return G.T @ tau


def _reduced_columns(G: Array, J: Array) -> Array:
    """Return the Jacobian J G (k, nv) for the independent velocities.

    J (k, tree.nv) is the Jacobian for all joints, and G (tree.nv, nv) the mimic matrix.
    """
    return J @ G


def _reduced_rows(G: Array, J: Array) -> Array:
    """Return the loop Jacobian J G (nc, nv) for the independent velocities; rows that are only round-off are zero.

    J (nc, tree.nv) is the Jacobian for all joints, and G (tree.nv, nv) the mimic matrix.
    """
    return constrained_dynamics.without_noise(J @ G, [sum((x * x for x in row), 0.0) for row in J])


def _unchanged(G: Array, found: Array) -> Array:
    """Return `found`, a result that mimic joints do not change, such as an energy; G is not used."""
    return found


def _reduced_both(G: Array, M: Array) -> Array:
    """Return the matrix G^T M G (..., nv, nv) of the independent joints, from M (..., tree.nv, tree.nv) of all joints.

    G (tree.nv, nv) is the mimic matrix.
    """
    return G.T @ M @ G


# Reduction of each quantity from the tree to the independent joints; other quantities are unchanged.
REDUCTIONS: dict[str, Callable[[Array, Array], Array]] = {
    **dict.fromkeys(("inverse_dynamics", "bias", "gravity", "passive"), _reduced_forces),
    **dict.fromkeys(("jacobian", "jacobian_rate", "momentum_matrix"), _reduced_columns),
    "constraint_jacobian": _reduced_rows,
    **dict.fromkeys(("mass_matrix", "inverse_dynamics_derivatives"), _reduced_both),
}


def reduced(quantity: str, mechanism: Mechanism, found: Array) -> Array:
    """Return a result for the independent joints, such as joint forces (nv,), computed from the result for all joints.

    `quantity` names the result, such as "mass_matrix". `found` is the result for the tree in which mimic joints are
    independent.
    """
    reduce = REDUCTIONS.get(quantity, _unchanged)
    return SolverChoice.by_joints(lambda: found, lambda: reduce(mechanism.spread, found)).of(mechanism)()


def reduced_rows(mechanism: Mechanism, J: Array) -> Array:
    """Return the loop Jacobian (nc, nv) for the independent velocities, from J (nc, tree.nv) for all joints."""
    return reduced("constraint_jacobian", mechanism, J)


def for_mimic_joints(quantity: str, algorithm: Algorithm, names: Sequence[str]) -> Algorithm:
    """Return `algorithm`, written for trees, extended to mechanisms with mimic joints, loops, clutches and brakes.

    `quantity` is the name of the algorithm's result, such as "mass_matrix"; `names` are the names of its array
    arguments, such as "q" and "v".
    """

    def by_tree(mechanism: Mechanism, *state: Array) -> Array:
        return reduced(quantity, mechanism, algorithm(mechanism.tree, *to_tree(mechanism, names, state)))

    with_mimic_joints = WITH_MIMIC_JOINTS.get(quantity, by_tree)
    constrained = CONSTRAINED.get(quantity)
    solvers = SolverChoice(algorithm, constrained or algorithm, with_mimic_joints, constrained or with_mimic_joints)
    return lambda mechanism, *state: solvers.of(mechanism)(mechanism, *state)


# --- mimic joints: quantities that need a solution with the mass matrix ---


def mass_solver(mechanism: Mechanism, q: Array) -> Callable[[Array], Array]:
    """Return a function that solves M x = b with the mass matrix M at q (nq,), for b of shape (nv,) or (nv, k)."""
    return _factored(mechanism, q).solve


def _factored(mechanism: Mechanism, q: Array) -> LDLT:
    """Return the factored mass matrix (nv, nv) of the independent joints at q (nq,)."""
    G = mechanism.spread
    return ldlt(G.T @ mass_matrix(mechanism.tree, mechanism.tree_position(q)) @ G)


def forward_dynamics(mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> Array:
    """Return the accelerations (nv,) [rad/s^2, m/s^2] of the independent joints: M^-1 (tau - G^T bias).

    q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities, and `wrenches`
    (nbodies, 6) [N, N m] act on the bodies at their origins, in their axes.
    """
    positions, velocities = to_tree(mechanism, ("q", "v"), (q, v))
    bias = inverse_dynamics(mechanism.tree, positions, velocities, np.zeros(mechanism.tree.nv), wrenches).tau
    return _factored(mechanism, q).solve(tau - mechanism.spread.T @ bias)


def forward_dynamics_derivatives(mechanism: Mechanism, q: Array, v: Array, tau: Array) -> Array:
    """Return the derivatives (3, nv, nv) of the independent joints' accelerations by q (tangent space), v and tau.

    They are in this order. q is (nq,), v and tau are (nv,).
    """
    a = forward_dynamics(mechanism, q, v, tau)
    state = to_tree(mechanism, ("q", "v", "a"), (q, v, a))
    by_q, by_v, _ = _reduced_both(mechanism.spread, inverse_dynamics_derivatives(mechanism.tree, *state))
    M = _factored(mechanism, q)
    return np.array([-M.solve(by_q), -M.solve(by_v), M.solve(np.eye(mechanism.nv))])


def reactions(mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> Array:
    """Return the wrench (njoints, 6) [N, N m] of the parent on the child through each joint, in the child's frame.

    q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities, tau (nv,) [N m or
    N] are joint forces, and `wrenches` (nbodies, 6) [N, N m] act on the bodies at their origins, in their axes.
    """
    a = forward_dynamics(mechanism, q, v, tau, wrenches)
    positions, velocities, accelerations = to_tree(mechanism, ("q", "v", "a"), (q, v, a))
    force = inverse_dynamics(mechanism.tree, positions, velocities, accelerations, wrenches).force
    return np.array([F.array for F in force[1:]]).reshape(len(mechanism.joints), 6)


WITH_MIMIC_JOINTS: dict[str, Callable[..., Any]] = {
    "forward_dynamics": forward_dynamics,
    "forward_dynamics_derivatives": forward_dynamics_derivatives,
    "reactions": reactions,
    "consistent": lambda mechanism, q, v: v,
    "carried": lambda mechanism, *state: carried(mechanism, *state),
}


# --- mechanisms with constraints ---


def constrained_forward_dynamics(
    mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None = None, baumgarte: float = 0.0
) -> constrained_dynamics.Constrained:
    """Return accelerations (nv,) and constraint multipliers (nh,), for mechanisms with and without mimic joints.

    With a rate `baumgarte` [1/s] above 0, closure errors of loops decay like critically damped springs. q (nq,) [rad or
    m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities, tau (nv,) [N m or N] are joint
    forces, and `wrenches` (nbodies, 6) [N, N m] act on the bodies at their origins, in their axes.
    """
    solvers = SolverChoice.by_joints(constrained_dynamics.forward_dynamics, _reduced_constrained_dynamics)
    return solvers.of(mechanism)(mechanism, q, v, tau, wrenches, baumgarte)


def _reduced_constrained_dynamics(
    mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None, baumgarte: float
) -> constrained_dynamics.Constrained:
    """Return accelerations (nv,) and constraint multipliers (nh,) of a mechanism with mimic joints.

    With a rate `baumgarte` [1/s] above 0, closure errors of loops decay like critically damped springs. q (nq,) [rad or
    m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities, tau (nv,) [N m or N] are joint
    forces, and `wrenches` (nbodies, 6) [N, N m] act on the bodies at their origins, in their axes.
    """
    free = forward_dynamics(mechanism, q, v, tau, wrenches)
    return constrained_accelerations(mechanism, q, v, free, _factored(mechanism, q).solve, baumgarte)


def constrained_accelerations(
    mechanism: Mechanism, q: Array, v: Array, free: Array, solve: Callable[[Array], Array], baumgarte: float = 0.0
) -> constrained_dynamics.Constrained:
    """Return accelerations (nv,) and multipliers (nh,) with constraints, from accelerations `free` (nv,) without them.

    `solve` solves M x = b with the mass matrix M. With a rate `baumgarte` [1/s] above 0, closure errors of loops decay
    like critically damped springs. q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates
    and velocities.
    """
    positions, velocities = to_tree(mechanism, ("q", "v"), (q, v))
    J, gamma = constrained_dynamics.rows_and_bias(mechanism.tree, positions, velocities)
    constraints = DenseConstraints.of(reduced_rows(mechanism, J), solve)
    J, target = constraints.J, -gamma
    if baumgarte:
        errors = constrained_dynamics.active_constraints(mechanism.tree, positions).errors
        target = constrained_dynamics.stabilized(target, errors, J @ v, baumgarte)
    multipliers = constraints.multipliers(target - J @ free)
    return constrained_dynamics.Constrained(free + constraints.change(multipliers), multipliers)


def project_state(
    mechanism: Mechanism, q: Array, v: Array, iterations: int = constrained_dynamics.PROJECTION_ITERATIONS
) -> constrained_dynamics.Projection:
    """Return coordinates and velocities projected onto the constraints; see `constrained_dynamics.project_state`.

    q (nq,) and v (nv,) are the coordinates and velocities before the projection. `iterations` is the number of Newton
    iterations.
    """
    return constrained_dynamics.project_state(mechanism, q, v, active_constraints, iterations)


def project_positions(mechanism: Mechanism, q: Array, iterations: int) -> tuple[Array, Number]:
    """Return coordinates (nq,) projected onto the loops, and the largest remaining closure error [m or rad].

    q (nq,) are the coordinates before the projection. `iterations` is the number of Newton iterations.
    """
    q, _ = constrained_dynamics.project_positions(mechanism, q, active_constraints, iterations)
    return q, largest(active_constraints(mechanism, q).errors)


def consistent_velocity(mechanism: Mechanism, q: Array, v: Array) -> Array:
    """Return the velocities (nv,) [rad/s or m/s] nearest to v (nv,) that satisfy the constraints at q (nq,).

    The velocities are nearest in the metric of kinetic energy.
    """
    return constrained_dynamics.consistent_velocity(active_constraints(mechanism, q), v)


def constraint_row_matrix(mechanism: Mechanism, q: Array) -> Array:
    """Return the constraint rows (nh, nv) of loops, clutches and brakes at q (nq,), with and without mimic joints."""
    return errors_and_rows(mechanism, q)[1]


def errors_and_rows(mechanism: Mechanism, q: Array) -> tuple[Array, Array]:
    """Return the closure errors (nc,) [m or rad] of the loops, and the rows (nh, nv) of all constraints, at q (nq,)."""
    tree, (position,) = mechanism.tree, to_tree(mechanism, ("q",), (q,))
    motion = kinematics(tree, position, np.zeros(tree.nv))
    loops = constrained_dynamics.loop_states(tree, motion.X)
    J = constrained_dynamics.all_rows(tree, motion, loops)
    return constrained_dynamics.errors(loops), reduced_rows(mechanism, J)


def velocities(mechanism: Mechanism, q: Array, p: Array) -> Array:
    """Return the velocities (nv,) at q (nq,) for given momenta p (nv,) [N s, N m s], projected onto the constraints."""
    solvers = SolverChoice.by_joints(constrained_dynamics.velocities, _reduced_velocities)
    return solvers.of(mechanism)(mechanism, q, p)


def _reduced_velocities(mechanism: Mechanism, q: Array, p: Array) -> Array:
    """Return the velocities (nv,) at q (nq,) for momenta p (nv,) [N s, N m s] of a mechanism with mimic joints.

    The velocities are projected onto the constraints; see `velocities`.
    """
    return consistent_velocity(mechanism, q, mass_solver(mechanism, q)(p))


def active_constraints(mechanism: Mechanism, q: Array) -> constrained_dynamics.ActiveConstraints:
    """Return the constraints of a mechanism at q (nq,): closure errors, rates of the rows, and response to impulses.

    The mechanism may have mimic joints.
    """
    none, of_tree = constrained_dynamics.no_constraints, constrained_dynamics.active_constraints
    solvers = SolverChoice(tree=none, articulated=of_tree, mimic=none, dense=_reduced_constraints)
    return solvers.of(mechanism)(mechanism, q)


def _reduced_constraints(mechanism: Mechanism, q: Array) -> constrained_dynamics.ActiveConstraints:
    """Return the constraints at q (nq,) of a mechanism with mimic joints; see `active_constraints`."""
    (position,) = to_tree(mechanism, ("q",), (q,))
    tree = constrained_dynamics.active_constraints(mechanism.tree, position)
    constraints = DenseConstraints.of(constraint_row_matrix(mechanism, q), _factored(mechanism, q).solve)

    def push(target: Array) -> constrained_dynamics.Constrained:
        impulses = constraints.multipliers(target)
        return constrained_dynamics.Constrained(constraints.change(impulses), impulses)

    return constrained_dynamics.ActiveConstraints(tree.errors, lambda v: constraints.J @ v, push)


def constrained_reactions(mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> Array:
    """Return the wrenches (njoints + nloops, 6) [N, N m] through all joints, then through all loops.

    The wrench of a joint is that of the parent on the child, in the child's frame. The wrench of a loop is that of its
    body a on its body b, in b's frame. q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the
    coordinates and velocities, and tau (nv,) [N m or N] are joint forces.
    """
    found = constrained_forward_dynamics(mechanism, q, v, tau, wrenches)
    positions, velocities, a = to_tree(mechanism, ("q", "v", "a"), (q, v, found.a))
    loops = constrained_dynamics.reaction_wrenches(mechanism.tree, positions, found.multipliers[: mechanism.nc])
    outside = loops.on_bodies if wrenches is None else wrenches + loops.on_bodies
    force = inverse_dynamics(mechanism.tree, positions, velocities, a, outside).force
    return np.concatenate([np.array([F.array for F in force[1:]]).reshape(-1, 6), loops.through_loops])


def carried(mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> Array:
    """Return the force (k,) [N m or N] in each of the k rows of clutches, brakes and other velocity constraints.

    The force of a released element is 0. The force of a clutch is the force on its joint b. tau (nv,) [N m or N] are
    joint forces, and `wrenches` (nbodies, 6) [N, N m] act on the bodies at their origins, in their axes. q (nq,) [rad
    or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities.
    """
    forces = iter(constrained_forward_dynamics(mechanism, q, v, tau, wrenches).multipliers[mechanism.nc :])
    rows = [row for item in mechanism.velocity_constraints for row in item.velocity_rows]
    return np.array([next(forces) * row.engaged if may_be_engaged(row.engaged) else 0.0 for row in rows])


CONSTRAINED: dict[str, Callable[..., Any]] = {
    "forward_dynamics": lambda *state: constrained_forward_dynamics(*state).a,
    "reactions": constrained_reactions,
    "consistent": consistent_velocity,
    "carried": carried,
}
