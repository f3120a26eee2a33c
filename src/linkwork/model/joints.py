"""Joint kinds. Each is one short class that answers a closed list of questions; no algorithm asks which kind it is.

All answers are about the joint frame (fixed in the parent, where the joint is placed) and the child's frame,
which coincides with it in the neutral position. q is (nq,), v and dv are (nv,).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import ClassVar

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
from linkwork.spatial.rotation import (
    IDENTITY,
    B_b,
    conjugate,
    exp_quaternion,
    log_quaternion,
    matrix_about_axis,
    matrix_from_quaternion,
    normalized,
    product,
    unbend,
)
from linkwork.spatial.scalar import Array, Number, cross, dot
from linkwork.spatial.transform import Transform, exp_transform, log_transform, snap
from linkwork.spatial.vectors import Motion

Axis = Sequence[float] | Array  # three numbers; kept as a tuple of unit length
HERE = np.zeros(3)


def unit_axis(axis: object, what: str = "axis") -> tuple[float, float, float]:
    """`axis` as three floats of unit length, entries near 0 and +-1 made exact; a ModelError if it has none."""
    try:
        a = np.array(axis, dtype=float)
    except (TypeError, ValueError):
        a = np.array(())
    length = float(np.linalg.norm(a)) if a.shape == (3,) else 0.0
    if not (np.isfinite(length) and length > 1e-12):
        raise ModelError(f"{what} must be three finite numbers, not all zero, e.g. (0, 0, 1); got {axis!r}")
    unit = snap(a / length)
    if np.abs(unit - a).max() < 1e-15:  # it was unit before, and stays as it is to the bit
        unit = snap(a)
    x, y, z = unit.tolist()
    return x, y, z


class ClosingKind(ABC):
    """What holds two frames together where a loop is closed."""

    @cached_property
    @abstractmethod
    def closing(self) -> tuple[Row, ...]:
        """The rows that must vanish, as many as it takes freedoms away."""


class JointKind(ClosingKind):
    """What a joint allows. `nq` coordinates, `nv` velocities; where nq = nv and q is plain numbers, qdot = v."""

    nq: ClassVar[int]
    nv: ClassVar[int]
    turns: ClassVar[tuple[bool, ...]]  # for each velocity: angular [rad/s] or linear [m/s]
    coordinates: ClassVar[tuple[tuple[str, str], ...]]  # name, empty where there is one, and unit, "1" for none
    velocities: ClassVar[tuple[str, ...]]  # names

    @abstractmethod
    def transform(self, q: Array) -> Transform:
        """Pose of the child's frame in the joint frame (S4 3.7)."""

    @abstractmethod
    def subspace(self, q: Array) -> Motion:
        """S, a bundle (3, nv): the child's relative twist is S v, in the child's frame (H of S4 3.8)."""

    def subspace_rate(self, q: Array, v: Array) -> Motion:
        """dS/dt, a bundle (3, nv), as seen in the child's frame."""
        return Motion(np.zeros((3, self.nv)), np.zeros((3, self.nv)))

    def bias(self, q: Array, v: Array) -> Motion:
        """(dS/dt) v: the part of the relative acceleration that v alone causes."""
        return self.subspace_rate(q, v) @ v

    def bias_partials(self, q: Array, v: Array) -> tuple[Motion, Motion]:
        """Derivatives of `bias` by q (tangent space) and by v, two bundles (3, nv)."""
        nothing = Motion(np.zeros((3, self.nv)), np.zeros((3, self.nv)))
        return nothing, nothing

    def qdot(self, q: Array, v: Array) -> Array:
        """dq/dt (nq,) of the velocity v (S4 3.6)."""
        return v

    def integrate(self, q: Array, dv: Array) -> Array:
        """The coordinates (nq,) reached from q by the constant velocity dv in unit time."""
        return q + dv

    def difference(self, q0: Array, q1: Array) -> Array:
        """The velocity (nv,) that takes q0 to q1 in unit time: the inverse of `integrate`."""
        return q1 - q0

    def moved(self, q: Array, dv: Array) -> tuple[Array, Array]:
        """How the child's frame moves from q to integrate(q, dv), seen from where it was: quaternion and place (3,).

        Computed from dv, so that small motions keep all their digits.
        """
        twist = self.subspace(q) @ dv
        return exp_quaternion(twist.angular), exp_transform(twist).p

    def spring(self, stiffness: Array, rest: Array, q: Array) -> tuple[Array, Number]:
        """Force (nv,) and energy [J] of a spring with stiffness (nv,) towards the coordinates `rest` (nq,)."""
        stretch = self.difference(rest, q)
        return -(stiffness * stretch), (stiffness * stretch) @ stretch * 0.5

    def normalized(self, q: Array) -> Array:
        """The same coordinates (..., nq) with quaternions of unit length."""
        return q

    def tangent_rate(self, dv: Array, v: Array) -> Array:
        """The rate (nv,) of dv at which integrate(q, dv) moves with velocity v, for small dv.

        Where velocities do not commute it is the inverse of the exponential's derivative, v + [dv, v] / 2 +
        [dv, [dv, v]] / 12, whose next term is of fourth order in dv: enough for methods of order four (Munthe-Kaas).
        """
        return v

    def neutral(self) -> Array:
        """The coordinates (nq,) at which the child's frame coincides with the joint frame."""
        return np.zeros(self.nq)

    def random(self, rng: np.random.Generator) -> Array:
        """Random coordinates (nq,): any angle, distances within one metre."""
        return rng.uniform(-1.0, 1.0, self.nq) * np.where(self.turns, np.pi, 1.0)


@dataclass(frozen=True)
class AxisKind(JointKind):
    """A joint along or about one axis, given in the joint frame (and equal in the child's frame)."""

    axis: Axis = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))

    @cached_property
    def n(self) -> Array:
        """The unit axis (3,) as an array."""
        return np.array(self.axis)


@dataclass(frozen=True)
class Revolute(AxisKind):
    """Turns about an axis. q: angle [rad]."""

    nq, nv, turns = 1, 1, (True,)
    coordinates, velocities = (("", "rad"),), ("",)

    @cached_property
    def closing(self) -> tuple[Row, ...]:
        return (*at_point(), *axes_along(self.n))

    def transform(self, q: Array) -> Transform:
        return Transform(matrix_about_axis(self.n, q[0]), HERE)

    def subspace(self, q: Array) -> Motion:
        return Motion(np.zeros((3, 1)), self.n[:, None])


@dataclass(frozen=True)
class Prismatic(AxisKind):
    """Slides along an axis. q: distance [m]."""

    nq, nv, turns = 1, 1, (False,)
    coordinates, velocities = (("", "m"),), ("",)

    @cached_property
    def closing(self) -> tuple[Row, ...]:
        return (*on_axis(self.n), *unturned())

    def transform(self, q: Array) -> Transform:
        return Transform(np.eye(3), self.n * q[0])

    def subspace(self, q: Array) -> Motion:
        return Motion(self.n[:, None], np.zeros((3, 1)))


@dataclass(frozen=True)
class Screw(AxisKind):
    """Turns about an axis and advances `pitch` [m/rad] along it (a lead of 2 pi pitch per turn). q: angle [rad]."""

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
        return (*on_axis(self.n), *axes_along(self.n), Advance(Angle.about(self.n), self.pitch))

    def transform(self, q: Array) -> Transform:
        return Transform(matrix_about_axis(self.n, q[0]), self.n * (q[0] * self.pitch))

    def subspace(self, q: Array) -> Motion:
        return Motion(self.n[:, None] * self.pitch, self.n[:, None])


@dataclass(frozen=True)
class Cylindrical(AxisKind):
    """Slides along and turns about one axis. q: distance [m], angle [rad]."""

    nq, nv, turns = 2, 2, (False, True)
    coordinates, velocities = (("slide", "m"), ("turn", "rad")), ("slide", "turn")

    @cached_property
    def closing(self) -> tuple[Row, ...]:
        return (*on_axis(self.n), *axes_along(self.n))

    def transform(self, q: Array) -> Transform:
        return Transform(matrix_about_axis(self.n, q[1]), self.n * q[0])

    def subspace(self, q: Array) -> Motion:
        none = np.zeros(3)
        return Motion(np.column_stack([self.n, none]), np.column_stack([none, self.n]))


@dataclass(frozen=True)
class Universal(AxisKind):
    """Turns about `axis`, fixed in the parent, then about `second`, fixed in the child. q: the two angles [rad]."""

    axis: Axis = (1.0, 0.0, 0.0)
    second: Axis = (0.0, 1.0, 0.0)
    nq, nv, turns = 2, 2, (True, True)
    coordinates, velocities = (("first", "rad"), ("second", "rad")), ("first", "second")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "second", unit_axis(self.second, "second axis"))
        if np.linalg.norm(cross(self.n, self.n2)) < 1e-9:
            raise ModelError(f"the two axes of a universal joint must differ; both are {self.axis}")

    @cached_property
    def n2(self) -> Array:
        """The second unit axis (3,) as an array."""
        return np.array(self.second)

    @cached_property
    def closing(self) -> tuple[Row, ...]:
        return (*at_point(), Alignment(self.n, self.n2, float(self.n @ self.n2)))

    def transform(self, q: Array) -> Transform:
        return Transform(matrix_about_axis(self.n, q[0]) @ matrix_about_axis(self.n2, q[1]), HERE)

    def moved(self, q: Array, dv: Array) -> tuple[Array, Array]:
        first = matrix_about_axis(self.n2, q[1]).T @ self.n
        return product(exp_quaternion(first * dv[0]), exp_quaternion(self.n2 * dv[1])), HERE

    def subspace(self, q: Array) -> Motion:
        first = matrix_about_axis(self.n2, q[1]).T @ self.n  # the first axis, seen from the child
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
    """Turns any way about a point. q: quaternion (w, x, y, z); v: angular velocity in the child's frame [rad/s]."""

    nq, nv, turns = 4, 3, (True, True, True)
    coordinates = (("qw", "1"), ("qx", "1"), ("qy", "1"), ("qz", "1"))
    velocities = ("wx", "wy", "wz")

    @cached_property
    def closing(self) -> tuple[Row, ...]:
        return at_point()

    def transform(self, q: Array) -> Transform:
        return Transform(matrix_from_quaternion(q), HERE)

    def subspace(self, q: Array) -> Motion:
        return Motion(np.zeros((3, 3)), np.eye(3))

    def qdot(self, q: Array, v: Array) -> Array:
        return B_b(q) @ v

    def integrate(self, q: Array, dv: Array) -> Array:
        return normalized(product(q, exp_quaternion(dv)))

    def difference(self, q0: Array, q1: Array) -> Array:
        return log_quaternion(product(conjugate(q0), q1))

    def spring(self, stiffness: Array, rest: Array, q: Array) -> tuple[Array, Number]:
        s = self.difference(rest, q)
        F = stiffness * s
        # The rate of s is not v but v + s x v / 2 + ...: force is what does the work F . ds/dt on v.
        first = cross(s, F)
        return first * 0.5 - F - cross(s, first) * unbend(dot(s, s)), F @ s * 0.5

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
    """Slides in the plane normal to `axis` and turns about it. q: x, y in the joint frame's plane [m], angle [rad].

    For the axis z the plane's directions are x and y; for x they are y and z; for y they are z and x.
    """

    nq, nv, turns = 3, 3, (False, False, True)
    coordinates, velocities = (("x", "m"), ("y", "m"), ("turn", "rad")), ("x", "y", "turn")

    @cached_property
    def plane(self) -> Array:
        """The plane's two unit directions, columns of (3, 2)."""
        after = np.roll(np.eye(3), -1, axis=0)[int(np.argmax(np.abs(self.n)))]  # the axis that follows the largest
        ex = np.array(unit_axis(after - self.n * (self.n @ after)))
        return np.column_stack([ex, snap(np.cross(self.n, ex))])

    @cached_property
    def closing(self) -> tuple[Row, ...]:
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
    """Six degrees of freedom. q: position [m] and quaternion (w, x, y, z); v: the child's twist relative to
    the parent, in the child's frame.
    """

    nq, nv, turns = 7, 6, (False, False, False, True, True, True)
    coordinates = (("x", "m"), ("y", "m"), ("z", "m"), *Ball.coordinates)
    velocities = ("vx", "vy", "vz", *Ball.velocities)

    @cached_property
    def closing(self) -> tuple[Row, ...]:
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

    def difference(self, q0: Array, q1: Array) -> Array:
        return log_transform(self.transform(q0).inverse() @ self.transform(q1)).array

    def spring(self, stiffness: Array, rest: Array, q: Array) -> tuple[Array, Number]:
        """The first three along the joint frame's axes, the others as a ball joint's."""
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
    """No freedom: the child becomes part of the parent and keeps its name as a frame."""

    nq, nv, turns = 0, 0, ()
    coordinates, velocities = (), ()

    @cached_property
    def closing(self) -> tuple[Row, ...]:
        return (*at_point(), *unturned())

    def transform(self, q: Array) -> Transform:
        return Transform.identity()

    def subspace(self, q: Array) -> Motion:
        return Motion(np.zeros((3, 0)), np.zeros((3, 0)))
