"""The interface of joint kinds: the methods that every kind of joint defines.

Algorithms call these methods and never depend on the kind of a joint. Poses and twists are between the joint frame,
which is fixed in the parent, and the child's frame, which coincides with the joint frame in the neutral position. q is
(nq,), v and dv are (nv,).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.constraint_rows import Row
from linkwork.model.model_tolerances import PARALLEL
from linkwork.spatial.inertia import RigidInertia
from linkwork.spatial.rotation import exp_quaternion
from linkwork.spatial.scalar import Array, Number
from linkwork.spatial.transform import Transform, exp_transform, snap
from linkwork.spatial.vectors import Motion

Axis = Sequence[float] | Array  # three numbers; stored as a tuple of unit length


def unit_axis(axis: object, what: str = "axis") -> tuple[float, float, float]:
    """Return `axis` normalized to unit length, as three floats; entries that nearly equal 0 or +-1 are made exact.

    Raise a ModelError if the axis has no direction. `what` is its name in the message.
    """
    try:
        a = np.array(axis, dtype=float)
    except (TypeError, ValueError):
        a = np.array(())
    length = float(np.linalg.norm(a)) if a.shape == (3,) else 0.0
    if not (np.isfinite(length) and length > 1e-12):
        raise ModelError(f"{what} must be three finite numbers, not all zero, e.g. (0, 0, 1); got {axis!r}")
    unit = snap(a / length)
    if np.abs(unit - a).max() < 1e-15:  # a vector that already has unit length keeps its bits
        unit = snap(a)
    x, y, z = unit.tolist()
    return x, y, z


class ClosingKind(ABC):
    """Base class of the kinds of constraint between two frames that can close a loop."""

    @cached_property
    @abstractmethod
    def closing(self) -> tuple[Row, ...]:
        """The constraint rows of a loop of this kind, one for each degree of freedom that the kind excludes."""


class JointKind(ClosingKind):
    """Base class of joint kinds. A joint has `nq` coordinates and `nv` velocities, its degrees of freedom.

    The default implementations here are for kinds without quaternions: nq = nv, and dq/dt is v.
    """

    nq: ClassVar[int]
    nv: ClassVar[int]
    turns: ClassVar[tuple[bool, ...]]  # for each velocity: whether it is angular [rad/s] or linear [m/s]
    # (name, unit): no name for a single coordinate, unit "1" for none
    coordinates: ClassVar[tuple[tuple[str, str], ...]]
    velocities: ClassVar[tuple[str, ...]]  # names of the velocities

    @abstractmethod
    def transform(self, q: Array) -> Transform:
        """Return the pose of the child's frame in the joint frame at q (nq,): Wendlandt's equation (3.7)."""

    @abstractmethod
    def subspace(self, q: Array) -> Motion:
        """Return the joint's motion subspace S (6, nv) at the coordinates q (nq,): H in Wendlandt's equation (3.8).

        The twist of the child relative to the parent is S v, in the child's frame: linear before angular rows.
        """

    @cached_property
    def origin_on_axis(self) -> bool:
        """Whether the origin of the child's frame stays on every axis about which the joint can rotate."""
        S = self.subspace(self.neutral())
        across = [np.cross(a, b) for a in S.linear.T for b in S.angular.T]
        return bool(np.abs(across).max(initial=0.0) < PARALLEL)

    def subspace_rate(self, q: Array, v: Array) -> Motion:
        """Return the time derivative dS/dt (6, nv) of the motion subspace at q (nq,), v (nv,), in the child's frame."""
        return Motion(np.zeros((3, self.nv)), np.zeros((3, self.nv)))

    def bias(self, q: Array, v: Array) -> Motion:
        """Return the bias (dS/dt) v (6,) [m/s^2, rad/s^2]: the time derivative of the twist S v if dv/dt is zero.

        The twist is that of the child relative to the parent, in the child's frame.
        """
        return self.subspace_rate(q, v) @ v

    def bias_partials(self, q: Array, v: Array) -> tuple[Motion, Motion]:
        """Return two derivatives of `bias`, each (6, nv): by q, for q moved along each velocity, and by v."""
        nothing = Motion(np.zeros((3, self.nv)), np.zeros((3, self.nv)))
        return nothing, nothing

    def qdot(self, q: Array, v: Array) -> Array:
        """Return the time derivative dq/dt (nq,) of the coordinates q (nq,) for the velocity v (nv,).

        See Wendlandt's equation (3.6).
        """
        return v

    def integrate(self, q: Array, dv: Array) -> Array:
        """Return the coordinates (nq,) reached from q in unit time with the constant velocity dv (nv,)."""
        return q + dv

    def free_flight(self, inertia: RigidInertia, q: Array, v: Array, h: Number) -> tuple[Array, Array]:
        """Return the coordinates (nq,) and velocities (nv,) after a time h [s] in which no force acts on the child.

        The child has the given `inertia`, and the parent is at rest. In the base class, the velocities are constant.
        Kinds whose velocities are components in axes that rotate with the child conserve the momentum and kinetic
        energy of the child instead. The free flight by -h is the inverse.
        """
        return self.integrate(q, v * h), v

    def displaced(self, inertia: RigidInertia, q: Array, v: Array, dv: Array) -> tuple[Array, Array]:
        """Return the coordinates integrate(q, dv) (nq,), and velocities (nv,) there that match the velocities v at q.

        They match if the child's centre of mass has the same velocity in the joint frame, and if the child's angular
        velocity has the same components in the child's frame. The child has the given `inertia`, and the parent is at
        rest. In the base class, the returned velocities are v.
        """
        return self.integrate(q, dv), v

    def free_acceleration(self, inertia: RigidInertia, v: Array) -> Array:
        """Return the time derivative dv/dt (nv,) of velocities v (nv,) in `free_flight`; zero in the base class.

        `inertia` is the inertia of the child.
        """
        return np.zeros(self.nv)

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return the constant velocity dv (nv,) that moves the joint from q0 (nq,) to q1 (nq,) in unit time."""
        return q1 - q0

    def moved(self, q: Array, dv: Array) -> tuple[Array, Array]:
        """Return rotation (4,) (quaternion) and displacement (3,) [m] of the child's frame from q to integrate(q, dv).

        Rotation and displacement are in the child's frame at q. They are computed from dv, so that small motions have
        full precision.
        """
        twist = self.subspace(q) @ dv
        return exp_quaternion(twist.angular), exp_transform(twist).p

    def spring(self, stiffness: Array, rest: Array, q: Array) -> tuple[Array, Number]:
        """Return the joint forces (nv,) [N m or N] and the energy [J] of springs in the joint at the coordinates q.

        The springs have the `stiffness` (nv,) [N m/rad or N/m], one for each velocity. All spring forces are zero at
        the coordinates `rest` (nq,).
        """
        stretch = self.difference(rest, q)
        return -(stiffness * stretch), (stiffness * stretch) @ stretch * 0.5

    def normalized(self, q: Array) -> Array:
        """Return the joint coordinates q (..., nq) with quaternions normalized to unit length."""
        return q

    def tangent_rate(self, dv: Array, v: Array) -> Array:
        """Return the rate d(dv)/dt (nv,) at which the joint at integrate(q, dv), with constant q, has the velocity v.

        The base class returns v. For kinds with quaternions, the result is the series v + [dv, v] / 2 + [dv, [dv, v]] /
        12 of the inverse of the derivative of the exponential. The next term is of fourth order in dv, so this sum
        suffices for methods of order four (Munthe-Kaas) if dv is small.
        """
        return v

    def neutral(self) -> Array:
        """Return the neutral joint coordinates (nq,), at which the child's frame coincides with the joint frame."""
        return np.zeros(self.nq)

    def random(self, rng: np.random.Generator) -> Array:
        """Return uniformly distributed joint coordinates (nq,): angles in [-pi, pi] rad, distances in [-1, 1] m.

        Kinds with quaternions override the method; their rotations are uniformly distributed too. `rng` is the random
        generator.
        """
        return rng.uniform(-1.0, 1.0, self.nq) * np.where(self.turns, np.pi, 1.0)


@dataclass(frozen=True)
class AxisKind(JointKind):
    """Base class of joint kinds with an `axis` (3,): a vector fixed in the joint frame, stored with unit length."""

    axis: Axis = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))

    @cached_property
    def n(self) -> Array:
        """The unit vector (3,) of the joint axis in the joint frame, as an array."""
        return np.array(self.axis)
