"""Jacobians of bodies and their responses to impulses, in row arrays that loops over pairs of solids read.

The velocities of a mechanism are divided into components: an impulse on a body changes only the velocities of its own
component. Trees that stand apart, such as free bodies, are separate components.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.mimic_reduction import reduced
from linkwork.algorithms.tree_traversal import to_root
from linkwork.model.mechanism import Mechanism
from linkwork.spatial import Motion, Transform
from linkwork.spatial.row_arrays import RowArray, RowLayout, row_array
from linkwork.spatial.scalar import Array, Number, lookup, may_be_nonzero


class BodyResponses(NamedTuple):
    """Jacobians and responses of the bodies with solids, and the components of velocities that they move.

    Row b of `rows` has the Jacobian (6, n) of body b: its velocity at its origin and angular velocity, in world axes,
    are the Jacobian times the n velocities of its component. It also has the response (n, 6): the change of these
    velocities due to a unit impulse at the origin or a unit angular impulse. `component` (nbodies, 1) is the component
    of each body; fixed bodies have the last one, which has no velocities. `members` are the indices of the velocities
    of each component.
    """

    rows: RowArray
    component: Array
    members: tuple[tuple[int, ...], ...]

    @property
    def layout(self) -> RowLayout:
        """The places of Jacobian and response in a row."""
        return RowLayout((6, self.size), (self.size, 6))

    @property
    def size(self) -> int:
        """Number of velocities of the largest component."""
        return max(1, *map(len, self.members)) if self.members else 1

    def of(self, row: Number) -> tuple[Array, Array]:
        """Return the Jacobian (6, n) and the response (n, 6) of the body in a row."""
        J, W = self.layout.parts(self.rows.at(row))
        return J, W

    def component_of(self, row: Number) -> Number:
        """Return the component of the body in a row."""
        return lookup(self.component, row)[0]

    def velocity_rows(self, v: Array) -> RowArray:
        """Return the velocities v (nv,) as a row array with one row per component, filled up with zeros."""
        return self.stored(row_array(len(self.members) + 1, self.size), v)

    def stored(self, rows: RowArray, v: Array) -> RowArray:
        """Return the row array of velocities `rows` after all of them have been replaced by v (nv,)."""
        for number, members in enumerate((*self.members, ())):
            rows = rows.put(float(number), [*(v[i] for i in members), *[0.0] * (self.size - len(members))])
        return rows

    def velocities(self, rows: RowArray, v: Array) -> Array:
        """Return the velocities (nv,) in the rows of `velocity_rows`; velocities outside the components are from v."""
        found = list(v)
        for number, members in enumerate(self.members):
            row = rows.at(float(number))
            for i, x in zip(members, row, strict=False):
                found[i] = x
        return np.array(found)


def body_jacobian(m: Mechanism, poses: Sequence[Transform], S: Sequence[Motion], body: int) -> Array:
    """Return the Jacobian (6, nv) of a body: its velocity at its origin, and its angular velocity, in world axes.

    `poses` are the world poses of all bodies of the tree, S the motion subspaces of their joints.
    """
    columns = list(np.zeros((m.tree.nv, 6)))
    here = Transform(np.eye(3), poses[body].p)
    for j in to_root(m.tree, body) if body else ():
        columns[j.v] = list(here.down(poses[j.o].up(S[j.o])).array.T)
    return reduced("jacobian", m, np.array(columns).T)


def body_responses(
    jacobians: Sequence[Array], response: Callable[[Array], Array], others: Sequence[int] = ()
) -> BodyResponses:
    """Return the responses of the bodies with the given Jacobians (6, nv).

    `response` returns the change of the velocities (nv,) due to a unit impulse along a row (nv,). The velocities with
    the indices `others`, which other constraints change, belong to components too.
    """
    nv = jacobians[0].shape[1]
    answers = [np.column_stack([response(row) for row in J]) for J in jacobians]
    moved = [
        [i for i in range(nv) if any(map(may_be_nonzero, (*J[:, i], *W[i])))]
        for J, W in zip(jacobians, answers, strict=True)
    ]
    members = _merged([*moved, *([i] for i in others)])
    size = max(1, *map(len, members)) if members else 1
    component = [next((k for k, one in enumerate(members) if {*own} & {*one}), len(members)) for own in moved]
    rows, layout = row_array(len(jacobians), RowLayout((6, size), (size, 6)).size), RowLayout((6, size), (size, 6))
    for b, (J, W, k) in enumerate(zip(jacobians, answers, component, strict=True)):
        own = members[k] if k < len(members) else ()
        pad = size - len(own)
        columns = np.concatenate([J[:, own], np.zeros((6, pad))], axis=1)
        changes = np.concatenate([W[own, :], np.zeros((pad, 6))], axis=0)
        rows = rows.put(float(b), layout.row(columns, changes))
    return BodyResponses(rows, np.array(component, dtype=float)[:, None], members)


def _merged(groups: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Return the smallest disjoint sets of indices such that each group is within one set; empty groups are ignored."""
    sets: list[set[int]] = []
    for group in filter(None, groups):
        joined = set(group)
        for other in [one for one in sets if one & joined]:
            joined |= other
            sets.remove(other)
        sets.append(joined)
    return tuple(tuple(sorted(one)) for one in sorted(sets, key=min))
