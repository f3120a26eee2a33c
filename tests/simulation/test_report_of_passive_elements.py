"""The report fails if contacts, clutches or friction add energy, and counts the impulse of the ground."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation.results.report import Report
from shaft_mechanisms import flywheels

CONTACTS, CLUTCHES, JOINTS = (
    "work of contacts",
    "work of clutches and brakes",
    "work of joint friction and dampers",
)
REST = [0, 0, 0.1, 1, 0, 0, 0]
THROWN: dict[str, Any] = {"q0": [0, 0, 0.3, 0.9239, 0.2706, 0.2706, 0], "v0": [4.29, 0.71, -2.57, 0, 0, 0]}
METHODS: dict[str, dict[str, Any]] = {
    "auto": {},
    "rigid": {"contact": "rigid"},
    "rk4": {"method": "rk4", "dt": 5e-4},
    "located": {"method": "rk4", "dt": 5e-4, "locate": True},
    "semi-implicit": {"method": "semi-implicit", "dt": 5e-4},
    "variational": {"method": "variational", "dt": 1e-3},
    "midpoint": {"method": "midpoint", "dt": 1e-3},
    "energy-momentum": {"method": "energy-momentum", "dt": 1e-3},
}


def box() -> lw.Mechanism:
    b = lw.Builder("box", gravity=(0, 0, -9.81)).body("box", 70.0, inertia=(1.167, 0.758, 1.458))
    b.joint("float", lw.Free(), "world", "box").surface("floor", lw.Plane())
    corners = lw.box_corners((0.3, 0.4, 0.2))
    return b.touch("corner", "box", corners, stiffness=75e3, damping=2e3, friction=0.4).build()


def ball(shape: Any = None, at: Any = (0, 0, 0), **contact: Any) -> lw.Mechanism:
    b = lw.Builder("ball", gravity=(0, 0, -9.81)).body("ball", 1.0, inertia=0.004 * np.ones(3))
    b.joint("free", lw.Free(), "world", "ball").surface("floor", shape or lw.Plane(), at=at)
    given: dict[str, Any] = {"radius": 0.1, "stiffness": 2e4, "friction": 0.3} | contact
    return b.touch("skin", "ball", **given).build()


def arm(**joint: Any) -> lw.Builder:
    b = lw.Builder("arm").body("link", 1.0, com=(0.4, 0, 0), inertia=(0.01, 0.05, 0.05))
    return b.joint("pin", lw.Revolute((0, 1, 0)), "world", "link", **joint)


def fallen(m: lw.Mechanism, height: float = 0.6, duration: float = 1.5, **more: Any) -> Report:
    return lw.simulate(m, [0, 0, height, 1, 0, 0, 0], duration=duration, **more).report()


# --- no false alarm ---


@pytest.mark.parametrize("method", METHODS)
def test_boxes_at_rest_sliding_and_thrown_pass_the_report(method: str) -> None:
    m, how = box(), METHODS[method]
    starts: list[dict[str, Any]] = [{"q0": REST}, {"q0": REST, "v0": [1.0, 0, 0, 0, 0, 0]}, THROWN]
    for start in starts:
        report = lw.simulate(m, **start, duration=1.0, **how).report()
        assert report.passed, str(report)
        assert not report.warnings, str(report)
        assert report[CONTACTS].verdict == report["penetration"].verdict == "ok"
        momentum = report["momentum"]
        if method == "semi-implicit":
            assert "contact dampers" in momentum.not_checked
            continue
        angular = report["angular momentum"]
        assert momentum.verdict == angular.verdict == "ok"
        assert float(momentum.value) < (2e-3 if method == "rigid" else 1e-5)


@pytest.mark.parametrize("method", ["midpoint", "variational", "rk4", "dop853"])
def test_held_and_slipping_brakes_pass_the_report(method: str) -> None:
    for capacity in (20.0, 2.0):
        m = arm().brake("brake", "pin", capacity=capacity, engaged=True).build()
        run = lw.simulate(m, [0.3], duration=1.0, dt=1e-3, method=method)
        report = run.report()
        assert report.passed, str(report)
        if method == "dop853":
            assert "does not compute" in report[CLUTCHES].not_checked
            continue
        assert report[CLUTCHES].verdict == "ok"
        assert (run["work.clutches"][-1] == 0.0) == (capacity == 20.0)
        np.testing.assert_allclose(run["work.clutches"], run["work"], rtol=0, atol=1e-12)


def test_joint_friction_at_rest_and_in_motion_passes_the_report() -> None:
    for friction in (8.0, 0.5):
        run = lw.simulate(arm(friction=friction).build(), [0.3], duration=1.0, dt=1e-3, method="midpoint")
        assert run.report()[JOINTS].verdict == "ok"
        np.testing.assert_allclose(run["work.joints"], run["work"], rtol=0, atol=1e-12)


# --- work ledger ---


@pytest.mark.parametrize("method", ["rk4", "semi-implicit", "midpoint", "variational", "energy-momentum"])
def test_works_of_different_elements_add_up_to_the_work_of_the_run(method: str) -> None:
    """A damped slide with a slipping brake falls on a contact: its work is the sum of the three entries."""
    b = lw.Builder("press").body("block", 2.0)
    b.joint("slide", lw.Prismatic((0, 0, 1)), "world", "block", damping=2.0)
    b.surface("floor", lw.Plane()).touch("foot", "block", stiffness=2e4, damping=100.0)
    m = b.brake("brake", "slide", capacity=3.0, engaged=True).build()
    run = lw.simulate(m, [0.1], duration=0.4, dt=2e-4, method=method)
    parts = [run[f"work.{name}"] for name in ("contacts", "clutches", "joints")]
    # The slip in a step of "semi-implicit" is that of its end
    np.testing.assert_allclose(sum(parts), run["work"], rtol=0, atol=1e-3 if method == "semi-implicit" else 1e-9)
    assert all(part[-1] < -1e-3 for part in parts)
    fall = run.q[0, 0] - run.q[:, 0]
    np.testing.assert_allclose(parts[1][: np.argmin(run.v[:, 0])], -3.0 * fall[: np.argmin(run.v[:, 0])], atol=1e-3)


def test_energy_loss_of_an_engaging_clutch_counts_as_work_of_clutches() -> None:
    for capacity, lost in ((np.inf, -15.0), (6.0, -15.0)):
        m = flywheels(**({} if capacity == np.inf else {"capacity": capacity}))
        run = lw.simulate(
            m, [0, 0], [5.0, 0.0], duration=2.0, dt=0.01, method="rk4", schedule=[(0.5, "engage", "clutch")]
        )
        assert run["work.clutches"][-1] == pytest.approx(lost, rel=1e-9)


@pytest.mark.parametrize("contact", ["compliant", "rigid"])
def test_impulse_of_the_ground_is_weight_times_time(contact: str) -> None:
    record = ("q", "v", "contact.impulse")
    run = lw.simulate(box(), REST, duration=1.0, contact=contact, dt=1e-3, record=record)
    lift = run["contact.impulse"][-1]
    assert lift[2] == pytest.approx(70 * 9.81 * 1.0, rel=1e-6)
    assert abs(np.delete(lift, 2)).max() < 1e-6


def test_report_of_a_continued_run_checks_changes_from_its_initial_state() -> None:
    first = lw.simulate(box(), **THROWN, duration=0.3)
    report = lw.simulate(box(), first, duration=0.3).report()
    assert report.passed, str(report)
    assert report["momentum"].verdict == "ok"


# --- failures ---


@pytest.mark.parametrize("dt", [0.008, 0.012])
def test_contacts_that_add_energy_at_large_steps_fail_the_report(dt: float) -> None:
    """The energy balance of "variational" is satisfied: only the work of contacts shows the energy."""
    with pytest.warns(UserWarning, match="too large for contact"):
        report = fallen(ball(), method="variational", dt=dt, duration=125 * dt)
    assert report["energy balance"].verdict == "ok"
    assert CONTACTS in report.failures, str(report)


def test_contacts_that_start_deep_inside_a_surface_fail_the_report() -> None:
    hows: list[dict[str, Any]] = [{"method": "variational", "dt": 1e-3}, {"contact": "rigid", "dt": 1e-3}]
    for how in hows:
        with pytest.warns(UserWarning, match="starts"):
            report = fallen(ball(), 0.05, 0.5, **how)
        assert "penetration" in report.failures, str(report)
        assert "'skin'" in report["penetration"].note


def test_contacts_deeper_than_their_radius_fail_the_report() -> None:
    report = fallen(ball(stiffness=50.0, damping=10.0), 0.1, method="variational", dt=1e-3)
    assert report.failures == ("penetration",)
    assert "may pass through" in report["penetration"].note


def test_points_that_pass_through_a_thin_plate_are_reported() -> None:
    plate = ball(lw.Box((1, 1, 0.01)), (0, 0, -0.005), radius=0.0, stiffness=1e3)
    report = fallen(plate, 1.1, 1.0, method="variational", dt=1e-3)
    assert report.failures == ("penetration",)
    assert "'skin' passed through its surface at" in report["penetration"].note
    assert report.warnings == ("falls",)
    assert "'ball' is below all surfaces" in report["falls"].note


@pytest.mark.parametrize("contact", ["compliant", "rigid"])
def test_report_warns_of_a_ball_that_rolls_off_an_edge_and_falls(contact: str) -> None:
    m = ball(lw.Box((1, 1, 0.1)), (0, 0, -0.05), damping=100.0)
    v0 = [2.0, 0, 0, 0, 20, 0]
    run = lw.simulate(m, [0, 0, 0.1, 1, 0, 0, 0], v0, duration=1.0, dt=1e-3, contact=contact)
    report = run.report()
    assert report.passed
    assert report.warnings == ("falls",)
    since = float(report["falls"].note.split("since ")[1].split(" s")[0])
    assert 0.2 < since < 0.35  # it passes the edge 0.5 m away at 2 m/s
    early = lw.simulate(m, [0, 0, 0.1, 1, 0, 0, 0], v0, duration=0.2, dt=1e-3, contact=contact)
    assert not early.report().warnings


@pytest.mark.slow
def test_report_gives_the_reason_for_checks_that_it_leaves_out() -> None:
    run = lw.simulate(box(), **THROWN, duration=0.1, record=("q", "v", "work"))
    reasons = run.report().not_checked
    assert "momentum" not in reasons  # the impulse of the ground is known at the end
    assert "were not recorded" in reasons[CONTACTS]
    assert "were not recorded" in reasons["penetration"]
    sparse = lw.simulate(box(), **THROWN, duration=0.1, every=10).report().not_checked
    assert "every=1" in sparse[CONTACTS]
    assert "every=1" in sparse["angular momentum"]
