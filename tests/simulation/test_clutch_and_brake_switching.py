"""Engaged clutches and brakes hold their constraint; engaging conserves momentum in all allowed directions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.constraints.velocity_constraints import velocity_row_matrix
from linkwork.compiler import kernel
from linkwork.model.elements import Brake, Clutch
from random_mechanisms import tree
from shaft_mechanisms import flywheels, two_wheels

METHODS = ("semi-implicit", "rk4", "midpoint", "variational", "energy-momentum", "dop853")


def held_tree(seed: int) -> lw.Mechanism:
    """A random tree with an engaged brake on one joint and an engaged clutch between two others."""
    m = tree(seed)
    single = [joint.name for joint in m.joints if joint.kind.nv == 1]
    rng = np.random.default_rng(seed)
    picked = list(rng.permutation(single))
    clutches = [Clutch("clutch", picked[0], picked[1], -1.5, np.inf, 1.0)] if len(picked) > 1 else []
    brakes = [Brake("brake", picked[-1], np.inf, 1.0)] if len(picked) != 2 else []
    return m.with_elements("clutches", clutches).with_elements("brakes", brakes)


def summed_tree(seed: int) -> lw.Mechanism:
    """A random tree with an engaged clutch between sums of joints, one of which is in both sums."""
    m, rng = tree(seed), np.random.default_rng(seed)
    a, b, c = rng.permutation([joint.name for joint in m.joints if joint.kind.nv == 1])[:3]
    clutch = Clutch("clutch", ((a, 1.0), (b, -0.5)), ((c, 2.0), (a, 1.0)), 0.7, np.inf, 1.0)
    return replace(m, name=f"{m.name} summed").with_elements("clutches", [clutch])


TREES = [*map(held_tree, (5, 6, 9, 12)), *map(summed_tree, (7, 8, 32))]


@pytest.mark.parametrize("m", TREES, ids=lambda m: m.name)
def test_all_formulations_agree_on_engaged_clutches_and_brakes(m):
    assert m.velocity_rows
    assert lw.cross_check(m, samples=5).worst < 1e-9


@pytest.mark.parametrize("m", TREES, ids=lambda m: m.name)
def test_velocity_jump_of_engaging_clutches_conserves_momentum_in_allowed_directions(m):
    rng = np.random.default_rng(1)
    q, v = m.random(rng), rng.normal(size=m.nv)
    d = lw.compile(m, target="numpy")
    after, M, C = d.consistent(q, v), d.mass_matrix(q), velocity_row_matrix(m)
    assert abs(C @ after).max() < 1e-12
    allowed = np.linalg.svd(C)[2][np.linalg.matrix_rank(C) :].T
    scale = abs(M @ v).max()
    assert abs(allowed.T @ M @ (after - v)).max() < 1e-12 * scale
    lost = 0.5 * v @ M @ v - 0.5 * after @ M @ after
    removed = v - after
    assert lost == pytest.approx(0.5 * removed @ M @ removed, rel=1e-10)


@pytest.mark.parametrize("m", TREES, ids=lambda m: m.name)
def test_forces_of_clutches_on_the_open_tree_give_the_constrained_accelerations(m):
    """The open tree under the joint forces of clutches and brakes moves as the constrained one."""
    rng = np.random.default_rng(2)
    d = lw.compile(m, target="numpy")
    q = m.random(rng)
    v, tau = d.consistent(q, rng.normal(size=m.nv)), rng.normal(size=m.nv)
    free = lw.compile(m.with_elements("clutches", []).with_elements("brakes", []), target="numpy")
    carried = d.carried(q, v, tau)
    expected = free.forward_dynamics(q, v, tau + velocity_row_matrix(m).T @ carried)
    np.testing.assert_allclose(d.forward_dynamics(q, v, tau), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_clutch_brings_two_flywheels_to_their_common_speed(method):
    schedule = [(0.1, "engage", "clutch"), (0.2, "release", "clutch"), (0.25, "lock", "b"), (0.3, "unlock", "b")]
    run = lw.simulate(flywheels(), [0, 0], [5.0, 0.0], duration=0.4, dt=1e-2, method=method, schedule=schedule)
    common = 2 * 5.0 / (2 + 3)
    np.testing.assert_allclose(run.v[[5, 15, 22, 28, 38]], [[5, 0], [common] * 2, [common] * 2, *[[common, 0]] * 2])
    assert [event.what for event in run.events] == [
        "engage clutch (energy -15 J)",
        "release clutch",
        "lock b (energy -6 J)",
        "unlock b",
    ]
    turned = [0.1 * 5 + 0.3 * common, 0.15 * common]
    np.testing.assert_allclose(run.q[-1], turned, rtol=1e-3 if method in ("variational", "energy-momentum") else 1e-12)
    assert run.report().passed


def test_clutch_shifts_its_ratio_and_reverses_its_sign():
    schedule = [(0.1, "shift", "clutch", 2.0), (0.2, "reverse", "clutch")]
    run = lw.simulate(flywheels(engaged=True), [0, 0], [1, 1], duration=0.3, dt=1e-2, method="rk4", schedule=schedule)
    momentum = np.array([2.0, 3.0])
    expected, v = [], np.array([1.0, 1.0])
    for ratio in (1.0, 2.0, -2.0):
        along = np.array([1.0, ratio])
        v = along * (along @ (momentum * v)) / (along @ (momentum * along))
        expected.append(v)
    np.testing.assert_allclose(run.v[[5, 15, 25]], expected, rtol=1e-12)
    assert (run["clutch.ratio"][[5, 15, 25]] == [1, 2, -2]).all()


def differential(**options: Any) -> lw.Mechanism:
    """A shaft of 2 kg m^2 that drives the sum of two wheels of 3 and 6 kg m^2."""
    b = lw.Builder("differential", gravity=(0, 0, 0))
    for place, (name, inertia) in enumerate({"shaft": 2.0, "left": 3.0, "right": 6.0}.items()):
        b.body(name, 1.0, inertia=(inertia,) * 3).joint(name, lw.Revolute(), "world", name, at=(0, place, 0))
    return b.clutch("clutch", "shaft", {"left": 1, "right": 1}, 2.0, **options).build()


@pytest.mark.parametrize("method", METHODS)
def test_clutch_drives_a_sum_of_joints(method):
    """The impulses on both wheels are equal, and that on the shaft is -2 times as large."""
    schedule = [(0.1, "engage", "clutch"), (0.2, "reverse", "clutch"), (0.3, "release", "clutch")]
    run = lw.simulate(differential(), v0=[8, 0, 0], duration=0.4, dt=1e-2, method=method, schedule=schedule)
    row, inertia, v = np.array([-2.0, 1.0, 1.0]), np.array([2.0, 3.0, 6.0]), np.array([8.0, 0.0, 0.0])
    first = v - row / inertia * (row @ v) / (row @ (row / inertia))
    row = np.array([2.0, 1.0, 1.0])
    second = first - row / inertia * (row @ first) / (row @ (row / inertia))
    np.testing.assert_allclose(run.v[[5, 15, 25, 35]], [v, first, second, second], rtol=1e-12, atol=1e-14)
    assert run.report().passed


def test_clutch_between_sums_of_joints_slips_until_the_sums_of_speeds_are_equal():
    run = lw.simulate(differential(capacity=6.0, engaged=True), v0=[8, 0, 0], duration=3.0, dt=0.03, method="rk4")
    meeting = 16.0 / (6.0 * (4 / 2 + 1 / 3 + 1 / 6))  # slip over its rate
    slips = run.t < meeting
    np.testing.assert_allclose(run.v[slips, 1], 6.0 / 3.0 * run.t[slips], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(run.v[~slips][1:], [[8 - 6 * meeting, 2 * meeting, meeting]] * (np.sum(~slips) - 1))


def test_clutch_reports_its_transmitted_force():
    run = lw.simulate(
        flywheels(engaged=True), [0, 0], duration=0.1, dt=1e-2, method="rk4", controller=lambda t, q, v: [1.0, 0.0]
    )
    np.testing.assert_allclose(run["carried"][:, 0], 3.0 / 5.0)  # what the second wheel needs of 1 N m


def test_switching_of_modes_compiles_no_kernels(monkeypatch):
    built = []
    build = kernel.Kernel._build
    monkeypatch.setattr(kernel.Kernel, "_build", lambda self, width: built.append(width) or build(self, width))
    few = [(0.05, "engage", "clutch")]
    many = few + [(0.05 + 0.01 * k, ("release", "engage")[k % 2], "clutch") for k in range(1, 20)]
    arguments = {"duration": 0.4, "dt": 1e-2, "method": "rk4", "controller": lambda t, q, v: [0.1, 0.0]}
    lw.simulate(flywheels(), [0, 0], [5.0, 0.0], schedule=few, **arguments)
    first = len(built)
    lw.simulate(flywheels(), [0, 0], [5.0, 0.0], schedule=many, **arguments)
    assert len(built) - first <= first


def test_batch_members_with_separate_schedules_match_single_runs():
    times = np.random.default_rng(0).uniform(0.05, 0.3, 20).round(2)
    speeds = np.random.default_rng(1).normal(size=(20, 2))
    m = flywheels(ratio=-0.7)
    run = lw.simulate(m, [0, 0], speeds, duration=0.4, dt=1e-2, method="rk4", schedule=[(times, "engage", "clutch")])
    for k in (0, 7, 19):
        alone = lw.simulate(
            m, [0, 0], speeds[k], duration=0.4, dt=1e-2, method="rk4", schedule=[(times[k], "engage", "clutch")]
        )
        assert (alone.q == run.q[k]).all()
        assert (alone.v == run.v[k]).all()


def test_simulator_switches_clutches_and_brakes():
    simulator = lw.Simulator(flywheels(), [0, 0], [5.0, 0.0], dt=1e-2)
    assert simulator.engage("clutch") == pytest.approx(-15.0)
    simulator.step()
    np.testing.assert_allclose(simulator.state.v, [2.0, 2.0])
    simulator.shift("clutch", -2.0)
    np.testing.assert_allclose(simulator.state.v, np.array([1.0, -2.0]) * (2 * 2 - 3 * 2 * 2) / (2 + 3 * 4))
    simulator.reverse("clutch")
    simulator.release("clutch")
    simulator.lock("a")
    simulator.step([1.0, 3.0])
    assert simulator.state.v[0] == 0.0
    simulator.unlock("a")
    simulator.step([2.0, 0.0])
    assert simulator.state.v[0] == pytest.approx(1e-2)


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ([(0.1, "engage", "cluch")], "'cluch'. Did you mean 'clutch'?"),
        ([(0.1, "lock", "c")], "there is no brake or joint 'c'. Valid: a, b"),
        ([(0.1, "shift", "clutch")], "must be (time, 'shift', name, gear) or (time, 'shift', name, ratio)"),
        ([(0.1, "shift", "clutch", 0.0)], "the ratio must not be 0"),
        (
            [(0.2, "engage", "clutch"), (0.1, "release", "clutch")],
            "(release clutch) is earlier than the entry",
        ),
        (
            [(0.1, "engage", "second"), (0.1, "engage", "clutch")],
            "drives 'b' from 'a' at the ratio 2, but clutch 'clutch' drives it at 1",
        ),
    ],
)
def test_invalid_schedules_are_rejected(schedule, message):
    m = two_wheels().clutch("clutch", "a", "b").clutch("second", "a", "b", ratio=2.0).build()
    with pytest.raises(lw.LinkworkError) as error:
        lw.simulate(m, [0, 0], duration=0.5, schedule=schedule)
    assert message in str(error.value)


def test_contradictory_clutches_are_rejected():
    b = two_wheels().clutch("low", "a", "b", ratio=0.5, engaged=True)
    b.clutch("high", "b", "a", ratio=1.0, engaged=True)
    with pytest.raises(lw.ModelError, match=r"clutch 'high'.*clutch 'low'"):
        b.build()


def test_contradictory_clutches_on_sums_are_rejected():
    """For any scale and order of the sums, and whichever side drives."""
    b = lw.Builder("wheels")
    for name in "abc":
        b.body(name, 1.0, inertia=(1, 1, 1)).joint(name, lw.Revolute(), "world", name)
    b.clutch("one", {"a": 1, "b": 3}, "c", 2.0, engaged=True).clutch("same", "c", {"b": 0.3, "a": 0.1}, 0.05)
    m = b.clutch("other", {"c": -2}, {"b": 3, "a": 1}).build()
    lw.simulate(m, duration=0.1, dt=0.1, schedule=[(0.0, "engage", "same")])
    with pytest.raises(
        lw.LinkworkError, match=r"'other' drives 'c' from 'a \+ 3 b' at the ratio -0.5, but clutch 'one' drives it at 2"
    ):
        lw.simulate(m, duration=0.1, dt=0.1, schedule=[(0.0, "engage", "other")])


def test_start_with_a_slipping_clutch_without_capacity_is_rejected():
    with pytest.raises(
        lw.LinkworkError,
        match=r"clutch 'clutch' is engaged, but slips at 5 rad/s or m/s at the start; use v0 = d\.consistent",
    ):
        lw.simulate(flywheels(engaged=True), [0, 0], [5.0, 0.0], duration=0.1)
