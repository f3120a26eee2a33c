"""Transmissions and differentials: constraints, velocity jump of a shift, transmitted forces; alone and in batches."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.constraints.velocity_constraints import velocity_row_matrix
from linkwork.compiler import kernel
from linkwork.model.elements import Differential, Transmission
from random_mechanisms import tree, tree_with_mimics

RATIOS = (3.5, 1.8, -3.0)
ENGINE, LOAD = 0.2, 5.0  # [kg m^2]


def gearbox(selected: int = 0) -> lw.Mechanism:
    """An engine shaft, a load shaft, and three gears between them, the last for reverse."""
    b = lw.Builder("gearbox", gravity=(0, 0, 0))
    b.body("engine", 1.0, inertia=(1, 1, ENGINE)).body("load", 1.0, inertia=(4, 4, LOAD))
    b.joint("input", lw.Revolute(), "world", "engine").joint("output", lw.Revolute(), "world", "load", at=(1, 0, 0))
    return b.transmission("gearbox", "input", "output", RATIOS, selected).build()


def axle(**more) -> lw.Mechanism:
    """A shaft that drives two wheels through a differential."""
    b = lw.Builder("axle", gravity=(0, 0, 0)).body("shaft", 1.0, inertia=(1, 1, 0.3))
    b.joint("shaft", lw.Revolute(), "world", "shaft")
    for side, inertia in (("left", 2.0), ("right", 3.0)):
        b.body(side, 1.0, inertia=(2, 2, inertia)).joint(side, lw.Revolute(), "world", side)
    return b.differential("axle", "shaft", "left", "right", ratio=0.25, **more).build()


def with_gears(m: lw.Mechanism, seed: int) -> lw.Mechanism:
    """The mechanism with a transmission in its second gear and a differential, where it has joints for them."""
    single = [joint.name for joint in m.leaders if joint.kind.nv == 1]
    picked = [str(name) for name in np.random.default_rng(seed).permutation(single)]
    gears = [Transmission("gearbox", picked[0], picked[1], RATIOS, 2.0)] if len(picked) > 1 else []
    axles = [Differential("axle", picked[2], picked[3], picked[4], 0.7)] if len(picked) > 4 else []
    return m.with_elements("transmissions", gears).with_elements("differentials", axles)


TREES = {f"tree {k}": with_gears(tree(k), k) for k in (14, 21)} | {"with mimics": with_gears(tree_with_mimics(28), 1)}
each = pytest.mark.parametrize("name", TREES)


@each
def test_all_formulations_agree_on_engaged_gears(name):
    assert len(TREES[name].velocity_rows) > 0
    assert lw.cross_check(TREES[name], samples=3).worst < 1e-10


@each
def test_velocity_jump_of_a_gear_shift_conserves_momentum_in_allowed_directions(name):
    m, rng = TREES[name], np.random.default_rng(1)
    d, q, v = lw.compile(m, target="numpy"), m.random(rng), rng.normal(size=m.nv)
    after, M = d.consistent(q, v), d.mass_matrix(q)
    C = velocity_row_matrix(m.tree) @ m.spread
    assert abs(C @ after).max() < 1e-11
    allowed = np.linalg.svd(C)[2][np.linalg.matrix_rank(C) :].T
    assert abs(allowed.T @ M @ (after - v)).max() < 1e-11 * abs(M @ v).max()
    lost, removed = 0.5 * v @ M @ v - 0.5 * after @ M @ after, v - after
    assert lost == pytest.approx(0.5 * removed @ M @ removed, rel=1e-9)


@pytest.mark.parametrize("method", ["semi-implicit", "rk4", "variational", "energy-momentum", "dop853"])
def test_shift_conserves_the_momentum_of_the_remaining_motion(method):
    """w+ = (r I_e w_e + I_l w_l) / (r^2 I_e + I_l) of the output, in the gear r."""
    schedule = [(0.1, "shift", "gearbox", k) for k in (1,)]
    schedule += [(0.2, "shift", "gearbox", 2), (0.3, "shift", "gearbox", 0), (0.4, "shift", "gearbox", 3)]
    run = lw.simulate(gearbox(), [0, 0], [100.0, 2.0], duration=0.5, dt=0.01, method=method, schedule=schedule)
    engine, load = 100.0, 2.0
    energy = 0.5 * ENGINE * engine**2 + 0.5 * LOAD * load**2
    for row, ratio in ((15, 3.5), (25, 1.8), (35, None), (45, -3.0)):
        if ratio is not None:
            load = (ratio * ENGINE * engine + LOAD * load) / (ratio**2 * ENGINE + LOAD)
            engine = ratio * load
        np.testing.assert_allclose(run.v[row], [engine, load], rtol=1e-11)
    lost = energy - 0.5 * ENGINE * engine**2 - 0.5 * LOAD * load**2
    assert run["work"][-1] == pytest.approx(-lost, rel=1e-9)
    assert [event.what.split(" (")[0] for event in run.events] == [
        "shift gearbox to gear 1", "shift gearbox to gear 2", "shift gearbox to neutral", "shift gearbox to gear 3",
    ]  # fmt: skip
    assert run.report().passed


def test_gear_ratio_scales_torque_and_its_square_scales_inertia():
    for gear, ratio in enumerate(RATIOS, start=1):
        m = gearbox(gear)
        d = lw.compile(m, target="numpy")
        a = d.forward_dynamics([0, 0], [ratio, 1.0], [2.0, 0.0])
        assert a == pytest.approx(2.0 * ratio / (ratio**2 * ENGINE + LOAD) * np.array([ratio, 1.0]), rel=1e-12)
        assert d.carried([0, 0], [ratio, 1.0], [2.0, 0.0]) == pytest.approx([LOAD * a[1]], rel=1e-12)


def test_differential_averages_two_speeds_with_equal_torques():
    m = axle()
    d = lw.compile(m, target="numpy")
    v = d.consistent([0, 0, 0], [8.0, 1.0, 2.0])
    assert v[1] + v[2] == pytest.approx(2 * 0.25 * v[0], rel=1e-12)
    a = d.forward_dynamics([0, 0, 0], v, [1.0, 0.0, 0.0])
    (torque,) = d.carried([0, 0, 0], v, [1.0, 0.0, 0.0])
    assert a[1:] == pytest.approx(torque / np.array([2.0, 3.0]), rel=1e-12)
    assert 0.3 * a[0] == pytest.approx(1.0 - 2 * 0.25 * torque, rel=1e-12)


def test_differential_can_be_released_and_engaged():
    run = lw.simulate(axle(engaged=False), [0, 0, 0], [8.0, 0.0, 0.0], duration=0.3, dt=0.01, method="rk4",
                      schedule=[(0.1, "engage", "axle"), (0.2, "release", "axle")])  # fmt: skip
    assert run.v[5] == pytest.approx([8.0, 0.0, 0.0])
    assert run.v[15][1] * 2 == pytest.approx(run.v[15][2] * 3)
    assert run.v[15][1:].sum() == pytest.approx(0.5 * run.v[15][0], rel=1e-12)
    assert (run.v[15] == run.v[25]).all()


def test_batch_members_shift_gears_separately_without_new_kernels(monkeypatch):
    times = np.array([0.05, 0.1, 0.15])
    schedule = [(times, "shift", "gearbox", 1), (times + 0.05, "shift", "gearbox", 3)]
    starts = np.array([[50.0, 0.0], [80.0, 1.0], [20.0, -3.0]])
    more = {"duration": 0.3, "dt": 0.01, "method": "rk4"}
    run = lw.simulate(gearbox(), np.zeros((3, 2)), starts, schedule=schedule, **more)
    for k, time in enumerate(times):
        own = [(time, "shift", "gearbox", 1), (time + 0.05, "shift", "gearbox", 3)]
        alone = lw.simulate(gearbox(), [0, 0], starts[k], schedule=own, **more)
        assert (alone.v == run.v[k]).all()
    built, build = [], kernel.Kernel._build
    monkeypatch.setattr(kernel.Kernel, "_build", lambda self, width: built.append(width) or build(self, width))
    again = [(0.02, "shift", "gearbox", 2), (0.1, "shift", "gearbox", 3), (0.2, "shift", "gearbox", 0)]
    lw.simulate(gearbox(), [0, 0], [1.0, 1.0], schedule=again, **more)
    assert not built


def test_guard_shifts_at_a_speed_within_the_step():
    """The shift is located within the step: the engine has exactly the guard's speed before it."""
    guard = (lambda t, q, v: v[0] - 15.0, "shift", "gearbox", 2)
    run = lw.simulate(gearbox(1), [0, 0], [0.0, 0.0], duration=3.0, dt=0.01, method="rk4", schedule=[guard],
                      controller=lambda t, q, v: np.stack([5.0 + 0 * t, 0 * t]))  # fmt: skip
    rate = 5.0 * 3.5 / (3.5**2 * ENGINE + LOAD)  # of the load
    time = 15.0 / (3.5 * rate)
    (event,) = run.events
    assert event.time == pytest.approx(time, abs=1e-9)
    after = (1.8 * ENGINE * 15.0 + LOAD * 15.0 / 3.5) / (1.8**2 * ENGINE + LOAD)
    load = after + 5.0 * 1.8 / (1.8**2 * ENGINE + LOAD) * (3.0 - time)
    assert run.v[-1] == pytest.approx([1.8 * load, load], rel=1e-9)


def test_controller_shifts_gears():
    """The controller returns the gear with its forces: up when the engine is fast, and never down."""

    def driver(t, q, v, modes):
        up = np.where(v[0] > 15.0, 2.0, modes["gearbox.selected"])
        return {"tau": np.stack([5.0 + 0 * t, 0 * t]), "gearbox.selected": up}

    run = lw.simulate(gearbox(1), [0, 0], duration=3.0, dt=0.01, method="rk4", controller=lw.sampled(driver, rate=50))
    gears = run["gearbox.selected"]
    assert set(gears.tolist()) == {1.0, 2.0}
    assert (np.diff(gears) >= 0.0).all()
    ratios = np.array([np.nan, 3.5, 1.8])[gears.astype(int)]
    np.testing.assert_allclose(run.v[1:, 0], ratios[1:] * run.v[1:, 1], rtol=1e-9)
    assert [event.what.split(" (")[0].split(";")[0] for event in run.events] == ["shift gearbox to gear 2"]


@pytest.mark.parametrize(("wanted", "gear"), [(1.7, 1), (9.0, 3), (-2.0, 0)])
@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_controller_gear_is_rounded_and_clipped(wanted, gear, target):
    """The returned gear is rounded down and clipped to the valid gears; that value is recorded and reported."""

    def driver(t, q, v):
        return {"tau": [0.0, 0.0], "gearbox.selected": np.where(t > 0.025, wanted, 0.0)}

    run = lw.simulate(
        gearbox(), [0, 0], [10.0, 0.0], duration=0.05, dt=0.01, method="rk4", controller=driver, target=target
    )
    assert run["gearbox.selected"][-1] == gear
    assert [event.what.split(" (")[0] for event in run.events] == [f"shift gearbox to gear {gear}"] * (gear > 0)


def test_simulator_shifts_gears():
    sim = lw.Simulator(gearbox(), [0, 0], [100.0, 2.0])
    energy = sim.shift("gearbox", 1)
    load = (3.5 * ENGINE * 100.0 + LOAD * 2.0) / (3.5**2 * ENGINE + LOAD)
    assert sim.state.v == pytest.approx([3.5 * load, load], rel=1e-12)
    remaining = 0.5 * (3.5**2 * ENGINE + LOAD) * load**2
    assert energy == pytest.approx(remaining - 0.5 * ENGINE * 100.0**2 - 0.5 * LOAD * 2.0**2, rel=1e-12)
    sim.step([1.0, 0.0])
    assert sim.state.v[0] == pytest.approx(3.5 * sim.state.v[1], rel=1e-12)
    assert sim.shift("gearbox", 0) == 0.0


def test_gears_are_saved_to_the_bit(tmp_path):
    for m in (gearbox(2), axle(engaged=False)):
        lw.save(m, tmp_path / "m.toml")
        again = lw.load(tmp_path / "m.toml")
        assert list(again.transmissions) == list(m.transmissions)
        assert list(again.differentials) == list(m.differentials)


def test_mimic_joint_equals_a_permanently_engaged_clutch():
    """Mimic joints need fewer coordinates and give the same motion."""

    def arm() -> lw.Builder:
        b = lw.Builder("arm")
        for k, parent in enumerate(("world", "link 0", "link 1")):
            b.body(f"link {k}", 1.0, com=(0.3, 0.1, 0), inertia=(0.1, 0.2, 0.25))
            b.joint(f"joint {k}", lw.Revolute((0, 1, 0.2)), parent, f"link {k}", at=(0.5, 0, 0))
        return b

    mimic = arm().mimic("joint 2", "joint 0", -1.5).build()
    tied = arm().clutch("tie", "joint 0", "joint 2", ratio=-1.5, engaged=True).build()
    rng = np.random.default_rng(2)
    for _ in range(5):
        (q, v), tau = rng.normal(size=(2, 2)), rng.normal(size=3)
        positions, velocities = (np.array([*x, -1.5 * x[0]]) for x in (q, v))
        a = lw.compile(mimic).forward_dynamics(q, v, [tau[0] - 1.5 * tau[2], tau[1]])
        found = lw.compile(tied).forward_dynamics(positions, velocities, tau)
        np.testing.assert_allclose(found, [*a, -1.5 * a[0]], rtol=1e-10)
