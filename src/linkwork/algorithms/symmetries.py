"""Symmetries of a mechanism: rigid motions that do not change its dynamics, with conserved momenta (S4 2.17).

A twist of the whole mechanism in the world is a symmetry if every joint at the world can follow it in every position,
if it does not raise any weight, and if nothing else connects the mechanism to the world.
"""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.kinematics import kinematics
from linkwork.algorithms.momentum import sum_in_world
from linkwork.algorithms.rotors import rotor_momenta, turns_with_rotor
from linkwork.model.mechanism import WORLD, Joint, Mechanism
from linkwork.spatial import Motion, Transform
from linkwork.spatial.scalar import Array, cross, ldlt
from linkwork.tolerances import RANK

TRIED = 5  # random positions of a joint in which it must be able to follow a symmetry
ROUNDED = 1e-12  # entries of twists below this are round-off, relative to 1


def symmetries(mechanism: Mechanism) -> Array:
    """Return the twists (k, 6) [linear; angular] that are symmetries of a mechanism.

    They are about the world's origin, in the world's axes. If gravity or the pose of a joint at the world is a traced
    number, no symmetry is reported.
    """
    roots = [joint for joint in mechanism.joints if joint.i == WORLD]
    if not roots or any(not _follows_freely(mechanism, joint) for joint in roots) or _connected_elsewhere(mechanism):
        return np.zeros((0, 6))
    # Twists are about the centre of the joints and scaled by their distances. About a far point they would be similar
    centre = np.mean([joint.place.p for joint in roots], axis=0)
    far = float(np.linalg.norm(centre))
    length = max(float(np.linalg.norm(joint.place.p - centre)) for joint in roots)
    length = length if length > RANK * (1.0 + far) else 1.0  # all joints are at one position
    rng = np.random.default_rng(0)
    left = _keeping_heights(mechanism.gravity)
    for joint in roots:
        for _ in range(TRIED):
            q = joint.kind.random(rng)
            X = Transform(joint.place.R, joint.place.p - centre) @ joint.kind.transform(q)
            moved = X.up(joint.kind.subspace(q))
            left = _common(left, np.concatenate([moved.linear / length, moved.angular]))
    rows = _echelon(left, ROUNDED)
    turning = np.abs(rows[:, 3:]).max(axis=1, initial=0.0) > 0.0
    rows[turning, :3] = rows[turning, :3] * length + np.cross(centre, rows[turning, 3:])
    return _echelon(rows.T, ROUNDED * (1.0 + far))


def _follows_freely(mechanism: Mechanism, joint: Joint) -> bool:
    """Return whether a joint at the world has no forces, is not coupled to other joints, and has known parameters."""
    forces = (joint.stiffness, joint.damping, joint.friction, *((joint.armature,) if joint.kind.nv > 1 else ()))
    numbers = (*forces, joint.place.p, joint.place.R, mechanism.gravity)
    if any(np.asarray(x).dtype == object for x in numbers):
        return False
    if joint.kind.nv > 1 and turns_with_rotor(mechanism, joint):
        return False
    limited = np.isfinite(joint.lower).any() or np.isfinite(joint.upper).any()
    coupled = any(joint.name in (mimic.name, mimic.of) for mimic in mechanism.mimics)
    coupled = coupled or any(joint.name == name for row in mechanism.velocity_rows for name, _, _ in row.velocities)
    return not (limited or coupled or any(np.any(x) for x in forces))


def _connected_elsewhere(mechanism: Mechanism) -> bool:
    """Return whether loops, springs, contacts or force elements connect the mechanism to the world."""
    anywhere = [(WORLD,) for _ in mechanism.forces]  # force elements may act from the world
    connected = [(one.at.body, one.to.body) for one in (*mechanism.frame_constraints, *mechanism.line_forces)]
    touching = [(pair.contact.at.body, pair.surface.place.body) for pair in mechanism.contact_pairs]
    return any(WORLD in bodies for bodies in (*anywhere, *connected, *touching))


def _keeping_heights(gravity: Array) -> Array:
    """Return the twists (6, k) that do not raise any weight; all twists if there is no gravity."""
    size = float(np.linalg.norm(gravity))
    if size == 0.0:
        return np.eye(6)
    up = gravity / size
    level = np.linalg.svd(up[None])[2][1:].T
    return np.block([[level, np.zeros((3, 1))], [np.zeros((3, 2)), up[:, None]]])


def _common(a: Array, b: Array) -> Array:
    """Return an orthonormal basis (6, k) of the intersection of two column spaces (6, .); entries are of order 1."""
    if not (a.shape[1] and b.shape[1]):
        return np.zeros((6, 0))
    A, B = (np.linalg.svd(x, full_matrices=False) for x in (a, b))
    A, B = (u[:, s > RANK * s.max()] for u, s, _ in (A, B))
    _, sines, right = np.linalg.svd(A - B @ (B.T @ A))  # sines: cosines cannot distinguish small angles from zero
    return A @ right[sines < RANK].T


def _echelon(basis: Array, noise: float) -> Array:
    """Return the same twists (k, 6) as rows in reduced echelon form, so that simple twists are recognizable.

    `basis` has the twists as columns (6, k). Pivots are 1. Entries below `noise` are set to zero.
    """
    rows, done = np.array(basis.T), 0
    for column in (3, 4, 5, 0, 1, 2):  # rotations first
        left = np.abs(rows[done:, column])
        if left.max(initial=0.0) < 1e-6:
            continue
        pivot = done + int(np.argmax(left))
        rows[[done, pivot]] = rows[[pivot, done]]
        rows[done] /= rows[done, column]
        others = [k for k in range(len(rows)) if k != done]
        rows[others] -= np.outer(rows[others, column], rows[done])
        done += 1
    rows[np.abs(rows) < noise] = 0.0
    return rows


def centred(twists: Array, c: Array) -> Array:
    """Return twists (k, 6) that span the same space, with rotations about c (3,) [m] as far as the translations allow.

    If a mechanism has drifted far away, rotations about the world's origin are almost translations.
    """
    turning = np.abs(twists[:, 3:]).max(axis=1, initial=0.0) > 0.0
    shifts = np.linalg.qr(twists[~turning, :3].T)[0]
    if not (turning.any() and shifts.shape[1]):
        return twists
    rows = []
    for twist, turns in zip(twists, turning, strict=True):
        there = twist[:3] + cross(twist[3:], c)  # velocity of c
        rows.append(np.concatenate([twist[:3] - shifts @ (shifts.T @ there), twist[3:]]) if turns else twist)
    return np.array(rows)


def generators(mechanism: Mechanism, q: Array, twists: Array) -> Array:
    """Return the joint velocities (nv, k) with which a mechanism at q follows twists (k, 6) of the whole mechanism."""
    found = np.zeros((mechanism.nv, len(twists)))
    columns = [list(column) for column in found]
    for joint in mechanism.joints:
        if joint.i == WORLD:
            X, S = joint.place @ joint.kind.transform(q[joint.q]), joint.kind.subspace(q[joint.q]).array
            moved = X.down(Motion.of(twists.T)).array
            followed = ldlt(S.T @ S).solve(S.T @ moved)
            columns[joint.v] = [list(row) for row in followed]
    return np.array(columns).reshape(mechanism.nv, len(twists))


def momentum_maps(mechanism: Mechanism, q: Array, v: Array, twists: Array) -> Array:
    """Return the momenta (k,) of bodies and rotors along twists (k, 6) in the world.

    For rotations in [kg m^2/s], for translations in [kg m/s]. They are conserved if the twists are symmetries.
    """
    motion = kinematics(mechanism, q, v)
    bodies = [body.inertia @ V for body, V in zip(mechanism.bodies, motion.twist, strict=True)]
    whole = sum_in_world(mechanism, motion.X, bodies).array
    return twists @ whole + generators(mechanism, q, twists).T @ rotor_momenta(mechanism, v)
