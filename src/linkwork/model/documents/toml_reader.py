"""Reader of linkwork's TOML documents: passes tables to a Builder, and records every fault with key and line.

Reading does not stop at a fault. An invalid object is recorded and replaced by a valid placeholder, so that one pass
finds every fault once.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from linkwork.errors import ModelError, listed, unknown_name
from linkwork.model.builder import Builder
from linkwork.model.documents import toml_schema as tables
from linkwork.model.documents.base_reader import LARGEST, LONGEST_NAME, STANDARD_GRAVITY, Options, Reader, Reading
from linkwork.model.documents.mesh_paths import MeshPaths
from linkwork.model.documents.toml_parser import MOST_BYTES, Key, Source, parse_toml
from linkwork.model.documents.toml_values import VERSION
from linkwork.model.documents.xml_parser import read_bytes, shown
from linkwork.model.elements.element import Element, kinds
from linkwork.model.geometry import Mesh
from linkwork.model.joints import JointKind, Revolute, Weld
from linkwork.model.model_definition_faults import Fault
from linkwork.model.toml_value_conversion import DEGREES

AS_WRITTEN = Options(None, None, True, ())
LEADING_WORDS = 4  # number of first words of a Builder's reason that contain the name of the invalid argument


def read_document(path: Path, options: Options) -> Reading:
    """Read the TOML document at `path`; return the mechanism and all faults.

    `options` are those of `load`.
    """
    if options.floating is not None:
        reason = "floating is for URDF only; in a document, use a joint of kind 'free' with the parent 'world'"
        raise ModelError(reason, file=str(path))
    if options.contacts:
        reason = "contacts is for MJCF and URDF only; a document lists its surfaces and contacts"
        raise ModelError(reason, file=str(path))
    return read_text(read_bytes(path, MOST_BYTES), path, options)


def read_text(data: bytes, path: Path, options: Options = AS_WRITTEN) -> Reading:
    """Read a TOML document from the bytes `data`; `path` is the file that has or will have this content.

    `options` are those of `load`.
    """
    if len(data) > MOST_BYTES:
        raise ModelError(f"the file is larger than {MOST_BYTES >> 20} MiB, the limit", file=str(path))
    return _DocumentReader(parse_toml(data, str(path)), path, options).read()


class _DocumentReader(Reader):
    """Reader of one TOML document. Each method reads one kind of table and records its faults."""

    def __init__(self, source: Source, path: Path, options: Options):
        super().__init__(str(path))
        self.tree, self.top, self.options = source.tree, source.top, options
        self.refuse_versions()
        # Label of a body, joint or element: location and table
        self.places: dict[str | None, tuple[Key, Mapping[str, Any]]] = {}
        self.meshes = MeshPaths(path, options.packages)
        self.carried: set[str] = set()
        self.lost = False  # whether a joint had no readable child
        for key in self.tree:
            if key not in (valid := ("linkwork", *tables.TOP, "world", *READERS, *kinds())):
                self.error(self.top[key], unknown_name("key", shown(key), valid).reason)
        given = self.values(self.top, {key: self.tree[key] for key in tables.TOP if key in self.tree}, tables.TOP)
        name, gravity = given.get("name", path.stem), given.get("gravity", STANDARD_GRAVITY)
        if options.gravity is not None:
            gravity = options.gravity
        self.builder = self.recording_keys(self.top, self.tree, lambda: Builder(name, gravity)) or Builder()

    def refuse_versions(self) -> None:
        """Raise a ModelError unless the document has a supported format version."""
        version, at = self.tree.get("linkwork"), self.top["linkwork"]
        if version is None:
            reason = f"not a linkwork document; the first line must be: linkwork = {VERSION}"
            raise ModelError(reason, file=self.file)
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            reason = f"must be the version of the document, {VERSION}; got {_short_text(version)}"
            raise ModelError(reason, str(at), self.file, at.line)
        if version > VERSION:
            reason = (
                f"the document has version {_short_text(version)}, which needs a newer linkwork; this one reads up to "
            )
            raise ModelError(f"{reason}{VERSION}: pip install --upgrade linkwork", str(at), self.file, at.line)

    def fill_builder(self) -> None:
        """Add all objects that the document describes to the Builder."""
        world = self.tree.get("world", {})
        if self.is_table(self.top["world"], world):
            self.values(self.top["world"], {key: world[key] for key in world if key != "geometry"}, {}, "geometry")
            self.geometry(self.top["world"], world, "world")
        for section, read in READERS.items():
            for name, at, table in self.named(section):
                read(self, name, at, table)
        for section, class_ in kinds().items():
            for name, at, table in self.named(section):
                self.element(class_, name, at, table)
        if self.lost:
            for name in self.tree.get("bodies", {}):
                if name not in self.carried and f"body {name!r}" in self.places:
                    self.builder.joint(f"joint with fault of {name}", Weld(), "world", name)
        for reason, remedy in self.meshes.warnings():
            self.warning(self.top, reason, remedy)

    # --- tables and values ---

    def is_table(self, at: Key, value: Any) -> bool:
        if not isinstance(value, dict):
            self.error(at, f"must be a table; got {_short_text(value)}", f"write [{at}] and its keys below it")
        return isinstance(value, dict)

    def named(self, section: str) -> Iterator[tuple[str, Key, dict[str, Any]]]:
        """Yield (name, location, content) for each table in a section of the document, such as `joints`."""
        value, at = self.tree.get(section, {}), self.top[section]
        for name, table in value.items() if self.is_table(at, value) else ():
            before = self.errors
            if not 0 < len(name.strip()) <= len(name) <= LONGEST_NAME:
                self.error(at[name], f"a name must have 1 to {LONGEST_NAME} characters and must not be blank")
            if self.is_table(at[name], table) and self.errors == before:
                yield name, at[name], table
            else:
                self.lost |= section == "joints"

    def values(
        self, at: Key, table: Mapping[str, Any], keys: tables.Keys, *others: str, class_: type | None = None
    ) -> dict[str, Any]:
        """Return the valid values of a table by key, and record a fault for each invalid, missing or unknown key.

        `at` is the location of the table in the document. `keys` maps each key to the type of its value; `others` are
        valid keys that the caller reads. `class_` is the joint kind or shape that the table describes, if any; the
        table must have the fields of this class that have no default.
        """
        for key in table:
            if key not in keys:
                owners = [name for name, kind in tables.joint_kinds().items() if key in tables.own_keys(kind)]
                hint = (
                    f" It is a key of joints of kind {listed(owners)}."
                    if class_ in tables.joint_kinds().values() and owners
                    else ""
                )
                self.error(at[key], unknown_name("key", shown(key), [*others, *keys], hint).reason)
        for key in tables.required_keys(keys, class_):
            if key not in table:
                self.error(at, f"{key} is missing", f"give {key}, {tables.wanted(keys[key])}")
        read = {key: self.value(at[key], value, keys[key]) for key, value in table.items() if key in keys}
        return {key: value for key, value in read.items() if value is not None}

    def value(self, at: Key, value: Any, type_: Any) -> Any:
        """Return `value` if it has the type `type_` and finite numbers; else record an error and return None.

        `at` is the location of the value in the document.
        """
        item = tables.item_type(type_)
        if item is not None:
            entries = value.items() if self.is_table(at, value) else ()
            return {name: self.value(at[name], entry, item) for name, entry in entries}
        try:
            found = msgspec.convert(value, type_)
        except msgspec.ValidationError:
            return self.error(at, f"must be {tables.wanted(type_)}; got {_short_text(value)}")
        endless = (math.inf, -math.inf) if tables.allows_infinity(type_) else ()
        wrong = [x for x in _all_floats(found) if not (abs(x) < LARGEST or x in endless)]
        if wrong:
            hint = f"magnitudes must be below {LARGEST:g}" if math.isfinite(wrong[0]) else ""
            return self.error(at, f"must be {tables.wanted(type_)}, finite; got {_short_text(value)}", hint)
        return found

    def choice(self, at: Key, table: Mapping[str, Any], key: str, choices: Mapping[str, type]) -> type | None:
        """Return the class in `choices` that the key `key` of a table names; record an error if there is none.

        `at` is the location of the table in the document.
        """
        value = table.get(key)
        if value is None:
            return self.error(at, f"{key} is missing", f"give {key}, one of {listed(choices)}")
        if not isinstance(value, str):
            return self.error(at[key], f"must be one of {listed(choices)}; got {_short_text(value)}")
        if value not in choices:
            return self.error(at[key], unknown_name(key, shown(value), choices).reason)
        return choices[value]

    def angles(self, at: Key, given: dict[str, Any], kind: JointKind | None = None) -> dict[str, Any]:
        """Return the values of a TOML table with degrees converted to radians and rotations to matrices (3, 3).

        `given` are the values of the table by key, and `at` is its location in the document. Two faults are recorded:
        keys that are given twice, such as in degrees and in radians; and degrees for a joint of the kind `kind` whose
        coordinates are not all angles.
        """
        found: dict[str, Any] = {}
        for key, value in given.items():
            plain = key.removesuffix(DEGREES)
            if plain in found:
                self.error(at[key], f"both {plain} and {plain}{DEGREES} are given", "remove one")
            elif key != plain and kind and not plain.endswith("rpy") and not (kind.nq == kind.nv and all(kind.turns)):
                name = type(kind).__name__
                self.error(at[key], f"the coordinates of a {name} joint are not all angles", f"give {plain} instead")
            else:
                found[plain] = value if key == plain else _radians(value)
        for rotation, rpy in (("rotation", "rpy"), ("to_rotation", "to_rpy")):
            if rotation in found:
                found[rotation] = np.reshape(found[rotation], (3, 3))
                if rpy in found:
                    self.error(at[rotation], f"both {rotation} and {rpy} are given", "remove one")
        return found

    # --- bodies, shapes, joints and elements ---

    def body(self, name: str, at: Key, table: dict[str, Any]) -> None:
        before = self.errors
        given = self.values(at, _without(table, "geometry"), tables.BODY, "geometry")
        if name == "world":
            self.error(at, "a body must not be called 'world', which always exists", "write its geometry in [world]")
        elif self.errors == before:
            self.recording_keys(at, table, lambda: self.builder.body(name, **given))
        if name != "world":
            self.places[f"body {name!r}"] = at, table
            if self.errors > before:
                self.builder.body(name, 1.0, inertia=(1.0, 1.0, 1.0))
        self.geometry(at, table, name)

    def geometry(self, at: Key, table: Mapping[str, Any], body: str) -> None:
        items, place = table.get("geometry", []), at["geometry"]
        if not isinstance(items, list):
            self.error(
                place,
                f"must be a list of tables; got {_short_text(items)}",
                'write geometry = [{ shape = "box", ... }]',
            )
            return
        for number, item in enumerate(items):
            if self.is_table(place[number], item):
                self.shape(place[number], item, body)

    def shape(self, at: Key, table: dict[str, Any], body: str) -> None:
        before = self.errors
        shape, options = self.of_a_class(at, table, "shape", tables.SHAPES, tables.GEOMETRY)
        if self.errors == before:
            self.recording_keys(at, table, lambda: self.builder.geometry(body, shape, **options))

    def of_a_class(
        self, at: Key, table: dict[str, Any], key: str, choices: Mapping[str, type], keys: tables.Keys
    ) -> tuple[Any, dict[str, Any]]:
        """Return the joint kind or shape object that a table describes, and the remaining values of the table.

        `key` is the key whose value names the class, `choices` are the classes by name, and `keys` the types of the
        remaining keys. `at` is the location of the table in the document.
        """
        before, class_ = self.errors, self.choice(at, table, key, choices)
        if class_ is None:
            return None, {}
        own = tables.own_keys(class_)
        given = self.values(at, _without(table, key), own | keys, key, class_=class_)
        numbers = {name: given.pop(name) for name in own if name in given}
        if class_ is Mesh and numbers.get("source"):
            numbers["path"] = self.meshes.find(numbers["source"])
        options = self.angles(at, given)
        return self.recording_keys(at, table, lambda: class_(**numbers)) if self.errors == before else None, options

    def joint(self, name: str, at: Key, table: dict[str, Any]) -> None:
        kinds = tables.joint_kinds()
        before, class_ = self.errors, self.choice(at, table, "kind", kinds)
        own = reduce(or_, map(tables.own_keys, [class_] if class_ else kinds.values()))
        keys = own | tables.JOINT
        given = self.values(at, _without(table, "kind", "mimic"), keys, "kind", "mimic", class_=class_)
        numbers = {key: given.pop(key) for key in own if key in given}
        kind = self.recording_keys(at, table, lambda: class_(**numbers)) if class_ and self.errors == before else None
        parent, child = given.pop("parent", "world"), given.pop("child", None)
        options = self.angles(at, given, kind)
        if child is None:
            self.lost = True
            return
        self.carried.add(child)
        self.places[f"joint {name!r}"] = at, table
        if "rest" in options:
            options["rest"] = np.atleast_1d(options["rest"])
        if kind and self.errors == before:
            self.recording_keys(at, table, lambda: self.builder.joint(name, kind, parent, child, **options))
        if self.errors > before:  # a valid placeholder keeps the tree connected
            self.builder.joint(name, kind or Revolute(), parent, child, armature=1.0)
        self.follow(name, at["mimic"], table.get("mimic"))

    def follow(self, name: str, at: Key, table: Any) -> None:
        """Pass the mimic relation of the joint `name` to the Builder.

        `table` is the content of the key `mimic` of the joint, or None if the joint has none; `at` is its location.
        """
        if table is None or not self.is_table(at, table):
            return
        before, given = self.errors, self.values(at, table, tables.MIMIC)
        if self.options.mimic and self.errors == before:
            self.recording_keys(at, table, lambda: self.builder.mimic(name, **given))

    def element(self, class_: type[Element], name: str, at: Key, table: dict[str, Any]) -> None:
        self.places[f"{class_.what} {name!r}"] = at, table
        before, keys, choice = self.errors, tables.keys_of(class_), tables.class_key(class_)
        if choice:
            one, options = self.of_a_class(at, table, *choice, keys)
            options = {choice[0]: one} | options
        else:
            options = self.angles(at, self.values(at, table, keys))
        if self.errors == before:
            self.recording_keys(at, table, lambda: self.builder.add(class_.from_document(name, options)))
        stand_in = class_.stand_in(name)
        if self.errors > before and stand_in is not None:  # other elements may refer to this element
            self.builder.add(stand_in)

    def plain(self, section: str, method: Callable[..., Any], name: str, at: Key, table: dict[str, Any]) -> None:
        """Read a table whose keys are the arguments of the Builder method `method`, and call this method.

        `name` is the name of the object, `section` the section of the document, such as "frames", `table` the table,
        and `at` its location.
        """
        what, keys = tables.PLAIN[section]
        self.places[f"{what} {name!r}"] = at, table
        before, given = self.errors, self.values(at, table, keys)
        options = self.angles(at, given)
        if self.errors == before:
            self.recording_keys(at, table, lambda: method(self.builder, name, **options))

    # --- errors from the Builder ---

    def recording_keys(self, at: Key, table: Mapping[str, Any], act: Callable[[], Any]) -> Any:
        """Call `act` and return its result; record a ModelError at the key of `table` that the error message names.

        `at` is the location of the table in the document.
        """
        try:
            return act()
        except ModelError as error:
            return self.error(_key_that_reason_names(at, table, error.reason), error.reason)

    def placed(self, fault: Fault) -> Fault:
        """Return a fault that the Builder reported, completed with file, line and key of the document."""
        place = _key_that_reason_names(*self.places.get(fault.element, (self.top, {})), fault.reason)
        return replace(fault, element=str(place), file=self.file, line=place.line)


TableReader = Callable[[_DocumentReader, str, Key, dict[str, Any]], None]


def _plain(section: str, method: Callable[..., Any]) -> TableReader:
    return lambda reader, name, at, table: reader.plain(section, method, name, at, table)


READERS: dict[str, TableReader] = {
    "bodies": _DocumentReader.body,
    "joints": _DocumentReader.joint,
    "frames": _plain("frames", Builder.frame),
    "keyframes": _plain("keyframes", Builder.keyframe),
}


def _key_that_reason_names(at: Key, table: Mapping[str, Any], reason: str) -> Key:
    """Return the location of the key that an error's `reason` mentions first, or `at`, the location of its table.

    Only the first words of the reason are searched.
    """
    words = [word.strip(":,") for word in reason.split()[:LEADING_WORDS]]
    return next((at[key] for word in words for key in (word, word + DEGREES) if key in table), at)


def _without(table: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in keys}


def _all_floats(value: Any) -> Iterator[float]:
    """Yield all floats in `value`, which is a number or a nested list of numbers."""
    if isinstance(value, list | tuple | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _all_floats(item)
    elif isinstance(value, float):
        yield value


def _radians(value: Any) -> Any:
    return [_radians(item) for item in value] if isinstance(value, list | tuple) else math.radians(value)


def _short_text(value: Any) -> str:
    """Return a value of a TOML document as a short text for error messages."""
    try:
        return shown(reprlib.repr(value))
    except ValueError:  # an integer with too many digits for str()
        return "a very large integer"
