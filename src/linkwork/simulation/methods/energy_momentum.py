"""Energy-momentum method: a variational step that also balances the energy, with an impulse as additional unknown."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.algorithms.constraints.articulated_body_solver import Constrained
from linkwork.algorithms.element_forces import element_energy
from linkwork.algorithms.kinematics import joint_poses
from linkwork.algorithms.mimic_reduction import to_tree, velocities
from linkwork.algorithms.momentum import momentum_about_origin
from linkwork.algorithms.pose_increments import MEAN_VELOCITY, Increment
from linkwork.algorithms.rotor_inertia import rotor_matrix
from linkwork.algorithms.solver_choice import SolverChoice
from linkwork.algorithms.symmetries import centred, generators, symmetries
from linkwork.algorithms.tangent_space import integrate
from linkwork.algorithms.tree_traversal import outward
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.methods.discrete_equations import Interval, momenta_of_joints
from linkwork.simulation.methods.integration_step import IterationHistory, Solution
from linkwork.simulation.methods.method_tolerances import (
    ENERGY_BALANCED,
    ENERGY_NEAR_SINGULAR,
    ENERGY_STALLED,
    NO_INTERNAL_MOTION,
)
from linkwork.simulation.methods.variational import (
    ITERATIONS,
    Guess,
    MomentumBalance,
    NewtonSolver,
    StepEvaluation,
    Variational,
    unconstrained,
)
from linkwork.simulation.simulated_system import System
from linkwork.simulation.state import Leaves, StepState, flatten, select, unflatten
from linkwork.spatial.scalar import Array, Condition, Number, Value, dot, largest, ldlt, maximum, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import HUGE, TINY

KICKS = 12  # largest number of secant iterations for the factor of the energy impulse, called the kick


class Search(NamedTuple):
    """State of the secant method that finds the factor `kick` of the energy impulse.

    `kick` is the next factor to try, and `trial` a guess of the motion with it. `best_kick` is the best factor so far,
    `best` the motion with it, and `error` its relative energy error. `tried` is the number of kicks tried, and
    `iterations` the number of corrections of the motion. `ended` is 1 if the search has ended, else 0.
    """

    kick: Number
    trial: Guess
    best_kick: Number
    best: Guess
    error: Number = HUGE
    tried: Number = 0.0
    iterations: Number = 0.0
    ended: Number = 0.0

    @property
    def done(self) -> Condition:
        """Whether the search for the energy impulse ends: it has converged or has used the largest number of trials."""
        return (self.ended > 0.0) | (self.tried >= KICKS)


class EnergyMomentum(Variational):
    """Equations of an energy-momentum step: a variational step with an impulse that balances the energy. Order 2.

    As in the discrete gradient of Gonzalez, this energy impulse acts along the motion, and is proportional to the
    square of the step. The energy impulse is a factor, the kick, times the momentum of the internal motion, and acts at
    both ends of the step. The internal motion is the motion without the rigid motion along symmetries, so that the
    momenta of symmetries are conserved too. A free rigid body has no internal motion; the mean of its velocities before
    and after the step is its motion, which conserves energy.
    """

    rotation = MEAN_VELOCITY

    def __init__(self, system: System, t: Number, now: StepState, h: Number, held: Array):
        super().__init__(system, t, now, h, held)
        self.energy, self.twists = EnergyBalance(self.interval), symmetries(self.mechanism)
        self.first = self.internal(now.q)

    def internal(self, q: Array) -> Internal:
        """Return the object that computes the internal motion at q (nq,), along which the energy impulse acts."""
        return Internal(self.interval, q, self.twists)

    @staticmethod
    def unknowns(mechanism: Mechanism) -> int:
        """Return the number of unknowns of a step: nv joint motions, nh multipliers (one per constraint row) and the
        factor of the energy impulse.
        """
        return mechanism.nv + mechanism.nh + 1

    def evaluated(self, dv: Array, multipliers: Array, kick: Number = 0.0, singular: Number = 0.0) -> StepEvaluation:
        """Return the residuals of the step's equations for a motion dv (nv,), multipliers (nh,) and energy impulse.

        dv is in [rad, m], and `kick` is the factor of the energy impulse. See `Variational.evaluated` for `singular`.
        """
        found, u = super().evaluated(dv, multipliers, singular=singular), dv / self.h
        begin, end = (at.momenta(u) for at in (self.first, self.internal(integrate(self.mechanism, self.now.q, dv))))
        stored = self.energy.stored_change(dv, found.motion.bodies)
        balance = found.balance._replace(begin=begin, end=end, stored=stored)
        return found._replace(balance=kicked(balance, kick))

    def parts_of_unknown(self, unknown: Array) -> tuple[Array, ...]:
        """Return the parts of `unknown` (nv + nh + 1,): motion dv (nv,), multipliers (nh,) and factor of the energy
        impulse.
        """
        return *super().parts_of_unknown(unknown), unknown[-1]

    def residual(self, unknown: Array) -> Array:
        """Return the residuals of momentum (nv,), constraints (nh,) and relative energy (1,), as one array.

        `unknown` (nv + nh + 1,) has the joint motion, the multipliers and the factor of the energy impulse.
        """
        dv, multipliers, kick = self.parts_of_unknown(unknown)
        balance = self.evaluated(dv, multipliers, kick).balance
        gained, scale = self.energy.gained(dv, *self.arrived(dv, balance.momentum), balance)
        return np.concatenate([balance.residual, balance.errors, np.array([gained / scale])])

    def solver(self, here: StepEvaluation, dv: Array, kick: Number) -> NewtonSolver:
        """Return the solver of Newton's equations at a motion dv (nv,) and a factor `kick` of the energy impulse.

        `here` is the evaluation of the step's equations at dv. The energy impulse is a multiple of the momentum, so
        that Newton's matrix of the variational step is multiplied by 1 - kick.
        """
        solve = super().solver(here, dv, kick)

        def scaled(residual: Array, target: Array) -> Constrained:
            move, more = solve(residual, target * (1.0 - kick))
            return Constrained(move / (1.0 - kick), more)

        return scaled

    def solve(self, history: IterationHistory | None = None) -> Solution:
        """Return the solution of the step: a secant method finds the energy impulse, Newton's method the motion.

        `history` receives the residual of each iteration; it is used with floats only, not while tracing.
        """
        still, first = np.zeros(self.mechanism.nv), self.first_guess()
        first = first._replace(balance=first.balance._replace(begin=still, end=still))
        begin = Search(0.0, first, 0.0, first)

        def improve(*state: Value) -> tuple[Leaves, Condition]:
            search = unflatten(begin, state)
            trial, solve = self.factored(search.trial, search.kick)

            def try_kick(*state: Value) -> tuple[Leaves, Condition]:
                found, stale = self._next_kick(unflatten(begin, state), solve, history)
                return tuple(flatten(found)), stale | found.done

            found, _, _ = iterate(KICKS, try_kick, *flatten(search._replace(trial=trial)))
            return found, unflatten(begin, found).done

        found, _, _ = iterate(KICKS * ITERATIONS, improve, *flatten(begin))
        search = unflatten(begin, found)
        round_off = maximum(self.energy.stalled(self.energy.kinetic + TINY), self.energy.singular)
        solved = (search.ended > 0.0) | (abs(search.error) <= round_off)
        unknown = np.concatenate([search.best.dv, search.best.multipliers, np.array([search.best_kick])])
        moved = self.end_state(search.best.dv, search.best.balance).solved_in(search.iterations)
        return Solution(unknown, moved, solved)

    def _next_kick(
        self, last: Search, solve: NewtonSolver, history: IterationHistory | None
    ) -> tuple[Search, Condition]:
        """Return the search after one iteration, and whether Newton's matrix must be factored again.

        `last` is the search before. One iteration corrects the trial motion. If this motion has converged, the secant
        method gives the next kick (factor of the energy impulse). `solve` solves Newton's equations, and `history`
        receives the residual of each iteration.
        """
        trial = self.corrected(last.trial, solve, last.kick, history)
        good, failed = trial.ended > 0.0, (trial.ended == 0.0) & trial.done
        q, v = self.arrived(trial.dv, trial.balance.momentum)
        gained, scale = self.energy.gained(trial.dv, q, v, trial.balance)
        error, power = gained / scale, (trial.balance.begin + trial.balance.end) @ trial.dv / (self.h * scale)
        better, first = good & (abs(error) < abs(last.error)), last.error == HUGE
        apart = last.kick - last.best_kick
        slope = where(first, power, (error - last.error) / where(apart == 0.0, 1.0, apart))
        best_kick, least = where(better, last.kick, last.best_kick), where(better, error, last.error)
        secant = best_kick - least / where(slope == 0.0, 1.0, slope)
        kick = where(good, secant, where(failed, (last.kick + last.best_kick) * 0.5, last.kick))
        at_rest, round_off = first & (power <= NO_INTERNAL_MOTION), abs(last.error) <= self.energy.stalled(scale)
        ended = good & (at_rest | (abs(least) <= ENERGY_BALANCED) | round_off & (abs(error) >= abs(last.error)))
        # change of the kick; the motion is corrected for it in the next iteration
        more = where(good, kick - last.kick, 0.0)
        start = select(failed, last.best, trial._replace(balance=kicked(trial.balance, more)))
        found = Search(
            kick,
            select(trial.done, start._replace(part=1.0, iterations=0.0, ended=0.0), trial),
            best_kick,
            select(better, trial, last.best),
            least,
            last.tried + where(trial.done, 1.0, 0.0),
            last.iterations + trial.iterations - last.trial.iterations,
            where(ended, 1.0, 0.0),
        )
        return found, trial.ended == 0.0


def kicked(balance: MomentumBalance, kick: Number) -> MomentumBalance:
    """Return the momentum `balance` of a step after the factor of the energy impulse increases by `kick`, for an
    unchanged motion.
    """
    residual, momentum = balance.residual + balance.begin * kick, balance.momentum + balance.end * kick
    return balance._replace(residual=residual, momentum=momentum)


class EnergyBalance:
    """The energy balance of one step: its error, which is the change of kinetic and potential energy minus the work,
    and the scale of this error.
    """

    def __init__(self, interval: Interval):
        self.interval, system, now = interval, interval.system, interval.now
        self.kinetic, _ = system.energies(now.q, now.v)
        loads = system.loads(interval.t, now.q, now.v, interval.held)
        self.impulse_sum = interval.impulse_sum(loads, np.zeros(0))
        force_energy = SolverChoice.by_constraints(lambda: 0.0, self._force_energy)
        self.force_energy = force_energy.of(interval.mechanism)()
        places = [place for one in interval.tree.frame_constraints for place in (one.at, one.to)]
        reach = sum((largest(interval.poses[place.body].p) for place in places), 0.0)
        # [J], scale of the round-off of energies in mechanisms with loops
        self.loop_energy = self.impulse_sum / abs(interval.h) * reach
        self.singular = ENERGY_NEAR_SINGULAR * min(len(places), 1)

    def gained(self, dv: Array, q: Array, v: Array, balance: MomentumBalance) -> tuple[Number, Number]:
        """Return the energy [J] gained in a step beyond the work done, which is the error, and the scale [J] of the
        error.

        The step moves by dv (nv,) to q (nq,) and v (nv,); `balance` has its work and its change of potential energy.
        The scale includes the energy that forces exchange during the step, which dominates near rest.
        """
        kinetic, _ = self.interval.system.energies(q, v)
        passed = self.impulse_sum * largest(dv) / abs(self.interval.h)
        scale = kinetic + self.kinetic + self.force_energy + passed + TINY
        return (kinetic - self.kinetic) + balance.stored - balance.work, scale

    def stored_change(self, dv: Array, bodies: list[Increment]) -> Number:
        """Return the change [J] of the potential energy in a step with the motion dv (nv,).

        The change is computed from the pose increments `bodies`. The difference of two potential energies would have a
        round-off error in proportion to these energies. Where the motion reverses and is slow, a large energy impulse
        would be needed to balance this error, the larger the smaller the step.
        """
        interval, tree = self.interval, self.interval.tree
        tree_motion = self.interval.mechanism.tree_velocity(dv)
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
        """Return the relative energy error below which the search ends if the error no longer decreases.

        `scale` [J] is the energy to which the error is relative.
        """
        return ENERGY_STALLED * (1.0 + self.loop_energy / scale)

    def _force_energy(self) -> Number:
        """Return the kinetic energy [J] that all forces would give to the mechanism at rest in a step, without
        constraints.

        This energy is part of the scale to which energy errors are relative.
        """
        interval, system, now = self.interval, self.interval.system, self.interval.now
        loads, rest = system.loads(interval.t, now.q, now.v, interval.held), np.zeros(interval.mechanism.nv)
        push = (loads.control + loads.stops - system.needed(now.q, rest, rest, loads)) * interval.h
        return 0.5 * abs(push @ velocities(unconstrained(interval.mechanism), now.q, push))


class Internal:
    """Internal motion at q (nq,): the joint motion without the rigid motion of the whole mechanism along its
    symmetries.

    `twists` (k, 6) are the twists of the k symmetries, in world axes and about the world origin.
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
        """Return the generalized momenta (nv,) [N s, N m s] of velocities u (nv,) [rad/s, m/s] without their motion
        along symmetries.
        """
        p = self.interval.reduced(momenta_of_joints(self.mechanism.tree, self.q, self.mechanism.tree_velocity(u)))
        return (
            p - self.symmetry_momenta.T @ self.inertia.solve(self.symmetry_momenta @ u)
            if self.rigid_motions.shape[1]
            else p
        )
