"""Limb systems: a tree of revolute joints as limbs, serial chains from a base that share bodies and motors (S0 4, 5).

The module computes the constant matrices. Every path from a base to an outermost body is a limb. A base is a body on a
free joint, or the world (a locked base). Matrices map few coordinates to those of all limbs: omega_G = C0^R D0 D1 D2 D3
alpha_G3' (40). Locked joints, couplings and coordinates measured from other bodies appear in these matrices only: a
mode is one `LimbSystem`, built once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from linkwork.algorithms.constraints.constraint_tolerances import PARALLEL_COSINE
from linkwork.algorithms.formulations.limb_velocity_maps import constrained, true_to_relative, with_base_position
from linkwork.algorithms.tree_traversal import outward, to_root
from linkwork.errors import LinkworkError
from linkwork.model.joints import Free, Revolute
from linkwork.model.mechanism import WORLD, Joint, Mechanism
from linkwork.spatial.scalar import Array


@dataclass(frozen=True, eq=False)
class LimbSystem:
    """Limbs of a mechanism in one mode (locked joints, couplings, reference bodies), in k coordinates alpha.

    `paths`: the body numbers of each limb, from base to tip. `measured_from`: for each body of each limb, the place in
    the limb of the body from which its rotation is measured, and -1 for the base. `shares` (nbodies + 1,): number of
    limbs that contain each body, with the world first. `D0`: for each
    limb the matrix D of equation (17). `D1`: the matrix by which limbs share bases, equation (36). `D2`: the matrix by
    which limbs share joints, equation (40). `D3` (nv, k): the matrix that locks and couples joints. `velocity_map` (nv,
    k): v = velocity_map alpha'. `bases`: for each base on a free joint, its body number and the number of the first of
    its six columns.
    """

    paths: tuple[tuple[int, ...], ...]
    measured_from: tuple[tuple[int, ...], ...]
    shares: Array
    D0: tuple[Array, ...]
    D1: Array
    D2: Array
    D3: Array
    velocity_map: Array
    bases: tuple[tuple[int, int], ...]

    @cached_property
    def maps(self) -> tuple[Array, ...]:
        """The product D0 D1 D2 D3 (3 + 3n, k) of equation (40) for each limb of n frames, computed once.

        See section 5.3.2.
        """
        together, ends = self.D1 @ self.D2 @ self.D3, np.cumsum([D.shape[1] for D in self.D0])
        return tuple(D @ together[end - D.shape[1] : end] for D, end in zip(self.D0, ends, strict=True))


def why_not(mechanism: Mechanism) -> str:
    """Return a text that says why the limb formulation does not apply to a mechanism; empty if it applies."""
    for j in mechanism.joints:
        if not isinstance(j.kind, Revolute) and not (isinstance(j.kind, Free) and j.i == WORLD):
            needed = "limbs are serial chains of revolute joints from the world or from a base on a free joint"
            return f"{needed}; joint {j.name!r} is {type(j.kind).__name__}"
    return ""


def limb_system(
    mechanism: Mechanism,
    couplings: Mapping[str, Mapping[str, float]] | None = None,
    locked: Collection[str] = (),
    measured_from: Mapping[str, str] | None = None,
) -> LimbSystem:
    """Return the limbs of a mechanism, one for each outermost body, in the order of these bodies.

    `couplings` maps each motor to the joints that it drives, with their ratios; `locked` has the names of locked
    joints. `measured_from` maps a joint to a body inboard of its parent, where its motor is mounted: the joint's
    coordinate is then the rotation relative to that body, as in equation (29). All joints between this body and the
    joint must have parallel axes. Clutches and brakes of the mechanism are ignored.
    """
    reason = why_not(mechanism)
    if reason:
        raise LinkworkError(f"the limb formulation does not apply to {mechanism.name!r}: {reason}")
    if mechanism.tree is not mechanism:
        raise LinkworkError(
            f"{mechanism.name!r} has mimic joints; use mechanism.tree, and describe the mimic joints by couplings"
        )
    driven = [name for ratios in (couplings or {}).values() for name in ratios]
    for name in (*driven, *locked, *(measured_from or {})):
        if isinstance(mechanism.joints[name].kind, Free):
            raise LinkworkError(f"joint {name!r} is free; only revolute joints can be coupled, locked or measured")
    limbs = [_limb_path(mechanism, body) for body in _outermost_bodies(mechanism)]
    bases = {joint.o: joint for joint in outward(mechanism) if isinstance(joint.kind, Free)}
    paths = tuple((base, *(j.o for j in joints)) for base, joints in limbs)
    inboard = {name: mechanism.bodies[body].index for name, body in (measured_from or {}).items()}
    relations = np.eye(mechanism.nv)
    for name, body in inboard.items():
        relations[mechanism.joints[name].v] += _turn_between(mechanism, mechanism.joints[name], body)
    D3 = constrained(_coordinates(mechanism), couplings or {}, locked)
    return LimbSystem(
        paths,
        tuple(_reference_frames(base, joints, inboard) for base, joints in limbs),
        np.array([sum(body.index in path for path in paths) for body in mechanism.bodies]),
        tuple(_limb_matrix(joints) for _, joints in limbs),
        _common_bases(paths, list(bases)),
        _shared_joints(mechanism, limbs, list(bases.values())),
        D3,
        np.linalg.solve(relations, D3),
        tuple((body, int(D3[joint.v.start].argmax())) for body, joint in bases.items()),
    )


def _outermost_bodies(mechanism: Mechanism) -> Iterator[int]:
    """Return the numbers of the bodies without outboard bodies."""
    inboard = {j.i for j in outward(mechanism)}
    return (j.o for j in outward(mechanism) if j.o not in inboard)


def _limb_path(mechanism: Mechanism, tip: int) -> tuple[int, list[Joint]]:
    """Return the base body of the limb that ends with the body `tip`, and the revolute joints between base and tip."""
    joints = list(to_root(mechanism, tip))[::-1]
    return (joints[0].o, joints[1:]) if isinstance(joints[0].kind, Free) else (WORLD, joints)


def _coordinates(mechanism: Mechanism) -> list[str]:
    """Return names for all nv velocities in their order: one for each revolute joint, six for each free joint."""
    names: list[str] = []
    for j in mechanism.joints:
        names += [j.name] if j.kind.nv == 1 else [f"{j.name}.{name}" for name in j.kind.velocities]
    return names


def _reference_frames(base: int, joints: Sequence[Joint], inboard: Mapping[str, int]) -> tuple[int, ...]:
    """Return, for each frame of a limb, the index of the frame from which its rotation is measured; -1 for the base.

    `joints` are the joints of the limb. `inboard` maps the name of a joint to the number of the body from which its
    rotation is measured, if that is not its parent.
    """
    frames = [base, *(j.o for j in joints)]
    return (-1, *(frames.index(inboard.get(j.name, j.i)) for j in joints))


def _turn_between(mechanism: Mechanism, joint: Joint, body: int) -> Array:
    """Return the row (nv,) that maps v to an angular velocity [rad/s] of the parent of `joint` relative to a body.

    It is the component about the axis of `joint`. `body` is the number of the body. The function raises a LinkworkError
    if this body is not inboard of the joint, or a joint between them is not parallel to its axis.
    """
    row, axis = np.zeros(mechanism.nv), joint.place.R @ _axis(joint)
    between = list(to_root(mechanism, joint.i))
    inner = [*(j.o for j in between), WORLD]
    if body not in inner:
        raise LinkworkError(
            f"the rotation of joint {joint.name!r} cannot be measured from {mechanism.bodies[body].name!r}: that body "
            f"is not inboard of it. Inboard bodies: {', '.join(mechanism.bodies[number].name for number in inner)}"
        )
    for j in between[: inner.index(body)]:
        along = float(axis @ _axis(j)) if isinstance(j.kind, Revolute) else 0.0
        if abs(abs(along) - 1.0) > PARALLEL_COSINE:
            raise LinkworkError(
                f"the rotation of joint {joint.name!r} cannot be measured from {mechanism.bodies[body].name!r}: "
                f"its axis is not parallel to that of joint {j.name!r} between them"
            )
        row[j.v] = np.sign(along)
        axis = j.place.R @ axis
    return row


def _axis(joint: Joint) -> Array:
    """Return the axis (3,) of a revolute joint as a unit vector in the frame of the joint's outboard body."""
    return joint.kind.subspace(np.zeros(1)).angular[:, 0]


def _limb_matrix(joints: Sequence[Joint]) -> Array:
    """Return the matrix D (3 + 3n, 6 + n - 1) of a limb of n bodies with the given revolute joints; (14) and (17).

    The matrix maps R' and omega, the velocities of the freely moving base, and the rates of the n - 1 joints. The
    result is R' and the relative angular velocities Omega of all bodies.
    """
    return with_base_position(true_to_relative([np.eye(3), *(_axis(j)[:, None] for j in joints)]))


def _common_bases(paths: Sequence[Sequence[int]], bases: Sequence[int]) -> Array:
    """Return the matrix D1, by which limbs on the same base share the velocities of that base; equations (36) and (37).

    Columns are six for each free base, then one for each joint of each limb. Rows are, for each limb, six for its base,
    then one for each joint. `paths` has the body numbers of each limb, `bases` those of the free bases. A fixed base
    has no column.
    """
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
    """Return the matrix D2, by which a joint that several limbs share has only one coordinate; equation (40).

    Rows belong to the columns of D1: six for each free base, then the joints of all limbs. Columns are the nv
    velocities of the tree. `limbs` has the base's body number and the joints of each limb, `bases` the free joints.
    """
    turning = [j for _, joints in limbs for j in joints]
    everywhere = np.eye(mechanism.nv)
    return np.concatenate([np.zeros((0, mechanism.nv)), *(everywhere[j.v] for j in (*bases, *turning))])
