"""Touching solid pairs in one state: their contact points, the forces at these points, and the sums of these forces."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.compliant_contact import APART
from linkwork.algorithms.kinematics import kinematics, world_poses
from linkwork.algorithms.mimic_reduction import to_tree
from linkwork.algorithms.solid_contact.detection import BodyMotion, WorldPatch, body_rows, touching_pairs
from linkwork.algorithms.solid_contact.pair_tables import BodyRows, groups_of
from linkwork.model.mechanism import Mechanism
from linkwork.model.solids import POINTS
from linkwork.spatial.row_arrays import RowArray, RowLayout, row_array, selected_rows
from linkwork.spatial.scalar import Array, Number, cross, dot, lookup, may_be_nonzero, where
from linkwork.spatial.traceable_loops import repeat
from linkwork.tolerances import HUGE

COLUMNS = 5  # numbers in the memory of a point: state, force or stretch (3,), start time of the state [s]
TORQUE_COLUMNS = 3  # numbers of rolling and spinning friction in the memory of a point, after COLUMNS
WRENCH = RowLayout((3,), (3,))


class PointForce(NamedTuple):
    """State and force of one contact point of solids A and B; all vectors are in the world.

    `number` is the state, `force` (3,) [N] acts on A, `stretch` (3,) [m] is the stretch of the friction spring, and
    `energy` [J] the elastic energy of the springs. `slip` (3,) [m/s] is the velocity of A relative to B along the
    surface. `torque` (3,) [N m] is the torque of rolling and spinning friction on A, and `angle` (3,) [rad] that of its
    springs.
    """

    number: Number
    force: Array
    stretch: Array
    energy: Number
    slip: Array
    torque: Array | None = None
    angle: Array | None = None


class TouchingSolids:
    """The touching solid pairs of a mechanism in one state.

    Points at a signed distance of at most `within` [m] touch. `stored` (4n, 5) or (4n, 8) is the contact memory of all
    n pairs, with one row for each contact point; see `stored_columns`.
    """

    def __init__(self, m: Mechanism, stored: Array, q: Array, v: Array, within: Number):
        self.mechanism = m
        motion = kinematics(m.tree, *to_tree(m, ("q", "v"), (q, v)))
        self.poses = world_poses(m.tree, motion.X)
        self.of = BodyRows(m.solid_pairs)
        self.bodies = body_rows(self.of.numbers, self.poses, motion.twist)
        groups = groups_of(m.solid_pairs, self.of)
        touching = touching_pairs(groups, self.bodies, within)
        self.patches, self.count = touching.patches, len(m.solid_pairs)
        self.selection = selected_rows(touching.flags)
        self.body_a, self.body_b = body_tables(m, self.of)
        rows = row_array(self.count, POINTS * stored.shape[-1])
        for k in range(self.count):
            rows = rows.put(float(k), stored[POINTS * k : POINTS * k + POINTS].reshape(-1))
        self.memory = rows

    def remembered(self, k: Number) -> Array:
        """Return the contact memory (4, 5) or (4, 8) of pair k."""
        return self.memory.at(k).reshape(POINTS, -1)

    def motion(self, table: Array, k: Number) -> BodyMotion:
        """Return the `BodyMotion` of a body of pair k.

        `table` (n, 1) has, for each pair, the row number of the body: `body_a` for the first body, `body_b` for the
        second.
        """
        return BodyMotion.read(self.bodies, lookup(table, k)[0])

    def slip(self, k: Number, point: Array, normal: Array) -> Array:
        """Return the velocity (3,) [m/s] of A relative to B along the surface at a contact point (3,) [m] of pair k.

        `normal` (3,) is the normal of the surface.
        """
        A, B = self.motion(self.body_a, k), self.motion(self.body_b, k)
        u = A.linear + cross(A.angular, point - A.pose.p) - B.linear - cross(B.angular, point - B.pose.p)
        return u - normal * dot(normal, u)


class SolidForces(TouchingSolids, ABC):
    """The touching solid pairs in one state, with the forces at their contact points."""

    @abstractmethod
    def points(self, k: Number) -> tuple[WorldPatch, list[PointForce]]:
        """Return the contact points of pair k, and the state and force of each point, in the world."""

    def wrenches(self) -> Array:
        """Return the wrench (nbodies, 6) [N, N m] of all contact forces on each body, about its origin in its axes."""
        zero = [0.0] * WRENCH.size
        (total,) = repeat(
            len(self.of.numbers),
            lambda b, total: (total.put(b, zero),),
            row_array(len(self.of.numbers), WRENCH.size),
        )

        def add(k: Number, total: RowArray) -> tuple[RowArray]:
            patch, found = self.points(k)
            for table, sign in ((self.body_a, 1.0), (self.body_b, -1.0)):
                row = lookup(table, k)[0]
                origin = BodyMotion.read(self.bodies, row).pose.p
                force, torque = WRENCH.parts(total.at(row))
                for point, one in zip(patch.points, found, strict=True):
                    torque = torque if one.torque is None else torque + one.torque * sign
                    force, torque = force + one.force * sign, torque + cross(point - origin, one.force * sign)
                total = total.put(row, WRENCH.row(force, torque))
            return (total,)

        (total,) = self.selection.visit(add, total)
        wrenches: list[Any] = [np.zeros(6)] * self.mechanism.nbodies
        for row, body in enumerate(self.of.numbers):
            if body:
                R = self.poses[body].R
                parts = WRENCH.parts(total.at(float(row)))
                wrenches[body - 1] = np.concatenate([R.T @ part for part in parts])
        return np.array(wrenches)

    def each(self, layout: RowLayout, row_of: Callable[[PointForce, Array], Sequence[Any]]) -> list[list[Any]]:
        """Return, for each of the 4n contact points, the arrays of `row_of(point force, point)` in the given layout.

        The arrays of points that do not touch are zeros.
        """
        size = RowLayout(*[(POINTS * layout.size,)])
        (rows,) = repeat(
            self.count, lambda k, rows: (rows.put(k, [0.0] * size.size),), row_array(self.count, size.size)
        )

        def fill(k: Number, rows: RowArray) -> tuple[RowArray]:
            patch, found = self.points(k)
            pairs = zip(found, patch.points, strict=True)
            return (rows.put(k, [x for one, point in pairs for x in layout.row(*row_of(one, point))]),)

        (rows,) = self.selection.visit(fill, rows)
        found = [rows.at(float(k)).reshape(POINTS, layout.size) for k in range(self.count)]
        return [layout.parts(row) for each in found for row in each]


class RigidSolids(SolidForces):
    """The touching solid pairs in rigid contact, with the states and forces in the contact memory of the last step."""

    def __init__(self, m: Mechanism, stored: Array, q: Array, v: Array):
        super().__init__(m, stored, q, v, HUGE)

    def points(self, k: Number) -> tuple[WorldPatch, list[PointForce]]:
        """Return the contact points of pair k, and the state and force of each; zeros for points that do not touch."""
        patch, memory = WorldPatch.read(self.patches, k), self.remembered(k)
        found, points = [], []
        for point, normal, row in zip(patch.points, patch.normals, memory, strict=True):
            touches, none = row[0] > APART, np.zeros(3)
            slip = where(touches, self.slip(k, point, normal), none)
            torque = where(touches, row[COLUMNS:], none) if len(row) > COLUMNS else None
            found.append(PointForce(row[0], where(touches, row[1:4], none), none, 0.0, slip, torque))
            points.append(where(touches, point, none))
        return patch._replace(points=np.array(points)), found


def stored_columns(collisions: Sequence[Any]) -> int:
    """Return how many numbers each contact point of solids stores from step to step: 5, or 8 with torques.

    The numbers are the state, a vector (3,), and the time [s] at which the state began. The vector is the force [N] in
    world axes of rigid contact, or the stretch [m] of a compliant friction spring in the axes of the second body. If
    any of the elements `collisions` has rolling or spinning friction, its torque (3,) [N m] follows, or the angle (3,)
    [rad] of its torsion spring, in the same axes.
    """
    turns = any(may_be_nonzero(one.rolling) or may_be_nonzero(one.spinning) for one in collisions)
    return COLUMNS + TORQUE_COLUMNS if turns else COLUMNS


def body_tables(m: Mechanism, of: BodyRows) -> tuple[Array, Array]:
    """Return two tables (n, 1): for each pair, the row number of body A and that of body B.

    A and B are in the order of the pair's contact function. `of` has the rows of the bodies.
    """
    found = np.zeros((len(m.solid_pairs), 2))
    for group in groups_of(m.solid_pairs, of):
        for row in group.table:
            number, bodies, *_ = group.layout.parts(row)
            found[int(number)] = bodies
    return found[:, :1], found[:, 1:]
