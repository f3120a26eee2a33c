"""The definition of a field of an element: kind of value, meaning, default, and whether the value can vary."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import MISSING, field
from inspect import cleandoc
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from linkwork.model.model_definition_faults import Fault
from linkwork.model.parameter_value_checks import FINITE, Rules, as_number, is_traced
from linkwork.model.toml_value_conversion import DEGREES, Documented, as_lists
from linkwork.spatial.scalar import Array, Number

if TYPE_CHECKING:
    from linkwork.model.builder_specifications import Draft, Homes


class Kind(ABC):
    """The kind of value that a field of an element has.

    Its methods check a value, write it to a TOML document, read it, and vary it as a parameter. The attributes are
    keyword arguments of the constructor and never change.
    """

    type_: Any = str
    wanted: str = ""  # the expected value, as documents and messages describe it
    python: str = ""  # the type of the argument, as docstrings describe it
    rules: Rules = FINITE  # rules that the values of a parameter must satisfy
    infinite: bool = False  # whether infinity is allowed
    takes_none: bool = False  # whether None is a valid value; else it means "not given"
    counts: bool = False  # whether values are numbers, which documents omit if they equal the default

    def __init__(self, type_: Any, wanted: str = "", **own: Any):
        vars(self).update(own, type_=type_, wanted=wanted)

    def with_rules(self, rules: Rules) -> Self:
        """Return a copy of this kind of value with other rules for valid parameter values."""
        found = copy(self)
        found.rules = rules
        return found

    @abstractmethod
    def checked(self, value: Any, key: str, element: str) -> Any:
        """Return the user's value `value` in the form that the element stores; raise a ModelError if it is invalid.

        Messages call the field `key` and the element `element`.
        """

    def documented(self, key: str, about: str, required: bool) -> dict[str, Documented]:
        """Return the TOML keys of the field `key`, each with its type and meaning; most kinds have one TOML key.

        `about` is the meaning of the field; `required` says whether the user must give it.
        """
        return {key: Documented(self.type_, self.wanted, about, required, self.infinite, self.python)}

    def read(self, key: str, given: Mapping[str, Any]) -> Any:
        """Return the Builder argument `key` from the values `given` in a TOML table, or MISSING if they are omitted."""
        return given.get(key, MISSING)

    def written(self, value: Any, key: str, element: str) -> dict[str, Any]:
        """Return the TOML entries (keys and values) for the value `value` of the field `key`.

        `element` is the label of the element in error messages.
        """
        return {key: as_lists(value)}

    def notes(self, value: Any) -> dict[str, str]:
        """Return, by TOML key, the comments that follow the entries of `value` in a document; by default none."""
        return {}

    def numbers(self, value: Any) -> Array:
        """Return `value` as an array of its numbers, which is the value of the parameter."""
        return as_number(value)

    def varied(self, value: Any, new: Any) -> Any:
        """Return the field's value with the new parameter values `new` in place of its numbers."""
        return new

    def faults(self, value: Any, element: str, draft: Draft) -> Iterator[Fault]:
        """Yield a fault for every body or joint name in the value that does not exist in the Builder's `draft`.

        `element` is the label of the element in messages.
        """
        return iter(())

    def placed(self, value: Any, owner: object, homes: Homes) -> Any:
        """Return the field's value with its attachment frames on numbered bodies.

        `owner` is the element, and `homes` maps each part to the number of its body and its pose in that body's frame.
        """
        return value


class Key(NamedTuple):
    """The definition of one field of an element.

    `kind` is the kind of its value, and `about` its meaning. A `parameter` can be changed after the mechanism is built,
    under the name `element.key`; a `mode` is a parameter that can be switched during a run. A TOML document omits a
    value that equals the default, `usual`, or the value of the field named `same_as`. `usual` is the value that the
    element stores if the user omits the field.
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
        """Whether the user must give a value for the field."""
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
    """Define a field of an element: the kind of its value, its meaning (`about`), and its default if it has one.

    A `parameter` can be changed after the mechanism is built, under the name `element.key`; a `mode` is a parameter
    that can be switched during a run. A TOML document omits a value that equals the default, `usual`, or the value of
    the field named `same_as`. `usual` is the value that the element stores if the user omits the field. A `kw_only`
    field is a keyword-only argument.
    """
    found = Key(kind, about, default, parameter or mode, mode, usual, same_as)
    return field(default=default, kw_only=kw_only, metadata={"key": found})


def derived(*, default: Any = MISSING, default_factory: Any = MISSING, kw_only: bool = True) -> Any:
    """Define a field of an element that `Builder.build` computes.

    The field is neither an argument of the Builder method, nor a TOML key, nor a parameter. The arguments are those of
    a dataclass field.
    """
    given = {"default": default} if default_factory is MISSING else {"default_factory": default_factory}
    return field(kw_only=kw_only, **given)


def is_finite(bound: Number) -> bool:
    """Return whether the bound of a multiplier, or every bound of a batch, is finite.

    A traced bound counts as finite, because only finite bounds can vary.
    """
    if isinstance(bound, float):
        return isfinite(bound)
    return is_traced(bound) or bool(np.all(np.isfinite(bound)))


# --- docstrings of the Builder's methods ---


def with_parameters_section(text: str, definitions: Mapping[str, Key], what: str, section: str) -> str:
    """Return the docstring of an element class with the sections `Parameters` and `Returns` added.

    Both sections are made from the definitions of the element's fields, and precede the section `Examples`. `text` is
    the docstring without these sections, `what` the word for one element, and `section` the attribute of a mechanism
    that lists these elements. The result is not indented.
    """
    before, examples, after = cleandoc(text).partition("\nExamples\n")
    lines = ["", "Parameters", "----------", "name : str", f"    Name of the {what} in `m.{section}`."]
    for name, one in definitions.items():
        documented = one.kind.documented(name, one.about, one.required)
        for number, (argument, found) in enumerate(documented.items()):
            if not argument.endswith(DEGREES):
                default = "" if one.required else f", default {_default_text(one)}" if number == 0 else ", optional"
                lines += [f"{argument} : {found.python}{default}", f"    {found.about}."]
    lines += ["", "Returns", "-------", "Builder", "    The builder itself, for chained calls.", ""]
    return before.rstrip() + "\n" + "\n".join(lines) + examples + after


def _default_text(one: Key) -> str:
    """Return the default value of a field as a docstring shows it; `one` is the definition of the field."""
    if one.same_as:
        return f"the value of `{one.same_as}`"
    if isinstance(one.default, tuple) and one.default:
        return f"({', '.join(f'{x:g}' for x in one.default)})"
    return f"{one.default:g}" if isinstance(one.default, float) else repr(one.default)
