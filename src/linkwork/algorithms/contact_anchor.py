"""Anchors of compliant contacts: when a contact sticks to its anchor, and how a sliding contact moves this anchor.

The spring between a contact and its anchor never carries more than the friction limit: beyond it, the contact drags the
anchor along. A sliding contact drags its anchor behind it, with the stretch of the spring at which it began to slip, so
that the spring can carry this load at once when the contact comes to rest.
"""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.compliant_contact import (
    APART,
    SLIDING,
    SLIPPING,
    STICKING,
    STOPPING,
    ContactForce,
    ContactLaw,
    normal_force,
    tangential,
)
from linkwork.algorithms.contact_kinematics import ContactKinematics
from linkwork.spatial.scalar import Array, Number, dot, maximum, minimum, where
from linkwork.tolerances import TINY


def state_after(contact: ContactLaw, found: ContactForce) -> Number:
    """Return the state of a contact at the end of a step; `found` has the state and force computed there.

    If the anchor force of a sticking contact exceeds the friction limit, the contact drags its anchor along. Its state
    then remains sticking, unless it slips faster than its rest speed.
    """
    slip = tangential(found.at.normal, found.at.velocity)
    slow = dot(slip, slip) <= contact.rest_speed * contact.rest_speed
    return where(found.number == SLIPPING, where(slow, STICKING, SLIPPING), found.number)


def anchor_after(
    contact: ContactLaw,
    numbers: tuple[Number, Number],
    anchor: Array,
    rolled: Array,
    first: ContactKinematics,
    last: ContactKinematics,
) -> Array:
    """Return the anchor (3,) [m] of a contact at the end of a step.

    `numbers` are the states of the contact before and after the step, and `anchor` (3,) [m] is its anchor at the start
    of the step. If a ball rolls, its anchor moves by `rolled` (3,) [m]. All vectors are in the surface's frame. `first`
    and `last` are the kinematics of the contact at the start and the end of the step.
    """
    before, after = numbers
    n = last.normal
    normal = maximum(normal_force(contact, last.distance, dot(n, last.velocity), 1.0)[0], 0.0)
    reach = normal / contact.tangential_stiffness  # times the friction coefficient: stretch at the limit
    stays, had = tangential(n, last.point - anchor - rolled), tangential(first.normal, first.point - anchor)
    slip = tangential(n, where(after == STOPPING, first.velocity, last.velocity))
    stuck = _shortened(stays, np.sqrt(dot(stays, stays) + TINY), contact.friction[0] * reach)
    length = minimum(np.sqrt(dot(had, had)), contact.friction[1] * reach)
    dragged = slip * (length / np.sqrt(dot(slip, slip) + TINY))
    stretch = where(before == STICKING, stuck, where(before == SLIDING, dragged, np.zeros(3)))
    return where(after == APART, anchor + rolled, last.point - stretch)


def _shortened(vector: Array, length: Number, longest: Number) -> Array:
    """Return a vector (3,), shortened to at most the length `longest`; `length` is the length of the given vector."""
    return vector * where(length > longest, longest / length, 1.0)
