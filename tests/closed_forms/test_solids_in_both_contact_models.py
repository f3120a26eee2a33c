"""Solids in rigid and in compliant contact against the same closed forms, all in one mechanism.

Groups of bodies that do not touch each other roll, slide, spin, swing, collide, stick and rest.
"""

from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation.results.run import Run
from linkwork.spatial.scalar import Array

G, RADIUS, SLOPE, TURN = 9.81, 0.1, 0.3, 0.3
COIN, DISK, ROD = lw.Cylinder(0.1, 0.01), lw.Cylinder(0.1, 0.02), lw.Capsule(0.01, 1.0)
BALL, BEAM, BLOCK = lw.Sphere(RADIUS), lw.Box((1.0, 0.1, 0.1)), lw.Box((0.2, 0.2, 0.05))
BALL_INERTIA, BLOCK_INERTIA = 0.4 * RADIUS**2 * np.ones(3), np.array([0.0035, 0.0035, 0.0067])
BODIES = {
    "arriving": (BALL, BALL_INERTIA), "waiting": (BALL, BALL_INERTIA), "last": (BALL, BALL_INERTIA),
    "swinging": (BALL, BALL_INERTIA), "rolling": (BALL, BALL_INERTIA),
    "sticking": (BLOCK, BLOCK_INERTIA), "sliding": (BLOCK, BLOCK_INERTIA), "stopping": (BLOCK, BLOCK_INERTIA),
    "coin": (COIN, np.array([0.0025, 0.0025, 0.005])), "disk": (DISK, np.array([0.0025, 0.0025, 0.005])),
    "rod": (ROD, np.array([1 / 12, 1 / 12, 1e-4])),
    "lower": (BEAM, np.array([0.002, 0.084, 0.084])), "upper": (BEAM, np.array([0.002, 0.084, 0.084])),
}  # fmt: skip
PAIRS = {
    "elastic": ([("arriving", "waiting"), ("waiting", "last")], {"restitution": 1.0, "damping": 0.0}),
    "smooth": ([(ball, "floor") for ball in ("arriving", "waiting", "last")], {}),
    "bowl": ([("swinging", "bowl")], {"friction": 0.8}),
    "slope": ([("rolling", "slope"), ("sticking", "slope"), ("sliding", "slope")], {"friction": (0.35, 0.25)}),
    "flat": ([("stopping", "floor"), ("disk", "floor")], {"friction": 0.2}),
    "rough": ([("coin", "floor"), ("lower", "floor"), ("lower", "upper")], {"friction": 0.5}),
    "jamming": ([("rod", "floor")], {"friction": 2.0}),
}
STIFFNESS, DAMPING = 1e6, 1e3
SWING, LEAN, TILT = 0.2, 0.6, 0.3  # [rad] of the pendulum, the rod and the coin
BOWL = 1.0  # radius [m] of the bowl
FINISH = 1.5
STEPS = {"rigid": 1e-3, "rk4": 2e-5, "semi-implicit": 2e-5}


def about(axis: int, angle: float) -> list[float]:
    quaternion = [np.cos(0.5 * angle), 0.0, 0.0, 0.0]
    quaternion[1 + axis] = np.sin(0.5 * angle)
    return quaternion


def scene() -> lw.Mechanism:
    b = lw.Builder("scene", gravity=(0, 0, -G)).surface("floor", lw.Plane())
    b.surface("bowl", lw.Ground(lambda x, y: BOWL - np.sqrt(BOWL**2 - x * x - y * y)), at=(0, 50, 0))
    b.surface("slope", lw.Plane(), at=(0, -50, 0), rpy=(0, SLOPE, 0))
    for name, (shape, inertia) in BODIES.items():
        b.body(name, 1.0, inertia=tuple(inertia)).joint(f"{name} moves", lw.Free(), "world", name)
        b.geometry(name, shape, role="collision")
    for name, (pairs, given) in PAIRS.items():
        b.collide(name, pairs=pairs, **{"stiffness": STIFFNESS, "damping": DAMPING} | given)
    return b.build()


def start() -> tuple[Array, Array]:
    arm, flat, turned = BOWL - RADIUS, [1.0, 0.0, 0.0, 0.0], about(1, SLOPE)
    up = np.array([np.sin(SLOPE), 0.0, np.cos(SLOPE)])
    low = 0.1 * np.sin(TILT) + 0.005 * np.cos(TILT)
    on_slope = {
        name: [*(np.array([0, k - 50.0, 0]) + up * high), *turned]
        for k, (name, high) in enumerate([("rolling", RADIUS), ("sticking", 0.025), ("sliding", 0.025)])
    }
    q = on_slope | {
        "arriving": [-0.3, 5, RADIUS, *flat], "waiting": [0, 5, RADIUS, *flat], "last": [0.202, 5, RADIUS, *flat],
        "swinging": [arm * np.sin(SWING), 50, BOWL - arm * np.cos(SWING), *flat], "stopping": [0, -5, 0.025, *flat],
        "coin": [5, 0, low, *about(0, TILT)], "disk": [-5, 0, 0.01, *flat],
        "rod": [10, 0, 0.01 + 0.5 * np.cos(LEAN), *about(1, -LEAN)],
        "lower": [-10, 0, 0.05, *flat], "upper": [-10, 0, 0.15, *about(2, TURN)],
    }  # fmt: skip
    slide = 3.0 * np.array([np.cos(LEAN), 0.0, -np.sin(LEAN)])  # 3 m/s to the side of its tip, in the axes of the rod
    v = {
        "arriving": [1, 0, 0, 0, 0, 0], "sliding": [0.5, 0, 0, 0, 0, 0], "stopping": [1, 0, 0, 0, 0, 0],
        "disk": [0, 0, 0, 0, 0, 10.0], "rod": [*slide, 0, 0, 0],
    }  # fmt: skip
    return (np.array([part for name in BODIES for part in q[name]]),
            np.array([part for name in BODIES for part in v.get(name, [0.0] * 6)]))  # fmt: skip


@cache
def simulated(model: str) -> Run:
    q, v = start()
    contact, method = ("rigid", "auto") if model == "rigid" else ("compliant", model)
    h, every = STEPS[model], round(1e-3 / STEPS[model])
    return lw.simulate(scene(), q, v, FINISH, h, method=method, contact=contact, every=every, record=("q", "v")).check()


def of(run: Run, name: str) -> tuple[Array, Array]:
    """Coordinates (T, 7) and velocities (T, 6) of a body."""
    k = list(BODIES).index(name)
    return run.q[:, 7 * k : 7 * k + 7], run.v[:, 6 * k : 6 * k + 6]


def energy(run: Run, name: str) -> Array:
    """Energy (T,) [J] of a body of 1 kg, without that of contact springs."""
    q, v = of(run, name)
    return 0.5 * (v[:, :3] ** 2).sum(axis=1) + 0.5 * (v[:, 3:] ** 2) @ BODIES[name][1] + G * q[:, 2]


# Errors relative to the closed form of rigid motion; those of compliant contact are proportional to its depth, 1e-5 m
CLOSE = {"rigid": 1e-5, "rk4": 1e-4, "semi-implicit": 1e-3}
MODELS = pytest.mark.parametrize("model", list(CLOSE))


@MODELS
def test_balls_in_a_row_transmit_the_speed_of_the_first_ball_to_the_last(model: str) -> None:
    run = simulated(model)
    speeds = [of(run, name)[1][-1, 0] for name in ("arriving", "waiting", "last")]
    assert speeds == pytest.approx([0.0, 0.0, 1.0], abs=CLOSE[model])


@MODELS
def test_ball_that_rolls_in_a_bowl_swings_as_a_pendulum(model: str) -> None:
    """The pendulum of length l = R - r with 7/5 of its inertia; its period is 2 pi sqrt(l / g) / agm(1, cos(a / 2))."""
    run = simulated(model)
    x = of(run, "swinging")[0][:, 0]
    k = int(np.argmax(x < 0.0))
    quarter = run.t[k - 1] + 1e-3 * x[k - 1] / (x[k - 1] - x[k])
    a, b = 1.0, np.cos(0.5 * SWING)
    for _ in range(6):
        a, b = 0.5 * (a + b), np.sqrt(a * b)
    assert quarter == pytest.approx(0.5 * np.pi * np.sqrt(1.4 * (BOWL - RADIUS) / G) / a, rel=CLOSE[model])


@MODELS
def test_ball_rolls_and_blocks_stick_and_slide_on_a_slope_between_static_and_dynamic_friction_angle(model: str) -> None:
    run, begins = simulated(model), np.array([0, -50.0, 0])
    down = np.array([np.cos(SLOPE), 0.0, -np.sin(SLOPE)])
    pull, drag = G * np.sin(SLOPE), 0.25 * G * np.cos(SLOPE)
    went = {name: (of(run, name)[0][:, :3] - begins) @ down for name in ("rolling", "sticking", "sliding")}
    t = run.t
    assert went["rolling"][-1] == pytest.approx(5 / 7 * pull * 0.5 * FINISH**2, rel=10 * CLOSE[model])
    assert np.ptp(went["sticking"][t > 0.2]) < 1e-9
    assert abs(went["sticking"][-1]) < 3e-5
    assert went["sliding"][-1] == pytest.approx(0.5 * FINISH + 0.5 * (pull - drag) * FINISH**2, rel=10 * CLOSE[model])


@MODELS
def test_pushed_block_and_spinning_disk_stop_by_friction(model: str) -> None:
    run, drag = simulated(model), 0.2 * G
    assert of(run, "stopping")[0][-1, 0] == pytest.approx(1.0 / (2.0 * drag), rel=10 * CLOSE[model])
    q, v = of(run, "disk")
    turned = np.trapezoid(v[:, 5], run.t)
    assert turned == pytest.approx(10.0**2 * 0.005 / (2.0 * drag * 0.1), rel=10 * CLOSE[model], abs=1e-4)
    assert np.abs(v[-1]).max() < 1e-9
    assert q[-1, 2] == pytest.approx(0.01, abs=2e-5)


@MODELS
def test_painleve_rod_jams_without_energy_gain_and_comes_to_rest(model: str) -> None:
    """With friction 2, rigid contact forces at its tip need not exist while it slides; it stops by an impulse.

    The energy of compliant contact returns a little later; that of rigid contacts may not rise in sum, but energy that
    one contact dissipates can move another one out of penetration.
    """
    run = simulated(model)
    held = energy(run, "rod")
    assert (held - np.minimum.accumulate(held)).max() < (1e-5 if model == "rigid" else 0.03) * held[0]
    assert held[-1] == pytest.approx(G * 0.01, rel=0.05)
    assert np.abs(of(run, "rod")[1][-1]).max() < 0.5  # it rolls about its axis, in the end


@MODELS
def test_tilted_coin_comes_to_rest_and_crossed_beams_stay_at_rest(model: str) -> None:
    run = simulated(model)
    q, v = of(run, "coin")
    assert np.abs(v[run.t > 0.3]).max() < 1e-6
    assert q[-1, 2] == pytest.approx(0.005, abs=2e-5)
    for name, height in (("lower", 0.05), ("upper", 0.15)):
        q, v = of(run, name)
        assert np.abs(v[-1]).max() < 1e-9
        assert q[-1, :3] == pytest.approx([-10, 0, height], abs=2e-5)
