"""Motion and Force: spatial vectors about the origin of their frame, linear part first.

Both parts have shape (3,), or (3, k) for a matrix of k columns such as a joint's motion subspace.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np

from linkwork.spatial.scalar import Array, Number, cross

if TYPE_CHECKING:
    from linkwork.spatial.transform import Transform


@dataclass(frozen=True, eq=False)
class SixVector:
    """Base class of Motion and Force: spatial vectors (6,), or matrices (6, k) of k spatial vectors as columns.

    It defines sums, multiples, and linear combinations of columns. `linear` and `angular`, both (3,) or both (3, k),
    are the linear and the angular part.
    """

    linear: Array
    angular: Array

    @classmethod
    def zero(cls) -> Self:
        """Return the spatial vector (6,) whose components are all zero."""
        return cls(np.zeros(3), np.zeros(3))

    @classmethod
    def of(cls, array: Array) -> Self:
        """Return the spatial vector with the components `array` (6,) or (6, k), linear part first."""
        return cls(array[:3], array[3:])

    @property
    def array(self) -> Array:
        """The components of the spatial vector as an array (6,) or (6, k), linear part first."""
        return np.concatenate([self.linear, self.angular])

    def __add__(self, other: Self) -> Self:
        return type(self)(self.linear + other.linear, self.angular + other.angular)

    def __sub__(self, other: Self) -> Self:
        return type(self)(self.linear - other.linear, self.angular - other.angular)

    def __neg__(self) -> Self:
        return type(self)(-self.linear, -self.angular)

    def __mul__(self, factor: Number) -> Self:
        return type(self)(self.linear * factor, self.angular * factor)

    def __matmul__(self, coefficients: Array) -> Self:
        """Return linear combinations of the k columns of this spatial vector, with coefficients (k,) or (k, l)."""
        return type(self)(self.linear @ coefficients, self.angular @ coefficients)

    def rotated(self, R: Array) -> Self:
        """Return this spatial vector in other axes, about the same point; R (3, 3) maps old to new coordinates."""
        return type(self)(R @ self.linear, R @ self.angular)


@dataclass(frozen=True, eq=False)
class Motion(SixVector):
    """A spatial velocity [m/s, rad/s] or acceleration [m/s^2, rad/s^2], in the axes of its frame.

    The linear part is that of the body's point at the frame's origin.
    """

    @overload
    def cross(self, other: Motion) -> Motion: ...
    @overload
    def cross(self, other: Force) -> Force: ...
    def cross(self, other: Motion | Force) -> Motion | Force:
        """Return V x M for a Motion M, or V x* F for a Force F, where V is this velocity and `other` is M or F.

        The result is the rate of change [1/s times the unit of `other`] of M or F if it is fixed in a frame that moves
        with the velocity V.
        """
        v, w = self.linear, self.angular
        if isinstance(other, Motion):
            return Motion(cross(w, other.linear) + cross(v, other.angular), cross(w, other.angular))
        return Force(cross(w, other.linear), cross(v, other.linear) + cross(w, other.angular))

    def pair(self, force: Force) -> Any:
        """Return the power [W] of `force` along this velocity: their scalar product, about the same point.

        The power is a number for two spatial vectors. If only one of velocity and force is a matrix of k columns,
        the power is (k,). For a velocity with k columns and a force with l columns, it is (k, l).
        """
        return self.linear.T @ force.linear + self.angular.T @ force.angular

    def to_frame_a(self, X: Transform) -> Motion:
        """Return this motion, given in frame b, expressed in frame a; X is X_ab: Ad_X V."""
        w = X.R @ self.angular
        return Motion(X.R @ self.linear + cross(X.p, w), w)

    def to_frame_b(self, X: Transform) -> Motion:
        """Return this motion, given in frame a, expressed in frame b; X is X_ab: Ad_X^-1 V."""
        return Motion(X.R.T @ (self.linear + cross(self.angular, X.p)), X.R.T @ self.angular)


@dataclass(frozen=True, eq=False)
class Force(SixVector):
    """A wrench: force `linear` [N] and torque `angular` about the frame's origin [N m], in the frame's axes."""

    def to_frame_a(self, X: Transform) -> Force:
        """Return this wrench, given in frame b, expressed in frame a; X is X_ab: Ad_X^-T F.

        Section A.7 of Wendlandt (1997) omits the inverse by misprint.
        """
        f = X.R @ self.linear
        return Force(f, X.R @ self.angular + cross(X.p, f))

    def to_frame_b(self, X: Transform) -> Force:
        """Return this wrench, given in frame a, expressed in frame b; X is X_ab: Ad_X^T F."""
        return Force(X.R.T @ self.linear, X.R.T @ (self.angular - cross(X.p, self.linear)))
