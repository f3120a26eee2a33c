"""Derivatives by composite bodies, graph differentiation, complex steps and finite differences agree."""

from collections.abc import Callable

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.dynamics_derivatives import inverse_dynamics_derivatives
from linkwork.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.algorithms.mass_matrix import mass_matrix
from linkwork.algorithms.momentum import energy
from linkwork.compiler.automatic_differentiation import PARTIALS, pullback, pushforward
from linkwork.compiler.graph import BINARY, UNARY
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.tracing import trace
from linkwork.spatial.scalar import Array, maximum, minimum, where
from quick_test_selection import mark_slow_except
from random_mechanisms import State, relative, state, tree

SEEDS = (0, 1, 2, 3, 32, 35)  # every joint kind between them, fixed and free bases
TINY = 1e-30  # a complex step has no cancellation


def tangents(m: lw.Mechanism, q: Array) -> Array:
    """Return the changes dq (nv, nq) of the coordinates for each unit velocity."""
    return np.array([m.qdot(q, unit) for unit in np.eye(m.nv)])


def complex_step(function: Callable[[Array], Array], x: Array, directions: Array) -> Array:
    """Return the derivatives of a function at x along the directions, as columns, exact to round-off."""
    return np.array([np.imag(function(x + 1j * TINY * direction)) / TINY for direction in directions]).T


@pytest.mark.parametrize("seed", mark_slow_except(range(60), {*range(6), *range(30, 36)}))  # larger trees wait
def test_composite_body_derivatives_match_complex_steps(seed: int) -> None:
    for near in ("anywhere", "identity", "gimbal"):
        compare_with_complex_steps(tree(seed), state(tree(seed), seed, near))


def compare_with_complex_steps(m: lw.Mechanism, s: State) -> None:
    by_q, by_v, by_a = inverse_dynamics_derivatives(m, s.q, s.v, s.a)
    tau_of_q = complex_step(lambda q: inverse_dynamics(m, q, s.v, s.a).tau, s.q, tangents(m, s.q))
    tau_of_v = complex_step(lambda v: inverse_dynamics(m, s.q, v, s.a).tau, s.v, np.eye(m.nv))
    assert relative(by_q, tau_of_q, scale=1e-3) < 1e-11
    assert relative(by_v, tau_of_v, scale=1e-3) < 1e-11
    assert relative(by_a, mass_matrix(m, s.q)) < 1e-13


@pytest.mark.parametrize("seed", SEEDS)
def test_composite_body_derivatives_match_automatic_differentiation(seed: int) -> None:
    m = tree(seed)
    s = state(m, seed)

    def by_graph(q: Array, v: Array, a: Array) -> Array:
        tau = inverse_dynamics(m, q, v, a).tau
        return np.array([pushforward(tau, q, tangents(m, q)).T, pushforward(tau, v, np.eye(m.nv)).T])

    shapes = [(m.nq,), (m.nv,), (m.nv,)]
    kernel = Kernel("by graph", by_graph, shapes, [(2, m.nv, m.nv)], key=f"differentiated graph of tree {seed}")
    (found,), _ = kernel.over_batch([s.q, s.v, s.a], (), threads=1)
    for ours, theirs in zip(inverse_dynamics_derivatives(m, s.q, s.v, s.a)[:2], found, strict=True):
        assert relative(ours, theirs, scale=1e-3) < 1e-11


@pytest.mark.parametrize("seed", SEEDS)
def test_dynamics_derivatives_match_differences_along_the_tangent_space(seed: int) -> None:
    m = tree(seed)
    d = lw.compile(m, target="numpy")
    s = state(m, seed)
    by_q, by_v, by_tau = d.forward_dynamics_derivatives(s.q, s.v, s.tau)

    def slope(change) -> Array:
        """Columns of fourth-order central differences of change(step along each unit vector)."""
        h = 1e-3
        near = [change(h * e) - change(-h * e) for e in np.eye(m.nv)]
        far = [change(2 * h * e) - change(-2 * h * e) for e in np.eye(m.nv)]
        return (8.0 * np.array(near) - np.array(far)).T / (12.0 * h)

    found = slope(lambda step: d.forward_dynamics(m.integrate(s.q, step), s.v, s.tau))
    assert relative(by_q, found, scale=1e-3) < 1e-7
    assert relative(by_v, slope(lambda step: d.forward_dynamics(s.q, s.v + step, s.tau)), scale=1e-3) < 1e-8
    assert relative(by_tau, slope(lambda step: d.forward_dynamics(s.q, s.v, s.tau + step))) < 1e-8


@pytest.mark.parametrize("seed", SEEDS)
def test_derivatives_of_forward_and_inverse_dynamics_are_related_by_the_mass_matrix(seed: int) -> None:
    m = tree(seed)
    d = lw.compile(m, target="numpy")
    s = state(m, seed)
    a = d.forward_dynamics(s.q, s.v, s.tau)
    tau_q, tau_v, tau_a = d.inverse_dynamics_derivatives(s.q, s.v, a)
    a_q, a_v, a_tau = d.forward_dynamics_derivatives(s.q, s.v, s.tau)
    assert relative(tau_a, d.mass_matrix(s.q)) < 1e-14
    assert relative(tau_a @ a_tau, np.eye(m.nv)) < 1e-9
    assert relative(tau_a @ a_q, -tau_q, scale=1e-3) < 1e-9
    assert relative(tau_a @ a_v, -tau_v, scale=1e-3) < 1e-9


def test_dynamics_derivatives_in_batches_have_the_bits_of_single_calls() -> None:
    m = tree(1)
    d = lw.compile(m)
    q = np.array([m.random(k) for k in range(6)]).reshape(2, 3, m.nq)
    many = d.forward_dynamics_derivatives(q, np.ones(m.nv), np.zeros(m.nv))
    one = d.forward_dynamics_derivatives(q[1, 2], np.ones(m.nv), np.zeros(m.nv))
    for all_members, alone in zip(many, one, strict=True):
        assert all_members.shape == (2, 3, m.nv, m.nv)
        assert (all_members[1, 2] == alone).all()


@pytest.mark.parametrize("axis", [(1, 0, 0), (-1, 0, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1), (0.6, 0, -0.8)])
def test_pendulum_derivatives_about_any_axis_match_numpy(axis: tuple[float, float, float]) -> None:
    """Negative axis components let the graph negate the acceleration; the derivative must still hold it constant."""
    b = lw.Builder("pendulum", gravity=(1.0, -2.0, -9.81))
    b.body("bob", mass=1.0, com=(0.3, 0.4, -0.5), inertia=(0.1, 0.1, 0.1)).joint(
        "pin", lw.Revolute(axis), "world", "bob"
    )
    m = b.build()
    found = lw.compile(m).forward_dynamics_derivatives([0.4], [0.7], [0.2])
    expected = lw.compile(m, target="numpy").forward_dynamics_derivatives([0.4], [0.7], [0.2])
    assert abs(expected[0][0, 0]) > 0.1
    for ours, theirs in zip(found, expected, strict=True):
        assert relative(ours, theirs, scale=1e-3) < 1e-12


NUMPY_NAMES = {"asin": "arcsin", "acos": "arccos", "abs": "abs", "neg": "negative"}
BINARY_CALLS = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "atan2": np.arctan2,
    "min": minimum,
    "max": maximum,
    "smaller": lambda x, y: where(x < y, x, y),
    "larger": lambda x, y: where(x < y, y, x),
}


def test_every_operation_of_the_compiler_has_partial_derivatives() -> None:
    assert set(PARTIALS) == {*UNARY, *BINARY}
    assert set(BINARY) <= set(BINARY_CALLS)


@pytest.mark.parametrize("operation", [*UNARY, *BINARY_CALLS])
def test_partial_derivatives_of_compiler_operations_match_finite_differences(operation: str) -> None:
    x = np.array([0.37, 0.81])

    def value(x: Array) -> Array:
        if operation in UNARY:
            return np.array([getattr(np, NUMPY_NAMES.get(operation, operation))(x[0]) * x[1]])
        return np.array([BINARY_CALLS[operation](x[0], x[1]) * x[1]])

    def derivatives(x: Array) -> tuple[Array, Array]:
        return pushforward(value(x), x, np.eye(2))[:, 0], pullback(value(x), x, np.ones((1, 1)))[0]

    kernel = Kernel(operation, derivatives, [(2,)], [(2,), (2,)], key=f"partial derivatives of {operation}")
    found, _ = kernel.over_batch([x], (), threads=1)
    h = 1e-6
    expected = [(value(x + h * e)[0] - value(x - h * e)[0]) / (2 * h) for e in np.eye(2)]
    for forward_or_reverse in found:
        assert np.abs(forward_or_reverse - expected).max() < 1e-8


@pytest.mark.parametrize("seed", SEEDS)
def test_reverse_mode_gradients_match_the_jacobian(seed: int) -> None:
    """One reverse pass through inverse dynamics gives the weighted sum of all Jacobian columns."""
    m = tree(seed)
    s = state(m, seed)

    def both(q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        tau = inverse_dynamics(m, q, v, a).tau
        columns = pushforward(tau, np.concatenate([q, v]), np.eye(m.nq + m.nv))
        return pullback(tau, np.concatenate([q, v]), s.tau[None])[0], columns @ s.tau

    n = m.nq + m.nv
    kernel = Kernel("gradients", both, [(m.nq,), (m.nv,), (m.nv,)], [(n,), (n,)], key=f"gradients of tree {seed}")
    (reverse, forward), _ = kernel.over_batch([s.q, s.v, s.a], (), threads=1)
    assert relative(reverse, forward, scale=1e-3) < 1e-11


def test_reverse_mode_gradient_costs_less_than_five_times_its_function() -> None:
    """The cost does not depend on the number of inputs."""
    m = tree(SEEDS[0])

    def energy_of(q: Array, v: Array) -> Array:
        return np.asarray(energy(m, q, v)[0])

    def gradient(q: Array, v: Array) -> Array:
        return pullback(energy_of(q, v), np.concatenate([q, v]), np.ones((1,)))

    cost, of_gradient = (len(trace(f, [(m.nq,), (m.nv,)]).nodes) for f in (energy_of, gradient))
    assert of_gradient < 5 * cost
