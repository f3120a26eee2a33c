"""What users hand to a Builder, read: names, numbers, limits and placements; what cannot be is refused by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.joints import ClosingKind, JointKind
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array

SNAPPED = 4e-12  # how far snapping takes a rotation from being one: such are kept to the bit
Acceptance = Callable[[Array], Array]  # which of some numbers are acceptable


def anything(array: Array) -> Array:
    """Numbers that `build()` checks together."""
    return np.full(array.shape, True)


def or_infinite(array: Array) -> Array:
    """Numbers that may be infinite."""
    return ~np.isnan(array)


def checked_name(name: object, what: str) -> str:
    """`name`, if it is one."""
    if not isinstance(name, str) or not name.strip():
        raise ModelError(f"a {what} needs a name, a text that is not empty; got {name!r}")
    return name


def new_element(there: Mapping[str, object], what: str, name: str) -> str:
    """What messages call a new thing, whose name must not be taken by another of its sort."""
    element = f"{what} {checked_name(name, what)!r}"
    if name in there:
        raise ModelError(f"there is already a {what} of that name", element)
    return element


def joint_kind(kind: object, element: str) -> JointKind:
    """`kind`, if it is one of joints."""
    if not isinstance(kind, JointKind):
        raise ModelError(f"kind must be a joint kind such as lw.Revolute(axis=(0, 0, 1)); got {kind!r}", element)
    return kind


def closing_kind(kind: object, element: str) -> ClosingKind:
    """`kind`, if it can hold two bodies together."""
    if not isinstance(kind, ClosingKind):
        raise ModelError(
            f"kind must be a joint kind, lw.Rod, lw.PointOnLine, lw.Gear or lw.Rack; got {kind!r}", element
        )
    return kind


def numbers_of(value: Any, shape: tuple[int, ...], what: str, element: str, accept: Acceptance = np.isfinite) -> Array:
    """`value` as floats of the given shape, each of which `accept` must accept."""
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"{what} must be numbers; got {value!r}", element) from None
    if array.shape != shape:
        wanted = " x ".join(map(str, shape)) + " numbers" if shape else "one number"
        raise ModelError(f"{what} must be {wanted}; got {value!r}", element)
    if not accept(array).all():
        raise ModelError(f"{what} must be finite; got {value!r}", element)
    array.flags.writeable = False  # a mechanism never changes
    return array


def number_of(value: Any, what: str, element: str, accept: Acceptance = np.isfinite) -> float:
    """`value` as one float."""
    if isinstance(value, float) and isfinite(value):  # as most are, and everybody accepts
        return float(value)
    return float(numbers_of(value, (), what, element, accept))


def at_least_zero(value: Any, what: str, element: str) -> float:
    """`value` as one float that is not negative."""
    number = number_of(value, what, element)
    if number < 0.0:
        raise ModelError(f"{what} must be >= 0; got {value!r}", element)
    return number


def at_most_one(value: Any, what: str, element: str) -> float:
    """`value` as one float from 0 to 1."""
    number = at_least_zero(value, what, element)
    if number > 1.0:
        raise ModelError(f"{what} must be from 0 to 1; got {value!r}", element)
    return number


def above_zero(value: Any, what: str, element: str, accept: Acceptance = np.isfinite) -> float:
    """`value` as one float that is positive."""
    number = number_of(value, what, element, accept)
    if not number > 0.0:
        raise ModelError(f"{what} must be > 0; got {value!r}", element)
    return number


def not_zero(value: Any, what: str, element: str) -> float:
    """`value` as one float other than zero."""
    number = number_of(value, what, element)
    if number == 0.0:
        raise ModelError(f"{what} must not be 0", element)
    return number


def yes_or_no(value: Any, what: str, element: str) -> bool:
    """`value`, if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ModelError(f"{what} must be True or False; got {value!r}", element)
    return bool(value)


def interval(value: Any, what: str, element: str) -> Array:
    """(lower, upper) as floats (2,), infinite where there is no bound; None bounds nothing."""
    ends = numbers_of((-np.inf, np.inf) if value is None else value, (2,), what, element, or_infinite)
    if ends[0] > ends[1] or ends[0] == np.inf or ends[1] == -np.inf:
        raise ModelError(f"{what} must have a lower end that does not exceed the upper one; got {value!r}", element)
    return ends


def friction_pair(value: Any, element: str) -> tuple[float, float]:
    """Coefficients of static and dynamic friction, of which the second is not the larger; one number is both."""
    static, dynamic = numbers_of((value, value) if np.ndim(value) == 0 else value, (2,), "friction", element).tolist()
    if dynamic < 0.0 or static < dynamic:
        reason = "friction must be (static, dynamic) with static >= dynamic >= 0"
        raise ModelError(f"{reason}; got {value!r}", element)
    return static, dynamic


def efficiency_pair(value: Any, element: str) -> Array:
    """Parts of power (2,) that arrive, driving and driven back, each above 0 and at most 1; one number is both."""
    pair = numbers_of((value, value) if np.ndim(value) == 0 else value, (2,), "efficiency", element)
    if not ((pair > 0.0) & (pair <= 1.0)).all():
        raise ModelError(f"efficiency must be above 0 and at most 1; got {value!r}", element)
    return pair


def names_of(value: Any, what: str, element: str) -> tuple[str, ...]:
    """One name, or several, as a tuple without repetitions."""
    several: list[Any] = [value] if isinstance(value, str) else list(value) if np.iterable(value) else [None]
    if not all(isinstance(name, str) for name in several):
        raise ModelError(f"{what} must be a name or several; got {value!r}", element)
    return tuple(dict.fromkeys(several))


def numbers_by_joint(value: Any, what: str, each: str, element: str) -> dict[str, Array]:
    """Numbers by the names of joints: one, or one for each coordinate or velocity."""
    if not isinstance(value, Mapping):
        raise ModelError(f"{what} must be given by joint, as in {{'knee': 0.5}}; got {value!r}", element)
    many = {joint: list(x) if np.iterable(x) else [x] for joint, x in value.items()}
    return {str(joint): numbers_of(x, (len(x),), f"{each} of joint {joint!r}", element) for joint, x in many.items()}


def per_velocity(value: Any, kind: JointKind, what: str, element: str, accept: Acceptance = np.isfinite) -> Array:
    """One number for all velocities of a joint, or one for each: (nv,)."""
    return numbers_of(np.full(kind.nv, value) if np.ndim(value) == 0 else value, (kind.nv,), what, element, accept)


def not_negative(value: Any, kind: JointKind, what: str, element: str, accept: Acceptance = np.isfinite) -> Array:
    """The same (nv,), refusing numbers below zero."""
    array = per_velocity(value, kind, what, element, accept)
    if (array < 0.0).any():
        raise ModelError(f"{what} must be >= 0; got {value!r}", element)
    return array


def joint_limits(limits: Any, kind: JointKind, element: str) -> tuple[Array, Array]:
    """Limits of a joint, lower and upper, each (nv,) [rad or m], infinite where there is none."""
    free = np.full(kind.nv, np.inf)
    if limits is None:
        return -free, free
    if kind.nq != kind.nv:
        raise ModelError(
            f"limits need one number per coordinate; a {type(kind).__name__} joint has a quaternion", element
        )
    try:
        lower, upper = limits
    except (TypeError, ValueError):
        raise ModelError(f"limits must be (lower, upper); got {limits!r}", element) from None
    lower, upper = (per_velocity(end, kind, "limits", element, or_infinite) for end in (lower, upper))
    if (lower > upper).any():
        raise ModelError(f"the lower limit must not exceed the upper one; got {limits!r}", element)
    return lower, upper


def placement(at: Any, rpy: Any, rotation: Any, element: str, where: str = "at", turn: str = "") -> Transform:
    """A pose from `at` (3,) [m], and `rpy` (3,) [rad] or a `rotation` (3, 3) instead.

    Messages call the first `where`, and put `turn` before the names of the others.
    """
    at = numbers_of(at, (3,), where, element)
    if rotation is None:
        angles = numbers_of(rpy, (3,), f"{turn}rpy", element)
        return (Transform.place(at, angles) if angles.any() else Transform(np.eye(3), at)).snapped()
    R = numbers_of(rotation, (3, 3), f"{turn}rotation", element)
    left, _, right = np.linalg.svd(R)
    nearest = left @ right
    off = float(np.abs(nearest - R).max())
    if np.linalg.det(nearest) < 0.0 or off > 1e-6:
        raise ModelError(f"{turn}rotation must be a 3x3 rotation matrix; got {rotation!r}", element)
    return Transform(R if off < SNAPPED else nearest, at).snapped()
