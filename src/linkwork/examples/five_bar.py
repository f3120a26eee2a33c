"""A five-bar arm: two motors on the ground move its tip in a horizontal plane; springs pull it to a home position."""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.constraints.constrained_dynamics import forward_dynamics
from linkwork.algorithms.mass_matrix import mass_matrix
from linkwork.examples.catalogue import Claim
from linkwork.examples.planar_linkage_formulas import bar_inertia, circle_intersection
from linkwork.model import Builder, Mechanism, Revolute
from linkwork.spatial.scalar import Array

INNER, OUTER, APART = 0.3, 0.45, 0.25  # lengths of inner and outer links, and distance between shoulders [m]
MASSES = (0.9, 0.6)  # masses of inner and outer links [kg]
HOME = (2.1, 0.9)  # shoulder angles of the home position [rad]
STIFFNESS = 8.0  # stiffness of the springs in the shoulders [N m/rad]
NAMES = ("left shoulder", "left elbow", "right shoulder", "right elbow")
Z = (0, 0, 1)


def build(left: float = 2.4, right: float = 0.9) -> Mechanism:
    """Build the arm in the plane x, y, with gravity along -z.

    In the keyframe "start" the arm is closed, with the shoulder angles `left` and `right` [rad]. The ends of the left
    and the right chain are pinned together at the tip. Drives "left" and "right" act on the shoulders; the elbows have
    no motors.
    """
    b = Builder("five_bar")
    for side, x, home in (("left", 0.0, HOME[0]), ("right", APART, HOME[1])):
        for part, mass, length in (("inner", MASSES[0], INNER), ("outer", MASSES[1], OUTER)):
            b.body(f"{side} {part}", mass, com=(length / 2, 0, 0), inertia=bar_inertia(mass, length))
        shoulder = f"{side} shoulder"
        b.joint(shoulder, Revolute(Z), "world", f"{side} inner", at=(x, 0, 0), stiffness=STIFFNESS, rest=(home,))
        b.joint(f"{side} elbow", Revolute(Z), f"{side} inner", f"{side} outer", at=(INNER, 0, 0))
        b.drive(side, {shoulder: 1.0})
    b.frame("tip", body="left outer", at=(OUTER, 0, 0))
    b.close("tip pin", Revolute(Z), "left outer", "right outer", at=(OUTER, 0, 0), to=(OUTER, 0, 0))
    return b.keyframe("start", dict(zip(NAMES, coordinates(left, right), strict=True))).build()


def elbows(left: float, right: float) -> tuple[Array, Array]:
    """Return the positions of the left and right elbow, (2,) [m] each, for the shoulder angles `left` and `right`
    [rad].
    """
    first = INNER * np.array([np.cos(left), np.sin(left)])
    return first, np.array([APART, 0.0]) + INNER * np.array([np.cos(right), np.sin(right)])


def tip(left: float, right: float) -> Array:
    """Return the position (2,) [m] of the arm's tip: the upper intersection of two circles about the elbows.

    `left` and `right` [rad] are the shoulder angles.
    """
    first, second = elbows(left, right)
    return circle_intersection(first, second, OUTER, OUTER)


def coordinates(left: float, right: float) -> Array:
    """Return the coordinates q (4,) [rad] of the closed arm for the shoulder angles `left` and `right` [rad].

    Shoulder angles are measured from the x axis, elbow angles from the inner links.
    """
    end = tip(left, right)
    turns = [np.arctan2(*(end - elbow)[::-1]) for elbow in elbows(left, right)]
    return np.array([left, turns[0] - left, right, turns[1] - right])


def tip_jacobian(left: float, right: float) -> Array:
    """Return the Jacobian (2, 2) [m/rad] of the tip position for the shoulder angles `left` and `right` [rad].

    The Jacobian follows from the constant lengths of the outer links (Gosselin).
    """
    end, (first, second) = tip(left, right), elbows(left, right)
    outer = np.array([end - first, end - second])
    across = INNER * np.array([[-np.sin(left), np.cos(left)], [-np.sin(right), np.cos(right)]])
    return np.linalg.solve(outer, np.diag((outer * across).sum(axis=1)))


def claim() -> Claim:
    """Check that motor torques -J^T f balance a force f on the tip, so that accelerations are zero.

    Return the measured error and its tolerance as a `Claim`.
    """
    m, rng, worst = build(), np.random.default_rng(0), 0.0
    for _ in range(20):
        left, right = rng.uniform((1.8, 0.5), (2.6, 1.2))
        q, force = coordinates(left, right), rng.normal(size=2) * 10.0
        torques = -tip_jacobian(left, right).T @ force
        turn = q[0] + q[1]  # angle [rad] of the left outer link; the force acts at its end
        fx, fy = np.cos(turn) * force[0] + np.sin(turn) * force[1], np.cos(turn) * force[1] - np.sin(turn) * force[0]
        wrenches = np.zeros((4, 6))
        wrenches[m.bodies.index_of("left outer") - 1] = [fx, fy, 0.0, 0.0, 0.0, OUTER * fy]
        tau = np.zeros(4)
        tau[[0, 2]] = torques
        free = np.abs(np.linalg.solve(mass_matrix(m, q), tau)).max()
        worst = max(worst, np.abs(forward_dynamics(m, q, np.zeros(4), tau, wrenches).a).max() / free)
    return Claim(
        "acceleration of an arm whose motors balance a force on its tip, relative to that by the motors alone",
        float(worst),
        1e-10,
    )
