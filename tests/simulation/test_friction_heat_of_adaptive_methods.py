"""Heat of dry friction in runs with adaptive methods."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.model.elements.joint_friction import JointFriction

ADAPTIVE = ("dop853", "radau", "lsoda")


def pendulum(friction: Any, **more: Any) -> lw.Mechanism:
    """Return a pendulum with friction in its joint."""
    b = lw.Builder("pendulum").body("bob", 2.0, com=(0.6, 0, 0), inertia=(0.05, 0.05, 0.05))
    return b.joint("pin", lw.Revolute((0, 1, 0)), "world", "bob", friction=friction, **more).build()


@pytest.mark.parametrize("method", ADAPTIVE)
@pytest.mark.parametrize("friction", [lw.Bearing(mu=0.3, radius=0.05), 0.4], ids=["bearing", "number"])
def test_heat_of_friction_equals_the_lost_energy(method: str, friction: Any) -> None:
    m = pendulum(friction)
    run = lw.simulate(m, [0.1], duration=2.0, method=method, rtol=1e-9)
    heat = run["friction.heat"]
    assert heat.shape == (len(run.t), 1)
    np.testing.assert_allclose(heat[:, 0], run.energy[0] - run.energy, atol=2e-7)
    assert np.all(np.diff(heat[:, 0]) >= -1e-12)
    assert len(run.events) > 2
    assert "work of joint friction and dampers" in str(run.report())
    assert run.report().passed


def test_heat_leaves_out_dampers_and_continues_in_a_continued_run() -> None:
    m = pendulum(lw.Bearing(mu=0.3, radius=0.05), damping=0.05)
    options: dict[str, Any] = {"method": "dop853", "rtol": 1e-10, "dt": 0.01}
    whole = lw.simulate(m, [0.1], duration=2.0, **options)
    damped = -np.trapezoid(0.05 * whole.v[:, 0] ** 2, whole.t)
    assert -whole["friction.heat"][-1, 0] + damped == pytest.approx(whole["work"][-1], rel=1e-4)
    assert whole["work.joints"][-1] == pytest.approx(whole["work"][-1], rel=1e-12)
    half = lw.simulate(m, [0.1], duration=1.0, **options)
    rest = lw.simulate(m, half, duration=1.0, **options)
    assert rest["friction.heat"][-1, 0] == pytest.approx(whole["friction.heat"][-1, 0], rel=1e-7)
    steps = lw.simulate(m, half, duration=1.0, method="rk4", dt=0.01)
    assert steps["friction.heat"][-1, 0] == pytest.approx(whole["friction.heat"][-1, 0], rel=1e-6)


def test_heat_of_a_linkage_is_the_integral_of_the_power_joint_by_joint() -> None:
    m, bearing = lw.example("four_bar"), lw.Bearing(mu=0.2, radius=0.05)
    q = m.keyframes["start"].q
    in_tree = [JointFriction(joint.name, bearing) for joint in m.joints]
    in_loops = [JointFriction(loop.name, bearing, in_tree=False) for loop in m.loops]
    m = m.with_elements("frictions", [*in_tree, *in_loops])
    run = lw.simulate(m, q, np.zeros(3), duration=0.5, method="dop853", rtol=1e-9, dt=1e-3)
    np.testing.assert_allclose(run["friction.heat"][-1], -np.trapezoid(run["friction.power"], run.t, axis=0), rtol=1e-4)
    assert run["friction.heat"][-1].sum() == pytest.approx(-run["work"][-1], rel=1e-12)


def test_work_of_clutches_is_still_unknown_to_adaptive_methods() -> None:
    b = lw.Builder("two").body("a", 1.0, inertia=(1, 1, 1)).body("b", 1.0, inertia=(1, 1, 1))
    b.joint("a", lw.Revolute(), "world", "a", friction=0.1).joint("b", lw.Revolute(), "world", "b")
    m = b.clutch("clutch", "a", "b", capacity=0.5).build()
    run = lw.simulate(m, [0.0, 0.0], [3.0, 0.0], duration=1.0, method="dop853")
    assert "friction.heat" in run.recorded
    assert "work.clutches" not in run.recorded
    assert "method 'dop853' does not compute the work of these elements" in str(run.report())
