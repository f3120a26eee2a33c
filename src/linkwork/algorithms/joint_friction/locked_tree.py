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


class Sweep(NamedTuple):
    """Result of a sweep over a tree.

    a (nv,) are accelerations, or changes of accelerations. `changes` (nv,) are the changes of joint forces during the
    sweep.
    """

    a: Array
    changes: Array


Update = Callable[[Joint, Force, Force], Array | None]  # see `LockedTree.sweep`


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

    def sweep(
        self, forces: Array, pending: Array, z: list[Force], bias: list[Motion], base: Motion, update: Update
    ) -> Sweep:
        """Return accelerations, and the changes of joint forces that `update` makes during the outward sweep.

        `forces` (nv,) are the joint forces. `pending` (nv,) are changes of joint forces that an earlier sweep made:
        their effect on the joints outboard is known, their effect inboard is not. z, `bias` and `base` are those of
        `solve`.

        The outward sweep calls update(joint, load, G) for each joint. `load` is the wrench through the joint, and G (6,
        d) its change per unit of the joint's own forces. The load includes the changes at joints inboard, but not the
        changes at this joint and at joints outboard. `update` returns a change (d,) of the joint's forces, or None.
        """
        z, free, inner, X, S = list(z), {}, {}, self.motion.X, self.motion.S
        for j in inward(self.mechanism):
            k, joint = j.o, self.joints[j.o]
            free[k] = (forces[j.v] - S[k].pair(z[k])) * joint.moves
            inner[k] = joint.inward @ bias[k] + z[k] + joint.G @ (free[k] + pending[j.v])
            if j.i != WORLD:
                z[j.i] = z[j.i] + X[k].up(inner[k])
        acc, a, changes = [base], [np.zeros(0)], [np.zeros(0)]
        for j in outward(self.mechanism):
            k, joint = j.o, self.joints[j.o]
            inherited = X[k].down(acc[j.i])
            change = update(j, joint.inward @ inherited + inner[k], joint.G)
            changes.append(np.zeros(j.kind.nv) if change is None else change)
            a.append(joint.freed(free[k] + changes[k]) - (inherited + bias[k]).pair(joint.G))
            acc.append(inherited + bias[k] + S[k] @ a[k])
        return Sweep(np.concatenate(a), np.concatenate(changes))

    def further_sweep(self, pending: Array, update: Update) -> Sweep:
        """Return the changes of accelerations due to `pending` (nv,) and to the further changes that `update` makes.

        See `sweep` for the arguments; here, the loads that `update` gets are changes too.
        """
        none, still = [Force.zero() for _ in self.mechanism.bodies], [Motion.zero() for _ in self.mechanism.bodies]
        return self.sweep(np.zeros(len(pending)), pending, none, still, Motion.zero(), update)


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
