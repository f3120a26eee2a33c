"""Articulated-body algorithm for trees in which some joint velocities are locked, and for changes of joint forces.

A locked velocity has no acceleration; its joint transmits the force that is necessary for this. The tree is factored
once; each solution for other joint forces needs two sweeps. Besides the accelerations, the sweeps return the wrench
through every joint, F_k = P_k A_k + z_k (S4 equation (3.36)).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.kinematics import Kinematics
from linkwork.algorithms.tree_traversal import inward, outward
from linkwork.model.mechanism import WORLD, Joint, Mechanism
from linkwork.spatial import ArticulatedInertia, Force, Motion
from linkwork.spatial.scalar import LDLT, Array, Number, ldlt


class LockedJoint(NamedTuple):
    """Factors of one joint with d velocities, some of which may be locked.

    P is the articulated inertia of the outboard body. D has the factors of the pivot S^T P S plus armature, where S is
    the motion subspace, and G (6, d) is P S D^-1. `inward` is the inertia that the joint passes inward, P - P S G^T.
    `moves` (d,) is 1 for velocities that move and 0 for locked velocities, whose columns of G are zero.
    """

    P: ArticulatedInertia
    D: LDLT
    G: Force
    inward: ArticulatedInertia
    moves: Array

    def freed(self, forces: Array) -> Array:
        """Return D^-1 `forces` (d,): the accelerations due to joint forces (d,); zero for locked velocities."""
        return self.D.solve(forces * self.moves) * self.moves


class TreeMotion(NamedTuple):
    """Accelerations a (nv,) of a tree, and `through`: the wrench through the joint of each body, by body number."""

    a: Array
    through: list[Force]


@dataclass(frozen=True, eq=False)
class LockedTree:
    """A tree without constraints and rotors, factored in one position.

    `motion` has the kinematics of the tree, and `joints` the factors of each joint by the number of its outboard body.
    """

    mechanism: Mechanism
    motion: Kinematics
    joints: dict[int, LockedJoint]

    def solve(self, tau: Array, z: list[Force], bias: list[Motion], base: Motion) -> TreeMotion:
        """Return the accelerations, and the wrenches through all joints, under joint forces tau (nv,).

        z are the wrenches that the bodies require at zero acceleration, `bias` the velocity-dependent accelerations of
        the bodies and `base` the acceleration of the world.
        """
        z, free, X, S = list(z), {}, self.motion.X, self.motion.S
        for j in inward(self.mechanism):
            k, joint = j.o, self.joints[j.o]
            free[k] = (tau[j.v] - S[k].pair(z[k])) * joint.moves
            if j.i != WORLD:
                z[j.i] = z[j.i] + X[k].up(joint.inward @ bias[k] + z[k] + joint.G @ free[k])
        acc, a, through = [base], [np.zeros(0)], [Force.zero()]
        for j in outward(self.mechanism):
            k, joint = j.o, self.joints[j.o]
            inherited = X[k].down(acc[j.i]) + bias[k]
            a.append(joint.freed(free[k]) - inherited.pair(joint.G))
            acc.append(inherited + S[k] @ a[k])
            through.append(joint.P @ acc[k] + z[k])
        return TreeMotion(np.concatenate(a), through)

    def change(self, tau: Array) -> TreeMotion:
        """Return the changes of accelerations and wrenches due to additional joint forces tau (nv,)."""
        none, still = [Force.zero() for _ in self.mechanism.bodies], [Motion.zero() for _ in self.mechanism.bodies]
        return self.solve(tau, none, still, Motion.zero())

    def relaxed(self, forces: Array, update: Callable[[Joint, Force, Force], Array | None]) -> tuple[Array, Array]:
        """Return the changes of the accelerations (nv,) due to joint forces, and these forces (nv,) after one update.

        The inward sweep uses the given `forces` (nv,). The outward sweep replaces the force of each joint by
        update(joint, load, G). `load` is the change of the wrench through the joint without its own force, and G the
        change of this wrench per unit of its force. `update` returns the new force, or None to use the old force. When
        a joint is updated, the forces of all joints inboard of it are already new.
        """
        X, S, z = self.motion.X, self.motion.S, [Force.zero() for _ in self.mechanism.bodies]
        for j in inward(self.mechanism):
            k, joint = j.o, self.joints[j.o]
            if j.i != WORLD:
                free = (forces[j.v] - S[k].pair(z[k])) * joint.moves
                z[j.i] = z[j.i] + X[k].up(z[k] + joint.G @ free)
        acc, a, new = [Motion.zero()], [np.zeros(0)], [np.zeros(0)]
        for j in outward(self.mechanism):
            k, joint = j.o, self.joints[j.o]
            inherited = X[k].down(acc[j.i])
            without = joint.freed(-S[k].pair(z[k])) - inherited.pair(joint.G)
            load = joint.P @ (inherited + S[k] @ without) + z[k]
            found = update(j, load, joint.G)
            force = forces[j.v] if found is None else found
            a.append(without + joint.freed(force))
            new.append(force)
            acc.append(inherited + S[k] @ a[k])
        return np.concatenate(a), np.concatenate(new)


def factored_tree(mechanism: Mechanism, motion: Kinematics, moves: Array) -> LockedTree:
    """Return the factors of a tree in which the velocities with moves[i] = 0 are locked; `moves` is (nv,).

    `motion` has the kinematics of the tree.
    """
    P = [body.inertia.articulated() for body in mechanism.bodies]
    joints: dict[int, LockedJoint] = {}
    for j in inward(mechanism):
        S, free = motion.S[j.o], moves[j.v]
        U = P[j.o] @ S
        D = ldlt(_moving_part(S.pair(U) + np.diag(mechanism.armature[j.v]), free))
        G = Force.of((D.solve((U.array * free).T).T) * free)
        joints[j.o] = LockedJoint(P[j.o], D, G, P[j.o].less(U, G), free)
        if j.i != WORLD:
            P[j.i] = P[j.i] + motion.X[j.o].up(joints[j.o].inward)
    return LockedTree(mechanism, motion, joints)


def _moving_part(A: Array, moves: Array) -> Array:
    """Return A (d, d) with the rows and columns of locked velocities replaced by those of the identity matrix.

    `moves` (d,) is 0 for locked velocities, else 1.
    """

    def entry(i: int, k: int) -> Number:
        return A[i, k] * (moves[i] * moves[k]) + (1.0 - moves[i] if i == k else 0.0)

    return np.array([[entry(i, k) for k in range(len(A))] for i in range(len(A))])


def held_forces(joint: Joint, armature: Array, S: Motion, found: TreeMotion, tau: Array) -> Array:
    """Return the forces (d,) that a joint needs, in addition to tau (d,), to have the accelerations in `found`.

    S is the motion subspace of the joint, and `armature` (d,) its armature.
    """
    return S.pair(found.through[joint.o]) + armature * found.a[joint.v] - tau
