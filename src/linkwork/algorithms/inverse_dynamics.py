"""Inverse dynamics: joint forces for a given motion, by recursive Newton-Euler (S4 section 3.3, Algorithm 3.2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.algorithms.kinematics import accelerations, against_gravity, external_forces, kinematics
from linkwork.algorithms.rotor_inertia import coupling_momenta
from linkwork.algorithms.tree_traversal import inward, outward
from linkwork.model.mechanism import Mechanism
from linkwork.spatial import Force
from linkwork.spatial.scalar import Array


class InverseDynamics(NamedTuple):
    """Result of inverse dynamics: joint forces `tau` (nv,) [N m or N], and the wrenches through the joints.

    force[k] is the wrench [N, N m] of the inboard body on body k, in the frame of body k.
    """

    tau: Array
    force: list[Force]


def inverse_dynamics(
    mechanism: Mechanism, q: Array, v: Array, a: Array, wrenches: Array | None = None
) -> InverseDynamics:
    """Return the joint forces tau (nv,) [N m or N] for the acceleration a (nv,), and the wrench through every joint.

    `wrenches` (nbodies, 6) act on the bodies at their frames' origins, in their frames. Springs, damping and friction
    are not included; see `passive_joint_forces.passive`. q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s]
    are the coordinates and velocities.
    """
    motion = kinematics(mechanism, q, v)
    acc = accelerations(mechanism, motion, a, against_gravity(mechanism))
    external = external_forces(mechanism, wrenches)
    force, tau = [Force.zero()], [np.zeros(0) for _ in mechanism.bodies]
    for j in outward(mechanism):
        inertia = mechanism.bodies[j.o].inertia
        b = inertia.gyroscopic(motion.twist[j.o]) - external[j.o]  # equation (3.18), for any frame of the body
        force.append(inertia @ acc[j.o] + b)  # equation (3.17), part of the body itself
    for j in inward(mechanism):
        tau[j.o] = motion.S[j.o].pair(force[j.o]) + mechanism.armature[j.v] * a[j.v]  # equation (3.20)
        force[j.i] = force[j.i] + motion.X[j.o].up(force[j.o])  # equation (3.17), outboard part
    return InverseDynamics(np.concatenate(tau) + coupling_momenta(mechanism, a), force)


def bias(mechanism: Mechanism, q: Array, v: Array) -> Array:
    """Return the joint forces (nv,) [N m or N] at zero joint acceleration: Coriolis, centrifugal and gravity terms.

    q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities.
    """
    return inverse_dynamics(mechanism, q, v, np.zeros(mechanism.nv)).tau


def gravity(mechanism: Mechanism, q: Array) -> Array:
    """Return the joint forces (nv,) [N m or N] that balance gravity at rest.

    q (nq,) [rad or m, or quaternions] are the coordinates.
    """
    rest = np.zeros(mechanism.nv)
    return inverse_dynamics(mechanism, q, rest, rest).tau
