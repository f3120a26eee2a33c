"""Dry friction of joints in runs: Coulomb's law holds exactly, with located events, in every method and mode."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw

G = 9.81
FIXED = ("rk4", "semi-implicit", "midpoint", "variational", "rattle", "shake", "energy-momentum")
ADAPTIVE = ("dop853", "radau", "lsoda")
ORDERS = {"semi-implicit": 1, "midpoint": 2, "variational": 2, "rattle": 2, "energy-momentum": 2, "rk4": 4}
STIFFNESS, MASS, FRICTION = 100.0, 2.0, 7.0


def with_step(method: str, dt: float) -> dict[str, Any]:
    """Return the options of `simulate` for a method; adaptive methods take no step."""
    return {"method": method} if method in ADAPTIVE else {"method": method, "dt": dt}


def slider(friction: float = FRICTION, slope: float = 0.0, stiffness: float = 0.0) -> lw.Mechanism:
    """Return a mass that slides along x, on an incline at `slope` [rad], with a spring."""
    b = lw.Builder("slider", gravity=(G * np.sin(slope), 0, -G * np.cos(slope))).body("mass", MASS)
    b.joint("slide", lw.Prismatic((1, 0, 0)), "world", "mass", stiffness=stiffness, friction=friction)
    return b.build()


def arm(seed: int, links: int, size: float) -> lw.Mechanism:
    """Return an arm with random axes and random dry friction of about `size` [N m]."""
    rng, parent = np.random.default_rng(seed), "world"
    b = lw.Builder("arm", gravity=(0, 0, -G))
    for k in range(links):
        b.body(f"link {k}", 1.0, com=(0.5, 0, 0), inertia=(0.05, 0.1, 0.1))
        axis = rng.normal(size=3)
        joint = lw.Revolute(tuple(axis / np.linalg.norm(axis)))
        at, friction = (0.0 if k == 0 else 1.0, 0, 0), size * abs(rng.normal())
        b.joint(f"joint {k}", joint, parent, f"link {k}", at=at, friction=friction)
        parent = f"link {k}"
    return b.build()


def start(seed: int, links: int) -> np.ndarray:
    """Return random joint angles [rad]."""
    return np.random.default_rng(seed + 1000).normal(size=links)


@pytest.mark.parametrize("method", [*FIXED, *ADAPTIVE])
def test_an_oscillator_loses_twice_the_friction_over_the_stiffness_in_each_half_swing(method: str) -> None:
    run = lw.simulate(slider(stiffness=STIFFNESS), [0.5], duration=4.0, **with_step(method, 0.01))
    end, half_swings, dead = 0.5, 0, FRICTION / STIFFNESS
    while abs(end) > dead:
        end, half_swings = -np.sign(end) * (abs(end) - 2.0 * dead), half_swings + 1
    error = {"semi-implicit": 1e-3, "dop853": 1e-12, "radau": 1e-8, "lsoda": 1e-8}.get(method, 1e-6)
    assert run.q[-1, 0] == pytest.approx(end, abs=error)
    assert run.v[-1, 0] == 0.0
    assert run.events[-1].what == "slide holds"
    period = np.pi * np.sqrt(MASS / STIFFNESS)
    late = {"dop853": 1e-8, "radau": 1e-7, "lsoda": 1e-7, "rk4": 1e-5}.get(method, 1e-2)
    assert run.events[-1].time == pytest.approx(half_swings * period, rel=late)
    work = 0.5 * STIFFNESS * (run.q[-1, 0] ** 2 - 0.25)
    assert run["work"][-1] == pytest.approx(work, rel=2e-2 if method == "semi-implicit" else 1e-6)


@pytest.mark.parametrize("method", ORDERS)
def test_integration_methods_keep_their_order_across_slip_and_stick_events(method: str) -> None:
    m, q = arm(0, 5, 15.0), start(0, 5)
    exact = lw.simulate(m, q, duration=1.6, method="dop853", rtol=1e-11)
    runs = [lw.simulate(m, q, duration=1.6, dt=dt, method=method) for dt in (8e-3, 4e-3, 2e-3)]
    errors = [np.abs(run.q[-1] - exact.q[-1]).max() for run in runs]
    for coarse, fine in pairwise(errors):
        assert fine < 1e-10 or np.log2(coarse / fine) > ORDERS[method] - 0.25
    assert len(exact.events) > 4
    assert [event.what for event in runs[-1].events] == [event.what for event in exact.events]
    report = runs[-1]
    assert report["work.joints"][-1] == pytest.approx(report["work"][-1], rel=1e-12)


@pytest.mark.parametrize("method", [*FIXED, *ADAPTIVE])
def test_joints_with_friction_stay_at_rest_for_a_minute_below_the_limit_and_slip_above_it(method: str) -> None:
    m, q = arm(3, 3, 1.0), start(3, 3)
    gravity = lw.compile(m).gravity(q)
    loads = np.abs(gravity)

    def with_limits(factor: float) -> lw.Mechanism:
        return m.with_parameters({f"joint {k}.friction": [factor * x] for k, x in enumerate(loads)})

    held = lw.simulate(with_limits(1 / 0.99), q, duration=60.0, **with_step(method, 0.02))
    assert np.all(held.q == q)
    assert np.all(held.v == 0.0)
    assert not held.events
    np.testing.assert_allclose(held["friction"][-1], gravity, rtol=1e-12)
    slips = lw.simulate(with_limits(1 / 1.01), q, duration=0.04, **with_step(method, 0.02))
    assert np.all(slips.v[-1] != 0.0)


def test_accelerations_of_joints_at_rest_satisfy_the_principle_of_least_constraint() -> None:
    for seed in range(4):
        m, q = arm(seed, 8, (5.0, 20.0, 60.0)[seed % 3]), start(seed, 8)
        d, dt = lw.compile(m), 1e-6
        S, limits = np.linalg.inv(d.mass_matrix(q)), np.concatenate([j.friction for j in m.joints])
        gravity, f = d.gravity(q), np.zeros(8)
        for _ in range(1000):  # projected Gauss-Seidel sweeps
            for k in range(8):
                f[k] = np.clip(f[k] - S[k] @ (f - gravity) / S[k, k], -limits[k], limits[k])
        run = lw.simulate(m, q, duration=dt, dt=dt, method="rk4")
        np.testing.assert_allclose(run.v[-1] / dt, S @ (f - gravity), atol=1e-5)


def test_friction_holds_a_four_bar_until_the_sum_of_all_friction_limits_is_exceeded() -> None:
    m = lw.example("four_bar")
    q, d = m.keyframes["start"].q, lw.compile(m)
    D = m.independent(q).map[:, 0]
    load, inertia = D @ d.gravity(q), D @ d.mass_matrix(q) @ D
    limit = abs(load) / np.abs(D).sum()  # equal friction in all joints, of which one alone could lock the linkage

    def run(factor: float, method: str, duration: float) -> lw.Run:
        friction = {f"{j.name}.friction": [factor * limit] for j in m.joints}
        return lw.simulate(m.with_parameters(friction), q, np.zeros(3), duration=duration, **with_step(method, 1e-3))

    for method in ("rk4", "midpoint", "variational", "dop853"):
        held = run(1.001, method, 5.0)
        assert np.all(held.q == q)
        np.testing.assert_allclose(held.v, 0.0, atol=1e-18)
        slips = run(0.99, method, 1e-3)
        expected = np.abs(D) * (0.01 * abs(load)) / inertia
        np.testing.assert_allclose(np.abs(slips.v[-1]) / 1e-3, expected, rtol=1e-4)


@pytest.mark.parametrize("method", ["rk4", "midpoint", "variational", "semi-implicit"])
def test_batch_members_with_different_joint_friction_match_single_runs_bit_for_bit(method: str) -> None:
    m, q = arm(5, 4, 15.0), np.array([start(seed, 4) for seed in range(4)])
    friction = np.array([[0.0], [3.0], [10.0], [40.0]])
    batch = lw.simulate(m, q, duration=0.5, dt=5e-3, method=method, parameters={"joint 1.friction": friction})
    for k in range(4):
        given = {"joint 1.friction": friction[k]}
        single = lw.simulate(m, q[k], duration=0.5, dt=5e-3, method=method, parameters=given)
        np.testing.assert_array_equal(single.q, batch.q[k])
        np.testing.assert_array_equal(single["friction"], batch["friction"][k])
        own = [event.what for event in batch.events if event.member == (k,)]
        assert own == [event.what for event in single.events]
    smooth = lw.simulate(m.with_parameters({"joint 1.friction": [0.0]}), q[0], duration=0.5, dt=5e-3, method=method)
    np.testing.assert_allclose(smooth.q, batch.q[0], atol=1e-11)


@pytest.mark.parametrize("method", ["rk4", "midpoint", "variational", "dop853"])
def test_saved_runs_continued_runs_and_simulator_steps_with_friction_are_bit_identical(
    method: str, tmp_path: Path
) -> None:
    m, q = arm(5, 4, 15.0), start(5, 4)
    whole = lw.simulate(m, q, duration=1.0, **with_step(method, 5e-3))
    half = lw.simulate(m, q, duration=0.5, **with_step(method, 5e-3))
    half.save(tmp_path / "half.npz")
    rest = lw.simulate(m, lw.open_run(tmp_path / "half.npz"), duration=0.5)
    np.testing.assert_allclose(rest.q[-1], whole.q[-1], rtol=1e-11)
    if method not in ADAPTIVE:
        np.testing.assert_array_equal(rest.q[-1], whole.q[-1])
        simulator = lw.Simulator(m, q, dt=5e-3, method=method)
        for _ in range(200):
            simulator.step()
        np.testing.assert_array_equal(simulator.state.q, whole.q[-1])


def test_motion_converges_with_full_order_if_a_controller_moves_several_joints_at_once() -> None:
    m, q = arm(2, 5, 15.0), 0.3 * start(2, 5)

    def controller(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return 40.0 * np.sin(7.0 * t) - 30.0 * q

    def run(**options: Any) -> lw.Run:
        return lw.simulate(m, q, duration=0.5, controller=lw.sampled(controller, rate=100), **options)

    exact = run(method="dop853", rtol=1e-11)
    errors = [np.abs(run(method="rk4", dt=dt).q[-1] - exact.q[-1]).max() for dt in (1 / 200, 1 / 400)]
    assert errors[0] / errors[1] > 12.0
    assert len(exact.events) > 5


def test_integration_methods_agree_on_friction_with_clutches_brakes_and_latches() -> None:
    b = lw.Builder("flywheels", gravity=(0, 0, 0))
    b.body("first", 1.0, inertia=(1, 1, 2)).body("second", 1.0, inertia=(2, 2, 3))
    b.joint("a", lw.Revolute(), "world", "first", friction=1.0)
    b.joint("b", lw.Revolute(), "world", "second", at=(1, 0, 0), friction=0.5)
    b.clutch("clutch", "a", "b", capacity=6.0, engaged=True).brake("brake", "b", capacity=2.0).latch("latch", "a", 4.0)
    m = b.build()
    schedule = [(0.5, "release", "clutch"), (0.7, "engage", "brake"), (1.5, "release", "brake")]

    def torques(t: float, q: np.ndarray, v: np.ndarray) -> list[float]:
        return [0.9 * np.sin(3.0 * t), 0.6 * np.cos(2.0 * t)]

    runs = [
        lw.simulate(
            m, [0, 0], [5.0, 0.0], duration=6.0, schedule=schedule, controller=torques, **with_step(method, 0.01)
        )
        for method in ("dop853", "rk4", "variational")
    ]
    for run, error in zip(runs[1:], (1e-7, 1e-4), strict=True):
        np.testing.assert_allclose(run.q[-1], runs[0].q[-1], atol=error)
        assert [event.what for event in run.events] == [event.what for event in runs[0].events]
        assert run.report().passed


def test_a_leg_on_rigid_ground_holds_below_the_friction_limit_and_slides_above_it() -> None:
    b = lw.Builder("leg", gravity=(0, 0, -G)).body("hip", 1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("height", lw.Prismatic((0, 0, 1)), "world", "hip", friction=1.0)
    m = b.surface("floor", lw.Plane()).touch("sole", "hip", friction=0.5).build()
    held = lw.simulate(
        m.with_parameters({"height.friction": [G / 0.99]}), [1.0], duration=60.0, contact="rigid", dt=0.01
    )
    assert np.all(held.q == 1.0)
    assert np.all(held.v == 0.0)
    np.testing.assert_allclose(held["friction"][-1], G, rtol=1e-12)
    falls = lw.simulate(m.with_parameters({"height.friction": [4.0]}), [1.0], duration=0.5, contact="rigid", dt=0.01)
    assert falls.v[-1, 0] == pytest.approx(-(G - 4.0) * 0.5, rel=1e-9)
    assert falls["work.joints"][-1] == pytest.approx(-4.0 * (1.0 - falls.q[-1, 0]), rel=1e-9)
    assert falls.report().passed


def test_joint_loaded_exactly_at_the_friction_limit_does_not_move() -> None:
    for excess, moved in ((0.0, 0.0), (1e-12, 0.0), (1e-6, 0.5 * 1e-6 / MASS * 20.0**2)):
        push = FRICTION + excess
        run = lw.simulate(
            slider(), duration=20.0, dt=0.01, method="rk4", controller=lambda t, q, v, f: [f], gains={"f": push}
        )
        assert run.q[-1, 0] == pytest.approx(moved, rel=1e-6, abs=0.0)
