"""Motions of the whole world that change nothing for a mechanism: to each belongs a momentum that is kept (S4 2.17).

They are found from gravity and anchors: a twist of the world is one if every joint at the world can follow it wherever
it is, if it does not lift anything, and if nothing else holds to the world.
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

TRIED = 5  # positions of a joint in which it must be able to follow
ROUNDED = 1e-12  # of one: entries of twists that are round-off


def symmetries(mechanism: Mechanism) -> Array:
    """The twists (k, 6) [linear; angular], about the world's origin in its axes, that move a mechanism as a whole.

    Where gravity or an anchor is a number that is not known yet, none is counted on.
    """
    roots = [joint for joint in mechanism.joints if joint.i == WORLD]
    if not roots or any(not _follows_freely(mechanism, joint) for joint in roots) or _held_elsewhere(mechanism):
        return np.zeros((0, 6))
    # About the anchors' centre, in lengths of their distance: from far away, turns about all of them look alike
    centre = np.mean([joint.place.p for joint in roots], axis=0)
    far = float(np.linalg.norm(centre))
    length = max(float(np.linalg.norm(joint.place.p - centre)) for joint in roots)
    length = length if length > RANK * (1.0 + far) else 1.0  # all at one place
    rng = np.random.default_rng(0)
    left = _keeping_heights(mechanism.gravity)
    for joint in roots:
        for _ in range(TRIED):
            q = joint.kind.random(rng)
            X = Transform(joint.place.R, joint.place.p - centre) @ joint.kind.transform(q)
            moved = X.up(joint.kind.subspace(q))
            left = _common(left, np.concatenate([moved.linear / length, moved.angular]))
    rows = _told(left, ROUNDED)
    turning = np.abs(rows[:, 3:]).max(axis=1, initial=0.0) > 0.0
    rows[turning, :3] = rows[turning, :3] * length + np.cross(centre, rows[turning, 3:])
    return _told(rows.T, ROUNDED * (1.0 + far))


def _follows_freely(mechanism: Mechanism, joint: Joint) -> bool:
    """Whether a joint at the world has no forces of its own, moves nothing else, and is known."""
    forces = (joint.stiffness, joint.damping, joint.friction, *((joint.armature,) if joint.kind.nv > 1 else ()))
    numbers = (*forces, joint.place.p, joint.place.R, mechanism.gravity)
    if any(np.asarray(x).dtype == object for x in numbers):
        return False
    if joint.kind.nv > 1 and turns_with_rotor(mechanism, joint):
        return False
    limited = np.isfinite(joint.lower).any() or np.isfinite(joint.upper).any()
    coupled = any(joint.name in (mimic.name, mimic.of) for mimic in mechanism.mimics)
    coupled = coupled or any(joint.name == name for tie in mechanism.velocity_rows for name, _, _ in tie.velocities)
    return not (limited or coupled or any(np.any(x) for x in forces))


def _held_elsewhere(mechanism: Mechanism) -> bool:
    anywhere = [(WORLD,) for _ in mechanism.forces]  # they may push from the world
    held = [(tie.at.body, tie.to.body) for tie in (*mechanism.frame_constraints, *mechanism.line_forces)]
    touching = [(pair.contact.at.body, pair.surface.place.body) for pair in mechanism.contact_pairs]
    return any(WORLD in bodies for bodies in (*anywhere, *held, *touching))


def _keeping_heights(gravity: Array) -> Array:
    """The twists (6, k) along which no weight is lifted: all without gravity."""
    size = float(np.linalg.norm(gravity))
    if size == 0.0:
        return np.eye(6)
    up = gravity / size
    level = np.linalg.svd(up[None])[2][1:].T
    return np.block([[level, np.zeros((3, 1))], [np.zeros((3, 2)), up[:, None]]])


def _common(a: Array, b: Array) -> Array:
    """An orthonormal basis (6, k) of what two bundles (6, .), of entries about one, both span."""
    if not (a.shape[1] and b.shape[1]):
        return np.zeros((6, 0))
    A, B = (np.linalg.svd(x, full_matrices=False) for x in (a, b))
    A, B = (u[:, s > RANK * s.max()] for u, s, _ in (A, B))
    _, sines, right = np.linalg.svd(A - B @ (B.T @ A))  # cosines would not tell small angles from none
    return A @ right[sines < RANK].T


def _told(basis: Array, noise: float) -> Array:
    """The same twists (k, 6) by rows in echelon form, so that simple ones show as such, of unit size.

    Entries below `noise` are taken for zero.
    """
    rows, done = np.array(basis.T), 0
    for column in (3, 4, 5, 0, 1, 2):  # turns first
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
    """Twists (k, 6) that span the same, with turns about c (3,) [m] as far as shifts among them allow.

    Where a mechanism has drifted far away, turns about the world's origin are nearly shifts.
    """
    turning = np.abs(twists[:, 3:]).max(axis=1, initial=0.0) > 0.0
    shifts = np.linalg.qr(twists[~turning, :3].T)[0]
    if not (turning.any() and shifts.shape[1]):
        return twists
    rows = []
    for twist, turns in zip(twists, turning, strict=True):
        there = twist[:3] + cross(twist[3:], c)  # what it does to c
        rows.append(np.concatenate([twist[:3] - shifts @ (shifts.T @ there), twist[3:]]) if turns else twist)
    return np.array(rows)


def generators(mechanism: Mechanism, q: Array, twists: Array) -> Array:
    """The velocities (nv, k) with which a mechanism at q follows twists (k, 6) of the world."""
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
    """The momenta (k,) that belong to twists (k, 6) of the world: power of the bodies' momenta, and of rotors, on them.

    Those of turns [kg m^2/s], of shifts [kg m/s]; they are kept where the twists are symmetries.
    """
    motion = kinematics(mechanism, q, v)
    bodies = [body.inertia @ V for body, V in zip(mechanism.bodies, motion.twist, strict=True)]
    whole = sum_in_world(mechanism, motion.X, bodies).array
    return twists @ whole + generators(mechanism, q, twists).T @ rotor_momenta(mechanism, v)
