"""Constant tables of all solid pairs of a mechanism: the numbers that loops over the pairs read.

The pairs are grouped by the kinds of their two shapes: a loop over one group calls one contact function. Solid A of a
pair is the solid that the contact function takes first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.collision.ground_patches import GroundPairs
from linkwork.algorithms.collision.hull_patches import HullPairs
from linkwork.algorithms.collision.pair_kinds import Patch, ordered, pair_kinds
from linkwork.algorithms.contact_tolerances import CONTACT_MARGIN
from linkwork.errors import LinkworkError
from linkwork.model.elements.uneven_ground import Ground, HeightField, SurfaceShape
from linkwork.model.geometry import Box, Capsule, Cylinder, Hull, Plane, Sphere
from linkwork.model.solids import Solid, SolidPair
from linkwork.spatial import Transform
from linkwork.spatial.row_arrays import RowLayout
from linkwork.spatial.scalar import Array, Number, dot, lookup
from linkwork.tolerances import HUGE

# By class of shape: SIZES has the lengths [m] that describe a shape in the arguments of contact functions, HALF_EXTENTS
# half its extents [m] along the axes of its frame, and EXTENTS the radius [m] of a ball about its origin that contains
# it
SIZES: dict[type, Callable[[Any], list[float]]] = {
    Sphere: lambda shape: [shape.radius],
    Capsule: lambda shape: [shape.radius, 0.5 * shape.length],
    Cylinder: lambda shape: [shape.radius, 0.5 * shape.length],
    Box: lambda shape: [0.5 * length for length in shape.size],
    Plane: lambda shape: [],
    HeightField: lambda shape: [],
    Ground: lambda shape: [],
}
HALF_EXTENTS: dict[type, Callable[[Any], tuple[float, float, float]]] = {
    Sphere: lambda shape: (shape.radius,) * 3,
    Capsule: lambda shape: (shape.radius, shape.radius, shape.radius + 0.5 * shape.length),
    Cylinder: lambda shape: (shape.radius, shape.radius, 0.5 * shape.length),
    Box: lambda shape: tuple(0.5 * length for length in shape.size),
    Hull: lambda shape: tuple(np.abs(shape.points).max(axis=0)),
    Plane: lambda shape: (0.0, 0.0, 0.0),
    HeightField: lambda shape: (0.0, 0.0, 0.0),
    Ground: lambda shape: (0.0, 0.0, 0.0),
}
EXTENTS: dict[type, Callable[[Any], float]] = {
    Sphere: lambda shape: shape.radius,
    Capsule: lambda shape: shape.radius + 0.5 * shape.length,
    Cylinder: lambda shape: math.hypot(shape.radius, 0.5 * shape.length),
    Box: lambda shape: 0.5 * math.hypot(*shape.size),
    Hull: lambda shape: float(np.linalg.norm(shape.points, axis=1).max()),
    Plane: lambda shape: math.inf,
    HeightField: lambda shape: math.inf,
    Ground: lambda shape: math.inf,
}
GROUND = "ground"  # name of the kind of uneven ground in `pair_kinds`


class BodyRows:
    """The `numbers` of the bodies that have solids, in the order of their rows in row arrays."""

    def __init__(self, pairs: Sequence[SolidPair]):
        self.numbers = sorted({solid.body for pair in pairs for solid in (pair.first, pair.second)})

    def row(self, body: int) -> int:
        """Return the row number of a body in row arrays."""
        return self.numbers.index(body)


class GroupPair(NamedTuple):
    """Data of one solid pair A, B of a `PairGroup`.

    `number` is the index of the pair among all pairs of the mechanism. `row_a` and `row_b` are the rows of the two
    bodies in row arrays. a and b are the sizes [m] of the solids as contact functions take them (see SIZES), and `on_a`
    and `on_b` the poses of the solids in the frames of their bodies. The solids do not touch if their centres are more
    than `reach` [m] apart, or if the centre of A is more than `reach` above a plane B. The centre is the origin of the
    solid's frame.
    """

    number: Number
    row_a: Number
    row_b: Number
    a: Array
    b: Array
    on_a: Transform
    on_b: Transform
    reach: Number

    def may_touch(self, A: Transform, B: Transform) -> Number:
        """Return whether the solids may touch, given their poses A and B in the world: true if they may."""
        apart = A.p - B.p
        return dot(apart, B.R[:, 2] if len(self.b) == 0 else apart) <= self.reach * (
            1.0 if len(self.b) == 0 else self.reach
        )


@dataclass(frozen=True, eq=False)
class PairGroup:
    """Solid pairs with the same two kinds of shapes, and the function `patch` that returns their contact points.

    `numbers` are the indices of the pairs among all pairs of the mechanism. `table` has one row for each pair, with the
    numbers of a `GroupPair` in the arrays of `layout`.
    """

    patch: Patch
    numbers: tuple[int, ...]
    table: Array
    layout: RowLayout

    def read(self, k: Number) -> GroupPair:
        """Return the data of pair k of the group; the index k may be a traced number."""
        number, rows, a, b, R_a, p_a, R_b, p_b, reach = self.layout.parts(lookup(self.table, k))
        return GroupPair(number, rows[0], rows[1], a, b, Transform(R_a, p_a), Transform(R_b, p_b), reach)


def groups_of(pairs: Sequence[SolidPair], bodies: BodyRows) -> list[PairGroup]:
    """Return the solid pairs, grouped by the kinds of their shapes; groups are in the order of their first pairs.

    `bodies` has the rows of the bodies in row arrays.
    """
    functions = _ContactFunctions(pairs)
    members: dict[tuple[str, str, int], list[list[Any]]] = {}
    patches: dict[tuple[str, str, int], Patch] = {}
    for number, pair in enumerate(pairs):
        kinds, swapped = _ordered(pair)
        a, b = (pair.second, pair.first) if swapped else (pair.first, pair.second)
        rows = [bodies.row(a.body), bodies.row(b.body)]
        sizes = [functions.size(one.shape) for one in (a, b)]
        parts = [number, rows, *sizes, a.pose.R, a.pose.p, b.pose.R, b.pose.p, _reach(a, b)]
        key = *kinds, id(b.shape) if kinds[1] == GROUND else 0
        members.setdefault(key, []).append(parts)
        patches.setdefault(key, functions.patch(kinds, b.shape))
    found: list[PairGroup] = []
    for key, several in members.items():
        layout = RowLayout(*map(np.shape, several[0]))
        table = np.array([layout.row(*parts) for parts in several], dtype=float)
        found.append(PairGroup(patches[key], tuple(parts[0] for parts in several), table, layout))
    return found


class _ContactFunctions:
    """The contact functions for all solid pairs of a mechanism.

    The functions of pairs with hulls contain the vertices of the hulls; those with uneven ground contain the ground.
    """

    def __init__(self, pairs: Sequence[SolidPair]):
        shapes = [solid.shape for pair in pairs for solid in (pair.first, pair.second)]
        hulls = list(dict.fromkeys(shape for shape in shapes if isinstance(shape, Hull)))
        self.hulls = HullPairs([np.array(hull.points) for hull in hulls]) if hulls else None
        self.hull_sizes = {} if self.hulls is None else dict(zip(hulls, self.hulls.sizes.tolist(), strict=True))
        self.kinds = pair_kinds | ({} if self.hulls is None else self.hulls.kinds)
        self.radius = max((shape.radius for shape in shapes if isinstance(shape, Sphere | Capsule)), default=0.0)

    def size(self, shape: SurfaceShape) -> list[float]:
        """Return the numbers that describe the size of a shape in the arguments of contact functions."""
        return self.hull_sizes[shape] if isinstance(shape, Hull) else SIZES[type(shape)](shape)

    def patch(self, kinds: tuple[str, str], b: SurfaceShape) -> Patch:
        """Return the contact function for `kinds`, the kinds of the solids A and B; `b` is the shape of B."""
        if isinstance(b, HeightField | Ground):
            return GroundPairs(b, self.radius, self.hulls).kinds[kinds]
        return self.kinds[kinds]


def _ordered(pair: SolidPair) -> tuple[tuple[str, str], bool]:
    """Return the two kinds of a pair's shapes in the order of its contact function, and whether they are exchanged."""
    found = ordered(_kind(pair.first), _kind(pair.second))
    if found is None:
        one, two = (type(solid.shape).__name__ for solid in (pair.first, pair.second))
        reason = f"contact between a {one} ({pair.first.name!r}) and a {two} ({pair.second.name!r}) is not supported"
        raise LinkworkError(f"{pair.collision.label}: {reason}; exclude this pair, or use other shapes")
    return found


def _kind(solid: Solid) -> str:
    return GROUND if isinstance(solid.shape, HeightField | Ground) else type(solid.shape).__name__.lower()


def _reach(a: Solid, b: Solid) -> float:
    """Return the distance [m] between the centres of two solids above which they cannot touch.

    If b is a plane, the result is the height of the centre of a above the plane. For uneven ground, the result is very
    large.
    """
    if _kind(b) == GROUND:
        return HUGE
    radii = [extent(solid.shape) for solid in (a, b)]
    return sum(radius for radius in radii if math.isfinite(radius)) * (1.0 + CONTACT_MARGIN)


def extent(shape: object) -> float:
    """Return the radius [m] of a ball that contains a shape, about the origin of its frame; infinite for planes."""
    return EXTENTS[type(shape)](shape)


def half_extents(shape: object) -> tuple[float, float, float]:
    """Return half the extents [m] of a shape along the axes of its frame; zeros for planes."""
    return HALF_EXTENTS[type(shape)](shape)
