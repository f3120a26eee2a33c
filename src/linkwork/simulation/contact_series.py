"""What a run records of contacts: their states, forces, anchors and slip."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.algorithms.compliant_contact import (
    APART,
    SLIPPING,
    STICKING,
    Memory,
    contact_wrenches,
    grip,
    stored,
    wrenches_of,
)
from linkwork.algorithms.contact_geometry import meetings
from linkwork.algorithms.reduction import to_tree
from linkwork.algorithms.rigid_contact import forces_of, has_torques, remembered
from linkwork.model.broadcast import Shape
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.state import Carry
from linkwork.spatial.scalar import dot, where


def contact_series(mechanism: Mechanism, rigid: bool) -> dict[str, Shape]:
    """The series of a mechanism with contacts, with the shape of a row: (n,) or (n, 3) for n pairs that may touch."""
    n = len(mechanism.touches)
    if not n:
        return {}
    each: dict[str, Shape] = {"contact.state": (n,), "contact.since": (n,), "contact.force": (n, 3)}
    each |= {"contact.slip": (n, 3)} if rigid else {"contact.anchor": (n, 3), "contact.slip": (n, 3)}
    each |= {"contact.torque": (n, 3)} if rigid and remembered(mechanism.touches) > 5 else {}
    return each | ({} if rigid else {"contact.energy": ()}) | {"contact.wrenches": (mechanism.nbodies, 6)}


def contact_row(mechanism: Mechanism, now: Carry, rigid: bool) -> dict[str, Any]:
    """The row of a state, of contacts with springs and anchors or of rigid ones."""
    return _rigid_row(mechanism, now) if rigid else _compliant_row(mechanism, now)


def _rigid_row(m: Mechanism, now: Carry) -> dict[str, Any]:
    """The row of a state: numbers of states, and in the world's axes the last step's forces [N] and slip [m/s].

    `contact.wrenches` (nbodies, 6) [N, N m] are those of these forces, and of torques where there are any, about
    the bodies' origins, in their frames.
    """
    there, poses = meetings(m.tree, *to_tree(m, ("q", "v"), (now.q, now.v)))
    slips = []
    for number, at in zip(now.touch[:, 0], there, strict=True):
        slip = at.velocity - at.normal * dot(at.normal, at.velocity)
        slips.append(where(number > APART, at.pose.R @ slip, np.zeros(3)))
    torques = {"contact.torque": now.touch[:, 5:]} if has_torques(now.touch) else {}
    return torques | {
        "contact.state": now.touch[:, 0],
        "contact.since": now.touch[:, 4],
        "contact.force": now.touch[:, 1:4],
        "contact.slip": np.array(slips),
        "contact.wrenches": wrenches_of(m.touches, forces_of(now.touch), there, poses),
    }


def _compliant_row(mechanism: Mechanism, now: Carry) -> dict[str, Any]:
    """The row of a state: numbers of states, and in the world's axes forces [N], anchors [m] and slip [m/s].

    `contact.since` [s] is when contacts landed, left, stuck or slipped to be as they are. `contact.energy` [J] is what
    the springs of contacts hold, `contact.wrenches` (nbodies, 6) [N, N m] what contacts do to bodies, about their
    origins in their frames.
    """
    m, memory = mechanism, Memory.of(now.touch)
    there, poses = meetings(m.tree, *to_tree(m, ("q", "v"), (now.q, now.v)))
    found, anchors, slips, energy = [], [], [], 0.0
    for pair, number, anchor, at in zip(m.touches, memory.number, memory.anchor, there, strict=True):
        sticks = (number == STICKING) | (number == SLIPPING)
        found.append(grip(pair.contact, where(sticks, STICKING, number), anchor, at))
        slip = at.velocity - at.normal * dot(at.normal, at.velocity)
        anchors.append(where(number > APART, at.pose.point(anchor), np.zeros(3)))
        slips.append(where(at.distance < 0.0, at.pose.R @ slip, np.zeros(3)))
        energy = energy + stored(pair.contact, number, anchor, at)
    return {
        "contact.state": np.array(memory.number),
        "contact.since": np.array(memory.entered),
        "contact.force": np.array([one.at.pose.R @ one.force for one in found]),
        "contact.anchor": np.array(anchors),
        "contact.slip": np.array(slips),
        "contact.energy": energy,
        "contact.wrenches": contact_wrenches(m.touches, found, poses),
    }
