"""Symmetries of a mechanism: rigid motions that do not change its dynamics, with conserved momenta (S4 2.17).

A rigid motion (twist) of the whole mechanism in the world is a symmetry if every joint at the world can follow it in
every position, if it does not raise any weight, if it does not move the world's ends of springs, and if it does not
violate loops that are closed to the world. For example, a loop or spring that is anchored on a vertical axis does not
violate the symmetry of rotation about this axis.
"""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.constraints.constraint_tolerances import CLOSING_ERROR, CLOSING_ITERATIONS, TWIST_ROUND_OFF
from linkwork.algorithms.joint_friction.friction_sites import friction_directions, sites
from linkwork.algorithms.kinematics import kinematics
from linkwork.algorithms.momentum import sum_in_world
from linkwork.algorithms.rotor_inertia import rotor_momenta, turns_with_rotor
from linkwork.model.bodies import Place
from linkwork.model.elements.constraint import FrameConstraint
from linkwork.model.elements.force import LineForce
from linkwork.model.mechanism import WORLD, Joint, Mechanism
from linkwork.spatial import Force, Motion, Transform
from linkwork.spatial.rotation import matrix_from_quaternion
from linkwork.spatial.scalar import Array, cross, hat, ldlt
from linkwork.spatial.transform import exp_transform
from linkwork.tolerances import RANK

TRIED = 12  # number of random positions of a joint or loop in which a symmetry is tested; must be above six


def symmetries(mechanism: Mechanism) -> Array:
    """Return the twists (k, 6) [linear; angular] of the whole mechanism that do not change its dynamics.

    The twists are about the world's origin, in the world's axes. If gravity or the position of a joint, loop or spring
    at the world is a traced number, no symmetry is reported.
    """
    roots = [joint for joint in mechanism.joints if joint.i == WORLD]
    if not roots or _touches_world(mechanism) or _has_traced_places(mechanism, roots):
        return np.zeros((0, 6))
    loops = [one for one in mechanism.frame_constraints if WORLD in (one.at.body, one.to.body)]
    anchors = [place.pose.p for one in mechanism.line_forces for place in _at_world(one)]
    # Twists are about the centre of all connections and scaled by their distances; about a far point they would hardly
    # differ
    points = [*(joint.place.p for joint in roots), *(p for one in loops for p in [_at_world(one)[0].pose.p]), *anchors]
    centre = np.mean(points, axis=0)
    far = float(np.linalg.norm(centre))
    length = max(float(np.linalg.norm(point - centre)) for point in points)
    length = length if length > RANK * (1.0 + far) else 1.0  # all connections are at one position
    scale = np.repeat([1.0 / length, 1.0], 3)[:, None]
    rng = np.random.default_rng(0)
    left = _twists_without_gravity_work(mechanism.gravity)
    for joint in roots:
        for _ in range(TRIED):
            left = _common_twists(left, _followed(mechanism, joint, centre, rng) * scale)
    for point in anchors:
        about = np.concatenate([-hat(centre - point), np.eye(3)])  # twists of the rotations about the anchor
        left = _common_twists(left, about * scale)
    with_friction = {site.name: friction_directions(site).array for site in sites(mechanism) if site.loop is not None}
    for one in loops:
        for _ in range(TRIED):
            left = _common_twists(
                left, _without_work(_wrenches(one, centre, rng, with_friction.get(one.name)) / scale.T)
            )
    rows = _echelon(left, TWIST_ROUND_OFF)
    turning = np.abs(rows[:, 3:]).max(axis=1, initial=0.0) > 0.0
    rows[turning, :3] = rows[turning, :3] * length + np.cross(centre, rows[turning, 3:])
    return _echelon(rows.T, TWIST_ROUND_OFF * (1.0 + far))


def _at_world(one: FrameConstraint | LineForce) -> list[Place]:
    """Return the ends of a loop or spring `one` that are fixed to the world: a list with one end, or an empty list.

    The list is empty if both ends are fixed to the world, or none is.
    """
    ends = [place for place in (one.at, one.to) if place.body == WORLD]
    return ends if len(ends) == 1 else []


def _has_traced_places(mechanism: Mechanism, roots: list[Joint]) -> bool:
    """Return whether gravity, or the position of a connection to the world, is a traced number.

    Connections are the joints at the world, `roots`, and the loops and springs that are anchored there.
    """
    ends = [place for one in (*mechanism.frame_constraints, *mechanism.line_forces) for place in _at_world(one)]
    poses = [*(joint.place for joint in roots), *(end.pose for end in ends)]
    return any(np.asarray(x).dtype == object for x in (mechanism.gravity, *(x for X in poses for x in (X.p, X.R))))


def _touches_world(mechanism: Mechanism) -> bool:
    """Return whether contacts or force elements may exert forces between the mechanism and the world."""
    touching = any(WORLD in bodies for _, *bodies in mechanism.contact_bodies)
    return touching or bool(len(mechanism.forces))


def _followed(mechanism: Mechanism, joint: Joint, centre: Array, rng: np.random.Generator) -> Array:
    """Return the twists (6, k) about the point `centre` (3,) [m] along which a joint to the world moves freely.

    The twists are in world axes. The position of the joint is random, drawn from `rng`.
    """
    q = joint.kind.random(rng)
    X = Transform(joint.place.R, joint.place.p - centre) @ joint.kind.transform(q)
    return X.up(joint.kind.subspace(q)).array[:, _free_velocities(mechanism, joint)]


def _free_velocities(mechanism: Mechanism, joint: Joint) -> Array:
    """Return, for each velocity of a joint at the world, whether it is free: no force or other joint opposes it.

    The result is (nv of the joint,). Velocities of joints with quaternions are not rates of coordinates; such a joint
    is free in all of them or in none.
    """
    nv, none = joint.kind.nv, np.zeros(joint.kind.nv, dtype=bool)
    forces = [joint.stiffness, joint.damping, joint.friction, *([joint.armature] if nv > 1 else [])]
    forces += [np.ones(nv) for one in mechanism.all_elements if one.causes_friction_at(joint.name)]
    if any(np.asarray(x).dtype == object for x in forces):
        return none
    coupled = any(joint.name in (mimic.name, mimic.of) for mimic in mechanism.mimics)
    coupled = coupled or any(joint.name == name for row in mechanism.velocity_rows for name, _, _ in row.velocities)
    if coupled or (nv > 1 and (np.any(joint.armature) or turns_with_rotor(mechanism, joint))):
        return none
    opposed = np.any([np.broadcast_to(x, nv) for x in forces], axis=0)
    limited = np.isfinite(joint.lower) | np.isfinite(joint.upper)
    if joint.kind.nq == nv:
        return ~(opposed | limited)
    return none if opposed.any() or limited.any() else ~none


def _wrenches(one: FrameConstraint, centre: Array, rng: np.random.Generator, friction: Array | None) -> Array:
    """Return the constraint wrenches (n, 6) of a loop `one` to the world, about the point `centre`, in world axes.

    The wrenches are evaluated at a random pose that closes the loop; `rng` draws it. The wrenches of the loop's
    friction, `friction` (6, k) on the frame `to` in its axes, are among them.
    """
    X = _closed_pose(one, rng)
    at_world = _at_world(one)[0].pose
    frame = at_world @ X if one.at.body == WORLD else at_world  # pose in the world of the frame of the wrenches
    frame = Transform(frame.R, frame.p - centre)
    own = [row.wrench(X) for row in one.rows]
    own += [] if friction is None else [Force.of(column) for column in friction.T]
    return np.array([frame.up(wrench).array for wrench in own])


def _closed_pose(one: FrameConstraint, rng: np.random.Generator) -> Transform:
    """Return a random pose of the frame `to` of a loop `one` in its frame `at`, at which the loop is closed.

    Newton's method finds the pose, starting from a pose that `rng` draws.
    """
    X = Transform(matrix_from_quaternion(rng.normal(size=4)), rng.uniform(-1.0, 1.0, 3))
    for _ in range(CLOSING_ITERATIONS):
        errors = np.array([row.error(X) for row in one.rows])
        if np.abs(errors).max(initial=0.0) < CLOSING_ERROR:
            break
        J = np.array([row.wrench(X).array for row in one.rows])
        move = np.linalg.lstsq(J, -errors, rcond=RANK)[0]
        X = X @ exp_transform(Motion.of(move / max(1.0, float(np.abs(move).max()))))
    return X


def _without_work(wrenches: Array) -> Array:
    """Return an orthonormal basis (6, k) of the twists on which none of the wrenches (n, 6) does work."""
    sizes = np.linalg.norm(wrenches, axis=1, keepdims=True)
    _, s, right = np.linalg.svd(wrenches / np.where(sizes > 0.0, sizes, 1.0))
    return right[int((s > RANK).sum()) :].T


def _twists_without_gravity_work(gravity: Array) -> Array:
    """Return an orthonormal basis (6, k) of the rigid-body twists that do not change the potential energy of gravity.

    With gravity, k is 3: two horizontal translations and the rotation about the vertical axis. Without gravity, the
    function returns all six unit twists.
    """
    size = float(np.linalg.norm(gravity))
    if size == 0.0:
        return np.eye(6)
    up = gravity / size
    level = np.linalg.svd(up[None])[2][1:].T
    return np.block([[level, np.zeros((3, 1))], [np.zeros((3, 2)), up[:, None]]])


def _common_twists(a: Array, b: Array) -> Array:
    """Return an orthonormal basis (6, k) of the twists that are in the column spaces of both a and b (6, .).

    Entries of a and b are of order 1.
    """
    if not (a.shape[1] and b.shape[1]):
        return np.zeros((6, 0))
    A, B = (np.linalg.svd(x, full_matrices=False) for x in (a, b))
    A, B = (u[:, s > RANK * s.max()] for u, s, _ in (A, B))
    _, sines, right = np.linalg.svd(A - B @ (B.T @ A))  # sines of angles; cosines cannot resolve small angles
    return A @ right[sines < RANK].T


def _echelon(basis: Array, noise: float) -> Array:
    """Return a basis of twists as rows (k, 6) in reduced echelon form, which shows simple twists, such as rotations.

    `basis` has the twists as columns (6, k). Pivots are 1. Entries below `noise` are set to zero.
    """
    rows, done = np.array(basis.T), 0
    for column in (3, 4, 5, 0, 1, 2):  # pivot columns: rotations first
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
    """Return symmetry twists (k, 6) that span the same space, with rotations about the point c (3,) [m] if possible.

    Rotations are about c as far as the translations allow. If a mechanism has drifted far away, rotations about the
    world's origin are almost translations.
    """
    turning = np.abs(twists[:, 3:]).max(axis=1, initial=0.0) > 0.0
    shifts = np.linalg.qr(twists[~turning, :3].T)[0]
    if not (turning.any() and shifts.shape[1]):
        return twists
    rows = []
    for twist, turns in zip(twists, turning, strict=True):
        there = twist[:3] + cross(twist[3:], c)  # velocity of the point c
        rows.append(np.concatenate([twist[:3] - shifts @ (shifts.T @ there), twist[3:]]) if turns else twist)
    return np.array(rows)


def generators(mechanism: Mechanism, q: Array, twists: Array) -> Array:
    """Return the joint velocities (nv, k) with which the whole mechanism at q (nq,) moves along world twists (k, 6)."""
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
    """Return the momenta (k,) of a mechanism along symmetry twists (k, 6) in the world, including momenta of rotors.

    The momenta have the unit kg m^2/s for rotations and kg m/s for translations. They are conserved if the twists are
    symmetries. q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities.
    """
    motion = kinematics(mechanism, q, v)
    bodies = [body.inertia @ V for body, V in zip(mechanism.bodies, motion.twist, strict=True)]
    whole = sum_in_world(mechanism, motion.X, bodies).array
    return twists @ whole + generators(mechanism, q, twists).T @ rotor_momenta(mechanism, v)
