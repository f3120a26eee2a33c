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
from linkwork.spatial.scalar import Array, Number, cross, dot, maximum, where

APART, SLIDING, STOPPING, STICKING, SLIPPING, PULLED = 1.0, 2.0, 3.0, 4.0, 5.0, 6.0
TINY = 1e-300
NOTHING = np.zeros(3)


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
    """What a contact does in one state: `force` (3,) [N] on its body, in the surface's axes, and how it changes.

    With the position and velocity of the contact it changes by -`stiffness` (3, 3) [N/m] and -`damping` (3, 3) [N s/m].
    `viscous` (3, 3) [N s/m] is the symmetric part of the latter that always takes energy. `torque` (3,) [N m] brakes a
    ball, as -`braking` (3, 3) [N m s] times its angular velocity. `number` is the state.
    """

    number: Number
    force: Array
    stiffness: Array
    damping: Array
    viscous: Array
    torque: Array
    braking: Array
    at: Meeting

    def on(self, body: Transform, turned: Transform) -> Force:
        """The wrench on a body that is in the pose `body`, in its frame where it has turned to the other pose."""
        push = turned.R.T @ (self.at.pose.R @ self.force)
        wrench = Force(push, cross(self.at.on(body), push))
        return wrench + Force(NOTHING, turned.R.T @ (self.at.pose.R @ self.torque)) if self.brakes else wrench

    @property
    def brakes(self) -> bool:
        """Whether there may be a torque."""
        return self.torque is not NOTHING


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
    return Grip(after, n * normal + along, stiffness, damping, viscous, *_braked(contact, normal, at), at)


def _pressed(contact: Contact, distance: Number, speed: Number, damper: Number) -> tuple[Number, Number, Number]:
    """The force [N] along the normal, if it is not negative, and what it loses by distance [N/m] and speed [N s/m]."""
    if contact.dissipation is None:
        drag = contact.damping * damper
        return -(contact.stiffness * distance + drag * speed), contact.stiffness, drag
    depth = maximum(-distance, 0.0)  # Hunt and Crossley: the damper is as deep as the contact, and sets in slowly
    root = np.sqrt(depth)
    spring, damped = contact.stiffness * depth * root, 1.0 - contact.dissipation * speed
    return spring * damped, 1.5 * contact.stiffness * root * damped, spring * contact.dissipation


def _braked(contact: Contact, normal: Number, at: Meeting) -> tuple[Array, Array]:
    """The torque (3,) [N m] against rolling and spinning, and what multiplies the angular velocity in it (3, 3)."""
    if not (contact.rolling or contact.spinning):
        return NOTHING, np.zeros((3, 3))
    slow = contact.rest_speed / contact.radius
    spin = dot(at.normal, at.turning)
    roll = at.turning - at.normal * spin
    N = np.outer(at.normal, at.normal)
    over = contact.rolling * normal / maximum(np.sqrt(dot(roll, roll) + TINY), slow)
    about = contact.spinning * normal / maximum(abs(spin), slow)
    braking = (np.eye(3) - N) * over + N * about
    return -(roll * over + at.normal * (spin * about)), braking


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
