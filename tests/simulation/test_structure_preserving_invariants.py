"""Variational methods conserve momenta and the symplectic form or energy, and are time-reversible."""

import re
from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation.methods import newton_failure
from linkwork.simulation.runners import smaller_step_search
from linkwork.spatial.scalar import Array

FAMILY = ("variational", "rattle", "shake", "energy-momentum")


@cache
def two_arms(damping: float = 0.0) -> lw.Mechanism:
    """A body in space with two arms of two links each, and springs in their elbows."""
    b = lw.Builder("free-flyer with two arms", gravity=(0, 0, 0)).body("hull", 20.0, inertia=(1.5, 2.0, 1.2))
    b.joint("float", lw.Free(), "world", "hull")
    for side, y in (("left", 0.5), ("right", -0.5)):
        for name, before, at, kind in (
            ("upper", "hull", (0.2, y, 0.0), lw.Ball()),
            ("lower", f"{side} upper", (0.6, 0.0, 0.0), lw.Revolute((0, 0, 1))),
        ):
            own = {"stiffness": 3.0} if name == "lower" else {}
            b.body(f"{side} {name}", 2.0, com=(0.3, 0, 0), inertia=(0.01, 0.07, 0.07))
            b.joint(f"{side} {name}", kind, before, f"{side} {name}", at=at, damping=damping, **own)
    return b.build()


def tumbling(m: lw.Mechanism) -> tuple[Array, Array]:
    rng = np.random.default_rng(7)
    return m.random(rng), 0.5 * rng.normal(size=m.nv)


def drift(run: lw.Run) -> float:
    """Drift of linear and angular momentum about the centre of mass, relative to the joint contributions."""
    report = run.report()
    return max(float(report[name].value) for name in ("momentum", "angular momentum"))


@pytest.mark.parametrize("method", FAMILY)
def test_tumbling_free_flyer_conserves_momentum(method: str) -> None:
    m = two_arms()
    run = lw.simulate(m, *tumbling(m), 100.0, 0.01, method, every=20).check()
    assert drift(run) < 1e-12
    energy = run.energy - run.energy[0]
    if method == "energy-momentum":
        assert np.abs(energy).max() < 1e-11 * run.energy[0]
    else:  # it swings, and neither half of the run has more than the other
        halves = np.array_split(energy, 2)
        assert 1e-7 * run.energy[0] < np.abs(energy).max() < 1e-2 * run.energy[0]
        assert abs(halves[0].mean() - halves[1].mean()) < 0.2 * np.abs(energy).max()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["variational", "energy-momentum"])
def test_momentum_and_energy_are_conserved_over_a_million_steps(method: str) -> None:
    m = two_arms()
    run = lw.simulate(m, None, tumbling(m)[1], 1e4, 0.01, method, every=100).check()
    assert drift(run) < 1e-11
    slope = np.polyfit(run.t, run.energy, 1)[0]
    assert abs(slope) < 1e-9 * run.energy[0]


def test_energy_momentum_steps_balance_the_work_of_forces_to_round_off() -> None:
    """The energy changes by the work of controllers, dampers and wrenches."""
    m = two_arms(damping=0.3)
    wrenches = 0.1 * np.random.default_rng(1).normal(size=(m.nbodies, 6))
    controller = lw.sampled(lambda t, q, v: 0.5 * np.sin(2.0 * t) - 0.1 * v, rate=20)
    run = lw.simulate(m, *tumbling(m), 10.0, 0.01, "energy-momentum", controller=controller, wrenches=wrenches).check()
    assert np.ptp(run["work"]) > 1.0
    assert np.abs(run.energy - run.energy[0] - run["work"]).max() < 1e-11 * np.abs(run.energy).max()


def test_energy_of_a_double_spherical_pendulum_is_exact_at_a_large_step() -> None:
    b = lw.Builder("double spherical pendulum")
    for k, below in enumerate(("world", "bob 0")):
        b.body(f"bob {k}", 1.0, com=(0, 0, -1), inertia=(1e-3, 1e-3, 1e-3))
        b.joint(f"pivot {k}", lw.Ball(), below, f"bob {k}", at=(0, 0, -1.0 * k))
    m = b.build()
    v = [1.0, 0.5, 0.0, -0.7, 0.4, 0.0]
    run = lw.simulate(m, None, v, 50.0, 0.1, "energy-momentum").check()
    scale = np.ptp(run["energy.kinetic"])
    assert np.abs(run.energy - run.energy[0]).max() < 1e-10 * scale
    assert float(run.report()["angular momentum about z"].value) < 1e-12


@pytest.mark.parametrize("method", ["variational", "rattle", "energy-momentum"])
@pytest.mark.parametrize("name", ["free-flyer", "four_bar"])
def test_structure_preserving_methods_are_time_reversible(name: str, method: str) -> None:
    m = two_arms() if name == "free-flyer" else lw.example(name)
    q, v = tumbling(m) if name == "free-flyer" else (None, None)
    there = lw.simulate(m, q, v, 0.5, 5e-3, method).check()
    back = lw.simulate(m, there.q[-1], -there.v[-1], 0.5, 5e-3, method).check()
    assert np.abs(m.difference(there.q[0], there.q[-1])).max() > 0.1
    assert np.abs(m.difference(there.q[0], back.q[-1])).max() < 1e-9
    assert np.abs(there.v[0] + back.v[-1]).max() < 1e-9


@pytest.mark.slow
def test_symplectic_methods_preserve_the_symplectic_form() -> None:
    b = lw.Builder("sprung top").body("top", 1.0, com=(0, 0, 0.4), inertia=(0.1, 0.12, 0.05))
    b.body("arm", 0.5, com=(0.2, 0, 0), inertia=(0.01, 0.02, 0.02))
    b.joint("point", lw.Ball(), "world", "top", stiffness=2.0)
    b.joint("pin", lw.Revolute((0, 1, 0)), "top", "arm", at=(0, 0, 0.5), stiffness=3.0, armature=0.02)
    m, defects = b.build(), {}
    for method, order in (
        ("variational", 2),
        ("variational", 4),
        ("rattle", 2),
        ("rk4", None),
        ("energy-momentum", None),
    ):
        run = lw.simulate(m, None, [1.0, -2.0, 3.0, 1.0], 1.0, 0.02, method, order=order).check()
        defects[method, order] = float(run.report(structure=True)["symplectic defect"].value)
    assert max(defects["variational", 2], defects["variational", 4], defects["rattle", 2]) < 1e-13
    assert defects["rk4", None] > 1e-9
    assert defects["energy-momentum", None] > 1e-7


@pytest.mark.parametrize(("method", "preserved"), [("variational", True), ("shake", True), ("rk4", False)])
def test_symplectic_form_of_closed_loops_is_preserved(method: str, preserved: bool) -> None:
    run = lw.simulate(lw.example("four_bar"), duration=0.5, dt=5e-3, method=method).check()
    row = run.report(structure=True)["symplectic defect"]
    assert (float(row.value) < 1e-11) == preserved
    assert row.verdict == ("ok" if preserved else "")


def test_report_does_not_check_the_symplectic_form_of_dissipative_motion() -> None:
    m = two_arms(damping=0.3)
    run = lw.simulate(m, *tumbling(m), 0.1, 0.01, "variational")
    row = run.report(structure=True)["symplectic defect"]
    assert (row.value, row.verdict) == ("unknown", "")
    assert "damper" in row.note


@pytest.mark.parametrize(("gravity", "kinds", "conserved"), [
    ((0, 0, 0), (lw.Ball(),), ["about x through (0, 0, 0.5)", "about y through (0, 0, 0.5)", "about z"]),
    ((0, 0, -9.81), (lw.Ball(),), ["about z"]),
    ((0, 0, -9.81), (lw.Revolute((0, 0, 1)), lw.Revolute((1, 0, 0))), ["about z"]),
    ((0, 0, -9.81), (lw.Revolute((0, 1, 0)),), []),
])  # fmt: skip
def test_report_lists_the_momenta_of_symmetries(gravity: tuple, kinds: tuple, conserved: list[str]) -> None:
    b = lw.Builder("held", gravity=gravity)
    for k, kind in enumerate(kinds):
        b.body(f"body {k}", 1.0, com=(0.1, 0.2, -0.5), inertia=(0.1, 0.2, 0.15))
        at = (0, 0, 0.5) if not k else (0.1, 0.0, 0.0)
        b.joint(f"joint {k}", kind, f"body {k - 1}" if k else "world", f"body {k}", at=at)
    m = b.build()
    names = [f"angular momentum {name}" for name in conserved]
    assert [symmetry.momentum for symmetry in m.symmetries()] == names
    v = np.linspace(1.0, 2.0, m.nv)
    run = lw.simulate(m, None, v, 5.0, 0.01, "variational").check()
    d = lw.compile(m)
    maps = d.momentum_maps(run.q, run.v)
    assert maps.shape == (len(run.t), len(conserved))
    assert np.ptp(maps, axis=0).max(initial=0.0) < 1e-12
    report = run.report()
    for name in names:
        assert report[name].verdict == "ok"
        assert float(report[name].value) < 1e-13
    pushed = lw.simulate(m, None, v, 0.1, 0.01, "variational", controller=lambda t, q, v: 1.0 + 0.0 * v).report()
    for name in names:
        assert (pushed[name].value, "a controller acts" in pushed[name].note) == ("not conserved", True)


def test_newton_iterations_are_recorded_and_reported() -> None:
    m = two_arms()
    run = lw.simulate(m, *tumbling(m), 0.5, 0.01, "variational", record=("q", "v", "work", "iterations"))
    iterations = run["iterations"]
    assert iterations.shape == run.t.shape
    assert iterations[0] == 0.0
    assert 2.0 <= np.median(iterations[1:]) <= 4.0
    assert (
        run.report()["Newton iterations"].value == f"median {np.median(iterations[1:]):g}, at most {iterations.max():g}"
    )
    assert "iterations" not in [row.name for row in lw.simulate(m, duration=0.01, dt=0.01, method="rk4").report().rows]


def test_failed_step_names_the_worst_loop_and_a_step_that_converges(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, limit in (
        (newton_failure, "HISTORY_SECONDS"),
        (newton_failure, "SHORTER_SECONDS"),
        (smaller_step_search, "SECONDS"),
    ):
        monkeypatch.setattr(module, limit, 60.0)  # also on slow machines
    m = lw.example("four_bar")
    run = lw.simulate(m, duration=5.0, dt=0.1, method="variational")
    assert run.outcome.kind == "not converged"
    assert np.isfinite(run.q).all()  # the last valid state is stored
    advised = re.search(r"largest at loop 'closing pin'; use dt=(\S+): a trial run with it", run.outcome.diagnosis)
    assert advised, run.outcome.diagnosis
    assert lw.simulate(m, duration=5.0, dt=float(advised[1]), method="variational").outcome.kind == "finished"
    sim = lw.Simulator(m, run.q[-1], run.v[-1], dt=0.1, method="variational")
    with pytest.raises(lw.NotConverged, match="largest at loop") as caught:
        sim.step()
    assert 1 < len(caught.value.history) <= 50
    assert min(caught.value.history) > 1e-6
    assert np.array_equal(sim.state.q, run.q[-1])
    assert caught.value.step
    lw.Simulator(m, run.q[-1], run.v[-1], dt=caught.value.step, method="variational").step()
