"""Runs with rigid contacts: rejected inputs, saved runs, constrained mechanisms, and energy that never rises."""

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw

BOX = lw.example("box_drop")
START = BOX.keyframes["start"]


def rail(**options: Any) -> lw.Builder:
    """A mass on a vertical rail above the floor."""
    b = (
        lw.Builder("rail", gravity=(0, 0, -10.0))
        .body("mass", 1.0)
        .joint("up", lw.Prismatic((0, 0, 1)), "world", "mass")
    )
    return b.surface("floor", lw.Plane()).touch("tip", "mass", **options)


# --- what is refused ---


@pytest.mark.parametrize("method", ["dop853", "rk4", "semi-implicit", "variational", "energy-momentum"])
def test_integration_methods_without_impulses_are_rejected(method: str) -> None:
    with pytest.raises(lw.LinkworkError, match=rf"'{method}' cannot handle the impulses.*contact='compliant'"):
        lw.simulate(BOX, duration=0.1, method=method, contact="rigid")
    with pytest.raises(lw.LinkworkError, match=rf"'{method}' cannot handle the impulses"):
        lw.Simulator(BOX, method=method, contact="rigid")


def test_options_that_rigid_contacts_do_not_support_are_rejected() -> None:
    with pytest.raises(lw.LinkworkError, match=r"no contact 'hard'.*compliant, rigid"):
        lw.simulate(BOX, duration=0.1, contact="hard")
    with pytest.raises(lw.LinkworkError, match="'moreau' needs contact='rigid'"):
        lw.simulate(BOX, duration=0.1, method="moreau")
    with pytest.raises(lw.LinkworkError, match="locate=True needs contact='compliant'"):
        lw.simulate(BOX, duration=0.1, contact="rigid", locate=True)
    with pytest.raises(lw.LinkworkError, match="order needs method"):
        lw.simulate(BOX, duration=0.1, contact="rigid", order=4)
    with pytest.raises(lw.LinkworkError, match=r"add them with Builder.touch"):
        lw.simulate(lw.example("double_pendulum"), duration=0.1, contact="rigid")


def test_contacts_without_stiffness_need_rigid_contact() -> None:
    m = rail().build()
    for run in (lambda: lw.simulate(m, [1.0], duration=0.1), lambda: lw.Simulator(m, [1.0])):
        with pytest.raises(lw.LinkworkError, match=r"'tip' has no stiffness.*contact='rigid'"):
            run()
    with pytest.raises(lw.ModelError, match="need a stiffness"):
        rail(damping=3.0)
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(lw.ModelError, match=r"contact 'tip'.*restitution"):
            rail(restitution=wrong)
    with pytest.raises(lw.ModelError, match=r"'tip.restitution'.*must be <= 1; got 1.5"):
        lw.simulate(m, [1.0], duration=0.1, contact="rigid", parameters={"tip.restitution": 1.5})


def test_start_inside_a_surface_warns_and_is_moved_out_without_changing_the_velocity() -> None:
    m = rail().build()
    with pytest.warns(UserWarning, match=r"'tip' starts 0.02 m inside surface 'floor'.*start it farther outside"):
        run = lw.simulate(m, [-0.02], duration=0.01, dt=1e-3, contact="rigid")
    assert run.q[1:, 0] == pytest.approx(np.full(10, -1e-5), abs=1e-8)  # what gravity does in a step is left
    assert (run.v == 0.0).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.simulate(m, [-1e-5], duration=0.01, dt=1e-3, contact="rigid")


# --- documents and saved runs ---


def test_documents_store_restitution_and_no_stiffness(tmp_path: Path) -> None:
    lw.save(rail(restitution=0.3, friction=0.2).build(), tmp_path / "rail.toml")
    text = (tmp_path / "rail.toml").read_text()
    assert "restitution = 0.3" in text
    assert "stiffness" not in text.split("[contacts")[1]
    m = lw.load(tmp_path / "rail.toml")
    assert m.contacts["tip"].restitution == 0.3
    assert m.contacts["tip"].stiffness == 0.0
    assert lw.simulate(m, [0.1], duration=0.1, contact="rigid").check().method == "moreau"


def test_rigid_run_is_saved_read_continued_and_matched_by_a_simulator(tmp_path: Path) -> None:
    whole = lw.simulate(BOX, duration=0.6, dt=1e-3, contact="rigid")
    assert whole.settings.why == "required by rigid contacts"
    half = lw.simulate(BOX, duration=0.3, dt=1e-3, contact="rigid", method="moreau")
    assert half.settings.why == "method and step given by the user"
    half.save(tmp_path / "half.npz")
    read = lw.open_run(tmp_path / "half.npz")
    assert read.report()["contact residual"].value == half.report()["contact residual"].value
    rest = lw.simulate(BOX, read, duration=0.3, contact="rigid")
    assert np.array_equal(rest.q[-1], whole.q[-1])
    assert np.array_equal(rest["contact.force"][-1], whole["contact.force"][-1])
    with pytest.raises(lw.LinkworkError, match="has contact='rigid', got 'compliant'"):
        lw.simulate(BOX, half, duration=0.1)
    by_hand = lw.Simulator(BOX, START.q, START.v, dt=1e-3, contact="rigid")
    assert by_hand.method == "moreau"
    for _ in range(600):
        by_hand.step()
    assert by_hand.state.q == pytest.approx(whole.q[-1], abs=1e-12)


def test_batch_members_of_rigid_runs_match_single_runs_to_the_bit_and_numpy_closely() -> None:
    b = lw.Builder("plate").body("plate", 1.0, inertia=(0.01, 0.02, 0.03)).joint("free", lw.Free(), "world", "plate")
    corners = lw.box_corners((0.3, 0.2, 0.1))[:3]
    m = b.surface("floor", lw.Plane()).touch("corner", "plate", corners, friction=0.4).build()
    q = np.tile([0.0, 0, 0.2, 0.98, 0.1, 0.17, 0], (5, 1)) + 0.01 * np.arange(5)[:, None] * np.eye(7)[2]
    v = [1.0, 0, 0, 0, 2.0, 1.0]
    bounces = {f"corner {k}.restitution": 0.1 * np.arange(5) for k in (1, 2, 3)}
    run = lw.simulate(m, q, v, duration=0.3, dt=1e-3, contact="rigid", parameters=bounces)
    own: dict[str, Any] = {}
    for k in (0, 3):
        own = {name: values[k] for name, values in bounces.items()}
        alone = lw.simulate(m, q[k], v, duration=0.3, dt=1e-3, contact="rigid", parameters=own)
        for series in ("q", "v", "work", "contact.state", "contact.since", "contact.force", "contact.slip"):
            assert np.array_equal(run[series][k], alone[series])
    plain = lw.simulate(m, q[3], v, duration=0.2, dt=1e-3, contact="rigid", parameters=own, target="numpy")
    assert (plain["contact.state"] > 1.0).any()
    assert plain.q == pytest.approx(run.q[3, : len(plain.t)], abs=1e-8)


def test_reactions_are_available_where_contact_wrenches_were_recorded() -> None:
    b = lw.Builder("leg", gravity=(0, 0, -10.0)).surface("floor", lw.Plane())
    b.body("foot", 1.0).joint("rail", lw.Prismatic((0, 0, 1)), "world", "foot")
    b.body("trunk", 3.0).joint("knee", lw.Prismatic((0, 0, 1)), "foot", "trunk", stiffness=1e3, damping=100.0)
    m = b.touch("sole", "foot", friction=0.5).build()
    series = ("q", "v", "contact.state", "contact.force", "contact.wrenches")
    run = lw.simulate(m, duration=3.0, dt=1e-3, contact="rigid", record=series, every=100)
    assert run.q[-1] == pytest.approx([0.0, -0.03], abs=2e-5)
    assert run["contact.force"][-1, 0] == pytest.approx([0, 0, 40.0])
    assert run["contact.wrenches"][-1] == pytest.approx(np.array([[0, 0, 40.0, 0, 0, 0], [0] * 6]))
    assert run["reactions"][-1, :, 2] == pytest.approx([0.0, 30.0], abs=1e-6)


# --- coupled masses and closed loops ---


def coupled_masses(how: str) -> lw.Mechanism:
    """A mass of 1 kg in contact, and one of 2 kg coupled to it by `how`."""
    b = rail(restitution=0.5)
    if how == "one body":
        b.body("load", 2.0).joint("weld", lw.Weld(), "mass", "load")
        return b.build()
    b.body("load", 2.0).joint("beside", lw.Prismatic((0, 0, 1)), "world", "load", at=(1, 0, 0))
    if how == "mimic":
        b.mimic("beside", "up")
    elif how == "clutch":
        b.clutch("tie", "up", "beside", engaged=True)
    else:
        b.close("tie", lw.Weld(), "mass", "load", at=(1, 0, 0))
    return b.build()


@pytest.mark.parametrize("how", ["mimic", "clutch", "loop"])
def test_coupled_masses_fall_and_bounce_as_one(how: str) -> None:
    one = lw.simulate(coupled_masses("one body"), [0.1], duration=0.5, dt=1e-3, contact="rigid").check()
    m = coupled_masses(how)
    run = lw.simulate(m, np.full(m.nq, 0.1), duration=0.5, dt=1e-3, contact="rigid").check()
    assert (one["contact.state"] > 1.0).any()
    assert run.q == pytest.approx(np.tile(one.q, (1, m.nq)), abs=1e-10)
    assert run["contact.force"] == pytest.approx(one["contact.force"], rel=1e-7, abs=1e-7)
    assert run.report().passed


def test_linkage_that_hits_the_floor_stays_closed_and_comes_to_rest() -> None:
    b = lw.Builder("swing", gravity=(0, 0, -9.81)).surface("floor", lw.Plane(), at=(0, 0, 0.3))
    for name, parent, at, com in (
        ("left", "world", (0, 0, 1), (0.4, 0, 0)),
        ("coupler", "left", (0.8, 0, 0), (0.3, 0, 0)),
        ("right", "world", (0.6, 0, 1), (0.4, 0, 0)),
    ):
        b.body(name, 1.0, com=com, inertia=0.02 * np.ones(3)).joint(name, lw.Revolute((0, 1, 0)), parent, name, at=at)
    b.close("pin", lw.Revolute((0, 1, 0)), "coupler", "right", at=(0.6, 0, 0), to=(0.8, 0, 0))
    m = b.touch("knee", "left", (0.8, 0, 0), friction=0.4, restitution=0.3).build()
    run = lw.simulate(m, [0.2, -0.2, 0.2], duration=2.0, dt=1e-3, contact="rigid").check()
    report = run.report()
    assert report.passed, report
    assert float(report["loop position error"].value) < 1e-12
    assert np.diff(run.energy).max() < 1e-4  # what closing again moves
    assert np.abs(run.v[-1]).max() < 1e-10
    down = run.q[-1, 0]
    assert 0.8 * np.sin(down) == pytest.approx(0.7, abs=2e-5)  # the knee is on the floor
    # Each crank hangs with its own weight and half the coupler's: moments about the pivots
    moment = (2 * 0.4 + 0.8) * 9.81 * np.cos(down)
    force = run["contact.force"][-1, 0]
    assert force[2] * 0.8 * np.cos(down) + force[0] * 0.8 * np.sin(down) == pytest.approx(moment, rel=1e-6)


# --- energy ---


@cache
def thrown() -> lw.Run:
    given = {f"corner {k}.restitution": np.linspace(0.0, 1.0, 8) for k in range(1, 9)}
    record = ("q", "v", "work", "iterations", "contact.state")
    return lw.simulate(BOX, duration=1.5, dt=1e-3, contact="rigid", parameters=given, record=record).check()


def test_energy_of_a_tumbling_box_never_rises_at_any_restitution() -> None:
    run = thrown()
    assert np.diff(run["work"], axis=-1).max() < 1e-9
    assert np.diff(run.energy, axis=-1).max() < 1e-2  # of 1081 J: what turning quickly through an impact adds
    report = run.report()
    assert report.passed, report
    assert float(report["energy balance"].value) < 1e-4


def test_report_gives_iterations_and_contact_residual() -> None:
    report = thrown().report()
    assert str(report["contact iterations"].value).startswith("at most")
    assert float(report["contact residual"].value) < 1e-9
    assert np.median(thrown()["iterations"]) < 20


def pile(count: int, friction: float = 0.6, size: float = 0.2) -> lw.Mechanism:
    b = lw.Builder("pile").surface("floor", lw.Plane())
    places = {}
    for k in range(count):
        b.body(f"box {k}", 10.0, inertia=10.0 / 6.0 * size**2 * np.ones(3))
        b.joint(f"free {k}", lw.Free(), "world", f"box {k}").surface(
            f"sides {k}", lw.Box((size, size, size)), f"box {k}"
        )
        sole, under = lw.box_corners((0.7 * size, 0.7 * size, size))[:4], "floor" if k == 0 else f"sides {k - 1}"
        b.touch(f"corner {k}", f"box {k}", sole, friction=friction, against=under)
        places[f"free {k}"] = (0.003 * (-1) ** k, 0.0, 0.5 * size + k * (size + 0.01) + 0.01, 1, 0, 0, 0)
    return b.keyframe("start", places).build()


@pytest.mark.parametrize("count", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_stack_of_boxes_comes_to_rest_and_stays(count: int) -> None:
    m = pile(count)
    run = lw.simulate(m, duration=2.0, dt=1e-3, contact="rigid").check()
    assert np.diff(run.energy).max() < 1e-5
    rests = run.t > 0.5
    assert np.abs(run.v[rests]).max() < 1e-11
    assert np.abs(run.q[rests] - run.q[-1]).max() < 1e-11
    assert (run["contact.state"][-1] == 4.0).all()
    assert run["contact.force"][-1].reshape(count, 4, 3)[:, :, 2].sum(axis=1) == pytest.approx(
        98.1 * np.arange(count, 0, -1), rel=1e-9
    )
    assert run.report().passed
