"""Compliant contact between solids against closed forms: rest, sliding, sticking, toppling, bouncing, crossed beams."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.compliant_contact import APART

G = 9.81


def on_slope(shape: lw.Box, angle: float, **force_law: object) -> lw.Mechanism:
    """A box of 1 kg on a plane with a slope about the y axis; gravity is turned instead of the plane."""
    gravity = (G * np.sin(angle), 0.0, -G * np.cos(angle))
    b = lw.Builder("slope", gravity=gravity).surface("floor", lw.Plane())
    x, y, z = shape.size
    inertia = ((y * y + z * z) / 12, (x * x + z * z) / 12, (x * x + y * y) / 12)
    b.body("box", 1.0, inertia=inertia).joint("free", lw.Free(), "world", "box")
    b.geometry("box", shape, role="collision")
    return b.collide("ground", **({"stiffness": 2e4, "damping": 100.0} | force_law)).build()


def stack(count: int, **force_law: object) -> lw.Mechanism:
    """Equal cubes of 1 kg and 1 m, above each other."""
    b = lw.Builder("stack", gravity=(0, 0, -G)).surface("floor", lw.Plane())
    for k in range(count):
        b.body(f"box {k}", 1.0, inertia=(1 / 6, 1 / 6, 1 / 6)).joint(f"free {k}", lw.Free(), "world", f"box {k}")
        b.geometry(f"box {k}", lw.Box((1, 1, 1)), role="collision")
    return b.collide("all", **force_law).build()


def test_a_stack_of_equal_aligned_boxes_rests_at_its_static_depth() -> None:
    count, k = 4, 2e5
    m = stack(count, friction=0.5, stiffness=k, damping=400.0)
    q0 = np.concatenate([[0, 0, 0.5 + i, 1, 0, 0, 0] for i in range(count)])
    run = lw.simulate(m, q0, duration=1.5, method="rk4", dt=1e-4)
    depths = [G * (count - i) / (4 * k) for i in range(count)]
    expected = 0.5 + np.arange(count) - np.cumsum(depths)
    assert np.abs(run.q[-1].reshape(count, 7)[:, 2] - expected).max() < 1e-9
    assert np.abs(run.v[-1]).max() < 1e-7
    forces = run["contact.force"][-1].reshape(-1, 4, 3)
    held = {pair.name: force for pair, force in zip(m.solid_pairs, forces, strict=True)}
    assert np.allclose(held["box 0 on floor"], [0, 0, G * count / 4], atol=1e-4)
    assert np.allclose(held["box 1 on box 2"], [0, 0, -G * 2 / 4], atol=1e-4)


@pytest.mark.parametrize("method", ["rk4", "semi-implicit"])
def test_a_block_sticks_below_and_slides_above_the_friction_angle(method: str) -> None:
    friction = 0.4
    for turn in (-0.01, 0.01):
        angle = np.arctan(friction) + turn
        m = on_slope(lw.Box((0.4, 0.4, 0.1)), angle, friction=friction)
        run = lw.simulate(m, [0, 0, 0.05, 1, 0, 0, 0], duration=1.0, method=method, dt=1e-4)
        if turn < 0:
            assert np.abs(run.v[run.t > 0.5]).max() < 1e-6
        else:
            pull = G * (np.sin(angle) - friction * np.cos(angle))
            speeds = run.v[run.t > 0.5, 0]
            assert np.ptp(speeds) / 0.5 == pytest.approx(pull, rel=2e-3)


def test_a_sticking_block_does_not_creep_at_99_percent_of_the_limit() -> None:
    m = on_slope(lw.Box((0.4, 0.4, 0.1)), np.arctan(0.99 * 0.4), friction=0.4)
    run = lw.simulate(m, [0, 0, 0.05, 1, 0, 0, 0], duration=6.0, method="semi-implicit", dt=5e-4)
    settled = run.q[run.t > 1.0]
    assert np.abs(settled - settled[-1]).max() < 1e-9


def test_pushed_solid_block_stops_at_the_stopping_distance_and_sticks_on_a_turntable() -> None:
    """Stiffness and damping of friction do not weaken it while the block slows down; its stretch turns with the table.

    The block on the table rests with the centripetal force m w^2 r, which stretches its four friction springs.
    """
    k, friction, r, w = 2e4, 0.3, 1.0, 1.0
    b = lw.Builder("table", gravity=(0, 0, -G)).surface("floor", lw.Plane())
    b.body("table", 1e6, inertia=(1e9, 1e9, 1e9)).joint("axle", lw.Revolute((0, 0, 1)), "world", "table", at=(0, 9, 0))
    b.geometry("table", lw.Box((4, 4, 1)), role="collision")
    for name in ("pushed", "turned"):
        b.body(name, 1.0, inertia=(0.01, 0.01, 0.01)).joint(name, lw.Free(), "world", name)
        b.geometry(name, lw.Box((0.4, 0.4, 0.1)), role="collision")
    given = {"friction": friction, "stiffness": k, "damping": 100.0}
    m = b.collide("all", pairs=[("pushed", "floor"), ("turned", "table")], **given).build()
    depth = G / (4 * k)
    q0 = [0, 0, 0, 0.05 - depth, 1, 0, 0, 0, r, 9, 0.55 - depth, 1, 0, 0, 0]
    v0 = [w, 1, 0, 0, 0, 0, 0, 0, w * r, 0, 0, 0, w]
    for method, bound in (("rk4", 1e-4), ("semi-implicit", 1e-3)):
        run = lw.simulate(m, q0, v0, duration=2.0, method=method, dt=2e-4)
        assert run.q[-1, 1] == pytest.approx(1.0 / (2 * friction * G), abs=bound)
        x, y = run.q[:, 8], run.q[:, 9] - 9.0
        radial = x * np.cos(run.q[:, 0]) + y * np.sin(run.q[:, 0])
        along = y * np.cos(run.q[:, 0]) - x * np.sin(run.q[:, 0])
        assert radial[-1] == pytest.approx(r + w * w * r / (4 * k), rel=2e-6)
        assert np.abs(along[run.t > 0.5]).max() < 1e-7


@pytest.mark.parametrize(("height", "topples"), [(0.9, False), (1.1, True)])
def test_a_block_topples_if_its_height_exceeds_width_over_slope(height: float, topples: bool) -> None:
    width, slope = 0.1, 0.2
    m = on_slope(lw.Box((width, width, height * width / slope)), np.arctan(slope), friction=1.0)
    start = [0, 0, 0.5 * height * width / slope, 1, 0, 0, 0]
    run = lw.simulate(m, start, duration=1.0, method="rk4", dt=1e-4)
    assert (abs(run.q[-1, 5]) > 0.5) == topples


def test_block_between_static_and_dynamic_friction_angle_sticks_at_rest_and_slides_if_pushed() -> None:
    m = on_slope(lw.Box((0.4, 0.4, 0.1)), np.arctan(0.4), friction=(0.5, 0.3))
    laid = lw.simulate(m, [0, 0, 0.05, 1, 0, 0, 0], duration=1.0, method="rk4", dt=1e-4)
    assert np.abs(laid.v[-1]).max() < 1e-6
    pushed = lw.simulate(m, [0, 0, 0.05, 1, 0, 0, 0], [0.5, 0, 0, 0, 0, 0], duration=1.0, method="rk4", dt=1e-4)
    angle = np.arctan(0.4)
    assert pushed.v[-1, 0] == pytest.approx(0.5 + G * (np.sin(angle) - 0.3 * np.cos(angle)), rel=2e-3)


def test_an_elastic_ball_bounces_for_the_time_of_its_spring() -> None:
    b = lw.Builder("bounce", gravity=(0, 0, 0)).surface("wall", lw.Box((1, 1, 1)), at=(0, 0, -0.5))
    b.body("ball", 2.0, inertia=(0.01, 0.01, 0.01)).joint("free", lw.Free(), "world", "ball")
    m = b.geometry("ball", lw.Sphere(0.1), role="collision").collide("hit", stiffness=5e3).build()
    run = lw.simulate(m, [0, 0, 0.15, 1, 0, 0, 0], [0, 0, -1, 0, 0, 0], duration=0.2, method="rk4", dt=1e-5)
    assert run.v[-1, 2] == pytest.approx(1.0, abs=1e-5)
    time = np.ptp(run.t[run["contact.state"][:, 0] > 1])
    assert time == pytest.approx(np.pi * np.sqrt(2.0 / 5e3), abs=3e-5)
    deepest = 0.1 - run.q[:, 2].min()
    assert deepest == pytest.approx(np.sqrt(2.0 / 5e3), rel=1e-5)


@pytest.mark.parametrize("angle", [0.3, np.pi / 4, np.pi / 2])
def test_crossed_beams_rest_on_each_other(angle: float) -> None:
    b = lw.Builder("beams", gravity=(0, 0, -G)).surface("floor", lw.Plane())
    for name in ("lower", "upper"):
        b.body(name, 1.0, inertia=(0.002, 0.084, 0.084)).joint(f"{name} free", lw.Free(), "world", name)
        b.geometry(name, lw.Box((1.0, 0.1, 0.1)), role="collision")
    m = b.collide("all", friction=0.5, stiffness=2e4, damping=60.0).build()
    turned = [0, 0, 0.15, np.cos(angle / 2), 0, 0, np.sin(angle / 2)]
    run = lw.simulate(m, [0, 0, 0.05, 1, 0, 0, 0, *turned], duration=2.0, method="rk4", dt=1e-4)
    assert np.abs(run.v[-1]).max() < 1e-6
    assert run.q[-1, 9] == pytest.approx(0.15, abs=1e-3)


def test_contact_forces_conserve_momentum_and_members_of_a_batch_have_the_same_bits_alone() -> None:
    b = lw.Builder("space", gravity=(0, 0, 0))
    shapes = (lw.Box((0.3, 0.2, 0.4)), lw.Sphere(0.2), lw.Capsule(0.1, 0.3))
    for k, shape in enumerate(shapes):
        b.body(f"part {k}", 1.0 + k, inertia=(0.02, 0.03, 0.04)).joint(f"free {k}", lw.Free(), "world", f"part {k}")
        b.geometry(f"part {k}", shape, role="collision")
    m = b.collide("all", friction=0.3, stiffness=1e4, damping=5.0).build()
    rng = np.random.default_rng(0)
    q0 = np.zeros((5, 21))
    for k in range(3):
        q0[:, 7 * k : 7 * k + 3] = rng.normal(size=(5, 3)) * 0.1 + [k - 1.0, 0, 0]
        q0[:, 7 * k + 3] = 1.0
    v0 = rng.normal(size=(5, 18)) * 0.3
    v0[:, [0, 6, 12]] += np.array([2.0, 0.0, -2.0])
    run = lw.simulate(m, q0, v0, duration=1.0, method="rk4", dt=2e-4)
    assert (run["contact.state"] > 1).any(axis=(1, 2)).all()
    momentum = lw.compile(m).momentum(run.q, run.v)
    assert np.abs(momentum - momentum[:, :1]).max() < 1e-3  # rk4 with contacts that begin within a step
    assert np.abs((momentum - momentum[:, :1])[..., :3]).max() < 1e-8  # velocities are in the axes of turning bodies
    alone = lw.simulate(m, q0[3], v0[3], duration=1.0, method="rk4", dt=2e-4)
    assert (alone.q == run.q[3]).all()


def test_integration_methods_that_cannot_simulate_solids_are_refused() -> None:
    m = stack(1, stiffness=1e5)
    for method in ("variational", "midpoint", "dop853", "energy-momentum"):
        with pytest.raises(lw.LinkworkError, match=r"compliant contact of solids.*rk4|adaptive"):
            lw.simulate(m, [0, 0, 0.5, 1, 0, 0, 0], duration=0.1, method=method)
    with pytest.raises(lw.LinkworkError, match="collision 'all' has no stiffness"):
        lw.simulate(stack(1), [0, 0, 0.5, 1, 0, 0, 0], duration=0.1)


def test_points_of_a_touching_pair_that_are_apart_do_not_slip() -> None:
    """A tilted box that slides on two lower corners: its two upper corners move too, but do not touch."""
    b = lw.Builder("tilted").geometry("world", lw.Plane(), name="floor", role="collision")
    b.body("box", 1.0, inertia=np.full(3, 0.1)).joint("free", lw.Free(), "world", "box")
    b.geometry("box", lw.Box((0.2, 0.2, 0.2)), name="sides", role="collision")
    m = b.collide("contacts", stiffness=1e4, friction=0.5).build()
    tilt, height = 0.05, 0.1 * (np.cos(0.05) + np.sin(0.05)) - 1e-4
    q0 = [0.0, 0.0, height, np.cos(tilt / 2), 0.0, np.sin(tilt / 2), 0.0]
    run = lw.simulate(
        m,
        q0,
        [1.0, 0, 0, 0, 0, 0],
        duration=1e-3,
        dt=1e-4,
        method="rk4",
        record=("q", "v", "contact.state", "contact.slip"),
        progress=False,
    )
    apart, slips = run["contact.state"][1:] == APART, run["contact.slip"][1:]  # at the start, all are still apart
    assert apart.any()
    assert not apart.all()
    assert not slips[apart].any()
    assert slips[~apart].any(axis=-1).all()
