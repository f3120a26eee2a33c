"""Contact patches against coal: signed distances of random pairs of solids, and normals where they are unique."""

import numpy as np
import pytest

from coal_reference import reference
from linkwork.algorithms.collision.pair_kinds import pair_kinds
from solid_pairs import patches, random_pairs
from solid_supports import separation

SMOOTH = {"sphere", "capsule", "plane"}  # pairs of these, and of one of these with a box, have exact distances
COUNT = 10_000


def is_exact(kind: tuple[str, str]) -> bool:
    """Whether the distance of separated solids of this kind is exact, not only a lower bound."""
    return "plane" in kind or kind[0] == "sphere" or (kind[0] == "capsule" and kind[1] in {"capsule", "box"})


@pytest.mark.parametrize("kind", pair_kinds, ids="-".join)
def test_distance_is_that_of_coal(kind: tuple[str, str]) -> None:
    pairs = random_pairs(kind, COUNT, seed=1)
    _, distances, _ = patches(kind, pairs)
    found, (expected, _) = distances.min(axis=1), reference(kind, pairs)
    penetrate = expected < 0.0
    assert 0.2 < penetrate.mean() < 0.95
    assert abs(found - expected)[penetrate].max() < 1e-8
    if is_exact(kind):
        assert abs(found - expected)[~penetrate].max() < 1e-8
    assert (found - expected)[~penetrate].max() < 1e-8
    assert found[~penetrate].min() > 0.0


@pytest.mark.parametrize("kind", pair_kinds, ids="-".join)
def test_normal_gives_the_distance_and_is_that_of_coal(kind: tuple[str, str]) -> None:
    pairs = random_pairs(kind, COUNT, seed=2)
    _, distances, normals = patches(kind, pairs)
    best = distances.argmin(axis=1)
    d, n = distances[np.arange(COUNT), best], normals[np.arange(COUNT), best]
    assert abs(np.linalg.norm(normals, axis=2) - 1.0).max() < 1e-14
    # The separation along a direction is the distance only along the right normal: an error enters to first order
    assert abs(separation(kind, *pairs, n) - d).max() < 1e-8
    expected, directions = reference(kind, pairs)
    unique = expected < 0.0 if not is_exact(kind) else abs(expected) > 1e-3
    errors = np.linalg.norm(n - directions, axis=1)[unique]
    assert np.quantile(errors, 0.95) < 1e-6  # the iterative normals of coal are less exact than its distances
