"""Dry friction of joints in runs: every velocity with friction either holds, locked exactly, or slips.

The numbers of these velocities are in `Mechanism.friction_velocities`. The state contains the slip direction of each of
these velocities, after the slip directions of clutches and brakes: 0 while the velocity holds, else -1 or 1. Dynamic
friction acts against a slipping velocity. A holding velocity is locked by an inertia so large that its acceleration is
only round-off, which is then set to zero. Constraint rows would give the same result, but their cost grows with the
number of joints; locks cost no computing time.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np

from linkwork.algorithms.passive_joint_forces import dry_friction_limits
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.load_dependent_friction import law_coefficients
from linkwork.simulation.loop_friction import (
    loop_friction_count,
    loop_sites,
    loop_slip_accelerations,
    loop_slip_rows,
    with_held_loops,
)
from linkwork.spatial.scalar import Array, Number, where
from linkwork.tolerances import BOUND_SLACK, STICKING_SPEED

# Inertia [kg m^2 or kg] of a locked velocity: the acceleration under 1e6 N m is then below the round-off of 1 rad/s^2
LOCKED = 1e24
ROUNDED = 1e-9  # force above a friction limit that counts as within it, relative to the limit

# Results of `with_friction_velocities`, by mechanism and velocities velocities
_changed: WeakKeyDictionary[Mechanism, dict[tuple[int, ...], Mechanism]] = WeakKeyDictionary()


def _independent(mechanism: Mechanism, number: int) -> range:
    """Return the numbers of the independent velocities of joint `number`."""
    own = mechanism.joints[number].v
    return range(own.start, own.stop)


def has_friction(mechanism: Mechanism, varied: Container[str] = ()) -> bool:
    """Return whether a joint may have dry friction: nonzero friction, or friction among the `varied` parameters."""
    return bool(velocities_with_friction(mechanism, varied))


def velocities_with_friction(mechanism: Mechanism, varied: Container[str] = ()) -> tuple[int, ...]:
    """Return the numbers of the independent velocities whose joints, or the mimic joints of these joints, may have dry
    friction.

    A joint may have dry friction if its friction is nonzero, or named in the `varied` parameters.
    """
    tree, named = mechanism.tree, mechanism.frictions.names
    may = [
        np.full(j.kind.nv, f"{j.name}.friction" in varied or j.name in named) | (j.friction != 0.0) for j in tree.joints
    ]
    flags = np.concatenate([np.zeros(0, dtype=bool), *may])
    spread = np.abs(mechanism.spread)
    return tuple(int(k) for k in np.flatnonzero(spread.T @ flags))


def with_friction_velocities(mechanism: Mechanism, varied: Container[str]) -> Mechanism:
    """Return the mechanism with `Mechanism.friction_velocities` set, for a run in which the parameters `varied` vary.

    Equal arguments have the same result, for which other functions then know the results of their checks.
    """
    velocities = velocities_with_friction(mechanism, varied)
    if velocities == mechanism.friction_velocities:
        return mechanism
    known = _changed.setdefault(mechanism, {})
    if velocities not in known:
        known[velocities] = replace(mechanism, friction_velocities=velocities)
    return known[velocities]


def friction_part(mechanism: Mechanism, slip: Array) -> Array:
    """Return the slip directions -1, 0 or 1 (nf,) of joint friction, the last part of `slip` (n,) of all rows."""
    return slip[len(slip) - friction_count(mechanism) :]


def friction_count(mechanism: Mechanism) -> int:
    """Return nf, the number of velocities with friction: independent velocities, then slip velocities of loops."""
    return len(mechanism.friction_velocities) + loop_friction_count(mechanism)


def slip_speeds(mechanism: Mechanism, q: Array, v: Array) -> list[Number]:
    """Return the velocities with friction (nf,) [rad/s or m/s]."""
    return [*(v[k] for k in mechanism.friction_velocities), *(loop_slip_rows(mechanism, q) @ v)]


def slip_accelerations(mechanism: Mechanism, q: Array, v: Array, a: Array) -> list[Number]:
    """Return the time derivatives (nf,) [rad/s^2 or m/s^2] of the velocities with friction."""
    return [*(a[k] for k in mechanism.friction_velocities), *loop_slip_accelerations(mechanism, q, v, a)]


def friction_forces(mechanism: Mechanism, directions: Array) -> Array:
    """Return the constant dry friction (tree.nv,) [N m or N] of slipping joints of the tree.

    `directions` (nf,) are the slip directions.
    """
    tree, spread = mechanism.tree, mechanism.spread
    own = np.concatenate([np.zeros(0), *(j.friction for j in tree.joints)])
    forces: list[Number] = [0.0] * tree.nv
    for k, s in zip(mechanism.friction_velocities, directions, strict=True):
        for t in np.flatnonzero(spread[:, k]):
            forces[t] = -s * np.sign(spread[t, k]) * own[t]
    return np.array(forces)


def joints_with_friction(mechanism: Mechanism) -> tuple[int, ...]:
    """Return the numbers of the joints that move with the velocities in `Mechanism.friction_velocities`."""
    moved = np.abs(mechanism.spread[:, list(mechanism.friction_velocities)]).sum(axis=1)
    return tuple(number for number, j in enumerate(mechanism.tree.joints) if moved[j.v].any())


def joint_powers(mechanism: Mechanism, q: Array, v: Array, forces: Array) -> list[Number]:
    """Return the power [W] of friction in each of the `joints_with_friction`, then in each loop with friction.

    `forces` are the friction forces (tree.nv,) of the tree, then those of loops.
    """
    tree, speeds = mechanism.tree, mechanism.tree_velocity(v)
    found = [forces[tree.joints[k].v] @ speeds[tree.joints[k].v] for k in joints_with_friction(mechanism)]
    start, own = 0, loop_sites(mechanism)
    slips = loop_slip_rows(mechanism, q) @ v if own else np.zeros(0)
    for site in own:
        part = slice(start, start + site.size)
        found.append(forces[tree.nv :][part] @ slips[part])
        start += site.size
    return found


def friction_joint_forces(mechanism: Mechanism, q: Array, forces: Array) -> Array:
    """Return the joint forces (nv,) [N m or N] of friction `forces`: those of the tree (tree.nv,), then of loops."""
    found = mechanism.spread.T @ forces[: mechanism.tree.nv]
    if len(forces) == mechanism.tree.nv:
        return found
    return found + loop_slip_rows(mechanism, q).T @ forces[mechanism.tree.nv :]


def ledger_places(mechanism: Mechanism) -> int:
    """Return the number of joints and loops whose heat of friction a run sums."""
    return len(joints_with_friction(mechanism)) + len(loop_sites(mechanism))


def joint_shares(mechanism: Mechanism) -> list[list[Number]]:
    """Return the shares (number of `joints_with_friction`, nf): the part of each joint in the constant friction of each
    velocity.
    """
    limits, tree, found = dry_friction_limits(mechanism), mechanism.tree, []
    for number in joints_with_friction(mechanism):
        j, row = tree.joints[number], []
        for k in mechanism.friction_velocities:
            own = sum((abs(mechanism.spread[t, k]) * f for t, f in enumerate(j.friction, j.v.start)), 0.0)
            leads = mechanism.joints[number].mimic is None and k in _independent(mechanism, number)
            row.append(where(limits[k] > 0.0, own / where(limits[k] > 0.0, limits[k], 1.0), float(leads)))
        found.append(row)
    return found


def friction_rows(mechanism: Mechanism) -> Array:
    """Return the rows (nf, nv) of the velocities with friction: rows @ v are their slip speeds."""
    rows = np.zeros((len(mechanism.friction_velocities), mechanism.nv))
    rows[range(len(rows)), list(mechanism.friction_velocities)] = 1.0
    return rows


def holds(mechanism: Mechanism, directions: Array) -> list[Number]:
    """Return 1 for each velocity (nv,) at which a joint sticks by friction, else 0, from slip directions (nf,).

    `directions` (nf,) has -1, 0 or 1 for each velocity in `Mechanism.friction_velocities`; 0 means that the joint
    sticks.
    """
    flags, found = friction_flags(mechanism), [0.0] * mechanism.nv
    for k, s in zip(mechanism.friction_velocities, directions, strict=False):  # those of loops follow
        found[k] = where(s == 0.0, flags[k], 0.0)
    return found


def friction_flags(mechanism: Mechanism) -> list[Number]:
    """Return 1 for each velocity (nv,) that may have dry friction with the present parameters, else 0."""
    limits, coefficients = dry_friction_limits(mechanism), law_coefficients(mechanism)
    return [where(limit + size > 0.0, 1.0, 0.0) for limit, size in zip(limits, coefficients, strict=True)]


def friction_row_flags(mechanism: Mechanism) -> list[Number]:
    """Return 1 for each velocity with friction (nf,) that may have it with the present parameters, else 0."""
    flags = friction_flags(mechanism)
    return [*(flags[k] for k in mechanism.friction_velocities), *[1.0] * loop_friction_count(mechanism)]


def directions_after(speeds: Sequence[Number], before: Array) -> Array:
    """Return the slip directions (nf,) after a change of the slip speeds: the signs of `speeds` (nf,).

    Where a speed is zero, the direction remains that of `before` (nf,).
    """
    signs = zip(speeds, before, strict=True)
    return np.array([where(w > STICKING_SPEED, 1.0, where(w < -STICKING_SPEED, -1.0, s)) for w, s in signs])


def locked(mechanism: Mechanism, slip: Array) -> Mechanism:
    """Return the mechanism with a huge inertia at all velocities that hold by friction; `slip` (n,) are the slip
    directions of all rows.
    """
    if not friction_count(mechanism):
        return mechanism
    extra = np.array(holds(mechanism, friction_part(mechanism, slip))) * LOCKED
    joints = [
        replace(j, armature=j.armature + extra[j.v])
        if j.mimic is None and set(range(j.v.start, j.v.stop)) & set(mechanism.friction_velocities)
        else j
        for j in mechanism.joints
    ]
    found = replace(mechanism, joints=mechanism.joints.replaced(joints))
    count = loop_friction_count(mechanism)
    return with_held_loops(found, slip[len(slip) - count :]) if count else found


def still(mechanism: Mechanism, directions: Array, rates: Array) -> Array:
    """Return `rates` (nv,), velocities or accelerations, with zeros where friction holds (`directions` (nf,))."""
    held, found = holds(mechanism, directions), list(rates)
    for k in mechanism.friction_velocities:
        found[k] = where(held[k] == 1.0, 0.0, rates[k])
    return np.array(found)


def holding_forces(mechanism: Mechanism, directions: Array, a: Array) -> Array:
    """Return the forces (nf,) [N m or N] with which friction holds joints, 0 for slipping joints.

    `a` (nv,) are the accelerations of the locked mechanism, in which locked velocities have tiny accelerations.
    `directions` (nf,) are the slip directions.
    """
    held = holds(mechanism, directions)
    return np.array([-LOCKED * a[k] * held[k] for k in mechanism.friction_velocities])


def at_rest(mechanism: Mechanism, directions: Array, before: Array, after: Array) -> Array:
    """Return the coordinates (nq,) after a step: `after`, but for holding joints `before`, those at its start.

    `directions` (nf,) are the slip directions in the step.
    """
    held, found = holds(mechanism, directions), list(after)
    for j in mechanism.leaders:
        own = held[j.v]
        if not set(range(j.v.start, j.v.stop)) & set(mechanism.friction_velocities):
            continue
        if j.kind.nq == j.kind.nv:
            for d, h in enumerate(own):
                k = j.q.start + d
                found[k] = where(h == 1.0, before[k], after[k])
            continue
        all_held = 1.0
        for h in own:
            all_held = all_held * h
        for k in range(j.q.start, j.q.stop):
            found[k] = where(all_held == 1.0, before[k], after[k])
    return np.array(found)


def slack(limit: Number) -> Number:
    """Return the force [N m or N] above a friction `limit` that counts as within the limit, because of round-off."""
    return BOUND_SLACK + limit * ROUNDED


def friction_functions(
    mechanism: Mechanism, directions: Array, speeds: Sequence[Number], needed: Array, limits: Array
) -> list[Number]:
    """Return the event function of each velocity with friction (nf,): not negative while the velocity holds or
    continues to slip.

    `directions` (nf,) are the slip directions, `speeds` (nf,) the slip speeds, `needed` (nf,) the forces [N m or N]
    that hold the velocities, and `limits` (nf,) the largest friction forces.
    """
    found = []
    for flag, w, s, force, limit in zip(friction_row_flags(mechanism), speeds, directions, needed, limits, strict=True):
        left = limit + slack(limit) - abs(force)
        found.append(where(flag > 0.0, where(s == 0.0, left, s * w + STICKING_SPEED), 1.0))
    return found
