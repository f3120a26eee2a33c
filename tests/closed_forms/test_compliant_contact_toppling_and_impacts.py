"""Compliant contacts: toppling, balls in a row, a sliding rod that digs in, and the forces of a box at rest."""

import numpy as np
import pytest

import linkwork as lw

G = 9.81


@pytest.mark.parametrize("method", ["variational", "rk4"])
def test_block_topples_at_the_angle_whose_tangent_is_width_over_height(method: str) -> None:
    width, height, mass, hard = 0.2, 0.5, 2.0, 1e6  # the friction coefficient of 0.8 is above width / height
    size = np.array([width, width, height])
    b = lw.Builder("tower").body("block", mass, inertia=mass / 12.0 * (np.square(size).sum() - np.square(size)))
    b.joint("free", lw.Free(), "world", "block").surface("plane", lw.Plane())
    b.touch("corner", "block", lw.box_corners(size)[:4], stiffness=hard, damping=1e3, friction=0.8)
    angle = np.arctan(width / height) + np.radians([-0.1, 0.1])
    # Start in static equilibrium: each force is the share of the load at its corner
    shift = 0.5 * height * np.tan(angle) / (0.5 * width)
    depth = mass * G * np.cos(angle) / (4.0 * hard)
    tilt = np.arctan(depth * np.minimum(shift, 1.0) / (0.5 * width))
    q = np.zeros((2, 7))
    q[:, 2], q[:, 3], q[:, 5] = 0.5 * height - depth, np.cos(0.5 * tilt), np.sin(0.5 * tilt)
    q[:, 0] = 0.5 * height * np.sin(tilt)
    gravity = G * np.array([np.sin(angle), 0.0 * angle, -np.cos(angle)]).T
    run = lw.simulate(b.build(), q, duration=3.0, dt=2e-4, method=method, every=10, parameters={"gravity": gravity})
    turned = 2.0 * np.arctan2(run.q[:, :, 5], run.q[:, :, 3])
    assert np.abs(turned[0]).max() < 1e-3
    assert turned[1].max() > 0.5  # it falls over


@pytest.mark.slow
def test_as_many_balls_leave_a_row_as_hit_it_at_the_same_speed() -> None:
    """Newton's cradle with gaps: as many balls leave as arrive, at the same speed, and the others rest."""
    mass, hard, count, speed = 0.5, 1e6, 4, 1.0
    b = lw.Builder("cradle", gravity=(0, 0, 0))
    for k in range(count):
        b.body(f"ball {k}", mass).joint(f"x {k}", lw.Prismatic((1, 0, 0)), "world", f"ball {k}")
        b.surface(f"skin {k}", lw.Sphere(0.05), f"ball {k}")
    for k in range(count - 1):
        b.touch(f"hit {k}", f"ball {k}", radius=0.05, stiffness=hard, against=f"skin {k + 1}")
    m, v = b.build(), speed * np.array([[1.0, 0, 0, 0], [1.0, 1.0, 0, 0]])
    q = 0.11 * np.arange(count)
    for method, locate, error in (("energy-momentum", True, 1e-12), ("rk4", True, 1e-6), ("variational", False, 5e-3)):
        run = lw.simulate(m, q, v, duration=0.15, dt=5e-5, method=method, locate=locate).check()
        assert run.v[:, -1] == pytest.approx(v[:, ::-1], abs=error)


@pytest.mark.parametrize("method", ["variational", "rk4", "energy-momentum"])
def test_run_of_a_rod_that_digs_into_the_floor_finishes_without_energy_gain(method: str) -> None:
    """Painlevé's rod slides with its tip ahead of its centre: rigid contact forces do not exist above 4/3 friction.

    With 4 m (1 + 3 cos^2 - 3 mu sin cos) < 0 the normal force accelerates the tip into the floor.
    """
    length, mass, angle, mu = 1.0, 1.0, np.radians(60.0), 2.0
    assert 1.0 + 3.0 * np.cos(angle) ** 2 - 3.0 * mu * np.sin(angle) * np.cos(angle) < 0.0
    b = lw.Builder("rod", gravity=(0, 0, -G))
    b.body("rod", mass, inertia=(1e-4, mass * length**2 / 12.0, mass * length**2 / 12.0))
    b.joint("free", lw.Planar(), "world", "rod", rpy=(0.5 * np.pi, 0, 0)).surface("floor", lw.Plane())
    b.touch("tip", "rod", (-0.5 * length, 0, 0), stiffness=1e5, damping=50.0, friction=mu)
    b.touch("end", "rod", (0.5 * length, 0, 0), stiffness=1e5, damping=50.0, friction=mu)
    m = b.build()
    q, v = np.array([0.0, 0.5 * length * np.sin(angle) - mass * G / 1e5, angle]), np.zeros(3)
    for speed in (-3.0, 3.0):
        v[:2] = np.cos(angle) * speed, -np.sin(angle) * speed
        run = lw.simulate(m, q, v, duration=1.0, dt=2e-4, method=method, locate=True).check()
        energy = run.energy + run["contact.energy"]
        assert np.diff(energy).max() < 1e-6 * energy[0]
        assert np.abs(run["contact.force"][:, 0]).max() < 1e5  # finite: the tip jams and the rod rebounds
        if speed > 0.0:  # the tip digs in, sticks and lifts off
            tip = run["contact.state"][:, 0]
            assert (tip == 4.0).any()
            assert (tip[run.t > 0.05] == 1.0).any()


def test_corners_of_a_box_at_rest_carry_equal_loads_without_forces_along_the_floor() -> None:
    """Laid, dropped flat, and dropped on one corner: then self-stress that friction holds remains between anchors."""
    size, mass = np.array([0.3, 0.3, 0.2]), 8.0
    b = lw.Builder("box", gravity=(0, 0, -G))
    b.body("box", mass, inertia=mass / 12.0 * (np.square(size).sum() - np.square(size)))
    b.joint("free", lw.Free(), "world", "box").surface("floor", lw.Plane())
    b.touch("corner", "box", lw.box_corners(size), stiffness=2e4, damping=400.0, friction=0.6)
    depth, tilt = mass * G / 4.0 / 2e4, 0.1
    laid, flat = [0, 0, 0.1 - depth, 1, 0, 0, 0], [0, 0, 0.13, 1, 0, 0, 0]
    corner = [0, 0, 0.15, np.cos(tilt), np.sin(tilt) * 0.6, np.sin(tilt) * 0.8, 0]
    for locate in (False, True):
        run = lw.simulate(b.build(), [laid, flat, corner], duration=2.0, dt=5e-4, method="variational", locate=locate)
        force = run["contact.force"][:, -1, :4]
        share = mass * G / 4.0
        assert force[:2, :, 2] == pytest.approx(np.full((2, 4), share), rel=1e-9)
        assert np.abs(force[:2, :, :2]).max() < 1e-9 * share
        assert np.abs(force[2].sum(axis=0) - [0, 0, mass * G]).max() < 1e-6
        assert force[2, :, 2] == pytest.approx(np.full(4, share), rel=0.05)
        assert (np.linalg.norm(force[2, :, :2], axis=1) <= 0.6 * force[2, :, 2]).all()
