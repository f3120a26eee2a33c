"""Discrete Euler-Lagrange equations of mechanisms, which conserve momenta and the symplectic form (S4 chapters 2, 5).

The unknown is the joint motion dv (nv,) through a step, from q_0 to q_1 = integrate(q_0, dv). With the discrete
Lagrangian L_d of the bodies, the momenta p_0 and p_1 at the start and at the end, the step h, and multipliers lambda
and mu of loops with rows J and closure errors g,

    p_0 + D1 L_d + F h / 2 + J(q_0)^T lambda = 0        g(q_1) = 0
    p_1 = D2 L_d + F h / 2                              M(q_1) v_1 = p_1 + J(q_1)^T mu,  J(q_1) v_1 = 0

are the discrete Euler-Lagrange equations (S4, equation 5.4) in position-momentum form, so that a step begins and ends
with q and v. D1 and D2 are derivatives with respect to q_0 and q_1. Forces F without a potential act at the middle of
the step. Forces of springs act at the middle too, or at both ends as in RATTLE (S4, equation 2.33). Gravity always acts
at both ends, because its potential is linear in the positions of the bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.compliant_contact import step_change
from linkwork.algorithms.constraints import constrained_dynamics
from linkwork.algorithms.constraints.articulated_body_solver import Constrained
from linkwork.algorithms.constraints.dense_solver import DenseConstraints
from linkwork.algorithms.kinematics import external_forces, joint_poses, kinematics, subspaces, world_poses
from linkwork.algorithms.mimic_reduction import reduced, reduced_rows, to_tree
from linkwork.algorithms.passive_joint_forces import dampers
from linkwork.algorithms.point_springs import spring_lengths
from linkwork.algorithms.pose_increments import (
    EXPONENTIAL,
    Increment,
    RotationRule,
    body_increments,
    joint_increments,
    momenta,
    momentum_derivative,
    split_inertias,
)
from linkwork.algorithms.rotor_inertia import rotor_momenta
from linkwork.algorithms.solver_choice import SolverChoice
from linkwork.algorithms.tangent_space import integrate
from linkwork.algorithms.tree_traversal import inward, outward
from linkwork.algorithms.variational_step_solver import (
    CompliantRow,
    ConstraintRows,
    Position,
    VariationalFactors,
    compliant_row,
)
from linkwork.model.bodies import Place
from linkwork.model.elements.force import LineForce
from linkwork.model.mechanism import Joint, Mechanism
from linkwork.simulation.joint_friction_rows import friction_forces
from linkwork.simulation.load_dependent_friction import depends_on_load
from linkwork.simulation.methods.controller_force_derivatives import force_jacobian
from linkwork.simulation.simulated_system import ContactLoads, ForceLaw, Loads, System, stiffened_matrix
from linkwork.simulation.state import StepState
from linkwork.spatial import Force, Transform
from linkwork.spatial.scalar import Array, Number, cross, dot, hat, largest, lu, may_be_nonzero, where


class MotionEvaluation(NamedTuple):
    """Residual, momentum and loads of the discrete equations, evaluated at a guess of the joint motion in a step.

    `joints` and `bodies` are the pose increments of all joints and of all bodies in the step, `second` is the position
    of the mechanism at its end, and `loads` are the external loads at its middle. `residual` (nv,) [N s, N m s] is the
    momentum residual at the start of the step, `momentum` (nv,) [N s, N m s] the momentum at its end. `impulse_sum` [N
    s] is the sum of the magnitudes of all impulses, to which the residual is relative if the momentum is zero.
    """

    joints: list[Increment]
    bodies: list[Increment]
    second: Position
    loads: Loads
    residual: Array
    momentum: Array
    impulse_sum: Number


class Interval:
    """The discrete equations of motion of one step h [s] from the state `now`, evaluated at guesses of the joint
    motion.

    If `at_ends` is true, springs act at the ends of the step instead of at its middle. `rotation` is the rule by which
    the angular momenta of the bodies follow from their increments. t [s] is the time at the start, and `held` (nv,) [N
    m or N] are the joint forces of a sampled controller.
    """

    def __init__(
        self,
        system: System,
        t: Number,
        now: StepState,
        h: Number,
        held: Array,
        at_ends: bool = False,
        rotation: RotationRule = EXPONENTIAL,
    ):
        self.system, self.t, self.now, self.h, self.held, self.at_ends = system, t, now, h, held, at_ends
        self.rotation = rotation
        self.mechanism, self.tree = system.mechanism, system.mechanism.tree
        self.q, v = to_tree(self.mechanism, ("q", "v"), (now.q, now.v))
        self.first = Position(joint_poses(self.tree, self.q), subspaces(self.tree, self.q))
        self.poses, self.falls = world_poses(self.tree, self.first.X), body_gravity(self.tree, self.first.X)
        self.p = self.reduced(momenta_of_joints(self.tree, self.q, v))
        self.lines = [_point(self.poses, spring.to) - _point(self.poses, spring.at) for spring in self.tree.line_forces]
        self.inertias = split_inertias(self.tree)
        mass = sum((body.inertia.mass for body in self.tree.bodies[1:]), 0.0)
        self.weight = mass * np.sqrt(dot(self.tree.gravity, self.tree.gravity))

    def reduced(self, forces: Array) -> Array:
        """Return the generalized forces or momenta (nv,) of the independent joints, from those (tree.nv,) of all
        joints.
        """
        return reduced("bias", self.mechanism, forces)

    def second(self, dv: Array) -> tuple[list[Increment], Position]:
        """Return the pose increments of the joints for a joint motion dv (nv,) [rad, m], and the position after the
        step.
        """
        tree_motion = self.mechanism.tree_velocity(dv)
        joints = joint_increments(self.tree, self.q, tree_motion)
        X = [X @ moved.transform for X, moved in zip(self.first.X, joints, strict=True)]
        return joints, Position(X, subspaces(self.tree, integrate(self.tree, self.q, tree_motion)))

    def evaluate(self, dv: Array) -> MotionEvaluation:
        """Return the momentum residual, the end momenta and the external loads of a step, for a joint motion dv (nv,).

        dv [rad or m] is the displacement of the joints in the step, in the tangent space.
        """
        tree, h = self.tree, self.h
        joints, second = self.second(dv)
        bodies = body_increments(tree, self.first.X, joints)
        middle, mean = integrate(self.mechanism, self.now.q, dv * 0.5), dv / h
        loads = self.system.loads(self.t + 0.5 * h, middle, mean, self.held)
        impulses = self._impulses(loads, second.X)

        def wrenches(k: int) -> tuple[Force, Force]:
            own, pulls = momenta(self.rotation, self.inertias[k], bodies[k], h), impulses(k)
            return pulls[0] - own.before, own.after + pulls[1]

        before, after = joint_projections(tree, (self.first, second), wrenches)
        own_before, own_after = self._joint_impulses(self.mechanism.tree_velocity(dv))
        elements = self.system.element_law(self.t + 0.5 * h, middle, mean)
        acting = (loads.control + loads.stops) * (0.5 * h) + elements * (0.5 * h)
        residual = self.p + self.reduced(before + own_before) + acting
        momentum = self.reduced(after + own_after) + acting
        return MotionEvaluation(joints, bodies, second, loads, residual, momentum, self.impulse_sum(loads, own_before))

    def impulse_sum(self, loads: Loads, own: Array) -> Number:
        """Return the sum of the impulse magnitudes [N s] in a step, a scale for residuals.

        The sum includes the weight, controllers, contacts and springs in `loads`, and the impulses `own` (tree.nv,) [N
        s, N m s] of joint springs, dampers and rotors.
        """
        forces = [loads.control, loads.stops, *([] if loads.wrenches is None else loads.wrenches)]
        contacts = [] if loads.touching is None else loads.touching.contacts
        found = self.weight + sum(
            (largest(force) for force in (*forces, *(contact.force for contact in contacts))), 0.0
        )
        for spring, line in zip(self.tree.line_forces, self.lines, strict=True):
            found = found + abs(spring.stiffness * (_direction(line)[1] - spring.length))
        return found * abs(self.h) + largest(own)  # h is negative in some substeps of composed steps

    def _impulses(self, loads: Loads, X: list[Transform]) -> Callable[[int], tuple[Force, ...]]:
        """Return a function that returns half the impulses of gravity, wrenches, springs and contacts on body k.

        The function takes the body number k and returns two wrench impulses, in the frame of the body before and after
        the step. `loads` are the external loads, and X the poses of all bodies in their inboard bodies after the step.
        """
        half, tree = 0.5 * self.h, self.tree
        outside = external_forces(tree, loads.wrenches)
        drawn, falls = self._spring_and_contact_impulses(loads, X), (self.falls, body_gravity(tree, X))

        def on(k: int) -> tuple[Force, ...]:
            mass, moment = tree.bodies[k].inertia.mass, tree.bodies[k].inertia.moment
            weights = [Force(fall[k] * mass, cross(moment, fall[k])) for fall in falls]
            return tuple((weight + outside[k]) * half + pull[k] for weight, pull in zip(weights, drawn, strict=True))

        return on

    def _spring_and_contact_impulses(self, loads: Loads, X: list[Transform]) -> tuple[list[Force], list[Force]]:
        """Return half the impulses of springs and contacts on all bodies, as two lists by body number.

        The first list has wrench impulses in the frames of the bodies before the step, the second list in their frames
        after the step. `loads` has the contact forces, and X the poses of all bodies in their inboard bodies after the
        step.
        """
        half, tree = 0.5 * self.h, self.tree
        found = [Force.zero() for _ in tree.bodies], [Force.zero() for _ in tree.bodies]
        contacts, there = ([], []) if loads.touching is None else (loads.touching.contacts, loads.touching.poses)
        poses = world_poses(tree, X)
        for spring, first in zip(tree.line_forces, self.lines, strict=True):
            lines = [first, _point(poses, spring.to) - _point(poses, spring.at)]
            middle = (lines[0] + lines[1]) * 0.5  # mean of both poses
            along, _ = _direction(middle)
            drag = along * (spring.damping * dot(along, lines[1] - lines[0]) / self.h)
            pulls = [_pull(spring, line) + drag for line in (lines if self.at_ends else (middle, middle))]
            for at, each, pull in zip((self.poses, poses), found, pulls, strict=True):
                for place, sign in ((spring.at, half), (spring.to, -half)):
                    felt = at[place.body].R.T @ (pull * sign)
                    each[place.body] = each[place.body] + Force(felt, cross(place.pose.p, felt))
        for pair, contact in zip(
            tree.contact_pairs if contacts else (), contacts, strict=True
        ):  # a contact force has the same direction in the world at both ends of the step
            for body, sign in ((pair.contact.at.body, half), (pair.surface.place.body, -half)):
                for at, each in zip((self.poses, poses), found, strict=True):
                    each[body] = each[body] + contact.on(there[body], at[body]) * sign
        return found

    def line_spring_change(self, bodies: list[Increment]) -> Number:
        """Return the change [J] of the energy of springs between bodies, for the increments of the bodies in a step."""
        change = 0.0
        for spring, line in zip(self.tree.line_forces, self.lines, strict=True):
            ends = [
                self.poses[place.body].R @ (bodies[place.body].d + bodies[place.body].shift(place.pose.p))
                for place in (spring.at, spring.to)
            ]
            moved = ends[1] - ends[0]
            lengths = _direction(line)[1], _direction(line + moved)[1]
            total = lengths[0] + lengths[1]
            longer = dot(moved, line * 2.0 + moved) / where(total > 0.0, total, 1.0)
            change = change + longer * (total * 0.5 - spring.length) * spring.stiffness
        return change

    def _joint_impulses(self, dv: Array) -> tuple[Array, Array]:
        """Return the impulses (tree.nv,) of rotors, joint springs and dampers for a joint motion dv (tree.nv,) [rad,
        m].

        The first result enters the momentum equation at the start of the step, the second result the equation at its
        end.
        """
        half, rate = 0.5 * self.h, dv / self.h
        damping, turning = dampers(self.tree) * rate * half, rotor_momenta(self.tree, rate)
        before, after = [np.zeros(0)], [np.zeros(0)]
        for j in outward(self.tree):
            q, turn = self.q[j.q], dv[j.v]
            rotor = turning[j.v]
            if self._has_middle(j):
                pulls = [j.kind.spring(j.stiffness, j.rest, q + turn * 0.5)[0]] * 2
            else:
                pulls = [j.kind.spring(j.stiffness, j.rest, at)[0] for at in (q, j.kind.integrate(q, turn))]
            before.append(pulls[0] * half - rotor - damping[j.v])
            after.append(pulls[1] * half + rotor - damping[j.v])
        return np.concatenate(before), np.concatenate(after)

    def _has_middle(self, joint: Joint) -> bool:
        """Return whether a joint's spring acts at mid-step instead of at both ends; quaternions have no midpoint."""
        return joint.kind.nq == joint.kind.nv and not self.at_ends

    def rows(self, at: Position, dv: Array) -> tuple[Array, Array]:
        """Return the constraint errors (nh,) and the constraint rows J (nh, nv) at the position `at`.

        dv (nv,) is the motion from the start of the step to this position. Errors of loops are closure errors [m or
        rad]; errors of clutches and brakes are their slip in the step. The error of a loop row that only restricts
        velocities is its slip along the row at mid-step, as in the discrete Lagrange-d'Alembert principle (Cortes and
        Martinez 2001).
        """
        J, closure = self._rows_at(at)
        slip = J[self.tree.nc :] @ dv
        rows = [row for one in self.tree.frame_constraints for row in one.rows]
        if not all(row.holonomic for row in rows):
            q = integrate(self.tree, self.q, self.mechanism.tree_velocity(dv) * 0.5)
            middle, _ = self._rows_at(Position(joint_poses(self.tree, q), subspaces(self.tree, q)))
            closure = np.array(
                [e if row.holonomic else r @ dv for row, e, r in zip(rows, closure, middle, strict=False)]
            )
        return np.concatenate([closure, slip]), J

    def _rows_at(self, at: Position) -> tuple[Array, Array]:
        """Return the rows J (nh, nv) of all constraints and the closure errors (nc,) [m or rad] of the loops at the
        position `at`.
        """
        loops = constrained_dynamics.loop_states(self.tree, at.X)
        J = reduced_rows(self.mechanism, constrained_dynamics.all_rows(self.tree, at, loops))
        return J, constrained_dynamics.errors(loops)

    def work(self, dv: Array, loads: Loads) -> Array:
        """Return the work [J] of all forces except gravity and springs, in a step with the joint motion dv (nv,) under
        `loads`.

        The result is an array: the work, then the changes of the entries of the work ledger if the state has one.
        """
        middle = integrate(self.mechanism, self.now.q, dv * 0.5)
        return self.system.rates(middle, dv / self.h, loads, self.now) * self.h

    def joint_powers(self, dv: Array) -> tuple[Number, Array]:
        """Return the mean power [W] of joint dampers and dry friction in a step with the joint motion dv (nv,).

        The second result is the mean power of dry friction in each of the `joints_with_friction`.
        """
        middle, mean = integrate(self.mechanism, self.now.q, dv * 0.5), dv / self.h
        if self.system.slip_directions is None:
            return self.system.joint_powers(middle, mean, None)
        if not depends_on_load(self.mechanism):
            return self.system.joint_powers(middle, mean, friction_forces(self.mechanism, self.system.slip_directions))
        loads = self.system.loads(self.t + 0.5 * self.h, middle, mean, self.held)
        return self.system.joint_powers(middle, mean, loads.friction)

    def solver(
        self, guess: MotionEvaluation, dv: Array, constraints: ConstraintRows
    ) -> Callable[[Array, Array], Constrained]:
        """Return the solver of Newton's linear equations at a guess of the joint motion dv (nv,).

        The solver maps a momentum residual (nv,) and the required changes (nh,) of constraint errors to changes of the
        motion (nv,) and of the multipliers (nh,). `guess` is the evaluation at dv, and `constraints` has the rows at
        the start and at the end of the step.
        """
        between_bodies = any(pair.surface.place.body for pair in self.mechanism.contact_pairs)
        recursive = self._dense if guess.loads.touching is not None and between_bodies else self._recursive
        return SolverChoice.by_joints(recursive, self._dense).of(self.mechanism)(guess, dv, constraints)

    def _dense(
        self, guess: MotionEvaluation, dv: Array, constraints: ConstraintRows
    ) -> Callable[[Array, Array], Constrained]:
        """Return the dense solver of Newton's linear equations; the arguments and the result are those of `solver`."""
        solve = self._coupled_solver(guess.loads.touching, dv, self._force_jacobian(dv))
        return DenseConstraints.of_two(*constraints, solve).solve_constrained

    def _recursive(
        self, guess: MotionEvaluation, dv: Array, constraints: ConstraintRows
    ) -> Callable[[Array, Array], Constrained]:
        """Return the linear-time solver of Newton's linear equations, by recursion over the tree. Arguments and result
        are those of `solver`.
        """
        tree, by_motion, contacts = self.tree, self._force_jacobian(dv), self._contacts(guess)

        def B(k: int) -> Array:
            return momentum_derivative(self.rotation, self.inertias[k], guess.bodies[k], self.h) + contacts[k]

        own = tree.armature / self.h + self.joint_stiffness(dv) + np.diag(by_motion)
        rows = [*self._coupling_rows(), *force_rows(tree, by_motion)]
        return VariationalFactors(tree, self.first, guess.second, B, own, rows, constraints).solve_constrained

    def _force_jacobian(self, dv: Array) -> Array:
        """Return minus the derivative (nv, nv) of half the impulses of `System.force_laws` with respect to the joint
        motion dv (nv,).

        These forces are those of controllers, joint stops and force elements.
        """

        def impulse(force_law: ForceLaw) -> Callable[[Array], Array]:
            at = self.t + 0.5 * self.h
            return lambda dv: (
                force_law(at, integrate(self.mechanism, self.now.q, dv * 0.5), dv / self.h) * (0.5 * self.h)
            )

        return -sum((force_jacobian(impulse(one), dv) for one in self.system.force_laws), np.zeros((len(dv), len(dv))))

    def _coupling_rows(self) -> list[CompliantRow]:
        """Return the `CompliantRow`s of Newton's matrix for forces that couple several joints.

        These are the inertia forces of rotors that turn with several joints, and the forces of springs between bodies.
        """
        found = [
            compliant_row(self.tree, rotor.row * (rotor.inertia / self.h), rotor.row) for rotor in self.tree.rotors
        ]
        for spring, stretch in zip(self.tree.line_forces, spring_lengths(self.tree, self.q), strict=True):
            weight = spring.damping * 0.5 + spring.stiffness * (0.25 * self.h)
            found.append(compliant_row(self.tree, stretch.row * weight, stretch.row))
        return found

    def joint_stiffness(self, dv: Array) -> Array:
        """Return the diagonal (tree.nv,) that joint springs and dampers add to Newton's matrix, which is the same for
        all dv (nv,).
        """
        springs = [j.stiffness * (0.25 * self.h if self._has_middle(j) else 0.0) for j in outward(self.tree)]
        return dampers(self.tree) * 0.5 + np.concatenate([np.zeros(0), *springs])

    def _coupled_solver(self, touching: ContactLoads | None, dv: Array, by_motion: Array) -> Callable[[Array], Array]:
        """Return the dense solver of Newton's equations, for mimic joints or for contacts that couple bodies.

        The solver maps a momentum residual (nv,) to a change of the joint motion dv (nv,). It uses the inertia at the
        start of the step. `touching` are the contact loads, if any; `by_motion` (nv, nv) is minus the derivative of the
        impulses of `System.force_laws`.
        """
        m, tree, h = self.mechanism, self.tree, self.h
        stiffness = np.concatenate([np.zeros(0), *(j.stiffness for j in outward(tree))])
        extra = dampers(tree) * (0.5 * h) + stiffness * (0.25 * h * h)
        weights = [spring.damping * (0.5 * h) + spring.stiffness * (0.25 * h * h) for spring in m.line_forces]
        M = stiffened_matrix(m, self.now.q, extra, weights) + by_motion * h
        if touching is not None:
            M = M + self.system.contact_step_matrix(self.now.q, touching, h)
        factors = lu(M)
        return lambda residual: factors.solve(residual) * h

    def _contacts(self, guess: MotionEvaluation) -> list[Array]:
        """Return, for each body, the derivative (6, 6) of its contact impulses with respect to its motion in the step
        (S4 section 5.3).

        The surfaces of these contacts belong to the world. `guess` is the evaluation of the step at the present motion.
        """
        found = [np.zeros((6, 6)) for _ in self.tree.bodies]
        if guess.loads.touching is None:
            return found
        poses = world_poses(self.tree, guess.second.X)
        for pair, contact in zip(self.tree.contact_pairs, guess.loads.touching.contacts, strict=True):
            change = step_change(pair.contact, contact, self.h)
            body, R = pair.contact.at.body, contact.at.pose.R
            arm = contact.at.on(guess.loads.touching.poses[body])
            before, after = (_at_point(R.T @ X[body].R, arm)[: len(change)] for X in (self.poses, poses))
            found[body] = found[body] + before.T @ change @ after
        return found


def force_rows(tree: Mechanism, by_motion: Array) -> list[CompliantRow]:
    """Return `CompliantRow`s of a tree for Newton's matrix, from derivatives of forces that couple joints.

    `by_motion` (nv, nv) are the derivatives of the forces with respect to the joint motion. There is one row for each
    force that depends on the motion of other joints.
    """
    others = by_motion - np.diag(np.diag(by_motion))
    coupled = [k for k, each in enumerate(others) if any(map(may_be_nonzero, each))]
    return [compliant_row(tree, np.eye(len(by_motion))[k], others[k]) for k in coupled]


def _at_point(R: Array, arm: Array) -> Array:
    """Return the matrix (6, 6) that maps a body's twist (linear, angular) to the twist at its point `arm` (3,) [m]. R
    (3, 3) maps body axes to the axes of the result.
    """
    return np.block([[R, -R @ hat(arm)], [np.zeros((3, 3)), R]])


def _point(poses: list[Transform], place: Place) -> Array:
    """Return the world position (3,) [m] of the body-fixed point `place`, from the world poses of all bodies."""
    return poses[place.body].point(place.pose.p)


def _direction(line: Array) -> tuple[Array, Number]:
    """Return the unit vector along the vector `line` (3,) and its length [m]; zeros for a zero vector."""
    apart = dot(line, line) > 0.0
    length = np.sqrt(where(apart, dot(line, line), 1.0))
    return line / length, where(apart, length, 0.0)


def _pull(spring: LineForce, line: Array) -> Array:
    """Return the force (3,) [N] of a spring on its first end, in the axes of `line`, the vector (3,) [m] from its first
    to its second end.
    """
    along, length = _direction(line)
    return along * (spring.stiffness * (length - spring.length))


def momenta_of_joints(mechanism: Mechanism, q: Array, v: Array) -> Array:
    """Return the generalized momenta M v (nv,) [N s, N m s] of a tree at q (nq,) [rad, m] with velocities v (nv,)
    [rad/s, m/s].
    """
    at = Position(joint_poses(mechanism, q), subspaces(mechanism, q))
    twists = kinematics(mechanism, q, v).twist
    own = [body.inertia @ V for body, V in zip(mechanism.bodies, twists, strict=True)]
    return joint_projections(mechanism, (at,), lambda k: (own[k],))[0] + rotor_momenta(mechanism, v)


def body_gravity(mechanism: Mechanism, X: list[Transform]) -> list[Array]:
    """Return the gravity vector (3,) [m/s^2] in the frame of every body.

    X are the poses of the bodies in their inboard bodies.
    """
    found = [mechanism.gravity]
    for j in outward(mechanism):
        found.append(X[j.o].R.T @ found[j.i])
    return found


def joint_projections(
    mechanism: Mechanism, positions: Sequence[Position], wrenches: Callable[[int], Sequence[Force]]
) -> list[Array]:
    """Return, for each of the `positions`, the joint forces (nv,) [N m or N] that are equivalent to wrenches on the
    bodies.

    `wrenches(k)` returns the wrenches on body k in its frame, one per position; the transposed Jacobian maps them to
    joint forces. The function calls `wrenches` for one body at a time, so that few wrenches exist at once.
    """
    carried = [[Force.zero() for _ in positions] for _ in mechanism.bodies]
    found = [[np.zeros(0)] for _ in positions]
    for j in inward(mechanism):
        for i, (at, wrench) in enumerate(zip(positions, wrenches(j.o), strict=True)):
            F = wrench + carried[j.o][i]
            found[i].append(at.S[j.o].pair(F))
            carried[j.i][i] = carried[j.i][i] + at.X[j.o].up(F)
    return [np.concatenate(each[:1] + each[:0:-1]) for each in found]
