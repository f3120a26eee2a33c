"""One MJCF text for MuJoCo's compiler, assembled from a model file and its includes, with the origin of every line.

MuJoCo receives the parsed and checked text, never the original file. Therefore MuJoCo sees no document types, opens
only meshes and height fields in permitted folders, and its error messages can be mapped to the original file and line.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from linkwork.errors import ModelError, listed
from linkwork.model.documents.base_reader import GROUND
from linkwork.model.documents.mesh_paths import MeshPaths
from linkwork.model.documents.xml_parser import DEEPEST, MOST_ELEMENTS, Element, parse, read_bytes, shown

READ_FROM_FILES = ("mesh", "hfield")
# Elements and attributes for appearance, memory sizes and user data, which are removed: they have no effect here, and
# MuJoCo would decode files and allocate memory for them
LOOKS = ("texture", "skin", "layer", "size", "visual", "statistic", "custom")
LOOKS_OF_OTHERS = (("material", "texture"), ("light", "texture"))
REFUSED = {  # XML tag: reason and remedy of the error
    "flexcomp": ("flexible bodies are not supported", "model it with rigid bodies"),
    "flex": ("flexible bodies are not supported", "model it with rigid bodies"),
    "model": ("nested models are not supported", "save the whole model as one file with MuJoCo (MjSpec.to_xml)"),
    "attach": (
        "nested models are not supported",
        "save the whole model as one file with MuJoCo (MjSpec.to_xml)",
    ),
}
COPIES = ("replicate", "composite")  # elements whose attribute `count` multiplies their content
ESCAPED = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
)
GROUND_GEOM = {
    "type": "plane", "size": "1 1 1", "pos": "0 0 0", "quat": "1 0 0 0", "contype": "1", "conaffinity": "1",
    "condim": "3", "priority": "0", "solmix": "1", "friction": "1 0.005 0.0001", "margin": "0", "gap": "0",
    "solref": "0.02 1", "solimp": "0.9 0.95 0.001 0.5 2",
}  # fmt: skip
# Largest number of XML elements after copying. MuJoCo takes 10 s for this number, and four times as long for twice the
# number.
MOST_COMPILED = 20_000
MOST_FILES = 1000
FINEST = 200  # largest number of points along a side of a mesh that MuJoCo generates


class MjcfText:
    """The text of an MJCF model with the contents of all included files; line k of `text` starts XML element k.

    `root` is the parsed main file at `path`; meshes and includes are searched below its folder and `packages`. If
    `ground` is True, the plane z = 0 is added to the world, with the contact parameters that MuJoCo has by default.
    """

    def __init__(self, root: Element, path: Path, packages: Sequence[str], ground: bool = False):
        self.root = root
        self.files = MeshPaths(path, packages)
        self.included: set[str] = {os.path.realpath(path)}
        self._include(root, Path(), 0)
        if ground:
            self._add_ground()
        self._refuse_too_much()
        compilers = [element.attributes for element in root.all("compiler")]
        folders = [a.get("meshdir", a.get("assetdir")) for a in compilers]
        self.folder = next((folder for folder in reversed(folders) if folder is not None), "")
        self.strips = any(a.get("strippath") == "true" for a in compilers)
        self.sources: dict[str, str] = {}  # path of each file: its name as written in the model
        self.lines: list[Element] = []
        self.text = "".join(self._written(root))

    def find(self, *tags: str, **attributes: str) -> Element:
        """Return the first XML element with one of these tags and all these attributes, or the root if there is none.

        The attribute value "" matches any value.
        """
        for element in self.root.walk():
            own = element.attributes
            if element.tag in tags and all(key in own and value in ("", own[key]) for key, value in attributes.items()):
                return element
        return self.root

    def _add_ground(self) -> None:
        """Add a geom, the plane z = 0, to the world; its attributes are independent of the model's defaults."""
        name = GROUND
        while self.find("geom", name=name) is not self.root:
            name += "_"
        world = Element("worldbody", {}, self.root.line, self.root.file, self.root)
        world.children.append(Element("geom", {"name": name, **GROUND_GEOM}, world.line, world.file, world))
        self.root.children.append(world)

    # --- includes ---

    def _include(self, element: Element, folder: Path, depth: int) -> None:
        """Replace every <include> below the XML element `element` by the elements of the included file.

        `folder` is the folder of the including file, relative to the main folder, and `depth` the number of nested
        includes.
        """
        children: list[Element] = []
        for child in element.children:
            if depth >= DEEPEST:
                raise _refusal(child, f"elements and includes are nested deeper than {DEEPEST} levels")
            if child.tag == "include":
                children += self._included(child, element, folder, depth)
            else:
                self._include(child, folder, depth + 1)
                children.append(child)
        element.children = children

    def _included(self, at: Element, parent: Element, folder: Path, depth: int) -> list[Element]:
        """Return the XML elements of an included file.

        The file is in the folder of the main file, or in `folder`, that of the including file. `at` is the <include>
        element, `parent` the element that receives the content of the file, and `depth` the number of nested includes.
        """
        source = at.attributes.get("file", "")
        path = self._located(at, [source, str(folder / source)])
        if str(path) in self.included:
            raise _refusal(at, f"{shown(source)!r} is already part of the model", "include each file only once")
        self.included.add(str(path))
        if len(self.included) > MOST_FILES:
            raise _refusal(at, f"more than {MOST_FILES} files are included; the limit is {MOST_FILES}")
        root = parse(read_bytes(path), str(path))
        for child in root.children:
            child.parent = parent
        own = Path(os.path.relpath(path.parent, self.files.folder))
        self._include(root, own, depth)
        return root.children

    def _located(self, at: Element, sources: list[str]) -> Path:
        """Return the path of the first file in `sources` that exists in a permitted folder.

        `sources` are paths relative to the main file. Raise a ModelError at the element `at` if none exists.
        """
        written = sources[0]
        if not written.strip():
            raise _refusal(at, "attribute file is missing or empty", 'give file="..."')
        for source in sources:
            found = self.files.find(source)
            if found:
                return found
        if any(source in self.files.missing for source in sources):
            raise _refusal(
                at, f"the file {shown(written)!r} does not exist", f"linkwork searches for it in {self.files.folder}"
            )
        raise _refusal(
            at,
            f"the file {shown(written)!r} is not opened, because its path is absolute, a URL or outside the model's "
            "folder",
            "use a relative path, and list further folders in packages=(...)",
        )

    # --- limits ---

    def _refuse_too_much(self) -> None:
        for element in self.root.walk():
            if element.tag in REFUSED:
                raise _refusal(element, *REFUSED[element.tag])
            files = [key for key in element.attributes if key.startswith("file")]
            if files and element.tag not in (*READ_FROM_FILES, *LOOKS):
                raise _refusal(element, f"attribute {shown(files[0])} is supported for {listed(READ_FROM_FILES)} only")
            if element.tag == "hfield" and _count(element, "nrow", "ncol") > MOST_ELEMENTS:
                raise _refusal(element, f"a height field must have at most {MOST_ELEMENTS:,} points")
            if element.tag == "mesh" and any(x > FINEST for x in _numbers(element, "params")[:2]):
                raise _refusal(element, f"a generated mesh must have at most {FINEST} points along a side")
        if _copies(self.root) > MOST_COMPILED:
            at = self.find(*COPIES)
            reason = f"the model has more than {MOST_COMPILED:,} elements, which is the limit"
            raise _refusal(at, reason, "each copy that <replicate> or <composite> makes counts as an element")

    # --- the text ---

    def _written(self, element: Element) -> Iterator[str]:
        """Yield the lines of an XML element as MJCF text, with each start tag on a separate line."""
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
        """Return the attributes of an XML element for MuJoCo, with file names replaced by the paths of the files."""
        attributes = {k: v for k, v in element.attributes.items() if (element.tag, k) not in LOOKS_OF_OTHERS}
        blank = [k for k, v in attributes.items() if not v.strip()]
        if element.tag in ("connect", "weld") and blank:  # MuJoCo fails on empty attributes of these elements
            raise _refusal(element, f"attribute {blank[0]} is blank", "give a value, or remove the attribute")
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
    """Return the numbers in the attribute `key` of an XML element as a list.

    Words that are not numbers are skipped; MuJoCo reports them as errors.
    """
    found: list[float] = []
    for word in element.attributes.get(key, "").split():
        with suppress(ValueError):
            found.append(float(word))
    return found


def _count(element: Element, *keys: str) -> float:
    """Return the product of all numbers in the attributes `keys` of an XML element; numbers below 1 count as 1."""
    return math.prod(max(x, 1.0) for key in keys for x in _numbers(element, key))


def _copies(element: Element) -> float:
    """Return the number of elements that MuJoCo makes of an XML element and everything inside it.

    Elements in COPIES, such as <replicate>, multiply their content by their attribute `count`.
    """
    below = 1.0 + sum(map(_copies, element.children))
    return below * _count(element, "count") if element.tag in COPIES else below
