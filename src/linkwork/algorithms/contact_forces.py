"""Contact that slides and sticks: a spring and damper along the normal, friction with an anchor along the surface.

Each contact on a surface is a machine with six states (S4 section 5.2, Figure 5.1). It stays in 1 (apart), 2 (sliding)
or 4 (sticking to its anchor) from step to step; at the end of a step it may be in 3 (from sliding to sticking, where
the anchor is set), 5 (from sticking to sliding, where it is released) or 6 (pulled apart, without force), from which
the next step begins in 4, 2 and 2. Where several ways lead out of a state, the first of them that is open is taken:
first to 1, then to 6, then to 3 or 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.contact_geometry import Meeting
from linkwork.model.surfaces import Contact, Pair
from linkwork.spatial import Force, Transform
from linkwork.spatial.scalar import Array, Number, cross, dot, hat, maximum, where

APART, SLIDING, STOPPING, STICKING, SLIPPING, PULLED = 1.0, 2.0, 3.0, 4.0, 5.0, 6.0
TINY = 1e-300


class Memory(NamedTuple):
    """What contacts remember: the `number` of their states (n,), and `anchor` (n, 3) [m] in the surfaces' frames.

    `since` [s] is when the step began, from which the anchors of balls have rolled on. `foreseen` (n,) says, where the
    equations of a step are solved, which contacts were to be expected; without it, each is there if it is inside.
    """

    number: Sequence[Number]
    anchor: Sequence[Array]
    since: Number = 0.0
    foreseen: Sequence[Any] | None = None

    @staticmethod
    def of(kept: Array) -> Memory:
        """From (n, 4): the state's number, and the anchor."""
        return Memory([row[0] for row in kept], [row[1:] for row in kept])

    @property
    def kept(self) -> Array:
        """As (n, 4)."""
        return np.array([[number, *anchor] for number, anchor in zip(self.number, self.anchor, strict=True)])

    def begun(self, since: Number) -> Memory:
        """As a step begins, at a time [s]: in a state that can last."""
        number = [where(n == STOPPING, STICKING, where(n >= SLIPPING, SLIDING, n)) for n in self.number]
        return self._replace(number=number, since=since)


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


def grip(contact: Contact, number: Number, anchor: Array, at: Meeting, foreseen: Any = None) -> Grip:
    """The force of a contact that began the step in state `number`, and the state it is in at `at`.

    A damper sets in at once, and equations of a step in which it did might have no solution: where the contact was not
    `foreseen`, its spring acts alone through the step.
    """
    n, u, friction = at.normal, at.velocity, contact.friction
    inside = at.distance < 0.0
    closed = inside if foreseen is None else inside | foreseen
    damper = 1.0 if foreseen is None else where(foreseen, 1.0, 0.0)
    speed_n = dot(n, u)
    slip = u - n * speed_n
    raw, slope, drag = _pressed(contact, at.distance, speed_n, damper)
    pressing = raw >= 0.0
    normal = where(closed, where(pressing, raw, 0.0), 0.0)
    on = where(closed, where(pressing, 1.0, 0.0), 0.0)

    speed = np.sqrt(dot(slip, slip) + TINY)
    slow = maximum(speed, contact.rest_speed)
    way = slip / slow  # shorter than one below the rest speed

    stretch = _along(n, at.point - anchor)
    hold = -(stretch * contact.tangential_stiffness + slip * contact.tangential_damping)
    size, limit = np.sqrt(dot(hold, hold) + TINY), friction[0] * normal
    slips = size > limit
    clip = where(slips, limit / size, 1.0)

    sticks, fast = number == STICKING, speed > contact.rest_speed
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
    turned = (P - np.outer(way, way) * where(fast, 1.0, 0.0)) * (friction[1] * normal / slow)
    stiffness = pushed * slope + where(sticks, held * contact.tangential_stiffness, np.zeros((3, 3)))
    damping = pushed * drag + where(sticks, held * contact.tangential_damping, turned)
    secant = where(sticks, contact.tangential_damping * clip * on, friction[1] * normal / slow)
    viscous = N * (drag * on) + P * secant
    found = Grip(after, n * normal + along, None, stiffness, damping, viscous, at)
    return _braked(contact, found, normal, slope * on, drag * on) if contact.rolling or contact.spinning else found


def step_change(contact: Contact, found: Grip, h: Number) -> Array:
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


def _pressed(contact: Contact, distance: Number, speed: Number, damper: Number) -> tuple[Number, Number, Number]:
    """The force [N] along the normal, if it is not negative, and what it loses by distance [N/m] and speed [N s/m]."""
    if contact.dissipation is None:
        drag = contact.damping * damper
        return -(contact.stiffness * distance + drag * speed), contact.stiffness, drag
    depth = maximum(-distance, 0.0)  # Hunt and Crossley: the damper is as deep as the contact, and sets in slowly
    root = np.sqrt(depth)
    spring, damped = contact.stiffness * depth * root, 1.0 - contact.dissipation * speed
    return spring * damped, 1.5 * contact.stiffness * root * damped, spring * contact.dissipation


def _braked(contact: Contact, found: Grip, normal: Number, slope: Number, drag: Number) -> Grip:
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


def _along(n: Array, x: Array) -> Array:
    """The part of x along a surface with normal n."""
    return x - n * dot(n, x)


def grips(pairs: Sequence[Pair], memory: Memory, t: Number, there: Sequence[Meeting]) -> list[Grip]:
    """What all contacts do at the time t [s], given what they remember from the beginning of the step."""
    found = []
    for k, (pair, at) in enumerate(zip(pairs, there, strict=True)):
        anchor = memory.anchor[k] + at.rolling * (t - memory.since)
        foreseen = None if memory.foreseen is None else memory.foreseen[k]
        found.append(grip(pair.contact, memory.number[k], anchor, at, foreseen))
    return found


def contact_wrenches(pairs: Sequence[Pair], found: Sequence[Grip], poses: list[Transform]) -> Array:
    """Wrenches (nbodies, 6) [N, N m] of all contacts on bodies, about their origins in their frames."""
    total = [Force.zero() for _ in poses]
    for pair, one in zip(pairs, found, strict=True):
        for body, sign in ((pair.contact.at.body, 1.0), (pair.surface.place.body, -1.0)):
            if body:
                total[body] = total[body] + one.on(poses[body], poses[body]) * sign
    return np.array([F.array for F in total[1:]])


def stored(contact: Contact, number: Number, anchor: Array, at: Meeting) -> Number:
    """Energy [J] in the springs of a contact in a state: of its depth, and where it sticks of its anchor."""
    depth, stretch = maximum(-at.distance, 0.0), _along(at.normal, at.point - anchor)
    along = where((number == STICKING) | (number == SLIPPING), dot(stretch, stretch), 0.0)
    pressed = depth * depth if contact.dissipation is None else 0.8 * depth * depth * np.sqrt(depth)
    return 0.5 * (contact.stiffness * pressed + contact.tangential_stiffness * along)
