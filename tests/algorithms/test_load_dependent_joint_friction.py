"""Dry friction that is proportional to the load of a joint: closed forms, power balance and a dense second opinion."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linear_friction_reference import dense_solution, opposing, random_friction
from linkwork.algorithms.formulations.linear_friction import LinearFriction, LoopFriction
from linkwork.algorithms.formulations.propagation import actuator_forces, forward_dynamics, inverse_dynamics
from linkwork.errors import NameNotFound
from linkwork.spatial.scalar import Array
from quick_test_selection import mark_slow_except
from random_loops import CASES, label, looped_tree
from random_mechanisms import QUICK, TREES, relative, state, tree
from random_spatial_quantities import rate

FEW = range(0, QUICK, 7)  # the others wait: the dense solution takes a state of the open tree for each unknown
GROUPS = mark_slow_except([FEW, *(range(k, k + 10) for k in range(0, TREES, 10))], [FEW], lambda seeds: f"{seeds}")
TREE_LOOPS = [case for case in CASES if not case[2]]
every_loop = pytest.mark.parametrize("case", mark_slow_except(TREE_LOOPS, TREE_LOOPS[:10:2] + TREE_LOOPS[-5:-4], label))


@pytest.mark.parametrize("group", GROUPS)
def test_accelerations_of_trees_with_friction_match_a_dense_solution(group: range) -> None:
    for seed in group:
        m = tree(seed)
        s = state(m, seed)
        friction = random_friction(m, s.q, seed)
        friction = opposing(friction, lambda f, m=m, s=s: forward_dynamics(m, s.q, s.v, s.tau, s.wrenches, f))
        found = forward_dynamics(m, s.q, s.v, s.tau, s.wrenches, friction)
        expected = dense_solution(m, s, friction)
        for one, other in zip((found.a, found.friction, found.reactions), expected, strict=True):
            assert relative(one, other) < 1e-10, m.name


@every_loop
def test_accelerations_of_loops_with_friction_match_a_dense_solution(case: tuple[int, tuple[str, ...], bool]) -> None:
    m, s = looped_tree(*case)
    friction = random_friction(m, s.q, case[0])
    friction = opposing(friction, lambda f: forward_dynamics(m, s.q, s.v, s.tau, s.wrenches, f))
    found = forward_dynamics(m, s.q, s.v, s.tau, s.wrenches, friction)
    expected = dense_solution(m, s, friction)
    assert relative(found.a, expected.a) < 1e-10
    assert relative(found.friction, expected.friction) < 1e-10
    assert relative(found.reactions[: len(m.joints)], expected.reactions) < 1e-10


@pytest.mark.parametrize("group", GROUPS)
def test_forward_dynamics_with_friction_inverts_inverse_dynamics(group: range) -> None:
    for seed in group:
        m = tree(seed)
        s = state(m, seed)
        friction = random_friction(m, s.q, seed)
        friction = opposing(friction, lambda f, m=m, s=s: inverse_dynamics(m, s.q, s.v, s.a, s.wrenches, f))
        needed = inverse_dynamics(m, s.q, s.v, s.a, s.wrenches, friction)
        back = forward_dynamics(m, s.q, s.v, needed.tau, s.wrenches, friction)
        assert relative(back.a, s.a) < 1e-10
        assert relative(back.reactions, needed.reactions) < 1e-10
        without = inverse_dynamics(m, s.q, s.v, s.a, s.wrenches)
        assert relative(needed.tau + needed.friction, without.tau) < 1e-10  # friction replaces a part of the drive


@pytest.mark.parametrize("seed", range(0, QUICK, 3))
def test_motion_with_friction_does_not_depend_on_the_choice_of_the_main_body(seed: int) -> None:
    """The same coupling matrix serves both directions: action and reaction are opposite, also for friction."""
    m = tree(seed)
    s = state(m, seed)
    friction = random_friction(m, s.q, seed)
    friction = opposing(friction, lambda f: forward_dynamics(m, s.q, s.v, s.tau, s.wrenches, f))
    expected = forward_dynamics(m, s.q, s.v, s.tau, s.wrenches, friction)
    for name in np.random.default_rng(seed).choice(m.bodies.names[1:], 3):
        found = forward_dynamics(m, s.q, s.v, s.tau, s.wrenches, friction, main=[str(name)])
        assert relative(found.a, expected.a) < 1e-10
        assert relative(found.reactions, expected.reactions) < 1e-10


@pytest.mark.parametrize("seed", range(0, QUICK, 3))
def test_energy_changes_by_the_power_of_motors_and_friction(seed: int) -> None:
    m = tree(seed)
    s = state(m, seed)
    d = lw.compile(m, target="numpy")
    friction = opposing(random_friction(m, s.q, seed), lambda f: forward_dynamics(m, s.q, s.v, s.tau, friction=f))
    found = forward_dynamics(m, s.q, s.v, s.tau, None, friction)

    def energy(t: float) -> Array:
        q = m.integrate(s.q, t * s.v + (0.5 * t * t) * found.a)
        return np.array(sum(d.energy(q, s.v + t * found.a)))

    power = s.v @ (s.tau + found.friction)
    assert abs(rate(energy, 1e-4) - power) < 1e-8 * (np.abs(s.v) @ np.abs(s.tau + found.friction))


@every_loop
def test_actuator_forces_of_closed_chains_produce_the_motion_against_friction(
    case: tuple[int, tuple[str, ...], bool],
) -> None:
    m, s = looped_tree(*case)
    friction = random_friction(m, s.q, case[0])
    a = lw.compile(m, target="numpy").forward_dynamics(s.q, s.v, s.tau, s.wrenches)  # any motion with closed loops
    every = m.joints.names
    friction = opposing(friction, lambda f: actuator_forces(m, s.q, s.v, a, every, s.wrenches, f))
    needed = actuator_forces(m, s.q, s.v, a, every, s.wrenches, friction)
    found = forward_dynamics(m, s.q, s.v, needed.tau, s.wrenches, friction)
    assert relative(found.a, a) < 1e-9
    assert relative(found.reactions, needed.reactions) < 1e-9


# --- closed forms ---


def test_slide_on_an_incline_accelerates_by_gravity_minus_friction_of_its_weight() -> None:
    """a = g (sin - mu cos) down the incline."""
    mu, slope = 0.3, 0.7
    b = lw.Builder("incline", gravity=(0, 0, -9.81))
    b.body("slide", 2.0, com=(0.1, 0.0, 0.3), inertia=(0.1, 0.2, 0.3))
    b.joint("rail", lw.Prismatic((1, 0, 0)), "world", "slide", rpy=(0, slope, 0))  # x points down the incline
    friction = LinearFriction({"rail": np.array([[0.0, 0.0, -mu, 0.0, 0.0, 0.0]])})
    found = forward_dynamics(b.build(), np.zeros(1), np.ones(1), np.zeros(1), None, friction)
    assert found.a[0] == pytest.approx(9.81 * (np.sin(slope) - mu * np.cos(slope)), rel=1e-14)
    assert found.friction[0] == pytest.approx(-mu * 2.0 * 9.81 * np.cos(slope), rel=1e-14)


@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_screw_jack_needs_the_textbook_torque_to_raise_and_lower_a_load(direction: float) -> None:
    """W r tan(lambda +- phi) for the friction angle phi and the lead angle lambda: pitch = r tan(lambda)."""
    radius, lead, mu, weight = 0.02, 0.15, 0.2, 500.0
    b = lw.Builder("jack", gravity=(0, 0, -9.81))
    b.body("load", weight / 9.81, inertia=(1.0, 1.0, 1.0))
    b.joint("thread", lw.Screw((0, 0, 1), pitch=radius * np.tan(lead)), "world", "load")
    # the thread's normal force N balances the axial load: W = N (cos(lead) -+ mu sin(lead)); friction mu N acts along
    # the helix, whose length per radian is r / cos(lead)
    per_load = -direction * mu * radius / np.cos(lead) / (np.cos(lead) - direction * mu * np.sin(lead))
    friction = LinearFriction({"thread": np.array([[0.0, 0.0, per_load, 0.0, 0.0, 0.0]])})
    found = inverse_dynamics(b.build(), np.zeros(1), np.zeros(1), np.zeros(1), None, friction)
    assert found.tau[0] == pytest.approx(weight * radius * np.tan(lead + direction * np.arctan(mu)), rel=1e-13)


def test_disc_on_a_horizontal_axle_spins_down_with_the_friction_of_its_weight() -> None:
    """I alpha = -mu r m g for a balanced disc."""
    mu, radius, mass, inertia = 0.15, 0.03, 4.0, 0.2
    b = lw.Builder("disc", gravity=(0, 0, -9.81))
    b.body("disc", mass, inertia=(inertia, 0.11, 0.11))
    b.joint("axle", lw.Revolute((1, 0, 0)), "world", "disc")
    friction = LinearFriction({"axle": np.array([[0.0, 0.0, -mu * radius, 0.0, 0.0, 0.0]])})
    found = forward_dynamics(b.build(), np.zeros(1), np.array([7.0]), np.zeros(1), None, friction)
    assert found.a[0] == pytest.approx(-mu * radius * mass * 9.81 / inertia, rel=1e-14)


def test_errors_of_invalid_friction_name_the_joint_or_loop_and_the_expected_shape() -> None:
    m = lw.example("four_bar")
    q, rest = m.keyframes["start"].q, np.zeros(m.nv)

    def solve(friction: LinearFriction) -> None:
        forward_dynamics(m, q, rest, rest, None, friction)

    with pytest.raises(
        lw.ShapeError, match=r"friction coupling of joint 'crank pin' has shape \(6,\), expected \(1, 6\)"
    ):
        solve(LinearFriction({"crank pin": np.zeros(6)}))
    with pytest.raises(
        lw.ShapeError, match=r"constant friction of joint 'crank pin' has shape \(2,\), expected \(1,\)"
    ):
        solve(LinearFriction(constant={"crank pin": np.zeros(2)}))
    with pytest.raises(
        lw.ShapeError, match=r"friction coupling of loop 'closing pin' has shape \(6,\), expected \(6, 6\)"
    ):
        solve(LinearFriction(loops={"closing pin": LoopFriction(np.zeros(6), np.zeros(6))}))
    with pytest.raises(NameNotFound, match=r"there is no joint 'crank'\. Did you mean 'crank pin'"):
        solve(LinearFriction({"crank": np.zeros((1, 6))}))
    with pytest.raises(NameNotFound, match="there is no loop 'crank pin'"):
        solve(LinearFriction(loops={"crank pin": LoopFriction(np.zeros((6, 6)), np.zeros(6))}))
