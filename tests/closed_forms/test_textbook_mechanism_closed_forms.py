"""Mechanisms whose equations papers and textbooks give in closed form, with random parameters."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.formulations import newton_euler
from linkwork.algorithms.formulations.mass_matrix_factorization import factorization
from linkwork.examples import branched_tree, double_pendulum, heavy_top, two_body_robot
from linkwork.spatial.scalar import Array
from random_mechanisms import relative

SEEDS = range(10)


def five(rng: np.random.Generator) -> tuple[float, float, float, float, float]:
    """Five random values for the masses, inertias and lengths of a mechanism."""
    a, b, c, d, e = rng.uniform(0.3, 3.0, size=5).tolist()
    return a, b, c, d, e


def solve(m: lw.Mechanism) -> lw.Dynamics:
    return lw.compile(m, target="numpy")


@pytest.mark.parametrize("seed", SEEDS)
def test_double_pendulum_torques_match_muir_and_neuman(seed: int) -> None:
    rng = np.random.default_rng(seed)
    numbers = five(rng)
    q, w, alpha = rng.normal(size=(3, 2)) * 2.0
    d = solve(double_pendulum.build(*numbers))
    expected = double_pendulum.joint_torques(*numbers, q, w, alpha)
    assert relative(d.inverse_dynamics(q, w, alpha), expected) < 1e-12
    assert relative(d.inverse_dynamics(q, w, alpha), lagrange_torques(*numbers, q, w, alpha)) < 1e-12


def lagrange_torques(m1: float, m2: float, a1: float, a2: float, g: float, q: Array, w: Array, alpha: Array) -> Array:
    """Return the joint torques (2,) [N m] of the double pendulum by Lagrange's equations; angles from hanging down."""
    s1, s2, s12, c2 = np.sin(q[0]), np.sin(q[1]), np.sin(q[0] + q[1]), np.cos(q[1])
    M12 = m2 * (a2**2 + a1 * a2 * c2)
    M = np.array([[m1 * a1**2 + m2 * (a1**2 + a2**2 + 2 * a1 * a2 * c2), M12], [M12, m2 * a2**2]])
    h = m2 * a1 * a2 * s2
    coriolis = np.array([-h * (2 * w[0] * w[1] + w[1] ** 2), h * w[0] ** 2])
    weight = g * np.array([(m1 + m2) * a1 * s1 + m2 * a2 * s12, m2 * a2 * s12])
    return M @ alpha + coriolis + weight


def test_pendulum_pin_force_matches_muir_and_neuman() -> None:
    """At rest the ground force is the weight, and -tau_1 + tau_z = 0 (their (7), corrected) at the ground."""
    m = double_pendulum.build()
    q = np.array([0.4, -0.9])
    d = solve(m)
    through = d.reactions(q, np.zeros(2), d.gravity(q))
    assert through[0, 5] == pytest.approx(d.gravity(q)[0], rel=1e-12)
    R = d.poses(q)[0, :3, :3]
    assert relative(R @ through[0, :3], np.array([0.0, 5.5 * 9.81, 0.0])) < 1e-12


@pytest.mark.parametrize("seed", SEEDS)
def test_two_body_robot_satisfies_schiehlens_full_triangular_and_diagonal_equations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    I1, I2, m2, R, L = numbers = five(rng)
    q, v, (M1, F2) = rng.normal(size=(3, 2))
    m = two_body_robot.build(*numbers)
    d = solve(m)
    M, force = two_body_robot.equations(*numbers, q, M1, F2)
    wrenches, tau = two_body_robot.end_wrench(L, q, F2), np.array([M1, 0.0])
    assert relative(d.mass_matrix(q), M) < 1e-14
    a = d.forward_dynamics(q, v, tau, wrenches)
    assert relative(a, np.linalg.solve(M, force)) < 1e-12  # (21): velocities do not enter
    system = newton_euler.newton_euler(m, q, v, tau, wrenches)
    M_hat, k_hat, q_hat = newton_euler.triangular_equations(system)
    assert relative(M_hat, np.array([[I1 + m2 * R**2, 0.0], [I2, I2]])) < 1e-13  # (22)
    assert relative(q_hat - k_hat, np.array([M1 + F2 * R * np.sin(q[0]), F2 * L * np.sin(q.sum())]), scale=1.0) < 1e-12
    absolute = np.array([a[0], a.sum()])  # alpha and beta = alpha + delta
    diagonal = np.array([I1 + m2 * R**2, I2])
    expected = np.array([M1 + F2 * R * np.sin(q[0]), F2 * L * np.sin(q.sum())])
    assert relative(diagonal * absolute, expected) < 1e-12  # (23)


A_BLOCKS = """
........
1.......
.1......
..1.....
...1....
...1....
.1......
......1.
"""
PHI_BLOCKS = """
1.......
11......
111.....
1111....
11111...
1111.1..
11....1.
11....11
"""


def pattern(matrix: Array) -> str:
    """Return the positions of the nonzero 6x6 blocks of a matrix, as text."""
    n = len(matrix) // 6
    blocks = np.abs(matrix.reshape(n, 6, n, 6)).max(axis=(1, 3)) > 0.0
    return "\n" + "".join("".join(".1"[int(x)] for x in row) + "\n" for row in blocks)


def test_branched_tree_has_wendlandts_block_patterns() -> None:
    m = branched_tree.build()
    f = factorization(m, m.random(0), np.zeros(m.nv))
    assert pattern(f.A) == A_BLOCKS
    assert pattern(f.phi) == PHI_BLOCKS
    assert m.topology.B.tolist() == [0, 1, 2, 3, 4, 4, 2, 7]
    powers = [np.linalg.matrix_power(f.A, k) for k in range(8)]
    assert relative(f.phi, np.sum(powers, axis=0)) < 1e-13  # phi = 1 + A + ... + A^(n-1)


def test_heavy_top_precesses_steadily_and_stays_upright_when_sleeping() -> None:
    m = heavy_top.build()
    for tilt, precession in ((0.2, 1.0), (0.9, -4.0), (1.6, 3.0), (2.9, 7.0)):
        q, v, expected = heavy_top.steady_precession(tilt, precession)
        assert relative(solve(m).forward_dynamics(q, v, np.zeros(3)), expected) < 1e-12
    upright = solve(m).forward_dynamics(m.neutral(), np.array([0.0, 0.0, 50.0]), np.zeros(3))
    assert np.abs(upright).max() < 1e-14


@pytest.mark.parametrize("seed", SEEDS)
def test_free_body_satisfies_eulers_equations_and_falls_with_gravity(seed: int) -> None:
    rng = np.random.default_rng(seed)
    I, com, w, v = np.diag([1.0, 2.0, 2.5]), rng.normal(size=3), rng.normal(size=3), rng.normal(size=3)
    b = lw.Builder("body", gravity=(0, 0, -9.81))
    b.body("body", mass=2.0, com=com, inertia=I)
    b.joint("float", lw.Free(), "world", "body")
    m = b.build()
    q = m.random(rng)
    d = solve(m)
    a = d.forward_dynamics(q, np.concatenate([v, w]), np.zeros(6))
    assert relative(a[3:], np.linalg.solve(I, -np.cross(w, I @ w))) < 1e-12
    R = d.poses(q)[0, :3, :3]
    point = a[:3] + np.cross(w, v)  # acceleration of the frame's origin in body axes
    of_centre = R @ (point + np.cross(a[3:], com) + np.cross(w, np.cross(w, com)))
    assert relative(of_centre, m.gravity) < 1e-12


@pytest.mark.parametrize("seed", SEEDS)
def test_satellite_and_wheel_conserve_total_momentum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = lw.example("wheel_satellite")
    d = solve(m)
    q, v = m.random(rng), rng.normal(size=7) * [1, 1, 1, 1, 1, 1, 300.0]
    motor = np.array([0.0] * 6 + [rng.normal()])
    a = d.forward_dynamics(q, v, motor)
    scale = np.abs(d.momentum(q, v)).max()
    assert np.abs(d.momentum_rate(q, v, a)).max() < 1e-12 * scale
    assert np.abs(d.momentum_rate(q, v, a + np.eye(7)[6])).max() > 1e-3  # a wheel that moves by itself would not
    still = np.array([0.0] * 6 + [v[6]])
    spun = d.forward_dynamics(q, still, motor)
    assert spun[5] == pytest.approx(-motor[6] / 9.0, rel=1e-12)  # the hull turns against the motor about z


def test_screw_joint_acceleration_matches_closed_form() -> None:
    """A nut of mass m and inertia I on a screw of pitch p: (I + m p^2) a = tau - m g p."""
    b = lw.Builder("nut")
    b.body("nut", mass=3.0, inertia=(0.02, 0.02, 0.03))
    b.joint("thread", lw.Screw((0, 0, 1), pitch=0.05), "world", "nut")
    a = solve(b.build()).forward_dynamics([0.7], [4.0], [2.0])
    assert a[0] == pytest.approx((2.0 - 3.0 * 9.81 * 0.05) / (0.03 + 3.0 * 0.05**2), rel=1e-12)


def test_planar_body_with_offset_center_of_mass_satisfies_newton_euler() -> None:
    """In the plane: F = m a at the centre of mass, and torque about it is inertia times angular acceleration."""
    b = lw.Builder("puck", gravity=(0, 0, 0))
    b.body("puck", mass=2.0, com=(0.3, -0.1, 0.0), inertia=(1.0, 1.0, 1.5))
    b.joint("plane", lw.Planar((0, 0, 1)), "world", "puck")
    q, v, tau = np.array([0.2, 0.4, 1.1]), np.array([1.0, -2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    a = solve(b.build()).forward_dynamics(q, v, tau)
    c, s = np.cos(q[2]), np.sin(q[2])
    r = np.array([c * 0.3 + s * 0.1, s * 0.3 - c * 0.1])  # centre from the frame's origin, world axes
    centre = a[:2] + a[2] * np.array([-r[1], r[0]]) - v[2] ** 2 * r
    assert relative(2.0 * centre, tau[:2]) < 1e-12
    about_centre = tau[2] - (r[0] * tau[1] - r[1] * tau[0])
    assert 1.5 * a[2] == pytest.approx(about_centre, rel=1e-12)


def test_universal_joint_equals_two_crossed_hinges() -> None:
    """The same mechanism with a massless cross between two hinges has the same accelerations."""

    def machine(universal: bool) -> lw.Mechanism:
        b = lw.Builder("cardan")
        b.body("shaft", mass=1.0, com=(0.1, 0.2, -0.5), inertia=(0.1, 0.12, 0.05, 0.01, 0.0, 0.02))
        if universal:
            b.joint("cross", lw.Universal((1, 0, 0), (0, 1, 0)), "world", "shaft")
        else:
            b.body("spider")
            b.joint("first", lw.Revolute((1, 0, 0)), "world", "spider")
            b.joint("second", lw.Revolute((0, 1, 0)), "spider", "shaft")
        return b.build()

    q, v, tau = np.random.default_rng(0).normal(size=(3, 2))
    one, two = solve(machine(True)), solve(machine(False))
    assert relative(one.forward_dynamics(q, v, tau), two.forward_dynamics(q, v, tau)) < 1e-12
    assert relative(one.mass_matrix(q), two.mass_matrix(q)) < 1e-13
