"""`clip_effort=True` clips the forces of controllers to the effort limits of joints, in all methods and runners."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from quick_test_selection import mark_slow_pairs

LIMITS = np.array([4.0, np.inf])
FIXED = ("rk4", "semi-implicit", "midpoint", "variational", "rattle", "shake", "energy-momentum")
ADAPTIVE = ("dop853", "radau", "lsoda")


def arm(extra: str = "") -> lw.Mechanism:
    b = lw.Builder("arm", gravity=(0, -9.81, 0))
    for name, limit in zip(("upper", "lower"), LIMITS, strict=True):
        b.body(name, 1.0, com=(0.25, 0, 0), inertia=(0.01, 0.03, 0.03))
        at = (0, 0, 0) if name == "upper" else (0.5, 0, 0)
        parent = "world" if name == "upper" else "upper"
        b.joint(name, lw.Revolute((0, 0, 1)), parent, name, at=at, effort_limit=limit)
    if extra == "brake":
        b.brake("brake", "upper", capacity=1.0, engaged=True)
    if extra == "floor":
        b.surface("floor", lw.Plane(), at=(0, 0.1, 0), rpy=(-np.pi / 2, 0, 0))
        b.touch("tip", "lower", (0.5, 0.0, 0.0), stiffness=1e4, friction=0.5)
    return b.build()


def servo(t: Any, q: Any, v: Any) -> Any:
    return 60.0 * (np.array([0.6, -0.3]) - q) - 4.0 * v


def by_hand(t: Any, q: Any, v: Any) -> Any:
    tau = servo(t, q, v)
    return np.array([np.clip(tau[0], -4.0, 4.0), tau[1]])


def both(controller: Any, other: Any, extra: str = "", **more: Any) -> tuple[lw.Run, lw.Run]:
    m, arguments = arm(extra), {"duration": 0.5, "dt": 2e-3, **more}
    return (
        lw.simulate(m, [0.2, 0.1], controller=controller, clip_effort=True, **arguments),
        lw.simulate(m, [0.2, 0.1], controller=other, **arguments),
    )


@pytest.mark.parametrize("method", FIXED + ADAPTIVE)
def test_clip_effort_gives_the_run_of_a_controller_that_clips_its_forces(method: str) -> None:
    clipped, expected = both(servo, by_hand, method=method)
    np.testing.assert_allclose(clipped.q, expected.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(clipped.tau, expected.tau, rtol=0, atol=1e-7)
    np.testing.assert_allclose(clipped["work"], expected["work"], rtol=0, atol=1e-8)
    assert np.abs(clipped.tau[:, 0]).max() == 4.0
    assert np.abs(clipped["tau.commanded"][:, 0]).max() > 10.0
    assert np.abs(clipped.tau[:, 1]).max() > 4.0  # no limit
    assert clipped.report()["energy balance"].value == pytest.approx(
        expected.report()["energy balance"].value, rel=1e-3
    )


WRAPPED = {
    "sampled": lambda f: lw.sampled(f, rate=100),
    "host": lambda f: lw.host(f, rate=100),
    "each step": lw.sampled,
    "traced": lambda f: f,
}


@pytest.mark.parametrize(
    ("method", "wrapped"), mark_slow_pairs(("rk4", "variational", "dop853"), ("sampled", "host", "each step"))
)
def test_sampled_and_host_controllers_are_clipped(method: str, wrapped: str) -> None:
    clipped, expected = both(WRAPPED[wrapped](servo), WRAPPED[wrapped](by_hand), method=method)
    np.testing.assert_allclose(clipped.q, expected.q, rtol=0, atol=1e-10)
    np.testing.assert_allclose(clipped.tau, expected.tau, rtol=0, atol=1e-8)
    assert np.abs(clipped["tau.commanded"][:, 0]).max() > 10.0


@pytest.mark.parametrize(("method", "wrapped"), mark_slow_pairs(("rk4", "midpoint", "dop853"), ("traced", "sampled")))
def test_slip_forces_of_brakes_are_not_clipped(method: str, wrapped: str) -> None:
    clipped, expected = both(WRAPPED[wrapped](servo), WRAPPED[wrapped](by_hand), "brake", method=method)
    np.testing.assert_allclose(clipped.q, expected.q, rtol=0, atol=1e-9)
    assert np.abs(clipped.v[:, 0]).max() > 0.1  # the brake slips


@pytest.mark.parametrize("wrapped", [lambda f: f, lambda f: lw.sampled(f, rate=100)])
def test_controller_forces_are_clipped_with_rigid_contacts(wrapped: Any) -> None:
    clipped, expected = both(wrapped(servo), wrapped(by_hand), "floor", method="moreau", contact="rigid")
    np.testing.assert_allclose(clipped.q, expected.q, rtol=0, atol=1e-12)
    assert np.abs(clipped["tau.commanded"][:, 0]).max() > 10.0


def test_controller_forces_are_clipped_in_plain_python() -> None:
    python, compiled = (
        lw.simulate(
            arm(), [0.2, 0.1], duration=0.02, dt=2e-3, method=method, controller=servo, clip_effort=True, target=t
        )
        for method, t in (("midpoint", "numpy"), ("midpoint", "cpu"))
    )
    np.testing.assert_allclose(python.q, compiled.q, rtol=0, atol=1e-9)
    assert python.tau[0, 0] == 4.0


def test_batch_members_with_clipped_forces_equal_single_runs() -> None:
    starts = np.array([[0.2, 0.1], [0.55, 0.1], [-0.5, 0.4]])
    many = lw.simulate(arm(), starts, duration=0.2, dt=2e-3, controller=servo, clip_effort=True)
    for k, start in enumerate(starts):
        one = lw.simulate(arm(), start, duration=0.2, dt=2e-3, controller=servo, clip_effort=True)
        assert np.array_equal(many.q[k], one.q)
        assert np.array_equal(many.tau[k], one.tau)


def test_clip_effort_is_part_of_the_cache_key() -> None:
    """The same problem with and without clipping must not share a kernel, nor two different limits."""
    runs = [
        lw.simulate(arm(), [0.2, 0.1], duration=0.1, dt=2e-3, controller=lw.host(servo, rate=100), clip_effort=clip)
        for clip in (False, True, False)
    ]
    assert np.array_equal(runs[0].q, runs[2].q)
    assert not np.array_equal(runs[0].q, runs[1].q)
    with pytest.raises(KeyError):
        runs[0].recorded["tau.commanded"]


@pytest.mark.parametrize("method", FIXED)
def test_simulator_clips_forces_as_simulate_does(method: str) -> None:
    tau = np.array([9.0, -7.0])
    run = lw.simulate(
        arm(), [0.2, 0.1], duration=0.1, dt=2e-3, method=method, controller=lambda t, q, v: tau, clip_effort=True
    )
    sims = [lw.Simulator(arm(), [0.2, 0.1], dt=2e-3, method=method, clip_effort=clip) for clip in (True, False)]
    for _ in range(50):
        sims[0].step(tau)
        sims[1].step(np.clip(tau, -LIMITS, LIMITS))
    np.testing.assert_allclose(sims[0].state.q, run.q[-1], rtol=0, atol=1e-10)
    np.testing.assert_allclose(sims[0].state.q, sims[1].state.q, rtol=0, atol=1e-12)
    sims[0].push("lower", [0, 0, 0, 0, 0, 1.0])
    sims[1].push("lower", [0, 0, 0, 0, 0, 1.0])
    sims[0].step(tau)
    sims[1].step(np.clip(tau, -LIMITS, LIMITS))
    np.testing.assert_allclose(sims[0].state.v, sims[1].state.v, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", ["rk4", "variational", "midpoint"])
def test_step_derivatives_by_the_joint_force_are_zero_while_the_force_is_clipped(method: str) -> None:
    sim = lw.Simulator(arm(), [0.2, 0.1], dt=2e-3, method=method, clip_effort=True)
    free = lw.Simulator(arm(), [0.2, 0.1], dt=2e-3, method=method)
    clipped, inside = sim.step_derivatives([9.0, 1.0]), sim.step_derivatives([3.0, 1.0])
    assert np.array_equal(clipped.B[:, 0], np.zeros(4))
    np.testing.assert_allclose(clipped.B[:, 1], free.step_derivatives([4.0, 1.0]).B[:, 1], rtol=1e-9)
    np.testing.assert_allclose(inside.B, free.step_derivatives([3.0, 1.0]).B, rtol=1e-12)


def test_report_gives_how_often_and_by_how_much_forces_were_clipped() -> None:
    clipped, expected = both(servo, by_hand)
    row = clipped.report()["effort limits"]
    part = 100.0 * (np.abs(clipped["tau.commanded"][:, 0]) > 4.0).mean()
    assert row.value == f"clipped in {part:.3g} % of samples"
    assert row.note == f"joint 'upper': commanded {np.abs(clipped['tau.commanded'][:, 0]).max():.3g} of 4 N m or N"
    assert expected.report()["effort limits"].value == "not exceeded"
    calm = lw.simulate(arm(), duration=0.1, controller=lambda t, q, v: 0.0 * v, clip_effort=True)
    assert calm.report()["effort limits"].value == "not clipped"
    thin, _ = both(servo, by_hand, record=("q", "v", "tau", "work"))
    assert "record 'tau.commanded'" in thin.report()["effort limits"].note
    exceeded = lw.simulate(arm(), [0.2, 0.1], duration=0.1, controller=servo)
    assert "use clip_effort=True" in exceeded.report()["effort limits"].note


def test_continued_and_saved_runs_contain_clipped_and_commanded_forces(tmp_path: Path) -> None:
    sampled = lw.sampled(servo, rate=100)
    options: dict[str, Any] = {"dt": 2e-3, "controller": sampled, "clip_effort": True}
    whole = lw.simulate(arm(), [0.2, 0.1], duration=0.4, **options)
    half = lw.simulate(arm(), [0.2, 0.1], duration=0.2, **options)
    rest = lw.simulate(arm(), half, duration=0.2, controller=sampled, clip_effort=True)
    assert np.array_equal(rest.q[-1], whole.q[-1])
    whole.save(tmp_path / "run.npz")
    opened = lw.open_run(tmp_path / "run.npz")
    assert opened.report()["effort limits"] == whole.report()["effort limits"]
    assert np.array_equal(opened["tau.commanded"], whole["tau.commanded"])


def test_nonfinite_forces_still_end_a_clipped_run() -> None:
    def broken(t: Any, q: Any, v: Any) -> Any:
        return np.array([lw.where(t > 0.05, np.inf, 9.0), 0.0])

    for controller in (broken, lw.sampled(broken), lw.host(broken, rate=500)):
        run = lw.simulate(arm(), duration=0.1, dt=2e-3, controller=controller, clip_effort=True)
        assert run.outcome.kind == "non-finite", controller


def test_clip_effort_does_not_clip_the_forces_of_drives() -> None:
    b = lw.Builder("crane", gravity=(0, 0, 0)).body("drum", 1.0, inertia=(1, 1, 1))
    b.joint("pin", lw.Revolute(), "world", "drum", effort_limit=5.0)
    m = b.drive("motor", {"pin": 1.0}, gear=40.0).build()
    runs = [
        lw.simulate(m, duration=0.1, dt=0.01, controller=lw.feedback.drives(m, [1.0]), clip_effort=clip)
        for clip in (False, True)
    ]
    assert np.array_equal(runs[0].q, runs[1].q)
    assert runs[1].tau[0, 0] == 40.0
    assert "other than drives" in runs[1].report()["effort limits"].note


def test_clip_effort_must_be_true_or_false() -> None:
    for call in (lw.simulate, lw.Simulator):
        with pytest.raises(lw.LinkworkError, match="clip_effort must be True or False; got 'yes'"):
            call(arm(), clip_effort="yes")  # type: ignore[arg-type]


def test_simulator_starts_in_the_keyframe_as_simulate_does() -> None:
    m = lw.example("four_bar_ladder")
    sim, run = lw.Simulator(m), lw.simulate(m, duration=0.01, dt=0.01)
    assert np.array_equal(sim.state.q, m.keyframes["start"].q)
    assert np.array_equal(sim.state.q, run.q[0])
    assert 'keyframe "start"' in (lw.Simulator.__doc__ or "")
