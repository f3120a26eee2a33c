"""Couplings that contradict each other during a run end that member by name; simultaneous switches act together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.model.elements.contradicting_couplings import contradictions, couplings_agree
from shaft_mechanisms import shafts, two_wheels

RUN: dict[str, Any] = {"duration": 1.0, "dt": 0.01}
BOTH = pytest.mark.parametrize("method", ["rk4", "dop853"])
CONFLICT = "clutch 'high' drives 'b' from 'a' at the ratio -1, but clutch 'low' drives it at 2"


def gears(engaged: bool = False) -> lw.Mechanism:
    return two_wheels().clutch("low", "a", "b", 2.0, engaged=engaged).clutch("high", "a", "b", -1.0).build()


def after(t0: float):
    return lambda t, q, v: t - t0


@BOTH
def test_guards_that_engage_contradictory_gears_end_the_member(method):
    schedule = [(after(0.203), "engage", "low"), (after(0.7), "engage", "high")]
    run = lw.simulate(gears(), [0, 0], [1.0, 2.0], method=method, schedule=schedule, **RUN)
    assert run.outcome.kind == "not converged"
    assert run.outcome.diagnosis == CONFLICT
    assert run.outcome.time == pytest.approx(0.7, abs=0.011)
    assert [event.what for event in run.events] == ["engage low"]  # the other did not happen
    np.testing.assert_allclose(run.v[-1], [1.0, 2.0], rtol=1e-12)


@pytest.mark.parametrize("kind", [lw.sampled, lw.host])
@BOTH
def test_controllers_that_engage_contradictory_gears_end_the_member(method, kind):
    def controller(t, q, v):
        return {"tau": [0.0, 0.0], "low.engaged": t > 0.205, "high.engaged": t > 0.605}

    run = lw.simulate(gears(), [0, 0], [1.0, 2.0], method=method, controller=kind(controller, rate=100), **RUN)
    assert (run.outcome.kind, run.outcome.diagnosis) == ("not converged", CONFLICT)
    assert run.outcome.time == pytest.approx(0.61)
    assert [event.what for event in run.events] == ["engage low"]
    np.testing.assert_allclose(run.v[-1], [1.0, 2.0], rtol=1e-12)


def test_contradictions_end_the_members_of_a_batch_independently():
    schedule = [(lambda t, q, v: q[0] - 1.0, "engage", "high"), (0.3, "engage", "low")]
    speeds = [[1.0, 2.0], [4.0, -4.0], [0.5, 1.0]]
    run = lw.simulate(gears(), [0, 0], speeds, method="rk4", schedule=schedule, **RUN)
    assert [one.kind for one in run.outcomes] == ["not converged", "not converged", "finished"]
    assert [one.time for one in run.outcomes] == pytest.approx([0.99, 0.3, 1.0], abs=0.011)
    assert "clutch 'low'" in run.outcomes[0].diagnosis
    assert "clutch 'high'" in run.outcomes[1].diagnosis
    alone = lw.simulate(gears(), [0, 0], speeds[2], method="rk4", schedule=schedule, **RUN)
    assert (alone.v == run.v[2]).all()


@BOTH
@pytest.mark.parametrize("when", [0.5, after(0.503)], ids=["schedule", "guards"])
@pytest.mark.parametrize("order", [1, -1])
def test_simultaneous_release_and_engage_work_in_any_order(method, when, order):
    schedule = [(when, "release", "low"), (when, "engage", "high")][::order]
    run = lw.simulate(gears(engaged=True), [0, 0], [1.0, 2.0], method=method, schedule=schedule, **RUN)
    w = (2 * 1.0 - 3 * 2.0) / (2 + 3)  # momentum along (1, -1)
    np.testing.assert_allclose(run.v[-1], [w, -w], rtol=1e-12)
    engaged = next(event for event in run.events if event.what.startswith("engage"))
    assert engaged.energy == pytest.approx(0.5 * 5 * w * w - 0.5 * (2 * 1 + 3 * 4), rel=1e-9)
    assert engaged.impulse == pytest.approx(3 * (-w - 2.0), rel=1e-9)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"parameters": {"low.engaged": 1.0, "high.engaged": 1.0}}, f"at the start: {CONFLICT}"),
        (
            {"parameters": {"low.engaged": [0.0, 1.0]}, "schedule": [(0.2, "engage", "high")]},
            f"engage high, entry 0 of the schedule: {CONFLICT}; engage only one of them at a time",
        ),
        (
            {"parameters": {"low.engaged": 1.0}, "schedule": [(0.2, "engage", "high"), (0.2, "lock", "a")]},
            f"engage high, entry 0 of the schedule: {CONFLICT}",  # not the lock
        ),
        (
            {"schedule": [(after(0.1), "engage", "high")], "parameters": {"low.engaged": 1.0}},
            "engage high, entry 0 of the schedule",  # which is never let go
        ),
    ],
    ids=["start", "batch", "beside another", "guard"],
)
def test_contradictory_couplings_known_before_a_run_are_rejected(given, message):
    with pytest.raises(lw.LinkworkError) as caught:
        lw.simulate(gears(), [0, 0], [0.0, 0.0], **RUN, **given)
    assert message in str(caught.value)


def test_continued_run_is_checked_from_its_final_modes():
    first = lw.simulate(gears(), [0, 0], [1.0, 2.0], method="rk4", schedule=[(0.5, "engage", "low")], **RUN)
    with pytest.raises(lw.LinkworkError, match="engage high, entry 0 of the schedule"):
        lw.simulate(gears(), first, schedule=[(1.5, "engage", "high")], **RUN)
    schedule = [(0.5, "engage", "low"), (1.2, "release", "low"), (1.5, "engage", "high")]
    assert lw.simulate(gears(), first, schedule=schedule, **RUN).outcome.kind == "finished"


def test_contradictory_mode_parameters_are_rejected():
    with pytest.raises(
        lw.ModelError, match=r"clutch 'high': drives 'b' from 'a' at the ratio -1, but clutch 'low' drives it at 2"
    ):
        gears().with_parameters({"low.engaged": 1.0, "high.engaged": 1.0})


def test_simulator_rejects_contradictions_and_stays_unchanged():
    simulator = lw.Simulator(gears(), [0, 0], [1.0, 2.0])
    simulator.engage("low")
    with pytest.raises(lw.LinkworkError, match=r"engage high, Simulator\.engage: clutch 'high' drives"):
        simulator.engage("high")
    simulator.step()
    np.testing.assert_allclose(simulator.state.v, [1.0, 2.0])


@pytest.mark.parametrize("seed", range(6))
def test_check_for_contradictions_within_steps_matches_singular_values(seed):
    """Random rings of couplings are consistent if and only if no joint is forced to rest, by singular values."""
    rng = np.random.default_rng(seed)
    closing = [[0.5, 2.0, 1.0, -1.0][k] for k in rng.integers(4, size=6)]
    b = shafts()
    for k, (one, other) in enumerate(("ab", "bc", "ca", "cd", "de", "ad")):
        b.clutch(f"c{k}", one, other, closing[k])
    m = b.differential("axle", "a", "d", "e", engaged=False).build()
    kinds = []
    for _ in range(20):
        modes = {f"c{k}.engaged": float(rng.random() < 0.5) for k in range(6)}
        modes["axle.engaged"] = float(rng.random() < 0.3)
        found = m.varied(modes)
        rows = np.array(
            [[{j: x for j, _, x in tie.velocities}.get(j, 0.0) for j in "abcde"] for tie in found.velocity_rows]
        )
        free = np.linalg.svd(rows)[2][np.linalg.matrix_rank(rows) :] if len(rows) else np.eye(5)
        kinds.append(bool(np.abs(free).max(axis=0, initial=0.0).min() > 1e-9))
        assert bool(couplings_agree(found)) == kinds[-1]
        assert bool(list(contradictions(found))) != kinds[-1]
    assert len(set(kinds)) == 2  # both happen


def test_couplings_with_large_ratios_are_accepted():
    b = shafts()
    for one, other in ("ab", "bc", "cd", "de"):
        b.clutch(one + other, one, other, 100.0, engaged=True)
    assert couplings_agree(b.build())
