"""The implicit midpoint rule: the equations of motion hold at the middle of the step.

The rule suits stiff springs and dampers. It is symmetric and has order 2. Newton's method finds the velocities at the
end of the step. Its matrix is M + h/2 D + h^2/4 K at the start of the step h, where M is the mass matrix, and D and K
are the damping and stiffness of controllers, joints, and springs between bodies. Terms that are missing in the matrix
only cause more iterations.

Impulses (nh,) along the nh constraint rows J at mid-step keep the closure errors of loops constant and the mean slip of
clutches and brakes zero. The derivatives of the closure errors are the rows at the end of the step. Newton's matrix
contains both sets of rows: near a singular position of a loop they differ in direction and sign. J times the mean
velocity cannot replace the closure errors: an overconstrained loop is not closed at mid-step, where its rows have a
higher rank.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.constraints.articulated_body_solver import Constrained
from linkwork.algorithms.constraints.dense_solver import DenseConstraints
from linkwork.algorithms.kinematics import joint_poses, subspaces
from linkwork.algorithms.mass_matrix import matrix_factors
from linkwork.algorithms.mimic_reduction import errors_and_rows
from linkwork.algorithms.passive_joint_forces import dampers
from linkwork.algorithms.point_springs import spring_lengths
from linkwork.algorithms.solver_choice import SolverChoice
from linkwork.algorithms.tangent_space import integrate
from linkwork.algorithms.variational_step_solver import ConstraintRows, Position, VariationalFactors, compliant_row
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.methods.controller_force_derivatives import force_jacobian
from linkwork.simulation.methods.discrete_equations import force_rows
from linkwork.simulation.methods.integration_step import IterationHistory, Solution
from linkwork.simulation.methods.method_tolerances import (
    CLOSURE_RATE,
    MIDPOINT_CONVERGED,
    MIDPOINT_ROUND_OFF,
    MIDPOINT_SLOW,
    SHORTEST_CORRECTION,
)
from linkwork.simulation.simulated_system import ForceLaw, System, stiffened_matrix
from linkwork.simulation.state import Leaves, StepState, select
from linkwork.spatial.scalar import Array, Condition, Number, Value, largest, lu, may_be_nonzero, minimum, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import HUGE, TINY

ITERATIONS = 60  # largest number of iterations


class ContactGuess(NamedTuple):
    """State of Newton's method for a step with contacts: the best iterate so far, and the next correction.

    `best` (nv,) [rad/s, m/s] are the velocities and `impulses` (nh,) the constraint impulses of the best iterate, whose
    relative residual is `least`. The next trial applies the fraction `part` of the correction, `move` (nv,) of the
    velocities and `more` (nh,) of the impulses.
    """

    best: Array
    impulses: Array
    move: Array
    more: Array
    part: Number
    least: Number


# Solver of Newton's equations: maps (constraint rows, impulses (nv,), rates (nh,)) to velocities and multipliers
ConstrainedSolver = Callable[[ConstraintRows, Array, Array], Constrained]


def dense(solve: Callable[[Array], Array]) -> ConstrainedSolver:
    """Return a dense solver of Newton's equations that include constraint rows.

    `solve` solves the equations without constraint rows, for right-hand sides (nv,) or (nv, k).
    """
    return lambda rows, r, target: DenseConstraints.of_two(*rows, solve).solve_constrained(r, target)


class StepConstraints(NamedTuple):
    """Constraints of one midpoint step, with nh rows.

    `along` (nh, nv) are the Jacobian rows along which the impulses act, and `end` (nh, nv) the Jacobian rows at the end
    of the step. `rates` (nh,) are zero if the constraints are satisfied. For loops, they are the change of the closure
    errors in the step divided by h; for clutches, brakes and loop rows that restrict only velocities, the mean slip
    speed.
    """

    along: Array
    end: Array
    rates: Array

    def correction(self, solve: ConstrainedSolver, residual: Array, impulses: Array) -> Constrained:
        """Return Newton's corrections of velocities (nv,) and constraint impulses (nh,), to be subtracted from the
        iterate.

        `solve` solves Newton's equations with constraint rows. `impulses` (nh,) are the present constraint impulses,
        and `residual` (nv,) is the residual of the equations of motion without these impulses.
        """
        rows = ConstraintRows(self.along, self.end)
        return solve(rows, residual - self.along.T @ impulses, self.rates * 2.0)


class Midpoint:
    """Equations of an implicit midpoint step, whose unknowns are velocities and constraint impulses.

    The velocities v (nv,) are those at the end of the step; there are nh impulses.
    """

    def __init__(self, system: System, t: Number, now: StepState, h: Number, held: Array):
        self.system, self.t, self.now, self.h, self.held = system, t, now, h, held
        self.mechanism = system.mechanism
        self.errors, _ = errors_and_rows(self.mechanism, now.q)

    @staticmethod
    def unknowns(mechanism: Mechanism) -> int:
        """Return the number of unknowns of a step: velocities and constraint impulses."""
        return mechanism.nv + mechanism.nh

    def _middle(self, v: Array) -> tuple[Array, Array]:
        """Return the coordinates (nq,) at mid-step and the mean velocity (nv,), for velocities v (nv,) at the end of
        the step.
        """
        mean = (self.now.v + v) * 0.5
        return integrate(self.mechanism, self.now.q, mean * (0.5 * self.h)), mean

    def _imbalance(self, q: Array, mean: Array, v: Array) -> Array:
        """Return the residual (nv,) [N s, N m s] of the equations of motion, for velocities v (nv,) at the end.

        q (nq,) are the coordinates at mid-step, and `mean` (nv,) is the mean velocity; see `_middle`.
        """
        loads = self.system.loads(self.t + 0.5 * self.h, q, mean, self.held)
        return self.system.imbalance(q, mean, (v - self.now.v) / self.h, loads) * self.h

    def _force_jacobian(self, v: Array) -> Array:
        """Return minus the derivative (nv, nv) of the impulses of `System.force_laws` with respect to the velocities v
        (nv,) at the end.

        These forces are those of controllers, joint stops and force elements.
        """

        def impulse(force_law: ForceLaw) -> Callable[[Array], Array]:
            return lambda v: force_law(self.t + 0.5 * self.h, *self._middle(v)) * self.h

        return -sum((force_jacobian(impulse(one), v) for one in self.system.force_laws), np.zeros((len(v), len(v))))

    def _constraints(self, q: Array, mean: Array, singular: Number = 0.0) -> StepConstraints:
        """Return the constraints of a step with coordinates q (nq,) at mid-step and the mean velocity `mean` (nv,).

        If mid-step is a singular position of loops, no impulses along the rows at mid-step can satisfy the loops. If
        `singular` is 1, the impulses act along the rows at the end of the step instead. Loop rows that restrict only
        velocities hold at mid-step.
        """
        _, middle = errors_and_rows(self.mechanism, q)
        errors, end = errors_and_rows(self.mechanism, integrate(self.mechanism, self.now.q, mean * self.h))
        rates = np.concatenate([(errors - self.errors) / self.h, end[len(errors) :] @ mean])
        rows = [row for one in self.mechanism.frame_constraints for row in one.rows]
        velocity_rows = [k for k, row in enumerate(rows) if not row.holonomic]
        if velocity_rows:
            end = np.array([middle[k] if k in velocity_rows else row for k, row in enumerate(end)])
            rates = np.array([middle[k] @ mean if k in velocity_rows else rate for k, rate in enumerate(rates)])
        along = select(singular > 0.0, end, middle) if may_be_nonzero(singular) else middle
        return StepConstraints(along, end, rates)

    def residual(self, unknown: Array) -> Array:
        """Return the residual (nv,) [N s, N m s] of the equations of motion, followed by the constraint rates (nh,).

        `unknown` (nv + nh,) has the velocities at the end of the step and the constraint impulses.
        """
        v, impulses = unknown[: self.mechanism.nv], unknown[self.mechanism.nv :]
        q, mean = self._middle(v)
        constraints = self._constraints(q, mean)
        left = self._imbalance(q, mean, v) - constraints.along.T @ impulses
        return np.concatenate([left, constraints.rates])

    def moved(self, unknown: Array) -> StepState:
        """Return the state at the end of the step, from the solution `unknown` (nv + nh,): velocities and impulses."""
        v = unknown[: self.mechanism.nv]
        q, mean = self._middle(v)
        loads = self.system.loads(self.t + 0.5 * self.h, q, mean, self.held)
        rates = self.system.rates(q, mean, loads, self.now)
        after = integrate(self.mechanism, self.now.q, mean * self.h)
        return self.now._replace(q=after, v=v).with_work(rates * self.h)

    def solve(self, history: IterationHistory | None = None) -> Solution:
        """Return the velocities and constraint impulses that solve the equations of a step, and the state at its end.

        `history` receives the residual of each iteration; it is used with floats only, not while tracing.
        """
        if self.system.memory is not None:
            unknown, iterations, solved = self._with_contacts()
        else:
            unknown, iterations, solved = self._smooth(history)
        return Solution(unknown, self.moved(unknown).solved_in(iterations), solved)

    def _stiffness(self) -> tuple[Array, list[Number]]:
        """Return the terms h/2 D + h^2/4 K of Newton's matrix, which springs and dampers add to the mass matrix.

        The first result (tree.nv,) has the diagonal terms of the joints. The second result has, for each spring between
        bodies, the expression h/2 d + h^2/4 k with the damping d and the stiffness k of the spring.
        """
        m, h = self.mechanism, self.h
        stiffness = np.concatenate([np.zeros(0), *(j.stiffness for j in m.joints)])
        extra = dampers(m.tree) * (0.5 * h) + stiffness * (0.25 * h * h)
        return extra, [spring.damping * (0.5 * h) + spring.stiffness * (0.25 * h * h) for spring in m.line_forces]

    def _matrix(self) -> Array:
        """Return Newton's matrix M + h/2 D + h^2/4 K (nv, nv) at the start of the step: inertia, damping, stiffness."""
        return stiffened_matrix(self.mechanism, self.now.q, *self._stiffness())

    def _solvers(self) -> Callable[[Array], ConstrainedSolver]:
        """Return a function that makes solvers of Newton's equations with constraint rows.

        The argument of this function is a matrix (nv, nv) that is added to Newton's matrix, such as the derivatives of
        controller forces.
        """
        solvers = SolverChoice(self._dense, self._recursive, self._dense, self._dense)
        return solvers.of(self.mechanism)()

    def _dense(self) -> Callable[[Array], ConstrainedSolver]:
        """Return a function that makes dense solvers of Newton's equations; see `_solvers`."""
        m, M = self.mechanism, self._matrix()

        def solver(added: Array) -> ConstrainedSolver:
            coupled = any(map(may_be_nonzero, (added - np.diag(np.diag(added))).ravel()))
            return dense(lu(M + added).solve if coupled else matrix_factors(m, M + added).solve)

        return solver

    def _smooth(self, history: IterationHistory | None) -> tuple[Array, Number, Condition]:
        """Return the unknowns of a step without contacts, the number of iterations, and whether the step was solved.

        Newton's method uses one matrix for the whole step. `history` receives the residual of each iteration.
        """
        m, now = self.mechanism, self.now
        solve = self._solvers()(self._force_jacobian(now.v))

        def improve(v: Array, *before: Value) -> tuple[Leaves, Condition]:
            q, mean = self._middle(v)
            last, impulses, singular = before or (0.0, np.zeros(m.nh), 0.0)
            constraints = self._constraints(q, mean, singular)
            change, less = constraints.correction(solve, self._imbalance(q, mean, v), impulses)
            better, size, scale = v - change, largest(change), largest(v) + 1.0
            if history is not None:
                history.record(size / scale, change, np.zeros(m.nh), True)
            if not before:
                return (better,), size <= MIDPOINT_CONVERGED * scale
            ended = _converged(size, last, scale)
            remaining = constraints.rates * 2.0 - constraints.end @ change
            left_open = ended & (singular == 0.0) & (largest(remaining) > CLOSURE_RATE * scale)
            impulses = select(left_open, np.zeros(m.nh), impulses - less)
            return (better, size, impulses, where(left_open, 1.0, singular)), ended & ~left_open

        rounded = m.line_forces or m.constrained  # round-off can prevent the changes from decreasing further
        more = (0.0, np.zeros(m.nh), 0.0) if rounded else ()
        (v, *rest), iterations, solved = iterate(ITERATIONS, improve, now.v, *more)
        return np.concatenate([v, *rest[1:2]]), iterations, solved

    def _recursive(self) -> Callable[[Array], ConstrainedSolver]:
        """Return a function that makes linear-time solvers of Newton's equations, by recursion over the tree.

        See `_solvers`. The solver makes one recursion for each set of constraint
        rows.
        """
        m, now = self.mechanism, self.now
        at = Position(joint_poses(m, now.q), subspaces(m, now.q))
        extra, weights = self._stiffness()
        rows = [compliant_row(m, rotor.row * rotor.inertia, rotor.row) for rotor in m.rotors]
        for stretch, weight in zip(spring_lengths(m, now.q), weights, strict=True):
            rows.append(compliant_row(m, stretch.row * weight, stretch.row))
        inertias = [body.inertia.matrix for body in m.bodies]

        def solver(added: Array) -> ConstrainedSolver:
            own, others = m.armature + extra + np.diag(added), rows + force_rows(m, added)

            def solve(constraints: ConstraintRows, r: Array, target: Array) -> Constrained:
                factors = VariationalFactors(m, at, at, inertias.__getitem__, own, others, constraints)
                return factors.solve_constrained(r, target)

            return solve

        return solver

    def _with_contacts(self) -> tuple[Array, Number, Condition]:
        """Return the unknowns of a step with contacts, the number of iterations, and whether the step was solved.

        Contact forces have kinks. Newton's method therefore has a line search, and its matrix includes the derivatives
        of contact forces for the present contact states.
        """
        m, M = self.mechanism, self._matrix()

        def improve(*state: Value) -> tuple[Leaves, Condition]:
            guess = ContactGuess(*state)
            v, along = guess.best + guess.move * guess.part, guess.impulses + guess.more * guess.part
            size, change, add = self._contact_correction(M, v, along)
            # accept a step over a kink, although the residual increases
            better = (size < guess.least) | (guess.part < SHORTEST_CORRECTION)
            found = ContactGuess(
                where(better, v, guess.best),
                select(better, along, guess.impulses),
                where(better, -change, guess.move),
                select(better, add, guess.more),
                where(better, minimum(4.0 * guess.part, 1.0), 0.5 * guess.part),
                where(better, size, guess.least),
            )
            return tuple(found), (size <= MIDPOINT_CONVERGED) | (size >= guess.least) & (
                guess.least <= MIDPOINT_ROUND_OFF
            )

        still, none = np.zeros(m.nv), np.zeros(m.nh)
        begin = ContactGuess(self.now.v, none, still, none, 1.0, HUGE)
        (v, impulses, *_), iterations, solved = iterate(ITERATIONS, improve, *begin)
        return np.concatenate([v, impulses]), iterations, solved

    def _contact_correction(self, M: Array, v: Array, along: Array) -> tuple[Number, Array, Array]:
        """Return the relative residual, and Newton's corrections of velocities (nv,) and constraint impulses (nh,).

        Residual and corrections are evaluated at the velocities v (nv,) and the constraint impulses `along` (nh,). M
        (nv, nv) is Newton's matrix without the derivatives of contact and controller forces.
        """
        q, mean = self._middle(v)
        loads = self.system.loads(self.t + 0.5 * self.h, q, mean, self.held)
        assert loads.touching is not None
        A = M + self._force_jacobian(v) + self.system.contact_step_matrix(q, loads.touching, self.h)
        constraints = self._constraints(q, mean)
        residual = self.system.imbalance(q, mean, (v - self.now.v) / self.h, loads) * self.h
        impulse_sum = sum((largest(contact.force) for contact in loads.touching.contacts), 0.0) * self.h
        size = largest(residual - constraints.along.T @ along) / (
            largest(M @ self.now.v) + largest(M @ v) + impulse_sum + TINY
        )
        size = size + largest(constraints.rates) / (largest(v) + 1.0)
        change, less = constraints.correction(dense(lu(A).solve), residual, along)
        return size, change, -less


def _converged(size: Number, last: Number, scale: Number) -> Condition:
    """Return whether Newton's iteration has converged, from the sizes of the present and the last correction.

    `size` [rad/s or m/s] is the size of the present correction and `last` that of the last one; `last` is 0 in the
    first iteration. `scale` [rad/s or m/s] is the size of the velocities. The corrections decrease by a constant
    factor, so that the next correction would have the size size^2 / last. Corrections that no longer decrease have
    reached round-off.
    """
    ended = (size * size <= MIDPOINT_CONVERGED * scale * last) | (size <= MIDPOINT_ROUND_OFF * scale) & (size >= last)
    ended = ended | (size <= MIDPOINT_SLOW * scale) & (size >= 0.5 * last)
    return (size <= MIDPOINT_CONVERGED * scale) | ended & (last > 0.0)
