"""A scissor lift with any number of stages (default three), balanced by a spring at its foot."""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.constraints.constrained_dynamics import forward_dynamics
from linkwork.examples.catalogue import Claim
from linkwork.examples.planar_linkage_formulas import MovingLink, bar_inertia, input_force
from linkwork.model import Builder, Mechanism, PointOnLine, Revolute
from linkwork.spatial.scalar import Array

HALF = 0.5  # half the length of a bar [m]
BAR, LOAD = 2.0, 15.0  # masses of a bar and of the platform [kg]
WIDTH = 0.8  # width of the platform [m]
GRAVITY, STIFFNESS = 9.81, 1500.0  # gravity [m/s^2], stiffness of the spring at the foot [N m/rad]
Z, X = (0, 0, 1), (1, 0, 0)


def build(stages: int = 3, angle: float = 0.6) -> Mechanism:
    """Build a lift with `stages` stages in the plane x, y, with gravity along -y.

    In the keyframe "start" the bars have the angle `angle` [rad] to the ground. Bars "rise k" go up to the right, bars
    "lean k" to the left; bars are pinned to each other at their middles and ends. The foot of "lean 1" rolls on the
    ground, the upper end of the last "rise" bar under the platform. At 0.7 rad the spring supports the whole weight.
    """
    b = Builder("scissor_lift", gravity=(0, -GRAVITY, 0))
    inertia, rest = bar_inertia(BAR, 2 * HALF), 0.7 + weight(stages, 0.7) / STIFFNESS
    below = "world"
    for k in range(1, stages + 1):
        rise, lean = f"rise {k}", f"lean {k}"
        b.body(rise, BAR, com=(HALF, 0, 0), inertia=inertia).body(lean, BAR, inertia=inertia)
        if k == 1:
            b.joint("foot", Revolute(Z), "world", rise, stiffness=STIFFNESS, rest=(rest,))
        else:
            b.joint(f"left {k}", Revolute(Z), below, rise, at=(HALF, 0, 0))
        b.joint(f"middle {k}", Revolute(Z), rise, lean, at=(HALF, 0, 0))
        below = lean
    b.body("platform", LOAD, com=(WIDTH / 2, 0, 0), inertia=bar_inertia(LOAD, WIDTH))
    b.joint("hinge", Revolute(Z), below, "platform", at=(HALF, 0, 0))
    b.close("roller", PointOnLine(X), "world", "lean 1", to=(-HALF, 0, 0))
    for k in range(2, stages + 1):
        b.close(f"right {k}", Revolute(Z), f"rise {k - 1}", f"lean {k}", at=(2 * HALF, 0, 0), to=(-HALF, 0, 0))
    b.close("glider", PointOnLine(X), "platform", f"rise {stages}", to=(2 * HALF, 0, 0))
    b.drive("lift", {"foot": 1.0})
    joints = ["foot", "middle 1", *(f"{where} {k}" for k in range(2, stages + 1) for where in ("left", "middle"))]
    q = coordinates(stages, angle)
    return b.keyframe("start", dict(zip([*joints, "hinge"], q, strict=True))).build()


def coordinates(stages: int, angle: float) -> Array:
    """Return the coordinates q (2 stages + 1,) [rad] of the closed lift whose bars have the angle `angle` [rad].

    "rise" bars are at `angle`, "lean" bars at pi - `angle`.
    """
    pairs = [x for _ in range(stages) for x in (2 * angle - np.pi, np.pi - 2 * angle)]
    return np.array([angle, *pairs[1:], angle - np.pi])


def coordinate_derivatives(stages: int) -> Array:
    """Return the derivatives (2 stages + 1,) of the joint coordinates `coordinates` with respect to the bar angle."""
    return np.array([1.0, *[x for _ in range(stages) for x in (2.0, -2.0)][1:], 1.0])


def links(stages: int, angle: float) -> list[MovingLink]:
    """Return all bars and the platform as planar links whose poses depend on the bar angle [rad].

    The middle of stage k is at the height (2 k - 1) HALF sin(angle), where HALF is half the length of a bar.
    """
    c, s = HALF * np.cos(angle), HALF * np.sin(angle)
    inertia = bar_inertia(BAR, 2 * HALF)[2]
    found = []
    for up in range(1, 2 * stages, 2):
        for turn in (1.0, -1.0):
            found.append(MovingLink(BAR, inertia, np.array([-s, up * c, turn]), np.array([-c, -up * s, 0.0])))
    up = 2 * stages
    return [*found, MovingLink(LOAD, 0.0, np.array([0.0, up * c, 0.0]), np.array([0.0, -up * s, 0.0]))]


def weight(stages: int, angle: float) -> float:
    """Return the torque [N m] at the foot that supports the weight of bars and platform at the bar angle `angle` [rad].

    `stages` is the number of stages.
    """
    return input_force(links(stages, angle), 0.0, 0.0, GRAVITY)


def claim() -> Claim:
    """Check that the torque of Eksergian's equation gives the lift the predicted acceleration.

    The lifts have 1, 2, 3 and 5 stages. Return the measured error and its tolerance as a `Claim`.
    """
    rng, worst = np.random.default_rng(0), 0.0
    for stages in (1, 2, 3, 5):
        m = build(stages)
        for _ in range(5):
            angle, speed, acceleration = rng.uniform(0.3, 1.2), rng.normal() * 2, rng.normal() * 5
            tau = np.zeros(m.nv)
            tau[0] = input_force(links(stages, angle), speed, acceleration, GRAVITY)
            found = forward_dynamics(m, coordinates(stages, angle), speed * coordinate_derivatives(stages), tau).a
            expected = acceleration * coordinate_derivatives(stages)
            worst = max(worst, np.abs(found - expected).max() / max(1.0, abs(acceleration)))
    return Claim("relative error of the lift's acceleration against Eksergian's equation", float(worst), 1e-10)
