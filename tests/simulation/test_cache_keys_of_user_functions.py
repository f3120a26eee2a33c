"""Programs are cached by the content of user functions: a changed constant is detected, an equal one is reused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler import program_from_graph

THERE = {"q0": [0.3], "v0": [1.0], "duration": 0.2, "dt": 0.01, "method": "rk4"}


def pendulum() -> lw.Mechanism:
    b = lw.Builder("pendulum")
    b.body("rod", 1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.02))
    b.joint("pin", lw.Revolute((0, 1, 0)), "world", "rod").drive("motor", {"pin": 2.0})
    return b.brake("brake", "pin").build()


def marble(slope: float) -> lw.Mechanism:
    b = lw.Builder("marble").body("marble", 0.5, inertia=(2e-4, 2e-4, 2e-4))
    b.joint("free", lw.Free(), "world", "marble").surface("hill", lw.Ground(lambda x, y: slope * x))
    return b.touch("rim", "marble", radius=0.05, stiffness=2e3).build()


def acting(x: float) -> dict[str, Any]:
    return {"m": pendulum(), **THERE, "controller": lambda t, q, v: -x * v}


def driving(x: float) -> dict[str, Any]:
    m = pendulum()
    return {"m": m, **THERE, "controller": lw.feedback.drives(m, [x])}


def remembering(x: float) -> dict[str, Any]:
    return {"m": pendulum(), **THERE, "controller": lambda t, q, v, past: (-x * past, past + q), "memory": [0.0]}


def commanding(x: float) -> dict[str, Any]:
    switch = lw.sampled(lambda t, q, v: {"brake.engaged": q[0] > x}, rate=100)
    return {"m": pendulum(), **THERE, "controller": switch}


def pushing(x: float) -> dict[str, Any]:
    return {"m": pendulum(), **THERE, "wrenches": lambda t, q, v: np.array([[0, 0, 0, 0, 100 * x * t, 0]])}


def stopping(x: float) -> dict[str, Any]:
    return {"m": pendulum(), **THERE, "stop_when": lambda t, q, v: q[0] > x}


def guarding(x: float) -> dict[str, Any]:
    return {"m": pendulum(), **THERE, "schedule": [(lambda t, q, v: q[0] - x, "engage", "brake")]}


def standing(x: float) -> dict[str, Any]:
    return {"m": marble(x), "q0": [0, 0, 0.06, 1, 0, 0, 0], "duration": 0.2, "dt": 1e-3, "method": "semi-implicit"}


def result(problem: dict[str, Any], target: str = "cpu") -> Any:
    run = lw.simulate(problem["m"], **{k: v for k, v in problem.items() if k != "m"}, target=target, progress=False)
    return np.array([*run.q[-1], *run.v[-1], run.t[-1]])


@pytest.mark.parametrize(
    "problem",
    [acting, driving, remembering, commanding, pushing, stopping, guarding, standing],
    ids=lambda f: f.__name__,
)
def test_changed_constant_of_a_user_function_is_detected_and_equal_functions_are_not_traced_again(
    problem: Callable[[float], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = result(problem(0.34)), result(problem(0.38))
    assert np.abs(first - second).max() > 1e-4
    np.testing.assert_allclose(second, result(problem(0.38), "numpy"), rtol=1e-10, atol=1e-12)

    def no_program_is_traced(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(program_from_graph, "trace", no_program_is_traced)
    np.testing.assert_array_equal(result(problem(0.34)), first)
    with pytest.raises(AssertionError):
        result(problem(0.36))
