"""Momentum, centre of mass and energies of a whole mechanism, and the matrix that maps velocities to momentum."""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.kinematics import accelerations, joint_poses, kinematics, subspaces, world_poses
from linkwork.algorithms.mass_matrix import composite_inertias
from linkwork.algorithms.rotor_inertia import rotor_momenta
from linkwork.algorithms.tree_traversal import outward
from linkwork.model.mechanism import WORLD, Mechanism
from linkwork.spatial import Force, RigidInertia, Transform
from linkwork.spatial.scalar import Array, Number


def center_of_mass(mechanism: Mechanism, q: Array) -> Array:
    """Return the centre of mass (3,) [m] of all bodies in the world.

    q (nq,) [rad or m, or quaternions] are the coordinates.
    """
    return _center(composite_inertias(mechanism, joint_poses(mechanism, q))[WORLD])


def momentum(mechanism: Mechanism, q: Array, v: Array) -> Array:
    """Return the linear [kg m/s] and angular [kg m^2/s] momentum (6,) about the centre of mass, in world axes.

    q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities.
    """
    motion = kinematics(mechanism, q, v)
    bodies = [body.inertia @ V for body, V in zip(mechanism.bodies, motion.twist, strict=True)]
    return _about_center(mechanism, motion.X, sum_in_world(mechanism, motion.X, bodies)).array


def momentum_rate(mechanism: Mechanism, q: Array, v: Array, a: Array) -> Array:
    """Return the time derivative (6,) of `momentum`: the external force [N], and torque [N m] about the centre of mass.

    q (nq,), v (nv,) and a (nv,) are the coordinates, velocities and accelerations.
    """
    motion = kinematics(mechanism, q, v)
    acc = accelerations(mechanism, motion, a)
    bodies = [
        body.inertia @ A + body.inertia.gyroscopic(V)
        for body, A, V in zip(mechanism.bodies, acc, motion.twist, strict=True)
    ]
    # About the moving centre c: d(k - c x p)/dt = dk/dt - c x dp/dt, because dc/dt is parallel to p
    return _about_center(mechanism, motion.X, sum_in_world(mechanism, motion.X, bodies)).array


def momentum_matrix(mechanism: Mechanism, q: Array) -> Array:
    """Return the momentum matrix A (6, nv) with A v = `momentum`; its columns are momenta of composite bodies.

    q (nq,) [rad or m, or quaternions] are the coordinates.
    """
    center = Transform(np.eye(3), center_of_mass(mechanism, q))
    return center.down(Force.of(momentum_about_origin(mechanism, q))).array


def momentum_about_origin(mechanism: Mechanism, q: Array) -> Array:
    """Return the matrix (6, nv) that maps v (nv,) to the momentum, linear first, about the world's origin in its axes.

    Each row is M xi, with the mass matrix M and the joint velocities xi (nv,) of a rigid motion of the mechanism. q
    (nq,) [rad or m, or quaternions] are the coordinates.
    """
    X, S = joint_poses(mechanism, q), subspaces(mechanism, q)
    X_0, composite = world_poses(mechanism, X), composite_inertias(mechanism, X)
    columns = [X_0[j.o].up(composite[j.o] @ S[j.o]).array for j in outward(mechanism)]
    return np.concatenate([np.zeros((6, 0)), *columns], axis=1)


def kinetic_energy(mechanism: Mechanism, q: Array, v: Array) -> Number:
    """Return the kinetic energy [J] of all bodies and rotors.

    q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities.
    """
    twists = kinematics(mechanism, q, v).twist
    bodies = sum(V.pair(body.inertia @ V) for body, V in zip(mechanism.bodies, twists, strict=True))
    return 0.5 * (bodies + sum(rotor_momenta(mechanism, v) * v))


def potential_energy(mechanism: Mechanism, q: Array) -> Number:
    """Return the gravitational energy [J], which is zero if the centre of mass is at the height of the world's origin.

    q (nq,) [rad or m, or quaternions] are the coordinates.
    """
    return -(mechanism.gravity @ composite_inertias(mechanism, joint_poses(mechanism, q))[WORLD].moment)


def energy(mechanism: Mechanism, q: Array, v: Array) -> Array:
    """Return the kinetic and potential energy (2,) [J].

    q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities.
    """
    return np.array([kinetic_energy(mechanism, q, v), potential_energy(mechanism, q)])


def _center(whole: RigidInertia) -> Array:
    """Return the centre of mass (3,) [m] of a body or mechanism with the inertia `whole`."""
    return whole.moment / whole.mass


def sum_in_world(mechanism: Mechanism, X: list[Transform], bodies: list[Force]) -> Force:
    """Return the sum of the wrenches, or of the momenta, of all bodies, about the origin and in the axes of the world.

    `bodies` has the wrench or momentum of each body in its frame, and X the poses of the bodies in their inboard
    bodies.
    """
    total = Force.zero()
    for X_0k, force in zip(world_poses(mechanism, X), bodies, strict=True):
        total += X_0k.up(force)
    return total


def _about_center(mechanism: Mechanism, X: list[Transform], total: Force) -> Force:
    """Return a wrench or momentum about the centre of mass, from `total`, its value about the world's origin.

    Both are in world axes. X are the poses of the bodies in their inboard bodies.
    """
    return Transform(np.eye(3), _center(composite_inertias(mechanism, X)[WORLD])).down(total)
