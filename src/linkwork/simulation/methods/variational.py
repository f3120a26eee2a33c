"""Variational methods (variational, RATTLE, SHAKE): their steps conserve momenta and the symplectic form.

All of them solve the equations of `discrete_equations` by Newton's method with a line search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, NamedTuple

import numpy as np

from linkwork.algorithms.constraints.articulated_constraints import Constrained
from linkwork.algorithms.mimic_reduction import velocities
from linkwork.algorithms.pose_increments import EXPONENTIAL, RotationRule
from linkwork.algorithms.tangent_space import integrate, tangent_rate
from linkwork.algorithms.variational_step_solver import ConstraintRows
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.methods.discrete_equations import Interval, MotionEvaluation
from linkwork.simulation.methods.method import IterationHistory, Solution
from linkwork.simulation.simulated_system import System, with_armature
from linkwork.simulation.state import Leaves, StepState, select
from linkwork.spatial.scalar import Array, Condition, Number, largest, may_be_nonzero, minimum, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import TINY

ITERATIONS = 50  # largest number of iterations
SOLVED, NEAR = 1e-15, 1e-6  # relative momentum residuals of the last and the previous iterate that end the iteration
SOLVED_WITH_CONTACTS = 1e-13  # in place of SOLVED with contacts, whose forces are large compared with momenta
ROUND_OFF = 2e-16
ROUNDED = 1e-9  # relative residual at which the iteration ends if it no longer decreases
OPEN = 0.1  # weight [1/m or 1/rad] of constraint errors in the residual
CLOSED = 1e-12  # closure error [rad, or fraction of the coordinates] that round-off may leave
NO_IMPULSE = 1e-60  # squared impulse of no effect, in place of zero
SHORT = 1e-3  # fraction of a correction below which the line search stops


class Guess(NamedTuple):
    """State of Newton's method in a variational step: motion dv (nv,), multipliers (nh,), fraction `part` to try next.

    `part` is the fraction of the next correction. `momentum` (nv,) [N s, N m s] is the momentum at the end of the step,
    `work` [J] the work in the step. `singular` is 1 if the step begins at a singular position of loops, else 0; see
    `Variational.tried`.
    """

    dv: Array
    multipliers: Array
    part: Number
    momentum: Array
    work: Number
    singular: Number


class Tried(NamedTuple):
    """Residuals at a guess of the motion: of momentum (nv,), constraint errors (nh,), and the constraint rows (nh, nv).

    `momentum` (nv,) [N s, N m s] is the momentum at the end of the step, `work` [J] the work in the step.
    """

    motion: MotionEvaluation
    residual: Array
    errors: Array
    rows: ConstraintRows
    momentum: Array
    work: Number


class Variational:
    """Equations of a variational step: discrete Euler-Lagrange equations (S4 5.4). Order 2, symplectic.

    The energy oscillates, but does not drift.
    """

    at_ends, projected = False, True
    rotation: ClassVar[RotationRule] = EXPONENTIAL

    def __init__(self, system: System, t: Number, now: StepState, h: Number, held: Array):
        self.interval = Interval(system, t, now, h, held, self.at_ends, self.rotation)
        self.mechanism, self.now, self.h = self.interval.mechanism, now, h
        self.has_contacts = system.memory is not None
        self.rows = self.interval.rows(self.interval.first, np.zeros(self.mechanism.nv))[1]
        self.reach = 1.0 + largest(np.concatenate([pose.p for pose in self.interval.poses]))  # size [m] of coordinates

    @staticmethod
    def unknowns(mechanism: Mechanism) -> int:
        """Return the number of unknowns of a step: joint motion and multipliers."""
        return mechanism.nv + mechanism.nh

    def tried(self, dv: Array, multipliers: Array, kick: Number = 0.0, singular: Number = 0.0) -> Tried:
        """Return the residuals of the step's equations for a motion dv (nv,) with multipliers (nh,).

        The impulses of the constraints act along J(q_0). At a singular position of loops, J(q_0) has lower rank than
        J(q_1), and no impulses along J(q_0) keep the loops closed. If `singular` is 1, they act along J(q_1) instead.
        Only subclasses use `kick`.
        """
        motion = self.interval.evaluate(dv)
        errors, J = self.interval.rows(motion.second, dv)
        rows = select(singular > 0.0, J, self.rows) if may_be_nonzero(singular) else self.rows
        start, momentum = rows.T @ multipliers, motion.momentum
        if not self.projected:
            end = J.T @ multipliers
            momentum = momentum + end * np.sqrt((start @ start + NO_IMPULSE) / (end @ end + NO_IMPULSE))
        work = self.interval.work(dv, motion.loads)
        return Tried(motion, motion.residual + start, errors, ConstraintRows(rows, J), momentum, work)

    def arrived(self, dv: Array, momentum: Array) -> tuple[Array, Array]:
        """Return coordinates (nq,) and velocities (nv,) after a step with motion dv (nv,) and final momentum (nv,)."""
        q = integrate(self.mechanism, self.now.q, dv)
        return q, velocities(self.mechanism if self.projected else unconstrained(self.mechanism), q, momentum)

    # --- the interface Equations ---

    def split(self, unknown: Array) -> tuple[Array, ...]:
        """Return the parts of the vector of unknowns (n,): joint motion dv (nv,) and multipliers (nh,)."""
        nv = self.mechanism.nv
        return unknown[:nv], unknown[nv : nv + self.mechanism.nh]

    def residual(self, unknown: Array) -> Array:
        """Return the momentum residual (nv,) and the constraint errors (nh,) for the unknowns (n,)."""
        tried = self.tried(*self.split(unknown))
        return np.concatenate([tried.residual, tried.errors])

    def moved(self, unknown: Array) -> StepState:
        """Return the state at the end of the step, given the solution `unknown` (n,) of its equations."""
        tried = self.tried(*self.split(unknown))
        q, v = self.arrived(unknown[: self.mechanism.nv], tried.momentum)
        return self.now._replace(q=q, v=v, work=self.now.work + tried.work)

    # --- Newton's method ---

    def solve(self, history: IterationHistory | None = None) -> Solution:
        """Return the solution of the equations of the step.

        `history` receives the residual of each iteration; it is used with floats only, not while tracing.
        """
        best, iterations, solved = self.newton(self.first_guess(), np.zeros(self.mechanism.nh), 0.0, history)
        q, v = self.arrived(best.dv, best.momentum)
        moved = self.now._replace(q=q, v=v, work=self.now.work + best.work).solved_in(iterations)
        return Solution(np.concatenate([best.dv, best.multipliers]), moved, solved)

    def first_guess(self) -> Array:
        """Return a first guess of the joint motion (nv,) in the step, to start Newton's method.

        The guess is of second order in the step if that costs less than an iteration. It treats joint springs and
        dampers implicitly, as Newton's matrix does, so that it is useful for stiff ones.
        """
        m, h, now, interval = self.mechanism, self.h, self.now, self.interval
        straight = now.v * h
        if self.has_contacts or m.constrained or m.line_forces or m.mimics:
            return straight
        system = replace(interval.system, mechanism=with_armature(m, interval.joint_stiffness(straight) * h))
        loads = system.loads(interval.t, now.q, now.v, interval.held)
        return straight + system.acceleration(now.q, now.v, loads) * (0.5 * h * h)

    def newton(
        self, dv: Array, multipliers: Array, kick: Number, history: IterationHistory | None
    ) -> tuple[Guess, Number, Condition]:
        """Solve for the joint motion by Newton's method, for a given `kick` (0 except for energy-momentum steps).

        Returns the last iterate, the number of iterations, and whether they converged.
        """
        begin = Guess(dv, multipliers, 1.0, np.zeros(self.mechanism.nv), 0.0, 0.0)
        found, iterations, solved = iterate(
            ITERATIONS, lambda *state: self._improved(Guess(*state), kick, history), *begin
        )
        return Guess(*found), iterations, solved

    def _improved(self, last: Guess, kick: Number, history: IterationHistory | None) -> tuple[Leaves, Condition]:
        m = self.mechanism
        singular = last.singular if m.frame_constraints else 0.0
        here = self.tried(last.dv, last.multipliers, kick, singular)
        move, more = self._correction(here, last.dv, kick)
        dv, multipliers = last.dv + move * last.part, last.multipliers + more * last.part
        there = self.tried(dv, multipliers, kick, singular)
        before, after = self._size(here), self._size(there)
        better = after < before
        if self.has_contacts:  # at a friction kink the residual may increase first: accept the step over the kink
            better = better | (last.part < SHORT)
        if history is not None:
            history.record(after, there.residual, there.errors, better)
        found = Guess(
            where(better, dv, last.dv),
            select(better, multipliers, last.multipliers),
            where(better, minimum(last.part * 4.0, 1.0), last.part * 0.5),
            where(better, there.momentum, here.momentum),
            where(better, there.work, here.work),
            last.singular,
        )
        # The factor is the round-off of sums over joints
        solved = SOLVED_WITH_CONTACTS if self.has_contacts else SOLVED * np.sqrt(1.0 + m.nv / 64.0)
        ended = (after <= solved) & (before <= NEAR)
        still = largest(move) <= ROUND_OFF * largest(self.now.q)  # the correction is below the round-off of q
        ended = ended | (after >= before) & ((before <= ROUNDED) | still) | (after <= ROUND_OFF)
        if not m.frame_constraints:
            return tuple(found), ended
        only_open = (self._momentum_size(there) <= ROUNDED) & (largest(there.errors) > CLOSED * self.reach)
        no_longer = only_open & (after >= 0.5 * before) & (last.part == 1.0) & (last.singular == 0.0)
        none = np.zeros(m.nh)
        again = found._replace(multipliers=select(no_longer, none, found.multipliers))
        again = again._replace(part=where(no_longer, 1.0, found.part), singular=where(no_longer, 1.0, last.singular))
        return tuple(again), ended & ~no_longer

    def _size(self, tried: Tried) -> Number:
        """Return the relative residual at an evaluated guess: the sum for momentum and constraint errors."""
        return self._momentum_size(tried) + largest(tried.errors) * OPEN

    def _momentum_size(self, tried: Tried) -> Number:
        """Return the relative residual of the momentum equations at an evaluated guess."""
        scale = largest(self.interval.p) + largest(tried.momentum) + tried.motion.impulse_sum + TINY
        return largest(tried.residual) / scale

    def _correction(self, tried: Tried, dv: Array, kick: Number) -> tuple[Array, Array]:
        """Return the Newton corrections of the motion dv (nv,) and of the multipliers (nh,)."""
        move, more = self.solver(tried, dv, kick)(tried.residual, -tried.errors)
        return tangent_rate(self.mechanism, dv, move), more

    def solver(self, tried: Tried, dv: Array, kick: Number) -> Callable[[Array, Array], Constrained]:
        """Return the solver of Newton's linear equations at the guess `tried`; see `Interval.solver`."""
        return self.interval.solver(tried.motion, dv, tried.rows)


class Rattle(Variational):
    """Equations of a RATTLE step: a variational step with springs evaluated at both ends (S4 2.33 to 2.37)."""

    at_ends = True


class Shake(Rattle):
    """Equations of a SHAKE step: positions of RATTLE, with velocities that satisfy loops to second order only.

    Velocities are not projected (S4 2.31, 2.32). The impulses of the constraints at both ends of a step have the same
    multipliers, up to a common factor that makes them equally large; RATTLE solves for those at the end. The resulting
    momentum error is along the constraint rows, and the multipliers of the next step absorb it, so that the positions
    are the same. Without the factor, this error would grow in proportion to the distance from a singular position.
    """

    projected = False


def unconstrained(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism without loops, clutches and brakes; only its joints remain."""
    return mechanism.keeping(lambda one: False)
