"""Dynamics with friction laws for given directions of slip: agreement with force/torque propagation, closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.formulations import propagation
from linkwork.algorithms.joint_friction.friction_limits import active_limits, friction_limits
from linkwork.algorithms.joint_friction.friction_sites import slip_rows, slip_velocities
from linkwork.algorithms.joint_friction.friction_solver import FrictionSolution, solve_directions
from linkwork.spatial.scalar import Array
from quick_test_selection import mark_slow_except
from random_friction_laws import as_linear_friction, random_directions, with_random_laws
from random_loops import CASES, label, looped_tree
from random_mechanisms import QUICK, TREES, State, relative, state, tree, tree_with_mimics

FEW = range(0, QUICK, 3)
GROUPS = mark_slow_except([FEW, *(range(k, k + 10) for k in range(0, TREES, 10))], [FEW], lambda seeds: f"{seeds}")
HOLDING = [case for case in CASES if not case[2]]
LOOPS = pytest.mark.parametrize("case", mark_slow_except(HOLDING, HOLDING[:12:3] + HOLDING[-5:-4], label))


def slipping(m: lw.Mechanism, q: Array, v: Array) -> Array:
    """Return the directions (nf,) of the slip velocities."""
    slip, none = slip_velocities(m, q, v), np.zeros(len(slip_velocities(m, q, v)))
    found = np.zeros(len(slip))
    for one in active_limits(m, q, slip, none):
        x = slip[list(one.numbers)] * np.array(one.scales)
        x = x if np.any(x) else np.ones(len(x))  # a loop holds the joint: any direction will do
        found[list(one.numbers)] = x / np.linalg.norm(x)
    return found


def solved(m: lw.Mechanism, s: State) -> tuple[FrictionSolution, Array]:
    """Return the solution with friction against the motion of the state, and the directions of slip."""
    directions = slipping(m, s.q, s.v)
    found = solve_directions(m, s.q, s.v, s.tau, s.wrenches, directions)
    assert found.converged == 1.0
    return found, directions


def require_agreement(m: lw.Mechanism, s: State) -> None:
    """Check accelerations, friction and loads against force/torque propagation, and the power of friction."""
    found, directions = solved(m, s)
    linear = as_linear_friction(m, s.q, s.v, directions, found)
    expected = propagation.forward_dynamics(m, s.q, s.v, s.tau, s.wrenches, linear)  # refuses friction with power > 0
    assert relative(found.a, expected.a) < 1e-10
    joints = [m.tree.joints.index_of(one.name) for one in m.frictions if one.in_tree]
    assert relative(found.loads[: len(joints)], expected.reactions[joints]) < 1e-10
    none = np.zeros(len(found.friction))
    assert relative(friction_limits(m, s.q, s.v, found.loads, found.friction, none), found.limits) < 1e-12
    assert (slip_rows(m, s.q) @ s.v) @ found.friction < 0.0


@pytest.mark.parametrize("group", GROUPS)
def test_trees_with_friction_agree_with_force_propagation(group: range) -> None:
    for seed in group:
        require_agreement(with_random_laws(tree(seed), seed), state(tree(seed), seed))


@LOOPS
def test_loops_with_friction_agree_with_force_propagation(case: tuple[int, tuple[str, ...], bool]) -> None:
    m, s = looped_tree(*case)
    require_agreement(with_random_laws(m, case[0], 0.2), s)


@pytest.mark.parametrize("seed", [3, 7, 12])
def test_mimic_joints_with_friction_agree_with_force_propagation(seed: int) -> None:
    m = with_random_laws(tree_with_mimics(seed), seed)
    require_agreement(m, state(m, seed))


@pytest.mark.parametrize("seed", [4, 6, 17, 21])
def test_joints_that_stick_have_zero_acceleration_and_the_friction_that_holds_them(seed: int) -> None:
    """With the forces that hold them as motor forces instead of friction, all joints move in the same way."""
    m, s = looped_tree(*HOLDING[seed]) if seed < 10 else (tree(seed), state(tree(seed), seed))
    m = with_random_laws(m, seed, 0.1)
    directions = random_directions(m, s.q, np.random.default_rng(seed))
    limits = active_limits(m, s.q, np.zeros(len(directions)), np.zeros(len(directions)))
    for one in limits[::2]:
        directions[list(one.numbers)] = 0.0
    found = solve_directions(m, s.q, 0.0 * s.v, s.tau, s.wrenches, directions)
    rows = slip_rows(m, s.q)
    held = directions == 0.0
    assert found.converged
    assert np.abs(rows[held] @ found.a).max() < 1e-9 * np.abs(found.a).max()
    motors = np.where(held, found.friction, 0.0)
    bare = m.with_elements("frictions", [])
    d = lw.compile(bare, target="numpy")
    a = d.forward_dynamics(s.q, 0.0 * s.v, s.tau + rows.T @ found.friction, s.wrenches)
    assert relative(found.a, a) < 1e-9
    assert np.abs(motors[held]).min() > 0.0


def one_joint(kind: lw.Screw | lw.Prismatic | lw.Revolute, friction: object, mass: float = 2.0, **com: object):
    b = lw.Builder("one", gravity=(0.0, 0.0, -9.81)).body("body", mass, inertia=(0.1, 0.2, 0.3), **com)
    return b.joint("joint", kind, "world", "body", friction=friction).build()


def acceleration(m: lw.Mechanism, direction: float, tau: float = 0.0, wrench: object = (0.0,) * 6) -> float:
    unit = np.array([direction])
    found = solve_directions(m, np.zeros(1), unit, np.array([tau]), np.array([wrench], dtype=float), unit)
    assert found.converged
    return float(found.a[0])


@pytest.mark.parametrize("lead", [0.05, 0.15, 0.4])
@pytest.mark.parametrize("flank", [0.0, np.radians(15.0)])
def test_a_screw_raises_and_lowers_its_load_with_the_textbook_torque(lead: float, flank: float) -> None:
    """W r tan(phi +- lambda), with tan(phi) = mu / cos(flank angle of the normal section)."""
    mu, radius, weight = 0.12, 0.02, 2.0 * 9.81
    m = one_joint(lw.Screw(pitch=radius * np.tan(lead)), lw.Thread(mu, radius, flank=flank))
    phi = np.arctan(mu / np.cos(np.arctan(np.tan(flank) * np.cos(lead))))
    for direction in (1.0, -1.0):
        torque = weight * radius * np.tan(lead + direction * phi)
        assert abs(acceleration(m, direction, torque)) < 1e-12
    back = np.tan(lead - phi) / np.tan(lead)  # efficiency of a load that drives the screw
    assert (back > 0.0) == (acceleration(m, -1.0) < 0.0)  # a self-locking screw that turns comes to rest


def test_a_disc_on_a_horizontal_axle_is_slowed_by_its_weight() -> None:
    """I alpha = -mu r (m g + preload) - rolling m g."""
    weight = 2.0 * 9.81
    m = one_joint(lw.Revolute((1, 0, 0)), lw.Bearing(0.15, 0.03, rolling=0.002, preload=5.0))
    expected = -(0.15 * 0.03 * (weight + 5.0) + 0.002 * weight) / 0.1
    assert acceleration(m, 1.0) == pytest.approx(expected, rel=1e-13)


def test_collar_friction_slows_a_disc_on_a_vertical_axle() -> None:
    m = one_joint(lw.Revolute((0, 0, 1)), lw.Bearing(0.15, 0.03, axial_radius=0.05))
    assert acceleration(m, 1.0) == pytest.approx(-0.15 * 0.05 * 2.0 * 9.81 / 0.3, rel=1e-13)


def test_an_overhung_rotor_loads_its_two_bearings_by_the_lever_rule() -> None:
    """Bearings at x = 0 and x = L carry W (1 - c / L) and W c / L of a weight at x = c, also for c > L."""
    length, c, weight = 0.4, 0.6, 2.0 * 9.81
    bearing = lw.Bearing(0.1, 0.02, length=length, center=length / 2)
    m = one_joint(lw.Revolute((1, 0, 0)), bearing, com=(c, 0.0, 0.0))
    loads = weight * (abs(1.0 - c / length) + c / length)
    assert acceleration(m, 1.0) == pytest.approx(-0.1 * 0.02 * loads / 0.1, rel=1e-13)


@pytest.mark.parametrize("offset", [0.0, 0.5, 0.999, 1.001, 1.5])
def test_a_drawer_jams_if_it_is_pulled_farther_than_length_over_2_mu_off_its_centre_line(offset: float) -> None:
    """m a = P (1 - 2 mu e / L) for a pull P at the offset e: the drawer stops if e > L / (2 mu)."""
    mu, length, pull = 0.3, 0.4, 7.0
    b = lw.Builder("drawer", gravity=(0, 0, 0)).body("drawer", 2.0, inertia=(0.1, 0.1, 0.1))
    m = b.joint("rail", lw.Prismatic((1, 0, 0)), "world", "drawer", friction=lw.Guide(mu, length)).build()
    e = offset * length / (2.0 * mu)
    found = acceleration(m, 1.0, wrench=(pull, 0.0, 0.0, 0.0, 0.0, -pull * e))
    assert found == pytest.approx(pull * (1.0 - offset) / 2.0, rel=1e-12)


def test_a_stribeck_curve_falls_from_static_to_dynamic_friction() -> None:
    m = one_joint(lw.Revolute((1, 0, 0)), lw.DryFriction(2.0, static=3.0, stribeck=0.5))
    for speed in (0.01, 0.5, 2.0):
        found = solve_directions(m, np.zeros(1), np.array([speed]), np.zeros(1), None, np.ones(1))
        assert found.friction[0] == pytest.approx(-(2.0 + np.exp(-((speed / 0.5) ** 2))), rel=1e-14)
