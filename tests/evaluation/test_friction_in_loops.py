"""Inverse dynamics and derivatives with friction for mechanisms with loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import linkwork as lw
from linkwork.model.elements.joint_friction import JointFriction
from linkwork.spatial.scalar import Array
from random_friction_laws import with_random_laws
from random_loops import CASES, SMALL, label, looped_tree


def relative(found: Array, expected: Array) -> float:
    """Return the largest difference, relative to the largest expected number."""
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def four_bar(friction: lw.model.friction.FrictionLaw) -> lw.Mechanism:
    """Return the four-bar linkage with a friction law at all of its joints, and at the joint that closes its loop."""
    m = lw.example("four_bar")
    frictions = [JointFriction(joint.name, friction) for joint in m.joints]
    return m.with_elements(
        "frictions", [*frictions, *(JointFriction(x.name, friction, in_tree=False) for x in m.loops)]
    )


@pytest.mark.parametrize("case", SMALL, ids=label)
def test_joint_forces_of_inverse_dynamics_produce_the_accelerations_of_closed_chains(
    case: tuple[int, tuple[str, ...], bool],
) -> None:
    m, s = looped_tree(*case)
    d = lw.compile(with_random_laws(m, case[0], 0.05), target="numpy")
    a = d.forward_dynamics(s.q, s.v, s.tau)  # satisfies the loops
    tau = d.inverse_dynamics(s.q, s.v, a, s.wrenches, friction=True)
    assert relative(d.forward_dynamics(s.q, s.v, tau, s.wrenches, friction=True), a) < 1e-9
    assert relative(tau, d.inverse_dynamics(s.q, s.v, a, s.wrenches)) > 1e-4


def differences(function: Callable[[float], Array]) -> Array:
    """Return the derivative of a function at 0, by central differences of fourth order."""
    h = 1e-5
    return (8.0 * (function(h) - function(-h)) - (function(2.0 * h) - function(-2.0 * h))) / (12.0 * h)


def check_derivatives(d: lw.Dynamics, q: Array, v: Array, tau: Array, limit: float, names: str = "qvt") -> None:
    """Compare the derivatives of forward dynamics with friction to differences, along random directions."""
    m, rng = d.mechanism, np.random.default_rng(3)
    by_q, by_v, by_tau = d.forward_dynamics_derivatives(q, v, tau, friction=True)

    def a(q: Array, v: Array, tau: Array) -> Array:
        return d.forward_dynamics(q, v, tau, friction=True)

    x = rng.normal(size=m.nv)
    moved = {
        "q": (by_q, lambda h: a(m.integrate(q, h * x), v, tau)),
        "v": (by_v, lambda h: a(q, v + h * x, tau)),
        "t": (by_tau, lambda h: a(q, v, tau + h * x)),
    }
    for name in names:
        derivative, along = moved[name]
        assert relative(derivative @ x, differences(along)) < limit, name


def test_derivatives_of_forward_dynamics_with_friction_in_a_random_loop_match_differences() -> None:
    case = CASES[1]
    m, s = looped_tree(*case)
    check_derivatives(lw.compile(with_random_laws(m, case[0], 0.05), target="numpy"), s.q, s.v, s.tau, 1e-6)


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_derivatives_of_a_linkage_with_bearings_match_differences_in_motion_and_from_rest(target: str) -> None:
    m = four_bar(lw.Bearing(mu=0.2, radius=0.05, preload=1.0, mu_static=0.25))
    d, q = lw.compile(m, target=target), m.keyframes["start"].q
    v, tau = d.consistent(q, np.ones(3)), np.array([3.0, 0.0, 0.0])
    check_derivatives(d, q, v, tau, 1e-7)
    check_derivatives(d, q, np.zeros(3), tau, 1e-7, "qt")
    a = d.forward_dynamics(q, v, tau, friction=True)
    inverse = d.inverse_dynamics(q, v, a, friction=True)
    assert relative(d.forward_dynamics(q, v, inverse, friction=True), a) < 1e-10
    by_a = d.inverse_dynamics_derivatives(q, v, a, friction=True)[2]
    x = np.array([0.3, -1.0, 0.5])
    assert relative(by_a @ x, differences(lambda h: d.inverse_dynamics(q, v, a + h * x, friction=True))) < 1e-7


def test_a_linkage_that_friction_holds_has_no_derivatives_of_its_accelerations() -> None:
    m = four_bar(lw.DryFriction(50.0))
    d, q = lw.compile(m, target="numpy"), m.keyframes["start"].q
    rest, tau = np.zeros(3), np.array([1.0, 0.0, 0.0])
    assert np.abs(d.forward_dynamics(q, rest, tau, friction=True)).max() < 1e-9
    for part in d.forward_dynamics_derivatives(q, rest, tau, friction=True):
        assert np.abs(part).max() < 1e-6
