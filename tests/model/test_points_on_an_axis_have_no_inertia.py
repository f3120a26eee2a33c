"""A joint about an axis on which all mass lies moves nothing, whichever way round-off falls."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from looped import turned


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("mass", [1e-6, 1.0, 1e6])
def test_a_point_on_the_axis_is_refused(seed: int, mass: float) -> None:
    rng = np.random.default_rng(seed)
    n = turned(rng)[0]
    b = lw.Builder("point").body("point", mass, 0.7 * n, (0, 0, 0)).joint("pin", lw.Revolute(n), "world", "point")
    with pytest.raises(
        lw.ModelError, match=r"joint 'pin': .* has no inertia \(the smallest eigenvalue of S\^T I S is 0, must be > 0\)"
    ):
        b.build()


@pytest.mark.parametrize("seed", range(20))
def test_a_point_on_the_axis_of_a_sliding_turn_is_refused(seed: int) -> None:
    """Its slider moves the mass, its turn does not; the two have different units."""
    n = turned(np.random.default_rng(seed))[0]
    b = lw.Builder("point").body("point", 1.0, 0.7 * n, (0, 0, 0)).joint("sleeve", lw.Cylindrical(n), "world", "point")
    with pytest.raises(lw.ModelError, match="has no inertia"):
        b.build()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e3])
def test_thin_bodies_of_any_size_are_not(seed: int, size: float) -> None:
    """A rod of a millionth of its length in thickness turns about its own axis against a very small inertia."""
    R = turned(np.random.default_rng(seed))
    inertia = size**2 * R @ np.diag([1.0, 1.0, 1e-9]) @ R.T
    inertia = (inertia + inertia.T) / 2.0
    b = lw.Builder("rod").body("rod", 1.0, 0.5 * size * R[:, 2], inertia)
    assert b.joint("spin", lw.Revolute(R[:, 2]), "world", "rod").build().nv == 1
