"""Dry friction of joints in runs: each velocity with friction either sticks, with exactly zero velocity, or slips.

The numbers of these velocities are in `Mechanism.friction_velocities`. The state contains the slip direction of each of
these velocities, after the slip directions of clutches and brakes: 0 while the velocity sticks, else -1 or 1. Dynamic
friction acts against a slipping velocity. A sticking velocity is locked by an inertia so large that its acceleration is
only round-off, which is then set to zero. Constraint rows would give the same result, but computing with them takes
longer the more joints there are; a large inertia takes no computing time.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np

from linkwork.algorithms.joint_friction.friction_limits import norm
from linkwork.algorithms.joint_friction.joint_friction_tolerances import WITHIN_LIMIT
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
from linkwork.simulation.slip_groups import continues, directions_of_groups, holds_at, slip_groups
from linkwork.spatial.scalar import Array, Number, where
from linkwork.tolerances import BOUND_SLACK, STICKING_SPEED

# Inertia [kg m^2 or kg] that locks a velocity: under a torque of 1e6 N m, the acceleration is below the round-off of 1
# rad/s^2
LOCKED = 1e24

# Results of `with_friction_velocities`: for each mechanism, by the numbers of the velocities with friction
_changed: WeakKeyDictionary[Mechanism, dict[tuple[int, ...], Mechanism]] = WeakKeyDictionary()


def _independent(mechanism: Mechanism, number: int) -> range:
    """Return the numbers of the independent velocities of joint `number`."""
    own = mechanism.joints[number].v
    return range(own.start, own.stop)


def has_friction(mechanism: Mechanism, varied: Container[str] = ()) -> bool:
    """Return whether any joint may have dry friction: its friction is not zero, or is among the `varied` parameters."""
    return bool(velocities_with_friction(mechanism, varied))


def velocities_with_friction(mechanism: Mechanism, varied: Container[str] = ()) -> tuple[int, ...]:
    """Return the numbers of the independent velocities that dry friction may stop.

    A velocity is in the result if its joint, or a mimic joint that moves with it, has nonzero friction, or if this
    friction is among the `varied` parameters.
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

    Calls with equal arguments return the same object, for which other functions have cached the results of their
    checks.
    """
    velocities = velocities_with_friction(mechanism, varied)
    if velocities == mechanism.friction_velocities:
        return mechanism
    known = _changed.setdefault(mechanism, {})
    if velocities not in known:
        known[velocities] = replace(mechanism, friction_velocities=velocities)
    return known[velocities]


def friction_part(mechanism: Mechanism, slip: Array) -> Array:
    """Return the slip directions -1, 0 or 1 (nf,) of joint friction, which are the last entries of `slip` (n,).

    `slip` has first the slip directions of clutches, brakes and ratchets.
    """
    return slip[len(slip) - friction_count(mechanism) :]


def friction_count(mechanism: Mechanism) -> int:
    """Return nf, the number of velocities with friction: independent velocities, then slip velocities of loops."""
    return len(mechanism.friction_velocities) + loop_friction_count(mechanism)


def slip_speeds(mechanism: Mechanism, q: Array, v: Array) -> list[Number]:
    """Return the nf velocities with friction [rad/s or m/s] in the state q (nq,) [rad, m], v (nv,) [rad/s, m/s]."""
    return [*(v[k] for k in mechanism.friction_velocities), *(loop_slip_rows(mechanism, q) @ v)]


def slip_accelerations(mechanism: Mechanism, q: Array, v: Array, a: Array) -> list[Number]:
    """Return the time derivatives (nf,) [rad/s^2 or m/s^2] of the velocities with friction, for accelerations a (nv,)
    in the state q (nq,), v (nv,).
    """
    return [*(a[k] for k in mechanism.friction_velocities), *loop_slip_accelerations(mechanism, q, v, a)]


def friction_forces(mechanism: Mechanism, directions: Array) -> Array:
    """Return the dry friction (tree.nv,) [N m or N] of slipping joints of the tree whose friction is a constant.

    `directions` (k,) are the slip directions -1, 0 or 1 of the k velocities in `Mechanism.friction_velocities`.
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

    `forces` [N m or N] are the friction forces (tree.nv,) of the tree, then those of loops; q (nq,), v (nv,) is the
    state.
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
    """Return the joint forces (nv,) [N m or N] of friction at the independent joints, at q (nq,).

    `forces` [N m or N] are the friction forces (tree.nv,) of all joints of the tree, then those of loops.
    """
    found = mechanism.spread.T @ forces[: mechanism.tree.nv]
    if len(forces) == mechanism.tree.nv:
        return found
    return found + loop_slip_rows(mechanism, q).T @ forces[mechanism.tree.nv :]


def ledger_places(mechanism: Mechanism) -> int:
    """Return the number of joints and loops for which a run adds up the heat of friction."""
    return len(joints_with_friction(mechanism)) + len(loop_sites(mechanism))


def joint_shares(mechanism: Mechanism) -> list[list[Number]]:
    """Return the share (0 to 1) of each joint in the constant friction of each velocity: one row per joint, one column
    for each entry of `Mechanism.friction_velocities`.

    Several joints act on one velocity if mimic joints move with it. The rows are in the order of
    `joints_with_friction`.
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
    """Return a matrix (k, nv) of zeros and ones that selects the k velocities with friction of the tree: rows @ v."""
    rows = np.zeros((len(mechanism.friction_velocities), mechanism.nv))
    rows[range(len(rows)), list(mechanism.friction_velocities)] = 1.0
    return rows


def holds(mechanism: Mechanism, directions: Array) -> list[Number]:
    """Return a list with 1 for each of the nv velocities at which a joint sticks by friction, else 0.

    `directions` are the slip directions -1, 0 or 1 of the velocities in `Mechanism.friction_velocities`; 0 means that
    the joint sticks. Slip directions of loops may follow; they are not used.
    """
    flags, found = friction_flags(mechanism), [0.0] * mechanism.nv
    held = holds_at(slip_groups(mechanism), directions)
    # `directions` may be longer: the slip directions of loops follow
    for k, hold in zip(mechanism.friction_velocities, held, strict=False):
        found[k] = where(hold == 1.0, flags[k], 0.0)
    return found


def friction_flags(mechanism: Mechanism) -> list[Number]:
    """Return a list with 1 for each of the nv velocities whose friction is not zero at the present parameter values,
    else 0.
    """
    limits, coefficients = dry_friction_limits(mechanism), law_coefficients(mechanism)
    return [where(limit + size > 0.0, 1.0, 0.0) for limit, size in zip(limits, coefficients, strict=True)]


def friction_row_flags(mechanism: Mechanism) -> list[Number]:
    """Return a list with 1 for each of the nf velocities with friction whose friction is not zero at the present
    parameter values, else 0. Slip velocities of loops always have a 1.
    """
    flags = friction_flags(mechanism)
    return [*(flags[k] for k in mechanism.friction_velocities), *[1.0] * loop_friction_count(mechanism)]


def directions_after(mechanism: Mechanism, speeds: Sequence[Number], before: Array) -> Array:
    """Return the slip directions (nf,) after a change of the slip speeds: the signs of `speeds` (nf,).

    Slip groups, of several velocities with one limit, have the directions of their slip velocities. Where a speed is
    zero, the direction remains that in `before` (nf,).
    """
    found = [
        where(w > STICKING_SPEED, 1.0, where(w < -STICKING_SPEED, -1.0, s)) for w, s in zip(speeds, before, strict=True)
    ]
    groups = slip_groups(mechanism)
    for k in (k for one in groups for k in one.rows):
        found[k] = before[k]
    return directions_of_groups(groups, speeds, np.array(found))


def directions_at_start(mechanism: Mechanism, q: Array, v: Array) -> Array:
    """Return the slip directions (*batch, nf) at the start of a run in the states q (*batch, nq), v (*batch, nv).

    A velocity with friction that is zero sticks: its direction is 0.
    """
    speeds = v[..., list(mechanism.friction_velocities)]
    if loop_friction_count(mechanism):
        in_loops = [loop_slip_rows(mechanism, q[index]) @ v[index] for index in np.ndindex(v.shape[:-1])]
        speeds = np.concatenate([speeds, np.reshape(in_loops, (*v.shape[:-1], -1))], axis=-1)
    found = np.where(speeds > STICKING_SPEED, 1.0, np.where(speeds < -STICKING_SPEED, -1.0, 0.0))
    groups = slip_groups(mechanism)
    for index in np.ndindex(v.shape[:-1] if groups else (0,)):
        found[index] = directions_after(mechanism, list(speeds[index]), np.zeros(found.shape[-1]))
    return found


def locked(mechanism: Mechanism, slip: Array) -> Mechanism:
    """Return the mechanism with a huge inertia at all velocities that stick by friction.

    `slip` (n,) are the slip directions of clutches, brakes and ratchets, then those of joint friction. Loops that stick
    by friction get a further constraint row.
    """
    if not friction_count(mechanism):
        return mechanism
    directions = friction_part(mechanism, slip)
    extra = np.array(holds(mechanism, directions)) * LOCKED
    joints = [
        replace(j, armature=j.armature + extra[j.v])
        if j.mimic is None and set(range(j.v.start, j.v.stop)) & set(mechanism.friction_velocities)
        else j
        for j in mechanism.joints
    ]
    found = replace(mechanism, joints=mechanism.joints.replaced(joints))
    count = loop_friction_count(mechanism)
    if not count:
        return found
    held = holds_at(slip_groups(mechanism), directions)
    return with_held_loops(found, held[len(held) - count :])


def still(mechanism: Mechanism, directions: Array, rates: Array) -> Array:
    """Return velocities or accelerations `rates` (nv,), set to zero where joints stick by friction.

    `directions` (nf,) are the slip directions -1, 0 or 1; 0 means that the joint sticks.
    """
    held, found = holds(mechanism, directions), list(rates)
    for k in mechanism.friction_velocities:
        found[k] = where(held[k] == 1.0, 0.0, rates[k])
    return np.array(found)


def holding_forces(mechanism: Mechanism, directions: Array, a: Array) -> Array:
    """Return the friction forces (k,) [N m or N] of sticking velocities, and 0 for slipping ones, of the k velocities
    in `Mechanism.friction_velocities`.

    `a` (nv,) [rad/s^2 or m/s^2] are the accelerations of the `locked` mechanism, tiny where a velocity is locked.
    `directions` are the slip directions; those of loops may follow and are not used.
    """
    held = holds(mechanism, directions)
    return np.array([-LOCKED * a[k] * held[k] for k in mechanism.friction_velocities])


def at_rest(mechanism: Mechanism, directions: Array, before: Array, after: Array) -> Array:
    """Return the coordinates (nq,) [rad, m] at the end of a step, in which sticking joints have not moved.

    `before` and `after` (nq,) are the computed coordinates at the start and at the end; `directions` (nf,) are the slip
    directions in the step.
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
    """Return the excess [N m or N] over a friction `limit` [N m or N] up to which a force counts as within the limit,
    because of round-off.
    """
    return BOUND_SLACK + limit * WITHIN_LIMIT


def friction_functions(
    mechanism: Mechanism, directions: Array, speeds: Sequence[Number], needed: Array, limits: Array
) -> list[Number]:
    """Return one event function per velocity with friction (nf in all): negative where this velocity begins to slip, or
    stops.

    In a slip group, of several velocities with one limit, the first velocity has the event function of the group, and
    the others have 1. `directions` (nf,) are the slip directions, `speeds` (nf,) the slip speeds, `needed` (nf,) the
    forces [N m or N] that would stop the velocities, and `limits` (nf,) [N m or N] the largest friction forces.
    """
    found, flags = [], friction_row_flags(mechanism)
    for flag, w, s, force, limit in zip(flags, speeds, directions, needed, limits, strict=True):
        left = limit + slack(limit) - abs(force)
        found.append(where(flag > 0.0, where(s == 0.0, left, s * w + STICKING_SPEED), 1.0))
    for one in slip_groups(mechanism):
        first, held = one.rows[0], sum(s * s for s in one.of(directions)) == 0.0
        left = limits[first] + slack(limits[first]) - norm(np.array(one.force(needed)))
        for k in one.rows:
            found[k] = 1.0
        found[first] = where(flags[first] > 0.0, where(held, left, continues(one, speeds, directions)), 1.0)
    return found
