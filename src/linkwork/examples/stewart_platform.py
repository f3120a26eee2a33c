"""A Stewart platform: six telescopic legs with springs, universal joints at the bottom and ball joints at the top."""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.constraints.constrained_dynamics import active_constraints, consistent_velocity
from linkwork.examples.catalogue import Claim
from linkwork.examples.planar_linkage_formulas import bar_inertia
from linkwork.model import Ball, Builder, Free, Mechanism, Prismatic, Universal
from linkwork.spatial.rotation import matrix_from_quaternion, quaternion_about_axis
from linkwork.spatial.scalar import Array, cross

BASE, TOP = 0.6, 0.35  # radii of the circles of lower and upper leg ends [m]
SPREAD = 0.25  # half the angle [rad] between the two leg ends of a pair, about the centre of the circle
HEIGHT = 0.7  # height of the platform in the home position [m]
PLATFORM, CYLINDER, PISTON = 20.0, 2.0, 1.0  # masses of the platform, of a cylinder and of a piston [kg]
BARREL, STROKE = 0.4, 0.5  # lengths of a cylinder and of a piston [m]
STIFFNESS = 6e3  # stiffness of the spring in a leg [N/m]
LEGS = range(6)


def base_points() -> Array:
    """Return the lower ends (6, 3) [m] of the legs in the world."""
    angles = np.array([np.pi / 3 * (k + k % 2) + (1 - 2 * (k % 2)) * SPREAD for k in LEGS])
    return np.column_stack([BASE * np.cos(angles), BASE * np.sin(angles), np.zeros(6)])


def top_points() -> Array:
    """Return the upper ends (6, 3) [m] of the legs in the platform's frame, in pairs between the lower pairs."""
    angles = np.array([np.pi / 3 * (k + 1 - k % 2) - (1 - 2 * (k % 2)) * SPREAD for k in LEGS])
    return np.column_stack([TOP * np.cos(angles), TOP * np.sin(angles), np.zeros(6)])


def legs(position: Array, R: Array) -> Array:
    """Return the vectors (6, 3) [m] from the lower to the upper ends of the legs.

    They are in the world's axes. The platform is at `position` (3,) [m], with the rotation matrix R (3, 3) from its
    axes to those of the world.
    """
    return position + top_points() @ R.T - base_points()


def coordinates(position: Array, quaternion: Array) -> Array:
    """Return the coordinates q (25,) of the closed mechanism for a pose of the platform: the inverse kinematics.

    The pose is a position (3,) [m] and a quaternion (4,). q has first the platform; then for each leg the two angles
    [rad] of the universal joint and the extension [m] of the piston beyond the barrel.
    """
    found = [*position, *quaternion]
    for leg in legs(position, matrix_from_quaternion(quaternion)):
        length = np.sqrt(leg @ leg)
        u = leg / length
        # the rotation R_x R_y takes z to the direction u of the leg
        found += [np.arctan2(-u[1], u[2]), np.arcsin(u[0]), length - BARREL]
    return np.array(found)


def build(position: Array | None = None, quaternion: Array | None = None) -> Mechanism:
    """Build the platform, with gravity along -z.

    In the keyframe "start" the platform has the given position (3,) [m] and quaternion (4,). By default, it is tilted
    and near its home position.
    """
    home = coordinates(np.array([0.0, 0.0, HEIGHT]), np.array([1.0, 0.0, 0.0, 0.0]))
    position = np.array([0.02, -0.03, HEIGHT + 0.01]) if position is None else position
    tilt = quaternion_about_axis(np.array([0.6, 0.0, 0.8]), 0.05) if quaternion is None else quaternion
    b = Builder("stewart_platform")
    across = PLATFORM * TOP**2 / 4
    b.body("platform", PLATFORM, inertia=(across, across, 2 * across))
    b.joint("float", Free(), "world", "platform")
    barrel, piston = bar_inertia(CYLINDER, BARREL)[::-1], bar_inertia(PISTON, STROKE)[::-1]  # with their axes along z
    q = coordinates(position, tilt)
    start: dict[str, Array] = {"float": q[:7]}
    for k, (below, above) in enumerate(zip(base_points(), top_points(), strict=True)):
        b.body(f"cylinder {k + 1}", CYLINDER, com=(0, 0, BARREL / 2), inertia=barrel)
        b.body(f"piston {k + 1}", PISTON, com=(0, 0, -STROKE / 2), inertia=piston)
        b.joint(f"ankle {k + 1}", Universal(), "world", f"cylinder {k + 1}", at=below)
        # In the home position the spring of each leg supports a sixth of the platform's weight
        rise = HEIGHT / (home[9 + 3 * k] + BARREL)
        rest = home[9 + 3 * k] + PLATFORM * 9.81 / (6 * rise * STIFFNESS)
        b.joint(
            f"leg {k + 1}",
            Prismatic((0, 0, 1)),
            f"cylinder {k + 1}",
            f"piston {k + 1}",
            at=(0, 0, BARREL),
            stiffness=STIFFNESS,
            rest=(rest,),
        )
        b.close(f"ball {k + 1}", Ball(), "platform", f"piston {k + 1}", at=above)
        b.drive(f"motor {k + 1}", {f"leg {k + 1}": 1.0})
        start |= {f"ankle {k + 1}": q[7 + 3 * k : 9 + 3 * k], f"leg {k + 1}": q[9 + 3 * k : 10 + 3 * k]}
    return b.keyframe("start", start).build()


def leg_rates(q: Array, twist: Array) -> Array:
    """Return the rates (6,) [m/s] of the leg lengths for the platform's twist (6,) [m/s, rad/s] in its frame."""
    R = matrix_from_quaternion(q[3:7])
    vectors = legs(q[:3], R)
    points = np.array([R @ (twist[:3] + cross(twist[3:], top)) for top in top_points()])
    return (vectors * points).sum(axis=1) / np.linalg.norm(vectors, axis=1)


def claim() -> Claim:
    """Check the rates of the leg lengths against the inverse kinematics, for velocities that satisfy the loops.

    Return the measured error and its tolerance as a `Claim`.
    """
    m, rng, worst = build(), np.random.default_rng(0), 0.0
    at = [m.joints[f"leg {k + 1}"].v.start for k in LEGS]
    for _ in range(5):
        turn = rng.normal(size=3)
        tilt = quaternion_about_axis(turn / np.sqrt(turn @ turn), rng.uniform(0, 0.4))
        q = coordinates(np.array([0.0, 0.0, HEIGHT]) + rng.normal(size=3) * 0.05, tilt)
        v = consistent_velocity(active_constraints(m, q), rng.normal(size=m.nv))
        expected = leg_rates(q, v[:6])
        worst = max(worst, np.abs(v[at] - expected).max() / np.abs(expected).max())
    return Claim("relative error of the rates of the leg lengths against inverse kinematics", float(worst), 1e-10)
