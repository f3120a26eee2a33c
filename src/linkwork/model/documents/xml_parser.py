"""A small XML parser that records the line of every element, expands and fetches nothing, and limits sizes.

Document types are refused. Without them there are no entities, which could expand a small file to a huge one or access
other files.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

from linkwork.errors import ModelError, visible

MOST_BYTES = 32 * 2**20
MOST_ELEMENTS = 200_000
DEEPEST = 256
UTF8_MARK = b"\xef\xbb\xbf"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff", b"<\x00", b"\x00<")
SHOWN = 60  # largest number of characters of a name or value in a message


@dataclass(eq=False)
class Element:
    """An XML element: its tag, attributes, line number, file, parent element and child elements."""

    tag: str
    attributes: dict[str, str]
    line: int
    file: str
    parent: Element | None
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        """Return the children of the XML element that have the tag `tag`."""
        return [child for child in self.children if child.tag == tag]

    def walk(self) -> Iterator[Element]:
        """Yield the XML element and all of its descendants, in document order."""
        stack: list[Element] = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed(element.children))

    def __str__(self) -> str:
        """Return the XML element as error messages name it: `<limit> of <joint name="elbow">`."""
        name = self.attributes.get("name")
        own = f"<{shown(self.tag)}>" if name is None else f'<{shown(self.tag)} name="{shown(name)}">'
        owner = self.parent
        while owner is not None and owner.parent is not None and owner.parent.parent is not None:
            owner = owner.parent  # at most up to a child of the root
        return own if owner is None or owner.parent is None else f"{own} of {owner}"


def shown(text: str, most: int = SHOWN) -> str:
    """Return `text` for an error message: shortened to `most` characters, with unprintable characters escaped."""
    cut = text if len(text) <= most else text[:most] + "..."
    return visible(cut).replace("\n", "\\n")


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return the content of the regular file at `path`.

    Raise a ModelError if there is no such file, or if it has more than `most` bytes.
    """
    file = str(path)
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # reading a pipe could block
            raise ModelError("this is not a file" + (" but a folder" if path.is_dir() else ""), file=file)
        with open(path, "rb") as stream:
            data = stream.read(most + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ModelError(f"the file cannot be read: {reason.lower()}", file=file) from None
    if len(data) > most:
        raise ModelError(f"the file is larger than {most >> 20} MiB, the limit", file=file)
    return data


def parse(data: bytes, file: str) -> Element:
    """Return the root element of the XML text `data`; raise a ModelError with the line of a syntax error.

    Blanks and a byte-order mark may precede the text, and NUL bytes may end it: many published files have these. `file`
    is the name of the file in messages.
    """
    _refuse_encodings(data, file)
    text = _without_blanks(data)
    reader = _TreeReader(file, data[: len(data) - len(text)].count(b"\n"))
    try:
        reader.parser.Parse(text.rstrip(b"\0"), True)
    except expat.ExpatError as error:
        reason = f"not well-formed XML: {expat.ErrorString(error.code)}"
        raise ModelError(f"{reason}{reader.unclosed()}", file=file, line=error.lineno + reader.skipped) from None
    except (LookupError, ValueError) as error:  # an unknown or multi-byte encoding
        raise ModelError(f"not readable as text: {shown(str(error))}; save it as UTF-8", file=file, line=1) from None
    assert reader.root is not None
    return reader.root


def _without_blanks(data: bytes) -> bytes:
    """Return the XML text `data` without leading blanks and byte-order marks."""
    return data.lstrip().removeprefix(UTF8_MARK).lstrip()


def _refuse_encodings(data: bytes, file: str) -> None:
    if not data.strip():
        raise ModelError("the file is empty", file=file)
    if data.startswith(UTF16_MARKS):
        raise ModelError("the text is UTF-16; save it as UTF-8", file=file, line=1)
    if not _without_blanks(data).startswith(b"<"):
        raise ModelError("not an XML file: it does not start with '<'", file=file, line=1)


class _TreeReader:
    """Handlers for the XML parser expat: they build the tree, and reject document types and files that are too large.

    `skipped` is the number of lines that were removed before the XML text.
    """

    def __init__(self, file: str, skipped: int):
        self.file, self.skipped = file, skipped
        self.root: Element | None = None
        self.open: list[Element] = []
        self.count = 0
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.StartDoctypeDeclHandler = self.document_type

    def refuse(self, reason: str) -> NoReturn:
        raise ModelError(reason, file=self.file, line=self.line)

    @property
    def line(self) -> int:
        """The current line number of the XML file, from 1."""
        return self.parser.CurrentLineNumber + self.skipped

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if len(self.open) >= DEEPEST:
            self.refuse(f"elements are nested deeper than {DEEPEST} levels")
        if self.count > MOST_ELEMENTS:
            self.refuse(f"there are more than {MOST_ELEMENTS:,} elements, the limit")
        parent = self.open[-1] if self.open else None
        element = Element(tag, attributes, self.line, self.file, parent)
        if parent is None:
            self.root = element
        else:
            parent.children.append(element)
        self.open.append(element)

    def end(self, _tag: str) -> None:
        self.open.pop()

    def document_type(self, *_: Any) -> None:
        self.refuse("a document type (<!DOCTYPE ...>) is not allowed: it can define entities and access other files")

    def unclosed(self) -> str:
        """Return the innermost XML element that is still open at a syntax error, as text for the error message."""
        return f"; {self.open[-1]} of line {self.open[-1].line} is not closed" if self.open else ""
