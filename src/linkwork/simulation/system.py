"""A mechanism and everything that acts on it: the one place where forces are summed. One state, any numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.compliant_contact import ContactLaw, Grip, Memory, contact_wrenches, grips, step_change
from linkwork.algorithms.contact_geometry import contact_rows, meetings
from linkwork.algorithms.element_forces import element_forces
from linkwork.algorithms.forward import forward_dynamics
from linkwork.algorithms.inverse import inverse_dynamics
from linkwork.algorithms.joint_forces import Stops, passive, resistance, stop_forces
from linkwork.algorithms.kinematics import subspaces
from linkwork.algorithms.mass import mass_matrix, solver
from linkwork.algorithms.point_springs import frame_spring_matrix
from linkwork.algorithms.reduction import closed_forward_dynamics, coupled, held_to, to_tree
from linkwork.algorithms.sweeps import to_meeting
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.energy import stored_energy, working_power
from linkwork.simulation.events.guards import Guard
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array, Number, ldlt, may_be_nonzero

ForceLaw = Callable[[Number, Array, Array], Array]  # of time [s], q (nq,) and v (nv,)
PASSIVE = "passive"  # forces of the tree's joints reduce as those do


class ContactLoads(NamedTuple):
    """What compliant contacts do at one instant: each of them, their wrenches (nbodies, 6) and the poses of bodies."""

    grips: list[Grip]
    wrenches: Array
    poses: list[Transform]


class Loads(NamedTuple):
    """What acts from outside at one instant: `control` (nv,) and `stops` (nv,) [N m or N], and wrenches on bodies.

    `wrenches` (nbodies, 6) are the user's, `touching` are those of compliant contacts; None where there are none.
    """

    control: Array
    stops: Array
    wrenches: Array | None
    touching: ContactLoads | None = None

    @property
    def outside(self) -> Array | None:
        """All wrenches (nbodies, 6) [N, N m] on the bodies, those of contacts too; None if there are none."""
        if self.touching is None:
            return self.wrenches
        return self.touching.wrenches if self.wrenches is None else self.wrenches + self.touching.wrenches


@dataclass(frozen=True, eq=False)
class System:
    """A mechanism, a force law for its joints, one (nbodies, 6) for wrenches on its bodies, and its joint stops."""

    mechanism: Mechanism
    control: ForceLaw | None = None
    wrenches: ForceLaw | None = None
    stops: Stops | None = None
    baumgarte: float | None = None  # rate [1/s] at which forces close loops; None where steps project
    memory: Memory | None = None  # of compliant contacts as a step begins; without it they do nothing
    modes: tuple[str, ...] = ()  # parameters that are switched during the run
    guards: tuple[Guard, ...] = ()  # conditions that switch them
    rigid: bool = False  # whether contacts are rigid: they then remember forces, not anchors

    def in_modes(self, modes: Array) -> System:
        """The same system with its switched parameters at `modes` (m,)."""
        if not self.modes:
            return self
        named = dict(zip(self.modes, modes, strict=True))
        return replace(self, mechanism=self.mechanism.varied(named))

    # --- forces ---

    def loads(self, t: Number, q: Array, v: Array, held: Array) -> Loads:
        """What acts from outside in a state; `held` (nv,) [N m or N] comes from sampled controllers."""
        control = held if self.control is None else held + self.control(t, q, v)
        pushes = np.zeros(self.mechanism.nv) if self.stops is None else self._stop_forces(t, q, v)
        wrenches = None if self.wrenches is None else self.wrenches(t, q, v)
        return Loads(control, pushes, wrenches, self._contact_loads(t, q, v))

    def joint_forces(self, q: Array, v: Array, loads: Loads) -> Array:
        """All joint forces (nv,) [N m or N]: controllers, stops, and the mechanism's own springs and dampers."""
        return loads.control + loads.stops + coupled(PASSIVE, passive, ("q", "v"))(self.mechanism, q, v)

    def _stop_forces(self, _: Number, q: Array, v: Array) -> Array:
        """Forces (nv,) of the joint stops."""
        assert self.stops
        stops = self.stops
        return coupled(PASSIVE, lambda m, q, v: stop_forces(m, stops, q, v), ("q", "v"))(self.mechanism, q, v)

    @property
    def force_laws(self) -> list[ForceLaw]:
        """Joint forces (nv,) whose derivatives Newton's matrix needs and the mechanism does not give."""
        return [law for law in (self.control, self.stops and self._stop_forces, self.element_law) if law is not None]

    @property
    def element_law(self) -> ForceLaw | None:
        """Joint forces (nv,) [N m or N] of force elements, which `joint_forces` contains; None without any."""
        law = coupled(PASSIVE, element_forces, ("q", "v"))
        return (lambda _, q, v: law(self.mechanism, q, v)) if self.mechanism.forces else None

    def begun(self, t: Number, contact_memory: Array) -> System:
        """The system at the beginning of a step [s], whose compliant contacts, if any, remember (n, 5)."""
        if self.rigid or not self.mechanism.contact_pairs:
            return self
        return replace(self, memory=Memory.of(contact_memory).begun(t))

    def _contact_loads(self, t: Number, q: Array, v: Array) -> ContactLoads | None:
        """What compliant contacts do in a state."""
        m = self.mechanism
        if self.memory is None:
            return None
        there, poses = meetings(m.tree, *to_tree(m, ("q", "v"), (q, v)))
        found = grips(m.contact_pairs, self.memory, t, there)
        return ContactLoads(found, contact_wrenches(m.contact_pairs, found, poses), poses)

    # --- derivatives of contact forces, for implicit steps ---

    def contact_matrix(self, q: Array, touching: ContactLoads, of: Callable[[ContactLaw, Grip], Array]) -> Array:
        """The sum (nv, nv) of J^T C J over contacts, with C (3, 3) or (6, 6) by `of`."""

        def of_tree(m: Mechanism, q: Array) -> Array:
            S, total = subspaces(m, q), [[0.0] * m.nv for _ in range(m.nv)]
            for pair, one in zip(m.contact_pairs, touching.grips, strict=True):
                C = of(pair.contact, one)
                J = contact_rows(m, touching.poses, S, pair, one.at)[: len(C)]
                joints = to_meeting(m, pair.contact.at.body, pair.surface.place.body)
                own = [d for side in joints for j in side for d in range(j.v.start, j.v.stop)]
                block = J[:, own].T @ C @ J[:, own]  # other columns are zero, and would only be longer to trace
                for r, row in zip(own, block, strict=True):
                    for c, entry in zip(own, row, strict=True):
                        total[r][c] = total[r][c] + entry
            return np.array(total).reshape(m.nv, m.nv)

        return coupled("mass_matrix", of_tree, ("q",))(self.mechanism, q)

    def contact_step_matrix(self, q: Array, touching: ContactLoads, h: Number) -> Array:
        """How impulses of contacts in the middle of a step h [s] change with velocities at its end: (nv, nv).

        It is not symmetric where friction follows the normal force.
        """
        return self.contact_matrix(q, touching, lambda contact, grip: step_change(contact, grip, h) * h)

    def viscous(self, q: Array, touching: ContactLoads) -> Array:
        """The damping matrix (nv, nv) of contacts, of their dampers and friction."""
        return self.contact_matrix(q, touching, lambda _, grip: grip.viscous)

    # --- equations of motion ---

    def acceleration(
        self, q: Array, v: Array, loads: Loads, implicit: Number = 0.0, viscous: Array | None = None
    ) -> Array:
        """Accelerations (nv,) under the loads and the joints' own forces.

        With `implicit` a step [s], dampers and friction act with the velocity at its end: (M + h D) a = ... - D v;
        `viscous` (nv, nv) is the damping matrix of contacts.
        """
        m, tau = self.mechanism, self.joint_forces(q, v, loads)
        if isinstance(implicit, float) and implicit == 0.0:
            stiffer = m
        else:
            extra = resistance(m.tree, *to_tree(m, ("v",), (v,))) * implicit
            damped = not m.constrained and any(may_be_nonzero(spring.damping) for spring in m.line_forces)
            if damped or loads.touching is not None:  # these couple joints, as no armature does
                M = stiffened_matrix(m, q, extra, [spring.damping * implicit for spring in m.line_forces])
                M = M if viscous is None else M + viscous * implicit
                solve = ldlt(M).solve
                free = solve(tau - self.needed(q, v, np.zeros(m.nv), loads))
                return held_to(m, q, v, free, solve, self.baumgarte or 0.0).a
            stiffer = with_armature(m, extra)
        if m.constrained and self.baumgarte is not None:
            return closed_forward_dynamics(stiffer, q, v, tau, loads.outside, self.baumgarte).a
        names = ("q", "v", "tau", "wrenches")[: 3 if loads.outside is None else 4]
        return coupled("forward_dynamics", forward_dynamics, names)(stiffer, q, v, tau, *_given(loads.outside))

    def imbalance(self, q: Array, v: Array, a: Array, loads: Loads) -> Array:
        """Joint forces (nv,) [N m or N] that lack for the acceleration a: zero if the equations of motion hold."""
        return self.needed(q, v, a, loads) - self.joint_forces(q, v, loads)

    def needed(self, q: Array, v: Array, a: Array, loads: Loads) -> Array:
        """Joint forces (nv,) [N m or N] that give the acceleration a under the loads' wrenches."""
        names = ("q", "v", "a", "wrenches")[: 3 if loads.outside is None else 4]
        needed = coupled("inverse_dynamics", lambda m, *state: inverse_dynamics(m, *state).tau, names)
        return needed(self.mechanism, q, v, a, *_given(loads.outside))

    # --- energy ---

    def energies(self, q: Array, v: Array) -> tuple[Number, Number]:
        """Kinetic energy [J], and potential energy of gravity and springs [J]."""
        stored = stored_energy(self.mechanism, q, v)
        return stored.kinetic, stored.potential

    def power(self, q: Array, v: Array, loads: Loads) -> Number:
        """Power [W] of forces that store no energy: controllers, wrenches, contacts, stops, dampers, friction."""
        return working_power(self.mechanism, q, v, loads.control + loads.stops, loads.outside)


def _given(wrenches: Array | None) -> tuple[Array, ...]:
    return () if wrenches is None else (wrenches,)


def with_armature(mechanism: Mechanism, extra: Array) -> Mechanism:
    """The mechanism with `extra` (tree.nv,) [kg m^2 or kg] added to the armature of its joints."""
    pairs = zip(mechanism.joints, mechanism.tree.joints, strict=True)
    return replace(
        mechanism, joints=mechanism.joints.replaced([replace(j, armature=j.armature + extra[k.v]) for j, k in pairs])
    )


def stiffened_matrix(mechanism: Mechanism, q: Array, extra: Array, weights: list[Number]) -> Array:
    """The mass matrix (nv, nv) at q, `extra` (tree.nv,) added as armature, and weight row row^T of every spring."""
    m = with_armature(mechanism, extra)
    M = coupled("mass_matrix", mass_matrix, ("q",))(m, q)
    return M + coupled("mass_matrix", lambda m, q: frame_spring_matrix(m, q, weights), ("q",))(m, q)


def stiffened_solver(mechanism: Mechanism, M: Array) -> Callable[[Array], Array]:
    """Solves with such a matrix of the mechanism."""
    return (ldlt(M) if mechanism.mimics or mechanism.line_forces else solver(mechanism, M)).solve
