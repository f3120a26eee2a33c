"""Contacts of points with surfaces, as a contact family: checks, rates, memory, wrenches and recorded vectors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from linkwork.algorithms.compliant_contact import (
    APART,
    SLIPPING,
    STICKING,
    ContactForce,
    Memory,
    contact_force,
    contact_wrenches,
    elastic_energy,
    wrenches_from_forces,
)
from linkwork.algorithms.contact_kinematics import ContactKinematics, contact_kinematics, contact_rows
from linkwork.algorithms.contact_tolerances import INSIDE_AT_START
from linkwork.algorithms.kinematics import subspaces
from linkwork.algorithms.mimic_reduction import to_tree
from linkwork.algorithms.rigid_contact import forces_of
from linkwork.errors import LinkworkError
from linkwork.model.elements.contact import Contact, Pair
from linkwork.model.geometry import Hull, Mesh
from linkwork.simulation.contact_family_interface import DEEP, ContactFamily, Rates, largest_rate
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array, Number, dot, where

if TYPE_CHECKING:
    from linkwork.simulation.series_definition import Sample
    from linkwork.simulation.simulation_problem import Problem
    from linkwork.simulation.state import StepState

MEMBERS_CHECKED = 64  # largest number of batch members whose start is checked


class PointContacts(ContactFamily):
    """All pairs of a contact point and a surface of a mechanism."""

    automatic_method = "variational"

    @property
    def pairs(self) -> Sequence[Pair]:
        """All pairs of a contact point and a surface that can touch."""
        return self.mechanism.contact_pairs

    @property
    def elements(self) -> Sequence[Contact]:
        """The contact elements of the mechanism (`Builder.touch`), one for each pair."""
        return [pair.contact for pair in self.pairs]

    def refuse_own(self, problem: Problem, method: str, locate: bool) -> None:
        """Raise a LinkworkError if a contact point may touch a mesh or a hull. `method` and `locate` are not used."""
        for pair in self.pairs:
            if isinstance(pair.surface.shape, Mesh | Hull):
                kind = type(pair.surface.shape).__name__.lower()
                reason = f"contact {pair.contact.name!r} may touch surface {pair.surface.name!r}, which is a {kind}"
                raise LinkworkError(f"{reason}; points cannot touch it: name other surfaces in `against`, or use boxes")

    def start_warning(self, problem: Problem) -> str | None:
        """Return the text of a warning if a contact point starts deep inside a surface, else None. Only the first
        MEMBERS_CHECKED batch members are checked.
        """
        for index in islice(np.ndindex(problem.batch), MEMBERS_CHECKED):
            now, values = problem.member(index)
            m = problem.system(values).mechanism
            there, _ = contact_kinematics(m.tree, *to_tree(m, ("q", "v"), (now.q, now.v)))
            weight = float(m.mass) * float(np.linalg.norm(m.gravity))
            states = now.motion.contact_memory[:, 0]
            for (contact, surface), at, number in zip(m.contact_pairs, there, states, strict=True):
                depth = max(0.0, -float(at.distance))
                force = 0.0 if problem.rigid else contact.press(depth)
                if number != APART or (depth <= INSIDE_AT_START if problem.rigid else force <= DEEP * weight):
                    continue
                who = f"of member {index} " if problem.batch else ""
                follows = (
                    "and will be pushed out in the first step"
                    if problem.rigid
                    else f"and its spring will push it out with {force:.3g} N"
                )
                place = f"{depth:.3g} m inside surface {surface.name!r}"
                return f"linkwork: contact {contact.name!r} {who}starts {place}, {follows}: start it farther outside"
        return None

    def rates(self, M: Array, position: Array, weight: float) -> list[Rates]:
        """Return the rates [1/s] of the springs and dampers of all pairs together, as a list with one entry. The
        arguments are those of `ContactFamily.rates`.
        """
        m = self.mechanism
        there, poses = contact_kinematics(m.tree, position, np.zeros(m.tree.nv))
        S, springs, dampers, each = subspaces(m.tree, position), np.zeros_like(M), np.zeros_like(M), []
        for pair, at in zip(self.pairs, there, strict=True):
            J = contact_rows(m.tree, poses, S, pair, at, at.point - at.normal * at.distance)[:3] @ m.spread
            contact = pair.contact
            hard, drag = contact.slopes(weight)
            N = np.outer(at.normal, at.normal)
            P = np.eye(3) - N
            K = J.T @ (N * hard + P * contact.tangential_stiffness) @ J
            springs, dampers = springs + K, dampers + J.T @ (N * drag + P * contact.tangential_damping) @ J
            each.append(largest_rate(M, K))
        stiffest = self.pairs[int(np.argmax(each))].name
        return [Rates(np.sqrt(largest_rate(M, springs)), largest_rate(M, dampers), stiffest)]

    def step_rate(self, rates: Rates, method: str) -> float:
        """Return the rate [1/s] that limits the step: that of springs or, with "rk4", that of dampers if it is larger.

        Other methods treat the dampers implicitly.
        """
        return max(rates.stiffness, rates.damping) if method == "rk4" else rates.stiffness

    def begun(self, t: Number, contact_memory: Array, solid_memory: Array) -> tuple[str, Memory]:
        """Return "memory", the name of a field of `System`, and the contact memory of contact points in a step that
        begins at t [s].
        """
        return "memory", Memory.of(contact_memory).begun(t)

    def rigid_wrenches(self, now: StepState) -> Array:
        """Return the wrenches (nbodies, 6) [N, N m] of rigid contact points on the bodies, from the contact memory of
        the state `now`.
        """
        m = self.mechanism
        met = contact_kinematics(m.tree, *to_tree(m, ("q", "v"), (now.q, now.v)))
        return wrenches_from_forces(self.pairs, forces_of(now.contact_memory), *met)

    def forces(self, now: Sample) -> list[Array]:
        """Return the force (3,) [N] of each compliant pair in world axes."""
        return [each.force for each in now.once(compliant_contacts)]

    def slips(self, now: Sample) -> list[Array]:
        """Return the slip velocity (3,) [m/s] of each pair in world axes; zero for a pair that is apart."""
        if not now.system.rigid:
            return [each.slip for each in now.once(compliant_contacts)]
        states, there = now.state.motion.contact_memory[:, 0], now.once(_places).kinematics
        return [_slip_velocity(at, number > APART) for number, at in zip(states, there, strict=True)]

    def points(self, now: Sample) -> list[Array]:
        """Return the position (3,) [m] of each contact point in the world; zero for a pair that is apart."""
        states, there = now.state.motion.contact_memory[:, 0], now.once(_places).kinematics
        pairs = zip(states, there, strict=True)
        return [where(number > APART, at.pose.point(at.point), np.zeros(3)) for number, at in pairs]

    def energies(self, now: Sample) -> list[Number]:
        """Return the energy [J] of the normal and tangential spring of each pair."""
        return [each.energy for each in now.once(compliant_contacts)]

    def wrenches(self, now: Sample) -> Array:
        """Return the sum (nbodies, 6) [N, N m] of the contact wrenches on each body, about its origin and in its
        axes.
        """
        places = now.once(_places)
        if now.system.rigid:
            forces = forces_of(now.state.motion.contact_memory)
            return wrenches_from_forces(self.pairs, forces, places.kinematics, places.poses)
        return contact_wrenches(self.pairs, [one.contact_force for one in now.once(compliant_contacts)], places.poses)


class Places(NamedTuple):
    """Kinematics of all contact pairs (distance, normal, velocity) and world poses of all bodies, in one sample of a
    run.
    """

    kinematics: list[ContactKinematics]
    poses: list[Transform]


def _places(now: Sample) -> Places:
    m = now.system.mechanism
    return Places(*contact_kinematics(m.tree, *to_tree(m, ("q", "v"), (now.q, now.v))))


def _memory(now: Sample) -> Memory:
    return Memory.of(now.state.motion.contact_memory)


class Recorded(NamedTuple):
    """Force, anchor, slip velocity and elastic energy of one compliant contact in one sample; vectors in world axes.

    `contact_force` has the force in the axes of the surface, with the contact state. `force` is in [N], `anchor` in
    [m], `slip` in [m/s], `energy` in [J].
    """

    contact_force: ContactForce
    force: Array
    anchor: Array
    slip: Array
    energy: Number


def compliant_contacts(now: Sample) -> list[Recorded]:
    """Return force, anchor, slip velocity and energy of each compliant contact pair in the sample `now`.

    All quantities of one contact are computed together, because compiled code is shorter if it uses their common values
    soon.
    """
    memory, found = now.once(_memory), []
    pairs = zip(
        now.system.mechanism.contact_pairs, memory.number, memory.anchor, now.once(_places).kinematics, strict=True
    )
    for pair, number, anchor, at in pairs:
        sticks = (number == STICKING) | (number == SLIPPING)
        state = contact_force(pair.contact, where(sticks, STICKING, number), anchor, at)
        found.append(
            Recorded(
                state,
                force=at.pose.R @ state.force,
                anchor=where(number > APART, at.pose.point(anchor), np.zeros(3)),
                slip=_slip_velocity(at, at.distance < 0.0),
                energy=elastic_energy(pair.contact, number, anchor, at),
            )
        )
    return found


def _slip_velocity(at: ContactKinematics, touches: Number) -> Array:
    """Return the tangential velocity (3,) [m/s] of a contact in world axes, if `touches` is 1; zeros if it is 0.

    `at` is the kinematics of the contact.
    """
    slip = at.velocity - at.normal * dot(at.normal, at.velocity)
    return where(touches, at.pose.R @ slip, np.zeros(3))
