"""Switches at one instant cause one impact: the energies of their events add up to the kinetic energy that is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from quick_test_selection import mark_slow_pairs
from shaft_mechanisms import flywheels, shafts

RATIO = 2.0
SPEEDS = [5.0, 1.0]


def kinetic_energy(ratio: float) -> float:
    """Kinetic energy [J] lost when wheels of 2 and 3 kg m^2 with the speeds SPEEDS are coupled at a ratio."""
    slip = SPEEDS[1] - ratio * SPEEDS[0]
    return 0.5 * slip**2 / (1.0 / 3.0 + ratio**2 / 2.0)


def late(t: Any, q: Any, v: Any) -> Any:
    return t - 0.1


def engaging(t: Any, q: Any, v: Any) -> dict[str, Any]:
    late_enough = t > 0.095
    return {"clutch.engaged": late_enough, "clutch.ratio": np.where(late_enough, RATIO, 1.0)}


CASES: dict[str, dict[str, Any]] = {
    "schedule": {"schedule": [(0.1, "engage", "clutch"), (0.1, "shift", "clutch", RATIO)]},
    "reversed schedule": {"schedule": [(0.1, "shift", "clutch", RATIO), (0.1, "engage", "clutch")]},
    "guards": {"schedule": [(late, "engage", "clutch"), (late, "shift", "clutch", RATIO)]},
    "controller": {"controller": lw.sampled(engaging, rate=100)},
    "controller in Python": {"controller": lw.host(engaging, rate=100)},
}


@pytest.mark.parametrize(("case", "method"), mark_slow_pairs(CASES, ["rk4", "variational", "dop853"]))
def test_engage_and_shift_at_one_instant_report_their_energy_once(case: str, method: str) -> None:
    run = lw.simulate(flywheels(), [0, 0], SPEEDS, duration=0.2, dt=0.01, method=method, **CASES[case])
    assert len(run.events) == 2
    lost = kinetic_energy(RATIO)
    assert sum(event.energy for event in run.events) == pytest.approx(-lost, rel=1e-12)
    assert run.energy[-1] - run.energy[0] == pytest.approx(-lost, rel=1e-12)
    assert [event.what.count("energy") for event in run.events] == [1, 0]
    assert [bool(event.impulse) for event in run.events] == [True, False]


def test_energies_are_attributed_separately_in_each_batch_member() -> None:
    """In one member the clutch is engaged and shifted at once, in the other one after the other."""
    schedule = [([0.1, 0.05], "engage", "clutch"), (0.1, "shift", "clutch", RATIO)]
    speeds = np.array([SPEEDS, SPEEDS])
    run = lw.simulate(flywheels(), [0, 0], speeds, duration=0.2, dt=0.01, method="rk4", schedule=schedule)
    for k in (0, 1):
        energies = [event.energy for event in run.events if event.member == (k,)]
        assert sum(energies) == pytest.approx(run.energy[k, -1] - run.energy[k, 0], rel=1e-12)
        assert np.count_nonzero(energies) == 1 + k


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_energy_of_a_ratchet_that_catches_belongs_to_the_switch(method: str) -> None:
    """Braking wheel b makes wheel a run into it through the ratchet, which no event names."""
    m = shafts(3).ratchet("ratchet", "a", "b").clutch("clutch", "b", "c").build()
    run = lw.simulate(
        m, np.zeros(3), [2.0, 3.0, -5.0], duration=0.2, dt=0.01, method=method, schedule=[(0.1, "engage", "clutch")]
    )
    np.testing.assert_allclose(run.v[-1], 0.0, atol=1e-14)  # momentum 2 + 3 - 5 = 0: a catches b and c
    assert run.energy[-1] == pytest.approx(0.0, abs=1e-14)
    assert sum(event.energy for event in run.events) == pytest.approx(-run.energy[0], rel=1e-12)


def test_two_loops_that_close_at_once_share_the_energy_of_their_projection() -> None:
    b = lw.Builder("bars", gravity=(0, 0, -9.81))
    for k in (0, 1):
        b.body(f"bar {k}", 1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
        b.joint(f"pin {k}", lw.Revolute((0, 1, 0)), "world", f"bar {k}", at=(0, k, 0))
        b.close(f"hook {k}", lw.Revolute((0, 1, 0)), "world", f"bar {k}", at=(1, k, 0), to=(1, 0, 0), closed=False)
    schedule = [(0.0, "close", "hook 0"), (0.0, "close", "hook 1")]
    run = lw.simulate(b.build(), [2e-3, -1e-3], [1.0, 2.0], duration=0.01, dt=0.01, method="rk4", schedule=schedule)
    assert len(run.events) == 2
    assert sum(event.energy for event in run.events) == pytest.approx(run["work"][0], rel=1e-12)
