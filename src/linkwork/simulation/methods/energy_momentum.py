"""Energy-momentum method: a variational step with one more unknown that balances the energy. Conserves momenta too."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.constraints.articulated_constraints import Constrained
from linkwork.algorithms.element_forces import element_energy
from linkwork.algorithms.kinematics import joint_poses
from linkwork.algorithms.mimic_reduction import to_tree, velocities
from linkwork.algorithms.momentum import momentum_about_origin
from linkwork.algorithms.pose_increments import MEAN_VELOCITY, body_increments
from linkwork.algorithms.rotors import rotor_matrix
from linkwork.algorithms.symmetries import centred, generators, symmetries
from linkwork.algorithms.tangent_space import integrate
from linkwork.algorithms.tree_traversal import outward
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.methods.discrete_equations import Interval, momenta_of_joints
from linkwork.simulation.methods.method import IterationHistory, Solution
from linkwork.simulation.methods.variational import Guess, Tried, Variational, unconstrained
from linkwork.simulation.simulated_system import System
from linkwork.simulation.state import Leaves, StepState, select
from linkwork.spatial.scalar import Array, Condition, Number, Value, dot, largest, ldlt, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import HUGE, TINY

KICKS = 12  # largest number of secant iterations for the kick
BALANCED, STALLED = 5e-15, 1e-13  # relative energy errors that end these iterations: always; if no longer decreasing
# The same after all iterations with loops: positions have round-off of 1e-16 over the distance to a singular position
SINGULAR = 1e-9
AT_REST = 1e-15  # relative kinetic energy of internal motion too slow for a kick to change the energy


class Kick(NamedTuple):
    """State of the secant iteration for the energy-balancing impulse: the next factor to try, and the best so far.

    The factor is the kick; see `EnergyMomentum`. `gained` is the relative energy error of the best kick. `dv` and the
    later fields describe the motion under that kick.
    """

    next: Number
    best: Number
    gained: Number
    iterations: Number
    dv: Array
    multipliers: Array
    momentum: Array
    work: Number


class EnergyMomentum(Variational):
    """The variational step with one more unknown, an impulse along the motion, that balances the energy. Order 2.

    As in the discrete gradient of Gonzalez, the impulse closes the energy balance and vanishes with the square of the
    step. It is a factor, the kick, times the momentum of the internal motion, and acts at both ends of the step.
    Internal motion excludes the rigid motion of symmetries, so that their momenta are conserved too. A free rigid body
    has no internal motion; the mean of its velocities before and after the step is its motion, which conserves energy.
    """

    rotation = MEAN_VELOCITY

    def __init__(self, system: System, t: Number, now: StepState, h: Number, held: Array):
        super().__init__(system, t, now, h, held)
        self.balance = Balance(self.interval)

    @staticmethod
    def unknowns(mechanism: Mechanism) -> int:
        """Return the number of unknowns of a step: joint motion, multipliers, and the kick."""
        return mechanism.nv + mechanism.nh + 1

    def tried(self, dv: Array, multipliers: Array, kick: Number = 0.0, singular: Number = 0.0) -> Tried:
        """Return the residuals of the step's equations for a motion dv (nv,), multipliers (nh,) and a kick."""
        tried, q, u = (
            super().tried(dv, multipliers, singular=singular),
            integrate(self.mechanism, self.now.q, dv),
            dv / self.h,
        )
        begin, end = self.balance.first.momenta(u), self.balance.at(q).momenta(u)
        return tried._replace(residual=tried.residual + begin * kick, momentum=tried.momentum + end * kick)

    def split(self, unknown: Array) -> tuple[Array, ...]:
        """Return the parts of the vector of unknowns (n,): joint motion dv (nv,), multipliers (nh,) and kick."""
        return *super().split(unknown), unknown[-1]

    def residual(self, unknown: Array) -> Array:
        """Return the residuals of momentum (nv,), constraints (nh,) and relative energy (1,) for the unknowns (n,)."""
        dv, multipliers, kick = self.split(unknown)
        tried = self.tried(dv, multipliers, kick)
        gained, scale = self.balance.gained(*self.arrived(dv, tried.momentum), tried.work, dv)
        return np.concatenate([tried.residual, tried.errors, np.array([gained / scale])])

    def solver(self, tried: Tried, dv: Array, kick: Number) -> Callable[[Array, Array], Constrained]:
        """Return the solver of Newton's linear equations at the guess `tried`; the kick scales the momentum."""
        solve = super().solver(tried, dv, kick)

        def scaled(residual: Array, target: Array) -> Constrained:
            move, more = solve(residual, target * (1.0 - kick))
            return Constrained(move / (1.0 - kick), more)

        return scaled

    def solve(self, history: IterationHistory | None = None) -> Solution:
        """Solve the equations of the step: a secant iteration for the kick, Newton's method for the motion under it.

        `history` receives the residual of each iteration; it is used with floats only, not while tracing.
        """
        none, free = np.zeros(self.mechanism.nh), np.zeros(self.mechanism.nv)
        begin = Kick(0.0, 0.0, HUGE, 0.0, self.first_guess(), none, free, 0.0)

        def improve(*state: Value) -> tuple[Leaves, Condition]:
            best = Kick(*state)
            guess, iterations, good = self.newton(best.dv, best.multipliers, best.next, history)
            gained, power, stalled = self._gained(guess)
            better = good & (abs(gained) < abs(best.gained))
            apart, first = best.next - best.best, best.gained == HUGE
            slope = where(first, power, (gained - best.gained) / where(apart == 0.0, 1.0, apart))
            at_rest = first & (power <= AT_REST)
            nearer, least = where(better, best.next, best.best), where(better, gained, best.gained)
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
            return tuple(found), good & (at_rest | (abs(least) <= BALANCED) | ~better & (abs(best.gained) <= stalled))

        found, _, solved = iterate(KICKS, improve, *begin)
        best = Kick(*found)
        q, v = self.arrived(best.dv, best.momentum)
        round_off = self.balance.stalled(self.balance.kinetic + TINY)
        solved = solved | (abs(best.gained) <= (SINGULAR if self.mechanism.frame_constraints else round_off))
        moved = self.now._replace(q=q, v=v, work=self.now.work + best.work).solved_in(best.iterations)
        return Solution(np.concatenate([best.dv, best.multipliers, np.array([best.best])]), moved, solved)

    def _gained(self, guess: Guess) -> tuple[Number, Number, Number]:
        """Return the relative energy error of a guessed motion, its derivative by the kick, and its round-off.

        The derivative is of first order.
        """
        q, v = self.arrived(guess.dv, guess.momentum)
        gained, scale = self.balance.gained(q, v, guess.work, guess.dv)
        u = guess.dv / self.h
        power = (self.balance.first.momenta(u) + self.balance.at(q).momenta(u)) @ u / scale
        return gained / scale, power, self.balance.stalled(scale)


class Balance:
    """Energy balance of one step; `at(q)` returns the internal motion, along which the balancing impulse acts."""

    def __init__(self, interval: Interval):
        self.interval, system, now = interval, interval.system, interval.now
        self.kinetic, _ = system.energies(now.q, now.v)
        loads = system.loads(interval.t, now.q, now.v, interval.held)
        self.impulse_sum = interval.impulse_sum(loads, np.zeros(0))
        self.twists = symmetries(interval.mechanism)
        self.first = self.at(now.q)
        self.given, self.closing = (self._given(), self._closing()) if interval.mechanism.constrained else (0.0, 0.0)

    def gained(self, q: Array, v: Array, work: Number, dv: Array) -> tuple[Number, Number]:
        """Return the energy [J] gained beyond the work in a step, and the scale [J] of this error.

        The step moves by dv (nv,) to q (nq,) and v (nv,). The scale includes the energy that forces exchange during the
        step, which dominates near rest.
        """
        kinetic, _ = self.interval.system.energies(q, v)
        passed = self.impulse_sum * largest(dv) / abs(self.interval.h)
        scale = kinetic + self.kinetic + self.given + passed + TINY
        return (kinetic - self.kinetic) + self._stored_change(dv) - work, scale

    def _stored_change(self, dv: Array) -> Number:
        """Return the change [J] of the potential energy in a step with the motion dv (nv,), from the increments.

        The difference of two potential energies would have the round-off of their size. Where the motion reverses, an
        impulse along the slow motion would have to balance this round-off; it would grow as the step decreases.
        """
        interval, tree = self.interval, self.interval.tree
        tree_motion = self.interval.mechanism.tree_velocity(dv)
        joints, _ = interval.second(dv)
        bodies = body_increments(tree, interval.first.X, joints)
        change = 0.0
        for body, moved, fall in zip(tree.bodies, bodies, interval.falls, strict=True):
            inertia = body.inertia
            change = change - dot(moved.d * inertia.mass + moved.shift(inertia.moment), fall)
        for j in outward(tree):
            q, turn = interval.q[j.q], tree_motion[j.v]
            if j.kind.nq == j.kind.nv:
                change = change + (j.stiffness * turn) @ (j.kind.difference(j.rest, q) + turn * 0.5)
            else:
                ends = [j.kind.spring(j.stiffness, j.rest, at)[1] for at in (q, j.kind.integrate(q, turn))]
                change = change + (ends[1] - ends[0])
        after = integrate(tree, interval.q, tree_motion)
        change = change + (element_energy(tree, after) - element_energy(tree, interval.q))
        return change + interval.line_spring_change(bodies)

    def stalled(self, scale: Number) -> Number:
        """Return the relative energy error that is accepted if it no longer decreases; `scale` [J] is its scale."""
        return STALLED * (1.0 + self.closing / scale) if self.interval.mechanism.constrained else STALLED

    def _given(self) -> Number:
        """Return the energy [J] that all forces would add in a step without constraints; used in the energy scale."""
        interval, system, now = self.interval, self.interval.system, self.interval.now
        loads, rest = system.loads(interval.t, now.q, now.v, interval.held), np.zeros(interval.mechanism.nv)
        push = (loads.control + loads.stops - system.needed(now.q, rest, rest, loads)) * interval.h
        return 0.5 * abs(push @ velocities(unconstrained(interval.mechanism), now.q, push))

    def _closing(self) -> Number:
        """Return the energy scale [J] for the round-off of positions with closed loops: forces times distances."""
        reach = sum((largest(X.p) for X in self.interval.poses), 0.0)
        return self.impulse_sum / abs(self.interval.h) * reach

    def at(self, q: Array) -> Internal:
        """Return the internal motion (motion without the rigid motion of symmetries) at the coordinates q (nq,)."""
        return Internal(self.interval, q, self.twists)


class Internal:
    """Internal motion at one position: joint motion minus the rigid motion of the whole mechanism along its symmetries.

    `twists` (k, 6) are the world twists of the symmetries.
    """

    def __init__(self, interval: Interval, q: Array, twists: Array):
        self.interval, self.mechanism = interval, interval.mechanism
        (self.q,) = to_tree(self.mechanism, ("q",), (q,))
        tree = self.mechanism.tree
        if len(twists):
            twists = centred(twists, joint_poses(tree, self.q)[1].p)
        self.rigid_motions = generators(self.mechanism, q, twists)  # (nv, k)
        if len(twists):
            rotors = generators(tree, self.q, twists).T @ rotor_matrix(tree)
            each = twists @ momentum_about_origin(tree, self.q) + rotors
            self.symmetry_momenta = np.array([interval.reduced(one) for one in each])  # (k, nv)
            self.inertia = ldlt(self.symmetry_momenta @ self.rigid_motions)

    def momenta(self, u: Array) -> Array:
        """Return the momenta (nv,) of the internal part of velocities u (nv,), without motion along symmetries."""
        p = self.interval.reduced(momenta_of_joints(self.mechanism.tree, self.q, self.mechanism.tree_velocity(u)))
        return (
            p - self.symmetry_momenta.T @ self.inertia.solve(self.symmetry_momenta @ u)
            if self.rigid_motions.shape[1]
            else p
        )
