"""Each method has its order of convergence, conserves its invariants, and balances the energy."""

from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork.spatial.scalar import Array
from quick_test_selection import mark_slow_except
from random_mechanisms import state, tree, tree_with_mimics

ORDERS = {"semi-implicit": 1, "midpoint": 2, "rk4": 4}
# Those that run always have every kind of joint, fixed and free bases, springs and dampers.
some_trees = pytest.mark.parametrize("seed", mark_slow_except((3, 5, 6, 33, 34), (3, 6)))
SPAN = 0.2  # [s]


def gap(m: lw.Mechanism, a: lw.Run, b: lw.Run) -> float:
    """Return the distance between the final states of two runs."""
    return float(np.abs(np.concatenate([m.difference(a.q[-1], b.q[-1]), a.v[-1] - b.v[-1]])).max())


def swinging(t: float, q: Array, v: Array) -> Array:
    return np.sin(3.0 * t) - 0.5 * v


@cache
def runs(seed: int, method: str) -> list[lw.Run]:
    """Return runs of the same driven motion with smaller and smaller steps."""
    m, s = tree(seed), state(tree(seed), seed)
    steps = (32, 64, 128) if method == "rk4" else (64, 128, 256)
    return [
        lw.simulate(m, s.q, 0.3 * s.v, SPAN, SPAN / n, method, controller=swinging, wrenches=s.wrenches) for n in steps
    ]


@pytest.mark.parametrize("method", ORDERS)
@some_trees
def test_errors_of_integration_methods_fall_with_their_order(seed: int, method: str) -> None:
    m = tree(seed)
    coarse, middle, fine = runs(seed, method)
    slope = np.log2(gap(m, coarse, middle) / gap(m, middle, fine))
    assert abs(slope - ORDERS[method]) < 0.25, slope


@pytest.mark.parametrize("method", ORDERS)
@some_trees
def test_energy_balance_error_falls_with_the_order(seed: int, method: str) -> None:
    """Kinetic, gravity and spring energy change by the work of controllers, wrenches and dampers."""
    found = []
    for run in runs(seed, method):
        assert abs(run["work"][-1]) > 1e-3
        found.append(abs(run.energy[-1] - run.energy[0] - run["work"][-1]))
    assert found[2] < 1e-11 or np.log2(found[0] / found[2]) / 2.0 > ORDERS[method] - 0.4, found


@some_trees
def test_midpoint_is_time_reversible(seed: int) -> None:
    """Without friction: reversed velocities and the same steps lead back to the start."""
    m = tree(seed).with_parameters(
        {name: np.zeros_like(value) for name, value in tree(seed).parameters.items() if name.endswith("damping")}
    )
    s = state(m, seed)
    there = lw.simulate(m, s.q, 0.3 * s.v, 0.4, 4e-3, "midpoint").check()
    back = lw.simulate(m, there.q[-1], -there.v[-1], 0.4, 4e-3, "midpoint").check()
    assert np.abs(m.difference(s.q, there.q[-1])).max() > 0.01  # it did move
    assert np.abs(m.difference(s.q, back.q[-1])).max() < 1e-9
    assert np.abs(0.3 * s.v + back.v[-1]).max() < 1e-9


@pytest.mark.parametrize("method", ["dop853", "radau", "lsoda"])
def test_adaptive_methods_meet_their_tolerance(method: str) -> None:
    m, s = tree(5), state(tree(5), 5)
    exact = lw.simulate(m, s.q, 0.3 * s.v, 0.5, 0.05, "dop853", controller=swinging, rtol=1e-13, atol=1e-13)
    for tolerance in (1e-6, 1e-9):
        run = lw.simulate(m, s.q, 0.3 * s.v, 0.5, 0.05, method, controller=swinging, rtol=tolerance, atol=tolerance)
        assert np.abs(run.q - exact.q).max() < 20.0 * tolerance
        assert np.abs(run.v - exact.v).max() < 20.0 * tolerance * max(1.0, np.abs(exact.v).max())


def test_methods_with_fixed_and_adaptive_steps_give_the_same_final_state() -> None:
    for m in (tree(6), tree_with_mimics(6)):
        s = state(m, 1)
        q, v = s.q, 0.2 * s.v
        exact = lw.simulate(m, q, v, 0.2, 0.02, "dop853", rtol=1e-12, atol=1e-12)
        assert gap(m, exact, lw.simulate(m, q, v, 0.2, 1e-3, "rk4")) < 1e-7
        assert abs(exact["work"][-1] - lw.simulate(m, q, v, 0.2, 1e-3, "rk4")["work"][-1]) < 1e-8


def test_midpoint_handles_stiff_joint_springs() -> None:
    b = lw.Builder("stiff").body("bob", mass=1.0, com=(0, 0, -1))
    b.joint("pin", lw.Revolute((0, 1, 0)), "world", "bob", stiffness=1e8, damping=1e4)
    m = b.build()
    run = lw.simulate(m, [0.01], duration=1.0)
    assert (run.method, "stiff" in run.settings.why) == ("midpoint", True)
    assert abs(run.q[-1, 0]) < 1e-3
    assert lw.simulate(m, [0.01], duration=1.0, dt=1e-3, method="rk4").outcome.kind == "non-finite"


def test_free_flyer_conserves_momentum_for_a_hundred_thousand_steps() -> None:
    m = lw.example("free_flyer")
    rng = np.random.default_rng(4)
    run = lw.simulate(m, m.random(rng), 0.3 * rng.normal(size=m.nv), 100.0, 1e-3, "rk4", every=1000)
    drift = np.abs(run.momentum - run.momentum[0]).max(axis=0)
    scale = np.linalg.norm(run.momentum[0].reshape(2, 3), axis=1)
    assert (drift.reshape(2, 3).max(axis=1) < 1e-9 * scale).all(), drift
    assert abs(np.linalg.norm(run.q[-1, 3:7]) - 1.0) < 1e-12


def test_joint_stops_keep_joints_near_their_limits() -> None:
    b = lw.Builder("stopped").body("bob", mass=1.0, com=(0, 0, -1), inertia=(0.1, 0.1, 0.1))
    b.joint("pin", lw.Revolute((0, 1, 0)), "world", "bob", limits=(-0.5, 0.7))
    m = b.build()
    run = lw.simulate(m, [0.0], [6.0], 3.0, 1e-3, record=("q", "v", "work", "stops"))
    assert run.q.max() < 0.85
    assert run.q.min() > -0.65
    assert np.array_equal(run["stops"] != 0.0, (run.q > 0.7) & (run["stops"] < 0) | (run.q < -0.5) & (run["stops"] > 0))
    assert abs(run.energy[-1] - run.energy[0] - run["work"][-1]) < 5e-3  # a stop begins with a kink
    assert lw.simulate(m, [0.0], [6.0], 1.0, 1e-3, stops=None).q.max() > 1.5


def test_dry_friction_stops_a_block_at_the_stopping_distance() -> None:
    b = lw.Builder("rubbing").body("block", mass=2.0)
    b.joint("rail", lw.Prismatic((1, 0, 0)), "world", "block", friction=4.0)
    m = b.build()
    for method in ("semi-implicit", "rk4", "midpoint"):
        run = lw.simulate(m, [0.0], [1.0], 1.0, 1e-4, method)
        assert abs(run.q[-1, 0] - 0.25) < 2e-3  # v^2 / (2 f / m)
        assert abs(run.v[-1, 0]) < 1e-3
