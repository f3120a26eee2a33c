"""The simulated system: a mechanism and the sum of all forces on it, in one state of floats or traced numbers.

Only this module adds up forces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.compliant_contact import (
    ContactForce,
    ContactLaw,
    Memory,
    contact_forces,
    contact_wrenches,
    step_change,
)
from linkwork.algorithms.contact_kinematics import contact_kinematics, contact_rows
from linkwork.algorithms.element_forces import element_forces
from linkwork.algorithms.forward_dynamics import forward_dynamics
from linkwork.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.algorithms.kinematics import subspaces
from linkwork.algorithms.mass_matrix import mass_matrix
from linkwork.algorithms.mimic_reduction import (
    constrained_accelerations,
    constrained_forward_dynamics,
    for_mimic_joints,
    to_tree,
)
from linkwork.algorithms.passive_joint_forces import Stops, dampers, passive, stop_forces
from linkwork.algorithms.point_springs import frame_spring_matrix
from linkwork.algorithms.solid_contact.compliant_pairs import CompliantSolids, SolidMemory
from linkwork.algorithms.tree_traversal import to_common_ancestor
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.contact_families import contact_families
from linkwork.simulation.effort_limits import clipped_effort
from linkwork.simulation.energy_balance import Powers, stored_energy, working_powers
from linkwork.simulation.events.guards import Guard
from linkwork.simulation.joint_friction_rows import (
    friction_count,
    friction_forces,
    friction_joint_forces,
    friction_part,
    joint_powers,
    ledger_places,
    locked,
    slip_speeds,
    still,
)
from linkwork.simulation.load_dependent_friction import JointFrictionState, depends_on_load, solved_friction
from linkwork.simulation.slip_groups import slip_groups, within_substep
from linkwork.simulation.state import StepState
from linkwork.simulation.work_ledger import ground_force
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array, Condition, Number, ldlt, may_be_nonzero, where

ForceLaw = Callable[[Number, Array, Array], Array]  # forces as a function of time [s], q (nq,) and v (nv,)
PASSIVE = "passive"  # the joint forces of the tree are mapped to independent joints as those of `passive`


class ContactLoads(NamedTuple):
    """Loads of compliant point contacts in one state: state and force of each contact, wrenches on bodies, and body
    poses.

    The wrenches (nbodies, 6) [N, N m] are sums over all contacts of a body, about its origin and in its axes. The poses
    are those in the world.
    """

    contacts: list[ContactForce]
    wrenches: Array
    poses: list[Transform]


class SolidLoads(NamedTuple):
    """Wrenches (nbodies, 6) [N, N m] of compliant contacts between solids on the bodies, and the world poses of all
    bodies.
    """

    wrenches: Array
    poses: list[Transform]


class Loads(NamedTuple):
    """External loads in one state: joint forces `control` (nv,) and `stops` (nv,) [N m or N], and wrenches on bodies.

    `wrenches` (nbodies, 6) [N, N m] are the user's wrenches, `touching` the loads of compliant point contacts, and
    `solids` the loads of compliant solids; each is None if there are none. `friction` [N m or N] is the dry friction of
    slipping joints, which `control` contains, or None: tree.nv forces, then those of loops. `a` (nv,) are the
    accelerations if friction depends on the load, else None.
    """

    control: Array
    stops: Array
    wrenches: Array | None
    touching: ContactLoads | None = None
    solids: SolidLoads | None = None
    friction: Array | None = None
    a: Array | None = None

    @property
    def contacts(self) -> ContactLoads | SolidLoads | None:
        """Wrenches of all compliant contacts, of points and of solids, with the poses of the bodies; None if there are
        none.
        """
        one, other = self.touching, self.solids
        if one is None or other is None:
            return one or other
        return SolidLoads(one.wrenches + other.wrenches, one.poses)

    @property
    def outside(self) -> Array | None:
        """Sum of all external wrenches (nbodies, 6) [N, N m] on the bodies, with contacts; None if there are none."""
        if self.contacts is None:
            return self.wrenches
        return self.contacts.wrenches if self.wrenches is None else self.wrenches + self.contacts.wrenches


@dataclass(frozen=True, eq=False)
class System:
    """A mechanism with the forces on it: forces of controllers, wrenches on bodies, joint stops, contacts."""

    mechanism: Mechanism
    control: ForceLaw | None = None
    wrenches: ForceLaw | None = None
    stops: Stops | None = None
    baumgarte: float | None = None  # rate [1/s] of Baumgarte stabilization; None: steps project onto the constraints
    # contact memory of compliant contacts at the start of a step; without memory they exert no forces
    memory: Memory | None = None
    modes: tuple[str, ...] = ()  # parameters that can be switched during the run
    guards: tuple[Guard, ...] = ()  # guards that switch parameters
    rigid: bool = False  # whether contacts are rigid: their contact memory then has forces instead of anchors
    solids: SolidMemory | None = None  # contact memory of compliant solids at the start of a step
    # (nv,) [N m or N] effort limits to which the forces of controllers are clipped; None: no clipping
    effort: Array | None = None
    slip_directions: Array | None = (
        None  # slip directions -1, 0, 1 of velocities in `Mechanism.friction_velocities`; None: no joint friction
    )
    turning: Condition = True  # whether slip directions of several velocities with one limit follow these velocities
    unlocked: Mechanism | None = None  # the mechanism in which no joints are locked; see `with_slip_directions`

    def in_modes(self, modes: Array) -> System:
        """Return the system with its mode parameters (see `System.modes`) set to the values `modes` (m,)."""
        if not self.modes:
            return self
        named = dict(zip(self.modes, modes, strict=True))
        return replace(self, mechanism=self.mechanism.varied(named))

    # --- forces ---

    def loads(self, t: Number, q: Array, v: Array, held: Array) -> Loads:
        """Return the external loads at time t [s], q (nq,), v (nv,): controller, stops, wrenches, contacts.

        `held` (nv,) [N m or N] are the clipped joint forces of a sampled controller, plus those of slipping clutches
        and brakes.
        """
        return self.with_friction(q, v, self.external_loads(t, q, v, held))[0]

    def external_loads(self, t: Number, q: Array, v: Array, held: Array) -> Loads:
        """Return the external loads without the dry friction of joints; the arguments are those of `loads`."""
        control = held if self.control is None else held + self._clipped_control(t, q, v)
        pushes = np.zeros(self.mechanism.nv) if self.stops is None else self._stop_forces(t, q, v)
        wrenches = None if self.wrenches is None else self.wrenches(t, q, v)
        return Loads(control, pushes, wrenches, self._contact_loads(t, q, v), self._solid_loads(t, q, v))

    def with_friction(self, q: Array, v: Array, loads: Loads) -> tuple[Loads, JointFrictionState | None]:
        """Return `loads` with the dry friction of slipping joints at q (nq,), v (nv,) added, which may depend on all
        loads.

        The second result is the friction that depends on the load, with the accelerations that it causes, or None.
        """
        if self.slip_directions is None:
            return loads, None
        m = self.unlocked
        assert m
        if not depends_on_load(m):
            forces = friction_forces(m, self.slip_directions)
            return loads._replace(control=loads.control + m.spread.T @ forces, friction=forces), None
        tau = self.joint_forces(q, v, loads)
        directions, groups = self.slip_directions, slip_groups(m)
        if groups and self.turning is not False:
            following = within_substep(groups, slip_speeds(m, q, v), directions)
            directions = where(self.turning, following, directions)
        found = solved_friction(m, q, v, tau, loads.outside, directions)
        a = still(m, self.slip_directions, found.a)
        control = loads.control + friction_joint_forces(m, q, found.slipping)
        return loads._replace(control=control, friction=found.slipping, a=a), found

    def with_slip_directions(self, slip: Array) -> System:
        """Return the system in which joints with friction stick or slip in given directions.

        `slip` has the slip directions of clutches, brakes and ratchets, which are not used here, then those of joint
        friction. Joints that stick are locked, and dynamic friction acts on slipping joints.
        """
        m = self.mechanism
        return (
            replace(self, mechanism=locked(m, slip), slip_directions=friction_part(m, slip), unlocked=m)
            if friction_count(m)
            else self
        )

    def joint_forces(self, q: Array, v: Array, loads: Loads) -> Array:
        """Return all joint forces (nv,) [N m or N]: controllers, dry friction, stops, and passive springs and dampers.

        `loads` are the external loads in the state q (nq,), v (nv,).
        """
        return loads.control + loads.stops + for_mimic_joints(PASSIVE, _smooth, ("q", "v"))(self.mechanism, q, v)

    def clipped(self, forces: Array) -> Array:
        """Return a controller's joint forces (nv,) [N m or N], clipped to the effort limits if the run clips them.

        The derivative of a clipped force is zero. Forces that are not finite are returned unchanged, so that the run
        reports them.
        """
        if self.effort is None:
            return forces
        return np.array([clipped_effort(x, limit) for x, limit in zip(forces, self.effort, strict=True)])

    def _clipped_control(self, t: Number, q: Array, v: Array) -> Array:
        """Return the joint forces (nv,) [N m or N] of the controller at t [s], q (nq,), v (nv,), clipped to effort
        limits.
        """
        assert self.control
        return self.clipped(self.control(t, q, v))

    def _stop_forces(self, _: Number, q: Array, v: Array) -> Array:
        """Return the joint forces (nv,) [N m or N] of the springs and dampers at joint limits, at q (nq,), v (nv,)."""
        assert self.stops
        stops = self.stops
        return for_mimic_joints(PASSIVE, lambda m, q, v: stop_forces(m, stops, q, v), ("q", "v"))(self.mechanism, q, v)

    @property
    def force_laws(self) -> list[ForceLaw]:
        """Functions of the state that return joint forces (nv,) [N m or N], for implicit steps to differentiate.

        These are the forces of the controller, joint stops and force elements. The mechanism itself provides the
        derivatives of all other forces.
        """
        control = None if self.control is None else self._clipped_control
        return [one for one in (control, self.stops and self._stop_forces, self.element_law) if one is not None]

    def element_law(self, _: Number, q: Array, v: Array) -> Array:
        """Return the joint forces (nv,) [N m or N] of all force elements at q (nq,), v (nv,); `joint_forces` includes
        them.
        """
        return for_mimic_joints(PASSIVE, element_forces, ("q", "v"))(self.mechanism, q, v)

    def begun(self, t: Number, contact_memory: Array, solid_memory: Array) -> System:
        """Return the system for a step that begins at t [s], with the contact memory at that time.

        `contact_memory` (n, 5) has the state number, anchor (3,) [m] and start time of the state [s] of each contact
        pair. `solid_memory` (4 n, 5) has the same numbers for each contact point of solids, with the stretch (3,) [m]
        instead of the anchor.
        """
        if self.rigid:
            return self
        families = contact_families(self.mechanism)
        return replace(self, **dict(family.begun(t, contact_memory, solid_memory) for family in families))

    def _contact_loads(self, t: Number, q: Array, v: Array) -> ContactLoads | None:
        """Return the loads of compliant contacts at t [s], q (nq,), v (nv,); None if there are none."""
        m = self.mechanism
        if self.memory is None:
            return None
        there, poses = contact_kinematics(m.tree, *to_tree(m, ("q", "v"), (q, v)))
        found = contact_forces(m.contact_pairs, self.memory, t, there)
        return ContactLoads(found, contact_wrenches(m.contact_pairs, found, poses), poses)

    def _solid_loads(self, t: Number, q: Array, v: Array) -> SolidLoads | None:
        """Return the contact wrenches of compliant solids at t [s], q (nq,), v (nv,); None if there are none."""
        if self.solids is None:
            return None
        found = CompliantSolids(self.mechanism, self.solids, t, q, v)
        return SolidLoads(found.wrenches(), found.poses)

    # --- derivatives of contact forces for implicit steps ---

    def contact_matrix(
        self, q: Array, touching: ContactLoads, of: Callable[[ContactLaw, ContactForce], Array]
    ) -> Array:
        """Return the sum (nv, nv) of J^T C J over all contacts: contact matrices C in joint coordinates.

        J (3, nv) or (6, nv) is the Jacobian of a contact, in the axes of its surface. The function `of` returns the
        matrix C of a contact: (3, 3) for the force, or (6, 6) with the torque. `touching` are the contact loads at q
        (nq,).
        """

        def of_tree(m: Mechanism, q: Array) -> Array:
            S, total = subspaces(m, q), [[0.0] * m.nv for _ in range(m.nv)]
            for pair, one in zip(m.contact_pairs, touching.contacts, strict=True):
                C = of(pair.contact, one)
                J = contact_rows(m, touching.poses, S, pair, one.at)[: len(C)]
                joints = to_common_ancestor(m, pair.contact.at.body, pair.surface.place.body)
                own = [d for side in joints for j in side for d in range(j.v.start, j.v.stop)]
                block = J[:, own].T @ C @ J[:, own]  # all other columns are zero; without them, the trace is shorter
                for r, row in zip(own, block, strict=True):
                    for c, entry in zip(own, row, strict=True):
                        total[r][c] = total[r][c] + entry
            return np.array(total).reshape(m.nv, m.nv)

        return for_mimic_joints("mass_matrix", of_tree, ("q",))(self.mechanism, q)

    def contact_step_matrix(self, q: Array, touching: ContactLoads, h: Number) -> Array:
        """Return the derivative (nv, nv) of the contact impulses in a step h [s] with respect to the velocities at its
        end.

        The contact forces are those at mid-step. The matrix is not symmetric if friction depends on the normal force.
        `touching` are the contact loads at mid-step, and q (nq,) are the coordinates there.
        """
        return self.contact_matrix(q, touching, lambda force_law, contact: step_change(force_law, contact, h) * h)

    def viscous(self, q: Array, touching: ContactLoads) -> Array:
        """Return the damping matrix (nv, nv) of all contacts in joint coordinates, from their dampers and friction.

        `touching` are the contact loads at q (nq,).
        """
        return self.contact_matrix(q, touching, lambda _, contact: contact.viscous)

    # --- equations of motion ---

    def acceleration(
        self, q: Array, v: Array, loads: Loads, implicit: Number = 0.0, viscous: Array | None = None
    ) -> Array:
        """Return the accelerations (nv,) [rad/s^2 or m/s^2] under `loads` and the springs and dampers of joints, at q
        (nq,), v (nv,).

        If `implicit` is a step h [s], dampers act with the velocity v + h a at its end: the matrix of the equations is
        M + h D instead of M, with the damping matrix D (nv, nv). `viscous` (nv, nv) is the damping matrix of contacts.
        """
        explicit = isinstance(implicit, float) and implicit == 0.0 and self.baumgarte is None
        if loads.a is not None and explicit:
            return loads.a
        a = self._acceleration(q, v, loads, implicit, viscous)
        return (
            a
            if self.slip_directions is None or self.unlocked is None
            else still(self.unlocked, self.slip_directions, a)
        )

    def _acceleration(self, q: Array, v: Array, loads: Loads, implicit: Number, viscous: Array | None) -> Array:
        """Return the result of `acceleration`, with its arguments, except that accelerations of locked joints are
        round-off instead of zero.
        """
        m, tau = self.mechanism, self.joint_forces(q, v, loads)
        if isinstance(implicit, float) and implicit == 0.0:
            stiffer = m
        else:
            extra = dampers(m.tree) * implicit
            damped = not m.constrained and any(may_be_nonzero(spring.damping) for spring in m.line_forces)
            # dampers between bodies and contacts couple joints, so that armature cannot represent them
            if damped or loads.touching is not None:
                M = stiffened_matrix(m, q, extra, [spring.damping * implicit for spring in m.line_forces])
                M = M if viscous is None else M + viscous * implicit
                solve = ldlt(M).solve
                free = solve(tau - self.needed(q, v, np.zeros(m.nv), loads))
                return constrained_accelerations(m, q, v, free, solve, self.baumgarte or 0.0).a
            stiffer = with_armature(m, extra)
        if self.baumgarte is not None:
            return constrained_forward_dynamics(stiffer, q, v, tau, loads.outside, self.baumgarte).a
        return free_acceleration(stiffer, q, v, tau, loads.outside)

    def imbalance(self, q: Array, v: Array, a: Array, loads: Loads) -> Array:
        """Return the residual (nv,) [N m or N] of the equations of motion at the accelerations a (nv,): needed minus
        acting forces.

        `loads` are the external loads in the state q, v.
        """
        return self.needed(q, v, a, loads) - self.joint_forces(q, v, loads)

    def needed(self, q: Array, v: Array, a: Array, loads: Loads) -> Array:
        """Return the joint forces (nv,) [N m or N] that produce the accelerations a (nv,), from inverse dynamics.

        The external wrenches of `loads` act too; the joint forces of `loads` do not.
        """
        return needed_forces(self.mechanism, q, v, a, loads.outside)

    # --- energy ---

    def energies(self, q: Array, v: Array) -> tuple[Number, Number]:
        """Return the kinetic energy [J], and the potential energy [J] of gravity and springs, at q (nq,), v (nv,)."""
        stored = stored_energy(self.mechanism, q, v)
        return stored.kinetic, stored.potential

    def power(self, q: Array, v: Array, loads: Loads) -> Number:
        """Return the power [W] of all forces except gravity and springs.

        They are those of controllers, wrenches, contacts, stops, dampers, friction and force elements; `loads` are the
        external loads in the state q, v.
        """
        return self.powers(q, v, loads).total

    def powers(self, q: Array, v: Array, loads: Loads) -> Powers:
        """Return the power [W] of all forces except gravity and springs: in total, of contacts, and of joint dampers.

        `loads` are the external loads in the state q, v.
        """
        contacts = None if loads.contacts is None else loads.contacts.wrenches
        return working_powers(self.mechanism, q, v, loads.control + loads.stops, loads.wrenches, contacts)

    def joint_powers(self, q: Array, v: Array, friction: Array | None) -> tuple[Number, Array]:
        """Return the power [W] of the dampers and the dry friction of all joints at velocities v (nv,).

        The second result is the power of dry friction in each of the `joints_with_friction`, then in each loop with
        friction. `friction` are the friction forces [N m or N], tree.nv and then those of loops, or None.
        """
        (speed,) = to_tree(self.mechanism, ("v",), (v,))
        powers = self.friction_powers(q, v, friction)
        return sum(powers, -((dampers(self.mechanism.tree) * speed) @ speed)), powers

    def rates(self, q: Array, v: Array, loads: Loads, now: StepState) -> Array:
        """Return the power [W] of all forces except gravity and springs, then the time derivatives of the work ledger.

        There are derivatives of the ledger only if the state `now` has one. `loads` are the external loads in the state
        q, v. The product of the result and a time step is the argument of `StepState.with_work`.
        """
        return self.work_rates(q, v, loads) if len(now.ledger) else np.array([self.power(q, v, loads)])

    def work_rates(self, q: Array, v: Array, loads: Loads) -> Array:
        """Return the power [W] of all forces except gravity and springs, then the time derivatives of the work ledger.

        `loads` are the external loads in the state q, v. The derivative of the work of clutches is 0 here.
        """
        powers, contacts = self.powers(q, v, loads), loads.contacts
        ground = np.zeros(6) if contacts is None else ground_force(contacts.wrenches, contacts.poses)
        friction = self.friction_powers(q, v, loads.friction)
        joints = sum(friction, powers.joints)
        return np.array([powers.total, powers.contacts, 0.0, joints, *ground, *friction])

    def friction_powers(self, q: Array, v: Array, friction: Array | None) -> Array:
        """Return the power [W] of dry friction in each of the `joints_with_friction`, then in each loop with friction.

        `friction` are the forces of dry friction [N m or N], tree.nv and then those of loops, or None, in the state q
        (nq,), v (nv,).
        """
        m = self.unlocked or self.mechanism
        if friction is None:
            return np.zeros(ledger_places(m))
        return np.array(joint_powers(m, q, v, friction))


def free_acceleration(mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None) -> Array:
    """Return the accelerations (nv,) under the joint forces tau (nv,) [N m or N], gravity and `wrenches` (nbodies, 6)
    [N, N m].
    """
    names = ("q", "v", "tau", "wrenches")[: 3 if wrenches is None else 4]
    return for_mimic_joints("forward_dynamics", forward_dynamics, names)(mechanism, q, v, tau, *_given(wrenches))


def needed_forces(mechanism: Mechanism, q: Array, v: Array, a: Array, wrenches: Array | None) -> Array:
    """Return the joint forces (nv,) [N m or N] that produce the acceleration a (nv,), from inverse dynamics.

    `wrenches` (nbodies, 6) [N, N m] are the external wrenches on the bodies, or None.
    """
    names = ("q", "v", "a", "wrenches")[: 3 if wrenches is None else 4]
    needed = for_mimic_joints("inverse_dynamics", lambda m, *state: inverse_dynamics(m, *state).tau, names)
    return needed(mechanism, q, v, a, *_given(wrenches))


def _smooth(mechanism: Mechanism, q: Array, v: Array) -> Array:
    """Return the passive joint forces (nv,) [N m or N] of a tree at q (nq,), v (nv,), without dry friction."""
    return passive(mechanism, q, v, dry=False)


def _given(wrenches: Array | None) -> tuple[Array, ...]:
    """Return the wrenches as a tuple of arguments, empty if they are None."""
    return () if wrenches is None else (wrenches,)


def with_armature(mechanism: Mechanism, extra: Array) -> Mechanism:
    """Return the mechanism with `extra` (tree.nv,) [kg m^2 or kg] added to the armature (motor inertia) of its
    joints.
    """
    pairs = zip(mechanism.joints, mechanism.tree.joints, strict=True)
    return replace(
        mechanism, joints=mechanism.joints.replaced([replace(j, armature=j.armature + extra[k.v]) for j, k in pairs])
    )


def stiffened_matrix(mechanism: Mechanism, q: Array, extra: Array, weights: list[Number]) -> Array:
    """Return the mass matrix (nv, nv) at q (nq,) plus the stiffness and damping terms of an implicit step.

    `extra` (tree.nv,) is added as armature of the joints. Each spring between bodies adds its entry of `weights` times
    row^T row, where row (1, nv) is the derivative of its length.
    """
    m = with_armature(mechanism, extra)
    M = for_mimic_joints("mass_matrix", mass_matrix, ("q",))(m, q)
    return M + for_mimic_joints("mass_matrix", lambda m, q: frame_spring_matrix(m, q, weights), ("q",))(m, q)
