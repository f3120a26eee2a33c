"""Equations of motion of a mechanism as a system of limbs (S0 sections 4 and 5): the sum over its limbs.

The locked and coupled joints of a mode enter by constant matrices (`limb_systems`). A body that belongs to several
limbs contributes a fraction of its mass to each of them, equations (38) and (39), so that the equations of all limbs
add up. The paper uses Euler angles for the base; here the velocity of the base is its twist, in its own frame.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.algorithms.formulations.limb_systems import LimbSystem, limb_system
from linkwork.algorithms.formulations.limb_velocity_maps import relative_to_absolute, with_base_position
from linkwork.algorithms.formulations.single_limb_equations import (
    Equations,
    Limb,
    applied_forces,
    block_diagonal,
    true_equations,
)
from linkwork.algorithms.kinematics import external_forces, joint_poses, world_poses
from linkwork.algorithms.rotor_inertia import rotor_matrix
from linkwork.model.mechanism import Mechanism
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array, cross, hat, ldlt, where


def system_equations(
    mechanism: Mechanism, system: LimbSystem, q: Array, rate: Array, wrenches: Array | None = None
) -> Equations:
    """Return the equations of motion M alpha'' + h = forces of a limb system in k coordinates: M (k, k) and h (k,).

    `system` are the limbs of the mechanism. q (nq,) [rad or m, or quaternions] are the joint coordinates, and `rate`
    (k,) the velocities alpha' [m/s, rad/s]. h has velocity terms, gravity and the external wrenches. `wrenches`
    (nbodies, 6) [N, N m] act on the bodies at their origins, in their axes. Joint forces tau (nv,) give the right-hand
    side velocity_map^T tau.
    """
    poses, external = world_poses(mechanism, joint_poses(mechanism, q)), external_forces(mechanism, wrenches)
    T, drift = _base_velocities(system, poses, rate)
    M, h = np.zeros((len(rate), len(rate))), np.zeros(len(rate))
    for path, measured_from, D in zip(system.paths, system.measured_from, system.maps, strict=True):
        limb = limb_at(mechanism, system, path, poses)
        C_R = with_base_position(relative_to_absolute(limb.C, measured_from))
        own = true_equations(limb, C_R, D, T @ rate, mechanism.gravity)
        on_bodies = [external[body] * (1.0 / system.shares[body]) for body in path]
        applied = applied_forces(limb, [F.linear for F in on_bodies], [F.angular for F in on_bodies])
        M, h = M + own.M, h + own.h - (C_R @ D).T @ applied
    rotors = system.velocity_map.T @ rotor_matrix(mechanism) @ system.velocity_map
    return Equations(T.T @ M @ T + rotors, T.T @ (h + M @ drift))


def limb_at(mechanism: Mechanism, system: LimbSystem, path: Sequence[int], poses: Sequence[Transform]) -> Limb:
    """Return one limb of a limb system in one position: the chain of the bodies with the numbers `path`.

    If s limbs contain a body, the limb gets the mass and inertia of the body divided by s; equations (39) and (41).
    `system` are the limbs of the mechanism, and `poses` the world poses of all bodies, by body number.
    """
    m, S, I = [], [], []
    for number in path:
        inertia, part = mechanism.bodies[number].inertia, 1.0 / system.shares[number]
        centre = inertia.moment / where(inertia.mass > 0.0, inertia.mass, 1.0)  # a massless body has zero moment
        m.append(inertia.mass * part)
        S.append(centre)
        I.append((inertia.rotational + hat(inertia.moment) @ hat(centre)) * part)
    L = np.array([mechanism.joints[number - 1].place.p for number in path[1:]]).reshape(-1, 3)
    return Limb(np.array(m), np.array(S), L, np.array(I), np.array([poses[number].R for number in path]))


def accelerations(
    mechanism: Mechanism, system: LimbSystem, q: Array, rate: Array, tau: Array, wrenches: Array | None = None
) -> Array:
    """Return the accelerations alpha'' (k,) [m/s^2, rad/s^2] of a limb system under joint forces tau (nv,) [N m, N].

    The velocities alpha' are `rate` (k,) [m/s, rad/s]. q (nq,) [rad or m, or quaternions] are the joint coordinates,
    and `wrenches` (nbodies, 6) [N, N m] act on the bodies at their origins, in their axes.
    """
    M, h = system_equations(mechanism, system, q, rate, wrenches)
    return ldlt(M).solve(system.velocity_map.T @ tau - h)


def forward_dynamics(mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> Array:
    """Return the joint accelerations (nv,) [rad/s^2, m/s^2], without constraints, from the equations of all limbs.

    q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities, tau (nv,) [N m or
    N] are joint forces, and `wrenches` (nbodies, 6) [N, N m] act on the bodies at their origins, in their axes.
    """
    return accelerations(mechanism, limb_system(mechanism), q, v, tau, wrenches)


def inverse_dynamics(mechanism: Mechanism, q: Array, v: Array, a: Array, wrenches: Array | None = None) -> Array:
    """Return the joint forces (nv,) [N m, N] for accelerations a (nv,), without constraints, by summing over limbs.

    q (nq,) [rad or m, or quaternions], v (nv,) [rad/s or m/s] and a (nv,) [rad/s^2 or m/s^2] are the coordinates,
    velocities and accelerations, and `wrenches`
    (nbodies, 6) [N, N m] act on the bodies at their origins, in their axes.
    """
    M, h = system_equations(mechanism, limb_system(mechanism), q, v, wrenches)
    return M @ a + h


def mass_matrix(mechanism: Mechanism, q: Array) -> Array:
    """Return the mass matrix M (nv, nv) of a mechanism, without constraints, as the sum over its limbs.

    q (nq,) [rad or m, or quaternions] are the coordinates.
    """
    return system_equations(mechanism, limb_system(mechanism), q, np.zeros(mechanism.nv)).M


def _base_velocities(system: LimbSystem, poses: Sequence[Transform], rate: Array) -> tuple[Array, Array]:
    """Return the matrix T (k, k) and the drift (k,) that convert linear base velocities from base to inertial axes.

    `rate` (k,) has the velocity v (3,) [m/s] of the origin of each free base of `system`, in the base's axes. The
    converted velocities alpha' = T rate have R' = C v in place of v, with the rotation C of the base, taken from
    `poses`. The time derivative alpha'' is T rate' + drift, because R'' = C (v' + omega x v).
    """
    blocks, drift, column = [], [], 0
    for body, first in system.bases:
        C, (v, w) = poses[body].R, np.split(rate[first : first + 6], 2)
        blocks += [np.eye(first - column), C, np.eye(3)]
        drift += [np.zeros(first - column), C @ cross(w, v), np.zeros(3)]
        column = first + 6
    rest = len(rate) - column
    return block_diagonal([*blocks, np.eye(rest)]), np.concatenate([*drift, np.zeros(rest)])
