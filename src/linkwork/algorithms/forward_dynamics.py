"""Forward dynamics by the articulated-body algorithm in O(n) (S4 section 3.4, Algorithm 3.3)."""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.constraints.articulated_body_solver import factorize, solve_damped
from linkwork.algorithms.kinematics import Kinematics, against_gravity, external_forces, kinematics
from linkwork.algorithms.tree_traversal import inward, outward
from linkwork.model.mechanism import WORLD, Mechanism
from linkwork.spatial import Force
from linkwork.spatial.scalar import Array, ldlt


def forward_dynamics(mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> Array:
    """Return the joint accelerations (nv,) of a tree under joint forces tau (nv,), gravity and `wrenches` (nbodies, 6).

    The wrenches [N, N m] act on the bodies at their frames' origins, in their frames. Springs, damping and friction are
    not included; see `passive_joint_forces.passive`. q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are
    the coordinates and velocities.
    """
    motion = kinematics(mechanism, q, v)
    z = velocity_forces(mechanism, motion, wrenches)
    if mechanism.rotors:
        turning, base = factorize(mechanism, motion, np.zeros((0, mechanism.nv))), against_gravity(mechanism)
        return solve_damped(mechanism, motion, turning, tau, z, motion.bias, base, np.zeros(0)).a
    return recursion(mechanism, motion, tau, z)


def velocity_forces(mechanism: Mechanism, motion: Kinematics, wrenches: Array | None) -> list[Force]:
    """Return the wrench [N, N m] that each body requires at zero acceleration, in its frame: gyroscopic minus external.

    `wrenches` (nbodies, 6) are the external wrenches. `motion` has the kinematics of the tree.
    """
    external = external_forces(mechanism, wrenches)
    pairs = zip(mechanism.bodies, motion.twist, external, strict=True)
    return [body.inertia.gyroscopic(V) - F for body, V, F in pairs]


def recursion(mechanism: Mechanism, motion: Kinematics, tau: Array, z: list[Force]) -> Array:
    """Return the joint accelerations (nv,) [rad/s^2, m/s^2] of a tree by the articulated-body recursion.

    tau (nv,) [N m or N] are joint forces, z the wrenches that the bodies require at zero acceleration, and `motion` the
    kinematics of the tree. The wrench on body k is F_k = P_k dV_k/dt + z_k (3.36), where P_k is the articulated inertia
    of body k. Rotors that couple several joints are not supported here.
    """
    P, z, bias = [body.inertia.articulated() for body in mechanism.bodies], list(z), motion.bias
    D, G, free = {}, {}, {}
    for j in inward(mechanism):
        S = motion.S[j.o]
        U = P[j.o] @ S
        D[j.o] = ldlt(S.pair(U) + np.diag(mechanism.armature[j.v]))
        GT = D[j.o].solve(U.array.T)
        G[j.o] = Force.of(GT.T)  # equation (3.47): P S D^-1
        free[j.o] = tau[j.v] - S.pair(z[j.o])  # joint force that is left to accelerate
        if j.i != WORLD:
            through = P[j.o].less(U, G[j.o])  # (I - P K) P of (3.49): inertia felt through the joint
            P[j.i] = P[j.i] + motion.X[j.o].up(through)  # equation (3.51)
            # Equation (3.52), with the terms in tau and z collected: one product with G instead of three
            z[j.i] = z[j.i] + motion.X[j.o].up(through @ bias[j.o] + z[j.o] + G[j.o] @ free[j.o])
    acc, a = [against_gravity(mechanism)], [np.zeros(0)]
    for j in outward(mechanism):
        inherited = motion.X[j.o].down(acc[j.i]) + bias[j.o]
        a.append(D[j.o].solve(free[j.o]) - inherited.pair(G[j.o]))  # equation (3.59)
        acc.append(inherited + motion.S[j.o] @ a[j.o])  # equation (3.60)
    return np.concatenate(a)
