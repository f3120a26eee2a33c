"""Rigid contact between solids without impacts: exact rolling, order two, and agreement with ball contacts."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import linkwork as lw
from linkwork.spatial.rotation import product

G = 9.81
RADIUS = 0.1
RECORD = ("q", "v", "contact.state", "contact.force")


ROLLING = {"ball": lw.Sphere(RADIUS), "capsule": lw.Capsule(RADIUS, 0.4), "wheel": lw.Cylinder(RADIUS, 0.4)}


def rolling_bodies(inertia: float) -> lw.Mechanism:
    """A ball, a capsule and a cylinder of 1 kg above a plane."""
    b = lw.Builder(gravity=(0, 0, -G)).surface("floor", lw.Plane())
    for name, shape in ROLLING.items():
        b.body(name, 1.0, inertia=(inertia,) * 3).joint(name, lw.Free(), "world", name)
        b.geometry(name, shape, role="collision")
    return b.collide("all", against="floor", friction=2.0).build()


def test_rolling_on_a_slope_has_exact_acceleration_and_force() -> None:
    """Also fast, and with the axis at an angle to the fall line; 600 rad/s are more than half a radian in a step."""
    inertia = 0.004
    m = rolling_bodies(inertia)
    angles = np.array([0.0, 0.3, 0.3, 0.3, 0.0])
    yaws, spins = np.array([0.0, 0.0, 0.4, 0.0, 0.0]), np.array([5.0, 0, 0, 150.0, 600.0])
    lie = np.array([1.0, 1.0, 0.0, 0.0]) * np.sqrt(0.5)  # axis along y
    one = [[0, 0, RADIUS, *product(np.array([np.cos(y / 2), 0, 0, np.sin(y / 2)]), lie)] for y in yaws]
    rolls = [[w * RADIUS, 0, 0, 0, 0, -w] for w in spins]  # in the body's axes: x is horizontal, z is -y of the world
    gravity = [(G * np.sin(angle), 0.0, -G * np.cos(angle)) for angle in angles]
    run = lw.simulate(
        m,
        np.tile(one, 3),
        np.tile(rolls, 3),
        0.3,
        1e-3,
        contact="rigid",
        parameters={"gravity": gravity},
        record=RECORD,
    ).check()
    forces = run["contact.force"].reshape(len(angles), -1, 3, 4, 3)
    for k, name in enumerate(ROLLING):
        turns = np.zeros(len(angles)) if name == "ball" else yaws  # a ball rolls along the fall line
        a = G * np.sin(angles) * np.cos(turns) / (1.0 + inertia / RADIUS**2)
        along = spins[:, None] * RADIUS * run.t + 0.5 * a[:, None] * run.t**2
        direction = np.column_stack([np.cos(turns), np.sin(turns), 0.0 * turns])
        expected = along[:, :, None] * direction[:, None, :] + [0, 0, RADIUS]
        assert np.abs(run.q[:, :, 7 * k : 7 * k + 3] - expected).max() < 1e-10, name
        normal = forces[:, 2:, k, :, 2].sum(axis=2)
        assert np.abs(normal - G * np.cos(angles)[:, None]).max() < 1e-9, name


def test_box_that_tumbles_about_a_sticking_edge_moves_with_order_two() -> None:
    """One box tumbles on a plane, an equal one on a large box."""
    b = lw.Builder(gravity=(0, 0, -G)).surface("plane", lw.Plane())
    b.surface("slab", lw.Box((20, 20, 1)), at=(0, 0, -0.5))
    for name in ("a", "b"):
        b.body(name, 1.0, inertia=(0.13 / 12, 0.2 / 12, 0.25 / 12)).joint(name, lw.Free(), "world", name)
        b.geometry(name, lw.Box((0.4, 0.3, 0.2)), role="collision")
    m = b.collide("all", pairs=[("a", "plane"), ("b", "slab")], friction=5.0).build()
    length, own = 0.5 * np.hypot(0.4, 0.2), np.arctan2(0.2, 0.4)
    tilt, rate, inertia = 0.6, 1.5, 0.2 / 12 + length**2
    truth = solve_ivp(
        lambda t, y: [y[1], -G * length * np.cos(own + y[0]) / inertia], (0, 0.3), [tilt, rate], rtol=1e-11, atol=1e-12
    ).y[:, -1]
    arm = length * np.array([np.cos(own + tilt), 0, np.sin(own + tilt)])
    c, s = np.cos(tilt), np.sin(tilt)
    R = np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]])
    q0 = [*arm, np.cos(tilt / 2), 0, -np.sin(tilt / 2), 0]
    v0 = [*(R.T @ (rate * np.array([-arm[2], 0, arm[0]]))), 0, -rate, 0]
    errors = []
    for dt in (4e-3, 2e-3, 1e-3):
        run = lw.simulate(m, q0 * 2, v0 * 2, duration=0.3, dt=dt, contact="rigid", record=RECORD).check()
        q, v = run.q[-1].reshape(2, 7), run.v[-1].reshape(2, 6)
        angle = -2.0 * np.arctan2(q[:, 5], q[:, 3])
        pivot = q[:, :3] - length * np.column_stack([np.cos(own + angle), [0, 0], np.sin(own + angle)])
        errors.append([*abs(angle - truth[0]), *abs(-v[:, 4] - truth[1]), *np.abs(pivot).max(axis=1)])
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (abs(orders - 2.0) < 0.05).all(), (errors, orders)


@pytest.mark.slow
def test_ball_on_a_turntable_moves_on_a_circle() -> None:
    """A ball that rolls on a table with angular velocity W has v' = 2/7 W x v (Earnshaw 1844)."""
    b = lw.Builder(gravity=(0, 0, -G))
    b.body("table", 1e6, inertia=(1e9, 1e9, 1e9)).joint("axle", lw.Revolute((0, 0, 1)), "world", "table")
    b.geometry("table", lw.Box((10, 10, 0.5)), role="collision")
    b.body("ball", 1.0, inertia=0.4 * RADIUS**2 * np.ones(3)).joint("free", lw.Free(), "world", "ball")
    m = b.geometry("ball", lw.Sphere(RADIUS), role="collision").collide("all", friction=1.0).build()
    W, start, v = 3.0, np.array([0.5, 0.2]), np.array([0.4, -0.3])
    slips = v - W * np.array([-start[1], start[0]])  # v - W x r = w x (radius z): the ball starts to roll
    w = [-slips[1] / RADIUS, slips[0] / RADIUS, 0.0]
    errors = []
    for dt in (4e-3, 2e-3, 1e-3):
        run = lw.simulate(
            m, [0, *start, 0.25 + RADIUS, 1, 0, 0, 0], [W, *v, 0, *w], 1.0, dt, contact="rigid", record=RECORD
        ).check()
        turn = 2.0 / 7.0 * W * run.t
        move = np.column_stack(
            [np.sin(turn) * v[0] - (1 - np.cos(turn)) * v[1], (1 - np.cos(turn)) * v[0] + np.sin(turn) * v[1]]
        ) / (2.0 / 7.0 * W)
        errors.append(np.abs(run.q[:, 1:3] - start - move).max())
        assert (run["contact.state"][2:, 0] == 4).all()
    assert errors[-1] < 2e-6
    assert abs(np.log2(errors[0] / errors[1]) - 2.0) < 0.1
    assert abs(np.log2(errors[1] / errors[2]) - 2.0) < 0.1


@pytest.mark.slow
def test_balls_move_equally_as_solids_and_as_ball_contacts() -> None:
    """Eccentric balls slide and roll on a plane and on a globe, in one mechanism.

    The contact points differ by half the depth of penetration, which is proportional to the square of the step.
    """
    b = lw.Builder(gravity=(0.5, 0, -G)).surface("plane", lw.Plane()).surface("globe", lw.Sphere(1.0))
    start, places = [], {"plane": 0.1, "globe": 1.1}
    for floor, height in places.items():
        for kind in ("point", "solid"):
            name = f"{kind} on {floor}"
            b.body(name, 1.0, com=(0.01, 0, 0.02), inertia=(0.004, 0.005, 0.006)).joint(name, lw.Free(), "world", name)
            start += [0, 0, height, 1, 0, 0, 0]
            if kind == "point":
                b.touch(f"skin {floor}", name, radius=RADIUS, against=floor, friction=0.4)
            else:
                b.geometry(name, lw.Sphere(RADIUS), role="collision")
    m = b.collide("all", pairs=[(f"solid on {floor}", floor) for floor in places], friction=0.4).build()
    assert m.contact_names[:2] == ("skin plane", "skin globe")
    differences = []
    for dt in (1e-3, 5e-4):
        run = lw.simulate(m, start, [0.1, 0.3, 0, 3, 6, -5] * 4, 0.3, dt, contact="rigid", record=RECORD).check()
        point, solid = run.q.reshape(-1, 2, 2, 7).transpose(2, 0, 1, 3)
        differences.append(np.abs(point - solid).max(axis=(0, 2)))
        states, forces = run["contact.state"][1:], run["contact.force"][1:]
        for k in range(2):
            assert (states[:, k] == 2).any()
            assert (states[:, k] == 4).any()
            assert np.median(np.abs(forces[:, k] - forces[:, 2 + 4 * k])) < 1e-3
    assert differences[0].max() < 3e-5
    assert differences[0] / differences[1] == pytest.approx([4.0, 4.0], abs=0.05)
