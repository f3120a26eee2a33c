"""Steps that conserve momenta and energy exactly: a variational step, and one number that balances energy around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.coordinates import integrate
from linkwork.algorithms.kinematics import joint_poses
from linkwork.algorithms.momentum import momentum_about_origin
from linkwork.algorithms.reduction import to_tree, velocities
from linkwork.algorithms.rotors import rotor_matrix
from linkwork.algorithms.symmetries import centred, generators, symmetries
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.methods.discrete_equations import Interval, momenta_of_joints
from linkwork.simulation.methods.method import Solution, Witness
from linkwork.simulation.methods.variational import Guess, Tried, Variational, let_go
from linkwork.simulation.state import Leaves, StepState, select
from linkwork.simulation.system import System
from linkwork.spatial.loops import iterate
from linkwork.spatial.scalar import Array, Condition, Number, Value, largest, ldlt, where
from linkwork.tolerances import HUGE, TINY

KICKS = 12  # impulses along the motion that are tried to balance energy, at most
BALANCED, STALLED = 1e-15, 1e-13  # energy won, of what there is, at which it has ended; if it does not become less
STANDING = 1e-15  # of the energy: internal motion so slow that no impulse along it can change the energy


class Kick(NamedTuple):
    """Where the search for an impulse along the motion is: the next to be tried, and the best so far.

    `won` is the energy that the best one gains, of what there is; dv and what follows is the motion under it.
    """

    next: Number
    best: Number
    won: Number
    iterations: Number
    dv: Array
    multipliers: Array
    momentum: Array
    work: Number


class EnergyMomentum(Variational):
    """The variational step with one more unknown, an impulse along the internal motion, that balances energy. Order 2.

    As in the discrete gradient of Gonzalez, it closes the balance of energy and vanishes with the second power of the
    step. It is a part, the kick, of the momentum of the motion through the step, at both of its ends, less what moves
    as a whole by symmetries, so that their momenta are conserved too.
    """

    def __init__(self, system: System, t: Number, now: StepState, h: Number, held: Array):
        super().__init__(system, t, now, h, held)
        self.balance = Balance(self.interval)

    @staticmethod
    def unknowns(mechanism: Mechanism) -> int:
        """How many unknowns there are: the joints' motion, multipliers of loops, and the kick."""
        return mechanism.nv + mechanism.nh + 1

    def tried(self, dv: Array, multipliers: Array, kick: Number = 0.0) -> Tried:
        """What follows from a motion dv (nv,), multipliers (nh,) of loops and a kick."""
        tried, q, u = super().tried(dv, multipliers), integrate(self.mechanism, self.now.q, dv), dv / self.h
        begin, end = self.balance.first.momenta(u), self.balance.at(q).momenta(u)
        return tried._replace(lack=tried.lack + begin * kick, momentum=tried.momentum + end * kick)

    def split(self, unknown: Array) -> tuple[Array, ...]:
        """The arguments of `tried` that an unknown stands for."""
        return *super().split(unknown), unknown[-1]

    def residual(self, unknown: Array) -> Array:
        """Momentum, closure and energy, of what there is, that lack for a motion, multipliers and a kick."""
        dv, multipliers, kick = self.split(unknown)
        tried = self.tried(dv, multipliers, kick)
        won, scale = self.balance.won(*self.arrived(dv, tried.momentum), tried.work, dv)
        return np.concatenate([tried.lack, tried.errors, np.array([won / scale])])

    def solver(self, tried: Tried, dv: Array, kick: Number) -> Callable[[Array], Array]:
        """Newton's matrix, without loops; the kick takes its part of the momentum."""
        solve = super().solver(tried, dv, kick)
        return lambda lack: solve(lack) / (1.0 - kick)

    def solve(self, witness: Witness | None = None) -> Solution:
        """The solution: the kick that balances energy by the secant method, the motion under each by Newton's."""
        none, free = np.zeros(self.mechanism.nh), np.zeros(self.mechanism.nv)
        begin = Kick(0.0, 0.0, HUGE, 0.0, self.foreseen(), none, free, 0.0)

        def improve(*state: Value) -> tuple[Leaves, Condition]:
            best = Kick(*state)
            guess, iterations, good = self.newton(best.dv, best.multipliers, best.next, witness)
            won, power = self._won(guess)
            better = good & (abs(won) < abs(best.won))
            apart, first = best.next - best.best, best.won == HUGE
            slope = where(first, power, (won - best.won) / where(apart == 0.0, 1.0, apart))
            standing = first & (power <= STANDING)
            nearer, least = where(better, best.next, best.best), where(better, won, best.won)
            secant = nearer - least / where(slope == 0.0, 1.0, slope)
            found = Kick(
                where(good, secant, (best.next + best.best) * 0.5),
                nearer,
                least,
                best.iterations + iterations,
                where(better, guess.dv, best.dv),
                select(better, guess.multipliers, best.multipliers),
                where(better, guess.momentum, best.momentum),
                where(better, guess.work, best.work),
            )
            return tuple(found), good & (standing | (abs(least) <= BALANCED) | ~better & (abs(best.won) <= STALLED))

        found, _, solved = iterate(KICKS, improve, *begin)
        best = Kick(*found)
        solved = solved | (abs(best.won) <= STALLED)
        q, v = self.arrived(best.dv, best.momentum)
        moved = self.now._replace(q=q, v=v, work=self.now.work + best.work).solved_in(best.iterations)
        return Solution(np.concatenate([best.dv, best.multipliers, np.array([best.best])]), moved, solved)

    def _won(self, guess: Guess) -> tuple[Number, Number]:
        """Energy that a motion gains, and by how much a kick changes it to first order, both of what there is."""
        q, v = self.arrived(guess.dv, guess.momentum)
        won, scale = self.balance.won(q, v, guess.work, guess.dv)
        u = guess.dv / self.h
        return won / scale, (self.balance.first.momenta(u) + self.balance.at(q).momenta(u)) @ u / scale


class Balance:
    """The balance of energy through a step, and the impulse along the motion that closes it."""

    def __init__(self, interval: Interval):
        self.interval, system, now = interval, interval.system, interval.now
        self.kinetic, self.stored = system.energies(now.q, now.v)
        loads = system.loads(interval.t, now.q, now.v, interval.held)
        self.pressed = interval.pressed(loads, np.zeros(0))
        self.twists = symmetries(interval.mechanism)
        self.first = self.at(now.q)
        self.given = self._given() if interval.mechanism.constrained else 0.0

    def won(self, q: Array, v: Array, work: Number, dv: Array) -> tuple[Number, Number]:
        """Energy [J] that a step by dv (nv,) to q (nq,) and v (nv,) gains beyond the work, and what there is of it.

        That is also what forces give and take during the step, which may be much where all but rests.
        """
        kinetic, stored = self.interval.system.energies(q, v)
        passed = self.pressed * largest(dv) / abs(self.interval.h)
        scale = kinetic + self.kinetic + abs(stored) + abs(self.stored) + self.given + passed + TINY
        return (kinetic - self.kinetic) + (stored - self.stored) - work, scale

    def _given(self) -> Number:
        """Energy [J] that all forces would give in a step if nothing were held: what is held still may have none."""
        interval, system, now = self.interval, self.interval.system, self.interval.now
        loads, rest = system.loads(interval.t, now.q, now.v, interval.held), np.zeros(interval.mechanism.nv)
        push = (loads.control + loads.stops - system.needed(now.q, rest, rest, loads)) * interval.h
        return 0.5 * abs(push @ velocities(let_go(interval.mechanism), now.q, push))

    def at(self, q: Array) -> Internal:
        """Internal motion at q (nq,)."""
        return Internal(self.interval, q, self.twists)


class Internal:
    """Motion in one position less what moves as a whole by symmetries, with twists (k, 6) of the world."""

    def __init__(self, interval: Interval, q: Array, twists: Array):
        self.interval, self.mechanism = interval, interval.mechanism
        (self.q,) = to_tree(self.mechanism, ("q",), (q,))
        tree = self.mechanism.tree
        if len(twists):
            twists = centred(twists, joint_poses(tree, self.q)[1].p)
        self.whole = generators(self.mechanism, q, twists)  # (nv, k)
        if len(twists):
            rotors = generators(tree, self.q, twists).T @ rotor_matrix(tree)
            felt = twists @ momentum_about_origin(tree, self.q) + rotors
            self.felt = np.array([interval.reduced(one) for one in felt])  # its momenta (k, nv)
            self.inertia = ldlt(self.felt @ self.whole)

    def momenta(self, u: Array) -> Array:
        """The momenta (nv,) of velocities u (nv,)."""
        p = self.interval.reduced(momenta_of_joints(self.mechanism.tree, self.q, self.mechanism.tree_velocity(u)))
        return p - self.felt.T @ self.inertia.solve(self.felt @ u) if self.whole.shape[1] else p
