"""The implicit midpoint rule: the equations of motion hold at the middle of the step. For stiff springs and dampers.

Order 2, symmetric. Newton's method finds the velocities at the end of the step with the matrix M + h/2 D + h^2/4 K of
the step's start, where D and K are the damping and stiffness of controllers, joints, and springs between bodies; what
the matrix leaves out only costs iterations. Impulses (nh,) along the constraint rows J keep J times the mean velocity
at zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.constraints.dense import DenseConstraints
from linkwork.algorithms.coordinates import integrate
from linkwork.algorithms.joint_forces import resistance
from linkwork.algorithms.reduction import held_rows, to_tree
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.methods.force_derivatives import slopes
from linkwork.simulation.methods.method import Solution, Witness
from linkwork.simulation.state import Leaves, StepState, select
from linkwork.simulation.system import ForceLaw, System, stiffened_matrix, stiffened_solver
from linkwork.spatial.loops import iterate
from linkwork.spatial.scalar import Array, Condition, Number, Value, largest, lu, may_be_nonzero, minimum, where
from linkwork.tolerances import HUGE, TINY

ITERATIONS = 60  # at most
CONVERGED = 1e-14  # change of a velocity, relative to the largest, at which the iteration ends
ROUND_OFF = 1e-10  # the same if changes no longer decrease: springs between bodies and loops are rounded
SLOW = 1e-6  # the same if changes decrease by less than half: near singular positions of loops
SHORTEST = 1e-3  # part of a correction below which a contact's kink is stepped over


class ContactGuess(NamedTuple):
    """Where Newton's method with contacts is: best velocities (nv,) and impulses (nh,), and the next correction.

    `part` of the correction (`move`, `more`) is tried next; `least` is the relative residual of the best guess.
    """

    best: Array
    impulses: Array
    move: Array
    more: Array
    part: Number
    least: Number


class Midpoint:
    """The equations of one step by the implicit midpoint rule; the unknown is v at its end and impulses (nh,)."""

    def __init__(self, system: System, t: Number, now: StepState, h: Number, held: Array):
        self.system, self.t, self.now, self.h, self.held = system, t, now, h, held
        self.mechanism = system.mechanism

    @staticmethod
    def unknowns(mechanism: Mechanism) -> int:
        """The number of unknowns."""
        return mechanism.nv + mechanism.nh

    def _middle(self, v: Array) -> tuple[Array, Array]:
        """Coordinates (nq,) at the middle of the step, and the mean velocity (nv,), for velocities v at its end."""
        mean = (self.now.v + v) * 0.5
        return integrate(self.mechanism, self.now.q, mean * (0.5 * self.h)), mean

    def _imbalance(self, q: Array, mean: Array, v: Array) -> Array:
        """Impulse (nv,) [N s, N m s] that lacks for velocities v at the end."""
        loads = self.system.loads(self.t + 0.5 * self.h, q, mean, self.held)
        return self.system.imbalance(q, mean, (v - self.now.v) / self.h, loads) * self.h

    def _force_slopes(self, v: Array) -> Array:
        """Derivative (nv, nv), negated, of the force laws' impulses by the velocities v (nv,) at the end."""

        def impulse(law: ForceLaw) -> Callable[[Array], Array]:
            return lambda v: law(self.t + 0.5 * self.h, *self._middle(v)) * self.h

        return -sum((slopes(impulse(law), v) for law in self.system.force_laws), np.zeros((len(v), len(v))))

    def _rows(self, q: Array) -> Array:
        """The constraint rows (nh, nv) at q (nq,)."""
        return held_rows(self.mechanism, q)

    def residual(self, unknown: Array) -> Array:
        """Impulse (nv,) that lacks, and rates (nh,) of the constraints, at velocities at the end and impulses."""
        v, impulses = unknown[: self.mechanism.nv], unknown[self.mechanism.nv :]
        q, mean = self._middle(v)
        J = self._rows(q)
        return np.concatenate([self._imbalance(q, mean, v) - J.T @ impulses, J @ mean])

    def moved(self, unknown: Array) -> StepState:
        """The state at the end of the step."""
        v = unknown[: self.mechanism.nv]
        q, mean = self._middle(v)
        power = self.system.power(q, mean, self.system.loads(self.t + 0.5 * self.h, q, mean, self.held))
        after = integrate(self.mechanism, self.now.q, mean * self.h)
        return self.now._replace(q=after, v=v, work=self.now.work + self.h * power)

    def solve(self, witness: Witness | None = None) -> Solution:
        """The solution; a `witness` sees the iterations, where numbers are plain."""
        m, h, now = self.mechanism, self.h, self.now
        stiffness = np.concatenate([np.zeros(0), *(j.stiffness for j in m.joints)])
        (speed,) = to_tree(m, ("v",), (now.v,))
        extra = resistance(m.tree, speed) * (0.5 * h) + stiffness * (0.25 * h * h)
        weights = [spring.damping * (0.5 * h) + spring.stiffness * (0.25 * h * h) for spring in m.line_forces]
        M = stiffened_matrix(m, now.q, extra, weights)
        unknown, iterations, solved = (
            self._with_contacts(M) if self.system.memory is not None else self._smooth(M, witness)
        )
        return Solution(unknown, self.moved(unknown).solved_in(iterations), solved)

    def _smooth(self, M: Array, witness: Witness | None) -> tuple[Array, Number, Condition]:
        """Without contacts: Newton's method with one matrix for all iterations."""
        m, now, by_velocity = self.mechanism, self.now, self._force_slopes(self.now.v)
        coupled = any(map(may_be_nonzero, (by_velocity - np.diag(np.diag(by_velocity))).ravel()))
        solve = lu(M + by_velocity).solve if coupled else stiffened_solver(m, M + by_velocity)

        def improve(v: Array, *before: Value) -> tuple[Leaves, Condition]:
            q, mean = self._middle(v)
            change = solve(self._imbalance(q, mean, v))
            constraints = DenseConstraints.of(self._rows(q), solve, symmetric=not self.system.force_laws)
            impulses = constraints.multipliers(constraints.J @ (mean * 2.0 - change))
            change = change + constraints.change(impulses)
            better, size, scale = v - change, largest(change), largest(v) + 1.0
            if witness is not None:
                witness.see(size / scale, change, np.zeros(m.nh), True)
            if not before:
                return (better,), size <= CONVERGED * scale
            stalled = (size <= ROUND_OFF * scale) & (size >= before[0])
            stalled = stalled | (size <= SLOW * scale) & (size >= 0.5 * before[0])
            return (better, size, -impulses), (size <= CONVERGED * scale) | stalled

        rounded = m.line_forces or m.constrained  # round-off may then keep changes from becoming smaller
        more = (largest(now.v) + 1.0, np.zeros(m.nh)) if rounded else ()
        (v, *rest), iterations, solved = iterate(ITERATIONS, improve, now.v, *more)
        return np.concatenate([v, *rest[1:]]), iterations, solved

    def _with_contacts(self, M: Array) -> tuple[Array, Number, Condition]:
        """With contacts, whose forces have kinks: the matrix of their present states, and shortened corrections."""
        m = self.mechanism

        def improve(*state: Value) -> tuple[Leaves, Condition]:
            guess = ContactGuess(*state)
            v, along = guess.best + guess.move * guess.part, guess.impulses + guess.more * guess.part
            size, change, add = self._contact_correction(M, v, along)
            better = (size < guess.least) | (guess.part < SHORTEST)  # at a kink nothing is better on this side
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
        """The relative residual at velocities v and impulses `along`, and the corrections (nv,), (nh,) of both."""
        q, mean = self._middle(v)
        loads = self.system.loads(self.t + 0.5 * self.h, q, mean, self.held)
        assert loads.touching is not None
        A = M + self._force_slopes(v) + self.system.contact_step_matrix(q, loads.touching, self.h)
        J = self._rows(q)
        lack = self.system.imbalance(q, mean, (v - self.now.v) / self.h, loads) * self.h - J.T @ along
        pressed = sum((largest(grip.force) for grip in loads.touching.grips), 0.0) * self.h
        size = largest(lack) / (largest(M @ self.now.v) + largest(M @ v) + pressed + TINY)
        size = size + largest(J @ mean) / (largest(v) + 1.0)
        factored = lu(A)
        change, constraints = factored.solve(lack), DenseConstraints.of(J, factored.solve, symmetric=False)
        add = constraints.multipliers(J @ (change - mean * 2.0))
        return size, change - constraints.change(add), add
