"""Users' functions are tried once, on floats, at the time at which a run begins, also where it continues another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw

PENDULUM = lw.example("double_pendulum")


class Clock:
    """A function of time that notes the times at which it is called with plain numbers."""

    def __init__(self, shape: tuple[int, ...]):
        self.shape, self.times = shape, []

    def __call__(self, t: Any, q: Any, v: Any) -> Any:
        if isinstance(t, float):
            self.times.append(t)
        return np.zeros(self.shape) + 0.0 * v[0]


@pytest.mark.parametrize("dt", [None, 1e-3, 5e-4, 4e-3])
@pytest.mark.parametrize("method", ["rk4", "variational"])
def test_a_run_that_goes_on_after_a_second_is_tried_there(dt: float | None, method: str) -> None:
    first = lw.simulate(PENDULUM, duration=1.0, dt=1e-3, method=method)
    control, pushes, guard = Clock((2,)), Clock((2, 6)), Clock(())
    schedule = [(lambda t, q, v: guard(t, q, v) - 1.0, "lock", PENDULUM.joints[1].name)]
    run = lw.simulate(PENDULUM, first, duration=0.1, dt=dt, controller=control, wrenches=pushes, schedule=schedule)
    assert np.allclose([run.t[0], run.t[-1]], [1.0, 1.1])
    for clock in (control, pushes, guard):
        assert clock.times
        assert np.allclose(clock.times, 1.0, rtol=0, atol=1e-12)


def test_a_new_run_is_tried_at_zero() -> None:
    control = Clock((2,))
    lw.simulate(PENDULUM, duration=0.01, dt=1e-3, controller=control)
    assert control.times == [0.0]


def test_a_run_of_adaptive_steps_goes_on_at_its_end() -> None:
    control = Clock((2,))
    first = lw.simulate(PENDULUM, duration=0.5, method="dop853")
    run = lw.simulate(PENDULUM, first, duration=0.1, controller=control)
    assert np.allclose(control.times[0], 0.5, rtol=0, atol=1e-12)
    assert run.t[0] == pytest.approx(0.5)


def test_a_controller_that_fails_later_is_not_refused_at_once() -> None:
    """One whose plan ends after 2 s was asked for 1000 s, and found to return nan."""

    def planned(t: Any, q: Any, v: Any) -> Any:
        return np.array([1.0, 0.0]) * np.sqrt(2.0 - t)

    first = lw.simulate(PENDULUM, duration=1.0, dt=1e-3, method="rk4", controller=planned)
    assert lw.simulate(PENDULUM, first, duration=0.5, controller=planned).outcome.kind == "finished"
