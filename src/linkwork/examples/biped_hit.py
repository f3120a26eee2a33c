"""Wendlandt's biped, hit in the back by a thrown block while it rises: his second experiment (section 4.3)."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.algorithms.contact_kinematics import contact_kinematics
from linkwork.control import balance
from linkwork.control.controlled_plant import Controller
from linkwork.examples import biped
from linkwork.examples.catalogue import Claim
from linkwork.model import Box, Free, Mechanism
from linkwork.spatial.scalar import Array

# trunk pose of the controller's target, rotated by 15 degrees about -x, as printed
TARGET = (-0.01, 0.0, 1.14, 0.99144486, -0.13052619, 0.0, 0.0)
MASS = 1.8  # mass of the block [kg]
PLACE = np.array((0.5, 0.1, 1.2))  # position of the block at the start [m]
SPEED = np.array((-4.5, 0.0, 0.2))  # velocity of the block at the start [m/s]

# Values that the paper does not give. With an edge of this length, the block hits the back after about 0.08 s. The back
# is so soft that the block rebounds with a fifth of its speed. Contact forces act on the inscribed sphere of the block
EDGE = 0.08  # length of the edges of the block [m]
STIFFNESS, DAMPING = 1e5, 400.0  # [N/m], [N s/m] of the contact between block and back
FRICTION = 0.3
REACH = 0.155  # x of the block's centre when it hits the back [m], approximate


def build() -> Mechanism:
    """Build biped and block, with contacts between block, back and floor.

    The keyframe "start" is Wendlandt's initial state.
    """
    b = biped.builder("biped_hit")
    moment = MASS * EDGE**2 / 6.0
    b.body("block", MASS, inertia=(moment,) * 3).joint("throw", Free(), "world", "block")
    b.geometry("block", Box((EDGE,) * 3))
    b.surface("back", Box(biped.BACK), "trunk")
    b.touch(
        "block", "block", radius=0.5 * EDGE, stiffness=STIFFNESS, damping=DAMPING, friction=FRICTION,
        against=("back", "floor"),
    )  # fmt: skip
    q = {**biped.start(), "throw": np.array([*PLACE, 1.0, 0.0, 0.0, 0.0])}
    return b.keyframe("start", q, {"throw": np.array([*SPEED, 0.0, 0.0, 0.0])}).build()


def controller(m: Mechanism, **options: Any) -> Controller:
    """Return Wendlandt's balance controller, for `lw.sampled(controller(m), 500)`.

    See `balance` for `options`.
    """
    return balance(m, biped.FEET, TARGET, biped.KP, biped.KD, **options)


def arguments(duration: float = biped.DURATION) -> dict[str, Any]:
    """Return keyword arguments for `lw.simulate`: the biped under Wendlandt's controller, for `duration` [s]."""
    m = build()
    return biped.simulation_arguments(m, controller(m), duration) | biped.BALANCED


def thrown(speed: float, y: float = PLACE[1], height: float = 1.18) -> tuple[Array, Array]:
    """Return coordinates (7,) [m, quaternion] and velocity (6,) of a block that is thrown at the biped's back.

    `speed` [m/s] is the speed along -x. The block hits the back at `height` [m]; `y` [m] is its world y coordinate.
    """
    flight = (PLACE[0] - REACH) / speed
    rise = (height - PLACE[2]) / flight + 0.5 * biped.GRAVITY * flight
    return np.array([PLACE[0], y, PLACE[2], 1.0, 0.0, 0.0, 0.0]), np.array([-speed, 0.0, rise, 0.0, 0.0, 0.0])


def claim() -> Claim:
    """Check that the block hits the back of a biped at rest after 0.0766 s.

    At this time, given in closed form, the inscribed sphere of the block must touch the plane of the back. Return the
    measured error and its tolerance as a `Claim`.
    """
    m = build()
    key = m.keyframes["start"]
    R = Free().transform(key.q[:7]).R
    plane, normal = np.array(biped.START[:3]), R[:, 0]
    # The sphere touches the back at the time t for which normal . (place + speed t - g t^2 / 2 - plane) equals half the
    # trunk's depth plus the radius of the sphere
    away = normal @ (PLACE - plane) - 0.5 * (biped.BACK[0] + EDGE)
    falls = -0.5 * biped.GRAVITY * normal[2]
    rate = normal @ SPEED
    t = 2.0 * away / (-rate + np.sqrt(rate * rate - 4.0 * falls * away))
    q = key.q.copy()
    q[m.joints["throw"].q][:3] = PLACE + SPEED * t - np.array([0.0, 0.0, 0.5 * biped.GRAVITY * t * t])
    there, _ = contact_kinematics(m, q, key.v)
    at = {pair.name: float(meeting.distance) for pair, meeting in zip(m.contact_pairs, there, strict=True)}
    sentence = f"the block hits the back of a biped at rest after {t:.4f} s"
    return Claim(sentence, abs(at["block on back"]), 1e-12)
