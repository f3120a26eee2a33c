"""Bounds of the separation of pairs of solids, for many pairs and states at once, in NumPy.

Along a unit vector n, the gap of two convex solids with centres p_A and p_B is n . (p_A - p_B) - h_A(-n) - h_B(n),
where h is the extent of a solid from its centre along a direction. Every gap is a lower bound of the signed distance of
the solids. For most pairs, the largest gap along a few directions (face normals, edges, axes, ends) shows that the
solids do not penetrate, without computing contact points.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from linkwork.algorithms.contact_tolerances import SHORT_NORMAL
from linkwork.algorithms.solid_contact.pair_tables import extent
from linkwork.model.elements.uneven_ground import HeightField
from linkwork.model.geometry import Box, Capsule, Cylinder, Hull, Plane, Sphere
from linkwork.model.mechanism import Mechanism
from linkwork.model.solids import Solid
from linkwork.spatial.scalar import Array
from linkwork.tolerances import TINY

CONVEX, PLANE, GROUND = range(3)


class SolidTables:
    """Poses and sizes of all n pairs of solids of a mechanism, one row per pair; solid A of a pair is convex.

    Columns are those of solids A and B. `bodies` (n, 2) are the numbers of their bodies. `R` (n, 2, 3, 3) and `p` (n,
    2, 3) [m] are the poses of the solids in their bodies; the origin of a hull is the middle of its bounding box. The
    extent of a solid along the unit vector n is c . (|nx|, |ny|, |nz|, hypot(nx, ny), 1), with the coefficients `c` (n,
    2, 5) [m]; a hull is replaced by its bounding box. `radius` (n, 2) [m] is the radius of a ball that contains a
    solid, zero for planes and ground; `kind` (n,) is the kind of solid B, and `top` (n,) [m] the largest height of a
    ground.
    """

    def __init__(self, mechanism: Mechanism):
        self.pairs = mechanism.solid_pairs
        both = [(pair.first, pair.second) for pair in self.pairs]
        places = [[_centred(one) for one in pair] for pair in both]
        self.bodies = np.array([[one.body for one in pair] for pair in both], dtype=int).reshape(-1, 2)
        self.R = np.array([[one.pose.R for one in pair] for pair in both], dtype=float).reshape(-1, 2, 3, 3)
        self.p = np.array([[p for p, _ in pair] for pair in places], dtype=float).reshape(-1, 2, 3)
        self.c = np.array([[c for _, c in pair] for pair in places], dtype=float).reshape(-1, 2, 5)
        sizes = np.array([[extent(one.shape) for one in pair] for pair in both], dtype=float).reshape(-1, 2)
        hulls = np.array([[isinstance(one.shape, Hull) for one in pair] for pair in both]).reshape(-1, 2)
        boxed = np.where(hulls, np.linalg.norm(self.c[..., :3], axis=-1), sizes)
        self.radius = np.where(np.isfinite(boxed), boxed, 0.0)
        self.kind = np.array([_kind(b) for _, b in both], dtype=int)
        self.top = np.array([_top(b) for _, b in both], dtype=float)

    def place(self, poses: Array, k: Any = slice(None)) -> tuple[Array, Array]:
        """Return the world rotations (..., n, 2, 3, 3) and centres (..., n, 2, 3) [m] of the solids of n pairs.

        `poses` (..., nbodies + 1, 4, 4) are the world poses of the world and all bodies, and k are the numbers of the n
        pairs, by default all.
        """
        of = poses[..., self.bodies[k], :, :]
        R, at = of[..., :3, :3], of[..., :3, 3]
        return R @ self.R[k], (R @ self.p[k][..., None])[..., 0] + at

    def extents(self, n: Array, R: Array) -> Array:
        """Return the extents (..., n, 2) [m] of the two solids of each pair along unit vectors n (..., n, 3) in world
        axes.

        R (..., n, 2, 3, 3) are the world rotations of the solids.
        """
        return _extent(self.c, np.einsum("...sji,...j->...si", R, n))

    @cached_property
    def half_widths(self) -> Array:
        """Half of the smallest width (n, 2) [m] of each solid of the n pairs; inf for planes and ground."""
        x, y, z, around, ball = np.moveaxis(self.c, -1, 0)
        found = np.where(around > 0.0, np.minimum(around, z), np.minimum(np.minimum(x, y), z)) + ball
        return np.where(self.c.any(axis=-1), found, np.inf)

    @cached_property
    def ball(self) -> Array:
        """Boolean array (n, 2): True for each solid that is a sphere."""
        return (self.c[..., 4] > 0.0) & (self.c[..., 2] == 0.0)

    @cached_property
    def round(self) -> Array:
        """Boolean array (n, 2): True for each sphere, capsule or cylinder; all three are round about their z axes."""
        return (self.c[..., 3] > 0.0) | (self.c[..., 4] > 0.0)

    @cached_property
    def hulls_on_planes(self) -> dict[int, Array]:
        """The vertices (k, 3) [m], relative to the centre, of each hull that can touch a plane.

        The keys are the numbers of the pairs.
        """
        found = {}
        for number, pair in enumerate(self.pairs):
            if self.kind[number] == PLANE and isinstance(pair.first.shape, Hull):
                points: Array = np.asarray(pair.first.shape.points)
                found[number] = points - 0.5 * (points.min(axis=0) + points.max(axis=0))
        return found

    @cached_property
    def exact(self) -> Array:
        """Boolean array (n,): True for pairs for which `depth_bounds` returns the exact depth.

        These are pairs of balls and capsules, pairs of boxes, and all solids on planes.
        """
        hulls = np.array([[isinstance(one.shape, Hull) for one in (p.first, p.second)] for p in self.pairs])
        capsule = self.c[..., 4] > 0.0
        box = (self.c[..., 3] == 0.0) & ~capsule & ~hulls
        both = capsule.all(axis=1) | box.all(axis=1)
        return np.where(self.kind == CONVEX, both, self.kind == PLANE)


_tables: WeakKeyDictionary[Mechanism, SolidTables] = WeakKeyDictionary()


def solid_tables(mechanism: Mechanism) -> SolidTables:
    """Return the tables of all pairs of solids of a mechanism, computed at the first call and then cached."""
    found = _tables.get(mechanism)
    if found is None:
        found = _tables[mechanism] = SolidTables(mechanism)
    return found


def depth_bounds(tables: SolidTables, poses: Array, above: float = 0.0) -> Array:
    """Return upper bounds (s, n) [m] of the depths of n pairs of solids in s states; zero for depths of at most `above`
    [m].

    `poses` (s, nbodies + 1, 4, 4) are the world poses of the world and all bodies. The bound is inf for ground whose
    largest height is unknown.
    """
    R, p = tables.place(poses)
    apart = p[..., 0, :] - p[..., 1, :]
    up = R[..., 1, :, 2]
    inward = np.where((tables.kind == CONVEX)[:, None], apart, up)
    scale = np.sqrt((inward * inward).sum(axis=-1))
    n = np.where((scale > TINY)[..., None], inward / np.maximum(scale, TINY)[..., None], R[..., 0, :, 2])
    height = (n * apart).sum(axis=-1)
    first = height - tables.radius[:, 0] - tables.radius[:, 1] - tables.top
    state, k = np.nonzero(first < -above)
    found = np.zeros(first.shape)
    if not len(k):
        return found
    R, apart, c = R[state, k], apart[state, k], tables.c[k]
    inside = np.einsum("mj,msji->msi", n[state, k], R)
    along = height[state, k] - _extent(c, inside).sum(axis=-1)
    for number, points in tables.hulls_on_planes.items():
        of = k == number
        along[of] = height[state[of], number] + (inside[of, 0] @ points.T).min(axis=1, initial=np.inf)
    convex = np.flatnonzero(tables.kind[k] == CONVEX)
    if len(convex):
        of = c[convex], R[convex], apart[convex]
        along[convex] = np.maximum(along[convex], _gaps(*of, _directions(*of)).max(axis=1))
    depth = tables.top[k] - along
    found[state, k] = np.where(depth > above, depth, 0.0)
    return found


def _gaps(c: Array, R: Array, apart: Array, n: Array) -> Array:
    """Return the gaps (m, d) [m] of m pairs of convex solids along unit vectors n (m, d, 3) or -n, in world axes.

    `c` (m, 2, 5) are the extent coefficients and R (m, 2, 3, 3) the rotations of the solids, and `apart` (m, 3) [m] the
    vectors from the centres of solids B to those of solids A, in world axes.
    """
    inside = np.einsum("mdj,msji->mdsi", n, R)
    return abs(np.einsum("mdj,mj->md", n, apart)) - _extent(c[:, None], inside).sum(axis=-1)


def _extent(c: Array, n: Array) -> Array:
    """Return the extents (...) [m] of solids with the coefficients c (..., 5) along unit vectors n (..., 3) in their
    axes.
    """
    round_ = np.sqrt(n[..., 0] ** 2 + n[..., 1] ** 2)
    return (c[..., :3] * abs(n)).sum(axis=-1) + c[..., 3] * round_ + c[..., 4]


def _directions(c: Array, R: Array, apart: Array) -> Array:
    """Return d unit vectors (m, d, 3), in world axes, along which each of m pairs of convex solids may be separated.
    The arguments are those of `_gaps`.
    """
    axes = np.swapaxes(R, -1, -2)  # rows are the axes of the solids
    a, b = axes[:, 0], axes[:, 1]
    edges = np.cross(a[:, :, None], b[:, None]).reshape(-1, 9, 3)
    line_a, line_b = a[:, 2] * c[:, 0, 2:3], b[:, 2] * c[:, 1, 2:3]
    ends = [apart + s * line_a + t * line_b for s in (-1.0, 1.0) for t in (-1.0, 1.0)]
    to_axes = []
    for z, line in ((b[:, 2], line_a), (a[:, 2], line_b)):
        for s in (-1.0, 0.0, 1.0):
            d = apart + s * line
            to_axes.append(d - z * (z * d).sum(axis=-1, keepdims=True))
    found = np.concatenate([a, b, edges, np.stack([*ends, *to_axes], axis=1)], axis=1)
    length = np.sqrt((found * found).sum(axis=-1))
    good = length > SHORT_NORMAL * np.maximum(1.0, length)
    return np.where(good[..., None], found / np.where(good, length, 1.0)[..., None], a[:, :1])


def _centred(solid: Solid) -> tuple[Array, Array]:
    """Return the centre (3,) [m] of a solid in the frame of its body, and the coefficients (5,) [m] of its extent (see
    `SolidTables`).
    """
    shape, c, centre = solid.shape, np.zeros(5), np.zeros(3)
    if isinstance(shape, Box):
        c[:3] = 0.5 * np.asarray(shape.size)
    elif isinstance(shape, Sphere):
        c[4] = shape.radius
    elif isinstance(shape, Capsule):
        c[2], c[4] = 0.5 * shape.length, shape.radius
    elif isinstance(shape, Cylinder):
        c[2], c[3] = 0.5 * shape.length, shape.radius
    elif isinstance(shape, Hull):
        points: Array = np.asarray(shape.points)
        low, high = points.min(axis=0), points.max(axis=0)
        centre, c[:3] = 0.5 * (low + high), 0.5 * (high - low)
    return solid.pose.R @ centre + solid.pose.p, c


def _kind(solid: Solid) -> int:
    """Return the kind of a solid: PLANE, CONVEX or GROUND."""
    if isinstance(solid.shape, Plane):
        return PLANE
    return CONVEX if isinstance(solid.shape, Box | Sphere | Capsule | Cylinder | Hull) else GROUND


def _top(solid: Solid) -> float:
    """Return the largest height [m] of a height field; zero for other solids, inf for ground given by a function."""
    if _kind(solid) != GROUND:
        return 0.0
    return float(np.max(solid.shape.heights)) if isinstance(solid.shape, HeightField) else np.inf


def with_world(poses: Array) -> Array:
    """Return the poses (..., nbodies + 1, 4, 4) of the world and the bodies, from the poses (..., nbodies, 4, 4) of the
    bodies.
    """
    world = np.broadcast_to(np.eye(4), (*poses.shape[:-3], 1, 4, 4))
    return np.concatenate([world, poses], axis=-3)


def stacked(poses: Sequence[Any]) -> Array:
    """Return the poses of the world and all bodies as an array (1, nbodies + 1, 4, 4), from a sequence of
    transforms.
    """
    found = np.zeros((1, len(poses), 4, 4))
    found[:, :, 3, 3] = 1.0
    for k, X in enumerate(poses):
        found[0, k, :3, :3], found[0, k, :3, 3] = X.R, X.p
    return found
