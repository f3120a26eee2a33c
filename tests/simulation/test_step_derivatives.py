"""Derivatives of a step by state and forces match finite differences, for every fixed-step method."""

from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation.methods.method_registry import METHODS
from linkwork.spatial.scalar import Array
from quick_test_selection import mark_slow_except


@cache
def chain() -> lw.Mechanism:
    """A ball joint, whose tangent space is curved, a universal joint, and a limited joint against its stop."""
    b = lw.Builder("three links")
    kinds = (lw.Ball(), lw.Universal(), lw.Revolute((0, 1, 0)))
    for k, kind in enumerate(kinds):
        b.body(f"link {k}", 1.0, com=(0.1, 0.05, -0.2), inertia=(0.03, 0.04, 0.02))
        own = {"limits": (-1.0, 0.1)} if k == 2 else {}
        below = f"link {k - 1}" if k else "world"
        b.joint(f"joint {k}", kind, below, f"link {k}", at=(0.1, 0, -0.3), stiffness=2.0, damping=0.3, **own)
    return b.build()


def differences(sim: lw.Simulator, tau: Array, size: float = 1e-4) -> Array:
    """A and B side by side (2 nv, 3 nv), by central differences of fourth order."""
    m, start = sim.mechanism, sim.state

    def after(x: Array) -> Array:
        dq, dv, dtau = np.split(x, 3)
        sim.state = (0.0, m.integrate(start.q, dq), start.v + dv)
        sim.step(tau + dtau)
        return np.concatenate([m.difference(there.q, sim.state.q), sim.state.v])

    sim.step(tau)
    there = sim.state
    columns = [
        (8.0 * (after(x) - after(-x)) - (after(2.0 * x) - after(-2.0 * x))) / (12.0 * size)
        for x in size * np.eye(3 * m.nv)
    ]
    sim.state = start
    return np.array(columns).T


def check(sim: lw.Simulator, tau: Array, tolerance: float, size: float = 1e-4) -> None:
    before = sim.state
    A, B = sim.step_derivatives(tau)
    assert np.array_equal(sim.state.q, before.q)  # it stays where it is
    found, n = differences(sim, tau, size), 2 * sim.mechanism.nv
    assert np.abs(A - found[:, :n]).max() < tolerance * np.abs(A).max()
    assert np.abs(B - found[:, n:]).max() < tolerance


@pytest.mark.parametrize("method", METHODS)
def test_step_derivatives_of_a_tree_match_differences(method: str) -> None:
    m, rng = chain(), np.random.default_rng(3)
    q = m.random(rng)
    q[-1] = 0.15
    check(lw.Simulator(m, q, rng.normal(size=m.nv), 5e-3, method), rng.normal(size=m.nv), 2e-9)


@pytest.mark.parametrize(
    "method", mark_slow_except(METHODS, ("semi-implicit", "variational", "shake", "energy-momentum"))
)
def test_step_derivatives_of_a_closed_loop_match_differences(method: str) -> None:
    """Also along directions that violate the loop, which the step projects back."""
    m = lw.example("four_bar")
    run = lw.simulate(m, duration=0.3, dt=1e-3, method="rk4")
    sim = lw.Simulator(m, run.q[-1], run.v[-1], 2e-3, method)
    size = 3e-6 if method == "shake" else 1e-4  # its impulses at the end of a step depend on their direction
    check(sim, np.array([0.3, -0.2, 0.1]), 2e-7, size)


def test_step_derivatives_with_a_user_wrench_and_an_open_loop_match_differences() -> None:
    m = lw.example("four_bar")
    sim = lw.Simulator(m, dt=2e-3, method="variational", order=4)
    sim.open("closing pin")
    sim.push(m.bodies[2].name, [1.0, 0.0, 2.0, 0.0, 0.1, 0.0], duration=1.0)
    check(sim, np.array([0.3, -0.2, 0.1]), 1e-8)


def test_derivative_of_many_steps_is_the_product_of_step_derivatives() -> None:
    """As used by control of the discrete map."""
    m, ahead = lw.example("double_pendulum"), 20
    sim, nudge = lw.Simulator(m, [1.0, 0.5], dt=0.01, method="variational"), 1e-6
    A = np.eye(4)
    for _ in range(ahead):
        A = sim.step_derivatives().A @ A
        sim.step()
    ends = []
    for sign in (1.0, -1.0):
        again = lw.Simulator(m, [1.0 + sign * nudge, 0.5], dt=0.01, method="variational")
        for _ in range(ahead):
            again.step()
        ends.append(np.concatenate(again.state[1:]))
    assert np.abs((ends[0] - ends[1]) / (2.0 * nudge) - A[:, 0]).max() < 1e-7 * np.abs(A).max()


def test_step_derivatives_reject_joint_forces_of_wrong_shape() -> None:
    with pytest.raises(lw.ShapeError, match="expected"):
        lw.Simulator(lw.example("double_pendulum")).step_derivatives(np.zeros(3))
