"""Contact that slides and sticks: a spring and damper along the normal, friction with an anchor along the surface.

Each contact on a surface is a machine with six states (S4 section 5.2, Figure 5.1). It stays in 1 (apart), 2 (sliding)
or 4 (sticking to its anchor) from step to step; at the end of a step it may be in 3 (from sliding to sticking, where
the anchor is set), 5 (from sticking to sliding, where it is released) or 6 (pulled apart, without force), from which
the next step begins in 4, 2 and 2. Where several ways lead out of a state, the first of them that is open is taken:
first to 1, then to 6, then to 3 or 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from linkwork.algorithms.contact_geometry import Meeting
from linkwork.model.elements.contact import Pair
from linkwork.spatial import Force, Transform
from linkwork.spatial.scalar import Array, Number, cross, dot, hat, maximum, where
from linkwork.tolerances import TINY

APART, SLIDING, STOPPING, STICKING, SLIPPING, PULLED = 1.0, 2.0, 3.0, 4.0, 5.0, 6.0


class ContactLaw(Protocol):
    """The numbers of a contact's force law; see `Builder.touch` for their meaning and units."""

    @property
    def radius(self) -> float:
        """Of the ball that touches [m]; 0 for a point."""
        ...

    @property
    def stiffness(self) -> Number:
        """Along the normal [N/m]."""
        ...

    @property
    def damping(self) -> Number:
        """Along the normal [N s/m]."""
        ...

    @property
    def tangential_stiffness(self) -> Number:
        """Between a sticking point and its anchor [N/m]."""
        ...

    @property
    def tangential_damping(self) -> Number:
        """Of a sticking point [N s/m]."""
        ...

    @property
    def friction(self) -> Any:
        """Static and dynamic coefficients of friction (2,)."""
        ...

    @property
    def rest_speed(self) -> Number:
        """Slip [m/s] below which a sliding point comes to stick."""
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
        """Hunt and Crossley's factor [s/m] of damping by depth; None without it."""
        ...


class Mode(NamedTuple):
    """On which side of its kinks the law of a contact is: whether it is `closed`, `pressing`, `fast` and `slips`.

    `along` (3,) [m/s] is its slip where it was found so, in the surface's axes.
    """

    closed: Any
    pressing: Any
    fast: Any
    slips: Any
    along: Array


class Memory(NamedTuple):
    """What contacts remember: the `number` of their states (n,), and `anchor` (n, 3) [m] in the surfaces' frames.

    They came into these states at `entered` (n,) [s]. `since` [s] is when the step began, from which the anchors of
    balls have rolled on. `foreseen` (n,) says, where the equations of a step are solved, which contacts were to be
    expected; without it, each is there if it is inside. `modes` (n,), where there are any, last through the step.
    """

    number: Sequence[Number]
    anchor: Sequence[Array]
    entered: Sequence[Number]
    since: Number = 0.0
    foreseen: Sequence[Any] | None = None
    modes: Sequence[Mode] | None = None

    @staticmethod
    def of(kept: Array) -> Memory:
        """From (n, 5): the state's number, the anchor, and when it came into the state."""
        return Memory([row[0] for row in kept], [row[1:4] for row in kept], [row[4] for row in kept])

    @property
    def kept(self) -> Array:
        """As (n, 5)."""
        rows = zip(self.number, self.anchor, self.entered, strict=True)
        return np.array([[number, *anchor, entered] for number, anchor, entered in rows])

    def begun(self, since: Number) -> Memory:
        """As a step begins, at a time [s]: in a state that can last."""
        return self._replace(number=[lasting(n) for n in self.number], since=since)


def lasting(number: Number) -> Number:
    """The state in which the next step begins."""
    return where(number == STOPPING, STICKING, where(number >= SLIPPING, SLIDING, number))


class Grip(NamedTuple):
    """What a contact does in one state: `force` (3,) [N] on its body, and how it changes, in the surface's axes.

    With the place and velocity of the contact it changes by -`stiffness` (3, 3) [N/m] and -`damping` (3, 3) [N s/m];
    `viscous` (3, 3) [N s/m] is a symmetric part of the latter that only takes energy. Where a `torque` (3,) [N m]
    brakes a ball, these are (6, 6), for force and torque, place and turn. `number` is the state.
    """

    number: Number
    force: Array
    torque: Array | None
    stiffness: Array
    damping: Array
    viscous: Array
    at: Meeting

    def on(self, body: Transform, turned: Transform) -> Force:
        """The wrench on a body that is in the pose `body`, in its frame where it has turned to the other pose."""
        push = turned.R.T @ (self.at.pose.R @ self.force)
        wrench = Force(push, cross(self.at.on(body), push))
        if self.torque is None:
            return wrench
        return wrench + Force(np.zeros(3), turned.R.T @ (self.at.pose.R @ self.torque))


def grip(
    contact: ContactLaw, number: Number, anchor: Array, at: Meeting, foreseen: Any = None, mode: Mode | None = None
) -> Grip:
    """The force of a contact that began the step in state `number`, and the state it is in at `at`.

    A damper sets in at once, and equations of a step in which it did might have no solution: where the contact was not
    `foreseen`, its spring acts alone through the step. A given `mode` lasts, so that the force has no kink.
    """
    n, u, friction = at.normal, at.velocity, contact.friction
    inside = at.distance < 0.0
    closed = mode.closed if mode is not None else inside if foreseen is None else inside | foreseen
    damper = 1.0 if foreseen is None else where(foreseen, 1.0, 0.0)
    speed_n = dot(n, u)
    slip = u - n * speed_n
    raw, slope, drag = _pressed(contact, at.distance, speed_n, damper)
    pressing = raw >= 0.0 if mode is None else mode.pressing
    normal = where(closed, where(pressing, raw, 0.0), 0.0)
    on = where(closed, where(pressing, 1.0, 0.0), 0.0)

    speed = np.sqrt(dot(slip, slip) + TINY)
    if mode is not None:  # backwards, where it has turned round
        speed = where(dot(slip, mode.along) < 0.0, -speed, speed)
    fast = speed > contact.rest_speed if mode is None else mode.fast
    slow = where(fast, speed, contact.rest_speed)
    way = slip / slow  # shorter than one below the rest speed

    hold = _hold(contact, anchor, at, slip)
    size, limit = np.sqrt(dot(hold, hold) + TINY), friction[0] * normal
    slips = dot(hold, hold) > limit * limit if mode is None else mode.slips
    clip = where(slips, limit / size, 1.0)

    sticks = number == STICKING
    along = where(sticks, hold * clip * on, way * (-friction[1] * normal))
    after = where(
        closed,
        where(
            number == APART,
            SLIDING,
            where(
                pressing,
                where(sticks, where(slips, SLIPPING, STICKING), where(fast, SLIDING, STOPPING)),
                PULLED,
            ),
        ),
        APART,
    )

    # Derivatives: the normal force acts along n, and along the surface by friction where it slides or slips
    P, N = np.eye(3) - np.outer(n, n), np.outer(n, n)
    unit = hold / size
    rubbed = where(sticks, where(slips, unit * friction[0], np.zeros(3)), way * -friction[1])
    pushed = np.outer(n + rubbed, n) * on
    held = (P - np.outer(unit, unit) * where(slips, 1.0, 0.0)) * (clip * on)
    turned = (P - np.outer(way, way) * where(fast, 1.0, 0.0)) * (friction[1] * normal / abs(slow))
    stiffness = pushed * slope + where(sticks, held * contact.tangential_stiffness, np.zeros((3, 3)))
    damping = pushed * drag + where(sticks, held * contact.tangential_damping, turned)
    secant = where(sticks, contact.tangential_damping * clip * on, friction[1] * normal / slow)
    viscous = N * (drag * on) + P * secant
    found = Grip(after, n * normal + along, None, stiffness, damping, viscous, at)
    return _braked(contact, found, normal, slope * on, drag * on) if contact.rolling or contact.spinning else found


class Measures(NamedTuple):
    """What decides on a contact's mode: its normal force [N], slip (3,) [m/s], and what its anchor needs too much [N].

    It has a mode where they, and its distance, have their signs; `slip` counts by how fast it is.
    """

    normal: Number
    slip: Array
    excess: Number


def _measures(contact: ContactLaw, anchor: Array, at: Meeting) -> Measures:
    speed = dot(at.normal, at.velocity)
    slip, normal = at.velocity - at.normal * speed, _pressed(contact, at.distance, speed, 1.0)[0]
    hold = _hold(contact, anchor, at, slip)
    return Measures(normal, slip, np.sqrt(dot(hold, hold)) - contact.friction[0] * normal)


def mode_of(contact: ContactLaw, anchor: Array, at: Meeting) -> Mode:
    """On which side of all kinks a contact is, where it is `at`."""
    normal, slip, excess = _measures(contact, anchor, at)
    fast = np.sqrt(dot(slip, slip)) > contact.rest_speed
    return Mode(at.distance < 0.0, normal >= 0.0, fast, excess > 0.0, slip)


def mode_margins(contact: ContactLaw, number: Number, anchor: Array, at: Meeting, mode: Mode) -> list[Number]:
    """How far a contact is from leaving a mode (3,): by its distance [m], its normal force [N], and along the surface.

    There it is by its slip [m/s] where it slides, by friction [N] where it sticks. What does not act has a margin of 1.
    """
    normal, slip, excess = _measures(contact, anchor, at)
    speed = np.sqrt(dot(slip, slip))
    over = where(dot(slip, mode.along) < 0.0, -speed, speed) - contact.rest_speed  # also where it has turned round
    sliding, sticking = where(mode.fast, over, -over), where(mode.slips, excess, -excess)
    along = where(number == STICKING, sticking, sliding)
    return [
        where(mode.closed, -at.distance, at.distance),
        where(mode.closed, where(mode.pressing, normal, -normal), 1.0),
        where(mode.closed, where(mode.pressing, along, 1.0), 1.0),
    ]


def step_change(contact: ContactLaw, found: Grip, h: Number) -> Array:
    """How the impulse in the middle of a step h [s] changes with the way to its end, turned round: (3, 3), or (6, 6).

    The way is that of the contact's material in its body's last pose. A ball that turns brings other material to the
    surface, and meets it elsewhere where it bends: beside the steep slope of friction that counts.
    """
    at, n, r = found.at, found.at.normal, contact.radius
    D, spun, skew = found.damping[:3, :3], hat(at.turning), hat(n)
    normal, speed = dot(n, found.force), dot(n, at.velocity)
    slip, along = at.velocity - n * speed, found.force - n * normal
    swings = D @ (np.outer(n, slip) - np.eye(3) * speed - spun * r)
    bent = (swings - np.eye(3) * normal + np.outer(n, along)) @ at.bend
    if not r:
        return (found.stiffness + bent) * (0.25 * h) + found.damping * 0.5
    law, none = found.stiffness * (0.25 * h) + found.damping * 0.5, np.zeros((3, 3))
    if len(law) == 3:
        law = np.block([[law, none], [none, none]])
    return law + np.block([[bent, (bent + D @ spun) @ skew * -r], [none, none]]) * (0.25 * h)


def _pressed(contact: ContactLaw, distance: Number, speed: Number, damper: Number) -> tuple[Number, Number, Number]:
    """The force [N] along the normal, if it is not negative, and what it loses by distance [N/m] and speed [N s/m]."""
    if contact.dissipation is None:
        drag = contact.damping * damper
        return -(contact.stiffness * distance + drag * speed), contact.stiffness, drag
    depth = maximum(-distance, 0.0)  # Hunt and Crossley: the damper is as deep as the contact, and sets in slowly
    root = np.sqrt(depth)
    spring, damped = contact.stiffness * depth * root, 1.0 - contact.dissipation * speed
    return spring * damped, 1.5 * contact.stiffness * root * damped, spring * contact.dissipation


def _braked(contact: ContactLaw, found: Grip, normal: Number, slope: Number, drag: Number) -> Grip:
    """The same with a torque against rolling and spinning; the normal force loses `slope` and `drag` by the normal."""
    n, turning = found.at.normal, found.at.turning
    rest = contact.rest_speed / contact.radius
    spin = dot(n, turning)
    roll = turning - n * spin
    rate = np.sqrt(dot(roll, roll) + TINY)
    over, about = maximum(rate, rest), maximum(abs(spin), rest)
    arm = roll * (contact.rolling / over) + n * (
        contact.spinning * spin / about
    )  # torque by normal force, turned round
    N, way = np.outer(n, n), roll / over
    P = np.eye(3) - N
    rolling, spinning = contact.rolling * normal / over, contact.spinning * normal / about
    bends = (P - np.outer(way, way) * where(rate > rest, 1.0, 0.0)) * rolling
    turned = bends + N * where(abs(spin) > rest, 0.0, spinning)
    none, leans = np.zeros((3, 3)), np.outer(arm, n)
    return found._replace(
        torque=-arm * normal,
        stiffness=np.block([[found.stiffness, none], [leans * -slope, none]]),
        damping=np.block([[found.damping, none], [leans * -drag, turned]]),
        viscous=np.block([[found.viscous, none], [none, P * rolling + N * spinning]]),
    )


def _hold(contact: ContactLaw, anchor: Array, at: Meeting, slip: Array) -> Array:
    """The force (3,) [N] of the spring and damper at a contact's anchor."""
    stretch = _along(at.normal, at.point - anchor)
    return -(stretch * contact.tangential_stiffness + slip * contact.tangential_damping)


def _along(n: Array, x: Array) -> Array:
    """The part of x along a surface with normal n."""
    return x - n * dot(n, x)


def grips(pairs: Sequence[Pair], memory: Memory, t: Number, there: Sequence[Meeting]) -> list[Grip]:
    """What all contacts do at the time t [s], given what they remember from the beginning of the step."""
    found = []
    for k, (pair, at) in enumerate(zip(pairs, there, strict=True)):
        anchor = memory.anchor[k] + at.rolling * (t - memory.since)
        foreseen = None if memory.foreseen is None else memory.foreseen[k]
        mode = None if memory.modes is None else memory.modes[k]
        found.append(grip(pair.contact, memory.number[k], anchor, at, foreseen, mode))
    return found


def contact_wrenches(pairs: Sequence[Pair], found: Sequence[Grip], poses: list[Transform]) -> Array:
    """Wrenches (nbodies, 6) [N, N m] of all contacts on bodies, about their origins in their frames."""
    total = [Force.zero() for _ in poses]
    for pair, one in zip(pairs, found, strict=True):
        for body, sign in ((pair.contact.at.body, 1.0), (pair.surface.place.body, -1.0)):
            if body:
                total[body] = total[body] + one.on(poses[body], poses[body]) * sign
    return np.array([F.array for F in total[1:]])


def stored(contact: ContactLaw, number: Number, anchor: Array, at: Meeting) -> Number:
    """Energy [J] in the springs of a contact in a state: of its depth, and where it sticks of its anchor."""
    depth, stretch = maximum(-at.distance, 0.0), _along(at.normal, at.point - anchor)
    along = where((number == STICKING) | (number == SLIPPING), dot(stretch, stretch), 0.0)
    pressed = depth * depth if contact.dissipation is None else 0.8 * depth * depth * np.sqrt(depth)
    return 0.5 * (contact.stiffness * pressed + contact.tangential_stiffness * along)


def wrenches_of(pairs: Sequence[Pair], forces: Array, there: Sequence[Meeting], poses: Sequence[Transform]) -> Array:
    """Wrenches (nbodies, 6) [N, N m] of forces (n, 3) [N] in the world's axes, one for each pair that may touch.

    Forces (n, 6) are followed by torques [N m].
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
