"""Rows of closure: what must vanish for two frames to be held together.

X is the pose of the frame B in the frame A, V the twist of B against A, in B. A row has an error, and the wrench on B
(in B, of unit size) that keeps it zero: the power of that wrench on V is the rate of the error.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from linkwork.spatial import Force, Motion, Transform
from linkwork.spatial.scalar import Array, Number, cross, dot

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

    def faces(self, X: Transform) -> bool:
        """Whether B faces as it should where the error vanishes: a half turn may be none to the row."""
        return True


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
    """B is not turned about one of A's axes: half the difference of two alignments, the angle where it is small."""

    axis: int

    @cached_property
    def pair(self) -> tuple[Alignment, Alignment]:
        """Alignments of the two other axes, one with the other."""
        first, second = AXES[(self.axis + 1) % 3], AXES[(self.axis + 2) % 3]
        return Alignment(second, first), Alignment(first, second)

    def error(self, X: Transform) -> Number:
        one, other = self.pair
        return (one.error(X) - other.error(X)) * 0.5

    def wrench(self, X: Transform) -> Force:
        one, other = self.pair
        return (one.wrench(X) - other.wrench(X)) * 0.5

    def wrench_rate(self, X: Transform, V: Motion) -> Force:
        one, other = self.pair
        return (one.wrench_rate(X, V) - other.wrench_rate(X, V)) * 0.5

    def faces(self, X: Transform) -> bool:
        return bool(np.trace(X.R) > 0.0)


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


@dataclass(frozen=True, eq=False)
class Advance(Row):
    """B advances `pitch` [m/rad] along the axis `n` (3,) while it turns about it: n . p - pitch angle.

    Its wrench is that of axes along each other, to which rows of their own lead.
    """

    n: Array
    pitch: float
    across: Array  # a unit direction normal to n

    def error(self, X: Transform) -> Number:
        turned = X.R @ self.across
        angle = np.arctan2(dot(cross(self.n, self.across), turned), dot(self.across, turned))
        lead = 2.0 * np.pi * self.pitch
        gap = dot(self.n, X.p) - self.pitch * angle
        return gap - lead * np.floor(gap / lead + 0.5) if self.pitch else gap

    def wrench(self, X: Transform) -> Force:
        return Force(X.R.T @ self.n, -self.pitch * self.n)

    def wrench_rate(self, X: Transform, V: Motion) -> Force:
        return Force(cross(X.R.T @ self.n, V.angular), NONE)


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
    return tuple(Turn(k) for k in range(3))
