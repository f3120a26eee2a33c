"""Velocity constraints of engaged clutches and brakes: rows on joint velocities, after the loop rows (S0 26 to 28)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.tree_traversal import to_common_ancestor, to_root
from linkwork.model.elements.velocity_constraint import VelocityRow
from linkwork.model.mechanism import Joint, Mechanism
from linkwork.spatial.scalar import Array, Number


def velocity_row_matrix(mechanism: Mechanism) -> Array:
    """Return the velocity rows (n, nv) of the clutches and brakes of a tree: rows @ v = 0; zero rows if disengaged."""
    rows = [factors(mechanism, row) * row.engaged for row in mechanism.velocity_rows]
    return np.array(rows).reshape(len(rows), mechanism.nv)


def factors(mechanism: Mechanism, velocity_row: VelocityRow) -> Array:
    """Return the coefficients (nv,) of a tree's velocities in a `velocity_row`, a weighted sum of joint velocities."""
    row: list[Number] = [0.0] * mechanism.nv
    for joint, number, factor in velocity_row.velocities:
        row[mechanism.joints[joint].v.start + number] += factor
    return np.array(row)


class Path(NamedTuple):
    """Joints of the tree that `size` constraint rows involve, and the body number `top` inboard of them all."""

    size: int
    joints: tuple[Joint, ...]
    top: int


def paths(mechanism: Mechanism) -> Iterator[Path]:
    """Yield the joints on which constraint rows act: for each loop, then for each row of clutches and brakes."""
    for one in mechanism.frame_constraints:
        sides = to_common_ancestor(mechanism, one.to.body, one.at.body)
        yield Path(len(one.rows), (*sides[0], *sides[1]), (sides[0] or sides[1])[-1].i)
    for row in mechanism.velocity_rows:
        yield path_of(mechanism, [joint for joint, _, _ in row.velocities])


def rotor_paths(mechanism: Mechanism) -> Iterator[Path]:
    """Yield the path of joints of each rotor that turns with several joints."""
    for rotor in mechanism.rotors:
        yield path_of(mechanism, rotor.joints)


def path_of(mechanism: Mechanism, names: Sequence[str]) -> Path:
    """Return the path of a row that acts on the velocities of the named joints."""
    ends = [mechanism.joints[name] for name in names]
    roots = [list(to_root(mechanism, end.o)) for end in ends]
    shared = set.intersection(*({j.o for j in joints} - {end.o} for joints, end in zip(roots, ends, strict=True)))
    involved = {j.o: j for joints in roots for j in joints if j.o not in shared}
    return Path(1, tuple(involved.values()), max(shared, default=0))
