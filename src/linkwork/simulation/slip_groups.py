"""Friction limits that several velocities share, in runs: ball joints in sockets, and sleeves that turn and slide.

The velocities of such a group hold or slip together. The slip directions of the group are the unit vector of its slip
velocities, scaled to lengths where the friction law says so, or zeros while the group holds. The unit vector in the
state is that at the start of a substep; within the substep, the direction follows the velocities.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.joint_friction.friction_limits import norm
from linkwork.algorithms.joint_friction.friction_sites import Site, sites
from linkwork.model.mechanism import Joint, Mechanism
from linkwork.spatial.scalar import Array, Condition, Number, where
from linkwork.tolerances import STICKING_SPEED

TURNED = 0.5  # cosine of the change of a slip direction in a substep at which an event updates the direction


class SlipGroup(NamedTuple):
    """Velocities with one friction limit: their numbers among the velocities with friction (nf,) of runs.

    `scales` turn each velocity into a slip velocity. `forces` are their numbers among the friction forces of
    `friction_sites`, and `name` is the name of the joint or loop.
    """

    name: str
    rows: tuple[int, ...]
    scales: tuple[Number, ...]
    forces: tuple[int, ...]

    def slip(self, speeds: Sequence[Number] | Array) -> list[Number]:
        """Return the slip velocities of the group, from the velocities with friction or their derivatives (nf,)."""
        return [speeds[k] * scale for k, scale in zip(self.rows, self.scales, strict=True)]

    def force(self, forces: Sequence[Number] | Array) -> list[Number]:
        """Return the friction force against slip, from the forces (nf,) along the velocities with friction."""
        return [forces[k] / scale for k, scale in zip(self.rows, self.scales, strict=True)]

    def of(self, values: Sequence[Number] | Array) -> list[Number]:
        """Return the entries of the group in `values` (nf,)."""
        return [values[k] for k in self.rows]


def slip_groups(mechanism: Mechanism) -> tuple[SlipGroup, ...]:
    """Return the groups of velocities with one friction limit; `Mechanism.friction_velocities` is set."""
    if not mechanism.frictions:
        return ()
    own, found = sites(mechanism), []
    in_tree = sum(site.size for site in own if site.joint is not None)
    for site, velocities, scales in shared_limits(own, mechanism):
        numbers = tuple(site.start + d for d in velocities)
        if site.joint is None:
            rows = tuple(len(mechanism.friction_velocities) + n - in_tree for n in numbers)
        else:
            independent = [velocity_of(mechanism, site.joint, d)[1] for d in velocities]
            rows = tuple(mechanism.friction_velocities.index(k) for k in independent)
        found.append(SlipGroup(site.name, rows, scales, numbers))
    return tuple(found)


def shared_limits(
    own: Sequence[Site], mechanism: Mechanism
) -> Iterator[tuple[Site, tuple[int, ...], tuple[Number, ...]]]:
    """Yield site, velocities of its joint, and scales of each friction limit that several velocities share."""
    for site in own:
        for limit in site.limits(site.subspace(mechanism.tree.neutral())):
            if len(limit.velocities) > 1:
                yield site, limit.velocities, limit.scales


def velocity_of(mechanism: Mechanism, joint: Joint | None, number: int) -> tuple[int, int, float]:
    """Return, for one velocity of a joint: its number in the tree, the number k of its independent velocity, and a
    factor.

    The velocity is this factor times the independent velocity v[k]. `number` is the number of the velocity within the
    joint.
    """
    assert joint
    row = mechanism.spread[joint.v.start + number]
    k = int(np.argmax(np.abs(row)))
    return joint.v.start + number, k, float(row[k])


def holds_at(groups: Sequence[SlipGroup], directions: Sequence[Number] | Array) -> list[Number]:
    """Return 1 for each velocity with friction (nf,) that holds, else 0, from the slip `directions` (nf,)."""
    found = [where(s == 0.0, 1.0, 0.0) for s in directions]
    for one in groups:
        square = sum(s * s for s in one.of(directions))
        for k in one.rows:
            found[k] = where(square == 0.0, 1.0, 0.0)
    return found


def directions_of_groups(groups: Sequence[SlipGroup], speeds: Sequence[Number] | Array, before: Array) -> Array:
    """Return the slip directions `before` (nf,), for groups that move with the directions of their slip velocities.

    `speeds` (nf,) are the velocities with friction.
    """
    found = list(before)
    for one in groups:
        slip = one.slip(speeds)
        speed = norm(np.array(slip))
        for k, u, e in zip(one.rows, slip, one.of(before), strict=True):
            found[k] = where(speed > STICKING_SPEED, u / speed, e)
    return np.array(found)


def within_substep(groups: Sequence[SlipGroup], speeds: Sequence[Number] | Array, begin: Array) -> Array:
    """Return the slip directions (nf,) at `speeds` (nf,) within a substep that begins with the directions `begin`.

    A group that holds at the start holds in the whole substep. Past a reversal of its slip, which ends the substep, its
    friction continues smoothly.
    """
    found = list(begin)
    for one in groups:
        first, slip = one.of(begin), one.slip(speeds)
        speed = norm(np.array(slip))
        follows = (speed > STICKING_SPEED) & (sum(s * s for s in first) > 0.0)
        ahead = where(sum(u * e for u, e in zip(slip, first, strict=True)) < 0.0, -1.0, 1.0)
        for k, u, e in zip(one.rows, slip, first, strict=True):
            found[k] = where(follows, u * ahead / speed, e)
    return np.array(found)


def continues(one: SlipGroup, speeds: Sequence[Number], directions: Array) -> Number:
    """Return the event function of a slipping group: negative after its slip has stopped or turned by 60 degrees.

    `speeds` (nf,) are the velocities with friction and `directions` (nf,) the slip directions at the start.
    """
    slip = one.slip(speeds)
    ahead = sum(u * e for u, e in zip(slip, one.of(directions), strict=True))
    return ahead - TURNED * norm(np.array(slip)) + STICKING_SPEED


def against(forces: Sequence[Number]) -> list[Number]:
    """Return the unit vector opposite to a friction force, the direction in which a group begins to slip."""
    length = norm(np.array(forces))
    return [-x / length for x in forces]


def changed_slip(mechanism: Mechanism, after: Array, before: Array) -> list[Condition]:
    """Return for each velocity with friction (nf,) whether its slip begins, ends or reverses at an event.

    `after` and `before` (nf,) are the slip directions. The first velocity of a group stands for all of its velocities.
    """
    found = [new != old for new, old in zip(after, before, strict=True)]
    groups = slip_groups(mechanism)
    held = [holds_at(groups, directions) for directions in (after, before)]
    for one in groups:
        reverses = sum(x * y for x, y in zip(one.of(after), one.of(before), strict=True)) < 0.0
        for k in one.rows:
            found[k] = ((held[0][k] != held[1][k]) | reverses) & (k == one.rows[0])
    return found
