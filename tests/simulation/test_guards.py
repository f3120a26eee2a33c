"""Guards fire when their value becomes positive, located within the step, for each member, in compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler import kernel
from shaft_mechanisms import flywheels


def turned(t, q, v):
    return q[0] - 1.0


@pytest.mark.parametrize("method", ["rk4", "midpoint", "dop853", "variational"])
def test_guard_engages_a_clutch_at_an_angle(method):
    run = lw.simulate(
        flywheels(), [0, 0], [5.0, 0.0], duration=0.56, dt=0.07, method=method, schedule=[(turned, "engage", "clutch")]
    )
    (event,) = run.events
    close = 0.02 if method == "variational" else 1e-8  # whose long steps turn wheels too far
    assert event.what == "engage clutch (energy -15 J)"
    assert event.time == pytest.approx(0.2, rel=close)
    assert event.impulse == pytest.approx(6.0, rel=1e-12)
    np.testing.assert_allclose(run.v[-1], 2.0, rtol=1e-12)
    np.testing.assert_allclose(run.q[-1], [1.0 + 2.0 * 0.36, 2.0 * 0.36], rtol=close)
    assert run.report().passed


def test_integration_methods_keep_their_order_when_guards_fire():
    b = lw.Builder("arm")
    b.body("upper", 1.0, com=(0.2, 0, 0), inertia=(0.01, 0.02, 0.02)).body("lower", 1.0, com=(0.2, 0, 0))
    b.joint("shoulder", lw.Revolute((0, 1, 0)), "world", "upper")
    b.joint("elbow", lw.Revolute((0, 1, 0)), "upper", "lower", at=(0.4, 0, 0))
    m = b.build()
    schedule = [(lambda t, q, v: q[0] - 0.8, "lock", "elbow")]

    def end(dt):
        run = lw.simulate(m, [0.0, 0.5], duration=0.48, dt=dt, method="rk4", schedule=schedule)
        assert [event.what.split(" (")[0] for event in run.events] == ["lock elbow"]
        return np.concatenate([run.q[-1], run.v[-1], [run.events[0].time]])

    exact = end(0.48 / 800)
    errors = [abs(end(0.48 / n) - exact).max() for n in (30, 60)]
    assert 3.5 < np.log2(errors[0] / errors[1]) < 5.0


def test_plain_guard_fires_each_time_and_one_shot_guard_fires_once():
    def beat(t, q, v):
        return np.sin(10.0 * t)

    m = flywheels()
    for guard, count in ((beat, 3), (lw.one_shot(beat), 1)):
        run = lw.simulate(
            m, [0, 0], [1.0, 0.0], duration=2.01, dt=0.03, method="rk4", schedule=[(guard, "reverse", "clutch")]
        )
        times = 2 * np.pi / 10 * np.arange(1, count + 1)
        np.testing.assert_allclose([event.time for event in run.events], times, rtol=1e-8)
        assert run["clutch.ratio"][-1] == (-1.0) ** count


def test_old_name_once_of_one_shot_still_works_and_warns() -> None:
    with pytest.warns(DeprecationWarning, match=r"lw\.once was renamed; use lw\.one_shot"):
        once = lw.once
    assert once is lw.one_shot
    assert "once" not in lw.__all__


def test_guards_of_batch_members_fire_separately_and_saved_runs_continue(tmp_path):
    m, speeds = flywheels(), np.random.default_rng(0).uniform(1.0, 9.0, (11, 2))
    schedule = [
        (lambda t, q, v, far: q[0] - far, "engage", "clutch"),
        (lambda t, q, v: q[1] - 2.0, "release", "clutch"),
    ]
    far = np.linspace(0.5, 1.5, 11)
    arguments: dict[str, Any] = {"dt": 0.01, "method": "rk4", "schedule": schedule}
    run = lw.simulate(m, [0, 0], speeds, duration=0.6, gains={"far": far}, **arguments)
    assert {event.what.split()[0] for event in run.events} == {"engage", "release"}
    for k in (0, 10):
        alone = lw.simulate(m, [0, 0], speeds[k], duration=0.6, gains={"far": far[k]}, **arguments)
        assert (alone.q == run.q[k]).all()
        assert (alone.v == run.v[k]).all()
    half = lw.simulate(m, [0, 0], speeds, duration=0.3, gains={"far": far}, **arguments)
    half.save(tmp_path / "half.npz")
    rest = lw.simulate(m, lw.open_run(tmp_path / "half.npz"), duration=0.3, gains={"far": far}, **arguments)
    assert (rest.v[:, -1] == run.v[:, -1]).all()
    assert sorted(half.events + rest.events) == sorted(run.events)


def test_numpy_target_gives_the_same_guard_events():
    schedule = [(turned, "engage", "clutch"), (0.3, "release", "clutch")]
    runs = [
        lw.simulate(
            flywheels(), [0, 0], [5.0, 0.0], duration=0.39, dt=0.03, method="rk4", schedule=schedule, target=target
        )
        for target in ("cpu", "numpy")
    ]
    np.testing.assert_allclose(runs[0].v, runs[1].v, rtol=1e-12)
    assert [event.what for event in runs[0].events] == [event.what for event in runs[1].events]


def test_switching_of_modes_compiles_no_kernels(monkeypatch):
    built = []
    build = kernel.Kernel._build
    monkeypatch.setattr(kernel.Kernel, "_build", lambda self, width: built.append(width) or build(self, width))

    def often(t, q, v, rate):
        return np.sin(rate * t + 1e-3 * v[0])

    def go(rate):
        return lw.simulate(
            flywheels(), [0, 0], [1.0, 0.0], duration=2.0, dt=0.01, method="rk4", gains={"rate": rate},
            schedule=[(often, "reverse", "clutch")],
        )  # fmt: skip

    assert not go(0.0).events
    first = len(built)
    assert len(go(100.0).events) > 30
    assert len(built) == first


def test_events_between_samples_are_recorded():
    """Hundreds of switches in a run with samples far apart, and many within one step."""
    schedule = [(lambda t, q, v: np.sin(500.0 * t), "reverse", "clutch")]
    m = flywheels()
    run = lw.simulate(m, [0, 0], [1.0, 0.0], duration=4.0, dt=1e-3, every=4000, method="rk4", schedule=schedule)
    times = np.array([event.time for event in run.events])
    np.testing.assert_allclose(times, 2 * np.pi / 500 * np.arange(1, len(times) + 1), rtol=1e-9)
    assert len(times) == int(4.0 * 500 / (2 * np.pi))


def test_two_guards_can_fire_at_one_instant():
    """One wheel is locked and the other coupled to it at once: both stop, and their energies add up."""
    schedule = [(turned, "engage", "clutch"), (turned, "lock", "a")]
    run = lw.simulate(flywheels(), [0, 0], [5.0, 1.0], duration=0.3, dt=0.03, method="rk4", schedule=schedule)
    assert len(run.events) == 2
    assert run.events[0].time == run.events[1].time
    assert abs(run.v[-1]).max() < 1e-14
    assert sum(event.energy for event in run.events) == pytest.approx(-(0.5 * 2 * 25 + 0.5 * 3), rel=1e-12)
    assert [event.impulse for event in run.events] == pytest.approx([-3.0, -13.0], rel=1e-12)


def test_guard_engages_a_slipping_clutch():
    run = lw.simulate(
        flywheels(capacity=6.0), [0, 0], [5.0, 0.0], duration=1.5, dt=0.03, method="rk4",
        schedule=[(turned, "engage", "clutch")],
    )  # fmt: skip
    assert [event.what for event in run.events] == ["engage clutch", "clutch holds"]
    assert [event.time for event in run.events] == pytest.approx([0.2, 1.2], rel=1e-8)
    assert run["work"][-1] == pytest.approx(-15.0, rel=1e-9)


def test_guard_opens_a_loop():
    m = lw.example("four_bar")
    loop = m.loops[0].name
    run = lw.simulate(m, duration=0.4, dt=1e-3, method="rk4", schedule=[(lambda t, q, v: t - 0.1234567, "open", loop)])
    assert run.events[0].time == pytest.approx(0.1234567, rel=1e-8)
    assert run[f"{loop}.closed"][[0, -1]].tolist() == [1, 0]
    assert run.report().passed


@pytest.mark.parametrize(
    ("entry", "error", "message"),
    [
        ((lambda t, q, v: q, "engage", "clutch"), lw.ShapeError, "guard of the schedule must return one number"),
        (
            (lambda t, q, v: q[0] > 1.0, "engage", "clutch"),
            lw.ShapeError,
            "a guard of the schedule must return one number",
        ),
        ((lambda t: t, "engage", "clutch"), lw.LinkworkError, r"a guard of the schedule must take \(t, q, v\)"),
        ((turned, "engage", "cluch"), lw.LinkworkError, "Did you mean 'clutch'"),
        ((turned, "engages", "clutch"), lw.LinkworkError, "Did you mean 'engage'"),
        ((turned, "shift", "clutch"), lw.LinkworkError, r"must be \(time, 'shift', name, gear\)"),
        (("turned", "engage", "clutch"), lw.LinkworkError, "entry 0 of the schedule: time"),
    ],
)
def test_invalid_guards_are_rejected(entry, error, message):
    with pytest.raises(error, match=message):
        lw.simulate(flywheels(), [0, 0], duration=0.1, dt=0.01, method="rk4", schedule=[entry])


def test_compositions_with_backward_substeps_reject_guards():
    with pytest.raises(lw.LinkworkError, match="order=4 uses substeps backward in time"):
        lw.simulate(
            flywheels(), [0, 0], dt=0.01, method="variational", order=4, schedule=[(turned, "engage", "clutch")]
        )


def test_guard_that_returns_nan_at_the_start_is_rejected():
    with pytest.raises(lw.LinkworkError, match="a guard of the schedule, at the start"):
        lw.simulate(flywheels(), duration=0.1, schedule=[(lambda t, q, v: np.nan, "engage", "clutch")])
