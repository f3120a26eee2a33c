"""Dry friction of joints by the midpoint rule: joints stop, hold exactly and begin to slip as Coulomb's law says."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.model.elements.brake import Brake

G = 9.81


def block(friction: float, slope: float = 0.0) -> lw.Mechanism:
    """Return a block of 2 kg that slides along x, on an incline at `slope` [rad]."""
    b = lw.Builder("block", gravity=(G * np.sin(slope), 0, -G * np.cos(slope)))
    b.body("block", 2.0).joint("slide", lw.Prismatic((1, 0, 0)), "world", "block", friction=friction)
    return b.build()


def arm(friction: tuple[float, ...], links: int = 3) -> lw.Mechanism:
    """Return a horizontal arm of links of 1 kg and 1 m, with dry friction in its joints."""
    b, parent = lw.Builder("arm", gravity=(0, 0, -G)), "world"
    for k in range(links):
        b.body(f"link {k}", 1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
        at = (0.0 if k == 0 else 1.0, 0, 0)
        b.joint(f"joint {k}", lw.Revolute((0, 1, 0)), parent, f"link {k}", at=at, friction=friction[k])
        parent = f"link {k}"
    return b.build()


def with_brakes(m: lw.Mechanism) -> lw.Mechanism:
    """Return the mechanism with brakes that slip instead of joint friction: the same friction, solved with events."""
    brakes = [Brake(f"brake {j.name}", j.name, capacity=float(j.friction[0]), engaged=1.0) for j in m.joints]
    free = m.with_parameters({f"{j.name}.friction": np.zeros(j.kind.nv) for j in m.joints})
    return free.with_elements(Brake.section, brakes)


@pytest.mark.parametrize("dt", [0.01, 0.007, 0.0005])
def test_a_sliding_block_stops_after_the_braking_distance(dt: float) -> None:
    run = lw.simulate(block(5.0), v0=[3.0], duration=280 * dt if dt > 0.001 else 2.0, dt=dt, method="midpoint")
    assert run.q[-1, 0] == pytest.approx(2.0 * 3.0**2 / (2 * 5.0), abs=2 * dt**2)
    stopped = run.t > 1.2 + dt
    assert np.all(run.v[stopped] == 0.0)
    assert np.all(run.q[stopped] == run.q[-1])
    assert run["work"][-1] == pytest.approx(-0.5 * 2.0 * 3.0**2, rel=1e-12)


@pytest.mark.parametrize("slope", [0.29, -0.29, 0.3])
def test_a_block_on_an_incline_stays_exactly_at_rest_below_the_friction_limit(slope: float) -> None:
    limit = 2.0 * G * np.sin(abs(slope)) * 1.0001
    run = lw.simulate(block(limit, slope), duration=10.0)
    assert run.method == "rk4"
    assert np.all(run.q == 0.0)
    assert np.all(run.v == 0.0)
    assert run["passive"][0, 0] == pytest.approx(-2.0 * G * np.sin(slope), rel=1e-9)


def test_block_above_the_friction_limit_is_accelerated_by_the_excess_force() -> None:
    run = lw.simulate(block(3.0, 0.3), duration=1.0, dt=1e-3, method="midpoint")
    expected = G * np.sin(0.3) - 3.0 / 2.0
    np.testing.assert_allclose(run.v[:, 0], expected * run.t, atol=1e-12)
    np.testing.assert_allclose(run["passive"][1:, 0], -3.0, rtol=1e-12)


def test_friction_of_an_arm_at_rest_balances_gravity() -> None:
    m = arm((50.0, 20.0, 6.0))
    run = lw.simulate(m, duration=10.0)
    assert np.all(run.q == 0.0)
    gravity = lw.compile(m).gravity(run.q[0])
    np.testing.assert_allclose(run["passive"], np.broadcast_to(gravity, run.q.shape), rtol=1e-9)
    weights = run["reactions"][5, :, 2]
    np.testing.assert_allclose(weights, [3 * G, 2 * G, G], rtol=1e-9)
    assert run.report().passed


@pytest.mark.parametrize("friction", [(8.0, 6.0, 1.0), (20.0, 1.0, 3.0), (1.0, 15.0, 0.5)])
def test_midpoint_converges_to_brakes_that_slip_with_located_events(friction: tuple[float, ...]) -> None:
    m = arm(friction)
    exact = lw.simulate(with_brakes(m), duration=0.5, dt=1e-4, method="rk4")
    errors = [
        np.abs(lw.simulate(m, duration=0.5, dt=dt, method="midpoint").q[-1] - exact.q[-1]).max()
        for dt in (1e-3, 2.5e-4, 6.25e-5)
    ]
    assert errors[-1] < 2e-4
    assert errors[-1] < 0.3 * errors[0]


def test_batch_members_with_different_friction_match_single_runs() -> None:
    values = np.array([[0.0], [2.0], [5.0], [50.0]])
    m = block(1.0, 0.3)
    batch = lw.simulate(m, duration=0.5, parameters={"slide.friction": values})
    for k, value in enumerate(values):
        single = lw.simulate(
            m.with_parameters({"slide.friction": value}), duration=0.5, dt=batch.settings.dt, method=batch.method
        )
        np.testing.assert_array_equal(batch.q[k], single.q)
        np.testing.assert_allclose(batch["passive"][k], single["passive"], atol=1e-12)
    assert np.all(batch.q[3] == 0.0)


def test_friction_of_a_mimic_joint_holds_its_independent_joint() -> None:
    def gripper(friction: float) -> lw.Mechanism:
        b = lw.Builder("gripper", gravity=(0, 0, -G))
        b.body("left", 1.0).joint("a", lw.Prismatic((0, 0, 1)), "world", "left")
        b.body("right", 1.0).joint("b", lw.Prismatic((0, 0, 1)), "world", "right", friction=friction)
        return b.mimic("b", "a", multiplier=2.0).build()

    weight = 1.0 * G + 2.0 * G  # on the independent joint
    held = lw.simulate(gripper(weight / 2.0 * 1.001), duration=1.0)
    assert np.all(held.q == 0.0)
    sliding = lw.simulate(gripper(weight / 2.0 * 0.9), duration=0.5)
    expected = -(weight - 2.0 * weight / 2.0 * 0.9) / (1.0 + 4.0)
    np.testing.assert_allclose(sliding.v[:, 0], expected * sliding.t, atol=1e-9)


def test_friction_holds_a_linkage_with_loops_at_rest() -> None:
    m = lw.example("four_bar")
    stiff = {f"{j.name}.friction": np.full(j.kind.nv, 1e3) for j in m.joints if j.kind.nv}
    run = lw.simulate(m.with_parameters(stiff), v0=np.zeros(m.nv), duration=1.0)
    assert np.all(run.q == run.q[0])
    assert run.outcome.kind == "finished"


def test_joint_friction_does_not_shorten_the_automatic_step_of_rigid_contacts() -> None:
    def leg(friction: float) -> lw.Mechanism:
        b = lw.Builder("leg", gravity=(0, 0, -G)).body("foot", 0.5, inertia=(1e-3, 1e-3, 1e-3))
        b.joint("height", lw.Prismatic((0, 0, 1)), "world", "foot", friction=friction)
        return b.surface("floor", lw.Plane()).touch("sole", "foot", friction=0.5, stiffness=1e4).build()

    steps = [lw.simulate(leg(f), [0.1], duration=0.1, contact="rigid").settings.dt for f in (0.0, 3.0)]
    assert steps[0] == steps[1]


def test_friction_holds_a_joint_at_rest_in_the_interactive_simulator() -> None:
    sim = lw.Simulator(arm((50.0, 20.0, 6.0)))
    for _ in range(200):
        sim.step()
    assert sim.method == "midpoint"
    assert np.all(sim.state.q == 0.0)
