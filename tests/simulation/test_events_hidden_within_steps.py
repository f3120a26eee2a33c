"""Guards and latches that fire and return between the ends of one step, against closed forms and dense sampling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from shaft_mechanisms import flywheels, shafts

METHODS = ["rk4", "semi-implicit", "midpoint", "variational", "energy-momentum", "dop853"]


def turned(guard: Any, method: str, dt: float = 0.01, **more: Any) -> list[float]:
    """Return the times [s] at which a guard of a clutch between two resting wheels fires, in 0.3 s."""
    schedule = [(guard, "reverse", "clutch")]
    run = lw.simulate(flywheels(), [0, 0], duration=0.3, dt=dt, method=method, schedule=schedule, **more)
    return [event.time for event in run.events]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("half", [4e-3, 1e-3])
def test_guard_that_is_positive_only_between_the_ends_of_a_step_fires(method: str, half: float) -> None:
    times = turned(lambda t, q, v: half**2 - (t - 0.105) ** 2, method)
    assert times == pytest.approx([0.105 - half], abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_guard_that_is_armed_and_fires_within_one_step_is_found(method: str) -> None:
    """The guard is positive from the start, except between two times within one step: it fires at the second."""
    times = turned(lambda t, q, v: (t - 0.105) ** 2 - 3e-3**2, method)
    assert times == pytest.approx([0.108], abs=1e-9)


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_guard_fires_twice_within_one_step(method: str) -> None:
    """A cubic with three zeros within one step fires at the first and the third."""
    times = turned(lambda t, q, v: (t - 0.102) * (t - 0.105) * (t - 0.108) * 1e6, method)
    assert times == pytest.approx([0.102, 0.108], abs=1e-9)


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_two_guards_in_one_step_fire_in_their_order(method: str) -> None:
    """One of them fires and returns, the other remains positive."""
    schedule = [
        (lambda t, q, v: t - 0.107, "lock", "a"),
        (lambda t, q, v: 1e-3**2 - (t - 0.103) ** 2, "lock", "b"),
    ]
    run = lw.simulate(flywheels(), [0, 0], [1.0, 2.0], duration=0.3, dt=0.01, method=method, schedule=schedule)
    assert [event.what.split(" (")[0] for event in run.events] == ["lock b", "lock a"]
    assert [event.time for event in run.events] == pytest.approx([0.102, 0.107], abs=1e-9)


@pytest.mark.parametrize(("method", "dt"), [("rk4", 0.02), ("dop853", 0.02)])
def test_random_guards_fire_at_all_crossings_found_by_dense_sampling(method: str, dt: float) -> None:
    count, duration = 60, 1.0
    rng = np.random.default_rng(1)
    slow, fast = rng.uniform(5, 40, count), rng.uniform(20, 90, count)
    first, second = rng.uniform(0, 2 * np.pi, (2, count))
    shift = rng.uniform(-1.2, 1.2, count)

    def guard(t: Any, q: Any, v: Any, slow: Any, fast: Any, first: Any, second: Any, shift: Any) -> Any:
        return np.sin(slow * t + first) + 0.7 * np.sin(fast * t + second) + shift

    gains = {"slow": slow, "fast": fast, "first": first, "second": second, "shift": shift}
    run = lw.simulate(
        flywheels(), np.zeros((count, 2)), duration=duration, dt=dt, method=method, gains=gains,
        schedule=[(guard, "reverse", "clutch")],
    )  # fmt: skip
    t = np.linspace(0, duration, 100_001)
    hidden = 0
    for k in range(count):
        values = guard(t, 0, 0, slow[k], fast[k], first[k], second[k], shift[k])
        wanted = t[1:][(values[:-1] <= 0.0) & (values[1:] > 0.0)]
        found = [event.time for event in run.events if event.member == (k,)]
        assert len(found) == len(wanted), k
        np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-5)
        coarse = values[:: round(dt / t[1])]
        hidden += len(wanted) - int(((coarse[:-1] <= 0.0) & (coarse[1:] > 0.0)).sum())
    assert hidden > 10  # crossings that the ends of the steps do not show


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_guard_that_a_velocity_jump_makes_positive_for_less_than_a_step_fires(method: str) -> None:
    """Locking wheel c makes the guard of wheel d positive at once; a torque makes it negative again 2 ms later."""
    m = shafts(4).brake("stop", "c").brake("other", "d").build()
    schedule = [
        (lambda t, q, v: t - 0.103, "lock", "c"),
        (lambda t, q, v: 0.1 - v[2] - 50.0 * (t - 0.103), "lock", "d"),
    ]
    run = lw.simulate(
        m, np.zeros(4), [0, 0, 9.0, 1.0], duration=0.2, dt=0.01, method=method, schedule=schedule
    )  # fmt: skip
    assert [event.what.split(" (")[0] for event in run.events] == ["lock c", "lock d"]
    assert [event.time for event in run.events] == pytest.approx([0.103, 0.103], abs=1e-8)


def thrown(side: str = "below") -> lw.Mechanism:
    """A mass on a vertical slide with a latch at a height of 1 m."""
    b = lw.Builder("lift", gravity=(0, 0, -10.0)).body("mass", 2.0)
    return b.joint("up", lw.Prismatic((0, 0, 1)), "world", "mass").latch("latch", "up", at=1.0, side=side).build()


@pytest.mark.parametrize("method", ["rk4", "midpoint", "dop853"])
def test_latch_catches_a_mass_that_would_return_within_the_step(method: str) -> None:
    """The apex 1.0005 m is reached in mid-step; the mass is above 1 m for 20 ms of a step of 50 ms."""
    apex, top = 0.425, 1.0005
    speed, height = 10.0 * apex, top - 5.0 * apex**2
    run = lw.simulate(thrown(), [height], [speed], duration=0.6, dt=0.05, method=method)
    (event,) = run.events
    assert event.what.startswith("latch engages")
    assert event.time == pytest.approx(apex - 0.01, abs=1e-8)
    assert run.q[-1] == pytest.approx([1.0], abs=1e-9)


def test_latch_of_an_interactive_simulator_catches_a_mass_that_would_return_within_the_step() -> None:
    sim = lw.Simulator(thrown(), [1.0005 - 5.0 * 0.425**2], [4.25], dt=0.05)
    for _ in range(12):
        sim.step()
    assert sim.state.q == pytest.approx([1.0], abs=1e-9)
    assert sim.state.v == pytest.approx([0.0], abs=1e-12)
