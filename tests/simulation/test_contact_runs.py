"""Runs with contacts: rejected and warned inputs, saved and continued runs, and contacts between bodies."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation.contact_checks import contact_rates

BOX = lw.example("box_drop")
START = BOX.keyframes["start"]


# --- before a run ---


def test_start_in_deep_penetration_warns_with_the_pair() -> None:
    with pytest.warns(UserWarning, match=r"'corner 1' starts 0.09 m inside surface 'floor'.*start it farther outside"):
        lw.simulate(BOX, [0, 0, 0.01, 1, 0, 0, 0], duration=1e-3, dt=1e-3, method="semi-implicit")


def test_resting_start_and_fine_step_give_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = lw.simulate(BOX, [0, 0, 0.0977, 1, 0, 0, 0], duration=2e-3, dt=1e-3, method="semi-implicit")
        lw.simulate(BOX, run, duration=1e-3)  # a run that is continued is where it came to


def test_step_too_large_for_the_stiffness_warns_with_a_better_step() -> None:
    with pytest.warns(UserWarning, match=r"0.02 s is too large for contact 'corner \d'.*use dt=0.0006"):
        lw.simulate(BOX, duration=0.02, dt=0.02, method="semi-implicit")
    with pytest.warns(UserWarning, match=r"0.005 s is too large.*686 1/s; use dt=0.0001"):
        lw.simulate(BOX, duration=0.005, dt=0.005, method="rk4")


BAD = {  # a parameter of two members: what is said of it
    "stiffness": ([1e4, 0.0], r"'corner 1.stiffness' of contact 'corner 1' must be > 0 in all members"),
    "tangential_stiffness": ([0.0, 1e4], "'corner 1.tangential_stiffness' of contact 'corner 1' must be > 0"),
    "rest_speed": ([0.0, 1e-3], "'corner 1.rest_speed' of contact 'corner 1' must be > 0"),
    "friction": ([[0.4, 0.4], [0.2, 0.3]], "'corner 1.friction' must be .* static >= dynamic"),
}


@pytest.mark.parametrize("key", BAD)
def test_invalid_contact_parameters_are_rejected_and_named(key: str) -> None:
    values, says = BAD[key]
    with pytest.raises(lw.LinkworkError, match=says):
        lw.simulate(BOX, duration=0.01, dt=1e-3, parameters={f"corner 1.{key}": np.array(values)})


def test_step_is_chosen_by_stiffness_and_mass() -> None:
    b = lw.Builder("drop").body("mass", 2.0).joint("up", lw.Prismatic((0, 0, 1)), "world", "mass")
    m = b.surface("floor", lw.Plane()).touch("it", "mass", stiffness=800.0, damping=4.0).build()
    rates = contact_rates(m, np.zeros(1))
    assert rates[:2] == pytest.approx((20.0, 2.0))
    run = lw.simulate(m, [0.1], duration=0.1)
    assert run.method == "variational"
    assert run.settings.dt == pytest.approx(1e-3)
    assert "20 1/s" in run.settings.why


@pytest.mark.parametrize("method", ["dop853", "radau", "lsoda"])
def test_adaptive_integration_methods_are_rejected_for_contacts(method: str) -> None:
    with pytest.raises(lw.LinkworkError, match="contacts need fixed steps"):
        lw.simulate(BOX, duration=0.1, method=method)


def test_mesh_surfaces_are_rejected_for_contacts() -> None:
    b = lw.Builder("one").body("a", 1.0, inertia=(1, 1, 1)).joint("free", lw.Free(), "world", "a")
    b.surface("scan", lw.Mesh("scan.stl")).touch("tip", "a", stiffness=1.0)
    with pytest.raises(lw.LinkworkError, match="contact 'tip' may touch surface 'scan', which is a mesh"):
        lw.simulate(b.build(strict=False), duration=0.1)


# --- saved runs and members ---


def test_contact_run_is_saved_read_continued_and_matched_by_a_simulator(tmp_path: Path) -> None:
    whole = lw.simulate(BOX, duration=0.6, dt=1e-3, method="rk4")
    half = lw.simulate(BOX, duration=0.3, dt=1e-3, method="rk4")
    half.save(tmp_path / "half.npz")
    read = lw.open_run(tmp_path / "half.npz")
    assert np.array_equal(read["contact.state"], half["contact.state"])
    rest = lw.simulate(BOX, read, duration=0.3)
    assert np.array_equal(rest.q[-1], whole.q[-1])
    assert np.array_equal(rest["contact.anchor"][-1], whole["contact.anchor"][-1])
    by_hand = lw.Simulator(BOX, START.q, START.v, dt=1e-3, method="rk4")
    for _ in range(600):
        by_hand.step()
    assert by_hand.state.q == pytest.approx(whole.q[-1], abs=1e-12)


def test_contacts_of_batch_members_match_single_runs() -> None:
    q = np.tile(START.q, (3, 1)) + np.array([[0.0], [0.01], [0.02]]) * np.eye(7)[2]
    run = lw.simulate(BOX, q, START.v, duration=0.4, dt=1e-3, method="rk4")
    for k in range(3):
        alone = lw.simulate(BOX, q[k], START.v, duration=0.4, dt=1e-3, method="rk4")
        assert np.array_equal(run["contact.state"][k], alone["contact.state"])
        assert run.q[k] == pytest.approx(alone.q, abs=1e-12)
    data = run.to_xarray("contact.force")["contact.force"]
    assert data.sizes["contact"] == 8
    assert str(data["contact"].values[4]) == "corner 5"


def test_contact_force_and_reactions_of_a_standing_leg_carry_the_weight_above_it() -> None:
    """Reactions are available where contact forces were recorded: two bodies on a rail, the lower on the floor."""
    b = lw.Builder("leg", gravity=(0, 0, -10.0)).surface("floor", lw.Plane())
    b.body("foot", 1.0).joint("rail", lw.Prismatic((0, 0, 1)), "world", "foot")
    b.body("trunk", 3.0).joint("knee", lw.Prismatic((0, 0, 1)), "foot", "trunk", stiffness=1e3, damping=100.0)
    m = b.touch("sole", "foot", stiffness=1e4, damping=200.0).build()
    series = ("q", "v", "contact.state", "contact.force", "contact.wrenches")
    run = lw.simulate(m, duration=3.0, dt=1e-3, method="variational", record=series, every=100)
    assert run["contact.force"][-1, 0] == pytest.approx([0, 0, 40.0])
    assert run["contact.wrenches"][-1] == pytest.approx(np.array([[0, 0, 40.0, 0, 0, 0], [0] * 6]))
    assert run["reactions"][-1, :, 2] == pytest.approx([0.0, 30.0], abs=1e-6)
    unknown = lw.simulate(m, duration=0.01, dt=1e-3, method="variational")
    assert "reactions" not in unknown


def test_energy_balance_holds_for_members_with_different_contacts() -> None:
    given = {"corner 1.friction": np.array([[0.4, 0.4], [0.2, 0.2]])}
    run = lw.simulate(BOX, duration=0.15, dt=1e-3, method="rk4", parameters=given, record=("q", "v", "work"))
    assert float(run.report()["energy balance"].value) < 1e-3


@pytest.mark.slow
def test_contact_between_free_bodies_conserves_momentum() -> None:
    """Two balls without gravity collide off centre with friction; the surface belongs to one of them."""
    b = lw.Builder("billiards", gravity=(0, 0, 0))
    for name in ("one", "two"):
        b.body(name, 1.0, inertia=0.004 * np.ones(3)).joint(f"{name} free", lw.Free(), "world", name)
    b.surface("skin", lw.Sphere(0.1), "two")
    b.touch("side", "one", radius=0.1, stiffness=1e5, damping=50.0, friction=0.3)
    m = b.keyframe("start", {"two free": (0.3, 0.05, 0.02, 1, 0, 0, 0)}, {"one free": (2.0, 0, 0, 0, 0, 10.0)}).build()
    for method in ("variational", "midpoint", "rk4"):
        run = lw.simulate(m, duration=0.2, dt=1e-4, method=method)
        assert run["contact.state"].max() >= 2.0
        assert np.abs(run.v[-1, 6:]).max() > 0.5  # it was hit
        close = 1e-9 if method == "variational" else 1e-6
        assert run.momentum[-1, :3] == pytest.approx(run.momentum[0, :3], abs=close)
        assert run.momentum[-1, 3:] == pytest.approx(run.momentum[0, 3:], abs=2e-5)


@pytest.mark.parametrize("floor", [lw.HeightField((8.0, 8.0), 0.1 * np.eye(5)), lw.Ground(lambda x, y: 0.05 * x * x)])
def test_ball_comes_to_rest_on_uneven_ground(floor: lw.HeightField | lw.Ground) -> None:
    b = lw.Builder("ball").body("ball", 1.0, inertia=0.004 * np.ones(3)).joint("free", lw.Free(), "world", "ball")
    options: dict[str, Any] = {"stiffness": 2e4, "damping": 100.0, "friction": 0.6, "rolling": 0.01}
    m = b.surface("ground", floor).touch("skin", "ball", radius=0.1, **options).build()
    run = lw.simulate(m, [0.5, 0.3, 0.4, 1, 0, 0, 0], duration=6.0, dt=1e-3, method="variational", every=10).check()
    assert np.abs(run.v[-1]).max() < 0.01  # rest speed over radius, below which torques that brake fade
    assert run["contact.force"][-1, 0] == pytest.approx([0, 0, 9.81], abs=0.05)
    assert np.diff(run.energy + run["contact.energy"]).max() < 0.05


@pytest.mark.slow
def test_stack_of_boxes_comes_to_rest_and_stays() -> None:
    size, count = 0.2, 10
    b = lw.Builder("pile").surface("floor", lw.Plane())
    places = {}
    for k in range(count):
        b.body(f"box {k}", 10.0, inertia=10.0 / 6.0 * size**2 * np.ones(3)).joint(
            f"free {k}", lw.Free(), "world", f"box {k}"
        )
        b.surface(f"sides {k}", lw.Box((size, size, size)), f"box {k}")
        sole = lw.box_corners((0.7 * size, 0.7 * size, size))[:4]
        under = "floor" if k == 0 else f"sides {k - 1}"
        b.touch(f"corner {k}", f"box {k}", sole, stiffness=1e6, damping=3e4, friction=0.6, against=under)
        places[f"free {k}"] = (0.003 * (-1) ** k, 0.0, 0.5 * size + k * (size + 0.01) + 0.01, 1, 0, 0, 0)
    m = b.keyframe("start", places).build()
    run = lw.simulate(m, duration=8.0, dt=5e-4, method="semi-implicit", every=20).check()
    assert np.diff(run.energy + run["contact.energy"]).max() < 0.1
    late = run.t > 7.0  # it sways for long
    assert np.abs(run.v[late]).max() < 1e-3
    assert (run["contact.state"][-1] == 4.0).all()
    assert run["contact.force"][-1].reshape(count, 4, 3)[:, :, 2].sum(axis=1) == pytest.approx(
        98.0665 * np.arange(count, 0, -1), rel=1e-3
    )
