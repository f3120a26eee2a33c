"""Clutches, brakes and gears switch during rigid contact: velocities change to the nearest allowed ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw

G = 10.0
SERIES = ("q", "v", "work", "contact.state", "contact.force", "contact.since", "contact.slip")


# --- static and dynamic friction ---


def block(static: float, dynamic: float) -> lw.Mechanism:
    b = lw.Builder("block", gravity=(0, 0, -G)).body("block", 2.0, inertia=(0.01, 0.01, 0.01))
    b.joint("free", lw.Free(), "world", "block").surface("floor", lw.Plane())
    return b.touch("corner", "block", lw.box_corners((0.2, 0.2, 0.02))[:4], friction=(static, dynamic)).build()


def test_block_starts_sliding_at_static_friction_and_slides_with_dynamic_friction() -> None:
    """On a plane tilted by the direction of gravity."""
    m, static, dynamic = block(0.6, 0.4), 0.6, 0.4
    for side, slides in ((-1e-4, False), (1e-4, True)):
        angle = np.arctan(static) + side
        gravity = G * np.array([np.sin(angle), 0, -np.cos(angle)])
        at_rest = lw.simulate(m, [0, 0, 0.01, 1, 0, 0, 0], duration=0.02, dt=1e-3, contact="rigid")
        start = lw.simulate(
            m, at_rest, duration=0.5, contact="rigid", parameters={"gravity": gravity}, record=SERIES
        ).check()
        assert (at_rest["contact.state"][-1] == 4.0).all()
        assert (start["contact.state"][-1] == (2.0 if slides else 4.0)).all()
        distance = 0.5 * G * (np.sin(angle) - dynamic * np.cos(angle)) * 0.5**2 if slides else 0.0
        # The first step has static friction still
        late = G * (static - dynamic) * np.cos(angle) * 1e-3 * 0.5 if slides else 1e-10
        assert start.q[-1, 0] == pytest.approx(distance, abs=1.1 * late)


# --- files ---


@pytest.mark.parametrize("ending", [".npz", ".nc"])
def test_rigid_runs_are_saved_to_the_bit_and_continue_from_their_files(tmp_path: Path, ending: str) -> None:
    m = block(0.5, 0.3)
    v0 = [[1.0, 0, 0, 0, 0, 2.0], [0.5, 0.2, 0, 0, 0, -3.0]]
    start = [0, 0, 0.012, 1, 0, 0, 0]
    whole = lw.simulate(m, start, v0, duration=0.2, dt=1e-3, contact="rigid", record=SERIES)
    half = lw.simulate(m, start, v0, duration=0.1, dt=1e-3, contact="rigid", record=SERIES)
    half.save(tmp_path / f"half{ending}")
    read = lw.open_run(tmp_path / f"half{ending}")
    for series in SERIES:
        assert np.array_equal(read[series], half[series])
    rest = lw.simulate(m, read, duration=0.1, contact="rigid", record=SERIES)
    for series in SERIES:
        assert np.array_equal(rest[series][:, -1], whole[series][:, -1]), series


# --- what switches ---


def two_rails(how: str) -> lw.Mechanism:
    """Masses of 1 and 2 kg on vertical rails, the first on the floor, with an element that can couple them."""
    b = lw.Builder("rails", gravity=(0, 0, -G)).surface("floor", lw.Plane())
    b.body("foot", 1.0).joint("up", lw.Prismatic((0, 0, 1)), "world", "foot").touch("tip", "foot", against="floor")
    b.body("load", 2.0).joint("beside", lw.Prismatic((0, 0, 1)), "world", "load", at=(1, 0, 0))
    if how == "gear":
        b.transmission("tie", "up", "beside", ratios=(1.0, 0.5))
    else:
        b.clutch("tie", "up", "beside")
    return b.build()


VERBS: dict[str, tuple[Any, ...]] = {"clutch": ("engage", "tie"), "gear": ("shift", "tie", 1)}


@pytest.mark.parametrize("how", ["clutch", "gear"])
@pytest.mark.parametrize("speed", [-1.0, 1.0])
def test_load_coupled_during_contact_is_stopped_or_lifts_off(how: str, speed: float) -> None:
    """The load of 2 kg moves down or up at 1 m/s when it is coupled to the foot on the floor."""
    m, at = two_rails(how), 0.05
    v0 = [0.0, speed + G * at]
    run = lw.simulate(m, [0.0, 0.5], v0, duration=0.1, dt=1e-3, contact="rigid", schedule=[(at, *VERBS[how])]).check()
    k = int(np.argmin(np.abs(run.t - at)))
    common = 2.0 * speed / 3.0  # momentum is conserved if the floor does not stop it
    after = run.v[k + 1]
    if speed < 0.0:
        assert after == pytest.approx([0.0, 0.0], abs=1e-9)  # the floor stops both
        assert run["contact.force"][k + 1, 0, 2] * 1e-3 == pytest.approx(2.0 + 0.03, rel=1e-6)
        assert run["contact.force"][-1, 0, 2] == pytest.approx(30.0, rel=1e-6)
    else:
        assert after == pytest.approx([common - G * 1e-3] * 2, abs=1e-9)
        assert run["contact.state"][-1, 0] == 1.0
    assert (run["contact.force"][:, 0, 2] >= 0.0).all()
    (event,) = run.events
    assert event.energy == pytest.approx(-0.5 * 2.0 / 3.0 * speed**2, rel=1e-9)  # that of the reduced mass
    assert np.diff(run.energy).max() < 1e-3
    assert run.report().passed, run.report()


def test_brake_and_clutch_switch_simultaneously_during_contact() -> None:
    m = two_rails("clutch")
    run = lw.simulate(
        m, [0.0, 0.5], [0.0, 0.0], duration=0.1, dt=1e-3, contact="rigid", record=SERIES,
        schedule=[
            (0.02, "engage", "tie"), (0.05, "lock", "beside"), (0.05, "release", "tie"), (0.08, "unlock", "beside"),
        ],
    ).check()  # fmt: skip
    force = run["contact.force"][:, 0, 2]
    t = run.t
    assert force[(t > 0.0005) & (t < 0.0195)] == pytest.approx(10.0, rel=1e-9)
    assert force[(t > 0.0225) & (t < 0.0495)] == pytest.approx(30.0, rel=1e-6)  # both stand on it
    assert force[t > 0.0515] == pytest.approx(10.0, rel=1e-9)  # the load hangs in its brake, then falls
    assert run.v[-1] == pytest.approx([0.0, -G * 0.02], abs=1e-9)
    assert (force >= 0.0).all()


def cart() -> lw.Mechanism:
    """A block of 2 kg on the floor, friction 0.5, with a wheel on it and a brake."""
    b = lw.Builder("cart", gravity=(0, 0, -G)).body("cart", 2.0, inertia=0.05 * np.ones(3)).surface("floor", lw.Plane())
    b.joint("free", lw.Free(), "world", "cart")
    b.touch("corner", "cart", lw.box_corners((0.8, 0.8, 0.2))[:4], friction=0.5)
    b.body("wheel", 1.0, inertia=(0.02, 0.02, 0.03)).joint("axle", lw.Revolute((0, 0, 1)), "cart", "wheel")
    return b.brake("hold", "axle").build()


@pytest.mark.parametrize("spin", [1.0, 40.0])
def test_braked_wheel_turns_its_cart_only_above_the_friction_limit(spin: float) -> None:
    m = cart()
    v0 = [0, 0, 0, 0, 0, 0, spin]
    run = lw.simulate(
        m, [0, 0, 0.1, 1, 0, 0, 0, 0], v0, duration=0.05, dt=1e-3, contact="rigid", schedule=[(0.02, "engage", "hold")],
        record=SERIES,
    ).check()  # fmt: skip
    k = int(np.argmin(np.abs(run.t - 0.02)))
    assert np.abs(run.v[1:k, :6]).max() < 1e-10
    assert np.abs(run.v[k + 1 :, 6]).max() < 1e-12  # it is held
    assert np.diff(run.energy).max() < 1e-9
    force = run["contact.force"]
    along = np.hypot(force[..., 0], force[..., 1])
    assert (along <= 0.5 * force[..., 2] * (1.0 + 1e-9) + 1e-9).all()
    # Friction at the corners takes at most mu m g r h of the spin in a step
    turned = 0.03 * spin / (0.05 + 0.03)
    most = 0.5 * 3.0 * G * 0.4 * np.sqrt(2.0) * 1e-3 / 0.08
    assert run.v[k + 1, 5] == pytest.approx(max(turned - most, 0.0), abs=1e-6)


def test_reported_clutch_force_includes_the_contact_force() -> None:
    """The load hangs on the clutch of a standing foot: the clutch carries its weight, at any contact stiffness."""
    soft: dict[str, Any] = {"stiffness": 1e5, "damping": 10.0}
    for more in ({}, soft):
        b = lw.Builder("rails", gravity=(0, 0, -G)).surface("floor", lw.Plane())
        b.body("foot", 1.0).joint("up", lw.Prismatic((0, 0, 1)), "world", "foot").touch("tip", "foot", **more)
        b.body("load", 2.0).joint("beside", lw.Prismatic((0, 0, 1)), "world", "load", at=(1, 0, 0))
        m = b.clutch("tie", "up", "beside", engaged=True).build()
        run = lw.simulate(m, [0.0, 0.0], duration=0.05, dt=1e-3, contact="rigid", schedule=[(0.03, "release", "tie")])
        (event,) = run.events
        assert abs(event.carried) == pytest.approx(20.0, rel=1e-6)


def test_guard_fires_within_a_step_during_contact() -> None:
    """The load is coupled to the foot after a fall of 1 cm, and both stop."""
    m = two_rails("clutch")
    run = lw.simulate(
        m, [0.0, 0.5], duration=0.1, dt=1e-3, contact="rigid", schedule=[(lambda t, q, v: 0.49 - q[1], "engage", "tie")]
    ).check()
    (event,) = run.events
    assert event.time == pytest.approx(np.sqrt(2.0 * 0.01 / G), abs=1e-6)
    assert run.v[-1] == pytest.approx([0.0, 0.0], abs=1e-9)
    assert run.q[-1, 1] == pytest.approx(0.49, abs=3e-4)
    assert run["contact.force"][-1, 0, 2] == pytest.approx(30.0, rel=1e-6)
    assert (run["contact.force"][:, 0, 2] >= 0.0).all()


def test_latch_engages_during_contact() -> None:
    b = lw.Builder("rails", gravity=(0, 0, -G)).surface("floor", lw.Plane())
    b.body("foot", 1.0).joint("up", lw.Prismatic((0, 0, 1)), "world", "foot").touch("tip", "foot")
    b.body("load", 2.0).joint("on", lw.Prismatic((0, 0, 1)), "foot", "load")
    m = b.latch("catch", "on", at=0.3).build()
    run = lw.simulate(m, [0.0, 0.35], duration=0.2, dt=1e-3, contact="rigid").check()
    (event,) = run.events
    assert event.time == pytest.approx(np.sqrt(2.0 * 0.05 / G), abs=1e-6)
    assert run.q[-1] == pytest.approx([0.0, 0.3], abs=5e-4)
    assert run.v[-1] == pytest.approx([0.0, 0.0], abs=1e-9)
    assert run["contact.force"][-1, 0, 2] == pytest.approx(30.0, rel=1e-6)
    assert (run["contact.force"][:, 0, 2] >= 0.0).all()


# --- springs that become rigid ---


def test_stiff_compliant_contacts_converge_to_rigid_ones() -> None:
    """The load acts on the foot through the clutch: compare final positions."""
    found = []
    for stiffness in (1e5, 1e6):
        b = lw.Builder("rails", gravity=(0, 0, -G)).surface("floor", lw.Plane())
        b.body("foot", 1.0).joint("up", lw.Prismatic((0, 0, 1)), "world", "foot")
        b.touch("tip", "foot", stiffness=stiffness, damping=2.0 * np.sqrt(3.0 * stiffness))
        b.body("load", 2.0).joint("beside", lw.Prismatic((0, 0, 1)), "world", "load", at=(1, 0, 0))
        m = b.clutch("tie", "up", "beside").build()
        given: dict[str, Any] = {"duration": 0.1, "schedule": [(0.05, "engage", "tie")]}
        soft = lw.simulate(m, [0.0, 0.5], [0.0, -0.5], dt=1e-4, method="variational", **given).check()
        rigid = lw.simulate(m, [0.0, 0.5], [0.0, -0.5], dt=1e-4, contact="rigid", **given).check()
        found.append(np.abs(soft.q[-1] - rigid.q[-1]).max())
    assert found[1] < 0.5 * found[0]
    assert found[1] < 1e-3
