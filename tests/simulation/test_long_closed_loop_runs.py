"""Simulated loops stay closed to round-off after many steps and conserve the energy of the allowed motion."""

from __future__ import annotations

import re

import numpy as np
import pytest

import linkwork as lw
from linkwork.examples import four_bar, slider_crank
from random_loops import looped_tree
from random_mechanisms import relative

EXAMPLES = [found.name for found in lw.examples() if found.build().loops]
METHODS = {"semi-implicit": 1, "midpoint": 2, "rk4": 4}


def errors(run: lw.Run) -> tuple[float, float]:
    """Largest position error [m or rad] of loop closure in a run, and largest velocity error."""
    d = lw.compile(run.mechanism, target="numpy")
    rates = (d.constraint_jacobian(run.q) @ run.v[..., None])[..., 0]
    return float(np.abs(d.constraint(run.q)).max()), float(np.abs(rates).max())


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "stewart_platform" else name for name in EXAMPLES]
)
def test_examples_with_loops_stay_closed_and_conserve_energy(name: str) -> None:
    """Ten seconds in ten thousand steps, from the keyframe "start", without drives. Heat of friction is counted."""
    m = lw.example(name)
    run = lw.simulate(m, duration=10.0, dt=1e-3, method="rk4", every=100)
    assert run.outcome.kind == "finished"
    assert (run.q[0] == m.keyframes["start"].q).all()
    assert (run.v[0] == m.keyframes["start"].v).all()
    assert max(errors(run)) < 1e-10
    heat = run["friction.heat"].sum(axis=-1) if m.frictions else 0.0
    energy = run["energy"] + heat
    assert np.abs(energy - energy[0]).max() < 1e-6 * np.abs(energy[0])
    assert np.ptp(run.q, axis=0).max() > 0.05  # it does move
    assert run.report().passed


@pytest.mark.parametrize("name", EXAMPLES)
def test_keyframes_of_examples_have_closed_loops(name: str) -> None:
    m = lw.example(name)
    d, start = lw.compile(m, target="numpy"), m.keyframes["start"]
    assert np.abs(d.constraint(start.q)).max() < 1e-12
    assert np.abs(d.constraint_jacobian(start.q) @ start.v).max() < 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_integration_methods_keep_their_order_with_loops(method: str) -> None:
    m, largest = four_bar.build(), []
    exact = lw.simulate(m, duration=0.48, dt=0.0005, method="rk4", every=16)
    for k in (4, 8):
        run = lw.simulate(m, duration=0.48, dt=0.0005 * k, method=method, every=16 // k)
        largest.append(np.abs(run.v - exact.v).max())
    order = np.log2(largest[1] / largest[0])
    assert abs(order - METHODS[method]) < 0.35, order


@pytest.mark.parametrize("method", [*METHODS, "dop853", "radau", "lsoda"])
def test_every_integration_method_keeps_loops_closed(method: str) -> None:
    run = lw.simulate(slider_crank.build(), duration=0.5, dt=1e-3, method=method, every=50)
    assert run.outcome.kind == "finished"
    assert max(errors(run)) < 1e-10


def test_numpy_target_gives_the_same_run_of_closed_loops() -> None:
    m = lw.example("four_bar")
    runs = [lw.simulate(m, duration=0.02, dt=1e-3, method="rk4", target=target) for target in ("cpu", "numpy")]
    assert relative(runs[0].q, runs[1].q) < 1e-12


def test_energy_change_equals_the_work_of_the_motor() -> None:
    m = lw.example("four_bar")
    run = lw.simulate(m, duration=2.0, dt=1e-3, method="rk4", controller=lambda t, q, v: np.array([0.5, 0.0, 0.0]))
    energy = run["energy"]
    assert np.abs(energy - energy[0] - run["work"]).max() < 1e-6 * np.abs(energy).max()
    assert abs(run["work"][-1] - 0.5 * (run.q[-1, 0] - run.q[0, 0])) < 1e-6
    assert max(errors(run)) < 1e-10


def test_loops_with_mimic_joints_stay_closed() -> None:
    m, s = looped_tree(6, ("rod",), True)
    assert m.mimics
    run = lw.simulate(m, s.q, s.v, duration=0.1, dt=1e-3, method="rk4", every=20)
    assert run.outcome.kind == "finished"
    assert max(errors(run)) < 1e-10


def test_batch_members_with_closed_loops_match_single_runs() -> None:
    m = four_bar.build()
    q = np.array([four_bar.coordinates(angle) for angle in (0.3, 1.0, 2.0)])
    run = lw.simulate(m, q, duration=0.1, dt=1e-3, method="rk4")
    for k in range(3):
        alone = lw.simulate(m, q[k], duration=0.1, dt=1e-3, method="rk4")
        assert relative(run.q[k], alone.q) < 1e-12


# --- rejected starts and failed steps ---


def test_start_with_open_loops_is_rejected_with_a_remedy() -> None:
    m = lw.example("four_bar")
    q = m.integrate(m.keyframes["start"].q, [0.0, 0.1, 0.0])
    with pytest.raises(
        lw.LinkworkError,
        match=r"loop 'closing pin' has a position error of 0\.0\d+ m or rad at the start; use q0 = d\.assemble",
    ):
        lw.simulate(m, q, duration=0.1)
    lw.simulate(m, lw.compile(m, target="numpy").assemble(q), duration=0.01, dt=1e-3)


def test_inconsistent_start_velocity_is_rejected_with_a_remedy() -> None:
    m = lw.example("four_bar")
    q, v = m.keyframes["start"].q, np.array([1.0, 0.0, 0.0])
    with pytest.raises(
        lw.LinkworkError,
        match=r"loop 'closing pin' has a velocity error of 0\.\d+ m/s or rad/s at the start; use v0 = d\.consistent",
    ):
        lw.simulate(m, q, v, duration=0.1)
    consistent = lw.compile(m, target="numpy").consistent(q, v)
    assert lw.simulate(m, q, consistent, duration=0.01, dt=1e-3).outcome.kind == "finished"


def test_steps_too_large_for_the_projection_onto_loops_end_the_run() -> None:
    """A crank that turns by radians per step ends the run instead of leaving an open loop."""
    m = slider_crank.build(speed=3000.0)
    run = lw.simulate(m, duration=0.1, dt=1e-3, method="semi-implicit")
    assert run.outcome.kind == "not converged"
    found = re.search(r"onto loops failed with dt=0\.001 s; use dt=([\d.e-]+): a trial", str(run.outcome))
    assert found
    again = lw.simulate(m, duration=0.1, dt=float(found[1]), method="semi-implicit", every=1000)
    assert again.outcome.kind == "finished"
    assert errors(run)[0] < 1e-6


def test_report_does_not_check_the_momentum_of_mechanisms_with_loops_or_springs_to_the_world() -> None:
    b = lw.Builder("tied").body("ball", 1.0, inertia=(1, 1, 1)).joint("float", lw.Free(), "world", "ball")
    tied = b.close("tie", lw.Rod(1.0), "world", "ball", to=(1, 0, 0)).build()
    report = lw.simulate(tied, duration=0.1, dt=1e-3).report()
    assert report["momentum"].value == "not conserved"
    assert "loop 'tie' connects it to the world" in report["momentum"].note
    b = lw.Builder("hung").body("ball", 1.0, inertia=(1, 1, 1)).joint("float", lw.Free(), "world", "ball")
    hung = b.spring("coil", "world", "ball", to=(1, 0, 0), stiffness=10.0).build()
    report = lw.simulate(hung, duration=0.1, dt=1e-3).report()
    assert "spring 'coil' connects it to the world" in report["momentum"].note
    assert report.passed
