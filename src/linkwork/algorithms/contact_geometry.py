"""Contact kinematics: positions and velocities of contacts on surfaces, and their Jacobians."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.algorithms.kinematics import kinematics, world_poses
from linkwork.algorithms.tree_traversal import to_meeting
from linkwork.model.elements.contact import Pair
from linkwork.model.mechanism import Mechanism
from linkwork.spatial import Motion, Transform
from linkwork.spatial.scalar import Array, Number, cross


class Meeting(NamedTuple):
    """Kinematics of a contact point near a surface, in the surface's frame and axes.

    `distance` [m] is negative inside the surface; `normal` (3,) points outwards. `point` (3,) [m] is the point of the
    contact nearest to the surface, `velocity` (3,) [m/s] the velocity of the material there, and `turning` (3,) [rad/s]
    the angular velocity of the contact's body, both relative to the surface. On a rolling sphere the nearest material
    point changes: `rolling` (3,) [m/s] is the velocity of `point` minus `velocity`, zero for a contact point. `bend`
    (3, 3) [1/m] is the derivative of the normal along the surface, `pose` the surface's pose in the world.
    """

    distance: Number
    normal: Array
    point: Array
    velocity: Array
    turning: Array
    rolling: Array
    bend: Array
    pose: Transform

    def on(self, body: Transform) -> Array:
        """The point (3,) [m] in the frame of a body with the given pose in the world."""
        return body.R.T @ (self.pose.point(self.point) - body.p)


def meetings(mechanism: Mechanism, q: Array, v: Array) -> tuple[list[Meeting], list[Transform]]:
    """Kinematics of every contact pair of a tree, and the poses of all bodies, at q (nq,) [rad, m] and v (nv,)."""
    motion = kinematics(mechanism, q, v)
    poses = world_poses(mechanism, motion.X)
    return [_meeting(pair, poses, motion.twist) for pair in mechanism.contact_pairs], poses


def _meeting(pair: Pair, poses: list[Transform], twists: list[Motion]) -> Meeting:
    contact, surface = pair
    on, under = contact.at.body, surface.place.body
    pose = poses[under] @ surface.place.pose
    centre = pose.R.T @ (poses[on].point(contact.at.pose.p) - pose.p)
    distance, normal, bend = surface.shape.near(centre)
    # Twist of the contact's body relative to the surface, in its axes and about its origin
    V = _seen(pose, poses[on], twists[on]) - _seen(pose, poses[under], twists[under])
    point = centre - normal * contact.radius
    velocity = V.linear + cross(V.angular, point)
    drift = V.linear + cross(V.angular, centre)  # velocity of the centre
    rolling = (cross(V.angular, normal) - bend @ drift) * contact.radius
    return Meeting(distance - contact.radius, normal, point, velocity, V.angular, rolling, bend, pose)


def _seen(pose: Transform, body: Transform, twist: Motion) -> Motion:
    """A twist given in a body's frame, in the frame with the given pose."""
    return pose.down(body.up(twist))


def contact_rows(
    mechanism: Mechanism, X: list[Transform], S: list[Motion], pair: Pair, at: Meeting, foot: Array | None = None
) -> Array:
    """Contact Jacobian J (6, nv) of a tree: J v is linear and angular velocity of the contact relative to the surface.

    The result is in the surface's axes. X are the poses of all bodies in the world, S the joints' motion subspaces. The
    surface's velocity is taken at the contact's point, or at the surface point `foot` (3,) [m] if they are far apart.
    """
    columns = list(np.zeros((mechanism.nv, 6)))
    on, under = to_meeting(mechanism, pair.contact.at.body, pair.surface.place.body)
    for joints, sign, point in ((on, 1.0, at.point), (under, -1.0, at.point if foot is None else foot)):
        for j in joints:
            V = _seen(at.pose, X[j.o], S[j.o]) * sign
            columns[j.v] = list(Motion(V.linear + cross(V.angular, point), V.angular).array.T)
    return np.array(columns).T
