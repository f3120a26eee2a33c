"""Identities of mechanics on random trees with every joint kind. Time derivatives use complex steps and are exact."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms import forward_dynamics, inverse_dynamics, jacobians, kinematics, mass_matrix, momentum
from linkwork.algorithms.passive_joint_forces import passive, spring_energy, springs
from linkwork.algorithms.reactions import reactions
from linkwork.spatial import Force, Transform
from linkwork.spatial.rotation import quaternion_from_matrix
from linkwork.spatial.scalar import Array
from random_mechanisms import GROUPS, State, relative, state, tree

EXPRESSED = ("body", "world", "mixed")
TINY = 1e-30  # a complex step has no cancellation, so it may be this small


@pytest.fixture(params=GROUPS)
def cases(request: pytest.FixtureRequest) -> list[tuple[lw.Mechanism, State]]:
    """Ten trees at a random state each; some also 1e-7 from the identity and near gimbal positions."""
    places = [(seed, "anywhere") for seed in request.param]
    places += [(seed, ("identity", "gimbal")[k % 2]) for k, seed in enumerate(request.param) if k % 5 < 4]
    return [(tree(seed), state(tree(seed), seed, near)) for seed, near in places]


def rate(quantity: Callable[[lw.Mechanism, Array, Array], Any], m: lw.Mechanism, s: State) -> Array:
    """d/dt of quantity(m, q, v) along the motion with velocity v and acceleration a."""
    q, v = s.q + 1j * TINY * m.qdot(s.q, s.v), s.v + 1j * TINY * s.a
    return np.imag(quantity(m, q, v)) / TINY


def test_inverse_dynamics_inverts_forward_dynamics(cases: list[tuple[lw.Mechanism, State]]) -> None:
    for m, s in cases:
        a = forward_dynamics.forward_dynamics(m, s.q, s.v, s.tau, s.wrenches)
        tau = inverse_dynamics.inverse_dynamics(m, s.q, s.v, a, s.wrenches).tau
        assert relative(tau, s.tau, scale=np.abs(inverse_dynamics.bias(m, s.q, s.v)).max()) < 1e-10


def test_mass_matrix_is_symmetric_positive_definite_and_matches_unit_accelerations(
    cases: list[tuple[lw.Mechanism, State]],
) -> None:
    for m, s in cases:
        M = mass_matrix.mass_matrix(m, s.q)
        assert (M == M.T).all()
        assert np.linalg.eigvalsh(M)[0] > 0.0
        rest = inverse_dynamics.gravity(m, s.q)
        column = np.random.default_rng(0).integers(m.nv)
        unit = np.eye(m.nv)[column]
        found = inverse_dynamics.inverse_dynamics(m, s.q, 0.0 * s.v, unit).tau - rest
        assert relative(found, M[:, column], scale=np.abs(rest).max()) < 1e-10


def test_sparse_factor_reproduces_the_mass_matrix_and_its_zero_pattern(
    cases: list[tuple[lw.Mechanism, State]],
) -> None:
    for m, s in cases:
        M = mass_matrix.mass_matrix(m, s.q)
        ltl = mass_matrix.factor(m, M)
        L = np.array([[row.get(j, 0.0) for j in range(m.nv)] for row in ltl.rows])
        assert relative(L.T @ L, M) < 1e-12
        assert ((np.tril(M) != 0.0) <= np.array([[j in row for j in range(m.nv)] for row in ltl.rows])).all()
        assert relative(M @ ltl.solve(s.tau), s.tau) < 1e-9


def test_bias_is_quadratic_in_velocity_and_equals_gravity_at_rest(
    cases: list[tuple[lw.Mechanism, State]],
) -> None:
    for m, s in cases:
        g, once, twice = (
            inverse_dynamics.gravity(m, s.q),
            inverse_dynamics.bias(m, s.q, s.v),
            inverse_dynamics.bias(m, s.q, 2.0 * s.v),
        )
        assert relative(inverse_dynamics.bias(m, s.q, 0.0 * s.v), g) < 1e-14
        assert relative(twice - g, 4.0 * (once - g), scale=np.abs(g).max()) < 1e-12


def test_rate_of_the_total_energy_equals_the_power_of_all_forces(cases: list[tuple[lw.Mechanism, State]]) -> None:
    for m, s in cases:
        s = s._replace(a=forward_dynamics.forward_dynamics(m, s.q, s.v, s.tau, s.wrenches))
        change = rate(momentum.energy, m, s).sum()
        twists = kinematics.kinematics(m, s.q, s.v).twist[1:]
        powers = [V.array @ w for V, w in zip(twists, s.wrenches, strict=True)]
        scale = np.abs(s.tau * s.v).sum() + np.abs(powers).sum()
        assert abs(change - (s.tau @ s.v + sum(powers))) < 1e-10 * max(scale, abs(change))


def test_kinetic_energy_is_half_the_quadratic_form_of_the_mass_matrix(cases: list[tuple[lw.Mechanism, State]]) -> None:
    for m, s in cases:
        expected = 0.5 * s.v @ mass_matrix.mass_matrix(m, s.q) @ s.v
        assert abs(momentum.kinetic_energy(m, s.q, s.v) - expected) < 1e-12 * expected


def test_accelerations_are_time_derivatives_of_twists(cases: list[tuple[lw.Mechanism, State]]) -> None:
    for m, s in cases:
        motion = kinematics.kinematics(m, s.q, s.v)
        found = [A.array for A in kinematics.accelerations(m, motion, s.a)]
        expected = rate(lambda m, q, v: [V.array for V in kinematics.kinematics(m, q, v).twist], m, s)
        assert relative(np.array(found), expected) < 1e-11


@pytest.mark.parametrize("expressed", EXPRESSED)
def test_jacobian_maps_velocities_to_the_twist_and_jacobian_rate_is_its_derivative(
    cases: list[tuple[lw.Mechanism, State]], expressed: str
) -> None:
    for m, s in cases:
        f = m.frames["probe"]
        J = jacobians.jacobian(m, s.q, "probe", expressed)
        dJ = jacobians.jacobian_rate(m, s.q, s.v, "probe", expressed)
        X = kinematics.frame_pose(m, s.q, "probe")
        body = f.pose.down(kinematics.kinematics(m, s.q, s.v).twist[f.body])
        twist = {"body": body, "world": X.up(body), "mixed": body.rotated(X.R)}[expressed].array
        assert relative(J @ s.v, twist, scale=1.0) < 1e-11
        expected = rate(lambda m, q, v: jacobians.jacobian(m, q, "probe", expressed), m, s)
        assert relative(dJ, expected, scale=1.0) < 1e-11


def test_jacobian_is_the_derivative_of_the_pose(cases: list[tuple[lw.Mechanism, State]]) -> None:
    for m, s in cases:
        X = kinematics.frame_pose(m, s.q, "probe")
        mixed = jacobians.jacobian(m, s.q, "probe", "mixed")
        for d in range(m.nv):
            along = s._replace(v=np.eye(m.nv)[d])
            pose = rate(lambda m, q, v: kinematics.frame_pose(m, q, "probe").matrix, m, along)
            spin = pose[:3, :3] @ X.R.T  # hat of the angular velocity in world axes
            found = np.array([*pose[:3, 3], spin[2, 1], spin[0, 2], spin[1, 0]])
            assert np.abs(found - mixed[:, d]).max() < 1e-11 * max(1.0, np.abs(mixed).max())


def test_momentum_matrix_gives_momentum_and_center_of_mass_velocity(
    cases: list[tuple[lw.Mechanism, State]],
) -> None:
    for m, s in cases:
        h = momentum.momentum(m, s.q, s.v)
        assert relative(momentum.momentum_matrix(m, s.q) @ s.v, h) < 1e-12
        center = rate(lambda m, q, v: momentum.center_of_mass(m, q), m, s)
        assert relative(m.mass * center, h[:3], scale=np.abs(h).max()) < 1e-12
        expected = rate(momentum.momentum, m, s)
        assert relative(momentum.momentum_rate(m, s.q, s.v, s.a), expected) < 1e-11


def test_rate_of_the_momentum_equals_the_sum_of_the_external_wrenches(cases: list[tuple[lw.Mechanism, State]]) -> None:
    for m, s in cases:
        a = forward_dynamics.forward_dynamics(m, s.q, s.v, s.tau, s.wrenches)
        through = reactions(m, s.q, s.v, s.tau, s.wrenches)
        poses = kinematics.world_poses(m, kinematics.joint_poses(m, s.q))
        center = Transform(np.eye(3), momentum.center_of_mass(m, s.q))
        total = Force(m.mass * m.gravity, np.zeros(3))  # about the centre of mass
        for X, w in zip(poses[1:], s.wrenches, strict=True):
            total += center.down(X.up(Force.of(w)))
        for j in m.joints:
            if j.i == 0:  # what the world puts on the bodies that hang on it
                total += center.down(poses[j.o].up(Force.of(through[j.o - 1])))
        assert relative(momentum.momentum_rate(m, s.q, s.v, a), total.array) < 1e-9


def test_reactions_do_no_work_along_joint_freedoms(cases: list[tuple[lw.Mechanism, State]]) -> None:
    for m, s in cases:
        a = forward_dynamics.forward_dynamics(m, s.q, s.v, s.tau, s.wrenches)
        through = reactions(m, s.q, s.v, s.tau, s.wrenches)
        scale = np.abs(through).max()
        for j in m.joints:
            S = j.kind.subspace(s.q[j.q])
            along = S.pair(Force.of(through[j.o - 1]))
            assert np.abs(along - (s.tau[j.v] - j.armature * a[j.v])).max() < 1e-10 * max(scale, 1.0)


def test_joint_replaced_by_its_reaction_gives_the_same_acceleration() -> None:
    b = lw.Builder("pair")
    b.body("inner", mass=2.0, com=(0.1, 0.2, 0.0), inertia=(0.1, 0.2, 0.2))
    b.body("outer", mass=1.0, com=(0.3, 0.0, 0.1), inertia=(0.05, 0.06, 0.07))
    b.joint("hinge", lw.Revolute((0, 1, 0)), "world", "inner")
    b.joint("ball", lw.Ball(), "inner", "outer", at=(0.5, 0.0, 0.0))
    m = b.build()
    s = state(m, 0)
    free = lw.Builder("outer alone")
    free.body("outer", mass=1.0, com=(0.3, 0.0, 0.1), inertia=(0.05, 0.06, 0.07))
    free.joint("float", lw.Free(), "world", "outer")
    alone = free.build()
    X = kinematics.frame_pose(m, s.q, "outer")
    motion = kinematics.kinematics(m, s.q, s.v)
    a = forward_dynamics.forward_dynamics(m, s.q, s.v, s.tau)
    expected = kinematics.accelerations(m, motion, a)[2].array
    through = reactions(m, s.q, s.v, s.tau)[1]
    q = np.concatenate([X.p, quaternion_from_matrix(X.R)])
    found = forward_dynamics.forward_dynamics(alone, q, motion.twist[2].array, through)
    assert relative(found, expected) < 1e-12


def test_dampers_and_friction_dissipate_energy_and_joint_springs_pull_to_their_rest_position(
    cases: list[tuple[lw.Mechanism, State]],
) -> None:
    for m, s in cases:
        rest = np.concatenate([j.rest for j in m.joints])
        assert passive(m, rest, s.v) @ s.v <= 0.0
        assert np.abs(passive(m, rest, 0.0 * s.v)).max() < 1e-15
        displacements = [m.difference(rest, s.q)[j.v][-3:] for j in m.joints if j.kind.nq > j.kind.nv]
        if any(np.linalg.norm(moved) > 3.0 for moved in displacements):
            continue  # at half a turn the torque of a spring is discontinuous
        ahead, behind = (spring_energy(m, m.integrate(s.q, sign * 1e-6 * s.v)) for sign in (1.0, -1.0))
        gained = -springs(m, s.q) @ s.v  # arctan2 takes no complex step
        assert abs((ahead - behind) / 2e-6 - gained) < 1e-7 * max(1.0, abs(gained), ahead)
