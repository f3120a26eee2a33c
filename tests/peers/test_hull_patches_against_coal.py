"""Contact patches of random convex hulls against coal."""

import numpy as np
import pytest

import linkwork as lw
from coal_distance_reference import SHAPES, coal
from linkwork.algorithms.collision.hull_patches import HullPairs
from linkwork.compiler.kernel import Kernel
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array
from random_solid_pairs import Pairs, random_pairs
from solid_extents import extent

COUNT, HULLS = 2000, 12


def random_hulls(vertices: int) -> list[Array]:
    rng = np.random.default_rng(vertices)
    points = rng.normal(size=(HULLS, vertices, 3))
    points *= rng.uniform(0.4, 1.0, size=(HULLS, 1, 3)) / np.linalg.norm(points, axis=2, keepdims=True)
    return [np.array(lw.Hull(cloud).points) for cloud in points]


def as_coal(vertices: Array) -> object:
    points = coal.StdVec_Vec3s()
    for vertex in vertices:
        points.append(vertex)
    return coal.Convex.convexHull(points, True, "Qt")


@pytest.mark.parametrize("kind", ["sphere", "capsule", "cylinder", "box", "hull", "plane"])
@pytest.mark.parametrize("vertices", [6, pytest.param(30, marks=pytest.mark.slow)])
def test_distance_of_convex_hulls_matches_coal(kind: str, vertices: int) -> None:
    hulls = random_hulls(vertices)
    table, solids = HullPairs(hulls), [as_coal(hull) for hull in hulls]
    pair = (kind, "hull") if kind != "plane" else ("hull", "plane")
    base = random_pairs((kind if kind not in {"hull", "plane"} else "sphere", "plane"), COUNT, seed=vertices)
    one, other = np.arange(COUNT) % HULLS, np.arange(COUNT) // 5 % HULLS
    a = table.sizes[one] if pair[0] == "hull" else base.a
    b = table.sizes[other] if pair[1] == "hull" else base.b
    pairs = Pairs(a, b, base.R, base.p)
    distances, normals = deepest(table, pair, pairs)

    def separation(n: Array) -> Array:
        in_a = -np.einsum("nji,nj->ni", pairs.R, n)
        reach_a = along(hulls, one, in_a) if pair[0] == "hull" else extent(kind, a, in_a)
        reach_b = along(hulls, other, n) if pair[1] == "hull" else extent("plane", b, n)
        return (pairs.p * n).sum(axis=1) - reach_a - reach_b

    assert abs(separation(normals) - distances).max() < 1e-8
    make = SHAPES.get(kind, SHAPES["plane"])
    expected = np.empty(COUNT)
    coal_normals = np.empty((COUNT, 3))
    for k in range(COUNT):
        first = solids[one[k]] if pair[0] == "hull" else make(a[k])
        second = solids[other[k]] if pair[1] == "hull" else make(b[k])
        result = coal.DistanceResult()
        options = coal.DistanceRequest()
        pose = coal.Transform3s(pairs.R[k], pairs.p[k])
        expected[k] = coal.distance(first, pose, second, coal.Transform3s(), options, result)
        coal_normals[k] = -result.normal
    bound = separation(coal_normals)  # a lower bound of the signed distance
    bound = np.where(np.isfinite(bound), bound, -np.inf)
    apart = distances > 0.0
    assert ((bound - distances)[apart] < 1e-8).all()
    assert abs(distances - expected)[apart].max() < (1e-3 if kind == "cylinder" else 1e-5)
    shallow = (bound < 0.0) & (bound > -0.03)
    assert shallow.sum() > 5
    assert ((bound - distances)[shallow] < 1e-8).mean() > 0.9  # the others have a local minimum of the depth
    assert ((bound - distances)[~apart] < 1e-8).mean() > 0.85


def deepest(table: HullPairs, pair: tuple[str, str], pairs: Pairs) -> tuple[Array, Array]:
    patch = table.kinds[pair]

    def function(a: Array, b: Array, R: Array, p: Array) -> tuple[Array, ...]:
        return tuple(patch(a, b, Transform(R, p)))

    shapes = [(pairs.a.shape[1],), (pairs.b.shape[1],), (3, 3), (3,)]
    kernel = Kernel("-".join(pair), function, shapes, [(4, 3), (4,), (4, 3)], key=None)
    (_, distances, normals), finite = kernel.over_batch(list(pairs), (COUNT,), 1)
    assert finite
    return distances.min(axis=1), normals[np.arange(COUNT), distances.argmin(axis=1)]


def along(hulls: list[Array], which: Array, n: Array) -> Array:
    return np.array([(hulls[k] @ direction).max() for k, direction in zip(which, n, strict=True)])
