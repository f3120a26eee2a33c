"""Signed distances and normals of solid pairs, computed by the library coal."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from linkwork.spatial.scalar import Array
from random_solid_pairs import Pairs

coal: Any = pytest.importorskip("coal", reason="coal is not installed (the extra 'peers')")

SHAPES: dict[str, Callable[[Array], Any]] = {
    "sphere": lambda s: coal.Sphere(s[0]),
    "capsule": lambda s: coal.Capsule(s[0], 2.0 * s[1]),
    "cylinder": lambda s: coal.Cylinder(s[0], 2.0 * s[1]),
    "box": lambda s: coal.Box(*(2.0 * s)),
    "plane": lambda _: coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0),
}


def reference(kind: tuple[str, str], pairs: Pairs, tolerance: float = 1e-12) -> tuple[Array, Array]:
    """Signed distances (n,) and normals from B to A (n, 3) from coal."""
    options = coal.DistanceRequest()
    options.enable_signed_distance = True
    options.gjk_tolerance = options.epa_tolerance = tolerance
    options.gjk_max_iterations = options.epa_max_iterations = 1000
    distances, normals = [], []
    base = coal.Transform3s()
    for a, b, R, p in zip(*pairs, strict=True):
        result = coal.DistanceResult()
        coal.distance(SHAPES[kind[0]](a), coal.Transform3s(R, p), SHAPES[kind[1]](b), base, options, result)
        distances.append(result.min_distance)
        normals.append(-result.normal)
    return np.array(distances), np.array(normals)
