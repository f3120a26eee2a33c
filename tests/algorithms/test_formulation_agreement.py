"""Independent formulations agree to 1e-10 on random trees with every joint kind."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.formulations import newton_euler
from linkwork.algorithms.formulations.mass_matrix_factorization import factorization
from linkwork.evaluation.cross_check import computed_quantities
from linkwork.spatial.scalar import Array
from random_mechanisms import GROUPS, MOVING_KINDS, QUICK, relative, state, tree

NEAR = ("anywhere", "identity", "gimbal")


@pytest.mark.parametrize("near", NEAR)
@pytest.mark.parametrize("group", GROUPS)
def test_all_formulations_give_the_same_accelerations_and_forces(group: range, near: str) -> None:
    for seed in group:
        m = tree(seed)
        s = state(m, seed, near)
        expected: dict[str, Array] = {}
        for name, formulation in lw.formulations.items():
            if not formulation.applies(m):
                continue
            for quantity, value in computed_quantities(formulation, m, s.q, s.v, s.tau, s.wrenches).items():
                difference = relative(value, expected.setdefault(quantity, value))
                assert difference < 1e-10, f"{m.name}, {name}, {quantity}: {difference}"


def test_random_trees_cover_all_joint_kinds_bases_and_sizes() -> None:
    kinds = {type(j.kind).__name__.lower() for seed in range(QUICK) for j in tree(seed).joints}
    roots = {type(tree(seed).joints[0].kind) is lw.Free for seed in range(QUICK)}
    welds = sum(len(body.parts) > 1 for seed in range(QUICK) for body in tree(seed).bodies[1:])
    assert kinds == set(MOVING_KINDS)
    assert roots == {True, False}
    assert {len(tree(seed).joints) for seed in range(QUICK)} == set(range(1, 31))
    assert welds > 25


@pytest.mark.parametrize("seed", range(0, QUICK, 3))
def test_schiehlens_reactions_do_no_work_and_his_jacobian_matches_the_body_jacobians(seed: int) -> None:
    m = tree(seed)
    s = state(m, seed)
    system = newton_euler.newton_euler(m, s.q, s.v, s.tau, s.wrenches)
    # Schiehlen (7), and (14) against the Jacobians of the body frames (4)
    assert np.abs(system.J_bar.T @ system.Q_bar).max(initial=0.0) < 1e-12 * max(1.0, np.abs(system.J_bar).max())
    d = lw.compile(m, target="numpy")
    rows = np.concatenate([d.jacobian(s.q, body.name) for body in m.bodies[1:]])
    assert relative(system.J_bar, rows) < 1e-12


@pytest.mark.parametrize("seed", range(0, QUICK, 3))
def test_reaction_and_triangular_equations_have_the_same_solution(seed: int) -> None:
    m = tree(seed)
    s = state(m, seed)
    system = newton_euler.newton_euler(m, s.q, s.v, s.tau, s.wrenches)
    acceleration, g = newton_euler.solve(system)
    N, q_hat, k_hat = newton_euler.reaction_equations(system)  # (9)
    assert relative(np.linalg.solve(N, k_hat - q_hat), g, scale=1e-3) < 1e-9
    M, k, q = newton_euler.triangular_equations(system)  # (16)
    assert np.abs(np.triu(M, 1)).max(initial=0.0) < 1e-10 * np.abs(M).max()
    assert relative(np.linalg.solve(np.tril(M), q - k), acceleration) < 1e-10
    bands = np.abs(N) > 1e-12 * np.abs(N).max()
    joints = np.repeat([j.o for j in m.joints], [6 - j.kind.nv for j in m.joints])
    parent = np.array([0, *(j.i for j in m.joints)])
    near = (joints[:, None] == joints) | (parent[joints][:, None] == joints) | (joints[:, None] == parent[joints])
    siblings = parent[joints][:, None] == parent[joints]
    if not m.armature.any():  # a rotor couples its neighbours' reactions
        assert not (bands & ~near & ~siblings).any()  # N is banded: only neighbouring joints share a body


@pytest.mark.parametrize("seed", range(0, QUICK, 3))
def test_spatial_operator_is_the_inverse_of_identity_minus_shift_matrix(seed: int) -> None:
    m = tree(seed)
    s = state(m, seed)
    f = factorization(m, s.q, s.v)
    assert relative(f.phi @ (np.eye(len(f.A)) - f.A), np.eye(len(f.A))) < 1e-12 * np.abs(f.phi).max()
    twists = np.concatenate(list(lw.compile(m, target="numpy").velocities(s.q, s.v)))
    assert relative(f.phi @ f.H @ s.v, twists) < 1e-12  # (3.25)
