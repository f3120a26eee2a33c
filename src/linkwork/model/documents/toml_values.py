"""TOML output: keys and values as text that reproduces every float bit for bit."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

VERSION = 1  # version of the document format; documents with a larger version are refused
BARE = re.compile(r"[A-Za-z0-9_-]+")
INDENT = "    "


def key_text(key: str) -> str:
    """Return a key as TOML text, quoted if necessary."""
    return key if BARE.fullmatch(key) else string_text(key)


def string_text(text: str) -> str:
    """Return a string as TOML text: escaped as in JSON, and DEL in addition."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def value_text(value: Any) -> str:
    """Return `value`, a string, bool, number, list or inline table, as TOML text that restores every float exactly."""
    match value:
        case str():
            return string_text(value)
        case bool():
            return str(value).lower()
        case Mapping():
            return "{ " + ", ".join(f"{key_text(key)} = {value_text(item)}" for key, item in value.items()) + " }"
        case [Mapping(), *_]:
            return "[\n" + "".join(f"{INDENT}{value_text(item)},\n" for item in value) + "]"
        case Sequence():
            return "[" + ", ".join(map(value_text, value)) + "]"
        case _:
            return repr(value)


def table_text(path: Sequence[str], table: Mapping[str, Any], notes: Mapping[str, str]) -> str:
    """Return a table as TOML text with its header [path]; `notes` are comments by key."""
    header = f"[{'.'.join(map(key_text, path))}]\n" if path else ""
    return header + "".join(
        f"{key_text(key)} = {value_text(value)}{f'  # {notes[key]}' if key in notes else ''}\n"
        for key, value in table.items()
    )
