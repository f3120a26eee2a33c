"""Piles of equal aligned boxes rest: no creep, no warning, in rigid and in compliant contact."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.spatial.scalar import Array


def pile(nx: int, ny: int, nz: int, side: float, height: float = 0.0) -> tuple[lw.Mechanism, Array]:
    """Cubes of 1 kg, flush on and beside each other, at a height [m] above the floor, and their coordinates."""
    b = lw.Builder("pile", gravity=(0, 0, -9.81)).surface("floor", lw.Plane())
    places = [(i * side, j * side, (k + 0.5) * side + height) for k in range(nz) for j in range(ny) for i in range(nx)]
    for k in range(len(places)):
        b.body(f"{k}", 1.0, inertia=3 * (side * side / 6,)).joint(f"free {k}", lw.Free(), "world", f"{k}")
        b.geometry(f"{k}", lw.Box((side, side, side)), role="collision")
    m = b.collide("all", friction=0.5, stiffness=2e4, damping=200.0).build()
    return m, np.array([x for place in places for x in (*place, 1.0, 0.0, 0.0, 0.0)])


@pytest.mark.parametrize("duration", [0.5, pytest.param(60.0, marks=pytest.mark.slow)])
def test_ten_rigid_boxes_rest_on_each_other(duration: float) -> None:
    m, q = pile(1, 1, 10, 1.0)
    run = lw.simulate(m, q, duration=duration, contact="rigid", every=10)
    assert np.abs(run.q - q).max() < 1e-12
    assert str(run.report()).count("all checks passed") == 1


@pytest.mark.slow
def test_ten_compliant_boxes_rest_on_each_other_for_a_minute() -> None:
    m, q = pile(1, 1, 10, 1.0)
    run = lw.simulate(m, q, duration=60.0, every=1000)
    settled = run.q[run.t > 20.0]
    assert np.abs(settled - settled[-1]).max() < 1e-12
    assert str(run.report()).count("all checks passed") == 1


@pytest.mark.slow
def test_pile_of_27_flush_cubes_lands_and_comes_to_rest() -> None:
    """They land at the same instant, on their faces, beside each other."""
    m, q = pile(3, 3, 3, 0.1, 0.05)
    run = lw.simulate(m, q, duration=0.3, dt=1e-3, contact="rigid")
    assert run.report().passed
    assert np.abs(run.v[-1]).max() < 1e-12
    moved = (run.q[-1] - q).reshape(27, 7)
    assert np.abs(moved[:, [0, 1, 4, 5, 6]]).max() < 1e-6
    assert moved[:, 2] == pytest.approx(np.full(27, -0.05), abs=5e-5)
