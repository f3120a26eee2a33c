"""Mimic joints: reduced coordinates, constraint multipliers and the full tree give the same dynamics."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.spatial.scalar import Array
from quick_test_selection import mark_slow_except
from random_mechanisms import relative, state, tree, tree_with_mimics

SEEDS = [seed for seed in range(60) if tree_with_mimics(seed).mimics]
FEW = (32, 6, 5)  # small ones, whose kernels are soon built
some_seeds = pytest.mark.parametrize("seed", mark_slow_except(SEEDS, {*SEEDS[:6], *FEW, 18, 40, 44}))
RATES = 1e-30  # of complex steps


def test_random_trees_have_several_mimic_joints() -> None:
    assert len(SEEDS) > 30
    assert any(len(tree_with_mimics(seed).mimics) > 2 for seed in SEEDS)


@some_seeds
def test_all_formulations_agree_on_mimic_joints(seed: int) -> None:
    assert lw.cross_check(tree_with_mimics(seed), samples=2).worst < 1e-9


@some_seeds
def test_reduction_of_mimic_joints_matches_lagrange_multipliers(seed: int) -> None:
    m = tree_with_mimics(seed)
    s = state(m, seed)
    d, second = lw.compile(m, target="numpy"), lw.formulations["newton-euler"](m)
    a = d.forward_dynamics(s.q, s.v, s.tau, s.wrenches)
    assert relative(a, second.forward_dynamics(s.q, s.v, s.tau, s.wrenches)) < 1e-9
    tau = d.inverse_dynamics(s.q, s.v, a, s.wrenches)
    assert relative(tau, s.tau, scale=1.0) < 1e-9
    assert relative(tau, second.inverse_dynamics(s.q, s.v, a, s.wrenches), scale=1.0) < 1e-9


@some_seeds
def test_bodies_move_as_in_the_tree_of_independent_joints(seed: int) -> None:
    m = tree_with_mimics(seed)
    s = state(m, seed)
    d, t = lw.compile(m, target="numpy"), lw.compile(m.tree, target="numpy")
    q, v = m.tree_position(s.q), m.tree_velocity(s.v)
    for mimic in m.mimics:
        one, other = (m.tree.joints[name] for name in (mimic.joint, mimic.of))
        assert np.allclose(q[one.q], mimic.multiplier * q[other.q] + mimic.offset, atol=1e-15)
        assert np.allclose(v[one.v], mimic.multiplier * v[other.v], atol=1e-15)
    assert (d.poses(s.q) == t.poses(q)).all()
    assert (d.velocities(s.q, s.v) == t.velocities(q, v)).all()
    frame = m.frames[len(m.frames) - 1].name
    assert relative(d.jacobian(s.q, frame) @ s.v, t.jacobian(q, frame) @ v, scale=1.0) < 1e-13
    assert relative(d.momentum_matrix(s.q) @ s.v, d.momentum(s.q, s.v), scale=1.0) < 1e-12
    assert relative(s.v @ d.mass_matrix(s.q) @ s.v / 2, d.energy(s.q, s.v)[0]) < 1e-13


@some_seeds
def test_energy_rate_with_mimic_joints_equals_the_applied_power(seed: int) -> None:
    """d/dt (kinetic + potential) = tau . v, by a complex step along the motion."""
    m = tree_with_mimics(seed)
    s = state(m, seed)
    d = lw.compile(m, target="numpy")
    a = d.forward_dynamics(s.q, s.v, s.tau)
    rate = np.imag(_energy(m, s.q + 1j * RATES * m.qdot(s.q, s.v), s.v + 1j * RATES * a)) / RATES
    assert abs(rate - s.tau @ s.v) < 1e-9 * max(1.0, float(np.abs(s.tau * s.v).sum()))


def _energy(m: lw.Mechanism, q: Array, v: Array) -> complex:
    from linkwork.algorithms.momentum import energy

    return complex(np.sum(energy(m.tree, m.tree_position(q), m.tree_velocity(v))))


@pytest.mark.parametrize("seed", FEW)
def test_acceleration_derivatives_with_mimic_joints_match_finite_differences(seed: int) -> None:
    m = tree_with_mimics(seed)
    s = state(m, seed)
    d = lw.compile(m)
    h = 1e-6
    found = d.forward_dynamics_derivatives(s.q, s.v, s.tau)
    for ours, change in zip(
        found,
        (
            lambda e: d.forward_dynamics(m.integrate(s.q, e), s.v, s.tau),
            lambda e: d.forward_dynamics(s.q, s.v + e, s.tau),
            lambda e: d.forward_dynamics(s.q, s.v, s.tau + e),
        ),
        strict=True,
    ):
        columns = [(change(h * e) - change(-h * e)) / (2 * h) for e in np.eye(m.nv)]
        assert relative(ours, np.array(columns).T, scale=1.0) < 1e-6
    by_q, by_v, M = d.inverse_dynamics_derivatives(s.q, s.v, d.forward_dynamics(s.q, s.v, s.tau))
    for ours, theirs in zip(found[:2], (by_q, by_v), strict=True):
        assert relative(-M @ ours, theirs, scale=1.0) < 1e-9


@pytest.mark.parametrize("seed", FEW)
def test_mimic_kernels_match_numpy(seed: int) -> None:
    m = tree_with_mimics(seed)
    s = state(m, seed)
    compiled, plain = lw.compile(m), lw.compile(m, target="numpy")
    for quantity, arguments in (
        ("poses", (s.q,)),
        ("inverse_dynamics", (s.q, s.v, s.a, s.wrenches)),
        ("mass_matrix", (s.q,)),
        ("passive", (s.q, s.v)),
        ("forward_dynamics", (s.q, s.v, s.tau, s.wrenches)),
        ("reactions", (s.q, s.v, s.tau)),
        ("momentum_matrix", (s.q,)),
    ):
        found, expected = getattr(compiled, quantity)(*arguments), getattr(plain, quantity)(*arguments)
        assert relative(found, expected, scale=1e-3) < 1e-11, quantity
    assert compiled.forward_dynamics(s.q, s.v, s.tau).shape == (m.nv,)


def test_tree_of_a_mechanism_without_mimic_joints_is_the_mechanism_itself() -> None:
    assert tree(0).tree is tree(0)
    assert (tree(0).spread == np.eye(tree(0).nv)).all()


def test_two_geared_wheels_accelerate_with_the_combined_inertia() -> None:
    """tau accelerates J1 + r^2 J2, for either order in the file."""
    for first, second in (("slow", "fast"), ("fast", "slow")):
        b = lw.Builder("gears", gravity=(0, 0, 0))
        for name in (first, second):
            b.body(name, mass=1.0, inertia=(1.0, 1.0, 2.0 if name == "slow" else 0.5))
            b.joint(f"{name} shaft", lw.Revolute((0, 0, 1)), "world", name)
        m = b.mimic("fast shaft", "slow shaft", -3.0, 0.1).build()
        assert m.nv == 1
        assert m.joints["fast shaft"].q == m.joints["slow shaft"].q
        a = lw.compile(m).forward_dynamics([0.2], [1.0], [13.0])
        assert np.allclose(a, 13.0 / (2.0 + 9.0 * 0.5), rtol=1e-14)
        assert "[fast shaft: Revolute, 1 kg, mimics slow shaft]" in str(m)
        assert "[slow shaft: Revolute, 1 kg]" in str(m)
        assert m.tree_velocity([2.0]).tolist() == m.tree_velocity(np.array([2.0])).tolist()
        assert np.array_equal(m.tree_position([[0.2], [0.3]])[1], m.tree_position([0.3]))
        for wrong in ([1.0, 2.0], np.ones((3, 2)), 1.0):
            with pytest.raises(lw.ShapeError, match=r"^q has shape .*, expected \(\.\.\., 1\)"):
                m.tree_position(wrong)
            with pytest.raises(lw.ShapeError, match=r"^v has shape .*, expected \(\.\.\., 1\)"):
                m.tree_velocity(wrong)
