"""Signed distance of two convex solids, from their support points: the GJK algorithm on solids that are moved apart.

The *separation* along a unit normal n is s(n) = min n . x - max n . y over the points x of A and y of B; the signed
distance is the maximum of s(n) over all normals. The nearest points of separated solids follow from GJK. If the solids
penetrate, each iteration first moves A along the present normal n until the separation is a small margin. GJK then
gives the normal m of the moved solids. s(m) >= s(n), because moving by t n increases the separation along m by at most
t. The iteration stops at a local maximum of s. Every returned separation is a lower bound of the signed distance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from linkwork.algorithms.collision.collision_tolerances import (
    FLAT_TRIANGLE,
    GJK_GAP,
    NORMAL_ROUND_OFF,
    SEPARATION_GAIN,
    SEPARATION_MARGIN,
)
from linkwork.algorithms.collision.contact_patch import axis, clamp, unit
from linkwork.spatial.scalar import Array, Condition, Number, cross, dot, maximum, where
from linkwork.spatial.traceable_loops import iterate, repeat
from linkwork.tolerances import HUGE, TINY

SHIFTS = 16  # largest number of iterations that move the solids apart; 2 or 3 are usual
MOST = 48  # largest number of iterations of GJK; polytopes need about 10, cylinders 20
REFINE = 3  # iterations of Newton's method, which start from the normal of GJK with its error below 1e-3
DEEP = 0.01  # penetration, relative to the size, above which all faces of hulls are visited
STEEP = 0.6  # `tangents` projects the x axis, or the z axis if the normal has a larger component along x than this


class Faces(NamedTuple):
    """The faces of a convex hull.

    `count` is the number of faces, and `most` the largest number of faces of any hull of the mechanism. `normal(k)`
    returns the outward unit normal (3,) of face number k, counted from 0, in the frame of B.
    """

    count: Number
    most: int
    normal: Callable[[Number], Array]


class Solid(Protocol):
    """Interface of a convex solid in the frame of B, with the functions that the search for the separation calls."""

    @property
    def centre(self) -> Array:
        """Return a point (3,) [m] inside the solid."""
        ...

    @property
    def size(self) -> Number:
        """Return a length [m] of the order of the largest extent of the solid, the scale of its tolerances."""
        ...

    def support(self, n: Array) -> Array:
        """Return the point (3,) [m] of the solid that is farthest along n (3,)."""
        ...

    @property
    def faces(self) -> Faces | None:
        """Return the faces of a convex hull, which are searched for the normal, or None for other solids."""
        ...

    @property
    def lines(self) -> Sequence[Array]:
        """Return the directions (3,) of straight lines on the surface of the solid, such as the edges of a box."""
        ...

    def bend(self, n: Array) -> Array:
        """Return the vector k (3,) [m^(1/2)] that describes the curvature of the surface facing n (3,).

        The derivative of the support point with respect to n is the matrix k k^T (3, 3) [m].
        """
        ...

    def axes(self, n: Array) -> Sequence[Array]:
        """Return outward unit normals (3,) of smooth parts of the surface: on each part, the one nearest to n (3,)."""
        ...


class Separation(NamedTuple):
    """Separation of two solids A and B, and their nearest points, in the frame of B.

    `value` [m] is the separation along the unit vector `normal` (3,) from B to A, negative if the solids penetrate.
    `on_a` and `on_b` (3,) [m] are the nearest points of A and B. If the solids penetrate, they are the points that
    become the nearest when A is moved out of B along a normal.
    """

    value: Number
    normal: Array
    on_a: Array
    on_b: Array


class _Corner(NamedTuple):
    """Point w of the Minkowski difference A - B of two solids, with the point of A that gives w.

    w (3,) [m] is the point of A, after the translation of A by `_gjk`, minus the point of B. `on_a` (3,) [m] is the
    point of A before this translation.
    """

    w: Array
    on_a: Array


class _Nearest(NamedTuple):
    """Nearest point to the origin on an edge or triangle at the newest vertex of a simplex.

    The point is new + s (second - new) + t (third - new) with the newest vertex `new`, the weights s and t, and the
    other vertices `second` and `third`; t is 0 on an edge. `squared` [m^2] is the squared distance of the point from
    the origin.
    """

    squared: Number
    s: Number
    t: Number
    second: _Corner
    third: _Corner


def separation(a: Solid, b: Solid) -> Separation:
    """Return the largest separation [m] of two solids over all normals, with its normal (3,) and the nearest points.

    If the solids penetrate, the separation is negative, and may be a local instead of the global maximum. a and b are
    the solids A and B.
    """
    size = a.size + b.size
    towards, _ = unit(a.centre - b.centre, axis(2))
    value, normal = -HUGE, towards
    for start in _starts(a, b, towards):
        found = _along(a, b, start)
        better = found > value + SEPARATION_GAIN * size
        value, normal = where(better, found, value), where(better, start, normal)

    def improve(value: Number, normal: Array, *rest: Any) -> tuple[tuple[Any, ...], Condition]:
        """Make one iteration: move the solids apart along `normal`, and find their nearest points and the new normal.

        `value` [m] is the separation along `normal` (3,). `rest` is the largest separation so far with its normal and
        nearest points, and last 1 if the faces of hulls were visited, else 0. Return the new state of the iteration,
        and whether it stops. The iteration stops when the separation stops growing. If the solids then penetrate
        deeply, it begins once more at the face of a hull with the largest separation.
        """
        *best, scanned = rest
        distance = maximum(SEPARATION_MARGIN * size - value, 0.0)
        new, turned, on_a, on_b = _gjk(a, b, normal, normal * distance)
        stops = (new <= value + SEPARATION_GAIN * size) | (distance <= 0.0)
        better = new > value
        value, normal = where(better, new, value), where(better, turned, normal)
        better = value > best[0]
        state = zip((value, normal, on_a, on_b), best, strict=True)
        best = [where(better, one, other) for one, other in state]
        scans = stops & (value < -DEEP * size) & (scanned < 0.5)
        along, turned = -HUGE + 0.0 * value, normal
        for solid, side in ((b, 1.0), (a, -1.0)):
            if solid.faces is not None:
                along, turned = _scanned(a, b, solid.faces, side, scans, (along, turned))
        again = along > -HUGE
        done = where(stops, 1.0, 0.0) - where(again, 1.0, 0.0) > 0.5
        value, normal = where(again, along, value), where(again, turned, normal)
        return (value, normal, *best, where(scans, 1.0, scanned)), done

    initial = (value, normal, -HUGE + 0.0 * value, normal, a.centre * 1.0, b.centre * 1.0, 0.0 * value)
    (_, _, value, normal, on_a, on_b, _), _, _ = iterate(SHIFTS, improve, *initial)
    for other in _refined(a, b, normal):
        found = _along(a, b, other)
        equal = found > value - NORMAL_ROUND_OFF * size
        value, normal = where(equal, found, value), where(equal, other, normal)
    return Separation(value, normal, on_a, on_b)


def _scanned(
    a: Solid, b: Solid, faces: Faces, side: float, scans: Condition, best: tuple[Number, Array]
) -> tuple[Number, Array]:
    """Return the largest separation [m] along the face normals of a hull, with its normal (3,), or `best` if larger.

    `best` has the largest separation [m] found so far and its normal (3,). a and b are the solids A and B. `faces` are
    the faces of one of them, and `side` is 1 for faces of B and -1 for faces of A. If the condition `scans` is false,
    the function visits no face and returns `best`.
    """
    count = where(scans, faces.count, 0.0)

    def visit(k: Number, value: Number, normal: Array) -> tuple[tuple[Number, Number, Array], Condition]:
        """Compare the separation along the normal of face k with the largest separation found so far."""
        n = faces.normal(k) * side
        found = where(count > 0.0, _along(a, b, n), value)
        better = found > value
        return (k + 1.0, where(better, found, value), where(better, n, normal)), k + 1.0 >= count

    (_, value, normal), _, _ = iterate(faces.most, visit, 0.0 * best[0], *best)
    return value, normal


def _starts(a: Solid, b: Solid, towards: Array) -> list[Array]:
    """Return unit vectors (3,) from which the search for the normal of largest separation starts.

    One of the vectors is near the normal of largest separation unless the solids penetrate deeply. The vectors are the
    direction `towards` (3,) from B to A, normals of faces, and normals perpendicular to straight lines on the surface
    of one or both solids. a and b are the solids A and B.
    """
    starts = [towards, *b.axes(towards), *a.axes(towards)]
    starts += [perpendicular(d, towards, towards) for d in (*b.lines, *a.lines)]
    for d in b.lines:
        for e in a.lines:
            across, _ = unit(cross(d, e), towards)
            starts.append(across * where(dot(across, towards) < 0.0, -1.0, 1.0))
    return starts


def _refined(a: Solid, b: Solid, n: Array) -> list[Array]:
    """Return unit vectors (3,) near n (3,), one of which is the normal of largest separation to round-off.

    Newton's method gives some of the vectors: it solves the equations for the contact of two vertices or rims, or of a
    straight line with a rim. The others are normals of faces, and vector products of straight lines of both solids. a
    and b are the solids A and B.
    """
    refined = [_newton(a, b, n, None)]
    refined += [_newton(a, b, perpendicular(d, n, n), d) for d in (*b.lines, *a.lines)]
    for d in b.lines:
        for e in a.lines:
            across, _ = unit(cross(d, e), n)
            refined.append(across * where(dot(across, n) < 0.0, -1.0, 1.0))
    return [*refined, *b.axes(n), *a.axes(n)]


def _newton(a: Solid, b: Solid, start: Array, line: Array | None) -> Array:
    """Return the unit normal (3,) near the unit vector `start` (3,) at which the separation is stationary.

    The normal is improved by `REFINE` steps of Newton's method. If `line` (3,) is given, a direction perpendicular to
    `start`, the normal stays perpendicular to it. a and b are the solids A and B.
    """

    def step(_: Number, n: Array) -> tuple[Array]:
        """Return the normal (3,) after one Newton step, with the second derivatives of vertices or rims."""
        w = a.support(-n) - b.support(n)
        curves, value = (a.bend(-n), b.bend(n)), dot(n, w)
        first, second = tangents(n)
        if line is not None:
            first, _ = unit(cross(line, n), first)
        slopes = [dot(first, w), dot(second, w) if line is None else 0.0]
        xx, xy, yy = value, 0.0 * value, value
        for curve in curves:
            x, y = dot(first, curve), dot(second, curve)
            xx, xy, yy = xx + x * x, xy + x * y, yy + y * y
        if line is not None:
            xy, yy = 0.0, 1.0
        det = xx * yy - xy * xy
        convex = (det > TINY) & (xx > 0.0)
        scale = where(convex, 1.0 / where(convex, det, 1.0), 0.0)
        u, v = (yy * slopes[0] - xy * slopes[1]) * scale, (xx * slopes[1] - xy * slopes[0]) * scale
        small = u * u + v * v < 1e-2
        moved = n + (first * u + second * v) * where(small, 1.0, 0.0)
        return (moved / np.sqrt(dot(moved, moved)),)

    return repeat(REFINE, step, start)[0]


def tangents(n: Array) -> tuple[Array, Array]:
    """Return two unit vectors (3,) that are perpendicular to the unit vector n (3,) and to each other."""
    seed = where(abs(n[0]) > STEEP, axis(2), axis(0))
    first = seed - n * dot(seed, n)
    first = first / np.sqrt(dot(first, first))
    return first, cross(n, first)


def perpendicular(d: Array, n: Array, otherwise: Array) -> Array:
    """Return the unit vector (3,) nearest to n (3,) that is perpendicular to the unit vector d (3,).

    If n is parallel to d, the result is `otherwise` (3,).
    """
    aside = n - d * dot(d, n)
    squared = dot(aside, aside)
    there = squared > 1e-16
    return where(there, aside / np.sqrt(where(there, squared, 1.0)), otherwise)


def _along(a: Solid, b: Solid, n: Array) -> Number:
    """Return the separation [m] of two solids along a unit normal n (3,) from B to A.

    a and b are the solids A and B.
    """
    return dot(n, a.support(-n) - b.support(n))


def _gjk(a: Solid, b: Solid, start: Array, shift: Array) -> tuple[Number, Array, Array, Array]:
    """Return the separation [m], its normal (3,) and the nearest points (3,) of A and B [m], by the GJK algorithm.

    GJK works on solids that do not penetrate: solid A is first moved by `shift` (3,) [m], which must separate the
    solids along the direction `start` (3,). The returned separation applies to the solids before the move. The nearest
    points are the nearest points of the solids after the move; the point of A is then moved back. a and b are the
    solids A and B.
    """

    def corner(n: Array) -> _Corner:
        on_a = a.support(-n)
        return _Corner(on_a - b.support(n) + shift, on_a)

    first = corner(start)
    v = first.w

    def step(v: Array, witness: Array, best: Number, normal: Array, *old: Array) -> tuple[tuple[Array, ...], Condition]:
        """Make one GJK iteration: add the support point along v, the nearest point (3,) of the simplex to the origin.

        `witness` (3,) [m] is the point of A, before its translation, that belongs to v. `best` [m] and `normal` (3,)
        are the largest separation so far and its normal. `old` has the last three vertices of the simplex, each as w
        and the point of A. Return the new state, and whether v is final.
        """
        length = np.sqrt(dot(v, v) + TINY)
        n = v / length
        new = corner(n)
        lower = dot(n, new.w)
        value = lower - dot(n, shift)
        better = value > best
        triangle = [_Corner(old[k], old[k + 1]) for k in (0, 2, 4)]
        near = _nearest(new, triangle)
        e, f = near.second.w - new.w, near.third.w - new.w
        moved = new.w + e * near.s + f * near.t
        e, f = near.second.on_a - new.on_a, near.third.on_a - new.on_a
        point = new.on_a + e * near.s + f * near.t
        closer = near.squared < dot(v, v)
        done = (length - lower <= GJK_GAP * length) | (near.squared >= dot(v, v))
        v, witness = where(closer, moved, v), where(closer, point, witness)
        state = (v, witness, where(better, value, best), where(better, n, normal), *new, *near.second, *near.third)
        return state, done

    initial = (v, first.on_a, dot(start, v - shift), start, *first, *first, *first)
    (v, on_a, value, normal, *_), _, _ = iterate(MOST, step, *initial)
    return value, normal, on_a, on_a - (v - shift)


def _nearest(new: _Corner, old: Sequence[_Corner]) -> _Nearest:
    """Return the point nearest to the origin on the edges and triangles at the newest vertex of a tetrahedron.

    `new` is the newest vertex, and `old` are the other three vertices.
    """
    w = new.w
    edges = [corner.w - w for corner in old]
    squares = [dot(e, e) for e in edges]
    falls = [-dot(w, e) for e in edges]
    best = _Nearest(dot(w, w), 0.0 * falls[0], 0.0 * falls[0], new, new)
    for k in range(3):
        some = squares[k] > TINY
        t = where(some, clamp(falls[k] / where(some, squares[k], 1.0), 0.0, 1.0), 0.0)
        v = w + edges[k] * t
        found = _Nearest(dot(v, v), t, 0.0 * t, old[k], new)
        best = _nearer(found.squared < best.squared, found, best)
    for i, j in ((0, 1), (1, 2), (0, 2)):
        product = dot(edges[i], edges[j])
        scale = squares[i] * squares[j]
        det = scale - product * product
        plane = det > FLAT_TRIANGLE * scale
        safe = where(plane, det, 1.0)
        s = (falls[i] * squares[j] - falls[j] * product) / safe
        t = (falls[j] * squares[i] - falls[i] * product) / safe
        v = w + edges[i] * s + edges[j] * t
        squared = dot(v, v)
        inside = plane & (s >= 0.0) & (t >= 0.0) & (s + t <= 1.0) & (squared < best.squared)
        best = _nearer(inside, _Nearest(squared, s, t, old[i], old[j]), best)
    return best


def _nearer(condition: Condition, yes: _Nearest, no: _Nearest) -> _Nearest:
    second, third = (
        _Corner(*(where(condition, one, other) for one, other in zip(a, b, strict=True)))
        for a, b in zip(yes[3:], no[3:], strict=True)
    )
    squared, s, t = (where(condition, one, other) for one, other in zip(yes[:3], no[:3], strict=True))
    return _Nearest(squared, s, t, second, third)
