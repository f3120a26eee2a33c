"""Factorization M = H^T phi^T M^b phi H of the equations of motion (S4 section 3.3.4, (3.21) to (3.33)).

The n bodies are stacked: A, phi and M^b are (6n, 6n), H is (6n, nv), a and b are (6n,). S4 adds gravity to the
external forces. Here gravity is an acceleration -g of the world, which is part of the entries of a for bodies connected
to the world.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.algorithms.kinematics import against_gravity, external_forces, kinematics
from linkwork.algorithms.tree_traversal import outward
from linkwork.model.mechanism import WORLD, Mechanism
from linkwork.spatial import Motion, Transform
from linkwork.spatial.scalar import Array


class Factorization(NamedTuple):
    """Matrices of the factorization M = H^T phi^T M^b phi H of the mass matrix, stacked over all bodies.

    The twists of all n bodies are V = phi H v. The wrenches through their joints are F = phi^T (M^b dV/dt + b), and the
    joint forces are tau = H^T F. All are in the bodies' frames. H (6n, nv) has the motion subspaces of the joints, and
    M_b (6n, 6n) the inertias of the bodies. `a` (6n,) [m/s^2, rad/s^2] are the velocity-dependent accelerations with
    gravity, `b` (6n,) [N, N m] the gyroscopic minus the external wrenches. A (6n, 6n) maps motions from each body to
    the next body outboard, and phi = (1 - A)^-1.
    """

    A: Array
    phi: Array
    H: Array
    M_b: Array
    a: Array
    b: Array

    @property
    def mass_matrix(self) -> Array:
        """Mass matrix H^T phi^T M^b phi H (nv, nv), without armature; equation (3.32)."""
        J = self.phi @ self.H
        return J.T @ self.M_b @ J

    @property
    def bias(self) -> Array:
        """Joint forces C = H^T phi^T (M^b phi a + b) (nv,) [N m, N] at zero joint acceleration; equation (3.33).

        They contain gravity and balance the external wrenches.
        """
        return self.H.T @ (self.phi.T @ (self.M_b @ (self.phi @ self.a) + self.b))


def adjoint_down(X: Transform) -> Array:
    """Return the matrix A_a^b (6, 6) of equation (3.4), which maps twists from frame a to frame b.

    X is the pose of frame b in frame a.
    """
    return X.down(Motion.of(np.eye(6))).array


def factorization(mechanism: Mechanism, q: Array, v: Array, wrenches: Array | None = None) -> Factorization:
    """Return the matrices of the factorization in one state, equations (3.21) to (3.33).

    `wrenches` (nbodies, 6) [N, N m] act on the bodies at their origins, in their axes. q (nq,) [rad or m, or
    quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities.
    """
    motion = kinematics(mechanism, q, v)
    external = external_forces(mechanism, wrenches)
    n, nv = mechanism.nbodies, mechanism.nv
    none = np.zeros((6, 6))
    A = [[none] * n for _ in range(n)]
    phi = [[none] * n for _ in range(n)]
    M_b = [[none] * n for _ in range(n)]
    H = [np.zeros((6, nv)) for _ in range(n)]
    a, b = [], []
    for j in outward(mechanism):
        k, i = j.o - 1, j.i - 1  # block rows of the outboard and inboard body
        down, inertia = adjoint_down(motion.X[j.o]), mechanism.bodies[j.o].inertia
        if j.i != WORLD:
            A[k][i] = down
            phi[k] = [down @ block for block in phi[i]]  # because A_i^k A_m^i = A_m^k
        phi[k][k] = np.eye(6)
        M_b[k][k] = inertia.matrix
        H[k] = np.concatenate([H[k][:, : j.v.start], motion.S[j.o].array, H[k][:, j.v.stop :]], axis=1)
        fall = motion.X[j.o].down(against_gravity(mechanism)) if j.i == WORLD else Motion.zero()
        a.append((motion.bias[j.o] + fall).array)
        b.append((inertia.gyroscopic(motion.twist[j.o]) - external[j.o]).array)
    return Factorization(
        np.block(A), np.block(phi), np.concatenate(H), np.block(M_b), np.concatenate(a), np.concatenate(b)
    )
