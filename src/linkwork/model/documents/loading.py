"""Loading mechanisms from files: which reader a file goes to, and what is made of the faults it finds."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from linkwork.errors import ModelError
from linkwork.model.documents.reader import Options, Reading
from linkwork.model.documents.urdf_reader import read_urdf
from linkwork.model.documents.xml_parser import parse, read_bytes, shown
from linkwork.model.faults import Fault, settle
from linkwork.model.mechanism import Mechanism

READABLE = ".toml (linkwork's own), .urdf, .xml (MJCF or URDF by its root element), .xacro (with the package xacro)"
StrPath = str | os.PathLike[str]


def load(
    path: StrPath,
    floating: bool | None = None,
    gravity: Any = None,
    mimic: bool = True,
    packages: StrPath | Sequence[StrPath] = (),
) -> Mechanism:
    """The mechanism that a file describes, numbered depth-first in the file's order.

    `floating=True` puts a free joint under the root link of a URDF; otherwise it is fixed to the world. An MJCF or a
    document says itself what floats. `gravity` (3,) [m/s^2] is in the world's axes; None takes the file's own, or
    (0, 0, -9.81) where its format has none. `mimic=False` leaves coupled joints independent. `packages` are folders
    in which package:// is sought, besides those above the file. What cannot be is raised as a ModelError with file,
    line, element and reason; what is doubtful but can be computed with is a ModelWarning.
    """
    reading = _read(path, floating, gravity, mimic, packages)
    settle(reading.faults)
    assert reading.mechanism
    return reading.mechanism


def find_faults(
    path: StrPath, floating: bool | None = None, mimic: bool = True, packages: StrPath | Sequence[StrPath] = ()
) -> list[Fault]:
    """Everything that is wrong with a file, errors and warnings, in its order; the arguments are those of `load`."""
    try:
        return _read(path, floating, None, mimic, packages).faults
    except ModelError as error:
        return [Fault.of(error)]


def _read(path: Any, floating: Any, gravity: Any, mimic: bool, packages: Any) -> Reading:
    if not isinstance(floating, bool | None):
        raise ModelError(f"floating must be True, False or None; got {floating!r}")
    try:
        path = Path(path)
        folders = [packages] if isinstance(packages, (str, os.PathLike)) else list(packages)
        options = Options(floating, gravity, bool(mimic), tuple(str(Path(folder)) for folder in folders))
    except TypeError:
        raise ModelError(f"paths are texts or pathlib.Paths; got {path!r} and packages={packages!r}") from None
    file, suffix = str(path), path.suffix.lower()
    if suffix == ".toml":
        from linkwork.model.documents.toml_reader import read_document  # loads msgspec, which only documents need

        return read_document(path, options)
    if suffix not in (".urdf", ".xml", ".xacro"):
        raise ModelError(f"files that end in {suffix!r} are not read; read are {READABLE}", file=file)
    data = read_bytes(path)
    if suffix == ".xacro":
        data, file = _expanded(path), f"{file} (expanded)"
    root = parse(data, file)
    if root.tag == "mujoco":
        from linkwork.model.documents.mjcf_reader import read_mjcf  # importing linkwork is quicker without it

        return read_mjcf(root, path, file, options)
    if root.tag != "robot":
        reason = f"the root element is <{shown(root.tag)}>; that of a URDF is <robot>, of an MJCF <mujoco>"
        raise ModelError(reason, file=file, line=root.line)
    return read_urdf(root, path, file, options)


def _expanded(path: Path) -> bytes:
    """What the package xacro makes of a file."""
    try:
        xacro = import_module("xacro")
    except ModuleNotFoundError:
        remedy = f"pip install xacro, or run `xacro {path.name} > {path.stem.removesuffix('.urdf')}.urdf` first"
        raise ModelError(
            f"xacro is expanded by the package xacro, which is not installed: {remedy}", file=str(path)
        ) from None
    try:
        return xacro.process_file(str(path)).toxml().encode()
    except Exception as error:  # xacro has no family of errors of its own
        raise ModelError(f"xacro cannot expand it: {shown(str(error))}", file=str(path)) from error


def document_schema() -> dict[str, Any]:
    """The JSON schema of linkwork's own documents, for editors that check and complete TOML."""
    from linkwork.model.documents.toml_schema import schema

    return schema()
