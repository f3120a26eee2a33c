"""Kinds of loop closures that cannot be joints of the tree: rod, point on a line, gear, and rack and pinion."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.constraint_rows import Angle, Distance, Roll, Row, Teeth, on_axis
from linkwork.model.joints import Axis, ClosingKind, unit_axis


@dataclass(frozen=True)
class Rod(ClosingKind):
    """Loop kind for `Builder.close`: a massless rod with a ball joint at each end.

    The distance between the origins of the joint frames on bodies a and b is constant. One constraint row.

    Parameters
    ----------
    length : float, [m]
        Distance between the two origins, above 0.

    Examples
    --------
    >>> lw.Rod(0.5)
    Rod(length=0.5)

    """

    length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", _length(self.length, "length", "; for length 0 use lw.Ball()"))

    @cached_property
    def closing(self) -> tuple[Row, ...]:
        return (Distance(self.length),)


@dataclass(frozen=True)
class PointOnLine(ClosingKind):
    """Loop kind for `Builder.close`: a point of body b stays on a line that is fixed in body a.

    The point is the origin of the joint frame on b. The line passes through the origin of the joint frame on a. Two
    constraint rows; rotation is free.

    Parameters
    ----------
    axis : array_like, shape (3,), default (0, 0, 1)
        Direction of the line in the joint frame on a; need not be a unit vector.

    Examples
    --------
    >>> lw.PointOnLine((2, 0, 0))
    PointOnLine(axis=(1.0, 0.0, 0.0))

    """

    axis: Axis = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))

    @cached_property
    def closing(self) -> tuple[Row, ...]:
        return on_axis(np.array(self.axis))


@dataclass(frozen=True)
class Gear(ClosingKind):
    """Loop kind for `Builder.close`: two meshing gears, one on body a and one on body b.

    Each gear rotates about `axis` through the origin of its joint frame. Other joints must keep the two axes parallel.
    The reference axis of a joint frame is perpendicular to `axis`: x for the axis z, y for the axis x, z for the axis
    y. For any other `axis`, it is the reference axis of the coordinate axis with the component of largest magnitude,
    projected onto the plane normal to `axis`. In the reference position of the gears, the reference axis of each joint
    frame points to the origin of the other joint frame. The teeth mesh where gear b is rotated by `phase` from the
    reference position, and in every position that the gears reach from there by rolling. The centres may move.

    Parameters
    ----------
    teeth : int
        Number of teeth of the gear on body a; negative for a ring gear with internal teeth.
    to_teeth : int
        Number of teeth of the gear on body b; negative for a ring gear with internal teeth.
    axis : array_like, shape (3,), default (0, 0, 1)
        Axis of both gears in their joint frames; need not be a unit vector.
    phase : float, [rad], default 0
        Rotation of gear b from the reference position to the position in which the teeth mesh.

    Examples
    --------
    >>> lw.Gear(20, 40)
    Gear(teeth=20, to_teeth=40, axis=(0.0, 0.0, 1.0), phase=0.0)

    """

    teeth: int
    to_teeth: int
    axis: Axis = (0.0, 0.0, 1.0)
    phase: float = 0.0

    def __post_init__(self) -> None:
        for key in ("teeth", "to_teeth"):
            object.__setattr__(self, key, _teeth(getattr(self, key), key))
        object.__setattr__(self, "axis", unit_axis(self.axis))
        if not (isinstance(self.phase, Real) and np.isfinite(float(self.phase))):
            raise ModelError(f"phase must be a finite number of radians; got {self.phase!r}")
        object.__setattr__(self, "phase", float(self.phase))
        pair = f"got teeth={self.teeth}, to_teeth={self.to_teeth}"
        if self.teeth < 0 and self.to_teeth < 0:
            raise ModelError(f"teeth must be positive for at least one gear, since two ring gears cannot mesh; {pair}")
        if min(self.teeth, self.to_teeth) < 0 and self.teeth + self.to_teeth >= 0:
            raise ModelError(f"teeth of a ring must outnumber the teeth of the gear inside it; {pair}")

    @cached_property
    def closing(self) -> tuple[Row, ...]:
        period = 2.0 * np.pi / abs(self.to_teeth)
        return (Teeth(np.array(self.axis), self.teeth / self.to_teeth, self.phase, period),)


@dataclass(frozen=True)
class Rack(ClosingKind):
    """Loop kind for `Builder.close`: a pinion on body a that rolls on a rack on body b.

    The joint frame on a is at the centre of the pinion. The pitch line of the rack is at the distance `radius` from
    the pinion's centre. The pinion's centre is on the side of the line to which the cross product axis x direction
    points: with the defaults on the side of +y. The pinion therefore rotates in the negative sense when it moves along
    `direction`. Other joints must keep the axes of both joint frames parallel and
    the pinion at its distance from the rack. The teeth mesh where the two joint frames coincide, and at every whole
    tooth from there.

    Parameters
    ----------
    radius : float, [m]
        Pitch radius of the pinion, above 0.
    axis : array_like, shape (3,), default (0, 0, 1)
        Axis of the pinion in its joint frame; need not be a unit vector.
    direction : array_like, shape (3,), default (1, 0, 0)
        Direction of the rack in its joint frame, perpendicular to `axis`.
    teeth : int, default 1
        Number of teeth of the pinion; it only determines the positions in which the teeth mesh.

    Examples
    --------
    >>> lw.Rack(0.02, teeth=16).radius
    0.02

    """

    radius: float
    axis: Axis = (0.0, 0.0, 1.0)
    direction: Axis = (1.0, 0.0, 0.0)
    teeth: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _length(self.radius, "radius"))
        object.__setattr__(self, "axis", unit_axis(self.axis))
        object.__setattr__(self, "direction", unit_axis(self.direction, "direction"))
        object.__setattr__(self, "teeth", _teeth(self.teeth, "teeth"))
        if self.teeth < 0:
            raise ModelError(f"teeth of a pinion must be > 0; got {self.teeth}")
        if abs(np.dot(self.axis, self.direction)) > 1e-9:
            raise ModelError(f"direction must be perpendicular to the axis {self.axis}; got {self.direction}")

    @cached_property
    def closing(self) -> tuple[Row, ...]:
        period = 2.0 * np.pi * self.radius / self.teeth
        return (Roll(Angle.about(np.array(self.axis)), np.array(self.direction), self.radius, period),)


MOST_TEETH = 10**6


def _length(value: object, what: str, instead: str = "") -> float:
    """Return `value` as a length [m] above zero; raise a ModelError for other values.

    `what` is the name of the value, and `instead` the remedy at the end of the message.
    """
    if not (isinstance(value, Real) and np.isfinite(float(value)) and float(value) > 0.0):
        raise ModelError(f"{what} must be a finite number of metres > 0; got {value!r}{instead}")
    return float(value)


def _teeth(value: object, what: str) -> int:
    """Return `value` as a nonzero number of teeth, negative for a ring gear; raise a ModelError for other values.

    `what` is the name of the value in the message.
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or not 0 < abs(int(value)) <= MOST_TEETH:
        raise ModelError(f"{what} must be a nonzero integer of magnitude at most {MOST_TEETH}; got {value!r}")
    return int(value)
