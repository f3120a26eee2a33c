"""Force/torque propagation: its matrices and equations satisfy the identities of Muir and Neuman's paper."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.formulations.coincident_frame_motions import body_motions
from linkwork.algorithms.formulations.propagation import actuator_forces, forward_dynamics, inverse_dynamics
from linkwork.algorithms.formulations.propagation_equations import propagation
from linkwork.algorithms.formulations.propagation_matrices import link_jacobian
from linkwork.examples import double_pendulum, frontal_biped
from linkwork.spatial import Force, Motion, Transform
from linkwork.spatial.scalar import Array
from quick_test_selection import mark_slow_except
from random_loops import CASES, SMALL, label, looped_tree, random_rotation
from random_mechanisms import QUICK, relative, state, tree, tree_with_mimics
from random_spatial_quantities import rate

SEEDS = range(0, QUICK, 3)
Case = tuple[int, tuple[str, ...], bool]
every_case = pytest.mark.parametrize("case", mark_slow_except(CASES, SMALL[::2], label))


def test_link_jacobians_move_forces_and_velocities_between_frames_of_a_link() -> None:
    rng = np.random.default_rng(0)
    X, Y = (Transform(random_rotation(rng), rng.normal(size=3)) for _ in range(2))
    f, v = rng.normal(size=(2, 6))
    assert relative(link_jacobian(X).T @ f, X.up(Force.of(f)).array) < 1e-14
    assert relative(link_jacobian(X) @ v, X.down(Motion.of(v)).array) < 1e-14
    assert relative(link_jacobian(X) @ link_jacobian(Y), link_jacobian(Y @ X)) < 1e-14  # cascade of three frames
    assert relative(link_jacobian(X) @ link_jacobian(X.inverse()), np.eye(6)) < 1e-14


def test_coupling_matrix_of_a_pin_has_ones_on_the_constrained_directions() -> None:
    m = lw.example("double_pendulum")
    for q in ([0.0, 0.0], [0.3, -1.2]):
        for joint in propagation(m, np.array(q), np.zeros(2)).joints.values():
            assert np.array_equal(joint.C, np.diag([1.0, 1.0, 1.0, 1.0, 1.0, 0.0]))


@pytest.mark.parametrize("seed", SEEDS)
def test_accelerations_of_frames_are_time_derivatives_of_their_velocities(seed: int) -> None:
    m = tree(seed)
    s = state(m, seed)
    motions = body_motions(m, s.q, s.v)[1:]
    assert relative(np.array([one.v for one in motions]), lw.compile(m, target="numpy").velocities(s.q, s.v)) < 1e-13

    def in_world(six: Array, X: Transform) -> Array:
        return np.concatenate([X.R @ six[:3], X.R @ six[3:]])

    def velocities(t: float) -> Array:  # its derivative at t = 0 needs positions to first order only
        now = body_motions(m, m.integrate(s.q, t * s.v), s.v + t * s.a)[1:]
        return np.array([in_world(one.v, one.X) for one in now])

    found = np.array([in_world(one.J @ s.a + one.bias, one.X) for one in motions])
    assert relative(found, rate(velocities)) < 1e-8


@pytest.mark.parametrize("seed", SEEDS)
def test_each_degree_of_freedom_adds_a_secondary_equation_and_lowers_the_rank_of_the_coupling_matrix(seed: int) -> None:
    """The coupling matrix is idempotent, and 1 - C has the rank d; N_s is the number of all freedoms."""
    m = tree(seed)
    s = state(m, seed)
    equations = propagation(m, s.q, s.v, s.wrenches)
    for j in m.joints:
        joint = equations.joints[j.o]
        assert relative(joint.C @ joint.C, joint.C, scale=1.0) < 1e-12
        assert np.linalg.matrix_rank(np.eye(6) - joint.C, tol=1e-9) == j.kind.nv
        assert np.abs(joint.S.T @ joint.C).max() < 1e-12  # no power through the freedoms
    assert len(equations.balances) - len(equations.primary) == m.nv
    assert len(equations.primary) == 6 * sum(j.i == 0 for j in m.joints)


@pytest.mark.parametrize("seed", SEEDS)
def test_force_propagation_does_not_depend_on_the_choice_of_the_main_body(seed: int) -> None:
    m = tree(seed)
    s = state(m, seed)
    rng, expected = np.random.default_rng(seed), forward_dynamics(m, s.q, s.v, s.tau, s.wrenches)
    for name in rng.choice(m.bodies.names[1:], 3):
        found = forward_dynamics(m, s.q, s.v, s.tau, s.wrenches, main=[str(name)])
        assert relative(found.a, expected.a) < 1e-10
        assert relative(found.reactions, expected.reactions) < 1e-10
        assert relative(found.ground, expected.ground) < 1e-10


@pytest.mark.parametrize("seed", SEEDS)
def test_forces_on_the_ground_are_the_wrenches_through_the_root_joints(seed: int) -> None:
    m = tree(seed)
    s = state(m, seed)
    found = forward_dynamics(m, s.q, s.v, s.tau, s.wrenches)
    roots = [j for j in m.joints if j.i == 0]
    for force, j in zip(found.ground, roots, strict=True):
        expected = j.kind.transform(s.q[j.q]).up(Force.of(found.reactions[j.o - 1])).array
        assert relative(force, expected) < 1e-10


@pytest.mark.parametrize("seed", SEEDS)
def test_forward_dynamics_inverts_inverse_dynamics_with_mimic_joints(seed: int) -> None:
    m = tree_with_mimics(seed)
    s = state(m, seed)
    tau = inverse_dynamics(m, s.q, s.v, s.a[: m.nv], s.wrenches).tau
    assert relative(forward_dynamics(m, s.q, s.v, tau, s.wrenches).a, s.a[: m.nv]) < 1e-10


@every_case
def test_dynamics_of_loops_cut_at_joints_match_constrained_dynamics(case: Case) -> None:
    m, s = looped_tree(*case)
    d = lw.compile(m, target="numpy")
    found = forward_dynamics(m, s.q, s.v, s.tau, s.wrenches)
    assert relative(found.a, d.forward_dynamics(s.q, s.v, s.tau, s.wrenches)) < 1e-10
    assert relative(found.reactions, d.reactions(s.q, s.v, s.tau, s.wrenches)) < 1e-10


@every_case
def test_actuator_forces_by_propagation_match_those_of_actuation_in_closed_chains(case: Case) -> None:
    m, s = looped_tree(*case)
    d = lw.compile(m, target="numpy")
    a = d.forward_dynamics(s.q, s.v, s.tau, s.wrenches)
    every = [j.name for j in m.leaders]
    found = actuator_forces(m, s.q, s.v, a, every, s.wrenches)
    expected = d.actuation(s.q, s.v, a, every, wrenches=s.wrenches)
    assert relative(found.tau, expected.tau) < 1e-9
    assert relative(found.multipliers[len(m.mimics) :], expected.multipliers) < 1e-9
    assert relative(d.forward_dynamics(s.q, s.v, found.tau, s.wrenches), a) < 1e-9


def test_actuators_that_cannot_produce_a_motion_are_reported() -> None:
    m = double_pendulum.build()
    with pytest.raises(lw.LinkworkError, match="actuating pin 1 cannot produce this motion; actuate more joints"):
        actuator_forces(m, np.array([0.3, 0.4]), np.zeros(2), np.zeros(2), ["pin 1"])
    with pytest.raises(lw.LinkworkError, match="actuating no joint cannot"):
        actuator_forces(m, np.array([0.3, 0.4]), np.zeros(2), np.zeros(2), [])


def test_ground_forces_of_the_biped_satisfy_the_equations_of_the_paper() -> None:
    """Redundant loop rows: the biped is planar. Its left ankle is the root joint, its right ankle a loop."""
    m = frontal_biped.build()
    theta, u = frontal_biped.angles(0.07), np.array([20.0, -15.0, 30.0])
    omega = frontal_biped.rates(theta, 0.4)
    expected = frontal_biped.equations(theta, omega, np.append(u, 0.0))
    found = forward_dynamics(m, frontal_biped.relative(theta), frontal_biped.relative(omega), u)
    assert relative(np.cumsum(found.a), expected.accelerations) < 1e-11
    assert relative(found.ground[0, [0, 1, 5]], expected.left) < 1e-11
