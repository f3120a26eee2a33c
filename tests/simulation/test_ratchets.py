"""Ratchets hold in one direction: overrunning is free, and impulses push but never pull."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import linkwork as lw
from linkwork.algorithms.constraints.velocity_constraints import velocity_row_matrix
from linkwork.model.elements import Ratchet
from linkwork.simulation.events.impulses import impact
from linkwork.simulation.simulated_system import System
from random_mechanisms import tree


def wheels(count: int) -> lw.Builder:
    """Wheels of 2, 3, 4, ... kg m^2 on parallel shafts "j0", "j1", ..."""
    b = lw.Builder("wheels", gravity=(0, 0, 0))
    for k in range(count):
        b.body(f"w{k}", 1.0, inertia=(9, 9, 2.0 + k))
        b.joint(f"j{k}", lw.Revolute(), "world", f"w{k}", at=(k, 0, 0))
    return b


def rectifier() -> lw.Mechanism:
    return wheels(2).ratchet("ratchet", "j0", "j1").build()


def push(t, q, v):
    return [0.3 + np.cos(6.0 * t), 0.0]


@pytest.mark.parametrize(
    ("method", "dt", "error"), [("rk4", 0.01, 1e-7), ("dop853", 0.1, 1e-7), ("midpoint", 0.005, 5e-5)]
)
def test_overrunning_clutch_matches_its_closed_form(method, dt, error):
    """Driven by 0.3 + cos 6t, it releases where that becomes negative and holds where the driver catches up."""
    run = lw.simulate(rectifier(), [0, 0], duration=1.6, dt=dt, method=method, controller=push)

    def given(t):  # the integral of what drives it
        return 0.3 * t + np.sin(6.0 * t) / 6.0

    first = np.arccos(-0.3) / 6.0
    common = given(first) / (2.0 + 3.0)
    second: Any = brentq(lambda t: (given(t) - given(first)) / 2.0, 0.9, 1.4)
    assert [event.what for event in run.events][:2] == ["ratchet overruns", "ratchet holds"]
    np.testing.assert_allclose([event.time for event in run.events][:2], [first, second], rtol=error)
    free = (run.t > first) & (run.t < second)
    np.testing.assert_allclose(run.v[free, 1], common, rtol=error)
    np.testing.assert_allclose(run.v[free, 0], common + (given(run.t[free]) - given(first)) / 2.0, atol=error)
    after = (run.t > second + dt) & (run.t < np.pi / 3 + first)
    np.testing.assert_allclose(run.v[after, 0], given(run.t[after]) / 5.0, atol=error)
    assert (run["carried"][:, 0] >= -1e-7).all()  # it only pushes
    assert run.report().passed


@pytest.mark.parametrize("method", ["rk4", "variational"])
def test_pendulum_with_a_ratchet_stays_at_its_turning_point(method):
    b = lw.Builder("pendulum")
    b.body("rod", 1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01)).joint(
        "hinge", lw.Revolute((0, 1, 0)), "world", "rod"
    )
    m = b.ratchet("pawl", "hinge").build()
    run = lw.simulate(m, [-1.0], duration=3.0, dt=0.01, method=method)
    assert run.q[-1, 0] == pytest.approx(1.0, abs=2e-4 if method == "variational" else 1e-7)
    assert abs(run.v[-1, 0]) < 1e-12
    assert run["work"][-1] == pytest.approx(0.0, abs=1e-9)  # everything was at rest when it engaged
    assert (np.diff(run.q[:, 0]) > -1e-9).all()


def test_backward_speeds_are_equalised_when_a_ratchet_engages():
    b = wheels(2).ratchet("ratchet", "j0", "j1", engaged=False)
    run = lw.simulate(
        b.build(), [0, 0], [5.0, 0.0], duration=0.3, dt=0.01, method="rk4", schedule=[(0.1, "engage", "ratchet")]
    )
    np.testing.assert_allclose(run.v[-1], 2.0, rtol=1e-12)
    (event,) = run.events
    assert event.energy == pytest.approx(-15.0, rel=1e-12)
    assert event.impulse == pytest.approx(6.0, rel=1e-12)
    ahead = lw.simulate(
        b.build(), [0, 0], [0.0, 5.0], duration=0.3, dt=0.01, method="rk4", schedule=[(0.1, "engage", "ratchet")]
    )
    assert (ahead.v == [0.0, 5.0]).all()
    assert ahead.events[0].impulse == 0.0


def test_ratchet_direction_can_be_reversed():
    m = wheels(2).ratchet("ratchet", "j0", "j1", direction=-1).build()
    schedule = [(0.2, "reverse", "ratchet")]
    run = lw.simulate(m, [0, 0], [5.0, 0.0], duration=0.4, dt=0.01, method="rk4", schedule=schedule)
    assert (run.v[:20] == [5.0, 0.0]).all()
    np.testing.assert_allclose(run.v[20:], 2.0, rtol=1e-12)
    assert run["ratchet.direction"][[0, -1]].tolist() == [-1, 1]


def test_chain_of_ratchets_conserves_momentum():
    """Each wheel that is caught shares the momentum; when the first is stopped, the others continue."""
    b = wheels(5)
    for k in range(4):
        b.ratchet(f"r{k}", f"j{k}", f"j{k + 1}", engaged=False)
    schedule = [(0.1 * (k + 1), "engage", f"r{k}") for k in range(4)] + [(0.6, "lock", "j0")]
    m = b.build()
    run = lw.simulate(m, [0] * 5, [5, 0, 0, 0, 0], duration=0.8, dt=0.01, method="rk4", schedule=schedule)
    inertia, momentum = np.arange(2.0, 7.0), 2.0 * 5.0
    for k in range(5):
        now = run.v[5 + 10 * k]
        np.testing.assert_allclose(now[: k + 1], momentum / inertia[: k + 1].sum(), rtol=1e-12)
        assert (now[k + 1 :] == 0).all()
        assert run.energy[5 + 10 * k] == pytest.approx(momentum**2 / (2 * inertia[: k + 1].sum()), rel=1e-12)
    np.testing.assert_allclose(run.v[-1], [0, *[momentum / inertia.sum()] * 4], rtol=1e-12)
    assert next(event.what for event in run.events if event.time > 0.55).startswith("lock j0")


@pytest.mark.parametrize("seed", [5, 6, 9])
def test_ratchet_impulses_push_and_never_pull(seed):
    """Of all sets of holding ratchets, the velocity jump selects the one without pulling or falling behind."""
    m = tree(seed)
    rng = np.random.default_rng(seed)
    single = [joint.name for joint in m.joints if joint.kind.nv == 1][:4]
    directions = rng.choice([-1.0, 1.0], len(single))
    ratchets = [
        Ratchet(f"on {name}", name, None, 1.0, np.inf, 1.0, direction)
        for name, direction in zip(single, directions, strict=True)
    ]
    m = m.with_elements("ratchets", ratchets)
    q, v = m.random(rng), rng.normal(size=m.nv)
    result = impact(System(m), q, v, np.zeros(len(ratchets)))
    d = lw.compile(m.with_elements("ratchets", []), target="numpy")
    M, J = d.mass_matrix(q), velocity_row_matrix(m)
    scale = abs(J @ v).max()
    impulses = result.impulses[-len(ratchets) :]
    assert (impulses > -1e-9 * abs(impulses).max()).all()
    assert (J @ result.v > -1e-9 * scale).all()
    assert abs(impulses * (J @ result.v)).max() < 1e-8
    np.testing.assert_allclose(M @ (result.v - v), J.T @ impulses, atol=1e-10 * abs(M @ v).max())
    assert result.energy <= 0.0
    assert result.energy == pytest.approx(result.energies.sum(), abs=1e-10)
    found = []
    for held in product((False, True), repeat=len(ratchets)):
        C = J[list(held)]
        pushes = np.linalg.lstsq(C @ np.linalg.solve(M, C.T), -C @ v, rcond=1e-10)[0]
        after = v + np.linalg.solve(M, C.T @ pushes)
        if (pushes > -1e-9).all() and (J @ after > -1e-9).all():
            found.append(after)
    assert found
    np.testing.assert_allclose(result.v, found[0], atol=1e-8)


def test_ratchet_slips_above_its_capacity():
    m = wheels(2).ratchet("ratchet", "j0", "j1", capacity=6.0).build()
    run = lw.simulate(m, [0, 0], [5.0, 0.0], duration=2.01, dt=0.03, method="rk4")
    meeting = 5.0 / (6 / 2 + 6 / 3)
    assert run.events[0].what == "ratchet holds"
    assert run.events[0].time == pytest.approx(meeting, rel=1e-8)
    np.testing.assert_allclose(run.v[-1], 2.0, rtol=1e-12)
    assert run["work"][-1] == pytest.approx(-15.0, rel=1e-9)


def test_ratchets_of_batch_members_hold_separately_and_saved_runs_continue(tmp_path):
    rng = np.random.default_rng(0)
    speeds = np.sort(rng.normal(size=(9, 2)))  # the second runs ahead, at first
    arguments: dict[str, Any] = {"dt": 0.01, "method": "rk4", "controller": push}
    run = lw.simulate(rectifier(), [0, 0], speeds, duration=1.5, **arguments)
    for k in (0, 8):
        alone = lw.simulate(rectifier(), [0, 0], speeds[k], duration=1.5, **arguments)
        assert (alone.q == run.q[k]).all()
        assert (alone.v == run.v[k]).all()
        assert [event[2:] for event in alone.events] == [event[2:] for event in run.events if event.member == (k,)]
    half = lw.simulate(rectifier(), [0, 0], speeds, duration=0.7, **arguments)
    half.save(tmp_path / "half.npz")
    rest = lw.simulate(rectifier(), lw.open_run(tmp_path / "half.npz"), duration=0.8, **arguments)
    assert (rest.v[:, -1] == run.v[:, -1]).all()
    assert len(half.events) + len(rest.events) == len(run.events)


def test_simulator_lets_ratchets_overrun():
    run = lw.simulate(rectifier(), [0, 0], duration=1.5, dt=0.01, method="rk4", controller=lw.sampled(push))
    simulator = lw.Simulator(rectifier(), [0, 0], dt=0.01)
    for k in range(150):
        simulator.step(np.array(push(0.01 * k, None, None)))
    np.testing.assert_allclose(simulator.state.v, run.v[-1], rtol=1e-12)
    simulator.reverse("ratchet")
    assert simulator.state.v[1] <= simulator.state.v[0] + 1e-12


def test_start_with_velocities_that_violate_a_ratchet_is_rejected():
    with pytest.raises(lw.LinkworkError, match=r"'ratchet' is engaged, but slips at 5 rad/s or m/s at the start"):
        lw.simulate(rectifier(), [0, 0], [5.0, 0.0], duration=0.1)


def test_invalid_ratchets_and_latches_are_rejected():
    with pytest.raises(lw.ModelError, match="direction must be 1 or -1; got 2"):
        wheels(2).ratchet("r", "j0", "j1", direction=2)
    with pytest.raises(lw.ModelError, match="ratio must not be 0"):
        wheels(2).ratchet("r", "j0", "j1", ratio=0.0)
    with pytest.raises(lw.ModelError, match=r"ratchet 'r'.*'j9'.*[Vv]alid: j0, j1"):
        wheels(2).ratchet("r", "j0", "j9").build()
    with pytest.raises(lw.ModelError, match="latch 'r': this latch has the name of a ratchet"):
        wheels(2).ratchet("r", "j0", "j1").latch("r", "j0", 1.0).build()
    with pytest.raises(lw.ModelError, match="side must be one of below, above, both; got 'left'"):
        wheels(2).latch("r", "j0", 1.0, side="left")


@pytest.mark.parametrize("method", ["rk4", "variational"])
def test_many_coupled_ratchets_stay_consistent(method):
    """Five wheels, four ratchets, a slipping clutch and a latch: all overloaded at the start, none falls behind."""
    b = wheels(5)
    for k in range(4):
        b.ratchet(f"r{k}", f"j{k}", f"j{k + 1}", ratio=1.0 + 0.1 * k)
    m = b.clutch("clutch", "j0", "j4", capacity=3.0, engaged=True).latch("latch", "j2", 3.0).build()

    def torques(t, q, v):
        return [8.0 * np.sin(3.0 * t), -5.0 * np.cos(2.0 * t), 0.0, 3.0 * np.sin(t), 0.0]

    schedule = [(lambda t, q, v: t - 5.0, "release", "latch")]
    run = lw.simulate(m, np.zeros(5), duration=8.0, dt=0.02, method=method, controller=torques, schedule=schedule)
    assert len(run.events) > 20
    ahead = np.array([run.v[:, k + 1] - (1.0 + 0.1 * k) * run.v[:, k] for k in range(4)])
    assert ahead.min() > -1e-8
    assert abs(run["carried"][1:, 0]).max() < 3.0 + 1e-6  # at the very start it is taken as holding
    assert run.report().passed
