"""Shapes of uneven ground: heights on a grid, or height as a function of x and y."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.geometry import Near, Shape, plain_numbers
from linkwork.spatial.scalar import Array, Number, lookup, maximum, minimum

NUDGE = 1e-4  # [m], step size of the finite differences of a height function
Two = Sequence[float]  # two numbers; stored as a tuple
Rows = Sequence[Sequence[float]] | Array  # numbers in rows of equal length; stored as tuples


def _over(p: Array, height: Number, slopes: Array, curvature: Array) -> Near:
    """Return distance and normal of the point p (3,) [m] relative to the ground below it, as a `Near` record.

    The ground has the height `height` [m], `slopes` (2,) and `curvature` (2, 2) [1/m] at p's x and y.
    """
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
    """Shape for `Builder.surface`: ground with heights on a regular grid.

    Heights between grid points are bilinear. Beyond an edge, the height is that at the edge. The solid is below.

    Parameters
    ----------
    size : array_like, shape (2,), [m]
        Extent along x and y, centred at the origin of the surface's frame.
    heights : array_like, shape (nx, ny), [m]
        Heights along z; the first index is along x, the second along y. nx and ny are at least 2.

    Examples
    --------
    >>> lw.HeightField((4.0, 2.0), [[0.0, 0.0], [0.1, 0.2]]).size
    (4.0, 2.0)

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
            raise ModelError("heights must be an array (nx, ny) of finite numbers, with nx and ny at least 2")
        object.__setattr__(self, "size", tuple(size.tolist()))
        rows: Any = heights.tolist()
        object.__setattr__(self, "heights", tuple(map(tuple, rows)))

    def near(self, p: Array) -> Near:
        """Return the height [m] of the point p (3,) [m] above the ground, and the ground's normal.

        The result also has the derivative of the normal with respect to p.
        """
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
    """Shape for `Builder.surface`: ground whose height is a function of x and y. The solid is below.

    The function is written in NumPy and is traced and compiled, as controllers are: it must not branch on values. Its
    slopes are finite differences. A mechanism with a Ground cannot be saved to a document, and a run with it cannot be
    saved to a file.

    Parameters
    ----------
    function : callable
        function(x, y) returns the height z [m] at x and y [m] in the surface's frame.

    Examples
    --------
    >>> hills = lw.Ground(lambda x, y: 0.1 * np.sin(x))
    >>> round(float(hills.function(0.5, 0.0)), 3)
    0.048

    """

    function: Callable[[Any, Any], Any]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ModelError(f"function must be callable as function(x, y); got {self.function!r:.80}")
        height = self.function(0.0, 0.0)
        if np.ndim(height) != 0 or not np.isfinite(float(height)):
            raise ModelError(f"function must return a finite height [m]; at (0, 0) it returned {height!r:.80}")

    def near(self, p: Array) -> Near:
        """Return the height [m] of the point p (3,) [m] above the ground, and the ground's normal.

        The result also has the derivative of the normal with respect to p.
        """
        x, y, e = p[0], p[1], NUDGE
        f = {(i, j): self.function(x + i * e, y + j * e) for i in (-1, 0, 1) for j in (-1, 0, 1)}
        slopes = np.array([f[1, 0] - f[-1, 0], f[0, 1] - f[0, -1]]) / (2.0 * e)
        xx, yy = (f[1, 0] - 2.0 * f[0, 0] + f[-1, 0]) / e**2, (f[0, 1] - 2.0 * f[0, 0] + f[0, -1]) / e**2
        xy = (f[1, 1] - f[1, -1] - f[-1, 1] + f[-1, -1]) / (4.0 * e**2)
        return _over(p, f[0, 0], slopes, np.array([[xx, xy], [xy, yy]]))


SurfaceShape = Shape | HeightField | Ground  # a Mesh can be named, but contacts with it are not supported yet


def checked_surface(shape: object, element: str) -> SurfaceShape:
    """Return `shape`; raise a ModelError if a surface for contacts cannot have this shape."""
    if not isinstance(shape, SurfaceShape):
        raise ModelError(
            f"shape must be a shape such as lw.Plane(), lw.HeightField(...) or lw.Ground(...); got {shape!r}", element
        )
    return shape
