"""Dry friction of joints that depends on the load, in one state of a run.

The friction laws of a mechanism (`Mechanism.frictions`) give limits that depend on the loads of the joints, and
therefore on the accelerations and on the friction itself. `joint_friction.friction_solver` solves the resulting
equations for given slip directions of all friction forces; here, the directions are given for the independent
velocities in `Mechanism.friction_velocities`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.algorithms.joint_friction.friction_limits import active_limits
from linkwork.algorithms.joint_friction.friction_sites import Site, sites
from linkwork.algorithms.joint_friction.friction_solver import FrictionSolution
from linkwork.algorithms.joint_friction.strong_coupling import solve_for_directions
from linkwork.model.mechanism import Joint, Mechanism
from linkwork.simulation.slip_groups import holds_at, shared_limits, slip_groups, velocity_of
from linkwork.spatial.scalar import Array, Number, where


class JointFrictionState(NamedTuple):
    """Accelerations a (nv,) [rad/s^2 or m/s^2] and friction in one state, in which each joint slips in a given
    direction or sticks.

    `slipping` are the friction forces [N m or N] of slipping joints: first tree.nv forces of the tree, then those of
    loops. `holding` (nf,) [N m or N] are the forces that stop sticking velocities, those of loops last. `limits` (nf,)
    [N m or N] are the largest friction forces: static limits for sticking joints. `multipliers` (nh,) [N m or N] are
    those of all nh constraint rows.
    """

    a: Array
    slipping: Array
    holding: Array
    limits: Array
    multipliers: Array


def depends_on_load(mechanism: Mechanism) -> bool:
    """Return whether the mechanism has friction laws; only these may depend on the load."""
    return bool(mechanism.frictions)


def solved_friction(
    mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None, directions: Array
) -> JointFrictionState:
    """Return the friction of all joints at q (nq,), v (nv,), under joint forces tau (nv,) [N m or N] and wrenches
    (nbodies, 6) [N, N m] on the bodies, or None.

    `directions` (nf,) are the slip directions of the velocities in `Mechanism.friction_velocities`, then those of
    loops. All results are nan if the iteration finds no solution of the equations, for example if a joint jams.
    """
    own = _tree_velocities(mechanism)
    count = len(mechanism.friction_velocities)
    held = holds_at(slip_groups(mechanism), directions)
    by_hold = dict(zip(mechanism.friction_velocities, held, strict=False))
    of_loops = list(directions[count:])
    found = solve_for_directions(mechanism, q, v, tau, wrenches, directions_of_forces(mechanism, directions))
    limits = _limits(mechanism, q, found)
    slipping: list[Number] = [0.0] * mechanism.tree.nv
    holding, largest = (
        dict.fromkeys(mechanism.friction_velocities, 0.0),
        dict.fromkeys(mechanism.friction_velocities, 0.0),
    )
    for n, number, k, factor in own:
        slips = by_hold[k] == 0.0
        slipping[number] = where(slips, found.friction[n], 0.0)
        holding[k] = holding[k] + where(slips, 0.0, found.friction[n] * factor)
        largest[k] = largest[k] + limits[n] * abs(factor)
    first = len(own)  # the friction forces of loops follow those of joints
    slips_of_loops = [where(h == 1.0, 0.0, f) for h, f in zip(held[count:], found.friction[first:], strict=True)]
    held_loops = [where(h == 1.0, f, 0.0) for h, f in zip(held[count:], found.friction[first:], strict=True)]
    limits_of_loops = [limits[n] for n in range(first, first + len(of_loops))]
    solved = where(found.converged == 1.0, 1.0, np.nan)
    return JointFrictionState(
        found.a * solved,
        np.array([*slipping, *slips_of_loops]) * solved,
        np.array([*(holding[k] for k in mechanism.friction_velocities), *held_loops]) * solved,
        np.array([*(largest[k] for k in mechanism.friction_velocities), *limits_of_loops]),
        found.multipliers,
    )


def directions_of_forces(mechanism: Mechanism, directions: Array) -> Array:
    """Return the slip directions, -1, 0 or 1, of all friction forces of the mechanism, from those of the independent
    velocities.

    `directions` (nf,) are the slip directions of the velocities in `Mechanism.friction_velocities`, then those of
    loops.
    """
    by_velocity = dict(zip(mechanism.friction_velocities, directions, strict=False))
    of_loops = directions[len(mechanism.friction_velocities) :]
    return np.array([*(by_velocity[k] * np.sign(factor) for *_, k, factor in _tree_velocities(mechanism)), *of_loops])


def _tree_velocities(mechanism: Mechanism) -> list[tuple[int, int, int, float]]:
    """Return four numbers for each friction force of the tree: its number n, the number of its velocity in the tree,
    the number k of the independent velocity that moves it, and the factor between these two velocities (see
    `velocity_of`).
    """
    tree = [site for site in sites(mechanism) if site.joint is not None]
    return [(n, *velocity_of(mechanism, site.joint, d)) for site in tree for n, d in _numbered(site)]


def law_coefficients(mechanism: Mechanism) -> list[Number]:
    """Return one number for each of the nv velocities, which is zero only if friction laws give this velocity no
    friction under any load.

    The number is the sum of the static friction coefficients and constant limits that act on the velocity.
    """
    total: list[Number] = [0.0] * mechanism.nv
    for site in sites(mechanism):
        if site.joint is None or site.friction is None:
            continue
        for limit in site.limits(site.joint.kind.subspace(site.joint.kind.neutral())):
            size = sum((one.coefficient.static for one in limit.terms), limit.constant.static)
            for d in limit.velocities:
                _, k, factor = velocity_of(mechanism, site.joint, d)
                total[k] = total[k] + size * abs(factor)
    return total


def unsupported(mechanism: Mechanism, rigid: bool) -> str:
    """Return the reason why a run does not support one of the friction laws of the mechanism; "" if it supports all.

    `rigid` is true if contacts are rigid.
    """
    for site in sites(mechanism):
        if site.friction is None:
            continue
        if rigid and (site.joint is None or mechanism.solid_pairs or mechanism.frame_constraints):
            reason = "beside rigid contacts, friction laws act in trees with contact points only"
            return f"{site.friction.label}: {reason}; use a number, friction=f"
        if not list(shared_limits([site], mechanism)):
            continue
        if rigid:
            reason = "friction with one limit for several velocities cannot act beside rigid contacts"
            return f"{site.friction.label}: {reason}"
        if site.joint is not None and _is_copied(mechanism, site.joint):
            reason = "friction with one limit for several velocities needs a joint without mimic joints"
            return f"{site.friction.label}: {reason} in runs"
    return ""


def _is_copied(mechanism: Mechanism, joint: Joint) -> bool:
    """Return whether a joint mimics another joint, or another joint mimics it."""
    moved = mechanism.spread != 0.0
    with_it = moved[:, moved[joint.v].any(axis=0)]  # the velocities of the tree that move with this joint
    return int(with_it.sum()) != joint.kind.nv


def _numbered(site: Site) -> list[tuple[int, int]]:
    """Return a pair of numbers for each friction force of a site: its number among all friction forces, and its number
    in the site.

    A site is a joint or a loop with friction.
    """
    return [(site.start + d, d) for d in range(site.size)]


def _limits(mechanism: Mechanism, q: Array, found: FrictionSolution) -> dict[int, Number]:
    """Return the limit [N m or N] of each friction force of the solution `found` at q (nq,), as a dict by the number of
    the force.
    """
    zeros = np.zeros(len(found.friction))
    numbers = [one.numbers for one in active_limits(mechanism, q, zeros, zeros)]
    return {n: limit for group, limit in zip(numbers, found.limits, strict=True) for n in group}
