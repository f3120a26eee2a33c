"""Rolling and spinning friction of solids, in rigid and compliant contact, against closed forms.

All bodies are in one mechanism, and do not touch each other unless a pair is named.
"""

from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation.results.run import Run

G, R, MU = 9.81, 0.1, 0.5
ROLLING, SPINNING = 0.01, 4e-3  # [m]
BALL, WHEEL, DISK, BOX = lw.Sphere(R), lw.Cylinder(R, 0.3), lw.Cylinder(R, 0.02), lw.Box((0.2, 0.2, 0.1))
ROUND, LONG, FLAT = 0.004 * np.ones(3), np.array([0.01, 0.01, 0.005]), np.array([0.0025, 0.0025, 0.005])
SQUARE = np.array([0.05, 0.05, 0.08]) / 12
BODIES = {
    "rolling": (BALL, ROUND), "wheel": (WHEEL, LONG), "spinning": (BALL, ROUND), "disk": (DISK, FLAT),
    "box": (BOX, SQUARE), "held": (BALL, ROUND), "released": (BALL, ROUND), "rider": (BALL, ROUND),
    "cart": (lw.Box((2.0, 0.2, 0.1)), np.array([0.01, 0.35, 0.35])),
}  # fmt: skip
# Slopes along x [rad], just below and above the angle at which a ball begins to roll
SLOPES = {"held": np.arctan(0.99 * ROLLING / R), "released": np.arctan(1.2 * ROLLING / R)}
STEPS = {"rigid": 2e-3, "rk4": 2.5e-5}
RECORD = ("q", "v", "work", "work.contacts", "contact.force", "contact.state")


@cache
def scene() -> tuple[lw.Mechanism, list[float], list[float]]:
    """Return the mechanism, its initial coordinates and its initial velocities."""
    b = lw.Builder("scene", gravity=(0, 0, -G)).surface("floor", lw.Plane()).surface("ice", lw.Plane(), at=(0, 70, 0))
    for k, (name, angle) in enumerate(SLOPES.items()):
        b.surface(f"{name} slope", lw.Plane(), at=(0, -10.0 * k - 10, 0), rpy=(0, angle, 0))
    q, v = [], []
    speeds = {
        "rolling": [1, 0, 0, 0, 1 / R, 0], "wheel": [1, 0, 0, 0, 0, 1 / R], "spinning": [0, 0, 0, 0, 0, 4.0],
        "disk": [0, 0, 0, 0, 0, 12.0], "box": [0, 0, 0, 0, 0, 12.0], "rider": [1, 0, 0, 0, 1 / R, 0],
    }  # fmt: skip
    heights = {"disk": 0.01, "box": 0.05, "cart": 0.05, "rider": 0.1 + R}
    for k, (name, (shape, inertia)) in enumerate(BODIES.items()):
        b.body(name, 1.0, inertia=tuple(inertia)).joint(f"{name} moves", lw.Free(), "world", name)
        b.geometry(name, shape, role="collision")
        turn, place = [1.0, 0, 0, 0], np.array([0.0, 3.0 * k, heights.get(name, R)])
        if name == "wheel":
            turn = [np.sqrt(0.5), -np.sqrt(0.5), 0, 0]  # its axis is along y
        if name in SLOPES:
            row, angle = list(SLOPES).index(name), SLOPES[name]
            place = np.array([R * np.sin(angle), -10.0 * row - 10, R * np.cos(angle)])
        if name in ("rider", "cart"):
            place[1] = 70.0
        q += [*place, *turn]
        v += speeds.get(name, [0.0] * 6)
    given = {"stiffness": 3e5, "damping": 300.0, "friction": MU}
    on_floor = [(name, "floor") for name in ("rolling", "wheel", "spinning", "disk", "box")]
    on_slopes = [(name, f"{name} slope") for name in SLOPES]
    both = {"rolling": ROLLING, "spinning": SPINNING}
    b.collide("rough", pairs=[*on_floor, *on_slopes, ("rider", "cart")], **both, **given)
    return b.collide("smooth", pairs=[("cart", "ice")], **given | {"friction": 0.0}).build(), q, v


@cache
def run_of(model: str) -> Run:
    """Return the run of the scene in a contact model, which passes its own checks."""
    m, q, v = scene()
    how: dict[str, Any] = {"contact": "rigid"} if model == "rigid" else {"method": model, "every": 80}
    record = (*RECORD, "contact.torque") if model == "rigid" else RECORD
    run = lw.simulate(m, q, v, 0.5, STEPS[model], record=record, **how).check()
    assert run.report().passed, run.report()
    return run


def motion(model: str, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the times, the coordinates and the velocities of a body."""
    run, k = run_of(model), list(BODIES).index(name)
    return run.t, run.q[:, 7 * k : 7 * k + 7], run.v[:, 6 * k : 6 * k + 6]


MODELS = ["rigid", "rk4"]
# Compliant solids start at the depth 0, and move off their closed forms until their springs are stretched: tolerance of
# speeds [m/s] and of angular speeds [rad/s]
LOOSE = {"rigid": (1e-10, 1e-10), "rk4": (4e-3, 4e-2)}


@pytest.mark.parametrize("model", MODELS)
def test_rolling_ball_and_wheel_decelerate_by_rolling_friction(model: str) -> None:
    """(m + I / r^2) a = -rolling m g / r."""
    for name, inertia in (("rolling", 0.004), ("wheel", 0.005)):
        t, _, v = motion(model, name)
        a = ROLLING * G / R / (1.0 + inertia / R**2)
        speed = np.linalg.norm(v[:, :3], axis=1)
        assert np.abs(speed - (1.0 - a * t)).max() < LOOSE[model][0]


@pytest.mark.parametrize("model", MODELS)
def test_bodies_that_spin_about_the_normal_stop_by_spinning_friction_and_by_the_friction_of_their_points(
    model: str,
) -> None:
    """The ball touches in one point, which has no lever arm; the points of disk and box are on circles."""
    arms = {"spinning": (0.0, 0.004), "disk": (R, 0.005), "box": (0.1 * np.sqrt(2.0), SQUARE[2])}
    for name, (arm, inertia) in arms.items():
        t, _, v = motion(model, name)
        rate, begin = (MU * arm + SPINNING) * G / inertia, v[0, 5]
        turns = t < begin / rate - 5e-3
        assert turns.sum() > 2
        assert np.abs(v[turns, 5] - (begin - rate * t[turns])).max() < LOOSE[model][1]
        assert np.abs(v[t > begin / rate + 0.05]).max() < (1e-12 if model == "rigid" else 1e-3)


@pytest.mark.parametrize("model", MODELS)
def test_ball_stays_on_a_slope_below_rolling_over_radius_and_rolls_above(model: str) -> None:
    t, q, v = motion(model, "held")
    begun = 0.0 if model == "rigid" else 0.3  # springs are stretched by then
    assert np.abs(q - q[0]).max() < (1e-13 if model == "rigid" else 1e-3)
    assert np.abs(q - q[-1])[t >= begun].max() < (1e-13 if model == "rigid" else 1e-5)
    assert np.abs(v[-1]).max() < (1e-13 if model == "rigid" else 1e-6)
    t, q, _ = motion(model, "released")
    angle = SLOPES["released"]
    a = G * (np.sin(angle) - ROLLING / R * np.cos(angle)) / 1.4
    moved = (q[-1, :3] - q[0, :3]) @ [np.cos(angle), 0.0, -np.sin(angle)]
    assert moved == pytest.approx(0.5 * a * t[-1] ** 2, rel=1e-9 if model == "rigid" else 5e-2)


@pytest.mark.parametrize("model", MODELS)
def test_ball_on_a_free_cart_exchanges_momentum_with_it(model: str) -> None:
    """The cart slides without friction: m a + M b = 0, and the ball rolls relative to the cart."""
    t, _, ball = motion(model, "rider")
    _, _, cart = motion(model, "cart")
    speed = np.linalg.norm(ball[:, :3], axis=1)
    assert np.abs(speed + cart[:, 0] - 1.0).max() < (1e-12 if model == "rigid" else 2e-4)
    # m u' = F, M c' = -F, I w' = -F r - rolling N with r w = u - c, for m = M = 1
    force = -ROLLING * G / R / (2.0 * 0.004 / R**2 + 1.0)
    slip_free = 1.0 + (2.0 * t * force)  # u - c
    assert np.abs(speed - cart[:, 0] - slip_free).max() < LOOSE[model][0]


def test_recorded_friction_torques_are_at_their_limits_and_proportional_to_the_normal_forces() -> None:
    run = run_of("rigid")
    names = [pair.name for pair in scene()[0].solid_pairs]
    torques = run["contact.torque"][5].reshape(-1, 4, 3)
    force = run["contact.force"][5].reshape(-1, 4, 3)[:, :, 2]
    rolls, spins, box = (names.index(f"{name} on floor") for name in ("rolling", "spinning", "box"))
    assert torques[rolls].sum(axis=0) == pytest.approx([0, -ROLLING * G, 0], abs=1e-9)
    assert torques[spins].sum(axis=0) == pytest.approx([0, 0, -SPINNING * G], abs=1e-9)
    assert torques[box][:, 2] == pytest.approx(-SPINNING * force[box], abs=1e-9)
    assert (run["contact.torque"].reshape(len(run.t), -1, 4, 3)[:, names.index("cart on ice")] == 0.0).all()


@cache
def coin(rolling: float) -> lw.Mechanism:
    b = lw.Builder("coin", gravity=(0, 0, -G)).surface("floor", lw.Plane()).body("coin", 1.0, inertia=tuple(FLAT))
    b.joint("free", lw.Free(), "world", "coin").geometry("coin", lw.Cylinder(R, 1e-3), role="collision")
    return b.collide("rough", friction=1.0, rolling=rolling).build()


def test_coin_spun_on_its_rim_settles_as_eulers_disk_with_rolling_friction() -> None:
    """The energy 3/2 m g r a of a thin disk that wobbles about its resting centre is lost to the power rolling m g W a.

    W^2 a = 4 g / r is the rate of the wobble; hence sqrt(a) decreases at a constant rate. Without rolling friction, the
    coin does not settle.
    """
    tilt, rolling = 0.1, 2e-3
    start = [0, 0, R * np.sin(tilt) + 5e-4 * np.cos(tilt), np.cos(tilt / 2), np.sin(tilt / 2), 0, 0]
    speeds = [0, 0, 0, 0, np.sqrt(4.0 * G / R * np.sin(tilt)), 0]
    run = lw.simulate(coin(rolling), start, speeds, duration=3.0, dt=5e-4, contact="rigid").check()
    report = run.report()
    assert report.passed, report
    angle = np.arccos(1.0 - 2.0 * (run.q[:, 4] ** 2 + run.q[:, 5] ** 2))
    closed = (np.sqrt(tilt) - 2.0 / 3.0 * rolling / R * np.sqrt(G / R) * run.t) ** 2
    early = run.t < 1.5
    assert np.abs(angle - closed)[early].max() < 0.02 * tilt  # the tilt oscillates, because the start is approximate
    last = 1.5 * R / rolling * np.sqrt(R * tilt / G)
    settled = run.t[np.argmax(np.abs(run.v).max(axis=1) < 1e-9)]
    assert 0.8 * last < settled < last
    assert np.abs(run.v[-1]).max() < 1e-12
    free = lw.simulate(coin(0.0), start, speeds, duration=3.0, dt=5e-4, contact="rigid").check()
    assert np.abs(free.v[-1]).max() > 1.0


def test_rolling_friction_of_solids_needs_no_radius_and_rejects_negative_values() -> None:
    with pytest.raises(lw.ModelError, match="rolling"):
        coin(-1e-3)
