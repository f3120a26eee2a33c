"""User functions are tried once, on floats, at the start time of a run, also of a continued run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw

PENDULUM = lw.example("double_pendulum")


class RecordingFunction:
    """A function of time that records the times at which it is called with plain floats."""

    def __init__(self, shape: tuple[int, ...]):
        self.shape, self.times = shape, []

    def __call__(self, t: Any, q: Any, v: Any) -> Any:
        if isinstance(t, float):
            self.times.append(t)
        return np.zeros(self.shape) + 0.0 * v[0]


@pytest.mark.parametrize("dt", [None, 1e-3, 5e-4, 4e-3])
@pytest.mark.parametrize("method", ["rk4", "variational"])
def test_user_functions_of_a_continued_run_are_tried_at_its_start_time(dt: float | None, method: str) -> None:
    first = lw.simulate(PENDULUM, duration=1.0, dt=1e-3, method=method)
    control, pushes, guard = RecordingFunction((2,)), RecordingFunction((2, 6)), RecordingFunction(())
    schedule = [(lambda t, q, v: guard(t, q, v) - 1.0, "lock", PENDULUM.joints[1].name)]
    run = lw.simulate(PENDULUM, first, duration=0.1, dt=dt, controller=control, wrenches=pushes, schedule=schedule)
    assert np.allclose([run.t[0], run.t[-1]], [1.0, 1.1])
    for clock in (control, pushes, guard):
        assert clock.times
        assert np.allclose(clock.times, 1.0, rtol=0, atol=1e-12)


def test_user_functions_of_a_new_run_are_tried_at_time_zero() -> None:
    control = RecordingFunction((2,))
    lw.simulate(PENDULUM, duration=0.01, dt=1e-3, controller=control)
    assert control.times == [0.0]


def test_adaptive_run_continues_at_its_end_time() -> None:
    control = RecordingFunction((2,))
    first = lw.simulate(PENDULUM, duration=0.5, method="dop853")
    run = lw.simulate(PENDULUM, first, duration=0.1, controller=control)
    assert np.allclose(control.times[0], 0.5, rtol=0, atol=1e-12)
    assert run.t[0] == pytest.approx(0.5)


def test_controller_valid_only_for_some_time_is_accepted() -> None:
    """A controller valid for 2 s must not be called at 1000 s, where it returns NaN."""

    def planned(t: Any, q: Any, v: Any) -> Any:
        return np.array([1.0, 0.0]) * np.sqrt(2.0 - t)

    first = lw.simulate(PENDULUM, duration=1.0, dt=1e-3, method="rk4", controller=planned)
    assert lw.simulate(PENDULUM, first, duration=0.5, controller=planned).outcome.kind == "finished"
