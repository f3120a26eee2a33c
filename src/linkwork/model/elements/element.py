"""The base class of elements, the objects that a Builder adds to bodies and joints: loops, clutches, springs, ...

An element is a frozen dataclass whose fields are defined by `key`. A class with a `section` is a kind of element: the
section is the name of its table in documents and of its attribute of a Mechanism. Users register kinds in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, dataclass_transform

import numpy as np

from linkwork.errors import LinkworkError, ModelError
from linkwork.model.bodies import Place
from linkwork.model.builder_argument_checks import checked_name
from linkwork.model.elements.key_types import ClassKind, Key, derived, is_finite, key
from linkwork.model.model_definition_faults import Fault
from linkwork.model.named_collections import Named
from linkwork.model.parameter_value_checks import check_values
from linkwork.model.toml_value_conversion import same_bits
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array, Number

if TYPE_CHECKING:
    from linkwork.model.builder_specifications import Draft, Homes, Layout
    from linkwork.model.mechanism import Joint, Mechanism

FLIP, GIVEN = "flip", "given"  # effect of a schedule's verb on a mode: change its sign, or set it to the given value
PACKAGE = __name__.partition(".")[0]


class Rotor(NamedTuple):
    """The rotor of the motor `drive`, which turns with the joints called `joints`, all driven by this motor.

    `row` (nv,) are the ratios of the drive: the rotor has the speed gear (row . v) [rad/s or m/s] at the velocities v
    (nv,). `inertia` [kg m^2 or kg] is the inertia of the rotor times gear^2, so that the rotor has the kinetic energy
    inertia (row . v)^2 / 2 [J]. Here gear is the gear ratio of the drive.
    """

    drive: str
    joints: tuple[str, ...]
    inertia: Number
    row: Array

    @property
    def alone(self) -> bool:
        """Whether the rotor turns with a single velocity of the mechanism, so that it acts as an armature."""
        return np.count_nonzero(self.row) == 1

    @property
    def scaled(self) -> Array:
        """The `row` (nv,) times the square root of `inertia`: the rotor's kinetic energy is (scaled . v)^2 / 2 [J]."""
        size = np.sqrt(self.inertia)
        return np.array([x * size if x != 0.0 else 0.0 for x in self.row])


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(key, derived))
@dataclass(frozen=True, eq=False)
class Element:
    """Base class of an element of a mechanism (loop, clutch, spring, ...), identified by its name.

    Subclasses automatically become frozen dataclasses. A kind of element is a subclass with a `section`, and optionally
    `what`, the word for one element in messages; by default it is derived from the class name.
    """

    name: str

    what: ClassVar[str] = ""  # word for one element in messages
    section: ClassVar[str] = ""  # the table in documents and the attribute of a Mechanism
    acts_in_motion_only: ClassVar[bool] = False  # whether the element affects runs only, not the dynamics at one state
    writes_all: ClassVar[bool] = False  # whether documents include values that equal their defaults
    couples_ratios: ClassVar[bool] = False  # whether the element drives joints at ratios, which may contradict others
    switches: ClassVar[Mapping[str, tuple[str, Any]]] = {}  # verb of a schedule: the mode that it sets, and its value
    locks_joint: ClassVar[bool] = False  # whether a schedule may name the joint instead of the element
    switches_itself: ClassVar[bool] = False  # whether its event function switches one of its modes

    def __init_subclass__(cls, section: str = "", what: str = "", **more: Any) -> None:
        super().__init_subclass__(**more)
        if section or any(isinstance(value, Field) for value in vars(cls).values()):
            dataclass(frozen=True, eq=False)(cls)
        if section:
            cls.section, cls.what = section, what or cls.__name__.lower()
            _register(cls)

    # --- definition ---

    @classmethod
    @cache
    def definitions(cls) -> Mapping[str, Key]:
        """Return the definitions of the element's fields by field name, in order."""
        return {field.name: field.metadata["key"] for field in fields(cls) if "key" in field.metadata}

    @classmethod
    def modes(cls) -> tuple[str, ...]:
        """Return the names of the fields that can be switched during a run, such as `engaged`."""
        return tuple(name for name, one in cls.definitions().items() if one.mode)

    @property
    def label(self) -> str:
        """The kind and name of the element as messages show them: "clutch 'shaft'"."""
        return f"{self.what} {self.name!r}"

    @property
    def is_of_users(self) -> bool:
        """Whether the element's class, or the class of its joint kind or shape, is defined outside linkwork."""
        own = [getattr(self, name) for name, one in self.definitions().items() if isinstance(one.kind, ClassKind)]
        return any(type(one).__module__.partition(".")[0] != PACKAGE for one in (self, *own))

    def lacks(self, required: str) -> LinkworkError:
        """Return the error for a user's element class that does not define the method or property `required`."""
        return LinkworkError(
            f"{self.label}: its class {type(self).__name__!r} must define {required!r}; "
            "see docs/contributing.md for examples"
        )

    # --- from a Builder method to the numbered tree ---

    def several(self) -> Iterable[Self]:
        """Return the elements that one call of a Builder method adds; by default the element alone."""
        return (self,)

    def checked(self) -> Self:
        """Return the element with every field checked by its definition; raise a ModelError for an invalid value."""
        found: dict[str, Any] = {"name": checked_name(self.name, self.what)}
        label = self.label
        for name, one in self.definitions().items():
            value = getattr(self, name)
            left_out = value is None and one.default is None and not one.kind.takes_none
            found[name] = None if left_out else one.kind.checked(value, name, label)
        return self._with(found).completed()

    def _with(self, values: Mapping[str, Any]) -> Self:
        """Return a copy of the element with new values of some fields, or the element itself if nothing changes."""
        new = {name: value for name, value in values.items() if value is not getattr(self, name)}
        return replace(self, **new) if new else self

    def completed(self) -> Self:
        """Return the element with omitted values filled in; raise a ModelError if its values contradict each other."""
        return self

    def draft_faults(self, draft: Draft) -> Iterator[Fault]:
        """Yield a fault for each body or joint that the element names and that is unknown or unsuitable.

        `draft` is the content of the Builder before `build`.
        """
        label = self.label
        for name, one in self.definitions().items():
            yield from one.kind.faults(getattr(self, name), label, draft)

    def placed(self, homes: Homes) -> Self:
        """Return the element with its attachment frames on numbered bodies instead of named parts.

        `homes` maps each part to the number of its body and its pose in that body's frame.
        """
        own = self.definitions().items()
        return self._with({name: one.kind.placed(getattr(self, name), self, homes) for name, one in own})

    def numbered(self, joints: Named[Joint]) -> Self:
        """Return a copy that has data of the mechanism's numbered `joints`, such as indices in v; by default itself."""
        return self

    def added_damping(self, joint: str) -> float:
        """Return the viscous damping [N m s/rad or N s/m] that the element adds to the joint called `joint`."""
        return 0.0

    def causes_friction_at(self, joint: str) -> bool:
        """Return whether the element causes dry friction of the joint called `joint` of the tree."""
        return False

    def laid_out(self, layout: Layout) -> Self:
        """Return a copy that stores the numbers of its bodies and the data of its joints: `placed`, then `numbered`.

        `layout` has the numbered bodies and joints of the mechanism.
        """
        return self.placed(layout.homes).numbered(layout.joints)

    def faults(self, mechanism: Mechanism) -> Iterator[Fault]:
        """Yield a fault for each reason why the element is invalid in the built mechanism."""
        return iter(())

    # --- parameters ---

    @cached_property
    def parameters(self) -> dict[str, Array]:
        """The values of the parameters by key, such as "stiffness"; without infinite values, which cannot vary."""
        found = {}
        for name, one in self.definitions().items():
            value = getattr(self, name)
            if one.parameter and value is not None and (not one.kind.infinite or is_finite(value)):
                found[name] = one.kind.numbers(value)
        return found

    def varied(self, new: Mapping[str, Any]) -> Self:
        """Return the element with new values of some parameters; `new` is a dict from parameter key to value."""
        kinds_of = {name: self.definitions()[name].kind for name in new}
        return replace(self, **{name: kinds_of[name].varied(getattr(self, name), x) for name, x in new.items()})

    def check_parameter(self, key: str, values: Array, name: str) -> None:
        """Raise an error unless all `values` are valid for the element's parameter `key`.

        Messages call the parameter `name`.
        """
        check_values(name, values, self.definitions()[key].kind.rules)

    def possible(self, key: str, mode: Number) -> Number:
        """Return the valid value of the mode `key` for `mode`, a controller's output; by default `mode` unchanged."""
        return mode

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """The element's functions written by users, such as a height [m] of x and y [m]; empty by default."""
        return ()

    # --- rotor, description, document and digest ---

    @property
    def rotor(self) -> Rotor | None:
        """The rotor of a motor that the element adds to the mechanism, or None if it adds no rotor."""
        return None

    def describe(self) -> tuple[str, str]:
        """Return two texts for the table of `linkwork check`: the element's numbers, and names that it refers to."""
        parts = self.document()[0]
        texts = [str(value) for value in parts.values() if isinstance(value, str)]
        numbers = [f"{name} {value}" for name, value in parts.items() if not isinstance(value, str)]
        return ", ".join(numbers), ", ".join(texts)

    def document(self) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the element's keys and values in a TOML document, and, by key, the comments after some of them."""
        table: dict[str, Any] = {}
        notes: dict[str, str] = {}
        for name, one in self.definitions().items():
            value = getattr(self, name)
            if value is not None and not self._is_usual(one, value):
                table |= one.kind.written(value, name, self.label)
                notes |= one.kind.notes(value)
        return table, notes

    def _is_usual(self, one: Key, value: Any) -> bool:
        """Return whether a TOML document omits the `value` of a field, because readers assume this value by default.

        `one` is the definition of the field.
        """
        if self.writes_all or not one.kind.counts or one.required:
            return False
        if one.same_as:
            return same_bits(value, getattr(self, one.same_as))
        if one.usual is not MISSING:
            return same_bits(value, one.usual)
        if one.default is None and not one.kind.takes_none:
            return False
        return same_bits(value, one.kind.checked(one.default, "", self.label))

    @classmethod
    def from_document(cls, name: str, given: Mapping[str, Any]) -> Self:
        """Return the element called `name` with the values `given`, read from its table in a TOML document."""
        found = {key: one.kind.read(key, given) for key, one in cls.definitions().items()}
        return cls(name, **{key: value for key, value in found.items() if value is not MISSING})

    @classmethod
    def stand_in(cls, name: str) -> Self | None:
        """Return a valid placeholder for an invalid element, or None if no other element can refer to this kind.

        The placeholder is called `name`.
        """
        return None

    def digest(self) -> Iterator[str | bytes]:
        """Yield the strings and bytes that identify the element in the cache key of compiled kernels.

        User functions are left out: their traced graphs are a separate part of the cache key.
        """
        yield f"{self.section} {self.name}"
        for field in fields(self):
            yield field.name
            yield from _described(getattr(self, field.name))

    @cached_property
    def fingerprint(self) -> bytes:
        """The SHA-256 hash of the data of the element, as `digest` yields them."""
        from hashlib import sha256  # imported here because it loads OpenSSL, which most users never need

        found = sha256()
        for part in self.digest():
            data = part.encode() if isinstance(part, str) else part
            found.update(len(data).to_bytes(8, "little") + data)
        return found.digest()


def _described(value: Any) -> Iterator[str | bytes]:
    """Yield the value of an element's field as strings and bytes, for the hash of the element."""
    if isinstance(value, Place):
        for part in (value.body, value.pose, value.offset, value.mount):
            yield from _described(part)
    elif isinstance(value, Transform):
        yield from (value.R.tobytes(), value.p.tobytes())
    elif isinstance(value, np.ndarray):
        yield from (str(value.shape), value.tobytes())
    elif isinstance(value, tuple):
        yield f"{len(value)} items"
        for item in value:
            yield from _described(item)
    elif is_dataclass(value):
        yield type(value).__name__
        for field in fields(value):
            yield from _described(getattr(value, field.name))
    elif callable(value):
        yield "a function"
    else:
        yield repr(float(value) if isinstance(value, (bool, int, float)) else value)


# --- registry of kinds ---

_registered: dict[str, type[Element]] = {}


def _register(class_: type[Element]) -> None:
    """Add the element class `class_` to the registry of element kinds, under its section.

    A section that is already registered may only be replaced by a new definition of the same class.
    """
    other = _registered.get(class_.section)
    if other is not None and (other.__module__, other.__qualname__) != (class_.__module__, class_.__qualname__):
        raise ModelError(
            f"the section {class_.section!r} already belongs to {other.__module__}.{other.__qualname__}; "
            "choose another section"
        )
    _registered[class_.section] = class_


def arrange(first: Iterable[type[Element]]) -> None:
    """Move the element classes `first` to the front of the registry of element kinds.

    The order of the registry is the order of constraint rows and faults.
    """
    own = {class_.section: class_ for class_ in first}
    rest = {section: class_ for section, class_ in _registered.items() if section not in own}
    _registered.clear()
    _registered.update(own | rest)


def kinds() -> Mapping[str, type[Element]]:
    """Return the classes of all element kinds by section: first linkwork's classes, then those of users.

    A section is the name of the table of these elements in TOML documents.
    """
    return _registered
