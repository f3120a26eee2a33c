"""Markdown tables of the TOML keys of every kind of element, for the page docs/toml_documents.md."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING
from typing import Any

import numpy as np

from linkwork.model.documents.toml_schema import Keys, class_key, keys_of, wanted
from linkwork.model.elements import KINDS
from linkwork.model.elements.element import Element
from linkwork.model.elements.key_types import Key, NameKind
from linkwork.model.toml_value_conversion import DEGREES

HEADER = ("key", "value", "default", "varies as", "meaning")


def element_tables() -> str:
    """Return one Markdown text with a heading and a table of TOML keys for every built-in kind of element."""
    return "\n".join(f"### `[{class_.section}.NAME]`\n\n{key_table(class_)}" for class_ in KINDS)


def key_table(class_: type[Element]) -> str:
    """Return the Markdown table of all TOML keys of the element kind `class_`: value, default and meaning."""
    rows = [HEADER, tuple("---" for _ in HEADER), *_rows(class_)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def document_keys(class_: type[Element]) -> list[str]:
    """Return all TOML keys of the element kind `class_`.

    The list omits keys in degrees, and the keys of the joint kind or shape that another key names.
    """
    return [key for key, *_ in _entries(class_)]


def _rows(class_: type[Element]) -> Iterator[tuple[str, ...]]:
    for key, one, first, value, about in _entries(class_):
        default = "required" if one.required else _default_text(one.default, one.same_as) if first else "none"
        varies = ("mode" if one.mode else "parameter") if one.parameter and first else ""
        yield f"`{key}`", value, default, varies, about


def _entries(class_: type[Element]) -> Iterator[tuple[str, Key, bool, str, str]]:
    """Yield each TOML key of the element kind `class_` with its definition, expected value and meaning.

    An item is (key, definition, whether the key is the first of its definition, value, meaning). A definition can have
    several keys.
    """
    types: Keys = keys_of(class_)
    choice = class_key(class_)
    for name, one in class_.definitions().items():
        if choice and name == choice[0]:
            yield name, one, True, f"one of {', '.join(choice[1])}", f"{one.about}; each choice adds keys to the table"
            continue
        documented = one.kind.documented(name, one.about, one.required)
        for number, (key, found) in enumerate(documented.items()):
            if not key.endswith(DEGREES):
                value = f"the name of a {one.kind.what}" if isinstance(one.kind, NameKind) else wanted(types[key])
                yield key, one, not number, value, found.about


def _default_text(default: Any, same_as: str) -> str:
    """Return the default value of a key as the Markdown table shows it.

    `same_as` is the key whose value is used if this key is omitted.
    """
    if same_as:
        return f"`{same_as}`"
    if default is None or default is MISSING or default == ():
        return "none"
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, str):
        return default
    return "[" + ", ".join(f"{x:g}" for x in default) + "]" if np.ndim(default) else f"{default:g}"
