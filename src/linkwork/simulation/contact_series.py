"""Recorded series of contacts: states, forces, anchors and slip."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.algorithms.compliant_contact import (
    APART,
    SLIPPING,
    STICKING,
    Grip,
    Memory,
    contact_wrenches,
    grip,
    wrenches_of,
)
from linkwork.algorithms.contact_geometry import Meeting, meetings
from linkwork.algorithms.reduction import to_tree
from linkwork.algorithms.rigid_contact import forces_of, remembered
from linkwork.simulation.energy import contact_energy
from linkwork.simulation.series_entry import Axis, RunFacts, Sample, Series
from linkwork.simulation.state import CONTACT_COLUMNS
from linkwork.simulation.state_series import bodies, six
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array, Number, dot, where

DIRECTION = Axis("direction", ("x", "y", "z"))


class Places(NamedTuple):
    """Contact kinematics of all contact pairs (`kinematics`), and the poses of all bodies."""

    kinematics: list[Meeting]
    poses: list[Transform]


def _places(now: Sample) -> Places:
    m = now.system.mechanism
    return Places(*meetings(m.tree, *to_tree(m, ("q", "v"), (now.q, now.v))))


def _memory(now: Sample) -> Memory:
    return Memory.of(now.state.motion.contact_memory)


def _contact_states(now: Sample) -> list[Grip]:
    """Return state and force of each compliant contact; those that stick or slip use the anchor in memory."""
    memory, found = now.once(_memory), []
    pairs = zip(
        now.system.mechanism.contact_pairs, memory.number, memory.anchor, now.once(_places).kinematics, strict=True
    )
    for pair, number, anchor, at in pairs:
        sticks = (number == STICKING) | (number == SLIPPING)
        found.append(grip(pair.contact, where(sticks, STICKING, number), anchor, at))
    return found


def _force(now: Sample) -> Array:
    if now.system.rigid:
        return now.state.motion.contact_memory[:, 1:4]
    return np.array([one.at.pose.R @ one.force for one in now.once(_contact_states)])


def _anchor(now: Sample) -> Array:
    memory, there = now.once(_memory), now.once(_places).kinematics
    each = zip(memory.number, memory.anchor, there, strict=True)
    return np.array([where(number > APART, at.pose.point(anchor), np.zeros(3)) for number, anchor, at in each])


def _slip(now: Sample) -> Array:
    """Return the tangential velocities (n, 3) [m/s] of all contact pairs; zero for pairs that are apart."""
    found = []
    for number, at in zip(now.state.motion.contact_memory[:, 0], now.once(_places).kinematics, strict=True):
        slip = at.velocity - at.normal * dot(at.normal, at.velocity)
        touches = number > APART if now.system.rigid else at.distance < 0.0
        found.append(where(touches, at.pose.R @ slip, np.zeros(3)))
    return np.array(found)


def _energy(now: Sample) -> Number:
    return contact_energy(now.system.mechanism.contact_pairs, now.once(_memory), now.once(_places).kinematics)


def _wrenches(now: Sample) -> Array:
    """Return the contact wrenches on the bodies, at the body origins in body axes; if rigid, those of the last step."""
    pairs, places = now.system.mechanism.contact_pairs, now.once(_places)
    if now.system.rigid:
        return wrenches_of(pairs, forces_of(now.state.motion.contact_memory), places.kinematics, places.poses)
    return contact_wrenches(pairs, now.once(_contact_states), places.poses)


def _touching(facts: RunFacts) -> bool:
    return bool(facts.mechanism.contact_pairs)


def _compliant(facts: RunFacts) -> bool:
    return bool(facts.mechanism.contact_pairs) and not facts.rigid


def _turned(facts: RunFacts) -> bool:
    """Return whether rigid contacts have rolling or spinning friction."""
    return facts.rigid and remembered(facts.mechanism.contact_pairs) > CONTACT_COLUMNS


def _contacts(facts: RunFacts) -> tuple[Axis, ...]:
    return (Axis("contact", tuple(pair.name for pair in facts.mechanism.contact_pairs)),)


def _vectors(facts: RunFacts) -> tuple[Axis, ...]:
    return (*_contacts(facts), DIRECTION)


# Vectors are in world axes
CONTACT_SERIES: tuple[Series, ...] = (
    Series(
        "contact.state", "contact states", "1", _contacts,
        lambda now: now.state.motion.contact_memory[:, 0], exists=_touching, by_default=True,
    ),
    Series(
        "contact.since", "start times of the contact states", "s", _contacts,
        lambda now: now.state.motion.contact_memory[:, 4], exists=_touching, by_default=True,
    ),
    Series("contact.force", "contact forces", "N", _vectors, _force, exists=_touching, by_default=True),
    Series(
        "contact.torque", "contact torques of rolling and spinning friction", "N m", _vectors,
        lambda now: now.state.motion.contact_memory[:, 5:], exists=_turned, by_default=True,
    ),
    Series("contact.anchor", "contact anchors", "m", _vectors, _anchor, exists=_compliant, by_default=True),
    Series("contact.slip", "slip velocities of contacts", "m/s", _vectors, _slip, exists=_touching, by_default=True),
    Series("contact.energy", "energy of contact springs", "J", sample=_energy, exists=_compliant, by_default=True),
    Series(
        "contact.wrenches", "contact wrenches on bodies", six("N", "N m"), bodies, _wrenches,
        exists=_touching,
    ),
)  # fmt: skip
