"""Compliant contacts against closed forms: blocks stick and slide, balls roll, masses bounce."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.examples import incline_block
from linkwork.simulation.results.run import Run
from linkwork.spatial.rotation import matrix_from_quaternion

G = 9.81
MU = incline_block.FRICTION
DEGREE = np.pi / 180.0


def downhill(angle: float, azimuth: float = 0.0) -> np.ndarray:
    """Gravity in the frame of a plane with this slope [rad] that falls in this direction [rad]."""
    along = np.sin(angle)
    return G * np.array([along * np.cos(azimuth), along * np.sin(azimuth), -np.cos(angle)])


# --- blocks ---

ANGLE = np.arctan(MU)
SPEED, SPIN = 1.0, 5.0
BLOCKS: dict[str, tuple[np.ndarray, tuple[float, ...]]] = {  # gravity, velocity
    "below": (downhill(ANGLE - 0.1 * DEGREE), (0,) * 6),
    "above": (downhill(ANGLE + 0.1 * DEGREE), (0,) * 6),
    "pushed": (downhill(0.0), (SPEED, 0, 0, 0, 0, 0)),
    "spun": (downhill(0.0), (0, 0, 0, 0, 0, SPIN)),
}


def block_run(cases: Mapping[Any, Any], duration: float, dt: float) -> Run:
    m = incline_block.build(0.0)
    gravity, v0 = (np.array(x, dtype=float) for x in zip(*cases.values(), strict=True))
    depth = -gravity[:, 2] * incline_block.MASS / (4.0 * incline_block.STIFFNESS)
    q0 = np.tile(m.keyframes["start"].q, (len(cases), 1))
    q0[:, 2] = 0.5 * incline_block.SIZE[2] - depth
    record = ("q", "v", "contact.state")
    return lw.simulate(
        m, q0, v0, duration, dt, "variational", record=record, every=50, parameters={"gravity": gravity}
    ).check()


@cache
def blocks() -> Run:
    return block_run(BLOCKS, 1.5, 2e-4)


def member(name: str) -> int:
    return list(BLOCKS).index(name)


def test_block_sticks_just_below_the_friction_angle() -> None:
    run, k = blocks(), member("below")
    assert (run["contact.state"][k, -1] == 4.0).all()
    assert np.abs(run.q[k, :, :2]).max() < 1e-12  # its anchor springs are stretched at the start
    assert np.abs(run.v[k, -1]).max() < 1e-8


def test_block_slides_just_above_the_friction_angle_at_the_expected_acceleration() -> None:
    run, k = blocks(), member("above")
    assert (run["contact.state"][k, 20:] == 2.0).all()
    angle, late = ANGLE + 0.1 * DEGREE, run.t >= 0.5
    a = 2.0 * np.polyfit(run.t[late], run.q[k, late, 0], 2)[0]
    assert a == pytest.approx(G * (np.sin(angle) - MU * np.cos(angle)), rel=1e-7)


def test_pushed_block_stops_at_the_stopping_distance() -> None:
    run, k = blocks(), member("pushed")
    assert run.q[k, -1, 0] == pytest.approx(SPEED**2 / (2.0 * MU * G), rel=2e-4)
    assert (run["contact.state"][k, -1] == 4.0).all()


def test_spinning_block_decelerates_by_friction_at_its_corners() -> None:
    run, k = blocks(), member("spun")
    arm, inertia = np.hypot(*incline_block.SIZE[:2]) / 2.0, incline_block.MASS / 12.0 * 2.0 * incline_block.SIZE[0] ** 2
    brake = MU * incline_block.MASS * G * arm / inertia
    spin = run.v[k, :, 5]
    while_ = run.t < 0.9 * SPIN / brake
    assert spin[while_] == pytest.approx(SPIN - brake * run.t[while_], abs=1e-6)
    assert np.abs(spin[run.t > 1.1 * SPIN / brake]).max() < 1e-3
    assert np.abs(spin[-1]) < 1e-9


def test_sticking_block_does_not_creep_in_a_minute() -> None:
    """Three slope directions, the last nearly as steep as friction can hold."""
    cases = {k: (downhill(a, z), (0,) * 6) for k, (a, z) in enumerate([(0.1, 0.0), (0.3, 1.0), (ANGLE - 0.05, 2.5)])}
    run = block_run(cases, 62.0, 1e-3)
    settled = run.t >= 2.0
    assert np.ptp(run.q[:, settled, :3], axis=1).max() < 1e-9
    assert (run["contact.state"][:, settled] == 4.0).all()


# --- balls ---

MASS, RADIUS, STIFFNESS = 2.0, 0.1, 1e5


def ball(**options: Any) -> lw.Mechanism:
    b = lw.Builder("ball", gravity=(0, 0, -G)).body("ball", MASS, inertia=0.4 * MASS * RADIUS**2 * np.ones(3))
    b.joint("free", lw.Free(), "world", "ball").surface("floor", options.pop("floor", lw.Plane()))
    return b.touch("skin", "ball", radius=RADIUS, stiffness=STIFFNESS, damping=200, friction=0.3, **options).build()


def ball_run(m: lw.Mechanism, v0: Any, duration: float, gravity: Any = (0, 0, -G), place: Any = (0, 0, 1)) -> Run:
    q0 = np.array([*(np.array(place) * (RADIUS - MASS * G / STIFFNESS)), 1, 0, 0, 0])
    return lw.simulate(
        m, q0, np.array(v0, dtype=float), duration, 5e-4, "variational", every=10,
        record=("q", "v", "contact.state", "contact.slip"), parameters={"gravity": np.array(gravity, dtype=float)},
    ).check()  # fmt: skip


def test_sliding_ball_loses_two_sevenths_of_its_speed_and_rolls_down_a_slope() -> None:
    slope = 10.0 * DEGREE
    run = ball_run(ball(), [[1.0, 0, 0, 0, 0, 0], [0] * 6], 1.0, [downhill(0.0), downhill(slope)])
    speed = np.gradient(run.q[0, :, 0], run.t)
    rolls = run.t > 2.0 / 7.0 / (0.3 * G) + 0.05
    assert speed[rolls] == pytest.approx(5.0 / 7.0, abs=2e-5)
    assert run.v[0, rolls, 4] * RADIUS == pytest.approx(speed[rolls], abs=1e-4)
    assert run.q[1, :, 0] == pytest.approx(0.5 * 5.0 / 7.0 * G * np.sin(slope) * run.t**2, abs=5e-6)
    assert np.abs(run["contact.slip"][1, run.t > 0.2]).max() < 1e-4
    assert (run["contact.state"][:, -1] == 4.0).all()


def test_ball_rolls_down_a_sphere_without_slipping() -> None:
    """(R + r) theta'' = 5/7 g sin(theta), in a plane that contains no axis of the sphere."""
    big, start = 1.0, 0.05
    out = np.array([np.sin(start) * np.cos(1.0), np.sin(start) * np.sin(1.0), np.cos(start)])
    place = out * (big / (RADIUS - MASS * G / STIFFNESS) + 1.0)
    run = ball_run(ball(floor=lw.Sphere(big)), [0] * 6, 0.8, place=place)
    angle = np.arctan2(np.hypot(run.q[:, 0], run.q[:, 1]), run.q[:, 2])
    rate = 5.0 / 7.0 * G / (big + RADIUS)
    state, h = np.array([start, 0.0]), run.t[1]
    wanted = [start]
    for _ in run.t[1:]:  # small steps of Runge and Kutta

        def slope(x: np.ndarray) -> np.ndarray:
            return np.array([x[1], rate * np.sin(x[0])])

        a = slope(state)
        b = slope(state + 0.5 * h * a)
        c = slope(state + 0.5 * h * b)
        state = state + h / 6.0 * (a + 2.0 * b + 2.0 * c + slope(state + h * c))
        wanted.append(state[0])
    assert angle == pytest.approx(np.array(wanted), rel=3e-4)
    assert np.abs(run["contact.slip"][run.t > 0.1]).max() < 1e-3


def test_rolling_and_spinning_friction_slow_a_ball() -> None:
    rolling, spinning, speed, spin = 1e-3, 2e-3, 0.5, 3.0
    run = ball_run(ball(rolling=rolling, spinning=spinning), [speed, 0, 0, 0, speed / RADIUS, spin], 1.0)
    t = run.t
    inertia = 0.4 * MASS * RADIUS**2
    spins = np.array([matrix_from_quaternion(q[3:])[2] @ v[3:] for q, v in zip(run.q, run.v, strict=True)])
    assert spins == pytest.approx(np.maximum(spin - spinning * MASS * G / inertia * t, 0.0), abs=2e-3)
    assert np.gradient(run.q[:, 0], t)[20:-1] == pytest.approx(
        (speed - 5 / 7 * rolling * G / RADIUS * t)[20:-1], abs=1e-3
    )


# --- bounces ---


def bounce(method: str, dt: float, damping: float) -> tuple[Run, np.ndarray]:
    """A mass that lands at 1 m/s, and its position [m] by the closed form of its spring and damper."""
    mass, k = 1.0, 4e4
    b = lw.Builder("drop", gravity=(0, 0, -G)).body("mass", mass).joint("up", lw.Prismatic((0, 0, 1)), "world", "mass")
    m = b.surface("floor", lw.Plane()).touch("it", "mass", stiffness=k, damping=damping).build()
    run = lw.simulate(m, [0.0], [-1.0], 0.03, dt, method, record=("q", "v", "contact.state", "contact.energy", "work"))
    rate, rest = damping / (2.0 * mass), -mass * G / k
    turn = np.sqrt(k / mass - rate**2)

    def pressed(t: Any) -> tuple[Any, Any]:
        c, s = -rest, (-1.0 - rate * rest) / turn
        z = np.exp(-rate * t) * (c * np.cos(turn * t) + s * np.sin(turn * t))
        v = -rate * z + np.exp(-rate * t) * turn * (s * np.cos(turn * t) - c * np.sin(turn * t))
        return rest + z, v

    low, high = 0.5 * np.pi / turn, 1.4 * np.pi / turn  # between which the force ends
    for _ in range(60):
        middle = 0.5 * (low + high)
        z, v = pressed(middle)
        low, high = (middle, high) if k * z + damping * v < 0.0 else (low, middle)
    z, v = pressed(high)
    flying = np.maximum(run.t - high, 0.0)
    return run, np.where(run.t < high, pressed(run.t)[0], z + v * flying - 0.5 * G * flying**2)


@pytest.mark.parametrize("damping", [0.0, 60.0])
@pytest.mark.parametrize(
    ("method", "bound"), [("rk4", 1e-5), ("variational", 4e-6), ("midpoint", 4e-6), ("semi-implicit", 1e-4)]
)
def test_bouncing_mass_matches_a_spring_and_damper(method: str, bound: float, damping: float) -> None:
    run, wanted = bounce(method, 1e-4, damping)
    assert np.abs(run.q[:, 0] - wanted).max() < bound
    assert run["contact.state"][-1, 0] == 1.0


@pytest.mark.parametrize("method", ["rk4", "variational"])
def test_error_of_a_compliant_bounce_falls_with_the_step_size(method: str) -> None:
    errors = [np.abs(np.subtract(*_both(method, dt))).max() for dt in (4e-4, 1e-4)]
    assert errors[1] < 0.3 * errors[0]


def _both(method: str, dt: float) -> tuple[np.ndarray, np.ndarray]:
    run, wanted = bounce(method, dt, 60.0)
    return run.q[:, 0], wanted
