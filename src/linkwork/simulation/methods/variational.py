"""Variational steps, which conserve momenta and the symplectic form.

All solve the equations of `discrete_equations` by Newton's method with a line search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.constraints.dense import DenseConstraints
from linkwork.algorithms.coordinates import integrate, tangent_rate
from linkwork.algorithms.reduction import velocities
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.methods.discrete_equations import Between, Interval
from linkwork.simulation.methods.method import Solution, Witness
from linkwork.simulation.state import Leaves, StepState, select
from linkwork.simulation.system import System, with_armature
from linkwork.spatial.loops import iterate
from linkwork.spatial.scalar import Array, Condition, Number, largest, minimum, where
from linkwork.tolerances import TINY

ITERATIONS = 50  # at most
SOLVED, NEAR = 1e-15, 1e-6  # lack of momentum, of what there is, at which it has ended if it was near before
PRESSED = 1e-13  # so with contacts, whose forces are large beside momenta
ROUND_OFF = 2e-16
ROUNDED = 1e-9  # at which it has ended if it does not become less
OPEN = 0.1  # how much an error of closure of one [m or rad] counts
SHORT = 1e-3  # part of a step that is tried no further


class Guess(NamedTuple):
    """Where Newton's method is: a motion dv (nv,), multipliers (nh,), and the part of its next correction to try.

    `momentum` (nv,) [N s, N m s] and `work` [J] are those at the end of the motion.
    """

    dv: Array
    multipliers: Array
    part: Number
    momentum: Array
    work: Number


class Tried(NamedTuple):
    """What follows from a guess: momentum that lacks (nv,), errors of what is held (nh,) with their rows J (nh, nv).

    `momentum` (nv,) is that at the end.
    """

    between: Between
    lack: Array
    errors: Array
    J: Array
    momentum: Array
    work: Number


class Variational:
    """The discrete Euler-Lagrange equations (S4 5.4). Order 2, symplectic: energy swings, but does not drift."""

    at_ends, projected = False, True

    def __init__(self, system: System, t: Number, now: StepState, h: Number, held: Array):
        self.interval = Interval(system, t, now, h, held, self.at_ends)
        self.mechanism, self.now, self.h = self.interval.mechanism, now, h
        self.has_contacts = system.memory is not None
        self.rows = self.interval.rows(self.interval.first, np.zeros(self.mechanism.nv))[1]

    @staticmethod
    def unknowns(mechanism: Mechanism) -> int:
        """How many unknowns there are: the joints' motion, and multipliers of loops."""
        return mechanism.nv + mechanism.nh

    def tried(self, dv: Array, multipliers: Array, kick: Number = 0.0) -> Tried:
        """What follows from a motion dv (nv,) and multipliers (nh,) of loops; a `kick` is for those who know one."""
        between = self.interval.between(dv)
        errors, J = self.interval.rows(between.second, dv)
        lack, momentum = between.lack + self.rows.T @ multipliers, between.momentum
        if not self.projected:
            momentum = momentum + J.T @ multipliers
        return Tried(between, lack, errors, J, momentum, self.interval.work(dv, between.loads))

    def arrived(self, dv: Array, momentum: Array) -> tuple[Array, Array]:
        """Coordinates (nq,) and velocities (nv,) after a motion dv (nv,) that ends with this momentum (nv,)."""
        q = integrate(self.mechanism, self.now.q, dv)
        return q, velocities(self.mechanism if self.projected else let_go(self.mechanism), q, momentum)

    # --- as equations ---

    def split(self, unknown: Array) -> tuple[Array, ...]:
        """The arguments of `tried` that an unknown stands for."""
        nv = self.mechanism.nv
        return unknown[:nv], unknown[nv : nv + self.mechanism.nh]

    def residual(self, unknown: Array) -> Array:
        """Momentum and closure that lack for a motion and multipliers."""
        tried = self.tried(*self.split(unknown))
        return np.concatenate([tried.lack, tried.errors])

    def moved(self, unknown: Array) -> StepState:
        """The state at the end of the step."""
        tried = self.tried(*self.split(unknown))
        q, v = self.arrived(unknown[: self.mechanism.nv], tried.momentum)
        return self.now._replace(q=q, v=v, work=self.now.work + tried.work)

    # --- Newton's method ---

    def solve(self, witness: Witness | None = None) -> Solution:
        """The solution; a `witness` sees how it was found, where numbers are plain."""
        best, iterations, solved = self.newton(self.foreseen(), np.zeros(self.mechanism.nh), 0.0, witness)
        q, v = self.arrived(best.dv, best.momentum)
        moved = self.now._replace(q=q, v=v, work=self.now.work + best.work).solved_in(iterations)
        return Solution(np.concatenate([best.dv, best.multipliers]), moved, solved)

    def foreseen(self) -> Array:
        """A first guess at the motion (nv,), of second order in the step where that costs less than an iteration.

        Springs and dampers of joints count as they do in Newton's matrix, so that stiff ones do not throw it far off.
        """
        m, h, now, interval = self.mechanism, self.h, self.now, self.interval
        straight = now.v * h
        if self.has_contacts or m.constrained or m.line_forces or m.mimics:
            return straight
        system = replace(interval.system, mechanism=with_armature(m, interval.joint_stiffness(straight) * h))
        loads = system.loads(interval.t, now.q, now.v, interval.held)
        return straight + system.acceleration(now.q, now.v, loads) * (0.5 * h * h)

    def newton(
        self, dv: Array, multipliers: Array, kick: Number, witness: Witness | None
    ) -> tuple[Guess, Number, Condition]:
        """The motion under a kick, from a guess at it and the multipliers; iterations, and whether it converged."""
        begin = Guess(dv, multipliers, 1.0, np.zeros(self.mechanism.nv), 0.0)
        found, iterations, solved = iterate(
            ITERATIONS, lambda *state: self._improved(Guess(*state), kick, witness), *begin
        )
        return Guess(*found), iterations, solved

    def _improved(self, last: Guess, kick: Number, witness: Witness | None) -> tuple[Leaves, Condition]:
        m = self.mechanism
        here = self.tried(last.dv, last.multipliers, kick)
        move, more = self._correction(here, last.dv, kick)
        dv, multipliers = last.dv + move * last.part, last.multipliers + more * last.part
        there = self.tried(dv, multipliers, kick)
        before, after = self._size(here), self._size(there)
        better = after < before
        if self.has_contacts:  # at a kink of friction nothing is better on this side: step over it
            better = better | (last.part < SHORT)
        if witness is not None:
            witness.see(after, there.lack, there.errors, better)
        found = Guess(
            where(better, dv, last.dv),
            select(better, multipliers, last.multipliers),
            where(better, minimum(last.part * 4.0, 1.0), last.part * 0.5),
            where(better, there.momentum, here.momentum),
            where(better, there.work, here.work),
        )
        solved = PRESSED if self.has_contacts else SOLVED * np.sqrt(1.0 + m.nv / 64.0)  # sums over joints round off so
        ended = (after <= solved) & (before <= NEAR)
        still = largest(move) <= ROUND_OFF * largest(self.now.q)  # coordinates do not show it
        return tuple(found), ended | (after >= before) & ((before <= ROUNDED) | still) | (after <= ROUND_OFF)

    def _size(self, tried: Tried) -> Number:
        """What lacks at a guess, of what there is."""
        there = largest(self.interval.p) + largest(tried.momentum) + tried.between.pressed + TINY
        return largest(tried.lack) / there + largest(tried.errors) * OPEN

    def _correction(self, tried: Tried, dv: Array, kick: Number) -> tuple[Array, Array]:
        """How a motion dv (nv,) and its multipliers (nh,) are to change, by Newton's matrix there."""
        solve = self.solver(tried, dv, kick)
        move = solve(tried.lack)
        # Over the step, so that the matrix is positive also where composition goes back in time
        symmetric = not (self.has_contacts or self.interval.system.force_laws)
        constraints = DenseConstraints(tried.J, DenseConstraints.of(self.rows, solve).response, symmetric, self.h)
        more = constraints.multipliers(-(tried.errors + tried.J @ move))
        move = move + constraints.change(more)
        return tangent_rate(self.mechanism, dv, move), more

    def solver(self, tried: Tried, dv: Array, kick: Number) -> Callable[[Array], Array]:
        """Newton's matrix, without loops."""
        return self.interval.solver(tried.between, dv)


class Rattle(Variational):
    """The same with springs at both ends of a step (S4 2.33 to 2.37): each is evaluated at the positions there."""

    at_ends = True


class Shake(Rattle):
    """The points of RATTLE, with velocities that are not projected (S4 2.31, 2.32): loops hold them to second order.

    Multipliers of a loop act alike at both ends of a step, where those of RATTLE's end are solved for. What is thereby
    wrong with the momentum lies along the loops' rows, and the next step's multipliers take it up: points are the same.
    """

    projected = False


def let_go(mechanism: Mechanism) -> Mechanism:
    """The mechanism without constraints beside its joints."""
    return mechanism.keeping(lambda one: False)
