"""Separation of convex solids at one position of a mechanism, to find solids that overlap before a simulation.

A solid at the position p has the extent h(n) along a direction n. The separation of solids A and B is the maximum over
all directions n of the gap n . (p_A - p_B) - h_A(-n) - h_B(n); if the solids overlap, it is minus the depth. The best
direction is found by sampling, so that the result is accurate to about 1e-3 of the size of the solids.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.model.geometry import Box, Capsule, Cylinder, Plane, Sphere
from linkwork.model.mechanism import Mechanism
from linkwork.model.solids import Solid, SolidPair
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array

COUNT = 1000  # number of directions in the first sample, about 6 degrees apart
FINER = 64  # number of directions in each further sample, in a cone about the best direction so far
CONE, SHRINKS = 0.2, 0.6  # half-angle [rad] of the first cone, and ratio of the angles of successive cones
LEVELS = 20  # number of cones
GOLDEN = np.pi * (3.0 - np.sqrt(5.0))  # golden angle [rad] between successive directions on a spiral

Extent = Callable[[Array], Array]  # the extent h(n) (k,) [m] along directions n (k, 3) in the frame of a shape


def _hull(points: Array) -> Extent:
    return lambda n: (n @ points.T).max(axis=1)


# Class name of a shape: function that returns the extent h(n) of such a shape, in the frame of the shape
EXTENTS: dict[str, Callable[[Any], Extent]] = {
    Sphere.__name__: lambda shape: lambda n: np.full(len(n), shape.radius),
    Capsule.__name__: lambda shape: lambda n: shape.radius + 0.5 * shape.length * abs(n[:, 2]),
    Cylinder.__name__: lambda shape: (
        lambda n: shape.radius * np.hypot(n[:, 0], n[:, 1]) + 0.5 * shape.length * abs(n[:, 2])
    ),
    Box.__name__: lambda shape: lambda n: 0.5 * abs(n) @ np.array(shape.size),
    "Hull": lambda shape: _hull(np.array(shape.points)),
}


class Overlap(NamedTuple):
    """A solid pair whose solids overlap.

    `depth` [m] is the depth of the overlap, negative for a distance; `size` [m] is the smallest width of the thinner
    solid.
    """

    pair: SolidPair
    depth: float
    size: float


def body_poses(mechanism: Mechanism, q: Array) -> list[Transform]:
    """Return the poses of all bodies in the world frame, the world first, at q (nq,) [rad, m, quaternions]."""
    position = mechanism.tree_position(q)
    poses = [Transform.identity()] * len(mechanism.bodies)
    for joint in mechanism.tree.joints:
        poses[joint.o] = poses[joint.i] @ joint.place @ joint.kind.transform(position[joint.q])
    return poses


def overlaps(mechanism: Mechanism, pairs: Sequence[SolidPair], q: Array, within: float = 0.0) -> list[Overlap]:
    """Return the solid pairs that overlap or nearly touch at the position q (nq,) [rad, m, quaternions].

    Solids nearly touch if their distance is at most `within` times the smallest width of the thinner one. The `depth`
    of such an `Overlap` is minus the distance. Pairs with a height field or
    another surface that is not convex are left out.
    """
    poses = body_poses(mechanism, q)
    placed: dict[tuple[str, int], _Placed] = {}
    found: list[Overlap] = []
    for pair in pairs:
        for one in (pair.first, pair.second):
            if (key := _key(one)) not in placed:
                placed[key] = _Placed(one, poses)
        a, b = placed[_key(pair.first)], placed[_key(pair.second)]
        size = min(a.width, b.width)
        if np.isfinite(size):
            distance = separation(a, b)
            if distance <= within * size:
                found.append(Overlap(pair, -distance, size))
    return found


def _key(solid: Solid) -> tuple[str, int]:
    return solid.name, id(solid.shape)


def _spiral(count: int) -> Array:
    """Return unit vectors (count, 3) that are spread over the sphere; the second half is the negative of the first."""
    k = np.arange(count // 2) + 0.5
    z = 1.0 - 2.0 * k / count
    r, angle = np.sqrt(1.0 - z * z), GOLDEN * k
    half = np.column_stack([r * np.cos(angle), r * np.sin(angle), z])
    return np.concatenate([half, -half])


AXES = np.concatenate([np.eye(3), -np.eye(3)])
SAMPLES = np.concatenate([_spiral(COUNT), AXES])


class _Placed:
    """A solid at its pose in the world, with its extents along the directions SAMPLES."""

    def __init__(self, solid: Solid, poses: Sequence[Transform]):
        self.X = poses[solid.body] @ solid.pose
        self.plane = isinstance(solid.shape, Plane)
        make = EXTENTS.get(type(solid.shape).__name__)
        self.width = np.inf if make else np.nan
        if make:
            self.own = make(solid.shape)
            self.width = float((self.own(AXES[:3]) + self.own(AXES[3:])).min())
            self.sampled = self.extent(SAMPLES)
        elif self.plane:
            self.width = np.inf

    def extent(self, n: Array) -> Array:
        """Return the solid's extent (k,) [m] from its position along unit vectors n (k, 3) in world axes."""
        return self.own(n @ self.X.R)


def separation(a: _Placed, b: _Placed) -> float:
    """Return the separation [m] of two placed solids of which at most one is a plane; negative if they overlap."""
    if a.plane or b.plane:
        solid, plane = (b, a) if a.plane else (a, b)
        n = plane.X.R[:, 2]
        return float(n @ (solid.X.p - plane.X.p) - solid.extent(-n[None])[0])
    apart = a.X.p - b.X.p
    opposite = np.concatenate([a.sampled[COUNT // 2 : COUNT], a.sampled[: COUNT // 2], np.roll(a.sampled[COUNT:], 3)])
    gaps = SAMPLES @ apart - opposite - b.sampled
    best, n = float(gaps.max()), SAMPLES[gaps.argmax()]
    own = np.concatenate([a.X.R.T, -a.X.R.T, b.X.R.T, -b.X.R.T])  # face normals, which are exact for boxes
    length = float(np.linalg.norm(apart))
    candidates = own if length == 0.0 else np.concatenate([own, apart[None] / length])
    best, n = _largest_gap(a, b, apart, candidates, best, n)
    angle = CONE
    for _ in range(LEVELS):
        best, n = _largest_gap(a, b, apart, _cone(n, angle), best, n)
        angle *= SHRINKS
    return best


def _largest_gap(a: _Placed, b: _Placed, apart: Array, n: Array, best: float, former: Array) -> tuple[float, Array]:
    """Return the largest gap [m] of solids a and b along unit vectors n (k, 3) or `former` (3,), and its direction.

    `best` [m] is the known gap along `former`. `apart` (3,) [m] is the vector from the position of b to that of a. All
    vectors are in world axes; a negative gap is an overlap.
    """
    gaps = n @ apart - a.extent(-n) - b.extent(n)
    k = int(gaps.argmax())
    return (float(gaps[k]), n[k]) if gaps[k] > best else (best, former)


def _cone(n: Array, angle: float) -> Array:
    """Return FINER unit vectors (k, 3), spread over the cone of half-angle about `angle` [rad] around n (3,)."""
    first = np.cross(n, AXES[int(np.argmin(abs(n)))])
    first /= np.linalg.norm(first)
    second = np.cross(n, first)
    k = np.arange(FINER) + 0.5
    r, turn = angle * np.sqrt(k / FINER), GOLDEN * k
    found = n + np.outer(r * np.cos(turn), first) + np.outer(r * np.sin(turn), second)
    return found / np.linalg.norm(found, axis=1)[:, None]
