"""Closed chains: exact derivatives, actuation by some joints, independent coordinates and sensed joints."""

from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork.spatial.scalar import Array

Y = (0, 1, 0)


@cache
def five_bar(kind: str = "ball") -> lw.Mechanism:
    """Two planar arms of two links with joined hands: mobility 2."""
    b = lw.Builder("five bar")
    for side in ("left", "right"):
        for link in ("upper", "fore"):
            b.body(f"{side} {link}", mass=1.0, com=(0.3, 0.02, 0.1), inertia=(0.02, 0.05, 0.06, 0.001, 0.0, 0.002))
    b.joint("a", lw.Revolute(Y), "world", "left upper")
    b.joint("b", lw.Revolute(Y), "left upper", "left fore", at=(1, 0, 0), damping=0.3)
    b.joint("c", lw.Revolute(Y), "world", "right upper", at=(1.2, 0, 0))
    b.joint("d", lw.Revolute(Y), "right upper", "right fore", at=(1, 0, 0), armature=0.1)
    kinds = {"ball": lw.Ball(), "revolute": lw.Revolute(Y), "rod": lw.Rod(0.1)}
    b.close("hands", kinds[kind], "left fore", "right fore", at=(1, 0, 0), to=(1.1, 0, 0))
    return b.build()


def state(kind: str = "ball") -> tuple[lw.Dynamics, Array, Array, Array]:
    m = five_bar(kind)
    d = lw.compile(m)
    q = d.assemble([-2.2, 1.2, -0.9, -1.2])
    return d, q, d.consistent(q, [0.5, -0.4, 0.3, 0.9]), np.array([0.3, -0.2, 0.5, 0.1])


@pytest.mark.parametrize("kind", ["ball", "revolute", "rod"])
def test_closed_loop_derivatives_match_finite_differences(kind: str) -> None:
    d, q, v, tau = state(kind)
    m, h = d.mechanism, 1e-5
    by_q, by_v, by_tau = d.forward_dynamics_derivatives(q, v, tau)
    plain = lw.compile(m, target="numpy").forward_dynamics_derivatives(q, v, tau)
    for found, expected in zip((by_q, by_v, by_tau), plain, strict=True):
        assert np.abs(found - expected).max() < 1e-10 * max(1.0, np.abs(expected).max())

    def slopes(acceleration: object) -> Array:
        return np.column_stack([(acceleration(h * e) - acceleration(-h * e)) / (2 * h) for e in np.eye(m.nv)])  # type: ignore[operator]

    along = slopes(lambda e: d.forward_dynamics(m.integrate(q, e), v, tau))
    assert np.abs(by_q - along).max() < 1e-6 * max(1.0, np.abs(along).max())
    assert np.abs(by_v - slopes(lambda e: d.forward_dynamics(q, v + e, tau))).max() < 1e-7
    assert np.abs(by_tau - slopes(lambda e: d.forward_dynamics(q, v, tau + e))).max() < 1e-7
    assert np.abs(d.constraint_jacobian(q) @ by_tau).max() < 1e-10  # forces never open a loop


def test_actuation_returns_the_forces_that_produced_a_motion() -> None:
    d, q, v, _ = state()
    for joints in (["a", "c"], ["a", "d"], ["b", "c"]):
        tau = np.zeros(4)
        tau[[d.mechanism.joints[name].v.start for name in joints]] = 0.7, -0.4
        a = d.forward_dynamics(q, v, tau)
        found = d.actuation(q, v, a, joints)
        assert np.abs(found.tau - tau).max() < 1e-9
        assert np.abs(d.inverse_dynamics(q, v, a) - tau - d.constraint_jacobian(q).T @ found.multipliers).max() < 1e-9


def test_forces_of_redundant_actuators_have_the_least_weighted_norm() -> None:
    d, q, v, _ = state()
    a = d.forward_dynamics(q, v, [0.7, 0.0, -0.4, 0.0])
    every = d.actuation(q, v, a, "abcd")
    assert np.abs(d.forward_dynamics(q, v, every.tau) - a).max() < 1e-9
    assert np.linalg.norm(every.tau) < np.linalg.norm([0.7, 0.4])
    heavy = d.actuation(q, v, a, "abcd", weights={"a": 1e8})
    assert abs(heavy.tau[0]) < 1e-6 < abs(every.tau[0])
    assert np.abs(d.forward_dynamics(q, v, heavy.tau) - a).max() < 1e-6
    with pytest.raises(lw.LinkworkError, match="actuating a cannot produce this motion"):
        d.actuation(q, v, a, ["a"])
    with pytest.raises(lw.LinkworkError, match="weight of joint 'b' must be a positive number"):
        d.actuation(q, v, a, "abcd", weights={"b": 0.0})


def test_independent_velocities_determine_all_other_velocities() -> None:
    d, q, v, tau = state()
    a = d.forward_dynamics(q, v, tau)
    for choose in (None, ["a", "c"], ["b", "d"]):
        found = d.mechanism.independent(q, v, choose)
        assert len(found.numbers) == d.mechanism.check_loops(q).mobility == 2
        assert choose is None or found.joints == choose
        assert np.abs(found.map @ v[found.numbers] - v).max() < 1e-10
        assert np.abs(found.map @ a[found.numbers] + found.bias - a).max() < 1e-9
        # Minimal coordinates: the projected equations give the same accelerations
        D, M = found.map, d.mass_matrix(q)
        z = np.linalg.solve(D.T @ M @ D, D.T @ (tau - d.bias(q, v) - M @ found.bias))
        assert np.abs(z - a[found.numbers]).max() < 1e-9
    assert d.mechanism.independent(q, v).condition < 3.0
    with pytest.raises(
        lw.LinkworkError, match=r"choose joints with 2 velocities in total, the mobility of .*; a have 1"
    ):
        d.mechanism.independent(q, v, "a")


def test_motion_of_the_sensed_joints_determines_that_of_the_others() -> None:
    d, q, v, tau = state()
    a = d.forward_dynamics(q, v, tau)
    seen = np.array([1.0, 0.0, 1.0, 0.0])
    found = d.observed(q * seen + (1 - seen) * (q + 0.1), v * seen, a * seen, ["a", "c"])
    assert np.abs(found.q - q).max() < 1e-10
    assert np.abs(found.v - v).max() < 1e-9
    assert np.abs(found.a - a).max() < 1e-9
    with pytest.raises(
        lw.LinkworkError, match=r"do not determine the motion: b, c, d can still move in 1 direction; sense"
    ):
        d.observed(q, v, a, ["a"])


def test_check_loops_rejects_batches_and_assemble_accepts_them() -> None:
    d, q, *_ = state()
    with pytest.raises(lw.ShapeError, match="expected one state"):
        d.mechanism.check_loops(np.stack([q, q]))
    with pytest.raises(lw.LinkworkError, match="not closed at q"):
        d.mechanism.check_loops(q + 0.1)
    many = d.assemble(np.stack([q + 0.05, q - 0.05]), fixed=["a"])
    assert np.abs(d.constraint(many)).max() < 1e-12
    assert np.array_equal(many[:, 0], [q[0] + 0.05, q[0] - 0.05])


def test_simulator_starts_with_closed_loops_and_keeps_them_closed() -> None:
    d, q, v, _ = state()
    with pytest.raises(lw.LinkworkError, match=r"loop 'hands' has a position error of .* d.assemble"):
        lw.Simulator(d.mechanism, q + 0.1)
    with pytest.raises(lw.LinkworkError, match=r"loop 'hands' has a velocity error of .* d.consistent"):
        lw.Simulator(d.mechanism, q, v + 0.1)
    simulator = lw.Simulator(d.mechanism, q, v)
    for _ in range(300):
        simulator.step([1.0, 0.0, -1.0, 0.0])
    assert np.abs(d.constraint(simulator.state.q)).max() < 1e-12
    assert np.abs(d.constraint_jacobian(simulator.state.q) @ simulator.state.v).max() < 1e-11
