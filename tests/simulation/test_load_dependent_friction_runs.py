"""Friction that depends on the load in runs: closed forms, an independent integration, orders, batches, linkages."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import linkwork as lw
from linkwork.model.elements.joint_friction import JointFriction
from linkwork.simulation.results.energy_chart import energy_parts

G = 9.81
MASS, LENGTH, INERTIA, RADIUS, MU = 2.0, 0.6, 0.05, 0.05, 0.3  # pendulum in a journal bearing
ORDERS = {"semi-implicit": 1, "midpoint": 2, "variational": 2, "energy-momentum": 2, "rk4": 4}
ADAPTIVE = ("dop853", "radau", "lsoda")


def options(method: str, dt: float) -> dict[str, Any]:
    """Return the options of `simulate` for a method; adaptive methods take a tolerance instead of a step."""
    return {"method": method, "rtol": 1e-11} if method in ADAPTIVE else {"method": method, "dt": dt}


@pytest.fixture(scope="module")
def journal() -> lw.Mechanism:
    """Return a pendulum in a journal bearing."""
    b = lw.Builder("journal", gravity=(0, 0, -G))
    b.body("bob", MASS, com=(LENGTH, 0, 0), inertia=(INERTIA, INERTIA, INERTIA))
    bearing = lw.Bearing(mu=MU, radius=RADIUS)
    return b.joint("pin", lw.Revolute((0, 1, 0)), "world", "bob", friction=bearing).build()


def arm(seed: int, links: int, **more: float) -> lw.Mechanism:
    """Return an arm with random axes and random bearings."""
    rng, parent = np.random.default_rng(seed), "world"
    b = lw.Builder("arm", gravity=(0, 0, -G))
    for k in range(links):
        b.body(f"link {k}", 1.0, com=(0.5, 0, 0), inertia=(0.05, 0.1, 0.1))
        axis = rng.normal(size=3)
        joint = lw.Revolute(tuple(axis / np.linalg.norm(axis)))
        bearing = lw.Bearing(mu=0.2 * abs(rng.normal()) + 0.05, radius=0.2, **more)
        b.joint(f"joint {k}", joint, parent, f"link {k}", at=(0.0 if k == 0 else 1.0, 0, 0), friction=bearing)
        parent = f"link {k}"
    return b.build()


def swing(angle: float, duration: float) -> tuple[np.ndarray, list[tuple[float, float]]]:
    """Return the state of the pendulum after `duration` [s], and its turning points (time, angle), by DOP853."""
    J = INERTIA + MASS * LENGTH**2

    def rates(_: float, y: np.ndarray, s: float) -> list[float]:
        torque, a = 0.0, 0.0
        for _ in range(60):  # friction from the bearing force, which depends on the acceleration
            a = (MASS * G * LENGTH * np.cos(y[0]) + torque) / J
            force = MASS * np.hypot(
                -LENGTH * (np.sin(y[0]) * a + np.cos(y[0]) * y[1] ** 2),
                G - LENGTH * (np.cos(y[0]) * a - np.sin(y[0]) * y[1] ** 2),
            )
            torque = -s * MU * RADIUS * force
        return [y[1], a]

    y, t, turns = np.array([angle, 0.0]), 0.0, []
    while t < duration:
        s, begin = float(np.sign(np.cos(y[0]))), t

        def stops(t: float, y: np.ndarray, s: float, begin: float = begin) -> float:
            return s * y[1] if t > begin + 1e-3 else 1.0

        stops.terminal, stops.direction = True, -1.0  # type: ignore[attr-defined]
        found = solve_ivp(rates, (t, duration), y, "DOP853", rtol=1e-13, atol=1e-14, events=stops, args=(s,))
        y, t = found.y[:, -1].copy(), float(found.t[-1])
        if t < duration:
            y[1] = 0.0
            turns.append((t, float(y[0])))
    return y, turns


def test_turning_points_of_a_pendulum_in_a_journal_match_an_independent_integration(journal: lw.Mechanism) -> None:
    end, turns = swing(0.1, 5.0)
    for method in ("dop853", "radau", "rk4"):
        run = lw.simulate(journal, [0.1], duration=5.0, **options(method, 2e-3))
        error = 1e-8 if method in ADAPTIVE else 2e-8
        np.testing.assert_allclose([run.q[-1, 0], run.v[-1, 0]], end, atol=error)
        times = [event.time for event in run.events][-len(turns) :]
        np.testing.assert_allclose(times, [t for t, _ in turns], atol=error)
    assert len(turns) == 5


@pytest.mark.parametrize("method", ["rk4", "midpoint", "variational", "energy-momentum", "dop853"])
def test_static_friction_threshold_of_a_joint_changes_with_its_load(method: str, journal: lw.Mechanism) -> None:
    for angle, moves in (
        (np.arccos(MU * RADIUS / LENGTH * 0.99), False),
        (np.arccos(MU * RADIUS / LENGTH * 1.01), True),
    ):
        for weight in (1.0, 50.0):  # load and limit are proportional to the weight
            m = journal.with_parameters({"bob.mass": MASS * weight})
            run = lw.simulate(m, [angle], duration=0.2 if moves else 60.0, **options(method, 0.01))
            assert bool(np.any(run.q != angle)) is moves
            assert len(run.events) == moves


@pytest.mark.parametrize("method", ORDERS)
def test_integration_methods_keep_their_order_with_bearings_across_events(method: str) -> None:
    m, q = arm(1, 4), np.random.default_rng(10).normal(size=4)
    exact = lw.simulate(m, q, duration=1.0, method="dop853", rtol=1e-11)
    runs = [lw.simulate(m, q, duration=1.0, dt=dt, method=method) for dt in (8e-3, 4e-3, 2e-3)]
    errors = [np.abs(run.q[-1] - exact.q[-1]).max() for run in runs]
    for coarse, fine in pairwise(errors):
        assert np.log2(coarse / fine) > ORDERS[method] - 0.4
    assert [event.what for event in runs[-1].events] == [event.what for event in exact.events]
    assert len(exact.events) > 4
    heat = runs[-1]["friction.heat"][-1]
    assert np.all(heat >= 0.0)
    assert heat.sum() == pytest.approx(-runs[-1]["work"][-1], rel=1e-12)


def test_batch_members_with_different_friction_coefficients_match_single_runs_bit_for_bit() -> None:
    m, q, mu = arm(1, 3), np.random.default_rng(3).normal(size=(4, 3)), np.array([0.0, 0.05, 0.2, 0.6])
    for method in ("rk4", "midpoint"):
        batch = lw.simulate(m, q, duration=0.5, dt=5e-3, method=method, parameters={"joint 1.mu": mu})
        for k in range(4):
            single = lw.simulate(m, q[k], duration=0.5, dt=5e-3, method=method, parameters={"joint 1.mu": mu[k]})
            np.testing.assert_array_equal(single.q, batch.q[k])


def test_integration_methods_agree_on_linkages_and_mimic_joints_with_bearings() -> None:
    b = lw.Builder("gripper", gravity=(0, 0, -G))
    b.body("left", 1.0, inertia=(0.1, 0.1, 0.1)).body("right", 1.0, com=(0.3, 0, 0), inertia=(0.1, 0.1, 0.1))
    b.joint("a", lw.Revolute((0, 1, 0)), "world", "left", friction=lw.Bearing(mu=0.3, radius=0.05))
    b.joint("b", lw.Revolute((0, 1, 0)), "left", "right", at=(0.4, 0, 0), friction=lw.Bearing(mu=0.2, radius=0.1))
    gripper = b.mimic("b", "a", multiplier=-2.0).build()
    exact = lw.simulate(gripper, [0.3], duration=2.0, method="dop853", rtol=1e-11)
    for method, error in (("rk4", 1e-9), ("midpoint", 2e-5), ("variational", 2e-5)):
        run = lw.simulate(gripper, [0.3], duration=2.0, dt=0.01, method=method)
        np.testing.assert_allclose(run.q[-1], exact.q[-1], atol=error)
        assert run["friction.heat"][-1].sum() == pytest.approx(-run["work"][-1], rel=1e-10)
    linkage = lw.example("four_bar")
    q = linkage.keyframes["start"].q
    bearing = lw.Bearing(mu=0.2, radius=0.05)
    frictions = [JointFriction(joint.name, bearing) for joint in linkage.joints]
    frictions += [JointFriction(loop.name, bearing, in_tree=False) for loop in linkage.loops]
    linkage = linkage.with_elements("frictions", frictions)
    exact = lw.simulate(linkage, q, np.zeros(3), duration=1.0, method="dop853", rtol=1e-11)
    for method, error in (("rk4", 1e-7), ("midpoint", 1e-4), ("variational", 1e-3)):
        run = lw.simulate(linkage, q, np.zeros(3), duration=1.0, dt=2.5e-3, method=method)
        np.testing.assert_allclose(run.q[-1], exact.q[-1], atol=error)
        assert [event.what for event in run.events] == [event.what for event in exact.events]
        assert run["friction.heat"].shape == (401, 4)  # three joints and the loop
        assert run["friction.heat"][-1].sum() == pytest.approx(-run["work"][-1], rel=1e-10)
    assert "closing pin slips" in [event.what for event in exact.events]
    step = lw.simulate(linkage, q, np.zeros(3), duration=1e-6, dt=1e-6, method="rk4")
    a = lw.compile(linkage).forward_dynamics(q, np.zeros(3), np.zeros(3), friction=True)
    np.testing.assert_allclose(step.v[-1], 1e-6 * a, rtol=1e-7)


def test_friction_of_a_loop_alone_holds_a_linkage() -> None:
    linkage = lw.example("four_bar")
    q, name = linkage.keyframes["start"].q, linkage.loops[0].name
    for radius, holds in ((5.0, True), (0.05, False)):
        friction = JointFriction(name, lw.Bearing(mu=0.2, radius=radius), in_tree=False)
        m = linkage.with_elements("frictions", [friction])
        for method in ("rk4", "midpoint", "variational", "semi-implicit"):
            run = lw.simulate(m, q, np.zeros(3), duration=10.0 if holds else 0.1, dt=0.01, method=method)
            assert bool(np.abs(run.q - q).max() < 1e-15) is holds


def test_a_box_beside_a_short_guide_jams_with_an_error_or_moves_as_in_forward_dynamics() -> None:
    b = lw.Builder("box", gravity=(0, 0, -G)).body("box", 1.0, com=(0, 0.2, 0), inertia=(0.01, 0.01, 0.01))
    guide = lw.Guide(mu=0.5, length=0.1)
    m = b.joint("slide", lw.Prismatic((1, 0, 0)), "world", "box", friction=guide).build()
    for method in ("rk4", "midpoint", "variational", "dop853", "radau"):
        jams = lw.simulate(m, [0.0], [2.0], duration=1.0, **options(method, 0.01))
        assert jams.outcome.kind == "jammed"
        assert "'slide'" in jams.outcome.diagnosis
    batch = lw.simulate(m, [[0.0], [0.0]], [[0.0], [2.0]], duration=1.0, method="rk4", dt=0.01)
    assert [one.kind for one in batch.outcomes.flat] == ["finished", "jammed"]
    with pytest.raises(lw.LinkworkError, match="'slide'"):
        lw.Simulator(m, [0.0], [2.0], dt=0.01, method="rk4").step()
    # Strongly coupled friction that reduces its own load has a unique solution
    a = lw.compile(m).forward_dynamics([0.0], [0.0], [30.0], friction=True)[0]
    for method in ("rk4", "midpoint", "dop853"):
        run = lw.simulate(m, [0.0], duration=1.0, controller=lambda t, q, v: [30.0], **options(method, 0.01))
        assert run.v[-1, 0] == pytest.approx(a, rel=1e-7)


def test_parts_of_plot_energy_add_up_to_the_initial_plus_the_supplied_energy(journal: lw.Mechanism) -> None:
    run = lw.simulate(journal, [0.1], duration=3.0, dt=2e-3, method="rk4", controller=lambda t, q, v: [np.sin(5 * t)])
    parts, total = energy_parts(run)
    np.testing.assert_allclose(sum(part.values for part in parts), total, rtol=1e-6)
    assert [part.name for part in parts] == ["potential energy", "kinetic energy", "friction of pin"]
    assert run.plot_energy().axes[0].get_title(loc="left") == "journal: energy and heat"
    many = lw.simulate(journal, [[0.1], [0.2]], duration=0.1, dt=2e-3, method="rk4")
    with pytest.raises(lw.LinkworkError, match="without a batch"):
        many.plot_energy()


def test_a_drawer_pulled_off_centre_slides_with_the_excess_force_or_jams() -> None:
    b = lw.Builder("drawer", gravity=(0, 0, 0)).body("box", 1.0, inertia=(0.1, 0.1, 0.1))
    guide = lw.Guide(mu=0.3, length=0.4)
    m = b.joint("slide", lw.Prismatic((1, 0, 0)), "world", "box", friction=guide).build()
    for offset in (0.1, 0.6, 0.66, 0.67, 0.9):
        pull = np.zeros((1, 6))
        pull[0, 0], pull[0, 5] = 10.0, -10.0 * offset
        excess = max(0.0, 1.0 - 2.0 * 0.3 * offset / 0.4)  # it jams from an offset of length / (2 mu) on
        for method in ("rk4", "midpoint"):
            run = lw.simulate(m, duration=1.0, method=method, dt=0.01, wrenches=pull)
            assert run.q[-1, 0] == pytest.approx(0.5 * 10.0 * excess, rel=1e-7, abs=0.0)


def test_a_pulled_mass_with_static_friction_sticks_and_slips_periodically() -> None:
    b = lw.Builder("belt", gravity=(0, 0, -G)).body("mass", 1.0)
    friction = lw.DryFriction(3.0, static=5.0)
    m = b.joint("slide", lw.Prismatic((1, 0, 0)), "world", "mass", friction=friction).build()
    k, speed = 50.0, 0.1
    run = lw.simulate(
        m, [0.0], duration=10.0, method="dop853", rtol=1e-10, controller=lambda t, q, v: [k * (speed * t - q[0])]
    )
    slips = [event.time for event in run.events if event.what == "slide slips"]
    assert slips[0] == pytest.approx(5.0 / (k * speed), abs=1e-8)
    w = np.sqrt(k)  # during slip, x'' = k (speed t - x) - 3: the extension is 3 / k + A sin(w t + phase)
    time = 2.0 * (np.pi - np.arctan((5.0 - 3.0) / k * w / speed)) / w
    assert run.events[1].time - slips[0] == pytest.approx(time, rel=1e-7)
    np.testing.assert_allclose(np.diff(slips), 2.0 * (5.0 - 3.0) / (k * speed) + time, rtol=1e-6)


def test_constant_friction_as_a_law_and_as_a_number_give_the_same_motion() -> None:
    def slider(friction: Any) -> lw.Mechanism:
        b = lw.Builder("slider", gravity=(0, 0, -G)).body("mass", 2.0)
        return b.joint("slide", lw.Prismatic((1, 0, 0)), "world", "mass", stiffness=100.0, friction=friction).build()

    for method in ("rk4", "midpoint", "variational"):
        runs = [
            lw.simulate(slider(friction), [0.5], duration=2.0, dt=0.01, method=method)
            for friction in (7.0, lw.DryFriction(7.0))
        ]
        np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-14)


def test_friction_of_a_journal_with_rigid_contacts_converges_to_that_without_contacts() -> None:
    def pendulum(floor: bool) -> lw.Mechanism:
        b = lw.Builder("pendulum", gravity=(0, 0, -G))
        b.body("bob", MASS, com=(LENGTH, 0, 0), inertia=(INERTIA, INERTIA, INERTIA))
        b.joint("pin", lw.Revolute((0, 1, 0)), "world", "bob", friction=lw.Bearing(mu=MU, radius=RADIUS))
        if floor:
            b.surface("floor", lw.Plane(), at=(0, 0, -9)).touch("tip", "bob", (LENGTH, 0, 0))
        return b.build()

    m = pendulum(True)
    exact = lw.simulate(pendulum(False), [0.1], duration=0.8, method="dop853", rtol=1e-11)
    errors = []
    for dt in (0.01, 0.005):
        run = lw.simulate(m, [0.1], duration=0.8, contact="rigid", dt=dt)
        errors.append(abs(run.q[-1, 0] - exact.q[-1, 0]))
        assert run["friction.heat"][-1, 0] == pytest.approx(-run["work"][-1], rel=1e-9)
    assert errors[1] < 0.35 * errors[0]
    for factor, moves in ((0.99, False), (1.01, True)):
        angle = np.arccos(MU * RADIUS / LENGTH * factor)
        run = lw.simulate(m, [angle], duration=1.0 if moves else 20.0, contact="rigid", dt=0.01)
        assert bool(np.any(run.q != angle)) is moves


def test_a_leg_with_a_bearing_lands_on_rigid_contact_as_on_compliant_contact() -> None:
    b = lw.Builder("leg", gravity=(0, 0, -G)).body("hip", 1.0, inertia=(0.1, 0.1, 0.1))
    b.body("foot", 0.5, com=(0.2, 0, 0), inertia=(1e-2, 1e-2, 1e-2))
    b.joint("height", lw.Prismatic((0, 0, 1)), "world", "hip")
    b.joint("leg", lw.Revolute((0, 1, 0)), "hip", "foot", friction=lw.Bearing(mu=0.3, radius=0.1))
    b.surface("floor", lw.Plane()).touch("sole", "foot", (0.4, 0, 0), friction=0.3, stiffness=1e5, damping=200.0)
    m = b.build()
    rigid = lw.simulate(m, [0.5, 0.3], duration=2.0, contact="rigid", dt=1e-3)
    compliant = lw.simulate(m, [0.5, 0.3], duration=2.0, method="rk4", dt=2e-4)
    np.testing.assert_allclose(rigid.q[-1], compliant.q[-1], atol=5e-3)
    assert rigid.report().passed
