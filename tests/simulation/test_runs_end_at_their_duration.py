"""A run ends at the duration, or is refused with a step that fits; sizes are checked before a run starts."""

import re
from typing import Any

import numpy as np
import pytest

import linkwork as lw


@pytest.mark.parametrize("method", ["rk4", "variational", "dop853"])
@pytest.mark.parametrize(("duration", "dt", "fits"), [(0.1, 1.0, 0.1), (0.1, 0.03, 0.025), (1.0, 0.3, 0.25)])
def test_error_of_a_step_that_does_not_divide_the_duration_proposes_one_that_does(
    method: str, duration: float, dt: float, fits: float
) -> None:
    m = lw.example("double_pendulum")
    with pytest.raises(lw.LinkworkError, match=rf"not a whole number of steps .* use dt={fits:g} or duration="):
        lw.simulate(m, [1.0, 0.5], duration=duration, dt=dt, method=method)
    assert lw.simulate(m, [1.0, 0.5], duration=duration, dt=fits, method=method).t[-1] == pytest.approx(duration)


@pytest.mark.parametrize("duration", [0.1, 0.105, 1.0 / 3.0, 0.0371])
@pytest.mark.parametrize("rate", [None, 100.0, 30.0])
def test_an_automatic_step_divides_the_duration(duration: float, rate: float | None) -> None:
    m, options = lw.example("double_pendulum"), dict[str, Any]()
    if rate is not None:
        options["controller"] = lw.sampled(lambda t, q, v: -v, rate=rate)
    assert lw.simulate(m, [1.0, 0.5], duration=duration, **options).t[-1] == pytest.approx(duration, rel=1e-6)


@pytest.mark.parametrize("dt", [1e-300, 1e-320, 1e-18])
def test_steps_too_small_for_the_duration_are_rejected(dt: float) -> None:
    with pytest.raises(lw.LinkworkError, match="use a longer dt"):
        lw.simulate(lw.example("double_pendulum"), [1.0, 0.5], duration=0.1, dt=dt, method="rk4")


def test_batches_too_large_for_memory_are_refused_before_the_run() -> None:
    q0 = np.broadcast_to([1.0, 0.5], (10**11, 2))
    with pytest.raises(lw.LinkworkError, match=r"100000000000 members needs .* GB"):
        lw.simulate(lw.example("double_pendulum"), q0, duration=0.1)


@pytest.mark.parametrize("method", ["rk4", "auto", "variational", "dop853"])
def test_runs_with_too_many_steps_are_refused(method: str) -> None:
    with pytest.raises(lw.LinkworkError, match=r"1e\+15 steps, more than the 1e\+12 of a run: use a longer dt"):
        lw.simulate(lw.example("double_pendulum"), [1.0, 0.5], duration=1e6, dt=1e-9, method=method)


@pytest.mark.parametrize(
    "batch",
    [
        {"v0": np.broadcast_to(np.zeros(2), (10**10, 2))},
        {"parameters": {"gravity": np.broadcast_to(np.zeros(3), (10**10, 3))}},
        {"wrenches": np.broadcast_to(np.zeros((2, 6)), (10**10, 2, 6))},
        {"v0": np.zeros((10**5, 1, 2)), "parameters": {"gravity": np.broadcast_to(np.zeros(3), (1, 10**5, 3))}},
    ],
)
def test_memory_of_batches_of_any_argument_is_estimated_before_the_run(batch: dict[str, Any]) -> None:
    with pytest.raises(lw.LinkworkError, match=r"10000000000 members needs .* GB"):
        lw.simulate(lw.example("double_pendulum"), [1.0, 0.5], duration=0.1, **batch)


@pytest.mark.parametrize("threads", [0, -1, 1.5, True])
def test_a_wrong_number_of_threads_is_refused(threads: Any) -> None:
    with pytest.raises(lw.LinkworkError, match="threads must be a whole number"):
        lw.simulate(lw.example("double_pendulum"), [1.0, 0.5], duration=0.1, threads=threads)
    with pytest.raises(lw.LinkworkError, match="threads must be a whole number"):
        lw.compile(lw.example("double_pendulum"), threads=threads)


def test_wall_time_excludes_compiling(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A first run, which compiles for longer than it runs, takes about as long as the next."""
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(tmp_path))
    m = lw.example("double_pendulum")

    def simulated(gain: float) -> lw.Run:
        return lw.simulate(m, [1.0, 0.5], duration=0.1, dt=0.01, method="rk4", controller=lambda t, q, v: -gain * v)

    first, second = simulated(0.1234567), simulated(0.1234567)
    assert first.wall < 0.05 + 5.0 * second.wall


@pytest.mark.parametrize(("duration", "dt", "rate"), [(0.1, 0.003, None), (0.1, 0.003, 300.0), (0.7, 0.0043, 30.0)])
def test_a_proposed_step_is_accepted_as_it_is_printed(duration: float, dt: float, rate: float | None) -> None:
    m, options = lw.example("double_pendulum"), dict[str, Any]()
    if rate is not None:
        options["controller"] = lw.host(lambda t, q, v: -v, rate=rate)
    with pytest.raises(lw.LinkworkError, match="not a whole number of steps") as refused:
        lw.simulate(m, [1.0, 0.5], duration=duration, dt=dt, method="rk4", **options)
    found = re.search(r"use dt=([\d.e-]+[\d])", str(refused.value))
    assert found
    assert ("suits the controller's rate" in str(refused.value)) == (rate is not None)
    run = lw.simulate(m, [1.0, 0.5], duration=duration, dt=float(found[1]), method="rk4", **options)
    assert run.t[-1] == pytest.approx(duration, rel=1e-6)
