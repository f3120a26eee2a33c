"""Contact patches against coal: signed distances of random solid pairs, and normals where they are unique."""

import numpy as np
import pytest

from coal_distance_reference import reference
from linkwork.algorithms.collision.pair_kinds import pair_kinds
from linkwork.spatial.scalar import Array
from random_solid_pairs import LOCAL, Pairs, patches, random_pairs, well_posed
from solid_extents import separation

COUNT = 10_000


def is_exact(kind: tuple[str, str]) -> bool:
    """Whether the distance of separated solids of this kind is exact, not only a lower bound."""
    return kind != ("box", "box")


def best_of_coal(kind: tuple[str, str], pairs: Pairs) -> tuple[Array, Array]:
    """The separation along coal's normals, which is a lower bound of the signed distance, and the normals.

    For cylinders, coal's distances are less exact, and some are wrong.
    """
    distances, normals = reference(kind, pairs, 1e-6 if "cylinder" in kind else 1e-12)
    along = separation(kind, *pairs, normals)
    return (np.where(np.isfinite(along), along, -np.inf) if "cylinder" in kind else distances), normals


@pytest.mark.parametrize("kind", pair_kinds, ids="-".join)
def test_distance_of_solid_pairs_matches_coal(kind: tuple[str, str]) -> None:
    pairs = random_pairs(kind, COUNT, seed=1)
    _, distances, _ = patches(kind, pairs)
    found, (expected, _) = distances.min(axis=1), best_of_coal(kind, pairs)
    penetrate = found < 0.0
    assert 0.2 < penetrate.mean() < 0.95
    if "cylinder" in kind and "plane" not in kind:
        # The signed distance is the largest separation of all directions: coal must not find a larger one
        right = well_posed(kind, expected)
        assert ((expected - found)[right] < 1e-8).mean() > (0.998 if kind in LOCAL else 1.0 - 1e-12)
        assert ((expected - found) < 1e-8).mean() > 0.98
        assert np.median(abs(expected - found)) < 1e-6  # of the same size as the tolerance of coal
        return
    assert abs(found - expected)[penetrate].max() < 1e-8
    if is_exact(kind):
        assert abs(found - expected)[~penetrate].max() < 1e-8
    assert (found - expected)[~penetrate].max() < 1e-8
    assert found[~penetrate].min() > 0.0


@pytest.mark.parametrize("kind", pair_kinds, ids="-".join)
def test_normal_gives_the_distance_and_matches_coal(kind: tuple[str, str]) -> None:
    pairs = random_pairs(kind, COUNT, seed=2)
    _, distances, normals = patches(kind, pairs)
    best = distances.argmin(axis=1)
    d, n = distances[np.arange(COUNT), best], normals[np.arange(COUNT), best]
    assert abs(np.linalg.norm(normals, axis=2) - 1.0).max() < 1e-14
    # The separation along a direction is the distance only along the right normal
    assert abs(separation(kind, *pairs, n) - d).max() < 1e-8
    expected, directions = best_of_coal(kind, pairs)
    unique = (expected < 0.0 if not is_exact(kind) else abs(expected) > 1e-3) & well_posed(kind, d)
    unique &= abs(expected - d) < 1e-5
    assert unique.mean() > 0.3
    errors = np.linalg.norm(n - directions, axis=1)[unique]
    # The iterated normals of coal are less exact than its distances
    assert np.quantile(errors, 0.95) < (1e-2 if "cylinder" in kind else 1e-6)
