"""A block on an incline slightly below the friction angle: it sticks without creeping."""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.compliant_contact import STICKING, contact_force
from linkwork.algorithms.contact_kinematics import contact_kinematics
from linkwork.examples.catalogue import Claim
from linkwork.model import Box, Builder, Free, Mechanism, Plane, box_corners
from linkwork.spatial.scalar import Array

SIZE = (0.2, 0.2, 0.02)  # lengths of the edges [m]
MASS = 2.0  # mass of the block [kg]
STIFFNESS, DAMPING = 2e4, 200.0  # [N/m], [N s/m] of the contact at each corner of the lower face
# Overdamped along the incline, so that a corner that begins to stick hardly moves beyond its anchor
TANGENTIAL_DAMPING = 2000.0
FRICTION = 0.5
GRAVITY = 9.81
ANGLE = np.arctan(FRICTION) - np.radians(0.1)


def build(angle: float = ANGLE, friction: float = FRICTION, azimuth: float = 0.0) -> Mechanism:
    """Build a block at rest on an incline that descends by `angle` [rad] along its x axis.

    The block is rotated by `azimuth` [rad] about the normal. Its centre of mass is in its lower face, so that all
    corners carry equal loads and start to slip at the same angle.
    """
    b = Builder("incline_block", gravity=(0, 0, -GRAVITY))
    height, width, depth = MASS / 12.0 * (np.square(SIZE).sum() - np.square(SIZE))
    b.body("block", MASS, com=(0, 0, -0.5 * SIZE[2]), inertia=(height, width, depth))
    b.joint("float", Free(), "world", "block", rpy=(0, angle, 0))
    b.geometry("block", Box(SIZE))
    b.surface("incline", Plane(), rpy=(0, angle, 0))
    b.touch("corner", "block", box_corners(SIZE)[:4], stiffness=STIFFNESS, damping=DAMPING, friction=friction,
            tangential_damping=TANGENTIAL_DAMPING)  # fmt: skip
    return b.keyframe("start", {"float": resting(angle, azimuth)}).build()


def resting(angle: float = ANGLE, azimuth: float = 0.0) -> Array:
    """Return the coordinates (7,) [m, quaternion] at which the contact springs carry the weight of the block.

    The incline descends by `angle` [rad]; the block is rotated by `azimuth` [rad] about its normal.
    """
    depth = MASS * GRAVITY * np.cos(angle) / (4.0 * STIFFNESS)
    half = 0.5 * azimuth
    return np.array([0.0, 0.0, 0.5 * SIZE[2] - depth, np.cos(half), 0.0, 0.0, np.sin(half)])


def claim() -> Claim:
    """Check that the forces on the block are balanced at the tangential deflection weight sin(angle) / (4 k).

    k is the stiffness of one contact. All corners must stick. Return the measured error and its tolerance as a `Claim`.
    """
    m, down = build(), MASS * GRAVITY * np.sin(ANGLE)
    there, _ = contact_kinematics(m, resting(), np.zeros(6))
    stretch = np.array([down / (4.0 * STIFFNESS), 0.0, 0.0])
    contact_forces = [
        contact_force(pair.contact, STICKING, at.point - stretch, at)
        for pair, at in zip(m.contact_pairs, there, strict=True)
    ]
    total = sum(at.pose.R @ found.force for found, at in zip(contact_forces, there, strict=True)) + MASS * m.gravity
    lost = sum(abs(found.number - STICKING) for found in contact_forces)
    return Claim("the block sticks at 0.1 degree below the friction angle", float(np.abs(total).max() + lost), 1e-10)
