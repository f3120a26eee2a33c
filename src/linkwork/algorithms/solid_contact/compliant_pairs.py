"""Compliant contact between solids: spring and damper at each contact point, friction by an elastic-plastic spring.

The normal force at each of up to four contact points is that of `compliant_contact`. Along the surface, a spring and a
damper side by side are in series with a Coulomb slider. With the slip velocity u, the stretch s of the spring, its
stiffness k, the damping c and the normal force N, the friction force is

    f = -(k s + c u),          s' = u                    if |f| <= mu N: the point sticks
    f = -mu N (k s + c u) / |k s + c u|,  k s + c s' = -f      otherwise: it slides, and the spring relaxes

where mu is the static friction coefficient while the point sticks, and the dynamic coefficient while it slides. The
slider only dissipates energy, and the force is continuous if a point stops sliding. The stretch s is stored with the
number of the contact point, in the axes of the second solid's body: it turns with this body, and it does not change if
the contact point moves over the two solids without slip.

Rolling and spinning friction are springs, dampers and sliders of the same kind, for the relative angular velocity along
the surface and about the normal. With the radius r of the largest ball that both solids could contain, their stiffness
is k r^2 and their damping c r^2, and their limits are the coefficients of rolling and spinning friction times N.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.algorithms.compliant_contact import APART, SLIDING, STICKING
from linkwork.algorithms.solid_contact.detection import WorldPatch
from linkwork.algorithms.solid_contact.pair_tables import half_extents
from linkwork.algorithms.solid_contact.solid_contact_forces import COLUMNS, PointForce, SolidForces
from linkwork.model.mechanism import Mechanism
from linkwork.model.solids import POINTS, SolidPair
from linkwork.spatial.row_arrays import RowArray, RowLayout, row_array
from linkwork.spatial.scalar import Array, Condition, Number, cross, dot, lookup, maximum, where
from linkwork.spatial.traceable_loops import repeat
from linkwork.tolerances import TINY, TINY_SIZE

LINEAR = -1.0  # value of `SolidLaw.dissipation` that selects the linear damper
FORCE_LAW = RowLayout((), (), (), (), (2,), (), (2,))  # a row with the numbers of a `SolidLaw`


class SolidMemory(NamedTuple):
    """Contact memory of all n solid pairs at the start of a step, which is at the time `since` [s].

    `stored` (4n, 5) or (4n, 8) has a row for each contact point: state number, stretch (3,) [m] of the friction spring
    in the axes of the second solid's body, and the time [s] at which the state began. With rolling or spinning
    friction, the angle (3,) [rad] of the torsion springs follows, in the same axes.
    """

    stored: Array
    since: Number


class SolidLaw(NamedTuple):
    """Parameters of the force law of a collision element; see `Builder.collide` for their meaning and units.

    `friction` (2,) are the static and the dynamic coefficient. `dissipation` is the constant LINEAR if the damper is
    linear. `turning` (2,) [m] are the coefficients of spinning and rolling friction.
    """

    stiffness: Number
    damping: Number
    tangential_stiffness: Number
    tangential_damping: Number
    friction: Array
    dissipation: Number
    turning: Array

    def normal(self, distance: Number, speed: Number) -> tuple[Number, Number]:
        """Return the normal force [N] and the elastic energy [J] of a contact point.

        `distance` [m] is the signed distance of the solids at the point, negative if they overlap, and `speed` [m/s]
        its rate.
        """
        depth = maximum(-distance, 0.0)
        damped = -(self.stiffness * distance + self.damping * speed)
        spring = self.stiffness * depth * np.sqrt(depth)
        growing = spring * (1.0 - self.dissipation * speed)
        linear = self.dissipation == LINEAR
        force = where(distance < 0.0, maximum(where(linear, damped, growing), 0.0), 0.0)
        return force, where(linear, 0.5 * self.stiffness * depth * depth, 0.4 * spring * depth)


class CompliantSolids(SolidForces):
    """The touching solid pairs in one state, with all data from which their compliant forces are computed.

    `memory` is the contact memory at the start of the step, and `elapsed` [s] the time from then to t [s]. q (nq,) are
    the coordinates and v (nv,) the velocities at the time t.
    """

    def __init__(self, m: Mechanism, memory: SolidMemory, t: Number, q: Array, v: Array):
        super().__init__(m, memory.stored, q, v, 0.0)
        self.elapsed = t - memory.since
        self.force_laws, self.force_law_of = _force_laws(m)
        self.radii = np.array([[_radius(pair)] for pair in m.solid_pairs])

    def points(self, k: Number) -> tuple[WorldPatch, list[PointForce]]:
        """Return the contact points of pair k, and the state and force of each point."""
        A, B = self.motion(self.body_a, k), self.motion(self.body_b, k)
        patch, memory = WorldPatch.read(self.patches, k), self.remembered(k)
        force_law = SolidLaw(*FORCE_LAW.parts(self.force_laws.at(lookup(self.force_law_of, k)[0])))
        found = []
        for point, distance, normal, row in zip(*patch, memory, strict=True):
            u = A.linear + cross(A.angular, point - A.pose.p) - B.linear - cross(B.angular, point - B.pose.p)
            stretch = B.pose.R @ row[1:4]
            one = point_force(force_law, row[0], stretch, distance, normal, u, self.elapsed)
            if len(row) > COLUMNS:
                w, angle = A.angular - B.angular, B.pose.R @ row[COLUMNS:]
                one = with_torque(force_law, one, angle, normal, w, self.elapsed, lookup(self.radii, k)[0])
            found.append(one)
        return patch, found

    def stored(self, at: Number) -> Array:
        """Return the contact memory (4n, 5) or (4n, 8) for the next step, which begins here at the time `at` [s]."""

        def apart(k: Number, rows: RowArray) -> tuple[RowArray]:
            zeros = [0.0] * (self.memory.size // POINTS - COLUMNS)
            new = [[APART, 0.0, 0.0, 0.0, where(row[0] == APART, row[4], at), *zeros] for row in self.remembered(k)]
            return (rows.put(k, np.ravel(np.array(new))),)

        def touching(k: Number, rows: RowArray) -> tuple[RowArray]:
            old, (_, found) = self.remembered(k), self.points(k)
            pairs, R = zip(found, old, strict=True), self.motion(self.body_b, k).pose.R
            new = [
                [
                    one.number,
                    *(R.T @ one.stretch),
                    where(one.number == row[0], row[4], at),
                    *(() if one.angle is None else R.T @ one.angle),
                ]
                for one, row in pairs
            ]
            return (rows.put(k, np.ravel(np.array(new))),)

        (rows,) = repeat(self.count, apart, row_array(self.count, self.memory.size))
        (rows,) = self.selection.visit(touching, rows)
        return np.concatenate([rows.at(float(k)).reshape(POINTS, -1) for k in range(self.count)])


def point_force(
    force_law: SolidLaw, number: Number, stretch: Array, distance: Number, normal: Array, u: Array, elapsed: Number
) -> PointForce:
    """Return the state and force of one contact point at a signed `distance` [m], negative if the solids overlap.

    The unit `normal` (3,), `stretch` (3,) and u (3,) are in world axes. u [m/s] is the velocity of solid A relative to
    solid B at the point. `number` is the state of the point and `stretch` [m] the stretch of its friction spring, both
    at the start of the step, `elapsed` [s] ago. The spring of a sliding point relaxes by an implicit Euler step.
    `force_law` is the force law of the pair.
    """
    speed = dot(normal, u)
    slip = u - normal * speed
    pressed, energy = force_law.normal(distance, speed)
    before = stretch - normal * dot(normal, stretch)
    hard, drag = force_law.tangential_stiffness, force_law.tangential_damping
    static, dynamic = where(number == SLIDING, force_law.friction[1], force_law.friction[0]), force_law.friction[1]
    along, s, slides = _spring_with_slider(before, slip, hard, drag, (static * pressed, dynamic * pressed), elapsed)
    touches = distance < 0.0
    after = where(touches, where(slides, SLIDING, STICKING), APART)
    energy = energy + 0.5 * hard * dot(s, s)
    slip = where(touches, slip, np.zeros(3))
    return PointForce(after, normal * pressed + along, s, where(touches, energy, 0.0), slip)


def with_torque(
    force_law: SolidLaw, one: PointForce, angle: Array, normal: Array, w: Array, elapsed: Number, radius: Number
) -> PointForce:
    """Return the force of a contact point with the torque of rolling and spinning friction added.

    `one` is the force without the torque. In world axes, w (3,) [rad/s] is the angular velocity of A relative to B,
    `normal` (3,) the normal of the point, and `angle` (3,) [rad] the angle of the torsion springs at the start of the
    step, `elapsed` [s] ago. The stiffness of these springs is the stiffness along the surface times the square of
    `radius` [m]; the same applies to the damping. `force_law` is the force law of the pair.
    """
    pressed, square = dot(normal, one.force), radius * radius
    hard, drag = force_law.tangential_stiffness * square, force_law.tangential_damping * square
    spin, spun = normal * dot(normal, w), normal * dot(normal, angle)
    torque, after, energy = np.zeros(3), np.zeros(3), one.energy
    for coefficient, rate, before in zip(force_law.turning, (spin, w - spin), (spun, angle - spun), strict=True):
        on, most = where(coefficient > 0.0, 1.0, 0.0), coefficient * pressed
        along, turned, _ = _spring_with_slider(before, rate, hard * on, drag * on, (most, most), elapsed)
        torque, after = torque + along, after + turned
        energy = energy + where(one.number > APART, 0.5 * hard * on * dot(turned, turned), 0.0)
    return one._replace(torque=torque, angle=after, energy=energy)


def _spring_with_slider(
    before: Array, rate: Array, hard: Number, drag: Number, limits: tuple[Number, Number], elapsed: Number
) -> tuple[Array, Array, Condition]:
    """Return the force (3,) of a spring and a damper in series with a slider, the stretch (3,), and whether it slides.

    `before` (3,) [m] is the stretch of the spring at the start of the step, `elapsed` [s] ago, and `rate` (3,) [m/s]
    the slip velocity. `hard` [N/m] is the stiffness and `drag` [N s/m] the damping. The slider slides if the force
    exceeds the first of the `limits` [N]; its force is then the second limit. For a torsion spring, angles [rad],
    angular velocities [rad/s] and torques [N m] replace these lengths, velocities and forces.
    """
    s = before + rate * elapsed
    along = -(s * hard + rate * drag)
    size = np.sqrt(dot(along, along) + TINY)
    slides = size > limits[0]
    along = where(slides, along * (limits[1] / size), along)
    h = maximum(elapsed, TINY_SIZE)  # without damper, the spring relaxes at once
    return along, where(slides, (before * drag - along * h) / maximum(hard * h + drag, TINY), s), slides


def _radius(pair: SolidPair) -> float:
    """Return the radius [m] of the largest ball that fits into both solids, from their extents along their axes."""
    sizes = [min(half_extents(solid.shape)) for solid in (pair.first, pair.second)]
    return min((size for size in sizes if size > 0.0), default=0.0)


def _force_laws(m: Mechanism) -> tuple[RowArray, Array]:
    """Return a row array with the force law of each collision, and a table (n, 1) of the row that each pair uses."""
    collisions = list(m.collisions)
    force_laws = row_array(len(collisions), FORCE_LAW.size)
    for row, one in enumerate(collisions):
        force_law = [one.stiffness, one.damping, one.tangential_stiffness, one.tangential_damping, one.friction]
        force_law += [LINEAR if one.dissipation is None else one.dissipation, [one.spinning, one.rolling]]
        force_laws = force_laws.put(float(row), FORCE_LAW.row(*force_law))
    names = [one.name for one in collisions]
    rows = np.array([[float(names.index(pair.collision.name))] for pair in m.solid_pairs])
    return force_laws, rows
