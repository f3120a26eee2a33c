"""Extension of a formulation for trees to mimic joints, loops, clutches and brakes by Lagrange multipliers.

The module is independent of `Dynamics`. All joints of the tree remain independent coordinates. Each mimic joint and
each loop adds constraint rows c with c a + bias = 0, whose joint forces are c^T times a multiplier. The rows of loops
come from `algorithms.constraints.constrained_dynamics`; the solution for the multipliers is independent of that module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.algorithms.constraint_ranks import row_terms, smallest_multipliers
from linkwork.algorithms.constraints.constrained_dynamics import reaction_wrenches, rows_and_bias
from linkwork.algorithms.mass_matrix import mass_matrix
from linkwork.algorithms.mimic_reduction import to_tree
from linkwork.algorithms.solver_choice import SolverChoice
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array
from linkwork.tolerances import RANK_OF_UNIT_ROWS

# response(tree, q, forces) returns the accelerations M^-1 forces (nv, k) that additional joint forces (nv, k) cause at
# q
Response = Callable[[Mechanism, Array, Array], Array]


def rows(mechanism: Mechanism, q: Array, v: Array) -> tuple[Array, Array]:
    """Return the constraint matrix C (n, tree.nv) and the bias (n,) of C a + bias = 0 for the tree's accelerations a.

    The n rows belong to mimic joints, then to loops, then to clutches, brakes and other velocity constraints. q and v
    are the coordinates and velocities of the tree, in which mimic joints are independent.
    """
    tree = mechanism.tree
    C = np.zeros((len(mechanism.mimics), tree.nv))
    for row, mimic in zip(C, mechanism.mimics, strict=True):
        row[tree.joints[mimic.joint].v] = 1.0
        row[tree.joints[mimic.of].v] -= mimic.multiplier
    J, gamma = rows_and_bias(tree, q, v)
    return np.vstack([C, J]), np.concatenate([np.zeros(len(C)), gamma])


def independent_velocities(mechanism: Mechanism) -> Array:
    """Return the indices (nv,) of the tree's velocities that belong to independent joints, not to mimic joints."""
    tree = mechanism.tree
    return np.concatenate([np.zeros(0, dtype=int), *(np.r_[tree.joints[j.name].v] for j in mechanism.leaders)])


def forward(function: Callable[..., Array], response: Response) -> Callable[..., Array]:
    """Return a forward dynamics function for constrained mechanisms, built from two functions for trees.

    `function` is the forward dynamics of trees. `response(tree, q, forces)` returns the accelerations that additional
    joint forces cause.
    """

    def run(m: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array) -> Array:
        return _constrained(function, response, m, q, v, tau, wrenches)[0][independent_velocities(m)]

    return run


def _constrained(
    function: Callable[..., Array], response: Response, m: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array
) -> tuple[Array, Array]:
    """Return the accelerations (tree.nv,) of all joints and the multipliers (n,) of the n constraint rows of `rows`.

    `function` is the forward dynamics of trees; `response(tree, q, forces)` returns the accelerations that additional
    joint forces cause. q (nq,), v (nv,) and tau (nv,) belong to the independent joints of the mechanism m; `wrenches`
    (nbodies, 6) act on the bodies.
    """
    state = to_tree(m, ("q", "v"), (q, v))
    C, bias = rows(m, *state)
    on_tree = np.zeros(m.tree.nv)
    on_tree[independent_velocities(m)] = tau
    free = function(m.tree, *state, on_tree, wrenches)
    if not len(C):
        return free, np.zeros(0)
    added = response(m.tree, state[0], C.T)
    # Constraint rows may be redundant: use the multipliers of least norm
    terms = np.concatenate([C[: len(m.mimics)] ** 2, row_terms(m.tree, state[0])])
    inverse_masses = np.linalg.inv(mass_matrix(m.tree, state[0])).diagonal()
    multipliers = -smallest_multipliers(C @ added, C @ free + bias, terms, inverse_masses, RANK_OF_UNIT_ROWS)
    return free + added @ multipliers, multipliers


def inverse(function: Callable[..., Array]) -> Callable[..., Array]:
    """Return an inverse dynamics function for mechanisms with mimic joints, built from `function` for trees.

    The force of a mimic joint, multiplied by its ratio, is added to the force of the independent joint that it mimics.
    """

    def run(m: Mechanism, q: Array, v: Array, a: Array, wrenches: Array) -> Array:
        return m.spread.T @ function(m.tree, *to_tree(m, ("q", "v", "a"), (q, v, a)), wrenches)

    return run


def mass(function: Callable[[Mechanism, Array], Array] | None) -> Callable[[Mechanism, Array], Array] | None:
    """Return a mass matrix function for mechanisms with mimic joints, built from `function` for trees."""
    if function is None:
        return None
    return lambda m, q: m.spread.T @ function(m.tree, m.tree_position(q)) @ m.spread


def reactions(
    function: Callable[..., Array] | None, solve: Callable[..., Array], response: Response, forces: Callable[..., Any]
) -> Callable[..., Array] | None:
    """Return a function for the reaction wrenches of constrained mechanisms, built from functions for trees.

    `function` computes the reaction wrenches of trees; if it is None, the result is None. `solve` is the forward
    dynamics of trees, `response(tree, q, forces)` returns the accelerations that additional joint forces cause, and
    `forces` the inverse dynamics of trees.
    """
    if function is None:
        return None

    def by_multipliers(m: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array) -> Array:
        a, multipliers = _constrained(solve, response, m, q, v, tau, wrenches)
        state = to_tree(m, ("q", "v"), (q, v))
        loops = reaction_wrenches(m.tree, state[0], multipliers[len(m.mimics) : len(m.mimics) + m.nc])
        outside = wrenches + loops.on_bodies
        through = function(m.tree, *state, forces(m.tree, *state, a, outside), outside)
        return np.concatenate([through, loops.through_loops])

    solvers = SolverChoice(function, by_multipliers, by_multipliers, by_multipliers)
    return lambda m, *state: solvers.of(m)(m, *state)
