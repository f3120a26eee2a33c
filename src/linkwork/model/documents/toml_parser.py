"""TOML parser that knows the line number of every key, for error messages, and limits the size of a document."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from linkwork.errors import ModelError
from linkwork.model.documents.toml_values import key_text
from linkwork.model.documents.xml_parser import UTF8_MARK, shown

# Largest size of a document, which takes seconds to read; a body with its joint has a few 100 bytes
MOST_BYTES = 4 * 2**20
DEEPEST = 64
KeyPath = tuple[str | int, ...]

QUOTED = re.compile(r"""(?:"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')""")  # string on one line
QUOTED_OR_OPEN = re.compile(r"""(?:"(?:[^"\\\n]|\\.)*+"?|'[^'\n]*+'?)""")
BARE_OR_QUOTED = re.compile(rf"[A-Za-z0-9_-]++|{QUOTED.pattern}")
TOO_DEEP = re.compile(rf"(?<![A-Za-z0-9_-])(?:[A-Za-z0-9_-]++[ \t]*+\.[ \t]*+){{{DEEPEST}}}")
LINE = re.compile(r" \(at line (\d+), column \d+\)| \(at end of document\)")
TWICE = ("Cannot overwrite a value", "Cannot declare", "Cannot mutate", "Duplicate inline table key")

SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*+")
FLAT = re.compile(r"""\[[^][{}"'#]*+\]""")  # list without nested lists, tables and strings
STRING = re.compile(
    r'''"""(?:\\.|(?!""")[^\\])*+"{3,5}|\'\'\'(?:(?!\'\'\').)*+'{3,5}|"(?:\\.|[^"\\])*+"|'[^']*+\'''', re.DOTALL
)
SCALAR = re.compile(r"[^,\]}\n#]*")  # number, bool or date, which may contain a space


def parse_toml(data: bytes, file: str) -> Source:
    """Return the parsed content of the TOML document `data`; raise a ModelError with the line of a syntax error.

    `file` is the name of the file in messages.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in data[:2]:
        raise ModelError("the text is UTF-16 or binary; save it as UTF-8", file=file, line=1)
    if not data.strip():
        raise ModelError("the file is empty", file=file)
    try:
        text = data.removeprefix(UTF8_MARK).decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        reason = f"not readable as text: byte 0x{data[error.start]:02x} is not UTF-8; save it as UTF-8"
        raise ModelError(reason, file=file, line=line) from None
    text = text.replace("\r\n", "\n")
    _refuse_depth(text, file)
    try:
        return Source(text, tomllib.loads(text))
    except RecursionError:
        raise ModelError("lists or tables are nested too deeply", file=file) from None
    except ValueError as error:  # TOMLDecodeError, or too many digits for int()
        raise _not_toml(str(error), text, file) from None


def _refuse_depth(text: str, file: str) -> None:
    """Raise a ModelError if the TOML `text` has dotted keys of too many parts, which tomllib reads very slowly.

    `file` is the name of the file in messages.
    """
    plain = QUOTED_OR_OPEN.sub("quoted", text)
    deep = TOO_DEEP.search(plain)
    if deep:
        line = plain.count("\n", 0, deep.start()) + 1
        raise ModelError(f"a key has more than {DEEPEST} names joined by dots", file=file, line=line)


def _not_toml(message: str, text: str, file: str) -> ModelError:
    """Return the ModelError for a syntax error in a TOML document, with the line number of tomllib's `message`.

    `text` is the document, and `file` the name of the file in messages.
    """
    found = LINE.search(message)
    line = None if found is None else int(found[1]) if found[1] else text.count("\n") + 1
    reason = f"not well-formed TOML: {shown(message[: found.start()] if found else message)}"
    if message.startswith(TWICE):
        reason += "; a key or table is defined twice: remove one"
    elif found and not found[1]:
        reason += " at the end of the file: is it cut off?"
    return ModelError(reason, file=file, line=line)


@dataclass(frozen=True)
class Source:
    """A TOML document: its `text`, and its parsed content `tree`."""

    text: str
    tree: dict[str, Any]

    @property
    def top(self) -> Key:
        """The location of the whole TOML document, for messages about the document itself."""
        return Key((), self)

    @cached_property
    def lines(self) -> dict[KeyPath, int]:
        """The line numbers of all keys, and of all tables in lists, by key path."""
        return _LineFinder(self.text).find()


@dataclass(frozen=True)
class Key:
    """The location of a key in the TOML document `source`: its path from the top level, such as joints.elbow.axis."""

    path: KeyPath
    source: Source

    def __getitem__(self, key: str | int) -> Key:
        return Key((*self.path, key), self.source)

    @property
    def line(self) -> int:
        """The line number of the key, or of the innermost enclosing key that has one."""
        path = self.path
        while path not in self.source.lines:
            path = path[:-1]
        return self.source.lines[path]

    def __str__(self) -> str:
        """Return the path of the key as in messages: `joints.elbow.axis`, `bodies.arm.geometry[0]`."""
        names = [f"[{key}]" if isinstance(key, int) else f".{key_text(shown(key))}" for key in self.path]
        return "".join(names).removeprefix(".")


class _LineFinder:
    """Scanner that finds the line numbers of all keys in one pass over a TOML text that tomllib has accepted."""

    def __init__(self, text: str):
        self.text, self.at = text, 0
        self.counted, self.line = 0, 1  # position up to which lines are counted; its line
        self.lines: dict[KeyPath, int] = {(): 1}
        self.listed: dict[KeyPath, int] = {}  # path of each [[list]]: number of its tables so far

    def find(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        while self.skip():
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.pair(table)
        return self.lines

    def skip(self) -> bool:
        """Skip whitespace and comments of the TOML text; return whether text remains."""
        self.match(SPACE)
        return self.at < len(self.text)

    def match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return found[0] if found else ""

    def note(self, path: KeyPath) -> None:
        self.line += self.text.count("\n", self.counted, self.at)
        self.counted = self.at
        self.lines.setdefault(path, self.line)

    def keys(self) -> list[str]:
        """Read a dotted TOML key, such as a.b.c, and return its parts."""
        found: list[str] = []
        while True:
            self.match(SPACE)
            word = self.match(BARE_OR_QUOTED)
            found.append(tomllib.loads(f"key = {word}")["key"] if word[:1] in ("'", '"') else word)
            self.match(SPACE)
            if self.text[self.at : self.at + 1] != ".":
                return found
            self.at += 1

    def header(self) -> KeyPath:
        """Read a header [table] or [[list]]; return the path of the table that it starts, with list indices."""
        depth = 2 if self.text.startswith("[[", self.at) else 1
        self.note(())
        self.at += depth
        keys, path = self.keys(), ()
        for key in keys[:-1]:
            self.lines.setdefault((*path, key), self.line)
            path = self.latest((*path, key))
        path = (*path, keys[-1])
        if depth == 2:
            self.listed[path] = self.listed.get(path, 0) + 1
        self.match(SPACE)
        self.at += depth
        self.lines.setdefault(path, self.line)
        path = self.latest(path)
        self.lines.setdefault(path, self.line)
        return path

    def latest(self, path: KeyPath) -> KeyPath:
        return (*path, self.listed[path] - 1) if path in self.listed else path

    def pair(self, table: KeyPath) -> None:
        """Read `key = value` in the table with the path `table`; record the line number of every part of the key."""
        start = self.at
        keys = self.keys()
        end, self.at = self.at, start
        for depth in range(len(keys)):
            self.note((*table, *keys[: depth + 1]))
        self.at = end + 1  # after the equals sign
        self.value((*table, *keys))

    def value(self, path: KeyPath) -> None:
        self.match(SPACE)
        if self.match(FLAT) or self.match(STRING):
            return
        opening = self.text[self.at : self.at + 1]
        if opening not in ("[", "{"):
            self.match(SCALAR)
            return
        self.at += 1
        count = 0
        while self.skip() and self.text[self.at] not in "]}":
            if self.text[self.at] == ",":
                self.at += 1
            elif opening == "{":
                self.pair(path)
            else:
                if self.text[self.at] in "[{":
                    self.note((*path, count))
                self.value((*path, count))
                count += 1
        self.at += 1
