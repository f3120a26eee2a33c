"""Workspace dynamics: the acceleration of a base on legs in stance under a wrench, F = P dV/dt + z.

These are the dynamics of Wendlandt's section 4.2.3. F is a wrench on the base, about the base's origin in the base's
frame, that replaces the joint forces of the legs in stance; the forces of these joints are therefore zero here. All
other joints have the known forces `tau` (nv,) [N m, N]. `on` is 1 for feet in stance, else 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from linkwork.algorithms import inverse_dynamics
from linkwork.algorithms.kinematics import Kinematics, accelerations
from linkwork.algorithms.mass_matrix import mass_matrix
from linkwork.control.control_tolerances import ADDED_FOR_STRAIGHT_LEGS
from linkwork.control.legs_and_feet import POINT, LeggedState, Stance
from linkwork.spatial import Force, Motion
from linkwork.spatial.inertia import ArticulatedInertia, RigidInertia
from linkwork.spatial.scalar import Array, Number, ldlt, where

BIG = 1e6  # inertia of the ground at a foot in stance, as a multiple of the base's inertia


class Workspace(NamedTuple):
    """Workspace dynamics of a base on its legs: the wrench P dV/dt + z gives the base the acceleration dV/dt.

    P is (6, 6) [kg, kg m, kg m^2] and z (6,) [N, N m]. Wrench and acceleration are about the base's origin, in the
    base's frame.
    """

    P: Array
    z: Array


def big_base(stance: Stance, now: LeggedState, tau: Array, on: Sequence[Number]) -> Workspace:
    """Return the workspace dynamics of the base, for a ground with BIG times the base's inertia at each foot.

    This is Wendlandt's Algorithm 4.3, which propagates articulated inertias from the feet to the base. Such a ground is
    attached to every foot in stance. Misprint of Algorithm 4.3: the recursion omits the inertia of the inboard body,
    which Algorithm 3.3 adds. `now` is the state of the mechanism, and `tau` (nv,) [N m, N] are joint forces; `on` is 1
    for feet in stance, else 0.
    """
    m, motion = stance.mechanism, now.motion
    P: list[ArticulatedInertia] = [body.inertia.articulated() for body in m.bodies]
    z = [
        body.inertia.gyroscopic(V) - body.inertia @ Motion(X_0.R.T @ m.gravity, np.zeros(3))
        for body, V, X_0 in zip(m.bodies, now.motion.twist, now.poses, strict=True)
    ]
    own = m.bodies[stance.base.o].inertia
    for foot, in_stance in zip(stance.feet, on, strict=True):
        ground = foot.pose.up(_ground(own, stance.rows)).articulated()
        P[foot.body] = _selected_inertia(
            in_stance, ground + P[foot.body] if stance.rows == POINT else ground, P[foot.body]
        )
        z[foot.body] = z[foot.body] if stance.rows == POINT else z[foot.body] * (1.0 - in_stance)
    for j in reversed(stance.carried):
        S, X, a = motion.S[j.o], motion.X[j.o], motion.bias[j.o]
        U = P[j.o] @ S
        G = Force.of(ldlt(S.pair(U) + np.diag(j.armature)).solve(U.array.T).T)
        through = P[j.o].less(U, G)  # L^T P L of Wendlandt's algorithm, with armature
        P[j.i] = P[j.i] + X.up(through)
        z[j.i] = z[j.i] + X.up(through @ a + z[j.o] + G @ (tau[j.v] - S.pair(z[j.o])))
    return Workspace(P[stance.base.o].matrix, z[stance.base.o].array)


def _ground(base: RigidInertia, rows: int) -> RigidInertia:
    """Return the inertia of the ground at a foot, in the foot's frame: BIG times the base's mass and inertia.

    `base` is the inertia of the robot's base. `rows` is 6 for a foot with a sole, 3 for a point foot, whose ground has
    no moments of inertia.
    """
    mass = base.mass * BIG
    turning = np.zeros((3, 3)) if rows == POINT else base.rotational * BIG
    return RigidInertia(mass, np.zeros(3), turning)


def _selected_inertia(in_stance: Number, yes: ArticulatedInertia, no: ArticulatedInertia) -> ArticulatedInertia:
    """Return the inertia `yes` if `in_stance` is 1, else `no`."""
    if isinstance(in_stance, float) and in_stance == 1.0:
        return yes
    pairs = ((yes.M, no.M), (yes.H, no.H), (yes.I, no.I))
    return ArticulatedInertia(*(where(in_stance > 0.5, np.asarray(a), np.asarray(b)) for a, b in pairs))


def exact(stance: Stance, now: LeggedState, tau: Array, on: Sequence[Number]) -> Workspace:
    """Return the exact workspace dynamics of the base: Lagrange multipliers keep the feet from accelerating.

    M is the mass matrix and h the bias of the mechanism in the state `now`, J the constraint rows of the feet. The
    index j selects the velocities of the joints, and the index b the velocities of the base. Eliminating the
    multipliers gives, with K = [[M_jj, J_j^T], [J_j, 0]] and C = [M_jb; J_b]:

        P = M_bb - C^T K^-1 C        z = h_b - C^T K^-1 [h_j - tau_j; dJ/dt v]

    `tau` (nv,) [N m, N] are joint forces; `on` is 1 for feet in stance, else 0.
    """
    m, b, j = stance.mechanism, list(range(stance.base.v.start, stance.base.v.stop)), stance.velocities
    M, h = mass_matrix(m, now.q), inverse_dynamics.bias(m, now.q, now.v)
    J, drift = _foot_rows(stance, now.motion, on)
    lifted = np.concatenate([np.full(stance.rows, 1.0 - in_stance) for in_stance in on])
    inertia = ldlt(M[np.ix_(j, j)])
    J_j, J_b, M_jb = J[:, j], J[:, b], M[np.ix_(j, b)]
    response = inertia.solve(J_j.T)
    effective = J_j @ response + np.diag(lifted)  # the rows of a foot in the air are zero, and so is its multiplier
    size = sum(effective[k, k] for k in range(len(effective))) * (ADDED_FOR_STRAIGHT_LEGS / len(effective))
    factored = ldlt(effective + np.eye(len(effective)) * size)

    def solved(forces: Array, rates: Array) -> Array:
        """Return C^T K^-1 [forces; rates], where C and K are the matrices in the docstring of `exact`."""
        moved = inertia.solve(forces)
        multipliers = factored.solve(J_j @ moved - rates)
        return M_jb.T @ (moved - response @ multipliers) + J_b.T @ multipliers

    P = M[np.ix_(b, b)] - solved(M_jb, J_b)
    return Workspace(P, h[b] - solved(h[j] - tau[j], drift))


def _foot_rows(stance: Stance, motion: Kinematics, on: Sequence[Number]) -> tuple[Array, Array]:
    """Return the Jacobian J of the twists of all feet in their frames, and the vector dJ/dt v, one entry for each row.

    J has nv columns and `stance.rows` rows per foot: 6, or the 3 linear ones for point feet. The rows of a foot in the
    air are zero: `on` is 1 for feet in stance, else 0. `motion` has the kinematics of the mechanism.
    """
    m, blocks, drifts = stance.mechanism, [], []
    coasting = accelerations(m, motion, np.zeros(m.nv))
    for foot, leg, in_stance in zip(stance.feet, stance.legs, on, strict=True):
        columns, X = list(np.zeros((m.nv, stance.rows))), foot.pose
        for j in (*leg, stance.base):
            columns[j.v] = list(X.down(motion.S[j.o]).array[: stance.rows].T * in_stance)
            X = motion.X[j.o] @ X
        blocks.append(np.array(columns).T)
        drifts.append(foot.pose.down(coasting[foot.body]).array[: stance.rows] * in_stance)
    return np.concatenate(blocks), np.concatenate(drifts)
