"""Rigid contacts against closed forms: static friction from rest, rolling, spinning and tumbling, at second order."""

from functools import cache

import numpy as np
import pytest
from numpy.typing import ArrayLike

import linkwork as lw
from linkwork.simulation.results.run import Run
from linkwork.spatial.rotation import matrix_from_quaternion, quaternion_about_axis

G = 9.81
STATIC, DYNAMIC = 0.6, 0.3
BETWEEN = np.arctan(0.45)  # slope between the two friction angles
SIZE = (0.2, 0.2, 0.1)
RADIUS = 0.1
RECORD = ("q", "v", "work", "contact.state", "contact.force", "contact.slip")
HALVED = (4e-3, 2e-3, 1e-3)


def downhill(angle: float | np.ndarray) -> np.ndarray:
    return G * np.stack([np.sin(angle), np.zeros(np.shape(angle)), -np.cos(angle)], axis=-1)


def simulated(
    m: lw.Mechanism, q: ArrayLike, v: ArrayLike, duration: float, dt: float, angle: float | np.ndarray = 0.0
) -> Run:
    """Run a mechanism on the plane z = 0 with gravity turned by `angle` [rad], one number or one per member."""
    given = {"gravity": downhill(angle)}
    return lw.simulate(m, q, v, duration, dt, contact="rigid", record=RECORD, parameters=given).check()


def orders(errors: list[float]) -> np.ndarray:
    """Orders of convergence for errors at steps that are halved each time."""
    return np.log2(np.array(errors[:-1]) / np.array(errors[1:]))


# --- static and dynamic friction ---


@cache
def block(friction: tuple[float, float] = (STATIC, DYNAMIC)) -> lw.Mechanism:
    squares = np.square(SIZE)
    b = lw.Builder("block", gravity=(0, 0, -G)).body("block", 2.0, inertia=2.0 / 12.0 * (squares.sum() - squares))
    b.joint("free", lw.Free(), "world", "block").surface("floor", lw.Plane())
    return b.touch("corner", "block", lw.box_corners(SIZE)[:4], friction=friction).build()


def laid(height: float = 0.0) -> list[float]:
    return [0, 0, 0.5 * SIZE[2] + height, 1, 0, 0, 0]


def test_block_laid_between_static_and_dynamic_friction_angle_sticks() -> None:
    run = simulated(block(), laid(), np.zeros(6), 2.0, 1e-3, BETWEEN)
    assert np.abs(run.q - run.q[0]).max() < 1e-14
    assert (run["contact.state"][1:] == 4.0).all()
    weight = 2.0 * downhill(BETWEEN)
    assert run["contact.force"][-1].sum(axis=0) == pytest.approx(-weight, abs=1e-9)


@pytest.mark.parametrize("height", [1e-6, 1e-3, 0.05])
def test_block_dropped_between_static_and_dynamic_friction_angle_sticks_where_it_lands(height: float) -> None:
    run = simulated(block(), laid(height), np.zeros(6), 1.0, 1e-3, BETWEEN)
    falls = np.sqrt(2.0 * height / (G * np.cos(BETWEEN)))
    late = run.t > falls + 2e-3
    assert np.abs(run.v[late]).max() < 1e-12
    assert (run["contact.state"][late] == 4.0).all()
    landed = 0.5 * G * np.sin(BETWEEN) * falls**2
    assert abs(run.q[-1, 0] - landed) < 2e-3 * G * (falls + 2e-3)  # it lands up to two steps late


def test_block_above_the_static_friction_angle_slides_with_dynamic_friction_from_the_first_step() -> None:
    angle = np.arctan(STATIC) + 1e-6
    run = simulated(block(), laid(), np.zeros(6), 0.5, 1e-3, angle)
    a = G * (np.sin(angle) - DYNAMIC * np.cos(angle))
    assert run.q[:, 0] == pytest.approx(0.5 * a * run.t**2, abs=1e-12)
    assert (run["contact.state"][1:] == 2.0).all()


def test_block_pushed_downhill_between_static_and_dynamic_friction_angle_keeps_sliding() -> None:
    run = simulated(block(), laid(), [0.1, 0, 0, 0, 0, 0], 0.5, 1e-3, BETWEEN)
    a = G * (np.sin(BETWEEN) - DYNAMIC * np.cos(BETWEEN))
    assert run.q[:, 0] == pytest.approx(0.1 * run.t + 0.5 * a * run.t**2, abs=1e-12)


@pytest.mark.parametrize("angle", [BETWEEN, np.arctan(STATIC) + 0.05])
def test_block_pushed_uphill_stops_and_returns_only_above_the_static_friction_angle(angle: float) -> None:
    speeds = -np.linspace(0.9, 1.0, 7)  # it stops at different times within a step
    q, v = np.tile(laid(), (7, 1)), np.zeros((7, 6))
    v[:, 0] = speeds
    run = simulated(block(), q, v, 0.5, 1e-3, np.full(7, angle))
    stops = -speeds / (G * (np.sin(angle) + DYNAMIC * np.cos(angle)))
    rests = run.t > stops[:, None] + 1e-3
    if angle == BETWEEN:
        assert (run["contact.state"][rests] == 4.0).all()
        assert np.abs(run.v[rests]).max() < 1e-12
        assert run.q[:, -1, 0] == pytest.approx(0.5 * speeds * stops, abs=2e-5)
    else:
        back = G * (np.sin(angle) - DYNAMIC * np.cos(angle)) * (0.5 - stops)
        assert run.v[:, -1, 0] == pytest.approx(back, abs=1e-3 * G)


def test_continued_run_and_batch_members_match_a_run_from_rest_to_the_bit() -> None:
    angles = np.array([0.2, BETWEEN, 0.6])
    together = simulated(block(), laid(1e-3), np.zeros(6), 0.2, 1e-3, angles)
    for k, angle in enumerate(angles):
        alone = simulated(block(), laid(1e-3), np.zeros(6), 0.2, 1e-3, angle)
        half = simulated(block(), laid(1e-3), np.zeros(6), 0.1, 1e-3, angle)
        rest = lw.simulate(block(), half, duration=0.1, contact="rigid")
        for series in ("q", "v", "contact.state", "contact.force"):
            assert np.array_equal(alone[series], together[series][k])
            assert np.array_equal(rest[series][-1], alone[series][-1])


def test_motion_of_a_block_on_a_curved_path_has_order_two() -> None:
    m, q, v = block((0.3, 0.3)), laid(), [0, 2.0, 0, 0, 0, 0]
    finest = simulated(m, q, v, 0.24, 5e-5, 0.2).q[-1]
    errors = [np.abs(simulated(m, q, v, 0.24, dt, 0.2).q[-1] - finest).max() for dt in HALVED]
    assert (orders(errors) > 1.9).all()
    assert errors[-1] < 1e-6


# --- free flight ---


@cache
def ball(inertia: tuple[float, float, float], com: tuple[float, float, float] = (0, 0, 0)) -> lw.Mechanism:
    b = lw.Builder("ball", gravity=(0, 0, -G)).body("ball", 1.0, com=com, inertia=inertia)
    b.joint("free", lw.Free(), "world", "ball").surface("floor", lw.Plane())
    return b.touch("skin", "ball", radius=RADIUS, friction=0.5).build()


SPHERE = (0.4 * RADIUS**2,) * 3


@pytest.mark.parametrize("spin", [[0, 0, 300.0], [1000.0, -2000.0, 500.0]])
def test_spinning_ball_flies_on_a_parabola(spin: list[float]) -> None:
    run = simulated(ball(SPHERE), [0, 0, 100, 1, 0, 0, 0], [10.0, 0, 0, *spin], 3.0, 1e-3)
    path = np.column_stack([10.0 * run.t, 0.0 * run.t, 100.0 - 0.5 * G * run.t**2])
    assert np.abs(run.q[:, :3] - path).max() < 1e-10


def test_tumbling_body_conserves_momentum_and_has_order_two() -> None:
    m = ball((0.004, 0.006, 0.009), (0.01, 0.02, -0.03))
    q, v = [0, 0, 100, 1, 0, 0, 0], [1.0, 2.0, 3.0, 10.0, 20.0, -30.0]
    finest = simulated(m, q, v, 0.48, 5e-5).q[-1]
    errors = []
    for dt in HALVED:
        run = simulated(m, q, v, 0.48, dt)
        pushed = run.momentum - np.outer(run.t, [0, 0, -G, 0, 0, 0])
        assert np.abs(pushed[:, :3] - pushed[0, :3]).max() < 1e-12
        R = matrix_from_quaternion(np.moveaxis(run.q[:, 3:], -1, 0))
        spin = np.einsum("ijt,tj->ti", R, run.v[:, 3:] * np.array([0.004, 0.006, 0.009]))  # about the centre of mass
        assert np.abs(spin - spin[0]).max() < 1e-13
        errors.append(np.abs(run.q[-1] - finest).max())
    assert (orders(errors) > 1.9).all()
    assert errors[-1] < 1e-4


def test_energy_of_a_fast_tumbling_body_does_not_drift() -> None:
    m = ball((0.004, 0.006, 0.009))
    run = simulated(m, [0, 0, 1e4, 1, 0, 0, 0], [0, 0, 0, 100.0, 200.0, -150.0], 20.0, 1e-3)
    turning = 0.5 * (run.v[:, 3:] ** 2 * np.array([0.004, 0.006, 0.009])).sum(axis=1)
    assert np.abs(turning[-1000:].mean() / turning[:1000].mean() - 1.0) < 1e-3


def test_free_flyer_with_spinning_links_has_order_two() -> None:
    b = lw.Builder("flyer", gravity=(0, 0, 0)).body("base", 2.0, com=(0.02, 0, 0.01), inertia=(0.02, 0.03, 0.04))
    b.joint("free", lw.Free(), "world", "base").surface("floor", lw.Plane(), at=(0, 0, -100.0))
    b.body("arm", 1.0, com=(0.2, 0, 0), inertia=(0.001, 0.02, 0.02))
    b.joint("shoulder", lw.Revolute((0, 0, 1)), "base", "arm", at=(0.1, 0, 0))
    b.body("bob", 0.5, com=(0.1, 0, 0.05), inertia=(0.002, 0.003, 0.004))
    b.joint("neck", lw.Ball(), "base", "bob", at=(-0.1, 0, 0))
    m = b.touch("tip", "arm", (0.4, 0, 0)).build()
    q, v = m.neutral(), [1.0, 0, 0, 2.0, -3.0, 4.0, 5.0, 3.0, 6.0, -4.0]
    finest = simulated(m, q, v, 0.24, 5e-5).q[-1]
    errors = [np.abs(simulated(m, q, v, 0.24, dt).q[-1] - finest).max() for dt in HALVED]
    assert (orders(errors) > 1.9).all()


# --- rolling ---


def test_normal_force_of_a_fast_rolling_ball_is_its_weight() -> None:
    run = simulated(ball(SPHERE), [0, 0, RADIUS, 1, 0, 0, 0], [10.0, 0, 0, 0, 10.0 / RADIUS, 0], 1.0, 1e-3)
    assert run["contact.force"][1:, 0] == pytest.approx(np.tile([0, 0, G], (1000, 1)), abs=1e-9)
    assert run.q[:, 0] == pytest.approx(10.0 * run.t, abs=1e-12)
    assert np.abs(run["contact.slip"]).max() < 1e-11


@cache
def cylinder() -> lw.Mechanism:
    side = RADIUS**2 / 4.0 + 0.4**2 / 12.0
    b = lw.Builder("roller", gravity=(0, 0, -G)).body("roller", 1.0, inertia=(side, 0.5 * RADIUS**2, side))
    b.joint("free", lw.Free(), "world", "roller").surface("floor", lw.Plane())
    return b.touch("rim", "roller", np.array([[0, -0.2, 0], [0, 0.2, 0]]), radius=RADIUS, friction=0.5).build()


@pytest.mark.parametrize("shape", ["sphere", "cylinder"])
@pytest.mark.parametrize("dt", [1e-3, 1e-2])
def test_bodies_rolling_down_a_slope_have_the_exact_acceleration_and_forces(shape: str, dt: float) -> None:
    m, k = (ball(SPHERE), 0.4) if shape == "sphere" else (cylinder(), 0.5)
    angle = np.radians(20.0)
    run = simulated(m, [0, 0, RADIUS, 1, 0, 0, 0], np.zeros(6), 1.0, dt, angle)
    a = G * np.sin(angle) / (1.0 + k)
    assert run.q[:, 0] == pytest.approx(0.5 * a * run.t**2, abs=1e-11)
    assert run.v[:, 4] == pytest.approx(a / RADIUS * run.t, abs=1e-10)
    force = run["contact.force"][1:].sum(axis=1)
    assert force == pytest.approx(np.tile([-k * a, 0, G * np.cos(angle)], (len(force), 1)), abs=1e-9)
    assert (run["contact.state"][1:] == 4.0).all()


# --- spinning top ---


def test_spinning_top_precesses_steadily_with_order_two() -> None:
    """A p^2 cos(tilt) - C w p + m g l = 0, with the inertias A and C about the tip and the precession rate p."""
    mass, l, side, C, w, tilt = 0.5, 0.05, 2e-4, 3e-4, 300.0, 0.4
    A, cos = side + mass * l**2, np.cos(tilt)
    p = (C * w - np.sqrt((C * w) ** 2 - 4.0 * A * cos * mass * G * l)) / (2.0 * A * cos)
    b = lw.Builder("top", gravity=(0, 0, -G)).body("top", mass, inertia=(side, side, C))
    b.joint("free", lw.Free(), "world", "top").surface("floor", lw.Plane())
    m = b.touch("tip", "top", (0, 0, -l), friction=2.0).build()
    turn = quaternion_about_axis(np.array([1.0, 0, 0]), tilt)
    spin = p * matrix_from_quaternion(turn)[2] + np.array([0, 0, w - p * cos])
    q, v = [*(l * matrix_from_quaternion(turn)[:, 2]), *turn], [*np.cross(spin, [0, 0, l]), *spin]
    errors = []
    for dt in (5e-4, 2.5e-4, 1.25e-4):
        run = simulated(m, q, v, 1.0, dt)
        assert (run["contact.state"][1:] == 4.0).all()
        axis = matrix_from_quaternion(np.moveaxis(run.q[:, 3:], -1, 0))[:, 2].T
        turned = np.unwrap(np.arctan2(axis[:, 0], -axis[:, 1]))
        moved = np.abs(run.q[:, :3] - l * axis).max()
        pressed = np.abs(run["contact.force"][1:, 0, 2] / (mass * G) - 1.0).max()
        errors.append([np.abs(np.arccos(axis[:, 2]) - tilt).max(), abs(turned[-1] - turned[0] - p), moved, pressed])
    for each in np.array(errors).T:
        assert (orders(list(each)) > 1.85).all()
    assert (np.array(errors[-1]) < [1e-5, 1e-4, 1e-5, 1e-4]).all()
