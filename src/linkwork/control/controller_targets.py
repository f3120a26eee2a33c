"""Targets of controllers and control signals of drives: fixed values, a Reference, or a function of time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linkwork.control.controlled_plant import Plant
from linkwork.control.reference_trajectory import Reference
from linkwork.errors import LinkworkError, ShapeError, listed
from linkwork.model.batch_broadcasting import as_numbers, refuse_non_finite
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.rotation import conjugate, log_matrix, product
from linkwork.spatial.scalar import Array
from linkwork.spatial.transform import Transform

POSITION, POSE, COORDINATES = (3,), (4, 4), (7,)


class Wanted(NamedTuple):
    """A controller's target at one time: `place`, with its first and second time derivative, `rate` and `acceleration`.

    The place is an array of joint coordinates (nq,), with derivatives (nv,). Otherwise it is a position (3,) [m], a
    pose (4, 4) or the coordinates (7,) of a free body in the world. Its derivatives, (3,) for a position and else (6,),
    are in the world's axes, linear before angular.
    """

    place: Any
    rate: Any
    acceleration: Any


Target = Callable[[Any], Wanted]


def joint_target(plant: Plant, given: Any) -> Target:
    """Return a joint target as a function of time t [s]: coordinates (nq,), velocities (nv,), accelerations (nv,).

    `given` is an array of fixed coordinates, a Reference of coordinates, or a function of t that returns all three.
    """
    m = plant.mechanism
    if isinstance(given, Reference):
        turning = [j.name for j in plant.joints if j.kind.nq != j.kind.nv]
        if turning:
            raise LinkworkError(
                f"a Reference cannot be the target of joint {turning[0]!r}, which has a quaternion; give a fixed "
                "target, or a function of t that returns q, v and a"
            )
        followed = _followed(given, (m.nq,), f"q of {m.name}")
        rates = _picked_rates(plant)
        return lambda t: Wanted(followed(t).place, rates(followed(t).rate), rates(followed(t).acceleration))
    if callable(given):
        return _from_function(given)
    return _fixed(as_numbers("target", given), {(m.nq,): m.nv})


def _picked_rates(plant: Plant) -> Callable[[Array], Array]:
    """Return a function that maps dq/dt (nq,) to velocities (nv,), with zeros for joints without a motor.

    For actuated joints, dq/dt and v are equal.
    """
    at = [k for j in plant.joints for k in range(j.q.start, j.q.stop)]
    return lambda rates: plant.expanded(np.asarray(rates)[at])


def frame_target(given: Any) -> tuple[Target, int]:
    """Return the target of a frame as a function of time, and its size: 3 for a position, 6 for a pose (4, 4).

    `given` is a fixed position or pose, a Reference of positions, or a function of t that returns the position or pose,
    its rate and its acceleration. Rates and accelerations are in the world's axes, linear before angular.
    """
    if isinstance(given, Reference):
        return _followed(given, POSITION, "a position; for a moving orientation give a function of t"), 3
    if callable(given):
        wanted = _from_function(given)
        shape = np.shape(wanted(0.0).place)
        if shape not in (POSITION, POSE):
            raise ShapeError(
                "target(t) must return a tuple of position or pose, rate and acceleration, whose first entry has the "
                f"shape (3,) of a position or (4, 4) of a pose; target(0.0) returned a first entry of shape {shape}"
            )
        return wanted, 6 if shape == POSE else 3
    place = as_numbers("target", given)
    target = _fixed(place, {POSITION: 3, POSE: 6})
    if place.shape == POSE and place.dtype != object and not _is_pose(place):
        raise LinkworkError(
            f"target is not a pose: its upper left 3x3 block must be a rotation matrix; got {place!r:.200}"
        )
    return target, 6 if place.shape == POSE else 3


def base_target(given: Any) -> Target:
    """Return the target of a free body as a function of time: coordinates (7,), velocity (6,), acceleration (6,).

    `given` is an array of fixed coordinates, a Reference of coordinates, whose quaternions need not be unit, or a
    function of t that returns all three. Rates are in the world's axes, linear before angular.
    """
    if isinstance(given, Reference):
        followed = _followed(given, COORDINATES, "a position and a quaternion")
        if not np.linalg.norm(given.values[:, 3:], axis=1).all():
            raise LinkworkError("a quaternion of the target is zero; it must be an orientation")
        return lambda t: _turning(followed(t))
    if callable(given):
        wanted = _from_function(given)
        shapes = tuple(np.shape(x) for x in wanted(0.0))
        if shapes != (COORDINATES, (6,), (6,)):
            raise ShapeError(f"target(0.0) must return arrays of shapes (7,), (6,) and (6,); got shapes {shapes}")
        return wanted
    target = _fixed(as_numbers("target", given), {COORDINATES: 6})
    if not np.linalg.norm(target(0.0).place[3:]):
        raise LinkworkError("the quaternion of the target is zero; it must be an orientation")
    return target


def _turning(wanted: Wanted) -> Wanted:
    """Return a free body's target with quaternion derivatives replaced by angular velocity and acceleration.

    `wanted` has the coordinates (7,) and their first and second time derivatives (7,). The derivatives of the
    quaternion r become the angular velocity w = 2 vec(r' conj(r)) / |r|^2 and its rate.
    """
    (_, r), (dp, dr), (ddp, ddr) = ((np.asarray(x)[:3], np.asarray(x)[3:]) for x in wanted)
    square, back = r @ r, conjugate(r)
    w = product(dr, back)[1:] * (2.0 / square)
    dw = product(ddr, back)[1:] * (2.0 / square) - w * (2.0 * (r @ dr) / square)
    return Wanted(wanted.place, np.concatenate([dp, w]), np.concatenate([ddp, dw]))


def drive_command(m: Mechanism, given: Any) -> Callable[[Any, Any, Any], Array]:
    """Return the control signals (ndrives,) of all drives as a function of (t, q, v).

    `given` is an array of fixed signals, a Reference of signals, or a function of (t, q, v) that returns them.
    """
    if not m.actuators:
        raise LinkworkError(f"{m.name} has no drives: add them with Builder.drive(name, ratios)")
    wanted = (len(m.actuators),)

    def refuse(what: str, shape: tuple[int, ...]) -> None:
        if shape != wanted:
            each = f"one control for each drive: {listed(m.actuators.names)}"
            raise ShapeError(f"{what} has shape {shape}, expected {wanted}, {each}")

    if isinstance(given, Reference):
        refuse("the Reference of the command", given.shape)
        return lambda t, q, v: given(t)
    if callable(given):

        def command(t: Any, q: Any, v: Any) -> Array:
            u = as_numbers("command", given(t, q, v))
            refuse("the array that the command returns", u.shape)
            return u

        return command
    fixed = as_numbers("command", given).copy()
    refuse_non_finite("command", fixed)
    refuse("command", fixed.shape)
    return lambda t, q, v: fixed


def _is_pose(place: Array) -> bool:
    """Return whether the matrix `place` (4, 4) is a pose, with an orthonormal, right-handed rotation matrix."""
    R = place[:3, :3]
    return bool(np.abs(R @ R.T - np.eye(3)).max() < 1e-6 and np.linalg.det(R) > 0.0)


def _followed(reference: Reference, shape: tuple[int, ...], what: str) -> Target:
    """Return the target that follows a reference of values with the given shape; `what` names them in messages."""
    if reference.shape != shape:
        raise ShapeError(f"target is a Reference of shape {reference.shape}, expected {shape}: {what}")
    return lambda t: Wanted(reference(t), reference.rate(t), reference.acceleration(t))


def _from_function(function: Callable[..., Any]) -> Target:
    """Return the target that a user function of t defines, which returns the place, its rate and its acceleration."""

    def wanted(t: Any) -> Wanted:
        found = function(t)
        if not (isinstance(found, tuple) and len(found) == 3):
            wanted = "(q, v, a) or (pose, velocity, acceleration)"
            raise LinkworkError(f"a target function must return a tuple {wanted}; got {found!r:.80}")
        return Wanted(*found)

    return wanted


def _fixed(place: Array, rows: dict[tuple[int, ...], int]) -> Target:
    """Return a target at rest at the fixed `place`; `rows` has the number of rates for each shape of a place."""
    refuse_non_finite("target", place)
    if place.shape not in rows:
        expected = " or ".join(map(str, rows))
        raise ShapeError(f"target has shape {place.shape}, expected {expected}, a Reference, or a function of t")
    rest = np.zeros(rows[place.shape])
    wanted = Wanted(place.copy(), rest, rest)
    return lambda t: wanted


def pose_error(pose: Transform, place: Any) -> Array:
    """Return the error of a frame's pose in the world's axes: the target `place` minus the pose.

    The error is the position error (3,) [m] for a target position. For a target pose (4, 4) it is (6,) [m, rad]: the
    position error, then the rotation vector.
    """
    place = np.asarray(place)
    if place.shape == POSITION:
        return place - pose.p
    turn = pose.R @ log_matrix(pose.R.T @ place[:3, :3])
    return np.concatenate([place[:3, 3] - pose.p, turn])
