"""Friction of rigid solids: sticking, sliding, toppling, spinning and the distribution of the contact forces."""

from collections.abc import Sequence

import numpy as np
import pytest

import linkwork as lw

G = 9.81
RECORD = ("q", "v", "contact.state", "contact.force", "iterations")


def slope(angles: object) -> np.ndarray:
    """Gravity (n, 3) as seen on slopes that fall along x."""
    angles = np.asarray(angles)
    return np.column_stack([G * np.sin(angles), 0 * angles, -G * np.cos(angles)])


def inertia_of(size: tuple[float, float, float]) -> tuple[float, float, float]:
    """Principal inertia of a box of 1 kg."""
    x, y, z = size
    return (y * y + z * z) / 12, (x * x + z * z) / 12, (x * x + y * y) / 12


def blocks(
    pairs: Sequence[tuple[str, str]] = (("a", "plane"), ("b", "slab")), **sizes: tuple[float, float, float]
) -> lw.Mechanism:
    """Boxes of 1 kg; by default, `a` is on a plane and `b` on a large box."""
    b = (
        lw.Builder(gravity=(0, 0, -G))
        .surface("plane", lw.Plane())
        .surface("slab", lw.Box((40, 40, 1)), at=(0, 0, -0.5))
    )
    for name, size in sizes.items():
        b.body(name, 1.0, inertia=inertia_of(size)).joint(name, lw.Free(), "world", name)
        b.geometry(name, lw.Box(size), role="collision")
    return b.collide("all", pairs=pairs, friction=0.5).build()


def test_blocks_stick_and_slide_at_the_friction_angle() -> None:
    """A block laid on a slope between the two friction angles sticks; one that is pushed slides on."""
    size = (0.2, 0.3, 0.1)
    m, limit = blocks(a=size, b=size), np.arctan(0.5)
    #          just below    just above    far above    laid    pushed    pushed uphill
    angles = np.array([limit - 1e-4, limit + 1e-4, limit + 0.1, *[np.arctan(0.4)] * 3])
    friction = np.array([[0.5, 0.5]] * 3 + [[0.5, 0.3]] * 3)
    speeds = np.array([0, 0, 0, 0, 0.5, -0.5])
    q0, v0 = [0, 0, 0.05, 1, 0, 0, 0] * 2, np.zeros((6, 12))
    v0[:, 0] = v0[:, 6] = speeds
    run = lw.simulate(
        m, q0, v0, 0.5, 1e-3, contact="rigid", parameters={"gravity": slope(angles), "all.friction": friction},
        record=RECORD,
    ).check()  # fmt: skip
    slides = np.array([False, True, True, False, True, False])
    a = np.where(slides, G * (np.sin(angles) - friction[:, 1] * np.cos(angles)), 0.0)
    for x in (run.q[:, -1, 0], run.q[:, -1, 7]):
        assert x[:5] == pytest.approx((speeds * 0.5 + a * 0.125)[:5], abs=1e-12)
        up = 0.25 / (2 * G * (np.sin(angles[5]) + 0.3 * np.cos(angles[5])))  # it stops there, and sticks
        assert x[5] == pytest.approx(-up, abs=1e-5)
    assert (run["contact.state"][:, -1] == np.where(slides, 2.0, 4.0)[:, None]).all()
    # The pressure under a flush face is linear: the front points carry more, by mu h / (2 w)
    normal = run["contact.force"][1, -1, :4, 2]
    more = 0.25 * G * np.cos(angles[1]) * (0.5 * 0.1 / 0.2)
    assert np.sort(normal) == pytest.approx(0.25 * G * np.cos(angles[1]) + more * np.array([-1, -1, 1, 1]), abs=1e-7)


def test_block_pushed_uphill_stops_and_sticks_whenever_it_stops_within_a_step() -> None:
    size, angle, friction = (0.2, 0.3, 0.1), np.arctan(0.4), (0.42, 0.3)
    m, speeds = blocks(a=size, b=size), np.linspace(0.3, 0.31, 9)  # they differ by about two steps of deceleration
    v0 = np.zeros((9, 12))
    v0[:, 0] = v0[:, 6] = -speeds
    given = {"gravity": np.tile(slope(np.array([angle])), (9, 1)), "all.friction": np.tile(friction, (9, 1))}
    start = [0, 0, 0.05, 1, 0, 0, 0] * 2
    run = lw.simulate(m, start, v0, 0.1, 1e-3, contact="rigid", parameters=given, record=RECORD).check()
    up = speeds**2 / (2 * G * (np.sin(angle) + 0.3 * np.cos(angle)))
    assert np.abs(run.v[:, -1]).max() < 1e-12
    for x in (run.q[:, -1, 0], run.q[:, -1, 7]):
        assert x == pytest.approx(-up, abs=2e-6)


def test_box_on_a_block_that_stops_uphill_stops_with_it_at_the_stopping_distance() -> None:
    """Between the friction angles. The forces in the step of the stop are smaller than those at rest."""
    size, angle, count = (0.2, 0.2, 0.2), np.arctan(0.4), 21
    m, speeds = blocks(pairs=[("a", "plane"), ("b", "a")], a=size, b=size), np.linspace(0.1, 1.0, count)
    v0 = np.zeros((count, 12))
    v0[:, 0] = v0[:, 6] = -speeds
    given = {"gravity": np.tile(slope(np.array([angle])), (count, 1)), "all.friction": np.tile((0.5, 0.3), (count, 1))}
    start = [0, 0, 0.1, 1, 0, 0, 0, 0, 0, 0.3, 1, 0, 0, 0]
    run = lw.simulate(m, start, v0, 0.3, 1e-3, contact="rigid", parameters=given).check()
    up = speeds**2 / (2 * G * (np.sin(angle) + 0.3 * np.cos(angle)))
    assert np.abs(run.v[:, -1]).max() < 1e-12
    for x in (run.q[:, -1, 0], run.q[:, -1, 7]):
        assert x == pytest.approx(-up, abs=2e-6)
    report = run.report()
    assert report.passed, report


def test_block_that_a_controller_stops_between_the_friction_limits_sticks_at_the_stopping_distance() -> None:
    """The force of the controller is above the dynamic and below the static friction."""
    m, speeds = blocks(a=(0.2, 0.2, 0.2), b=(0.2, 0.2, 0.2)), np.linspace(0.1, 1.0, 21)
    v0 = np.zeros((21, 12))
    v0[:, 0] = speeds
    force = np.array([-3.9, *[0.0] * 11])
    run = lw.simulate(
        m, [0, 0, 0.1, 1, 0, 0, 0, 0, 9, 0.1, 1, 0, 0, 0], v0, 0.3, 1e-3, contact="rigid",
        parameters={"all.friction": np.tile((0.5, 0.3), (21, 1))}, controller=lambda t, q, v: force + 0.0 * v,
    ).check()  # fmt: skip
    assert np.abs(run.v[:, -1]).max() < 1e-12
    assert run.q[:, -1, 0] == pytest.approx(speeds**2 / (2 * (3.9 + 0.3 * G)), abs=2e-6)
    report = run.report()  # the work of the controller is part of the energy balance
    assert report.passed, report


@pytest.mark.slow
def test_tall_blocks_topple_when_the_weight_is_beyond_the_edge() -> None:
    size = (0.1, 0.1, 0.3)
    m, limit = blocks(a=size, b=size), np.arctan(1 / 3)
    angles = np.array([limit - 1e-3, limit + 1e-3])
    run = lw.simulate(
        m, [0, 0, 0.15, 1, 0, 0, 0] * 2, np.zeros(12), 0.3, 1e-3, contact="rigid",
        parameters={"gravity": slope(angles), "all.friction": np.array([[2.0, 2.0]] * 2)}, record=RECORD,
    ).check()  # fmt: skip
    assert np.abs(run.v[0]).max() < 1e-12
    tilt = 2 * np.arcsin(abs(run.q[1, -1, [5, 12]]))
    # About the edge: (I + m l^2) angle'' = m g l sin(angle - limit), from rest
    length = 0.5 * np.hypot(0.1, 0.3)
    rate = np.sqrt(G * length / (0.1 / 12 + length**2))
    assert tilt == pytest.approx(np.full(2, 1e-3 * (np.cosh(rate * 0.3) - 1)), rel=2e-3)


def test_flat_disk_slows_down_and_coins_come_to_rest() -> None:
    """The four contact points of a flat disk are at its rim: the torque is mu m g r, not that of a uniform pressure."""
    r, h, mu = 0.1, 0.02, 0.2
    b = lw.Builder(gravity=(0, 0, -G)).surface("floor", lw.Plane())
    b.body("disk", 1.0, inertia=(0.25 * r * r, 0.25 * r * r, 0.5 * r * r)).joint("free", lw.Free(), "world", "disk")
    m = b.geometry("disk", lw.Cylinder(r, h), role="collision").collide("all", friction=mu).build()
    tilts = [0.0, 0.3, 0.6]
    q0 = [[0, 0, h / 2 * np.cos(x) + r * np.sin(x), np.cos(x / 2), np.sin(x / 2), 0, 0] for x in tilts]
    v0 = [[0, 0, 0, 0, 0, 10.0], [0.1, 0, 0, 0, 1, 3], [0, 0, 0, 2, 0, 0]]
    run = lw.simulate(m, q0, v0, 3.0, 1e-3, contact="rigid", record=RECORD).check()
    rate = mu * G * r / (0.5 * r * r)
    expected = np.maximum(10.0 - rate * run.t, 0.0)
    assert np.abs(run.v[0, :, 5] - expected).max() < 1e-2 * rate * 1e-3 + rate * 1e-3
    assert run.v[0, 200, 5] == pytest.approx(expected[200], abs=1e-10)
    assert np.abs(run.v[:, -1]).max() < 1e-9
    assert run.q[:, -1, 2] == pytest.approx(np.full(3, h / 2), abs=2e-5)


@pytest.mark.slow
def test_boxes_that_slide_on_each_other_move_as_two_coulomb_blocks() -> None:
    """The upper box slides on the lower one, which slides on the floor; then both slide together, and stop."""
    b = lw.Builder(gravity=(0, 0, -G)).surface("floor", lw.Plane())
    for name, size in (("lower", (1.0, 0.5, 0.1)), ("upper", (0.1, 0.1, 0.1))):
        b.body(name, 1.0, inertia=inertia_of(size)).joint(name, lw.Free(), "world", name)
        b.geometry(name, lw.Box(size), role="collision")
    b.collide("top", pairs=[("upper", "lower")], friction=0.4)
    m = b.collide("bottom", pairs=[("lower", "floor")], friction=0.1).build()
    q0 = [0, 0, 0.05, 1, 0, 0, 0, 0, 0, 0.15, 1, 0, 0, 0]
    run = lw.simulate(m, q0, [0] * 6 + [1.0, 0, 0, 0, 0, 0], 1.6, 1e-3, contact="rigid", record=RECORD).check()
    speeds = run.v[:, [0, 6]]
    lower, upper = (0.4 - 0.1 * 2) * G, -0.4 * G
    joined = 1.0 / (lower - upper)
    together = lower * joined
    apart = run.t < joined - 1e-3
    assert np.abs(speeds[apart, 0] - lower * run.t[apart]).max() < 1e-10
    assert np.abs(speeds[apart, 1] - 1.0 - upper * run.t[apart]).max() < 1e-10
    after = (run.t > joined + 1e-3) & (run.t < joined + together / (0.1 * G) - 1e-3)
    for speed in speeds[after].T:
        assert np.abs(speed - (together - 0.1 * G * (run.t[after] - joined))).max() < 2e-3 * G
    assert np.abs(np.diff(speeds[after], axis=1)).max() < 1e-10
    assert np.abs(run.v[-1]).max() < 1e-12
