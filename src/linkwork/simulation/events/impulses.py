"""Impulses along constraints, where something is engaged or closed: velocities jump, gaps of loops are bridged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.compliant_contact import wrenches_of
from linkwork.algorithms.contact_geometry import meetings
from linkwork.algorithms.reduction import closed_forward_dynamics, closed_positions, held, to_tree
from linkwork.algorithms.rigid_contact import forces_of
from linkwork.model.elements.conflicts import agreeing, contradictions
from linkwork.model.elements.keys import is_finite
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.events.slip import (
    holding,
    slip_forces,
    slip_of_speeds,
    slip_speeds,
)
from linkwork.simulation.state import Leaves, StepState
from linkwork.simulation.system import System
from linkwork.spatial.loops import iterate
from linkwork.spatial.scalar import Array, Condition, Number, Value, largest, where
from linkwork.tolerances import BOUND_SLACK, CLOSURE_GAP, CLOSURE_OPEN, STICKING_SPEED

ITERATIONS = 6  # of Newton's method, for such a gap
PULL = 1e-9  # impulse that pulls, of the largest, which counts as none


class Impact(NamedTuple):
    """What a switch does at once: coordinates q (nq,), velocities v (nv,), slip directions (k,).

    `energy` [J] is what is won; `possible` is whether gaps of loops were bridged, and whether couplings agree with each
    other. By loop, then by velocity constraint: `impulses` (n,) [N s or N m s] along its rows, the `energies` (n,) [J]
    that they won, and the `gaps` (n,) [m or rad] of loops that were bridged.
    """

    q: Array
    v: Array
    slip: Array
    energy: Number
    possible: Condition
    impulses: Array
    energies: Array
    gaps: Array


class Push(NamedTuple):
    """Impulses at once: velocities (nv,) after them, and their sizes (n,) and energies (n,) by constraint."""

    v: Array
    impulses: Array
    energies: Array


def impact(
    system: System,
    q: Array,
    v: Array,
    slip: Array,
    iterations: int = ITERATIONS,
    decided: Sequence[Condition] | None = None,
) -> Impact:
    """Impulses along the rows of what is held stop what would open loops, or slip; small gaps of loops are bridged.

    Momentum is conserved in all directions in which what is held can still move (S0 3.1.1). Ratchets only
    push: those that would have to pull let go, and those that would fall behind hold, one change after the other (Murty
    1974, by least index). What has a capacity takes no part, and slips after it where speeds say so, but for those of
    which it is `decided` (k,) otherwise.
    """
    m = system.mechanism
    gap, error, before = 0.0, 0.0, q
    if iterations:
        gap = largest(held(m, q).errors)
        q, error = closed_positions(m, q, iterations)
    names = [item.name for item in m.velocity_constraints]
    one_way = [k for k, item in enumerate(m.bounded) if item.pushes_only and not is_finite(item.capacities[1])]
    kept = [False] * len(m.bounded) if decided is None else decided
    # Those with a capacity give no impulse, but where their speeds have met
    found = slip_of_speeds(m.bounded, slip_speeds(m, v), slip)
    free = [new if k in one_way else 1.0 for k, new in enumerate(found)]
    trial = np.array([where(keep, s, new) for keep, s, new in zip(kept, slip, free, strict=True)])

    def improve(slip: Array, *_: Value) -> tuple[Leaves, Condition]:
        push = _pushed(holding(m, slip), q, v)
        speeds, least = slip_speeds(m, push.v), -PULL * largest(push.impulses) - BOUND_SLACK
        changed, settled = list(slip), 1.0
        for k in one_way:
            item = m.bounded[k]
            impulse = push.impulses[len(m.frame_constraints) + names.index(item.name)]
            pulls = (slip[k] == 0.0) & (impulse < least)
            behind = (slip[k] != 0.0) & (speeds[k] < -STICKING_SPEED)
            turned = where(pulls | behind, 1.0, 0.0) * settled * item.engaged
            changed[k] = where(turned == 1.0, where(slip[k] == 0.0, 1.0, 0.0), slip[k])
            settled = settled * (1.0 - turned)
        return (np.array(changed), *push), settled == 1.0

    if one_way:
        none = np.zeros(len(m.constraints))
        (trial, *push), _, _ = iterate(2 * 2 ** min(len(one_way), 5), improve, trial, v, none, none)
        push = Push(*push)
    else:
        push = _pushed(holding(m, trial), q, v)
    found = slip_of_speeds(m.bounded, slip_speeds(m, push.v), slip)
    slip = np.array([x if k in one_way else where(kept[k], slip[k], found[k]) for k, x in enumerate(trial)])
    energy = sum(system.energies(q, push.v)) - sum(system.energies(before, v))
    possible = (gap <= CLOSURE_GAP) & (error <= CLOSURE_OPEN) & agreeing(m)
    loops = len(m.frame_constraints)
    bridged = energy - sum(push.energies, 0.0)  # by moving the mechanism, which only loops do
    energies = np.concatenate([push.energies[:loops] + bridged, push.energies[loops:]])
    gaps = np.array([gap] * loops + [0.0] * len(m.velocity_constraints))
    return Impact(q, push.v, slip, energy, possible, push.impulses, energies, gaps)


def _pushed(mechanism: Mechanism, q: Array, v: Array) -> Push:
    """What takes away the velocities that would slip or open: nearest in kinetic energy."""
    rows = held(mechanism, q)
    rates = rows.rates(v)
    push = rows.push(rates)
    work = [-0.5 * impulse * rate for impulse, rate in zip(push.multipliers, rates, strict=True)]
    return Push(v - push.a, by_constraint(mechanism, -push.multipliers, size_of), by_constraint(mechanism, work, sum))


def by_constraint(
    mechanism: Mechanism, rows: Sequence[Number] | Array, reduce: Callable[[Sequence[Number]], Number]
) -> Array:
    """Numbers of all rows (nh,) as one for each loop, then for each velocity constraint (n,)."""
    values = iter(rows)
    found = [reduce([next(values) for _ in one.rows]) for one in mechanism.frame_constraints]
    names = [row.name for row in mechanism.velocity_rows]
    found += [reduce([next(values) for _ in range(names.count(item.name))]) for item in mechanism.velocity_constraints]
    return np.array(found)


def size_of(rows: Sequence[Number]) -> Number:
    """A number itself, or the length of several."""
    if len(rows) < 2:
        return rows[0] if rows else 0.0
    return np.sqrt(sum((x * x for x in rows), 0.0))


def constraint_forces(system: System, t: Number, now: StepState, held: Array) -> Array:
    """Force (n,) [N m or N] that each constraint of a system in its modes carries; 0 of what slips."""
    m = system.mechanism
    loads = system.begun(t, now.contact_memory).loads(t, now.q, now.v, held + slip_forces(m, now.slip))
    tau = system.joint_forces(now.q, now.v, loads)
    stuck = holding(m, now.slip)
    outside = loads.outside
    if system.rigid:
        met = meetings(m.tree, *to_tree(m, ("q", "v"), (now.q, now.v)))
        pushed = wrenches_of(m.contact_pairs, forces_of(now.contact_memory), *met)
        outside = pushed if outside is None else outside + pushed
    forces = closed_forward_dynamics(stuck, now.q, now.v, tau, outside).multipliers
    return by_constraint(stuck, forces, size_of)


def impossible(mechanism: Mechanism, q: Array) -> str:
    """Why the jump to what a mechanism holds now cannot be made at q (nq,), in words; empty if it can."""
    for fault in contradictions(mechanism):
        return f"{fault.element} {fault.reason}"
    errors = np.abs(held(mechanism, q).errors[: mechanism.nc])
    if errors.max(initial=0.0) <= CLOSURE_GAP:
        return ""
    name = mechanism.frame_constraint_of_row(int(np.argmax(errors))).name
    return f"loop {name!r} has a closure error of {errors.max():.3g}: bring it within {CLOSURE_GAP:g} before engaging"
