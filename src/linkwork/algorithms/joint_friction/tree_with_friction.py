"""Articulated-body algorithm for trees whose joints have friction that is linear in their load.

The friction forces along the velocities of a joint are f = K F + b - W a, with the wrench F through the joint and the
joint acceleration a, so that the equation of motion of the joint is

    (S^T - K) F + (armature + W) a = tau + b

The algorithm is Featherstone's, with S^T - K in place of S^T. Its articulated inertias are not symmetric. The pivot of
a joint, (S^T - K) P S + armature + W, is positive unless the joint jams, which means that friction grows faster than
the force that accelerates the joint.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.joint_friction.locked_tree import TreeMotion
from linkwork.algorithms.kinematics import Kinematics
from linkwork.algorithms.tree_traversal import inward, outward
from linkwork.model.mechanism import WORLD, Mechanism
from linkwork.spatial import Force, Motion, Transform
from linkwork.spatial.scalar import LU, Array, hat, lu


class LinearFriction(NamedTuple):
    """Coefficients of linear friction f = K F + b - W a along the velocities of a tree.

    F is the wrench through the joint of a velocity, and a the acceleration of this joint. K is (nv, 6) and b (nv,); W
    maps the name of a joint to its matrix (d, d), which is zero for joints without an entry. Velocities with moves[i] =
    0, with `moves` (nv,), are held: they have no acceleration.
    """

    K: Array
    b: Array
    moves: Array
    W: Mapping[str, Array]


class RubbingMotion(NamedTuple):
    """Motion of a tree with friction, and `pivots` (nv,): the inverse pivot of each velocity.

    The pivots of a joint are positive unless the joint jams. `motion` has the accelerations and the wrenches.
    """

    motion: TreeMotion
    pivots: Array


class _JointFactors(NamedTuple):
    """Factors of one joint with d velocities, motion subspace S and friction coefficients K."""

    P: Array  # (6, 6) articulated inertia of the body with all bodies outboard
    U: Array  # (6, d): P S
    left: Array  # (d, 6): (S^T - K) P, zero for held velocities
    D: LU  # factors of the pivot (d, d)
    free: Array  # (d,): joint force at zero acceleration, zero for held velocities


def solve_with_friction(
    mechanism: Mechanism,
    motion: Kinematics,
    tau: Array,
    z: list[Force],
    base: Motion,
    friction: LinearFriction,
) -> RubbingMotion:
    """Return the motion of a tree under joint forces tau (nv,) and linear friction.

    z are the wrenches on the bodies at zero acceleration, and `base` is the acceleration of the world. `motion` has the
    kinematics of the tree.
    """
    P, wrench = [body.inertia.articulated().matrix for body in mechanism.bodies], [F.array for F in z]
    factors: dict[int, _JointFactors] = {}
    pivots: list[Array] = [np.zeros(0)]
    for j in inward(mechanism):
        k, S, moves = j.o, motion.S[j.o].array, friction.moves[j.v]
        left_S = S.T - friction.K[j.v]
        U, left = P[k] @ S, (left_S @ P[k]) * moves[:, None]
        armature = np.diag(mechanism.armature[j.v]) + friction.W.get(j.name, 0.0)
        D = lu(_held_rows(left @ S + armature * moves[:, None], moves))
        free = (tau[j.v] + friction.b[j.v] - left_S @ wrench[k]) * moves
        factors[k] = _JointFactors(P[k], U, left, D, free)
        if j.i != WORLD:
            gain = D.solve(np.column_stack([left, free]))  # shape (d, 7)
            through = P[k] - U @ gain[:, :6]
            inherited = through @ motion.bias[k].array + wrench[k] + U @ gain[:, 6]
            P[j.i] = P[j.i] + _inertia_up(motion.X[k], through)
            wrench[j.i] = wrench[j.i] + motion.X[k].up(Force.of(inherited)).array
    acc, a, found = [base], [np.zeros(0)], [Force.zero()]
    for j in outward(mechanism):
        k, one = j.o, factors[j.o]
        inherited = motion.X[k].down(acc[j.i]) + motion.bias[k]
        a.append(one.D.solve(one.free - one.left @ inherited.array))
        acc.append(inherited + motion.S[k] @ a[k])
        found.append(Force.of(one.P @ acc[k].array + wrench[k]))
        pivots.append(np.array(one.D.inverse))
    return RubbingMotion(TreeMotion(np.concatenate(a), found), np.concatenate(pivots))


def _held_rows(A: Array, moves: Array) -> Array:
    """Return A (d, d) with ones added on the diagonal of held velocities, whose rows of A are zero.

    `moves` (d,) is 0 for held velocities, else 1.
    """
    return A + np.diag(1.0 - moves)


def _inertia_up(X: Transform, P: Array) -> Array:
    """Return an articulated inertia P (6, 6), given in frame b, expressed in frame a; X is X_ab.

    Unlike `ArticulatedInertia`, P need not be symmetric.
    """
    R, p = X.R, hat(X.p)
    A, B, C, D = (R @ block @ R.T for block in (P[:3, :3], P[:3, 3:], P[3:, :3], P[3:, 3:]))
    # Uses the acceleration v_a + w x p of b's origin, and the torque n_b + p x f about a's origin
    top = B - A @ p
    return np.block([[A, top], [C + p @ A, D - C @ p + p @ top]])
