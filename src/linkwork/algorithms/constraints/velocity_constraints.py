"""Velocity constraints of engaged clutches and brakes: rows on joint velocities, after the loop rows (S0, equations 26
to 28).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.tree_traversal import to_common_ancestor, to_root
from linkwork.model.elements.velocity_constraint import VelocityRow
from linkwork.model.mechanism import Joint, Mechanism
from linkwork.spatial.scalar import Array, Number


def velocity_row_matrix(mechanism: Mechanism) -> Array:
    """Return the matrix (n, nv) of the n velocity constraints of clutches and brakes of a tree: matrix @ v = 0.

    The row of a disengaged element is zero.
    """
    rows = [factors(mechanism, row) * row.engaged for row in mechanism.velocity_rows]
    return np.array(rows).reshape(len(rows), mechanism.nv)


def factors(mechanism: Mechanism, velocity_row: VelocityRow) -> Array:
    """Return the coefficients (nv,) of the velocity constraint `velocity_row`.

    The constraint requires that the sum of coefficients times joint velocities is zero.
    """
    row: list[Number] = [0.0] * mechanism.nv
    for joint, number, factor in velocity_row.velocities:
        row[mechanism.joints[joint].v.start + number] += factor
    return np.array(row)


class Path(NamedTuple):
    """The joints on which a constraint with `size` rows acts.

    `top` is the number of the outermost body that is inboard of all these joints.
    """

    size: int
    joints: tuple[Joint, ...]
    top: int


def paths(mechanism: Mechanism) -> Iterator[Path]:
    """Yield the joints on which each constraint acts: for each loop, then for each row of clutches and brakes."""
    for one in mechanism.frame_constraints:
        sides = to_common_ancestor(mechanism, one.to.body, one.at.body)
        yield Path(len(one.rows), (*sides[0], *sides[1]), (sides[0] or sides[1])[-1].i)
    for row in mechanism.velocity_rows:
        yield path_of(mechanism, [joint for joint, _, _ in row.velocities])


def rotor_paths(mechanism: Mechanism) -> Iterator[Path]:
    """Yield the path of each rotor that turns with several joints: these joints and the joints inboard of them."""
    for rotor in mechanism.rotors:
        yield path_of(mechanism, rotor.joints)


def path_of(mechanism: Mechanism, names: Sequence[str]) -> Path:
    """Return the path of a constraint row on the velocities of the joints called `names`.

    The path has these joints and all joints inboard of them, up to their common inboard body.
    """
    ends = [mechanism.joints[name] for name in names]
    roots = [list(to_root(mechanism, end.o)) for end in ends]
    shared = set.intersection(*({j.o for j in joints} - {end.o} for joints, end in zip(roots, ends, strict=True)))
    involved = {j.o: j for joints in roots for j in joints if j.o not in shared}
    return Path(1, tuple(involved.values()), max(shared, default=0))
