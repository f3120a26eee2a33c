"""Conversion of positions and velocities between the layouts of linkwork, Pinocchio, MuJoCo and Drake.

The layout of a tool is a table with two functions for each joint kind: from linkwork's q and v, and back. Arrays have
components first and the batch last: q is (nq, n), v is (nv, n).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from linkwork.errors import LinkworkError, ModelError, NonFinite, unknown_name
from linkwork.model.batch_broadcasting import Input, checked
from linkwork.model.joints import Ball, Free, JointKind, Planar, Prismatic, Revolute, Screw, Universal
from linkwork.model.mechanism import Joint, Mechanism
from linkwork.spatial.rotation import matrix_from_quaternion, product, rpy_from_matrix
from linkwork.spatial.scalar import Array

OURS = "linkwork"
UNIVERSE = "universe"  # name of Pinocchio's joint 0, which stands for the world
QUATERNIONS = {Free: slice(3, 7), Ball: slice(0, 4)}  # slice of the quaternion in a joint's coordinates
State = tuple[Array, Array]


class JointLayout(NamedTuple):
    """Layout in which another tool stores the coordinates and velocities of one joint kind.

    `nq` is the number of coordinates of the joint in that tool. `write` maps batches q (nq, n) and v (nv, n) of this
    joint from linkwork's layout to that of the tool, and `read` maps them back.
    """

    nq: int
    write: Callable[[Array, Array], State]
    read: Callable[[Array, Array], State]


def _unchanged_layout(nq: int) -> JointLayout:
    return JointLayout(nq, lambda q, v: (q, v), lambda q, v: (q, v))


def _reordered_layout(order: Sequence[int]) -> JointLayout:
    """Return the layout of a joint whose coordinates another tool stores in another order than linkwork.

    Coordinate k of the tool is coordinate order[k] of linkwork. The velocities are the same.
    """
    back = np.argsort(order)
    return JointLayout(len(order), lambda q, v: (q[np.array(order)], v), lambda q, v: (q[back], v))


def _rotated(R: Array, v: Array) -> Array:
    """Return R v, the batch of vectors v (3, n) rotated by the matrices R (3, 3, n)."""
    return np.einsum("ij...,j...->i...", R, v)


def _rotated_back(R: Array, v: Array) -> Array:
    """Return R^T v, the batch of vectors v (3, n) rotated by the inverses of the matrices R (3, 3, n)."""
    return np.einsum("ji...,j...->i...", R, v)


# --- free joints of MuJoCo and Drake: velocities in world axes ---


def _free_to_mujoco(q: Array, v: Array) -> State:
    return q, np.concatenate([_rotated(matrix_from_quaternion(q[3:]), v[:3]), v[3:]])


def _free_from_mujoco(q: Array, v: Array) -> State:
    return q, np.concatenate([_rotated_back(matrix_from_quaternion(q[3:]), v[:3]), v[3:]])


def _free_to_drake(q: Array, v: Array) -> State:
    R = matrix_from_quaternion(q[3:])
    return np.concatenate([q[3:], q[:3]]), np.concatenate([_rotated(R, v[3:]), _rotated(R, v[:3])])


def _free_from_drake(q: Array, v: Array) -> State:
    R = matrix_from_quaternion(q[:4])
    return np.concatenate([q[4:], q[:4]]), np.concatenate([_rotated_back(R, v[3:]), _rotated_back(R, v[:3])])


# --- ball joint of Drake: roll, pitch, yaw, and the angular velocity in the parent's axes ---


def _ball_to_drake(q: Array, v: Array) -> State:
    R = matrix_from_quaternion(q)
    return rpy_from_matrix(R), _rotated(R, v)


def _ball_from_drake(rpy: Array, v: Array) -> State:
    c, s, none = np.cos(rpy / 2.0), np.sin(rpy / 2.0), np.zeros(rpy.shape[1:])
    x, y, z = np.array([c[0], s[0], none, none]), np.array([c[1], none, s[1], none]), np.array([c[2], none, none, s[2]])
    q = product(z, product(y, x))
    return q, _rotated_back(matrix_from_quaternion(q), v)


# --- continuous and planar joints of Pinocchio: cosine and sine of the angle; planar velocities in the child's axes ---


def _cosine_and_sine(q: Array, v: Array) -> State:
    return np.array([np.cos(q[0]), np.sin(q[0])]), v


def _angle(q: Array, v: Array) -> State:
    return np.arctan2(q[1:], q[:1]), v


def _plane_axes(angle: Array) -> Array:
    """Return the child's two in-plane axes, as columns (2, 2, n) in the joint's plane axes, for angles (n,) [rad]."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])


def _planar_to_pinocchio(q: Array, v: Array) -> State:
    there = np.array([q[0], q[1], np.cos(q[2]), np.sin(q[2])])
    return there, np.concatenate([_rotated_back(_plane_axes(q[2]), v[:2]), v[2:]])


def _planar_from_pinocchio(q: Array, v: Array) -> State:
    angle = np.arctan2(q[3], q[2])
    return np.array([q[0], q[1], angle]), np.concatenate([_rotated(_plane_axes(angle), v[:2]), v[2:]])


CONTINUOUS = JointLayout(2, _cosine_and_sine, _angle)
ONE = {Revolute: _unchanged_layout(1), Prismatic: _unchanged_layout(1)}
JOINT_LAYOUTS: dict[str, dict[type[JointKind], JointLayout]] = {
    "pinocchio": ONE
    | {
        Screw: _unchanged_layout(1),
        Universal: _unchanged_layout(2),
        Planar: JointLayout(4, _planar_to_pinocchio, _planar_from_pinocchio),
        Ball: _reordered_layout((1, 2, 3, 0)),
        Free: _reordered_layout((0, 1, 2, 4, 5, 6, 3)),
    },
    "mujoco": ONE | {Ball: _unchanged_layout(4), Free: JointLayout(7, _free_to_mujoco, _free_from_mujoco)},
    "drake": ONE
    | {
        Screw: _unchanged_layout(1),
        Universal: _unchanged_layout(2),
        Planar: _unchanged_layout(3),
        Ball: JointLayout(3, _ball_to_drake, _ball_from_drake),
        Free: JointLayout(7, _free_to_drake, _free_from_drake),
    },
}
TOOLS = (OURS, *JOINT_LAYOUTS)


@overload
def convert(
    mechanism: Mechanism,
    q: Any,
    v: None = None,
    *,
    source: str = OURS,
    target: str = OURS,
    names: Iterable[str] | None = None,
    continuous: Iterable[str] | None = None,
) -> Array: ...
@overload
def convert(
    mechanism: Mechanism,
    q: Any,
    v: Any,
    *,
    source: str = OURS,
    target: str = OURS,
    names: Iterable[str] | None = None,
    continuous: Iterable[str] | None = None,
) -> tuple[Array, Array]: ...
def convert(
    mechanism: Mechanism,
    q: Any,
    v: Any = None,
    *,
    source: str = OURS,
    target: str = OURS,
    names: Iterable[str] | None = None,
    continuous: Iterable[str] | None = None,
) -> Array | tuple[Array, Array]:
    """Convert positions and velocities to or from the layout of Pinocchio, MuJoCo or Drake.

    Quaternions are reordered but not normalized. Angles computed from cosine and sine are between -pi and pi. The other
    tool's layout has coordinates for mimic joints too; a conversion to linkwork reads independent joints only.

    Parameters
    ----------
    mechanism : Mechanism
        Mechanism with the same joints as the other tool's model.
    q : array_like, shape (..., nq)
        Positions in the layout of `source`.
    v : array_like, shape (..., nv), optional
        Velocities in the layout of `source`.
    source : {"linkwork", "pinocchio", "mujoco", "drake"}, default "linkwork"
        Layout of the arguments. One of `source` and `target` must be "linkwork".
    target : {"linkwork", "pinocchio", "mujoco", "drake"}, default "linkwork"
        Layout of the result.
    names : sequence of str, optional
        Joint names in the other tool's order; by default the mechanism's order.
    continuous : sequence of str, optional
        Revolute joints that Pinocchio stores as cosine and sine; by default those without limits.

    Returns
    -------
    q : ndarray, shape (..., nq)
        Positions in the layout of `target`, in the same units.
    v : ndarray, shape (..., nv)
        Velocities in the layout of `target`; only if `v` is given.

    Raises
    ------
    ModelError
        If `names` does not match the joints, or the other tool has no such joint kind.

    Examples
    --------
    >>> m = lw.Builder().body("ball", 1.0, inertia=(1, 1, 1)).joint("fly", lw.Free(), "world", "ball").build()
    >>> lw.convert(m, [1, 2, 3, 1, 0, 0, 0], target="pinocchio").tolist()  # quaternion (x, y, z, w)
    [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0]

    """
    for tool in (source, target):
        if tool not in TOOLS:
            raise unknown_name("layout", tool, TOOLS)
    if (source == OURS) == (target == OURS):
        raise LinkworkError(f"exactly one of source and target must be {OURS!r}; got {source!r} and {target!r}")
    reads = target == OURS
    tool = source if reads else target
    tree = mechanism.tree  # in the other tool's layout, mimic joints have coordinates too
    joints = _joints_in_order_of(tree, tool, names)
    layouts = _joint_layouts(joints, tool, continuous)
    theirs = sum(layout.nq for layout in layouts)
    inputs = {"q": Input(q, (theirs if reads else mechanism.nq,))}
    if v is not None:
        inputs["v"] = Input(v, (tree.nv if reads else mechanism.nv,))
    arrays, batch = checked(inputs)
    if not reads:
        expand = (mechanism.tree_position, mechanism.tree_velocity)
        arrays = [of(array) for of, array in zip(expand, arrays, strict=False)]
    flat = [np.broadcast_to(a, (*batch, a.shape[-1])).reshape(math.prod(batch), a.shape[-1]).T for a in arrays]
    q1, v1 = flat[0], flat[1] if v is not None else np.zeros((tree.nv, flat[0].shape[1]))
    q2 = np.empty((tree.nq if reads else theirs, q1.shape[1]))
    v2 = np.empty_like(v1)
    at_q = at_v = 0
    for joint, layout in zip(joints, layouts, strict=True):
        there = slice(at_q, at_q + layout.nq), slice(at_v, at_v + joint.kind.nv)
        here = joint.q, joint.v
        (from_q, from_v), (to_q, to_v) = (there, here) if reads else (here, there)
        with np.errstate(divide="ignore", invalid="ignore"):
            q2[to_q], v2[to_v] = (layout.read if reads else layout.write)(q1[from_q], v1[from_v])
        _refuse_no_rotation(joint, (q2 if reads else q1)[joint.q])
        at_q, at_v = there[0].stop, there[1].stop
    if reads:
        leaders = [tree.joints[joint.name] for joint in mechanism.leaders]
        q2, v2 = np.vstack([q2[:0], *(q2[j.q] for j in leaders)]), np.vstack([v2[:0], *(v2[j.v] for j in leaders)])
    found = [np.ascontiguousarray(a.T).reshape(*batch, a.shape[0]) for a in (q2, v2)]
    return found[0] if v is None else (found[0], found[1])


def _joints_in_order_of(mechanism: Mechanism, tool: str, names: Iterable[str] | None) -> list[Joint]:
    """Return the mechanism's joints in the order in which the tool `tool` stores them.

    `names` are the joint names in this order; None means the order of the mechanism.
    """
    if names is None:
        return list(mechanism.joints)
    order = [name for k, name in enumerate(names) if not (tool == "pinocchio" and k == 0 and name == UNIVERSE)]
    joints = [mechanism.joints[name] for name in order]  # an unknown name raises an error here
    twice = [name for name, count in Counter(order).items() if count > 1]
    if twice:
        raise ModelError(f"`names` contains joint {twice[0]!r} twice; it must contain each joint once")
    missing = [name for name in mechanism.joints.names if name not in order]
    if missing:
        raise ModelError(f"`names` does not contain joint {missing[0]!r}; it must contain each joint once")
    return joints


def _joint_layouts(joints: Sequence[Joint], tool: str, continuous: Iterable[str] | None) -> list[JointLayout]:
    """Return, for each joint, the layout in which the other tool stores its coordinates and velocities.

    `continuous` names the revolute joints that Pinocchio stores as cosine and sine; None selects the revolute joints
    without limits.
    """
    turning = {joint.name: joint for joint in joints if isinstance(joint.kind, Revolute)}
    if continuous is None:
        unbounded = {name for name, joint in turning.items() if not np.isfinite([joint.lower, joint.upper]).any()}
    else:
        unbounded = set(continuous)
        for name in unbounded - set(turning):
            raise unknown_name("revolute joint", name, turning)
    found = []
    for joint in joints:
        if type(joint.kind) not in JOINT_LAYOUTS[tool]:
            raise ModelError(
                f"{tool} has no joint that corresponds to a {type(joint.kind).__name__} joint; convertible kinds are "
                f"{', '.join(kind.__name__ for kind in JOINT_LAYOUTS[tool])}",
                f"joint {joint.name!r}",
            )
        found.append(
            CONTINUOUS if tool == "pinocchio" and joint.name in unbounded else JOINT_LAYOUTS[tool][type(joint.kind)]
        )
    return found


def _refuse_no_rotation(joint: Joint, q: Array) -> None:
    """Raise NonFinite if the joint has a quaternion that is zero in a member of its coordinates q (nq, n)."""
    where = QUATERNIONS.get(type(joint.kind))
    if where is not None and not q[where].any(axis=0).all():
        raise NonFinite(f"joint {joint.name!r}: its quaternion is zero; it must be a rotation of unit norm")
