"""Velocities of bodies with solids, and their responses to impulses, in row arrays that loops over solid pairs read.

The velocities of a mechanism are divided into components: an impulse on a body changes only the velocities of the
body's own component. Trees that are not connected, such as free bodies, are separate components. Constraint rows that
are solved together with the solids, such as the rows of brakes, are treated as *virtual bodies*. Up to six rows form
one virtual body: their speeds are its velocity (6,), and their impulses are its wrench.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from linkwork.algorithms.mimic_reduction import reduced
from linkwork.algorithms.tree_traversal import to_root
from linkwork.model.mechanism import Mechanism
from linkwork.spatial import Motion, Transform
from linkwork.spatial.row_arrays import RowArray, Selection, row_array, selected_rows
from linkwork.spatial.scalar import Array, Condition, Number, hat, lookup, may_be_nonzero, where
from linkwork.spatial.traceable_loops import iterate, repeat

BLOCK = 6  # components of the velocity of a body: linear, then angular


@dataclass(frozen=True, eq=False)
class BodyResponses:
    """Jacobians and compliances of the n bodies with solids, by connected component of the mechanism's velocities.

    Row b of `jacobians` is the Jacobian (6, m) of body b. The Jacobian times the m velocities of the body's component
    is the velocity of the body at its origin, then its angular velocity, in world axes. A compliance (6, 6) maps an
    impulse [N s] and angular impulse [N m s] on a body to the change of the velocity [m/s, rad/s] of the same or
    another body. The bodies are `separate` if each component moves at most one of them. Then an impulse on a body
    changes the velocity of no other body, and row b of `compliances` is the compliance of body b. Otherwise row i n + j
    is the compliance of body i due to impulses on body j.

    `component` (n, 1) is the number of the component of each body; fixed bodies have the last number, of a component
    without velocities. `members` are the indices of the velocities of each component. `active` selects the bodies that
    move and touch something; all other moving bodies have undefined compliances and velocities. `response` returns the
    change of the velocities (nv,) due to a unit impulse along a Jacobian row (nv,).
    """

    jacobians: RowArray
    compliances: RowArray
    component: Array
    members: tuple[tuple[int, ...], ...]
    active: Selection
    separate: bool
    response: Callable[[Array], Array]

    @property
    def size(self) -> int:
        """Number of velocities of the component of the mechanism that has the most."""
        return self.jacobians.size // BLOCK

    @property
    def bodies(self) -> int:
        """Number of bodies with solids."""
        return self.jacobians.count

    @property
    def mobile(self) -> Array:
        """Array (n, 1): 1 for bodies that move, 0 for fixed bodies."""
        return np.where(self.component < len(self.members), 1.0, 0.0)

    def jacobian(self, row: Number) -> Array:
        """Return the Jacobian (6, m) of body number `row`, for the m velocities of its component."""
        return self.jacobians.at(row).reshape(BLOCK, self.size)

    def compliance(self, row: Number) -> Array:
        """Return the compliance (6, 6) of body number `row`: its change of velocity due to a unit impulse on itself."""
        return self.compliances.at(row if self.separate else row * self.bodies + row).reshape(BLOCK, BLOCK)

    def cross_compliance(self, i: Number, j: Number) -> Array:
        """Return the compliance (6, 6) of body i due to a unit impulse on another body j of the same component."""
        return self.compliances.at(i * self.bodies + j).reshape(BLOCK, BLOCK)

    def component_of(self, row: Number) -> Number:
        """Return the number of the connected component to which body number `row` belongs."""
        return lookup(self.component, row)[0]

    def together(self, i: Number, j: Number) -> Condition:
        """Return whether bodies i and j belong to the same connected component."""
        return self.component_of(i) == self.component_of(j)

    def fixed_rows(self, rows: RowArray) -> RowArray:
        """Return the row array `rows`, one row per body, with zeros in the rows of fixed bodies."""
        for b in np.flatnonzero(self.mobile[:, 0] == 0.0):
            rows = rows.put(float(b), np.zeros(rows.size))
        return rows

    def velocity_rows(self, v: Array) -> RowArray:
        """Return the velocities of the bodies, one row (6,) each, at the velocities v (nv,) of the mechanism.

        A row has the velocity [m/s] at the origin of the body, then its angular velocity [rad/s], in world axes.
        """
        rows = self._component_rows(v)

        def of_body(b: Number, found: RowArray) -> tuple[RowArray]:
            return (found.put(b, self.jacobian(b) @ rows.at(self.component_of(b))),)

        (found,) = self.active.visit(of_body, self.fixed_rows(row_array(self.bodies, BLOCK)))
        return found

    def _component_rows(self, v: Array) -> RowArray:
        """Return the velocities v (nv,) as a row array with one row for each component, padded with zeros.

        A last row of zeros is for fixed bodies.
        """
        rows = row_array(len(self.members) + 1, self.size)
        for number, members in enumerate((*self.members, ())):
            rows = rows.put(float(number), [*(v[i] for i in members), *[0.0] * (self.size - len(members))])
        return rows

    def pushed(self, row: Number, wrench: Array, v: RowArray) -> RowArray:
        """Return the velocities v of all bodies, one row (6,) each, after a wrench impulse on body number `row`.

        `wrench` (6,) are the impulse [N s] and the angular impulse [N m s] about the body's origin, in world axes. v
        has the velocities before, and is overwritten.
        """
        if self.separate:
            return v.put(row, v.at(row) + self.compliance(row) @ wrench)

        def push(b: Number, v: RowArray) -> tuple[RowArray]:
            return (v.put(b, v.at(b) + self.cross_compliance(b, row) @ wrench, when=self.together(b, row)),)

        (v,) = self.active.visit(push, v)
        return v

    def changed(self, free: RowArray, wrenches: RowArray, v: RowArray) -> RowArray:
        """Return the velocities of all bodies, one row (6,) each, after wrench impulses on all active bodies.

        Row b of `wrenches` (6,) has the impulse [N s] and angular impulse [N m s] on body b about its origin, in world
        axes. `free` has the velocities before the impulses as rows. The result is written to the rows of v.
        """

        def change(b: Number, v: RowArray) -> tuple[RowArray]:
            if self.separate:
                return (v.put(b, free.at(b) + self.compliance(b) @ wrenches.at(b)),)

            def add(j: Number, V: Array) -> tuple[Array]:
                return (where(self.together(b, j), V + self.cross_compliance(b, j) @ wrenches.at(j), V),)

            return (v.put(b, *self.active.visit(add, free.at(b))),)

        (v,) = self.active.visit(change, v)
        return v

    def after_wrenches(self, v: Array, wrenches: RowArray) -> Array:
        """Return the velocities (nv,) of the mechanism after impulses on its bodies; v (nv,) are the velocities before.

        Row b of `wrenches` (6,) has the impulse [N s] and angular impulse [N m s] on body b about its origin, in world
        axes.
        """

        def push(b: Number, rows: RowArray) -> tuple[RowArray]:
            place = self.component_of(b)
            return (rows.put(place, rows.at(place) + self.jacobian(b).T @ wrenches.at(b)),)

        (rows,) = self.active.visit(push, self._component_rows(v * 0.0))
        found = np.zeros(len(v), dtype=object)
        for number, members in enumerate(self.members):
            for i, x in zip(members, rows.at(float(number)), strict=False):
                found[i] = x
        return v + self.response(found)


def body_jacobian(m: Mechanism, poses: Sequence[Transform], S: Sequence[Motion], body: int) -> Array:
    """Return the Jacobian (6, nv) of a body: its velocity at its origin, and its angular velocity, in world axes.

    `poses` are the world poses of all bodies of the tree, S the motion subspaces of their joints, and `body` is the
    number of the body (0 is the world).
    """
    columns = list(np.zeros((m.tree.nv, 6)))
    here = Transform(np.eye(3), poses[body].p)
    for j in to_root(m.tree, body) if body else ():
        columns[j.v] = list(here.down(poses[j.o].up(S[j.o])).array.T)
    return reduced("jacobian", m, np.array(columns).T)


def body_responses(
    jacobians: Sequence[Array], response: Callable[[Array], Array], touching: RowArray | None = None
) -> BodyResponses:
    """Return the responses of the bodies that have the given Jacobians (6, nv), one per body.

    `response` returns the change of the velocities (nv,) due to a unit impulse along a Jacobian row (nv,). `touching`
    has one row for each body: 1 if the body touches something, else 0. By default all bodies touch something.
    """
    members, component = _components(jacobians, response)
    nv = jacobians[0].shape[1]
    count, size = len(jacobians), max(1, *map(len, members)) if members else 1
    rows, active = row_array(count, BLOCK * size), row_array(count, 1)
    for b, (J, k) in enumerate(zip(jacobians, component, strict=True)):
        own = members[k] if k < len(members) else ()
        rows = rows.put(float(b), np.concatenate([J[:, own], np.zeros((BLOCK, size - len(own)))], axis=1).reshape(-1))
        moves = 1.0 if own else 0.0
        active = active.put(float(b), [moves if touching is None else touching.at(float(b))[0] * moves])
    moved = [k for k in component if k < len(members)]
    separate = len(moved) == len(set(moved))
    table = np.array(component, dtype=float)[:, None]
    compliances = row_array(count if separate else count * count, BLOCK * BLOCK)
    found = BodyResponses(rows, compliances, table, members, selected_rows(active), separate, response)
    for number, several in enumerate((*members, ())):
        bodies = [b for b in range(count) if component[b] == number]
        if len(bodies) > 1 and several:
            found = replace(found, compliances=_coupled_compliances(found, active, bodies, several, nv))
            continue
        for b in bodies:
            J = jacobians[b]
            C = J @ np.column_stack([response(row) for row in J]) if several else np.zeros((BLOCK, BLOCK))
            place = float(b if separate else b * count + b)
            found = replace(found, compliances=found.compliances.put(place, C.reshape(-1)))
    return found


def _components(
    jacobians: Sequence[Array], response: Callable[[Array], Array]
) -> tuple[tuple[tuple[int, ...], ...], list[int]]:
    """Return the indices of the velocities of each connected component, and the number of each body's component.

    `jacobians` has one Jacobian (6, nv) per body. `response` returns the change of the velocities (nv,) due to a unit
    impulse along a Jacobian row (nv,). The second result has the number of components for a fixed body.
    """
    moved = []
    for J in jacobians:
        all_rows = sum((abs(row) for row in J), np.zeros(J.shape[1]))
        answer = response(all_rows)
        moved.append([i for i in range(len(answer)) if may_be_nonzero(all_rows[i]) or may_be_nonzero(answer[i])])
    members = _merged(moved)
    return members, [next((k for k, one in enumerate(members) if {*own} & {*one}), len(members)) for own in moved]


def _coupled_compliances(
    responses: BodyResponses, active: RowArray, bodies: Sequence[int], members: Sequence[int], nv: int
) -> RowArray:
    """Return the row array of compliances of all bodies, in which those of one component are computed.

    `responses.compliances` is the row array before. `bodies` are the numbers of the bodies of the component, and
    `members` the indices of its velocities among all `nv` velocities. `active` has one row for each body: 1 if the body
    moves and touches something.
    """
    count, among = responses.bodies, np.zeros((responses.bodies, 1))
    among[list(bodies)] = 1.0
    (flags,) = repeat(count, lambda b, flags: (flags.put(b, active.at(b) * lookup(among, b)),), row_array(count, 1))
    own = selected_rows(flags)

    def of_body(j: Number, compliances: RowArray) -> tuple[RowArray]:
        changes = []
        for row in responses.jacobian(j)[:, : len(members)]:
            force = np.zeros(nv, dtype=object)
            force[list(members)] = row
            changes.append(responses.response(force)[list(members)])
        W = np.array(changes).T

        def with_body(i: Number, compliances: RowArray) -> tuple[RowArray]:
            def put(compliances: RowArray) -> tuple[tuple[RowArray], Condition]:
                C = responses.jacobian(i)[:, : len(members)] @ W
                both = compliances.put(j * count + i, C.T.reshape(-1)).put(i * count + j, C.reshape(-1))
                return (both,), True

            return iterate(1, put, compliances, start=i <= j)[0]

        return own.visit(with_body, compliances)

    (compliances,) = own.visit(of_body, responses.compliances)
    return compliances


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
    """Return the compliance (6, 6) of one body relative to another about a common point, in world axes.

    It maps an impulse [N s] and an angular impulse [N m s] on the first body, with the opposite on the second, to the
    change of the relative velocity [m/s, rad/s]. `rows` are the numbers of the two bodies. `offsets` (3,) [m] are the
    positions of the common point relative to the origin of the first body and to that of the second. `responses` has
    the compliances.
    """
    each = zip(rows, offsets, strict=True)
    a, b = (_about_both(responses.compliance(row), offset, offset) for row, offset in each)
    if responses.separate:
        return a + b
    cross = _about_both(responses.cross_compliance(*rows), *offsets)
    return where(responses.together(*rows), a + b - (cross + cross.T), a + b)


def _about_both(C: Array, offset: Array, other: Array) -> Array:
    """Return a compliance C (6, 6) about the origins of two bodies, converted to one point of each body.

    `offset` and `other` (3,) [m] are the positions of the points relative to the origins of the first and second body,
    in world axes.
    """
    return about(about(C, offset).T, other).T


def about(J: Array, offset: Array) -> Array:
    """Return the Jacobian (6, n) of a body for the point at `offset` (3,) [m] from the body's origin, in world axes.

    J (6, n) is the Jacobian for the origin. The rows of both Jacobians are the linear velocity, then the angular
    velocity, in world axes.
    """
    return np.concatenate([J[:3] - hat(offset) @ J[3:], J[3:]])
