"""Derivatives of inverse and forward dynamics along the tangent space of the coordinates, by composite bodies.

A small rotation of joint j about its column s moves all bodies outboard of j as one rigid body. In the body frames,
only the velocities change, by u, and the accelerations, by w - V x u; u and w are the same motions for all these
bodies, expressed in their frames. The change of the wrench through joint j is then I w + B u with the composite inertia
I and

    B u = V x* (I u) - I (V x u) + u x* (I V),

which depends on the angular part of u alone: its force is -2 p x u with the momentum p, its torque N u with a 3x3
matrix N. Both add up over composite bodies. The approach is that of Carpentier and Mansard (RSS 2018) and of Singh,
Russo and Wensing (RA-L 2022), here in body frames and for joints whose subspace depends on q. Differentiating the graph
of Algorithm 3.2 instead costs several times more operations (38 dof: 93,000 against 29,000 for inverse dynamics); the
tests compare with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.algorithms.inverse_dynamics import bias, inverse_dynamics
from linkwork.algorithms.kinematics import Kinematics, accelerations, against_gravity, kinematics
from linkwork.algorithms.mass_matrix import composite_inertias, mass_matrix, matrix_factors
from linkwork.algorithms.tree_traversal import inward, outward, to_root
from linkwork.model.mechanism import Joint, Mechanism
from linkwork.spatial import Force, Motion, RigidInertia
from linkwork.spatial.scalar import Array, Number, cross, hat


class BodyChange(NamedTuple):
    """Derivatives of the motion of all bodies outboard of a joint with respect to the motion of the joint.

    u and w are (6, d) for a joint with d velocities, in the frame of the joint's outboard body. Column k of u is the
    derivative of the bodies' velocity, and column k of w that of their acceleration, with respect to the joint's k-th
    coordinate or velocity.
    """

    u: Motion
    w: Motion


class Composite(NamedTuple):
    """A composite body: inertia, linear momentum p (3,) [N s] and gyroscopic matrix N (3, 3), in the body's frame.

    It is a body together with all bodies outboard of it. The matrix N [N m s] maps the angular part of a change of
    velocity to a torque; see the module's docstring.
    """

    inertia: RigidInertia
    p: Array
    N: Array

    def change(self, moved: BodyChange) -> Force:
        """Return the changes of the wrench on the composite body, one column (6,) for each column of `moved`.

        `moved` has the derivatives of the motion of the composite body.
        """
        turn = moved.u.angular
        return self.inertia @ moved.w + Force(cross(self.p, turn) * -2.0, self.N @ turn)


def inverse_dynamics_derivatives(mechanism: Mechanism, q: Array, v: Array, a: Array) -> Array:
    """Return the derivatives (3, nv, nv) of the joint forces tau by q (tangent space), v and a, in this order.

    Entry [k, i, j] is the derivative of tau_i with respect to component j of q (k = 0), v (k = 1) or a (k = 2). q is
    (nq,), v and a are (nv,).
    """
    motion = kinematics(mechanism, q, v)
    acc = accelerations(mechanism, motion, a, against_gravity(mechanism))
    force = inverse_dynamics(mechanism, q, v, a).force
    body = composites(mechanism, motion)
    by_q, by_v = {}, {}
    for j in outward(mechanism):
        by_q[j.o], by_v[j.o] = body_changes(j, motion, acc, q[j.q], v[j.v], a[j.v])
    dq, dv = _zeros(mechanism.nv), _zeros(mechanism.nv)
    for j in inward(mechanism):
        S, whole = motion.S[j.o], body[j.o]
        change_q, change_v = whole.change(by_q[j.o]), whole.change(by_v[j.o])
        # Nonzero if S depends on q_j
        own = [_subspace_rate(j, q[j.q], unit).pair(force[j.o]) for unit in np.eye(j.kind.nv)]
        _write_block(dq, j.v, j.v, S.pair(change_q) + np.array(own).T)
        _write_block(dv, j.v, j.v, S.pair(change_v))
        # Joints i inboard of j: effect of j on the force of i (by the changed wrench), and of i on the force of j
        change_q = change_q + S.cross(force[j.o])
        z = whole.inertia @ S
        z_turn = cross(whole.p, S.linear) * 2.0 + whole.N.T @ S.angular
        outer = j
        for i in list(to_root(mechanism, j.o))[1:]:
            X = motion.X[outer.o]
            change_q, change_v, z, z_turn = X.up(change_q), X.up(change_v), X.up(z), X.R @ z_turn
            _write_block(dq, i.v, j.v, motion.S[i.o].pair(change_q))
            _write_block(dv, i.v, j.v, motion.S[i.o].pair(change_v))
            for table, moved in ((dq, by_q[i.o]), (dv, by_v[i.o])):
                _write_block(table, j.v, i.v, (moved.w.pair(z) + moved.u.angular.T @ z_turn).T)
            outer = i
    return np.array([dq, dv, mass_matrix(mechanism, q)]).reshape(3, mechanism.nv, mechanism.nv)


def forward_dynamics_derivatives(mechanism: Mechanism, q: Array, v: Array, tau: Array) -> Array:
    """Return the derivatives (3, nv, nv) of the acceleration a by q (tangent space), v and tau, in this order.

    With tau = ID(q, v, a): da/dq = -M^-1 dID/dq, da/dv = -M^-1 dID/dv, da/dtau = M^-1. q is (nq,), v and tau are (nv,).
    """
    M = mass_matrix(mechanism, q)
    inverse = matrix_factors(mechanism, M).inverse()
    a = inverse.solve(tau - bias(mechanism, q, v))
    by_q, by_v, _ = inverse_dynamics_derivatives(mechanism, q, v, a)
    # Four columns at a time: each entry of L^-1 is loaded once for four multiply-adds (18, 38 dof: 28, 18 % faster)
    groups = [slice(k, k + 4) for k in range(0, mechanism.nv, 4)]
    minus = [np.concatenate([-inverse.solve(matrix[:, four]) for four in groups], axis=1) for matrix in (by_q, by_v)]
    return np.array([*minus, inverse.matrix()])


def composites(mechanism: Mechanism, motion: Kinematics) -> list[Composite]:
    """Return, by body number, the composite body that consists of a body and all bodies outboard of it.

    `motion` has the kinematics of the tree.
    """
    inertia = composite_inertias(mechanism, motion.X)
    p, N = [np.zeros(3)], [np.zeros((3, 3))]
    for j in outward(mechanism):
        own, V = mechanism.bodies[j.o].inertia, motion.twist[j.o]
        J, w = own.rotational, hat(V.angular)
        p.append((own @ V).linear)
        N.append(w @ J - J @ w - hat(J @ V.angular) - 2.0 * (hat(own.moment) @ hat(V.linear)))
    for j in inward(mechanism):
        X = motion.X[j.o]
        momentum = X.R @ p[j.o]
        N[j.i] = N[j.i] + X.R @ N[j.o] @ X.R.T - 2.0 * (hat(X.p) @ hat(momentum))
        p[j.i] = p[j.i] + momentum
    return [Composite(*parts) for parts in zip(inertia, p, N, strict=True)]


def body_changes(
    j: Joint, motion: Kinematics, acc: list[Motion], q: Array, v: Array, a: Array
) -> tuple[BodyChange, BodyChange]:
    """Return the derivatives of the motion of the bodies outboard of joint j by its coordinates, and by its velocities.

    The first result has one column per coordinate (in the tangent space), the second one per velocity. `acc` has the
    accelerations of all bodies; q, v and a are the coordinates, velocities and accelerations of joint j only. `motion`
    has the kinematics of the tree.
    """
    X, S, V = motion.X[j.o], motion.S[j.o], motion.twist[j.o]
    V_i, A_i = X.down(motion.twist[j.i]), X.down(acc[j.i])
    Sv = S @ v
    by_q, by_v = j.kind.bias_partials(q, v)
    rates = [_subspace_rate(j, q, unit) for unit in np.eye(j.kind.nv)]
    turned_v, turned_a = _columns([rate @ v for rate in rates]), _columns([rate @ a for rate in rates])
    u = V_i.cross(S) + turned_v
    w = A_i.cross(S) + turned_a + u.cross(Sv) + V.cross(turned_v) + by_q + V.cross(u)
    return BodyChange(u, w), BodyChange(S, V.cross(S) + V.cross(S) + S.cross(Sv) + by_v)


def _subspace_rate(j: Joint, q: Array, unit: Array) -> Motion:
    """Return the time derivative (6, d) of the motion subspace of joint j with d velocities, in the child's frame.

    q are the coordinates and `unit` (d,) the velocities of this joint only.
    """
    return j.kind.subspace_rate(q, unit)


def _columns(motions: list[Motion]) -> Motion:
    """Return the motion vectors in the list `motions` as one `Motion` with these vectors as columns."""
    return Motion(np.array([x.linear for x in motions]).T, np.array([x.angular for x in motions]).T)


def _zeros(n: int) -> list[list[Number]]:
    """Return an n x n table (list of lists) of zeros."""
    return [[0.0] * n for _ in range(n)]


def _write_block(table: list[list[Number]], rows: slice, columns: slice, block: Array) -> None:
    """Write the matrix `block` into the given `rows` and `columns` of a table (list of lists)."""
    for r, numbers in zip(range(rows.start, rows.stop), block, strict=True):
        table[r][columns] = list(numbers)
