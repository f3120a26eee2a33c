"""Random solid pairs, and their contact patches, which a kernel computes in one batch."""

from functools import cache
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.collision.pair_kinds import SIZES, pair_kinds
from linkwork.compiler.kernel import Kernel
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array

# Deep penetrations of these kinds can have the depth of a local minimum
LOCAL = {("capsule", "cylinder"), ("cylinder", "cylinder"), ("cylinder", "box")}


def well_posed(kind: tuple[str, str], distances: Array) -> Array:
    """Whether the distances (n,) of pairs of a kind must be exact: not if the solids penetrate deeply."""
    return (distances > -0.05) | (kind not in LOCAL)


class Pairs(NamedTuple):
    """A batch of solid pairs: sizes (n, k), rotations (n, 3, 3) and positions (n, 3) of A in B."""

    a: Array
    b: Array
    R: Array
    p: Array


def rotations(count: int, rng: np.random.Generator) -> Array:
    """Random rotation matrices (count, 3, 3)."""
    w, x, y, z = (q := rng.normal(size=(4, count))) / np.linalg.norm(q, axis=0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def random_pairs(kind: tuple[str, str], count: int, seed: int) -> Pairs:
    """Pairs with sizes from 0.2 to 1 and centres up to 2.5 apart."""
    rng = np.random.default_rng(seed)
    a, b = (rng.uniform(0.2, 1.0, size=(count, SIZES[name])) for name in kind)
    p = rng.normal(size=(count, 3))
    p *= (rng.uniform(0.0, 2.5, size=count) / np.linalg.norm(p, axis=1))[:, None]
    return Pairs(a, b, rotations(count, rng), p)


@cache
def kernel_of(kind: tuple[str, str]) -> Kernel:
    """The compiled contact patch of a kind of pair."""
    patch = pair_kinds[kind]

    def function(a: Array, b: Array, R: Array, p: Array) -> tuple[Array, ...]:
        return tuple(patch(a, b, Transform(R, p)))

    shapes = [(SIZES[kind[0]],), (SIZES[kind[1]],), (3, 3), (3,)]
    return Kernel("_".join(kind), function, shapes, [(4, 3), (4,), (4, 3)], key=None)


def patches(kind: tuple[str, str], pairs: Pairs) -> tuple[Array, Array, Array]:
    """Points (n, 4, 3), distances (n, 4) and normals (n, 4, 3) of all pairs."""
    (points, distances, normals), finite = kernel_of(kind).over_batch(list(pairs), (len(pairs.p),), 1)
    assert finite
    return points, distances, normals
