"""Bounded constraints with rigid contacts: independent solutions, schedules, guards, batches, files, events, errors."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw

G = 10.0
SERIES = (
    "q", "v", "work", "slip", "contact.state", "contact.force", "contact.torque", "contact.since", "contact.wrenches",
)  # fmt: skip


@cache
def mixed_mechanism() -> lw.Mechanism:
    """A rolling ball, a foot with a load on a brake, and a wheel with a clutch and a ratchet."""
    b = lw.Builder("machine", gravity=(0, 0, -G)).surface("floor", lw.Plane())
    b.body("ball", 2.0, inertia=0.008 * np.ones(3)).joint("free", lw.Free(), "world", "ball")
    b.touch("skin", "ball", radius=0.1, friction=0.5, rolling=2e-3, spinning=1e-3, restitution=0.3, against="floor")
    b.body("foot", 1.0).joint("up", lw.Prismatic((0, 0, 1)), "world", "foot")
    b.touch("tip", "foot", friction=0.3, against="floor").body("load", 2.0)
    b.joint("hang", lw.Prismatic((0, 0, 1)), "foot", "load", at=(0, 0, 1))
    b.body("wheel", 1.0, inertia=0.02 * np.ones(3)).joint("turn", lw.Revolute(), "world", "wheel")
    b.clutch("ride", "hang", "turn", ratio=3.0, capacity=0.8, engaged=True)
    return b.ratchet("pawl", "turn").brake("hold", "hang", capacity=6.0, engaged=True).build()


COUNT = 7
START = np.array([0, 0, 0.1, 1, 0, 0, 0, 0, 0, 0.0])


def velocities() -> np.ndarray:
    rng, v = np.random.default_rng(0), np.zeros((COUNT, 9))
    v[:, 0], v[:, 5] = rng.uniform(-1, 1, COUNT), rng.uniform(-5, 5, COUNT)
    v[:, 7], v[:, 8] = rng.uniform(-1, 1, COUNT), rng.uniform(0, 10, COUNT)
    v[1::2, 2] = -0.7
    return v


def schedule(k: int | slice = slice(None)) -> list[Any]:
    return [
        (0.05, "release", "hold"),
        (0.1, "engage", "hold"),
        (lambda t, q, v: -0.02 - q[8], "release", "ride"),
        (np.linspace(0.12, 0.18, COUNT)[k], "engage", "ride"),
    ]


@cache
def whole() -> lw.Run:
    return run(START, velocities(), 0.3, schedule())


def run(start: Any, v0: Any, duration: float, entries: Any = None, **more: Any) -> lw.Run:
    dt = {} if isinstance(start, lw.Run) else {"dt": 1e-3}
    return lw.simulate(
        mixed_mechanism(), start, v0, duration=duration, contact="rigid", record=SERIES, schedule=entries, **dt, **more
    ).check()


# --- the same in any company ---


def test_members_with_slipping_and_sticking_clutches_match_single_runs() -> None:
    together = whole()
    assert together.report().passed, together.report()
    assert set(np.unique(together["slip"])) == {-1.0, 0.0, 1.0}
    for k in (0, 3, 6):
        alone = run(START, velocities()[k], 0.3, schedule(k))
        for name in SERIES:
            assert np.array_equal(alone[name], together[name][k]), name
        expected = [(event.what, event.time, event.carried) for event in together.events if event.member == (k,)]
        assert [(event.what, event.time, event.carried) for event in alone.events] == expected


def test_continued_run_with_slip_and_rigid_contacts_is_identical_to_the_bit() -> None:
    half = run(START, velocities(), 0.15, schedule())
    rest = run(half, None, 0.15, schedule())
    for name in SERIES:
        assert np.array_equal(rest[name][:, -1], whole()[name][:, -1]), name
    both = sorted((e.time, e.member, e.what) for part in (half, rest) for e in part.events)
    assert both == sorted((e.time, e.member, e.what) for e in whole().events)


@pytest.mark.parametrize("ending", [".npz", ".nc"])
def test_run_with_slip_and_rigid_contacts_continues_from_its_file(tmp_path: Path, ending: str) -> None:
    complete, half = (run(START, velocities(), duration) for duration in (0.1, 0.05))
    half.save(tmp_path / f"half{ending}")
    read = lw.open_run(tmp_path / f"half{ending}")
    for name in SERIES:
        assert np.array_equal(read[name], half[name]), name
    rest = run(read, None, 0.05)
    for name in SERIES:
        assert np.array_equal(rest[name][:, -1], complete[name][:, -1]), name


def test_numpy_target_gives_the_same_run_with_slip_and_rigid_contacts() -> None:
    compiled, plain = (run(START, velocities()[:2], 0.02, target=target) for target in ("cpu", "numpy"))
    for name in SERIES:
        scale = max(1.0, float(np.abs(compiled[name]).max()))
        assert plain[name] == pytest.approx(compiled[name], abs=1e-12 * scale), name
    assert [event.what for event in plain.events] == [event.what for event in compiled.events]


def test_simulator_gives_the_same_states_as_the_run() -> None:
    entries = [(0.05, "release", "ride"), (0.08, "engage", "ride")]
    v0 = velocities()[1]
    ran = run(START, v0, 0.1, entries)
    stepped = lw.Simulator(mixed_mechanism(), START, v0, contact="rigid")
    for k in range(100):
        if k == 50:
            stepped.release("ride")
        if k == 80:
            stepped.engage("ride")
        stepped.step()
    assert stepped.state.q == pytest.approx(ran.q[-1], abs=1e-12)
    assert stepped.state.v == pytest.approx(ran.v[-1], abs=1e-12)
    stepped.state = (0.0, START, v0)
    stepped.step()
    assert stepped.state.v == pytest.approx(run(START, v0, 1e-3).v[-1], abs=1e-12)


def test_simulator_with_latch_and_rigid_contact_matches_the_run() -> None:
    """The memory of a rigid contact is a force, not the anchor of a spring."""
    b = lw.Builder("rails", gravity=(0, 0, -G)).surface("floor", lw.Plane())
    b.body("foot", 1.0).joint("up", lw.Prismatic((0, 0, 1)), "world", "foot").touch("tip", "foot", stiffness=1e4)
    b.body("load", 2.0).joint("on", lw.Prismatic((0, 0, 1)), "foot", "load")
    m = b.latch("catch", "on", at=0.3).build()
    ran = lw.simulate(m, [0.0, 0.35], duration=0.2, dt=1e-3, contact="rigid").check()
    stepped = lw.Simulator(m, [0.0, 0.35], contact="rigid")
    for _ in range(200):
        stepped.step()
    assert stepped.state.q == pytest.approx(ran.q[-1], abs=1e-12)


# --- second opinions ---


@cache
def four_bar() -> lw.Mechanism:
    """A linkage with a brake, and a flywheel on a clutch; its contact is far from the floor."""
    b = lw.Builder("swing", gravity=(0, 0, -9.81)).surface("floor", lw.Plane(), at=(0, 0, -3.0))
    for name, parent, at, com in (
        ("left", "world", (0, 0, 1), (0.4, 0, 0)),
        ("coupler", "left", (0.8, 0, 0), (0.3, 0, 0)),
        ("right", "world", (0.6, 0, 1), (0.4, 0, 0)),
    ):
        b.body(name, 1.0, com=com, inertia=0.02 * np.ones(3)).joint(name, lw.Revolute((0, 1, 0)), parent, name, at=at)
    b.close("pin", lw.Revolute((0, 1, 0)), "coupler", "right", at=(0.6, 0, 0), to=(0.8, 0, 0))
    b.body("wheel", 1.0, inertia=0.3 * np.ones(3)).joint("wheel", lw.Revolute((0, 1, 0)), "world", "wheel")
    b.clutch("slip", "left", "wheel", capacity=1.5, engaged=True).brake("hold", "right", capacity=0.7, engaged=True)
    return b.touch("knee", "left", (0.8, 0, 0), friction=0.4, stiffness=1e4, damping=10.0).build()


def test_linkage_with_slipping_clutches_matches_located_events() -> None:
    start, v0, record = [0.2, -0.2, 0.2, 0], [0, 0, 0, 6.0], ("q", "v", "work", "contact.wrenches")
    located = lw.simulate(four_bar(), start, v0, duration=1.5, dt=1e-3, method="rk4", record=record).check()
    errors = []
    for dt in (4e-3, 1e-3):
        stepped = lw.simulate(four_bar(), start, v0, duration=1.5, dt=dt, contact="rigid", record=record).check()
        every = round(dt / 1e-3)
        errors.append(np.abs(stepped.q - located.q[::every]).max())
        assert np.abs(stepped.v - located.v[::every]).max() < 2.0 * dt
        assert stepped["work"][-1] == pytest.approx(located["work"][-1], abs=dt)
        report = stepped.report()
        assert report.passed, report
        assert float(report["loop position error"].value) < 1e-12
    assert errors[0] < 0.3 * 4e-3
    assert errors[1] < 0.3 * 1e-3
    times = {what: [e.time for e in located.events if e.what.startswith(what)] for what in ("slip holds", "slip slips")}
    for what, expected in times.items():
        found = [event.time for event in stepped.events if event.what == what]
        assert found == pytest.approx(expected, abs=2.1e-3)


def test_sticking_clutch_of_high_capacity_equals_a_rigid_one() -> None:
    def built(**options: Any) -> lw.Mechanism:
        b = lw.Builder("rails", gravity=(0, 0, -G)).surface("floor", lw.Plane())
        b.body("foot", 1.0).joint("up", lw.Prismatic((0, 0, 1)), "world", "foot")
        b.touch("tip", "foot", restitution=0.6)
        b.body("load", 2.0).joint("beside", lw.Prismatic((0, 0, 1)), "world", "load", at=(1, 0, 0))
        return b.clutch("tie", "up", "beside", engaged=True, **options).build()

    rigid, slipping = (
        lw.simulate(m, [0.1, 0.1], duration=0.6, dt=1e-3, contact="rigid", record=("q", "v", "contact.wrenches"))
        for m in (built(), built(capacity=1e7))
    )
    assert slipping.q == pytest.approx(rigid.q, abs=1e-9)
    assert slipping["carried"][-1] == pytest.approx(rigid["carried"][-1], rel=1e-6)
    assert not slipping.events


# --- switches and events ---


def test_clutch_engaged_during_contact_slips_and_then_holds() -> None:
    """A clutch of 60 N on a standing foot catches a load of 2 kg falling at 1 m/s: 20 N of weight, 40 N to stop it."""
    b = lw.Builder("rails", gravity=(0, 0, -G)).surface("floor", lw.Plane())
    b.body("foot", 1.0).joint("up", lw.Prismatic((0, 0, 1)), "world", "foot").touch("tip", "foot")
    b.body("load", 2.0).joint("beside", lw.Prismatic((0, 0, 1)), "world", "load", at=(1, 0, 0))
    m = b.clutch("tie", "up", "beside", capacity=60.0).build()
    caught = lw.simulate(
        m, [0.0, 0.5], [0.0, -0.5], duration=0.2, dt=1e-3, contact="rigid", schedule=[(0.05, "engage", "tie")],
        record=("q", "v", "work", "contact.force", "contact.wrenches"),
    ).check()  # fmt: skip
    assert [event.what for event in caught.events] == ["engage tie", "tie holds"]
    assert caught.events[0].energy == 0.0  # it gives no impulse
    assert caught.events[1].time == pytest.approx(0.05 + 1.0 / 20.0, abs=1.001e-3)
    k = 75
    assert caught["contact.force"][k, 0, 2] == pytest.approx(10.0 + 60.0, rel=1e-9)
    assert caught.v[k, 1] == pytest.approx(-1.0 + 20.0 * 0.025, abs=1e-9)
    assert caught["contact.force"][-1, 0, 2] == pytest.approx(30.0, rel=1e-9)
    assert caught["carried"][-1, 0] == pytest.approx(20.0, rel=1e-9)
    assert caught.report().passed, caught.report()


def test_impact_makes_a_brake_with_a_capacity_slip_without_energy_gain() -> None:
    """A foot on a braked slider hits the floor: a force of 500 N cannot stop an impact, and no energy is gained."""
    b = lw.Builder("slider", gravity=(0, 0, -G)).surface("floor", lw.Plane())
    b.body("load", 2.0).joint("up", lw.Prismatic((0, 0, 1)), "world", "load")
    b.body("foot", 1.0).joint("leg", lw.Prismatic((0, 0, 1)), "load", "foot", at=(0, 0, -1))
    m = b.touch("tip", "foot", restitution=0.5).brake("hold", "leg", capacity=500.0, engaged=True).build()
    fallen = lw.simulate(m, [1.2, 0.0], duration=0.6, dt=1e-3, contact="rigid", record=("q", "v", "work")).check()
    what = [event.what for event in fallen.events]
    assert what[:2] == ["hold slips", "hold holds"]
    assert fallen.events[0].time == pytest.approx(0.2, abs=2e-3)
    assert np.diff(fallen.energy).max() < 1e-4  # the energy added when penetration is removed
    assert fallen.report().passed, fallen.report()


def test_guards_and_latches_act_while_clutches_slip() -> None:
    b = lw.Builder("rails", gravity=(0, 0, -G)).surface("floor", lw.Plane())
    b.body("foot", 1.0).joint("up", lw.Prismatic((0, 0, 1)), "world", "foot").touch("tip", "foot")
    b.body("load", 2.0).joint("on", lw.Prismatic((0, 0, 1)), "foot", "load")
    b.body("wheel", 1.0, inertia=np.ones(3)).joint("turn", lw.Revolute(), "world", "wheel")
    m = b.latch("catch", "on", at=0.3).brake("drag", "on", capacity=8.0, engaged=True)
    m = m.brake("stop", "turn", capacity=2.0, engaged=True).build()
    fallen = lw.simulate(
        m, [0.0, 0.35, 0.0], [0, 0, 1.0], duration=0.6, dt=1e-3, contact="rigid",
        schedule=[(lambda t, q, v: q[2] - 0.2, "release", "stop")],
        record=("q", "v", "work", "contact.force"),
    ).check()  # fmt: skip
    what = {event.what.split(" (")[0]: event.time for event in fallen.events}
    assert what["catch engages"] == pytest.approx(np.sqrt(2.0 * 0.05 / (G - 4.0)), abs=1e-6)  # within the step
    assert what["release stop"] == pytest.approx((1.0 - np.sqrt(1.0 - 2.0 * 2.0 * 0.2)) / 2.0, abs=1e-6)
    assert fallen.v[-1, 2] == pytest.approx(np.sqrt(1.0 - 2.0 * 2.0 * 0.2), abs=1e-6)
    assert fallen.v[-1, :2] == pytest.approx(0.0, abs=1e-9)
    assert fallen["contact.force"][-1, 0, 2] == pytest.approx(30.0, rel=1e-6)
    assert fallen.report().passed, fallen.report()


def test_controller_switches_a_slipping_clutch() -> None:
    def control(t: Any, q: Any, v: Any) -> dict[str, Any]:
        return {"tau": 0.0 * v, "ride.engaged": t < 0.0505}

    ran = run(START, velocities()[0], 0.1, controller=lw.sampled(control, rate=1000))
    assert (ran["slip"][60:, 0] == 0.0).all()  # what is released does not slip
    assert "release ride" in [event.what.split(" (")[0] for event in ran.events]


# --- what is awkward ---


@pytest.mark.parametrize("ratio", [1e-4, 1.0, 1e4])
def test_clutch_couples_loads_of_any_mass_to_a_one_kilogram_foot_on_the_floor(ratio: float) -> None:
    b = lw.Builder("rails", gravity=(0, 0, -G)).surface("floor", lw.Plane())
    b.body("foot", 1.0).joint("up", lw.Prismatic((0, 0, 1)), "world", "foot").touch("tip", "foot")
    b.body("load", ratio).joint("on", lw.Prismatic((0, 0, 1)), "world", "load", at=(1, 0, 0))
    m = b.clutch("tie", "up", "on", capacity=1e9, engaged=True).build()
    ran = lw.simulate(
        m, [0.01, 0.0], duration=0.2, dt=1e-3, contact="rigid", record=("q", "v", "iterations", "contact.force")
    ).check()
    assert ran["contact.force"][-1, 0, 2] == pytest.approx(G * (1.0 + ratio), rel=1e-9)
    assert ran["iterations"].max() < 20
    assert ran.report().passed, ran.report()


def test_ratchets_parallel_to_a_rigid_clutch_have_no_effect() -> None:
    b = lw.Builder("wheels", gravity=(0, 0, -G)).surface("floor", lw.Plane())
    b.body("foot", 1.0).joint("up", lw.Prismatic((0, 0, 1)), "world", "foot").touch("tip", "foot")
    for name in "ab":
        b.body(name, 1.0, inertia=np.ones(3)).joint(name, lw.Revolute(), "world", name)
    b.clutch("tie", "a", "b", engaged=True).ratchet("pawl", "a", "b").ratchet("back", "a", "b", direction=-1.0)
    m = b.brake("drag", "b", capacity=1.0, engaged=True).build()
    ran = lw.simulate(m, np.zeros(3), [0, 2.0, 2.0], duration=1.0, dt=1e-3, contact="rigid").check()
    assert ran.v[:, 1] == pytest.approx(2.0 - 0.5 * ran.t, abs=1e-10)
    assert ran.v[:, 2] == pytest.approx(ran.v[:, 1], abs=1e-12)
    assert ran.report().passed, ran.report()


def test_two_opposed_ratchets_lock_their_joint() -> None:
    b = lw.Builder("hoist", gravity=(0, 0, -G)).surface("floor", lw.Plane())
    b.body("foot", 1.0).joint("up", lw.Prismatic((0, 0, 1)), "world", "foot").touch("tip", "foot")
    b.body("load", 2.0).joint("lift", lw.Prismatic((0, 0, 1)), "foot", "load", at=(0, 0, 1))
    m = b.ratchet("pawl", "lift").ratchet("back", "lift", direction=-1.0).build()
    ran = lw.simulate(m, [0, 0], duration=0.2, dt=1e-3, contact="rigid", record=("q", "v", "contact.wrenches")).check()
    assert np.abs(ran.q).max() < 1e-14
    carried = ran["carried"][-1]
    assert carried[0] - carried[1] == pytest.approx(20.0, rel=1e-9)  # what they share is not determined
    assert ran.report().passed, ran.report()


def test_rigid_contacts_of_prismatic_and_free_joints_compile_together() -> None:
    b = lw.Builder("both", gravity=(0, 0, -G)).surface("floor", lw.Plane())
    b.body("foot", 1.0).joint("up", lw.Prismatic((0, 0, 1)), "world", "foot").touch("tip", "foot", against="floor")
    b.body("ball", 1.0, inertia=0.004 * np.ones(3)).joint("free", lw.Free(), "world", "ball")
    m = b.touch("skin", "ball", radius=0.1, against="floor").build()
    ran = lw.simulate(m, [0.1, 0, 0, 0.2, 1, 0, 0, 0], duration=0.3, dt=1e-3, contact="rigid").check()
    assert ran["contact.force"][-1, :, 2] == pytest.approx(G, rel=1e-9)
