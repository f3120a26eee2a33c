"""Variational steps, which conserve momenta and the symplectic form.

All of them solve the equations of `discrete_equations` by Newton's method with a line search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.constraints.dense_solver import DenseConstraints
from linkwork.algorithms.mimic_reduction import velocities
from linkwork.algorithms.tangent_space import integrate, tangent_rate
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.methods.discrete_equations import Interval, MotionEvaluation
from linkwork.simulation.methods.method import IterationHistory, Solution
from linkwork.simulation.simulated_system import System, with_armature
from linkwork.simulation.state import Leaves, StepState, select
from linkwork.spatial.scalar import Array, Condition, Number, largest, minimum, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import TINY

ITERATIONS = 50  # largest number of iterations
SOLVED, NEAR = 1e-15, 1e-6  # relative momentum residuals of the last and the previous iterate that end the iteration
SOLVED_WITH_CONTACTS = 1e-13  # in place of SOLVED with contacts, whose forces are large compared with momenta
ROUND_OFF = 2e-16
ROUNDED = 1e-9  # relative residual at which the iteration ends if it no longer decreases
OPEN = 0.1  # weight [1/m or 1/rad] of constraint errors in the residual
SHORT = 1e-3  # fraction of a correction below which the line search stops


class Guess(NamedTuple):
    """The iterate of Newton's method: motion dv (nv,), multipliers (nh,), and `part` of the next correction to try.

    `momentum` (nv,) [N s, N m s] is the momentum at the end of the step, `work` [J] the work in the step.
    """

    dv: Array
    multipliers: Array
    part: Number
    momentum: Array
    work: Number


class Tried(NamedTuple):
    """The evaluation of an iterate: momentum residual (nv,), constraint errors (nh,) and constraint rows J (nh, nv).

    `momentum` (nv,) [N s, N m s] is the momentum at the end of the step, `work` [J] the work in the step.
    """

    motion: MotionEvaluation
    residual: Array
    errors: Array
    J: Array
    momentum: Array
    work: Number


class Variational:
    """The discrete Euler-Lagrange equations (S4 5.4). Order 2, symplectic: energy oscillates, but does not drift."""

    at_ends, projected = False, True

    def __init__(self, system: System, t: Number, now: StepState, h: Number, held: Array):
        self.interval = Interval(system, t, now, h, held, self.at_ends)
        self.mechanism, self.now, self.h = self.interval.mechanism, now, h
        self.has_contacts = system.memory is not None
        self.rows = self.interval.rows(self.interval.first, np.zeros(self.mechanism.nv))[1]

    @staticmethod
    def unknowns(mechanism: Mechanism) -> int:
        """Return the number of unknowns: joint motion and multipliers."""
        return mechanism.nv + mechanism.nh

    def tried(self, dv: Array, multipliers: Array, kick: Number = 0.0) -> Tried:
        """Evaluate the residuals of a motion dv (nv,) with multipliers (nh,); only subclasses use `kick`."""
        motion = self.interval.evaluate(dv)
        errors, J = self.interval.rows(motion.second, dv)
        residual, momentum = motion.residual + self.rows.T @ multipliers, motion.momentum
        if not self.projected:
            momentum = momentum + J.T @ multipliers
        return Tried(motion, residual, errors, J, momentum, self.interval.work(dv, motion.loads))

    def arrived(self, dv: Array, momentum: Array) -> tuple[Array, Array]:
        """Return coordinates (nq,) and velocities (nv,) after a step with motion dv (nv,) and final momentum."""
        q = integrate(self.mechanism, self.now.q, dv)
        return q, velocities(self.mechanism if self.projected else unconstrained(self.mechanism), q, momentum)

    # --- the interface Equations ---

    def split(self, unknown: Array) -> tuple[Array, ...]:
        """Return the parts of the unknown (n,): motion dv (nv,) and multipliers (nh,)."""
        nv = self.mechanism.nv
        return unknown[:nv], unknown[nv : nv + self.mechanism.nh]

    def residual(self, unknown: Array) -> Array:
        """Return momentum residual (nv,) and constraint errors (nh,) for an unknown (n,)."""
        tried = self.tried(*self.split(unknown))
        return np.concatenate([tried.residual, tried.errors])

    def moved(self, unknown: Array) -> StepState:
        """Return the state at the end of the step, given the solution `unknown` (n,)."""
        tried = self.tried(*self.split(unknown))
        q, v = self.arrived(unknown[: self.mechanism.nv], tried.momentum)
        return self.now._replace(q=q, v=v, work=self.now.work + tried.work)

    # --- Newton's method ---

    def solve(self, history: IterationHistory | None = None) -> Solution:
        """Solve the equations of the step.

        `history` receives the residual of each iteration; it is used with floats only, not while tracing.
        """
        best, iterations, solved = self.newton(self.first_guess(), np.zeros(self.mechanism.nh), 0.0, history)
        q, v = self.arrived(best.dv, best.momentum)
        moved = self.now._replace(q=q, v=v, work=self.now.work + best.work).solved_in(iterations)
        return Solution(np.concatenate([best.dv, best.multipliers]), moved, solved)

    def first_guess(self) -> Array:
        """Return a first guess of the motion (nv,), of second order in the step if that costs less than an iteration.

        The guess treats joint springs and dampers implicitly, as Newton's matrix does, so that it is useful for stiff
        ones.
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
        """Solve for the motion by Newton's method, for a given `kick` (0 except for energy-momentum steps).

        Returns the last iterate, the number of iterations, and whether they converged.
        """
        begin = Guess(dv, multipliers, 1.0, np.zeros(self.mechanism.nv), 0.0)
        found, iterations, solved = iterate(
            ITERATIONS, lambda *state: self._improved(Guess(*state), kick, history), *begin
        )
        return Guess(*found), iterations, solved

    def _improved(self, last: Guess, kick: Number, history: IterationHistory | None) -> tuple[Leaves, Condition]:
        m = self.mechanism
        here = self.tried(last.dv, last.multipliers, kick)
        move, more = self._correction(here, last.dv, kick)
        dv, multipliers = last.dv + move * last.part, last.multipliers + more * last.part
        there = self.tried(dv, multipliers, kick)
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
        )
        # The factor is the round-off of sums over joints
        solved = SOLVED_WITH_CONTACTS if self.has_contacts else SOLVED * np.sqrt(1.0 + m.nv / 64.0)
        ended = (after <= solved) & (before <= NEAR)
        still = largest(move) <= ROUND_OFF * largest(self.now.q)  # the correction is below the round-off of q
        return tuple(found), ended | (after >= before) & ((before <= ROUNDED) | still) | (after <= ROUND_OFF)

    def _size(self, tried: Tried) -> Number:
        """Return the relative residual of an evaluated iterate."""
        scale = largest(self.interval.p) + largest(tried.momentum) + tried.motion.impulse_sum + TINY
        return largest(tried.residual) / scale + largest(tried.errors) * OPEN

    def _correction(self, tried: Tried, dv: Array, kick: Number) -> tuple[Array, Array]:
        """Return the Newton corrections of the motion dv (nv,) and of the multipliers (nh,)."""
        solve = self.solver(tried, dv, kick)
        move = solve(tried.residual)
        # Divided by the step, so that the matrix is positive also for substeps backward in time
        symmetric = not (self.has_contacts or self.interval.system.force_laws)
        constraints = DenseConstraints(tried.J, DenseConstraints.of(self.rows, solve).response, symmetric, self.h)
        more = constraints.multipliers(-(tried.errors + tried.J @ move))
        move = move + constraints.change(more)
        return tangent_rate(self.mechanism, dv, move), more

    def solver(self, tried: Tried, dv: Array, kick: Number) -> Callable[[Array], Array]:
        """Return the solver for Newton's matrix without constraints: residual (nv,) to change of the motion (nv,)."""
        return self.interval.solver(tried.motion, dv)


class Rattle(Variational):
    """The equations of RATTLE: a variational step with springs evaluated at both ends of the step (S4 2.33 to 2.37)."""

    at_ends = True


class Shake(Rattle):
    """The equations of SHAKE: the positions of RATTLE, with velocities that satisfy loops to second order only.

    Velocities are not projected (S4 2.31, 2.32). The multipliers of a loop act equally at both ends of a step; RATTLE
    solves for those at the end. The resulting momentum error is along the constraint rows, and the multipliers of the
    next step absorb it, so that the positions are the same.
    """

    projected = False


def unconstrained(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism without loops, clutches and brakes; only its joints remain."""
    return mechanism.keeping(lambda one: False)
