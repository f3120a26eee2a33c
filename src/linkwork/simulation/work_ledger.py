"""Work ledger: an array that adds up the work of passive elements and the impulse of the ground over the steps of a
run.

The ledger is part of the state. Its first nine entries are the work [J] of contacts, of clutches and brakes that slip
or engage, and of dampers and dry friction of joints; then the impulse (3,) [N s] of the contacts with the world on the
mechanism, and its moment (3,) [N m s] about the origin of the world. The work [J] of dry friction in each joint and
loop with friction may follow. The ledger is empty (0,) if a mechanism has none of these elements. The report uses the
ledger to check that no passive element adds energy, and that the momentum changes by the impulse of the ground.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from linkwork.algorithms.contact_kinematics import ContactKinematics
from linkwork.model.elements.contact import Pair
from linkwork.model.mechanism import WORLD, Mechanism
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array, cross

WORK_ENTRIES = ("contacts", "clutches", "joints")  # kinds of passive elements whose work is an entry of the ledger
CONTACTS, CLUTCHES, JOINTS = range(len(WORK_ENTRIES))
WORKS, IMPULSE = slice(0, 3), slice(3, 9)
SIZE = 9


def ledger_entries(mechanism: Mechanism, varied: Collection[str] = ()) -> tuple[str, ...]:
    """Return those names in WORK_ENTRIES (kinds of passive elements) of which a mechanism has elements.

    Elements that act only for some values of the parameters named in `varied` are included.
    """
    m = mechanism
    damped = any(
        j.damping.any() or j.friction.any() or {f"{j.name}.damping", f"{j.name}.friction"} & set(varied)
        for j in m.joints
    )
    damped = damped or bool(m.frictions)
    return tuple(
        name for name, has in zip(WORK_ENTRIES, (m.touches, m.velocity_constraints, damped), strict=True) if has
    )


def summed_entries(mechanism: Mechanism, varied: Collection[str], size: int, adaptive: bool) -> tuple[str, ...]:
    """Return the names in WORK_ENTRIES of the passive elements whose work a run adds up in a ledger of `size` numbers.

    Methods that are `adaptive` add up the work of joints only. `varied` are the names of parameters that vary.
    """
    found = ledger_entries(mechanism, varied) if size else ()
    return tuple(name for name in found if name == WORK_ENTRIES[JOINTS] or not adaptive)


def ground_force(wrenches: Array, poses: Sequence[Transform]) -> Array:
    """Return the force [N] of the ground on the mechanism and its moment [N m] about the origin of the world, as (6,).

    `wrenches` (nbodies, 6) [N, N m] are the sums of all contact wrenches on the bodies, about the body origins and in
    body axes, and `poses` are the world poses of the world and the bodies. Wrenches of contacts between bodies cancel
    in this sum.
    """
    force, moment = np.zeros(3), np.zeros(3)
    for pose, wrench in zip(poses[1:], wrenches, strict=True):
        push = pose.R @ wrench[:3]
        force, moment = force + push, moment + pose.R @ wrench[3:] + cross(pose.p, push)
    return np.concatenate([force, moment])


def ground_impulse(pairs: Sequence[Pair], there: Sequence[ContactKinematics], impulses: Array) -> Array:
    """Return the impulse [N s] of contacts with the world on the mechanism, and its moment [N m s], as (6,).

    `impulses` (n, 3) or (n, 6) [N s, N m s] are the impulses of n contacts in world axes; in an array (n, 6), the last
    three columns are angular impulses. The moment is about the origin of the world. `there` is the kinematics of the
    contacts.
    """
    force, moment = np.zeros(3), np.zeros(3)
    for pair, at, row in zip(pairs, there, impulses, strict=True):
        sign = world_sign(pair)
        if sign != 0.0:
            turn = cross(at.pose.point(at.point), row[:3])
            turn = turn + row[3:] if len(row) > 3 else turn
            force, moment = force + row[:3] * sign, moment + turn * sign
    return np.concatenate([force, moment])


def world_sign(pair: Pair) -> float:
    """Return 1 if the surface of a contact pair belongs to the world, -1 if its contact point does, 0 if neither
    does.
    """
    on, under = pair.contact.at.body == WORLD, pair.surface.place.body == WORLD
    return float(under) - float(on)


def without_impulse(ledger: Array) -> Array:
    """Return the work ledger with the impulse of the ground and its moment set to zero, for the start of a continued
    run.
    """
    found = np.array(ledger)
    found[..., IMPULSE] = 0.0
    return found
