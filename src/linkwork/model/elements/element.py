"""Elements: what can be put on a tree of bodies and joints. One class, in one file, owns everything about its kind.

An element is a frozen dataclass; its fields are defined by `key`. A class that names a `section` is a kind of its own:
the section is its table in documents and its attribute of a Mechanism. Kinds of users are registered in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, dataclass_transform

import numpy as np

from linkwork.errors import LinkworkError, ModelError
from linkwork.model.arguments import checked_name
from linkwork.model.bodies import Place
from linkwork.model.document_values import same_bits
from linkwork.model.elements.keys import ClassKind, Key, derived, is_finite, key
from linkwork.model.faults import Fault
from linkwork.model.naming import Named
from linkwork.model.parameters import check_values
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array, Number

if TYPE_CHECKING:
    from linkwork.model.mechanism import Joint, Mechanism
    from linkwork.model.specifications import Draft, Homes, Layout

FLIP, GIVEN = "flip", "given"  # what a verb of a schedule does to a mode: change its sign, or set what the entry says
PACKAGE = __name__.partition(".")[0]


class Rotor(NamedTuple):
    """A rotor that turns with `joints`: its kinetic energy is inertia (row v)^2 / 2, with `row` (nv,)."""

    drive: str
    joints: tuple[str, ...]
    inertia: Number
    row: Array

    @property
    def alone(self) -> bool:
        """Whether it turns with one velocity alone, so that it is an armature."""
        return np.count_nonzero(self.row) == 1

    @property
    def scaled(self) -> Array:
        """The row (nv,) whose rate has half its square as kinetic energy [J]."""
        size = np.sqrt(self.inertia)
        return np.array([x * size if x != 0.0 else 0.0 for x in self.row])


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(key, derived))
@dataclass(frozen=True, eq=False)
class Element:
    """Something on the tree, known by its name. Subclasses are frozen dataclasses by themselves.

    A kind of element is a subclass with a `section`, and perhaps with a word for one of them:
    `class Latch(VelocityConstraint, section="latches")` is a "latch".
    """

    name: str

    what: ClassVar[str] = ""  # what messages call one
    section: ClassVar[str] = ""  # where documents and mechanisms have them
    acts_in_motion_only: ClassVar[bool] = False  # whether no answer for a single state depends on it
    writes_all: ClassVar[bool] = False  # whether documents have its defaults too
    couples_ratios: ClassVar[bool] = False  # whether it drives joints at ratios, which may contradict those of others
    switches: ClassVar[Mapping[str, tuple[str, Any]]] = {}  # verb of a schedule: the mode that it sets, and to what
    locks_joint: ClassVar[bool] = False  # whether a joint itself may be named in its place
    switches_itself: ClassVar[bool] = False  # whether it has an event function, by which it switches a mode of its own

    def __init_subclass__(cls, section: str = "", what: str = "", **more: Any) -> None:
        super().__init_subclass__(**more)
        if section or any(isinstance(value, Field) for value in vars(cls).values()):
            dataclass(frozen=True, eq=False)(cls)
        if section:
            cls.section, cls.what = section, what or cls.__name__.lower()
            _register(cls)

    # --- its definition ---

    @classmethod
    @cache
    def definitions(cls) -> Mapping[str, Key]:
        """The definitions of its fields, in order."""
        return {field.name: field.metadata["key"] for field in fields(cls) if "key" in field.metadata}

    @classmethod
    def modes(cls) -> tuple[str, ...]:
        """The keys that may be switched in a run."""
        return tuple(name for name, one in cls.definitions().items() if one.mode)

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"{self.what} {self.name!r}"

    @property
    def is_of_users(self) -> bool:
        """Whether its class, or that of a kind or shape in it, is from outside of linkwork."""
        own = [getattr(self, name) for name, one in self.definitions().items() if isinstance(one.kind, ClassKind)]
        return any(type(one).__module__.partition(".")[0] != PACKAGE for one in (self, *own))

    def lacks(self, answer: str) -> LinkworkError:
        """The error of a kind that does not define what every kind like it must."""
        return LinkworkError(
            f"{self.label} is of class {type(self).__name__!r}, which must define {answer!r}; "
            "docs/contributing.md has examples"
        )

    # --- from a verb onto the tree ---

    def several(self) -> Iterable[Self]:
        """The elements that one statement to a Builder makes: itself, unless a kind says otherwise."""
        return (self,)

    def checked(self) -> Self:
        """The same with its fields checked, each by its key, or a ModelError that says what is wrong."""
        found: dict[str, Any] = {"name": checked_name(self.name, self.what)}
        label = self.label
        for name, one in self.definitions().items():
            value = getattr(self, name)
            left_out = value is None and one.default is None and not one.kind.takes_none
            found[name] = None if left_out else one.kind.checked(value, name, label)
        return self._with(found).completed()

    def _with(self, values: Mapping[str, Any]) -> Self:
        """The same with these values; itself, if it has them already."""
        new = {name: value for name, value in values.items() if value is not getattr(self, name)}
        return replace(self, **new) if new else self

    def completed(self) -> Self:
        """The same with what was left out; a ModelError where keys do not fit together."""
        return self

    def draft_faults(self, draft: Draft) -> Iterator[Fault]:
        """What it names that is not in a draft, or does not fit."""
        label = self.label
        for name, one in self.definitions().items():
            yield from one.kind.faults(getattr(self, name), label, draft)

    def placed(self, homes: Homes) -> Self:
        """The same with its places on bodies, given the body and pose of every part."""
        own = self.definitions().items()
        return self._with({name: one.kind.placed(getattr(self, name), self, homes) for name, one in own})

    def numbered(self, joints: Named[Joint]) -> Self:
        """The same for these joints, with their slices of coordinates."""
        return self

    def laid_out(self, layout: Layout) -> Self:
        """The same on the numbered tree."""
        return self.placed(layout.homes).numbered(layout.joints)

    def faults(self, mechanism: Mechanism) -> Iterator[Fault]:
        """What is wrong with it on its mechanism."""
        return iter(())

    # --- parameters ---

    @cached_property
    def parameters(self) -> dict[str, Array]:
        """What may vary of it, by key; numbers that may be infinite only where they are not."""
        found = {}
        for name, one in self.definitions().items():
            value = getattr(self, name)
            if one.parameter and value is not None and (not one.kind.infinite or is_finite(value)):
                found[name] = one.kind.numbers(value)
        return found

    def varied(self, new: Mapping[str, Any]) -> Self:
        """The same with new values of some parameters, by key."""
        kinds_of = {name: self.definitions()[name].kind for name in new}
        return replace(self, **{name: kinds_of[name].varied(getattr(self, name), x) for name, x in new.items()})

    def check_parameter(self, key: str, values: Array, name: str) -> None:
        """Raise an error unless a parameter, called `name`, may have all these values."""
        check_values(name, values, self.definitions()[key].kind.rules)

    def possible(self, key: str, mode: Number) -> Number:
        """The value of a mode that a controller gets which wants `mode`."""
        return mode

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """Users' functions of a place (x, y) [m] in it, whose graphs are part of a kernel's identity."""
        return ()

    # --- what it says of itself ---

    @property
    def rotor(self) -> Rotor | None:
        """The rotor that it adds to the mechanism, if it has one."""
        return None

    def describe(self) -> tuple[str, str]:
        """What it is, and what it is on, in the words of `linkwork check`."""
        parts = self.document()[0]
        texts = [str(value) for value in parts.values() if isinstance(value, str)]
        numbers = [f"{name} {value}" for name, value in parts.items() if not isinstance(value, str)]
        return ", ".join(numbers), ", ".join(texts)

    def document(self) -> tuple[dict[str, Any], dict[str, str]]:
        """Its table in a document, and comments behind some keys."""
        table: dict[str, Any] = {}
        notes: dict[str, str] = {}
        for name, one in self.definitions().items():
            value = getattr(self, name)
            if value is not None and not self._is_usual(one, value):
                table |= one.kind.written(value, name, self.label)
                notes |= one.kind.notes(value)
        return table, notes

    def _is_usual(self, one: Key, value: Any) -> bool:
        """Whether a document leaves it out."""
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
        """One of its kind from the values of a table."""
        found = {key: one.kind.read(key, given) for key, one in cls.definitions().items()}
        return cls(name, **{key: value for key, value in found.items() if value is not MISSING})

    @classmethod
    def stand_in(cls, name: str) -> Self | None:
        """One that others may name, where a document's has faults; None if nothing names its kind."""
        return None

    def digest(self) -> Iterator[str | bytes]:
        """All that kernels may depend on, but what functions do, which their graphs show."""
        yield f"{self.section} {self.name}"
        for field in fields(self):
            yield field.name
            yield from _described(getattr(self, field.name))

    @cached_property
    def fingerprint(self) -> bytes:
        """The same as one short text of bytes."""
        from hashlib import sha256  # loads OpenSSL, which few of those need who import linkwork

        found = sha256()
        for part in self.digest():
            data = part.encode() if isinstance(part, str) else part
            found.update(len(data).to_bytes(8, "little") + data)
        return found.digest()


def _described(value: Any) -> Iterator[str | bytes]:
    """A value of an element as texts and bytes."""
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


# --- all kinds ---

_registered: dict[str, type[Element]] = {}


def _register(class_: type[Element]) -> None:
    """Make a class known by its section; one that takes the place of another must be that class, defined again."""
    other = _registered.get(class_.section)
    if other is not None and (other.__module__, other.__qualname__) != (class_.__module__, class_.__qualname__):
        raise ModelError(f"there are {class_.section} already, of {other.__module__}.{other.__qualname__}")
    _registered[class_.section] = class_


def arrange(first: Iterable[type[Element]]) -> None:
    """Put these kinds before all others: in this order their rows and faults follow each other."""
    own = {class_.section: class_ for class_ in first}
    rest = {section: class_ for section, class_ in _registered.items() if section not in own}
    _registered.clear()
    _registered.update(own | rest)


def kinds() -> Mapping[str, type[Element]]:
    """All kinds of elements by section: those of linkwork, then those of users."""
    return _registered
