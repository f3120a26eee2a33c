"""Newton-Euler equations, body by body, with reactions (S2): J, Q, J^T Q = 0, and the minimal form.

All p bodies are stacked: 6p accelerations and forces, f velocities, 6p - f reactions. Bodies are described in their own
frames, as in S2 (Schiehlen), but a_i is the rate of the body twist. Equation (1) uses the inertial acceleration of the
frame's origin instead, which is larger by w x v; this term is part of k here, and of a and xi in S2. There are
two extensions: joints of any kind, and the rotors represented by `armature`.

The dense solutions check the other formulations. They work on floats only and cannot be traced.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.algorithms.formulations.mass_matrix_factorization import adjoint_down
from linkwork.algorithms.kinematics import external_forces, kinematics, world_poses
from linkwork.algorithms.rotor_inertia import rotor_matrix
from linkwork.algorithms.tree_traversal import outward
from linkwork.model.mechanism import WORLD, Mechanism
from linkwork.spatial import Motion
from linkwork.spatial.scalar import Array


class NewtonEuler(NamedTuple):
    """Newton-Euler equations (2) of p bodies with f joint velocities, with the matrices of equations (10) to (13).

    `M` (6p, 6p): inertias, with rotors. `C` (6p, 6p): maps accelerations of inboard to outboard bodies. `J` (6p, f):
    free directions of each joint. `Q` (6p, 6p - f): constrained directions of each joint. `T` (6p, f): directions of
    joint forces, with T^T J the identity. `xi` (6p,) [m/s^2, rad/s^2]: velocity-dependent accelerations. `k` (6p,) [N,
    N m]: gyroscopic forces. `q` (6p,) [N, N m]: applied forces, with gravity and joint forces. `rotor` (f, f): inertia
    of rotors. `tau` (f,) [N m, N]: joint forces. All six-vectors are in the bodies' frames.
    """

    M: Array
    C: Array
    J: Array
    Q: Array
    T: Array
    xi: Array
    k: Array
    q: Array
    rotor: Array
    tau: Array

    @property
    def E_C(self) -> Array:
        """Matrix E - C (6p, 6p) of p bodies, with the identity E; C maps motions of inboard to outboard bodies."""
        return np.eye(len(self.C)) - self.C

    @property
    def J_bar(self) -> Array:
        """Global Jacobian (6p, f) of p bodies, equation (14).

        The accelerations of the bodies are a = J_bar y'' plus velocity terms, where y are the joint coordinates.
        """
        return np.linalg.solve(self.E_C, self.J)

    @property
    def Q_bar(self) -> Array:
        """Global distribution matrix (6p, 6p - f), equation (15).

        The matrix maps the generalized reactions to wrenches on the p bodies.
        """
        return self.E_C.T @ self.Q

    @property
    def k_bar(self) -> Array:
        """Forces (6p,) on the p bodies at zero joint acceleration, equation (6).

        The forces are gyroscopic forces, and inertial forces of velocity-dependent accelerations.
        """
        return self.k + self.M @ np.linalg.solve(self.E_C, self.xi)


def newton_euler(mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> NewtonEuler:
    """Return the Newton-Euler equations of all bodies in one state, before the reactions are eliminated.

    q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities, tau (nv,) [N m or
    N] are joint forces, and `wrenches` (nbodies, 6) [N, N m] act on the bodies at their origins, in their axes.
    """
    motion = kinematics(mechanism, q, v)
    X_0, external = world_poses(mechanism, motion.X), external_forces(mechanism, wrenches)
    p, f = mechanism.nbodies, mechanism.nv
    M, C, J, T = np.zeros((6 * p, 6 * p)), np.zeros((6 * p, 6 * p)), np.zeros((6 * p, f)), np.zeros((6 * p, f))
    Q, xi, k, applied = np.zeros((6 * p, 6 * p - f)), np.zeros(6 * p), np.zeros(6 * p), np.zeros(6 * p)
    reaction = 0
    for j in outward(mechanism):
        o, i = slice(6 * j.o - 6, 6 * j.o), slice(6 * j.i - 6, 6 * j.i)
        inertia, S = mechanism.bodies[j.o].inertia, motion.S[j.o].array
        M[o, o] = inertia.matrix
        if j.i != WORLD:
            C[o, i] = adjoint_down(motion.X[j.o])  # equation (10)
        J[o, j.v] = S
        T[o, j.v] = S @ np.linalg.inv(S.T @ S)
        constrained = 6 - j.kind.nv
        Q[o, reaction : reaction + constrained] = np.linalg.qr(S, mode="complete")[0][:, j.kind.nv :]
        reaction += constrained
        xi[o] = motion.bias[j.o].array
        k[o] = inertia.gyroscopic(motion.twist[j.o]).array
        weight = inertia @ Motion(X_0[j.o].R.T @ mechanism.gravity, np.zeros(3))
        applied[o] = (external[j.o] + weight).array
    # A joint force acts on its body by T and in the opposite direction on the inboard body, as reactions do in (13).
    # Rotors do the same, with y'' = T^T ((E - C) a - xi) from (12).
    act = (np.eye(6 * p) - C).T @ T
    rotor = rotor_matrix(mechanism)
    M = M + act @ rotor @ act.T
    return NewtonEuler(M, C, J, Q, T, xi, k - act @ (rotor @ (T.T @ xi)), applied + act @ tau, rotor, tau)


def minimal_equations(system: NewtonEuler) -> tuple[Array, Array, Array]:
    """Return the equations of motion M y'' + k = q of f joint coordinates y: M (f, f), k (f,), q (f,) of equation (8).

    The reactions of the Newton-Euler equations `system` are eliminated by J_bar^T Q_bar = 0. k [N m, N] are the forces
    at zero joint acceleration, and q [N m, N] the applied forces.
    """
    J = system.J_bar
    return J.T @ system.M @ J, J.T @ system.k_bar, J.T @ system.q


def reaction_equations(system: NewtonEuler) -> tuple[Array, Array, Array]:
    """Return N (r, r), q (r,) and k (r,) of equation (9), N g + q = k, for the r reactions g.

    The accelerations of the Newton-Euler equations `system` are eliminated. r = 6p - f for p bodies and f joint
    velocities. q is due to the applied forces, and k to velocities.
    """
    Q = system.Q_bar
    inverse = np.linalg.solve(system.M, np.column_stack([Q, system.q, system.k_bar]))
    N, q, k = np.split(Q.T @ inverse, [Q.shape[1], Q.shape[1] + 1], axis=1)
    return N, q[:, 0], k[:, 0]


def triangular_equations(system: NewtonEuler) -> tuple[Array, Array, Array]:
    """Return the equations of motion M y'' + k = q with a lower triangular M (f, f), and k (f,), q (f,): equation (16).

    The equations follow from the minimal equations (8) by Gaussian elimination from the last row up. `system` are the
    Newton-Euler equations.
    """
    M, k, q = minimal_equations(system)
    rows = np.column_stack([M, k, q])
    for r in reversed(range(len(M))):
        above = rows[:r, r] / rows[r, r]
        rows[:r] -= np.outer(above, rows[r])
    return rows[:, :-2], rows[:, -2], rows[:, -1]


def solve(system: NewtonEuler) -> tuple[Array, Array]:
    """Return the joint accelerations y'' (f,) [rad/s^2, m/s^2] and generalized reactions g (6p - f,) [N, N m].

    Both follow from equations (6) and (12) together, without an inverse of the mass matrix: M a - Q_bar g = q - k, and
    Q^T ((E - C) a - xi) = 0 is the joint constraint. `system` are the Newton-Euler equations.
    """
    a, g = _saddle_solution(system, system.q - system.k, system.Q.T @ system.xi)
    return system.T.T @ (system.E_C @ a - system.xi), g


def response(system: NewtonEuler, forces: Array) -> Array:
    """Return the changes (f, k) [rad/s^2, m/s^2] of the f joint accelerations due to k sets of additional joint forces.

    The columns of `forces` (f, k) [N m, N] are the sets. `system` are the Newton-Euler equations.
    """
    a, _ = _saddle_solution(system, system.E_C.T @ system.T @ forces, np.zeros((system.Q.shape[1], forces.shape[1])))
    return system.T.T @ system.E_C @ a


def _saddle_solution(system: NewtonEuler, applied: Array, constrained: Array) -> tuple[Array, Array]:
    """Return accelerations a (6p, ...) and reactions g (6p - f, ...): M a - Q_bar g = applied, Q_bar^T a = constrained.

    `applied` (6p, ...) are the forces on the p bodies, and `constrained` (6p - f, ...) the given accelerations along
    the constrained directions. `system` are the Newton-Euler equations.
    """
    Q = system.Q_bar
    n, r = Q.shape
    saddle = np.block([[system.M, -Q], [Q.T, np.zeros((r, r))]])
    a, g = np.split(np.linalg.solve(saddle, np.concatenate([applied, constrained])), [n])
    return a, g


def joint_wrenches(system: NewtonEuler) -> Array:
    """Return the wrench (p, 6) [N, N m] of the parent on the child through each joint, in the child's frame.

    The wrench is the sum of reaction, joint force and the force of the rotor. `system` are the Newton-Euler equations.
    """
    acceleration, g = solve(system)
    return (system.Q @ g + system.T @ (system.tau - system.rotor @ acceleration)).reshape(-1, 6)
