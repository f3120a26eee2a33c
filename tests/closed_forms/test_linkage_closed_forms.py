"""Linkages with loops against closed forms: positions, velocities, input torques, mobility and redundant rows."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.examples import (
    closed_two_body_robot,
    five_bar,
    four_bar,
    frontal_biped,
    scissor_lift,
    slider_crank,
    stewart_platform,
)
from linkwork.spatial.rotation import matrix_from_quaternion
from linkwork.spatial.scalar import Array
from random_mechanisms import relative

ANGLES = np.linspace(-3.0, 3.0, 13)


def solve(m: lw.Mechanism) -> lw.Dynamics:
    return lw.compile(m, target="numpy")


def free_velocity(d: lw.Dynamics, q: Array) -> Array:
    """The velocity (nv,) allowed by the loops, with the first joint at 1 rad/s."""
    check = d.mechanism.check_loops(q)
    assert check.mobility == 1
    return check.free[0] / check.free[0][0]


# --- four-bar ---


@pytest.mark.parametrize("crank", ANGLES)
def test_four_bar_position_satisfies_freudensteins_equation(crank: float) -> None:
    """K1 cos(rocker) - K2 cos(crank) + K3 = cos(crank - rocker), from a nearby position."""
    m = four_bar.build(crank)
    d, (a, b, c, ground) = solve(m), four_bar.LENGTHS
    q = d.assemble(m.integrate(m.keyframes["start"].q, [0.0, 0.2, -0.15]), fixed="crank pin")
    assert q[0] == m.keyframes["start"].q[0]
    assert relative(q, four_bar.coordinates(crank)) < 1e-12
    K3 = (a**2 - b**2 + c**2 + ground**2) / (2 * a * c)
    assert abs(ground / a * np.cos(q[2]) - ground / c * np.cos(crank) + K3 - np.cos(crank - q[2])) < 1e-11


@pytest.mark.parametrize("crank", ANGLES)
def test_four_bar_velocities_match_closed_form(crank: float) -> None:
    d, q = solve(four_bar.build()), four_bar.coordinates(crank)
    assert relative(free_velocity(d, q), four_bar.coordinate_derivatives(crank)) < 1e-12
    h = 1e-3
    near, far = (four_bar.coordinates(crank + x) - four_bar.coordinates(crank - x) for x in (h, 2 * h))
    assert relative(four_bar.coordinate_derivatives(crank), (8 * near - far) / (12 * h)) < 1e-8


@pytest.mark.parametrize("seed", range(5))
def test_four_bar_input_torque_matches_eksergians_equation(seed: int) -> None:
    """The virtual work of the tree's inverse dynamics along the one freedom is the work of the motor."""
    rng, d = np.random.default_rng(seed), solve(four_bar.build())
    crank, speed, acceleration = rng.uniform(-3, 3), rng.normal() * 4, rng.normal() * 10
    q, v = four_bar.coordinates(crank), speed * four_bar.coordinate_derivatives(crank)
    torque = four_bar.torque(crank, speed, acceleration)
    a = d.forward_dynamics(q, v, [torque, 0.0, 0.0])
    assert abs(a[0] - acceleration) < 1e-10 * max(1.0, abs(acceleration))
    assert abs(four_bar.coordinate_derivatives(crank) @ d.inverse_dynamics(q, v, a) - torque) < 1e-10 * max(
        1.0, abs(torque)
    )


# --- slider-crank ---


@pytest.mark.parametrize("crank", ANGLES)
def test_slider_crank_position_and_velocity_match_closed_form(crank: float) -> None:
    m = slider_crank.build(crank)
    d, r, rod = solve(m), slider_crank.CRANK, slider_crank.ROD
    q = d.assemble(m.integrate(m.keyframes["start"].q, [0.0, 0.1, 0.05]), fixed=["crank pin"])
    assert abs(q[2] - (r * np.cos(crank) + np.sqrt(rod**2 - (r * np.sin(crank)) ** 2))) < 1e-13
    root = np.sqrt(rod**2 - (r * np.sin(crank)) ** 2)
    slide = -r * np.sin(crank) * (1.0 + r * np.cos(crank) / root)
    assert abs(free_velocity(d, q)[2] - slide) < 1e-12
    assert relative(free_velocity(d, q), slider_crank.coordinate_derivatives(crank)[0]) < 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_slider_crank_input_torque_matches_eksergians_equation(seed: int) -> None:
    rng, d = np.random.default_rng(seed), solve(slider_crank.build())
    crank, speed, acceleration = rng.uniform(-3, 3), rng.normal() * 10, rng.normal() * 50
    (first, second), q = slider_crank.coordinate_derivatives(crank), slider_crank.coordinates(crank)
    torque = slider_crank.torque(crank, speed, acceleration)
    a = d.forward_dynamics(q, speed * first, [torque, 0.0, 0.0])
    assert relative(a, first * acceleration + second * speed**2) < 1e-10
    assert abs(first @ d.inverse_dynamics(q, speed * first, a) - torque) < 1e-10 * max(1.0, abs(torque))


def test_piston_side_force_follows_the_rod_angle() -> None:
    """A gas force on the slider at rest: torque is force times dx/dangle; side force is force times tan(rod angle)."""
    crank, force = 1.1, 300.0
    m = slider_crank.build()
    weightless = lw.compile(m, parameters=["gravity"], target="numpy")
    q, slope = slider_crank.coordinates(crank), slider_crank.coordinate_derivatives(crank)[0]
    tau = np.array([force * slope[2], 0.0, 0.0])  # holds the force -force on the slider
    push = np.zeros((3, 6))
    push[m.bodies.index_of("slider") - 1, 0] = -force
    still = {"gravity": np.zeros(3)}
    assert np.abs(weightless.forward_dynamics(q, np.zeros(3), tau, push, parameters=still)).max() < 1e-9
    through = weightless.reactions(q, np.zeros(3), tau, push, parameters=still)
    lean = np.arcsin(slider_crank.CRANK * np.sin(crank) / slider_crank.ROD)
    rail, pin = through[m.joints.index_of("rail")], through[len(m.joints)]
    assert relative(pin[:2], force * np.array([1.0, -np.tan(lean)])) < 1e-10  # of the rod on the slider
    assert abs(rail[1] - force * np.tan(lean)) < 1e-8


# --- five-bar, Stewart platform, two-body robot, biped ---


@pytest.mark.parametrize("left", [1.9, 2.2, 2.5])
@pytest.mark.parametrize("right", [0.6, 1.0])
def test_five_bar_tip_position_and_jacobian_match_closed_form(left: float, right: float) -> None:
    m = five_bar.build(left, right)
    d = solve(m)
    start = m.integrate(m.keyframes["start"].q, [0.0, 0.1, 0.0, -0.1])
    q = d.assemble(start, fixed=["left shoulder", "right shoulder"])
    assert relative(q, five_bar.coordinates(left, right)) < 1e-12
    assert relative(d.pose(q, "tip")[:2, 3], five_bar.tip(left, right)) < 1e-12
    free = d.mechanism.check_loops(q).free  # (2, 4)
    tips = free @ d.jacobian(q, "tip", "mixed")[:2].T
    assert relative(tips, free[:, [0, 2]] @ five_bar.tip_jacobian(left, right).T) < 1e-11


@pytest.mark.parametrize("seed", range(4))
def test_stewart_platform_leg_lengths_match_inverse_kinematics(seed: int) -> None:
    m, rng = stewart_platform.build(), np.random.default_rng(seed)
    d, q = solve(m), np.array(m.keyframes["start"].q)
    q = m.integrate(q, np.append(rng.normal(size=6) * 0.05, np.zeros(m.nv - 6)))  # the platform alone is moved
    found = d.assemble(q, fixed="float")
    legs = q[:3] + stewart_platform.top_points() @ matrix_from_quaternion(q[3:7]).T - stewart_platform.base_points()
    lengths = [found[m.joints[f"leg {k}"].q][0] + stewart_platform.BARREL for k in range(1, 7)]
    assert relative(np.array(lengths), np.linalg.norm(legs, axis=1)) < 1e-12
    assert relative(found, stewart_platform.coordinates(q[:3], q[3:7])) < 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_closed_two_body_robot_matches_schiehlens_equations_24_and_25(seed: int) -> None:
    """(24) and (25) with random parameters; the force on the line is the loop's reaction, in body 2's frame."""
    rng = np.random.default_rng(seed)
    I1, I2, m2, R, L = (float(x) for x in rng.uniform(0.3, 3.0, size=5))
    alpha = rng.uniform(-0.9, 0.9) * np.arcsin(min(1.0, L / R))
    m, (rate, M1) = closed_two_body_robot.build(I1, I2, m2, R, L, alpha), rng.normal(size=2) * 2
    q, v = closed_two_body_robot.state(R, L, alpha, rate)
    expected, force = closed_two_body_robot.equations((I1, I2, m2, R, L), alpha, rate, M1, 0.0)
    d = solve(m)
    assert abs(d.forward_dynamics(q, v, [M1, 0.0])[0] - expected) < 1e-9 * max(1.0, abs(expected))
    wrench = d.reactions(q, v, [M1, 0.0])[-1]
    upward = np.append(d.pose(q, "body 2")[:3, :3].T @ [0.0, force, 0.0], 0.0)
    assert relative(wrench[:3], upward[:3], scale=1.0) < 1e-9
    assert abs(wrench[5] - L * upward[1]) < 1e-9 * max(1.0, abs(force))


@pytest.mark.parametrize("seed", range(5))
def test_frontal_biped_matches_muir_and_neumans_equations(seed: int) -> None:
    """Unequal legs and random parameters; the ankles bear the weight and the inertia force."""
    rng = np.random.default_rng(seed)
    masses, inertias, (k1, k2, k3) = (
        rng.uniform((5, 30, 5), (15, 60, 15)),
        rng.uniform(0.5, 3, 3),
        rng.uniform(0.2, 0.6, 3),
    )
    legs, feet, hip = rng.uniform(0.7, 0.9, 2), rng.uniform(0.3, 0.4), rng.uniform(0.11, 0.14)
    numbers = frontal_biped.Numbers(tuple(masses), tuple(inertias), (k1, k2, k3), tuple(legs), feet, hip)
    m, theta = frontal_biped.build(0.05, numbers), frontal_biped.angles(0.05, numbers)
    q = m.keyframes["start"].q
    assert np.abs(solve(m).constraint(q)).max() < 1e-15
    assert relative(np.cumsum(q), theta) < 1e-15
    omega, u = frontal_biped.rates(theta, rng.normal(), numbers), rng.normal(size=4) * 30.0
    found = frontal_biped.motion(m, theta, omega, u, numbers)
    expected = frontal_biped.equations(theta, omega, u, numbers)
    for one, other in zip(found, expected, strict=True):
        assert relative(one, other) < 1e-10
    v, a = frontal_biped.relative(omega), frontal_biped.relative(found.accelerations)
    d = solve(m)
    after, before = (d.momentum(m.integrate(q, h * v), v + h * a)[:3] for h in (1e-4, -1e-4))
    held = np.append(found.left[:2] - found.right[:2], 0.0)
    assert relative(held + m.gravity * m.mass, (after - before) / 2e-4) < 1e-6


# --- mobility ---

FREEDOMS = {
    "four_bar": (1, {"closing pin": 3}),
    "slider_crank": (1, {"piston pin": 3}),
    "five_bar": (2, {"tip pin": 3}),
    "stewart_platform": (6, {}),
    "closed_two_body_robot": (1, {"line": 1}),
    "frontal_biped": (1, {"right ankle": 3}),
    "four_bar_ladder": (3, {"pin 1": 3, "pin 2": 3, "pin 3": 3}),
    "scissor_lift": (1, {"roller": 1, "right 2": 3, "right 3": 3, "glider": 1}),
}


@pytest.mark.parametrize("name", FREEDOMS)
def test_example_linkages_have_expected_mobility_and_redundancy(name: str) -> None:
    m = lw.example(name)
    check = m.check_loops(m.keyframes["start"].q)
    mobility, redundant = FREEDOMS[name]
    assert (check.mobility, check.redundant) == (mobility, redundant)
    assert check.rank == m.nv - mobility
    assert check.nc == m.nc == check.rank + sum(redundant.values())
    assert f"mobility {mobility}: {check.rank} of {check.nc}" in str(check)
    for loop, count in redundant.items():
        assert f"loop {loop!r}: {count} row{'s are' if count > 1 else ' is'} redundant" in str(check)


@pytest.mark.parametrize("stages", [1, 2, 4, 7])
def test_scissor_lift_with_any_number_of_stages_has_mobility_one(stages: int) -> None:
    m = scissor_lift.build(stages)
    d, q = solve(m), m.keyframes["start"].q
    assert relative(free_velocity(d, q), scissor_lift.coordinate_derivatives(stages)) < 1e-10
    height = d.pose(q, "platform")[1, 3]
    assert abs(height - 2 * stages * scissor_lift.HALF * np.sin(0.6)) < 1e-12
