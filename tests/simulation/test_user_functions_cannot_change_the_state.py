"""A user's function gets copies of its arguments, and must compute the same formulas every time it is called."""

import datetime
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw

REFERENCE = np.array([0.3, 0.2])
START = {"q0": [1.0, 0.5], "v0": [0.2, -0.1]}
WAYS_TO_RUN: dict[str, Callable[[Any], dict[str, Any]]] = {
    "traced": lambda f: {"controller": f, "method": "rk4"},
    "midpoint": lambda f: {"controller": f, "method": "midpoint"},
    "variational": lambda f: {"controller": f, "method": "variational"},
    "sampled": lambda f: {"controller": lw.sampled(f, rate=100), "method": "rk4"},
    "in Python": lambda f: {"controller": lw.host(f, rate=100), "method": "rk4"},
    "numpy": lambda f: {"controller": f, "method": "rk4", "target": "numpy"},
    "adaptive": lambda f: {"controller": f, "method": "dop853"},
}


def run(**options: Any) -> lw.Run:
    return lw.simulate(lw.example("double_pendulum"), **START, duration=0.2, dt=0.01, **options)


def pure(t: Any, q: Any, v: Any) -> Any:
    return -50.0 * (q - REFERENCE) - 5.0 * v


def writing(t: Any, q: Any, v: Any) -> Any:
    q -= REFERENCE
    v *= 5.0
    return -50.0 * q - v


@pytest.mark.parametrize("how", WAYS_TO_RUN)
def test_a_controller_that_writes_into_its_arguments_does_not_change_the_run(how: str) -> None:
    expected, found = (run(**WAYS_TO_RUN[how](f)) for f in (pure, writing))
    np.testing.assert_array_equal(found.q, expected.q)
    np.testing.assert_array_equal(found.v, expected.v)


def test_a_corrected_controller_does_not_use_the_cached_kernel_of_the_old_controller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(tmp_path))

    def wrong(t: Any, q: Any, v: Any) -> Any:
        torque = -5.0 * v
        q[:] = 0.0
        return torque

    first, second = run(controller=wrong, method="rk4"), run(controller=lambda t, q, v: -5.0 * v, method="rk4")
    free = run(controller=lw.host(lambda t, q, v: -5.0 * v, rate=100), method="rk4")
    np.testing.assert_array_equal(first.q, second.q)
    assert np.abs(first.q - free.q).max() < 1e-2


@pytest.mark.parametrize("what", ["stop_when", "wrenches", "guard", "gains", "memory"])
def test_wrenches_guards_and_stop_conditions_get_copies_of_their_arguments(what: str) -> None:
    m = lw.example("double_pendulum")
    free = run(method="rk4")
    if what == "stop_when":

        def stop(t: Any, q: Any, v: Any) -> Any:
            q[0] = 5.0
            return q[0] - 10.0

        found = run(method="rk4", stop_when=stop)
    elif what == "wrenches":

        def wrenches(t: Any, q: Any, v: Any) -> Any:
            q *= 0.0
            return np.zeros((2, 6))

        found = run(method="rk4", wrenches=wrenches)
    elif what == "guard":

        def guard(t: Any, q: Any, v: Any) -> Any:
            v *= 0.0
            return v[0] - 1.0

        found = run(method="rk4", schedule=[(guard, "lock", m.joints[0].name)])
    elif what == "gains":

        def gained(t: Any, q: Any, v: Any, K: Any) -> Any:
            K *= 2.0
            return -K * v

        found = run(method="rk4", controller=gained, gains={"K": np.ones(2)})
        free = run(method="rk4", controller=lambda t, q, v: -2.0 * v)
    else:

        def counting(t: Any, q: Any, v: Any, memory: Any) -> Any:
            memory += 1.0
            return -v * 0.0, memory

        found = run(method="rk4", controller=lw.host(counting, rate=100), memory=np.zeros(1))
        np.testing.assert_array_equal(found["memory"][:, 0], np.arange(1.0, len(found.t) + 1.0))
    np.testing.assert_array_equal(found.q, free.q)


# --- functions that differ from call to call ---

generator = np.random.default_rng(0)


def draws() -> float:
    return float(generator.normal())


class Noisy:
    """A controller that changes its own state at every call: it counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, t: Any, q: Any, v: Any) -> Any:
        self.calls += 1
        return -v


class Dithering:
    """A controller that rarely changes its result, as a random generator of its own decides."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(1)

    def __call__(self, t: Any, q: Any, v: Any) -> Any:
        return -v if self.rng.random() < 0.999 else v


def timed(t: Any, q: Any, v: Any) -> Any:
    import time as clock

    return -v * float(clock.time() > 0.0)


def counter() -> Callable[..., Any]:
    calls = 0

    def controller(t: Any, q: Any, v: Any) -> Any:
        nonlocal calls
        calls += 1
        return -v if calls < 100 else v

    return controller


def logging() -> Callable[..., Any]:
    times: list[Any] = []

    def controller(t: Any, q: Any, v: Any) -> Any:
        times.append(t)
        return -v

    return controller


UNREPEATABLE: dict[str, tuple[Callable[..., Any], str]] = {
    "NumPy's random numbers": (lambda t, q, v: np.random.normal(size=2), r"uses np\.random"),  # noqa: NPY002
    "a generator": (lambda t, q, v: generator.normal(size=2), "uses generator"),
    "a generator in a function": (lambda t, q, v: v * draws(), "uses generator"),
    "Python's random numbers": (lambda t, q, v: v * random.random(), r"uses random\.random"),
    "a clock": (lambda t, q, v: v * time.time(), r"uses time\.time"),
    "a date": (lambda t, q, v: v * datetime.datetime.now().second, r"uses datetime"),
    "a clock imported inside": (timed, "uses time"),
    "a generator of its own": (Dithering(), r"changes its variable 'self\.rng'"),
    "a counter": (counter(), "changes its variable 'calls'"),
    "a list that grows": (logging(), "changes its variable 'times'"),
    "an attribute": (Noisy(), r"changes its variable 'self\.calls'"),
}


@pytest.mark.parametrize("name", UNREPEATABLE)
def test_user_functions_that_differ_from_call_to_call_are_rejected(name: str) -> None:
    function, message = UNREPEATABLE[name]
    with pytest.raises(lw.NotTraceable, match=message):
        run(controller=function, method="rk4")


def test_functions_wrapped_by_host_are_called_in_python() -> None:
    for function, _ in UNREPEATABLE.values():
        assert run(controller=lw.host(function, rate=100), method="rk4").outcome.kind in ("finished", "non-finite")


def test_a_controller_may_store_intermediate_values_in_a_cache() -> None:
    found: dict[str, float] = {}

    def cached(t: Any, q: Any, v: Any) -> Any:
        if "gain" not in found:
            found["gain"] = 5.0
        return -found["gain"] * v

    assert run(controller=cached, method="rk4").outcome.kind == "finished"


# --- numbers ---


@pytest.mark.parametrize("how", WAYS_TO_RUN)
def test_a_division_by_zero_ends_the_member_and_not_the_batch(how: str) -> None:
    def divides(t: Any, q: Any, v: Any) -> Any:
        gain = 1.0 / (t - 0.05)
        return np.where(q[0] > 0.5, gain, 1.0) * -v

    m = lw.example("double_pendulum")
    q0, v0 = np.array([[1.0, 0.5], [-1.0, -0.5]]), np.full((2, 2), 0.1)
    found = lw.simulate(m, q0, v0, duration=0.1, dt=0.01, **WAYS_TO_RUN[how](divides))
    assert found.outcome[1].kind == "finished"


@pytest.mark.parametrize(
    "controller",
    [
        lambda t, q, v: -v * (q > 0.3),
        lambda t, q, v: (q > 0.3) * -v,
        lambda t, q, v: -v * (1.0 - (q <= 0.3)),
        lambda t, q, v: -v * ((q > 0.3) + (q > 5.0)),
        lambda t, q, v: -v / (1.0 / ((q > 0.3) + 1e-300)),
    ],
)
def test_traced_conditions_are_one_or_zero_in_arithmetic(controller: Callable[..., Any]) -> None:
    expected = run(method="rk4", controller=lambda t, q, v: np.where(q > 0.3, -v, 0.0 * v))
    np.testing.assert_allclose(run(method="rk4", controller=controller).q, expected.q, atol=1e-13)
    np.testing.assert_allclose(run(method="rk4", controller=controller, target="numpy").q, expected.q, atol=1e-13)


# --- gains ---


def test_error_for_a_gain_without_the_batch_shape_gives_the_expected_shape() -> None:
    with pytest.raises(lw.ShapeError, match=r"gains K \(256,\) of one member.*has the batch shape of q0"):
        run(method="rk4", controller=lambda t, q, v, K: -K * v, gains={"K": np.ones(256)})


def test_error_for_a_missing_gain_names_the_gain() -> None:
    with pytest.raises(lw.LinkworkError, match="argument 'K' of the controller is not among the gains"):
        run(method="rk4", controller=lambda t, q, v, K: -K * v)
