"""The walker walks ten metres, turns and climbs with five motors and clutches; batch members match single runs."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.constraints.velocity_constraints import velocity_row_matrix
from linkwork.compiler import kernel
from linkwork.examples import gait_measures, walker, walker_mechanism
from linkwork.examples import walker_gaits as gaits

RECORDED = ("q", "v", "tau", "contact.state", "contact.force")
ROW = 0.25 * gaits.ROW  # [s] between rows here, close enough to see feet slip as they are put down
WALKING = 2.0 * gaits.PERIOD  # [s] after which strides are full
WALKS = {"straight": gaits.straight, "rough": gaits.rough, "turning": gaits.turning, "climb": gaits.climb}


@cache
def walked(name: str) -> lw.Run:
    return lw.simulate(**WALKS[name]().arguments | {"every": round(ROW / gaits.STEP)}, record=RECORDED)


def heights(run: lw.Run, x: float, y: float) -> float:
    """Height of the ground [m] at a point."""
    surface = run.mechanism.surfaces["ground"]
    return (
        0.0 if isinstance(surface.shape, lw.Plane) else -float(surface.shape.near(np.array([x - 6.0, y, 0.0])).distance)
    )


# --- walking ---


@pytest.mark.parametrize("name", ["straight", pytest.param("rough", marks=pytest.mark.slow)])
def test_walker_walks_ten_metres_without_falling(name: str) -> None:
    run = walked(name)
    assert run.outcome.kind == "finished"
    assert run.q[-1, 0] > 10.0
    assert np.abs(run.q[:, 1]).max() < (0.01 if name == "straight" else 0.3)
    assert np.degrees(gaits.tilt(run.q)).max() < (0.5 if name == "straight" else 15.0)
    assert np.mean(run["contact.state"].max(axis=-1) > 1.0) > 0.99  # some feet stand


def test_walker_advances_one_stride_per_stance() -> None:
    """The frame moves over feet in stance as they stroke backward, without tilt or vertical motion."""
    run = walked("straight")
    late = run.t > WALKING
    speed = np.polyfit(run.t[late], run.q[late, 0], 1)[0]
    assert speed == pytest.approx(gaits.STRIDE / (gaits.STANDING * gaits.PERIOD), rel=0.01)
    assert np.ptp(run.q[late, 2]) < 8e-3


@pytest.mark.parametrize(
    ("name", "most", "usual"),
    [("straight", 3e-3, 2e-3), ("turning", 0.02, 3e-3), pytest.param("rough", 0.05, 5e-3, marks=pytest.mark.slow)],
)
def test_feet_of_the_walker_in_stance_do_not_slip(name: str, most: float, usual: float) -> None:
    """At most some millimetres by springs and friction; in a turn the strokes of both frames are not parallel."""
    run = walked(name)
    slips = gait_measures.slips(run, WALKING)
    assert len(slips) > 8 * (run.t[-1] - WALKING) / gaits.PERIOD - 8
    assert slips.max() < most
    assert np.median(slips) < usual


def test_feet_of_the_walker_land_and_lift_off_without_horizontal_speed() -> None:
    """The gait cycle is smooth where a swing begins and ends, and feet are lifted only in the swing."""
    for phase in (0.0, gaits.STANDING):
        before, after = (gaits.swing(phase + side * 1e-7) for side in (-1.0, 1.0))
        here = gaits.swing(phase)
        for one in (before, after):
            assert abs(one.back - here.back) / 1e-7 == pytest.approx(1.0 / gaits.STANDING, rel=1e-5)
    rng = np.random.default_rng(0)
    for phase in rng.uniform(0.0, 1.0, 50):
        assert (gaits.swing(phase).lifted > 0.0) == (phase > gaits.STANDING)
    assert gaits.swing(0.5 * (1.0 + gaits.STANDING)).lifted == pytest.approx(1.0)


def test_walker_uses_about_30_watts_of_motor_power_and_none_in_the_braked_yaw_motor() -> None:
    """Only drives act on joints; a walk on flat ground takes about 30 W, and the braked yaw motor gives none."""
    run = walked("straight")
    late = run.t >= WALKING
    rows = np.array([drive.row for drive in run.mechanism.drives])
    forces = np.linalg.lstsq(rows.T, run.tau[late].T, rcond=None)[0]
    assert np.allclose(rows.T @ forces, run.tau[late].T, rtol=0, atol=1e-10)  # nothing but drives acts on joints
    assert 20.0 < gait_measures.motor_power(run, WALKING).sum() < 40.0
    assert 0.2 < gait_measures.cost_of_transport(run, WALKING) < 0.4
    still = gait_measures.motor_power(run, WALKING)[run.mechanism.drives.index_of("yaw")]
    assert still < 1e-9  # the brake holds it


def test_mean_ground_force_of_the_walker_is_its_weight() -> None:
    """Momentum is periodic, so over whole periods the ground force equals the weight, within the sample interval."""
    run = walked("straight")
    rows = slice(800, 800 + 18 * round(gaits.PERIOD / ROW))
    force = run["contact.force"][rows].sum(axis=1).mean(axis=0)
    assert force[2] == pytest.approx(run.mechanism.mass * 9.81, rel=0.02)
    assert np.abs(force[:2]).max() < 0.02 * force[2]


@pytest.mark.parametrize("name", ["straight", pytest.param("rough", marks=pytest.mark.slow)])
def test_walker_with_all_clutches_moves_in_eleven_coordinates(name: str) -> None:
    """Joint velocities follow from the base and five motors by the paper's matrices D0 D1 D2 D3."""
    run = walked(name)
    velocity_map = walker.limbs(run.mechanism).velocity_map
    rates = np.linalg.lstsq(velocity_map, run.v.T, rcond=None)[0]
    assert np.abs(velocity_map @ rates - run.v.T).max() < 1e-12 * np.abs(run.v).max()


def test_walker_turns_with_an_unlocked_yaw_joint() -> None:
    run, walk = walked("turning"), gaits.turning()
    m, yaw = run.mechanism, run.v[:, run.mechanism.joints["yaw"].v.start]
    unlock, lock = (entry[0] for entry in walk.schedule[-2:])
    assert (np.abs(yaw[(run.t < unlock) | (run.t > lock + ROW)]) < 1e-12).all()
    assert np.abs(yaw).max() > 1.0
    assert float(gaits.heading(m, run.q[-1])) == pytest.approx(0.5 * np.pi, abs=0.03)
    assert np.degrees(gaits.tilt(run.q)).max() < 0.5
    switched = [event.what.partition(" (")[0] for event in run.events]
    assert switched == [f"{verb} {name}" for _, verb, name in walk.schedule]


@pytest.mark.slow
def test_walker_climbs_a_step_with_reversed_clutches() -> None:
    run = walked("climb")
    assert run.q[-1, 0] > 3.5
    standing = walker_mechanism.START + heights(run, *run.q[-1, :2])
    assert run.q[-1, 2] == pytest.approx(standing, abs=0.04)
    assert np.degrees(gaits.tilt(run.q)).max() < 30.0
    reversals = [event for event in run.events if event.what.startswith("reverse")]
    assert len(reversals) == 16
    ratios = run.mechanism.clutches["top back left femur clutch"].ratio
    assert ratios == -1.0


@pytest.mark.slow
def test_walker_cannot_climb_the_step_without_reversed_clutches() -> None:
    assert lw.simulate(**gaits.climb(lean=0.0).arguments, record=("q",)).q[-1, 0] < 2.0


# --- many ---


@pytest.mark.slow
@pytest.mark.parametrize(("count", "duration", "alone"), [(5, 1.0, 2), (1000, 0.3, 300), (1000, 4.0, 20)])
def test_walkers_in_a_batch_match_single_runs(
    count: int, duration: float, alone: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the last bit, with separate schedules; other schedules need no new kernel, alone or in a batch."""
    crowd = gaits.crowd(count, duration)
    together = lw.simulate(**crowd.arguments, record=RECORDED)
    assert len(np.unique(together.q[:, -1, 1])) == count
    built = []
    build = kernel.Kernel._build
    for place, k in enumerate(np.linspace(0, count - 1, alone).astype(int)):
        one = lw.simulate(**crowd.member(k).arguments, record=RECORDED)
        assert np.array_equal(one.q, together.q[k])
        assert np.array_equal(one.v, together.v[k])
        if not place:  # one alone has kernels of its own, for all others too
            monkeypatch.setattr(kernel.Kernel, "_build", lambda self, width: built.append(width) or build(self, width))
    lw.simulate(**gaits.crowd(count, duration, seed=1).arguments, record=RECORDED)
    assert not built


@pytest.mark.slow
@pytest.mark.parametrize("method", ["variational", "rattle", "midpoint", "energy-momentum"])
def test_walker_walks_with_every_suitable_integration_method(method: str) -> None:
    """At twice the step of "semi-implicit" the path agrees to 6 mm of 1.1 m, and clutched joints stay coupled."""
    rough = lw.simulate(**gaits.straight(3.0).arguments, record=RECORDED)
    problem = gaits.straight(3.0).arguments | {"method": method, "dt": 2.0 * gaits.STEP, "every": 20}
    run = lw.simulate(**problem, record=(*RECORDED, "iterations")).check()
    assert np.abs(run.q[:, :3] - rough.q[:, :3]).max() < 6e-3
    assert np.abs(run.q[:, 7:] - rough.q[:, 7:]).max() < 0.05
    assert np.median(run["iterations"][1:]) <= {"midpoint": 6.0, "energy-momentum": 12.0}.get(method, 2.0)
    constraint_rows = velocity_row_matrix(
        run.mechanism.with_parameters({f"{c.name}.engaged": 1.0 for c in run.mechanism.clutches})
    )
    assert np.abs(run.v @ constraint_rows.T).max() < 1e-10
