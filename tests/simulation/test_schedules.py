"""Each schedule entry acts once, in the order of the times, on the named element; invalid entries are rejected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from shaft_mechanisms import flywheels, shafts, two_wheels

RUN: dict[str, Any] = {"duration": 1.0, "dt": 0.01, "method": "rk4"}
NOT_LOCKED = "joint 'a' cannot be locked by name, because a"


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_engage_and_release_within_one_step_apply_the_velocity_jump(method):
    schedule = [(0.5, "engage", "clutch"), (0.502, "release", "clutch")]
    run = lw.simulate(flywheels(), [0, 0], [5.0, 0.0], schedule=schedule, **RUN | {"method": method})
    np.testing.assert_allclose(run.v[-1], 2.0, rtol=1e-12)
    assert [event.energy for event in run.events] == pytest.approx([-15.0, 0.0], rel=1e-12)


def test_schedule_entries_within_a_step_act_in_order_for_each_batch_member():
    """The second and third entries are simultaneous for the first member only."""
    m = two_wheels().clutch("low", "a", "b", 2.0).clutch("high", "a", "b", -1.0).build()
    schedule = [(0.5, "engage", "low"), ([0.502, 0.502], "release", "low"), ([0.502, 0.503], "engage", "high")]
    both = lw.simulate(m, [0, 0], [[5.0, 0.0], [5.0, 0.0]], schedule=schedule, **RUN)
    first = 2 * 5.0 / (2 + 3 * 4)
    w = (2 * first - 3 * 2 * first) / 5
    np.testing.assert_allclose(both.v[:, -1], [[w, -w]] * 2, rtol=1e-12)


@pytest.mark.parametrize("method", ["rk4", "dop853"])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_continued_run_does_not_repeat_switches(method, batch):
    """The switch at the end of the first run is not repeated at the start of the second."""
    m = flywheels(ratio=2.0, engaged=True)

    def part(q0: Any, v0: Any = None, duration: float = 0.3, verb: str = "reverse") -> lw.Run:
        return lw.simulate(m, q0, v0, duration, 0.01, method, schedule=[(0.3, verb, "clutch")])

    speeds = np.broadcast_to([1.0, 2.0], (*batch, 2))
    whole, first = part([0, 0], speeds, 0.6), part([0, 0], speeds)
    second = part(first)
    assert len(first.events) == len(whole.events) == max(1, sum(batch))
    assert not second.events
    assert (second.v[..., -1, :] == whole.v[..., -1, :]).all()
    assert len(part(first, verb="release").events) == max(1, sum(batch))  # something else can be, then


def test_continued_run_with_another_parameter_keeps_its_modes():
    first = lw.simulate(flywheels(), [0, 0], [5.0, 0.0], schedule=[(0.2, "engage", "clutch")], **RUN)
    second = lw.simulate(
        flywheels(), first, parameters={"first.inertia": (1, 1, 7, 0, 0, 0)}, wrenches=push(4.0), **RUN
    )
    np.testing.assert_allclose(second.v[-1], 2.0 + 4.0 / (7 + 3), rtol=1e-12)


def push(torque: float) -> np.ndarray:
    """Wrenches on the two wheels that turn the first."""
    wrenches = np.zeros((2, 6))
    wrenches[0, 5] = torque
    return wrenches


def test_schedule_can_be_any_iterable():
    entries = [(0.2, "engage", "clutch")]
    given: list[Any] = [entries, iter(entries)]
    runs = [lw.simulate(flywheels(), [0, 0], [5.0, 0.0], schedule=schedule, **RUN) for schedule in given]
    assert len(runs[1].events) == 1
    assert (runs[0].v == runs[1].v).all()


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        (5, "schedule must be a list of entries (time, verb, name); got 5"),
        ({0.1: ("engage", "clutch")}, "schedule must be a list of entries"),
        (
            (0.1, "engage", "clutch"),
            "entry 0 of the schedule must be (time [s] or guard function, verb, name of an element)",
        ),
        ([(0.1, ["engage"], "clutch")], "entry 0 of the schedule: there is no verb"),
        (
            [(0.1, "couple", "clutch")],
            "entry 0 of the schedule: there is no verb 'couple'. Did you mean 'open'? An entry is (time, verb, name). "
            "Valid: open, close, engage",
        ),
        (
            [("engage", 0.5, "clutch")],
            "entry 0 of the schedule: time must be a number [s], one number per member, or a guard; got 'engage'. An "
            "entry is (time, verb, name).",
        ),
        ([([0.1, 0.2], "engage", "clutch")], "entry 0 of the schedule: times have shape (2,); expected a single time"),
        (
            [(0.1, "engage", "clutch"), (0.05, "lock", "a")],
            "entry 1 of the schedule (lock a) is earlier than the",
        ),
        ([(0.1, "close", "clutch")], "there is no loop 'clutch'. 'clutch' is a clutch: use 'engage'. Valid: none."),
        ([(0.1, "lock", "clutch")], "'clutch' is a clutch: use 'engage'."),
    ],
)
def test_invalid_schedules_are_rejected(schedule, message):
    with pytest.raises(lw.LinkworkError) as caught:
        lw.simulate(flywheels(), [0, 0], schedule=schedule, **RUN)
    assert message in str(caught.value)


def test_schedule_times_are_scalar_or_one_per_member():
    with pytest.raises(lw.ShapeError, match=r"shape \(2,\); expected a single time or one per member, shape \(3,\)"):
        lw.simulate(flywheels(), np.zeros((3, 2)), schedule=[([0.1, 0.2], "engage", "clutch")], **RUN)
    with pytest.raises(lw.LinkworkError, match=r"a guard must be a function guard\(t, q, v\); got 0.5"):
        lw.one_shot(0.5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("builder", "message"),
    [
        (
            lambda: shafts(3).clutch("a", "a", "b"),
            f"{NOT_LOCKED} clutch",
        ),
        (
            lambda: shafts(3).latch("a", "b", 1.0),
            f"{NOT_LOCKED} latch",
        ),
        (lambda: shafts(3).brake("a", "b"), "lock 'a' is ambiguous: joint 'a', or the brake 'a' of joint 'b'"),
    ],
    ids=["clutch", "latch", "brake"],
)
def test_joint_with_an_ambiguous_name_cannot_be_locked(builder, message):
    m = builder().build()
    with pytest.raises(lw.LinkworkError) as caught:
        lw.simulate(m, np.zeros(3), schedule=[(0.1, "lock", "a")], **RUN)
    assert message in str(caught.value)
    with pytest.raises(lw.LinkworkError) as caught:
        lw.Simulator(m, np.zeros(3)).lock("a")
    assert message in str(caught.value)
    lw.Simulator(m, np.zeros(3)).lock("c")


def test_setting_the_state_of_a_simulator_does_not_change_its_modes():
    soft = lw.Simulator(flywheels(capacity=6.0), [0, 0], [1.0, 1.0], dt=0.01)
    soft.engage("clutch")
    soft.state = (0.0, [0, 0], [5.0, 0.0])
    soft.step()
    np.testing.assert_allclose(soft.state.v, [5.0 - 6 / 2 * 0.01, 6 / 3 * 0.01])  # it slips from there
    firm = lw.Simulator(flywheels(), [0, 0], [1.0, 1.0], dt=0.01)
    firm.engage("clutch")
    with pytest.raises(lw.LinkworkError, match="clutch 'clutch' is engaged, but slips at 5 rad/s or m/s at the start"):
        firm.state = (0.0, [0, 0], [5.0, 0.0])
    np.testing.assert_allclose(firm.state.v, 1.0)


# --- numbers that cannot be ---


@pytest.mark.parametrize("kind", [lw.sampled, lw.host])
@pytest.mark.parametrize(
    ("wanted", "outcome", "message"),
    [
        (lambda t: {"clutch.ratio": np.where(t > 0.305, 0.0, 1.0)}, "not converged", "returned 0 for 'clutch.ratio'"),
        (lambda t: {"clutch.ratio": np.where(t > 0.305, np.nan, 1.0)}, "non-finite", "returned nan for 'clutch.ratio'"),
        (lambda t: {"clutch.engaged": np.where(t > 0.305, np.nan, 1.0)}, "non-finite", "nan for 'clutch.engaged'"),
    ],
    ids=["zero", "nan", "nan of a condition"],
)
def test_controller_with_invalid_modes_ends_the_member(kind, wanted, outcome, message):
    controller = kind(lambda t, q, v: {"tau": [0.0, 0.0], **wanted(t)}, rate=100)
    run = lw.simulate(flywheels(engaged=True), [0, 0], [2.0, 2.0], controller=controller, **RUN)
    assert run.outcome.kind == outcome
    assert f"{message} at 0.31 s" in run.outcome.diagnosis
    assert run.t[-1] == pytest.approx(0.31)
    np.testing.assert_allclose(run.v[-1], 2.0, rtol=1e-12)  # its last good state


def test_zero_ratio_parameter_is_rejected():
    with pytest.raises(lw.ModelError, match=r"parameter 'clutch.ratio': must not be 0"):
        lw.simulate(flywheels(), np.zeros((2, 2)), parameters={"clutch.ratio": [1.0, 0.0]}, **RUN)


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_guard_that_becomes_nan_ends_the_member(method):
    schedule = [(lambda t, q, v: np.where(t < 0.5, -1.0, np.nan), "engage", "clutch")]
    run = lw.simulate(flywheels(), [0, 0], [5.0, 0.0], schedule=schedule, **RUN | {"method": method})
    assert run.outcome.kind == "not converged"
    assert "the guard of 'engage clutch' is nan at 0.5" in run.outcome.diagnosis
    assert run.outcome.time == pytest.approx(0.5, abs=0.011)


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_guard_cannot_close_a_wide_open_loop(method):
    b = lw.Builder("arm").body("arm", 1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    b.joint("hinge", lw.Revolute((0, 1, 0)), "world", "arm")
    m = b.close("pin", lw.Ball(), "arm", "world", at=(1, 0, 0), to=(0, 0, -1), closed=False).build()
    schedule = [(lambda t, q, v: t - 0.105, "close", "pin")]
    run = lw.simulate(m, [0.1], schedule=schedule, **RUN | {"method": method})
    assert run.outcome.kind == "not converged"
    assert "loop 'pin' has a closure error of 0.98" in run.outcome.diagnosis
    assert run.outcome.time == pytest.approx(0.105, abs=0.006)
    assert not run.events


@pytest.mark.parametrize("clutch", [{}, {"capacity": 6.0}], ids=["rigid", "slipping"])
def test_derived_series_use_switched_parameters_that_are_not_recorded(clutch):
    """A clutch is released while a motor pulls: it does not slip, and transmits no force from then on."""
    problem = {"controller": lambda t, q, v: np.array([1.0, 0.0]), "schedule": [(0.5, "release", "clutch")], **RUN}
    whole, part = (
        lw.simulate(flywheels(engaged=True, **clutch), [0, 0], [2.0, 2.0], record=record, **problem)
        for record in (None, ("q", "v", "tau"))
    )
    np.testing.assert_array_equal(part["carried"], whole["carried"])
    assert np.abs(part["carried"][:50]).min() > 0.1
    assert not part["carried"][50:].any()
    assert part.report()["slip"].verdict == "ok"


def test_a_simulator_only_locks_and_unlocks_joints() -> None:
    sim = lw.Simulator(lw.example("clutched_flywheels"), v0=[1.0, 0.0])
    for _ in range(2):  # before and after the joint is locked
        for verb in ("engage", "release", "reverse"):
            with pytest.raises(lw.LinkworkError, match=r"'first shaft' is a joint: use 'lock' or 'unlock'. Valid: clu"):
                getattr(sim, verb)("first shaft")
        sim.lock("first shaft")
    sim.unlock("first shaft")


def test_entries_outside_the_run_are_refused() -> None:
    m, options = lw.example("clutched_flywheels"), {"dt": 0.01, "method": "rk4"}
    with pytest.raises(
        lw.LinkworkError, match=r"entry 1 .*engage clutch\) at 0.3 s is after the end .* from 0 s to 0.2 s$"
    ):
        lw.simulate(m, duration=0.2, schedule=[(0.1, "release", "clutch"), (0.3, "engage", "clutch")], **options)
    first = lw.simulate(m, duration=0.2, schedule=[(0.1, "engage", "clutch"), (0.2, "release", "clutch")], **options)
    with pytest.raises(
        lw.LinkworkError, match=r"entry 0 .* at 0.05 s is before the start .* from 0.2 s to 0.4 s; times"
    ):
        lw.simulate(m, first, duration=0.2, schedule=[(0.05, "engage", "clutch")])
    again = [(0.1, "engage", "clutch"), (0.2, "release", "clutch"), (0.4, "engage", "clutch")]
    assert [event.time for event in lw.simulate(m, first, duration=0.2, schedule=again).events] == pytest.approx([0.4])


def test_the_heat_of_a_clutch_that_engages_during_the_run_follows_from_its_samples() -> None:
    b = lw.Builder("flywheels", gravity=(0, 0, 0))
    b.body("first", 1.0, inertia=(1, 1, 2)).body("second", 1.0, inertia=(2, 2, 3))
    b.joint("a", lw.Revolute(), "world", "first").joint("b", lw.Revolute(), "world", "second", at=(1, 0, 0))
    m = b.clutch("clutch", "a", "b", capacity=6.0).build()
    run = lw.simulate(m, [0, 0], [5.0, 0.0], duration=2.0, dt=0.01, method="rk4", schedule=[(0.5, "engage", "clutch")])
    slip = run.v[:, 1] - run.v[:, 0]
    heat = np.sum(np.abs(run["carried"][:-1, 0] * 0.5 * (slip[:-1] + slip[1:])) * np.diff(run.t))
    assert heat == pytest.approx(15.0, rel=1e-9)
    more = lw.simulate(m, run, duration=0.1)
    assert more.settings.why == "as in the continued run"
    assert "force" not in str(run.events[-1]._replace(carried=1e-50))
    for name, reason in (
        ("contact.force", "contacts with this series"),
        ("friction", "has dry friction: give `fric"),
    ):
        with pytest.raises(lw.LinkworkError, match=reason):
            run[name]
    with pytest.raises(lw.LinkworkError, match=r"^entry 0 of the schedule: there is no .* 'clutsh'. Did you m"):
        lw.simulate(m, duration=0.1, schedule=[(0.0, "engage", "clutsh")])
    with pytest.raises(lw.LinkworkError, match=r"Builder.touch or Builder.collide"):
        lw.simulate(m, duration=0.1, contact="rigid")


def test_errors_and_heat_of_friction_laws() -> None:
    b = lw.Builder().body("wheel", 1.0, inertia=(1, 1, 1))
    m = b.joint("hub", lw.Revolute(), "world", "wheel", friction=lw.Bearing(0.1, 0.02)).build()
    with pytest.raises(lw.LinkworkError, match=r"built without mu_static: give mu_static in its friction law"):
        m.with_parameters({"hub.mu_static": 0.2})
    heat = lw.simulate(m, duration=0.01, dt=0.01)["friction.heat"]
    assert not np.signbit(heat[0]).any()
