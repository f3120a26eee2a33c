"""Contacts of rigid solids never add energy: random scenes, rolling rims, push-out from penetration."""

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.tangent_space import displaced
from linkwork.simulation.methods.energy_limited_push_out import energy_limited_push_out
from linkwork.simulation.simulated_system import System
from linkwork.spatial.rotation import matrix_from_quaternion, product
from linkwork.spatial.scalar import Array
from random_solid_scenes import KINDS, floor_distances, random_mechanism, random_starts

G = 9.81


def one_solid(shape: Any, inertia: tuple[float, float, float], **force_law: Any) -> lw.Mechanism:
    """A body of 1 kg with one shape above a plane."""
    b = lw.Builder(gravity=(0, 0, -G)).surface("floor", lw.Plane())
    b.body("body", 1.0, inertia=inertia).joint("body", lw.Free(), "world", "body")
    return b.geometry("body", shape, role="collision").collide("all", **force_law).build()


def gain_and_turnover(m: lw.Mechanism, run: Any) -> tuple[Array, Array]:
    """The largest rise of the total energy above an earlier value, and the sum of all changes of kinetic energy [J]."""
    kinetic, potential = lw.compile(m).energy(run.q, run.v)
    energy = kinetic + potential
    gain = (energy - np.minimum.accumulate(energy, axis=-1)).max(axis=-1)
    return gain, np.abs(np.diff(kinetic, axis=-1)).sum(axis=-1) + kinetic[..., 0]


def scenes_add_no_energy(seed: int, kinds: tuple[str, ...], count: int, duration: float) -> None:
    rng = np.random.default_rng(seed)
    m, shapes = random_mechanism(rng, kinds)
    q, v, given = random_starts(rng, len(kinds), count)
    run = lw.simulate(m, q, v, duration, contact="rigid", parameters=given, record=("q", "v", "contact.state")).check()
    assert (run["contact.state"] > 1).any(axis=(1, 2)).all()
    gain, turnover = gain_and_turnover(m, run)
    assert (gain < 1e-11 * turnover).all()
    depth = -floor_distances(shapes, run.q).min(axis=(1, 2))
    fastest = np.abs(run.v).max(axis=(1, 2))
    assert (depth < 2.0 * fastest * run.settings.dt).all()  # an impact is late by one step at most


def test_random_scenes_of_two_solids_add_no_energy() -> None:
    scenes_add_no_energy(0, ("box", "capsule"), 6, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 21))
def test_a_thousand_random_scenes_of_five_solids_add_no_energy(seed: int) -> None:
    """Half of them have one solid of each kind, the others may have several of a kind."""
    kinds = KINDS if seed % 2 else tuple(np.random.default_rng(seed).choice(KINDS, 5).tolist())
    scenes_add_no_energy(seed, kinds, 50, 2.0)


@pytest.mark.parametrize(("tilt", "spin", "turn"), [(0.3, 8.0, 6.0), (0.2, 20.0, 1.0)])
def test_coin_that_rolls_on_its_rim_gains_no_energy_and_does_not_sink(tilt: float, spin: float, turn: float) -> None:
    """The rim sticks; `turn` is the angular velocity [rad/s] about the vertical, and the coin leans by `tilt`."""
    r, thick = 0.1, 0.01
    m = one_solid(lw.Cylinder(r, thick), (r * r / 4, r * r / 4, r * r / 2), friction=5.0)
    lean = 0.5 * (0.5 * np.pi - tilt)
    start = np.array([np.cos(lean), np.sin(lean), 0, 0])
    R = np.array(matrix_from_quaternion(start), dtype=float)
    low = R @ [0, -r, -0.5 * thick]
    w = R @ [0, 0, spin] + [0, 0, turn]
    q, v = [0, 0, -low[2], *start], [*(R.T @ -np.cross(w, low)), *(R.T @ w)]
    lost = []
    for dt in (2e-3, 1e-3, 5e-4):
        run = lw.simulate(m, q, v, 2.0, dt, contact="rigid", record=("q", "v", "work")).check()
        gain, turnover = gain_and_turnover(m, run)
        assert gain < 1e-12 * turnover
        lost.append(-run["work"][-1])
        turned = np.array(matrix_from_quaternion(run.q[:, 3:].T), dtype=float)
        lowest = run.q[:, 2] - r * np.hypot(turned[2, 0], turned[2, 1]) - 0.5 * thick * abs(turned[2, 2])
        assert lowest.min() > -2.5 * G * dt * dt
    assert 0.0 < lost[1] < 1e-3 * turnover
    assert np.log2(lost[0] / lost[2]) > 3.0  # two halvings of the step


def test_ball_that_rises_inside_the_floor_is_not_held_back() -> None:
    """To hold it back until it is at rest would add energy."""
    m = one_solid(lw.Sphere(0.1), (0.004, 0.004, 0.004), friction=0.5)
    h, depth = 1e-3, 1e-5
    rise = 0.5 * G * h
    run = lw.simulate(m, [0, 0, 0.1 - depth, 1, 0, 0, 0], [0, 0, rise, 0, 0, 0], h, h, contact="rigid")
    assert run.v[-1, 2] == pytest.approx(rise - G * h, abs=1e-12)
    assert run.q[-1, 2] == pytest.approx(0.1 - depth + rise * h - 0.5 * G * h * h, abs=1e-12)


def test_solids_that_start_inside_the_floor_are_raised_in_the_first_step_only() -> None:
    m = one_solid(lw.Box((0.2, 0.3, 0.2)), (0.01, 0.012, 0.014), friction=0.5)
    turn = product(np.array([np.cos(0.1), np.sin(0.1), 0, 0]), np.array([np.cos(0.15), 0, np.sin(0.15), 0]))
    with pytest.warns(UserWarning, match="inside each other"):
        run = lw.simulate(m, [0, 0, 0.08, *turn], duration=1.0, dt=1e-3, contact="rigid")
    kinetic, potential = lw.compile(m).energy(run.q, run.v)
    energy = kinetic + potential
    assert energy[1] > energy[0] + 0.1
    assert np.diff(energy)[1:].max() < 1e-14
    assert run.q[-1, 2] == pytest.approx(0.1, abs=2e-5)
    assert np.abs(run.v[-1]).max() < 1e-12


def test_push_out_of_solids_does_at_most_the_permitted_work() -> None:
    m = one_solid(lw.Sphere(0.1), (0.004, 0.005, 0.006))
    rng = np.random.default_rng(0)
    q, v = m.random(rng), rng.normal(size=6)
    R = np.array(matrix_from_quaternion(q[3:]), dtype=float)
    up, level = np.array([*(R.T @ [1e-3, 0, 1e-3]), 0.01, 0, 0]), np.array([*(R.T @ [1e-3, 0, 0]), 0, 0, 0])
    system = System(m)
    before = sum(system.energies(q, v))
    full = sum(system.energies(*displaced(m, q, v, up))) - before
    for budget, expected in ((1.0, full), (full * 0.5, full * 0.5), (0.0, 0.0)):
        out = energy_limited_push_out(system, q, v, up, budget)
        assert out.work == pytest.approx(sum(system.energies(out.q, out.v)) - before, abs=1e-14)
        assert out.work == pytest.approx(expected, rel=0.01)
        assert out.work <= budget
        turned = np.array(matrix_from_quaternion(out.q[3:]), dtype=float)
        assert turned @ out.v[:3] == pytest.approx(R @ v[:3], abs=1e-14)  # the momentum does not change
    out = energy_limited_push_out(system, q, v, level, 0.0)
    assert out.q[:3] == pytest.approx([q[0] + 1e-3, q[1], q[2]], abs=1e-15)
