"""A joint about an axis that contains all the mass has no inertia and is rejected, whatever the round-off."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from random_loops import random_rotation


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("mass", [1e-6, 1.0, 1e6])
def test_point_mass_on_a_revolute_axis_is_rejected(seed: int, mass: float) -> None:
    rng = np.random.default_rng(seed)
    n = random_rotation(rng)[0]
    b = lw.Builder("point").body("point", mass, 0.7 * n, (0, 0, 0)).joint("pin", lw.Revolute(n), "world", "point")
    with pytest.raises(
        lw.ModelError, match=r"joint 'pin': .* has no inertia \(the smallest eigenvalue of S\^T I S is 0, must be > 0\)"
    ):
        b.build()


@pytest.mark.parametrize("seed", range(20))
def test_point_mass_on_a_cylindrical_axis_is_rejected(seed: int) -> None:
    """The slider moves the mass, the rotation does not; the two have different units."""
    n = random_rotation(np.random.default_rng(seed))[0]
    b = lw.Builder("point").body("point", 1.0, 0.7 * n, (0, 0, 0)).joint("sleeve", lw.Cylindrical(n), "world", "point")
    with pytest.raises(lw.ModelError, match="has no inertia"):
        b.build()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e3])
def test_thin_bodies_of_any_size_are_accepted(seed: int, size: float) -> None:
    """A rod with a relative thickness of 1e-6 rotates about its own axis with a very small inertia."""
    R = random_rotation(np.random.default_rng(seed))
    inertia = size**2 * R @ np.diag([1.0, 1.0, 1e-9]) @ R.T
    inertia = (inertia + inertia.T) / 2.0
    b = lw.Builder("rod").body("rod", 1.0, 0.5 * size * R[:, 2], inertia)
    assert b.joint("spin", lw.Revolute(R[:, 2]), "world", "rod").build().nv == 1
