"""Runs with rigid solids: series, batches, continued and stored runs, interactive simulation, errors and warnings."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import LinkworkError

G = 9.81
Q0 = [0, 0, 0.25, 1, 0.1, 0.2, 0]
V0 = [0.5, 0, 0, 1, 2, 3]


def boxes(**force_law: Any) -> lw.Mechanism:
    """A box above a plane."""
    b = lw.Builder(gravity=(0, 0, -G)).surface("floor", lw.Plane())
    b.body("box", 1.0, inertia=(0.01, 0.01, 0.01)).joint("box", lw.Free(), "world", "box")
    b.geometry("box", lw.Box((0.2, 0.3, 0.2)), role="collision")
    return b.collide("all", **({"friction": 0.5, "restitution": 0.3} | force_law)).build()


def test_runs_continue_from_files_and_pickles_and_agree_with_the_simulator(tmp_path: Path) -> None:
    m = boxes()
    whole = lw.simulate(m, Q0, V0, 0.4, 1e-3, contact="rigid").check()
    half = lw.simulate(m, Q0, V0, 0.2, 1e-3, contact="rigid")
    half.save(tmp_path / "half.npz")
    for stored in (half, lw.open_run(tmp_path / "half.npz"), pickle.loads(pickle.dumps(half))):
        rest = lw.simulate(m, stored, duration=0.2, contact="rigid")
        assert np.array_equal(rest.q[-1], whole.q[-1])
        assert np.array_equal(rest["contact.force"][-1], whole["contact.force"][-1])
    sim = lw.Simulator(m, Q0, V0, dt=1e-3, contact="rigid")
    for _ in range(400):
        sim.step()
    assert sim.state.q == pytest.approx(whole.q[-1], abs=1e-9)
    assert (whole["contact.state"] > 1).any()


@pytest.mark.slow
def test_friction_and_restitution_vary_in_a_batch() -> None:
    friction, bounce = np.array([[0.2, 0.2], [0.6, 0.5], [0.0, 0.0]]), np.array([0.0, 0.7, 1.0])
    given = {"all.friction": friction, "all.restitution": bounce}
    together = lw.simulate(boxes(), Q0, V0, 0.4, 1e-3, contact="rigid", parameters=given).check()
    one = lw.simulate(boxes(), Q0, V0, 0.4, 1e-3, contact="rigid", parameters={k: v[1] for k, v in given.items()})
    assert np.array_equal(one.q, together.q[1])
    built = lw.simulate(boxes(friction=(0.6, 0.5), restitution=0.7), Q0, V0, 0.4, 1e-3, contact="rigid").check()
    assert np.abs(built.q - together.q[1]).max() < 1e-9
    assert np.abs(together.q[0, -1] - together.q[1, -1]).max() > 1e-3


def test_series_of_contact_points_slip_and_wrenches_match_the_motion() -> None:
    """A sliding box: its points, their slip, and the wrench on the box about its origin."""
    m = boxes(restitution=0.0)
    record = ("q", "v", "contact.state", "contact.force", "contact.point", "contact.slip", "contact.wrenches")
    record += ("contact.impulse",)
    run = lw.simulate(
        m, [0, 0, 0.1, 1, 0, 0, 0], [1.0, 0.5, 0, 0, 0, 0], 0.1, 1e-3, contact="rigid", record=record
    ).check()
    assert m.contact_names == tuple(f"box on floor {k}" for k in (1, 2, 3, 4))
    corners = run["contact.point"][-1] - [*run.q[-1, :2], 0]
    expected = {(x, y) for x in (-0.1, 0.1) for y in (-0.15, 0.15)}
    assert {tuple(np.round(corner[:2], 9)) for corner in corners} == expected
    assert np.abs(corners[:, 2]).max() < 1e-5
    slip = run.v[-1, :3] - [0, 0, run.v[-1, 2]]
    assert run["contact.slip"][-1] == pytest.approx(np.tile(slip, (4, 1)), abs=1e-9)
    F, arms = run["contact.force"][-1], run["contact.point"][-1] - run.q[-1, :3]
    wrench = np.concatenate([F.sum(axis=0), np.cross(arms, F).sum(axis=0)])
    assert run["contact.wrenches"][-1, 0] == pytest.approx(wrench, abs=1e-12)
    assert wrench[2] == pytest.approx(G, abs=1e-9)
    assert run["contact.impulse"][-1, :3] == pytest.approx(run.momentum[-1, :3] - run.momentum[0, :3] + [0, 0, 0.1 * G])
    assert np.abs(wrench[3:]).max() < 1e-4  # a box that only slides does not turn
    assert (run["contact.point"][0] == 0).all()  # before the first step all points are apart


def test_solids_inside_each_other_are_reported_and_separated() -> None:
    m = boxes()
    with pytest.warns(UserWarning, match=r"solids 'box on floor' start 0.02 m inside each other; they will be pushed"):
        run = lw.simulate(m, [0, 0, 0.08, 1, 0, 0, 0], duration=0.05, dt=1e-3, contact="rigid").check()
    assert run.q[-1, 2] == pytest.approx(0.1, abs=2e-5)
    assert np.abs(run.v).max() < 1e-12


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"contact": "rigid", "locate": True}, "rigid contacts are solved once per step"),
        ({"contact": "rigid", "method": "dop853"}, "cannot handle the impulses of rigid contacts"),
        ({"contact": "rigid", "method": "rk4"}, "cannot handle the impulses of rigid contacts"),
        ({"locate": True}, "works for point contacts only"),
    ],
)
def test_integration_methods_that_cannot_simulate_solids_are_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(LinkworkError, match=reason):
        lw.simulate(boxes(stiffness=1e4), Q0, duration=0.01, dt=1e-4, **options)


def test_series_contact_slip_is_recorded_by_default_except_with_rigid_solids() -> None:
    """With rigid solids it needs a second detection of contacts."""
    b = lw.Builder().surface("floor", lw.Plane()).body("ball", 1.0, inertia=(0.01, 0.01, 0.01))
    points = b.joint("ball", lw.Free(), "world", "ball").touch("skin", "ball", radius=0.1).build()
    assert "contact.slip" in lw.simulate(points, Q0, duration=2e-3, dt=1e-3, contact="rigid").recorded
    assert "contact.slip" not in lw.simulate(boxes(), Q0, duration=1e-3, dt=1e-3, contact="rigid").recorded


def test_report_checks_the_momentum_of_solids_on_the_ground() -> None:
    run = lw.simulate(boxes(), Q0, duration=0.3, dt=1e-3, contact="rigid")
    text = str(run.report())
    assert "all checks passed" in text
    assert "that gravity and ground do not cause" in text
