"""Limb equations in quasicoordinates match articulated bodies to 1e-10 on random branched trees of revolute joints."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms import forward_dynamics, inverse_dynamics, mass_matrix, momentum
from linkwork.algorithms.formulations import limb_dynamics
from linkwork.algorithms.formulations.limb_systems import limb_system
from linkwork.algorithms.formulations.limb_velocity_maps import euler_base, relative_to_absolute, with_base_position
from linkwork.algorithms.formulations.single_limb_equations import (
    Equations,
    Limb,
    absolute_equations,
    block_diagonal,
    true_equations,
)
from linkwork.algorithms.kinematics import joint_poses, world_poses
from linkwork.compiler.kernel import Kernel
from linkwork.spatial.rotation import matrix_from_rpy, quaternion_from_matrix
from linkwork.spatial.scalar import Array, cross
from random_mechanisms import random_inertia, relative, revolute_tree, state
from scalars_of_unknown_value import from_opaque, to_opaque

QUICK = 20
SEEDS = [*range(QUICK), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(QUICK, 200))]


@pytest.mark.parametrize("seed", SEEDS)
def test_limb_dynamics_match_articulated_body_dynamics(seed: int) -> None:
    m = revolute_tree(seed)
    for near in ("anywhere", "identity", "gimbal"):
        s = state(m, seed, near)
        a = forward_dynamics.forward_dynamics(m, s.q, s.v, s.tau, s.wrenches)
        assert relative(limb_dynamics.forward_dynamics(m, s.q, s.v, s.tau, s.wrenches), a) < 1e-10
        tau = inverse_dynamics.inverse_dynamics(m, s.q, s.v, s.a, s.wrenches).tau
        assert relative(limb_dynamics.inverse_dynamics(m, s.q, s.v, s.a, s.wrenches), tau) < 1e-10
        assert relative(limb_dynamics.mass_matrix(m, s.q), mass_matrix.mass_matrix(m, s.q)) < 1e-12


def test_random_trees_have_branches_and_fixed_and_free_bases() -> None:
    limbs = [len(limb_system(revolute_tree(seed)).paths) for seed in range(QUICK)]
    assert max(limbs) >= 5
    assert {isinstance(revolute_tree(seed).joints[0].kind, lw.Free) for seed in range(QUICK)} == {True, False}
    roots = [sum(j.i == 0 for j in revolute_tree(seed).joints) for seed in range(QUICK)]
    assert max(roots) > 1  # limbs on the world that share nothing else


def test_limb_dynamics_match_with_several_fixed_and_free_bases() -> None:
    b, rng = lw.Builder("three"), np.random.default_rng(0)
    for k, kind in enumerate((lw.Revolute((1, 2, 0)), lw.Free(), lw.Free())):
        for part, joint, parent in ((f"base {k}", kind, "world"), (f"arm {k}", lw.Revolute((0, 1, 1)), f"base {k}")):
            b.body(part, mass=1.0 + k, com=rng.normal(size=3), inertia=random_inertia(rng))
            b.joint(f"{part} joint", joint, parent, part, at=rng.normal(size=3), rpy=rng.normal(size=3))
    m = b.build()
    s = state(m, 0)
    expected = forward_dynamics.forward_dynamics(m, s.q, s.v, s.tau, s.wrenches)
    assert relative(limb_dynamics.forward_dynamics(m, s.q, s.v, s.tau, s.wrenches), expected) < 1e-11


@pytest.mark.parametrize("seed", [3, 6, 11])
def test_limb_dynamics_match_with_massless_bodies_and_empty_mechanisms(seed: int) -> None:
    m = revolute_tree(seed)
    inner = next(j.i for j in m.joints if j.i and len(m.bodies[j.i].parts) == 1)  # it carries another
    name = m.bodies[inner].name
    light = m.with_parameters({f"{name}.mass": 0.0, f"{name}.inertia": np.zeros(6)})
    s = state(light, seed)
    expected = forward_dynamics.forward_dynamics(light, s.q, s.v, s.tau, s.wrenches)
    assert relative(limb_dynamics.forward_dynamics(light, s.q, s.v, s.tau, s.wrenches), expected) < 1e-10
    assert limb_dynamics.forward_dynamics(lw.Builder("empty").build(), *np.zeros((3, 0))).shape == (0,)


def test_limb_dynamics_never_branch_on_the_value_of_a_number() -> None:
    for seed in (5, 6):
        m = revolute_tree(seed)
        s = state(m, seed)
        hidden = [to_opaque(x) for x in (s.q, s.v, s.tau, s.wrenches)]
        found = from_opaque(limb_dynamics.forward_dynamics(m, *hidden))
        assert relative(found, limb_dynamics.forward_dynamics(m, s.q, s.v, s.tau, s.wrenches)) < 1e-11
        names = [f"{m.bodies[1].name}.mass", f"{m.bodies[1].name}.com", f"{m.joints[1].name}.at", "gravity"]
        varied = m.with_parameters({name: to_opaque(m.parameters[name]) for name in names})
        found = from_opaque(limb_dynamics.forward_dynamics(varied, s.q, s.v, s.tau, s.wrenches))
        assert relative(found, limb_dynamics.forward_dynamics(m, s.q, s.v, s.tau, s.wrenches)) < 1e-11


def test_limb_kernel_matches_articulated_body_dynamics() -> None:
    m = revolute_tree(5)
    s = state(m, 5)
    shapes = [(m.nq,), (m.nv,), (m.nv,)]
    kernel = Kernel("limbs", lambda *s: limb_dynamics.forward_dynamics(m, *s), shapes, [(m.nv,)], None)
    found = kernel.over_batch([s.q, s.v, s.tau], (), None)[0][0]
    assert relative(found, forward_dynamics.forward_dynamics(m, s.q, s.v, s.tau)) < 1e-11


# --- one limb ---


def ball_chain(seed: int, n: int = 4) -> lw.Mechanism:
    """A free body and n - 1 others on ball joints: every angular velocity is possible."""
    rng = np.random.default_rng(seed)
    b, parent = lw.Builder("chain", gravity=rng.normal(size=3) * 9.81), "world"
    for k in range(n):
        b.body(f"{k}", mass=1.0 + k, com=rng.normal(size=3), inertia=random_inertia(rng))
        b.joint(f"{k}", lw.Ball() if k else lw.Free(), parent, f"{k}", at=rng.normal(size=3), rpy=rng.normal(size=3))
        parent = f"{k}"
    return b.build()


def chain_limb(m: lw.Mechanism, q: Array) -> Limb:
    """The same chain as a limb, built directly from the body and joint parameters."""
    links = [body.parts[0] for body in m.bodies[1:]]
    return Limb(
        np.array([link.mass for link in links]),
        np.array([link.com for link in links]),
        np.array([j.place.p for j in m.joints[1:]]),
        np.array([np.diag(p.inertia[:3]) + _off_diagonal(p.inertia[3:]) for p in links]),
        np.array([X.R for X in world_poses(m, joint_poses(m, q))[1:]]),
    )


def _off_diagonal(three: Array) -> Array:
    xy, xz, yz = three
    return np.array([[0.0, xy, xz], [xy, 0.0, yz], [xz, yz, 0.0]])


def base_to_twist(C: Array, equations: Equations, v: Array) -> Equations:
    """Equations with the twist of the base in its own frame instead of R': R'' = C (v' + w x v)."""
    T = block_diagonal([C, np.eye(len(v) - 3)])
    drift = np.concatenate([C @ cross(v[3:6], v[:3]), np.zeros(len(v) - 3)])
    return Equations(T.T @ equations.M @ T, T.T @ (equations.h + equations.M @ drift))


@pytest.mark.parametrize("seed", range(4))
def test_equations_in_absolute_quasicoordinates_match_a_chain_of_ball_joints(seed: int) -> None:
    """(1), (10) to (12), (16) with D = 1: ball joints, whose velocities are relative quasicoordinates."""
    m = ball_chain(seed)
    s = state(m, seed)
    limb = chain_limb(m, s.q)
    C_R = with_base_position(relative_to_absolute(limb.C))
    rate = np.concatenate([limb.C[0] @ s.v[:3], s.v[3:]])
    found = base_to_twist(limb.C[0], true_equations(limb, C_R, np.eye(len(rate)), rate, m.gravity), s.v)
    assert relative(found.M, mass_matrix.mass_matrix(m, s.q)) < 1e-13
    assert relative(found.h, inverse_dynamics.bias(m, s.q, s.v)) < 1e-12
    omega = (C_R @ rate)[3:]
    absolute = absolute_equations(limb, omega, m.gravity)
    x = C_R @ rate
    assert relative(0.5 * x @ absolute.M @ x, momentum.energy(m, s.q, s.v)[0]) < 1e-13
    # (16): its projection is that of (1), whose omega' is C^R Omega' + C^R (omega x Omega)
    Omega = s.v[3:].reshape(-1, 3)
    drift = C_R[3:, 3:] @ np.cross(omega.reshape(-1, 3), Omega).ravel()
    projected = C_R.T @ (absolute.M @ np.concatenate([np.zeros(3), drift]) + absolute.h)
    assert relative(true_equations(limb, C_R, np.eye(len(rate)), rate, m.gravity).h, projected) < 1e-13


@pytest.mark.parametrize("seed", range(3))
def test_limb_equations_with_base_euler_angles_match_recursive_dynamics(seed: int) -> None:
    """D_1 of (42), with the rate of D in (20)."""
    m, rng = ball_chain(seed), np.random.default_rng(seed)
    angles, rates = rng.uniform(-1.0, 1.0, size=(2, 3))
    q = m.random(rng)
    place = m.joints[0].place.R
    q[3:7] = quaternion_from_matrix(place.T @ matrix_from_rpy(*angles))  # so that the body itself is turned by them
    limb = chain_limb(m, q)
    rate = np.concatenate([rng.normal(size=3), rates, rng.normal(size=m.nv - 6)])
    D_1 = euler_base(*angles[:2])
    D_1_rate = np.imag(euler_base(*(angles[:2] + 1e-30j * rates[:2]))) / 1e-30
    D = block_diagonal([np.eye(3), D_1, np.eye(m.nv - 6)])
    D_rate = block_diagonal([D_1_rate, np.zeros((m.nv - 6, m.nv - 6))])
    D_rate = np.hstack([np.zeros((len(D_rate), 3)), D_rate])
    C_R = with_base_position(relative_to_absolute(limb.C))
    found = true_equations(limb, C_R, D, rate, m.gravity, D_rate)
    w = D_1 @ rates
    v = np.concatenate([limb.C[0].T @ rate[:3], w, rate[6:]])
    # The same by the recursion: v = E rate and v' = E rate' + drift
    E = block_diagonal([limb.C[0].T, D_1, np.eye(m.nv - 6)])
    drift = np.concatenate([-cross(w, v[:3]), D_1_rate @ rates, np.zeros(m.nv - 6)])
    assert relative(found.M, E.T @ mass_matrix.mass_matrix(m, q) @ E) < 1e-13
    assert relative(found.h, E.T @ inverse_dynamics.inverse_dynamics(m, q, v, drift).tau) < 1e-12
