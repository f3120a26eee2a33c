"""`load`: chooses the reader of a model file by its type, and raises errors and warnings for the faults in the file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from linkwork.errors import ModelError, listed
from linkwork.model.documents.base_reader import GROUND, Options, Reading
from linkwork.model.documents.mesh_paths import MeshPaths
from linkwork.model.documents.urdf_reader import read_urdf
from linkwork.model.documents.xml_parser import parse, read_bytes, shown
from linkwork.model.mechanism import Mechanism
from linkwork.model.model_definition_faults import Fault, raise_or_warn

READABLE = (
    ".toml (linkwork's format), .urdf, .xml (MJCF or URDF, by its root element) or .xacro (with the package xacro)"
)
StrPath = str | os.PathLike[str]


def load(
    path: StrPath,
    floating: bool | None = None,
    gravity: Any = None,
    mimic: bool = True,
    packages: StrPath | Sequence[StrPath] = (),
    contacts: bool | Literal["ground"] | None = None,
) -> Mechanism:
    """Load a mechanism from a TOML document, URDF, MJCF or xacro file.

    `load` takes the path of a file; write the text of a model to a file first. Joints are numbered depth-first in the
    order of the file. Faults that do not prevent the use of the mechanism are reported as `ModelWarning`.

    Parameters
    ----------
    path : str or path-like
        File that ends in .toml, .urdf, .xml or .xacro.
    floating : bool or None, default None
        For URDF: True connects the root link to the world by a free joint; False or None fixes it to the world. For
        MJCF and TOML, which define this themselves, it must be None.
    gravity : array_like, shape (3,), [m/s^2], optional
        Gravitational acceleration in world axes; by default that of the file, or (0, 0, -9.81) if it has none.
    mimic : bool, default True
        Whether mimic joints follow the joint that they mimic; if False, all joints are independent.
    packages : path or sequence of paths, default ()
        Folders in which files of package:// and $(find ...) are searched, in addition to the folders above the file.
    contacts : bool, "ground" or None, default None
        True: for MJCF, contacts of all geoms that collide in MuJoCo; for URDF, contacts of the collision shapes of the
        links with each other, except for parent and child and for shapes that overlap in the neutral position.
        "ground": the same for MJCF, with the additional plane z = 0; for URDF, contacts of moving links with this plane
        only. False and None: no contacts; None warns if geoms of an MJCF would collide. For TOML, which lists its
        contacts, it must be None or False.

    Returns
    -------
    Mechanism
        The mechanism.

    Raises
    ------
    ModelError
        If the file is invalid. The message names file, line, element, reason and remedy.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "arm.toml")
    >>> lw.save(lw.example("double_pendulum"), path)
    >>> lw.load(path).nv
    2

    """
    reading = _read(path, floating, gravity, mimic, packages, contacts)
    raise_or_warn(reading.faults)
    assert reading.mechanism
    return reading.mechanism


def find_faults(
    path: StrPath,
    floating: bool | None = None,
    mimic: bool = True,
    packages: StrPath | Sequence[StrPath] = (),
    contacts: bool | Literal["ground"] | None = None,
) -> list[Fault]:
    """Return all errors and warnings about a model file, ordered by line. The arguments are those of `load`."""
    try:
        return _read(path, floating, None, mimic, packages, contacts).faults
    except ModelError as error:
        return [Fault.of(error)]


def _read(path: Any, floating: Any, gravity: Any, mimic: bool, packages: Any, contacts: Any) -> Reading:
    if not isinstance(floating, bool | None):
        raise ModelError(f"floating must be True, False or None; got {floating!r}")
    if not (isinstance(contacts, bool | None) or (isinstance(contacts, str) and contacts == GROUND)):
        raise ModelError(f"contacts must be True, False, None or {GROUND!r}; got {contacts!r}")
    if isinstance(path, str) and path.lstrip().startswith("<"):
        raise ModelError(
            f"load takes the path of a file; got XML text that begins with {path.lstrip()[:20]!r}: write the text to a "
            "file that ends in .urdf or .xml, and load that file"
        )
    try:
        path = Path(path)
        folders = [packages] if isinstance(packages, (str, os.PathLike)) else list(packages)
        options = Options(floating, gravity, bool(mimic), tuple(str(Path(folder)) for folder in folders), contacts)
    except TypeError:
        raise ModelError(f"paths must be strings or pathlib.Paths; got {path!r} and packages={packages!r}") from None
    file, suffix = str(path), path.suffix.lower()
    if suffix == ".toml":
        from linkwork.model.documents.toml_reader import read_document  # imports msgspec, which only documents need

        return read_document(path, options)
    if suffix not in (".urdf", ".xml", ".xacro"):
        raise ModelError(f"unsupported file type {suffix!r}; expected {READABLE}", file=file)
    data = read_bytes(path)
    if suffix == ".xacro":
        data, file = _expanded(path, options.packages), f"{file} (expanded)"
    root = parse(data, file)
    if root.tag == "mujoco":
        from linkwork.model.documents.mjcf_reader import read_mjcf  # imported here to keep `import linkwork` fast

        return read_mjcf(root, path, file, options)
    if root.tag != "robot":
        reason = f"the root element is <{shown(root.tag)}>; expected <robot> for a URDF or <mujoco> for an MJCF"
        raise ModelError(reason, file=file, line=root.line)
    return read_urdf(root, path, file, options)


def _expanded(path: Path, packages: Sequence[str]) -> bytes:
    """Return the text of the xacro file at `path` after expansion by the package xacro.

    `$(find name)` is searched in the folders `packages` too.
    """
    try:
        xacro = import_module("xacro")
    except ModuleNotFoundError:
        remedy = f"pip install xacro, or run `xacro {path.name} > {path.stem.removesuffix('.urdf')}.urdf` first"
        raise ModelError(
            f"a .xacro file needs the package xacro, which is not installed: {remedy}", file=str(path)
        ) from None
    paths = MeshPaths(path, packages)
    try:
        with _finding(paths):
            return xacro.process_file(str(path)).toxml().encode()
    except Exception as error:  # xacro has no common base class of errors
        if paths.missing:
            reason = f"packages of $(find ...) were not found: {listed(map(shown, paths.missing))}"
            remedy = "list the folders that contain them in packages=(...)"
            raise ModelError(f"{reason}; {remedy}", file=str(path)) from None
        raise ModelError(f"xacro cannot expand it: {shown(str(error))}", file=str(path)) from error


@contextmanager
def _finding(paths: MeshPaths) -> Iterator[None]:
    """Context manager: xacro resolves `$(find name)` in the folders of `paths`, then in ROS's package index.

    The names of packages that are not found are added to `paths.missing`.
    """
    try:
        resolver: Any = import_module("xacro.substitution_args")
    except ModuleNotFoundError:
        yield
        return
    of_ros = resolver._eval_find

    def find(name: str) -> str:
        found = paths.package(name)
        try:
            return str(found) if found else of_ros(name)
        except Exception:  # ROS is not installed, or does not have the package
            paths.missing[name] = None
            raise

    resolver._eval_find = find
    try:
        yield
    finally:
        resolver._eval_find = of_ros


def document_schema() -> dict[str, Any]:
    """Return the JSON schema of linkwork's TOML documents, for editors that check and complete TOML."""
    from linkwork.model.documents.toml_schema import schema

    return schema()
