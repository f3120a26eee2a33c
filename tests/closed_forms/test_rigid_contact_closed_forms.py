"""Rigid contacts against closed forms: balls bounce and roll, blocks slide and stick."""

from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation.results.run import Run

G = 9.81
MU = 0.5
ANGLE = np.arctan(MU)
SIZE = (0.2, 0.2, 0.1)
RADIUS = 0.1
RECORD = ("q", "v", "work", "contact.state", "contact.force", "contact.slip")


@cache
def block(restitution: float = 0.0) -> lw.Mechanism:
    squares = np.square(SIZE)
    b = lw.Builder("block", gravity=(0, 0, -G)).body("block", 2.0, inertia=2.0 / 12.0 * (squares.sum() - squares))
    b.joint("free", lw.Free(), "world", "block").surface("floor", lw.Plane())
    corners = lw.box_corners(SIZE)[:4]
    return b.touch("corner", "block", corners, friction=MU, restitution=restitution).build()


def downhill(angle: float) -> np.ndarray:
    return G * np.array([np.sin(angle), 0.0, -np.cos(angle)])


def slid(angle: float, duration: float, v0: tuple[float, ...] = (0.0,) * 6, dt: float = 1e-3, every: int = 1) -> Run:
    """Simulate a block that starts on an incline with velocity v0, and return the run."""
    given = {"gravity": downhill(angle)}
    q0 = [0, 0, 0.5 * SIZE[2], 1, 0, 0, 0]
    return lw.simulate(
        block(), q0, v0, duration, dt, contact="rigid", record=RECORD, every=every, parameters=given
    ).check()


# --- blocks ---


@pytest.mark.parametrize("below", [0.1, 1e-5])
def test_block_sticks_below_the_friction_angle_and_slides_above_it(below: float) -> None:
    held, let_go = (slid(ANGLE + np.radians(side * below), 1.0) for side in (-1.0, 1.0))
    assert (held["contact.state"][-1] == 4.0).all()
    assert abs(held.q[-1, 0]) < 1e-12
    assert (let_go["contact.state"][1:] == 2.0).all()
    angle = ANGLE + np.radians(below)
    assert let_go.q[-1, 0] == pytest.approx(0.5 * G * (np.sin(angle) - MU * np.cos(angle)), abs=1e-12)
    assert let_go.v[-1, 0] == pytest.approx(G * (np.sin(angle) - MU * np.cos(angle)), abs=1e-12)
    weight = 2.0 * G * np.cos(angle)
    assert let_go["contact.force"][-1].sum(axis=0) == pytest.approx([-MU * weight, 0.0, weight], rel=1e-10, abs=1e-10)


def test_sticking_block_does_not_creep_in_a_minute() -> None:
    run = slid(ANGLE - 1e-3, 60.0, every=1000)
    assert np.abs(run.q - run.q[1]).max() < 1e-14


def test_pushed_block_stops_at_the_stopping_distance() -> None:
    distance = 1.0 / (2.0 * MU * G)
    errors = [abs(slid(0.0, 0.5, (1.0, 0, 0, 0, 0, 0), dt).q[-1, 0] - distance) for dt in (4e-3, 2e-3, 1e-3)]
    assert max(error / dt for error, dt in zip(errors, (4e-3, 2e-3, 1e-3), strict=True)) < 5e-4
    run = slid(0.0, 0.5, (1.0, 0, 0, 0, 0, 0))
    assert (run["contact.state"][-1] == 4.0).all()
    assert np.abs(run.v[-1]).max() < 1e-15
    assert run["work"][-1] == pytest.approx(-1.0, rel=1e-12)


def test_spinning_block_stops_by_friction_at_its_corners() -> None:
    run = slid(0.0, 0.2, (0, 0, 0, 0, 0, 5.0))
    inertia, arm = 2.0 / 12.0 * 0.08, 0.1 * np.sqrt(2.0)
    stops = run.t[np.argmax(np.abs(run.v[:, 5]) < 1e-12)]
    assert stops == pytest.approx(5.0 * inertia / (MU * 2.0 * G * arm), abs=1e-3)


# --- balls ---


@cache
def ball() -> lw.Mechanism:
    b = lw.Builder("ball", gravity=(0, 0, -G)).body("ball", 1.0, inertia=0.4 * RADIUS**2 * np.ones(3))
    b.joint("free", lw.Free(), "world", "ball").surface("floor", lw.Plane())
    return b.touch("skin", "ball", radius=RADIUS, friction=0.3).build()


def thrown(dt: float, restitution: object = 0.0, height: float = 0.0, speed: float = 0.0, duration: float = 1.0) -> Run:
    given = {"skin.restitution": np.asarray(restitution, dtype=float)}
    q0, v0 = [0, 0, RADIUS + height, 1, 0, 0, 0], [speed, 0, 0, 0, 0, 0]
    return lw.simulate(ball(), q0, v0, duration, dt, contact="rigid", record=RECORD, parameters=given).check()


def tops(height: np.ndarray) -> np.ndarray:
    inner = height[1:-1]
    return inner[(inner > height[:-2]) & (inner >= height[2:])]


def test_bounce_height_is_the_square_of_the_restitution() -> None:
    fractions = np.array([0.9, 0.5, 0.2])
    errors = []
    for dt in (1e-3, 2.5e-4):
        run = thrown(dt, fractions, height=1.0, duration=1.4)
        found = np.array([tops(run.q[k, :, 2] - RADIUS)[0] for k in range(3)])
        errors.append(np.abs(found - fractions**2).max())
        assert errors[-1] < 5.0 * dt  # it meets the floor late by a step at most, at 4.4 m/s
    assert errors[1] < errors[0]


def test_elastic_ball_returns_to_its_initial_height() -> None:
    run = thrown(1e-3, 1.0, height=1.0, duration=5.0)
    assert tops(run.q[:, 2] - RADIUS) == pytest.approx(np.ones(5), abs=1e-5)  # between rows it is a little higher
    assert np.abs(run.energy - run.energy[0]).max() < 1e-12 * run.energy[0]
    assert np.abs(run["work"]).max() < 1e-12


def test_bounces_end_after_finite_time() -> None:
    run = thrown(1e-3, 0.5, height=0.1, duration=1.0)
    ends = 3.0 * np.sqrt(2.0 * 0.1 / G)  # sum of all flights
    late = run.t > ends + 0.02
    assert np.abs(run.v[late]).max() < 1e-12
    assert (run["contact.state"][late] == 4.0).all()
    assert abs(run.q[-1, 2] - RADIUS) < 2e-5


def test_sliding_ball_loses_two_sevenths_of_its_speed_until_it_rolls() -> None:
    starts = 2.0 * 2.0 / (7.0 * 0.3 * G)  # to roll
    for dt in (2e-3, 1e-3):
        run = thrown(dt, speed=2.0)
        assert run.momentum[-1, 0] == pytest.approx(10.0 / 7.0, abs=0.02 * dt)
        spin = run.momentum[-1, 4] / (0.4 * RADIUS**2)
        assert spin * RADIUS == pytest.approx(10.0 / 7.0, abs=0.2 * dt)
        distance = 2.0 * starts - 0.15 * G * starts**2 + 10.0 / 7.0 * (1.0 - starts)
        assert run.q[-1, 0] == pytest.approx(distance, abs=0.5 * dt)
        rolls = run.t > starts + dt
        assert (run["contact.state"][1:][~rolls[1:] & (run.t[1:] < starts - dt)] == 2.0).all()
        assert (run["contact.state"][rolls] == 4.0).all()
        assert np.abs(run["contact.slip"][rolls]).max() < 1e-3 * dt / 1e-3


# --- several ---


def balls_on_a_wire(count: int, mass: float, gap: float) -> tuple[lw.Mechanism, np.ndarray]:
    """Return balls that slide on a wire, with a separate mass of the first, and their positions with a gap [m]."""
    b = lw.Builder("row", gravity=(0, 0, 0))
    for k in range(count):
        b.body(f"ball {k}", mass if k == 0 else 1.0, inertia=0.004 * np.ones(3))
        b.joint(f"wire {k}", lw.Prismatic(axis=(1, 0, 0)), "world", f"ball {k}")
        if k:
            b.surface(f"ball {k}", lw.Sphere(RADIUS), f"ball {k}")
            b.touch(f"on {k}", f"ball {k - 1}", radius=RADIUS, against=f"ball {k}", restitution=1.0)
    return b.build(), np.arange(count) * (2.0 * RADIUS + gap) - 0.1 * (np.arange(count) == 0)


def test_colliding_balls_conserve_momentum_and_energy() -> None:
    m, q0 = balls_on_a_wire(2, 3.0, 0.0)
    run = lw.simulate(m, q0, [1.0, -0.5], 0.3, 1e-3, contact="rigid").check()
    common = (3.0 - 0.5) / 4.0
    assert run.v[-1] == pytest.approx([2.0 * common - 1.0, 2.0 * common + 0.5], abs=1e-14)


@pytest.mark.parametrize("gap", [0.0, 2e-3])
def test_newtons_cradle_conserves_momentum_and_energy(gap: float) -> None:
    m, q0 = balls_on_a_wire(5, 1.0, gap)
    run = lw.simulate(m, q0, [1.0, 0, 0, 0, 0], 0.5, 1e-3, contact="rigid").check()
    assert run.v.sum(axis=1) == pytest.approx(np.ones(len(run.t)), abs=1e-13)
    assert 2.0 * run.energy == pytest.approx(np.ones(len(run.t)), abs=1e-13)
    last_leaves, together = [0, 0, 0, 0, 1.0], [-0.6, 0.4, 0.4, 0.4, 0.4]  # hit in turn, or all at once
    assert run.v[-1] == pytest.approx(last_leaves if gap else together, abs=1e-13)


def test_contact_between_free_bodies_conserves_momentum() -> None:
    b = lw.Builder("two", gravity=(0, 0, 0))
    for name in ("a", "b"):
        b.body(name, 1.0 if name == "a" else 2.0, inertia=(0.01, 0.02, 0.025)).joint(name, lw.Free(), "world", name)
    b.surface("round", lw.Sphere(RADIUS), "b").touch("skin", "a", radius=RADIUS, friction=0.4, restitution=0.7)
    q0, v0 = [-0.4, 0.05, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0], [1.0, 0, 0, 2, 3, -4.0, 0, 0, 0, 0, 0, 0]
    run = lw.simulate(b.build(), q0, v0, 0.5, 1e-3, contact="rigid").check()
    assert (run["contact.state"] > 1.0).any()
    assert run.momentum[:, :3] == pytest.approx(np.tile(run.momentum[0, :3], (len(run.t), 1)), abs=1e-4)
    assert run.energy[-1] < run.energy[0] - 0.05


# --- a rod that Kane threw ---


def test_oblique_impact_of_a_rod_adds_no_energy() -> None:
    """Newton's law of restitution alone would add energy (Kane 1984)."""
    b = lw.Builder("kane", gravity=(0, 0, 0)).surface("floor", lw.Plane(), at=(0, 0, 0))
    for name, parent, at in (("upper", "world", (0, 0, 1.8)), ("lower", "upper", (0, 0, -1.0))):
        b.body(name, 1.0, com=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 1e-6))
        b.joint(name, lw.Revolute(axis=(0, 1, 0)), parent, name, at=at)
    b.touch("tip", "lower", (0, 0, -1.0), friction=0.7, restitution=0.9)
    m = b.build()
    rng = np.random.default_rng(0)
    upper = rng.uniform(-1.0, 1.0, 200)
    lower = np.arccos(np.clip(1.8 - np.cos(upper), -1, 1)) * rng.choice([-1, 1], 200) - upper  # the tip is on the floor
    fits = np.abs(1.8 - np.cos(upper)) < 1.0
    q0, v0 = np.column_stack([upper, lower])[fits], rng.normal(size=(fits.sum(), 2))
    run = lw.simulate(m, q0, v0, 1e-3, 1e-3, contact="rigid", record=RECORD).check()
    hit = run["contact.state"][:, -1, 0] > 1.0
    assert hit.sum() > 30
    assert (run["work"][:, -1] < 1e-13).all()
    assert (np.abs(run["work"][hit, -1]) < 1e-12).any()  # some would have won, and are held to what they had


def test_ball_rolls_down_a_sphere_without_slipping_or_separating() -> None:
    b = lw.Builder("globe", gravity=(0, 0, -G)).body("ball", 1.0, inertia=0.4 * RADIUS**2 * np.ones(3))
    b.joint("free", lw.Free(), "world", "ball").surface("globe", lw.Sphere(1.0))
    m = b.touch("skin", "ball", radius=RADIUS, friction=0.9).build()
    q0 = [1.1 * np.sin(0.1), 0, 1.1 * np.cos(0.1), 1, 0, 0, 0]
    run = lw.simulate(m, q0, duration=0.8, dt=1e-3, contact="rigid", record=RECORD).check()
    assert (run["contact.state"][1:] == 4.0).all()
    speed, fallen = np.linalg.norm(run.v[:, :3], axis=1), q0[2] - run.q[:, 2]
    assert 0.7 * speed[-1] ** 2 == pytest.approx(G * fallen[-1], rel=1e-3)
    assert np.abs(np.linalg.norm(run.q[:, :3], axis=1) - 1.1).max() < 2e-5
