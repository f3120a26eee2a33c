"""An MJCF as one text for MuJoCo's compiler: includes put in, files found, and every line known by its origin.

MuJoCo is handed what was parsed and judged here, never the file itself. So it sees no document types, opens no file
but the meshes and height fields that were found where they may be, and its complaints about a line of the text become
complaints about the file and line that somebody wrote.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from linkwork.errors import ModelError, listed
from linkwork.model.documents.mesh_paths import MeshPaths
from linkwork.model.documents.xml_parser import DEEPEST, MOST_ELEMENTS, Element, parse, read_bytes, shown

READ_FROM_FILES = ("mesh", "hfield")
# Looks that nothing here shows, sizes of MuJoCo's own memory, users' data: MuJoCo need not decode or allocate them
LOOKS = ("texture", "skin", "layer", "size", "visual", "statistic", "custom")
LOOKS_OF_OTHERS = (("material", "texture"), ("light", "texture"))
REFUSED = {  # element: why, and what to do
    "flexcomp": ("flexible bodies have no place here", "model it with rigid bodies"),
    "flex": ("flexible bodies have no place here", "model it with rigid bodies"),
    "model": ("models inside other models are not read", "let MuJoCo save the whole as one file (MjSpec.to_xml)"),
    "attach": ("models inside other models are not read", "let MuJoCo save the whole as one file (MjSpec.to_xml)"),
}
COPIES = ("replicate", "composite")  # what their attribute `count` multiplies
ESCAPED = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
)
MOST_COMPILED = 20_000  # elements, copies included: MuJoCo takes 10 s for these, four times that for twice as many
MOST_FILES = 1000
FINEST = 200  # points along a side of a mesh that is made to order


class MjcfText:
    """The whole of an MJCF: `root` with all includes in place, and `text`, whose line k starts element k.

    `root` is the parsed main file, `path` where it is; meshes and includes are sought below its folder and `packages`.
    """

    def __init__(self, root: Element, path: Path, packages: Sequence[str]):
        self.root = root
        self.files = MeshPaths(path, packages)
        self.included: set[str] = {os.path.realpath(path)}
        self._include(root, Path(), 0)
        self._refuse_too_much()
        compilers = [element.attributes for element in root.all("compiler")]
        folders = [a.get("meshdir", a.get("assetdir")) for a in compilers]
        self.folder = next((folder for folder in reversed(folders) if folder is not None), "")
        self.strips = any(a.get("strippath") == "true" for a in compilers)
        self.sources: dict[str, str] = {}  # what was written for each file that was found
        self.lines: list[Element] = []
        self.text = "".join(self._written(root))

    def find(self, *tags: str, **attributes: str) -> Element:
        """The first element of one of these tags with these attributes ("" is any value); the root if none is."""
        for element in self.root.walk():
            own = element.attributes
            if element.tag in tags and all(key in own and value in ("", own[key]) for key, value in attributes.items()):
                return element
        return self.root

    # --- includes ---

    def _include(self, element: Element, folder: Path, depth: int) -> None:
        """Put what is included below `element` in its place; `folder` is its file's, seen from the main file's."""
        children: list[Element] = []
        for child in element.children:
            if depth >= DEEPEST:
                raise _refusal(child, f"elements are nested deeper than {DEEPEST}, with what is included")
            if child.tag == "include":
                children += self._included(child, element, folder, depth)
            else:
                self._include(child, folder, depth + 1)
                children.append(child)
        element.children = children

    def _included(self, at: Element, parent: Element, folder: Path, depth: int) -> list[Element]:
        """The elements of the file that an <include> names: beside the main file, or beside the one that includes."""
        source = at.attributes.get("file", "")
        path = self._located(at, [source, str(folder / source)])
        if str(path) in self.included:
            raise _refusal(at, f"{shown(source)!r} is already part of the model", "include a file once")
        self.included.add(str(path))
        if len(self.included) > MOST_FILES:
            raise _refusal(at, f"more than {MOST_FILES} files are included, the most that are read")
        root = parse(read_bytes(path), str(path))
        for child in root.children:
            child.parent = parent
        own = Path(os.path.relpath(path.parent, self.files.folder))
        self._include(root, own, depth)
        return root.children

    def _located(self, at: Element, sources: list[str]) -> Path:
        """The first of some files that is there and where it may be; a ModelError if none is."""
        written = sources[0]
        if not written.strip():
            raise _refusal(at, "attribute file is missing or empty", 'give file="..."')
        for source in sources:
            found = self.files.find(source)
            if found:
                return found
        if any(source in self.files.missing for source in sources):
            raise _refusal(at, f"the file {shown(written)!r} is not there", f"it is sought below {self.files.folder}")
        raise _refusal(
            at,
            f"the file {shown(written)!r} is not opened, being absolute, a URL or outside the model's folder",
            "write a relative path, and name folders beside the model's in packages=(...)",
        )

    # --- what no model needs ---

    def _refuse_too_much(self) -> None:
        for element in self.root.walk():
            if element.tag in REFUSED:
                raise _refusal(element, *REFUSED[element.tag])
            files = [key for key in element.attributes if key.startswith("file")]
            if files and element.tag not in (*READ_FROM_FILES, *LOOKS):
                raise _refusal(element, f"attribute {shown(files[0])} is read of {listed(READ_FROM_FILES)} only")
            if element.tag == "hfield" and _count(element, "nrow", "ncol") > MOST_ELEMENTS:
                raise _refusal(element, f"a height field may have {MOST_ELEMENTS:,} points")
            if element.tag == "mesh" and any(x > FINEST for x in _numbers(element, "params")[:2]):
                raise _refusal(element, f"a mesh that is made to order may have {FINEST} points along a side")
        if _copies(self.root) > MOST_COMPILED:
            at = self.find(*COPIES)
            raise _refusal(at, f"with all copies there are over {MOST_COMPILED:,} elements, the most that are compiled")

    # --- the text ---

    def _written(self, element: Element) -> Iterator[str]:
        """The element as text, each start tag on a line of its own."""
        if element.tag in LOOKS:
            return
        self.lines.append(element)
        attributes = "".join(f' {key}="{value.translate(ESCAPED)}"' for key, value in self._attributes(element).items())
        if not element.children:
            yield f"<{element.tag}{attributes}/>\n"
            return
        yield f"<{element.tag}{attributes}>\n"
        for child in element.children:
            yield from self._written(child)
        yield f"</{element.tag}>"

    def _attributes(self, element: Element) -> dict[str, str]:
        """What MuJoCo is told of an element: files by the paths at which they were found."""
        attributes = {k: v for k, v in element.attributes.items() if (element.tag, k) not in LOOKS_OF_OTHERS}
        blank = [k for k, v in attributes.items() if not v.strip()]
        if element.tag in ("connect", "weld") and blank:  # on which MuJoCo fails, and hangs the next time
            raise _refusal(element, f"{blank[0]} is blank", "say what it is, or leave it out")
        if element.tag == "compiler":
            return {k: v for k, v in attributes.items() if k not in ("meshdir", "assetdir", "texturedir", "strippath")}
        if element.tag in READ_FROM_FILES and "file" in attributes:
            source = attributes["file"]
            name = os.path.basename(source) if self.strips else source
            found = str(self._located(element, [os.path.join(self.folder, name)] if name else [""]))
            self.sources[found] = source
            attributes["file"] = found
        return attributes


def _refusal(at: Element, reason: str, remedy: str = "") -> ModelError:
    return ModelError(f"{reason}; {remedy}" if remedy else reason, str(at), at.file, at.line)


def _numbers(element: Element, key: str) -> list[float]:
    """The numbers that an attribute has; MuJoCo judges what is none."""
    found: list[float] = []
    for word in element.attributes.get(key, "").split():
        with suppress(ValueError):
            found.append(float(word))
    return found


def _count(element: Element, *keys: str) -> float:
    """How many there will be, if the numbers of some attributes are multiplied."""
    return math.prod(max(x, 1.0) for key in keys for x in _numbers(element, key))


def _copies(element: Element) -> float:
    """The number of elements, copies included."""
    below = 1.0 + sum(map(_copies, element.children))
    return below * _count(element, "count") if element.tag in COPIES else below
