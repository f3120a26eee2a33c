"""Friction limits that several velocities share, in runs: ball joints in sockets, and sleeves that turn and slide.

All velocities of such a slip group stick or slip together. The slip directions of a slipping group are the unit vector
of its slip velocities; the friction law may convert angular velocities to slip velocities with a length. The slip
directions of a sticking group are zero. The state has the unit vector at the start of a substep; within the substep,
the unit vector follows the velocities.
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

# if the cosine of the angle by which a slip direction has turned in a substep is below this, an event updates the
# direction
TURNED = 0.5


class SlipGroup(NamedTuple):
    """Velocities that share one friction limit, by their numbers `rows` among the velocities with friction (nf,).

    The products of `scales` (1, or a length [m]) and these velocities are the slip velocities. `forces` are the numbers
    of the group's friction forces among those of `friction_sites`, and `name` is the name of the joint or loop.
    """

    name: str
    rows: tuple[int, ...]
    scales: tuple[Number, ...]
    forces: tuple[int, ...]

    def slip(self, speeds: Sequence[Number] | Array) -> list[Number]:
        """Return the slip velocities of the group from the nf velocities with friction of a run, `speeds` (nf,).

        From the time derivatives of these velocities, the method returns the slip accelerations.
        """
        return [speeds[k] * scale for k, scale in zip(self.rows, self.scales, strict=True)]

    def force(self, forces: Sequence[Number] | Array) -> list[Number]:
        """Return the friction forces of the group along its slip velocities, from the friction `forces` (nf,) of a run.
        A torque divided by a length in `scales` is a force.
        """
        return [forces[k] / scale for k, scale in zip(self.rows, self.scales, strict=True)]

    def of(self, values: Sequence[Number] | Array) -> list[Number]:
        """Return the entries of `values` (nf,) that belong to the velocities of the group."""
        return [values[k] for k in self.rows]


def slip_groups(mechanism: Mechanism) -> tuple[SlipGroup, ...]:
    """Return the groups of velocities that share one friction limit; requires `Mechanism.friction_velocities` to be
    set.
    """
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
    """Yield three results for each friction limit that several velocities share: the site (joint or loop), the numbers
    of these velocities in the site, and their scales (see `SlipGroup`).
    """
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
    """Return a list with 1 for each of the nf velocities with friction that sticks, else 0, from the slip `directions`
    (nf,).
    """
    found = [where(s == 0.0, 1.0, 0.0) for s in directions]
    for one in groups:
        square = sum(s * s for s in one.of(directions))
        for k in one.rows:
            found[k] = where(square == 0.0, 1.0, 0.0)
    return found


def directions_of_groups(groups: Sequence[SlipGroup], speeds: Sequence[Number] | Array, before: Array) -> Array:
    """Return the slip directions (nf,), updated for slip groups that move: the unit vectors of their slip velocities.

    `speeds` (nf,) are the velocities with friction, and `before` (nf,) the slip directions before the update.
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

    A group that sticks at the start sticks in the whole substep. The substep ends where the slip of a group reverses;
    after this instant, the friction of the group continues as if the slip had not reversed.
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
    """Return the event function of a slipping group, negative after its slip has stopped or turned by 60 degrees.

    `speeds` (nf,) are the velocities with friction and `directions` (nf,) the slip directions at the start of the
    substep.
    """
    slip = one.slip(speeds)
    ahead = sum(u * e for u, e in zip(slip, one.of(directions), strict=True))
    return ahead - TURNED * norm(np.array(slip)) + STICKING_SPEED


def against(forces: Sequence[Number]) -> list[Number]:
    """Return the unit vector opposite to the friction force of a group with the components `forces` (see
    `SlipGroup.force`).

    A group begins to slip in this direction.
    """
    length = norm(np.array(forces))
    return [-x / length for x in forces]


def changed_slip(mechanism: Mechanism, after: Array, before: Array) -> list[Condition]:
    """Return, for each velocity with friction (nf,), whether its slip begins, ends or reverses at an event.

    `after` and `before` (nf,) are the slip directions. If the slip of a group changes, the result is true for its first
    velocity and false for its other velocities.
    """
    found = [new != old for new, old in zip(after, before, strict=True)]
    groups = slip_groups(mechanism)
    held = [holds_at(groups, directions) for directions in (after, before)]
    for one in groups:
        reverses = sum(x * y for x, y in zip(one.of(after), one.of(before), strict=True)) < 0.0
        for k in one.rows:
            found[k] = ((held[0][k] != held[1][k]) | reverses) & (k == one.rows[0])
    return found
