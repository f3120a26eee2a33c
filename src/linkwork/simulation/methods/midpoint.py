"""The implicit midpoint rule: the equations of motion hold at the middle of the step. For stiff springs and dampers.

Order 2, symmetric. Newton's method finds the velocities at the end of the step with the matrix M + h/2 D + h^2/4 K at
the start of the step, where D and K are the damping and stiffness of controllers, joints, and springs between bodies.
Terms that the matrix leaves out only cost iterations. Impulses (nh,) along the constraint rows J keep J times the mean
velocity at zero. Dry friction of joints obeys Coulomb's law with the velocity at the end (see `dry_friction`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.constraints.dense_solver import DenseConstraints
from linkwork.algorithms.joint_forces import resistance
from linkwork.algorithms.mimic_reduction import constraint_row_matrix, to_tree
from linkwork.algorithms.tangent_space import integrate
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.methods.dry_friction import (
    LOCKED,
    TOGETHER,
    Friction,
    coulomb,
    friction_limits,
    has_friction,
    without_friction,
)
from linkwork.simulation.methods.force_derivatives import force_jacobian
from linkwork.simulation.methods.method import IterationHistory, Solution
from linkwork.simulation.simulated_system import ForceLaw, System, stiffened_matrix, stiffened_solver
from linkwork.simulation.state import Leaves, StepState, select
from linkwork.spatial.scalar import Array, Condition, Number, Value, largest, lu, may_be_nonzero, minimum, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import HUGE, TINY

ITERATIONS = 60  # largest number of iterations
CONVERGED = 1e-14  # change of the velocities, relative to the largest, at which the iteration ends
ROUND_OFF = 1e-10  # the same if changes no longer decrease, due to round-off of loops and springs between bodies
SLOW = 1e-6  # the same if changes decrease by less than half: near singular positions of loops
SHORTEST = 1e-3  # fraction of a correction below which the line search accepts a step over a contact kink


class ContactGuess(NamedTuple):
    """The iterate of Newton's method with contacts: best velocities (nv,) and impulses (nh,), and the next correction.

    The next trial applies the fraction `part` of the correction, `move` (nv,) of the velocities and `more` (nh,) of the
    impulses. `least` is the relative residual of the best iterate.
    """

    best: Array
    impulses: Array
    move: Array
    more: Array
    part: Number
    least: Number


class Midpoint:
    """The equations of an implicit midpoint step; unknowns are v (nv,) at its end and constraint impulses (nh,)."""

    def __init__(self, system: System, t: Number, now: StepState, h: Number, held: Array):
        self.limits = None  # of friction impulses (nv,) [N m s or N s] that obey Coulomb's law
        if has_friction(system.mechanism) and system.memory is None:
            self.limits = friction_limits(system.mechanism) * h
            system = replace(system, mechanism=without_friction(system.mechanism))
        self.system, self.t, self.now, self.h, self.held = system, t, now, h, held
        self.mechanism = system.mechanism

    @staticmethod
    def unknowns(mechanism: Mechanism) -> int:
        """Return the number of unknowns, velocities and constraint impulses."""
        return mechanism.nv + mechanism.nh

    def _middle(self, v: Array) -> tuple[Array, Array]:
        """Return coordinates (nq,) at mid-step and mean velocity (nv,), for velocities v (nv,) at the end."""
        mean = (self.now.v + v) * 0.5
        return integrate(self.mechanism, self.now.q, mean * (0.5 * self.h)), mean

    def _imbalance(self, q: Array, mean: Array, v: Array) -> Array:
        """Return the impulse residual (nv,) [N s, N m s] of the equations of motion, for v (nv,) at the end."""
        loads = self.system.loads(self.t + 0.5 * self.h, q, mean, self.held)
        return self.system.imbalance(q, mean, (v - self.now.v) / self.h, loads) * self.h

    def _force_jacobian(self, v: Array) -> Array:
        """Return the negative derivative (nv, nv) of impulses of force laws by the velocities v (nv,) at the end."""

        def impulse(force_law: ForceLaw) -> Callable[[Array], Array]:
            return lambda v: force_law(self.t + 0.5 * self.h, *self._middle(v)) * self.h

        return -sum((force_jacobian(impulse(one), v) for one in self.system.force_laws), np.zeros((len(v), len(v))))

    def _rows(self, q: Array) -> Array:
        """Return the constraint rows (nh, nv) at q (nq,)."""
        return constraint_row_matrix(self.mechanism, q)

    def residual(self, unknown: Array) -> Array:
        """Return impulse residual (nv,) and constraint rates (nh,) for velocities and impulses (nv + nh,)."""
        v, impulses = unknown[: self.mechanism.nv], unknown[self.mechanism.nv :]
        q, mean = self._middle(v)
        J = self._rows(q)
        left = self._imbalance(q, mean, v) - J.T @ impulses
        left = left if self.limits is None else left + coulomb(v, -left, self.limits)
        return np.concatenate([left, J @ mean])

    def moved(self, unknown: Array) -> StepState:
        """Return the state at the end of the step, given the solution (nv + nh,)."""
        v = unknown[: self.mechanism.nv]
        q, mean = self._middle(v)
        power = self.system.power(q, mean, self.system.loads(self.t + 0.5 * self.h, q, mean, self.held))
        after = integrate(self.mechanism, self.now.q, mean * self.h)
        moved = self.now._replace(q=after, v=v, work=self.now.work + self.h * power)
        if self.limits is None:
            return moved
        impulses = self._rows(q).T @ unknown[self.mechanism.nv :]
        p = coulomb(v, impulses - self._imbalance(q, mean, v), self.limits)
        return moved._replace(work=moved.work - p @ mean)

    def solve(self, history: IterationHistory | None = None) -> Solution:
        """Solve the equations of a step.

        `history` receives the residual of each iteration; it is used with floats only, not while tracing.
        """
        m, h, now = self.mechanism, self.h, self.now
        stiffness = np.concatenate([np.zeros(0), *(j.stiffness for j in m.joints)])
        (speed,) = to_tree(m, ("v",), (now.v,))
        extra = resistance(m.tree, speed) * (0.5 * h) + stiffness * (0.25 * h * h)
        weights = [spring.damping * (0.5 * h) + spring.stiffness * (0.25 * h * h) for spring in m.line_forces]
        M = stiffened_matrix(m, now.q, extra, weights)
        solver = self._smooth if self.limits is None else self._with_friction
        unknown, iterations, solved = self._with_contacts(M) if self.system.memory is not None else solver(M, history)
        return Solution(unknown, self.moved(unknown).solved_in(iterations), solved)

    def _smooth(self, M: Array, history: IterationHistory | None) -> tuple[Array, Number, Condition]:
        """Solve the equations of a step without contacts, by Newton's method with one matrix M for all iterations."""
        m, now = self.mechanism, self.now
        solve = self._solver(M, self._force_jacobian(now.v), np.zeros(m.nv))

        def improve(v: Array, *before: Value) -> tuple[Leaves, Condition]:
            change, impulses = self._correction(solve, v, self._imbalance(*self._middle(v), v))
            better, size, scale = v - change, largest(change), largest(v) + 1.0
            if history is not None:
                history.record(size / scale, change, np.zeros(m.nh), True)
            if not before:
                return (better,), size <= CONVERGED * scale
            return (better, size, -impulses), _converged(size, before[0], scale)

        rounded = m.line_forces or m.constrained  # round-off may then stop the decrease of the changes
        more = (largest(now.v) + 1.0, np.zeros(m.nh)) if rounded else ()
        (v, *rest), iterations, solved = iterate(ITERATIONS, improve, now.v, *more)
        return np.concatenate([v, *rest[1:]]), iterations, solved

    def _solver(self, M: Array, by_velocity: Array, extra: Array) -> Callable[[Array], Array]:
        """Return the function that solves with the matrix M + `by_velocity` (nv, nv) + diag(`extra`) (nv,)."""
        coupled = any(map(may_be_nonzero, (by_velocity - np.diag(np.diag(by_velocity))).ravel()))
        A = M + by_velocity + np.diag(extra)
        return lu(A).solve if coupled else stiffened_solver(self.mechanism, A)

    def _correction(self, solve: Callable[[Array], Array], v: Array, residual: Array) -> tuple[Array, Array]:
        """Return the correction (nv,) to subtract from v (nv,), and minus the impulses (nh,) along constraint rows."""
        q, mean = self._middle(v)
        change = solve(residual)
        constraints = DenseConstraints.of(self._rows(q), solve, symmetric=not self.system.force_laws)
        impulses = constraints.multipliers(constraints.J @ (mean * 2.0 - change))
        return change + constraints.change(impulses), impulses

    def _with_friction(self, M: Array, history: IterationHistory | None) -> tuple[Array, Number, Condition]:
        """Solve the equations of a step with dry friction; see `dry_friction`. Sticking joints get a large inertia."""
        m, now, limits = self.mechanism, self.now, self.limits
        assert limits is not None
        by_velocity = self._force_jacobian(now.v)
        inertia = np.array([x * LOCKED for x in np.diag(M)])

        def improve(
            v: Array, p: Array, sticks: Array, count: Number, size: Number, along: Array
        ) -> tuple[Leaves, Condition]:
            v = v * (1.0 - sticks)
            solve = self._solver(M, by_velocity, inertia * sticks)
            residual = self._imbalance(*self._middle(v), v) + p * (1.0 - sticks)
            change, impulses = self._correction(solve, v, residual)
            p = p * (1.0 - sticks) - inertia * change * sticks
            better, scale = (v - change) * (1.0 - sticks), largest(v) + 1.0
            smaller = largest(change * (1.0 - sticks))
            friction = Friction(p, sticks)
            after, changes = friction.after(better, limits, CONVERGED * scale, count >= TOGETHER)
            if history is not None:
                history.record(smaller / scale, change, np.zeros(m.nh), True)
            done = (changes == 0.0) & _converged(smaller, size, scale)
            return (better, *after, count + 1.0, where(changes == 0.0, smaller, HUGE), -impulses), done

        begin = (now.v, *Friction.at(now.v, limits), 0.0, HUGE, np.zeros(m.nh))
        (v, _, _, _, _, along), iterations, solved = iterate(ITERATIONS, improve, *begin)
        return np.concatenate([v, along]), iterations, solved

    def _with_contacts(self, M: Array) -> tuple[Array, Number, Condition]:
        """Solve the equations of a step with contacts, by Newton's method with a line search.

        Contact forces have kinks, so the matrix includes the derivatives for the present contact states.
        """
        m = self.mechanism

        def improve(*state: Value) -> tuple[Leaves, Condition]:
            guess = ContactGuess(*state)
            v, along = guess.best + guess.move * guess.part, guess.impulses + guess.more * guess.part
            size, change, add = self._contact_correction(M, v, along)
            better = (size < guess.least) | (guess.part < SHORTEST)  # accept a step over a kink
            found = ContactGuess(
                where(better, v, guess.best),
                select(better, along, guess.impulses),
                where(better, -change, guess.move),
                select(better, add, guess.more),
                where(better, minimum(4.0 * guess.part, 1.0), 0.5 * guess.part),
                where(better, size, guess.least),
            )
            return tuple(found), (size <= CONVERGED) | (size >= guess.least) & (guess.least <= ROUND_OFF)

        still, none = np.zeros(m.nv), np.zeros(m.nh)
        begin = ContactGuess(self.now.v, none, still, none, 1.0, HUGE)
        (v, impulses, *_), iterations, solved = iterate(ITERATIONS, improve, *begin)
        return np.concatenate([v, impulses]), iterations, solved

    def _contact_correction(self, M: Array, v: Array, along: Array) -> tuple[Number, Array, Array]:
        """Return the relative residual, and the corrections of velocities (nv,) and impulses (nh,).

        They are evaluated at velocities v (nv,) and impulses `along` (nh,) of the constraints.
        """
        q, mean = self._middle(v)
        loads = self.system.loads(self.t + 0.5 * self.h, q, mean, self.held)
        assert loads.touching is not None
        A = M + self._force_jacobian(v) + self.system.contact_step_matrix(q, loads.touching, self.h)
        J = self._rows(q)
        residual = self.system.imbalance(q, mean, (v - self.now.v) / self.h, loads) * self.h - J.T @ along
        impulse_sum = sum((largest(contact.force) for contact in loads.touching.contacts), 0.0) * self.h
        size = largest(residual) / (largest(M @ self.now.v) + largest(M @ v) + impulse_sum + TINY)
        size = size + largest(J @ mean) / (largest(v) + 1.0)
        factored = lu(A)
        change, constraints = factored.solve(residual), DenseConstraints.of(J, factored.solve, symmetric=False)
        add = constraints.multipliers(J @ (change - mean * 2.0))
        return size, change - constraints.change(add), add


def _converged(size: Number, before: Number, scale: Number) -> Condition:
    """Return whether a correction of this size ends the iteration; `before` is the size of the last one.

    `scale` [rad/s or m/s] is the size of the velocities. Corrections that no longer decrease have reached round-off.
    """
    stalled = (size <= ROUND_OFF * scale) & (size >= before)
    stalled = stalled | (size <= SLOW * scale) & (size >= 0.5 * before)
    return (size <= CONVERGED * scale) | stalled
