"""The joint kinds. Each class implements the interface `JointKind`; q is (nq,), v and dv are (nv,).

A joint kind can also close a loop of two frames A and B, each on one of two bodies; `closing` has its constraint rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Real

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.constraint_rows import (
    Advance,
    Alignment,
    Angle,
    Offset,
    Row,
    at_point,
    axes_along,
    on_axis,
    unturned,
)
from linkwork.model.joint_kind_interface import Axis, AxisKind, JointKind, unit_axis
from linkwork.model.joint_kind_interface import ClosingKind as ClosingKind
from linkwork.spatial.free_rotation import FreeRotation
from linkwork.spatial.inertia import RigidInertia
from linkwork.spatial.rotation import (
    IDENTITY,
    B_b,
    conjugate,
    exp_quaternion,
    log_coefficient,
    log_quaternion,
    matrix_about_axis,
    matrix_from_quaternion,
    normalized,
    product,
)
from linkwork.spatial.scalar import Array, Number, cross, dot
from linkwork.spatial.transform import Transform, exp_transform, log_transform, snap
from linkwork.spatial.vectors import Motion

HERE = np.zeros(3)


@dataclass(frozen=True)
class Revolute(AxisKind):
    """Revolute joint: rotation about an axis. Coordinate: angle [rad].

    Parameters
    ----------
    axis : array_like, shape (3,), default (0, 0, 1)
        Axis of rotation in the joint frame; need not be a unit vector.

    Examples
    --------
    >>> lw.Revolute((0, 2, 0))
    Revolute(axis=(0.0, 1.0, 0.0))

    """

    nq, nv, turns = 1, 1, (True,)
    coordinates, velocities = (("", "rad"),), ("",)

    @cached_property
    def closing(self) -> tuple[Row, ...]:
        """The five constraint rows: three keep the origins of A and B together, two the axes (anti)parallel."""
        return (*at_point(), *axes_along(self.n))

    def transform(self, q: Array) -> Transform:
        return Transform(matrix_about_axis(self.n, q[0]), HERE)

    def subspace(self, q: Array) -> Motion:
        return Motion(np.zeros((3, 1)), self.n[:, None])


@dataclass(frozen=True)
class Prismatic(AxisKind):
    """Prismatic joint: translation along an axis. Coordinate: distance [m].

    Parameters
    ----------
    axis : array_like, shape (3,), default (0, 0, 1)
        Axis of translation in the joint frame; need not be a unit vector.

    Examples
    --------
    >>> lw.Prismatic((1, 0, 0)).axis
    (1.0, 0.0, 0.0)

    """

    nq, nv, turns = 1, 1, (False,)
    coordinates, velocities = (("", "m"),), ("",)

    @cached_property
    def closing(self) -> tuple[Row, ...]:
        """The five constraint rows: two keep the origin of B on the axis of A, three exclude rotation."""
        return (*on_axis(self.n), *unturned())

    def transform(self, q: Array) -> Transform:
        return Transform(np.eye(3), self.n * q[0])

    def subspace(self, q: Array) -> Motion:
        return Motion(self.n[:, None], np.zeros((3, 1)))


@dataclass(frozen=True)
class Screw(AxisKind):
    """Screw joint: rotation about an axis with a proportional translation along it. Coordinate: angle [rad].

    Parameters
    ----------
    axis : array_like, shape (3,), default (0, 0, 1)
        Axis of the screw in the joint frame; need not be a unit vector.
    pitch : float, [m/rad], default 0
        Translation along the axis per radian of rotation about it; the lead per turn is 2 pi pitch.

    Examples
    --------
    >>> lw.Screw(pitch=0.01).pitch
    0.01

    """

    pitch: float = 0.0
    nq, nv, turns = 1, 1, (True,)
    coordinates, velocities = (("", "rad"),), ("",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.pitch, Real) and np.isfinite(float(self.pitch))):
            raise ModelError(f"pitch must be a finite number of metres per radian; got {self.pitch!r}")
        object.__setattr__(self, "pitch", float(self.pitch))

    @cached_property
    def closing(self) -> tuple[Row, ...]:
        """The five constraint rows: four as for `Cylindrical`, one that couples translation and rotation."""
        return (*on_axis(self.n), *axes_along(self.n), Advance(Angle.about(self.n), self.pitch))

    def transform(self, q: Array) -> Transform:
        return Transform(matrix_about_axis(self.n, q[0]), self.n * (q[0] * self.pitch))

    def subspace(self, q: Array) -> Motion:
        return Motion(self.n[:, None] * self.pitch, self.n[:, None])


@dataclass(frozen=True)
class Cylindrical(AxisKind):
    """Cylindrical joint: translation along an axis and rotation about it, independent of each other.

    Coordinates: distance [m] along the axis, and angle [rad] about it.

    Parameters
    ----------
    axis : array_like, shape (3,), default (0, 0, 1)
        Axis in the joint frame; need not be a unit vector.

    Examples
    --------
    >>> lw.Cylindrical().nv
    2

    """

    nq, nv, turns = 2, 2, (False, True)
    coordinates, velocities = (("slide", "m"), ("turn", "rad")), ("slide", "turn")

    @cached_property
    def closing(self) -> tuple[Row, ...]:
        """The four constraint rows: two keep the origin of B on the axis of A, two the axes (anti)parallel."""
        return (*on_axis(self.n), *axes_along(self.n))

    def transform(self, q: Array) -> Transform:
        return Transform(matrix_about_axis(self.n, q[1]), self.n * q[0])

    def subspace(self, q: Array) -> Motion:
        none = np.zeros(3)
        return Motion(np.column_stack([self.n, none]), np.column_stack([none, self.n]))


@dataclass(frozen=True)
class Universal(AxisKind):
    """Universal joint: rotation about two axes, the second of which turns with the first rotation.

    Coordinates: the angles [rad] about the first and the second axis.

    Parameters
    ----------
    axis : array_like, shape (3,), default (1, 0, 0)
        First axis, fixed in the joint frame; need not be a unit vector.
    second : array_like, shape (3,), default (0, 1, 0)
        Second axis, fixed in the child's frame; not parallel to the first, and need not be a unit vector.

    Examples
    --------
    >>> lw.Universal().second
    (0.0, 1.0, 0.0)

    """

    axis: Axis = (1.0, 0.0, 0.0)
    second: Axis = (0.0, 1.0, 0.0)
    nq, nv, turns = 2, 2, (True, True)
    coordinates, velocities = (("first", "rad"), ("second", "rad")), ("first", "second")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "second", unit_axis(self.second, "second axis"))
        if np.linalg.norm(cross(self.n, self.n2)) < 1e-9:
            raise ModelError(f"the two axes of a universal joint must not be parallel; both are {self.axis}")

    @cached_property
    def n2(self) -> Array:
        """The unit vector (3,) of the second joint axis, fixed in the child's frame."""
        return np.array(self.second)

    @cached_property
    def closing(self) -> tuple[Row, ...]:
        """The four constraint rows: three keep the origins of A and B together, one the axes at their angle."""
        return (*at_point(), Alignment(self.n, self.n2, float(self.n @ self.n2)))

    def transform(self, q: Array) -> Transform:
        return Transform(matrix_about_axis(self.n, q[0]) @ matrix_about_axis(self.n2, q[1]), HERE)

    def moved(self, q: Array, dv: Array) -> tuple[Array, Array]:
        first = matrix_about_axis(self.n2, q[1]).T @ self.n
        return product(exp_quaternion(first * dv[0]), exp_quaternion(self.n2 * dv[1])), HERE

    def subspace(self, q: Array) -> Motion:
        first = matrix_about_axis(self.n2, q[1]).T @ self.n  # the first axis in the child's frame
        return Motion(np.zeros((3, 2)), np.column_stack([first, self.n2]))

    def subspace_rate(self, q: Array, v: Array) -> Motion:
        first = matrix_about_axis(self.n2, q[1]).T @ self.n
        return Motion(np.zeros((3, 2)), np.column_stack([cross(first, self.n2) * v[1], np.zeros(3)]))

    def bias_partials(self, q: Array, v: Array) -> tuple[Motion, Motion]:
        turning = cross(matrix_about_axis(self.n2, q[1]).T @ self.n, self.n2)  # bias = turning v0 v1
        none = np.zeros((3, 2))
        by_q = np.column_stack([np.zeros(3), cross(turning, self.n2) * (v[0] * v[1])])
        return Motion(none, by_q), Motion(none, np.column_stack([turning * v[1], turning * v[0]]))


@dataclass(frozen=True)
class Ball(JointKind):
    """Ball joint: any rotation about a point.

    Coordinates (4,): unit quaternion (w, x, y, z) of the child's frame in the joint frame. Velocities (3,): angular
    velocity [rad/s] of the child relative to the parent, in the child's frame.

    Examples
    --------
    >>> lw.Ball().neutral().tolist()
    [1.0, 0.0, 0.0, 0.0]

    """

    nq, nv, turns = 4, 3, (True, True, True)
    coordinates = (("qw", "1"), ("qx", "1"), ("qy", "1"), ("qz", "1"))
    velocities = ("wx", "wy", "wz")

    @cached_property
    def closing(self) -> tuple[Row, ...]:
        """The three constraint rows of a loop of frames A and B, which keep their origins together."""
        return at_point()

    def transform(self, q: Array) -> Transform:
        return Transform(matrix_from_quaternion(q), HERE)

    def subspace(self, q: Array) -> Motion:
        return Motion(np.zeros((3, 3)), np.eye(3))

    def qdot(self, q: Array, v: Array) -> Array:
        return B_b(q) @ v

    def integrate(self, q: Array, dv: Array) -> Array:
        return normalized(product(q, exp_quaternion(dv)))

    def free_flight(self, inertia: RigidInertia, q: Array, v: Array, h: Number) -> tuple[Array, Array]:
        turn, w = FreeRotation.of(inertia.rotational).step(v, h)
        return normalized(product(q, turn)), w

    def free_acceleration(self, inertia: RigidInertia, v: Array) -> Array:
        return FreeRotation.of(inertia.rotational).acceleration(v)

    def difference(self, q0: Array, q1: Array) -> Array:
        return log_quaternion(product(conjugate(q0), q1))

    def spring(self, stiffness: Array, rest: Array, q: Array) -> tuple[Array, Number]:
        s = self.difference(rest, q)
        F = stiffness * s
        # ds/dt is not v but v + s x v / 2 + ...; the generalized force has the power F . ds/dt.
        first = cross(s, F)
        return first * 0.5 - F - cross(s, first) * log_coefficient(dot(s, s)), F @ s * 0.5

    def normalized(self, q: Array) -> Array:
        return q / np.sqrt((q * q).sum(axis=-1, keepdims=True))

    def tangent_rate(self, dv: Array, v: Array) -> Array:
        first = cross(dv, v)
        return v + first * 0.5 + cross(dv, first) * (1.0 / 12.0)

    def neutral(self) -> Array:
        return np.array(IDENTITY)

    def random(self, rng: np.random.Generator) -> Array:
        return normalized(rng.normal(size=4))


@dataclass(frozen=True)
class Planar(AxisKind):
    """Planar joint: translation in a plane and rotation about its normal.

    Coordinates: two distances [m] along orthogonal directions fixed in the joint frame, and an angle [rad] about the
    normal. The directions are x and y for the normal z, y and z for the normal x, and z and x for the normal y. For any
    other unit normal n, take the coordinate axis that follows the axis of n's component of largest magnitude (y after
    x, z after y, x after z). The first direction is its projection onto the plane, and the second direction is
    n x first.

    Parameters
    ----------
    axis : array_like, shape (3,), default (0, 0, 1)
        Normal of the plane in the joint frame; need not be a unit vector.

    Examples
    --------
    >>> lw.Planar().nv
    3

    """

    nq, nv, turns = 3, 3, (False, False, True)
    coordinates, velocities = (("x", "m"), ("y", "m"), ("turn", "rad")), ("x", "y", "turn")

    @cached_property
    def plane(self) -> Array:
        """The two orthogonal unit vectors of translation, fixed in the joint frame, as columns (3, 2)."""
        after = np.roll(np.eye(3), -1, axis=0)[
            int(np.argmax(np.abs(self.n)))
        ]  # the coordinate axis after that of the largest component
        ex = np.array(unit_axis(after - self.n * (self.n @ after)))
        return np.column_stack([ex, snap(np.cross(self.n, ex))])

    @cached_property
    def closing(self) -> tuple[Row, ...]:
        """The three constraint rows: one keeps the origin of B in the plane, two the normals (anti)parallel."""
        return (Offset(self.n), *axes_along(self.n))

    def transform(self, q: Array) -> Transform:
        return Transform(matrix_about_axis(self.n, q[2]), self.plane @ q[:2])

    def moved(self, q: Array, dv: Array) -> tuple[Array, Array]:
        slide = matrix_about_axis(self.n, q[2]).T @ (self.plane @ dv[:2])
        return exp_quaternion(self.n * dv[2]), slide

    def subspace(self, q: Array) -> Motion:
        slide = matrix_about_axis(self.n, q[2]).T @ self.plane
        return Motion(np.column_stack([slide, np.zeros(3)]), np.column_stack([np.zeros((3, 2)), self.n]))

    def subspace_rate(self, q: Array, v: Array) -> Motion:
        slide = matrix_about_axis(self.n, q[2]).T @ self.plane
        return Motion(np.column_stack([cross(slide, self.n) * v[2], np.zeros(3)]), np.zeros((3, 3)))

    def bias_partials(self, q: Array, v: Array) -> tuple[Motion, Motion]:
        turning = cross(matrix_about_axis(self.n, q[2]).T @ self.plane, self.n)  # bias = (turning @ v01) v2
        along, none = turning @ v[:2], np.zeros((3, 3))
        by_q = np.column_stack([np.zeros((3, 2)), cross(along, self.n) * v[2]])
        return Motion(by_q, none), Motion(np.column_stack([turning * v[2], along]), none)


@dataclass(frozen=True)
class Free(JointKind):
    """Free joint: six degrees of freedom, for floating bodies.

    Coordinates (7,): position (x, y, z) [m] of the child's origin in the joint frame, then the unit quaternion
    (w, x, y, z) of the child's frame in the joint frame. Velocities (6,): linear velocity [m/s] of the child's origin
    and angular velocity [rad/s] of the child, relative to the parent and in the child's frame.

    Examples
    --------
    >>> lw.Free().nq, lw.Free().nv
    (7, 6)

    """

    nq, nv, turns = 7, 6, (False, False, False, True, True, True)
    coordinates = (("x", "m"), ("y", "m"), ("z", "m"), *Ball.coordinates)
    velocities = ("vx", "vy", "vz", *Ball.velocities)

    @cached_property
    def closing(self) -> tuple[Row, ...]:
        """No rows: a free joint removes no degree of freedom and cannot close a loop."""
        return ()

    def transform(self, q: Array) -> Transform:
        return Transform(matrix_from_quaternion(q[3:]), q[:3])

    def subspace(self, q: Array) -> Motion:
        return Motion.of(np.eye(6))

    def qdot(self, q: Array, v: Array) -> Array:
        return np.concatenate([matrix_from_quaternion(q[3:]) @ v[:3], B_b(q[3:]) @ v[3:]])

    def integrate(self, q: Array, dv: Array) -> Array:
        step = exp_transform(Motion.of(dv))
        return np.concatenate([self.transform(q).point(step.p), Ball().integrate(q[3:], dv[3:])])

    def free_flight(self, inertia: RigidInertia, q: Array, v: Array, h: Number) -> tuple[Array, Array]:
        c, central = inertia.central
        turn, w = FreeRotation.of(central).step(v[3:], h)
        R, straight = matrix_from_quaternion(turn), v[:3] + cross(v[3:], c)  # velocity of the centre of mass
        p = self.transform(q).point(straight * h + c - R @ c)
        after = R.T @ straight - cross(w, c)
        return np.concatenate([p, normalized(product(q[3:], turn))]), np.concatenate([after, w])

    def displaced(self, inertia: RigidInertia, q: Array, v: Array, dv: Array) -> tuple[Array, Array]:
        turning = cross(v[3:], inertia.central[0])
        linear = matrix_from_quaternion(exp_quaternion(dv[3:])).T @ (v[:3] + turning) - turning
        return self.integrate(q, dv), np.concatenate([linear, v[3:]])

    def free_acceleration(self, inertia: RigidInertia, v: Array) -> Array:
        c, central = inertia.central
        w, turning = v[3:], FreeRotation.of(central).acceleration(v[3:])
        return np.concatenate([-cross(w, v[:3] + cross(w, c)) - cross(turning, c), turning])

    def difference(self, q0: Array, q1: Array) -> Array:
        return log_transform(self.transform(q0).inverse() @ self.transform(q1)).array

    def spring(self, stiffness: Array, rest: Array, q: Array) -> tuple[Array, Number]:
        """Return the joint forces (6,) [N, N m] and the energy [J] of a spring in the free joint.

        The `stiffness` (6,) is that of three springs [N/m] along the axes of the joint frame, then of three rotational
        springs [N m/rad] as in a ball joint. All forces are zero at the coordinates `rest` (7,). The joint forces are
        components in the child's frame, as the velocities are.
        """
        s = q[:3] - rest[:3]
        F = stiffness[:3] * s
        turn, energy = Ball().spring(stiffness[3:], rest[3:], q[3:])
        return np.concatenate([-(matrix_from_quaternion(q[3:]).T @ F), turn]), energy + F @ s * 0.5

    def normalized(self, q: Array) -> Array:
        return np.concatenate([q[..., :3], Ball().normalized(q[..., 3:])], axis=-1)

    def tangent_rate(self, dv: Array, v: Array) -> Array:
        by = Motion.of(dv)
        first = by.cross(Motion.of(v))
        return v + first.array * 0.5 + by.cross(first).array * (1.0 / 12.0)

    def neutral(self) -> Array:
        return np.array([0.0, 0.0, 0.0, *IDENTITY])

    def random(self, rng: np.random.Generator) -> Array:
        return np.concatenate([rng.uniform(-1.0, 1.0, 3), Ball().random(rng)])


@dataclass(frozen=True)
class Weld(JointKind):
    """Rigid connection: the child becomes part of the parent's body. The child's name remains the name of a frame.

    Examples
    --------
    >>> lw.Weld().nv
    0

    """

    nq, nv, turns = 0, 0, ()
    coordinates, velocities = (), ()

    @cached_property
    def closing(self) -> tuple[Row, ...]:
        """The six constraint rows: three keep the origins of A and B together, three exclude rotation."""
        return (*at_point(), *unturned())

    def transform(self, q: Array) -> Transform:
        return Transform.identity()

    def subspace(self, q: Array) -> Motion:
        return Motion(np.zeros((3, 0)), np.zeros((3, 0)))
