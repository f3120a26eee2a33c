"""SpaceDyn's H-matrix formulation (S3 3.4 to 3.7): a moving base with links, in inertial axes, about centroids.

Link 0 is the base: the body on the mechanism's only root joint if that is a Free joint, else the world. The paper has
revolute and prismatic joints. Here a joint of any kind contributes one column (k, u) per velocity: k its angular and u
its linear direction, in inertial axes. Misprints of the paper are corrected as proved in docs/papers/spacedyn.md.
The dense solution checks the other formulations. It works on floats only and cannot be traced.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.algorithms.kinematics import external_forces, joint_poses, world_poses
from linkwork.algorithms.rotor_inertia import rotor_matrix, rotor_momenta
from linkwork.algorithms.tree_traversal import inward, outward, to_root
from linkwork.model.joints import Free
from linkwork.model.mechanism import WORLD, Mechanism
from linkwork.spatial.scalar import Array, hat


class Links(NamedTuple):
    """Geometry and masses of every link in inertial axes, by body number; `base` is the body number of the base.

    For body i: A[i] (3, 3) is the rotation from its frame to inertial axes, p[i] (3,) [m] the position of its inboard
    joint and r[i] (3,) [m] that of its centroid; m[i] [kg] is its mass and I[i] (3, 3) [kg m^2] its inertia about the
    centroid. k[i] and u[i] (3, nv of this joint) are the angular and linear directions of the joint's velocities.
    """

    base: int
    A: list[Array]
    p: list[Array]
    r: list[Array]
    m: list[float]
    I: list[Array]
    k: list[Array]
    u: list[Array]


class EquationsOfMotion(NamedTuple):
    """SpaceDyn's equations of motion H x'' + c = force, equation (3.18), and the relation of x to v and a.

    x' (nv,) are SpaceDyn's velocities: the velocity of the base's centroid and the base's angular velocity, both in
    inertial axes, then the joint velocities. x' = to_x v and x'' = to_x a + drift. H and to_x are (nv, nv); c, `force`
    [N, N m] and `drift` are (nv,). `force` are the joint forces in these coordinates.
    """

    H: Array
    c: Array
    force: Array
    to_x: Array
    drift: Array


def links(mechanism: Mechanism, q: Array) -> Links:
    """Return the positions and inertias of all links in inertial axes (step 1 of section 3.6).

    q (nq,) [rad or m, or quaternions] are the coordinates.
    """
    poses = world_poses(mechanism, joint_poses(mechanism, q))
    roots = [j for j in outward(mechanism) if j.i == WORLD]
    base = roots[0].o if len(roots) == 1 and isinstance(roots[0].kind, Free) else WORLD
    found = Links(base, [], [], [], [], [], [np.zeros((3, 0))], [np.zeros((3, 0))])
    for X, body in zip(poses, mechanism.bodies, strict=True):
        mass = float(body.mass) if body.index != WORLD else 0.0
        c = body.inertia.moment / mass if mass > 0.0 else np.zeros(3)
        about_centroid = body.inertia.rotational + mass * (hat(c) @ hat(c)) if mass > 0.0 else np.zeros((3, 3))
        found.A.append(X.R)
        found.p.append(X.p)
        found.r.append(X.point(c))
        found.m.append(mass)
        found.I.append(X.R @ about_centroid @ X.R.T)  # rotation to the inertial frame, which (3.21) omits
    for j in outward(mechanism):
        S = j.kind.subspace(q[j.q])
        found.k.append(found.A[j.o] @ S.angular)
        found.u.append(found.A[j.o] @ S.linear)
    return found


def link_jacobians(mechanism: Mechanism, link: Links) -> tuple[list[Array], list[Array]]:
    """Return, for each link i, the Jacobians J_T[i] of its centroid's velocity and J_R[i] of its angular velocity.

    See equations (3.25) and (3.26). Each is (3, nv), in inertial axes; the columns of the base's own joint are zero.
    The results are lists by body number. `link` has the positions of all links.
    """
    J_T = [np.zeros((3, mechanism.nv)) for _ in mechanism.bodies]
    J_R = [np.zeros((3, mechanism.nv)) for _ in mechanism.bodies]
    for body in mechanism.bodies[1:]:
        for j in to_root(mechanism, body.index):
            if j.o != link.base:
                J_R[body.index][:, j.v] = link.k[j.o]
                arm = link.r[body.index] - link.p[j.o]
                J_T[body.index][:, j.v] = link.u[j.o] + np.cross(link.k[j.o], arm[:, None], axis=0)
    return J_T, J_R


def inertia_matrix_H(mechanism: Mechanism, link: Links) -> tuple[Array, Array, Array]:
    """Return the blocks of SpaceDyn's inertia matrix: base H_b (6, 6), coupling H_bm (6, nv), joints H_m (nv, nv).

    See equations (3.19) to (3.28). Columns of the base's own joint are zero. `link` has the positions and inertias of
    all links.
    """
    J_T, J_R = (np.array(J[1:]) for J in link_jacobians(mechanism, link))  # shape (n, 3, nv), without the world
    m, I = np.array(link.m[1:])[:, None, None], np.array(link.I[1:])
    w = sum(link.m)  # total mass with the base, which the paper's list of symbols omits
    r_0i = np.array([hat(r - link.r[link.base]) for r in link.r[1:]])  # equation (3.28)
    H_w = np.sum(I + m * r_0i.mT @ r_0i, axis=0)  # equation (3.21); the base's term is I_0
    H_wm = np.sum(I @ J_R + m * r_0i @ J_T, axis=0)  # equation (3.22)
    H_m = np.sum(J_R.mT @ I @ J_R + m * J_T.mT @ J_T, axis=0)  # equation (3.23)
    wJ_Tw = np.sum(m * J_T, axis=0)  # equation (3.24) times w, as (3.20) requires
    wr_0g = np.sum(m * r_0i, axis=0)  # w hat(r_0g), equation (3.27)
    H_b = np.block([[w * np.eye(3), wr_0g.T], [wr_0g, H_w]])  # equation (3.19)
    return H_b, np.concatenate([wJ_Tw, H_wm]), H_m


class Motions(NamedTuple):
    """Velocities and accelerations of every link in inertial axes, by body number.

    For body i: w[i] (3,) [rad/s] is the angular velocity, dw[i] (3,) [rad/s^2] the angular acceleration, and ddr[i]
    (3,) [m/s^2] the acceleration of the centroid, without gravity.
    """

    w: list[Array]
    dw: list[Array]
    ddr: list[Array]


def link_motions(mechanism: Mechanism, link: Links, q: Array, v: Array, a: Array) -> Motions:
    """Return the velocities and accelerations of all links by outward recursion, equations (3.8) to (3.15).

    `link` has the positions of all links. q (nq,) [rad or m, or quaternions], v (nv,) [rad/s or m/s] and a (nv,)
    [rad/s^2 or m/s^2] are the coordinates, velocities and accelerations.
    """
    zero = np.zeros(3)
    w, dw, ddp = [zero], [zero], [zero]
    for j in outward(mechanism):
        rate = j.kind.subspace_rate(q[j.q], v[j.v])
        k, u, A = link.k[j.o], link.u[j.o], link.A[j.o]
        turn, slide = k @ v[j.v], u @ v[j.v]
        w_B, w_i, d = w[j.i], w[j.i] + turn, link.p[j.o] - link.p[j.i]  # equation (3.8)
        w.append(w_i)
        dw.append(dw[j.i] + np.cross(w_i, turn) + k @ a[j.v] + A @ (rate.angular @ v[j.v]))  # equation (3.10)
        ddp.append(  # equations (3.11) and (3.15), at the joint
            ddp[j.i]
            + np.cross(dw[j.i], d)
            + np.cross(w_B, np.cross(w_B, d))
            + np.cross(w_B, slide)
            + np.cross(w_i, slide)
            + u @ a[j.v]
            + A @ (rate.linear @ v[j.v])
        )
    c = [r - p for r, p in zip(link.r, link.p, strict=True)]
    ddr = [ddp[i] + np.cross(dw[i], c[i]) + np.cross(w[i], np.cross(w[i], c[i])) for i in range(len(c))]
    return Motions(w, dw, ddr)


def inverse_dynamics(
    mechanism: Mechanism, q: Array, v: Array, a: Array, wrenches: Array | None = None
) -> tuple[Array, Array]:
    """Return the joint forces (nv,) [N m, N], and the force and moment (6,) [N, N m] that must act on the base.

    See equations (3.30) to (3.39). The force and moment are in inertial axes, the moment about the base's centroid.
    q (nq,) [rad or m, or quaternions], v (nv,) [rad/s or m/s] and a (nv,) [rad/s^2 or m/s^2] are the coordinates,
    velocities and accelerations. `wrenches` (nbodies, 6) [N, N m] act on the bodies at their origins, in their axes.
    """
    link = links(mechanism, q)
    motion = link_motions(mechanism, link, q, v, a)
    external = external_forces(mechanism, wrenches)
    f, n = [np.zeros(3) for _ in link.m], [np.zeros(3) for _ in link.m]  # force, moment on each link about its joint
    for i, (m, I) in enumerate(zip(link.m, link.I, strict=True)):
        F = m * (motion.ddr[i] - mechanism.gravity)  # equation (3.30), with gravity as an acceleration
        N = I @ motion.dw[i] + np.cross(motion.w[i], I @ motion.w[i])  # equation (3.31)
        f[i] = F - link.A[i] @ external[i].linear
        n[i] = N + np.cross(link.r[i] - link.p[i], F) - link.A[i] @ external[i].angular
    tau = np.zeros(mechanism.nv)
    for j in inward(mechanism):
        tau[j.v] = link.k[j.o].T @ n[j.o] + link.u[j.o].T @ f[j.o]  # equations (3.36), (3.37)
        f[j.i] = f[j.i] + f[j.o]  # equation (3.32); the sign of external forces is corrected above
        n[j.i] = (
            n[j.i] + n[j.o] + np.cross(link.p[j.o] - link.p[j.i], f[j.o])
        )  # equation (3.33); p includes the joint displacement, so (3.35) is not needed
    tau += rotor_momenta(mechanism, a)
    # Equations (3.38) and (3.39), with the inertial force of the base, which the paper omits
    at_centroid = n[link.base] + np.cross(link.p[link.base] - link.r[link.base], f[link.base])
    return tau, np.concatenate([f[link.base], at_centroid])


def equations_of_motion(
    mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None = None
) -> EquationsOfMotion:
    """Return SpaceDyn's equations of motion H x'' + c = force, equation (3.18), in one state.

    The rows of the base come first; a fixed base has none. `c` has the velocity terms, gravity and the external
    wrenches, all from one inverse dynamics (step 3 of section 3.6). q (nq,) [rad or m, or quaternions] and v (nv,)
    [rad/s or m/s] are the coordinates and velocities, and tau (nv,) [N m or N] are joint forces. `wrenches` (nbodies,
    6) [N, N m] act on the bodies at their origins, in their axes.
    """
    link = links(mechanism, q)
    H_b, H_bm, H_m = inertia_matrix_H(mechanism, link)
    rotors = rotor_matrix(mechanism)
    if link.base == WORLD:
        c, _ = inverse_dynamics(mechanism, q, v, np.zeros(mechanism.nv), wrenches)
        return EquationsOfMotion(H_m + rotors, c, tau, np.eye(mechanism.nv), np.zeros(mechanism.nv))
    # The base has the first six velocities. Its coordinates here are the velocity of its centroid and its angular
    # velocity in inertial axes: x_b' = B v_b, x_b'' = B a_b + drift.
    A, offset = link.A[link.base], hat(link.r[link.base] - link.p[link.base])
    to_x = np.eye(mechanism.nv)
    to_x[:6, :6] = np.block([[A, -offset @ A], [np.zeros((3, 3)), A]])
    free_run = link_motions(mechanism, link, q, v, np.zeros(mechanism.nv))
    drift = np.concatenate([free_run.ddr[link.base], free_run.dw[link.base], np.zeros(mechanism.nv - 6)])
    at_rest = -np.linalg.solve(to_x, drift)  # the acceleration with x'' = 0
    c_m, c_b = inverse_dynamics(mechanism, q, v, at_rest, wrenches)
    felt = np.linalg.solve(to_x.T, rotors)  # rotor matrix for x; its joint rows equal those for v
    c_b = c_b + felt[:6] @ at_rest
    return EquationsOfMotion(
        np.block([[H_b, H_bm[:, 6:]], [H_bm[:, 6:].T, H_m[6:, 6:]]]) + np.linalg.solve(to_x.T, felt.T),
        np.concatenate([c_b, c_m[6:]]),
        np.linalg.solve(to_x.T, tau),
        to_x,
        drift,
    )


def forward_dynamics(mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> Array:
    """Return the joint accelerations (nv,) [rad/s^2, m/s^2] by SpaceDyn's equation (3.29).

    The accelerations of the base are converted to the rate of its body twist. q (nq,) [rad or m, or quaternions] and v
    (nv,) [rad/s or m/s] are the coordinates and velocities, tau (nv,) [N m or N] are joint forces, and `wrenches`
    (nbodies, 6) [N, N m] act on the bodies at their origins, in their axes.
    """
    eom = equations_of_motion(mechanism, q, v, tau, wrenches)
    return np.linalg.solve(eom.to_x, np.linalg.solve(eom.H, eom.force - eom.c) - eom.drift)


def mass_matrix(mechanism: Mechanism, q: Array) -> Array:
    """Return the mass matrix (nv, nv) for the velocities v: to_x^T H to_x, with H and to_x of `EquationsOfMotion`.

    q (nq,) [rad or m, or quaternions] are the coordinates.
    """
    rest = np.zeros(mechanism.nv)
    eom = equations_of_motion(mechanism, q, rest, rest)
    return eom.to_x.T @ eom.H @ eom.to_x
