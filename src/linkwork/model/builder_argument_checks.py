"""Checks of the arguments of Builder methods: names, numbers, limits and placements.

`what` is the name of the argument and `element` the label of the element, both for error messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.joints import ClosingKind, JointKind
from linkwork.model.model_tolerances import NEARLY_ORTHONORMAL
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array

Acceptance = Callable[[Array], Array]  # returns, for each number of an array, whether it is acceptable


def accept_all(array: Array) -> Array:
    """Return an array of True for any numbers: all numbers are accepted here, because `build()` checks them later."""
    return np.full(array.shape, True)


def accept_infinite(array: Array) -> Array:
    """Return True for each number of `array` that is finite or infinite, and False for NaN."""
    return ~np.isnan(array)


def checked_name(name: object, what: str) -> str:
    """Return `name`; raise a ModelError if it is not a nonempty string.

    `what` is the kind of object that has the name, such as "joint", for the error message.
    """
    if not isinstance(name, str) or not name.strip():
        raise ModelError(f"the name of a {what} must be a nonempty string; got {name!r}")
    return name


def new_element(there: Mapping[str, object], what: str, name: str) -> str:
    """Return the label of a new element, such as "joint 'knee'"; raise a ModelError if another element has its name.

    `there` maps names to existing elements; `what` is the word for their kind, such as "joint".
    """
    element = f"{what} {checked_name(name, what)!r}"
    if name in there:
        raise ModelError(f"a {what} with this name already exists; choose another name", element)
    return element


def joint_kind(kind: object, element: str) -> JointKind:
    """Return `kind`; raise a ModelError that names the element `element` if `kind` is not a joint kind."""
    if not isinstance(kind, JointKind):
        raise ModelError(f"kind must be a joint kind such as lw.Revolute(axis=(0, 0, 1)); got {kind!r}", element)
    return kind


def closing_kind(kind: object, element: str) -> ClosingKind:
    """Return `kind`; raise a ModelError that names the element `element` if this kind cannot close a loop."""
    if not isinstance(kind, ClosingKind):
        raise ModelError(
            f"kind must be a joint kind, lw.Rod, lw.PointOnLine, lw.Gear or lw.Rack; got {kind!r}", element
        )
    return kind


def numbers_of(value: Any, shape: tuple[int, ...], what: str, element: str, accept: Acceptance = np.isfinite) -> Array:
    """Return the argument `value` as a read-only float array of shape `shape`.

    Raise a ModelError if `value` has another shape or a number that `accept` does not accept. `what` is the name of the
    argument in messages, and `element` the label of the element.
    """
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"{what} must be numbers; got {value!r}", element) from None
    if array.shape != shape:
        wanted = " x ".join(map(str, shape)) + " numbers" if shape else "one number"
        raise ModelError(f"{what} must be {wanted}; got {value!r}", element)
    if not accept(array).all():
        raise ModelError(f"{what} must be finite; got {value!r}", element)
    array.flags.writeable = False  # mechanisms are immutable
    return array


def number_of(value: Any, what: str, element: str, accept: Acceptance = np.isfinite) -> float:
    """Return the argument `value` as a float; raise a ModelError if it is not a single number that `accept` accepts.

    `what` is the name of the argument in messages, and `element` the label of the element.
    """
    if isinstance(value, float) and isfinite(value):  # the common case, which every `accept` accepts
        return float(value)
    return float(numbers_of(value, (), what, element, accept))


def at_least_zero(value: Any, what: str, element: str) -> float:
    """Return `value` as a float >= 0; raise a ModelError for other values.

    The message calls the value `what` and the element `element`.
    """
    number = number_of(value, what, element)
    if number < 0.0:
        raise ModelError(f"{what} must be >= 0; got {value!r}", element)
    return number


def at_most_one(value: Any, what: str, element: str) -> float:
    """Return `value` as a float from 0 to 1; raise a ModelError for other values.

    The message calls the value `what` and the element `element`.
    """
    number = at_least_zero(value, what, element)
    if number > 1.0:
        raise ModelError(f"{what} must be from 0 to 1; got {value!r}", element)
    return number


def above_zero(value: Any, what: str, element: str, accept: Acceptance = np.isfinite) -> float:
    """Return `value` as a float > 0; raise a ModelError for other values, and for numbers that `accept` rejects.

    The message calls the value `what` and the element `element`.
    """
    number = number_of(value, what, element, accept)
    if not number > 0.0:
        raise ModelError(f"{what} must be > 0; got {value!r}", element)
    return number


def not_zero(value: Any, what: str, element: str) -> float:
    """Return `value` as a float other than 0; raise a ModelError for other values.

    The message calls the value `what` and the element `element`.
    """
    number = number_of(value, what, element)
    if number == 0.0:
        raise ModelError(f"{what} must not be 0", element)
    return number


def yes_or_no(value: Any, what: str, element: str) -> bool:
    """Return `value` as a bool; raise a ModelError if it is not True or False.

    The message calls the value `what` and the element `element`.
    """
    if not isinstance(value, bool | np.bool_):
        raise ModelError(f"{what} must be True or False; got {value!r}", element)
    return bool(value)


def interval(value: Any, what: str, element: str) -> Array:
    """Return the interval `value` as an array [lower, upper] (2,); for `value` None it is [-inf, inf].

    Messages call the value `what` and the element `element`.
    """
    ends = numbers_of((-np.inf, np.inf) if value is None else value, (2,), what, element, accept_infinite)
    if ends[0] > ends[1] or ends[0] == np.inf or ends[1] == -np.inf:
        raise ModelError(f"{what} must be (lower, upper) with lower <= upper; got {value!r}", element)
    return ends


def friction_pair(value: Any, element: str) -> tuple[float, float]:
    """Return the friction coefficients (static, dynamic) from `value`: a pair, or one number that sets both.

    Raise a ModelError that names the element `element` unless static >= dynamic >= 0.
    """
    static, dynamic = numbers_of((value, value) if np.ndim(value) == 0 else value, (2,), "friction", element).tolist()
    if dynamic < 0.0 or static < dynamic:
        reason = "friction must be (static, dynamic) with static >= dynamic >= 0"
        raise ModelError(f"{reason}; got {value!r}", element)
    return static, dynamic


def efficiency_pair(value: Any, element: str) -> Array:
    """Return the two efficiencies (2,) of a drive from `value`: a pair, or one number that sets both.

    An efficiency is the transmitted fraction of power, above 0 and at most 1. The first one applies when the motor
    drives its joints, the second one when the joints drive the motor. Raise a ModelError that names the element
    `element` for other values.
    """
    pair = numbers_of((value, value) if np.ndim(value) == 0 else value, (2,), "efficiency", element)
    if not ((pair > 0.0) & (pair <= 1.0)).all():
        raise ModelError(f"efficiency must be above 0 and at most 1; got {value!r}", element)
    return pair


def names_of(value: Any, what: str, element: str) -> tuple[str, ...]:
    """Return `value`, one name or a sequence of names, as a tuple of names without duplicates.

    Raise a ModelError for other values; `what` is the name of the argument in the message. The message names the
    element `element`.
    """
    several: list[Any] = [value] if isinstance(value, str) else list(value) if np.iterable(value) else [None]
    if not all(isinstance(name, str) for name in several):
        raise ModelError(f"{what} must be a name or a list of names; got {value!r}", element)
    return tuple(dict.fromkeys(several))


def numbers_by_joint(value: Any, what: str, each: str, element: str) -> dict[str, Array]:
    """Return the mapping `value` from joint name to one number or several, as a dict from joint name to array.

    Error messages call the whole argument `what`, such as "positions", and the numbers of one joint `each`, such as
    "the position". `element` is the label of the element.
    """
    if not isinstance(value, Mapping):
        raise ModelError(f"{what} must be given by joint, as in {{'knee': 0.5}}; got {value!r}", element)
    many = {joint: list(x) if np.iterable(x) else [x] for joint, x in value.items()}
    return {str(joint): numbers_of(x, (len(x),), f"{each} of joint {joint!r}", element) for joint, x in many.items()}


def per_velocity(value: Any, kind: JointKind, what: str, element: str, accept: Acceptance = np.isfinite) -> Array:
    """Return the joint parameter `value` as an array (nv,), with one number for each velocity of the joint `kind`.

    `value` is one number for all velocities, or one for each. `accept` returns True for each valid number. In messages,
    `what` is the name of the argument and `element` the label of the joint.
    """
    return numbers_of(np.full(kind.nv, value) if np.ndim(value) == 0 else value, (kind.nv,), what, element, accept)


def not_negative(value: Any, kind: JointKind, what: str, element: str, accept: Acceptance = np.isfinite) -> Array:
    """Return the joint parameter `value` as an array (nv,) of numbers >= 0; raise a ModelError for negative numbers.

    The arguments are those of `per_velocity`.
    """
    array = per_velocity(value, kind, what, element, accept)
    if (array < 0.0).any():
        raise ModelError(f"{what} must be >= 0; got {value!r}", element)
    return array


def joint_limits(limits: Any, kind: JointKind, element: str) -> tuple[Array, Array]:
    """Return the lower and the upper limits of a joint of the kind `kind`, each (nv,) [rad or m].

    `limits` is a pair (lower, upper) of numbers or arrays, or None for infinite limits. Raise a ModelError that names
    the element `element` for invalid limits.
    """
    free = np.full(kind.nv, np.inf)
    if limits is None:
        return -free, free
    if kind.nq != kind.nv:
        raise ModelError(
            f"limits are not supported for a {type(kind).__name__} joint, whose coordinates include a quaternion",
            element,
        )
    try:
        lower, upper = limits
    except (TypeError, ValueError):
        raise ModelError(f"limits must be (lower, upper); got {limits!r}", element) from None
    lower, upper = (per_velocity(end, kind, "limits", element, accept_infinite) for end in (lower, upper))
    if (lower > upper).any():
        raise ModelError(f"the lower limit must not exceed the upper limit; got {limits!r}", element)
    return lower, upper


def placement(at: Any, rpy: Any, rotation: Any, element: str, where: str = "at", turn: str = "") -> Transform:
    """Return the pose with position `at` (3,) [m] and orientation `rpy` (3,) [rad] or, if given, `rotation` (3, 3).

    In messages, `where` is the name of the argument `at`, `turn` a prefix of the names of the other two, and `element`
    the label of the element.
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
    return Transform(R if off < NEARLY_ORTHONORMAL else nearest, at).snapped()
