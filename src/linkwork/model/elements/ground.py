"""Ground that is not flat: heights on a grid, or a function of the place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.geometry import Near, Shape, plain_numbers
from linkwork.spatial.scalar import Array, Number, lookup, maximum, minimum

NUDGE = 1e-4  # [m] by which a function of ground is asked aside, for its slopes
Two = Sequence[float]  # two numbers; kept as a tuple
Rows = Sequence[Sequence[float]] | Array  # numbers in rows of one length; kept as tuples


def _over(p: Array, height: Number, slopes: Array, curvature: Array) -> Near:
    """Near ground of a `height` [m] below or above p (3,), with its slopes (2,) and their derivatives (2, 2) [1/m]."""
    steep = np.array([-slopes[0], -slopes[1], 1.0])
    length = np.sqrt(1.0 + slopes[0] * slopes[0] + slopes[1] * slopes[1])
    normal = steep / length
    columns = []
    for k in range(2):
        turn = np.array([-curvature[0][k], -curvature[1][k], 0.0])
        columns.append((turn - normal * (normal @ turn)) / length)
    return Near((p[2] - height) / length, normal, np.array([*columns, np.zeros(3)]).T)


@dataclass(frozen=True)
class HeightField:
    """Ground of given `heights` [m], rows along x and in each of them along y, over `size` (x, y) [m] about its origin.

    Between them it is bilinear, and beyond its edges as at its edges. The solid is below.
    """

    size: Two
    heights: Rows

    def __post_init__(self) -> None:
        try:
            heights = np.array(self.heights, dtype=float)
        except (TypeError, ValueError):
            heights = np.zeros(0)
        size = np.array(plain_numbers(self.size, 2, "size"))
        if not size.all():
            raise ModelError(f"size must be 2 finite numbers > 0; got {self.size!r}")
        if heights.ndim != 2 or min(heights.shape) < 2 or not np.isfinite(heights).all():
            raise ModelError("heights must be finite numbers in at least two rows of one length, at least two in each")
        object.__setattr__(self, "size", tuple(size.tolist()))
        rows: Any = heights.tolist()
        object.__setattr__(self, "heights", tuple(map(tuple, rows)))

    def near(self, p: Array) -> Near:
        """How near p (3,) [m] is."""
        table = np.array(self.heights)
        cells = np.array(table.shape) - 1
        index, part, width = [], [], np.array(self.size) / cells
        for x, count, size, step in zip(p[:2], cells, self.size, width, strict=True):
            along = minimum(maximum((x + 0.5 * size) / step, 0.0), float(count))
            cell = minimum(np.floor(along), count - 1.0)
            index.append(cell)
            part.append(along - cell)
        corners = [
            [lookup(table.ravel(), (index[0] + i) * table.shape[1] + (index[1] + j) + 0.5) for j in (0, 1)]
            for i in (0, 1)
        ]
        (a, b), (c, d) = corners
        s, t = part
        twist = a - b - c + d
        slopes = np.array([((c - a) + twist * t) / width[0], ((b - a) + twist * s) / width[1]])
        mixed = twist / (width[0] * width[1])
        return _over(p, a + (c - a) * s + (b - a) * t + twist * s * t, slopes, np.array([[0.0, mixed], [mixed, 0.0]]))


@dataclass(frozen=True, eq=False)
class Ground:
    """Ground whose height [m] is a `function(x, y)` of the place [m] in its frame; the solid is below.

    The function is plain NumPy, as controllers are, and becomes machine code. Its slopes are taken by differences. It
    cannot be written to a document, nor can a run on it to a file.
    """

    function: Callable[[Any, Any], Any]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ModelError(f"function must be a function of x and y; got {self.function!r:.80}")
        height = self.function(0.0, 0.0)
        if np.ndim(height) != 0 or not np.isfinite(float(height)):
            raise ModelError(f"function must give a finite height [m]; at (0, 0) it gave {height!r:.80}")

    def near(self, p: Array) -> Near:
        """How near p (3,) [m] is."""
        x, y, e = p[0], p[1], NUDGE
        f = {(i, j): self.function(x + i * e, y + j * e) for i in (-1, 0, 1) for j in (-1, 0, 1)}
        slopes = np.array([f[1, 0] - f[-1, 0], f[0, 1] - f[0, -1]]) / (2.0 * e)
        xx, yy = (f[1, 0] - 2.0 * f[0, 0] + f[-1, 0]) / e**2, (f[0, 1] - 2.0 * f[0, 0] + f[0, -1]) / e**2
        xy = (f[1, 1] - f[1, -1] - f[-1, 1] + f[-1, -1]) / (4.0 * e**2)
        return _over(p, f[0, 0], slopes, np.array([[xx, xy], [xy, yy]]))


SurfaceShape = Shape | HeightField | Ground  # what contacts can touch; a mesh only by name, as yet


def checked_surface(shape: object, element: str) -> SurfaceShape:
    """`shape`, if it is one that a surface can have."""
    if not isinstance(shape, SurfaceShape):
        raise ModelError(f"shape must be a shape such as lw.Plane(), a HeightField or a Ground; got {shape!r}", element)
    return shape
