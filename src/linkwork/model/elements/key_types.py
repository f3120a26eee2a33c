"""The kinds of values that fields of elements can have: numbers, names, attachment frames and objects of a class.

An element's field is defined by `key(kind, about, ...)`. The kind of a key defines how to check the argument of a
Builder method, how to write it to a document, and which values it may take as a parameter. Builder methods, the schema
of documents, readers, writers, parameters and digests all follow from these definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linkwork.errors import ModelError, listed
from linkwork.model.bodies import Place
from linkwork.model.builder_argument_checks import (
    above_zero,
    accept_infinite,
    at_least_zero,
    at_most_one,
    efficiency_pair,
    friction_pair,
    interval,
    names_of,
    not_zero,
    number_of,
    numbers_by_joint,
    numbers_of,
    placement,
    yes_or_no,
)
from linkwork.model.builder_specifications import unknown_faults
from linkwork.model.elements.element_key_definition import Key as Key
from linkwork.model.elements.element_key_definition import Kind as Kind
from linkwork.model.elements.element_key_definition import derived as derived
from linkwork.model.elements.element_key_definition import is_finite as is_finite
from linkwork.model.elements.element_key_definition import key as key
from linkwork.model.model_definition_faults import Fault
from linkwork.model.parameter_value_checks import (
    AT_MOST_ONE,
    FINITE,
    FRACTION,
    NOT_NEGATIVE,
    NOT_ZERO,
    POSITIVE,
    SIGN,
    SWITCH,
    Rules,
)
from linkwork.model.toml_value_conversion import (
    DEGREES,
    Documented,
    Name,
    Text,
    Velocities,
    numbers_of_joints,
    own_fields,
    place_keys,
    rotation_note,
    written_name,
)
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from linkwork.model.builder_specifications import Draft, Homes

ZERO = (0.0, 0.0, 0.0)
Direction = tuple[tuple[str, float], ...]  # joint names with the factors of their velocities in a sum
Side = str | Mapping[str, float] | Direction  # a joint name, or a weighted sum of joints


# --- numbers ---


class _Number(Kind):
    check: Callable[[Any, str, str], float]

    def checked(self, value: Any, key: str, element: str) -> float:
        return self.check(value, key, element)

    def written(self, value: Any, key: str, element: str) -> dict[str, Any]:
        return {key: float(value)}


def _number(unit: str, check: Callable[..., float], rules: Rules, infinite: bool = False) -> Kind:
    wanted = f"a number [{unit}]" if unit else "a number"
    python = f"float, [{unit}]" if unit else "float"
    checked = partial(check, accept=accept_infinite) if infinite else check
    return _Number(float, wanted, python=python, rules=rules, infinite=infinite, counts=True, check=checked)


def finite(unit: str = "") -> Kind:
    """Return the kind of field whose value is any finite number, in the unit `unit`."""
    return _number(unit, number_of, FINITE)


def not_negative(unit: str = "") -> Kind:
    """Return the kind of field whose value is a number >= 0, in the unit `unit`."""
    return _number(unit, at_least_zero, NOT_NEGATIVE)


def positive(unit: str = "", infinite: bool = False) -> Kind:
    """Return the kind of field whose value is a number > 0, in the unit `unit`.

    If `infinite` is true, the value may also be infinite; an infinite value is not a parameter and cannot vary.
    """
    return _number(unit, above_zero, POSITIVE, infinite)


def nonzero(unit: str = "") -> Kind:
    """Return the kind of field whose value is a number other than 0, in the unit `unit`."""
    return _number(unit, not_zero, NOT_ZERO)


def fraction() -> Kind:
    """Return the kind of field whose value is a number from 0 to 1."""
    return _number("", at_most_one, (*NOT_NEGATIVE, *AT_MOST_ONE))


class _Sign(Kind):
    def checked(self, value: Any, key: str, element: str) -> float:
        number = number_of(value, key, element)
        if abs(number) != 1.0:
            raise ModelError(f"{key} must be 1 or -1; got {value!r}", element)
        return number

    def written(self, value: Any, key: str, element: str) -> dict[str, Any]:
        return {key: float(value)}


sign = _Sign(float, "a number", python="float", rules=SIGN, counts=True)


class _Whole(Kind):
    def checked(self, value: Any, key: str, element: str) -> float:
        return number_of(value, key, element)

    def written(self, value: Any, key: str, element: str) -> dict[str, Any]:
        return {key: int(value)}


whole = _Whole(int, "a whole number", python="int", counts=True)


class _Switch(Kind):
    def checked(self, value: Any, key: str, element: str) -> float:
        held = isinstance(value, float) and value in (0.0, 1.0)  # already in the form that elements store
        return float(value if held else yes_or_no(value, key, element))

    def written(self, value: Any, key: str, element: str) -> dict[str, Any]:
        return {key: bool(value)}


switch = _Switch(bool, "true or false", python="bool", rules=SWITCH, counts=True)


class _Numbers(Kind):
    check: Callable[[Any, str, str], Any]

    def checked(self, value: Any, key: str, element: str) -> Any:
        return self.check(value, key, element)

    def written(self, value: Any, key: str, element: str) -> dict[str, Any]:
        return {key: np.asarray(value).tolist()}

    def numbers(self, value: Any) -> Array:
        return np.asarray(value)

    def varied(self, value: Any, new: Any) -> Any:
        return tuple(new) if isinstance(value, tuple) else new


def _three(value: Any, key: str, element: str) -> Array:
    return numbers_of(value, (3,), key, element)


def _friction(value: Any, key: str, element: str) -> tuple[float, float]:
    return friction_pair(value, element)


def _efficiency(value: Any, key: str, element: str) -> Array:
    return efficiency_pair(value, element)


def _gears(value: Any, key: str, element: str) -> tuple[float, ...]:
    """Return `value` as the gear ratios of a gearbox; raise a ModelError if the list is empty or a ratio is 0.

    Messages call the field `key` and the element `element`.
    """
    try:
        ratios = np.array(value, dtype=float)
    except (TypeError, ValueError):
        ratios = np.zeros(0)
    if ratios.ndim != 1 or not len(ratios) or not np.isfinite(ratios).all():
        raise ModelError(f"{key} must be numbers, one for each gear; got {value!r:.60}", element)
    if not ratios.all():
        raise ModelError(f"the ratio of gear {int(np.argmin(ratios != 0.0)) + 1} must not be 0", element)
    return tuple(ratios.tolist())


_TWO = tuple[float, float]
three_numbers = _Numbers(
    tuple[float, float, float], "3 numbers", python="array_like, shape (3,)", counts=True, check=_three
)
bounds = _Numbers(
    _TWO,
    "[lower, upper]",
    python="(float, float) or None",
    infinite=True, takes_none=True, counts=True, check=interval,
)  # fmt: skip
friction_coefficients = _Numbers(
    float | _TWO,
    "a number, or [static, dynamic]",
    python="float or (float, float)",
    rules=NOT_NEGATIVE,
    counts=True,
    check=_friction,
)
efficiencies = _Numbers(
    float | _TWO,
    "a number, or [motor drives joints, joints drive motor]",
    python="float or (float, float)",
    rules=FRACTION,
    counts=True,
    check=_efficiency,
)
gear_ratios = _Numbers(list[float], "a list of numbers", python="sequence of float", counts=True, check=_gears)


class _ByJoint(Kind):
    """Kind of field with numbers for the velocities of several joints, stored as (joint name, array (nv,)) pairs."""

    def checked(self, value: Any, key: str, element: str) -> tuple[tuple[str, Array], ...]:
        given = dict(value) if isinstance(value, tuple) and all(map(_is_pair, value)) else value
        found = numbers_by_joint(given, key, key, element)
        if not found:
            raise ModelError(f"{key} must name at least one joint", element)
        for joint, numbers in found.items():
            if not numbers.any():
                raise ModelError(f"{key} of joint {joint!r} must not all be 0; got {numbers.tolist()}", element)
        return tuple(found.items())

    def written(self, value: Any, key: str, element: str) -> dict[str, Any]:
        return {key: numbers_of_joints(dict(value))}


def _is_pair(item: object) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str)


numbers_by_joint_name = _ByJoint(
    dict[Name, Velocities], "a table of numbers by joint", python="dict of str to float or array_like"
)


# --- names ---


class NameKind(Kind):
    """Kind of field whose value is the name of a body or a joint.

    `what` is "body" or "joint", and `role` is how messages refer to the named object.
    """

    python = "str"
    what: str = ""
    role: str = ""

    def checked(self, value: Any, key: str, element: str) -> str:
        """Return `value`, the name of a body or joint; raise a ModelError if it is not a nonempty string.

        Messages call the field `key` and the element `element`.
        """
        return str(value)

    def faults(self, value: Any, element: str, draft: Draft) -> Iterator[Fault]:
        """Yield a fault if the Builder has no body or joint with the name `value`.

        `element` is the label of the element in messages, and `draft` the content of the Builder before `build`.
        """
        there = draft.bodies if self.what == "body" else draft.joints
        return unknown_faults(element, self.what, {} if value is None else {self.role: value}, there)


def body_name(role: str = "its body", wanted: str = "") -> Kind:
    """Return the kind of field whose value names a body, a welded part or the world.

    `role` is how messages refer to this body. `wanted` is the description of the expected value.
    """
    return NameKind(Name, wanted, what="body", role=role)


def joint_name(role: str = "its joint") -> Kind:
    """Return the kind of field whose value names a joint; `role` is how messages refer to this joint."""
    return NameKind(Name, what="joint", role=role)


class _Side(Kind):
    """Kind of field for one side of a clutch: a joint, or a weighted sum {joint: factor} of joints.

    Each joint must have one velocity. A sum is stored as pairs (joint name, factor).
    """

    def checked(self, value: Any, key: str, element: str) -> Side:
        if isinstance(value, tuple) and value and all(map(_is_pair, value)):
            value = dict(value)
        if not isinstance(value, Mapping):
            return str(value)
        if not value:
            raise ModelError(f"{key} must name at least one joint", element)
        return tuple(
            (str(joint), not_zero(by, f"{key}: the factor of {joint!r}", element)) for joint, by in value.items()
        )

    def written(self, value: Any, key: str, element: str) -> dict[str, Any]:
        return {key: value if isinstance(value, str) else dict(value)}


side = _Side(Name | dict[Name, float], "a joint, or a table of numbers by joint", python="str or dict of str to float")


class _Names(Kind):
    def checked(self, value: Any, key: str, element: str) -> tuple[str, ...]:
        return names_of(value, key, element)


names = _Names(list[Name], "a list of names", python="str or sequence of str")


class _NamePairs(Kind):
    def checked(self, value: Any, key: str, element: str) -> tuple[tuple[str, str], ...]:
        found = list(value) if np.iterable(value) and not isinstance(value, str) else [value]
        if not all(isinstance(pair, (tuple, list)) and list(map(type, pair)) == [str, str] for pair in found):
            raise ModelError(f'{key} must be pairs of names, as in [("arm", "hand")]; got {value!r}', element)
        return tuple((a, b) for a, b in found)

    def written(self, value: Any, key: str, element: str) -> dict[str, Any]:
        return {key: [list(pair) for pair in value]}


name_pairs = _NamePairs(list[list[Name]], "a list of pairs of names", python="sequence of pairs of str")


class _Choice(Kind):
    choices: tuple[str, ...] = ()

    def checked(self, value: Any, key: str, element: str) -> str:
        if not isinstance(value, str) or value not in self.choices:
            raise ModelError(f"{key} must be one of {listed(self.choices)}; got {value!r}", element)
        return value


def choice(*choices: str) -> Kind:
    """Return the kind of field whose value is one of the strings `choices`."""
    wanted = f"{', '.join(choices[:-1])} or {choices[-1]}"
    return _Choice(Text, wanted, python=f"{{{', '.join(map(repr, choices))}}}", choices=choices)


# --- attachment frames and points ---


class Posed(NamedTuple):
    """A pose as arguments of a Builder method: `at` (3,) [m], and `rpy` (3,) [rad] or, instead, `rotation` (3, 3)."""

    at: Any = ZERO
    rpy: Any = ZERO
    rotation: Any = None


class _Place(Kind):
    python = "array_like, shape (3,), [m]"
    of: str = ""  # key of the element that names the body
    where: str = "at"
    turn: str = ""
    rotates: bool = True

    def checked(self, value: Any, key: str, element: str) -> Place:
        if isinstance(value, Place):
            return value
        posed = value if isinstance(value, Posed) else Posed(value)
        return Place.stated(placement(*posed, element, self.where, self.turn))

    def documented(self, key: str, about: str, required: bool) -> dict[str, Documented]:
        three, fixed = (
            tuple[float, float, float],
            "Roll, pitch and yaw angles about the fixed x, y and z axes of the body",
        )
        position = about or "Position of the origin in the frame of the parent or body"
        found = {self.where: Documented(three, "3 numbers [m]", position, python=self.python)}
        if self.rotates:
            rpy = f"{self.turn}rpy"
            angles = f"{fixed}, as in URDF"
            found[rpy] = Documented(three, "3 numbers [rad]", angles, python="array_like, shape (3,), [rad]")
            found[rpy + DEGREES] = Documented(three, "3 numbers [degrees]", fixed)
            matrix, nine = (
                "Rotation matrix from this frame to the axes of the body, instead of the angles",
                tuple[(float,) * 9],
            )
            shape = "array_like, shape (3, 3)"
            found[f"{self.turn}rotation"] = Documented(nine, "9 numbers, row by row", matrix, python=shape)
        return found

    def read(self, key: str, given: Mapping[str, Any]) -> Any:
        rpy, rotation = given.get(f"{self.turn}rpy", ZERO), given.get(f"{self.turn}rotation")
        return Posed(given.get(self.where, ZERO), rpy, rotation)

    def written(self, value: Place, key: str, element: str) -> dict[str, Any]:
        return place_keys(value.offset, self.where, self.turn)

    def notes(self, value: Place) -> dict[str, str]:
        return rotation_note(value.offset, self.turn)

    def numbers(self, value: Place) -> Array:
        return value.offset.p

    def varied(self, value: Place, new: Array) -> Place:
        return value.moved(new)

    def placed(self, value: Place, owner: object, homes: Homes) -> Place:
        return value.on(*homes[getattr(owner, self.of)])


def place(of: str, where: str = "at", turn: str = "") -> Kind:
    """Return the kind of field whose value is a frame at a given pose on the body that the key `of` names.

    The TOML key of its position is `where`. The key of its rotation is "rpy", "rpy_deg" or "rotation", with the prefix
    `turn`.
    """
    return _Place(Place, of=of, where=where, turn=turn)


def point(of: str, where: str = "at", points: bool = False) -> Kind:
    """Return the kind of field whose value is a point (3,) [m] on the body that the key `of` names.

    If `points` is true, an array (k, 3) of points gives k elements. `where` is the TOML key of the point.
    """
    python = "array_like, shape (3,) or (k, 3), [m]" if points else _Place.python
    return _Place(Place, of=of, where=where, rotates=False, python=python)


# --- objects of a class; a document has the fields of the class next to the key that names it ---


class ClassKind(Kind):
    """Kind of field whose value is an object of one of several classes, such as a joint kind or a shape.

    `check` accepts objects of these classes. TOML documents can name the classes in `choices`; for other classes,
    saving raises an error with the reason `unwritable`.
    """

    check: Callable[[object, str], Any]
    choices: Callable[[], Mapping[str, type]]
    unwritable: str = "documents do not support its class, so it cannot be written to a file"

    def checked(self, value: Any, key: str, element: str) -> Any:
        """Return the object `value`; raise a ModelError if its class is not permitted for this field.

        Messages call the field `key` and the element `element`.
        """
        return self.check(value, element)

    def written(self, value: Any, key: str, element: str) -> dict[str, Any]:
        """Return the class name and the fields of the object `value` as entries of a TOML document.

        `key` is the name of the field, and `element` the label of the element in messages.
        """
        if type(value) not in self.choices().values():
            raise ModelError(self.unwritable, element)
        return {key: written_name(type(value))} | own_fields(value)
