"""Forward and inverse dynamics by force/torque propagation (S1, the paper of Muir and Neuman, section 3).

Linear algebra solves the equations of `propagation_equations` together, for accelerations or joint forces and for the
forces of the ground and of loops. This formulation checks the others, and it has dry friction that depends on the load.
The formulation works on floats only and cannot be traced. Deviations from the paper are proved in
docs/papers/muir-neuman.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.constraint_ranks import least_squares, row_terms, smallest_multipliers
from linkwork.algorithms.constraints.constraint_tolerances import SINGULAR_EQUATIONS, UNBALANCED_FORCE
from linkwork.algorithms.formulations.cut_loops import ConstraintRows
from linkwork.algorithms.formulations.friction_power_check import require_dissipation
from linkwork.algorithms.formulations.propagation_equations import NO_FRICTION, LinearFriction, Propagation, propagation
from linkwork.algorithms.mimic_reduction import to_tree
from linkwork.errors import LinkworkError, listed
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array
from linkwork.tolerances import RANK_OF_UNIT_ROWS


class Solution(NamedTuple):
    """A solution of the equations of motion.

    `a` (nv,) [rad/s^2, m/s^2] and `tau` (nv,) [N m, N] are the accelerations and joint forces of the independent
    joints. `friction` (tree.nv,) [N m, N] are the friction forces along the freedoms of all joints of the tree.
    `ground` (ntrees, 6) [N, N m] are the wrenches that hold the ground under each tree: their sum with all other
    forces on the tree is zero. Each acts at the frame of the root joint in the world. `reactions` (njoints + nloops, 6)
    [N, N m] are the wrenches through joints, then loops. A joint's wrench acts from the parent on the child, in the
    child's frame. A loop's wrench acts on the loop's second body, in the frame of this body or of its welded part.
    `multipliers` (n,) belong to the constraint rows of mimic joints, then of loops, then of clutches, brakes and other
    velocity constraints.
    """

    a: Array
    tau: Array
    friction: Array
    ground: Array
    reactions: Array
    multipliers: Array


def forward_dynamics(
    mechanism: Mechanism,
    q: Array,
    v: Array,
    tau: Array,
    wrenches: Array | None = None,
    friction: LinearFriction = NO_FRICTION,
    main: Iterable[str] = (),
) -> Solution:
    """Return accelerations and reactions for joint forces tau (nv,) [N m, N], with all loops closed.

    q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities. `wrenches`
    (nbodies, 6) [N, N m] act on the bodies at their origins, in their axes. `friction` is the dry friction of joints
    and loops. `main` has the names of main bodies, at most one for each tree. If constraint rows are redundant, the
    multipliers of least norm are chosen; with friction, the accelerations depend on this choice.
    """
    equations = propagation(mechanism, q, v, wrenches, friction, main)
    B, columns, rows, nv = equations.balances, equations.columns, equations.rows, equations.mechanism.nv
    on_tree = np.zeros(nv)
    on_tree[independent_velocities(mechanism)] = tau
    known = B[:, columns.tau] @ on_tree + B[:, columns.one]
    found = _solved_balances(equations, columns.a, np.column_stack([known, row_forces(equations), B[:, columns.tau]]))
    free, by_rows, by_forces = np.split(found, [1, 1 + len(rows.J)], axis=1)
    multipliers = np.zeros(len(rows.J))
    if len(rows.J):
        multipliers = -smallest_multipliers(
            rows.J @ by_rows[:nv],
            rows.J @ free[:nv, 0] + rows.bias,
            _squared_terms(mechanism, equations, q),
            np.abs(by_forces[:nv].diagonal()),
            RANK_OF_UNIT_ROWS,
        )
        if equations.friction.depends_on_load:
            _require_closed(rows, by_rows[:nv], free[:nv, 0], multipliers)
    x = free[:, 0] + by_rows @ multipliers
    return _solution(mechanism, equations, x[:nv], on_tree, x[nv:], multipliers)


def inverse_dynamics(
    mechanism: Mechanism,
    q: Array,
    v: Array,
    a: Array,
    wrenches: Array | None = None,
    friction: LinearFriction = NO_FRICTION,
    main: Iterable[str] = (),
) -> Solution:
    """Return joint forces and reactions for accelerations a (nv,) [rad/s^2, m/s^2], with all loops cut open.

    q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities. `wrenches`
    (nbodies, 6) [N, N m] act on the bodies at their origins, in their axes. `friction` is the dry friction of joints
    and loops. `main` has the names of main bodies, at most one for each tree. For closed loops, use `actuator_forces`.
    """
    equations = propagation(mechanism, q, v, wrenches, friction, main)
    B, columns, nv = equations.balances, equations.columns, equations.mechanism.nv
    (on_tree,) = to_tree(mechanism, ("a",), (a,))
    x = _solved_balances(equations, columns.tau, B[:, columns.a] @ on_tree + B[:, columns.one])
    return _solution(mechanism, equations, on_tree, x[:nv], x[nv:], np.zeros(len(equations.rows.J)))


def actuator_forces(
    mechanism: Mechanism,
    q: Array,
    v: Array,
    a: Array,
    actuated: Iterable[str],
    wrenches: Array | None = None,
    friction: LinearFriction = NO_FRICTION,
) -> Solution:
    """Return forces of the actuated joints alone, and reactions, for accelerations a that keep all loops closed.

    a (nv,) [rad/s^2, m/s^2] are the accelerations of the independent joints. A joint without actuator has no actuator
    force (S1 section 5). `actuated` has the names of the actuated joints. If more joints are actuated than the motion
    needs, the joint forces of least norm are chosen; then the multipliers of least norm, if constraint rows are
    redundant. `wrenches` (nbodies, 6) [N, N m] act on the bodies at their origins, in their axes. The function raises a
    LinkworkError if the actuated joints cannot produce the motion. `friction` is the dry friction of joints and loops.
    With friction and redundant rows, `forward_dynamics` may choose other multipliers, and give other accelerations for
    these joint forces. q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and
    velocities.
    """
    names = list(actuated)
    equations = propagation(mechanism, q, v, wrenches, friction)
    B, columns, nv = equations.balances, equations.columns, equations.mechanism.nv
    (on_tree,) = to_tree(mechanism, ("a",), (a,))
    needed = -(B[:, columns.a] @ on_tree + B[:, columns.one])
    chosen = sorted({k for name in names for k in range(mechanism.nv)[mechanism.joints[name].v]})
    driven = independent_velocities(mechanism)[chosen]
    by_rows, mimics = row_forces(equations), len(mechanism.mimics)
    always = np.column_stack([B[:, columns.ground], by_rows[:, :mimics]])  # columns of linearly independent unknowns
    others = _orthogonal_complement(always)
    constraints = others.T @ by_rows[:, mimics:]
    scale = float(np.abs(constraints).max(initial=0.0))
    left, sizes, _ = np.linalg.svd(constraints)
    free = others @ left[:, int((sizes > RANK_OF_UNIT_ROWS * scale).sum()) :]  # balances free of constraint forces
    tau = np.zeros(nv)
    tau[driven] = least_squares(free.T @ B[:, driven + columns.tau.start], free.T @ needed, 1.0)
    left_over = needed - B[:, columns.tau] @ tau
    if np.abs(free.T @ left_over).max(initial=0.0) > UNBALANCED_FORCE * max(1.0, np.abs(needed).max(initial=0.0)):
        raise LinkworkError(f"actuating {listed(names) or 'no joint'} cannot produce this motion; actuate more joints")
    multipliers = least_squares(constraints, others.T @ left_over, scale, RANK_OF_UNIT_ROWS)
    rest = np.linalg.lstsq(always, left_over - by_rows[:, mimics:] @ multipliers, rcond=None)[0]
    ground, following = np.split(rest, [columns.ground.stop - columns.ground.start])
    return _solution(mechanism, equations, on_tree, tau, ground, np.concatenate([following, multipliers]))


def mass_matrix(mechanism: Mechanism, q: Array) -> Array:
    """Return the mass matrix (nv, nv) of the independent joints: the joint forces [N m, N] per unit of acceleration.

    q (nq,) [rad or m, or quaternions] are the coordinates.
    """
    equations, G = propagation(mechanism, q, np.zeros(mechanism.nv)), mechanism.spread
    by_a = equations.balances[:, equations.columns.a] @ G
    return G.T @ _solved_balances(equations, equations.columns.tau, by_a)[: len(G)]


def response(mechanism: Mechanism, q: Array, forces: Array) -> Array:
    """Return the accelerations (nv, k) [rad/s^2, m/s^2] that additional joint forces (nv, k) [N m, N] cause in a tree.

    q (nq,) [rad or m, or quaternions] are the coordinates.
    """
    equations = propagation(mechanism, q, np.zeros(mechanism.nv))
    by_forces = equations.balances[:, equations.columns.tau] @ forces
    return _solved_balances(equations, equations.columns.a, by_forces)[: mechanism.nv]


def independent_velocities(mechanism: Mechanism) -> Array:
    """Return the indices (nv,) of the velocities of independent joints among the velocities of all joints of the tree.

    Independent joints are all joints except mimic joints.
    """
    slices = [mechanism.tree.joints[joint.name].v for joint in mechanism.leaders]
    return np.concatenate([np.zeros(0, dtype=int), *(np.r_[one] for one in slices)])


def row_forces(equations: Propagation) -> Array:
    """Return the coefficients (k, n) of the multipliers of all n constraint rows in the k balance equations.

    `equations` are the equations of motion with their constraint rows.
    """
    B, columns, rows = equations.balances, equations.columns, equations.rows
    as_joint_forces = B[:, columns.tau] @ rows.J.T
    as_joint_forces[:, rows.loops] = B[:, columns.loops]
    return as_joint_forces


def _solved_balances(equations: Propagation, unknown: slice, known: Array) -> Array:
    """Return the k unknowns (k,) or (k, n): those with the columns `unknown`, then the ground forces.

    They solve the k balance equations of `equations`. `known` (k,) or (k, n) is the sum of all other terms; each of n
    columns gives one solution.
    """
    B, ground = equations.balances, equations.columns.ground
    A = np.column_stack([B[:, unknown], B[:, ground]])
    if equations.friction.depends_on_load and _smallest_singular_value(A) < SINGULAR_EQUATIONS:
        raise _no_unique_solution()
    return -np.linalg.solve(A, known)


def _smallest_singular_value(A: Array) -> float:
    """Return the smallest singular value of A (k, k) after its rows and then its columns are scaled.

    The largest magnitude in each row, and then in each column, is scaled to 1.
    """
    rows = np.abs(A).max(axis=1, keepdims=True)
    by_rows = A / np.where(rows > 0.0, rows, 1.0)
    columns = np.abs(by_rows).max(axis=0)
    return float(np.linalg.svd(by_rows / np.where(columns > 0.0, columns, 1.0), compute_uv=False)[-1])


def _no_unique_solution() -> LinkworkError:
    return LinkworkError(
        "the equations of motion with this friction have no unique solution: a joint is at the limit at which it jams "
        "or locks itself; change its friction coupling"
    )


def _require_closed(rows: ConstraintRows, by_rows: Array, free: Array, multipliers: Array) -> None:
    """Raise a LinkworkError if the loops do not stay closed: with friction, suitable multipliers may not exist.

    `rows` are the n constraint rows. All accelerations are those of all joints of the tree: `free` (tree.nv,) without
    multipliers, and `by_rows` (tree.nv, n) due to unit multipliers. `multipliers` (n,) are those of the solution.
    """
    parts = np.column_stack([rows.bias, rows.J * free, (rows.J @ by_rows) * multipliers])
    if (np.abs(parts.sum(axis=1)) > UNBALANCED_FORCE * np.abs(parts).max()).any():
        raise _no_unique_solution()


def _orthogonal_complement(columns: Array) -> Array:
    """Return an orthonormal basis (k, k - n) of the vectors orthogonal to the independent columns (k, n)."""
    return np.linalg.qr(columns, mode="complete")[0][:, columns.shape[1] :]


def _squared_terms(mechanism: Mechanism, equations: Propagation, q: Array) -> Array:
    """Return, for each entry of the n constraint rows (n, tree.nv), the sum of the squares of its terms.

    `constraint_ranks` uses these sums to decide ranks. q (nq,) [rad or m, or quaternions] are the coordinates of the
    mechanism. `equations` has the constraint rows.
    """
    (position,) = to_tree(mechanism, ("q",), (q,))
    mimics = equations.rows.J[: len(mechanism.mimics)]
    return np.concatenate([mimics**2, row_terms(equations.mechanism, position)])


def _solution(
    mechanism: Mechanism, equations: Propagation, a: Array, tau: Array, ground: Array, multipliers: Array
) -> Solution:
    """Return the `Solution` for accelerations a and joint forces tau (tree.nv,) of all joints of the tree.

    tau does not include the forces of the constraint rows. `ground` (6 ntrees,) [N, N m] are the ground forces, and
    `multipliers` (n,) those of all n constraint rows. `equations` are the equations that were solved.
    """
    rows, own = equations.rows, independent_velocities(mechanism)
    acting = np.array(multipliers)
    acting[rows.loops] = 0.0
    on_loops = multipliers[rows.loops]
    x = np.concatenate([a, tau + rows.J.T @ acting, ground, on_loops, [1.0]])
    through = equations.joint_wrenches(x)
    reactions = np.concatenate([through, equations.loop_wrenches(on_loops)])
    friction = equations.friction_forces(through)
    require_dissipation(equations, friction, through, on_loops)
    return Solution(a[own], mechanism.spread.T @ tau, friction, ground.reshape(-1, 6), reactions, multipliers)
