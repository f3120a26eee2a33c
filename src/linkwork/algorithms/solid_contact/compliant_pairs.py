"""Compliant contact of solids: spring and damper at each contact point, and friction by an elastic-plastic spring.

At each of up to four points of a pair acts the normal force of `compliant_contact`. Along the surface acts a spring and
a damper: it stretches by the slip s of the point, and the force is limited by the friction cone,

    f = -(k s + c s')                if |f| <= mu N: the point sticks
    f = mu N f / |f|, k s = -f - c s'         otherwise: it slides, and the spring follows

with the static coefficient mu while the point sticks and the dynamic one while it slides. The stretch s belongs to the
point of the patch, not to a place on the surface: it stays while the points of a patch move over the two solids.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.compliant_contact import APART, SLIDING, STICKING
from linkwork.algorithms.kinematics import kinematics, world_poses
from linkwork.algorithms.mimic_reduction import to_tree
from linkwork.algorithms.solid_contact.detection import BodyMotion, WorldPatch, body_rows, touching_pairs
from linkwork.algorithms.solid_contact.pair_tables import BodyRows, groups_of
from linkwork.model.mechanism import Mechanism
from linkwork.model.solids import POINTS
from linkwork.spatial.row_arrays import RowArray, RowLayout, row_array, selected_rows
from linkwork.spatial.scalar import Array, Number, cross, dot, lookup, maximum, where
from linkwork.spatial.traceable_loops import repeat
from linkwork.tolerances import TINY

COLUMNS = 5  # of the memory of a point: state, stretch (3,) [m] in the world, start time of the state [s]
MEMORY = RowLayout((POINTS, COLUMNS))
LINEAR = -1.0  # dissipation of a force law with a linear damper
FORCE_LAW = RowLayout((), (), (), (), (2,), ())  # the numbers of a `SolidLaw`
WRENCH = RowLayout((3,), (3,))


class SolidMemory(NamedTuple):
    """Memory of the contact points of all n pairs of solids at the start of a step at time `since` [s].

    `stored` (4n, 5) has the state number, the stretch (3,) [m] and the time [s] at which the state began of each point.
    """

    stored: Array
    since: Number


class PointForce(NamedTuple):
    """State and force of one contact point: state `number`, `force` (3,) [N] on A, `stretch` (3,) [m], `energy` [J].

    `slip` (3,) [m/s] is the velocity of A relative to B along the surface. All vectors are in the world.
    """

    number: Number
    force: Array
    stretch: Array
    energy: Number
    slip: Array


class SolidLaw(NamedTuple):
    """Force law of a collision: see `Builder.collide`. `dissipation` is LINEAR if the damper is linear."""

    stiffness: Number
    damping: Number
    tangential_stiffness: Number
    tangential_damping: Number
    friction: Array
    dissipation: Number

    def normal(self, distance: Number, speed: Number) -> tuple[Number, Number]:
        """Return the normal force [N] and elastic energy [J] of a point, from distance [m] and normal speed [m/s]."""
        depth = maximum(-distance, 0.0)
        damped = -(self.stiffness * distance + self.damping * speed)
        spring = self.stiffness * depth * np.sqrt(depth)
        growing = spring * (1.0 - self.dissipation * speed)
        linear = self.dissipation == LINEAR
        force = where(distance < 0.0, maximum(where(linear, damped, growing), 0.0), 0.0)
        return force, where(linear, 0.5 * self.stiffness * depth * depth, 0.4 * spring * depth)


class CompliantSolids:
    """The touching pairs of solids in one state, with the numbers that their forces depend on.

    `memory` is that of the start of the step; `elapsed` [s] is the time since then.
    """

    def __init__(self, m: Mechanism, memory: SolidMemory, t: Number, q: Array, v: Array):
        self.mechanism, self.elapsed = m, t - memory.since
        motion = kinematics(m.tree, *to_tree(m, ("q", "v"), (q, v)))
        self.poses = world_poses(m.tree, motion.X)
        self.of = BodyRows(m.solid_pairs)
        self.bodies = body_rows(self.of.numbers, self.poses, motion.twist)
        groups = groups_of(m.solid_pairs, self.of)
        touching = touching_pairs(groups, self.bodies, 0.0)
        self.patches, self.count = touching.patches, len(m.solid_pairs)
        self.selection = selected_rows(touching.flags)
        self.body_a, self.body_b = body_tables(m, self.of)
        self.force_laws, self.force_law_of = _force_laws(m)
        rows = row_array(self.count, MEMORY.size)
        for k in range(self.count):
            rows = rows.put(float(k), MEMORY.row(memory.stored[POINTS * k : POINTS * k + POINTS]))
        self.memory = rows

    def motion(self, table: Array, k: Number) -> BodyMotion:
        """Return the motion of the body of pair k in the column `table` (n, 1) of body rows."""
        return BodyMotion.read(self.bodies, lookup(table, k)[0])

    def points(self, k: Number) -> tuple[WorldPatch, list[PointForce]]:
        """Return the contact points of pair k, and the state and force of each."""
        A, B = self.motion(self.body_a, k), self.motion(self.body_b, k)
        patch, (memory,) = WorldPatch.read(self.patches, k), MEMORY.parts(self.memory.at(k))
        force_law = SolidLaw(*FORCE_LAW.parts(self.force_laws.at(lookup(self.force_law_of, k)[0])))
        found = []
        for point, distance, normal, row in zip(*patch, memory, strict=True):
            u = A.linear + cross(A.angular, point - A.pose.p) - B.linear - cross(B.angular, point - B.pose.p)
            found.append(point_force(force_law, row[0], row[1:4], distance, normal, u, self.elapsed))
        return patch, found

    def wrenches(self) -> Array:
        """Return the sum (nbodies, 6) [N, N m] of all contact forces on each body, about its origin in its frame."""
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
        """Return numbers of all 4n points: `row_of(point force, point)` in the given layout; zeros for apart points."""
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

    def stored(self, at: Number) -> Array:
        """Return the memory (4n, 5) of all points for a step that begins at the time `at` [s] in this state."""

        def apart(k: Number, rows: RowArray) -> tuple[RowArray]:
            (old,) = MEMORY.parts(self.memory.at(k))
            new = [[APART, 0.0, 0.0, 0.0, where(row[0] == APART, row[4], at)] for row in old]
            return (rows.put(k, MEMORY.row(new)),)

        def touching(k: Number, rows: RowArray) -> tuple[RowArray]:
            (old,), (_, found) = MEMORY.parts(self.memory.at(k)), self.points(k)
            pairs = zip(found, old, strict=True)
            new = [[one.number, *one.stretch, where(one.number == row[0], row[4], at)] for one, row in pairs]
            return (rows.put(k, MEMORY.row(new)),)

        (rows,) = repeat(self.count, apart, row_array(self.count, MEMORY.size))
        (rows,) = self.selection.visit(touching, rows)
        return np.concatenate([MEMORY.parts(rows.at(float(k)))[0] for k in range(self.count)])


def point_force(
    force_law: SolidLaw, number: Number, stretch: Array, distance: Number, normal: Array, u: Array, elapsed: Number
) -> PointForce:
    """Return state and force of one contact point at a signed `distance` [m] along the unit `normal` (3,).

    u (3,) [m/s] is the relative velocity, and `stretch` (3,) [m] that of the friction spring `elapsed` [s] ago, when
    the point was in state `number`.
    """
    speed = dot(normal, u)
    slip = u - normal * speed
    pressed, energy = force_law.normal(distance, speed)
    s = stretch + slip * elapsed
    s = s - normal * dot(normal, s)
    along = -(s * force_law.tangential_stiffness + slip * force_law.tangential_damping)
    size = np.sqrt(dot(along, along) + TINY)
    limit = where(number == SLIDING, force_law.friction[1], force_law.friction[0]) * pressed
    slides = size > limit
    along = where(slides, along * (force_law.friction[1] * pressed / size), along)
    soft = where(force_law.tangential_stiffness > 0.0, force_law.tangential_stiffness, 1.0)
    s = where(slides, -(along + slip * force_law.tangential_damping) / soft, s)
    after = where(distance < 0.0, where(slides, SLIDING, STICKING), APART)
    energy = energy + 0.5 * force_law.tangential_stiffness * dot(s, s)
    return PointForce(after, normal * pressed + along, s, where(distance < 0.0, energy, 0.0), slip)


def body_tables(m: Mechanism, of: BodyRows) -> tuple[Array, Array]:
    """Return the rows of the bodies A and B of each pair, each (n, 1), in the order that contact functions expect."""
    found = np.zeros((len(m.solid_pairs), 2))
    for group in groups_of(m.solid_pairs, of):
        for row in group.table:
            number, bodies, *_ = group.layout.parts(row)
            found[int(number)] = bodies
    return found[:, :1], found[:, 1:]


def _force_laws(m: Mechanism) -> tuple[RowArray, Array]:
    """Return the force laws of all collisions as rows of FORCE_LAW, and the row (n, 1) of each pair's collision."""
    collisions = list(m.collisions)
    force_laws = row_array(len(collisions), FORCE_LAW.size)
    for row, one in enumerate(collisions):
        force_law = [one.stiffness, one.damping, one.tangential_stiffness, one.tangential_damping, one.friction]
        force_law.append(LINEAR if one.dissipation is None else one.dissipation)
        force_laws = force_laws.put(float(row), FORCE_LAW.row(*force_law))
    names = [one.name for one in collisions]
    rows = np.array([[float(names.index(pair.collision.name))] for pair in m.solid_pairs])
    return force_laws, rows
