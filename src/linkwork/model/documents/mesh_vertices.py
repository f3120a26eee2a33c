"""Vertices of mesh files in the formats STL and OBJ."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.documents.base_reader import LARGEST
from linkwork.model.documents.xml_parser import read_bytes
from linkwork.spatial.scalar import Array

STL_HEADER = 84  # bytes of a comment and the number of triangles, at the beginning of a binary STL file
TRIANGLE = np.dtype([("normal", "<f4", 3), ("vertices", "<f4", (3, 3)), ("attribute", "<u2")])


def mesh_vertices(path: Path) -> Array:
    """Return the vertices (n, 3) of the STL or OBJ file at `path`, in the unit of the file.

    Raise a ModelError if the file is invalid, too large or of another type.
    """
    data = read_bytes(path)
    suffix = path.suffix.lower()
    if suffix == ".stl":
        vertices = _binary_stl(data) if _is_binary(data) else _written_vertices(data, b"vertex")
    elif suffix == ".obj":
        vertices = _written_vertices(data, b"v")
    else:
        raise ModelError(f"unsupported mesh type {suffix!r}; expected .stl or .obj", file=str(path))
    if not len(vertices) or not (np.abs(vertices) < LARGEST).all():
        raise ModelError("the mesh has no vertices, or vertices that are not finite numbers", file=str(path))
    return vertices


def _is_binary(data: bytes) -> bool:
    """Return whether `data` is a binary STL file: long enough for the number of triangles that it gives.

    Data without triangles that begin with "solid" are a text file.
    """
    if len(data) < STL_HEADER:
        return False
    count = int(np.frombuffer(data, "<u4", 1, STL_HEADER - 4)[0])
    return len(data) >= STL_HEADER + count * TRIANGLE.itemsize and not (count == 0 and data.startswith(b"solid"))


def _binary_stl(data: bytes) -> Array:
    """Return the vertices (n, 3) of the triangles in `data`, a binary STL file, in the unit of the file."""
    count = int(np.frombuffer(data, "<u4", 1, STL_HEADER - 4)[0])
    return np.frombuffer(data, TRIANGLE, count, STL_HEADER)["vertices"].reshape(-1, 3).astype(float)


def _written_vertices(data: bytes, keyword: bytes) -> Array:
    """Return the vertices (n, 3) in the text `data`: the three words after `keyword` on each line that begins with it.

    The vertices are in the unit of the file. Numbers that are not valid are NaN.
    """
    found: list[list[float]] = []
    for line in data.splitlines():
        words = line.split()
        if words and words[0] == keyword:
            try:
                found.append([float(word) for word in (words[1], words[2], words[3])])
            except (ValueError, IndexError):
                found.append([np.nan] * 3)
    return np.array(found).reshape(-1, 3)
