"""Many limbs that share bodies and motors (S0 sections 4 and 5): a tree of revolute joints, whole or with constraints.

Every path from a base to an outermost body is a limb. Bodies that several limbs contain give each a share of their mass
(38), (39), and constant matrices lead from few coordinates to those of all limbs: omega_G = C0^R D0 D1 D2 D3 alpha_G3'
(40). A base is a body on a free joint, or else the world, which is a base that is locked.

The paper turns the base by Euler angles; here its velocities are those of its joint: its twist, in its own frame.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from linkwork.algorithms.kinematics import external_forces, joint_poses, world_poses
from linkwork.algorithms.limb_coordinates import (
    constrained,
    relative_to_absolute,
    true_to_relative,
    with_place,
)
from linkwork.algorithms.limbs import Equations, Limb, applied_forces, block_diagonal, true_equations
from linkwork.algorithms.sweeps import outward, to_root
from linkwork.errors import LinkworkError
from linkwork.model.joints import Free, Revolute
from linkwork.model.mechanism import WORLD, Joint, Mechanism
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array, cross, hat, ldlt, where

PARALLEL = 1e-12  # by how much the cosine between parallel axes may differ from 1


@dataclass(frozen=True, eq=False)
class LimbSystem:
    """The limbs of a mechanism in one mode, in k coordinates alpha: what is locked, coupled, and measured from where.

    `paths`: the bodies of each limb, from base to tip. `measured_from`: for each of them the frame of the limb from
    which its turn is measured. `shares` (nbodies + 1,): how many limbs contain each body. `D0`: a matrix D of (17) for
    each limb. `D1`: limbs on common bases (36). `D2`: bodies that limbs share (40). `D3` (nv, k): what is locked and
    coupled. `spread` (nv, k): v = spread alpha'. `bases`: each free body, with the first of its six columns.
    """

    paths: tuple[tuple[int, ...], ...]
    measured_from: tuple[tuple[int, ...], ...]
    shares: Array
    D0: tuple[Array, ...]
    D1: Array
    D2: Array
    D3: Array
    spread: Array
    bases: tuple[tuple[int, int], ...]

    @cached_property
    def maps(self) -> tuple[Array, ...]:
        """For each limb of n frames, D0 D1 D2 D3 (3 + 3n, k) of (40), multiplied once (5.3.2)."""
        together, ends = self.D1 @ self.D2 @ self.D3, np.cumsum([D.shape[1] for D in self.D0])
        return tuple(D @ together[end - D.shape[1] : end] for D, end in zip(self.D0, ends, strict=True))


def why_not(mechanism: Mechanism) -> str:
    """Why a mechanism is not made of limbs; nothing, if it is."""
    for j in mechanism.joints:
        if not isinstance(j.kind, Revolute) and not (isinstance(j.kind, Free) and j.i == WORLD):
            return f"limbs have revolute joints, and free ones on the world; {j.name!r} is {type(j.kind).__name__}"
    return ""


def limb_system(
    mechanism: Mechanism,
    couplings: Mapping[str, Mapping[str, float]] | None = None,
    locked: Collection[str] = (),
    measured_from: Mapping[str, str] | None = None,
) -> LimbSystem:
    """The limbs of a mechanism, one for every outermost body, in the order of these.

    `couplings` has for every motor the joints that it drives, with ratios; `locked` names joints. `measured_from` has
    for a joint a body inboard of its parent, where its motor sits: its coordinate is its body's turn against that one
    (29). All joints between must have parallel axes.
    """
    reason = why_not(mechanism)
    if reason:
        raise LinkworkError(f"{mechanism.name!r} is not made of limbs: {reason}")
    driven = [name for ratios in (couplings or {}).values() for name in ratios]
    for name in (*driven, *locked, *(measured_from or {})):
        if isinstance(mechanism.joints[name].kind, Free):
            raise LinkworkError(f"joint {name!r} is free: revolute joints alone are coupled, locked, or measured")
    limbs = [_path(mechanism, body) for body in _outermost(mechanism)]
    bases = {joint.o: joint for joint in outward(mechanism) if isinstance(joint.kind, Free)}
    paths = tuple((base, *(j.o for j in joints)) for base, joints in limbs)
    inboard = {name: mechanism.bodies[body].index for name, body in (measured_from or {}).items()}
    relations = np.eye(mechanism.nv)
    for name, body in inboard.items():
        relations[mechanism.joints[name].v] += _turn_between(mechanism, mechanism.joints[name], body)
    D3 = constrained(_coordinates(mechanism), couplings or {}, locked)
    return LimbSystem(
        paths,
        tuple(_measured(base, joints, inboard) for base, joints in limbs),
        np.array([sum(body.index in path for path in paths) for body in mechanism.bodies]),
        tuple(_turns(joints) for _, joints in limbs),
        _common_bases(paths, list(bases)),
        _shared_joints(mechanism, limbs, list(bases.values())),
        D3,
        np.linalg.solve(relations, D3),
        tuple((body, int(D3[joint.v.start].argmax())) for body, joint in bases.items()),
    )


# --- equations of all limbs ---


def system_equations(
    mechanism: Mechanism, system: LimbSystem, q: Array, rate: Array, wrenches: Array | None = None
) -> Equations:
    """M (k, k) and h (k,) of M alpha'' + h = forces, at q (nq,) and velocities `rate` (k,): one loop over the limbs.

    `wrenches` (nbodies, 6) [N, N m] act on the bodies; forces belong to alpha, spread^T tau for joint forces tau (nv,).
    """
    poses, external = world_poses(mechanism, joint_poses(mechanism, q)), external_forces(mechanism, wrenches)
    T, drift = _base_velocities(system, poses, rate)
    M, h = np.zeros((len(rate), len(rate))), np.zeros(len(rate))
    for path, measured_from, D in zip(system.paths, system.measured_from, system.maps, strict=True):
        limb = limb_at(mechanism, system, path, poses)
        C_R = with_place(relative_to_absolute(limb.C, measured_from))
        own = true_equations(limb, C_R, D, T @ rate, mechanism.gravity)
        on_bodies = [external[body] * (1.0 / system.shares[body]) for body in path]
        applied = applied_forces(limb, [F.linear for F in on_bodies], [F.angular for F in on_bodies])
        M, h = M + own.M, h + own.h - (C_R @ D).T @ applied
    rotors = system.spread.T @ np.diag(mechanism.armature) @ system.spread
    return Equations(T.T @ M @ T + rotors, T.T @ (h + M @ drift))


def limb_at(mechanism: Mechanism, system: LimbSystem, path: Sequence[int], poses: Sequence[Transform]) -> Limb:
    """The limb along a path of bodies, with its shares of their masses (39), (41), for poses of all bodies."""
    m, S, I = [], [], []
    for number in path:
        inertia, part = mechanism.bodies[number].inertia, 1.0 / system.shares[number]
        centre = inertia.moment / where(inertia.mass > 0.0, inertia.mass, 1.0)  # without mass there is no moment
        m.append(inertia.mass * part)
        S.append(centre)
        I.append((inertia.rotational + hat(inertia.moment) @ hat(centre)) * part)
    L = np.array([mechanism.joints[number - 1].place.p for number in path[1:]]).reshape(-1, 3)
    return Limb(np.array(m), np.array(S), L, np.array(I), np.array([poses[number].R for number in path]))


def accelerations(
    mechanism: Mechanism, system: LimbSystem, q: Array, rate: Array, tau: Array, wrenches: Array | None = None
) -> Array:
    """Accelerations alpha'' (k,) under joint forces tau (nv,) [N m, N], at the velocities `rate` (k,)."""
    M, h = system_equations(mechanism, system, q, rate, wrenches)
    return ldlt(M).solve(system.spread.T @ tau - h)


def forward_dynamics(mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> Array:
    """Joint accelerations (nv,) [rad/s^2, m/s^2] without constraints."""
    return accelerations(mechanism, limb_system(mechanism), q, v, tau, wrenches)


def inverse_dynamics(mechanism: Mechanism, q: Array, v: Array, a: Array, wrenches: Array | None = None) -> Array:
    """Joint forces (nv,) [N m, N] that produce the accelerations a (nv,), without constraints."""
    M, h = system_equations(mechanism, limb_system(mechanism), q, v, wrenches)
    return M @ a + h


def mass_matrix(mechanism: Mechanism, q: Array) -> Array:
    """M (nv, nv) without constraints."""
    return system_equations(mechanism, limb_system(mechanism), q, np.zeros(mechanism.nv)).M


def _base_velocities(system: LimbSystem, poses: Sequence[Transform], rate: Array) -> tuple[Array, Array]:
    """T (k, k) and a drift (k,): alpha' with R' and omega of free bases is T rate, and its rate T rate' + drift.

    The linear velocity of a free joint is in the base's own frame: R' = C v, and R'' = C (v' + omega x v).
    """
    blocks, drift, column = [], [], 0
    for body, first in system.bases:
        C, (v, w) = poses[body].R, np.split(rate[first : first + 6], 2)
        blocks += [np.eye(first - column), C, np.eye(3)]
        drift += [np.zeros(first - column), C @ cross(w, v), np.zeros(3)]
        column = first + 6
    rest = len(rate) - column
    return block_diagonal([*blocks, np.eye(rest)]), np.concatenate([*drift, np.zeros(rest)])


# --- the constant matrices ---


def _outermost(mechanism: Mechanism) -> Iterator[int]:
    """The bodies on which no other hangs."""
    inboard = {j.i for j in outward(mechanism)}
    return (j.o for j in outward(mechanism) if j.o not in inboard)


def _path(mechanism: Mechanism, tip: int) -> tuple[int, list[Joint]]:
    """The base of the limb that ends with a body, and the revolute joints between them."""
    joints = list(to_root(mechanism, tip))[::-1]
    return (joints[0].o, joints[1:]) if isinstance(joints[0].kind, Free) else (WORLD, joints)


def _coordinates(mechanism: Mechanism) -> list[str]:
    """Names of all velocities: those of revolute joints, and six for each free one."""
    names: list[str] = []
    for j in mechanism.joints:
        names += [j.name] if j.kind.nv == 1 else [f"{j.name}.{name}" for name in j.kind.velocities]
    return names


def _measured(base: int, joints: Sequence[Joint], inboard: Mapping[str, int]) -> tuple[int, ...]:
    """For each frame of a limb that from which it is measured, -1 for the base."""
    frames = [base, *(j.o for j in joints)]
    return (-1, *(frames.index(inboard.get(j.name, j.i)) for j in joints))


def _turn_between(mechanism: Mechanism, joint: Joint, body: int) -> Array:
    """The row (nv,) whose product with v is the turn of the parent of `joint` against `body`, about its axis."""
    row, axis = np.zeros(mechanism.nv), joint.place.R @ _axis(joint)
    between = list(to_root(mechanism, joint.i))
    inner = [*(j.o for j in between), WORLD]
    if body not in inner:
        raise LinkworkError(
            f"joint {joint.name!r} cannot be measured from {mechanism.bodies[body].name!r}, which is not inboard of "
            f"it; inboard are {', '.join(mechanism.bodies[number].name for number in inner)}"
        )
    for j in between[: inner.index(body)]:
        along = float(axis @ _axis(j)) if isinstance(j.kind, Revolute) else 0.0
        if abs(abs(along) - 1.0) > PARALLEL:
            raise LinkworkError(
                f"joint {joint.name!r} cannot be measured from {mechanism.bodies[body].name!r}: "
                f"its axis is not parallel to that of joint {j.name!r} between them"
            )
        row[j.v] = np.sign(along)
        axis = j.place.R @ axis
    return row


def _axis(joint: Joint) -> Array:
    """The axis (3,) of a revolute joint, in the frame of its outer body."""
    return joint.kind.subspace(np.zeros(1)).angular[:, 0]


def _turns(joints: Sequence[Joint]) -> Array:
    """D (3 + 3n, 6 + n - 1) of a limb whose base moves freely, by R' and its own omega (14), (17)."""
    return with_place(true_to_relative([np.eye(3), *(_axis(j)[:, None] for j in joints)]))


def _common_bases(paths: Sequence[Sequence[int]], bases: Sequence[int]) -> Array:
    """D1: six coordinates for each free base, then all limbs' joints (36), (37); a fixed base has no column."""
    joints = sum(len(path) - 1 for path in paths)
    blocks, before = [np.zeros((0, 6 * len(bases) + joints))], 6 * len(bases)
    for path in paths:
        own = np.zeros((6 + len(path) - 1, 6 * len(bases) + joints))
        if path[0] != WORLD:
            first = 6 * bases.index(path[0])
            own[:6, first : first + 6] = np.eye(6)
        own[6:, before : before + len(path) - 1] = np.eye(len(path) - 1)
        before += len(path) - 1
        blocks.append(own)
    return np.concatenate(blocks)


def _shared_joints(mechanism: Mechanism, limbs: Sequence[tuple[int, Sequence[Joint]]], bases: Sequence[Joint]) -> Array:
    """D2: joints that several limbs contain have one coordinate, in the order of the mechanism's velocities (40)."""
    turning = [j for _, joints in limbs for j in joints]
    everywhere = np.eye(mechanism.nv)
    return np.concatenate([np.zeros((0, mechanism.nv)), *(everywhere[j.v] for j in (*bases, *turning))])
