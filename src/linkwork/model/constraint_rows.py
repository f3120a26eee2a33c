"""Constraint rows between two frames A and B: position errors that a loop closure must bring to zero.

X is the pose of B in A, with position p and rotation R, and V is the twist of B relative to A, in the axes of B. Each
row has a position error and a unit wrench: the constraint wrench on B, in the frame of B, for a multiplier of 1. The
power of the unit wrench on the twist V is the rate of the error.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from linkwork.spatial import Force, Motion, Transform
from linkwork.spatial.rotation import quaternion_from_matrix
from linkwork.spatial.scalar import Array, Number, arctan2, cross, dot, maximum, real
from linkwork.spatial.transform import exp_transform

NONE = np.zeros(3)
AXES = np.eye(3)
SAMPLE = np.array([0.31, -0.47, 0.23, 0.53, 0.41, -0.29])  # twist [m, rad] to a pose without special symmetry


class Row(ABC):
    """One scalar constraint between the frames A and B: its position error [m or rad] must be zero.

    A row that only restricts velocities, such as that of a blade that does not slip sideways, returns the constant
    error 0.
    """

    @cached_property
    def holonomic(self) -> bool:
        """Whether the row constrains positions (holonomic) or only velocities.

        The class evaluates the row at three poses without special symmetry. The row is holonomic if its error changes
        with the pose, or if its wrench is zero at all three poses.
        """
        power = change = 0.0
        for k in range(3):
            X, V = (exp_transform(Motion.of(np.roll(SAMPLE, k + i))) for i in (0, 2))
            change = max(change, abs(self.error(X @ V) - self.error(X)))
            power = max(power, float(np.abs(self.wrench(X).array).max()))
        return change > 0.0 or power == 0.0

    @abstractmethod
    def error(self, X: Transform) -> Number:
        """Return the position error [m or rad] of the constraint at the pose X of frame B in frame A."""

    @abstractmethod
    def wrench(self, X: Transform) -> Force:
        """Return the constraint wrench on frame B for a multiplier of 1; this wrench has the power d(error)/dt.

        The wrench is about the origin of B and in the axes of B. X is the pose of B in A.
        """

    @abstractmethod
    def wrench_rate(self, X: Transform, V: Motion) -> Force:
        """Return the time derivative of the components of the unit wrench `wrench` in the axes of B, about B's origin.

        X is the pose of B in A, and V the twist of B relative to A, in the axes of B.
        """


@dataclass(frozen=True, eq=False)
class Offset(Row):
    """Constraint row: the origin of frame B has no offset along `u` (3,), which is fixed in frame A.

    The error is u . p [m], where p is the position of B in A.
    """

    u: Array

    def error(self, X: Transform) -> Number:
        return dot(self.u, X.p)

    def wrench(self, X: Transform) -> Force:
        return Force(X.R.T @ self.u, NONE)

    def wrench_rate(self, X: Transform, V: Motion) -> Force:
        return Force(cross(X.R.T @ self.u, V.angular), NONE)


@dataclass(frozen=True, eq=False)
class Alignment(Row):
    """Constraint row: the angle between `u` (3,), fixed in frame A, and `w` (3,), fixed in frame B, is constant.

    The error is u . R w - cosine, without unit. u and w are unit vectors, R is the rotation of B in A, and `cosine` is
    the cosine of the constant angle.
    """

    u: Array
    w: Array
    cosine: float = 0.0

    def error(self, X: Transform) -> Number:
        return dot(self.u, X.R @ self.w) - self.cosine

    def wrench(self, X: Transform) -> Force:
        return Force(NONE, cross(self.w, X.R.T @ self.u))

    def wrench_rate(self, X: Transform, V: Motion) -> Force:
        return Force(NONE, cross(self.w, cross(X.R.T @ self.u, V.angular)))


@dataclass(frozen=True, eq=False)
class Turn(Row):
    """Constraint row: frame B has no rotation about the axis `u` (3,) of frame A.

    The error is the component along u of 2 sin(angle / 2) times the unit rotation axis. For rotations about u it
    increases monotonically up to half a turn, and for small ones it is the angle [rad].
    """

    u: Array

    def error(self, X: Transform) -> Number:
        return dot(self.u, _half_angle(X)[1])

    def wrench(self, X: Transform) -> Force:
        cosine, e = _half_angle(X)
        return Force(NONE, self.u * cosine + cross(self.u, e) * 0.5)

    def wrench_rate(self, X: Transform, V: Motion) -> Force:
        cosine, e = _half_angle(X)
        rate = V.angular * cosine + cross(e, V.angular) * 0.5
        return Force(NONE, self.u * (dot(e, V.angular) * -0.25) + cross(self.u, rate) * 0.5)


def _half_angle(X: Transform) -> tuple[Number, Array]:
    """Return cos(angle / 2), and the vector 2 sin(angle / 2) axis (3,), for the rotation of the pose X."""
    q = quaternion_from_matrix(X.R)
    return q[0], q[1:] * 2.0


@dataclass(frozen=True, eq=False)
class Distance(Row):
    """Constraint row: the distance between the origins of the frames A and B is `length` [m].

    The error is (p . p - length^2) / (2 length) [m], where p is the position of B in A.
    """

    length: float

    def error(self, X: Transform) -> Number:
        return (dot(X.p, X.p) - self.length**2) * (0.5 / self.length)

    def wrench(self, X: Transform) -> Force:
        return Force(X.R.T @ X.p * (1.0 / self.length), NONE)

    def wrench_rate(self, X: Transform, V: Motion) -> Force:
        p = X.R.T @ X.p
        return Force((V.linear + cross(p, V.angular)) * (1.0 / self.length), NONE)


# --- rows with a rotation angle ---

# Least squared length of the projection that defines an angle, so that the angle's rate is finite if it is undefined
NO_ANGLE = 1e-20


def nearest(gap: Number, period: float) -> Number:
    """Return gap + k period [m or rad] with the integer k for which the magnitude of the result is smallest."""
    return gap - period * np.floor(real(gap) / period + 0.5)


@dataclass(frozen=True, eq=False)
class Angle:
    """The rotation angle [rad] of frame B about the axis `n` (3,) of frame A.

    `across` (3,) is a unit vector normal to n. The angle about n is measured from the vector with the components
    `across` in A to the vector with the same components in B.
    """

    n: Array
    across: Array

    @staticmethod
    def about(n: Array) -> Angle:
        """Return the `Angle` about a unit axis n (3,), with some unit vector normal to n as `across`."""
        return Angle(n, perpendicular(n)[0])

    def of(self, X: Transform) -> Number:
        """Return the angle [rad] of frame B about n, from -pi to pi, at the pose X of B in A."""
        return _angle(self.n, self.across, X.R @ self.across)

    def torque(self, X: Transform) -> Array:
        """Return the torque (3,) on frame B, in the axes of B, that a unit multiplier of this angle produces.

        Its dot product with the angular velocity of B relative to A is the rate of the angle. X is the pose of B in A.
        """
        return cross(self.across, _over_square(cross(X.R.T @ self.n, self.across), NO_ANGLE))

    def torque_rate(self, X: Transform, V: Motion) -> Array:
        """Return the time derivative (3,) of the components of `torque` in the axes of frame B.

        X is the pose of B in A, and V the twist of B relative to A, in B.
        """
        n = X.R.T @ self.n
        h, rate = cross(n, self.across), cross(cross(n, V.angular), self.across)
        return cross(self.across, _over_square_rate(h, rate, NO_ANGLE))


def _angle(n: Array, across: Array, direction: Array) -> Number:
    """Return the angle [rad] about the unit axis n (3,) from the unit vector `across` to `direction`, both (3,).

    The component of `direction` along n has no effect.
    """
    return arctan2(dot(cross(n, across), direction), dot(across, direction))


def _over_square(h: Array, least: float = 0.0) -> Array:
    """Return h / max(h . h, least) for a vector h (3,).

    For h = n x r, with a unit vector n, the result is the gradient with respect to r of the angle [rad] of r about n.
    `least` avoids a division by zero.
    """
    return h * (1.0 / maximum(dot(h, h), least))


def _over_square_rate(h: Array, rate: Array, least: float = 0.0) -> Array:
    """Return the time derivative (3,) of h / (h . h), given a vector h (3,) and its time derivative `rate` (3,).

    If h . h is less than `least`, `least` replaces it, as in `_over_square`.
    """
    inverse = 1.0 / maximum(dot(h, h), least)
    return (rate - h * (dot(h, rate) * inverse * 2.0)) * inverse


@dataclass(frozen=True, eq=False)
class Advance(Row):
    """Constraint row: frame B moves relative to frame A as a screw with `pitch` [m/rad].

    `turn` measures the rotation angle of B about the screw axis n. The error is n . p - pitch angle [m], modulo the
    advance in one turn, where p is the position of B's origin in A.
    """

    turn: Angle
    pitch: float

    def error(self, X: Transform) -> Number:
        gap = dot(self.turn.n, X.p) - self.turn.of(X) * self.pitch
        return nearest(gap, 2.0 * np.pi * abs(self.pitch)) if self.pitch else gap

    def wrench(self, X: Transform) -> Force:
        return Force(X.R.T @ self.turn.n, self.turn.torque(X) * -self.pitch)

    def wrench_rate(self, X: Transform, V: Motion) -> Force:
        return Force(cross(X.R.T @ self.turn.n, V.angular), self.turn.torque_rate(X, V) * -self.pitch)


@dataclass(frozen=True, eq=False)
class Roll(Row):
    """Constraint row: a pinion fixed to frame A, with pitch radius `radius` [m], rolls on a rack fixed to frame B.

    The pitch line of the rack has the direction `u` (3,), fixed in B. The error [m] is the displacement of the origin
    of A along u minus the arc length that the pinion has rolled. The origin of A is on the side of the pitch line to
    which n x u points, where n is the axis of `turn`, the rotation angle of B relative to A. The error is modulo
    `period` [m], the distance between teeth.
    """

    turn: Angle
    u: Array
    radius: float
    period: float

    def error(self, X: Transform) -> Number:
        return nearest(-dot(X.R @ self.u, X.p) - self.turn.of(X) * self.radius, self.period)

    def wrench(self, X: Transform) -> Force:
        return Force(-self.u, cross(X.R.T @ X.p, self.u) - self.turn.torque(X) * self.radius)

    def wrench_rate(self, X: Transform, V: Motion) -> Force:
        rate = V.linear + cross(X.R.T @ X.p, V.angular)
        return Force(NONE, cross(rate, self.u) - self.turn.torque_rate(X, V) * self.radius)


@dataclass(frozen=True, eq=False)
class Teeth(Row):
    """Constraint row: two meshing gears, fixed to the frames A and B, whose centres may move.

    The line of centres has the angle alpha about the axis n (3,) in A, and beta in B. `ratio` is the number of teeth of
    A divided by that of B. The error is -(beta + ratio alpha) - phase [rad], the excess rotation of B, modulo the angle
    `period` [rad] between its teeth. `phase` [rad] is the value of -(beta + ratio alpha) at which the teeth mesh.
    """

    n: Array
    ratio: float
    phase: float
    period: float

    def error(self, X: Transform) -> Number:
        across = perpendicular(self.n)[0]
        seen_by_a, seen_by_b = (_angle(self.n, across, r) for r in (X.p, -(X.R.T @ X.p)))
        return nearest(-(seen_by_b + seen_by_a * self.ratio) - self.phase, self.period)

    def wrench(self, X: Transform) -> Force:
        p = X.R.T @ X.p
        # The line of centres rotates about A's origin if B's origin moves, and about B's origin if A's origin moves
        about_a, about_b = _over_square(cross(X.R.T @ self.n, p)), _over_square(cross(self.n, p))
        return Force(-(about_b + about_a * self.ratio), cross(p, about_b))

    def wrench_rate(self, X: Transform, V: Motion) -> Force:
        n, p = X.R.T @ self.n, X.R.T @ X.p
        rate = V.linear + cross(p, V.angular)
        seen, own = cross(n, p), cross(self.n, p)
        about_a = _over_square_rate(seen, cross(cross(n, V.angular), p) + cross(n, rate))
        about_b = _over_square_rate(own, cross(self.n, rate))
        return Force(-(about_b + about_a * self.ratio), cross(rate, _over_square(own)) + cross(p, about_b))


# --- groups of rows ---


def perpendicular(n: Array) -> tuple[Array, Array]:
    """Return two unit vectors (3,) that are normal to the unit vector n (3,) and to each other.

    If n is a coordinate axis, both vectors are along the other coordinate axes.
    """
    first = np.roll(AXES, -1, axis=0)[int(np.argmax(np.abs(n)))]
    e = first - n * (n @ first)
    e = e / np.sqrt(e @ e)
    return e, np.cross(n, e)


def at_point() -> tuple[Row, ...]:
    """Return three constraint rows which require that the origins of the frames A and B coincide."""
    return tuple(Offset(axis) for axis in AXES)


def on_axis(n: Array) -> tuple[Row, ...]:
    """Return two constraint rows which require that the origin of frame B is on the axis n (3,) of frame A."""
    return tuple(Offset(e) for e in perpendicular(n))


def axes_along(n: Array) -> tuple[Row, ...]:
    """Return two constraint rows which require parallel or antiparallel axes n (3,) of the frames A and B."""
    return tuple(Alignment(e, n) for e in perpendicular(n))


def unturned() -> tuple[Row, ...]:
    """Return three constraint rows which require that frame B has the orientation of frame A."""
    return tuple(Turn(axis) for axis in AXES)
