"""Dry friction in the joints that close loops, in runs: slip velocities, and constraint rows for sticking joints.

The velocity of a joint that closes a loop is not a joint velocity of the tree. Such a joint is therefore not locked by
a large inertia: while it sticks, its loop has a further constraint row for each of its velocities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from linkwork.algorithms.constraints import constrained_dynamics
from linkwork.algorithms.constraints.constrained_dynamics import loop_states
from linkwork.algorithms.joint_friction.friction_sites import (
    Site,
    friction_directions,
    friction_wrenches,
    sites,
    slip_rows,
)
from linkwork.algorithms.kinematics import kinematics
from linkwork.model.elements.constraint import FrameConstraint
from linkwork.model.elements.joint_friction import HeldFreedom, HeldKind
from linkwork.model.mechanism import Mechanism
from linkwork.spatial import Force
from linkwork.spatial.scalar import Array, Number


def loop_sites(mechanism: Mechanism) -> list[Site]:
    """Return a `Site` (joint or loop with friction) for each loop with dry friction."""
    return [site for site in sites(mechanism) if site.loop is not None] if mechanism.frictions else []


def loop_friction_count(mechanism: Mechanism) -> int:
    """Return the number of friction forces in loops; a loop has one for each velocity that its joint leaves free."""
    return sum(site.size for site in loop_sites(mechanism))


def loop_slip_rows(mechanism: Mechanism, q: Array) -> Array:
    """Return the rows (n, nv) of the n friction forces in loops at q (nq,): rows @ v are their slip velocities [rad/s
    or m/s].
    """
    count = loop_friction_count(mechanism)
    if not count:
        return np.zeros((0, mechanism.nv))
    rows = slip_rows(mechanism, q)
    return rows[len(rows) - count :]


def loop_slip_accelerations(mechanism: Mechanism, q: Array, v: Array, a: Array) -> Array:
    """Return the time derivatives (n,) [rad/s^2 or m/s^2] of the slip velocities of the n friction forces in loops.

    q (nq,), v (nv,) is the state, and a (nv,) [rad/s^2 or m/s^2] are the accelerations.
    """
    own = loop_sites(mechanism)
    if not own:
        return np.zeros(0)
    tree = mechanism.tree
    motion = kinematics(tree, mechanism.tree_position(q), mechanism.tree_velocity(v))
    loops = {one.constraint.name: one for one in loop_states(tree, motion.X)}
    states = [friction_wrenches(site, loops[site.name]) for site in own]
    return loop_slip_rows(mechanism, q) @ a + constrained_dynamics.bias(tree, motion, states)


def with_held_loops(mechanism: Mechanism, held: Sequence[Number]) -> Mechanism:
    """Return the mechanism with a further constraint row for each friction force in loops that sticks.

    `held` has one entry for each of these friction forces: 1 if it sticks, else 0.
    """
    own, rows, start = loop_sites(mechanism), {}, 0
    for site in own:
        T = friction_directions(site)
        holds = held[start : start + site.size]
        start += site.size
        rows[site.name] = tuple(
            HeldFreedom(Force(T.linear[:, d] * hold, T.angular[:, d] * hold)) for d, hold in enumerate(holds)
        )

    def changed(one: FrameConstraint) -> FrameConstraint:
        kind = getattr(one, "kind", None)
        return replace(one, kind=HeldKind(kind, rows[one.name])) if one.name in rows else one  # type: ignore[call-arg]

    for section in {site.loop.section for site in own if site.loop is not None}:
        items = [changed(one) for one in mechanism.elements[section]]
        mechanism = mechanism.with_elements(section, items)
    return mechanism
