"""Every method passes singular positions of loops on the smooth branch, and simulates overconstrained loops."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import linkwork as lw
from iftomm_linkages import bar_angles, bricard, four_bars, pinned_body, signs
from linkwork.simulation.methods.method_registry import METHODS
from linkwork.spatial.scalar import Array

EVERY_METHOD = pytest.mark.parametrize("method", METHODS)
# Largest energy error [J] per window of N four-bars, and error [rad] of the angles, in 10 s with steps of 1 ms
ENERGY = {"rk4": 1e-6, "semi-implicit": 0.2, "midpoint": 1e-4, "energy-momentum": 1e-10, "shake": 2e-3}
ANGLE = {"rk4": 1e-5}
STRUCTURED = [name for name, method in METHODS.items() if method.implicit]


def check_four_bars(windows: int, method: str) -> None:
    m = four_bars(windows)
    run = lw.simulate(m, duration=10.0, dt=1e-3, method=method, every=10)
    assert run.outcome.kind == "finished"
    assert np.abs(lw.compile(m).constraint(run.q)).max() < 1e-12
    assert np.ptp(run.energy) < ENERGY.get(method, 5e-4) * windows
    expected = bar_angles(windows, run.t)[:, None] * signs(m)
    np.testing.assert_allclose(run.q, expected, rtol=0, atol=ANGLE.get(method, 2e-4))


@pytest.mark.parametrize("windows", [pytest.param(1, marks=pytest.mark.slow), 2])
@EVERY_METHOD
def test_row_of_four_bars_stays_made_of_parallelograms_through_flat_positions(method, windows):
    check_four_bars(windows, method)


@pytest.mark.slow
@pytest.mark.parametrize("windows", [5, 40])
@EVERY_METHOD
def test_chain_of_many_four_bars_stays_made_of_parallelograms(method, windows):
    check_four_bars(windows, method)


@cache
def bricard_motion(duration: float) -> tuple[Array, Array]:
    """Coordinates (T, 5) of Bricard's linkage every 10 ms, and its energy (T,), by small steps of "rk4"."""
    run = lw.simulate(bricard(), duration=duration, dt=1e-4, method="rk4", every=100)
    return run.q, run.energy


def check_bricard(method: str, duration: float) -> None:
    m, (q, energy) = bricard(), bricard_motion(duration)
    assert m.check_loops(m.neutral()).redundant == {"hinge 5": 1}
    run = lw.simulate(m, duration=duration, dt=1e-3, method=method, every=10)
    assert run.outcome.kind == "finished"
    assert np.abs(lw.compile(m).constraint(run.q)).max() < 1e-12
    first_order = method == "semi-implicit"
    assert np.ptp(run.energy) < {"rk4": 1e-6, "semi-implicit": 2.0, "energy-momentum": 1e-10}.get(method, 2e-3)
    assert np.ptp(energy) < 1e-9
    if not first_order:  # its energy drifts, and with it the times of the turns
        np.testing.assert_allclose(run.q, q, rtol=0, atol=1e-7 if method == "rk4" else 2e-3)


@EVERY_METHOD
def test_overconstrained_bricard_linkage_moves(method):
    check_bricard(method, 2.0)


@pytest.mark.slow
@EVERY_METHOD
def test_overconstrained_bricard_linkage_moves_for_ten_seconds(method):
    check_bricard(method, 10.0)


@pytest.mark.parametrize("windows", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("method", STRUCTURED)
def test_run_can_start_at_and_near_a_singular_position(method, windows):
    """Steps begin at, end at and straddle the position; in a batch each member has the same bits as alone."""
    m = four_bars(windows)
    away = np.array([0.0, 1e-14, 1e-12, 1e-10, 1e-9, 1e-8, 1e-6, 1e-4, 2e-3, 4e-3])
    q, v = (away - np.pi / 2)[:, None] * signs(m), -4.0 * signs(m)
    run = lw.simulate(m, q, v, duration=0.2, dt=1e-3, method=method)
    assert all(one.kind == "finished" for one in run.outcomes)
    assert np.abs(lw.compile(m).constraint(run.q)).max() < 1e-12
    np.testing.assert_allclose(run.q, run.q[..., :1] * signs(m), rtol=0, atol=1e-6)  # flat: closed to its square
    assert np.ptp(run.energy, axis=-1).max() < 1e-3
    for k in (0, 4, 9):
        alone = lw.simulate(m, q[k], v, duration=0.2, dt=1e-3, method=method)
        assert np.array_equal(alone.q, run.q[k])
        assert np.array_equal(alone.v, run.v[k])


@pytest.mark.parametrize("method", STRUCTURED)
def test_ball_pin_on_a_free_body_stays_closed_with_large_steps(method):
    rng = np.random.default_rng(3)
    m = pinned_body(rng.normal(size=3) * [0.1, 1, 1])
    d = lw.compile(m)
    q = d.assemble(m.random(rng))
    v = d.consistent(q, rng.normal(size=6) * [1, 1, 1, 10, 10, 10])
    run = lw.simulate(m, q, v, duration=5.0, dt=5e-3, method=method)
    assert run.outcome.kind == "finished"
    assert np.abs(d.constraint(run.q)).max() < 1e-12
    assert np.ptp(run.energy) < 2e-2 * np.ptp(run["energy.kinetic"])
