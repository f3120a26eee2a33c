"""Clutches and brakes that hold: rows on the velocities of joints, beside those of loops (S0 26 to 28)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.sweeps import to_meeting, to_root
from linkwork.model.elements.velocity_constraint import VelocityRow
from linkwork.model.mechanism import Joint, Mechanism
from linkwork.spatial.scalar import Array, Number


def velocity_row_matrix(mechanism: Mechanism) -> Array:
    """The rows (nties, nv) of what clutches and brakes of a tree hold together: rows times v is zero."""
    rows = [factors(mechanism, tie) * tie.engaged for tie in mechanism.velocity_rows]
    return np.array(rows).reshape(len(rows), mechanism.nv)


def factors(mechanism: Mechanism, tie: VelocityRow) -> Array:
    """By what (nv,) the velocities of a tree enter a tie."""
    row: list[Number] = [0.0] * mechanism.nv
    for joint, number, factor in tie.velocities:
        row[mechanism.joints[joint].v.start + number] += factor
    return np.array(row)


class Path(NamedTuple):
    """So many rows that involve these joints of a tree, and the body on which all of them hang."""

    size: int
    joints: tuple[Joint, ...]
    top: int


def paths(mechanism: Mechanism) -> Iterator[Path]:
    """Where the rows of loops go, one loop after the other, then those of ties."""
    for one in mechanism.frame_constraints:
        sides = to_meeting(mechanism, one.to.body, one.at.body)
        yield Path(len(one.rows), (*sides[0], *sides[1]), (sides[0] or sides[1])[-1].i)
    for tie in mechanism.velocity_rows:
        yield path_of(mechanism, [joint for joint, _, _ in tie.velocities])


def rotor_paths(mechanism: Mechanism) -> Iterator[Path]:
    """Where the rows of rotors go that turn with several joints."""
    for rotor in mechanism.rotors:
        yield path_of(mechanism, rotor.joints)


def path_of(mechanism: Mechanism, names: Sequence[str]) -> Path:
    """A row on the velocities of some joints."""
    ends = [mechanism.joints[name] for name in names]
    roots = [list(to_root(mechanism, end.o)) for end in ends]
    shared = set.intersection(*({j.o for j in joints} - {end.o} for joints, end in zip(roots, ends, strict=True)))
    involved = {j.o: j for joints in roots for j in joints if j.o not in shared}
    return Path(1, tuple(involved.values()), max(shared, default=0))
