"""Compliant contact: a spring and damper along the normal, stick-slip friction with an anchor along the surface.

The friction of each contact is a finite state machine with six states (S4 section 5.2, Figure 5.1). Three states last
from step to step: 1 (apart), 2 (sliding), 4 (sticking to its anchor). Three occur only at the end of a step: 3 (sliding
to sticking; sets the anchor), 5 (sticking to sliding; releases it), 6 (pulled apart, without force). After 3, 5 and 6
the next step begins in 4, 2 and 2. If several transitions are possible, the order of priority is: to 1, to 6, to 3 or
5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from linkwork.algorithms.contact_kinematics import ContactKinematics
from linkwork.algorithms.contact_tolerances import AT_FRICTION_LIMIT
from linkwork.model.elements.contact import Pair
from linkwork.spatial import Force, Transform
from linkwork.spatial.scalar import Array, Number, cross, dot, hat, maximum, minimum, where
from linkwork.tolerances import TINY

APART, SLIDING, STOPPING, STICKING, SLIPPING, PULLED = 1.0, 2.0, 3.0, 4.0, 5.0, 6.0


class ContactLaw(Protocol):
    """Parameters of a contact's force law; see `Builder.touch` for their meaning and units."""

    @property
    def radius(self) -> float:
        """Radius of the contact sphere [m]; 0 for a point."""
        ...

    @property
    def stiffness(self) -> Number:
        """Normal stiffness [N/m]."""
        ...

    @property
    def damping(self) -> Number:
        """Normal damping [N s/m]."""
        ...

    @property
    def tangential_stiffness(self) -> Number:
        """Stiffness between a sticking point and its anchor [N/m]."""
        ...

    @property
    def tangential_damping(self) -> Number:
        """Tangential damping of a sticking point [N s/m]."""
        ...

    @property
    def friction(self) -> Any:
        """Static and dynamic coefficients of friction (2,)."""
        ...

    @property
    def rest_speed(self) -> Number:
        """Slip speed [m/s] below which a sliding contact sticks."""
        ...

    @property
    def rolling(self) -> Number:
        """Lever arm of rolling friction [m]."""
        ...

    @property
    def spinning(self) -> Number:
        """Lever arm of friction against spinning [m]."""
        ...

    @property
    def restitution(self) -> Number:
        """Coefficient of restitution of rigid contact."""
        ...

    @property
    def dissipation(self) -> Number | None:
        """Hunt and Crossley's dissipation factor [s/m]; None for a linear damper."""
        ...


class Mode(NamedTuple):
    """Active branches of a contact's piecewise force law, fixed while the equations of a step are solved.

    The first four entries are conditions. `closed`: the contact penetrates the surface. `pressing`: the normal force is
    not negative. `fast`: the slip of a sliding contact is faster than its rest speed. `slips`: the anchor force of a
    sticking contact exceeds the friction limit. `along` (3,) [m/s] and `hold` (3,) [N] are the slip velocity and the
    anchor force at which the branches were determined, in the surface's axes.
    """

    closed: Any
    pressing: Any
    fast: Any
    slips: Any
    along: Array
    hold: Array


class Memory(NamedTuple):
    """State of all n contacts at the beginning of a step: state numbers `number` (n,), anchors `anchor` (n, 3) [m].

    The anchors are in the surfaces' frames. `entered` (n,) [s] is the time at which each contact entered its state.
    `since` [s] is the time at which the step began; the anchors of rolling spheres have moved since then. `foreseen`
    (n,) is true for the contacts that are expected to close during the step; without it, a contact acts if it
    penetrates. `modes`, if given, has one `Mode` per contact, which fixes the branches of its force law during the
    step.
    """

    number: Sequence[Number]
    anchor: Sequence[Array]
    entered: Sequence[Number]
    since: Number = 0.0
    foreseen: Sequence[Any] | None = None
    modes: Sequence[Mode] | None = None

    @staticmethod
    def of(stored: Array) -> Memory:
        """Return the contact states of an array `stored` (n, 5), one contact per row; the inverse of `Memory.stored`.

        A row has the state number, the anchor (3,) [m] and the time [s] at which the contact entered its state.
        """
        return Memory([row[0] for row in stored], [row[1:4] for row in stored], [row[4] for row in stored])

    @property
    def stored(self) -> Array:
        """Return the states of n contacts as rows (n, 5): number, anchor (3,) [m], start time [s] of the state."""
        rows = zip(self.number, self.anchor, self.entered, strict=True)
        return np.array([[number, *anchor, entered] for number, anchor, entered in rows])

    def begun(self, since: Number) -> Memory:
        """Return the contact states for a step that begins at the time `since` [s].

        The states 3, 5 and 6, which occur only at the end of a step, become 4 (sticking), 2 and 2 (sliding).
        """
        return self._replace(number=[lasting_state(n) for n in self.number], since=since)


def lasting_state(number: Number) -> Number:
    """Return the contact state in which the next step begins, if this step ended in state `number`.

    The result is 1 (apart), 2 (sliding) or 4 (sticking). The states 3, 5 and 6 occur only at the end of a step; see the
    module's docstring.
    """
    return where(number == STOPPING, STICKING, where(number >= SLIPPING, SLIDING, number))


class ContactForce(NamedTuple):
    """State and force of one contact, with the derivatives of the force, in the surface's axes.

    `number` is the state; `force` (3,) [N] acts on the contact's body. The derivative of the force with respect to the
    position of the contact is -`stiffness` (3, 3) [N/m], and with respect to its velocity -`damping` (3, 3) [N s/m].
    `viscous` (3, 3) [N s/m] is a symmetric, purely dissipative part of `damping`. If a `torque` (3,) [N m] brakes a
    sphere, the matrices are (6, 6): derivatives of force and torque with respect to position and rotation, or velocity
    and angular velocity. `at` is the kinematics of the contact.
    """

    number: Number
    force: Array
    torque: Array | None
    stiffness: Array
    damping: Array
    viscous: Array
    at: ContactKinematics

    def on(self, body: Transform, turned: Transform) -> Force:
        """Return the wrench [N, N m] of this contact on the contact's body, about the origin of the body's frame.

        `body` is the pose of the body in the world. The wrench is expressed in the axes of the frame that has the pose
        `turned` in the world.
        """
        push = turned.R.T @ (self.at.pose.R @ self.force)
        wrench = Force(push, cross(self.at.on(body), push))
        if self.torque is None:
            return wrench
        return wrench + Force(np.zeros(3), turned.R.T @ (self.at.pose.R @ self.torque))


def contact_force(
    contact: ContactLaw,
    number: Number,
    anchor: Array,
    at: ContactKinematics,
    foreseen: Any = None,
    mode: Mode | None = None,
) -> ContactForce:
    """Return the state and force of a contact that began the step in state `number`.

    `contact` has the parameters of the force law. `at` has the contact's position and velocity relative to the surface,
    and `anchor` (3,) [m] is its anchor in the surface's frame. A damper that sets in within a step is a discontinuity,
    and the equations of the step may then have no solution. Therefore only the spring acts during the step if
    `foreseen` is false, which means that the contact was not expected to close. If `foreseen` is None, spring and
    damper act while the contact penetrates. A given `mode` fixes the branches of the force law, which is then smooth.
    """
    n, u, friction = at.normal, at.velocity, contact.friction
    inside = at.distance < 0.0
    closed = mode.closed if mode is not None else inside if foreseen is None else inside | foreseen
    damper = 1.0 if foreseen is None else where(foreseen, 1.0, 0.0)
    speed_n = dot(n, u)
    slip = u - n * speed_n
    raw, slope, drag = normal_force(contact, at.distance, speed_n, damper)
    pressing = raw >= 0.0 if mode is None else mode.pressing
    normal = where(closed, where(pressing, raw, 0.0), 0.0)
    on = where(closed, where(pressing, 1.0, 0.0), 0.0)

    speed = np.sqrt(dot(slip, slip) + TINY)
    fast = speed > contact.rest_speed if mode is None else mode.fast
    slow = where(fast, speed, contact.rest_speed)
    mirror = np.eye(3) if mode is None else _mirror(mode.along, slip, mode.fast)
    direction = mirror @ slip / slow  # shorter than 1 if slower than the rest speed

    hold = _anchor_force(contact, anchor, at, slip)
    size, limit = np.sqrt(dot(hold, hold) + TINY), friction[0] * normal
    slips = dot(hold, hold) > limit * limit if mode is None else mode.slips
    clip = where(slips, limit / size, 1.0)
    back = np.eye(3) if mode is None else _mirror(mode.hold, hold, mode.slips)

    sticks = number == STICKING
    along = where(sticks, back @ hold * (clip * on), direction * (-friction[1] * normal))

    # Derivatives: the normal force acts along n and, by friction, along the surface if the contact slides or slips
    P, N = np.eye(3) - np.outer(n, n), np.outer(n, n)
    unit = hold / size
    rubbed = where(sticks, where(slips, back @ unit * friction[0], np.zeros(3)), direction * -friction[1])
    pushed = np.outer(n + rubbed, n) * on
    clipped = back @ (P - np.outer(unit, unit) * where(slips, 1.0, 0.0)) * (clip * on)
    across = P - np.outer(slip, slip) * where(fast, 1.0 / (slow * slow), 0.0)
    turned = mirror @ across * (friction[1] * normal / slow)
    stiffness = pushed * slope + where(sticks, clipped * contact.tangential_stiffness, np.zeros((3, 3)))
    damping = pushed * drag + where(sticks, clipped * contact.tangential_damping, turned)
    secant = where(sticks, contact.tangential_damping * clip * on, friction[1] * normal / slow)
    viscous = N * (drag * on) + P * secant
    held = where(sticks, where(slips, SLIPPING, STICKING), where(fast, SLIDING, STOPPING))
    after = where(closed, where(number == APART, SLIDING, where(pressing, held, PULLED)), APART)
    found = ContactForce(after, n * normal + along, None, stiffness, damping, viscous, at)
    return (
        _with_torques(contact, found, normal, slope * on, drag * on) if contact.rolling or contact.spinning else found
    )


class BranchQuantities(NamedTuple):
    """The normal force, slip velocity and anchor force of a contact, which select the branches of its force law.

    `normal` [N] is the normal force, `slip` (3,) [m/s] the slip velocity, `hold` (3,) [N] the anchor force, and `limit`
    [N] the static friction limit. `loading` [N] is positive while slip stretches an anchor spring that is at this
    limit; if the spring is not at the limit, `loading` is minus the limit. The branch depends on the distance to the
    surface too, which is not stored here.
    """

    normal: Number
    slip: Array
    hold: Array
    limit: Number
    loading: Number


def _branch_quantities(contact: ContactLaw, anchor: Array, at: ContactKinematics) -> BranchQuantities:
    """Return the quantities that select the branches of a contact's force law (see `BranchQuantities`).

    `anchor` (3,) [m] is the anchor of the contact, and `at` its kinematics.
    """
    speed = dot(at.normal, at.velocity)
    slip, normal = at.velocity - at.normal * speed, normal_force(contact, at.distance, speed, 1.0)[0]
    hold, limit = _anchor_force(contact, anchor, at, slip), contact.friction[0] * normal
    stretch = tangential(at.normal, at.point - anchor)
    length = np.sqrt(dot(stretch, stretch) + TINY)
    full = contact.tangential_stiffness * length >= limit * (1.0 - AT_FRICTION_LIMIT)
    loading = where(full, dot(slip, stretch) / length * (limit / contact.rest_speed), -limit)
    return BranchQuantities(normal, slip, hold, limit * (1.0 + AT_FRICTION_LIMIT), loading)


def mode_of(contact: ContactLaw, anchor: Array, at: ContactKinematics) -> Mode:
    """Return the branches of a contact's force law that apply in one state.

    `anchor` (3,) [m] is the anchor of the contact, and `at` its kinematics.
    """
    normal, slip, hold, limit, loading = _branch_quantities(contact, anchor, at)
    slips = maximum(np.sqrt(dot(hold, hold)) - limit, loading) > 0.0
    return Mode(at.distance < 0.0, normal >= 0.0, _speed(slip) > contact.rest_speed, slips, slip, hold)


def _speed(slip: Array) -> Number:
    return np.sqrt(dot(slip, slip))


def _component_along(along: Array, vector: Array) -> Number:
    """Return the component of a vector (3,) along the direction of `along` (3,)."""
    return dot(vector, along) / np.sqrt(dot(along, along) + TINY)


def _mirror(along: Array, vector: Array, acts: Any) -> Array:
    """Return a matrix (3, 3) that mirrors vectors at the plane normal to `along`; the unit matrix if not needed.

    The matrix mirrors only if the condition `acts` is true and the angle between `vector` (3,) and `along` (3,) is
    above 90 degrees. In a trial step that is too long, slip may reverse while the branch of the force law is fixed. The
    mirrored friction force is continuous at the reversal, so that the equations of the trial step have a solution; the
    step is then rejected because of an event.
    """
    back = where(_component_along(along, vector) < 0.0, where(acts, 2.0, 0.0), 0.0)
    return np.eye(3) - np.outer(along, along) * (back / (dot(along, along) + TINY))


def _signed_length(along: Array, vector: Array) -> Number:
    """Return a signed length of a vector (3,), which is continuous and decreases as the vector turns away from `along`.

    If the angle between `vector` and `along` (3,) is below 90 degrees, the result is the length of the vector.
    Otherwise it is the length of its part perpendicular to `along` minus the length of its part opposite to `along`.
    """
    ahead = _component_along(along, vector)
    across = dot(vector, vector) - ahead * ahead
    return np.sqrt(maximum(across, 0.0) + maximum(ahead, 0.0) ** 2) + minimum(ahead, 0.0)


def mode_event_functions(
    contact: ContactLaw, number: Number, anchor: Array, at: ContactKinematics, mode: Mode
) -> list[Number]:
    """Return three event functions that are positive while a contact stays on the branches `mode` of its force law.

    The first function depends on the distance [m], the second on the normal force [N]. The third depends on the slip
    speed [m/s] of a sliding contact, or on the excess [N] of the anchor force over the friction limit of a sticking
    contact. A slip that turns by 90 degrees is an event too: the branches are then determined anew. An event function
    that does not apply is 1. `number` and `anchor` (3,) [m] are the contact's state and anchor, and `at` its
    kinematics.
    """
    normal, slip, hold, limit, loading = _branch_quantities(contact, anchor, at)
    slides = minimum(_signed_length(mode.along, slip) - contact.rest_speed, _component_along(mode.along, slip))
    slow = contact.rest_speed - _speed(slip)
    yields = minimum(maximum(_signed_length(mode.hold, hold) - limit, loading), _component_along(mode.hold, hold))
    beyond = where(mode.slips, where(mode.fast, yields, minimum(yields, slow)), limit - np.sqrt(dot(hold, hold)))
    along = where(number == STICKING, beyond, where(mode.fast, slides, slow))
    return [
        where(mode.closed, -at.distance, at.distance),
        where(mode.closed, where(mode.pressing, normal, -normal), 1.0),
        where(mode.closed, where(mode.pressing, along, 1.0), 1.0),
    ]


def step_change(contact: ContactLaw, found: ContactForce, h: Number) -> Array:
    """Return minus the derivative of a contact's impulse over a step with respect to its displacement at the end.

    The result is (3, 3) [N s/m], or (6, 6) with rotations and torques, in the surface's axes. `h` [s] is the length of
    the step, and `found` the contact's force at mid-step, from which the impulse is computed. The displacement is that
    of the contact's material point in the body's last pose. The rotation of a sphere brings other material to the
    surface, and moves the contact point on a curved surface. The derivative includes these effects because friction is
    a steep function of the slip.
    """
    at, n, r = found.at, found.at.normal, contact.radius
    D, spun, skew = found.damping[:3, :3], hat(at.turning), hat(n)
    normal, speed = dot(n, found.force), dot(n, at.velocity)
    slip, along = at.velocity - n * speed, found.force - n * normal
    swings = D @ (np.outer(n, slip) - np.eye(3) * speed - spun * r)
    bent = (swings - np.eye(3) * normal + np.outer(n, along)) @ at.curvature
    if not r:
        return (found.stiffness + bent) * (0.25 * h) + found.damping * 0.5
    stiffness, none = found.stiffness * (0.25 * h) + found.damping * 0.5, np.zeros((3, 3))
    if len(stiffness) == 3:
        stiffness = np.block([[stiffness, none], [none, none]])
    return stiffness + np.block([[bent, (bent + D @ spun) @ skew * -r], [none, none]]) * (0.25 * h)


def normal_force(contact: ContactLaw, distance: Number, speed: Number, damper: Number) -> tuple[Number, Number, Number]:
    """Return the normal force [N] before clipping at 0, and minus its derivatives with respect to distance and speed.

    The derivatives are in [N/m] and [N s/m]. `distance` [m] is the distance of the contact to the surface, negative
    inside, and `speed` [m/s] is its rate. `damper` is 1 if the damper acts, else 0. `contact` has the parameters of the
    force law.
    """
    if contact.dissipation is None:
        drag = contact.damping * damper
        return -(contact.stiffness * distance + drag * speed), contact.stiffness, drag
    depth = maximum(-distance, 0.0)  # Hunt and Crossley: damping grows with depth, and is continuous at contact
    root = np.sqrt(depth)
    spring, damped = contact.stiffness * depth * root, 1.0 - contact.dissipation * speed
    return spring * damped, 1.5 * contact.stiffness * root * damped, spring * contact.dissipation


def _with_torques(
    contact: ContactLaw, found: ContactForce, normal: Number, slope: Number, drag: Number
) -> ContactForce:
    """Return a contact force with torques added that brake the rolling and spinning of a sphere.

    `found` is the contact force without these torques. `normal` [N] is the normal force; `slope` [N/m] and `drag` [N
    s/m] are minus the derivatives of the normal force with respect to distance and normal speed.
    """
    n, turning = found.at.normal, found.at.turning
    rest = contact.rest_speed / contact.radius
    spin = dot(n, turning)
    roll = turning - n * spin
    rate = np.sqrt(dot(roll, roll) + TINY)
    over, about = maximum(rate, rest), maximum(abs(spin), rest)
    arm = roll * (contact.rolling / over) + n * (contact.spinning * spin / about)  # minus torque / normal force
    N, direction = np.outer(n, n), roll / over
    P = np.eye(3) - N
    rolling, spinning = contact.rolling * normal / over, contact.spinning * normal / about
    bends = (P - np.outer(direction, direction) * where(rate > rest, 1.0, 0.0)) * rolling
    turned = bends + N * where(abs(spin) > rest, 0.0, spinning)
    none, leans = np.zeros((3, 3)), np.outer(arm, n)
    return found._replace(
        torque=-arm * normal,
        stiffness=np.block([[found.stiffness, none], [leans * -slope, none]]),
        damping=np.block([[found.damping, none], [leans * -drag, turned]]),
        viscous=np.block([[found.viscous, none], [none, P * rolling + N * spinning]]),
    )


def _anchor_force(contact: ContactLaw, anchor: Array, at: ContactKinematics, slip: Array) -> Array:
    """Return the force (3,) [N] of the spring and damper between a contact and its anchor, without the friction limit.

    `anchor` (3,) [m] is the anchor, `at` the kinematics of the contact, and `slip` (3,) [m/s] its slip velocity.
    """
    stretch = tangential(at.normal, at.point - anchor)
    return -(stretch * contact.tangential_stiffness + slip * contact.tangential_damping)


def tangential(n: Array, x: Array) -> Array:
    """Return the component of x (3,) tangential to a surface with unit normal n (3,)."""
    return x - n * dot(n, x)


def contact_forces(
    pairs: Sequence[Pair], memory: Memory, t: Number, there: Sequence[ContactKinematics]
) -> list[ContactForce]:
    """Return the state and force of each of the contact pairs `pairs` at time t [s].

    `memory` has the states of the contacts at the beginning of the step, and `there` the present kinematics of each
    pair.
    """
    found = []
    for k, (pair, at) in enumerate(zip(pairs, there, strict=True)):
        anchor = memory.anchor[k] + at.rolling * (t - memory.since)
        foreseen = None if memory.foreseen is None else memory.foreseen[k]
        mode = None if memory.modes is None else memory.modes[k]
        found.append(contact_force(pair.contact, memory.number[k], anchor, at, foreseen, mode))
    return found


def contact_wrenches(pairs: Sequence[Pair], found: Sequence[ContactForce], poses: list[Transform]) -> Array:
    """Return the sum (nbodies, 6) [N, N m] of the contact wrenches on each body, about its origin in its axes.

    `found` has the force of each of the contact pairs `pairs`, and `poses` are the poses of all bodies in the world.
    """
    total = [Force.zero() for _ in poses]
    for pair, one in zip(pairs, found, strict=True):
        for body, sign in ((pair.contact.at.body, 1.0), (pair.surface.place.body, -1.0)):
            if body:
                total[body] = total[body] + one.on(poses[body], poses[body]) * sign
    return np.array([F.array for F in total[1:]])


def elastic_energy(contact: ContactLaw, number: Number, anchor: Array, at: ContactKinematics) -> Number:
    """Return the elastic energy [J] of a contact: of the normal spring and of the anchor spring.

    `number` is the contact's state, `anchor` (3,) [m] its anchor, and `at` its kinematics.
    """
    depth, stretch = maximum(-at.distance, 0.0), tangential(at.normal, at.point - anchor)
    along = where(number > APART, dot(stretch, stretch), 0.0)
    pressed = depth * depth if contact.dissipation is None else 0.8 * depth * depth * np.sqrt(depth)
    return 0.5 * (contact.stiffness * pressed + contact.tangential_stiffness * along)


def wrenches_from_forces(
    pairs: Sequence[Pair], forces: Array, there: Sequence[ContactKinematics], poses: Sequence[Transform]
) -> Array:
    """Return the wrench (nbodies, 6) [N, N m] on each body due to given contact forces (n, 3) [N] of n contact pairs.

    The forces are in world axes; in forces (n, 6) the last three columns are torques [N m]. The wrenches are about the
    origins and in the axes of the bodies, which have the world poses `poses`. `there` has the kinematics of each
    contact pair.
    """
    total = [Force.zero() for _ in poses]
    for pair, force, at in zip(pairs, forces, there, strict=True):
        for body, sign in ((pair.contact.at.body, 1.0), (pair.surface.place.body, -1.0)):
            push = poses[body].R.T @ force[:3] * sign
            turn = cross(at.on(poses[body]), push)
            if len(force) > 3:
                turn = turn + poses[body].R.T @ force[3:] * sign
            total[body] = total[body] + Force(push, turn)
    return np.array([F.array for F in total[1:]])
