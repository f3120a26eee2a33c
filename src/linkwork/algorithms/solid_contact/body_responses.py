"""Jacobians of bodies and their responses to impulses, in row arrays that loops over solid pairs read.

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
from linkwork.spatial.scalar import Array, Number, hat, lookup, may_be_nonzero, where
from linkwork.spatial.traceable_loops import repeat


class BodyResponses(NamedTuple):
    """Jacobians and responses of the bodies with solids, and the components of velocities that they move.

    The bodies are `separate` if each component moves at most one of them: then an impulse on a body changes the
    velocity of no other body. Loops over pairs then work with the velocities of bodies, else with those of components.

    Row b of `rows` has the Jacobian (6, n) of body b: its velocity at its origin and angular velocity, in world axes,
    are the Jacobian times the n velocities of its component. It also has the response (n, 6): the change of these
    velocities due to a unit impulse at the origin or a unit angular impulse. `component` (nbodies, 1) is the component
    of each body; fixed bodies have the last one, which has no velocities. `members` are the indices of the velocities
    of each component. With `beside`, other constraints than solid pairs change velocities too.
    """

    rows: RowArray
    component: Array
    members: tuple[tuple[int, ...], ...]
    beside: bool = False

    @property
    def layout(self) -> RowLayout:
        """The layout of a row: Jacobian, response and compliance of a body."""
        return _layout(self.size)

    @property
    def size(self) -> int:
        """Number of velocities of the largest component."""
        return max(1, *map(len, self.members)) if self.members else 1

    @property
    def bodies(self) -> int:
        """Number of bodies with solids."""
        return self.rows.count

    @property
    def separate(self) -> bool:
        """Whether each component moves at most one body with solids, and no other constraint changes velocities."""
        moved = [k for (k,) in self.component if k < len(self.members)]
        return not self.beside and len(moved) == len(set(moved))

    @property
    def mobile(self) -> Array:
        """Table (nbodies, 1): 1 for bodies that move, 0 for fixed ones."""
        return np.where(self.component < len(self.members), 1.0, 0.0)

    def of(self, row: Number) -> tuple[Array, Array]:
        """Return the Jacobian (6, n) and the response (n, 6) of the body in a row."""
        J, W, _ = self.layout.parts(self.rows.at(row))
        return J, W

    def compliance(self, row: Number) -> Array:
        """Return the change (6, 6) of the velocity of the body in a row due to an impulse on it."""
        return self.layout.parts(self.rows.at(row))[2]

    def component_of(self, row: Number) -> Number:
        """Return the component of the body in a row."""
        return lookup(self.component, row)[0]

    def velocity_rows(self, v: Array) -> RowArray:
        """Return the velocities v (nv,) as a row array, which `body_velocity` reads.

        Separate bodies have one row (6,) each: the velocity at the origin and the angular velocity, in world axes.
        Otherwise each component has one row, filled up with zeros.
        """
        rows = self.component_rows(v)
        if not self.separate:
            return rows

        def of_body(b: Number, found: RowArray) -> tuple[RowArray]:
            J, _ = self.of(b)
            return (found.put(b, J @ rows.at(self.component_of(b))),)

        (found,) = repeat(self.bodies, of_body, row_array(self.bodies, 6))
        return found

    def component_rows(self, v: Array) -> RowArray:
        """Return the velocities v (nv,) as a row array with one row for each component, padded with zeros."""
        return self.stored(row_array(len(self.members) + 1, self.size), v)

    def stored(self, rows: RowArray, v: Array) -> RowArray:
        """Return the rows of components after all of them have been replaced by the velocities v (nv,)."""
        for number, members in enumerate((*self.members, ())):
            rows = rows.put(float(number), [*(v[i] for i in members), *[0.0] * (self.size - len(members))])
        return rows

    def body_velocity(self, row: Number, v: RowArray) -> Array:
        """Return the velocity (6,) of the body in a row, from the rows of `velocity_rows`."""
        if self.separate:
            return v.at(row)
        J, _ = self.of(row)
        return J @ v.at(self.component_of(row))

    def pushed(self, row: Number, wrench: Array, v: RowArray) -> RowArray:
        """Return the rows v of `velocity_rows` after an impulse and angular impulse (6,) on the body in a row."""
        if self.separate:
            return v.put(row, v.at(row) + self.compliance(row) @ wrench)
        _, W = self.of(row)
        place = self.component_of(row)
        return v.put(place, v.at(place) + W @ wrench)

    def after_wrenches(self, v: Array, wrenches: RowArray) -> Array:
        """Return the velocities (nv,) after an impulse and angular impulse on each body, a row (6,) of `wrenches`."""

        def push(b: Number, rows: RowArray) -> tuple[RowArray]:
            _, W = self.of(b)
            place = self.component_of(b)
            return (rows.put(place, rows.at(place) + W @ wrenches.at(b)),)

        (rows,) = repeat(self.bodies, push, self.component_rows(v))
        return self.velocities(rows, v)

    def velocities(self, rows: RowArray, v: Array) -> Array:
        """Return v (nv,) with the velocities of all components replaced by those in the rows of a row array."""
        found = list(v)
        for number, members in enumerate(self.members):
            row = rows.at(float(number))
            for i, x in zip(members, row, strict=False):
                found[i] = x
        return np.array(found)


def _layout(size: int) -> RowLayout:
    return RowLayout((6, size), (size, 6), (6, 6))


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
    layout = _layout(size)
    rows = row_array(len(jacobians), layout.size)
    for b, (J, W, k) in enumerate(zip(jacobians, answers, component, strict=True)):
        own = members[k] if k < len(members) else ()
        pad = size - len(own)
        columns = np.concatenate([J[:, own], np.zeros((6, pad))], axis=1)
        changes = np.concatenate([W[own, :], np.zeros((pad, 6))], axis=0)
        rows = rows.put(float(b), layout.row(columns, changes, J[:, own] @ W[own, :] if own else np.zeros((6, 6))))
    return BodyResponses(rows, np.array(component, dtype=float)[:, None], members, bool(others))


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


def relative_compliance(responses: BodyResponses, rows: tuple[Number, Number], offsets: tuple[Array, Array]) -> Array:
    """Return the sum (6, 6) of the compliances of two bodies, given by their rows, about a common point.

    The point is at `offsets` from the origins of the bodies.

    Multiplied by an impulse and an angular impulse on the first body, whose opposites act on the second body, it gives
    the change of the relative velocity.
    """
    if responses.separate:  # compliances about the point are congruent to those about the origins
        each = zip(rows, offsets, strict=True)
        a, b = (about(about(responses.compliance(row), offset).T, offset) for row, offset in each)
        return a + b
    (J_a, W_a), (J_b, W_b) = (responses.of(row) for row in rows)
    J_a, J_b = (about(J, offset) for J, offset in zip((J_a, J_b), offsets, strict=True))
    W_a, W_b = (about(W.T, offset).T for W, offset in zip((W_a, W_b), offsets, strict=True))
    same = where(responses.component_of(rows[0]) == responses.component_of(rows[1]), 1.0, 0.0)
    return J_a @ W_a + J_b @ W_b - (J_a @ W_b + J_b @ W_a) * same


def about(J: Array, offset: Array) -> Array:
    """Return the Jacobian (6, n) of the point at `offset` (3,) [m] from a body's origin, whose Jacobian is J."""
    return np.concatenate([J[:3] - hat(offset) @ J[3:], J[3:]])
