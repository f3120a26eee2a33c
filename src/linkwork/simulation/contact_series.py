"""Recorded series of contacts: states, forces, anchors and slip."""

from __future__ import annotations

from typing import Any, NamedTuple

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
from linkwork.algorithms.contact_kinematics import ContactKinematics, contact_kinematics
from linkwork.algorithms.mimic_reduction import to_tree
from linkwork.algorithms.rigid_contact import contact_memory_size, forces_of
from linkwork.algorithms.solid_contact.compliant_pairs import CompliantSolids, SolidMemory
from linkwork.algorithms.solid_contact.solid_contact_forces import RigidSolids, SolidForces, stored_columns
from linkwork.simulation.series_definition import Axis, RunFacts, Sample, Series
from linkwork.simulation.state import CONTACT_COLUMNS
from linkwork.simulation.state_series import bodies, six
from linkwork.spatial import Transform
from linkwork.spatial.row_arrays import RowLayout
from linkwork.spatial.scalar import Array, Number, dot, where

DIRECTION = Axis("direction", ("x", "y", "z"))


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

    `contact_force` has the force in the axes of the surface, with the contact state. The energy is in J.
    """

    contact_force: ContactForce
    force: Array
    anchor: Array
    slip: Array
    energy: Number


def _compliant_contacts(now: Sample) -> list[Recorded]:
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


def _solids(now: Sample) -> SolidForces:
    """Return an object that computes the forces between solids in the sample `now`, at the contact points of each
    pair.
    """
    m, stored = now.system.mechanism, now.state.motion.solid_memory
    if now.system.rigid:
        return RigidSolids(m, stored, now.q, now.v)
    return CompliantSolids(m, SolidMemory(stored, 0.0), 0.0, now.q, now.v)


def _points_of_solids(now: Sample) -> list[list[Any]]:
    """Return, for each contact point between solids, its force [N], slip velocity [m/s], position [m] and energy [J].

    The vectors (3,) are those of the sample `now`, in world axes; the position is zero if the solids are apart.
    """
    if not now.system.mechanism.solid_pairs:
        return []
    return now.once(_solids).each(
        RowLayout((3,), (3,), (3,), ()),
        lambda one, point: (one.force, one.slip, where(one.number > APART, point, np.zeros(3)), one.energy),
    )


def _all_vectors(now: Sample, points: list[Array], part: int) -> Array:
    """Return one vector per contact, as an array (n, 3): first the vectors `points` of contact pairs, then those of
    solids.

    `part` selects the vector of a contact point between solids, as an index into the result of `_points_of_solids`.
    """
    return np.array([*points, *(one[part] for one in now.once(_points_of_solids))]).reshape(-1, 3)


def _stored(now: Sample, columns: int | slice) -> Array:
    """Return columns of the contact memory: first of all contact pairs, then of all contact points between solids."""
    motion = now.state.motion
    return np.concatenate([motion.contact_memory[:, columns], motion.solid_memory[:, columns]])


def _force(now: Sample) -> Array:
    """Return the contact forces (n, 3) [N] in the sample `now`, in world axes; those of the last step if rigid."""
    if now.system.rigid:
        return _stored(now, slice(1, 4))
    return _all_vectors(now, [each.force for each in now.once(_compliant_contacts)], 0)


def _slip(now: Sample) -> Array:
    """Return the slip velocity (n, 3) [m/s] of each of n contacts in the sample `now`, in world axes; zero if apart."""
    if not now.system.rigid:
        return _all_vectors(now, [each.slip for each in now.once(_compliant_contacts)], 1)
    states, there = now.state.motion.contact_memory[:, 0], now.once(_places).kinematics
    slips = [_slip_velocity(at, number > APART) for number, at in zip(states, there, strict=True)]
    return _all_vectors(now, slips, 1)


def _point(now: Sample) -> Array:
    """Return the position (n, 3) [m] of each of n contact points in the sample `now`, in world axes; zero if apart."""
    states, there = now.state.motion.contact_memory[:, 0], now.once(_places).kinematics
    points = [
        where(number > APART, at.pose.point(at.point), np.zeros(3)) for number, at in zip(states, there, strict=True)
    ]
    return _all_vectors(now, points, 2)


def _torque(now: Sample) -> Array:
    """Return the torque (n, 3) [N m] of rolling and spinning friction at each of n contacts."""
    motion = now.state.motion
    parts = [stored[:, CONTACT_COLUMNS:] for stored in (motion.contact_memory, motion.solid_memory)]
    return np.concatenate([part if part.size else np.zeros((len(part), 3)) for part in parts])


def _energy(now: Sample) -> Number:
    """Return the energy [J] of all contact springs in the sample `now`."""
    points = sum((each.energy for each in now.once(_compliant_contacts)), 0.0)
    return points + sum((energy for *_, energy in now.once(_points_of_solids)), 0.0)


def _wrenches(now: Sample) -> Array:
    """Return the sum (nbodies, 6) [N, N m] of the contact wrenches on each body in the sample `now`.

    A wrench is about the origin of the body's frame, in its axes. For rigid contacts, the wrenches are those of the
    last step.
    """
    m, places = now.system.mechanism, now.once(_places)
    if now.system.rigid:
        forces = forces_of(now.state.motion.contact_memory)
        found = wrenches_from_forces(m.contact_pairs, forces, places.kinematics, places.poses)
    else:
        forces = [each.contact_force for each in now.once(_compliant_contacts)]
        found = contact_wrenches(m.contact_pairs, forces, places.poses)
    return found + now.once(_solids).wrenches() if m.solid_pairs else found


def _touching(facts: RunFacts) -> bool:
    return facts.mechanism.touches


def _points_only(facts: RunFacts) -> bool:
    """Return whether a run has contacts, and no rigid contacts between solids."""
    return facts.mechanism.touches and not (facts.rigid and facts.mechanism.solid_pairs)


def _compliant(facts: RunFacts) -> bool:
    return facts.mechanism.touches and not facts.rigid


def _anchored(facts: RunFacts) -> bool:
    """Return whether all contacts of a run are compliant contact pairs, which have anchors."""
    return _compliant(facts) and not facts.mechanism.solid_pairs


def _has_friction_torques(facts: RunFacts) -> bool:
    """Return whether the rigid contacts of a run have rolling or spinning friction, and therefore torques."""
    m = facts.mechanism
    sizes = contact_memory_size(m.contact_pairs), stored_columns(m.collisions)
    return facts.rigid and max(sizes) > CONTACT_COLUMNS


def _contacts(facts: RunFacts) -> tuple[Axis, ...]:
    return (Axis("contact", facts.mechanism.contact_names),)


def _vectors(facts: RunFacts) -> tuple[Axis, ...]:
    return (*_contacts(facts), DIRECTION)


# Vectors are in world axes
CONTACT_SERIES: tuple[Series, ...] = (
    Series(
        "contact.state", "contact states", "1", _contacts,
        lambda now: _stored(now, 0), exists=_touching, by_default=True,
    ),
    Series(
        "contact.since", "start times of the contact states", "s", _contacts,
        lambda now: _stored(now, 4), exists=_touching, by_default=True,
    ),
    Series("contact.force", "contact forces", "N", _vectors, _force, exists=_touching, by_default=True),
    Series(
        "contact.torque", "contact torques of rolling and spinning friction", "N m", _vectors,
        _torque, exists=_has_friction_torques, by_default=True,
    ),
    Series(
        "contact.anchor", "contact anchors", "m", _vectors,
        lambda now: np.array([each.anchor for each in now.once(_compliant_contacts)]),
        exists=_anchored, by_default=True,
    ),
    Series(
        "contact.slip", "slip velocities of contacts", "m/s", _vectors, _slip, exists=_touching,
        by_default=_points_only,  # with rigid solids, contacts must be detected a second time
    ),
    Series("contact.point", "contact points", "m", _vectors, _point, exists=_touching),
    Series("contact.energy", "energy of contact springs", "J", sample=_energy, exists=_compliant, by_default=True),
    Series(
        "contact.wrenches", "contact wrenches on bodies", six("N", "N m"), bodies, _wrenches,
        exists=_touching,
    ),
)  # fmt: skip
