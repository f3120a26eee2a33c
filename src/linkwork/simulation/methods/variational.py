"""Variational methods (variational, RATTLE, SHAKE): their steps conserve momenta and the symplectic form.

All three solve the equations of `discrete_equations` by Newton's method with a line search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, NamedTuple

import numpy as np

from linkwork.algorithms.constraints.articulated_body_solver import Constrained
from linkwork.algorithms.mimic_reduction import velocities
from linkwork.algorithms.pose_increments import EXPONENTIAL, RotationRule
from linkwork.algorithms.solver_choice import SolverChoice
from linkwork.algorithms.tangent_space import integrate, tangent_rate
from linkwork.algorithms.variational_step_solver import ConstraintRows
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.methods.discrete_equations import Interval, MotionEvaluation
from linkwork.simulation.methods.integration_step import IterationHistory, Solution
from linkwork.simulation.methods.method_tolerances import (
    LOOPS_CLOSED,
    NEARLY_SOLVED,
    NO_IMPULSE,
    SHORTEST_CORRECTION,
    SOLVED,
    SOLVED_WITH_CONTACTS,
    STALLED_RESIDUAL,
    UNIT_ROUND_OFF,
)
from linkwork.simulation.simulated_system import System, with_armature
from linkwork.simulation.state import Leaves, StepState, flatten, select, unflatten
from linkwork.spatial.scalar import Array, Condition, Number, Value, largest, may_be_nonzero, minimum, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import TINY

ITERATIONS = 50  # largest number of corrections
CORRECTIONS = 4  # largest number of corrections with one factorization of Newton's matrix
FEW = 6  # up to this number of velocities, factoring the matrix again costs less than a loop of corrections
FAST = 0.03  # a correction must reduce the residual to this fraction; otherwise Newton's matrix is factored anew
OPEN = 0.1  # weight [1/m or 1/rad] of constraint errors in the residual
NO_KICK = np.zeros(0)
NEARLY = 10.0  # if the last correction increases the residual by at most this factor, the increase counts as round-off


# solve(residual, errors): corrections of the motion (nv,) and the multipliers (nh,), from a momentum residual (nv,) and
# required changes (nh,) of constraint errors
NewtonSolver = Callable[[Array, Array], Constrained]


class MomentumBalance(NamedTuple):
    """The momentum balance of an iterate of Newton's method.

    `residual` (nv,) [N s, N m s] is the momentum residual at the start of the step, `errors` (nh,) are the errors of
    all constraint rows, and `scale` [N s] is the momentum to which residuals are relative. `momentum` (nv,) [N s, N m
    s] is the momentum at the end of the step, and `work` [J] the work in the step. `touched` (7,) has the work [J] of
    contacts, and the impulse [N s] and angular impulse [N m s] of the ground, or is empty. Only energy-momentum steps
    use the other members of the tuple: the change `stored` [J] of the potential energy, and `begin` and `end` (nv,),
    the energy impulse at the start and at the end of the step for a factor of 1.
    """

    residual: Array
    errors: Array
    scale: Number
    momentum: Array
    work: Number
    stored: Number = 0.0
    begin: Array = NO_KICK
    end: Array = NO_KICK
    touched: Array = NO_KICK


class Guess(NamedTuple):
    """The iterate of Newton's method: joint motion dv (nv,) [rad, m], multipliers (nh,) and their momentum balance.

    `part` is the fraction of the next correction that is tried, and `iterations` the number of corrections so far.
    `ended` is 1 if no further corrections are needed, else 0. `singular` is 1 if the step begins at a singular position
    of loops, else 0; see `Variational.evaluated`.
    """

    dv: Array
    multipliers: Array
    balance: MomentumBalance
    part: Number = 1.0
    iterations: Number = 0.0
    ended: Number = 0.0
    singular: Number = 0.0

    @property
    def done(self) -> Condition:
        """Whether the iteration ends: it has converged or has reached the iteration limit."""
        return (self.ended > 0.0) | (self.iterations >= ITERATIONS)


class StepEvaluation(NamedTuple):
    """The equations of a step, evaluated at an iterate: motion of the bodies, constraint rows (nh, nv) at both ends of
    the step, and momentum balance.
    """

    motion: MotionEvaluation
    rows: ConstraintRows
    balance: MomentumBalance


class Variational:
    """Equations of a variational step: discrete Euler-Lagrange equations (S4, equation 5.4). Order 2, symplectic.

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
        """Return the number of unknowns of a step: nv joint motions and nh multipliers."""
        return mechanism.nv + mechanism.nh

    def evaluated(self, dv: Array, multipliers: Array, kick: Number = 0.0, singular: Number = 0.0) -> StepEvaluation:
        """Return the residuals of the step's equations for a motion dv (nv,) [rad, m] with multipliers (nh,).

        The impulses of the constraints act along their rows J(q_0) at the start of the step; J(q_1) are those at its
        end. At a singular position of loops, J(q_0) has lower rank than J(q_1), and no impulses along J(q_0) can
        satisfy the loops. If `singular` is 1, the impulses act along J(q_1) instead. Only energy-momentum steps use
        `kick`, the factor of the energy impulse.
        """
        motion = self.interval.evaluate(dv)
        errors, J = self.interval.rows(motion.second, dv)
        rows = select(singular > 0.0, J, self.rows) if may_be_nonzero(singular) else self.rows
        start, momentum = rows.T @ multipliers, motion.momentum
        if not self.projected:
            end = J.T @ multipliers
            momentum = momentum + end * np.sqrt((start @ start + NO_IMPULSE) / (end @ end + NO_IMPULSE))
        work = self.interval.work(dv, motion.loads)
        scale = largest(self.interval.p) + largest(motion.residual - self.interval.p) + motion.impulse_sum + TINY
        balance = MomentumBalance(
            motion.residual + start, errors, scale, momentum, work[0], touched=self._touched(work)
        )
        return StepEvaluation(motion, ConstraintRows(rows, J), balance)

    def arrived(self, dv: Array, momentum: Array) -> tuple[Array, Array]:
        """Return the coordinates (nq,) and velocities (nv,) after a step with the motion dv (nv,) and the final
        `momentum` (nv,).
        """
        q = integrate(self.mechanism, self.now.q, dv)
        return q, velocities(self.mechanism if self.projected else unconstrained(self.mechanism), q, momentum)

    # --- the interface Equations ---

    def parts_of_unknown(self, unknown: Array) -> tuple[Array, ...]:
        """Return the parts of the vector `unknown` (nv + nh,): joint motion dv (nv,) and multipliers (nh,)."""
        nv = self.mechanism.nv
        return unknown[:nv], unknown[nv : nv + self.mechanism.nh]

    def residual(self, unknown: Array) -> Array:
        """Return the momentum residual (nv,), followed by the constraint errors (nh,), as one array.

        `unknown` (nv + nh,) has the joint motion and the multipliers.
        """
        balance = self.evaluated(*self.parts_of_unknown(unknown)).balance
        return np.concatenate([balance.residual, balance.errors])

    def moved(self, unknown: Array) -> StepState:
        """Return the state at the end of the step, given the solution `unknown` (nv + nh,): motion, multipliers."""
        balance = self.evaluated(*self.parts_of_unknown(unknown)).balance
        return self.end_state(unknown[: self.mechanism.nv], balance)

    # --- Newton's method ---

    def solve(self, history: IterationHistory | None = None) -> Solution:
        """Return the solution of the equations of the step.

        `history` receives the residual of each iteration; it is used with floats only, not while tracing.
        """
        begin = self.first_guess()

        def improve(*state: Value) -> tuple[Leaves, Condition]:
            guess, solve = self.factored(unflatten(begin, state), 0.0)
            found = self.corrected(guess, solve, 0.0, history)
            return tuple(flatten(found)), found.done

        found, _, _ = iterate(ITERATIONS, improve, *flatten(begin))
        best = unflatten(begin, found)
        moved = self.end_state(best.dv, best.balance).solved_in(best.iterations)
        return Solution(np.concatenate([best.dv, best.multipliers]), moved, best.ended > 0.0)

    def end_state(self, dv: Array, balance: MomentumBalance) -> StepState:
        """Return the state at the end of a step with the motion dv (nv,) and the momentum balance `balance` of this
        motion.
        """
        q, v = self.arrived(dv, balance.momentum)
        moved = self.now._replace(q=q, v=v)
        if not len(self.now.ledger):
            return moved._replace(work=self.now.work + balance.work)
        contacts, ground = (balance.touched[0], balance.touched[1:]) if self.has_contacts else (0.0, np.zeros(6))
        joints, friction = (part * self.h for part in self.interval.joint_powers(dv))
        return moved.with_work(np.array([balance.work, contacts, 0.0, joints, *ground, *friction]))

    def _touched(self, work: Array) -> Array:
        """Return the work [J] of contacts, and impulse and angular impulse of the ground, in a step as one array (7,).

        The result is empty if there is no work ledger. `work` has the work of the step and the changes of the ledger.
        """
        return np.array([work[1], *work[4:10]]) if len(work) > 1 and self.has_contacts else NO_KICK

    def first_guess(self) -> Guess:
        """Return the first guess for Newton's method: the motion of `first_motion`, without impulses of constraints."""
        free, none = np.zeros(self.mechanism.nv), np.zeros(self.mechanism.nh)
        balance = MomentumBalance(free, none, 0.0, free, 0.0, touched=self._touched(np.zeros(1 + len(self.now.ledger))))
        return Guess(self.first_motion(), none, balance)

    def first_motion(self) -> Array:
        """Return a first guess of the joint motion (nv,) in the step.

        If a second-order guess costs less than an iteration of Newton's method, the guess is of second order in the
        step. It treats joint springs and dampers implicitly, as Newton's matrix does, because otherwise stiff springs
        would make it useless.
        """
        of_tree = self._straight_motion if self.has_contacts else self._curved_motion
        straight = self._straight_motion
        return SolverChoice(of_tree, straight, straight, straight).of(self.mechanism)()

    def _straight_motion(self) -> Array:
        """Return the joint motion (nv,) in the step with the velocities at its start."""
        return self.now.v * self.h

    def _curved_motion(self) -> Array:
        """Return the joint motion (nv,) of a tree in the step with the accelerations at its start."""
        m, h, now, interval = self.mechanism, self.h, self.now, self.interval
        straight = self._straight_motion()
        if m.line_forces:  # the armature of joints cannot represent them
            return straight
        system = replace(interval.system, mechanism=with_armature(m, interval.joint_stiffness(straight) * h))
        loads = system.loads(interval.t, now.q, now.v, interval.held)
        return straight + system.acceleration(now.q, now.v, loads) * (0.5 * h * h)

    def factored(self, guess: Guess, kick: Number) -> tuple[Guess, NewtonSolver]:
        """Return the guess with its residuals evaluated, and the solver of Newton's equations at this guess.

        Other quantities of the momentum balance, such as the work, are evaluated after corrections. `kick` is the
        factor of the energy impulse; it is 0 except in energy-momentum steps.
        """
        here = self.evaluated(guess.dv, guess.multipliers, kick, guess.singular)
        residual, errors, scale, *_ = here.balance
        balance = guess.balance._replace(residual=residual, errors=errors, scale=scale)
        return guess._replace(balance=balance), self.solver(here, guess.dv, kick)

    def corrected(self, guess: Guess, solve: NewtonSolver, kick: Number, history: IterationHistory | None) -> Guess:
        """Return the iterate after repeated Newton corrections with one factorization, until they converge slowly.

        `solve` solves Newton's equations, and `history` receives the residual of each iteration. `kick` is the factor
        of the energy impulse; it is 0 except in energy-momentum steps.
        """

        def correct(*state: Value) -> tuple[Leaves, Condition]:
            found, stale = self._corrected(unflatten(guess, state), solve, kick, history)
            return tuple(flatten(found)), stale | found.done

        if self.mechanism.nv <= FEW:
            return self._corrected(guess, solve, kick, history)[0]
        return unflatten(guess, iterate(CORRECTIONS, correct, *flatten(guess))[0])

    def _corrected(
        self, last: Guess, solve: NewtonSolver, kick: Number, history: IterationHistory | None
    ) -> tuple[Guess, Condition]:
        """Return the iterate after one Newton correction, and whether Newton's matrix must be factored again.

        `last` is the iterate before, and `solve` solves Newton's equations. `history` receives the residual of the
        iteration. `kick` is the factor of the energy impulse; it is 0 except in energy-momentum steps.
        """
        move, more = solve(last.balance.residual, -last.balance.errors)
        dv = last.dv + tangent_rate(self.mechanism, last.dv, move) * last.part
        multipliers = last.multipliers + more * last.part
        there = self.evaluated(dv, multipliers, kick, last.singular).balance
        before, after = self._size(last.balance), self._size(there)
        better, near = after < before, after <= NEARLY * before
        # at a kink of the friction force the residual may increase first: accept the step over the kink
        if self.has_contacts:
            better = better | (last.part < SHORTEST_CORRECTION)
        if history is not None:
            history.record(after, there.residual, there.errors, better)
        # The square root accounts for the round-off of sums over joints
        solved = SOLVED_WITH_CONTACTS if self.has_contacts else SOLVED * np.sqrt(1.0 + self.mechanism.nv / 64.0)
        ended = (after <= solved) & (before <= NEARLY_SOLVED)
        still = largest(move) <= UNIT_ROUND_OFF * largest(self.now.q)  # the correction is below the round-off of q
        ended = ended | (after >= before) & near & ((before <= STALLED_RESIDUAL) | still) | (after <= UNIT_ROUND_OFF)
        better = better | ended
        only_open = (self._momentum_size(there) <= STALLED_RESIDUAL) & (
            largest(there.errors / self.reach) > LOOPS_CLOSED
        )
        slow = only_open & (after >= 0.5 * before) & (last.part == 1.0) & (last.singular == 0.0)
        singular, balance = where(slow, 1.0, last.singular), select(better, there, last.balance)
        impulses = select(better, multipliers, last.multipliers)
        free = balance.residual - self.rows.T @ impulses
        found = Guess(
            where(better, dv, last.dv),
            select(slow, np.zeros(self.mechanism.nh), impulses),
            balance._replace(residual=select(slow, free, balance.residual)),
            where(slow, 1.0, where(better, minimum(last.part * 4.0, 1.0), last.part * 0.5)),
            last.iterations + 1.0,
            where(ended, where(slow, 0.0, 1.0), 0.0),
            singular,
        )
        return found, better & (after > FAST * before) | slow

    def _size(self, balance: MomentumBalance) -> Number:
        """Return the relative residual of an iterate, of momentum and constraints together."""
        return self._momentum_size(balance) + largest(balance.errors) * OPEN

    def _momentum_size(self, balance: MomentumBalance) -> Number:
        """Return the momentum residual of an iterate, relative to the scale of momenta."""
        return largest(balance.residual) / balance.scale

    def solver(self, here: StepEvaluation, dv: Array, kick: Number) -> NewtonSolver:
        """Return the solver of Newton's equations at a motion dv (nv,); see `Interval.solver`.

        `here` is the evaluation of the step's equations at dv. Only subclasses use `kick`.
        """
        return self.interval.solver(here.motion, dv, here.rows)


class Rattle(Variational):
    """Equations of a RATTLE step: a variational step with springs evaluated at both ends (S4, equations 2.33 to
    2.37).
    """

    at_ends = True


class Shake(Rattle):
    """Equations of a SHAKE step: positions of RATTLE, with velocities that satisfy loops to second order only.

    Velocities are not projected onto the loops (S4, equations 2.31 and 2.32). The impulses of the constraints at both
    ends of a step have equal multipliers, up to a factor that makes the two impulses equally large; RATTLE solves for
    separate multipliers at the end. The momentum error of SHAKE is along the constraint rows, and the multipliers of
    the next step absorb it, so that the positions are the same. Without the factor, this error would grow near singular
    positions.
    """

    projected = False


def unconstrained(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism without loops, clutches and brakes; only its joints remain."""
    return mechanism.keeping(lambda one: False)
