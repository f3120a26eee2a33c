"""Slipping clutches, brakes and ratchets, and rolling and spinning friction, together with rigid contacts."""

from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwork as lw

G = 9.81
RADIUS = 0.1
RECORD = ("q", "v", "work", "contact.state", "contact.force", "contact.wrenches")


def foot(b: lw.Builder, **options: Any) -> lw.Builder:
    """A foot of 1 kg on a vertical rail, above the floor."""
    b.surface("floor", lw.Plane()).body("foot", 1.0).joint("up", lw.Prismatic((0, 0, 1)), "world", "foot")
    return b.touch("tip", "foot", against="floor", **options)


def flywheels(*capacities: float, **options: Any) -> lw.Builder:
    """Flywheels of 2, 3 and 4 kg m^2, each with a clutch to the next, and a foot."""
    b = foot(lw.Builder("flywheels", gravity=(0, 0, -G)), **options)
    for name, inertia in zip("abc", (2.0, 3.0, 4.0), strict=True):
        b.body(name, 1.0, inertia=inertia * np.ones(3)).joint(name, lw.Revolute(), "world", name)
    for pair, capacity in zip(("ab", "bc"), capacities, strict=False):
        b.clutch(pair, *pair, capacity=capacity, engaged=True)
    return b


# --- clutches ---


@pytest.mark.parametrize("dt", [1e-2, 3e-3])
def test_clutch_slips_until_its_speeds_are_equal_while_a_foot_is_in_rigid_contact(dt: float) -> None:
    m = flywheels(6.0).build()
    run = lw.simulate(
        m, np.zeros(4), [0, 5.0, 0, 0], duration=dt * round(2.0 / dt), dt=dt, contact="rigid", record=RECORD
    ).check()
    slips = run.t < 1.0 - dt  # 5 / (6 / 2 + 6 / 3) = 1 s
    t = run.t[slips]
    assert run.v[slips, 1] == pytest.approx(5.0 - 3.0 * t, abs=1e-12)
    assert run.v[slips, 2] == pytest.approx(2.0 * t, abs=1e-12)
    assert run.q[slips, 1] == pytest.approx(5.0 * t - 1.5 * t**2, abs=1e-12)
    assert (run["slip"][slips, 0] == -1.0).all()
    assert run["carried"][slips, 0] == pytest.approx(6.0, rel=1e-12)
    holds = run.t > 1.0 + dt
    assert run.v[holds, 1:3] == pytest.approx(2.0, abs=1e-12)
    assert (run["slip"][holds, 0] == 0.0).all()
    assert run["work"][-1] == pytest.approx(-15.0, rel=1e-12)
    (event,) = run.events
    assert event.what == "ab holds"
    assert 1.0 - 1e-9 < event.time < 1.0 + dt + 1e-9
    assert run["contact.force"][-1, 0, 2] == pytest.approx(G, rel=1e-12)
    report = run.report()
    assert report.passed, report
    assert float(report["energy balance"].value) < 1e-12


def test_clutches_in_series_stop_slipping_one_after_another() -> None:
    """Capacities 6 and 4 N m: the second slips first, since the middle wheel is driven by the difference."""
    m, v0 = flywheels(6.0, 4.0).build(), [0, 5.0, 0, 0]
    run = lw.simulate(m, np.zeros(4), v0, duration=3.0, dt=1e-3, contact="rigid", record=RECORD).check()
    located = lw.simulate(
        flywheels(6.0, 4.0, stiffness=1e4, damping=300.0).build(), np.zeros(4), v0, duration=3.0, dt=1e-3, method="rk4"
    ).check()
    assert [event.what for event in run.events] == [event.what.split(" (")[0] for event in located.events]
    for mine, other in zip(run.events, located.events, strict=True):
        assert mine.time == pytest.approx(other.time, abs=1.001e-3)
    assert run.q[:, 1:] == pytest.approx(located.q[:, 1:], abs=5e-6)  # at most the slip of half a step when they stick
    assert run.v[-1, 1:] == pytest.approx(10.0 / 9.0, abs=1e-12)
    assert run.report().passed


def test_parallel_clutches_share_a_load_above_either_capacity() -> None:
    b = flywheels(3.0).clutch("also", "a", "b", capacity=2.5, engaged=True).brake("stop", "b", engaged=True)
    m, forces = b.build(), {"below": 5.0, "above": 6.0}
    for name, torque in forces.items():
        tau = np.array([0, torque, 0, 0])
        run = lw.simulate(
            m, np.zeros(4), duration=0.1, dt=1e-3, contact="rigid", controller=lambda t, q, v, tau=tau: tau + 0.0 * v
        ).check()
        distance = 0.0 if name == "below" else 0.5 * 0.5 / 2.0 * 0.1**2
        assert run.q[-1, 1] == pytest.approx(distance, abs=1e-12)
        assert (run["slip"][-1] == (0.0 if name == "below" else -1.0)).all()
        assert run.report().passed, run.report()


def test_clutch_that_slips_fast_does_not_change_the_friction_of_a_sliding_block() -> None:
    def built(clutch: bool) -> lw.Mechanism:
        b = lw.Builder("block", gravity=(0, 0, -G)).body("block", 2.0, inertia=(0.01, 0.01, 0.01))
        b.joint("free", lw.Free(), "world", "block").surface("floor", lw.Plane())
        b.touch("corner", "block", lw.box_corners((0.2, 0.2, 0.1))[:4], friction=0.5)
        for name in "ab":
            b.body(name, 1.0, inertia=np.ones(3)).joint(name, lw.Revolute(), "world", name)
        return (b.clutch("clutch", "a", "b", capacity=3.0, engaged=True) if clutch else b).build()

    v0 = [0.5, 0.1, 0, 0, 0, 0, 1000.0, 0.0]
    slope = {"gravity": G * np.array([np.sin(0.4), 0, -np.cos(0.4)])}
    plain, with_clutch = (
        lw.simulate(
            built(clutch), [0, 0, 0.05, 1, 0, 0, 0, 0, 0], v0, 0.5, 1e-3, contact="rigid", parameters=slope,
            record=RECORD,
        ).check()
        for clutch in (False, True)
    )  # fmt: skip
    assert with_clutch.q[:, :7] == pytest.approx(plain.q[:, :7], abs=1e-12)
    assert with_clutch.v[:, :6] == pytest.approx(plain.v[:, :6], abs=1e-11)
    assert with_clutch.v[-1, 6:] == pytest.approx([1000.0 - 1.5, 1.5], abs=1e-9)


# --- brakes ---


@cache
def pusher(capacity: float) -> lw.Mechanism:
    """A box of 2 kg that leans on the end of an arm of 0.5 m with a brake on its hinge."""
    b = lw.Builder("pusher", gravity=(-3.0, 0, -G)).surface("floor", lw.Plane())
    b.body("box", 2.0, inertia=0.05 * np.ones(3)).joint("free", lw.Free(), "world", "box")
    b.touch("corner", "box", lw.box_corners((0.4, 0.4, 0.2))[:4], friction=0.0, against="floor")
    b.surface("side", lw.Box((0.4, 0.4, 0.2)), "box").body("arm", 1.0, inertia=0.02 * np.ones(3))
    b.joint("hinge", lw.Revolute((0, 1, 0)), "world", "arm", at=(-0.21, 0, 0.6))
    b.touch("fist", "arm", (0, 0, -0.5), radius=0.01, friction=0.0, against="side")
    return b.brake("hold", "hinge", capacity=capacity, engaged=True).build()


def test_capacity_of_a_brake_limits_the_contact_force_of_an_arm() -> None:
    start = [0, 0, 0.1, 1, 0, 0, 0, 0]
    held, slips = (
        lw.simulate(pusher(c), start, duration=0.05, dt=1e-4, contact="rigid", record=RECORD).check()
        for c in (6.0, 2.0)
    )
    assert held["contact.force"][1:, -1, 0] == pytest.approx(-6.0, rel=1e-9)  # what the box leans with
    assert np.abs(held.q - held.q[0]).max() < 1e-12
    assert held["carried"][1:, 0] == pytest.approx(-3.0, rel=1e-9)
    assert not held.events
    a = (6.0 - 2.0 / 0.5) / (2.0 + 0.02 / 0.5**2)  # both move, the brake takes 2 N m
    assert slips["contact.force"][1, -1, 0] == pytest.approx(-(6.0 - 2.0 * a), rel=1e-6)
    assert slips.q[-1, 0] == pytest.approx(-0.5 * a * 0.05**2, rel=1e-3)  # the arm turns a little
    assert slips["carried"][1:, 0] == pytest.approx(-2.0, rel=1e-12)
    assert [event.what for event in slips.events] == ["hold slips"]
    for run in (held, slips):
        assert run.report().passed, run.report()


@pytest.mark.parametrize("capacity", [1e-12, 1e-3, 5.0])
def test_brake_on_a_falling_foot_is_limited_by_its_capacity(capacity: float) -> None:
    m = foot(lw.Builder("brake", gravity=(0, 0, -G))).brake("hold", "up", capacity=capacity, engaged=True).build()
    run = lw.simulate(m, [0.1], duration=0.3, dt=1e-3, contact="rigid", record=RECORD).check()
    lands = np.sqrt(2.0 * 0.1 / (G - capacity))
    k = int(lands / 1e-3)
    assert run.v[k, 0] == pytest.approx(-(G - capacity) * run.t[k], abs=1e-12)
    assert run.q[-1, 0] == pytest.approx(0.0, abs=2e-5)
    force, carried = run["contact.force"][-1, 0, 2], run["carried"][-1, 0]
    assert force + carried == pytest.approx(G, rel=1e-9)  # how they share the weight is not determined
    assert abs(carried) <= capacity * (1.0 + 1e-9) + 1e-9
    assert run.report().passed, run.report()


# --- ratchets ---


def hoist(capacity: float = np.inf) -> lw.Mechanism:
    """A load of 2 kg on a foot of 1 kg with a ratchet: the load may rise but not sink."""
    b = foot(lw.Builder("hoist", gravity=(0, 0, -G))).body("load", 2.0)
    b.joint("lift", lw.Prismatic((0, 0, 1)), "foot", "load", at=(0, 0, 1))
    return b.ratchet("pawl", "lift", capacity=capacity).build()


def test_ratchet_transmits_its_load_to_a_standing_foot() -> None:
    run = lw.simulate(hoist(), [0, 0], duration=0.2, dt=1e-3, contact="rigid", record=RECORD).check()
    assert np.abs(run.q).max() < 1e-14
    assert run["contact.force"][1:, 0, 2] == pytest.approx(3.0 * G, rel=1e-9)
    assert run["carried"][1:, 0] == pytest.approx(2.0 * G, rel=1e-9)
    assert not run.events
    assert run.report().passed, run.report()


def test_ratchet_lets_a_load_rise_and_holds_it_at_its_highest_point() -> None:
    run = lw.simulate(hoist(), [0, 0], [0, 1.0], duration=0.3, dt=1e-3, contact="rigid", record=RECORD).check()
    assert run.q[-1, 1] == pytest.approx(0.5 / G, abs=1e-6)
    assert np.diff(run.q[:, 1]).min() > -1e-15
    (event,) = run.events
    assert event.what == "pawl holds"
    assert event.time == pytest.approx(1.0 / G, abs=1.001e-3)
    assert run["contact.force"][50, 0, 2] == pytest.approx(G, rel=1e-9)  # the load flies
    assert run["contact.force"][-1, 0, 2] == pytest.approx(3.0 * G, rel=1e-9)


def test_ratchet_slips_above_its_capacity() -> None:
    run = lw.simulate(hoist(15.0), [0, 0], duration=0.2, dt=1e-3, contact="rigid", record=RECORD).check()
    assert run.q[-1, 1] == pytest.approx(-0.5 * (G - 7.5) * 0.2**2, rel=1e-12)
    assert run["contact.force"][-1, 0, 2] == pytest.approx(G + 15.0, rel=1e-12)
    assert [event.what for event in run.events] == ["pawl slips"]


def test_ratcheted_leg_lands_without_shortening() -> None:
    b = lw.Builder("leg", gravity=(0, 0, -G)).surface("floor", lw.Plane())
    b.body("load", 20.0).joint("up", lw.Prismatic((0, 0, 1)), "world", "load")
    b.body("shin", 0.5).joint("grow", lw.Prismatic((0, 0, -1)), "load", "shin").touch("tip", "shin", against="floor")
    m = b.ratchet("pawl", "grow").build()
    run = lw.simulate(m, [1.0033, 1.0], [-2.0, 0], duration=0.3, dt=1e-3, contact="rigid", record=RECORD).check()
    assert np.diff(run.q[:, 1]).min() > -1e-11
    assert run.q[-1] == pytest.approx([1.0, 1.0], abs=2e-5)
    assert run["contact.force"][-1, 0, 2] == pytest.approx(20.5 * G, rel=1e-9)
    assert run["carried"][-1, 0] == pytest.approx(20.0 * G, rel=1e-9)


# --- balls ---


def ball(**options: Any) -> lw.Mechanism:
    b = lw.Builder("ball", gravity=(0, 0, -G)).body("ball", 2.0, inertia=0.4 * 2.0 * RADIUS**2 * np.ones(3))
    b.joint("free", lw.Free(), "world", "ball").surface("floor", lw.Plane())
    return b.touch("skin", "ball", radius=RADIUS, **{"friction": 0.6, **options}).build()


REST = [0, 0, RADIUS, 1, 0, 0, 0]
TORQUES = (*RECORD, "contact.torque")


def test_rolling_friction_decelerates_a_ball_by_five_sevenths() -> None:
    """(m + I / r^2) a = -rolling m g / r, so a = -5/7 rolling g / r."""
    m, rolling = ball(rolling=0.02), 0.02
    a = 5.0 / 7.0 * rolling * G / RADIUS
    for dt in (4e-3, 2e-3, 1e-3):
        run = lw.simulate(m, REST, [1, 0, 0, 0, 1 / RADIUS, 0], 0.5, dt, contact="rigid", record=TORQUES).check()
        speed = np.linalg.norm(run.v[:, :3], axis=1)
        assert np.abs(speed - (1.0 - a * run.t)).max() < 1e-13
        assert (run["contact.state"][1:] == 4.0).all()  # it rolls, and does not slide
        assert run.report().passed, run.report()
    assert run["contact.torque"][100, 0] == pytest.approx([0, -rolling * 2.0 * G, 0], rel=1e-2, abs=1e-9)
    after = lw.simulate(m, REST, [1, 0, 0, 0, 1 / RADIUS, 0], 1.0, 1e-3, contact="rigid", record=TORQUES).check()
    stops = after.t[np.argmax(np.abs(after.v).max(axis=1) < 1e-9)]
    assert stops == pytest.approx(1.0 / a, abs=2e-3)
    assert after["work"][-1] == pytest.approx(-0.5 * 2.0 * 1.4, rel=1e-3)
    assert np.abs(after.v[-1]).max() < 1e-12


def test_wheel_in_a_fork_with_rolling_friction_matches_its_closed_form_to_round_off() -> None:
    """All masses are constant here: a lift of 0.3 kg and a fork of 0.2 kg support a wheel of 2 kg."""
    inertia, rolling = 0.4 * 2.0 * RADIUS**2, 5e-3
    b = lw.Builder("fork", gravity=(0, 0, -G)).surface("floor", lw.Plane())
    b.body("lift", 0.3).joint("up", lw.Prismatic((0, 0, 1)), "world", "lift")
    b.body("fork", 0.2).joint("along", lw.Prismatic((1, 0, 0)), "lift", "fork")
    b.body("wheel", 2.0, inertia=inertia * np.ones(3)).joint("axle", lw.Revolute((0, 1, 0)), "fork", "wheel")
    m = b.touch("rim", "wheel", radius=RADIUS, friction=0.5, rolling=rolling).build()
    run = lw.simulate(
        m, [RADIUS, 0, 0], [0, 1.0, 1.0 / RADIUS], duration=1.0, dt=2e-3, contact="rigid", record=TORQUES
    ).check()
    a = rolling * 2.5 * G / RADIUS / (2.2 + inertia / RADIUS**2)
    assert run.v[:, 1] == pytest.approx(1.0 - a * run.t, abs=1e-11)
    assert run.q[:, 1] == pytest.approx(run.t - 0.5 * a * run.t**2, abs=1e-11)
    assert run["contact.force"][-1, 0] == pytest.approx([-2.2 * a, 0, 2.5 * G], rel=1e-9, abs=1e-9)
    assert run.report().passed, run.report()


def test_spinning_friction_stops_a_ball_spinning_in_place() -> None:
    spinning, inertia = 3e-3, 0.4 * 2.0 * RADIUS**2
    run = lw.simulate(
        ball(spinning=spinning), REST, [0, 0, 0, 0, 0, 5.0], duration=1.0, dt=1e-3, contact="rigid", record=TORQUES
    ).check()
    rate = spinning * 2.0 * G / inertia
    turns = run.t < 5.0 / rate - 1e-3
    assert run.v[turns, 5] == pytest.approx(5.0 - rate * run.t[turns], abs=1e-10)
    assert np.abs(run.v[-1]).max() < 1e-12
    assert run.t[np.argmax(np.abs(run.v[:, 5]) < 1e-12)] == pytest.approx(5.0 / rate, abs=1.001e-3)
    assert run["contact.torque"][10, 0] == pytest.approx([0, 0, -spinning * 2.0 * G], rel=1e-9, abs=1e-9)
    assert run.report().passed, run.report()


@pytest.mark.parametrize("part", [0.99, 1.0 - 1e-6, 1.0 + 1e-6, 1.01])
def test_ball_stays_at_rest_on_a_slope_up_to_its_rolling_friction(part: float) -> None:
    rolling = 4e-3
    angle = np.arctan(part * rolling / RADIUS)
    slope = {"gravity": G * np.array([np.sin(angle), 0, -np.cos(angle)])}
    run = lw.simulate(
        ball(rolling=rolling), REST, duration=1.0, dt=1e-3, contact="rigid", parameters=slope, record=TORQUES
    ).check()
    a = 5.0 / 7.0 * G * (np.sin(angle) - rolling / RADIUS * np.cos(angle))
    assert run.q[-1, 0] == pytest.approx(max(0.5 * a, 0.0), rel=1e-4, abs=1e-13)
    if part < 1.0:
        assert run["contact.torque"][-1, 0, 1] == pytest.approx(-2.0 * G * np.sin(angle) * RADIUS, rel=1e-9)
        still = lw.simulate(
            ball(rolling=rolling), REST, duration=60.0, dt=1e-2, contact="rigid", parameters=slope, every=1000
        ).check()
        assert np.abs(still.q - still.q[0]).max() < 1e-12  # it does not creep


@pytest.mark.parametrize("part", [0.5, 0.999, 1.5])
def test_ball_moves_when_a_torque_exceeds_its_rolling_friction(part: float) -> None:
    rolling = 4e-3
    torque = part * rolling * 2.0 * G
    tau = np.array([0, 0, 0, 0, torque, 0])
    run = lw.simulate(
        ball(rolling=rolling), REST, duration=0.1, dt=1e-3, contact="rigid", controller=lambda t, q, v: tau + 0.0 * v,
        record=(*TORQUES, "tau"),
    ).check()  # fmt: skip
    a = 5.0 / 7.0 * (torque - rolling * 2.0 * G) / (2.0 * RADIUS)
    assert run.q[-1, 0] == pytest.approx(max(0.5 * a * 0.1**2, 0.0), rel=1e-3, abs=1e-13)
    assert run.report().passed, run.report()


def test_rolling_friction_without_sliding_friction_slows_only_the_rotation() -> None:
    run = lw.simulate(
        ball(rolling=5e-3, friction=0.0), REST, [1, 0, 0, 0, 10.0, 0], duration=0.2, dt=1e-3, contact="rigid"
    ).check()
    rate = 5e-3 * 2.0 * G / (0.4 * 2.0 * RADIUS**2)
    assert np.linalg.norm(run.v[-1, :3]) == pytest.approx(1.0, abs=1e-4)
    assert run.v[-1, 4] == pytest.approx(10.0 - rate * 0.2, rel=2e-3)


def test_ball_on_a_plank_conserves_total_momentum() -> None:
    b = lw.Builder("plank", gravity=(0, 0, -G)).surface("floor", lw.Plane())
    b.body("plank", 3.0, inertia=(0.1, 0.5, 0.5)).joint("plank", lw.Free(), "world", "plank")
    b.touch("corner", "plank", lw.box_corners((2, 0.5, 0.1))[:4], friction=0.0, against="floor")
    b.surface("top", lw.Box((2, 0.5, 0.1)), "plank")
    b.body("ball", 2.0, inertia=0.4 * 2.0 * RADIUS**2 * np.ones(3)).joint("free", lw.Free(), "world", "ball")
    b.touch("skin", "ball", radius=RADIUS, friction=0.4, rolling=5e-3, spinning=2e-3, against="top")
    q0 = [0, 0, 0.05, 1, 0, 0, 0, -0.5, 0, 0.1 + RADIUS, 1, 0, 0, 0]
    run = lw.simulate(
        b.build(), q0, [0] * 6 + [1, 0, 0, 0, 1 / RADIUS, 3.0], duration=1.0, dt=1e-3, contact="rigid", record=TORQUES
    ).check()
    speed = np.diff(run["center_of_mass"][:, 0]) / 1e-3
    assert speed * 5.0 == pytest.approx(2.0, abs=1e-4)
    assert np.diff(run.energy).max() < 0.0
    assert run.report().passed, run.report()
