"""Contact kinematics: positions and velocities of contacts on surfaces, and their Jacobians."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.kinematics import accelerations, kinematics, world_poses
from linkwork.algorithms.tree_traversal import to_common_ancestor
from linkwork.model.elements.contact import Pair
from linkwork.model.mechanism import Mechanism
from linkwork.spatial import Motion, Transform
from linkwork.spatial.scalar import Array, Number, cross, dot


class ContactKinematics(NamedTuple):
    """Kinematics of one contact near a surface, in the surface's frame and axes.

    `distance` [m] is negative inside the surface; `normal` (3,) points outwards. `point` (3,) [m] is the point of the
    contact nearest to the surface. `velocity` (3,) [m/s] is the velocity of the material at that point, and `turning`
    (3,) [rad/s] the angular velocity of the contact's body, both relative to the surface. On a rolling sphere the
    nearest material point changes: `rolling` (3,) [m/s] is the velocity of `point` minus `velocity`, zero for a contact
    point without radius. `curvature` (3, 3) [1/m] is the derivative of the normal with respect to the position of the
    contact, and `pose` the surface's pose in the world.
    """

    distance: Number
    normal: Array
    point: Array
    velocity: Array
    turning: Array
    rolling: Array
    curvature: Array
    pose: Transform

    def on(self, body: Transform) -> Array:
        """Return the contact point (3,) [m] in the frame of a body; `body` is the world pose of that body."""
        return body.R.T @ (self.pose.point(self.point) - body.p)


def contact_kinematics(mechanism: Mechanism, q: Array, v: Array) -> tuple[list[ContactKinematics], list[Transform]]:
    """Return the kinematics of all contact pairs of a tree, and the world poses of its bodies.

    q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities.
    """
    motion = kinematics(mechanism, q, v)
    poses = world_poses(mechanism, motion.X)
    return [_pair_kinematics(pair, poses, motion.twist) for pair in mechanism.contact_pairs], poses


def _pair_kinematics(pair: Pair, poses: list[Transform], twists: list[Motion]) -> ContactKinematics:
    """Return the kinematics of one contact pair, from the world poses and the twists of all bodies."""
    contact, surface = pair
    on, under = contact.at.body, surface.place.body
    pose = poses[under] @ surface.place.pose
    centre = pose.R.T @ (poses[on].point(contact.at.pose.p) - pose.p)
    distance, normal, bend = surface.near(centre, contact.radius)
    # Twist of the contact's body relative to the surface, in its axes and about its origin
    V = _twist_in_frame(pose, poses[on], twists[on]) - _twist_in_frame(pose, poses[under], twists[under])
    point = centre - normal * contact.radius
    velocity = V.linear + cross(V.angular, point)
    drift = V.linear + cross(V.angular, centre)  # velocity of the sphere's centre
    rolling = (cross(V.angular, normal) - bend @ drift) * contact.radius
    return ContactKinematics(distance - contact.radius, normal, point, velocity, V.angular, rolling, bend, pose)


class ContactRates(NamedTuple):
    """Speeds of a contact along its contact axes, and their time derivatives.

    `speeds` (6,) [m/s, rad/s] are the components of the velocity relative to the surface, normal first, then those of
    the angular velocity. `rates` (6,) [m/s^2, rad/s^2] are their time derivatives.
    """

    speeds: Array
    rates: Array


def contact_rates(mechanism: Mechanism, q: Array, v: Array, a: Array, axes: Sequence[Array]) -> list[ContactRates]:
    """Return the speeds of all contact pairs of a tree along their contact axes, and the rates of these speeds.

    The tree is at q (nq,), with velocities v (nv,) and accelerations a (nv,). `axes` are the contact axes of each pair
    at q: columns (3, 3) in the surface's axes, normal first. The axes turn with the normal, but not about the normal.
    """
    motion = kinematics(mechanism, q, v)
    acc, poses = accelerations(mechanism, motion, a), world_poses(mechanism, motion.X)
    each = zip(mechanism.contact_pairs, axes, strict=True)
    return [_pair_rates(pair, own, poses, motion.twist, acc) for pair, own in each]


def _pair_rates(
    pair: Pair, axes: Array, poses: list[Transform], twists: list[Motion], acc: list[Motion]
) -> ContactRates:
    """Return the speeds of one contact pair along its contact `axes` (3, 3), and their time derivatives.

    `poses` are the world poses, `twists` the twists and `acc` the accelerations of all bodies, in the bodies' frames.
    """
    at, on, under = _pair_kinematics(pair, poses, twists), pair.contact.at.body, pair.surface.place.body
    base, u, w = _twist_in_frame(at.pose, poses[under], twists[under]), at.velocity, at.turning
    V = _twist_in_frame(at.pose, poses[on], twists[on]) - base
    # V is in axes that move with the surface, hence the last term
    A = (
        _twist_in_frame(at.pose, poses[on], acc[on])
        - _twist_in_frame(at.pose, poses[under], acc[under])
        - base.cross(V)
    )
    u_rate = A.linear + cross(A.angular, at.point) + cross(w, u + at.rolling)
    n_rate = at.curvature @ (u + cross(w, at.normal) * pair.contact.radius)
    turned = np.array([dot(n_rate, axis) for axis in axes.T[1:]])  # rate at which the normal turns to each tangent

    def rates(x: Array, rate: Array) -> Array:
        fixed, along = axes.T @ rate, axes.T @ x
        return np.array([fixed[0] + dot(n_rate, x), *(fixed[1:] - turned * along[0])])

    return ContactRates(
        np.concatenate([axes.T @ u, axes.T @ w]), np.concatenate([rates(u, u_rate), rates(w, A.angular)])
    )


def _twist_in_frame(pose: Transform, body: Transform, twist: Motion) -> Motion:
    """Return the twist of a body for a second frame that is fixed to the body, in the axes of the second frame.

    `twist` is the twist in the body's own frame. `body` and `pose` are the world poses of the body and of the second
    frame.
    """
    return pose.down(body.up(twist))


def contact_rows(
    mechanism: Mechanism,
    X: list[Transform],
    S: list[Motion],
    pair: Pair,
    at: ContactKinematics,
    foot: Array | None = None,
) -> Array:
    """Return the contact Jacobian J (6, nv) of a tree: J v is the velocity of the contact relative to the surface.

    J v has the linear velocity [m/s] at the contact's point, then the angular velocity [rad/s], in the surface's axes.
    X are the poses of all bodies in the world, S the joints' motion subspaces. The surface's velocity is taken at the
    contact's point, or at the surface point `foot` (3,) [m] if the two points are far apart. `pair` is the contact pair
    and `at` its kinematics.
    """
    columns = list(np.zeros((mechanism.nv, 6)))
    on, under = to_common_ancestor(mechanism, pair.contact.at.body, pair.surface.place.body)
    for joints, sign, point in ((on, 1.0, at.point), (under, -1.0, at.point if foot is None else foot)):
        for j in joints:
            V = _twist_in_frame(at.pose, X[j.o], S[j.o]) * sign
            columns[j.v] = list(Motion(V.linear + cross(V.angular, point), V.angular).array.T)
    return np.array(columns).T
