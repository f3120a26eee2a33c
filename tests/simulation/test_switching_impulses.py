"""Every switch reports its impulse, constraint force and energy; momentum is conserved in allowed directions."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.constraints.velocity_constraints import velocity_row_matrix
from linkwork.model.elements import Brake, Clutch
from random_mechanisms import tree


def held_tree(seed: int) -> lw.Mechanism:
    """A random tree with a brake on one joint and a clutch between two others, both released."""
    m = tree(seed)
    single = [joint.name for joint in m.joints if joint.kind.nv == 1]
    picked = list(np.random.default_rng(seed).permutation(single))
    clutches, brakes = (
        [Clutch("clutch", picked[0], picked[1], -1.5, np.inf, 0.0)],
        [Brake("brake", picked[-1], np.inf, 0.0)],
    )
    return m.with_elements("clutches", clutches).with_elements("brakes", brakes)


@pytest.mark.parametrize("seed", [5, 9, 12])
def test_simultaneous_switches_conserve_momentum_and_lose_the_removed_energy(seed):
    m = held_tree(seed)
    rng = np.random.default_rng(1)
    q, v = m.random(rng), rng.normal(size=m.nv)
    schedule = [(0.0, "engage", "clutch"), (0.0, "engage", "brake")]
    run = lw.simulate(m, q, v, duration=1e-3, dt=1e-3, method="rk4", schedule=schedule, stops=None, target="numpy")
    after, M = run.v[0], lw.compile(m, target="numpy").mass_matrix(q)
    C = velocity_row_matrix(m.with_parameters({"clutch.engaged": 1.0, "brake.engaged": 1.0}))
    impulses = np.array([event.impulse for event in run.events])
    size = abs(M @ v).max()
    np.testing.assert_allclose(M @ (after - v), C.T @ impulses, rtol=0, atol=1e-12 * size)
    allowed = np.linalg.svd(C)[2][len(C) :].T
    assert abs(allowed.T @ M @ (after - v)).max() < 1e-12 * size
    total, removed = 0.5 * v @ M @ v, 0.5 * (v - after) @ M @ (v - after)
    lost = -sum(event.energy for event in run.events)
    assert abs(lost - removed) < 1e-12 * total
    assert abs(total - 0.5 * after @ M @ after - lost) < 1e-12 * total
    carried = run["carried"][0]
    assert [event.carried for event in run.events] == pytest.approx(list(carried), rel=1e-9)


def arm() -> lw.Mechanism:
    b = lw.Builder("arm")
    b.body("upper", 1.0, com=(0.2, 0, 0), inertia=(0.01, 0.02, 0.02))
    b.body("lower", 1.0, com=(0.2, 0, 0), inertia=(0.01, 0.02, 0.02))
    b.joint("shoulder", lw.Revolute((0, 1, 0)), "world", "upper")
    b.joint("elbow", lw.Revolute((0, 1, 0)), "upper", "lower", at=(0.4, 0, 0))
    return b.build()


@pytest.mark.parametrize(("method", "count"), [("rk4", 1000), ("variational", 100)])
def test_energies_of_a_thousand_locks_and_releases_add_up(method, count):
    schedule = [(k * 1e-3, "lock" if k % 2 else "unlock", "elbow") for k in range(1, 2 * count + 1)]
    run = lw.simulate(arm(), [0.3, 0.5], duration=2e-3 * count, dt=1e-3, method=method, schedule=schedule)
    assert len(run.events) == 2 * count
    assert sum(event.energy for event in run.events) == pytest.approx(run["work"][-1], rel=1e-9)
    locked, unlocked = run.events[::2], run.events[1::2]
    assert all(event.energy <= 1e-15 for event in locked)
    assert all(event.energy == 0.0 and event.impulse == 0.0 for event in unlocked)
    balance = run.energy - run.energy[0] - run["work"]
    assert abs(balance).max() < 1e-5 * abs(run.energy).max()
    schedule = [(0.0, "lock", "elbow")]
    still = lw.simulate(arm(), [0.3, 0.5], duration=2e-3 * count, dt=1e-3, method=method, schedule=schedule)
    np.testing.assert_allclose(still.q[:, 1], 0.5, rtol=0, atol=1e-14)


def test_release_changes_no_velocity_and_reports_the_constraint_force():
    m, schedule = arm(), [(0.1, "unlock", "elbow")]
    d = lw.compile(m)
    runs = [
        lw.simulate(m, [0.3, 0.5], duration=0.1 if cut else 0.2, dt=1e-3, method="rk4", schedule=each)
        for cut, each in ((1, [(0.0, "lock", "elbow")]), (0, [(0.0, "lock", "elbow"), *schedule]))
    ]
    assert (runs[0].v[-1] == runs[1].v[100]).all()
    assert runs[1].events[-1].carried == pytest.approx(runs[0]["carried"][-1, 0], rel=1e-9)
    a = d.forward_dynamics(runs[1].q[100], runs[1].v[100], [0, 0])
    assert abs(a[1]) > 1.0  # it moves from then on


@pytest.mark.parametrize("method", ["variational", "energy-momentum", "rattle"])
def test_locking_and_unlocking_a_free_body_conserves_momentum(method):
    """In free space a lock does not change the total momentum."""
    b = lw.Builder("flyer", gravity=(0, 0, 0))
    b.body("hull", 2.0, inertia=(1, 2, 3)).joint("free", lw.Free(), "world", "hull")
    b.body("arm", 1.0, com=(0.3, 0.1, 0), inertia=(0.1, 0.2, 0.2))
    b.joint("hinge", lw.Revolute((0, 0.6, 0.8)), "hull", "arm", at=(0.5, 0, 0))
    m = b.build()
    rng = np.random.default_rng(0)
    v = rng.normal(size=m.nv)
    schedule = [(0.1, "lock", "hinge"), (lambda t, q, v: t - 0.2345, "unlock", "hinge")]
    run = lw.simulate(m, m.neutral(), v, duration=0.4, dt=0.01, method=method, schedule=schedule)
    locked, unlocked = run.events
    assert locked.energy < 0.0
    assert unlocked.time == pytest.approx(0.2345, rel=1e-8)
    assert abs(run.momentum - run.momentum[0]).max() < 1e-11
    assert abs(run.v[12:23, 6]).max() < 1e-12
    assert abs(run.v[-1, 6]) > 1e-3


@pytest.mark.parametrize("method", ["semi-implicit", "rk4", "variational"])
def test_brake_engages_during_contact(method):
    """A block on a lift rests on the ground; the locked slide takes over a part of the contact force."""
    b = lw.Builder("press")
    b.body("block", 2.0, inertia=(0.1, 0.1, 0.1)).joint(
        "slide", lw.Prismatic((0, 0, 1)), "world", "block", damping=50.0
    )
    b.surface("floor", lw.Plane()).touch("foot", "block", stiffness=2e4, damping=100.0)
    b.brake("brake", "slide")
    m = b.build()
    down, dt = -2.0 * 9.81 / 2e4, 2e-4 if method == "semi-implicit" else 5e-4

    def pressed(t, q, v):
        return [np.where(t < 0.5, -10.0, 0.0)]

    run = lw.simulate(
        m, [down], duration=1.0, dt=dt, method=method, controller=pressed,
        schedule=[(0.4, "engage", "brake"), (0.8, "release", "brake")],
    )  # fmt: skip
    engaged, released = run.events
    deep = -(2.0 * 9.81 + 10.0) / 2e4
    assert run.q[round(0.4 / dt), 0] == pytest.approx(deep, rel=1e-3)
    assert engaged.carried == pytest.approx(0.0, abs=0.05)  # the contact carries all
    assert released.carried == pytest.approx(-10.0, rel=1e-3)  # it pushes by ten newtons more than the weight
    assert run.q[-1, 0] == pytest.approx(down, rel=1e-3)
    assert run.report().passed


def test_event_of_a_loop_that_closes_reports_its_impulse():
    m = lw.example("four_bar")
    loop = m.loops[0].name
    run = lw.simulate(m, duration=0.02, dt=1e-3, method="rk4", schedule=[(0.005, "open", loop), (0.006, "close", loop)])
    opened, closed = run.events
    assert opened.carried > 0.0
    assert opened.impulse == 0.0
    assert closed.impulse > 0.0
    assert closed.energy < 0.0


def test_events_are_saved_with_the_run(tmp_path):
    run = lw.simulate(
        arm(), [0.3, 0.5], [1.0, 2.0], duration=0.1, dt=1e-2, method="rk4", schedule=[(0.05, "lock", "elbow")]
    )
    run.save(tmp_path / "run.npz")
    assert lw.open_run(tmp_path / "run.npz").events == run.events
    assert str(run.events[0]).startswith("at 0.05 s: lock elbow (energy -")
    assert "impulse" in str(run.events[0])
