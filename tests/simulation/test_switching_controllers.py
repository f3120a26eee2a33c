"""Controllers switch modes by name: traced or in Python, at their rate, with the same velocity jumps as a schedule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler import kernel
from shaft_mechanisms import flywheels


def engaging_by_angle(t, q, v):
    return {"tau": [0.5, 0.0], "clutch.engaged": (q[0] > 0.5) & (q[0] < 1.5)}


@pytest.mark.parametrize("method", ["rk4", "variational", "dop853"])
def test_controller_switches_elements_as_a_schedule_does(method):
    arguments: dict[str, Any] = {"duration": 0.6, "dt": 0.01, "method": method}
    run = lw.simulate(flywheels(), [0, 0], [5.0, 0.0], controller=lw.sampled(engaging_by_angle, rate=50), **arguments)
    assert [event.what.split(" (")[0] for event in run.events] == ["engage clutch", "release clutch"]
    times = [event.time for event in run.events]
    np.testing.assert_allclose(np.array(times) * 50, np.round(np.array(times) * 50), atol=1e-9)  # it is sampled
    schedule = [(time, verb, "clutch") for time, verb in zip(times, ("engage", "release"), strict=True)]

    def constant(t, q, v):
        return [0.5, 0.0]

    same = lw.simulate(
        flywheels(), [0, 0], [5.0, 0.0], controller=lw.sampled(constant, rate=50), schedule=schedule, **arguments
    )
    np.testing.assert_allclose(run.v, same.v, rtol=1e-9)
    for mine, other in zip(run.events, same.events, strict=True):
        assert mine.what == other.what
        assert mine[3:] == pytest.approx(other[3:], rel=1e-9)
    assert run.report().passed


def test_switching_controller_in_python_gives_the_same_run_as_a_compiled_one(monkeypatch):
    arguments: dict[str, Any] = {"duration": 0.6, "dt": 0.01, "method": "rk4"}
    traced = lw.simulate(
        flywheels(), [0, 0], [5.0, 0.0], controller=lw.sampled(engaging_by_angle, rate=50), **arguments
    )
    host = lw.simulate(flywheels(), [0, 0], [5.0, 0.0], controller=lw.host(engaging_by_angle, rate=50), **arguments)
    assert (traced.v == host.v).all()
    assert traced.events == host.events


def test_controller_without_a_rate_switches_once_per_step():
    run = lw.simulate(
        flywheels(), [0, 0], [5.0, 0.0], duration=0.3, dt=0.01, method="rk4", controller=engaging_by_angle
    )
    assert run.events[0].time == pytest.approx(0.1)
    assert run["clutch.engaged"][[0, -1]].tolist() == [0, 1]


def test_controller_receives_modes_and_memory():
    def toggling(t, q, v, memory, modes):
        shift = memory[0] >= 10.0
        ratio = np.where(shift, -2.0 * modes["clutch.ratio"], modes["clutch.ratio"])
        return {"clutch.ratio": ratio}, np.where(shift, 0.0, memory + 1.0)

    for controller in (lw.sampled(toggling), lw.host(toggling, rate=100)):
        run = lw.simulate(
            flywheels(engaged=True), [0, 0], [1.0, 1.0], duration=0.4, dt=0.01, method="rk4", controller=controller,
            memory=[0.0],
        )  # fmt: skip
        assert [event.what.split(" (")[0] for event in run.events] == [f"shift clutch to {r}" for r in (-2, 4, -8)]
        np.testing.assert_allclose(run.v[-1, 1] / run.v[-1, 0], -8.0, rtol=1e-12)


def test_joints_without_brakes_and_slipping_clutches_can_be_switched():
    def stopping(t, q, v):
        return {"a.engaged": t > 0.2, "clutch.engaged": 1.0}

    run = lw.simulate(
        flywheels(capacity=6.0), [0, 0], [5.0, 0.0], duration=1.0, dt=0.01, method="rk4", controller=stopping
    )
    assert [event.what.split(" (")[0] for event in run.events] == ["engage clutch", "engage a", "clutch holds"]
    assert run.v[-1] == pytest.approx([0.0, 0.0], abs=1e-12)
    assert run.events[-1].time == pytest.approx(0.21 + 6 / 3 * 0.21 / (6 / 3), rel=1e-6)  # braked as it was driven


def test_controllers_switch_batch_members_separately_without_new_kernels(monkeypatch):
    built = []
    build = kernel.Kernel._build
    monkeypatch.setattr(kernel.Kernel, "_build", lambda self, width: built.append(width) or build(self, width))

    def far(t, q, v, reach):
        return {"clutch.engaged": np.sin(q[0] * reach) > 0.0}

    speeds, reach = np.random.default_rng(0).uniform(1.0, 9.0, (7, 2)), np.linspace(1.0, 40.0, 7)
    arguments: dict[str, Any] = {"duration": 0.6, "dt": 0.01, "method": "rk4", "controller": lw.sampled(far, rate=100)}
    run = lw.simulate(flywheels(), [0, 0], speeds, gains={"reach": reach}, **arguments)
    first = len(built)
    again = lw.simulate(flywheels(), [0, 0], speeds, gains={"reach": 2.0 * reach}, **arguments)
    assert len(again.events) > len(run.events)
    assert len(built) == first
    for k in (0, 6):
        alone = lw.simulate(flywheels(), [0, 0], speeds[k], gains={"reach": reach[k]}, **arguments)
        assert (alone.v == run.v[k]).all()
    arguments["duration"] = 0.3
    half = lw.simulate(flywheels(), [0, 0], speeds, gains={"reach": reach}, **arguments)
    rest = lw.simulate(flywheels(), half, gains={"reach": reach}, **arguments)
    assert (rest.v[:, -1] == run.v[:, -1]).all()


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        ({"cluch.engaged": 1.0}, lw.LinkworkError, "Did you mean 'clutch.engaged'"),
        ({"first.mass": 1.0}, lw.LinkworkError, "mode returned by the controller 'first.mass'"),
        ({"tau": [1.0], "clutch.engaged": 1.0}, lw.ShapeError, r"must have shape \(2,\); got shape \(1,\)"),
        ({"clutch.engaged": [1.0, 0.0]}, lw.ShapeError, "one number or condition for 'clutch.engaged'"),
        ({"clutch.engaged": "yes"}, lw.ShapeError, "one number or condition for 'clutch.engaged'"),
    ],
)
def test_invalid_controller_results_are_rejected(answer, error, message):
    with pytest.raises(error, match=message):
        lw.simulate(flywheels(), [0, 0], duration=0.1, dt=0.01, method="rk4", controller=lambda t, q, v: answer)
