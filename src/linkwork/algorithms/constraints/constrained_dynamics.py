"""Dynamics with loops, clutches and brakes (S2, equations 17 to 20): closure errors, constraint rows, forces and
projection.

A loop connects a frame A on one body with a frame B on another. Its constraint rows are wrenches C on B. In tree
coordinates their rates are J v; the columns of J^T are the joint forces of these wrenches and of the opposite wrenches
on A. The equations of motion are

    M a + bias = tau + J^T lambda        J a + gamma = 0

so that N lambda = -(J a_free + gamma) with N = J M^-1 J^T and a_free the acceleration without constraint forces (S2,
equation 19).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from linkwork.algorithms.constraints.articulated_body_solver import (
    Constrained,
    factorize,
    rates,
    refine_solution,
    solve_damped,
    solve_from_rest,
)
from linkwork.algorithms.constraints.constraint_tolerances import ADDED_DIAGONAL, CORRECTIONS, ROW_ROUND_OFF
from linkwork.algorithms.constraints.velocity_constraints import velocity_row_matrix
from linkwork.algorithms.forward_dynamics import velocity_forces
from linkwork.algorithms.kinematics import Kinematics, accelerations, against_gravity, kinematics, world_poses
from linkwork.algorithms.tangent_space import integrate
from linkwork.algorithms.tree_traversal import to_common_ancestor
from linkwork.model.elements.constraint import FrameConstraint
from linkwork.model.mechanism import Mechanism
from linkwork.spatial import Force, Motion, Transform
from linkwork.spatial.damped_least_squares import least_squares_factors
from linkwork.spatial.scalar import Array, Number, largest, ldlt, where
from linkwork.tolerances import TINY_SIZE

PROJECTION_ITERATIONS = 2  # Newton iterations of the projection after an integration step, whose errors are small


class JointKinematics(Protocol):
    """Joint poses and motion subspaces of all bodies: the part of `Kinematics` that constraint rows need."""

    @property
    def X(self) -> list[Transform]:
        """Pose of each body in its inboard body."""
        ...

    @property
    def S(self) -> list[Motion]:
        """Motion subspace of each body's joint."""
        ...


class LoopState(NamedTuple):
    """A loop with k constraint rows in one position: pose X of its frame B in its frame A, and its closure errors (k,).

    `wrenches` (6, k) are the wrenches of unit multipliers on B, in the axes of B. Errors and wrenches of a disengaged
    loop are zero.
    """

    constraint: FrameConstraint
    X: Transform
    errors: list[Number]
    wrenches: Force


def loop_states(mechanism: Mechanism, X: list[Transform]) -> list[LoopState]:
    """Return the state of every loop, from the poses X of all bodies in their inboard bodies."""
    X_0, found = world_poses(mechanism, X), []
    for one in mechanism.frame_constraints:
        A, B = X_0[one.at.body] @ one.at.pose, X_0[one.to.body] @ one.to.pose
        X_AB, rows, engaged = A.inverse() @ B, one.rows, one.engaged
        columns = [row.wrench(X_AB) * engaged for row in rows]
        wrenches = Force(np.column_stack([F.linear for F in columns]), np.column_stack([F.angular for F in columns]))
        found.append(LoopState(one, X_AB, [row.error(X_AB) * engaged for row in rows], wrenches))
    return found


def constraint(mechanism: Mechanism, q: Array) -> Array:
    """Return the closure errors (nc,) [m or rad] of all loops at the coordinates q (nq,), in the order of the rows."""
    motion = kinematics(mechanism, q, np.zeros(mechanism.nv))
    return errors(loop_states(mechanism, motion.X))


def errors(loops: list[LoopState]) -> Array:
    """Return the closure errors (nc,) [m or rad] of the given loops, in their order."""
    return np.array([e for one in loops for e in one.errors])


def constraint_jacobian(mechanism: Mechanism, q: Array) -> Array:
    """Return the constraint Jacobian J (nc, nv) of all loops: J v is the rate of `constraint`.

    q (nq,) [rad or m, or quaternions] are the coordinates.
    """
    motion = kinematics(mechanism, q, np.zeros(mechanism.nv))
    return rows(mechanism, motion, loop_states(mechanism, motion.X))


def rows(mechanism: Mechanism, motion: JointKinematics, loops: list[LoopState]) -> Array:
    """Return the constraint Jacobian J (nc, nv) of the loops: J v are the rates of their closure errors.

    An entry is the power of the unit wrench of a row at a unit joint velocity. Rows that no joint moves, such as those
    of a loop parallel to a tree joint, are exactly zero. `motion` has the joint poses and motion subspaces of the tree.
    """
    J, squares = rows_and_terms(mechanism, motion, loops)
    return without_noise(J, [sum(row, 0.0) for row in squares])


def rows_and_terms(mechanism: Mechanism, motion: JointKinematics, loops: list[LoopState]) -> tuple[Array, Array]:
    """Return the constraint Jacobian J (nc, nv) of the loops, and the squared size (nc, nv) of the terms in J.

    Each entry of J is a sum of terms, which are forces times lever arms. If the terms cancel, the entry should be zero,
    but is round-off in proportion to the size of its terms. `motion` has the joint poses and motion subspaces of the
    tree.
    """
    J: list[list[Number]] = []
    squares: list[list[Number]] = []
    for one in loops:
        block: list[list[Number]] = [[0.0] * mechanism.nv for _ in one.errors]
        terms: list[list[Number]] = [[0.0] * mechanism.nv for _ in one.errors]
        force, moment = (_squares(part) for part in (one.wrenches.linear, one.wrenches.angular))
        moment = moment + force * _squares(one.X.p)
        paths = to_common_ancestor(mechanism, one.constraint.to.body, one.constraint.at.body)
        ends = (one.constraint.to, one.constraint.at)
        for joints, (_, wrenches), end in zip(paths, on_bodies(one), ends, strict=True):
            arms = moment + force * _squares(end.pose.p)
            for j in joints:
                S = motion.S[j.o]
                power = S.pair(wrenches)  # (velocities of j, rows)
                for d, column, line, turn in zip(
                    range(j.v.start, j.v.stop), power, _squares(S.linear), _squares(S.angular), strict=True
                ):
                    for k, value in enumerate(column):
                        block[k][d], terms[k][d] = value, force[k] * line + arms[k] * turn
                wrenches = motion.X[j.o].up(wrenches)
                arms = arms + force * _squares(motion.X[j.o].p)  # bounds of moments, which cannot cancel
        J += block
        squares += terms
    return tuple(np.array(part).reshape(len(part), mechanism.nv) for part in (J, squares))  # type: ignore[return-value]


def all_rows(mechanism: Mechanism, motion: JointKinematics, loops: list[LoopState]) -> Array:
    """Return the Jacobian rows (nh, nv) of all engaged constraints: loops, then clutches and brakes.

    `motion` has the joint poses and motion subspaces of the tree.
    """
    return np.concatenate([rows(mechanism, motion, loops), velocity_row_matrix(mechanism)])


def _with_velocity_rows(mechanism: Mechanism, values: Array) -> Array:
    """Return an array (nh,) for all constraint rows: `values` (nc,) for loops, then zeros for clutches and brakes."""
    return np.concatenate([values, np.zeros(len(mechanism.velocity_rows))])


def _squares(vectors: Array) -> Array:
    """Return the squared length of `vectors`: of one vector (3,), or of each column of a matrix (3, k)."""
    return (vectors * vectors).sum(axis=0)


def without_noise(J: Array, sizes: Sequence[Number]) -> Array:
    """Return the constraint rows J (nc, nv), with rows that are only round-off replaced by zeros.

    A row is round-off if it is tiny relative to its terms, whose squares sum to `sizes` (nc,).
    """
    squares = [sum((x * x for x in row), 0.0) for row in J]
    nonzero = [where(square > size * ROW_ROUND_OFF, 1.0, 0.0) for square, size in zip(squares, sizes, strict=True)]
    return np.array([row * one for row, one in zip(J, nonzero, strict=True)]).reshape(J.shape)


def on_bodies(one: LoopState) -> tuple[tuple[int, Force], tuple[int, Force]]:
    """Return the wrenches of the rows of a loop on its two bodies, each as (number of the body, wrenches (6, k)).

    The wrenches are in the frame of the body. `one` is the state of the loop, with k rows.
    """
    at, to = one.constraint.at, one.constraint.to
    return (to.body, to.pose.up(one.wrenches)), (at.body, -at.pose.up(one.X.up(one.wrenches)))


def bias(mechanism: Mechanism, motion: Kinematics, loops: list[LoopState]) -> Array:
    """Return gamma (nc,) [m/s^2 or rad/s^2]: the second time derivative of closure errors at zero joint acceleration.

    `motion` has the kinematics of the tree, and `loops` the loops in this position.
    """
    acc = accelerations(mechanism, motion, np.zeros(mechanism.nv))
    found: list[Number] = []
    for one in loops:
        at, to = one.constraint.at, one.constraint.to
        V_A, V_B = at.pose.down(motion.twist[at.body]), to.pose.down(motion.twist[to.body])
        A_A, A_B = at.pose.down(acc[at.body]), to.pose.down(acc[to.body])
        V = V_B - one.X.down(V_A)
        A = A_B - one.X.down(A_A) - V_B.cross(V)
        rates = [row.wrench_rate(one.X, V) * one.constraint.engaged for row in one.constraint.rows]
        found += [a + V.pair(F) for a, F in zip(_powers_along(A, one.wrenches), rates, strict=True)]
    return np.array(found)


def _powers_along(V: Motion, wrenches: Force) -> list[Number]:
    """Return the power (k,) of each of k wrenches, the columns of `wrenches`, along the motion V."""
    return list(V.pair(wrenches))


def rows_and_bias(mechanism: Mechanism, q: Array, v: Array) -> tuple[Array, Array]:
    """Return J (nh, nv) and gamma (nh,) of all constraints in one state: accelerations satisfy J a + gamma = 0.

    The rows belong to loops, then to clutches and brakes. q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s]
    are the coordinates and velocities.
    """
    motion = kinematics(mechanism, q, v)
    loops = loop_states(mechanism, motion.X)
    return all_rows(mechanism, motion, loops), _with_velocity_rows(mechanism, bias(mechanism, motion, loops))


# --- dynamics and projection ---


class ActiveConstraints(NamedTuple):
    """Constraints of a mechanism at one position: closure errors of loops, row rates, and the response to impulses.

    `errors` (nh,) [m or rad] has one entry for each constraint row; the entries of clutches and brakes are zero.
    `rates(v)` returns the row rates J v (nh,). `push(target)` returns the velocities (nv,) with J v = target and the
    smallest kinetic energy, and the impulses (nh,) that cause these velocities.
    """

    errors: Array
    rates: Callable[[Array], Array]
    push: Callable[[Array], Constrained]


def forward_dynamics(
    mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None = None, baumgarte: float = 0.0
) -> Constrained:
    """Return the accelerations (nv,) and constraint multipliers (nh,) of a tree with loops, clutches and brakes.

    tau (nv,) [N m or N] are joint forces; gravity and wrenches (nbodies, 6) act too. With a rate `baumgarte` [1/s],
    closure errors decay like critically damped springs. q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s]
    are the coordinates and velocities.
    """
    motion = kinematics(mechanism, q, v)
    loops = loop_states(mechanism, motion.X)
    J = all_rows(mechanism, motion, loops)
    joined = factorize(mechanism, motion, J)
    target = -_with_velocity_rows(mechanism, bias(mechanism, motion, loops))
    if baumgarte:
        target = stabilized(target, _with_velocity_rows(mechanism, errors(loops)), rates(mechanism, J, v), baumgarte)
    z, base = velocity_forces(mechanism, motion, wrenches), against_gravity(mechanism)
    first = solve_damped(mechanism, motion, joined, tau, z, motion.bias, base, target)
    return refine_solution(mechanism, motion, joined, J, target, first)


def velocities(mechanism: Mechanism, q: Array, p: Array) -> Array:
    """Return the velocities (nv,) at q for given momenta p (nv,) [N s, N m s], projected onto the constraints."""
    motion = kinematics(mechanism, q, np.zeros(mechanism.nv))
    J = all_rows(mechanism, motion, loop_states(mechanism, motion.X))
    joined, none = factorize(mechanism, motion, J), np.zeros(len(J))
    return refine_solution(mechanism, motion, joined, J, none, solve_from_rest(mechanism, motion, joined, none, p)).a


def stabilized(target: Array, errors: Array, rates: Array, rate: float) -> Array:
    """Return the second derivatives (nh,) required of constraint errors, with Baumgarte's stabilization (1972) added.

    `target` (nh,) are the second derivatives without stabilization. With the result, the errors `errors` (nh,) and
    their `rates` (nh,) decay at `rate` [1/s].
    """
    return target - (2.0 * rate) * rates - rate**2 * errors


def active_constraints(mechanism: Mechanism, q: Array) -> ActiveConstraints:
    """Return errors, row rates and impulse response of the constraints of a tree at q, computed in linear time."""
    motion = kinematics(mechanism, q, np.zeros(mechanism.nv))
    loops = loop_states(mechanism, motion.X)
    J = all_rows(mechanism, motion, loops)
    joined = factorize(mechanism, motion, J)

    def push(target: Array) -> Constrained:
        return refine_solution(mechanism, motion, joined, J, target, solve_from_rest(mechanism, motion, joined, target))

    return ActiveConstraints(_with_velocity_rows(mechanism, errors(loops)), lambda v: rates(mechanism, J, v), push)


def no_constraints(mechanism: Mechanism, _: Array) -> ActiveConstraints:
    """Return the `ActiveConstraints` of a mechanism without loops, clutches and brakes: all its arrays are empty."""
    none = Constrained(np.zeros(mechanism.nv), np.zeros(0))
    return ActiveConstraints(np.zeros(0), lambda _: np.zeros(0), lambda _: none)


class Reactions(NamedTuple):
    """Reaction wrenches [N, N m] of loops.

    `on_bodies` (nbodies, 6) is the sum of the loop wrenches on each body, about its origin in its axes. `through_loops`
    (nloops, 6) is the wrench of each loop on its body b, in the frame of b.
    """

    on_bodies: Array
    through_loops: Array


def reaction_wrenches(mechanism: Mechanism, q: Array, multipliers: Array) -> Reactions:
    """Return the reaction wrenches [N, N m] of the loops at q (nq,), from the multipliers (nc,) of their rows."""
    motion = kinematics(mechanism, q, np.zeros(mechanism.nv))
    total = [Force.zero() for _ in mechanism.bodies]
    through, start = [], 0
    for one in loop_states(mechanism, motion.X):
        stop = start + len(one.errors)
        for body, wrenches in on_bodies(one):
            total[body] = total[body] + wrenches @ multipliers[start:stop]
        through.append(one.constraint.to.offset.up(one.wrenches @ multipliers[start:stop]).array)
        start = stop
    return Reactions(np.array([F.array for F in total[1:]]), np.array(through).reshape(-1, 6))


class Projection(NamedTuple):
    """Coordinates q (nq,) and velocities v (nv,) after projection onto the constraints, which they satisfy.

    `error` is the largest remaining closure error [m or rad], `moved` the largest displacement of a joint [m or rad].
    """

    q: Array
    v: Array
    error: Number
    moved: Number


def project_state(
    mechanism: Mechanism,
    q: Array,
    v: Array,
    constraints_at: Callable[[Mechanism, Array], ActiveConstraints],
    iterations: int = PROJECTION_ITERATIONS,
) -> Projection:
    """Return coordinates and velocities projected onto the constraints, in the metric of kinetic energy.

    q (nq,) and v (nv,) are the coordinates and velocities before the projection. Their constraint errors must be small,
    such as the errors of one integration step, because the number of Newton iterations is fixed: `iterations`. Impulses
    along the rows first correct the positions, then remove the velocities that violate the constraints.
    `constraints_at` returns the constraints of a mechanism at a position.
    """
    q, moved = project_positions(mechanism, q, constraints_at, iterations)
    loops = constraints_at(mechanism, q)
    return Projection(q, consistent_velocity(loops, v), largest(loops.errors), largest(moved))


def project_positions(
    mechanism: Mechanism,
    q: Array,
    constraints_at: Callable[[Mechanism, Array], ActiveConstraints],
    iterations: int = PROJECTION_ITERATIONS,
) -> tuple[Array, Array]:
    """Return coordinates (nq,) projected onto the loops, and the joint displacements (nv,) of the projection.

    q (nq,) are the coordinates before. `constraints_at` returns the constraints of a mechanism at a position;
    `iterations` is the number of Newton iterations.
    """
    moved = np.zeros(mechanism.nv)
    for _ in range(iterations if mechanism.frame_constraints else 0):  # clutches and brakes constrain velocities only
        loops = constraints_at(mechanism, q)
        move = loops.push(loops.errors).a
        q, moved = integrate(mechanism, q, -move), moved + move
    return q, moved


def consistent_velocity(loops: ActiveConstraints, v: Array) -> Array:
    """Return the velocities (nv,) nearest to v (nv,) that satisfy the constraints `loops`.

    The velocities are nearest in the metric of kinetic energy.
    """
    return v - loops.push(loops.rates(v)).a


def smallest_solution(N: Array, r: Array, symmetric: bool = True) -> Array:
    """Return the smallest x (nc,) with N x = r (nc,), if a solution exists, for a matrix N (nc, nc) of any rank.

    N must be symmetric and positive semidefinite. Pass symmetric=False for other matrices; N is not symmetric if it
    includes friction, or if its rows and columns belong to two positions. The result is then the damped least-squares
    solution.
    """
    if not symmetric:
        return least_squares_factors(N).solve(r)
    count = len(r)
    r = np.array([where(N[k, k] > 0.0, r[k], 0.0) for k in range(count)])  # rows that no joint moves get no force
    damping = sum((N[k, k] for k in range(count)), 0.0) * (ADDED_DIAGONAL / count) + TINY_SIZE
    factors = ldlt(N + np.diag([damping] * count))
    x = factors.solve(r)
    for _ in range(CORRECTIONS - 1):
        x = x + factors.solve(r - N @ x)
    return x
