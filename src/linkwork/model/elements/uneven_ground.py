"""Shapes of uneven ground: heights on a grid, or height as a function of x and y.

The *foot point* of a point is the nearest point of the ground, and the distance of the point is its distance from the
foot point. The normal force on a ball acts along the line from the foot point to the ball's centre, and the force of
its contact spring has a potential.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.geometry import Near, Rows, Shape, plain_numbers
from linkwork.model.model_tolerances import (
    BEYOND_EDGE,
    CONVEX,
    NEAREST_ROUND_OFF,
    NEARLY_NEAREST,
    ON_EDGE,
    SQUARED_DISTANCE_ROUND_OFF,
)
from linkwork.spatial.function_derivatives import SecondOrder, second_order
from linkwork.spatial.scalar import Array, Condition, Number, dot, lookup, maximum, minimum, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import HUGE, TINY

Two = Sequence[float]  # two numbers; stored as a tuple

# --- foot points on a Ground ---
MOST = 24  # largest number of iterations of Newton's method for a foot point; 3 to 5 are usual
ASIDE = 0.6  # distance of four starting points to the vertical projection, relative to the height of the point
# --- foot points on a HeightField ---
START = 0.25  # Newton's method starts at this fraction of a cell's width, or at 1 - START, whichever is nearer
SEARCHES = 5  # number of iterations of Newton's method with bisection for the foot point on one cell
RADIUS_IN_CELLS = 16  # largest offset of the foot point of a ball, in cells; the time grows with its square


class _Newton(NamedTuple):
    """Newton's matrix H (2, 2) for the nearest point (foot point) on a surface of height h(x, y), and its inverse.

    H has the second derivatives of half the squared distance of a point at `above` [m] over the surface: H = I + s s^T
    - above K. s (2,) are the slopes and K (2, 2) the second derivatives of h. If H is not positive definite, as above
    the centre of curvature of a valley, `convex` is false and the inverse of I + s s^T is used. `matrix` and `inverse`
    (3,) have the entries xx, xy, yy.
    """

    matrix: tuple[Number, Number, Number]
    inverse: tuple[Number, Number, Number]
    convex: Condition

    @staticmethod
    def of(above: Number, slopes: Array, curvature: Array) -> _Newton:
        """Return Newton's matrix for a point at `above` [m] over a surface.

        `slopes` (2,) and `curvature` (2, 2) [1/m] are the first and second derivatives of the surface's height.
        """
        (p, q), K = slopes, curvature
        flat = (1.0 + p * p, p * q, 1.0 + q * q)
        full = (flat[0] - above * K[0][0], flat[1] - above * K[0][1], flat[2] - above * K[1][1])
        det = full[0] * full[2] - full[1] * full[1]
        convex = (det > CONVEX * (1.0 + p * p + q * q)) & (full[0] + full[2] > 0.0)
        xx, xy, yy = (where(convex, a, b) for a, b in zip(full, flat, strict=True))
        det = where(convex, det, 1.0 + p * p + q * q)
        return _Newton(full, (yy / det, -xy / det, xx / det), convex)

    def solve(self, x: Number, y: Number) -> Array:
        """Return H^-1 (x, y) (2,), the solution of Newton's equations with the right-hand side x, y."""
        xx, xy, yy = self.inverse
        return np.array([xx * x + xy * y, xy * x + yy * y])

    def step(self, x: Number, y: Number, size: Number) -> Array:
        """Return Newton's step (2,) [m] towards the foot point, the nearest point of the surface.

        (x, y) [m] is minus the gradient of half the squared distance. If H is not positive definite, the gradient may
        be zero on a ridge between two foot points. The step then has a further part along the eigenvector of the
        negative eigenvalue, of the length `size` [m] times sqrt(-2 eigenvalue).
        """
        (xx, xy, yy), newton = self.matrix, self.solve(x, y)
        half = 0.5 * (xx - yy)
        root = np.sqrt(half * half + xy * xy)
        value = minimum(0.5 * (xx + yy) - root, 0.0)
        # Eigenvector: of the two rows of H - value I, the one without cancellation
        direction = where(half > 0.0, np.array([xy, -half - root]), np.array([half - root, xy]))
        length = np.sqrt(direction[0] * direction[0] + direction[1] * direction[1] + TINY)
        side = where(direction[0] * x + direction[1] * y < 0.0, -1.0, 1.0)
        aside = direction * (side * size * np.sqrt(-2.0 * value) / length)
        return where(self.convex, newton, newton + aside)


def _above_face(apart: Array, slopes: Array, curvature: Array) -> Near:
    """Return the `Near` (distance, normal, its derivative) of a point with its foot point on a smooth part.

    `apart` (3,) [m] is the vector from the foot point to the point. The height of the surface has `slopes` (2,) and the
    second derivatives `curvature` (2, 2) [1/m] at the foot point. The derivative `bend` of the normal with respect to
    the point is the curvature of the parallel surface through the point: the derivative of the normal with respect to
    the foot point, times the derivative of the foot point with respect to the point.
    """
    p, q = slopes
    length = np.sqrt(1.0 + p * p + q * q)
    normal = np.array([-p, -q, 1.0]) / length
    newton = _Newton.of(apart[2], slopes, curvature)
    turns = []
    for k in range(2):
        turn = np.array([-curvature[0][k], -curvature[1][k], 0.0])
        turns.append((turn - normal * dot(normal, turn)) / length)
    columns = (newton.solve(*along) for along in ((1.0, 0.0), (0.0, 1.0), (p, q)))
    bend = np.array([turns[0] * x + turns[1] * y for x, y in columns]).T
    return Near(dot(apart, normal), normal, bend)


@dataclass(frozen=True)
class HeightField:
    """Shape for `Builder.surface`: ground with heights on a regular grid.

    Heights between grid points are bilinear. Beyond the border of the grid, the height is that at the border. The solid
    is below the ground. A ball touches the ground at the nearest point. If this point is on the edge between two cells,
    the normal points from the edge to the centre of the ball, so that a ball rolls over a ridge without a change of
    energy.

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

    @cached_property
    def _table(self) -> Array:
        return np.array(self.heights)

    @cached_property
    def cell(self) -> Array:
        """Size (2,) [m] of a cell of the height field's grid along x and y."""
        return np.array(self.size) / (np.array(self._table.shape) - 1)

    @cached_property
    def lean(self) -> Array:
        """Largest sine (2,) of the angle between surface normals and the z axis, in the planes xz and yz.

        A foot point at the distance d from a point is displaced from it along x and y by at most d times these numbers.
        The slope of a bilinear cell is largest on its edges.
        """
        slopes = np.array([np.abs(np.diff(self._table, axis=k)).max() / self.cell[k] for k in (0, 1)])
        return slopes / np.hypot(1.0, slopes)

    @property
    def largest_radius(self) -> float:
        """Radius [m] of the largest ball that can touch the ground: its foot point is at most 16 cells away.

        The distance in cells is counted along x and along y, from the point below the centre of the ball.
        """
        return float(RADIUS_IN_CELLS * (self.cell / np.maximum(self.lean, TINY)).min())

    def height(self, x: Number, y: Number) -> Number:
        """Return the height z [m] of the ground at x and y [m], all in the frame of the surface."""
        ax, ay = self._in_cells(x, y)
        i, j = np.floor(ax), np.floor(ay)
        return self._patch(i, j).height(ax - i, ay - j)

    def near(self, p: Array, radius: float = 0.0) -> Near:
        """Return the distance [m] of the point p (3,) [m] from the ground, negative below it, and the outward normal.

        Normal and derivative of the normal [1/m] are those at the foot point, in the frame of the surface. The foot
        point is the nearest point in a block of cells around the cell below p: one further cell on each side, or as
        many as the foot point of a ball of the given `radius` [m] can be away. If p is farther from the ground than
        `radius`, above or below, the magnitude of the distance may be too large.
        """
        width, lean = self.cell, self.lean
        # Number of neighbouring cells on each side
        reach = [max(1, int(np.ceil(radius * lean[k] / width[k]))) for k in (0, 1)]
        ax, ay = self._in_cells(p[0], p[1])
        above = p[2] - self.height(p[0], p[1])
        lows, counts = [], []
        for a, cells, most in zip((ax, ay), reach, lean / width, strict=True):
            aside, middle = minimum(abs(above) * most, float(cells)), np.floor(a)
            lows.append(maximum(np.floor(a - aside), middle - cells))
            counts.append(minimum(np.floor(a + aside), middle + cells) - lows[-1] + 1.0)

        def visit(k: Number, least: Number, *best: Number) -> tuple[tuple[Number, ...], Condition]:
            """Compute the foot point (nearest point) on cell number k; return the next state of the search.

            The state is (k, least, i, j, s, t): the squared distance [m^2] of the nearest foot point so far, its cell,
            and its position in this cell. The second result is whether all cells were visited.
            """
            column = np.floor((k + 0.5) / counts[1])
            i, j = lows[0] + column, lows[1] + (k - column * counts[1])
            s, t, squared = self._patch(i, j).foot((ax - i) * width[0], (ay - j) * width[1], p[2])
            nearer = squared < least
            state = [where(nearer, new, old) for new, old in zip((squared, i, j, s, t), (least, *best), strict=True)]
            return (k + 1.0, *state), k + 1.0 >= counts[0] * counts[1]

        most = (2 * reach[0] + 1) * (2 * reach[1] + 1)
        (_, _, i, j, s, t), _, _ = iterate(most, visit, 0.0, HUGE, np.floor(ax), np.floor(ay), 0.0, 0.0)
        return self._patch(i, j).near(
            s, t, (ax - i) * width[0], (ay - j) * width[1], p[2], above, ON_EDGE * max(self.size)
        )

    def _in_cells(self, x: Number, y: Number) -> tuple[Number, Number]:
        """Return the position x, y [m] as distances from the first grid point, in units of cells."""
        (sx, sy), (wx, wy) = self.size, self.cell
        return (x + 0.5 * sx) / wx, (y + 0.5 * sy) / wy

    def _patch(self, i: Number, j: Number) -> _Patch:
        """Return the cell of the height field between the grid points i, i + 1 and j, j + 1.

        Outside the grid, the heights are those at the nearest point of its border.
        """
        table, (nx, ny) = self._table, self._table.shape
        x, y = ([minimum(maximum(a + k, 0.0), n - 1.0) for k in (0, 1)] for a, n in ((i, nx), (j, ny)))
        (a, b), (c, d) = ([lookup(table.ravel(), u * ny + v + 0.5) for v in y] for u in x)
        return _Patch(self.cell, a, c - a, b - a, (a - b) - (c - d))


class _Patch(NamedTuple):
    """A cell of a height field, with height corner + along_x s + along_y t + twist s t [m] at 0 <= s, t <= 1.

    `width` (2,) [m] is the size of the cell. Positions x, y [m] are relative to the corner s = t = 0.
    """

    width: Array
    corner: Number
    along_x: Number
    along_y: Number
    twist: Number

    def height(self, s: Number, t: Number) -> Number:
        """Return the height [m] of the cell at the coordinates s and t."""
        return self.corner + self.along_x * s + (self.along_y + self.twist * s) * t

    def foot(self, x: Number, y: Number, z: Number) -> tuple[Number, Number, Number]:
        """Return s and t of the foot point (nearest point) of a point x, y, z [m], and the squared distance [m^2].

        For a given s, the foot point on the straight line along t has a closed form. The squared distance to it, as a
        function of s, is minimized by Newton's method. It can have two minima in a cell with a large twist, so the
        search begins at the nearer of two lines. Bisection replaces steps that leave the bracket.
        """
        wx, wy = self.width
        low, high = 0.0 * x, 0.0 * x + 1.0
        a, b = START, 1.0 - START
        s = where(self._squared(a, x, y, z) < self._squared(b, x, y, z), a + low, b + low)
        for _ in range(SEARCHES):
            t = self._along(s, y, z)
            rise_s, rise_t = self.along_x + self.twist * t, self.along_y + self.twist * s
            over = z - self.height(s, t)
            slope = -((x - s * wx) * wx + over * rise_s)  # derivative of half the squared distance
            coupling, long = rise_s * rise_t - over * self.twist, wy * wy + rise_t * rise_t
            steep = wx * wx + rise_s * rise_s
            curve = steep - where((t > 0.0) & (t < 1.0), coupling * coupling / long, 0.0)
            low, high = where(slope < 0.0, s, low), where(slope < 0.0, high, s)
            convex = curve > CONVEX * steep
            step = s - slope / where(convex, curve, steep)
            middle = 0.5 * (low + high)
            below, beyond = where(low > 0.0, middle, 0.0), where(high < 1.0, middle, 1.0)
            s = where(step < low, below, where(step > high, beyond, step))
        return s, self._along(s, y, z), self._squared(s, x, y, z)

    def _squared(self, s: Number, x: Number, y: Number, z: Number) -> Number:
        """Return the squared distance [m^2] of a point x, y, z [m] from the straight line of constant s on the cell."""
        apart = self._vector_from_cell(s, self._along(s, y, z), x, y, z)
        return dot(apart, apart)

    def _along(self, s: Number, y: Number, z: Number) -> Number:
        """Return t of the foot point on the cell's line of constant s, for a point at y and z [m]."""
        wy, rise = self.width[1], self.along_y + self.twist * s
        t = (y * wy + (z - (self.corner + self.along_x * s)) * rise) / (wy * wy + rise * rise)
        return minimum(maximum(t, 0.0), 1.0)

    def _vector_from_cell(self, s: Number, t: Number, x: Number, y: Number, z: Number) -> Array:
        """Return the vector (3,) [m] from the cell's point at s and t to the point x, y, z [m]."""
        return np.array([x - s * self.width[0], y - t * self.width[1], z - self.height(s, t)])

    def near(self, s: Number, t: Number, x: Number, y: Number, z: Number, above: Number, round_off: float) -> Near:
        """Return the `Near` (distance, normal, its derivative) of x, y, z [m], whose foot point on the cell is s, t.

        The foot point may be on an edge or a corner of the cell. If the line from it to the point is then not along the
        normal of the cell, the result is the distance to the edge or corner. The point is at `above` [m] over the
        ground; `round_off` [m] is the error of coordinates.
        """
        apart, none = self._vector_from_cell(s, t, x, y, z), 0.0 * s
        wx, wy = self.width
        slopes = np.array([(self.along_x + self.twist * t) / wx, (self.along_y + self.twist * s) / wy])
        mixed = self.twist / (wx * wy)
        face = _above_face(apart, slopes, np.array([[none, mixed], [mixed, none]]))
        squared = dot(apart, apart)
        length = np.sqrt(where(squared > 0.0, squared, 1.0))
        # Tangents of the cell along s and t at the foot point, and whether the line to the point has a component along
        # them
        tangents = [np.array([1.0, none, slopes[0]]), np.array([none, 1.0, slopes[1]])]
        tangents = [tangent / np.sqrt(dot(tangent, tangent)) for tangent in tangents]
        leans = [abs(dot(apart, tangent)) > BEYOND_EDGE * length + round_off for tangent in tangents]
        edge = (leans[0] | leans[1]) & (squared > 0.0)
        distance = where(above < 0.0, -length, length)
        normal = apart / distance
        bend = np.eye(3) - np.outer(normal, normal)
        for lean, tangent in zip(leans, tangents, strict=True):
            bend = bend - np.outer(tangent, tangent) * where(lean, 0.0, 1.0)
        outer = Near(distance, normal, bend / distance)
        return Near(*(where(edge, a, b) for a, b in zip(outer, face, strict=True)))


@dataclass(frozen=True, eq=False)
class Ground:
    """Shape for `Builder.surface`: ground whose height is a function of x and y. The solid is below the ground.

    The function is written in NumPy and is traced and compiled, as controllers are: it must not branch on values. Its
    derivatives are exact: linkwork differentiates the compiled function. A derivative that is not finite counts as 0.
    The function should be smooth over the radius of the balls that touch it; a `HeightField` may have edges. A ball
    touches the ground at the nearest point, which Newton's method finds. If the ground is more curved than the ball,
    there can be several nearest points; the ball then touches one of them. A mechanism with a Ground cannot be saved to
    a document, and a run with it cannot be saved to a file.

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
        """Return the distance [m] of the point p (3,) [m] from the ground, negative below it, and the outward normal.

        Normal and derivative of the normal [1/m] are those at the foot point, in the frame of the surface. Newton's
        method minimizes the squared distance, with the step halved while the distance does not decrease. It starts at
        the nearest of five points of the ground: that above or below p, and four others for narrow valleys.
        """
        x, y, z = p
        size = NEAREST_ROUND_OFF * NEAREST_ROUND_OFF * dot(p, p)

        def apart(dx: Number, dy: Number, height: Number) -> Array:
            return np.array([-dx, -dy, z - height])

        def visit(best: Array, step: Array, least: Number) -> tuple[tuple[Array, Array, Number], Condition]:
            """Evaluate the ground at the horizontal offset `best` + `step` (2,) [m] from p; return the next state.

            The state is (best offset, next step, least squared distance [m^2] so far). The second result is whether
            the search is complete.
            """
            u, v = best + step
            ground = self._second_order(x + u, y + v)
            over = z - ground.value
            squared = u * u + v * v + over * over
            nearer = squared <= least * (1.0 + SQUARED_DISTANCE_ROUND_OFF) + size / SQUARED_DISTANCE_ROUND_OFF
            newton = _Newton.of(over, ground.slopes, ground.curvature)
            onward = newton.step(over * ground.slopes[0] - u, over * ground.slopes[1] - v, abs(over))
            best, step = where(nearer, np.array([u, v]), best), where(nearer, onward, 0.5 * step)
            done = step[0] * step[0] + step[1] * step[1] <= NEARLY_NEAREST * NEARLY_NEAREST * squared + size
            return (best, step, where(nearer, squared, least)), done

        first = apart(0.0, 0.0, self.function(x, y))
        aside = ASIDE * abs(first[2])
        start, least = np.array([0.0 * x, 0.0 * x]), dot(first, first)
        for dx, dy in ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)):
            offset = np.array([dx * aside, dy * aside])
            other = apart(offset[0], offset[1], self.function(x + offset[0], y + offset[1]))
            squared = dot(other, other)
            nearer = squared < least
            start, least = where(nearer, offset, start), where(nearer, squared, least)
        (best, step, _), _, done = iterate(MOST, visit, start, np.array([0.0 * x, 0.0 * x]), HUGE)
        u, v = where(done, best + step, best)
        ground = self._second_order(x + u, y + v)
        return _above_face(apart(u, v, ground.value), ground.slopes, ground.curvature)

    def _second_order(self, x: Number, y: Number) -> SecondOrder:
        """Return height [m], slopes (2,) and second derivatives (2, 2) [1/m] at x, y [m]; 0 for non-finite ones."""
        value, *derivatives = second_order(self.function, x, y)
        finite = [np.array([where(abs(d) < HUGE, d, 0.0) for d in np.ravel(one)]) for one in derivatives]
        return SecondOrder(value, finite[0], finite[1].reshape(2, 2))


SurfaceShape = Shape | HeightField | Ground  # a Mesh can be named, but contacts with it are not supported yet


def checked_surface(shape: object, element: str) -> SurfaceShape:
    """Return `shape`; raise a ModelError if a surface for contacts cannot have this shape.

    The message names the element `element`.
    """
    if not isinstance(shape, SurfaceShape):
        raise ModelError(
            f"shape must be a shape such as lw.Plane(), lw.HeightField(...) or lw.Ground(...); got {shape!r}", element
        )
    return shape
