"""Where a model's meshes are on this machine. Nothing outside the model's folder and the packages is ever looked at."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath

from linkwork.errors import listed
from linkwork.model.documents.xml_parser import shown

PACKAGE = "package://"
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")  # a URL's, or a drive of Windows


class MeshPaths:
    """Finds the meshes that the file `model` names, and remembers those that it did not find or would not seek.

    `package://name/rest` is sought in `name` below each folder of `packages`, in such a folder that is itself called
    `name`, and in a folder called `name` above the model.
    """

    def __init__(self, model: Path, packages: Iterable[str]):
        self.folder = Path(os.path.realpath(model)).parent  # workspaces link to models; their meshes are beside them
        self.packages = [Path(os.path.realpath(package)) for package in packages]
        self.missing: dict[str, None] = {}
        self.refused: dict[str, None] = {}

    def find(self, source: str) -> Path | None:
        """The file that `source` names, if it is there and where it may be."""
        if source.startswith(PACKAGE):
            name, _, rest = source.removeprefix(PACKAGE).lstrip("/").partition("/")
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

    def doubts(self) -> Iterator[tuple[str, str]]:
        """Which meshes are not to be had, each time with a remedy."""
        if self.missing:
            remedy = "name the folders that hold the packages in packages=(...)"
            yield f"meshes not found: {listed(map(shown, self.missing))}", remedy
        if self.refused:
            reason = "meshes not looked at, being absolute, URLs or outside the model's folder"
            remedy = "write package:// or relative paths, and name folders beside the model's in packages=(...)"
            yield f"{reason}: {listed(map(shown, self.refused))}", remedy

    def _package(self, name: str) -> Sequence[Path]:
        """The folders that the package `name` may be."""
        if name in ("", ".", ".."):
            return []
        named = [root for root in (*self.packages, *self.folder.parents, self.folder) if root.name == name]
        return [*(root / name for root in self.packages), *named]


def _inside(root: Path, path: Path) -> Path | None:
    """`path` with links followed, if it is below `root` as it is written and as it is."""
    if not Path(os.path.normpath(path)).is_relative_to(root):
        return None
    real = Path(os.path.realpath(path))
    return real if real.is_relative_to(os.path.realpath(root)) else None
