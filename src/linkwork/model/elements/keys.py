"""Keys of elements: what a field of an element is, said once.

An element's field is defined by `key(kind, about, ...)`. The kind of key knows how the argument of a Builder verb is
checked, what a document writes for it, and which values it may have as a parameter. Verbs, the schema of documents,
readers, writers, parameters and digests follow from these definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import MISSING, field
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from linkwork.errors import ModelError, listed
from linkwork.model.arguments import (
    above_zero,
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
    or_infinite,
    placement,
    yes_or_no,
)
from linkwork.model.bodies import Place
from linkwork.model.document_values import (
    DEGREES,
    Documented,
    Name,
    Text,
    Velocities,
    as_lists,
    numbers_of_joints,
    own_fields,
    place_keys,
    rotation_note,
    written_name,
)
from linkwork.model.faults import Fault
from linkwork.model.parameters import (
    A_PART,
    AT_MOST_ONE,
    FINITE,
    NOT_NEGATIVE,
    NOT_ZERO,
    POSITIVE,
    SIGN,
    SWITCH,
    Rules,
    as_number,
    is_hidden,
)
from linkwork.model.specifications import unknown_faults
from linkwork.spatial.scalar import Array, Number

if TYPE_CHECKING:
    from linkwork.model.specifications import Draft, Homes

ZERO = (0.0, 0.0, 0.0)
Direction = tuple[tuple[str, float], ...]  # joints with the factors by which their velocities are added
Side = str | Mapping[str, float] | Direction  # a joint, or a sum of joints


# --- definitions ---


class Kind:
    """How the values of a key are checked, written and varied. Its attributes are given by name, and never change."""

    type_: Any = str
    wanted: str = ""
    rules: Rules = FINITE  # of its values as a parameter
    infinite: bool = False
    takes_none: bool = False  # whether None is a value like others, and not one that is left out
    counts: bool = False  # whether its values are numbers, which are not written where they are the default

    def __init__(self, type_: Any, wanted: str = "", **own: Any):
        vars(self).update(own, type_=type_, wanted=wanted)

    def with_rules(self, rules: Rules) -> Self:
        """The same with other rules for the values of a parameter."""
        found = copy(self)
        found.rules = rules
        return found

    def checked(self, value: Any, key: str, element: str) -> Any:
        """The value as an element holds it; a ModelError that names the key if it cannot be."""
        raise NotImplementedError

    def documented(self, key: str, about: str, required: bool) -> dict[str, Documented]:
        """The keys that a document has for it."""
        return {key: Documented(self.type_, self.wanted, about, required, self.infinite)}

    def read(self, key: str, given: Mapping[str, Any]) -> Any:
        """The argument of a verb from a document's values; MISSING if it is left out."""
        return given.get(key, MISSING)

    def written(self, value: Any, key: str, element: str) -> dict[str, Any]:
        """What a document says for it."""
        return {key: as_lists(value)}

    def notes(self, value: Any) -> dict[str, str]:
        """Comments behind keys of a document."""
        return {}

    def numbers(self, value: Any) -> Array:
        """The value of the parameter."""
        return as_number(value)

    def varied(self, value: Any, new: Any) -> Any:
        """The value with the parameter's `new` numbers."""
        return new

    def faults(self, value: Any, element: str, draft: Draft) -> Iterator[Fault]:
        """What it names that is not there."""
        return iter(())

    def placed(self, value: Any, owner: object, homes: Homes) -> Any:
        """The value on numbered bodies."""
        return value


class Key(NamedTuple):
    """The definition of one field of an element.

    A `parameter` may vary by name, a `mode` may be switched in a run. Documents leave out the default, or what is
    `usual`, or the `same_as` the value of another key.
    """

    kind: Kind
    about: str
    default: Any
    parameter: bool
    mode: bool
    usual: Any
    same_as: str

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is MISSING


def key(
    kind: Kind,
    about: str = "",
    *,
    default: Any = MISSING,
    kw_only: bool = False,
    parameter: bool = False,
    mode: bool = False,
    usual: Any = MISSING,
    same_as: str = "",
) -> Any:
    """Define a field of an element: the kind of its values, what it is `about`, and its default if it has one.

    A `parameter` may vary by name; a `mode` is one that may be switched in a run. Documents leave out a number that is
    its default, or `usual`, or the `same_as` that of another key.
    """
    found = Key(kind, about, default, parameter or mode, mode, usual, same_as)
    return field(default=default, kw_only=kw_only, metadata={"key": found})


def derived(*, default: Any = MISSING, default_factory: Any = MISSING, kw_only: bool = True) -> Any:
    """Define a field that `Builder.build` fills in: no verb, document or parameter has it."""
    given = {"default": default} if default_factory is MISSING else {"default_factory": default_factory}
    return field(kw_only=kw_only, **given)


def is_finite(bound: Number) -> bool:
    """Whether a bound, or all of a batch, is finite; a number that hides its value is, since only finite ones vary."""
    if isinstance(bound, float):
        return isfinite(bound)
    return is_hidden(bound) or bool(np.all(np.isfinite(bound)))


# --- numbers ---


class _Number(Kind):
    check: Callable[[Any, str, str], float]

    def checked(self, value: Any, key: str, element: str) -> float:
        return self.check(value, key, element)

    def written(self, value: Any, key: str, element: str) -> dict[str, Any]:
        return {key: float(value)}


def _number(unit: str, check: Callable[..., float], rules: Rules, infinite: bool = False) -> Kind:
    wanted = f"a number [{unit}]" if unit else "a number"
    checked = partial(check, accept=or_infinite) if infinite else check
    return _Number(float, wanted, rules=rules, infinite=infinite, counts=True, check=checked)


def finite(unit: str = "") -> Kind:
    """Any finite number."""
    return _number(unit, number_of, FINITE)


def not_negative(unit: str = "") -> Kind:
    """A number that is at least 0."""
    return _number(unit, at_least_zero, NOT_NEGATIVE)


def positive(unit: str = "", infinite: bool = False) -> Kind:
    """A number above 0; it may be `infinite`, and varies only where it is not."""
    return _number(unit, above_zero, POSITIVE, infinite)


def nonzero(unit: str = "") -> Kind:
    """A number other than 0."""
    return _number(unit, not_zero, NOT_ZERO)


def fraction() -> Kind:
    """A number from 0 to 1."""
    return _number("", at_most_one, (*NOT_NEGATIVE, *AT_MOST_ONE))


class _Sign(Kind):
    def checked(self, value: Any, key: str, element: str) -> float:
        number = number_of(value, key, element)
        if abs(number) != 1.0:
            raise ModelError(f"{key} must be 1 or -1; got {value!r}", element)
        return number

    def written(self, value: Any, key: str, element: str) -> dict[str, Any]:
        return {key: float(value)}


sign = _Sign(float, "a number", rules=SIGN, counts=True)


class _Whole(Kind):
    def checked(self, value: Any, key: str, element: str) -> float:
        return number_of(value, key, element)

    def written(self, value: Any, key: str, element: str) -> dict[str, Any]:
        return {key: int(value)}


whole = _Whole(int, "a whole number", counts=True)


class _Switch(Kind):
    def checked(self, value: Any, key: str, element: str) -> float:
        held = isinstance(value, float) and value in (0.0, 1.0)  # as an element holds it
        return float(value if held else yes_or_no(value, key, element))

    def written(self, value: Any, key: str, element: str) -> dict[str, Any]:
        return {key: bool(value)}


switch = _Switch(bool, "true or false", rules=SWITCH, counts=True)


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
    """Ratios of gears as floats, at least one and none of them 0."""
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
three_numbers = _Numbers(tuple[float, float, float], "3 numbers", counts=True, check=_three)
bounds = _Numbers(_TWO, "[lower, upper]", infinite=True, takes_none=True, counts=True, check=interval)
friction_coefficients = _Numbers(
    float | _TWO, "a number, or [static, dynamic]", rules=NOT_NEGATIVE, counts=True, check=_friction
)
efficiencies = _Numbers(
    float | _TWO, "a number, or [driving, driven back]", rules=A_PART, counts=True, check=_efficiency
)
gear_ratios = _Numbers(list[float], "a list of numbers", counts=True, check=_gears)


class _ByJoint(Kind):
    """Numbers by joint; held as pairs of a joint and an array (nv,)."""

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


numbers_by_joint_name = _ByJoint(dict[Name, Velocities], "a table of numbers by joint")


# --- names ---


class NameKind(Kind):
    """The name of a body or a joint, as `what` says; messages call it by its `role`."""

    what: str = ""
    role: str = ""

    def checked(self, value: Any, key: str, element: str) -> str:
        """The name."""
        return str(value)

    def faults(self, value: Any, element: str, draft: Draft) -> Iterator[Fault]:
        """Whether there is no such body or joint."""
        there = draft.bodies if self.what == "body" else draft.joints
        return unknown_faults(element, self.what, {} if value is None else {self.role: value}, there)


def body_name(role: str = "its body", wanted: str = "") -> Kind:
    """The name of a body, a welded part or the world; messages call it by its `role`."""
    return NameKind(Name, wanted, what="body", role=role)


def joint_name(role: str = "its joint") -> Kind:
    """The name of a joint; messages call it by its `role`."""
    return NameKind(Name, what="joint", role=role)


class _Side(Kind):
    """A joint, or a sum {joint: factor} of joints of one velocity each, held as pairs."""

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


side = _Side(Name | dict[Name, float], "a joint, or a table of numbers by joint")


class _Names(Kind):
    def checked(self, value: Any, key: str, element: str) -> tuple[str, ...]:
        return names_of(value, key, element)


names = _Names(list[Name], "a list of names")


class _Choice(Kind):
    choices: tuple[str, ...] = ()

    def checked(self, value: Any, key: str, element: str) -> str:
        if not isinstance(value, str) or value not in self.choices:
            raise ModelError(f"{key} must be one of {listed(self.choices)}; got {value!r}", element)
        return value


def choice(*choices: str) -> Kind:
    """One of several texts."""
    return _Choice(Text, f"{', '.join(choices[:-1])} or {choices[-1]}", choices=choices)


# --- places ---


class Posed(NamedTuple):
    """A place as a verb is given it: `at` (3,) [m], and `rpy` (3,) [rad] or a `rotation` (3, 3)."""

    at: Any = ZERO
    rpy: Any = ZERO
    rotation: Any = None


class _Place(Kind):
    of: str = ""  # the key that names the body
    where: str = "at"
    turn: str = ""
    rotates: bool = True

    def checked(self, value: Any, key: str, element: str) -> Place:
        if isinstance(value, Place):
            return value
        posed = value if isinstance(value, Posed) else Posed(value)
        return Place.stated(placement(*posed, element, self.where, self.turn))

    def documented(self, key: str, about: str, required: bool) -> dict[str, Documented]:
        three, fixed = tuple[float, float, float], "about the fixed x, y and z axis"
        found = {self.where: Documented(three, "3 numbers [m]", about or "where its origin is")}
        if self.rotates:
            rpy = f"{self.turn}rpy"
            found[rpy] = Documented(three, "3 numbers [rad]", f"roll, pitch and yaw {fixed}, as in URDF")
            found[rpy + DEGREES] = Documented(three, "3 numbers [degrees]", f"roll, pitch and yaw {fixed}")
            nine = Documented(tuple[(float,) * 9], "9 numbers", "rotation matrix, row by row")
            found[f"{self.turn}rotation"] = nine
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
    """A place on the body that the key `of` names: documents have it as `where`, and as `turn` + rpy or rotation."""
    return _Place(Place, of=of, where=where, turn=turn)


def point(of: str, where: str = "at") -> Kind:
    """A point (3,) [m] of the body that the key `of` names."""
    return _Place(Place, of=of, where=where, rotates=False)


# --- objects of a class, whose own fields a document has beside the key that names the class ---


class ClassKind(Kind):
    """An object of one of several classes, as `check` accepts it; `choices` are those that a document can name."""

    check: Callable[[object, str], Any]
    choices: Callable[[], Mapping[str, type]]
    unwritable: str = "it cannot be written"

    def checked(self, value: Any, key: str, element: str) -> Any:
        """The object, if it is one."""
        return self.check(value, element)

    def written(self, value: Any, key: str, element: str) -> dict[str, Any]:
        """The name of its class, and its fields."""
        if type(value) not in self.choices().values():
            raise ModelError(self.unwritable, element)
        return {key: written_name(type(value))} | own_fields(value)
