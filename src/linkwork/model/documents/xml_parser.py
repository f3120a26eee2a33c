"""A small XML tree in which every element knows its line. Nothing is expanded or fetched, and sizes are bounded.

Document types are refused outright: with them go entities, and with those all ways of making a small file large or
of reaching for other files.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

from linkwork.errors import ModelError

MOST_BYTES = 32 * 2**20
MOST_ELEMENTS = 200_000
DEEPEST = 256
UTF8_MARK = b"\xef\xbb\xbf"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff", b"<\x00", b"\x00<")
SHOWN = 60  # characters of a name or value that a message repeats


@dataclass(eq=False)
class Element:
    """An element: its tag, attributes, line and file, the element it is in and those in it."""

    tag: str
    attributes: dict[str, str]
    line: int
    file: str
    parent: Element | None
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        """The children of that tag."""
        return [child for child in self.children if child.tag == tag]

    def walk(self) -> Iterator[Element]:
        """The element itself and all below it, in the order of the text."""
        stack: list[Element] = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed(element.children))

    def __str__(self) -> str:
        """How messages call it: `<limit> of <joint name="elbow">`."""
        name = self.attributes.get("name")
        own = f"<{shown(self.tag)}>" if name is None else f'<{shown(self.tag)} name="{shown(name)}">'
        owner = self.parent
        while owner is not None and owner.parent is not None and owner.parent.parent is not None:
            owner = owner.parent  # up to the root's child
        return own if owner is None or owner.parent is None else f"{own} of {owner}"


def shown(text: str, most: int = SHOWN) -> str:
    """`text` as a message may repeat it: short and printable."""
    cut = text if len(text) <= most else text[:most] + "..."
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in cut)


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """The content of a regular file of bearable size, or a ModelError."""
    file = str(path)
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe could keep us waiting
            raise ModelError("it is not a file" + (" but a folder" if path.is_dir() else ""), file=file)
        with open(path, "rb") as stream:
            data = stream.read(most + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ModelError(f"it cannot be read: {reason.lower()}", file=file) from None
    if len(data) > most:
        raise ModelError(f"it is larger than {most >> 20} MiB, the most that is read", file=file)
    return data


def parse(data: bytes, file: str) -> Element:
    """The root element of an XML text, or a ModelError that says where it stops being one."""
    _refuse_encodings(data, file)
    reader = _TreeReader(file)
    try:
        reader.parser.Parse(data.removeprefix(UTF8_MARK), True)
    except expat.ExpatError as error:
        reason = f"not well-formed XML: {expat.ErrorString(error.code)}"
        raise ModelError(f"{reason}{reader.unclosed()}", file=file, line=error.lineno) from None
    except (LookupError, ValueError) as error:  # an encoding that is unknown or not of single bytes
        raise ModelError(f"not readable as text: {shown(str(error))}; save it as UTF-8", file=file, line=1) from None
    assert reader.root is not None
    return reader.root


def _refuse_encodings(data: bytes, file: str) -> None:
    if not data.strip():
        raise ModelError("the file is empty", file=file)
    if data.startswith(UTF16_MARKS):
        raise ModelError("the text is UTF-16; save it as UTF-8", file=file, line=1)
    if not data.removeprefix(UTF8_MARK).lstrip().startswith(b"<"):
        raise ModelError("not an XML text: it does not start with '<'", file=file, line=1)


class _TreeReader:
    """Expat's handlers: build the tree, refuse what is not needed and what is too much."""

    def __init__(self, file: str):
        self.file = file
        self.root: Element | None = None
        self.open: list[Element] = []
        self.count = 0
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.StartDoctypeDeclHandler = self.document_type

    def refuse(self, reason: str) -> NoReturn:
        raise ModelError(reason, file=self.file, line=self.parser.CurrentLineNumber)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if len(self.open) >= DEEPEST:
            self.refuse(f"elements are nested deeper than {DEEPEST}")
        if self.count > MOST_ELEMENTS:
            self.refuse(f"there are more than {MOST_ELEMENTS:,} elements, the most that are read")
        parent = self.open[-1] if self.open else None
        element = Element(tag, attributes, self.parser.CurrentLineNumber, self.file, parent)
        if parent is None:
            self.root = element
        else:
            parent.children.append(element)
        self.open.append(element)

    def end(self, _tag: str) -> None:
        self.open.pop()

    def document_type(self, *_: Any) -> None:
        self.refuse("a document type (<!DOCTYPE ...>) is refused: it can define entities and reach for other files")

    def unclosed(self) -> str:
        """Which element was open when the text went wrong."""
        return f"; {self.open[-1]} of line {self.open[-1].line} is open there" if self.open else ""
