"""Search for the mesh files of a model. Only the model's folder and the package folders are accessed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath

from linkwork.errors import listed
from linkwork.model.documents.xml_parser import shown

PACKAGE = re.compile(
    r"package:///*|\$\(find +(?=[^)]*\))"
)  # the part of package://name or $(find name) before the name
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")  # scheme of a URL, or drive of a Windows path


class MeshPaths:
    """Search for the mesh files that the model file `model` refers to; collects missing and refused meshes.

    `package://name/rest` and `$(find name)/rest` are searched in the folder `name` below each folder of `packages`, in
    each folder of `packages` that is called `name`, and in each folder above the model that is called `name`.
    """

    def __init__(self, model: Path, packages: Iterable[str]):
        self.folder = Path(os.path.realpath(model)).parent  # real folder: meshes are there, not beside a link
        self.packages = [Path(os.path.realpath(package)) for package in packages]
        self.missing: dict[str, None] = {}
        self.refused: dict[str, None] = {}

    def find(self, source: str) -> Path | None:
        """Return the path of the mesh `source`, or None if it is missing or outside the permitted folders."""
        if start := PACKAGE.match(source):
            name, _, rest = source[start.end() :].partition("/")
            name = name.rstrip(") ") if source.startswith("$") else name
            candidates = [(root, root / rest) for root in self._package(name)]
        elif SCHEME.match(source) or PurePosixPath(source).is_absolute() or PureWindowsPath(source).root:
            self.refused[source] = None
            return None
        else:
            candidates = [(root, self.folder / source) for root in (self.folder, *self.packages)]
        inside = [found for found in (_inside(root, path) for root, path in candidates) if found]
        for path in inside:
            if os.path.isfile(path):
                return path
        (self.missing if inside or not candidates else self.refused)[source] = None
        return None

    def warnings(self) -> Iterator[tuple[str, str]]:
        """Yield a (reason, remedy) pair of texts for each warning: about missing meshes, and about refused meshes."""
        if self.missing:
            remedy = "list the folders that contain the packages in packages=(...)"
            yield f"meshes not found: {listed(map(shown, self.missing))}", remedy
        if self.refused:
            reason = "meshes not loaded, because their paths are absolute, URLs or outside the model's folder"
            remedy = "use package:// or relative paths, and list further folders in packages=(...)"
            yield f"{reason}: {listed(map(shown, self.refused))}", remedy

    def package(self, name: str) -> Path | None:
        """Return the folder of the ROS package `name`, or None if it is not found."""
        return next((root for root in self._package(name) if root.is_dir()), None)

    def _package(self, name: str) -> Sequence[Path]:
        """Return the candidate folders for the ROS package `name`, in the order of search."""
        if name in ("", ".", ".."):
            return []
        named = [root for root in (*self.packages, *self.folder.parents, self.folder) if root.name == name]
        return [*(root / name for root in self.packages), *named]


def _inside(root: Path, path: Path) -> Path | None:
    """Return `path` with symbolic links resolved, or None if it is not below `root` before and after resolving them."""
    if not Path(os.path.normpath(path)).is_relative_to(root):
        return None
    real = Path(os.path.realpath(path))
    return real if real.is_relative_to(os.path.realpath(root)) else None
