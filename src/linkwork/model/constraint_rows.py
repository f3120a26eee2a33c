"""Rows of closure: what must vanish for two frames to be held together.

X is the pose of the frame B in the frame A, V the twist of B against A, in B. A row has an error, and the wrench on B
(in B, of unit size) that keeps it zero: the power of that wrench on V is the rate of the error.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from linkwork.spatial import Force, Motion, Transform
from linkwork.spatial.rotation import quaternion_from_matrix
from linkwork.spatial.scalar import Array, Number, arctan2, cross, dot, maximum, real

NONE = np.zeros(3)
AXES = np.eye(3)


class Row(ABC):
    """One number that must vanish, in metres or radians."""

    @abstractmethod
    def error(self, X: Transform) -> Number:
        """What must vanish [m or rad]."""

    @abstractmethod
    def wrench(self, X: Transform) -> Force:
        """The wrench on B, in B, whose power on V is the rate of the error."""

    @abstractmethod
    def wrench_rate(self, X: Transform, V: Motion) -> Force:
        """The rate of that wrench, as seen in B, while B moves with V against A."""


@dataclass(frozen=True, eq=False)
class Offset(Row):
    """B's origin has no offset along `u` (3,), fixed in A: u . p."""

    u: Array

    def error(self, X: Transform) -> Number:
        return dot(self.u, X.p)

    def wrench(self, X: Transform) -> Force:
        return Force(X.R.T @ self.u, NONE)

    def wrench_rate(self, X: Transform, V: Motion) -> Force:
        return Force(cross(X.R.T @ self.u, V.angular), NONE)


@dataclass(frozen=True, eq=False)
class Alignment(Row):
    """The angle between `u` (3,), fixed in A, and `w` (3,), fixed in B, is kept: u . R w - cosine."""

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
    """B is not turned about one of A's axes: 2 sin(angle / 2) times the axis of its turn, along that one.

    That is the angle where it is small, and grows up to the half turn.
    """

    u: Array

    def error(self, X: Transform) -> Number:
        return dot(self.u, _turned(X)[1])

    def wrench(self, X: Transform) -> Force:
        cosine, e = _turned(X)
        return Force(NONE, self.u * cosine + cross(self.u, e) * 0.5)

    def wrench_rate(self, X: Transform, V: Motion) -> Force:
        cosine, e = _turned(X)
        rate = V.angular * cosine + cross(e, V.angular) * 0.5
        return Force(NONE, self.u * (dot(e, V.angular) * -0.25) + cross(self.u, rate) * 0.5)


def _turned(X: Transform) -> tuple[Number, Array]:
    """cos(angle / 2), and 2 sin(angle / 2) times the axis (3,), of the turn from A to B."""
    q = quaternion_from_matrix(X.R)
    return q[0], q[1:] * 2.0


@dataclass(frozen=True, eq=False)
class Distance(Row):
    """B's origin is at a distance `length` [m] from A's: (p . p - length^2) / (2 length)."""

    length: float

    def error(self, X: Transform) -> Number:
        return (dot(X.p, X.p) - self.length**2) * (0.5 / self.length)

    def wrench(self, X: Transform) -> Force:
        return Force(X.R.T @ X.p * (1.0 / self.length), NONE)

    def wrench_rate(self, X: Transform, V: Motion) -> Force:
        p = X.R.T @ X.p
        return Force((V.linear + cross(p, V.angular)) * (1.0 / self.length), NONE)


# --- rows that count turns ---

# Axes that are almost at right angles have no angle about each other: its rate is taken for none
NO_ANGLE = 1e-20


def nearest(gap: Number, period: float) -> Number:
    """A gap [m or rad] less as many whole periods as leave the least of it."""
    return gap - period * np.floor(real(gap) / period + 0.5)


@dataclass(frozen=True, eq=False)
class Angle:
    """How far B is turned about the axis `n` (3,) of A: the angle [rad] of `across` (3,), normal to n, fixed in B."""

    n: Array
    across: Array

    @staticmethod
    def about(n: Array) -> Angle:
        """The angle about a unit axis n (3,)."""
        return Angle(n, perpendicular(n)[0])

    def of(self, X: Transform) -> Number:
        """The angle [rad], from -pi to pi."""
        return _angle(self.n, self.across, X.R @ self.across)

    def torque(self, X: Transform) -> Array:
        """The torque (3,) on B, in B, whose power is the rate of the angle."""
        return cross(self.across, _per_square(cross(X.R.T @ self.n, self.across), NO_ANGLE))

    def torque_rate(self, X: Transform, V: Motion) -> Array:
        """Its rate (3,), as seen in B."""
        n = X.R.T @ self.n
        h, rate = cross(n, self.across), cross(cross(n, V.angular), self.across)
        return cross(self.across, _per_square_rate(h, rate, NO_ANGLE))


def _angle(n: Array, across: Array, direction: Array) -> Number:
    """The angle [rad] from `across` (3,) to a direction (3,), seen along n (3,)."""
    return arctan2(dot(cross(n, across), direction), dot(across, direction))


def _per_square(h: Array, least: float = 0.0) -> Array:
    """H / h^2 (3,): of h = n x r the gradient of the angle of r about n. Squares are taken for `least` at least."""
    return h * (1.0 / maximum(dot(h, h), least))


def _per_square_rate(h: Array, rate: Array, least: float = 0.0) -> Array:
    """The rate (3,) of h / h^2 for that of h (3,)."""
    inverse = 1.0 / maximum(dot(h, h), least)
    return (rate - h * (dot(h, rate) * inverse * 2.0)) * inverse


@dataclass(frozen=True, eq=False)
class Advance(Row):
    """B advances `pitch` [m/rad] along the axis of an angle while it turns about it: n . p - pitch angle."""

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
    """A rolls with a radius [m] on a line of B along `u` (3,), fixed in B: how far it went too far [m].

    A's origin is on the side n x u of the line. With `period` [m] teeth mesh again after such a way.
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
    """Teeth mesh on the line of centres: A sees it at an angle alpha about its axis n (3,), B at beta about its own.

    While a turns on by some teeth, b turns back by as many: with `ratio` the teeth of a over those of b,
    -(beta + ratio alpha) - phase is how far b is turned too far [rad], from the nearest of its teeth, which are
    `period` [rad] apart. What carries the centres does not matter.
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
        # Turning the line about A is a force at B's origin, turning it about B one at A's
        about_a, about_b = _per_square(cross(X.R.T @ self.n, p)), _per_square(cross(self.n, p))
        return Force(-(about_b + about_a * self.ratio), cross(p, about_b))

    def wrench_rate(self, X: Transform, V: Motion) -> Force:
        n, p = X.R.T @ self.n, X.R.T @ X.p
        rate = V.linear + cross(p, V.angular)
        seen, own = cross(n, p), cross(self.n, p)
        about_a = _per_square_rate(seen, cross(cross(n, V.angular), p) + cross(n, rate))
        about_b = _per_square_rate(own, cross(self.n, rate))
        return Force(-(about_b + about_a * self.ratio), cross(rate, _per_square(own)) + cross(p, about_b))


# --- groups of rows ---


def perpendicular(n: Array) -> tuple[Array, Array]:
    """Two unit directions (3,) normal to a unit n (3,) and to each other; of an axis of the frame, the other two."""
    first = np.roll(AXES, -1, axis=0)[int(np.argmax(np.abs(n)))]
    e = first - n * (n @ first)
    e = e / np.sqrt(e @ e)
    return e, np.cross(n, e)


def at_point() -> tuple[Row, ...]:
    """B's origin is A's: three rows."""
    return tuple(Offset(axis) for axis in AXES)


def on_axis(n: Array) -> tuple[Row, ...]:
    """B's origin is on A's axis n: two rows."""
    return tuple(Offset(e) for e in perpendicular(n))


def axes_along(n: Array) -> tuple[Row, ...]:
    """The axis n of B points along that of A, or against it: two rows."""
    return tuple(Alignment(e, n) for e in perpendicular(n))


def unturned() -> tuple[Row, ...]:
    """B has A's axes: three rows."""
    return tuple(Turn(axis) for axis in AXES)
