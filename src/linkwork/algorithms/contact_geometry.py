"""Where contacts are on surfaces, how they move there, and how joints move them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.algorithms.kinematics import kinematics, world_poses
from linkwork.algorithms.sweeps import to_meeting
from linkwork.model.elements.contact import Pair
from linkwork.model.mechanism import Mechanism
from linkwork.spatial import Motion, Transform
from linkwork.spatial.scalar import Array, Number, cross


class Meeting(NamedTuple):
    """A contact near a surface, in the surface's frame and axes.

    `distance` [m] is negative where it is inside, `normal` (3,) points outwards, `point` (3,) [m] is the contact's
    point that is nearest to the surface, `velocity` (3,) [m/s] that of the material there and `turning` (3,) [rad/s]
    that of the contact's body, both as seen from the surface. Where a ball rolls, other material becomes the nearest:
    the point is faster than it by `rolling` (3,) [m/s], which is zero for points. `bend` (3, 3) [1/m] is how the
    normal changes along the surface, `pose` the surface's in the world.
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
        """The point (3,) [m] in the frame of a body with that pose in the world."""
        return body.R.T @ (self.pose.point(self.point) - body.p)


def meetings(mechanism: Mechanism, q: Array, v: Array) -> tuple[list[Meeting], list[Transform]]:
    """Every pair of a tree that may touch, and the poses of all bodies, in one state q (nq,) [rad, m] and v (nv,)."""
    motion = kinematics(mechanism, q, v)
    poses = world_poses(mechanism, motion.X)
    return [_meeting(pair, poses, motion.twist) for pair in mechanism.contact_pairs], poses


def _meeting(pair: Pair, poses: list[Transform], twists: list[Motion]) -> Meeting:
    contact, surface = pair
    on, under = contact.at.body, surface.place.body
    pose = poses[under] @ surface.place.pose
    centre = pose.R.T @ (poses[on].point(contact.at.pose.p) - pose.p)
    distance, normal, bend = surface.shape.near(centre)
    # Twist of the contact's body as seen from the surface, in its axes and about its origin
    V = _seen(pose, poses[on], twists[on]) - _seen(pose, poses[under], twists[under])
    point = centre - normal * contact.radius
    velocity = V.linear + cross(V.angular, point)
    drift = V.linear + cross(V.angular, centre)  # of the centre
    rolling = (cross(V.angular, normal) - bend @ drift) * contact.radius
    return Meeting(distance - contact.radius, normal, point, velocity, V.angular, rolling, bend, pose)


def _seen(pose: Transform, body: Transform, twist: Motion) -> Motion:
    """A body's twist, given in its frame, in the frame of that pose."""
    return pose.down(body.up(twist))


def contact_rows(
    mechanism: Mechanism, X: list[Transform], S: list[Motion], pair: Pair, at: Meeting, foot: Array | None = None
) -> Array:
    """J (6, nv) of a tree with J v = velocity and turn of the contact on the surface, in the surface's axes.

    X are the poses of all bodies in the world and S the joints' subspaces. The surface is met at the contact's point,
    or at its own point `foot` (3,) [m] where they are far apart.
    """
    columns = list(np.zeros((mechanism.nv, 6)))
    on, under = to_meeting(mechanism, pair.contact.at.body, pair.surface.place.body)
    for joints, sign, point in ((on, 1.0, at.point), (under, -1.0, at.point if foot is None else foot)):
        for j in joints:
            V = _seen(at.pose, X[j.o], S[j.o]) * sign
            columns[j.v] = list(Motion(V.linear + cross(V.angular, point), V.angular).array.T)
    return np.array(columns).T
