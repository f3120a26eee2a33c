"""Steps that keep what motion keeps: the variational one, and one that keeps energy exactly.

Both solve the equations of `discrete_motion` by Newton's method with shortened steps, in rounds that end by themselves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms import closure
from linkwork.algorithms.coordinates import integrate, tangent_rate
from linkwork.algorithms.coupled import velocities
from linkwork.algorithms.symmetries import generators, symmetries, without
from linkwork.simulation.discrete_motion import Interval
from linkwork.simulation.moving import Moving
from linkwork.simulation.system import System
from linkwork.spatial.loops import iterate
from linkwork.spatial.scalar import Array, Number, largest, minimum, where

ROUNDS = 50  # at most
SOLVED, NEAR = 1e-13, 1e-8  # lack of momentum, of what there is, at which it has ended if it was near before
ROUND_OFF = 2e-16
ROUNDED = 1e-9  # at which it has ended if it does not become less
OPEN = 0.1  # how much an error of closure of one [m or rad] counts
CLOSE = 1e-5  # lack of momentum below which energy is looked at
STANDING = 1e-15  # of the energy: internal motion so slow that no force along it can change the energy
SHORT = 1e-3  # part of a step that is tried no further
FAR, TINY = 1e300, 1e-300


class Guess(NamedTuple):
    """Where Newton's method is: the best motion dv (nv,) and multipliers (nc,) so far, and what they lack, of one.

    Next it tries `part` of the moves. `v` (nv,) [rad/s, m/s] and `work` [J] are those at the end of the best motion;
    `kick` is the force along the motion that keeps energy, and `push` how it is to change.
    """

    dv: Array
    multipliers: Array
    kick: Number
    move: Array
    more: Array
    push: Number
    part: Number
    lack: Number
    v: Array
    work: Number


def variational(system: System, t: Number, now: Moving, h: Number, held: Array) -> tuple[Moving, Any]:
    """The discrete Euler-Lagrange equations (S4 5.4). Order 2, symplectic: energy swings, but does not drift."""
    return _step(Interval(system, t, now, h, held), None)


def energy_momentum(system: System, t: Number, now: Moving, h: Number, held: Array) -> tuple[Moving, Any]:
    """The same with one more unknown, a force along the internal motion, by which energy is exactly kept. Order 2.

    As in the discrete gradient of Gonzalez, the force closes the balance of energy and vanishes with the second power
    of the step. It does no work on what symmetries move, so that their momenta are kept too.
    """
    interval = Interval(system, t, now, h, held)
    return _step(interval, Balance(interval))


class Balance:
    """The balance of energy through a step, and the force along the motion that closes it."""

    def __init__(self, interval: Interval):
        self.interval, system, now = interval, interval.system, interval.now
        self.kinetic, self.stored = system.energies(now.q, now.v)
        self.twists = symmetries(interval.mechanism)
        tree = interval.tree
        weights = [np.zeros(0)]
        for j in tree.joints:
            S = interval.first.S[j.o]
            own = S.pair(tree.bodies[j.o].inertia.articulated() @ S)
            weights.append(np.array([own[k, k] for k in range(j.kind.nv)]) + j.armature)
        self.weights = interval.reduced(np.concatenate(weights)) if not interval.mechanism.mimics else np.ones(tree.nv)

    def won(self, q: Array, v: Array, work: Number) -> tuple[Number, Number]:
        """Energy [J] that a step to q (nq,) and v (nv,) gains beyond the work, and what there is of it."""
        kinetic, stored = self.interval.system.energies(q, v)
        scale = kinetic + self.kinetic + abs(stored) + abs(self.stored) + TINY
        return (kinetic - self.kinetic) + (stored - self.stored) - work, scale

    def along(self, q: Array, u: Array) -> Array:
        """The force (nv,) along velocities u (nv,) at q, without what symmetries feel."""
        xi = generators(self.interval.mechanism, q, self.twists)
        return without(xi, self.weights * without(xi, u))


def _step(interval: Interval, balance: Balance | None) -> tuple[Moving, Any]:
    m, now, h = interval.mechanism, interval.now, interval.h
    rows = interval.rows(interval.first, np.zeros(m.nv))[1]

    def improve(*state: Any) -> tuple[tuple[Any, ...], Any]:
        best = Guess(*state)
        dv = best.dv + best.move * best.part
        multipliers, kick = best.multipliers + best.more * best.part, best.kick + best.push * best.part
        guess = interval.between(dv)
        errors, J = interval.rows(guess.second, dv)
        q, u = integrate(m, now.q, dv), dv / h
        lack, momentum, work = guess.lack + rows.T @ multipliers, guess.momentum, interval.work(dv, guess.loads)
        begin = end = np.zeros(m.nv)
        if balance is not None:
            begin, end = balance.along(now.q, u), balance.along(q, u)
            lack, momentum = lack + begin * kick, momentum + end * kick
        v = velocities(m, q, momentum)
        there = largest(interval.p) + largest(momentum) + guess.pressed + TINY
        size = largest(lack) / there + largest(errors) * OPEN
        solve = interval.solver(guess, dv)
        response = solve(rows.T) if m.holds else np.zeros((m.nv, 0))

        def answer(lack: Array, errors: Array) -> tuple[Array, Array]:
            """The move, and the change of multipliers, that make up for a lack of momentum and errors of closure."""
            move = solve(lack)
            more = closure.smallest(J @ response, -(errors + J @ move)) if m.holds else np.zeros(0)
            return move + response @ more, more

        (move, more), push = answer(lack, errors), 0.0
        if balance is not None:
            won, scale = balance.won(q, v, work)
            near, power = size <= CLOSE, (begin + end) @ u
            size = size + where(near, minimum(abs(won) / scale, 1.0), 1.0)  # momentum first, then energy
            # A lack of momentum is a lack of energy too, which goes with it
            missing = won + (lack + rows.T @ more) @ u
            push = where(near & (power > STANDING * scale), -missing / where(power > 0.0, power, 1.0), 0.0)
            along, held = answer(begin, np.zeros(m.nh))
            move, more = move + along * push, more + held * push
        better = size < best.lack
        if m.touches:  # at a kink of friction nothing is better on this side: step over it
            better = better | (best.part < SHORT)
        found = Guess(
            where(better, dv, best.dv),
            _chosen(better, multipliers, best.multipliers),
            where(better, kick, best.kick),
            where(better, tangent_rate(m, dv, move), best.move),
            _chosen(better, more, best.more),
            where(better, push, best.push),
            where(better, minimum(best.part * 4.0, 1.0), best.part * 0.5),
            where(better, size, best.lack),
            where(better, v, best.v),
            where(better, work, best.work),
        )
        ended = (size <= SOLVED) & (best.lack <= NEAR) | (size >= best.lack) & (best.lack <= ROUNDED)
        return tuple(found), ended | (size <= ROUND_OFF)

    none, free = np.zeros(m.nh), np.zeros(m.nv)
    begin = Guess(now.v * h, none, 0.0, free, none, 0.0, 1.0, FAR, free, 0.0)
    found, _, solved = iterate(ROUNDS, improve, *begin)
    best = Guess(*found)
    return Moving(integrate(m, now.q, best.dv), best.v, now.work + best.work, now.repair), solved


def _chosen(condition: Any, yes: Array, no: Array) -> Array:
    return where(condition, yes, no) if len(yes) else no
